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

/* The same of a detached one, while there is no trace. */
void psgi_observe_submit_detached(const struct psgi_lane *lane);

/* On the executor's thread: before it runs, and when it has run but has not ended, and had the
 * device for `ns`. */
void psgi_observe_start(const struct psg_worker *worker, const psgi_job *job);
void psgi_observe_ran(struct psg_worker *worker, const psgi_job *job, psgi_outcome outcome,
		      psg_status status, int64_t ns, int64_t now_ns);

/* A run of samples together. */
typedef struct psgi_observed_batch {
	struct psg_model *model;
	size_t samples, size; /* `size`: with empty ones */
	int64_t elements;     /* of each */
} psgi_observed_batch;

/* The like of these for a batch: when it begins, of each of its jobs, and of all; when it has run,
 * of all, and then of each that is not run again. */
void psgi_observe_start_together(const psgi_job *job);
void psgi_observe_batch_start(const struct psg_worker *worker, const psgi_observed_batch *batch);
void psgi_observe_batch(struct psg_worker *worker, const psgi_observed_batch *batch,
			psg_status status, int64_t ns, int64_t now_ns);
void psgi_observe_ran_together(struct psg_worker *worker, const psgi_job *job, int64_t ns,
			       int64_t now_ns);

/* The like of psgi_observe_ran, of `jobs` detached ones together, which took `ns`. */
void psgi_observe_unseen(struct psg_worker *worker, int64_t ns, uint32_t jobs);

/* It ends, by anybody; the job's lane is all that may be touched. */
void psgi_observe_done(const psgi_job *job, psg_status status);

#endif
