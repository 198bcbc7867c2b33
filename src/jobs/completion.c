/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Futures in the order in which they ended, and a descriptor that tells an event loop.
 *
 * Who completes a job puts its future on a stack and takes no lock: it may be
 * the worker, which must not wait for a thread that pops and was preempted.
 * Who pops takes the stack whole, turned round, as a batch.  The first that is
 * put on an empty stack writes to the descriptor, so each batch is written
 * once, and it is read once for each batch that is used up, when nothing else
 * is there.  Then it is readable as long as something can be popped.
 */
#include "config.h"

#include "jobs/completion.h"

#include "base/base.h"
#include "base/fork.h"
#include "jobs/ec.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

struct psg_completion_queue {
	uint32_t generation;         /* of the process */
	int fd;                      /* counts batches that were put and not used up */
	_Atomic uint64_t holders;    /* the owner, and each job that is not put yet */
	psg_future *_Atomic arrived; /* the last one first */
	psgi_event news;             /* for who waits without an event loop */
	pthread_mutex_t lock;        /* of those who pop, for what follows */
	psg_future *first;           /* the batch, the first one first */
	uint64_t used_up;            /* batches that `fd` still counts */
};

/* In `arrived`: the queue was destroyed. */
static psg_future closed;

static bool forked(const psg_completion_queue *queue)
{
	return queue->generation != psgi_fork_generation();
}

/* --- the descriptor; not by read and write, where pthread_cancel could end a thread that is
 * completing a job --- */

static void count_up(const psg_completion_queue *queue)
{
	const uint64_t one = 1;

	(void)syscall(SYS_write, queue->fd, &one, sizeof(one));
}

static bool count_down(const psg_completion_queue *queue)
{
	uint64_t one;

	return syscall(SYS_read, queue->fd, &one, sizeof(one)) == (long)sizeof(one);
}

/* --- its life --- */

psg_status psg_completion_queue_create(psg_completion_queue **out, psg_error *error)
{
	psg_status status = psgi_fork_watch(error);
	psg_completion_queue *queue;

	*out = NULL;
	if (status != PSG_OK)
		return status;
	queue = calloc(1, sizeof(*queue));
	if (queue == NULL || pthread_mutex_init(&queue->lock, NULL) != 0) {
		free(queue);
		return psgi_fail(error, PSG_NOMEM, "no memory for a completion queue");
	}
	queue->fd = eventfd(0, EFD_SEMAPHORE | EFD_NONBLOCK | EFD_CLOEXEC);
	if (queue->fd < 0) {
		status = psgi_fail(error, PSG_NOMEM, "no descriptor for a completion queue: %s",
				   strerror(errno));
		(void)pthread_mutex_destroy(&queue->lock);
		free(queue);
		return status;
	}
	queue->generation = psgi_fork_generation();
	psgi_event_init(&queue->news);
	atomic_store_explicit(&queue->holders, 1, memory_order_relaxed);
	*out = queue;
	return PSG_OK;
}

/* As every last reference: release own use, acquire that of others. */
static void drop(psg_completion_queue *queue)
{
	if (atomic_fetch_sub_explicit(&queue->holders, 1, memory_order_acq_rel) != 1)
		return;
	(void)close(queue->fd);
	(void)pthread_mutex_destroy(&queue->lock);
	free(queue);
}

static void release_all(psg_future *future)
{
	while (future != NULL) {
		psg_future *next = future->next;

		psg_future_release(future);
		future = next;
	}
}

void psg_completion_queue_destroy(psg_completion_queue *queue)
{
	if (queue == NULL || forked(queue)) /* the child's copy is left as it is */
		return;
	release_all(queue->first);
	release_all(atomic_exchange_explicit(&queue->arrived, &closed, memory_order_acquire));
	drop(queue);
}

int psg_completion_queue_fd(const psg_completion_queue *queue)
{
	return forked(queue) ? -1 : queue->fd;
}

/* --- putting --- */

psg_status psgi_completion_check(const psg_completion_queue *queue, psg_error *error)
{
	if (queue == NULL || !forked(queue))
		return PSG_OK;
	return psgi_fail(error, PSG_FORKED,
			 "the completion queue lives in the parent process: create one here");
}

/* Relaxed: the caller of the submission keeps the queue. */
void psgi_completion_expect(psg_completion_queue *queue)
{
	atomic_fetch_add_explicit(&queue->holders, 1, memory_order_relaxed);
}

void psgi_completion_put(psg_completion_queue *queue, psg_future *future)
{
	psg_future *head = atomic_load_explicit(&queue->arrived, memory_order_relaxed);

	do {
		if (head == &closed) {
			psg_future_release(future);
			drop(queue);
			return;
		}
		future->next = head;
		/* Release: the link, and all that the job did.  Then it may be popped and gone. */
	} while (!atomic_compare_exchange_weak_explicit(
		&queue->arrived, &head, future, memory_order_release, memory_order_relaxed));
	if (head == NULL) {
		psgi_event_signal(&queue->news);
		count_up(queue);
	}
	drop(queue);
}

/* --- popping; under the lock --- */

static psg_future *turn_round(psg_future *future)
{
	psg_future *turned = NULL;

	while (future != NULL) {
		psg_future *next = future->next;

		future->next = turned;
		turned = future;
		future = next;
	}
	return turned;
}

/*
 * Who put a batch may not have written yet.  The descriptor then becomes
 * readable with nothing to pop, and the call that finds nothing reads it.
 */
static void settle(psg_completion_queue *queue)
{
	while (queue->used_up > 0 && count_down(queue))
		queue->used_up--;
}

static psg_future *take(psg_completion_queue *queue)
{
	psg_future *future;

	if (queue->first == NULL)
		queue->first = turn_round(
			atomic_exchange_explicit(&queue->arrived, NULL, memory_order_acquire));
	future = queue->first;
	if (future != NULL) {
		queue->first = future->next;
		queue->used_up += queue->first == NULL;
	}
	if (queue->first == NULL &&
	    atomic_load_explicit(&queue->arrived, memory_order_relaxed) == NULL)
		settle(queue);
	return future;
}

psg_future *psg_completion_queue_pop(psg_completion_queue *queue)
{
	psg_future *future;

	if (forked(queue))
		return NULL;
	(void)pthread_mutex_lock(&queue->lock);
	future = take(queue);
	(void)pthread_mutex_unlock(&queue->lock);
	return future;
}

psg_status psg_completion_queue_wait(psg_completion_queue *queue, int64_t timeout_ns,
				     psg_future **out)
{
	int64_t now = psg_now_ns(), deadline;
	bool in_time = timeout_ns > 0;

	*out = NULL;
	if (forked(queue))
		return PSG_FORKED;
	if (psgi_this_executor != 0)
		return PSG_INVALID; /* it would wait for itself */
	deadline = timeout_ns < PSGI_NEVER - now ? now + timeout_ns : PSGI_NEVER;
	for (;;) {
		uint32_t value = psgi_event_value(&queue->news); /* before the look */

		*out = psg_completion_queue_pop(queue);
		if (*out != NULL)
			return PSG_OK;
		if (!in_time)
			return PSG_TIMED_OUT;
		in_time = psgi_event_wait(&queue->news, value, deadline);
	}
}
