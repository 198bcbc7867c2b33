/* SPDX-License-Identifier: Apache-2.0 */
/* The executor's thread: choosing jobs, and sleeping when there are none. */
#include "config.h"

#include "base/base.h"
#include "device/device.h"
#include "jobs/fleet.h"
#include "jobs/look.h"
#include "jobs/run.h"
#include "jobs/serve.h"

#include <ck_pr.h>
#include <stddef.h>

static psg_worker *worker_of(psgi_turn *turn)
{
	return (psg_worker *)(void *)((char *)turn - offsetof(psg_worker, turn));
}

/* --- choosing --- */

/* The next job, whose worker is `*whose`; NULL: there is none. */
static psgi_job *next_job(psgi_executor *executor, psg_worker **whose)
{
	psgi_turn *turn = executor->turns.first;

	for (; turn != NULL; turn = turn->next) {
		psg_worker *worker = worker_of(turn);

		if (psgi_look_is_due(worker, executor->now_ns))
			psgi_look(worker, executor->now_ns);
		turn->waits = psgi_queue_rank(&worker->queue) < PSGI_RANKS;
	}
	turn = psgi_turns_next(&executor->turns);
	if (turn == NULL)
		return NULL;
	*whose = worker_of(turn);
	return psgi_queue_pop(&(*whose)->queue);
}

/* --- workers that come and go --- */

/* Only the open device knows how much there is to share. */
static void limit_memory(const psgi_executor *executor, psg_worker *worker)
{
	psgi_device_memory memory;

	if (worker->account == NULL)
		return;
	psgi_device_memory_get(executor->device, &memory);
	worker->account->limit = (size_t)(worker->memory_share * (double)memory.limit);
}

static void take_joined(psgi_executor *executor)
{
	psg_worker *worker =
		atomic_exchange_explicit(&executor->joining, NULL, memory_order_acquire);

	while (worker != NULL) {
		psg_worker *next = worker->joining_next;

		psgi_turns_add(&executor->turns, &worker->turn);
		limit_memory(executor, worker);
		worker = next;
	}
}

static void take_moved(psgi_executor *executor)
{
	for (psgi_turn *turn = executor->turns.first; turn != NULL; turn = turn->next)
		psgi_fleet_take(worker_of(turn));
}

/*
 * What is asked for from here on is done after the next job.  Acquire: what was set before.
 */
static void attend(psgi_executor *executor)
{
	psgi_run_pay(executor);
	psgi_flight_land(executor);
	(void)atomic_exchange_explicit(&executor->attention, false, memory_order_acquire);
	if (atomic_exchange_explicit(&executor->trim, false, memory_order_acquire))
		psgi_run_trim(executor);
	take_joined(executor);
	take_moved(executor);
	executor->unsettled = true; /* maybe: see settle_all */
}

/* Nothing is left of it and it is closed: it is the closer's from here on. */
static void leave(psgi_executor *executor, psg_worker *worker)
{
	psgi_turns_remove(&executor->turns, &worker->turn);
	if (worker->account != NULL) {
		worker->account->next = executor->accounts;
		executor->accounts = worker->account;
	}
	if (atomic_exchange_explicit(&worker->presence, PSGI_LEFT, memory_order_acq_rel) ==
	    PSGI_DESERTED)
		psgi_worker_bury(worker);
	else
		psgi_event_signal(&executor->news);
}

/*
 * Puts a worker that has nothing to do to rest; false: it has.  The flags are
 * read before the last look, so that what was accepted before draining or
 * closing began is found.
 */
static bool settle(psgi_executor *executor, psg_worker *worker)
{
	bool refusing = atomic_load_explicit(&worker->refusing, memory_order_acquire);
	bool closing = atomic_load_explicit(&worker->closing, memory_order_acquire);

	if (psgi_flight_is_of(executor, worker) || psgi_queue_rank(&worker->queue) < PSGI_RANKS ||
	    !psgi_look_rest(worker) || psgi_lanes_marked(&worker->lanes))
		return false;
	if (refusing && worker->lanes.member != NULL) {
		/* Others of the fleet may send it jobs: psg_fleet_drain says when it is over. */
		psgi_event_signal(&worker->lanes.member->fleet->news);
	} else if (refusing && !atomic_load_explicit(&worker->dropping, memory_order_relaxed)) {
		/* Drained.  What a submission that was under way still brings does not run. */
		atomic_store_explicit(&worker->dropping, true, memory_order_release);
		psgi_event_signal(&worker->news);
	}
	if (closing)
		leave(executor, worker);
	return true;
}

/* Those that refuse jobs, while others go on. */
static void settle_refusing(psgi_executor *executor)
{
	psgi_turn *next;

	psgi_run_pay(executor);
	executor->unsettled = false;
	for (psgi_turn *turn = executor->turns.first; turn != NULL; turn = next) {
		psg_worker *worker = worker_of(turn);

		next = turn->next;
		if (atomic_load_explicit(&worker->refusing, memory_order_relaxed) &&
		    !settle(executor, worker))
			executor->unsettled = true;
	}
}

/* --- sleeping --- */

static bool something_new(const psgi_executor *executor)
{
	for (psgi_turn *turn = executor->turns.first; turn != NULL; turn = turn->next)
		if (psgi_look_finds(worker_of(turn)))
			return true;
	return atomic_load_explicit(&executor->attention, memory_order_relaxed);
}

