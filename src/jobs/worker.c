/* SPDX-License-Identifier: Apache-2.0 */
/* A worker from outside: opening, draining, aborting, closing, counters. */
#include "config.h"

#include "jobs/worker.h"

#include "base/base.h"
#include "base/thread.h"
#include "base/fork.h"
#include "jobs/futex.h"
#include "jobs/jobs.h"
#include "jobs/thread.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_CAPACITY 1023 /* chosen: a ring of 1024 entries holds one less */
#define MAX_CAPACITY 65535

/* Chosen: a first start that compiles takes some seconds, one of eight cards that sleep some ten.
 */
#define DEFAULT_OPEN_NS (120 * PSG_SECOND)

static int64_t deadline_after(int64_t timeout_ns)
{
	int64_t now = psg_now_ns();

	return timeout_ns < 0 || timeout_ns > PSGI_NEVER - now ? PSGI_NEVER : now + timeout_ns;
}

/* --- opening --- */

static psg_status start_threads(psg_worker *worker, psg_error *error)
{
	psg_status status = psgi_keeper_start(&worker->keeper, &worker->lanes, error);

	if (status != PSG_OK || psgi_thread_start(&worker->thread, psgi_worker_main, worker))
		return status;
	psgi_keeper_join(&worker->keeper);
	return psgi_fail(error, PSG_NOMEM, "no thread for the worker");
}

/* Until opening has ended, or `deadline_ns` has passed. */
static void wait_opened(psg_worker *worker, int64_t deadline_ns)
{
	while (atomic_load_explicit(&worker->opening, memory_order_acquire) == PSGI_OPENING &&
	       psg_now_ns() < deadline_ns) {
		uint32_t value = psgi_event_value(&worker->news);

		if (atomic_load_explicit(&worker->opening, memory_order_acquire) == PSGI_OPENING)
			(void)psgi_event_wait(&worker->news, value, deadline_ns);
	}
}

/* Leaves the worker to its thread; false: opening has ended after all. */
static bool abandon(psg_worker *worker, int64_t timeout_ns, psg_error *error)
{
	pthread_t thread = worker->thread;
	const char *phase = atomic_load_explicit(&worker->phase, memory_order_relaxed);
	char name[sizeof(worker->info.name)];
	int state = PSGI_OPENING;

	(void)snprintf(name, sizeof(name), "%s", worker->device_name);
	if (!atomic_compare_exchange_strong_explicit(&worker->opening, &state, PSGI_ABANDONED,
						     memory_order_acq_rel, memory_order_acquire))
		return false;
	(void)pthread_detach(thread);
	(void)psgi_fail(
		error, PSG_TIMED_OUT,
		"%s is not open after %.3g s, at '%s': the driver hangs, or needs more time "
		"(open_timeout_ns); PAGESIFT_GPU=off does without it",
		name, (double)timeout_ns / (double)PSG_SECOND, phase != NULL ? phase : "opening");
	return true;
}

void psgi_worker_free(psg_worker *worker)
{
	psgi_lanes_destroy(&worker->lanes);
	free(worker->device_name);
	free(worker);
}

/* On failure nothing is left. */
static psg_status open_worker(psg_worker *worker, int64_t timeout_ns, psg_error *error)
{
	psg_status status = start_threads(worker, error);

	if (status == PSG_OK) {
		wait_opened(worker, deadline_after(timeout_ns));
		if (abandon(worker, timeout_ns, error))
			return PSG_TIMED_OUT;
		if (worker->open_status == PSG_OK)
			return PSG_OK;
		(void)pthread_join(worker->thread, NULL);
		psgi_keeper_join(&worker->keeper);
		status = worker->open_status;
		if (error != NULL)
			*error = worker->error;
	}
	psgi_worker_free(worker);
	return status;
}

