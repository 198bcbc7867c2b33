/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting for any and for all of several futures. */
#include "config.h"

#include "jobs/wait.h"

#include "base/base.h"
#include "jobs/futex.h"
#include "jobs/lane.h"

/* As many as the word has bits for: more threads than that share. */
#define PLACES (PSGI_PLACE_END - PSGI_PLACE_BEGIN)

struct place {
	alignas(PSGI_CACHE_LINE) _Atomic uint32_t value; /* grows: what waiters sleep on */
	_Atomic uint32_t sleepers;
};

/* Of the process: a future is told of places by number, and must find them however it ends. */
static struct place places[PLACES];
static _Atomic uint32_t next_place;

static uint64_t mark_of(uint32_t place)
{
	return UINT64_C(1) << (PSGI_PLACE_BEGIN + place);
}

/* A thread keeps its place: its next wait for the same futures finds them marked. */
static uint32_t my_place(void)
{
	static _Thread_local uint32_t mine; /* from 1; 0: none yet */

	if (mine == 0)
		mine = 1 + atomic_fetch_add_explicit(&next_place, 1, memory_order_relaxed) % PLACES;
	return mine - 1;
}

/*
 * The kernel wakes whose bits meet: of those who share a place mostly the one
 * whose future it is.  The top five bits of a golden-ratio hash: addresses lie
 * at equal distances.
 */
static uint32_t filter_of(const psg_future *future)
{
	uint64_t hash = (uint64_t)(uintptr_t)future * UINT64_C(0x9E3779B97F4A7C15);

	return UINT32_C(1) << (hash >> 59);
}

/*
 * Completing: counts, then looks for sleepers; waiting: counts itself as a
 * sleeper, then the kernel compares the value.  Both counts are sequentially
 * consistent, so that one of the two sees the other: the sleeper is woken, or
 * does not fall asleep.
 */
void psgi_places_wake(uint64_t word, const psg_future *future)
{
	uint64_t marks = (word & PSGI_PLACE_MARKS) >> PSGI_PLACE_BEGIN;

	for (; marks != 0; marks &= marks - 1) {
		struct place *place = &places[__builtin_ctzll(marks)];

		(void)atomic_fetch_add(&place->value, 1);
		if (atomic_load(&place->sleepers) != 0)
			psgi_futex_wake_some(&place->value, filter_of(future));
	}
}

/* False when the deadline passed. */
static bool sleep_at(struct place *place, uint32_t value, const struct timespec *deadline,
		     uint32_t filter)
{
	bool in_time;

	(void)atomic_fetch_add(&place->sleepers, 1);
	in_time = psgi_futex_wait_some(&place->value, value, deadline, filter);
	(void)atomic_fetch_sub_explicit(&place->sleepers, 1, memory_order_relaxed);
	return in_time;
}

/* Acquire: of one that has ended, the result. */
static bool mark(psg_future *future, uint64_t mark_bit)
{
	uint64_t word = atomic_load_explicit(&future->word, memory_order_acquire);

	if ((word & mark_bit) == 0 && !psgi_future_is(word, PSGI_DONE))
		word = atomic_fetch_or_explicit(&future->word, mark_bit, memory_order_acquire);
	return !psgi_future_is(word, PSGI_DONE);
}

/* The first that has ended, else `n`: then all are marked, and `filter` is theirs. */
static size_t mark_all(psg_future *const *futures, size_t n, uint64_t mark_bit, uint32_t *filter)
{
	*filter = 0;
	for (size_t i = 0; i < n; i++) {
		if (futures[i] == NULL)
			continue;
		if (!mark(futures[i], mark_bit))
			return i;
		*filter |= filter_of(futures[i]);
	}
	return n;
}

/*
 * The value is loaded before the futures are looked at.  Acquire: if it counts
 * a completion, that one is seen to be DONE; if not, the count to come ends the
 * sleep.  What timed out looks once more.
 */
static size_t sleep_until_one(psg_future *const *futures, size_t n, int64_t deadline_ns)
{
	const struct timespec deadline = psgi_timespec(deadline_ns < 1 ? 1 : deadline_ns);
	uint32_t number = my_place(), filter;
	struct place *place = &places[number];
	bool in_time = true;

	for (;;) {
		uint32_t value = atomic_load_explicit(&place->value, memory_order_acquire);
		size_t ended = mark_all(futures, n, mark_of(number), &filter);

		if (ended < n || !in_time)
			return ended;
		in_time = sleep_at(place, value, &deadline, filter);
	}
}

static size_t find_ended(psg_future *const *futures, size_t n)
{
	size_t i = 0;

	while (i < n && (futures[i] == NULL || !psgi_future_ended(futures[i])))
		i++;
	return i;
}

/* Why waiting for one of those that have not ended would have no end; OK: it has. */
static psg_status may_wait(psg_future *const *futures, size_t n, bool *some)
{
	*some = false;
	for (size_t i = 0; i < n; i++) {
		psg_status status = PSG_OK;

		if (futures[i] == NULL)
			continue;
		*some = true;
		if (!psgi_future_ended(futures[i]))
			status = psgi_future_may_wait(futures[i]);
		if (status != PSG_OK)
			return status;
	}
	return PSG_OK;
}

psg_status psg_future_wait_any(psg_future *const *futures, size_t n, int64_t deadline_ns,
			       size_t *which)
{
	psg_status status;
	bool some;

	*which = find_ended(futures, n);
	if (*which < n)
		return PSG_OK;
	status = may_wait(futures, n, &some);
	if (status != PSG_OK || !some)
		return status != PSG_OK ? status : PSG_INVALID;
	*which = sleep_until_one(futures, n, deadline_ns);
	return *which < n ? PSG_OK : PSG_TIMED_OUT;
}

/* One after the other: whichever ends last, the wait is over when all have been waited for. */
psg_status psg_future_wait_all(psg_future *const *futures, size_t n, int64_t deadline_ns)
{
	bool some;
	psg_status status = may_wait(futures, n, &some);

	for (size_t i = 0; status == PSG_OK && i < n; i++)
		if (futures[i] != NULL && !psgi_future_ended(futures[i]) &&
		    !psgi_future_await(futures[i], deadline_ns))
			status = PSG_TIMED_OUT;
	return status;
}
