/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Devices that do not answer: a call of a driver that does not return.
 *
 * The executor's thread is in it and can do nothing, so the worker's keeper
 * looks from time to time.  Where the thread has been in one and the same call
 * for as long as the worker's limit, the worker is stalled: the job that runs
 * and those that wait end with STALLED, and new ones are refused, until the
 * call returns.  What the job reads stays: the device may still read it.  Those
 * of a fleet that wait go on to another device, if they have not done so before.
 *
 * The executor marks a job that it runs with PSGI_RUNS and takes the mark away
 * before it ends it.  Who takes it ends the job; so it is ended once.
 */
#ifndef PSG_JOBS_STALL_H
#define PSG_JOBS_STALL_H

#include "jobs/executor.h"
#include "jobs/job.h"

/* The keeper's. */
typedef struct psgi_stall {
	int64_t limit_ns;       /* constant; 0: nobody looks */
	uint32_t begun;         /* calls that the executor had begun at the last look */
	int64_t since_ns;       /* when that was seen first */
	_Atomic int64_t at_ns;  /* of the last stall: since when */
	const char *_Atomic in; /* the call */
	_Atomic uint64_t times; /* that it did */
} psgi_stall;

/* Limit of a worker that asks for `limit_ns` (psg_worker_options); 0: none. */
int64_t psgi_stall_limit(int64_t limit_ns, bool on_gpu);

/* A look; `worker` is a psg_worker.  When to look again. */
int64_t psgi_stall_look(void *worker, int64_t now_ns);

/* On the executor's thread: `job` of `worker` begins to run. */
void psgi_stall_mark(struct psg_worker *worker, psgi_job *job);

/* It has run and is the caller's to end; false: it has ended, and only psgi_stall_drop is left. */
bool psgi_stall_reclaim(struct psg_worker *worker, psgi_job *job);
void psgi_stall_drop(psgi_job *job);

/* STALLED, with the call and since when; OK: the worker is not. */
psg_status psgi_stall_tell(const struct psg_worker *worker, psg_error *error);

/* The same of a device, if one of its workers has found it. */
psg_status psgi_stall_tell_device(const psgi_executor *executor, psg_error *error);

/* Has the job that runs been ended? */
bool psgi_stall_took(const struct psg_worker *worker, const psgi_job *job);

#endif
