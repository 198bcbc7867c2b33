/* SPDX-License-Identifier: Apache-2.0 */
/* Table and JSON of bench share. */
#include "config.h"

#include "cli/bench_share.h"
#include "cli/json.h"

#include <stdio.h>

struct spread {
	double p50, p99;
};

/* What is shown of all that was measured. */
struct shown {
	struct spread detection[CLI_SHARE_CASES]; /* milliseconds */
	double batch_ms, batch_lines;             /* means */
	double bound_part; /* what 99 of 100 detections did not pass, of one alone and a batch */
	/* Of all rounds: the ratio of the sums, for a round has few batches on a CPU; the median.
	 */
	double weights, part;
	struct {
		double least, most;
	} weights_of, parts_of; /* a round */
	double rates[CLI_SHARE_CASES], busy[CLI_SHARE_CASES];
	double abandoned, too_soon; /* parts of all requests */
};

static double part(double a, double b)
{
	return b > 0 ? a / b : 0;
}

static void show_flood(cli_share_times *times, struct shown *shown)
{
	for (size_t i = 0; i < CLI_SHARE_CASES; i++) {
		cli_growing *ms = &times->detection_ms[i];

		shown->detection[i].p50 = cli_median(ms->at, ms->n);
		shown->detection[i].p99 = cli_quantile_sorted(ms->at, ms->n, 0.99);
	}
	shown->batch_ms = part(times->busy_ms, (double)times->runs);
	shown->batch_lines = part((double)times->lines, (double)times->runs);
	shown->bound_part = part(shown->detection[CLI_SHARE_BESIDE].p99,
				 shown->detection[CLI_SHARE_ALONE].p50 + shown->batch_ms);
}

static void show(cli_share_times *times, struct shown *shown)
{
	double requests = (double)(times->served + times->abandoned + times->too_soon);
	size_t last = times->rounds - 1;

	show_flood(times, shown);
	shown->weights = part(times->heavy_ms, times->light_ms);
	(void)cli_median(times->weights, times->rounds); /* sorts */
	shown->weights_of.least = times->weights[0];
	shown->weights_of.most = times->weights[last];
	shown->part = cli_median(times->parts, times->rounds);
	shown->parts_of.least = times->parts[0];
	shown->parts_of.most = times->parts[last];
	for (size_t i = 0; i < CLI_SHARE_CASES; i++) {
		shown->rates[i] = cli_median(times->rates[i], times->rounds);
		shown->busy[i] = cli_median(times->busy[i], times->rounds);
	}
	shown->abandoned = part((double)times->abandoned, requests);
	shown->too_soon = part((double)times->too_soon, requests);
}

static void print_flood(const cli_share_times *times, const struct shown *shown)
{
	static const char *const cases[] = { "on its own", "beside a flood of lines" };

	(void)printf("%-42s %12s %12s %8s\n", "detection of a page of 640x640 pixels", "p50 ms",
		     "p99 ms", "pages");
	for (size_t i = 0; i < CLI_SHARE_CASES; i++)
		(void)printf("%-42s %12.3f %12.3f %8zu\n", cases[i], shown->detection[i].p50,
			     shown->detection[i].p99, times->detection_ms[i].n);
	(void)printf("the flood's batches: %.1f lines, %.3f ms in the mean, %.3f ms the longest\n",
		     shown->batch_lines, shown->batch_ms, times->longest_ms);
	(void)printf("p99 beside the flood: %.3f of (p50 on its own + one batch)\n\n",
		     shown->bound_part);
}

