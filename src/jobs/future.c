/* SPDX-License-Identifier: Apache-2.0 */
/* The state machine of futures, and the public calls on them. */
#include "config.h"

#include "jobs/future.h"

#include "base/base.h"
#include "base/fork.h"
#include "jobs/completion.h"
#include "jobs/futex.h"
#include "jobs/patience.h"
#include "jobs/wait.h"

#include <ck_pr.h>
#include <stdlib.h>
#include <string.h>

_Thread_local uint32_t psgi_this_executor;

/* Callbacks that this thread is in, innermost first. */
struct frame {
	const psg_future *future;
	struct frame *outer;
};
static _Thread_local struct frame *frames;

static bool in_callback(const psg_future *future)
{
	for (const struct frame *frame = frames; frame != NULL; frame = frame->outer)
		if (frame->future == future)
			return true;
	return false;
}

static uint64_t serial_of(const psg_future *future)
{
	return future->class->serial != NULL ? future->class->serial(future) : 0;
}

static uint32_t fleet_of(const psg_future *future)
{
	return future->class->fleet != NULL ? future->class->fleet(future) : 0;
}

/* Would the executor whose thread this is have to run it, now or when its device is lost? */
static bool is_run_here(const psg_future *future)
{
	return serial_of(future) >> 32 == psgi_this_executor ||
	       (fleet_of(future) != 0 && psgi_this_serves(fleet_of(future)));
}

uint64_t psgi_future_callbacks(uint64_t serial)
{
	uint64_t n = 0;

	for (const struct frame *frame = frames; frame != NULL; frame = frame->outer)
		n += serial_of(frame->future) == serial;
	return n;
}

bool psgi_future_busy(void)
{
	return psgi_this_executor != 0 || frames != NULL;
}

static bool forked(const psg_future *future)
{
	return future->generation != psgi_fork_generation();
}

/* The half of the word that a futex can compare: the low one. */
static const void *futex_of(const psg_future *future)
{
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	return (const char *)&future->word + 4;
#else
	return &future->word;
#endif
}

void psgi_future_wake(const psg_future *future)
{
	psgi_futex_wake(futex_of(future));
}

/* --- transitions --- */

bool psgi_future_hold(psg_future *future)
{
	uint64_t word = atomic_load_explicit(&future->word, memory_order_relaxed);

	while (psgi_future_is(word, PSGI_QUEUED))
		if (atomic_compare_exchange_weak_explicit(&future->word, &word, word + PSGI_HOLD,
							  memory_order_acq_rel,
							  memory_order_relaxed))
			return true;
	return false;
}

/* Release: what this reference was used for is over before the memory is reused; acquire: so it
 * is for all other references, when this was the last. */
void psgi_future_drop(psg_future *future, uint64_t refs)
{
	uint64_t old = atomic_fetch_sub_explicit(&future->word, refs, memory_order_acq_rel);

	if ((old & PSGI_REFS) == refs)
		future->class->recycle(future);
}

void psgi_future_note(psg_future *future, const char *message)
{
	uint64_t word = atomic_load_explicit(&future->word, memory_order_relaxed);

	if (message[0] == '\0' || (word < PSGI_HANDLE && future->done == NULL))
		return;
	future->owned = strdup(message);
	future->message = future->owned;
}

const char *psg_future_fallback(const psg_future *future)
{
	return psgi_future_ended(future) && future->status == PSG_OK && future->message != NULL
		       ? future->message
		       : "";
}

void psgi_future_settle(psg_future *future, psg_status status, int64_t now_ns)
{
	struct frame frame = { future, frames };

	future->status = status;
	atomic_store_explicit(&future->finished_ns, now_ns, memory_order_relaxed);
	if (future->done == NULL)
		return;
	frames = &frame;
	future->done(future, future->user);
	frames = frame.outer;
}

/*
 * Release: the result is visible to whoever loads DONE; acquire for the case
 * that this drops the last reference.  Both in one step, so that a waiter who
 * releases and submits again finds his slot free.  After it a waiter may have
 * freed the future already: only its address is used, unless there is a queue,
 * which has a handle.
 */
