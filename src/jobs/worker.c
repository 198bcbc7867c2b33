/* SPDX-License-Identifier: Apache-2.0 */
/* A worker from outside: opening, draining, aborting, closing, counters. */
#include "config.h"

#include "jobs/worker.h"

#include <pagesift/shared.h>

#include "base/base.h"
#include "base/fork.h"
#include "jobs/fleet.h"
#include "jobs/futex.h"
#include "jobs/jobs.h"
#include "jobs/run.h"
#include "jobs/thread.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_CAPACITY 1023 /* chosen: a ring of 1024 entries holds one less */
#define MAX_CAPACITY 65535

/* --- opening --- */

/* Chosen: ten thousand to one is no sharing any more. */
#define MAX_WEIGHT 10000

static psg_status check_options(const psg_worker_options *options, psg_error *error)
{
	if (options->lane_capacity > MAX_CAPACITY)
		return psgi_fail(error, PSG_INVALID, "lane capacity %zu: at most %d",
				 options->lane_capacity, MAX_CAPACITY);
	if (options->weight < 0 || options->weight > MAX_WEIGHT)
		return psgi_fail(error, PSG_INVALID, "weight %d: 1 to %d, or 0 for 1",
				 (int)options->weight, MAX_WEIGHT);
	if (!(options->memory_share >= 0 && options->memory_share <= 1))
		return psgi_fail(error, PSG_INVALID,
				 "memory share %g: a part of 1, or 0 for no bound",
				 options->memory_share);
	if (options->in_flight < 0 || options->in_flight > PSGI_FLIGHTS)
		return psgi_fail(error, PSG_INVALID, "%d runs in flight: 1 or %d, or 0 for %d",
				 (int)options->in_flight, PSGI_FLIGHTS, PSGI_FLIGHTS);
	return PSG_OK;
}

/* Where nobody says, the environment may, for comparing. */
static int in_flight_of(const psg_worker_options *options)
{
	const char *text = getenv("PAGESIFT_IN_FLIGHT");

	if (options->in_flight != 0)
		return options->in_flight;
	return text != NULL && strcmp(text, "1") == 0 ? 1 : PSGI_FLIGHTS;
}

/* The lower half of a serial; the upper one is the executor's number. */
static uint64_t next_serial(const psgi_executor *executor)
{
	static _Atomic uint32_t numbers;

	return ((uint64_t)executor->number << 32) |
	       (atomic_fetch_add_explicit(&numbers, 1, memory_order_relaxed) + 1);
}

/* The account is the executor's, once it had the worker. */
static void free_worker(psg_worker *worker)
{
	psgi_lanes_destroy(&worker->lanes);
	free(worker);
}

/* All but the threads. */
static psg_status create(psgi_executor *executor, const psg_worker_options *options,
			 psgi_member *member, psg_worker **out, psg_error *error)
{
	size_t capacity = options->lane_capacity != 0 ? options->lane_capacity : DEFAULT_CAPACITY;
	psg_worker *worker = aligned_alloc(PSGI_CACHE_LINE, sizeof(*worker));
	psg_status status;

	if (worker == NULL)
		return psgi_fail(error, PSG_NOMEM, "no memory for a worker");
	memset(worker, 0, sizeof(*worker));
	psgi_event_init(&worker->news);
	status = psgi_lanes_init(&worker->lanes, next_serial(executor), executor->generation,
				 (uint32_t)capacity, error);
	if (status != PSG_OK) {
		free(worker);
		return status;
	}
	worker->lanes.member = member;
	worker->lanes.fleet = member != NULL ? member->fleet->number : 0;
	worker->executor = executor;
	worker->queue.by_deadline = options->earliest_deadline_first;
	worker->turn.weight = options->weight != 0 ? options->weight : 1;
	worker->turn.priority = options->engine_priority;
	(void)snprintf(worker->name, sizeof(worker->name), "%.15s",
		       options->name != NULL ? options->name : executor->name);
	worker->memory_share = options->memory_share;
	worker->lane_bytes = options->lane_bytes;
	worker->flies = in_flight_of(options) > 1;
	if (options->memory_share > 0) {
		worker->account = calloc(1, sizeof(*worker->account));
		if (worker->account == NULL) {
			free_worker(worker);
			return psgi_fail(error, PSG_NOMEM, "no memory for a worker");
		}
		worker->account->name = worker->name;
	}
	*out = worker;
	return PSG_OK;
}

