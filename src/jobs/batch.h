/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running samples of a batcher together: the executor's thread.
 *
 * A sample that comes out of the queue looks for others of its kind that wait in it, maybe waits
 * for more to come, and takes those along with which it takes the least time (choice.h).
 */
#ifndef PSG_JOBS_BATCH_H
#define PSG_JOBS_BATCH_H

#include "jobs/worker.h"

/* Waits for a batch that was started; its status.  Samples that want to stop end before that. */
psg_status psgi_batch_finish(psgi_flight *flight);

/* Of one that has been waited for or failed to start: ends its jobs, or runs them again. */
void psgi_batch_end(psgi_executor *executor, psgi_flight *flight);

/* Runs claimed samples together, or one by itself; they have ended, or are in flight, afterwards.
 */
void psgi_batch_launch(psgi_executor *executor, psg_worker *worker, struct psg_batcher *batcher,
		       psgi_job *const *jobs, size_t n);

/* Runs or ends one sample that came out of the worker's queue, and those that go with it. */
void psgi_batch_run(psgi_executor *executor, psg_worker *worker, psgi_job *sample);

#endif