static bool sees_something(const psgi_executor *executor, int64_t until_ns)
{
	do {
		for (int i = 0; i < 16; i++) {
			if (something_new(executor))
				return true;
			ck_pr_stall();
		}
	} while (psg_now_ns() < until_ns);
	return false;
}

static bool gets_something_soon(psgi_executor *executor)
{
	bool found;

	if (!psgi_patience_lasts(&executor->patience))
		return false;
	found = sees_something(executor, psg_now_ns() + PSGI_PATIENCE_NS);
	psgi_patience_note(&executor->patience, !found);
	return found;
}

bool psgi_serve_has_others(psgi_executor *executor, const psg_worker *worker)
{
	for (psgi_turn *turn = executor->turns.first; turn != NULL; turn = turn->next) {
		psg_worker *other = worker_of(turn);

		if (other == worker)
			continue;
		psgi_look(other, executor->now_ns);
		if (psgi_queue_rank(&other->queue) < PSGI_RANKS)
			return true;
	}
	return false;
}

/* All lanes are told to mark themselves; false: there is work. */
static bool rest_all(const psgi_executor *executor)
{
	bool all = true;

	for (psgi_turn *turn = executor->turns.first; turn != NULL; turn = turn->next) {
		psg_worker *worker = worker_of(turn);

		all = psgi_look_rest(worker) && !psgi_lanes_marked(&worker->lanes) && all;
	}
	return all;
}

void psgi_serve_await(psgi_executor *executor, int64_t until_ns)
{
	/* As in rest. */
	uint32_t value = psgi_event_value(&executor->work);
	int64_t patient = executor->now_ns + PSGI_PATIENCE_NS;

	if (!sees_something(executor, until_ns < patient ? until_ns : patient) &&
	    until_ns > patient && rest_all(executor) &&
	    !atomic_load_explicit(&executor->attention, memory_order_relaxed))
		(void)psgi_event_wait(&executor->work, value, until_ns);
	executor->now_ns = psg_now_ns();
}

/* No worker has anything to do; false: one has. */
static bool settle_all(psgi_executor *executor)
{
	psgi_turn *next;
	bool all = true;

	for (psgi_turn *turn = executor->turns.first; turn != NULL; turn = next) {
		next = turn->next;
		all = settle(executor, worker_of(turn)) && all;
	}
	return all;
}

/* Nothing is queued: until something is new, or for no reason; false when the thread is to end. */
static bool rest(psgi_executor *executor)
{
	/* Before the last look: a signal after it makes the wait return. */
	uint32_t value = psgi_event_value(&executor->work);
	bool ending = atomic_load_explicit(&executor->ending, memory_order_acquire);

	if (!settle_all(executor) ||
	    atomic_load_explicit(&executor->attention, memory_order_relaxed))
		return true;
	if (ending)
		return false;
	(void)psgi_event_wait(&executor->work, value, PSGI_NEVER);
	return true;
}

/* As above. */
static bool idle(psgi_executor *executor)
{
	psgi_run_pay(executor);
	if (!gets_something_soon(executor) && !rest(executor))
		return false;
	executor->now_ns = psg_now_ns();
	return true;
}

/* --- the thread --- */

/* Tells who opens the executor; false: it does not wait any more, and the executor is gone. */
static bool tell_opened(psgi_executor *executor)
{
	int state = PSGI_OPENING;

	if (atomic_compare_exchange_strong_explicit(&executor->opening, &state, PSGI_OPENED,
						    memory_order_acq_rel, memory_order_acquire)) {
		psgi_event_signal(&executor->news);
		return true;
	}
	psgi_run_close_device(executor);
	psgi_phase_watch(NULL);
	psgi_executor_free(executor);
	return false;
}

/* NULL on others' threads. */
static _Thread_local psgi_executor *self;

bool psgi_this_serves(uint32_t fleet)
{
	psgi_turn *turn = self != NULL ? self->turns.first : NULL;

	while (turn != NULL && worker_of(turn)->lanes.fleet != fleet)
		turn = turn->next;
	return turn != NULL;
}

void *psgi_executor_main(void *argument)
{
	psgi_executor *executor = argument;
	psg_worker *worker;

	(void)pthread_setname_np(pthread_self(), executor->name);
	psgi_phase_watch(&executor->phase);
	psgi_run_open_device(executor);
	if (!tell_opened(executor) || executor->open_status != PSG_OK)
		return NULL;
	psgi_this_executor = executor->number;
	self = executor;
	psgi_recent_init(&executor->clock);
	executor->now_ns = psg_now_ns();
	for (;;) {
		psgi_job *job = next_job(executor, &worker);

		/* After the job was found: one that was submitted behind a trim starts after it. */
		if (atomic_load_explicit(&executor->attention, memory_order_relaxed))
			attend(executor);
		if (job != NULL)
			psgi_run(executor, worker, job);
		if (executor->unsettled)
			settle_refusing(executor);
		if (job == NULL && !psgi_flight_land(executor) && !idle(executor))
			break;
	}
	psgi_run_close_device(executor);
	if (executor->is_alone) {
		psgi_phase_watch(NULL);
		psgi_executor_free(executor);
	}
	return NULL;
}