static const psg_worker_options defaults;

psg_status psgi_worker_join(psgi_executor *executor, const psg_worker_options *options,
			    psgi_member *member, psg_worker **out, psg_error *error)
{
	psg_worker *worker = NULL;
	psg_status status;

	if (options == NULL)
		options = &defaults;
	status = check_options(options, error);
	if (status == PSG_OK)
		status = create(executor, options, member, &worker, error);
	if (status != PSG_OK)
		return status;
	worker->stall.limit_ns =
		psgi_stall_limit(options->stall_limit_ns, executor->info.kind != PSG_DEVICE_CPU);
	if (worker->stall.limit_ns != 0) {
		worker->keeper.look = psgi_stall_look;
		worker->keeper.user = worker;
	}
	status = psgi_keeper_start(&worker->keeper, &worker->lanes, error);
	if (status != PSG_OK) {
		free(worker->account);
		free_worker(worker);
		return status;
	}
	psgi_executor_join(executor, worker);
	*out = worker;
	return PSG_OK;
}

psg_status psg_worker_open(const char *device, const psg_worker_options *options, psg_worker **out,
			   psg_error *error)
{
	psgi_executor *executor = NULL;
	psg_status status = psgi_fork_watch(error);

	*out = NULL;
	if (options == NULL)
		options = &defaults;
	if (device == NULL)
		return psgi_fail(error, PSG_INVALID, "no device is named");
	if (status == PSG_OK)
		status = check_options(options, error);
	if (status == PSG_OK)
		status = psgi_executor_open(device, options->name, options->open_timeout_ns,
					    &executor, error);
	if (status != PSG_OK)
		return status;
	status = psgi_worker_join(executor, options, NULL, out, error);
	psgi_executor_release(executor); /* the worker holds it, if there is one */
	return status;
}

const psg_device_info *psg_worker_device(const psg_worker *worker)
{
	return &worker->executor->info;
}

psg_status psg_worker_health(const psg_worker *worker, psg_error *error)
{
	const psgi_executor *executor = worker->executor;

	if (atomic_load_explicit(&executor->is_lost, memory_order_acquire)) {
		if (error != NULL)
			*error = executor->lost;
		return executor->lost.code;
	}
	return psgi_stall_tell(worker, error);
}

static bool forked(const psg_worker *worker)
{
	return worker->lanes.generation != psgi_fork_generation();
}

void psg_worker_trim(psg_worker *worker)
{
	if (forked(worker))
		return;
	atomic_store_explicit(&worker->executor->trim, true, memory_order_relaxed);
	psgi_executor_notify(worker->executor);
}

/* --- ending --- */

/* What ends away from the worker's thread does not signal (it may not touch the worker), so the
 * last wait looks again in steps. */
#define LAST_STEP_NS PSG_MILLISECOND

static void wake_producer(void *user, psgi_lane *lane)
{
	(void)user;
	psgi_lane_wake(lane);
}

/* Fence: see psgi_lane_wait. */
void psgi_worker_wake_producers(psg_worker *worker)
{
	psgi_full_fence();
	psgi_lanes_visit(&worker->lanes, wake_producer, NULL);
}

void psgi_worker_refuse(psg_worker *worker)
{
	atomic_store_explicit(&worker->refusing, true, memory_order_release);
	psgi_worker_wake_producers(worker);
}

psg_status psg_worker_drain(psg_worker *worker, int64_t timeout_ns)
{
	int64_t deadline = psgi_deadline_after(timeout_ns);

	if (forked(worker))
		return PSG_FORKED;
	if (psgi_executor_is_self(worker->executor))
		return PSG_INVALID; /* it would wait for itself */
	psgi_worker_refuse(worker);
	psgi_executor_notify(worker->executor);
	for (;;) {
		uint32_t value = psgi_event_value(&worker->news);
		bool drained = atomic_load_explicit(&worker->dropping, memory_order_acquire);
		int64_t now, until = deadline;

		if (drained && psgi_worker_load(worker) == 0)
			return PSG_OK;
		now = psg_now_ns();
		if (now >= deadline)
			return PSG_TIMED_OUT;
		if (drained && deadline - now > LAST_STEP_NS)
			until = now + LAST_STEP_NS;
		(void)psgi_event_wait(&worker->news, value, until);
	}
}

