/* SPDX-License-Identifier: Apache-2.0 */
/* The worker's thread: looking for jobs, running them, sleeping when there are none. */
#include "config.h"

#include "base/base.h"
#include "device/device.h"
#include "jobs/futex.h"
#include "jobs/worker.h"

#include <ck_pr.h>

/*
 * The lanes are looked at again after this many jobs, or this much time (measured: a look costs 20
 * to 100 ns a lane, a no-op job 50), and always when a job may be there that goes first.
 */
#define LOOK_JOBS 64
#define LOOK_NS 20000

/* A lane found empty this often in a row is not polled any more, until it marks itself. */
#define IDLE_LOOKS 16

/* --- looking for jobs --- */

static bool pull(psg_worker *worker, psgi_lane *lane)
{
	psgi_job *job = psgi_lane_get(lane);
	bool found = job != NULL;

	for (; job != NULL; job = psgi_lane_get(lane))
		psgi_queue_push(&worker->queue, job);
	return found;
}

static void start_polling(void *user, psgi_lane *lane)
{
	psg_worker *worker = user;

	lane->idle_looks = 0;
	if (lane->polled)
		return;
	lane->polled = true;
	lane->polled_next = worker->polled;
	worker->polled = lane;
}

static void stop_polling(psgi_lane **link)
{
	psgi_lane *lane = *link;

	*link = lane->polled_next;
	lane->polled = false;
}

/*
 * May the worker stop looking at this lane?  The producer has been told, by
 * `noticed` before a full fence, to mark itself; it enqueues, fences, and looks
 * at `noticed`.  So either it marks itself or its job is seen here.
 */
static bool may_rest(psgi_lane *lane)
{
	if (psgi_lane_empty(lane))
		return true;
	atomic_store_explicit(&lane->noticed, true, memory_order_relaxed);
	return false;
}

static void look_at_polled(psg_worker *worker)
{
	psgi_lane **link = &worker->polled;

	while (*link != NULL) {
		psgi_lane *lane = *link;

		if (pull(worker, lane)) {
			lane->idle_looks = 0;
		} else if (++lane->idle_looks >= IDLE_LOOKS) {
			atomic_store_explicit(&lane->noticed, false, memory_order_relaxed);
			psgi_full_fence();
			if (may_rest(lane)) {
				stop_polling(link);
				continue;
			}
		}
		link = &lane->polled_next;
	}
}

static void look(psg_worker *worker)
{
	worker->until_look = LOOK_JOBS;
	worker->looked_ns = worker->now_ns;
	if (atomic_load_explicit(&worker->urgent, memory_order_relaxed)) {
		/* Cleared before the rings are read: see commit in submit.c. */
		atomic_store_explicit(&worker->urgent, false, memory_order_relaxed);
		psgi_full_fence();
	}
	if (psgi_lanes_marked(&worker->lanes))
		psgi_lanes_take_marked(&worker->lanes, start_polling, worker);
	look_at_polled(worker);
}

/* Could a job be in a lane that goes before the next one of the queue? */
static bool must_look(psg_worker *worker)
{
	int rank = psgi_queue_rank(&worker->queue);

	return rank >= PSGI_BACKGROUND || /* none, or one that waits for all others */
	       atomic_load_explicit(&worker->urgent, memory_order_relaxed) ||
	       --worker->until_look == 0 || worker->now_ns - worker->looked_ns > LOOK_NS;
}

static psgi_job *next_job(psg_worker *worker)
{
	if (must_look(worker))
		look(worker);
	return psgi_queue_pop(&worker->queue);
}

/* --- the device's memory --- */

/* The device counts on this thread; others read the copies. */
static void publish_memory(psg_worker *worker)
{
	psgi_device_memory memory;

	if (worker->info.kind == PSG_DEVICE_CPU)
		return;
	psgi_device_memory_get(worker->device, &memory);
	atomic_store_explicit(&worker->memory_used, memory.used, memory_order_relaxed);
	atomic_store_explicit(&worker->memory_held, memory.held, memory_order_relaxed);
	atomic_store_explicit(&worker->memory_high, memory.high, memory_order_relaxed);
}

