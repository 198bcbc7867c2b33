/* SPDX-License-Identifier: Apache-2.0 */
/* The life of a lane and of its slots. */
#include "config.h"

#include "jobs/lane.h"

#include "base/base.h"
#include "jobs/futex.h"
#include "jobs/patience.h"
#include "jobs/thread.h"

#include <ck_pr.h>
#include <stdlib.h>

/* In `returned`: the lane is sealed, slots that come home now only give up their part of it. */
static psgi_job sealed;

/*
 * In `returned`: there is nothing, and the producer sleeps until that changes.
 * At an odd address, so that the half of it that a futex compares is no slot's.
 */
static alignas(psgi_job) char odd[2];
#define PARKED ((psgi_job *)(void *)(odd + 1))

/* The half of `returned` that a futex can compare: the low one. */
static const void *futex_of(const psgi_lane *lane)
{
	const char *word = (const char *)&lane->returned;

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
	word += sizeof(lane->returned) - sizeof(uint32_t);
#endif
	return word;
}

static uint32_t ring_size(uint32_t capacity)
{
	uint32_t size = 4; /* the least that CK documents */

	while (size <= capacity) /* a ring of n holds n - 1 */
		size *= 2;
	return size;
}

psgi_lane *psgi_lane_create(const psgi_lanes *lanes, uint32_t index)
{
	uint32_t capacity = lanes->capacity, size = ring_size(capacity);
	psgi_lane *lane = aligned_alloc(PSGI_CACHE_LINE, sizeof(*lane));
	/* None of these is cleared, so that slots which are never used are never touched. */
	psgi_job *slots = aligned_alloc(alignof(psgi_job), capacity * sizeof(*slots));
	psgi_extra *extras = malloc(capacity * sizeof(*extras));
	psgi_entry *entries = aligned_alloc(PSGI_CACHE_LINE, size * sizeof(*entries));
	psgi_plain *plain = malloc(size * sizeof(*plain));
	uint32_t *numbers = malloc((2 * (size_t)capacity + size) * sizeof(*numbers));

	if (lane == NULL || entries == NULL || plain == NULL || numbers == NULL || slots == NULL ||
	    extras == NULL) {
		free(lane);
		free(entries);
		free(plain);
		free(numbers);
		free(slots);
		free(extras);
		return NULL;
	}
	*lane = (psgi_lane){ .serial = lanes->serial,
			     .generation = lanes->generation,
			     .capacity = capacity,
			     .index = index,
			     .mask = size - 1,
			     .slots = slots,
			     .extras = extras,
			     .ring_buffer = entries,
			     .home = numbers,
			     .behind = numbers + capacity,
			     .plain = plain,
			     .room = capacity,
			     .member = lanes->member,
			     .fleet = lanes->fleet };
	ck_ring_init(&lane->ring, size);
	psgi_recent_init(&lane->clock);
	atomic_store_explicit(&lane->holders, 2, memory_order_relaxed);
	return lane;
}

static void drop(psgi_lane *lane, uint32_t holders)
{
	/* As every last reference: release own use, acquire that of others. */
	if (atomic_fetch_sub_explicit(&lane->holders, holders, memory_order_acq_rel) != holders)
		return;
	free(lane->slots);
	free(lane->extras);
	free(lane->ring_buffer);
	free(lane->plain);
	free(lane->home);
	free(lane);
}

/* --- slots --- */

/* The first use of a slot.  Release: walkers of all slots read only what is below `fresh`. */
static psgi_job *break_in(psgi_lane *lane, uint32_t fresh)
{
	psgi_job *job = &lane->slots[fresh];

	job->future = (psg_future){ .class = &psgi_job_class, .generation = lane->generation };
	atomic_store_explicit(&job->future.deadline_ns, PSGI_NEVER, memory_order_relaxed);
	atomic_store_explicit(&job->future.word, PSGI_DONE, memory_order_relaxed);
	job->lane = lane;
	job->number = fresh;
	job->has_options = false;
	atomic_store_explicit(&lane->fresh, fresh + 1, memory_order_release);
	return job;
}

void psgi_lane_untake(psgi_lane *lane, psgi_job *job)
{
	lane->home[lane->n_home++] = job->number;
	lane->room++;
}

/* Takes all that others have returned.  Acquire: what they did with the slots is over. */
static void gather(psgi_lane *lane)
{
	psgi_job *job = NULL;

	if (atomic_load_explicit(&lane->returned, memory_order_relaxed) != NULL)
		job = atomic_exchange_explicit(&lane->returned, NULL, memory_order_acquire);
	while (job != NULL) {
		psgi_job *next = job->next; /* the lane may use it again at once */

		psgi_lane_untake(lane, job);
		job = next;
	}
}

/* Acquire: the worker has read the ring's places of those jobs. */
void psgi_lane_look(psgi_lane *lane)
{
	uint64_t ended = atomic_load_explicit(&lane->plain_ended, memory_order_acquire);

	lane->room += (uint32_t)(ended - lane->plain_known);
	lane->plain_known = ended;
	gather(lane);
}

