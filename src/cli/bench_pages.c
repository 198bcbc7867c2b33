/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pagesift-gpu bench pages: whole pages on both partitions of the cores, and on a GPU.
 *
 * Clients are threads that submit a page, wait for it and take the next one, so that there are
 * always as many pages in flight as clients.  One client shows what a page takes by itself, two
 * for each core show how much goes through.
 */
#include "config.h"

#include "cli/bench.h"
#include "cli/file.h"
#include "cli/json.h"
#include "cli/options.h"
#include "cli/workers.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_CLIENTS 64 /* pages that an engine takes unless told otherwise */

/* One worker with all cores, one worker a core, and a GPU. */
#define MAX_PARTITIONS 3

struct values {
	const char *models, *device;
	int64_t repeat;
	bool json;
};

static const cli_option options[] = {
	{ .name = "device",
	  .value = "DEVICE",
	  .help = "only with one worker on this device: cpu, cpu:CORES, cuda or cuda:N",
	  .field = offsetof(struct values, device),
	  .parse = cli_parse_text },
	CLI_OPTION_MODELS(struct values, models),
	CLI_BENCH_REPEAT(struct values, repeat, "times that each page is read; default: 5", 100000),
	CLI_OPTION_JSON(struct values, json),
};

static const cli_usage usage = {
	.command = "bench pages",
	.operands = "FILE...",
	.about = "Reads pages again and again, with one worker that has all cores, with one\n"
		 "worker a core and, where there is one, on a GPU, and shows pages a second and\n"
		 "how long a page takes (the middle and the 99th of 100).",
	.options = options,
	.n_options = sizeof(options) / sizeof(options[0]),
	.notes = "What is read before the clock counts makes the plans for all sizes of line.",
};

/* --- the pages --- */

struct stack {
	cli_bench_page *pages; /* owned */
	void **files;          /* owned, with what they point to */
	size_t n_pages, n_files;
};

static psg_status add_pages(struct stack *stack, const char *file, const void *data, size_t size,
			    psg_error *error)
{
	int32_t count;
	psg_status status = psg_image_pages(data, size, &count, error);
	cli_bench_page *more;

	if (status != PSG_OK)
		return status;
	more = realloc(stack->pages, (stack->n_pages + (size_t)count) * sizeof(*more));
	if (more == NULL)
		return cli_fail(error, PSG_NOMEM, "no memory for %d pages", (int)count);
	stack->pages = more;
	for (int32_t i = 0; i < count; i++)
		more[stack->n_pages++] = (cli_bench_page){ file, i, data, size };
	return PSG_OK;
}

static psg_status read_stack(char **names, size_t n, struct stack *stack, psg_error *error)
{
	psg_status status = PSG_OK;

	*stack = (struct stack){ .files = calloc(n, sizeof(*stack->files)) };
	if (stack->files == NULL)
		return cli_fail(error, PSG_NOMEM, "no memory for %zu files", n);
	for (size_t i = 0; i < n && status == PSG_OK; i++) {
		psg_error reason = PSG_ERROR_INIT;
		size_t size;

		status = cli_read_file(names[i], &stack->files[i], &size, &reason);
		stack->n_files++;
		if (status == PSG_OK)
			status = add_pages(stack, names[i], stack->files[i], size, &reason);
		if (status != PSG_OK)
			(void)cli_fail(error, status, "%.300s: %.600s", names[i], reason.message);
	}
	if (status == PSG_OK && stack->n_pages == 0)
		return cli_fail(error, PSG_FORMAT, "the files have no pages");
	return status;
}

static void free_stack(struct stack *stack)
{
	for (size_t i = 0; i < stack->n_files; i++)
		free(stack->files[i]);
	free(stack->files);
	free(stack->pages);
}

/* --- clients --- */

/* What the clients of one run share. */
struct run {
	psg_ocr *ocr;
	const cli_bench_page *pages;
	size_t n_pages, total; /* readings: all pages in turn */
	atomic_size_t next;
	double *ms; /* by reading */
	pthread_mutex_t lock;
	psg_status status; /* the first failure's, as `error` */
	psg_error error;
};

static psg_status read_page(const struct run *run, const cli_bench_page *page, double *ms,
			    psg_error *error)
{
	psg_future *future = NULL;
	const psg_page *result;
	int64_t begin = psg_now_ns();
	psg_status status =
		psg_ocr_submit(run->ocr, page->data, page->size, page->index, NULL, &future, error);

	if (status != PSG_OK)
		return status;
	(void)psg_future_wait(future);
	*ms = cli_ms_since(begin);
	status = psg_ocr_page(future, &result, error);
	psg_future_release(future);
	return status;
}