/* Before the job that met it has ended, so that who is told of that job knows. */
static void note_loss(psg_worker *worker)
{
	if (worker->device->lost.code == PSG_OK ||
	    atomic_load_explicit(&worker->is_lost, memory_order_relaxed))
		return;
	worker->lost = worker->device->lost;
	atomic_store_explicit(&worker->is_lost, true, memory_order_release);
	psgi_log(PSG_LOG_ERROR, "%s: the device is lost to this process: %s", worker->name,
		 worker->lost.message);
}

static bool wants_trim(const psg_worker *worker)
{
	return atomic_load_explicit(&worker->trim, memory_order_acquire);
}

/* Between two jobs; what is asked for from here on is done after the next one. */
static void trim(psg_worker *worker)
{
	atomic_store_explicit(&worker->trim, false, memory_order_relaxed);
	psgi_device_trim(worker->device);
	if (worker->host != NULL)
		psgi_device_trim(worker->host);
	note_loss(worker);
	publish_memory(worker);
	worker->now_ns = psg_now_ns();
}

/* --- running --- */

static void end_job(psg_worker *worker, psgi_job *job, psgi_outcome outcome, psg_status status)
{
	bool calls_back = job->future.done != NULL;

	psgi_job_drop_inputs(job);
	psgi_count(&worker->outcome[outcome]); /* before a waiter can ask */
	psgi_future_settle(&job->future, status, worker->now_ns);
	psgi_future_publish(&job->future, PSGI_HOLD);
	psgi_count(&worker->ended); /* after: who sees it knows that nothing of the job is left */
	if (calls_back)
		worker->now_ns = psg_now_ns();
}

/* An eighth is the newest: chosen, to follow a change of load within a few jobs. */
static void note_duration(psg_worker *worker, int64_t ns)
{
	int64_t mean = atomic_load_explicit(&worker->mean_ns, memory_order_relaxed);

	atomic_store_explicit(&worker->mean_ns, mean == 0 ? ns : mean + (ns - mean) / 8,
			      memory_order_relaxed);
}

static void run(psg_worker *worker, psgi_job *job)
{
	psg_future *future = &job->future;
	int64_t queued = atomic_load_explicit(&future->queued_ns, memory_order_relaxed);
	/* A job may have come after the clock was read last. */
	int64_t started = worker->now_ns > queued ? worker->now_ns : queued;
	psgi_outcome outcome;
	psg_status status;

	atomic_store_explicit(&future->started_ns, started, memory_order_relaxed);
	worker->error.code = PSG_OK;
	worker->error.message[0] = '\0';
	status = psgi_job_run(job, worker, &outcome, &worker->error);
	note_loss(worker);
	publish_memory(worker);
	psgi_future_note(future, worker->error.message);
	if (status == PSG_OK && worker->error.message[0] != '\0' && future->message == NULL)
		future->message = "the GPU failed";
	worker->now_ns = psg_now_ns();
	note_duration(worker, worker->now_ns - started);
	end_job(worker, job, outcome, status);
}

static void serve_job(psg_worker *worker, psgi_job *job)
{
	psg_future *future = &job->future;

	if (!psgi_future_claim(future, 0)) {
		psgi_future_drop(future, PSGI_HOLD); /* it ended while it waited */
	} else if (atomic_load_explicit(&worker->dropping, memory_order_relaxed)) {
		future->message = "the worker was shut down before it started";
		end_job(worker, job, PSGI_FAILED, PSG_SHUTDOWN);
	} else if (atomic_load_explicit(&future->deadline_ns, memory_order_relaxed) <=
		   worker->now_ns) {
		future->message = "its deadline passed before it started";
		end_job(worker, job, PSGI_EXPIRED, PSG_TIMED_OUT);
	} else {
		run(worker, job);
	}
}

/* --- sleeping --- */

/* All polled lanes are told to mark themselves again; false when one has work. */
static bool rest_all(psg_worker *worker)
{
	psgi_lane **link = &worker->polled;

	if (*link == NULL)
		return true;
	for (psgi_lane *lane = *link; lane != NULL; lane = lane->polled_next)
		atomic_store_explicit(&lane->noticed, false, memory_order_relaxed);
	psgi_full_fence();
	while (*link != NULL) {
		if (may_rest(*link))
			stop_polling(link);
		else
			link = &(*link)->polled_next;
	}
	return worker->polled == NULL;
}