/* Where there is room not all slots are out. */
psgi_job *psgi_lane_take(psgi_lane *lane)
{
	uint32_t fresh;

	if (!psgi_lane_has_room(lane))
		return NULL;
	if (lane->n_home == 0)
		gather(lane);
	lane->room--;
	if (lane->n_home > 0)
		return &lane->slots[lane->home[--lane->n_home]];
	fresh = atomic_load_explicit(&lane->fresh, memory_order_relaxed);
	return break_in(lane, fresh);
}

/*
 * The owner keeps it for itself.  Others push it on a stack that only the
 * owner takes, whole: no pop of single entries, so no ABA.  It is written
 * out rather than CK's because sealing and waking must be decided by the same
 * swap, and because ThreadSanitizer can follow C11 atomics.
 */
void psgi_lane_return(psgi_lane *lane, psgi_job *job)
{
	const void *futex = futex_of(lane);
	psgi_job *head;

	if (atomic_load_explicit(&lane->owner, memory_order_relaxed) == psgi_thread_name()) {
		psgi_lane_untake(lane, job);
		return;
	}
	/* Acquire: who sees the seal sees the holders that were added before it. */
	head = atomic_load_explicit(&lane->returned, memory_order_acquire);
	do {
		if (head == &sealed) {
			drop(lane, 1);
			return;
		}
		job->next = head != PARKED ? head : NULL;
		/* Release: our use of the slot is over before the owner fills it again. */
	} while (!atomic_compare_exchange_weak_explicit(
		&lane->returned, &head, job, memory_order_release, memory_order_acquire));
	/* The lane may be gone already: only its address is used. */
	if (head == PARKED)
		psgi_futex_wake(futex);
}

/* What is waited for. */
struct want {
	const atomic_bool *refusing;
	uint64_t dropped; /* bytes in all; 0: it is room */
	uint64_t ended;   /* detached jobs in all; who returns a slot tells by himself */
};

static bool has_come(const psgi_lane *lane, const struct want *want)
{
	if (atomic_load_explicit(want->refusing, memory_order_relaxed))
		return true;
	if (want->dropped != 0)
		return atomic_load_explicit(&lane->bytes_dropped, memory_order_relaxed) >=
		       want->dropped;
	return atomic_load_explicit(&lane->plain_ended, memory_order_relaxed) >= want->ended;
}

/*
 * PARKED stands, then what is waited for is looked at; who refuses, ends a detached job or drops
 * bytes stores that, then looks for PARKED or `plain_wanted`, with a fence on both sides: one of
 * the two sees the other.  The worker's, one a job, is a light one, and a heavy one makes up for it
 * here, but where the wait is so short that a wake-up may be missed for once: a heavy fence takes
 * as long as a lane of short jobs.  PARKED is taken back in the end, so that only who waits meets
 * it.
 */
static bool park(psgi_lane *lane, const struct want *want, int64_t deadline_ns, bool heavy)
{
	const struct timespec deadline = psgi_timespec(deadline_ns < 1 ? 1 : deadline_ns);
	psgi_job *head = NULL;
	bool in_time = true;

	if (!atomic_compare_exchange_strong_explicit(&lane->returned, &head, PARKED,
						     memory_order_relaxed, memory_order_relaxed))
		return true;
	atomic_store_explicit(&lane->plain_wanted, want->ended, memory_order_relaxed);
	if (heavy)
		psgi_heavy_fence();
	else
		psgi_full_fence();
	if (!has_come(lane, want))
		in_time = psgi_futex_wait(futex_of(lane), (uint32_t)(uintptr_t)PARKED, &deadline);
	head = PARKED;
	(void)atomic_compare_exchange_strong_explicit(&lane->returned, &head, NULL,
						      memory_order_relaxed, memory_order_relaxed);
	return in_time;
}

/* Between two looks: so that the worker, which must write what is looked at, has some jobs' time,
 * about a microsecond. */
#define STALLS 32

static bool sees(const psgi_lane *lane, const struct want *want, int64_t until_ns)
{
	do {
		for (int i = 0; i < STALLS; i++)
			ck_pr_stall();
		if (has_come(lane, want) ||
		    atomic_load_explicit(&lane->returned, memory_order_relaxed) != NULL)
			return true;
	} while (psg_now_ns() < until_ns);
	return false;
}

static _Thread_local psgi_patience patience;

static bool comes_soon(const psgi_lane *lane, const struct want *want, int64_t deadline_ns)
{
	int64_t until;
	bool comes;

	if (!psgi_patience_lasts(&patience))
		return false;
	until = psg_now_ns() + PSGI_PATIENCE_NS;
	comes = sees(lane, want, until < deadline_ns ? until : deadline_ns);
	psgi_patience_note(&patience, !comes);
	return comes;
}

/* Detached jobs that have not ended, as far as is known. */
static uint32_t plain_left(const psgi_lane *lane)
{
	return lane->capacity - lane->room -
	       (atomic_load_explicit(&lane->fresh, memory_order_relaxed) - lane->n_home);
}

