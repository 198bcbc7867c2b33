/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A batcher: jobs of one model, submitted sample by sample from any number of threads, that run
 * together.
 *
 * A GPU takes about as long for one line of text as for twenty.  A batcher packs what waits into
 * one run of the model: samples of several pages, requests and threads.  It measures what runs
 * take, and decides from that which samples share one (a wide one makes the others wait for
 * its width), and whether to wait for more: only when the times between the last samples say that
 * this saves more than it costs, and never for somebody who is alone.  On a CPU, which gains
 * less, batches are as small as what is measured says, and no sample waits for others.
 *
 * A sample is a job like any other (job.h): it has a future, a deadline, a priority; it can be
 * cancelled, and then its neighbours run without it.  Its result does not depend on
 * its neighbours, but for rounding: batches of samples of different widths need valid widths
 * (tensor.h), which are kept through every operator.
 */
#ifndef PAGESIFT_BATCH_H
#define PAGESIFT_BATCH_H

#include <pagesift/job.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct psg_batcher psg_batcher;

typedef struct psg_batcher_options {
	size_t max_batch; /* samples of one run; 0: 64, which is the most there may be */
	/* The longest that a sample waits for others while the device is free; 0: decided from what
	 * runs take, below their length; negative: never. */
	int64_t max_delay_ns;
	/* Of a GPU's memory that one run may take; 0: what is free when runs begin, within the
	 * worker's memory_share. */
	uint64_t memory_bytes;
} psg_batcher_options;

/*
 * A batcher for runs of `model` on `worker`.  The model has one input, whose first dimension counts
 * samples, and so has each output; what it computes of one sample must not depend on the others.
 * The batcher holds the model; the worker must outlive it.  `options` may be NULL.  INVALID: a
 * model of several inputs, max_batch above 64.  NOMEM.  Any thread; never blocks.
 */
PSG_API psg_status psg_batcher_open(psg_worker *worker, psg_model *model,
				    const psg_batcher_options *options, psg_batcher **out,
				    psg_error *error);

/*
 * Submits one sample: a tensor whose first dimension is 1.  Samples that are equal in shape share
 * runs, and so do those that have a valid width each, along the same dimension, and are equal but
 * for that dimension.  Each such width costs a plan: round them up to few, as the valid width says
 * what counts.
 *
 * The future gives the model's outputs for this sample (psg_future_tensors), each with a first
 * dimension of 1 and cut to its valid columns.  All else is as psg_submit_model says: errors,
 * threads, no lock, nothing allocated.  A sample of a run that fails with OOM is run again with
 * fewer, in the end alone; of one that fails in another way, alone: what is wrong with one is not
 * its neighbours' error.  A cancelled sample, or one whose deadline passes, ends while its run goes
 * on for the others.
 */
PSG_API psg_status psg_batcher_submit(psg_batcher *batcher, psg_tensor *sample,
				      const psg_job_options *options, psg_future **out,
				      psg_error *error);

/* Counters since it was opened; each is read by itself.  Any thread; no lock. */
typedef struct psg_batcher_stats {
	uint64_t samples; /* that ran on the worker's device */
	uint64_t runs;    /* that they ran in */
	uint64_t empty;   /* samples that were computed for nobody: runs have one of twelve sizes */
	uint64_t largest; /* most samples of a run */
	uint64_t splits;  /* runs that memory was too short for */
	uint64_t waits;   /* runs that waited for more samples, the device being free */
	int64_t waited_ns;
	/* The measure: a run takes base_ns and element_ns for each element of its input. */
	double base_ns, element_ns;
} psg_batcher_stats;

PSG_API void psg_batcher_stats_get(const psg_batcher *batcher, psg_batcher_stats *stats);

/*
 * No other thread may be inside a call on it.  Samples under way end as if nothing had been; their
 * futures keep what memory they need.  Never blocks.  NULL is allowed.  In a forked child it does
 * nothing.
 */
PSG_API void psg_batcher_close(psg_batcher *batcher);

#ifdef __cplusplus
}
#endif
#endif
