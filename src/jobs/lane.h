/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A lane: what one thread submits to one worker through.
 *
 * A fixed number of job slots, and a ring of one producer in which their numbers
 * go, or a detached job as it is, which needs no slot.  (One ring for all producers
 * would make each wait for the slowest: CK's multi-producer enqueue spins until
 * earlier ones have published.)  Three parties touch a lane, each its own part:
 *
 *   the producer   takes slots and enqueues; a thread that ends gives this side back
 *   the worker     dequeues, and keeps the lane's jobs in its own order
 *   anybody        returns a slot when the last reference to its future goes
 *
 * What costs is a cache line that goes from one core to the other (100 ns on
 * the machine where this was measured, 16 jobs' worth of instructions).  So a
 * slot is touched only by who fills it and who runs it: which slots are free
 * and which wait is kept in arrays of numbers beside them.  The
 * producer counts its jobs itself, and looks at what the worker has ended only
 * when there seem to be too many.
 *
 * Lanes outlive their worker for as long as a slot is in use: memory is counted
 * by `holders`, and slots still out are counted only when the lane is sealed.
 */
#ifndef PSG_JOBS_LANE_H
#define PSG_JOBS_LANE_H

#include "base/recent.h"
#include "jobs/fence.h"
#include "jobs/job.h"
#include "jobs/tsan.h"

#include <ck_ring.h>

/* `flags` */
#define PSGI_LANE_ATTACHED 1u /* a thread owns the producer's side */
#define PSGI_LANE_CLOSED 2u   /* the worker is gone */

/*
 * What the ring hands over: a detached job of normal rank, or a slot's number and what the worker's
 * queue wants to know of its job before it is touched.  Small, because it is what goes from core to
 * core.
 */
struct psgi_entry {
	psg_job_fn fn; /* NULL: it is a slot */
	union {
		void *arg;
		uint64_t word;
	};
};
typedef struct psgi_entry psgi_entry;
#define PSGI_ENTRY_NUMBER UINT64_C(0xffff)
#define PSGI_ENTRY_RANK_BIT 16 /* and the next one */
#define PSGI_ENTRY_RANK UINT64_C(3)
#define PSGI_ENTRY_DEADLINE (UINT64_C(1) << 18) /* it has one */

/* Typed calls: ck_ring_enqueue_spsc_psgi_entry and its like. */
CK_RING_PROTOTYPE(psgi_entry, psgi_entry)

/* A detached job in the worker's queue. */
typedef struct psgi_plain {
	psg_job_fn fn;
	void *arg;
	uint32_t sequence; /* its number among its lane's */
} psgi_plain;

typedef struct psgi_lane {
	/* constant */
	uint64_t serial;     /* of the worker */
	uint32_t generation; /* of the process */
	uint32_t capacity, index;
	uint32_t mask;   /* one less than the places of the ring, a power of two */
	psgi_job *slots; /* `capacity` of them, as of `extras` and `home` */
	psgi_extra *extras;
	uint32_t *home; /* the producer's: numbers of the free slots */
	/* The worker's: by number, what is behind that in its queue.  From `capacity` on these are
	 * places in `plain`. */
	uint32_t *behind;
	psgi_plain *plain; /* the worker's: detached jobs that it has got; places as the ring's */
	psgi_entry *ring_buffer;
	struct psgi_member *member; /* of a fleet, valid while a job has not ended */
	uint32_t fleet;             /* its number; 0: of none */

	/* the producer's */
	alignas(PSGI_CACHE_LINE) _Atomic uint64_t accepted; /* read by all */
	uint32_t room; /* jobs that may be added before it must look for more */
	uint32_t n_home;
	uint64_t plain_known;   /* detached jobs of which it knows that they have ended */
	_Atomic uint32_t fresh; /* slots used so far; the rest was never touched */
	_Atomic uint64_t refused_full, refused_late;
	_Atomic int32_t thread;        /* the owner's, as the kernel counts; 0: none */
	_Atomic uintptr_t owner;       /* names the thread, for the short way of returning slots */
	struct psgi_lane *thread_next; /* of the owner's lanes */
	uint64_t bytes; /* of inputs of all jobs so far; counted where they are bounded */
	psgi_recent clock;

	/* written by both when the lane wakes or falls asleep: true while the worker polls the ring
	 */
	alignas(PSGI_CACHE_LINE) atomic_bool noticed;
	/* written by the worker: jobs come in bursts, and their fence is a light one.  The worker
	 * makes up for it by a heavy one when it stops to poll. */
	atomic_bool unfenced;
	/* written by the producer when it waits for room: with so many detached jobs ended it is
	 * woken */
	_Atomic uint64_t plain_wanted;

	/* the worker's */
	alignas(PSGI_CACHE_LINE) bool polled;
	bool bursts; /* `unfenced` is a copy of it */
	uint32_t idle_looks;
	uint32_t got;                 /* entries out of the ring so far */
	_Atomic uint64_t served;      /* jobs in slots that the worker ended */
	_Atomic uint64_t plain_ended; /* detached ones */
	uint32_t plain_next;          /* the place in `plain` of the next one */
	struct psgi_lane *polled_next;
	struct {
		uint32_t first, last; /* numbers; while `n` is not 0 */
		uint32_t n;
		/* While the queue is sifted: how many have not been shown, how many were and stay,
		 * and the last one of these. */
		uint32_t unseen, stay, before;
		struct psgi_lane *next_turn;
	} waiting[PSGI_RANKS];

	/* anybody's */
	alignas(PSGI_CACHE_LINE) psgi_job *_Atomic returned;
	_Atomic uint32_t flags;
	_Atomic uint32_t holders;
	_Atomic uint64_t bytes_dropped;          /* of `bytes`: jobs have let go of them */
	_Atomic uint64_t ended;                  /* away from the worker */
	_Atomic uint64_t outcome[PSGI_OUTCOMES]; /* of those */

	alignas(PSGI_CACHE_LINE) ck_ring_t ring; /* from the producer to the worker */
} psgi_lane;

static inline psgi_extra *psgi_extra_of(const psgi_job *job)
{
	return &job->lane->extras[job->number];
}

/* Attached to no thread; held by the worker and by its producer's side.  NULL without memory. */
struct psgi_lanes;
psgi_lane *psgi_lane_create(const struct psgi_lanes *lanes, uint32_t index);

/* --- the producer --- */

/* Looks for jobs that have ended: `room` is right afterwards. */
void psgi_lane_look(psgi_lane *lane);

/* May one more job be added? */
static inline bool psgi_lane_has_room(psgi_lane *lane)
{
	if (lane->room == 0)
		psgi_lane_look(lane);
	return lane->room > 0;
}

/* A slot to fill; NULL: there is no room. */
psgi_job *psgi_lane_take(psgi_lane *lane);

/* Bytes that the lane's jobs read now. */
static inline uint64_t psgi_lane_bytes(const psgi_lane *lane)
{
	return lane->bytes - atomic_load_explicit(&lane->bytes_dropped, memory_order_relaxed);
}

/*
 * How many bytes must have been dropped in all until a job of `bytes` fits into the `limit`; 0: it
 * does.  One that is larger fits when it is alone.
 */
static inline uint64_t psgi_lane_goal(const psgi_lane *lane, uint64_t bytes, uint64_t limit)
{
	uint64_t now = psgi_lane_bytes(lane);

	if (now == 0 || (bytes <= limit && now <= limit - bytes))
		return 0;
	return bytes <= limit ? lane->bytes - (limit - bytes) : lane->bytes;
}

/*
 * Waits until a job makes room or, where `goal` is not 0, until so many bytes have been dropped,
 * or until psgi_lane_wake; false when `deadline_ns` passed first.
 * Returns soon when `refusing` is set, and may for no reason: look again.
 */
bool psgi_lane_wait(psgi_lane *lane, const atomic_bool *refusing, uint64_t goal,
		    int64_t deadline_ns);

/* Gives back a slot that was taken and not submitted. */
void psgi_lane_untake(psgi_lane *lane, psgi_job *job);

/* There is always a place: not so many jobs are about. */
static inline void psgi_lane_put(psgi_lane *lane, psgi_entry entry)
{
	psgi_tsan_release(&lane->ring);
	(void)ck_ring_enqueue_spsc_psgi_entry(&lane->ring, lane->ring_buffer, &entry);
}

/* Takes the producer's side of an unowned lane that has all its slots at home. */
bool psgi_lane_adopt(psgi_lane *lane);

/* Gives up the producer's side: the thread ends.  The lane may be gone afterwards. */
void psgi_lane_leave(psgi_lane *lane);

/* --- the worker --- */

/* Entries that have not been got. */
static inline uint32_t psgi_lane_waiting(const psgi_lane *lane)
{
	return ck_ring_size(&lane->ring);
}

/* The next one, of those that wait. */
static inline psgi_entry psgi_lane_get(psgi_lane *lane)
{
	psgi_entry entry = { NULL, { NULL } };

	(void)ck_ring_dequeue_spsc_psgi_entry(&lane->ring, lane->ring_buffer, &entry);
	psgi_tsan_acquire(&lane->ring);
	lane->got++;
	return entry;
}

/* A detached job has ended. */
void psgi_lane_end_plain(psgi_lane *lane);

/* The worker is closed and its thread gone.  The lane may be gone afterwards. */
void psgi_lane_close(psgi_lane *lane);

/* --- anybody --- */

/*
 * Wakes the producer if it waits for a slot.  What it is to notice was stored before, and a full
 * fence lies between.  The lane is the worker's, which is not closed yet.
 */
void psgi_lane_wake(psgi_lane *lane);

/* A job lets go of what it read; it holds the lane. */
void psgi_lane_drop_bytes(psgi_lane *lane, uint64_t bytes);

/* Returns a slot whose last reference is gone. */
void psgi_lane_return(psgi_lane *lane, psgi_job *job);

#endif
