/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The lanes of one worker, and which of them have work.
 *
 * The table grows by chunks that never move, so it is read without a lock.
 * A lane with work sets its bit in its chunk's word and the chunk's bit in one
 * summary word; the worker takes whole words.  A thousand idle lanes cost the
 * worker one load.
 */
#ifndef PSG_JOBS_LANES_H
#define PSG_JOBS_LANES_H

#include "jobs/lane.h"

#include <pthread.h>

#define PSGI_CHUNK_LANES 64 /* bits of a word */
#define PSGI_CHUNKS 1024    /* chosen: 65,536 threads */

struct psgi_chunk {
	alignas(PSGI_CACHE_LINE) _Atomic uint64_t active;
	psgi_lane *_Atomic lanes[PSGI_CHUNK_LANES];
};

typedef struct psgi_lanes {
	alignas(PSGI_CACHE_LINE) _Atomic uint64_t summary; /* bit i: chunks i, i + 64, ... */
	alignas(PSGI_CACHE_LINE) uint64_t serial;
	uint32_t generation, capacity;
	struct psgi_member *member; /* constant; NULL: the worker is of no fleet */
	uint32_t fleet;             /* its number; 0: there is none */
	pthread_mutex_t lock;       /* attaching */
	uint32_t next_adopted;      /* where to look for a given-back lane; under the lock */
	_Atomic uint32_t n;         /* lanes made; written under the lock */
	struct psgi_chunk *_Atomic chunks[PSGI_CHUNKS];
} psgi_lanes;

psg_status psgi_lanes_init(psgi_lanes *lanes, uint64_t serial, uint32_t generation,
			   uint32_t capacity, psg_error *error);

/* The worker's thread is gone; closes all lanes. */
void psgi_lanes_destroy(psgi_lanes *lanes);

/* A lane for the calling thread: one given back, or a new one.  Takes the lock.  NOMEM. */
psg_status psgi_lanes_attach(psgi_lanes *lanes, psgi_lane **out, psg_error *error);

/* The lane's thread has put work into it, which the worker has not noticed. */
void psgi_lanes_mark(psgi_lanes *lanes, const psgi_lane *lane);

static inline bool psgi_lanes_marked(const psgi_lanes *lanes)
{
	return atomic_load_explicit(&lanes->summary, memory_order_relaxed) != 0;
}

/* Takes all marks; calls `found` for each lane that had one.  The worker. */
void psgi_lanes_take_marked(psgi_lanes *lanes, void (*found)(void *user, psgi_lane *lane),
			    void *user);

/* Any thread; lanes that come meanwhile may be left out. */
void psgi_lanes_visit(const psgi_lanes *lanes, void (*visit)(void *user, psgi_lane *lane),
		      void *user);

/* Every slot that was ever used; the visitor finds out what it holds. */
void psgi_lanes_visit_jobs(const psgi_lanes *lanes, void (*visit)(void *user, psgi_job *job),
			   void *user);

#endif
