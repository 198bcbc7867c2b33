/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One device for several engines of a process.
 *
 * A shared worker is a thread with a device, one for each device that the
 * process has acquired.  Engines that share it open workers on it: each is a
 * psg_worker like any other, with its own lanes, queue, counters, drain, abort
 * and close, and all calls of job.h work on it.  The thread runs one job at a
 * time and takes turns by the device time that jobs took, so that a flood of
 * one engine does not starve another.
 */
#ifndef PAGESIFT_SHARED_H
#define PAGESIFT_SHARED_H

#include <pagesift/job.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct psg_shared_worker psg_shared_worker;

typedef struct psg_shared_worker_options {
	const char *name;        /* thread name, 15 bytes are shown; NULL: "psg-" and the device */
	int64_t open_timeout_ns; /* as of psg_worker_options */
} psg_shared_worker_options;

/*
 * The process's shared worker of `device` (names as in psg_device_open), which the first call
 * opens and others wait for: names that lead to the same device, as "auto" and "cuda:0", lead to
 * the same shared worker.  `options` may be NULL; they count for the call that opens it.  Each
 * acquisition wants one release.  Errors are those of psg_worker_open, for all who waited for the
 * same opening; DEVICE_LOST with the reason when the device was open and has been lost; STALLED
 * with the call while it does not answer, as a worker that is open on it has found
 * (psg_worker_options.stall_limit_ns).  Any thread, but not a worker's own nor in a callback
 * (INVALID).  In a forked child it opens the child's own.
 */
PSG_API psg_status psg_shared_worker_acquire(const char *device,
					     const psg_shared_worker_options *options,
					     psg_shared_worker **out, psg_error *error);

/*
 * The last release ends the thread and closes the device, once all workers on it are closed, too;
 * these hold it as long as they are open.  Waits for that then.  Not on the shared worker's own
 * thread.  NULL is allowed; in a forked child a handle of the parent's is left alone.
 */
PSG_API void psg_shared_worker_release(psg_shared_worker *shared);

/* What it runs on; borrowed; any thread. */
PSG_API const psg_device_info *psg_shared_worker_device(const psg_shared_worker *shared);

/* Workers that are open on it; any thread, as a snapshot. */
PSG_API size_t psg_shared_worker_engines(const psg_shared_worker *shared);

/*
 * Opens a worker on it, for one engine; other engines go on meanwhile.  Of the options,
 * open_timeout_ns is not used, and `name` names the engine in messages.  psg_worker_close and
 * the rest of job.h as always; waiting for a sibling's job on the shared thread is INVALID as for
 * one's own.  psg_worker_health is that of the device, for all.  STALLED as
 * psg_shared_worker_acquire.
 */
PSG_API psg_status psg_worker_open_shared(psg_shared_worker *shared,
					  const psg_worker_options *options, psg_worker **out,
					  psg_error *error);

#ifdef __cplusplus
}
#endif
#endif
