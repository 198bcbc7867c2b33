/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For bench jobs: libuv's uv_queue_work, whose pool is the process's and has one thread
 * (UV_THREADPOOL_SIZE).  A loop belongs to its thread, so each producer runs one, which tells it
 * of the jobs that have ended.
 */
#include "config.h"

#include "cli/bench_jobs.h"

#include <stdlib.h>
#include <uv.h>

struct producer {
	uv_loop_t loop;
	size_t in_flight;
};

/* Allocated at the submission, freed when the loop knows of the end. */
struct request {
	uv_work_t work; /* first: its address is the request's */
	struct producer *producer;
	int64_t *ended_ns; /* NULL: not asked for */
};

static psg_status fail(int code, psg_error *error)
{
	return cli_fail(error, PSG_NOMEM, "libuv: %.300s", uv_strerror(code));
}

/* There is nothing to open but what each producer has. */
static psg_status open_nothing(size_t n, void **out, psg_error *error)
{
	(void)n, (void)error;
	*out = NULL;
	return PSG_OK;
}

static void close_nothing(void *system)
{
	(void)system;
}

static psg_status enter(void *system, size_t i, void **out, psg_error *error)
{
	struct producer *producer = calloc(1, sizeof(*producer));
	int code;

	(void)system, (void)i;
	if (producer == NULL)
		return cli_fail(error, PSG_NOMEM, "no memory for a producer");
	code = uv_loop_init(&producer->loop);
	if (code != 0) {
		free(producer);
		return fail(code, error);
	}
	*out = producer;
	return PSG_OK;
}

static void leave(void *argument)
{
	struct producer *producer = argument;

	(void)uv_loop_close(&producer->loop);
	free(producer);
}

static void serve(uv_work_t *work)
{
	const struct request *request = (const struct request *)work;

	if (request->ended_ns != NULL)
		*request->ended_ns = psg_now_ns();
}

static void after(uv_work_t *work, int status)
{
	struct request *request = (struct request *)work;

	(void)status;
	request->producer->in_flight--;
	free(request);
}

static psg_status submit(struct producer *producer, int64_t *ended_ns, psg_error *error)
{
	struct request *request = malloc(sizeof(*request));
	int code;

	if (request == NULL)
		return cli_fail(error, PSG_NOMEM, "no memory for a request");
	request->producer = producer;
	request->ended_ns = ended_ns;
	code = uv_queue_work(&producer->loop, &request->work, serve, after);
	if (code != 0) {
		free(request);
		return fail(code, error);
	}
	producer->in_flight++;
	return PSG_OK;
}

static void await(struct producer *producer, size_t in_flight)
{
	while (producer->in_flight > in_flight)
		(void)uv_run(&producer->loop, UV_RUN_ONCE);
}

static psg_status stream(void *argument, const atomic_bool *stop, uint64_t *jobs, psg_error *error)
{
	struct producer *producer = argument;
	psg_status status = PSG_OK;

	*jobs = 0;
	while (status == PSG_OK && !atomic_load_explicit(stop, memory_order_relaxed)) {
		if (producer->in_flight == CLI_JOBS_WINDOW)
			await(producer, CLI_JOBS_WINDOW / 2);
		status = submit(producer, NULL, error);
		*jobs += status == PSG_OK;
	}
	await(producer, 0);
	return status;
}

static psg_status trip(void *argument, cli_trip *out, psg_error *error)
{
	struct producer *producer = argument;
	int64_t begin = psg_now_ns(), submitted, ended = 0, known;
	psg_status status = submit(producer, &ended, error);

	submitted = psg_now_ns();
	await(producer, 0);
	known = psg_now_ns();
	*out = (cli_trip){ submitted - begin, known - ended, known - begin };
	return status;
}

const cli_job_system cli_jobs_uv = {
	.open = open_nothing,
	.close = close_nothing,
	.enter = enter,
	.leave = leave,
	.stream = stream,
	.trip = trip,
};