static void *client(void *argument)
{
	struct run *run = argument;
	size_t i;

	while ((i = atomic_fetch_add(&run->next, 1)) < run->total) {
		const cli_bench_page *page = &run->pages[i % run->n_pages];
		psg_error error = PSG_ERROR_INIT;
		psg_status status = read_page(run, page, &run->ms[i], &error);

		if (status == PSG_OK)
			continue;
		(void)pthread_mutex_lock(&run->lock);
		if (run->status == PSG_OK)
			run->status = cli_fail(&run->error, status, "%.300s: %.600s", page->file,
					       error.message);
		(void)pthread_mutex_unlock(&run->lock);
		atomic_store(&run->next, run->total);
	}
	return NULL;
}

/* Reads every page `repeat` times with that many clients; `ms` by reading. */
static psg_status read_all(psg_ocr *ocr, const struct stack *stack, size_t repeat, size_t clients,
			   double *ms, psg_error *error)
{
	struct run run = { .ocr = ocr,
			   .pages = stack->pages,
			   .n_pages = stack->n_pages,
			   .total = stack->n_pages * repeat,
			   .lock = PTHREAD_MUTEX_INITIALIZER };
	pthread_t threads[MAX_CLIENTS];
	size_t started = 0;

	run.ms = ms;
	/* This thread is a client too, so that there is one where no thread can be had. */
	while (started + 1 < clients && pthread_create(&threads[started], NULL, client, &run) == 0)
		started++;
	(void)client(&run);
	for (size_t i = 0; i < started; i++)
		(void)pthread_join(threads[i], NULL);
	if (run.status == PSG_OK && started + 1 < clients)
		return cli_fail(error, PSG_NOMEM, "no thread for client %zu of %zu", started + 1,
				clients);
	return run.status == PSG_OK ? PSG_OK : cli_fail(error, run.status, "%s", run.error.message);
}

/* --- partitions --- */

static size_t clients_for(int32_t cores)
{
	return 2 * (size_t)cores < MAX_CLIENTS ? 2 * (size_t)cores : MAX_CLIENTS;
}

/* The page's own median of the readings in `ms`, which are turn by turn. */
static psg_status page_medians(const double *ms, size_t n_pages, size_t repeat, double *medians,
			       psg_error *error)
{
	double *one = calloc(repeat, sizeof(*one));

	if (one == NULL)
		return cli_fail(error, PSG_NOMEM, "no memory for %zu times", repeat);
	for (size_t page = 0; page < n_pages; page++) {
		for (size_t i = 0; i < repeat; i++)
			one[i] = ms[i * n_pages + page];
		medians[page] = cli_median(one, repeat);
	}
	free(one);
	return PSG_OK;
}

/* `time` has its partition; fills in the rest. */
static psg_status measure(psg_ocr *ocr, const struct stack *stack, size_t repeat,
			  cli_pages_time *time, psg_error *error)
{
	size_t n = stack->n_pages * repeat;
	double *ms = calloc(n, sizeof(*ms));
	int64_t begin = psg_now_ns();
	psg_status status;

	time->medians = calloc(stack->n_pages, sizeof(*time->medians));
	if (ms == NULL || time->medians == NULL) {
		free(ms);
		return cli_fail(error, PSG_NOMEM, "no memory for %zu times", n);
	}
	cli_progress("%zu workers, %zu pages at a time", time->workers, time->in_flight);
	status = read_all(ocr, stack, repeat, time->in_flight, ms, error);
	time->seconds = cli_ms_since(begin) / 1000;
	time->pages = n;
	if (status == PSG_OK)
		status = page_medians(ms, stack->n_pages, repeat, time->medians, error);
	if (status == PSG_OK) {
		time->p50 = cli_quantile(ms, n, 0.50);
		time->p99 = cli_quantile(ms, n, 0.99);
	}
	free(ms);
	return status;
}

