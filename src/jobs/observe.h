/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is told of jobs: histograms always, events where there is a trace, and
 * the probes of base/probe.h.
 */
#ifndef PSG_JOBS_OBSERVE_H
#define PSG_JOBS_OBSERVE_H

#include "base/histogram.h"
#include "jobs/job.h"

struct psg_worker;

/* Of a worker's jobs that ran; its executor's thread counts. */
typedef struct psgi_job_stats {
	psgi_histogram wait_ns, run_ns, samples, bytes_in, bytes_out;
	int64_t counted_ns; /* when numbers were put into the trace last */
} psgi_job_stats;

/* On the submitting thread, before the job is put; gives it its number. */
void psgi_observe_submit(const struct psg_worker *worker, psgi_job *job);

/* On the executor's thread: before it runs, and when it has run but has not ended. */
void psgi_observe_start(const struct psg_worker *worker, const psgi_job *job);
void psgi_observe_ran(struct psg_worker *worker, const psgi_job *job, psgi_outcome outcome,
		      psg_status status, int64_t now_ns);

/* The like of the last, of `jobs` detached ones together, which took `ns`. */
void psgi_observe_unseen(struct psg_worker *worker, int64_t ns, uint32_t jobs);

/* It ends, by anybody; the job's lane is all that may be touched. */
void psgi_observe_done(const psgi_job *job, psg_status status);

#endif
