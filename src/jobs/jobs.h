/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the OCR room needs beyond job.h: a pool of host threads, and futures
 * that it completes itself.
 */
#ifndef PSG_JOBS_JOBS_H
#define PSG_JOBS_JOBS_H

#include <pagesift/job.h>

/* --- host pool: a few threads for decoding, geometry and text --- */

typedef struct psgi_pool psgi_pool;

/* Intrusive: a page embeds its task, so that queueing it cannot fail.  Queued at most once at a
 * time. */
typedef struct psgi_task {
	void (*run)(struct psgi_task *task);
	struct psgi_task *next;
} psgi_task;

psg_status psgi_pool_open(int32_t threads, const char *name, psgi_pool **out, psg_error *error);

/* Any thread, also the pool's own; never fails.  Tasks start in order. */
void psgi_pool_post(psgi_pool *pool, psgi_task *task);

/*
 * Runs `task` at `at_ns` or, when all threads are busy then, before all others as soon as one is
 * free.  A pool has one alarm: the earlier of two stands, and goes off once.  Any thread; never
 * fails.
 */
void psgi_pool_alarm(psgi_pool *pool, psgi_task *task, int64_t at_ns);

/* Runs what is queued and what that posts, forgets the alarm, joins the threads and frees the pool.
 * NULL is allowed. */
void psgi_pool_close(psgi_pool *pool);

/* --- promises: futures completed by their owner rather than by a worker --- */

/*
 * A future with one reference for the caller, one for the queue of the options if there is one,
 * and one for the owner, who must complete it exactly once with psgi_promise_complete, which drops
 * the owner's. `cancel` (may be NULL) is called at most once, by the canceller or the releaser of
 * the last handle, while the promise is pending; the owner then completes it when it can.
 */
psg_status psgi_promise_create(const psg_job_options *options,
			       void (*cancel)(psg_future *future, void *owner), void *owner,
			       psg_future **out, psg_error *error);

/*
 * `result` belongs to the future and is freed with it by `free_result`; `error` is copied, NULL
 * with PSG_OK.  Waits until a `cancel` that is running on another thread has returned, so that the
 * owner may be freed afterwards: hold no lock here that `cancel` takes.  May be called by `cancel`.
 */
void psgi_promise_complete(psg_future *future, psg_status status, const psg_error *error,
			   void *result, void (*free_result)(void *result));

/* Marks it RUNNING, for poll and times. */
void psgi_promise_start(psg_future *future);

/* Cancel asked for, or the deadline passed? */
bool psgi_promise_unwanted(const psg_future *future);

/* The result of a promise that ended well and whose free_result is `free_result` (its type tag);
 * else NULL. */
void *psgi_promise_result(const psg_future *future, void (*free_result)(void *result));

/* Jobs accepted by the worker and not yet ended: the measure of "least waiting". */
uint64_t psgi_worker_load(const psg_worker *worker);

/* Was it told to take no more jobs? */
bool psgi_worker_refuses(const psg_worker *worker);

#endif
