/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The keeper of deadlines: a thread beside each worker that ends queued jobs
 * whose deadline has passed, also while the worker is busy with a long one.
 *
 * Waiters could notice by themselves, but a callback, a poller and the job's
 * inputs would still wait for the worker.  It costs a submission one load when
 * an earlier alarm is set, which is the rule: alarms are not taken back when
 * jobs end, so the keeper wakes about once in the time that deadlines are ahead.
 */
#ifndef PSG_JOBS_KEEPER_H
#define PSG_JOBS_KEEPER_H

#include "jobs/ec.h"
#include "jobs/lanes.h"

typedef struct psgi_keeper {
	psgi_lanes *lanes;
	/* Something else to look at from time to time: when again?  NULL: nothing. */
	int64_t (*look)(void *user, int64_t now_ns);
	void *user;
	pthread_t thread;
	psgi_event event;
	atomic_bool stop;
	/* The keeper wakes at or before each deadline of a queued job; PSGI_NEVER: there is none.
	 */
	_Atomic int64_t alarm_ns;
} psgi_keeper;

/* Starts the thread; `look` and `user` are set. */
psg_status psgi_keeper_start(psgi_keeper *keeper, psgi_lanes *lanes, psg_error *error);
void psgi_keeper_join(psgi_keeper *keeper);

/* An earlier alarm; any thread. */
void psgi_keeper_set(psgi_keeper *keeper, int64_t deadline_ns);

/*
 * A job with this deadline was just published, and a full fence lies between
 * that and this call.
 */
static inline void psgi_keeper_watch(psgi_keeper *keeper, int64_t deadline_ns)
{
	if (deadline_ns < atomic_load_explicit(&keeper->alarm_ns, memory_order_relaxed))
		psgi_keeper_set(keeper, deadline_ns);
}

#endif