void psgi_future_publish(psg_future *future, uint64_t refs)
{
	const psgi_future_class *class = future->class;
	const void *address = futex_of(future);
	psg_completion_queue *queue = future->queue;
	uint64_t word = atomic_load_explicit(&future->word, memory_order_relaxed), next;

	do
		next = (word & ~(PSGI_WAITED | PSGI_PLACE_MARKS)) + (PSGI_DONE - PSGI_RUNNING) -
		       refs;
	while (!atomic_compare_exchange_weak_explicit(&future->word, &word, next,
						      memory_order_acq_rel, memory_order_relaxed));
	if ((word & PSGI_WAITED) != 0)
		psgi_futex_wake(address);
	if ((word & PSGI_PLACE_MARKS) != 0)
		psgi_places_wake(word, future);
	if (queue != NULL)
		psgi_completion_put(queue, future);
	else if ((next & PSGI_REFS) == 0)
		class->recycle(future);
}

bool psgi_future_ended(const psg_future *future)
{
	uint64_t word = atomic_load_explicit(&future->word, memory_order_acquire);

	return psgi_future_is(word, PSGI_DONE) ||
	       (psgi_future_is(word, PSGI_RUNNING) && in_callback(future));
}

/* --- waiting --- */

/*
 * Announces a sleeper in the word; true when it stands there, `word` then being
 * what to sleep on.  Acquire only for the failure, which may bring DONE.  The
 * publisher's swap fails or sees the bit, so either it wakes the sleeper or the sleeper sees DONE.
 */
static bool announce(psg_future *future, uint64_t *word)
{
	if ((*word & PSGI_WAITED) != 0)
		return true;
	if (!atomic_compare_exchange_weak_explicit(&future->word, word, *word | PSGI_WAITED,
						   memory_order_acquire, memory_order_acquire))
		return false;
	*word |= PSGI_WAITED;
	return true;
}

void psgi_future_sleep(psg_future *future, uint64_t word)
{
	struct timespec never = psgi_timespec(PSGI_NEVER);

	if (announce(future, &word))
		(void)psgi_futex_wait(futex_of(future), (uint32_t)word, &never);
}

static _Thread_local psgi_patience patience;

static bool sees_end(const psg_future *future, int64_t until_ns)
{
	do {
		for (int i = 0; i < 16; i++) {
			if (psgi_future_is(
				    atomic_load_explicit(&future->word, memory_order_acquire),
				    PSGI_DONE))
				return true;
			ck_pr_stall();
		}
	} while (psg_now_ns() < until_ns);
	return false;
}

static bool ends_soon(const psg_future *future, int64_t deadline_ns)
{
	int64_t until;
	bool ends;

	if (!psgi_patience_lasts(&patience))
		return false;
	until = psg_now_ns() + PSGI_PATIENCE_NS;
	ends = sees_end(future, until < deadline_ns ? until : deadline_ns);
	psgi_patience_note(&patience, !ends);
	return ends;
}

/* Signals and stale wake-ups lead back to the top. */
bool psgi_future_await(psg_future *future, int64_t deadline_ns)
{
	const struct timespec deadline = psgi_timespec(deadline_ns < 1 ? 1 : deadline_ns);
	uint64_t word = atomic_load_explicit(&future->word, memory_order_acquire);

	if (psgi_future_is(word, PSGI_DONE) || ends_soon(future, deadline_ns))
		return true;
	while (!psgi_future_is(word, PSGI_DONE)) {
		bool timed_out;

		if (!announce(future, &word))
			continue;
		timed_out = !psgi_futex_wait(futex_of(future), (uint32_t)word, &deadline);
		word = atomic_load_explicit(&future->word, memory_order_acquire);
		if (timed_out)
			return psgi_future_is(word, PSGI_DONE);
	}
	return true;
}

psg_status psgi_future_may_wait(const psg_future *future)
{
	if (forked(future))
		return PSG_FORKED;
	if (psgi_this_executor != 0 && is_run_here(future))
		return PSG_INVALID; /* it would wait for itself */
	return PSG_OK;
}

psg_status psg_future_wait_until(psg_future *future, int64_t deadline_ns)
{
	psg_status status;

	if (psgi_future_ended(future))
		return future->status;
	status = psgi_future_may_wait(future);
	if (status != PSG_OK)
		return status;
	return psgi_future_await(future, deadline_ns) ? future->status : PSG_TIMED_OUT;
}