/* Each worker makes plans of its own: reads all pages as many times as there are workers. */
static psg_status warm_up(psg_ocr *ocr, const struct stack *stack, size_t workers, size_t clients,
			  psg_error *error)
{
	double *ms = calloc(stack->n_pages * workers, sizeof(*ms));
	psg_status status;

	if (ms == NULL)
		return cli_fail(error, PSG_NOMEM, "no memory for the times of %zu pages",
				stack->n_pages * workers);
	cli_progress("%zu workers, warming up", workers);
	status = read_all(ocr, stack, workers, clients, ms, error);
	free(ms);
	return status;
}

/* One partition, with one client and with many, into times[0] and times[1]. */
static psg_status measure_both(psg_ocr *ocr, const struct stack *stack, size_t repeat,
			       const cli_workers *workers, cli_pages_time *times, psg_error *error)
{
	size_t clients = clients_for(psg_cpu_cores());
	psg_status status = warm_up(ocr, stack, workers->n, clients, error);

	for (size_t i = 0; i < 2 && status == PSG_OK; i++) {
		const psg_device_info *info = psg_worker_device(workers->at[0]);

		times[i].gpu = info->kind == PSG_DEVICE_CUDA;
		(void)snprintf(times[i].device, sizeof(times[i].device), "%s", info->name);
		times[i].workers = workers->n;
		times[i].cores = info->threads;
		times[i].in_flight = i == 0 ? 1 : clients;
		status = measure(ocr, stack, repeat, &times[i], error);
	}
	cli_progress_clear();
	return status;
}

/* As above, on workers of its own. */
static cli_exit partition(const struct values *values, const struct stack *stack,
			  const char *device, size_t workers, cli_pages_time *times)
{
	psg_error error = PSG_ERROR_INIT;
	cli_workers open = { .n = 0 };
	psg_ocr *ocr = NULL;
	psg_status status = cli_workers_open(device, workers, &open, &error);
	cli_exit result = status == PSG_INVALID ? CLI_USAGE : CLI_FAILED;

	if (status == PSG_OK) {
		status = psg_ocr_open(open.at, open.n,
				      &(psg_ocr_options){ .models_dir = values->models }, &ocr,
				      &error);
		result = status == PSG_OK ? CLI_FAILED : CLI_NO_MODELS;
	}
	if (status == PSG_OK)
		status = measure_both(ocr, stack, (size_t)values->repeat, &open, times, &error);
	psg_ocr_close(ocr);
	cli_workers_close(&open);
	if (status == PSG_OK)
		return CLI_OK;
	cli_error("%s", error.message);
	return result;
}

struct partition {
	const char *device;
	size_t workers;
};

static size_t choose_partitions(const char *device, struct partition *out)
{
	size_t cores = (size_t)psg_cpu_cores(), n = 0;
	psg_gpu_info gpu;

	if (device != NULL) {
		out[n++] = (struct partition){ device, 1 };
		return n;
	}
	out[n++] = (struct partition){ "cpu", 1 };
	if (cores > 1)
		out[n++] = (struct partition){ "cpu", cores };
	if (psg_gpu_probe(0, &gpu, NULL) == PSG_OK)
		out[n++] = (struct partition){ "cuda", 1 };
	return n;
}

static cli_exit run(const struct values *values, char **names, size_t n)
{
	struct partition partitions[MAX_PARTITIONS];
	size_t n_partitions = choose_partitions(values->device, partitions);
	cli_pages_time times[2 * MAX_PARTITIONS] = { 0 };
	psg_error error = PSG_ERROR_INIT;
	struct stack stack;
	cli_exit result = CLI_OK;

	if (read_stack(names, n, &stack, &error) != PSG_OK) {
		cli_error("%s", error.message);
		result = CLI_FAILED;
	}
	for (size_t i = 0; i < n_partitions && result == CLI_OK; i++)
		result = partition(values, &stack, partitions[i].device, partitions[i].workers,
				   &times[2 * i]);
	if (result == CLI_OK)
		result = cli_bench_pages_print(times, 2 * n_partitions, stack.pages, stack.n_pages,
					       values->json);
	for (size_t i = 0; i < 2 * n_partitions; i++)
		free(times[i].medians);
	free_stack(&stack);
	return result;
}

cli_exit cli_bench_pages(int argc, char **argv)
{
	struct values values = { .repeat = 5 };
	cli_exit result;
	int n;

	if (!cli_options_read(&usage, argc, argv, &values, &n, &result))
		return result;
	if (n == 0)
		return cli_usage_error(&usage, "which FILE?");
	if (values.json && !cli_json_available())
		return CLI_USAGE;
	return run(&values, argv + 1, (size_t)n);
}
