/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pagesift-gpu bench batch: lines of text that come one by one, from many at once.
 *
 * Each client is a thread that submits one line to be recognised, waits for it and submits the
 * next.  What the batcher makes of 64 of them is measured beside the best that there could be, one
 * job of 64 lines, and beside a job for each line; and what it costs a client who is alone.
 */
#include "config.h"

#include "cli/bench.h"
#include "cli/json.h"
#include "cli/options.h"

#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#define LINES CLI_BATCH_LINES

/* A round of one kind takes about so long, and has at most so many jobs of 64 lines: chosen, to be
 * long beside the start of 64 threads. */
#define ROUND_MS 300
#define MOST_JOBS 50

/* Of one client who is alone, a round of one kind; chosen as above. */
#define ALONE 60

struct values {
	const char *device, *models;
	int64_t repeat;
	bool json;
};

static const cli_option options[] = {
	CLI_BENCH_DEVICE(struct values, device),
	CLI_OPTION_MODELS(struct values, models),
	CLI_BENCH_REPEAT(struct values, repeat, "rounds that count; default: 5", 1000),
	CLI_OPTION_JSON(struct values, json),
};

static const cli_usage usage = {
	.command = "bench batch",
	.operands = "",
	.about = "Has 64 clients recognise lines of text one by one, on one worker, through a\n"
		 "batcher, beside one client that has 64 lines in each job, and beside a job for\n"
		 "each line.  Shows lines a second, and how long a line takes a client who is "
		 "alone.",
	.options = options,
	.n_options = sizeof(options) / sizeof(options[0]),
	.notes = "What is run before the clock counts makes the plans for all sizes of batches.",
};

/* What is measured with. */
struct bench {
	psg_worker *worker;
	psg_model *model;
	psg_batcher *batcher;
	psg_tensor *line;  /* [1, 3, 48, 320] */
	psg_tensor *lines; /* 64 of these */
};

/* --- one after the other --- */

static psg_status run_job(const struct bench *bench, psg_tensor *input, psg_error *error)
{
	psg_future *future = NULL;
	psg_status status =
		psg_submit_model(bench->worker, bench->model, &input, 1, NULL, &future, error);

	return status == PSG_OK ? cli_bench_finish(future, error) : status;
}

static psg_status run_sample(const struct bench *bench, psg_error *error)
{
	psg_future *future = NULL;
	psg_status status = psg_batcher_submit(bench->batcher, bench->line, NULL, &future, error);

	return status == PSG_OK ? cli_bench_finish(future, error) : status;
}

static psg_status run_line(const struct bench *bench, bool batched, psg_error *error)
{
	return batched ? run_sample(bench, error) : run_job(bench, bench->line, error);
}

/* Milliseconds of each line of a client who is alone, without and with a batcher in turn. */
static psg_status run_alone(const struct bench *bench, double *const *ms, size_t first,
			    psg_error *error)
{
	psg_status status = PSG_OK;

	for (size_t i = 0; i < 2 * ALONE && status == PSG_OK; i++) {
		int64_t begin = psg_now_ns();

		status = run_line(bench, i % 2 != 0, error);
		ms[i % 2][first + i / 2] = cli_ms_since(begin);
	}
	return status;
}

/* `jobs` of 64 lines; seconds. */
static psg_status run_jobs(const struct bench *bench, size_t jobs, double *seconds,
			   psg_error *error)
{
	int64_t begin = psg_now_ns();
	psg_status status = PSG_OK;

	for (size_t i = 0; i < jobs && status == PSG_OK; i++)
		status = run_job(bench, bench->lines, error);
	*seconds = cli_ms_since(begin) / 1000;
	return status;
}

/* --- many at once --- */

struct crowd {
	const struct bench *bench;
	bool batched;
	size_t each; /* lines of a client */
	pthread_mutex_t lock;
	pthread_cond_t start;
	bool started;
	psg_status status; /* the first failure's, as `error` */
	psg_error error;
};

