/* SPDX-License-Identifier: Apache-2.0 */
/* The two halves of a submission, between which the job is filled. */
#ifndef PSG_JOBS_SUBMIT_H
#define PSG_JOBS_SUBMIT_H

#include "jobs/worker.h"

/* A slot of this thread's lane, with all options in it; NULL: none is set.  As psg_submit says.
 * `bytes` are counted as read by the job until it lets go of psgi_extra.bytes, which the caller
 * sets. */
psg_status psgi_submit_take(psg_worker *worker, const psg_job_options *options, uint64_t bytes,
			    psgi_job **out, psg_error *error);

/* What a job that reads these counts as; 0 where there is no bound. */
uint64_t psgi_submit_bytes(const psg_worker *worker, psg_tensor *const *in, size_t n_in);

/* Cannot fail.  `out` may be NULL. */
void psgi_submit_commit(psg_worker *worker, psgi_job *job, psg_future **out);

/* What a refused submission returns; `out` may be NULL. */
psg_status psgi_submit_refused(psg_future **out, psg_status status);

#endif
