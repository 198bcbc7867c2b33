/* SPDX-License-Identifier: Apache-2.0 */
/* A worker as the files of this room see it. */
#ifndef PSG_JOBS_WORKER_H
#define PSG_JOBS_WORKER_H

#include "base/phase.h"
#include "jobs/ec.h"
#include "jobs/keeper.h"
#include "jobs/lanes.h"
#include "jobs/queue.h"

/* Who opens a worker waits for its thread, for a time: then the thread has to free the worker. */
typedef enum psgi_opening { PSGI_OPENING, PSGI_OPENED, PSGI_ABANDONED } psgi_opening;

struct psg_worker {
	psgi_lanes lanes; /* first, for its alignment; `serial` and `generation` are in it */

	/* Set by anybody; each is only ever set. */
	alignas(PSGI_CACHE_LINE) atomic_bool refusing; /* no new jobs */
	atomic_bool dropping; /* jobs that have not started end with SHUTDOWN */
	atomic_bool closing;  /* the thread ends when it has nothing left */
	/* A job was put before others that wait: look at the lanes before the next one. */
	alignas(PSGI_CACHE_LINE) atomic_bool urgent;
	atomic_bool trim; /* idle memory of the device is to go before the next job */
	psgi_event work;

	psgi_keeper keeper;

	/* The thread's own; counters are read by others. */
	alignas(PSGI_CACHE_LINE) psg_device *device;
	psgi_queue queue;
	psgi_lane *polled;   /* lanes that need not mark themselves: the worker looks */
	int64_t now_ns;      /* read once a job: the end of one is the start of the next */
	int64_t looked_ns;   /* when the lanes were last looked at */
	uint32_t until_look; /* jobs until then */
	_Atomic uint64_t ended;
	_Atomic uint64_t outcome[PSGI_OUTCOMES];
	_Atomic int64_t mean_ns; /* of a job's run, lately; 0: none has run */
	_Atomic uint64_t recomputed, ops_on_gpu, ops_on_cpu;
	_Atomic uint64_t memory_used, memory_held, memory_high; /* of a GPU, after the last job */
	psg_error error;                                        /* scratch of the job that runs */
	psg_device *host; /* a core for what the device fails to do; NULL: it never did */
	psg_error lost;   /* why the device is, before `is_lost` */
	atomic_bool is_lost;

	/* Progress of opening and draining. */
	psgi_event news;
	_Atomic int opening;    /* a psgi_opening */
	psg_status open_status; /* its message is in `error` */
	psgi_phase phase;
	pthread_t thread;
	psg_device_info info;
	char *device_name;
	char name[16]; /* of the thread; the kernel keeps 15 bytes */
};

/*
 * Counters of one writer: a plain load and store, atomic only for the readers.
 * Release: who sees the count sees what was counted.
 */
static inline void psgi_count(_Atomic uint64_t *counter)
{
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1,
			      memory_order_release);
}

/* The thread of a worker: opens the device, tells, serves, closes it. */
void *psgi_worker_main(void *worker);

/* Nothing of it is in use any more. */
void psgi_worker_free(psg_worker *worker);

/* Ends what came into the lanes after that thread did, in its place. */
void psgi_worker_end_rest(psg_worker *worker);

#endif
