/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workers, jobs and futures.
 *
 * A worker is one named thread that opens and owns one device.  Any thread
 * submits jobs to it and gets futures.  Submitting takes no lock, allocates
 * nothing (but for a model of more than 16 inputs), and makes no system call
 * unless the worker sleeps or no deadline is nearer than the job's.  The first
 * submission of a thread to a worker sets up that thread's lane, which does.
 *
 * Contract of a future: it completes exactly once, also when the worker shuts
 * down.  The job owns references to all that it reads and writes, so a waiter
 * may leave at any time.  Dropping the last handle of a job that has not
 * started cancels it; a completion queue has one.  A job that was cancelled or whose deadline
 * passed before it started never reaches the device.
 */
#ifndef PAGESIFT_JOB_H
#define PAGESIFT_JOB_H

#include <pagesift/model.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct psg_worker psg_worker;
typedef struct psg_future psg_future;
typedef struct psg_completion_queue psg_completion_queue;

typedef struct psg_worker_options {
	/* Jobs that one thread may have, from submission until they have ended and their futures
	 * are released; one that ended before it started counts until its turn comes.  0 means
	 * 1023; at most 65535. */
	size_t lane_capacity;
	/* Bytes that one thread's jobs may read, operators, model runs and samples, until they have
	 * ended: as with lane_capacity, more is FULL or waits for room.  A job of more than that
	 * fits when the thread has no other.  0: no bound. */
	uint64_t lane_bytes;
	const char *name; /* thread name, 15 bytes are shown; NULL: "psg-" and the device */
	/* How long opening may take; 0 means 120 s, below 0 without end.  A GPU's driver has been
	 * seen never to return. */
	int64_t open_timeout_ns;
	/*
	 * Of a GPU: when its driver has been in one and the same call for so long, the worker is
	 * stalled.  The job that runs ends with STALLED, and so do those that wait (their waiters
	 * leave; what the job reads stays until the call returns) and new ones, until it answers
	 * again.  In a fleet those that wait may go on instead (fleet.h).  Noticed up to a quarter
	 * of the limit later.  0 means 60 s, which is longer than any call that was seen to return;
	 * below 0 never.
	 */
	int64_t stall_limit_ns;
	/*
	 * In each priority class, jobs that have a deadline run in its order, before those that
	 * have none; a thread of many jobs and near deadlines then holds up the others, and jobs
	 * shorter than 20 us are ordered 64 at a time.  Else threads take turns, and a thread's
	 * jobs run as they came.  A turn is one job, or up to 32 functions without a future that
	 * take some 4 us together.
	 */
	bool earliest_deadline_first;
	/*
	 * Of those who share a device (shared.h), while several have jobs: device time is given in
	 * proportion to `weight`, 1 to 10000, 0 means 1; who has not had its share goes before
	 * others if its `engine_priority` is higher.  A worker that has the device to itself uses
	 * neither.
	 */
	int32_t weight;
	int32_t engine_priority;
	/*
	 * The part of a GPU's memory, of what PAGESIFT_GPU_MEMORY lets the process have, that this
	 * worker's plans, weights and runs may use: a job that needs more ends with OOM, after the
	 * worker's own plans have given way.  Weights of a model count for who used it first.  0:
	 * no bound of its own; CPUs have none.
	 */
	double memory_share;
	/*
	 * Model runs and full batches that a GPU is given at a time: 2, which 0 means, or 1.
	 * With 2 the next one is copied there and queued while one runs, so that the card goes on
	 * without a pause; jobs of one thread and class still end in their order.  With 1, and
	 * where this is 0 and PAGESIFT_IN_FLIGHT is "1", each begins when the one before it has
	 * ended.
	 */
	int32_t in_flight;
} psg_worker_options;

/*
 * Starts a worker and waits until its thread has opened `device` (names as in
 * psg_device_open) or failed to, whose error is passed on.  `options` may be NULL.  TIMED_OUT: the
 * driver has not returned; the message says from what.  Its thread is left alone then, and goes if
 * it ever can.
 */
PSG_API psg_status psg_worker_open(const char *device, const psg_worker_options *options,
				   psg_worker **out, psg_error *error);

/* What the worker runs on; borrowed; any thread. */
PSG_API const psg_device_info *psg_worker_device(const psg_worker *worker);

/*
 * OK, or DEVICE_LOST with the reason: the worker's device is gone for as long as this process
 * lives, and each of its jobs ends so, unless it may use the CPU.  STALLED: it does not answer, and
 * since when; that may end.  What makes a server not ready.
 * Any thread; no lock, no call of the driver: a loss is known when the first job or
 * trim that met it ends.
 */
