/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state machine of every future, whoever completes it.
 *
 * One atomic word holds state and references, so that a transition and the
 * reference it takes or drops are one step:
 *
 *   QUEUED --start or claim--> RUNNING --publish--> DONE
 *
 * Whoever moves QUEUED to RUNNING owns the completion: the worker that runs
 * the job, or whoever ends it unrun (a canceller, the keeper of deadlines, an
 * abort).  That compare-and-swap is where their races are decided, and why a
 * future completes exactly once.  Result and times are plain fields, written
 * by the owner before DONE is stored with release and read by others after
 * they loaded it with acquire.
 *
 * Handles are the user's references, holds the library's own: a job's place
 * in its queue, somebody who is completing it.  The memory goes back when
 * both are none.
 */
#ifndef PSG_JOBS_FUTURE_H
#define PSG_JOBS_FUTURE_H

#include <pagesift/job.h>

#include <stdatomic.h>

/* The low half of the word: what a waiter sleeps on.  References do not disturb it. */
#define PSGI_QUEUED UINT64_C(0)
#define PSGI_RUNNING UINT64_C(1)
#define PSGI_DONE UINT64_C(2)
#define PSGI_STATE UINT64_C(3)
#define PSGI_WAITED UINT64_C(4)  /* somebody sleeps, or is about to: publishing must wake */
#define PSGI_STOP UINT64_C(8)    /* asked to stop */
#define PSGI_HOOKED UINT64_C(16) /* a promise's cancel hook runs: completing waits for its end */
#define PSGI_RUNS UINT64_C(32)   /* the executor runs it, and nobody has ended it yet (stall.h) */
/* It went on to another device of its fleet: what its origin still has of it in its queue is no
 * place of it any more, and its links are the other one's (move.c). */
#define PSGI_MOVED UINT64_C(64)
/* Bits 8 to 31: the places where somebody sleeps who waits for several futures (wait.h). */
#define PSGI_PLACE_BEGIN 8
#define PSGI_PLACE_END 32
#define PSGI_PLACE_MARKS UINT64_C(0xffffff00)
/* The high half: 8 bits of holds (queue, completer, keeper, aborts), 24 of handles. */
#define PSGI_HOLD (UINT64_C(1) << 32)
#define PSGI_HANDLE (UINT64_C(1) << 40)
#define PSGI_REFS (~(PSGI_HOLD - 1))

typedef struct psgi_future_class {
	/* Asks for an end before the start, as psg_future_cancel. */
	psg_cancel_result (*cancel)(psg_future *future);
	/* The last handle is about to go, the future is not done, the caller still has the handle.
	 */
	void (*abandon)(psg_future *future);
	/* The last reference is gone. */
	void (*recycle)(psg_future *future);
	/* The outputs of one that ended well; NULL: this class has none. */
	bool (*tensors)(psg_future *future, psg_tensor *const **tensors, size_t *n);
	/* The serial of the worker that completes it; NULL: none does. */
	uint64_t (*serial)(const psg_future *future);
	/* The number of the fleet whose devices may all come to run it; 0, or NULL: of none. */
	uint32_t (*fleet)(const psg_future *future);
} psgi_future_class;

/*
 * Up to `class` is what is touched of every future, by who waits as by who
 * completes; a job lays that into one cache line with its own such part.
 */
struct psg_future {
	_Atomic uint64_t word;
	union {
		psg_status status; /* once it is settled */
		uint32_t sequence; /* until then, of a job: its number among its lane's, for who
				      observes */
	};
	uint32_t generation; /* psgi_fork_generation at creation */
	/* The times are atomic (relaxed) because others may read them while a new job is written to
	 * the slot or while it runs; whoever acts on a value first makes sure that the job is still
	 * the same.  `started_ns` and `finished_ns` are of a former job until they are written. */
	_Atomic int64_t queued_ns;
	const psgi_future_class *class;
	_Atomic int64_t started_ns, finished_ns;
	_Atomic int64_t deadline_ns;
	void (*done)(psg_future *future, void *user);
	void *user;
	union {
		psg_completion_queue *queue; /* until it is DONE; NULL: none */
		psg_future *next;            /* in that queue */
	};
	const char *message; /* NULL: the status says it all */
	char *owned;         /* `message` when it is to be freed */
};

/* --- for whoever completes --- */

/*
 * QUEUED to RUNNING and `refs` more; false: it was not queued any more.
 * Acquire: the claimer sees the job as submitted.  Release is not needed for
 * the claim itself (nothing was written yet), but the swap also keeps what
 * earlier holders released, for whoever drops last.
 */
static inline bool psgi_future_claim(psg_future *future, uint64_t refs)
{
	uint64_t word = atomic_load_explicit(&future->word, memory_order_relaxed);

	while ((word & PSGI_STATE) == PSGI_QUEUED)
		if (atomic_compare_exchange_weak_explicit(
			    &future->word, &word, word + PSGI_RUNNING + refs, memory_order_acq_rel,
			    memory_order_relaxed))
			return true;
	return false;
}

/* The same where its origin finds it in its queue: not of one that has moved on. */
static inline bool psgi_future_claim_unmoved(psg_future *future, uint64_t refs)
{
	uint64_t word = atomic_load_explicit(&future->word, memory_order_relaxed);

	while ((word & (PSGI_STATE | PSGI_MOVED)) == PSGI_QUEUED)
		if (atomic_compare_exchange_weak_explicit(
			    &future->word, &word, word + PSGI_RUNNING + refs, memory_order_acq_rel,
			    memory_order_relaxed))
			return true;
	return false;
}

/* One more hold if it is queued. */
bool psgi_future_hold(psg_future *future);

/* Drops a hold or a handle. */
void psgi_future_drop(psg_future *future, uint64_t refs);

/* Keeps a copy of the message, if there is one and anybody can ask for it: why the job failed or,
 * when it did not, why the CPU did it.  Without memory less must do. */
void psgi_future_note(psg_future *future, const char *message);

/* Stores the result and calls the callback; only who claimed, once. */
void psgi_future_settle(psg_future *future, psg_status status, int64_t now_ns);

/* DONE: wakes the waiters and drops `refs` (a hold, or 0). */
void psgi_future_publish(psg_future *future, uint64_t refs);

/* --- for all classes --- */

/* Done, or this thread is in its callback, where it counts as done. */
bool psgi_future_ended(const psg_future *future);

/* Futures of worker `serial` in whose callback this thread is. */
uint64_t psgi_future_callbacks(uint64_t serial);

/* FORKED or INVALID: this future, which has not ended, would not be seen to end by this thread. */
psg_status psgi_future_may_wait(const psg_future *future);

/* Waits until it is DONE; false when `deadline_ns` passed first. */
bool psgi_future_await(psg_future *future, int64_t deadline_ns);

/* Is this thread a worker's own, or in a callback?  Then it must not wait for others. */
bool psgi_future_busy(void);

/* Sleeps until the word is not `word` any more, or something else woke it. */
void psgi_future_sleep(psg_future *future, uint64_t word);

/* Wakes all sleepers. */
void psgi_future_wake(const psg_future *future);

/* The number of the executor whose thread this is, 0 on others. */
extern _Thread_local uint32_t psgi_this_executor;

/* Has the executor whose thread this is a worker of that fleet? */
bool psgi_this_serves(uint32_t fleet);

static inline bool psgi_future_is(uint64_t word, uint64_t state)
{
	return (word & PSGI_STATE) == state;
}

#endif
