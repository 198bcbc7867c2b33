/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs of scenarios with whole workers: what they do, and what has become of them. */
#ifndef T_JOBS_H
#define T_JOBS_H

#include "tests/schedules/scenarios.h"

#include "jobs/worker.h"

#define T_COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define T_MOST 3 /* jobs that are counted */

/* One run's. */
typedef struct t_state_of_jobs {
	psg_worker *worker;
	psg_future *futures[T_MOST];
	int ran[T_MOST], called[T_MOST];
	psg_status status[T_MOST]; /* as the callback saw it */
	_Atomic uint32_t open;     /* gates up to this one */
	uint32_t hangs_until;      /* this gate, who begins to now; 0: the first */
	_Atomic uint32_t passed;   /* jobs that signal */
} t_state_of_jobs;

extern t_state_of_jobs *t_state;

/* A new one, to be freed. */
void t_begin_state(void);

/* Sleeps until the count is `least`; and one more. */
void t_wait_for(_Atomic uint32_t *count, uint32_t least);
void t_count_one(_Atomic uint32_t *count);

/* A thread's: the next gate. */
void *t_open_gate(void *unused);

/* Counts that job `arg` ran. */
psg_status t_run_job(psg_device *device, void *arg, psg_error *error);

/* Holds the executor up until so many gates are open. */
psg_status t_gate(psg_device *device, void *number, psg_error *error);

psg_status t_nothing(psg_device *device, void *arg, psg_error *error);

/* Tells who waits for so many of these, without a future. */
psg_status t_pass(psg_device *device, void *arg, psg_error *error);

/* Job `arg` passes, is in a call of a driver until the gate opens, and counts. */
psg_status t_hang(psg_device *device, void *arg, psg_error *error);

/* At the first gate the device is lost. */
psg_status t_lose(psg_device *device, void *arg, psg_error *error);

/* Those of job `i`, whose callback notes what has become of it. */
psg_job_options t_options_of(intptr_t i);

/* Job `i`, a t_run_job where nothing else is said. */
psg_status t_submit_to(psg_worker *worker, psg_job_fn fn, intptr_t i, int64_t deadline_ns);
psg_status t_submit(intptr_t i, int64_t deadline_ns, int64_t room_ns);
void t_submit_detached(psg_job_fn fn, uintptr_t arg);

/* Threads', of job `arg`. */
void *t_wait_and_release(void *arg);
void *t_release(void *arg);
void *t_cancel_and_release(void *arg);
void *t_abort_worker(void *unused);

/* It was called back once, and ran if it ended well. */
void t_check_job(int i);

#endif
