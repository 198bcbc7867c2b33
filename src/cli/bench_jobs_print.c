/* SPDX-License-Identifier: Apache-2.0 */
/* Tables and JSON of bench jobs. */
#include "config.h"

#include "cli/bench_jobs.h"
#include "cli/json.h"

#include <math.h>
#include <stdio.h>

const cli_job_column cli_job_columns[CLI_JOB_SYSTEMS] = {
	[CLI_OURS] = { "ours", "ours", &cli_jobs_ours, true },
	[CLI_OURS_DETACHED] = { "ours_detached", "ours detached", &cli_jobs_ours_detached, false },
#if HAVE_GLIB
	[CLI_GTHREADPOOL] = { "gthreadpool", "GThreadPool", &cli_jobs_gthreadpool, true },
#else
	[CLI_GTHREADPOOL] = { "gthreadpool", "GThreadPool", NULL, true },
#endif
#if HAVE_UV
	[CLI_UV] = { "uv", "uv_queue_work", &cli_jobs_uv, true },
#else
	[CLI_UV] = { "uv", "uv_queue_work", NULL, true },
#endif
	[CLI_MUTEX_COND] = { "mutex_cond", "mutex+cond", &cli_jobs_mutex_cond, true },
};

static const char *const states[CLI_WORKER_STATES] = { "idle", "awake" };

/* --- tables --- */

#define WIDTH 19 /* of a column */

static void print_cell(double value, int digits)
{
	if (isnan(value))
		(void)printf("%*s", WIDTH, "-");
	else
		(void)printf("%*.*f", WIDTH, digits, value);
}

static void print_head(bool trips)
{
	(void)printf("%-10s%s", "producers", trips ? " worker" : "");
	for (size_t i = 0; i < CLI_JOB_SYSTEMS; i++)
		if (!trips || cli_job_columns[i].trips)
			(void)printf("%*s", WIDTH, cli_job_columns[i].title);
	(void)putchar('\n');
}

static void print_rates(const cli_jobs_result *results, size_t n)
{
	(void)printf("million jobs a second\n");
	print_head(false);
	for (size_t i = 0; i < n; i++) {
		(void)printf("%-10zu", results[i].producers);
		for (size_t k = 0; k < CLI_JOB_SYSTEMS; k++)
			print_cell(results[i].rate[k] / 1e6, 3);
		(void)putchar('\n');
	}
}

static void print_submissions(const cli_jobs_result *results, size_t n)
{
	(void)printf("\nnanoseconds of a submission with a future while the worker is busy\n");
	(void)printf("%-10s%*s%*s%*s%*s%*s\n", "producers", WIDTH, "p50", WIDTH, "p99", WIDTH,
		     "p99.9", WIDTH, "most", WIDTH, "samples");
	for (size_t i = 0; i < n; i++) {
		const cli_spread *s = &results[i].submit;

		(void)printf("%-10zu", results[i].producers);
		print_cell(s->p50, 0);
		print_cell(s->p99, 0);
		print_cell(s->p99_9, 0);
		print_cell(s->most, 0);
		(void)printf("%*zu\n", WIDTH, s->n);
	}
}

static void print_trips(const cli_jobs_result *results, size_t n, int part, const char *what)
{
	(void)printf("\nnanoseconds of %s: median, 99th of 100\n", what);
	print_head(true);
	for (size_t i = 0; i < n; i++) {
		for (int state = 0; state < CLI_WORKER_STATES; state++) {
			(void)printf("%-10zu %-6s", results[i].producers, states[state]);
			for (size_t k = 0; k < CLI_JOB_SYSTEMS; k++) {
				const cli_spread *s = &results[i].trip[state][k][part];
				char cell[64] = "-";

				if (s->n > 0)
					(void)snprintf(cell, sizeof(cell), "%.0f, %.0f", s->p50,
						       s->p99);
				if (cli_job_columns[k].trips)
					(void)printf("%*s", WIDTH, cell);
			}
			(void)putchar('\n');
		}
	}
}