static psg_status create(const char *device, const psg_worker_options *options, psg_worker **out,
			 psg_error *error)
{
	static _Atomic uint64_t serials;
	uint64_t serial = atomic_fetch_add_explicit(&serials, 1, memory_order_relaxed) + 1;
	size_t capacity = options->lane_capacity != 0 ? options->lane_capacity : DEFAULT_CAPACITY;
	psg_worker *worker = aligned_alloc(PSGI_CACHE_LINE, sizeof(*worker));
	psg_status status;

	if (worker == NULL)
		return psgi_fail(error, PSG_NOMEM, "no memory for a worker");
	memset(worker, 0, sizeof(*worker));
	psgi_event_init(&worker->work);
	psgi_event_init(&worker->news);
	status = psgi_lanes_init(&worker->lanes, serial, psgi_fork_generation(), (uint32_t)capacity,
				 error);
	if (status != PSG_OK) {
		free(worker);
		return status;
	}
	worker->queue.by_deadline = options->earliest_deadline_first;
	if (options->name != NULL)
		(void)snprintf(worker->name, sizeof(worker->name), "%.15s", options->name);
	else
		(void)snprintf(worker->name, sizeof(worker->name), "psg-%.11s", device);
	worker->device_name = strdup(device);
	if (worker->device_name == NULL) {
		psgi_worker_free(worker);
		return psgi_fail(error, PSG_NOMEM, "no memory for a worker");
	}
	*out = worker;
	return PSG_OK;
}

psg_status psg_worker_open(const char *device, const psg_worker_options *options, psg_worker **out,
			   psg_error *error)
{
	static const psg_worker_options defaults;
	psg_worker *worker = NULL;
	psg_status status = psgi_fork_watch(error);

	*out = NULL;
	if (options == NULL)
		options = &defaults;
	if (device == NULL)
		return psgi_fail(error, PSG_INVALID, "no device is named");
	if (options->lane_capacity > MAX_CAPACITY)
		return psgi_fail(error, PSG_INVALID, "lane capacity %zu: at most %d",
				 options->lane_capacity, MAX_CAPACITY);
	if (status == PSG_OK)
		status = create(device, options, &worker, error);
	if (status != PSG_OK)
		return status;
	status = open_worker(
		worker, options->open_timeout_ns != 0 ? options->open_timeout_ns : DEFAULT_OPEN_NS,
		error);
	if (status == PSG_OK)
		*out = worker;
	return status;
}

const psg_device_info *psg_worker_device(const psg_worker *worker)
{
	return &worker->info;
}

psg_status psg_worker_health(const psg_worker *worker, psg_error *error)
{
	if (!atomic_load_explicit(&worker->is_lost, memory_order_acquire))
		return PSG_OK;
	if (error != NULL)
		*error = worker->lost;
	return worker->lost.code;
}

static bool forked(const psg_worker *worker)
{
	return worker->lanes.generation != psgi_fork_generation();
}