/*
 * Being woken takes as long as many short jobs, and where cores are scarce who is woken goes before
 * the worker: so not the first job that ends wakes, but the one with which three quarters of the
 * lane are free, while there is still one to run.  Who looks on takes half of that.  As any of the
 * jobs may be a long one, that is waited for only so long; chosen: far longer than short jobs take,
 * and still short beside the others.
 */
#define MUCH_NS PSG_MILLISECOND

bool psgi_lane_wait(psgi_lane *lane, const atomic_bool *refusing, uint64_t goal,
		    int64_t deadline_ns)
{
	uint32_t left = plain_left(lane), much = lane->capacity / 4 * 3;
	uint32_t worth = much < left ? much : left;
	struct want want = { refusing, goal, lane->plain_known + 1 };
	int64_t until;

	if (goal != 0)
		gather(lane); /* it looks on, or PARKED stands, only where no slots lie */
	if (goal == 0 && worth > 1) {
		want.ended = lane->plain_known + worth / 2;
		if (comes_soon(lane, &want, deadline_ns))
			return true;
		want.ended = lane->plain_known + worth;
		until = psg_now_ns() + MUCH_NS;
		if (until < deadline_ns && park(lane, &want, until, false))
			return true;
		want.ended = lane->plain_known + 1;
		if (has_come(lane, &want))
			return true;
	} else if (comes_soon(lane, &want, deadline_ns)) {
		return true;
	}
	return park(lane, &want, deadline_ns, true);
}

void psgi_lane_wake(psgi_lane *lane)
{
	psgi_job *head = PARKED;

	if (atomic_compare_exchange_strong_explicit(&lane->returned, &head, NULL,
						    memory_order_relaxed, memory_order_relaxed))
		psgi_futex_wake(futex_of(lane));
}

/*
 * Release: the place in the ring was read, and who sees the job ended sees what it did.  The light
 * fence: see park.
 */
void psgi_lane_end_plain(psgi_lane *lane)
{
	uint64_t ended = atomic_load_explicit(&lane->plain_ended, memory_order_relaxed) + 1;

	atomic_store_explicit(&lane->plain_ended, ended, memory_order_release);
	psgi_light_fence();
	if (ended == atomic_load_explicit(&lane->plain_wanted, memory_order_relaxed))
		psgi_lane_wake(lane);
}

/* Relaxed: it only counts.  Full fence: see park. */
void psgi_lane_drop_bytes(psgi_lane *lane, uint64_t bytes)
{
	if (bytes == 0)
		return;
	atomic_fetch_add_explicit(&lane->bytes_dropped, bytes, memory_order_relaxed);
	psgi_full_fence();
	if (atomic_load_explicit(&lane->returned, memory_order_relaxed) == PARKED)
		psgi_lane_wake(lane);
}

static uint32_t length(const psgi_job *job)
{
	uint32_t n = 0;

	for (; job != NULL; job = job->next)
		n++;
	return n;
}

/* --- the producer's side --- */

bool psgi_lane_adopt(psgi_lane *lane)
{
	uint32_t none = 0;

	if (atomic_load_explicit(&lane->flags, memory_order_relaxed) != 0 ||
	    !atomic_compare_exchange_strong_explicit(&lane->flags, &none, PSGI_LANE_ATTACHED,
						     memory_order_acquire, memory_order_relaxed))
		return false;
	psgi_lane_look(lane);
	if (lane->room == lane->capacity)
		return true;
	/* Jobs of its former owner are still about.  Nobody closes it now: the table is locked. */
	atomic_store_explicit(&lane->flags, 0, memory_order_release);
	return false;
}

/*
 * The end of the producer's side of a closed lane.  Slots at home are counted,
 * each slot that is out becomes a holder, and what comes home later finds the
 * seal.  The caller owns the producer's side, so nothing is taken meanwhile.
 */
static void seal(psgi_lane *lane)
{
	uint32_t fresh = atomic_load_explicit(&lane->fresh, memory_order_relaxed);
	uint32_t home;

	/* Before the seal is seen, so that nobody counts down to zero too early. */
	atomic_fetch_add_explicit(&lane->holders, fresh, memory_order_relaxed);
	home = length(atomic_exchange_explicit(&lane->returned, &sealed, memory_order_acq_rel)) +
	       lane->n_home;
	drop(lane, home + 1);
}

/* Acquire and release: of leaving and closing the second one seals, and must see all that the first
 * did. */
void psgi_lane_leave(psgi_lane *lane)
{
	atomic_store_explicit(&lane->owner, 0, memory_order_relaxed);
	atomic_store_explicit(&lane->thread, 0, memory_order_relaxed);
	if ((atomic_fetch_and_explicit(&lane->flags, ~PSGI_LANE_ATTACHED, memory_order_acq_rel) &
	     PSGI_LANE_CLOSED) != 0)
		seal(lane);
}

void psgi_lane_close(psgi_lane *lane)
{
	if ((atomic_fetch_or_explicit(&lane->flags, PSGI_LANE_CLOSED, memory_order_acq_rel) &
	     PSGI_LANE_ATTACHED) == 0)
		seal(lane);
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): sealing left the opener's hold */
	drop(lane, 1);
}