PSG_API psg_status psg_worker_health(const psg_worker *worker, psg_error *error);

/*
 * Refuses new jobs (SHUTDOWN) and waits until the accepted ones have ended.
 * TIMED_OUT when `timeout_ns` (negative: no limit) passes first; the rest goes on.
 * INVALID on the worker's own thread.  FORKED.
 */
PSG_API psg_status psg_worker_drain(psg_worker *worker, int64_t timeout_ns);

/*
 * Refuses new jobs and completes the queued ones with SHUTDOWN before it returns; the running one
 * stops at its next step.  Any thread; does not wait for the worker.
 */
PSG_API void psg_worker_abort(psg_worker *worker);

/*
 * Aborts what is left, joins the thread and frees the worker; where its device does not answer
 * (STALLED), the thread is left alone, and frees it when it can.  No other thread may be inside
 * a submission to it, but in a callback of its jobs; futures stay valid until they are released.
 * When it returns, all callbacks have.  NULL is allowed.  Not from the worker's own thread, nor
 * from a callback of a job that expired or was aborted.  In a forked child it does nothing: the
 * worker is the parent's.
 */
PSG_API void psg_worker_close(psg_worker *worker);

/*
 * Asks the worker to give memory that waits for its next use back: a GPU's to the driver, a CPU's
 * to the host.  Weights, plans and what jobs have stay.  The worker does so between two jobs, at
 * once where it has none; jobs that are submitted after the call returns start after it.  Never
 * blocks, also not while others submit: any thread, also the worker's own, until psg_worker_close
 * is called. Later jobs ask the driver for memory again, which costs some 100 us a block.  Without
 * a call idle memory goes back before a job fails with OOM.  In a forked child it does nothing.
 */
PSG_API void psg_worker_trim(psg_worker *worker);

/* Counters since the start; a snapshot without locks. */
typedef struct psg_worker_stats {
	uint64_t submitted, completed, failed, cancelled, expired;
	uint64_t refused_full, refused_late; /* were not submitted */
	uint64_t recomputed; /* of those that completed: on the CPU, because the GPU had failed */
	uint64_t queued;     /* accepted and not yet ended */
	uint64_t lanes;      /* threads that own a lane now */
	uint64_t busy_ns;    /* the device's time that jobs took */
	uint64_t stalls; /* times that its GPU did not answer (psg_worker_options.stall_limit_ns) */
	uint64_t ops_on_gpu, ops_on_cpu; /* operators that ran, by where (psg_op_run) */
	/*
	 * Bytes of a GPU's memory after the last job or trim: in use between jobs, such as weights;
	 * held of the driver, with what waits for its next use; the most that ever was held.  All 0
	 * of a CPU.  Each is read by itself: while jobs run, one may be older than another.
	 */
	uint64_t memory_used, memory_held, memory_peak;
	/* What the worker's thread is in that may take long or never end: "compiling or loading the
	 * kernels 'conv'", "waiting for the card"; "" when it is in nothing of the kind. */
	const char *phase;
} psg_worker_stats;

PSG_API void psg_worker_stats_get(const psg_worker *worker, psg_worker_stats *stats);

/*
 * For who was refused with FULL: an estimate of how long the worker needs for the jobs that it has
 * now, their number times what the last ones took (the newest counts an eighth).  It knows
 * neither what comes meanwhile nor how the jobs differ nor, on a shared worker, what other engines
 * have.  0: it has none, or has run none yet.  Any thread; no lock; looks at each lane.
 */
PSG_API int64_t psg_worker_retry_after_ns(const psg_worker *worker);

