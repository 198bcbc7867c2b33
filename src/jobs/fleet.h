/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fleet as the files of this room see it: members, each with a device and its worker.
 *
 * A job of a fleet lies in a slot of the lane through which it was submitted,
 * of its origin, and stays there when another member runs it: so its future
 * stays what it is, and a move needs no memory.  A member's lanes know it, so
 * that whoever ends a job, on whatever thread, can count it; while one of its
 * jobs has not ended, no member of the fleet goes.
 */
#ifndef PSG_JOBS_FLEET_H
#define PSG_JOBS_FLEET_H

#include <pagesift/fleet.h>

#include "jobs/worker.h"

/* How long jobs of one kind take on one device: written by its executor, read by all. */
typedef struct psgi_mean {
	_Atomic uint64_t kind;
	_Atomic int64_t ns;
	_Atomic uint32_t runs; /* that went into it */
} psgi_mean;

/* Kinds that a device remembers, by hash: of two that meet the later one stays.  Chosen: 6 KB. */
#define PSGI_MEANS 256

typedef struct psgi_member {
	/* constant once the fleet is open */
	alignas(PSGI_CACHE_LINE) struct psg_fleet *fleet;
	psg_worker *worker; /* NULL: its device could not be opened, `problem` says why */
	uint32_t index;
	char name[96];
	psg_error problem;

	/* By whoever brings or ends a job. */
	alignas(PSGI_CACHE_LINE) _Atomic int64_t
		backlog_ns; /* what its jobs are expected to take */
	_Atomic uint64_t entered, ended;
	_Atomic uint64_t moved_in, moved_out; /* of these: by a loss or a stall */

	/* The executor's thread's. */
	alignas(PSGI_CACHE_LINE) _Atomic int64_t
		started_ns; /* of the job that runs; 0: none does */
	_Atomic int64_t started_cost_ns;
	psgi_mean means[PSGI_MEANS];
} psgi_member;

struct psg_fleet {
	uint32_t number;     /* from 1 */
	uint32_t generation; /* of the process */
	bool cpu_fallback;
	_Atomic uint32_t holders; /* its user, and workers that it had to leave */
	psgi_event news;          /* a member that refuses jobs has come to rest */
	_Atomic uint64_t refused_full, refused_late;
	size_t n;
	alignas(PSGI_CACHE_LINE) psgi_member members[];
};

static inline bool psgi_member_well(const psgi_member *member)
{
	return member->worker != NULL &&
	       !atomic_load_explicit(&member->worker->executor->is_lost, memory_order_relaxed) &&
	       !atomic_load_explicit(&member->worker->stalled, memory_order_relaxed);
}

/* Drops a holder. */
void psgi_fleet_drop(psg_fleet *fleet);

/* --- what jobs take (route.c) --- */

/* Jobs of one kind take about the same time on one device.  `what` tells models, operators or
 * functions from each other. */
uint64_t psgi_route_kind(psgi_job_kind kind, uint64_t what, psg_tensor *const *in, size_t n_in);

static inline uint64_t psgi_route_kind_of_fn(psg_job_fn fn)
{
	return psgi_route_kind(PSGI_JOB_FUNCTION, (uint64_t)(uintptr_t)fn, NULL, 0);
}

/* A job of this kind ran so long.  Only on the executor's thread. */
void psgi_route_note(psgi_member *member, uint64_t kind, int64_t ns);

/* When the member is expected to have done all that it has, from `now_ns` on. */
int64_t psgi_route_backlog(const psgi_member *member, int64_t now_ns);

/*
 * The member that is expected to be the first to have done one more job of this kind, in
 * `*expected_ns`; of those whose bit of `tried` is not set, and of the lost ones only if all
 * are; NULL: there is none.
 */
psgi_member *psgi_route_choose(psg_fleet *fleet, uint64_t kind, uint64_t tried,
			       int64_t *expected_ns);

/* A job comes to the member: before anybody else can end it. */
void psgi_fleet_enter(psgi_member *member, psgi_job *job);

/* It ends, or goes elsewhere: once for each time it came, before its end is counted. */
void psgi_fleet_leave(const psgi_job *job);

/* It runs, from now on if it was started before, and has had the device for so long: on the
 * executor's thread. */
void psgi_fleet_started(const psg_worker *worker, const psgi_job *job, int64_t now_ns);
void psgi_fleet_ran(const psg_worker *worker, const psgi_job *job, psg_status status, int64_t ns);

/* --- going on to another (move.c) --- */

/* Is there another one that is well, where the member's job may go? */
bool psgi_fleet_has_other(const psgi_member *member, const psgi_job *job);

/*
 * Sends a job that was claimed for `worker` on, with a hold.  False: it is still the caller's,
 * asked to stop meanwhile.
 */
bool psgi_fleet_move(psg_worker *worker, psgi_job *job);

/* Puts the jobs that were sent to the worker into its queue: its executor, or the closer after it.
 */
void psgi_fleet_take(psg_worker *worker);

/* Of a job that ended well on `worker`: why it is not where it was submitted, if a CPU did it
 * instead of a GPU.  `error` is left alone otherwise. */
void psgi_fleet_tell_loss(const psg_worker *worker, const psgi_job *job, psg_error *error);

#endif
