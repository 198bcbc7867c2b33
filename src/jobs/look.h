/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finding a worker's new jobs: which of its lanes are looked at, and which mark themselves.
 * Only the thread that runs its jobs comes here, or the closer after it.
 */
#ifndef PSG_JOBS_LOOK_H
#define PSG_JOBS_LOOK_H

#include "jobs/worker.h"

/* Moves new jobs into the worker's queue, if one may be there that goes before the next of it, or
 * it is time. */
void psgi_look(psg_worker *worker, int64_t now_ns);

/* Does a look find something?  May be wrong for a lane that begins to work just now. */
bool psgi_look_finds(const psg_worker *worker);

/* All lanes are told to mark themselves again; false when one has work. */
bool psgi_look_rest(psg_worker *worker);

#endif