static void drop_queued(void *user, psgi_job *job)
{
	(void)user;
	if (psgi_future_claim(&job->future, PSGI_HOLD))
		psgi_job_end_unrun(job, PSGI_FAILED, PSG_SHUTDOWN, psgi_unstarted_message);
}

void psgi_worker_drop(psg_worker *worker)
{
	psgi_worker_refuse(worker);
	atomic_store_explicit(&worker->dropping, true, memory_order_release);
	psgi_executor_notify(worker->executor);
	psgi_event_signal(&worker->news);
}

/*
 * The queued jobs end here, in their slots: the worker may be in a long one.
 * What a submission under way still brings, the worker ends; so it does with
 * detached jobs, whose end nobody could see.
 */
void psgi_worker_end_queued(psg_worker *worker)
{
	psgi_lanes_visit_jobs(&worker->lanes, drop_queued, NULL);
}

void psg_worker_abort(psg_worker *worker)
{
	if (forked(worker))
		return;
	psgi_worker_drop(worker);
	psgi_worker_end_queued(worker);
}

void psgi_worker_let_go(psg_worker *worker)
{
	atomic_store_explicit(&worker->closing, true, memory_order_release);
	psgi_executor_notify(worker->executor);
}

/*
 * The executor tells by an event of its own: it may not touch the worker once it has left.  False:
 * its device does not answer.
 */
static bool wait_left(const psg_worker *worker)
{
	psgi_executor *executor = worker->executor;

	for (;;) {
		uint32_t value = psgi_event_value(&executor->news);

		if (atomic_load_explicit(&worker->presence, memory_order_acquire) == PSGI_LEFT)
			return true;
		if (atomic_load_explicit(&worker->stalled, memory_order_relaxed))
			return false;
		(void)psgi_event_wait(&executor->news, value, PSGI_NEVER);
	}
}

/* The keeper is joined before the worker is given up: after that the executor may free it. */
bool psgi_worker_await(psg_worker *worker)
{
	bool has_left = wait_left(worker);

	psgi_keeper_join(&worker->keeper);
	return has_left;
}

/* Acquire and release: each side sees all that the other did. */
bool psgi_worker_desert(psg_worker *worker)
{
	int presence = PSGI_SERVED;
	psg_shared_worker *shared = worker->shared;

	psgi_thread_detach(worker->lanes.serial);
	if (!atomic_compare_exchange_strong_explicit(&worker->presence, &presence, PSGI_DESERTED,
						     memory_order_acq_rel, memory_order_acquire))
		return false;
	psg_shared_worker_release(shared);
	return true;
}

/* The slots of those that ended away from here are among it. */
bool psgi_worker_end_rest(psg_worker *worker)
{
	psgi_run_rest(worker);
	return psgi_worker_load(worker) <= psgi_future_callbacks(worker->lanes.serial);
}

void psgi_worker_pause(void)
{
	const struct timespec step = psgi_timespec(LAST_STEP_NS / 10);

	(void)nanosleep(&step, NULL);
}

void psgi_worker_free(psg_worker *worker)
{
	psgi_executor *executor = worker->executor;
	psg_shared_worker *shared = worker->shared;

	psgi_thread_detach(worker->lanes.serial);
	free_worker(worker);
	psgi_executor_release(executor);
	psg_shared_worker_release(shared);
}

/* As the closer would have done; the fleet waits for its last worker. */
void psgi_worker_bury(psg_worker *worker)
{
	psgi_executor *executor = worker->executor;
	psgi_member *member = worker->lanes.member;

	while (!psgi_worker_end_rest(worker))
		psgi_worker_pause();
	psgi_run_rest(worker);
	free_worker(worker);
	psgi_executor_release(executor);
	if (member != NULL)
		psgi_fleet_drop(member->fleet);
}

/*
 * Others may be in the callback of a job that they cancelled, and have a
 * submission under way there; this thread, too, may be in such a callback.
 */
void psg_worker_close(psg_worker *worker)
{
	if (worker == NULL || forked(worker)) /* the child's copy is left as it is */
		return;
	psg_worker_abort(worker);
	psgi_worker_let_go(worker);
	if (!psgi_worker_await(worker) && psgi_worker_desert(worker))
		return;
	while (!psgi_worker_end_rest(worker))
		psgi_worker_pause();
	psgi_run_rest(worker); /* what came while the last one ended */
	psgi_worker_free(worker);
}
