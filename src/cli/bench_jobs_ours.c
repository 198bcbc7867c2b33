/* SPDX-License-Identifier: Apache-2.0 */
/*
 * For bench jobs: a worker of the library, with futures and without.
 *
 * A future is waited for and released in the order of submission.  Jobs without one do nothing at
 * all: that only so many are in flight is the lane's own bound, where the peers' jobs must count
 * themselves.
 */
#include "config.h"

#include "cli/bench_jobs.h"

#include <stdlib.h>

struct producer {
	psg_worker *worker;
	size_t sent, released; /* futures */
	psg_future *futures[CLI_JOBS_WINDOW];
};

static psg_status open_worker(size_t n, void **out, psg_error *error)
{
	/* As many jobs as may be in flight.  The reference device has no threads of its own. */
	const psg_worker_options options = { .lane_capacity = CLI_JOBS_WINDOW, .name = "bench" };
	psg_worker *worker;
	psg_status status = psg_worker_open("reference", &options, &worker, error);

	(void)n;
	if (status == PSG_OK)
		*out = worker;
	return status;
}

static void close_worker(void *worker)
{
	psg_worker_close(worker);
}

static psg_status enter(void *worker, size_t i, void **out, psg_error *error)
{
	struct producer *producer = malloc(sizeof(*producer));

	(void)i;
	if (producer == NULL)
		return cli_fail(error, PSG_NOMEM, "no memory for a producer");
	producer->worker = worker;
	producer->sent = 0;
	producer->released = 0;
	*out = producer;
	return PSG_OK;
}

/* --- with futures --- */

static psg_status do_nothing(psg_device *device, void *arg, psg_error *error)
{
	(void)device, (void)arg, (void)error;
	return PSG_OK;
}

static psg_status note_end(psg_device *device, void *ended_ns, psg_error *error)
{
	(void)device, (void)error;
	*(int64_t *)ended_ns = psg_now_ns();
	return PSG_OK;
}

static void release_one(struct producer *producer)
{
	psg_future *future = producer->futures[producer->released++ % CLI_JOBS_WINDOW];

	(void)psg_future_wait(future);
	psg_future_release(future);
}

/* Until no more are in flight than that.  The last of those to end is waited for first, so that
 * this thread sleeps once and not at each. */
static void await(struct producer *producer, size_t in_flight)
{
	size_t last = producer->sent - in_flight - 1;

	if (producer->sent - producer->released <= in_flight)
		return;
	(void)psg_future_wait(producer->futures[last % CLI_JOBS_WINDOW]);
	while (producer->sent - producer->released > in_flight)
		release_one(producer);
}

static inline psg_status submit(struct producer *producer, psg_error *error)
{
	psg_status status =
		psg_submit_function(producer->worker, do_nothing, NULL, NULL,
				    &producer->futures[producer->sent % CLI_JOBS_WINDOW], error);

	producer->sent += status == PSG_OK;
	return status;
}

static psg_status stream(void *argument, const atomic_bool *stop, uint64_t *jobs, psg_error *error)
{
	struct producer *producer = argument;
	size_t before = producer->sent;
	psg_status status = PSG_OK;

	while (status == PSG_OK && !atomic_load_explicit(stop, memory_order_relaxed)) {
		if (producer->sent - producer->released == CLI_JOBS_WINDOW)
			await(producer, CLI_JOBS_WINDOW / 2);
		status = submit(producer, error);
	}
	await(producer, 0);
	*jobs = producer->sent - before;
	return status;
}

static psg_status timed(void *argument, const atomic_bool *stop, cli_samples *ns, psg_error *error)
{
	struct producer *producer = argument;
	psg_status status = PSG_OK;

	while (status == PSG_OK && !atomic_load_explicit(stop, memory_order_relaxed)) {
		if (producer->sent - producer->released == CLI_JOBS_WINDOW)
			await(producer, CLI_JOBS_WINDOW / 2);
		if (producer->sent % CLI_JOBS_STRIDE == 0 && ns->n < ns->room) {
			int64_t begin = psg_now_ns();

			status = submit(producer, error);
			ns->at[ns->n++] = (double)(psg_now_ns() - begin);
		} else {
			status = submit(producer, error);
		}
	}
	await(producer, 0);
	return status;
}

static psg_status trip(void *argument, cli_trip *out, psg_error *error)
{
	const struct producer *producer = argument;
	psg_future *future;
	int64_t begin = psg_now_ns(), submitted, ended = 0, known;
	psg_status status =
		psg_submit_function(producer->worker, note_end, &ended, NULL, &future, error);

	if (status != PSG_OK)
		return status;
	submitted = psg_now_ns();
	status = psg_future_wait(future);
	known = psg_now_ns();
	psg_future_release(future);
	*out = (cli_trip){ submitted - begin, known - ended, known - begin };
	return status;
}

const cli_job_system cli_jobs_ours = {
	.open = open_worker,
	.close = close_worker,
	.enter = enter,
	.leave = free,
	.stream = stream,
	.trip = trip,
	.timed = timed,
};

/* --- without --- */

/* A thread's jobs run as they came: with one behind them, that has a future, all have ended. */
static psg_status await_all(const struct producer *producer, const psg_job_options *options,
			    psg_error *error)
{
	psg_future *last;
	psg_status status =
		psg_submit_function(producer->worker, do_nothing, NULL, options, &last, error);

	if (status != PSG_OK)
		return status;
	status = psg_future_wait(last);
	psg_future_release(last);
	return status;
}

static psg_status stream_detached(void *argument, const atomic_bool *stop, uint64_t *jobs,
				  psg_error *error)
{
	static const psg_job_options options = { .room_timeout_ns = INT64_MAX };
	const struct producer *producer = argument;
	psg_status status = PSG_OK;

	*jobs = 0;
	while (status == PSG_OK && !atomic_load_explicit(stop, memory_order_relaxed)) {
		status = psg_submit_function(producer->worker, do_nothing, NULL, &options, NULL,
					     error);
		*jobs += status == PSG_OK;
	}
	return status == PSG_OK ? await_all(producer, &options, error) : status;
}

const cli_job_system cli_jobs_ours_detached = {
	.open = open_worker,
	.close = close_worker,
	.enter = enter,
	.leave = free,
	.stream = stream_detached,
};
