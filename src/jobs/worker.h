/* SPDX-License-Identifier: Apache-2.0 */
/* A worker as the files of this room see it. */
#ifndef PSG_JOBS_WORKER_H
#define PSG_JOBS_WORKER_H

#include "base/base.h"
#include "jobs/executor.h"
#include "jobs/keeper.h"
#include "jobs/lanes.h"
#include "jobs/observe.h"
#include "jobs/queue.h"
#include "jobs/stall.h"

/* Who is done with a worker first, its executor or its closer; the other one frees it.  The closer
 * waits for the executor, but not for one whose device does not answer. */
typedef enum psgi_presence { PSGI_SERVED, PSGI_LEFT, PSGI_DESERTED } psgi_presence;

struct psg_worker {
	psgi_lanes lanes; /* first, for its alignment; `serial` and `generation` are in it */

	/* Set by anybody; each but `stalled` is only ever set. */
	alignas(PSGI_CACHE_LINE) atomic_bool refusing; /* no new jobs */
	/* By the keeper alone: the device does not answer, new jobs are refused meanwhile. */
	atomic_bool stalled;
	atomic_bool dropping; /* jobs that have not started end with SHUTDOWN */
	atomic_bool closing;  /* the executor lets it go when it has nothing left */
	uint64_t lane_bytes;  /* constant, 0: no bound; here, because each submission reads it */
	/* A job was put before others that wait: look at the lanes before the next one. */
	alignas(PSGI_CACHE_LINE) atomic_bool urgent;
	psgi_job *_Atomic moved; /* jobs that other members of its fleet send, the last one first */

	psgi_keeper keeper;
	psgi_stall stall;
	/* They came from another member, and run here: whoever takes one from here ends it. */
	psgi_job *_Atomic runs_moved[PSGI_FLIGHTS];

	/* The executor's thread's own; counters are read by others. */
	alignas(PSGI_CACHE_LINE) psgi_executor *executor; /* constant */
	psgi_turn turn;
	psgi_memory_account *account; /* NULL: its memory has no bound of its own */
	double memory_share;          /* constant */
	bool flies;                   /* constant: its runs may follow each other without a pause */
	psgi_queue queue;
	psgi_lane *polled;   /* lanes that need not mark themselves: the worker looks */
	int64_t looked_ns;   /* when the lanes were last looked at */
	uint32_t until_look; /* jobs until then */
	_Atomic uint64_t ended;
	_Atomic uint64_t outcome[PSGI_OUTCOMES];
	_Atomic int64_t mean_ns; /* of a job's run, lately; 0: none has run */
	_Atomic uint64_t recomputed, ops_on_gpu, ops_on_cpu;
	psgi_job_stats stats;

	psgi_event news;                  /* drained */
	_Atomic int presence;             /* a psgi_presence */
	struct psg_worker *joining_next;  /* in the executor's stack of new ones */
	struct psg_shared_worker *shared; /* which it holds; NULL: the executor is its own */
	_Atomic uint64_t busy_ns;         /* device time of its jobs */
	char name[16];                    /* in messages */
};

/*
 * Counters of one writer: a plain load and store, atomic only for the readers.
 * Release: who sees the count sees what was counted.
 */
static inline void psgi_count_more(_Atomic uint64_t *counter, uint64_t more)
{
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + more,
			      memory_order_release);
}

static inline void psgi_count(_Atomic uint64_t *counter)
{
	psgi_count_more(counter, 1);
}

/* Makes a worker whose jobs this executor runs, which it holds; as psg_worker_open.  `member` is of
 * a fleet, or NULL. */
psg_status psgi_worker_join(psgi_executor *executor, const psg_worker_options *options,
			    struct psgi_member *member, psg_worker **out, psg_error *error);

/* As psg_worker_open_shared. */
psg_status psgi_worker_join_shared(struct psg_shared_worker *shared,
				   const psg_worker_options *options, struct psgi_member *member,
				   psg_worker **out, psg_error *error);

/* --- ending, in the order in which closing does it; draining and aborting do a part --- */

/* No new jobs; who waits for a slot is told. */
void psgi_worker_refuse(psg_worker *worker);

/* Who waits for a slot looks again whether the worker refuses; that was stored before. */
void psgi_worker_wake_producers(psg_worker *worker);

/* From here on what has not started ends with SHUTDOWN, by the executor. */
void psgi_worker_drop(psg_worker *worker);

/* Ends the jobs that are queued now. */
void psgi_worker_end_queued(psg_worker *worker);

/* The executor is to let it go when it has nothing left. */
void psgi_worker_let_go(psg_worker *worker);

/* Waits until it has, and joins the keeper.  False: its device does not answer. */
bool psgi_worker_await(psg_worker *worker);

/* After that: the worker is the executor's now, to bury.  False: that has left it after all. */
bool psgi_worker_desert(psg_worker *worker);

/* Ends what has come since; true: there is none left, but for those in whose callback the caller
 * is. */
bool psgi_worker_end_rest(psg_worker *worker);

/* Nobody uses it any more. */
void psgi_worker_free(psg_worker *worker);

/* Frees one that was left to its executor, on that one's thread. */
void psgi_worker_bury(psg_worker *worker);

/* Others may be in the callback of a job that they cancelled: until closing looks again. */
void psgi_worker_pause(void);

/* psg_now_ns and that, without end where it is negative or too long. */
static inline int64_t psgi_deadline_after(int64_t timeout_ns)
{
	int64_t now = psg_now_ns();

	return timeout_ns < 0 || timeout_ns > PSGI_NEVER - now ? PSGI_NEVER : now + timeout_ns;
}

#endif
