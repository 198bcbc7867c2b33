/* SPDX-License-Identifier: Apache-2.0 */
/* Table and JSON of bench batch. */
#include "config.h"

#include "cli/bench.h"
#include "cli/json.h"

#include <stdio.h>

/* Lines a second, the median of the rounds; 0: too fast to be measured. */
static double rate(const cli_batch_times *times, cli_batch_kind kind)
{
	double seconds = cli_median(times->seconds[kind], times->rounds);

	return seconds > 0 ? (double)times->lines / seconds : 0;
}

/* What the batcher makes of the best that there could be. */
static double part(double shared, double best)
{
	return best > 0 ? shared / best : 0;
}

static double samples_per_run(const cli_batch_times *times)
{
	return times->runs > 0 ? (double)times->samples / (double)times->runs : 0;
}

static double ms_a_wait(const cli_batch_times *times)
{
	return times->waits > 0 ? times->waited_ms / (double)times->waits : 0;
}

static cli_exit print_table(cli_batch_times *times)
{
	double job = rate(times, CLI_BATCH_JOB), shared = rate(times, CLI_BATCH_SHARED);

	(void)printf("pagesift-gpu %s, %s; recognition of lines of 320x48 pixels, %zu rounds of "
		     "%zu lines\n\n",
		     psg_version(), times->device, times->rounds, times->lines);
	(void)printf("%-42s %12s\n", "", "lines/second");
	(void)printf("%-42s %12.1f\n", "one client with 64 lines in a job", job);
	(void)printf("%-42s %12.1f  %.3f of that\n", "64 clients with one each, a batcher", shared,
		     part(shared, job));
	(void)printf("%-42s %12.1f\n", "64 clients with one each, no batcher",
		     rate(times, CLI_BATCH_EACH));
	(void)printf("\n%-42s %12s %12s\n", "", "p50 ms", "p99 ms");
	for (int batched = 0; batched < 2; batched++) {
		double *ms = times->alone_ms[batched];

		(void)printf("%-42s %12.3f %12.3f\n",
			     batched ? "one client, a batcher" : "one client, no batcher",
			     cli_median(ms, times->n_alone),
			     cli_quantile(ms, times->n_alone, 0.99));
	}
	(void)printf("\nbatches of %.1f lines; %llu of %llu waited for more, %.3f ms each\n",
		     samples_per_run(times), (unsigned long long)times->waits,
		     (unsigned long long)times->runs, ms_a_wait(times));
	return cli_finish_output(CLI_OK);
}

#if HAVE_JANSSON

static json_t *alone(cli_batch_times *times, bool batched)
{
	double *ms = times->alone_ms[batched];

	return json_pack("{s:o,s:o}", "p50_ms",
			 cli_json_number(cli_median(ms, times->n_alone), 1e6), "p99_ms",
			 cli_json_number(cli_quantile(ms, times->n_alone, 0.99), 1e6));
}

static json_t *rates(double job, double shared, double each)
{
	return json_pack("{s:o,s:o,s:o}", "job", cli_json_number(job, 1000), "batcher",
			 cli_json_number(shared, 1000), "each", cli_json_number(each, 1000));
}

static json_t *batches(const cli_batch_times *times)
{
	return json_pack("{s:I,s:I,s:I,s:o,s:o}", "lines", (json_int_t)times->samples, "runs",
			 (json_int_t)times->runs, "waits", (json_int_t)times->waits, "ms_per_wait",
			 cli_json_number(ms_a_wait(times), 1000), "lines_per_run",
			 cli_json_number(samples_per_run(times), 1000));
}

static cli_exit print_json(cli_batch_times *times)
{
	double job = rate(times, CLI_BATCH_JOB), shared = rate(times, CLI_BATCH_SHARED);

	return cli_json_print(json_pack(
		"{s:s,s:i,s:I,s:I,s:o,s:o,s:{s:o,s:o},s:o}", "device", times->device, "clients",
		CLI_BATCH_LINES, "rounds", (json_int_t)times->rounds, "lines",
		(json_int_t)times->lines, "lines_per_second",
		rates(job, shared, rate(times, CLI_BATCH_EACH)), "batcher_part",
		cli_json_number(part(shared, job), 1e6), "alone", "batcher", alone(times, true),
		"no_batcher", alone(times, false), "batches", batches(times)));
}

#else

static cli_exit print_json(cli_batch_times *times)
{
	(void)times;
	return cli_json_available() ? CLI_OK : CLI_USAGE;
}

#endif

cli_exit cli_bench_batch_print(cli_batch_times *times, bool json)
{
	return json ? print_json(times) : print_table(times);
}