static cli_exit print_table(const cli_share_times *times, const struct shown *shown)
{
	(void)printf("pagesift-gpu %s, %s; %zu rounds\n\n", psg_version(), times->device,
		     times->rounds);
	print_flood(times, shown);
	(void)printf("two floods, weights %d:1: device time %.3f:1 (%.3f to %.3f)\n\n",
		     CLI_SHARE_HEAVY, shown->weights, shown->weights_of.least,
		     shown->weights_of.most);
	(void)printf("%-42s %12s %12s\n", "64 clients who wait, lines of 320x48 pixels",
		     "lines/second", "device busy");
	for (size_t i = 0; i < CLI_SHARE_CASES; i++)
		(void)printf("%-42s %12.1f %10.1f %%\n",
			     i == CLI_SHARE_ALONE ? "on their own" : "beside 64 who give up",
			     shown->rates[i], 100 * shown->busy[i]);
	(void)printf("lines a second beside them: %.3f of those without (%.3f to %.3f)\n",
		     shown->part, shown->parts_of.least, shown->parts_of.most);
	(void)printf("of all requests %.1f %% were given up in the queue, %.1f %% too late for "
		     "that\n",
		     100 * shown->abandoned, 100 * shown->too_soon);
	return cli_finish_output(CLI_OK);
}

#if HAVE_JANSSON

static json_t *detection(const cli_share_times *times, const struct shown *shown, size_t i)
{
	return json_pack("{s:o,s:o,s:I}", "p50_ms", cli_json_number(shown->detection[i].p50, 1e6),
			 "p99_ms", cli_json_number(shown->detection[i].p99, 1e6), "pages",
			 (json_int_t)times->detection_ms[i].n);
}

static json_t *flood(const cli_share_times *times, const struct shown *shown)
{
	return json_pack("{s:o,s:o,s:{s:o,s:o,s:o},s:o}", "alone",
			 detection(times, shown, CLI_SHARE_ALONE), "beside",
			 detection(times, shown, CLI_SHARE_BESIDE), "batch", "lines",
			 cli_json_number(shown->batch_lines, 1000), "mean_ms",
			 cli_json_number(shown->batch_ms, 1e6), "longest_ms",
			 cli_json_number(times->longest_ms, 1e6), "p99_part",
			 cli_json_number(shown->bound_part, 1e6));
}

static json_t *spread(const char *key, double value, double least, double most)
{
	return json_pack("{s:o,s:o,s:o}", key, cli_json_number(value, 1e6), "least",
			 cli_json_number(least, 1e6), "most", cli_json_number(most, 1e6));
}

static json_t *both(const double *values, double parts)
{
	return json_pack("{s:o,s:o}", "alone", cli_json_number(values[CLI_SHARE_ALONE], parts),
			 "beside", cli_json_number(values[CLI_SHARE_BESIDE], parts));
}

static json_t *clients(const struct shown *shown)
{
	return json_pack("{s:i,s:o,s:o,s:o,s:o,s:o}", "patient", CLI_SHARE_CLIENTS,
			 "lines_per_second", both(shown->rates, 1000), "device_busy",
			 both(shown->busy, 1e6), "part",
			 spread("median", shown->part, shown->parts_of.least, shown->parts_of.most),
			 "given_up", cli_json_number(shown->abandoned, 1e6), "given_up_late",
			 cli_json_number(shown->too_soon, 1e6));
}

static cli_exit print_json(const cli_share_times *times, const struct shown *shown)
{
	return cli_json_print(json_pack(
		"{s:s,s:I,s:o,s:{s:i,s:o},s:o}", "device", times->device, "rounds",
		(json_int_t)times->rounds, "detection", flood(times, shown), "weights", "heavy",
		CLI_SHARE_HEAVY, "device_time",
		spread("ratio", shown->weights, shown->weights_of.least, shown->weights_of.most),
		"clients", clients(shown)));
}

#else

static cli_exit print_json(const cli_share_times *times, const struct shown *shown)
{
	(void)times;
	(void)shown;
	return cli_json_available() ? CLI_OK : CLI_USAGE;
}

#endif

cli_exit cli_bench_share_print(cli_share_times *times, bool json)
{
	struct shown shown;

	show(times, &shown);
	return json ? print_json(times, &shown) : print_table(times, &shown);
}