static void *client(void *argument)
{
	struct crowd *crowd = argument;
	psg_error error = PSG_ERROR_INIT;
	psg_status status = PSG_OK;

	(void)pthread_mutex_lock(&crowd->lock);
	while (!crowd->started)
		(void)pthread_cond_wait(&crowd->start, &crowd->lock);
	(void)pthread_mutex_unlock(&crowd->lock);
	for (size_t i = 0; i < crowd->each && status == PSG_OK; i++)
		status = run_line(crowd->bench, crowd->batched, &error);
	if (status == PSG_OK)
		return NULL;
	(void)pthread_mutex_lock(&crowd->lock);
	if (crowd->status == PSG_OK) {
		crowd->status = status;
		crowd->error = error;
	}
	(void)pthread_mutex_unlock(&crowd->lock);
	return NULL;
}

static int64_t start(struct crowd *crowd)
{
	int64_t now;

	(void)pthread_mutex_lock(&crowd->lock);
	crowd->started = true;
	now = psg_now_ns();
	(void)pthread_cond_broadcast(&crowd->start);
	(void)pthread_mutex_unlock(&crowd->lock);
	return now;
}

/* 64 clients, each with so many lines; seconds. */
static psg_status run_crowd(const struct bench *bench, bool batched, size_t each, double *seconds,
			    psg_error *error)
{
	struct crowd crowd = { .bench = bench,
			       .batched = batched,
			       .each = each,
			       .lock = PTHREAD_MUTEX_INITIALIZER,
			       .start = PTHREAD_COND_INITIALIZER };
	pthread_t threads[LINES];
	size_t n = 0;
	int64_t begin;

	while (n < LINES && pthread_create(&threads[n], NULL, client, &crowd) == 0)
		n++;
	begin = start(&crowd);
	for (size_t i = 0; i < n; i++)
		(void)pthread_join(threads[i], NULL);
	*seconds = cli_ms_since(begin) / 1000;
	if (n < LINES)
		return cli_fail(error, PSG_NOMEM, "no thread for client %zu of %d", n + 1, LINES);
	if (crowd.status != PSG_OK)
		*error = crowd.error;
	return crowd.status;
}

/* --- rounds --- */

/* A plan for each size that a batch of fewer may have, and what the batcher learns from a crowd. */
static psg_status warm_up(const struct bench *bench, size_t *jobs, psg_error *error)
{
	static const uint8_t sizes[] = { 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48 };
	psg_status status = PSG_OK;
	double seconds;

	cli_progress("warming up");
	for (size_t i = 0; i < sizeof(sizes) && status == PSG_OK; i++) {
		psg_tensor *some;

		status = psg_tensor_create(PSG_F32, &PSG_SHAPE(sizes[i], 3, 48, 320), &some, error);
		if (status == PSG_OK)
			status = run_job(bench, some, error);
		psg_tensor_unref(some);
	}
	if (status == PSG_OK)
		status = run_jobs(bench, 1, &seconds, error);
	if (status == PSG_OK)
		status = run_jobs(bench, 1, &seconds, error);
	if (status != PSG_OK)
		return status;
	*jobs = (size_t)(ROUND_MS / (seconds * 1000));
	*jobs = *jobs < 1 ? 1 : *jobs > MOST_JOBS ? MOST_JOBS : *jobs;
	return run_crowd(bench, true, *jobs, &seconds, error);
}

/* What the batcher did meanwhile. */
static void add(cli_batch_times *times, const psg_batcher_stats *before,
		const psg_batcher_stats *after)
{
	times->samples += after->samples - before->samples;
	times->runs += after->runs - before->runs;
	times->waits += after->waits - before->waits;
	times->waited_ms +=
		(double)(after->waited_ns - before->waited_ns) / (double)PSG_MILLISECOND;
}

/* Each kind once; `times` has room for it at `round`. */
static psg_status run_round(const struct bench *bench, size_t jobs, size_t round,
			    cli_batch_times *times, psg_error *error)
{
	psg_batcher_stats before, after;
	psg_status status = run_jobs(bench, jobs, &times->seconds[CLI_BATCH_JOB][round], error);

	psg_batcher_stats_get(bench->batcher, &before);
	if (status == PSG_OK)
		status = run_crowd(bench, true, jobs, &times->seconds[CLI_BATCH_SHARED][round],
				   error);
	psg_batcher_stats_get(bench->batcher, &after);
	add(times, &before, &after);
	if (status == PSG_OK)
		status = run_crowd(bench, false, jobs, &times->seconds[CLI_BATCH_EACH][round],
				   error);
	if (status == PSG_OK)
		status = run_alone(bench, times->alone_ms, round * ALONE, error);
	return status;
}

