/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lane: what one thread submits to one worker through.
 *
 * A fixed number of job slots and a single-producer ring of pointers to them.
 * (One ring for all producers would make each wait for the slowest: CK's
 * multi-producer enqueue spins until earlier ones have published.)  Three
 * parties touch a lane, each its own part:
 *
 *   the producer   takes slots and enqueues; a thread that ends gives this side back
 *   the worker     dequeues, and keeps the lane's jobs in its own order
 *   anybody        returns a slot when the last reference to its future goes
 *
 * Lanes outlive their worker for as long as a slot is in use: memory is counted
 * by `holders`, and slots still out are counted only when the lane is sealed.
 */
#ifndef PSG_JOBS_LANE_H
#define PSG_JOBS_LANE_H

#include "jobs/job.h"
#include "jobs/tsan.h"

#include <ck_ring.h>
#include <stdalign.h>

#define PSGI_CACHE_LINE 64

/* `flags` */
#define PSGI_LANE_ATTACHED 1u /* a thread owns the producer's side */
#define PSGI_LANE_CLOSED 2u   /* the worker is gone */

typedef struct psgi_lane {
	/* constant */
	uint64_t serial;     /* of the worker */
	uint32_t generation; /* of the process */
	uint32_t capacity, index;
	psgi_job *slots;
	ck_ring_buffer_t *buffer;

	/* the producer's */
	alignas(PSGI_CACHE_LINE) psgi_job *free;
	_Atomic uint32_t fresh;    /* slots used so far; the rest was never touched */
	_Atomic uint64_t accepted; /* written by the producer, read by all */
	_Atomic uint64_t refused_full, refused_late;
	_Atomic int32_t thread;        /* the owner's, as the kernel counts; 0: none */
	const void *_Atomic owner;     /* names the thread, for the short way of returning slots */
	struct psgi_lane *thread_next; /* of the owner's lanes */

	/* written by both when the lane wakes or falls asleep: true while the worker polls the ring
	 */
	alignas(PSGI_CACHE_LINE) atomic_bool noticed;

	/* the worker's */
	alignas(PSGI_CACHE_LINE) bool polled;
	uint32_t idle_looks;
	_Atomic uint64_t served; /* jobs that the worker ended */
	struct psgi_lane *polled_next;
	struct {
		psgi_job *first, *last;
		struct psgi_lane *next_turn;
	} waiting[PSGI_RANKS];

	/* anybody's */
	alignas(PSGI_CACHE_LINE) psgi_job *_Atomic returned;
	_Atomic uint32_t flags;
	_Atomic uint32_t holders;
	_Atomic uint64_t ended;                  /* away from the worker */
	_Atomic uint64_t outcome[PSGI_OUTCOMES]; /* of those */

	alignas(PSGI_CACHE_LINE) ck_ring_t ring;
} psgi_lane;

/* Attached to no thread; held by the worker and by its producer's side.  NULL without memory. */
psgi_lane *psgi_lane_create(uint64_t serial, uint32_t generation, uint32_t capacity,
			    uint32_t index);

/* --- the producer --- */

/* A slot to fill; NULL: all are in use. */
psgi_job *psgi_lane_take(psgi_lane *lane);

/*
 * Sleeps until a slot comes home or psgi_lane_wake; false when `deadline_ns` passed first.
 * Returns at once when `refusing` is set, and may for no reason: take again.
 */
bool psgi_lane_wait(psgi_lane *lane, const atomic_bool *refusing, int64_t deadline_ns);

/* Gives back a slot that was taken and not submitted. */
void psgi_lane_untake(psgi_lane *lane, psgi_job *job);

/* The ring is larger than the number of slots, so there is always room. */
static inline void psgi_lane_put(psgi_lane *lane, psgi_job *job)
{
	psgi_tsan_release(&lane->ring);
	(void)ck_ring_enqueue_spsc(&lane->ring, lane->buffer, job);
}

/* Takes the producer's side of an unowned lane that has all its slots at home. */
bool psgi_lane_adopt(psgi_lane *lane);

/* Gives up the producer's side: the thread ends.  The lane may be gone afterwards. */
void psgi_lane_leave(psgi_lane *lane);

/* --- the worker --- */

static inline psgi_job *psgi_lane_get(psgi_lane *lane)
{
	void *job;

	if (!ck_ring_dequeue_spsc(&lane->ring, lane->buffer, &job))
		return NULL;
	psgi_tsan_acquire(&lane->ring);
	return job;
}

static inline bool psgi_lane_empty(const psgi_lane *lane)
{
	return ck_ring_size(&lane->ring) == 0;
}

/* The worker is closed and its thread gone.  The lane may be gone afterwards. */
void psgi_lane_close(psgi_lane *lane);

/* --- anybody --- */

/*
 * Wakes the producer if it waits for a slot.  What it is to notice was stored before, and a full
 * fence lies between.  The lane is the worker's, which is not closed yet.
 */
void psgi_lane_wake(psgi_lane *lane);

/* Returns a slot whose last reference is gone. */
void psgi_lane_return(psgi_lane *lane, psgi_job *job);

#endif
