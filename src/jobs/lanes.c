/* SPDX-License-Identifier: Apache-2.0 */
/* The table of a worker's lanes. */
#include "config.h"

#include "jobs/lanes.h"

#include "base/base.h"

#include <stdlib.h>

psg_status psgi_lanes_init(psgi_lanes *lanes, uint64_t serial, uint32_t generation,
			   uint32_t capacity, psg_error *error)
{
	lanes->serial = serial;
	lanes->generation = generation;
	lanes->capacity = capacity;
	if (pthread_mutex_init(&lanes->lock, NULL) != 0)
		return psgi_fail(error, PSG_NOMEM, "no memory for a lock");
	return PSG_OK;
}

/* Acquire, here and below: what the attaching thread wrote to chunk and lane before it stored the
 * pointer. */
static struct psgi_chunk *chunk_at(const psgi_lanes *lanes, uint32_t index)
{
	return atomic_load_explicit(&lanes->chunks[index], memory_order_acquire);
}

static psgi_lane *lane_at(const psgi_lanes *lanes, uint32_t index)
{
	return atomic_load_explicit(
		&chunk_at(lanes, index / PSGI_CHUNK_LANES)->lanes[index % PSGI_CHUNK_LANES],
		memory_order_acquire);
}

void psgi_lanes_destroy(psgi_lanes *lanes)
{
	uint32_t n = atomic_load_explicit(&lanes->n, memory_order_relaxed);

	for (uint32_t i = 0; i < n; i++)
		psgi_lane_close(lane_at(lanes, i));
	for (uint32_t i = 0; i < PSGI_CHUNKS && chunk_at(lanes, i) != NULL; i++)
		free(chunk_at(lanes, i));
	(void)pthread_mutex_destroy(&lanes->lock);
}

/* Round the table from where the last one was found: the oldest are the likeliest to be empty. */
static psgi_lane *adopt(psgi_lanes *lanes, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		uint32_t index = (lanes->next_adopted + i) % n;
		psgi_lane *lane = lane_at(lanes, index);

		if (psgi_lane_adopt(lane)) {
			lanes->next_adopted = index + 1;
			return lane;
		}
	}
	return NULL;
}

static struct psgi_chunk *chunk_for(psgi_lanes *lanes, uint32_t n)
{
	struct psgi_chunk *chunk = chunk_at(lanes, n / PSGI_CHUNK_LANES);

	if (chunk != NULL)
		return chunk;
	chunk = aligned_alloc(PSGI_CACHE_LINE, sizeof(*chunk));
	if (chunk == NULL)
		return NULL;
	*chunk = (struct psgi_chunk){ 0 };
	atomic_store_explicit(&lanes->chunks[n / PSGI_CHUNK_LANES], chunk, memory_order_release);
	return chunk;
}

static psgi_lane *add(psgi_lanes *lanes, uint32_t n)
{
	struct psgi_chunk *chunk;
	psgi_lane *lane;

	if (n == PSGI_CHUNKS * PSGI_CHUNK_LANES)
		return NULL;
	chunk = chunk_for(lanes, n);
	if (chunk == NULL)
		return NULL;
	lane = psgi_lane_create(lanes, n);
	if (lane == NULL)
		return NULL;
	atomic_store_explicit(&lane->flags, PSGI_LANE_ATTACHED, memory_order_relaxed);
	atomic_store_explicit(&chunk->lanes[n % PSGI_CHUNK_LANES], lane, memory_order_release);
	atomic_store_explicit(&lanes->n, n + 1, memory_order_release);
	return lane;
}

psg_status psgi_lanes_attach(psgi_lanes *lanes, psgi_lane **out, psg_error *error)
{
	uint32_t n;

	(void)pthread_mutex_lock(&lanes->lock);
	n = atomic_load_explicit(&lanes->n, memory_order_relaxed);
	*out = adopt(lanes, n);
	if (*out == NULL)
		*out = add(lanes, n);
	(void)pthread_mutex_unlock(&lanes->lock);
	if (*out != NULL)
		return PSG_OK;
	return psgi_fail(error, PSG_NOMEM,
			 "no memory for this thread's lane of %u jobs; %u threads have one",
			 (unsigned)lanes->capacity, (unsigned)n);
}

/*
 * Release: the lane's ring has its entry.  Both steps are needed even when the
 * chunk had work already: its earlier marker may have been stopped between the
 * two, and must not hold up this thread.  Sequentially consistent, as the
 * taker: of "sets its lane's bit, sees the summary set" and "clears the summary,
 * sees the lane's bit clear" at most one can happen.
 */
void psgi_lanes_mark(psgi_lanes *lanes, const psgi_lane *lane)
{
	uint32_t chunk = lane->index / PSGI_CHUNK_LANES;
	uint64_t bit = UINT64_C(1) << chunk % 64;

	atomic_fetch_or(&chunk_at(lanes, chunk)->active, UINT64_C(1)
								 << lane->index % PSGI_CHUNK_LANES);
	if ((atomic_load(&lanes->summary) & bit) == 0)
		atomic_fetch_or(&lanes->summary, bit);
}

void psgi_lanes_take_marked(psgi_lanes *lanes, void (*found)(void *user, psgi_lane *lane),
			    void *user)
{
	uint64_t summary = atomic_exchange(&lanes->summary, 0);

	for (; summary != 0; summary &= summary - 1) {
		uint32_t first = (uint32_t)__builtin_ctzll(summary);

		for (uint32_t i = first; i < PSGI_CHUNKS; i += 64) {
			struct psgi_chunk *chunk = chunk_at(lanes, i);
			uint64_t active;

			if (chunk == NULL)
				break;
			active = atomic_exchange(&chunk->active, 0);
			for (; active != 0; active &= active - 1)
				found(user,
				      lane_at(lanes, i * PSGI_CHUNK_LANES +
							     (uint32_t)__builtin_ctzll(active)));
		}
	}
}

void psgi_lanes_visit(const psgi_lanes *lanes, void (*visit)(void *user, psgi_lane *lane),
		      void *user)
{
	uint32_t n = atomic_load_explicit(&lanes->n, memory_order_acquire);

	for (uint32_t i = 0; i < n; i++)
		visit(user, lane_at(lanes, i));
}

struct job_visit {
	void (*visit)(void *user, psgi_job *job);
	void *user;
};

static void visit_slots(void *user, psgi_lane *lane)
{
	const struct job_visit *visit = user;
	uint32_t fresh = atomic_load_explicit(&lane->fresh, memory_order_acquire);

	for (uint32_t i = 0; i < fresh; i++)
		visit->visit(visit->user, &lane->slots[i]);
}

void psgi_lanes_visit_jobs(const psgi_lanes *lanes, void (*visit)(void *user, psgi_job *job),
			   void *user)
{
	struct job_visit slots = { visit, user };

	psgi_lanes_visit(lanes, visit_slots, &slots);
}