typedef struct psg_job_options {
	/* Absolute, psg_now_ns clock; 0: none.  A job not started by then ends with TIMED_OUT, also
	 * while the worker is busy; a model run that has started stops at its next step. */
	int64_t deadline_ns;
	int32_t priority; /* 0 normal, 1 before all normal ones that wait, -1 after them */
	/*
	 * Called once when the future completes, before its waiters wake, on the thread that
	 * completes it: the worker's, the one beside it that keeps deadlines, or that of who
	 * cancels, releases the last handle or aborts.  The future counts as done there, and is
	 * valid as long as the call even when there is no handle.  Must be short and must not
	 * block; may submit, take a handle and release.  NULL: none.
	 */
	void (*done)(psg_future *future, void *user);
	void *user;
	/*
	 * An operator or a model run that the worker's GPU fails to do (OOM, DRIVER, JIT, LAUNCH,
	 * DEVICE_LOST, NO_DEVICE, TOO_OLD) is done again on one core of the CPU, by the worker's
	 * thread, which does nothing else meanwhile; psg_future_fallback tells.
	 */
	bool cpu_fallback;
	/*
	 * Where the future goes when it has completed, after `done`; NULL: nowhere.  The queue has
	 * a handle of its own from the submission on, so that releasing the caller's does not
	 * cancel the job; psg_future_cancel does.
	 */
	psg_completion_queue *queue;
	/*
	 * How long a submission may wait for a free slot of this thread's lane, never beyond the
	 * deadline; 0: FULL at once; INT64_MAX: no limit.  A slot comes free when the last handle
	 * of an ended job goes, on any other thread, or a job without one ends: futures that this
	 * very thread keeps are waited for in vain.  Where a lane is full of functions without a
	 * future, several of them may have ended for up to a millisecond before the wait does.  On
	 * a worker's own thread and in callbacks nothing is waited for.  psg_ocr_submit, whose FULL
	 * counts pages, does not wait.
	 */
	int64_t room_timeout_ns;
	/*
	 * Submitting ends with TIMED_OUT when the job would probably end after its deadline: when
	 * what the worker has now and one job more take longer, by the measure of
	 * psg_worker_retry_after_ns.  That counts also those that it would go before, by its
	 * priority or deadline.  Without a measure only a deadline that has passed is late.  Not
	 * for psg_ocr_submit.
	 */
	bool refuse_late;
} psg_job_options;

/*
 * Submit an operator, a model run, or a function.  `options` may be NULL; so
 * may `out` (a detached job: no future).  What the job reads (tensors, model) is referenced until
 * it ends. FULL: this thread's lane has no free slot, nor had one within room_timeout_ns; the
 * message says when to try again.  SHUTDOWN: the worker takes no more jobs; a call that waits for a
 * slot ends so at once.  TIMED_OUT: see refuse_late.  INVALID: the descriptor's shapes (checked
 * here, on the caller's thread). FORKED: the worker lives in the parent process. Any thread, also
 * the worker's own; never blocks but for room_timeout_ns, which signals do not end.  An operator
 * runs as psg_op_run says.
 */
PSG_API psg_status psg_submit(psg_worker *worker, const psg_op *op, const psg_job_options *options,
			      psg_future **out, psg_error *error);
PSG_API psg_status psg_submit_model(psg_worker *worker, psg_model *model, psg_tensor *const *in,
				    size_t n_in, const psg_job_options *options, psg_future **out,
				    psg_error *error);

/* Runs on the worker's thread with its device; what it returns completes the future. */
typedef psg_status (*psg_job_fn)(psg_device *device, void *arg, psg_error *error);
PSG_API psg_status psg_submit_function(psg_worker *worker, psg_job_fn fn, void *arg,
				       const psg_job_options *options, psg_future **out,
				       psg_error *error);

typedef enum psg_future_state {
	PSG_FUTURE_QUEUED,
	PSG_FUTURE_RUNNING,
	PSG_FUTURE_DONE,
} psg_future_state;

typedef enum psg_cancel_result {
	PSG_CANCEL_REMOVED, /* it had not started and ends with CANCELLED */
	PSG_CANCEL_RUNNING, /* it runs: it is asked to stop at its next step */
	PSG_CANCEL_DONE,    /* it had already completed */
} psg_cancel_result;

/*
 * Waits until the job ends and returns its status.  INVALID, without waiting, on the thread that
 * would have to run it.  FORKED: it has not ended, and will not in this process.  Signals do not
 * end the wait; it is no cancellation point of pthread_cancel.
 */
PSG_API psg_status psg_future_wait(psg_future *future);

/* As above for at most `timeout_ns`: TIMED_OUT means not done yet; the job goes on.  0 polls. */
PSG_API psg_status psg_future_wait_for(psg_future *future, int64_t timeout_ns);

/* As above until an absolute time of psg_now_ns. */
PSG_API psg_status psg_future_wait_until(psg_future *future, int64_t deadline_ns);

/*
 * Waits until one of `n` futures has ended: OK, and its index in `*which`, the lowest if it is
 * several; what became of the job is for psg_future_error to say.  TIMED_OUT: none had ended at
 * `deadline_ns`, an absolute time of psg_now_ns: 0 polls, INT64_MAX is no limit.  INVALID: none has
 * ended, and there is none, or one that this thread would have to run.  FORKED: none has ended, and
 * one will not in this process.  After a failure `*which` is `n`.
 *
 * Entries that are NULL are left out, as a caller's who has dealt with them; one future may stand
 * there several times.  Futures of several workers and pages may be mixed.  Any number of threads
 * may wait for sets that overlap.  The caller has a handle of each until the call returns.  What
 * the job wrote is visible to who finds it ended.  Allocates nothing and takes no lock; each call
 * and each wake-up looks at all `n`, so for thousands a completion queue is better.  Signals do not
 * end the wait; it is no cancellation point of pthread_cancel.
 */
