/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Several devices as one: each job goes where it is expected to end first.
 *
 * A fleet has a worker for each of its devices.  A job is given to the one that
 * is expected to have done it first: by what it has to do, and by how long jobs
 * of the same kind took there.  So a fast card gets more of them than a slow
 * one, and a device where this kind has not run yet is tried early.  "Of the
 * same kind" is the same model, operator or function, with inputs of about
 * the same size (within a factor of four).  Models know no device: weights and plans are
 * made on each device that gets a job of the model.
 *
 * When a device is lost, the jobs that wait for it go on to the others, and so does the operator
 * or model run that met it; nobody notices but by the time it takes.  A job visits a device at
 * most once.  A function that has started is not moved: only its caller knows what it has done
 * until then.  When all devices are lost, an operator or model run is done on one core of the
 * CPU where its options or the fleet's allow that; the rest ends with DEVICE_LOST.
 *
 * A device that does not answer (stall_limit_ns in job.h) gets no jobs until it does.  The job that
 * it runs ends with STALLED.  Those that wait for it go on to the others, once; one that came from
 * another device already, or is in the order of deadlines (earliest_deadline_first), ends with
 * STALLED, and so do all where no other device is well.  A slot of a job that went on is free when
 * the device answers.
 *
 * A fleet's future is a worker's future: all of job.h holds for it, waiting, deadlines, priorities,
 * cancelling, callbacks and completion queues among it, also while its job goes from one device to
 * another; then it is queued again.  But the thread of any of the fleet's devices that waits for a
 * job of the fleet, which might be moved to it, gets INVALID.  Submitting takes no lock and
 * allocates nothing beyond what job.h says; it looks at each device, and counts on a cache line of
 * the one it chooses.  A thread that submits has a lane to each device that it has used.
 */
#ifndef PAGESIFT_FLEET_H
#define PAGESIFT_FLEET_H

#include <pagesift/job.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct psg_fleet psg_fleet;

/* Devices of one fleet. */
#define PSG_FLEET_MOST 64

typedef struct psg_fleet_options {
	psg_worker_options worker; /* of each device's worker */
	/* Use the process's shared workers (shared.h), so that several fleets and engines can have
	 * the same devices.  `worker.name` then names this fleet in messages. */
	bool shared;
	/* As psg_job_options.cpu_fallback of each job. */
	bool cpu_fallback;
} psg_fleet_options;

/*
 * Opens a worker for each of `n` devices, one after the other; names are those of psg_device_open,
 * and one may stand there several times, as "cpu:1" for each core.  Errors are those of
 * psg_worker_open and psg_shared_worker_acquire, for the first device that cannot be opened.
 * INVALID: more than PSG_FLEET_MOST.  With `n` 0, `devices` may be NULL: all GPUs that can be
 * opened, else one CPU with all cores, whose psg_device_info.fallback says why.  `options` may
 * be NULL.  Blocks.
 */
PSG_API psg_status psg_fleet_open(const char *const *devices, size_t n,
				  const psg_fleet_options *options, psg_fleet **out,
				  psg_error *error);

/*
 * As psg_submit, psg_submit_model and psg_submit_function, to the device that is chosen now.  FULL:
 * this thread has as many jobs as it may at each of the devices; with room_timeout_ns it waits for
 * a slot at the best one.  TIMED_OUT: see refuse_late, by what is expected of the best device.
 */
PSG_API psg_status psg_fleet_submit(psg_fleet *fleet, const psg_op *op,
				    const psg_job_options *options, psg_future **out,
				    psg_error *error);
PSG_API psg_status psg_fleet_submit_model(psg_fleet *fleet, psg_model *model, psg_tensor *const *in,
					  size_t n_in, const psg_job_options *options,
					  psg_future **out, psg_error *error);
PSG_API psg_status psg_fleet_submit_function(psg_fleet *fleet, psg_job_fn fn, void *arg,
					     const psg_job_options *options, psg_future **out,
					     psg_error *error);

/* Refuses new jobs (SHUTDOWN) and waits until the accepted ones have ended, on whatever device.  As
 * psg_worker_drain; INVALID on the threads of the fleet's devices. */
PSG_API psg_status psg_fleet_drain(psg_fleet *fleet, int64_t timeout_ns);

/* Refuses new jobs and completes the queued ones with SHUTDOWN before it returns; the running ones
 * stop at their next step.  As psg_worker_abort. */
PSG_API void psg_fleet_abort(psg_fleet *fleet);

/* Aborts what is left, ends the workers and frees the fleet; futures stay valid.  As
 * psg_worker_close, for all devices.  NULL is allowed; in a forked child it does nothing. */
PSG_API void psg_fleet_close(psg_fleet *fleet);

/* psg_worker_trim, of each device. */
PSG_API void psg_fleet_trim(psg_fleet *fleet);

/* OK while a device is well; else why the first one is not.  Any thread; no lock, no call of the
 * driver. */
PSG_API psg_status psg_fleet_health(const psg_fleet *fleet, psg_error *error);

/* Its devices, with GPUs that could not be opened where all were asked for.  Constant. */
PSG_API size_t psg_fleet_devices(const psg_fleet *fleet);

typedef struct psg_fleet_device {
	size_t size;                 /* sizeof(psg_fleet_device), set by the caller */
	char name[96];               /* as it was asked for: "cuda:1" */
	const psg_device_info *info; /* borrowed from the fleet; NULL: it could not be opened */
	/* Its worker, borrowed, for stats.h and health; NULL as above.  What is submitted to it
	 * counts as the fleet's.  Not to be drained, aborted or closed. */
	psg_worker *worker;
	psg_error health;    /* code OK; else why it gets no jobs: lost, stalled, not opened */
	uint64_t queued;     /* jobs that it has now, with the running one */
	int64_t expected_ns; /* how long these take, by what is known of their kinds */
	uint64_t routed;     /* jobs that it was chosen for */
	/* Jobs that came from lost or stalled devices; that went on to others. */
	uint64_t moved_in, moved_out;
} psg_fleet_device;

/*
 * Tells of device `index`, filling as much of `out` as `out->size` says.  Each number is read by
 * itself.  INVALID: there is no such device, or `size` is not that of any version.  Any thread; no
 * lock.
 */
PSG_API psg_status psg_fleet_device_get(const psg_fleet *fleet, size_t index,
					psg_fleet_device *out);

/* Of a job of the fleet that has ended: which device did it, or had it last; -1: it has not ended,
 * or is not of this fleet. */
PSG_API int32_t psg_fleet_where(const psg_fleet *fleet, const psg_future *future);

/* The sums of psg_worker_stats; a job is counted once, wherever it went. */
typedef struct psg_fleet_stats {
	size_t size; /* sizeof(psg_fleet_stats), set by the caller */
	uint64_t submitted, completed, failed, cancelled, expired;
	uint64_t refused_full, refused_late; /* by the fleet: were not submitted */
	uint64_t recomputed;                 /* on the CPU, because the GPU had failed */
	uint64_t queued;
	uint64_t moved; /* from a lost or stalled device to another */
	uint64_t lost;  /* devices that are */
} psg_fleet_stats;

/* INVALID: `size` is not that of any version.  Any thread; no lock; looks at each lane. */
PSG_API psg_status psg_fleet_stats_get(const psg_fleet *fleet, psg_fleet_stats *stats);

#ifdef __cplusplus
}
#endif
#endif