psg_status psg_future_wait_for(psg_future *future, int64_t timeout_ns)
{
	int64_t now;

	if (psgi_future_ended(future))
		return future->status;
	if (forked(future))
		return PSG_FORKED;
	if (timeout_ns <= 0)
		return PSG_TIMED_OUT;
	now = psg_now_ns();
	return psg_future_wait_until(future,
				     timeout_ns < PSGI_NEVER - now ? now + timeout_ns : PSGI_NEVER);
}

psg_status psg_future_wait(psg_future *future)
{
	return psg_future_wait_until(future, PSGI_NEVER);
}

/* --- looking --- */

psg_future_state psg_future_poll(const psg_future *future)
{
	uint64_t word = atomic_load_explicit(&future->word, memory_order_acquire);

	if (psgi_future_is(word, PSGI_QUEUED))
		return PSG_FUTURE_QUEUED;
	return psgi_future_ended(future) ? PSG_FUTURE_DONE : PSG_FUTURE_RUNNING;
}

psg_status psg_future_error(const psg_future *future, psg_error *error)
{
	if (!psgi_future_ended(future))
		return forked(future)
			       ? psgi_fail(error, PSG_FORKED, "the job runs in the parent process")
			       : psgi_fail(error, PSG_INVALID, "the job has not ended yet");
	if (future->status == PSG_OK)
		return PSG_OK;
	return psgi_fail(error, future->status, "%s",
			 future->message != NULL ? future->message
						 : psg_status_text(future->status));
}

psg_status psg_future_tensors(psg_future *future, psg_tensor *const **tensors, size_t *n,
			      psg_error *error)
{
	psg_status status = psg_future_error(future, error);

	*tensors = NULL;
	*n = 0;
	if (status != PSG_OK)
		return status;
	if (future->class->tensors == NULL || !future->class->tensors(future, tensors, n))
		return psgi_fail(error, PSG_INVALID, "a job of this kind has no tensors");
	return PSG_OK;
}

void *psg_future_user(const psg_future *future)
{
	return future->user;
}

/* What was before the future was queued is of the slot's former job. */
static int64_t time_of(const _Atomic int64_t *ns, int64_t queued_ns)
{
	int64_t time = atomic_load_explicit(ns, memory_order_relaxed);

	return time >= queued_ns ? time : 0;
}

void psg_future_times_get(const psg_future *future, psg_future_times *times)
{
	bool started = psg_future_poll(future) != PSG_FUTURE_QUEUED;

	times->queued_ns = atomic_load_explicit(&future->queued_ns, memory_order_relaxed);
	times->started_ns = started ? time_of(&future->started_ns, times->queued_ns) : 0;
	times->finished_ns =
		psgi_future_ended(future) ? time_of(&future->finished_ns, times->queued_ns) : 0;
}

/* --- cancelling and references --- */

psg_cancel_result psg_future_cancel(psg_future *future)
{
	if (psgi_future_ended(future) || forked(future))
		return PSG_CANCEL_DONE;
	return future->class->cancel(future);
}

/* Relaxed: a new handle comes from one that exists.  One more than fit would count as none. */
psg_future *psg_future_ref(psg_future *future)
{
	uint64_t word = atomic_load_explicit(&future->word, memory_order_relaxed);

	while (word < UINT64_MAX - (PSGI_HANDLE - 1))
		if (atomic_compare_exchange_weak_explicit(&future->word, &word, word + PSGI_HANDLE,
							  memory_order_relaxed,
							  memory_order_relaxed))
			return future;
	return NULL;
}

void psg_future_release(psg_future *future)
{
	uint64_t word;

	if (future == NULL || forked(future)) /* the child's copy is nobody's to run */
		return;
	/* Acquire: with the sole reference of a done future, all others' use of it is over. */
	word = atomic_load_explicit(&future->word, memory_order_acquire);
	while (word >= 2 * PSGI_HANDLE)
		if (atomic_compare_exchange_weak_explicit(&future->word, &word, word - PSGI_HANDLE,
							  memory_order_acq_rel,
							  memory_order_acquire))
			return;
	/* The last handle: nobody else may make one now, save a callback from the job's own hold.
	 */
	if (psgi_future_is(word, PSGI_DONE)) {
		if ((word & PSGI_REFS) == PSGI_HANDLE) {
			future->class->recycle(future);
			return;
		}
	} else if (!in_callback(future)) {
		future->class->abandon(future);
	}
	psgi_future_drop(future, PSGI_HANDLE);
}