PSG_API psg_status psg_future_wait_any(psg_future *const *futures, size_t n, int64_t deadline_ns,
				       size_t *which);

/*
 * As above until all have ended: OK, also when there is none.  TIMED_OUT: one had not; the others
 * may be asked by psg_future_poll.  INVALID and FORKED, at once, for one that has not ended.
 */
PSG_API psg_status psg_future_wait_all(psg_future *const *futures, size_t n, int64_t deadline_ns);

PSG_API psg_future_state psg_future_poll(const psg_future *future);
PSG_API psg_cancel_result psg_future_cancel(psg_future *future);

/* Of a future that is done: its status and message.  INVALID while it is not. */
PSG_API psg_status psg_future_error(const psg_future *future, psg_error *error);

/*
 * Of an operator or model run that ended well: its outputs, borrowed from the future.
 * Else the job's own status and message; INVALID while it is not done or has no tensors.
 */
PSG_API psg_status psg_future_tensors(psg_future *future, psg_tensor *const **tensors, size_t *n,
				      psg_error *error);

/*
 * Of an operator or a model run that ended well: why it was done on the CPU although its worker has
 * a GPU (psg_job_options.cpu_fallback), borrowed from the future; "" when it was not, and while it
 * is not done.
 */
PSG_API const char *psg_future_fallback(const psg_future *future);

/* queued, started and finished, psg_now_ns clock, at most a microsecond too early; 0 where it has
 * not happened.  A run on a GPU is started when it is queued there, maybe behind another. */
typedef struct psg_future_times {
	int64_t queued_ns, started_ns, finished_ns;
} psg_future_times;
PSG_API void psg_future_times_get(const psg_future *future, psg_future_times *times);

/* psg_job_options.user of its submission. */
PSG_API void *psg_future_user(const psg_future *future);

/* One handle more, and `future`; NULL: it has 16,777,215 already.  Any thread that has a handle,
 * and the job's callback; no lock. */
PSG_API psg_future *psg_future_ref(psg_future *future);
PSG_API void psg_future_release(psg_future *future); /* NULL is allowed */

/*
 * Completion queues, for event loops: jobs that name one (psg_job_options.queue) come out of it in
 * the order in which they ended, however they did, each once.  Jobs of any kind, of any number of
 * workers and engines, may share one.  A completion allocates nothing, takes no lock, and makes a
 * system call only when the queue was empty.  Who waits for the future itself may know a moment
 * before it is in the queue; when psg_worker_drain or psg_worker_close returns, all are.  All calls
 * but creating and destroying: any thread, also several at once.
 */

/* NOMEM: no memory, or no file descriptor. */
PSG_API psg_status psg_completion_queue_create(psg_completion_queue **out, psg_error *error);

/*
 * Releases the futures that were not popped.  Jobs under way go on, and their futures are released
 * when they end; until then the queue's descriptor stays open.  No other thread may be inside a
 * call on it, nor submit with it.  Never blocks.  NULL is allowed.  In a forked child it does
 * nothing: the queue is the parent's.
 */
PSG_API void psg_completion_queue_destroy(psg_completion_queue *queue);

/*
 * A descriptor that is readable while something can be popped, for poll, epoll and the like:
 * level-triggered, or edge-triggered by who then pops until NULL.  Seldom it is readable once when
 * another thread has popped it all; the pop that gives NULL ends that.  Borrowed: only to be
 * polled, never read, written or closed; closed on exec.  -1 in a forked child.
 */
PSG_API int psg_completion_queue_fd(const psg_completion_queue *queue);

/*
 * The next future, which has ended, with the queue's handle, for the caller to release; NULL: there
 * is none now, or this is a forked child.  What the job and its callback wrote is visible.  Waits
 * for no job, and only for others who pop just then.
 */
PSG_API psg_future *psg_completion_queue_pop(psg_completion_queue *queue);

/*
 * As above, but waits for at most `timeout_ns`: 0 polls, INT64_MAX is no limit.  TIMED_OUT: nothing
 * came; FORKED; INVALID on a worker's own thread; then `*out` is NULL.  Signals do not end the
 * wait; it is no cancellation point of pthread_cancel.
 */
PSG_API psg_status psg_completion_queue_wait(psg_completion_queue *queue, int64_t timeout_ns,
					     psg_future **out);

#ifdef __cplusplus
}
#endif
#endif
