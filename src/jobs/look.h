/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding a worker's new jobs: which of its lanes are looked at, and which mark themselves.
 * Only the thread that runs its jobs comes here, or the closer after it.
 */
#ifndef PSG_JOBS_LOOK_H
#define PSG_JOBS_LOOK_H

#include "jobs/worker.h"

/* Moves new jobs into the worker's queue. */
void psgi_look(psg_worker *worker, int64_t now_ns);

/* The lanes are looked at again after this much time, so that no lane waits long for its turn
 * (measured: a look costs 20 to 100 ns a lane). */
#define PSGI_LOOK_NS 20000

/* Could a job be there that goes before the next one of the queue, or is it time to look?  Asked
 * once for each job. */
static inline bool psgi_look_is_due(psg_worker *worker, int64_t now_ns)
{
	return psgi_queue_rank(&worker->queue) >= PSGI_BACKGROUND || /* or there is none */
	       atomic_load_explicit(&worker->urgent, memory_order_relaxed) ||
	       --worker->until_look == 0 || now_ns - worker->looked_ns > PSGI_LOOK_NS;
}

/* Does a look find something?  May be wrong for a lane that begins to work just now. */
bool psgi_look_finds(const psg_worker *worker);

/* All lanes are told to mark themselves again; false when one has work. */
bool psgi_look_rest(psg_worker *worker);

#endif