static psg_status measure(const struct bench *bench, size_t rounds, cli_batch_times *times,
			  psg_error *error)
{
	size_t jobs = 1;
	psg_status status = warm_up(bench, &jobs, error);

	for (size_t i = 0; i < rounds && status == PSG_OK; i++) {
		cli_progress("round %zu of %zu", i + 1, rounds);
		status = run_round(bench, jobs, i, times, error);
	}
	cli_progress_clear();
	times->rounds = rounds;
	times->lines = jobs * LINES;
	times->n_alone = rounds * ALONE;
	return status;
}

/* --- what is measured with --- */

static psg_status open_rest(struct bench *bench, const char *device, psg_error *error)
{
	psg_status status = psg_worker_open(device, NULL, &bench->worker, error);

	if (status == PSG_OK)
		status =
			psg_batcher_open(bench->worker, bench->model, NULL, &bench->batcher, error);
	if (status == PSG_OK)
		status = psg_tensor_create(PSG_F32, &PSG_SHAPE(1, 3, 48, 320), &bench->line, error);
	if (status == PSG_OK)
		status = psg_tensor_create(PSG_F32, &PSG_SHAPE(LINES, 3, 48, 320), &bench->lines,
					   error);
	if (status != PSG_OK)
		return status;
	cli_bench_fill(bench->line);
	cli_bench_fill(bench->lines);
	return PSG_OK;
}

static void close_all(struct bench *bench)
{
	psg_tensor_unref(bench->lines);
	psg_tensor_unref(bench->line);
	psg_batcher_close(bench->batcher);
	psg_worker_close(bench->worker);
	psg_model_unref(bench->model);
}

static cli_exit run(const struct values *values, const char *device, cli_batch_times *times)
{
	struct bench bench = { .worker = NULL };
	psg_error error = PSG_ERROR_INIT;
	cli_exit result = CLI_NO_MODELS;
	psg_status status =
		cli_bench_model(values->models, PSG_OCR_RECOGNITION, &bench.model, &error);

	if (status == PSG_OK) {
		status = open_rest(&bench, device, &error);
		result = status == PSG_INVALID ? CLI_USAGE : CLI_FAILED;
	}
	if (status == PSG_OK) {
		(void)snprintf(times->device, sizeof(times->device), "%s",
			       psg_worker_device(bench.worker)->name);
		status = measure(&bench, (size_t)values->repeat, times, &error);
	}
	close_all(&bench);
	if (status == PSG_OK)
		return cli_bench_batch_print(times, values->json);
	cli_error("%s", error.message);
	return result;
}

static void free_times(cli_batch_times *times)
{
	for (size_t i = 0; i < CLI_BATCH_KINDS; i++)
		free(times->seconds[i]);
	for (size_t i = 0; i < 2; i++)
		free(times->alone_ms[i]);
}

static bool have_room(cli_batch_times *times, size_t rounds)
{
	bool all = true;

	for (size_t i = 0; i < CLI_BATCH_KINDS; i++) {
		times->seconds[i] = calloc(rounds, sizeof(double));
		all = all && times->seconds[i] != NULL;
	}
	for (size_t i = 0; i < 2; i++) {
		times->alone_ms[i] = calloc(rounds * ALONE, sizeof(double));
		all = all && times->alone_ms[i] != NULL;
	}
	return all;
}

cli_exit cli_bench_batch(int argc, char **argv)
{
	struct values values = { .repeat = 5 };
	cli_batch_times times = { .lines = 0 };
	cli_exit result;
	int operands;

	if (!cli_options_read(&usage, argc, argv, &values, &operands, &result))
		return result;
	if (operands > 0)
		return cli_usage_error(&usage, "'%.100s' is too much", argv[1]);
	if (values.json && !cli_json_available())
		return CLI_USAGE;
	if (have_room(&times, (size_t)values.repeat)) {
		result = run(&values, cli_bench_device(values.device), &times);
	} else {
		cli_error("no memory for the times of %lld rounds", (long long)values.repeat);
		result = CLI_FAILED;
	}
	free_times(&times);
	return result;
}
