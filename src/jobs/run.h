/* SPDX-License-Identifier: Apache-2.0 */
/* Running the jobs of workers, and the device that does them: the executor's thread. */
#ifndef PSG_JOBS_RUN_H
#define PSG_JOBS_RUN_H

#include "jobs/worker.h"

/* Runs or ends one job that came out of the worker's queue; reads the clock when it took time. */
void psgi_run(psgi_executor *executor, psg_worker *worker, psgi_job *job);

/* Reads the clock if short jobs have run since it was read last, and counts the time as theirs. */
void psgi_run_pay(psgi_executor *executor);

/* For jobs that run together (batch.h). */

/* It is to run: it is the caller's to end.  Otherwise it has ended. */
bool psgi_run_claim(psgi_executor *executor, psg_worker *worker, psgi_job *job);

/* Runs a claimed job and ends it; nothing is in flight. */
void psgi_run_claimed(psgi_executor *executor, psg_worker *worker, psgi_job *job);

/* The same of a model run or sample, which may then be in flight (flight.h). */
void psgi_run_or_launch(psgi_executor *executor, psg_worker *worker, psgi_job *job);

/* Of one that was in flight alone, and has been waited for or failed to start: ends its job. */
void psgi_run_end_flight(psgi_executor *executor, psgi_flight *flight);

/* Ends a claimed job; it may be gone afterwards. */
void psgi_run_end(psg_worker *worker, psgi_job *job, psgi_outcome outcome, psg_status status,
		  int64_t now_ns);

/* Around what runs on the device for this worker. */
void psgi_run_begin_use(psgi_executor *executor, psg_worker *worker);
void psgi_run_end_use(psgi_executor *executor);

/* What the device has met and holds is told, before the jobs that used it end. */
void psgi_run_note_use(psgi_executor *executor);

/* Their worker had the device for so long, for so many jobs. */
void psgi_run_account(psg_worker *worker, int64_t ns, uint32_t jobs);

/* Gives the device's idle memory back. */
void psgi_run_trim(psgi_executor *executor);

/* Opens the device and makes it the thread's; the result is in `open_status` and `error`. */
void psgi_run_open_device(psgi_executor *executor);
void psgi_run_close_device(psgi_executor *executor);

/* In the place of the executor, which has left the worker: ends what has come since. */
void psgi_run_rest(psg_worker *worker);

#endif
