/* SPDX-License-Identifier: Apache-2.0 */
/* Futures that their owner completes: the same state machine, without a worker. */
#include "config.h"

#include "jobs/jobs.h"

#include "base/base.h"
#include "base/fork.h"
#include "jobs/completion.h"
#include "jobs/future.h"

#include <stdlib.h>

struct promise {
	psg_future future; /* first: a future of the promise class is its promise */
	void (*cancel)(psg_future *future, void *owner);
	void *owner;
	void *result;
	void (*free_result)(void *result);
};

/* Promises whose cancel hook this thread is in, innermost first. */
struct hook {
	const psg_future *future;
	struct hook *outer;
};
static _Thread_local struct hook *hooks;

static bool in_hook(const psg_future *future)
{
	for (const struct hook *hook = hooks; hook != NULL; hook = hook->outer)
		if (hook->future == future)
			return true;
	return false;
}

/*
 * PSGI_HOOKED keeps the owner alive while it is called: psgi_promise_complete
 * waits for it to go, unless it is called from the hook itself.
 */
static void call_hook(psg_future *future)
{
	struct promise *promise = (struct promise *)future;
	struct hook hook = { future, hooks };
	uint64_t old;

	if (promise->cancel != NULL) {
		hooks = &hook;
		promise->cancel(future, promise->owner);
		hooks = hook.outer;
	}
	/* Release: the completer may free what the hook used. */
	old = atomic_fetch_and_explicit(&future->word, ~PSGI_HOOKED, memory_order_release);
	if ((old & PSGI_WAITED) != 0)
		psgi_future_wake(future);
}

/* True when this call is the one that asks for the stop.  It then has a hold: the hook may complete
 * the promise, and the callback release the handle that brought us here. */
static bool ask_stop(psg_future *future)
{
	uint64_t word = atomic_load_explicit(&future->word, memory_order_relaxed);

	do {
		if ((word & PSGI_STOP) != 0 || psgi_future_is(word, PSGI_DONE))
			return false;
		/* Acquire: the owner as the promise was made. */
	} while (!atomic_compare_exchange_weak_explicit(
		&future->word, &word, (word | PSGI_STOP | PSGI_HOOKED) + PSGI_HOLD,
		memory_order_acquire, memory_order_relaxed));
	return true;
}

static psg_cancel_result cancel(psg_future *future)
{
	bool started = psg_future_poll(future) != PSG_FUTURE_QUEUED;
	psg_cancel_result result = PSG_CANCEL_RUNNING;
	bool ended;

	if (!ask_stop(future))
		return psgi_future_ended(future) ? PSG_CANCEL_DONE : PSG_CANCEL_RUNNING;
	call_hook(future);
	/* It may have stopped for this already.  Looked at once: it may end at any time, and well.
	 */
	ended = psgi_future_ended(future);
	if (ended && future->status != PSG_CANCELLED)
		result = PSG_CANCEL_DONE;
	else if (ended && !started)
		result = PSG_CANCEL_REMOVED;
	psgi_future_drop(future, PSGI_HOLD);
	return result;
}

static void abandon(psg_future *future)
{
	if (!ask_stop(future))
		return;
	call_hook(future);
	psgi_future_drop(future, PSGI_HOLD);
}

static void recycle(psg_future *future)
{
	struct promise *promise = (struct promise *)future;

	if (promise->result != NULL && promise->free_result != NULL)
		promise->free_result(promise->result);
	free(future->owned);
	free(promise);
}

static const psgi_future_class promise_class = { cancel, abandon, recycle, NULL, NULL, NULL };

psg_status psgi_promise_create(const psg_job_options *options,
			       void (*cancel_hook)(psg_future *future, void *owner), void *owner,
			       psg_future **out, psg_error *error)
{
	psg_status status = psgi_fork_watch(error);
	psg_completion_queue *queue = options != NULL ? options->queue : NULL;
	struct promise *promise;

	*out = NULL;
	if (status == PSG_OK)
		status = psgi_completion_check(queue, error);
	if (status != PSG_OK)
		return status;
	promise = calloc(1, sizeof(*promise));
	if (promise == NULL)
		return psgi_fail(error, PSG_NOMEM, "no memory for a future");
	promise->cancel = cancel_hook;
	promise->owner = owner;
	promise->future.class = &promise_class;
	promise->future.generation = psgi_fork_generation();
	if (options != NULL) {
		promise->future.done = options->done;
		promise->future.user = options->user;
	}
	atomic_store_explicit(&promise->future.deadline_ns,
			      options != NULL && options->deadline_ns != 0 ? options->deadline_ns
									   : PSGI_NEVER,
			      memory_order_relaxed);
	atomic_store_explicit(&promise->future.queued_ns, psg_now_ns(), memory_order_relaxed);
	promise->future.queue = queue;
	if (queue != NULL)
		psgi_completion_expect(queue);
	atomic_store_explicit(&promise->future.word,
			      PSGI_QUEUED + PSGI_HOLD + PSGI_HANDLE +
				      (queue != NULL ? PSGI_HANDLE : 0),
			      memory_order_relaxed);
	*out = &promise->future;
	return PSG_OK;
}

void psgi_promise_start(psg_future *future)
{
	atomic_store_explicit(&future->started_ns, psg_now_ns(), memory_order_relaxed);
	(void)psgi_future_claim(future, 0);
}

static void wait_for_hook(psg_future *future)
{
	/* Acquire: what the hook did to the owner. */
	uint64_t word = atomic_load_explicit(&future->word, memory_order_acquire);

	while ((word & PSGI_HOOKED) != 0 && !in_hook(future)) {
		psgi_future_sleep(future, word);
		word = atomic_load_explicit(&future->word, memory_order_acquire);
	}
}

/*
 * Asking for a stop is over with the first answer: STOP is set by the owner,
 * so that no hook can begin any more, and one that runs is waited for.
 */
static void end_hooks(psg_future *future)
{
	atomic_fetch_or_explicit(&future->word, PSGI_STOP, memory_order_acq_rel);
	wait_for_hook(future);
}

void psgi_promise_complete(psg_future *future, psg_status status, const psg_error *error,
			   void *result, void (*free_result)(void *result))
{
	struct promise *promise = (struct promise *)future;

	end_hooks(future);
	(void)psgi_future_claim(future, 0); /* it may never have been started */
	promise->result = result;
	promise->free_result = free_result;
	if (status != PSG_OK && error != NULL)
		psgi_future_note(future, error->message);
	psgi_future_settle(future, status, psg_now_ns());
	psgi_future_publish(future, PSGI_HOLD);
}

bool psgi_promise_unwanted(const psg_future *future)
{
	return (atomic_load_explicit(&future->word, memory_order_relaxed) & PSGI_STOP) != 0 ||
	       atomic_load_explicit(&future->deadline_ns, memory_order_relaxed) <= psg_now_ns();
}

void *psgi_promise_result(const psg_future *future, void (*free_result)(void *result))
{
	const struct promise *promise = (const struct promise *)future;

	if (future->class != &promise_class || !psgi_future_ended(future) ||
	    future->status != PSG_OK || promise->free_result != free_result)
		return NULL;
	return promise->result;
}
