/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An executor: the thread that has a device, and the workers whose jobs it runs.
 *
 * A worker of its own has an executor to itself; those of one shared worker
 * have one together, and take turns on it (turns.h).  Workers come by a stack
 * that the thread takes, and go in the thread, when they are closed and have
 * nothing left: so only the thread touches the list.
 */
#ifndef PSG_JOBS_EXECUTOR_H
#define PSG_JOBS_EXECUTOR_H

#include "base/phase.h"
#include "base/recent.h"
#include "device/device.h"
#include "jobs/ec.h"
#include "jobs/flight.h"
#include "jobs/lane.h"
#include "jobs/patience.h"
#include "jobs/turns.h"

#include <pthread.h>

/* Who opens one waits for its thread, for a time: then the thread has to free the executor. */
typedef enum psgi_opening { PSGI_OPENING, PSGI_OPENED, PSGI_ABANDONED } psgi_opening;

typedef struct psgi_executor {
	/* Set by anybody. */
	alignas(PSGI_CACHE_LINE) psgi_event work; /* something was set, or a job put */
	atomic_bool attention;                    /* one of the following, or a worker refuses */
	atomic_bool trim;                         /* idle memory is to go before the next job */
	struct psg_worker *_Atomic joining;       /* new workers, the last one first */
	_Atomic uint32_t holders;                 /* workers, and shared handles */
	atomic_bool ending;                       /* there are none any more */

	/* The thread's own. */
	alignas(PSGI_CACHE_LINE) psgi_turns turns; /* all workers; one has every turn */
	bool is_alone;                             /* nobody joins the thread */
	bool unsettled;                            /* a worker refuses and has jobs left */
	int64_t now_ns;    /* read once a job: the end of one is the start of the next */
	psgi_recent clock; /* where `now_ns` comes from between jobs */
	/* Short detached jobs of one worker that have run since `now_ns`, whose time is not paid
	 * for yet; see run.c. */
	uint32_t unpaid;
	struct psg_worker *who_owes;
	psgi_patience patience; /* when there is nothing to run */
	psg_device *device;
	psg_device *host; /* a core for what the device fails to do; NULL: it never did */
	psg_error error;  /* scratch of the job that runs; of opening */
	psgi_flight flights[PSGI_FLIGHTS];
	psgi_flight *pending;   /* the one that has been started; NULL: none */
	psgi_flight *launching; /* the one that is being started */
	int64_t landed_ns;      /* the end of what ran last */
	/* Of the workers that have ended: plans and weights of theirs are still about. */
	psgi_memory_account *accounts;

	/* The thread's, read by others. */
	_Atomic uint64_t memory_used, memory_held, memory_high; /* of a GPU, after the last job */
	_Atomic uint64_t jobs, busy_ns;                         /* that ran, and how long */
	psg_error lost; /* why the device is, before `is_lost` */
	atomic_bool is_lost;
	psgi_phase phase;
	/* By keepers of its workers: the phase, as it counts, that was found not to end, and since
	 * when; 0: none. */
	_Atomic uint32_t stalled_phase;
	_Atomic int64_t stalled_ns;
	psgi_event news;        /* opening has ended, a worker has left */
	_Atomic int opening;    /* a psgi_opening */
	psg_status open_status; /* its message is in `error` */

	/* constant */
	uint32_t number; /* from 1: the upper half of its workers' serials */
	uint32_t generation;
	pthread_t thread;
	psg_device_info info;
	char *device_name; /* as it was asked for */
	char name[16];     /* of the thread; the kernel keeps 15 bytes */
} psgi_executor;

/*
 * Starts the thread and waits until it has opened the device; the caller is the first holder.
 * `thread_name`: NULL, "psg-" and the device.  As psg_worker_open.
 */
psg_status psgi_executor_open(const char *device, const char *thread_name, int64_t timeout_ns,
			      psgi_executor **out, psg_error *error);

/* One more holder; the caller has one, or a lock under which the last one goes. */
void psgi_executor_hold(psgi_executor *executor);

/* The last one ends the thread and joins it; on it, of a worker that was deserted, it frees the
 * executor in the end. */
void psgi_executor_release(psgi_executor *executor);

/* The worker's jobs are run from now on. */
void psgi_executor_join(psgi_executor *executor, struct psg_worker *worker);

/* Something was set that the thread is to look at. */
void psgi_executor_notify(psgi_executor *executor);

/* The thread. */
void *psgi_executor_main(void *executor);

/* Nothing of it is in use any more. */
void psgi_executor_free(psgi_executor *executor);

/* Is this its thread? */
bool psgi_executor_is_self(const psgi_executor *executor);

#endif