/* Stored before the signal: the thread sees it, or does not fall asleep. */
void psg_worker_trim(psg_worker *worker)
{
	if (forked(worker))
		return;
	atomic_store_explicit(&worker->trim, true, memory_order_release);
	psgi_event_signal(&worker->work);
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

/* No new jobs; who waits for a slot is told.  Fence: see psgi_lane_wait. */
static void refuse_jobs(psg_worker *worker)
{
	atomic_store_explicit(&worker->refusing, true, memory_order_release);
	psgi_full_fence();
	psgi_lanes_visit(&worker->lanes, wake_producer, NULL);
}

psg_status psg_worker_drain(psg_worker *worker, int64_t timeout_ns)
{
	int64_t deadline = deadline_after(timeout_ns);

	if (forked(worker))
		return PSG_FORKED;
	if (psgi_this_worker == worker->lanes.serial)
		return PSG_INVALID; /* it would wait for itself */
	refuse_jobs(worker);
	psgi_event_signal(&worker->work);
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
		psgi_job_end_unrun(job, PSGI_FAILED, PSG_SHUTDOWN,
				   "the worker was shut down before it started");
}

/*
 * The queued jobs end here, in their slots: the worker may be in a long one.
 * What a submission under way still brings, the worker ends.
 */
void psg_worker_abort(psg_worker *worker)
{
	if (forked(worker))
		return;
	refuse_jobs(worker);
	atomic_store_explicit(&worker->dropping, true, memory_order_release);
	psgi_event_signal(&worker->work);
	psgi_event_signal(&worker->news);
	psgi_lanes_visit_jobs(&worker->lanes, drop_queued, NULL);
}

/*
 * Others may be in the callback of a job that they cancelled, and have a
 * submission under way there; this thread, too, may be in such a callback.
 */
static void wait_for_callbacks(psg_worker *worker)
{
	const struct timespec step = psgi_timespec(LAST_STEP_NS / 10);

	while (psgi_worker_load(worker) > psgi_future_callbacks(worker->lanes.serial)) {
		psgi_worker_end_rest(worker);
		(void)nanosleep(&step, NULL);
	}
	psgi_worker_end_rest(worker); /* the slots of those that ended away from here */
}

void psg_worker_close(psg_worker *worker)
{
	if (worker == NULL || forked(worker)) /* the child's copy is left as it is */
		return;
	psg_worker_abort(worker);
	atomic_store_explicit(&worker->closing, true, memory_order_release);
	psgi_event_signal(&worker->work);
	(void)pthread_join(worker->thread, NULL);
	psgi_keeper_join(&worker->keeper);
	wait_for_callbacks(worker);
	psgi_thread_detach(worker->lanes.serial);
	psgi_worker_free(worker);
}

/* --- counters --- */

struct sum {
	psg_worker_stats stats;
	uint64_t ended;
};

static void add_ended(void *user, psgi_lane *lane)
{
	struct sum *sum = user;

	sum->ended += atomic_load_explicit(&lane->ended, memory_order_acquire);
}

static void add_accepted(void *user, psgi_lane *lane)
{
	struct sum *sum = user;

	sum->stats.submitted += atomic_load_explicit(&lane->accepted, memory_order_acquire);
}

/* What has ended first: then what was accepted is never less. */
static void add_load(const psg_worker *worker, struct sum *sum)
{
	sum->ended = atomic_load_explicit(&worker->ended, memory_order_acquire);
	psgi_lanes_visit(&worker->lanes, add_ended, sum);
	psgi_lanes_visit(&worker->lanes, add_accepted, sum);
	sum->stats.queued = sum->stats.submitted - sum->ended;
}

uint64_t psgi_worker_load(const psg_worker *worker)
{
	struct sum sum = { .ended = 0 };

	add_load(worker, &sum);
	return sum.stats.queued;
}

int64_t psg_worker_retry_after_ns(const psg_worker *worker)
{
	int64_t mean = atomic_load_explicit(&worker->mean_ns, memory_order_relaxed);
	uint64_t load = psgi_worker_load(worker);

	return mean > 0 && load > (uint64_t)(PSGI_NEVER / mean) ? PSGI_NEVER : mean * (int64_t)load;
}

bool psgi_worker_refuses(const psg_worker *worker)
{
	return atomic_load_explicit(&worker->refusing, memory_order_relaxed);
}

static uint64_t outcome_of(const _Atomic uint64_t *outcome, psgi_outcome which)
{
	return atomic_load_explicit(&outcome[which], memory_order_relaxed);
}

static void add_outcomes(psg_worker_stats *stats, const _Atomic uint64_t *outcome)
{
	stats->completed += outcome_of(outcome, PSGI_COMPLETED);
	stats->failed += outcome_of(outcome, PSGI_FAILED);
	stats->cancelled += outcome_of(outcome, PSGI_CANCELLED);
	stats->expired += outcome_of(outcome, PSGI_EXPIRED);
}

static void add_lane(void *user, psgi_lane *lane)
{
	psg_worker_stats *stats = user;

	add_outcomes(stats, lane->outcome);
	stats->refused_full += atomic_load_explicit(&lane->refused_full, memory_order_relaxed);
	stats->refused_late += atomic_load_explicit(&lane->refused_late, memory_order_relaxed);
	stats->lanes +=
		atomic_load_explicit(&lane->flags, memory_order_relaxed) == PSGI_LANE_ATTACHED;
}

void psg_worker_stats_get(const psg_worker *worker, psg_worker_stats *stats)
{
	struct sum sum = { .ended = 0 };
	const char *phase;

	add_load(worker, &sum);
	*stats = sum.stats;
	add_outcomes(stats, worker->outcome);
	phase = atomic_load_explicit(&worker->phase, memory_order_relaxed);
	stats->phase = phase != NULL ? phase : "";
	stats->recomputed = atomic_load_explicit(&worker->recomputed, memory_order_relaxed);
	stats->ops_on_gpu = atomic_load_explicit(&worker->ops_on_gpu, memory_order_relaxed);
	stats->ops_on_cpu = atomic_load_explicit(&worker->ops_on_cpu, memory_order_relaxed);
	stats->memory_used = atomic_load_explicit(&worker->memory_used, memory_order_relaxed);
	stats->memory_held = atomic_load_explicit(&worker->memory_held, memory_order_relaxed);
	stats->memory_peak = atomic_load_explicit(&worker->memory_high, memory_order_relaxed);
	psgi_lanes_visit(&worker->lanes, add_lane, stats);
}