static bool polled_have_work(const psg_worker *worker)
{
	for (const psgi_lane *lane = worker->polled; lane != NULL; lane = lane->polled_next)
		if (!psgi_lane_empty(lane))
			return true;
	return psgi_lanes_marked(&worker->lanes);
}

/* How long to look on before falling asleep; chosen: about what that and a wake-up cost. */
#define SPIN_NS 5000

static bool spin(psg_worker *worker)
{
	int64_t until = worker->now_ns + SPIN_NS;

	while (psg_now_ns() < until) {
		for (int i = 0; i < 16; i++) {
			if (polled_have_work(worker))
				return true;
			ck_pr_stall();
		}
	}
	return false;
}

/* Nothing is queued: false when the thread is to end. */
static bool idle(psg_worker *worker)
{
	bool refusing, closing;
	uint32_t value;

	if (spin(worker)) {
		worker->now_ns = psg_now_ns();
		return true;
	}
	/*
	 * Before the last look: a signal after it makes the wait return, and what was accepted
	 * before draining or closing began is found.
	 */
	value = psgi_event_value(&worker->work);
	refusing = atomic_load_explicit(&worker->refusing, memory_order_acquire);
	closing = atomic_load_explicit(&worker->closing, memory_order_acquire);
	if (rest_all(worker) && !psgi_lanes_marked(&worker->lanes)) {
		if (refusing && !atomic_load_explicit(&worker->dropping, memory_order_relaxed)) {
			/* Drained.  What a submission that was under way still brings does not run.
			 */
			atomic_store_explicit(&worker->dropping, true, memory_order_release);
			psgi_event_signal(&worker->news);
		}
		if (closing)
			return false;
		if (!wants_trim(worker))
			(void)psgi_event_wait(&worker->work, value, PSGI_NEVER);
	}
	worker->now_ns = psg_now_ns();
	return true;
}

/* --- the thread --- */

void psgi_worker_end_rest(psg_worker *worker)
{
	psgi_job *job;

	worker->now_ns = psg_now_ns();
	while ((job = next_job(worker)) != NULL)
		serve_job(worker, job);
}

static void open_device(psg_worker *worker)
{
	worker->open_status = psg_device_open(worker->device_name, &worker->device, &worker->error);
	if (worker->open_status != PSG_OK)
		return;
	worker->info = *psg_device_info_get(worker->device);
	worker->open_status = psgi_device_enter(worker->device, &worker->error);
	if (worker->open_status != PSG_OK) {
		psg_device_close(worker->device);
		worker->device = NULL;
	}
}

static void close_device(psg_worker *worker)
{
	psg_device_close(worker->host);
	if (worker->device == NULL)
		return;
	psgi_device_leave(worker->device);
	psg_device_close(worker->device);
}

/* Tells who opens the worker; false: it does not wait any more, and the worker is gone. */
static bool tell_opened(psg_worker *worker)
{
	int state = PSGI_OPENING;

	if (atomic_compare_exchange_strong_explicit(&worker->opening, &state, PSGI_OPENED,
						    memory_order_acq_rel, memory_order_acquire)) {
		psgi_event_signal(&worker->news);
		return true;
	}
	close_device(worker);
	psgi_phase_watch(NULL);
	psgi_keeper_join(&worker->keeper);
	psgi_worker_free(worker);
	return false;
}

void *psgi_worker_main(void *argument)
{
	psg_worker *worker = argument;

	(void)pthread_setname_np(pthread_self(), worker->name);
	psgi_phase_watch(&worker->phase);
	open_device(worker);
	if (!tell_opened(worker) || worker->open_status != PSG_OK)
		return NULL;
	psgi_this_worker = worker->lanes.serial;
	worker->now_ns = psg_now_ns();
	for (;;) {
		psgi_job *job = next_job(worker);

		/* After the job was found: one that was submitted behind the call starts after it.
		 */
		if (wants_trim(worker))
			trim(worker);
		if (job != NULL)
			serve_job(worker, job);
		else if (!idle(worker))
			break;
	}
	close_device(worker);
	return NULL;
}
