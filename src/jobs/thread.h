/* SPDX-License-Identifier: Apache-2.0 */
/* The lanes that the calling thread owns, found without a lock and given back when it ends. */
#ifndef PSG_JOBS_THREAD_H
#define PSG_JOBS_THREAD_H

#include "jobs/lanes.h"

struct psgi_thread {
	psgi_lane *last; /* that was asked for */
	psgi_lane *all;
};

extern _Thread_local struct psgi_thread psgi_thread_self;

/* Names the calling thread among those that live; cheaper than an address of thread-local memory.
 */
static inline uintptr_t psgi_thread_name(void)
{
	return (uintptr_t)pthread_self();
}

psgi_lane *psgi_thread_find(uint64_t serial);

/* The thread's lane to worker `serial`; NULL: it has none yet. */
static inline psgi_lane *psgi_thread_lane(uint64_t serial)
{
	psgi_lane *last = psgi_thread_self.last;

	return last != NULL && last->serial == serial ? last : psgi_thread_find(serial);
}

/* Takes a lane of the table for the calling thread.  NOMEM. */
psg_status psgi_thread_attach(psgi_lanes *lanes, psgi_lane **out, psg_error *error);

/* Gives back the calling thread's lane to worker `serial`, if it has one. */
void psgi_thread_detach(uint64_t serial);

#endif
