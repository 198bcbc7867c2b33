/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a worker has done: counters, gauges, and how its jobs' times and sizes are spread.
 *
 * Everything counts from the opening of the worker and is always on: a job costs some
 * nanoseconds for it.  What happened when, job by job, is in a trace: with PAGESIFT_TRACE=file.json
 * in the environment when a worker opens, the process writes Chrome's trace format, which Perfetto
 * (ui.perfetto.dev) shows: jobs from submission to end, steps of models, copies, memory.  "%p" in
 * the name becomes the process's number.  The variable is not read in a program with more rights
 * than its caller; a file that cannot be written is told to the log, once, and harms nothing; it
 * ends at 1 GiB; what closes the last worker waits for the rest to be written; a forked child of a
 * process with a trace has none.
 *
 * Both calls: any thread, no lock, no system call, never block; also while the worker drains, not
 * during or after psg_worker_close.
 */
#ifndef PAGESIFT_STATS_H
#define PAGESIFT_STATS_H

#include <pagesift/histogram.h>
#include <pagesift/job.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * About 20 KB.  A job is in the histograms when it has run, well or not, at the latest when its
 * future is done; one that ended before it started is in none of them.
 */
typedef struct psg_stats {
	size_t size; /* sizeof(psg_stats), set by the caller */
	psg_worker_stats worker;
	/* Of the device, for all workers that share it: jobs that ran, and how long.  Its memory is
	 * in `worker`. */
	uint64_t device_jobs, device_busy_ns;
	/* Nanoseconds from the submission to the start.  Without the jobs that nobody watches: no
	 * future, callback, queue or deadline. */
	psg_histogram wait_ns;
	/* From the start to the end; of a run that was queued behind another (in_flight, job.h),
	 * from that one's end. */
	psg_histogram run_ns;
	/* Of each model run: the first dimension of its first input; of a batcher's, how many
	 * shared it, with empty ones left out. */
	psg_histogram samples;
	/* Of operators and model runs: all tensors read, and all that came out, 0 after a failure.
	 */
	psg_histogram bytes_in, bytes_out;
} psg_stats;

/*
 * Fills `stats`, whose `size` says how much of it the caller knows, so that programs which were
 * compiled with an older library go on; what a newer program knows more is zero.  INVALID: `size`
 * is not that of any version.  Each number is read by itself: while jobs run, one may be a moment
 * older than another, but what ended is never more than what was submitted.  Copies the histograms
 * and looks at each lane: some microseconds.
 */
PSG_API psg_status psg_stats_get(const psg_worker *worker, psg_stats *stats);

/* A thread's way into a worker; one that ends leaves its lane to a later one. */
typedef struct psg_lane_stats {
	uint32_t index; /* of the worker's lanes, from 0 */
	int32_t thread; /* who has it, as gettid() tells; 0: nobody */
	uint64_t capacity;
	/* Since the lane was made, whoever had it. */
	uint64_t submitted, refused_full, refused_late;
	uint64_t queued; /* accepted and not yet ended */
} psg_lane_stats;

/* Calls `visit` for each lane, in their order; `lane` is valid during the call, and may have more
 * members in later versions.  Lanes that are made meanwhile may be left out. */
PSG_API void psg_stats_lanes(const psg_worker *worker,
			     void (*visit)(void *user, const psg_lane_stats *lane), void *user);

#ifdef __cplusplus
}
#endif
#endif
