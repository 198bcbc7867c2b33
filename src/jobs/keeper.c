/* SPDX-License-Identifier: Apache-2.0 */
/* The keeper's thread and its rounds. */
#include "config.h"

#include "jobs/keeper.h"

#include "base/base.h"
#include "base/thread.h"
#include "jobs/futex.h"

/*
 * Least time between two rounds over all slots, so that many close deadlines share one.  Chosen:
 * expiry is promised within 5 ms.
 */
#define ROUND_GAP_NS PSG_MILLISECOND

void psgi_keeper_set(psgi_keeper *keeper, int64_t deadline_ns)
{
	int64_t alarm = atomic_load_explicit(&keeper->alarm_ns, memory_order_relaxed);

	while (deadline_ns < alarm) {
		if (atomic_compare_exchange_weak(&keeper->alarm_ns, &alarm, deadline_ns)) {
			psgi_event_signal(&keeper->event);
			return;
		}
	}
}

struct round {
	int64_t now_ns, next_ns;
};

static void note(struct round *round, int64_t deadline_ns)
{
	if (deadline_ns < round->next_ns)
		round->next_ns = deadline_ns;
}

/*
 * The slot may get a new job at any time until it is held; what was read
 * before only says whether holding is worth it.  A new job that is missed so
 * sets the alarm itself: it was published after the round began.
 */
static void look(void *user, psgi_job *job)
{
	struct round *round = user;
	psg_future *future = &job->future;
	int64_t deadline;

	if (!psgi_future_is(atomic_load_explicit(&future->word, memory_order_acquire), PSGI_QUEUED))
		return;
	deadline = atomic_load_explicit(&future->deadline_ns, memory_order_relaxed);
	if (deadline > round->now_ns)
		note(round, deadline);
	if (deadline > round->now_ns || !psgi_future_hold(future))
		return;
	deadline = atomic_load_explicit(&future->deadline_ns, memory_order_relaxed);
	if (deadline <= round->now_ns && psgi_future_claim(future, 0)) {
		psgi_job_end_unrun(job, PSGI_EXPIRED, PSG_TIMED_OUT,
				   "its deadline passed before it started");
		return;
	}
	note(round, deadline);
	psgi_future_drop(future, PSGI_HOLD);
}

/*
 * The alarm is cleared before the slots are read, with a full fence between,
 * as a submission has one between its slot and the alarm: either this round
 * sees the job, or the job sees that no alarm is set.
 */
static void make_round(psgi_keeper *keeper, int64_t now_ns)
{
	struct round round = { now_ns, PSGI_NEVER };

	atomic_store_explicit(&keeper->alarm_ns, PSGI_NEVER, memory_order_relaxed);
	psgi_full_fence();
	psgi_lanes_visit_jobs(keeper->lanes, look, &round);
	psgi_keeper_set(keeper, round.next_ns);
}

static void *keep(void *argument)
{
	psgi_keeper *keeper = argument;
	int64_t earliest_ns = 0; /* of the next round */
	int64_t look_ns = keeper->look != NULL ? 0 : PSGI_NEVER;

	(void)pthread_setname_np(pthread_self(), "psg-deadlines");
	while (!atomic_load_explicit(&keeper->stop, memory_order_relaxed)) {
		uint32_t value = psgi_event_value(&keeper->event);
		int64_t alarm = atomic_load_explicit(&keeper->alarm_ns, memory_order_relaxed);
		int64_t now;

		if (atomic_load_explicit(&keeper->stop, memory_order_relaxed))
			break;
		if (alarm < earliest_ns)
			alarm = earliest_ns;
		now = psg_now_ns();
		if (now >= look_ns)
			look_ns = keeper->look(keeper->user, now);
		if (now < alarm) {
			(void)psgi_event_wait(&keeper->event, value,
					      alarm < look_ns ? alarm : look_ns);
			continue;
		}
		make_round(keeper, now);
		earliest_ns = now + ROUND_GAP_NS;
	}
	return NULL;
}

psg_status psgi_keeper_start(psgi_keeper *keeper, psgi_lanes *lanes, psg_error *error)
{
	keeper->lanes = lanes;
	psgi_event_init(&keeper->event);
	atomic_store_explicit(&keeper->stop, false, memory_order_relaxed);
	atomic_store_explicit(&keeper->alarm_ns, PSGI_NEVER, memory_order_relaxed);
	if (!psgi_thread_start(&keeper->thread, keep, keeper))
		return psgi_fail(error, PSG_NOMEM, "no thread for the worker's deadlines");
	return PSG_OK;
}

void psgi_keeper_join(psgi_keeper *keeper)
{
	atomic_store_explicit(&keeper->stop, true, memory_order_relaxed);
	psgi_event_signal(&keeper->event);
	(void)pthread_join(keeper->thread, NULL);
}
