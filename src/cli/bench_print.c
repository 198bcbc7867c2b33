/* SPDX-License-Identifier: Apache-2.0 */
/* Tables and JSON of the benchmarks. */
#include "config.h"

#include "cli/bench.h"
#include "cli/json.h"
#include "cli/shapes.h"

#include <stdio.h>

/* --- tables --- */

static cli_exit print_models(const cli_model_time *times, size_t n, const char *detail)
{
	(void)printf("pagesift-gpu %s, %s; milliseconds of %zu runs\n\n", psg_version(), detail,
		     times[0].n);
	(void)printf("%-12s %-12s %7s %9s %9s %9s\n", "model", "input", "threads", "median",
		     "least", "most");
	for (size_t i = 0; i < n; i++) {
		char shape[CLI_SHAPE_TEXT];

		cli_shape_text(&times[i].shape, shape, sizeof(shape));
		(void)printf("%-12s %-12s %7d %9.2f %9.2f %9.2f\n", times[i].name, shape,
			     (int)times[i].threads, times[i].median, times[i].least, times[i].most);
	}
	return cli_finish_output(CLI_OK);
}

static cli_exit print_pages(const cli_pages_time *times, size_t n)
{
	(void)printf("%-24s %9s %6s %9s %13s %9s %9s\n", "workers", "at a time", "pages", "seconds",
		     "pages/second", "p50 ms", "p99 ms");
	for (size_t i = 0; i < n; i++) {
		char workers[64];

		if (times[i].gpu)
			(void)snprintf(workers, sizeof(workers), "%s", times[i].device);
		else
			(void)snprintf(workers, sizeof(workers), "%zu with %d core%s%s",
				       times[i].workers, (int)times[i].cores,
				       times[i].cores == 1 ? "" : "s",
				       times[i].workers == 1 ? "" : " each");
		(void)printf("%-24s %9zu %6zu %9.2f %13.3f %9.0f %9.0f\n", workers,
			     times[i].in_flight, times[i].pages, times[i].seconds,
			     (double)times[i].pages / times[i].seconds, times[i].p50, times[i].p99);
	}
	return cli_finish_output(CLI_OK);
}

/* --- JSON --- */

#if HAVE_JANSSON

#define MICROSECONDS 1000 /* parts of a millisecond that are shown */

/* An array whose items item(at, i) makes. */
static json_t *list(const void *at, size_t n, json_t *(*item)(const void *at, size_t i))
{
	json_t *array = json_array();

	for (size_t i = 0; i < n; i++) {
		if (json_array_append_new(array, item(at, i)) != 0) {
			json_decref(array);
			return NULL;
		}
	}
	return array;
}

static json_t *milliseconds(const void *at, size_t i)
{
	return cli_json_number(((const double *)at)[i], MICROSECONDS);
}

static json_t *model_object(const void *at, size_t i)
{
	const cli_model_time *t = (const cli_model_time *)at + i;

	return json_pack("{s:s,s:o,s:i,s:o,s:o,s:o,s:o,s:f}", "model", t->name, "shape",
			 cli_json_shape(&t->shape), "threads", (int)t->threads, "median_ms",
			 cli_json_number(t->median, MICROSECONDS), "least_ms",
			 cli_json_number(t->least, MICROSECONDS), "most_ms",
			 cli_json_number(t->most, MICROSECONDS), "runs_ms",
			 list(t->ms, t->n, milliseconds), "output_rms", t->rms);
}

static cli_exit json_models(const cli_model_time *times, size_t n, const char *detail)
{
	char runtime[64];

	(void)snprintf(runtime, sizeof(runtime), "pagesift-gpu %s", psg_version());
	return cli_json_print(json_pack("{s:s,s:s,s:o}", "runtime", runtime, "detail", detail,
					"cases", list(times, n, model_object)));
}

/* The pages' own times, while objects of them are made. */
struct page_times {
	const cli_bench_page *pages;
	const double *medians;
};

static json_t *page_object(const void *at, size_t i)
{
	const struct page_times *t = at;

	return json_pack("{s:o,s:i,s:o}", "file", cli_json_text(t->pages[i].file), "page",
			 (int)t->pages[i].index, "median_ms",
			 cli_json_number(t->medians[i], MICROSECONDS));
}

static cli_exit json_pages(const cli_pages_time *times, size_t n, const cli_bench_page *pages,
			   size_t n_pages)
{
	json_t *partitions = json_array();
	int failed = 0;

	for (size_t i = 0; i < n; i++) {
		const cli_pages_time *t = &times[i];
		const struct page_times each = { pages, t->medians };

		failed |= json_array_append_new(
			partitions, json_pack("{s:s,s:I,s:i,s:I,s:I,s:o,s:o,s:o,s:o,s:o}", "device",
					      t->device, "workers", (json_int_t)t->workers, "cores",
					      (int)t->cores, "in_flight", (json_int_t)t->in_flight,
					      "pages", (json_int_t)t->pages, "seconds",
					      cli_json_number(t->seconds, 1e6), "pages_per_second",
					      cli_json_number((double)t->pages / t->seconds, 1e6),
					      "p50_ms", cli_json_number(t->p50, MICROSECONDS),
					      "p99_ms", cli_json_number(t->p99, MICROSECONDS),
					      "each", list(&each, n_pages, page_object)));
	}
	if (failed != 0) {
		json_decref(partitions);
		partitions = NULL;
	}
	return cli_json_print(json_pack("{s:o}", "partitions", partitions));
}

#else

static cli_exit json_models(const cli_model_time *times, size_t n, const char *detail)
{
	(void)times, (void)n, (void)detail;
	return cli_json_available() ? CLI_OK : CLI_USAGE;
}

static cli_exit json_pages(const cli_pages_time *times, size_t n, const cli_bench_page *pages,
			   size_t n_pages)
{
	(void)times, (void)n, (void)pages, (void)n_pages;
	return cli_json_available() ? CLI_OK : CLI_USAGE;
}

#endif

cli_exit cli_bench_cpu_print(const cli_model_time *times, size_t n, const char *detail, bool json)
{
	return json ? json_models(times, n, detail) : print_models(times, n, detail);
}

cli_exit cli_bench_pages_print(const cli_pages_time *times, size_t n, const cli_bench_page *pages,
			       size_t n_pages, bool json)
{
	return json ? json_pages(times, n, pages, n_pages) : print_pages(times, n);
}