static cli_exit print_tables(const cli_jobs_result *results, size_t n, size_t rounds)
{
	(void)printf(
		"pagesift-gpu %s, %d cores, %zu rounds; up to %d jobs in flight a producer\n\n",
		psg_version(), (int)psg_cpu_cores(), rounds, CLI_JOBS_WINDOW);
	print_rates(results, n);
	print_submissions(results, n);
	print_trips(results, n, CLI_TRIP_TOTAL, "a round trip");
	print_trips(results, n, CLI_TRIP_SUBMIT, "its submission");
	print_trips(results, n, CLI_TRIP_COMPLETION, "its completion");
	return cli_finish_output(CLI_OK);
}

/* --- JSON --- */

#if HAVE_JANSSON

/* Parts of a nanosecond, and of a job a second, that are shown. */
#define PARTS 1

static json_t *number(double value)
{
	return isnan(value) ? json_null() : cli_json_number(value, PARTS);
}

/* As json_object_set_new and json_array_append_new, but NULL is what cannot be had, and goes on. */
static json_t *with(json_t *object, const char *key, json_t *value)
{
	if (json_object_set_new(object, key, value) == 0)
		return object;
	json_decref(object);
	return NULL;
}

static json_t *append(json_t *array, json_t *item)
{
	if (json_array_append_new(array, item) == 0)
		return array;
	json_decref(array);
	return NULL;
}

static json_t *rates_object(const cli_jobs_result *result)
{
	json_t *object = json_pack("{s:I}", "producers", (json_int_t)result->producers);

	for (size_t i = 0; i < CLI_JOB_SYSTEMS; i++)
		object = with(object, cli_job_columns[i].key, number(result->rate[i]));
	return object;
}

static json_t *submit_object(const cli_jobs_result *result)
{
	const cli_spread *s = &result->submit;

	return json_pack("{s:I,s:o,s:o,s:o,s:o,s:I}", "producers", (json_int_t)result->producers,
			 "p50", number(s->p50), "p99", number(s->p99), "p99_9", number(s->p99_9),
			 "max", number(s->most), "samples", (json_int_t)s->n);
}

static json_t *trip_object(const cli_jobs_result *result, int state, int part)
{
	json_t *object = json_pack("{s:I,s:s}", "producers", (json_int_t)result->producers,
				   "worker", states[state]);

	for (size_t i = 0; i < CLI_JOB_SYSTEMS; i++) {
		const cli_spread *s = &result->trip[state][i][part];
		char key[64];

		if (!cli_job_columns[i].trips)
			continue;
		object = with(object, cli_job_columns[i].key, number(s->p50));
		(void)snprintf(key, sizeof(key), "%s_p99", cli_job_columns[i].key);
		object = with(object, key, number(s->p99));
	}
	return object;
}

static json_t *trips_array(const cli_jobs_result *results, size_t n, int part)
{
	json_t *array = json_array();

	for (size_t i = 0; i < n; i++)
		for (int state = 0; state < CLI_WORKER_STATES; state++)
			array = append(array, trip_object(&results[i], state, part));
	return array;
}

static cli_exit print_json(const cli_jobs_result *results, size_t n, size_t rounds)
{
	json_t *rates = json_array(), *submissions = json_array();

	for (size_t i = 0; i < n; i++) {
		rates = append(rates, rates_object(&results[i]));
		submissions = append(submissions, submit_object(&results[i]));
	}
	return cli_json_print(json_pack(
		"{s:I,s:I,s:i,s:o,s:o,s:o,s:o,s:o}", "cores", (json_int_t)psg_cpu_cores(), "rounds",
		(json_int_t)rounds, "in_flight", CLI_JOBS_WINDOW, "throughput", rates, "submit_ns",
		submissions, "round_trip_ns", trips_array(results, n, CLI_TRIP_TOTAL),
		"trip_submit_ns", trips_array(results, n, CLI_TRIP_SUBMIT), "trip_completion_ns",
		trips_array(results, n, CLI_TRIP_COMPLETION)));
}

#else

static cli_exit print_json(const cli_jobs_result *results, size_t n, size_t rounds)
{
	(void)results, (void)n, (void)rounds;
	return cli_json_available() ? CLI_OK : CLI_USAGE;
}

#endif

cli_exit cli_bench_jobs_print(const cli_jobs_result *results, size_t n, size_t rounds, bool json)
{
	return json ? print_json(results, n, rounds) : print_tables(results, n, rounds);
}
