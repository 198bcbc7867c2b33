/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a job of a fleet goes: least expected completion time.
 *
 * A member's backlog is what its jobs are expected to take, each by the mean
 * of its kind when it came.  Of a kind that has not run there yet, a member is
 * expected to be as fast as the fastest one, and goes first where they are
 * equal: so it is tried as soon as it has no more to do than the others.
 *
 * All numbers are guesses, so they are read and written relaxed, each by
 * itself: that one is a moment older than another chooses another device,
 * and harms nothing.
 */
#include "config.h"

#include "jobs/batcher.h"
#include "jobs/fleet.h"

#include "device/device.h"

/* Runs until a mean is believed: the first may compile and make plans, so the lesser of two is. */
#define EARLY_RUNS 2

/* Of a kind that has run nowhere: chosen; only the number of jobs counts then. */
#define UNKNOWN_NS PSG_MILLISECOND

/* --- kinds --- */

/* Powers of four: a mean is off by two at most then, and few kinds are to be tried. */
static uint64_t size_class(psg_tensor *const *in, size_t n_in)
{
	uint64_t elements = 1;

	for (size_t i = 0; i < n_in; i++)
		if (in[i] != NULL)
			elements += (uint64_t)psg_shape_elements(psg_tensor_shape(in[i]));
	return (uint64_t)(63 - __builtin_clzll(elements)) / 2;
}

/* The multipliers are those of Fibonacci hashing and of splitmix64. */
uint64_t psgi_route_kind(psgi_job_kind kind, uint64_t what, psg_tensor *const *in, size_t n_in)
{
	uint64_t hash = what * UINT64_C(0x9E3779B97F4A7C15);

	hash ^= (size_class(in, n_in) << 2 | (uint64_t)kind) * UINT64_C(0xBF58476D1CE4E5B9);
	return hash ^ hash >> 29;
}

static uint64_t kind_of(const psgi_job *job)
{
	const psgi_extra *extra = psgi_extra_of(job);

	switch ((psgi_job_kind)job->kind) {
	case PSGI_JOB_OP:
		return psgi_route_kind(PSGI_JOB_OP, extra->op.kind, extra->op.in, extra->op.n_in);
	case PSGI_JOB_MODEL:
		return psgi_route_kind(PSGI_JOB_MODEL, (uint64_t)(uintptr_t)extra->model.model,
				       extra->model.in, extra->model.n_in);
	case PSGI_JOB_SAMPLE:
		return psgi_route_kind(PSGI_JOB_MODEL,
				       (uint64_t)(uintptr_t)extra->sample.batcher->model,
				       &extra->sample.in, 1);
	case PSGI_JOB_FUNCTION:
	case PSGI_JOB_DETACHED:
		break;
	}
	return psgi_route_kind_of_fn(job->fn);
}

/* --- means --- */

static size_t place_of(uint64_t kind)
{
	return (size_t)(kind % PSGI_MEANS);
}

void psgi_route_note(psgi_member *member, uint64_t kind, int64_t ns)
{
	psgi_mean *mean = &member->means[place_of(kind)];
	uint32_t runs = atomic_load_explicit(&mean->runs, memory_order_relaxed);
	int64_t old = atomic_load_explicit(&mean->ns, memory_order_relaxed);

	if (atomic_load_explicit(&mean->kind, memory_order_relaxed) != kind)
		runs = 0;
	if (runs >= EARLY_RUNS)
		ns = old + (ns - old) / 8; /* as a worker's own mean */
	else if (runs > 0 && old < ns)
		ns = old;
	atomic_store_explicit(&mean->ns, ns > 0 ? ns : 1, memory_order_relaxed);
	atomic_store_explicit(&mean->kind, kind, memory_order_relaxed);
	atomic_store_explicit(&mean->runs, runs < EARLY_RUNS ? runs + 1 : runs,
			      memory_order_relaxed);
}

/* Runs of the kind, up to EARLY_RUNS; with so many `*ns` is how long one takes. */
static uint32_t known(const psgi_member *member, uint64_t kind, int64_t *ns)
{
	const psgi_mean *mean = &member->means[place_of(kind)];

	if (atomic_load_explicit(&mean->kind, memory_order_relaxed) != kind)
		return 0;
	*ns = atomic_load_explicit(&mean->ns, memory_order_relaxed);
	return atomic_load_explicit(&mean->runs, memory_order_relaxed);
}

/* What a member is expected to take that does not know the kind. */
static int64_t least_known(const psg_fleet *fleet, uint64_t kind)
{
	int64_t least = INT64_MAX;

	for (size_t i = 0; i < fleet->n; i++) {
		const psgi_member *member = &fleet->members[i];
		int64_t ns;

		if (psgi_member_well(member) && known(member, kind, &ns) == EARLY_RUNS &&
		    ns < least)
			least = ns;
	}
	return least != INT64_MAX ? least : UNKNOWN_NS;
}

/* --- choosing --- */

static int64_t add(int64_t a, int64_t b)
{
	return a < INT64_MAX - b ? a + b : INT64_MAX;
}

/*
 * Of the job that runs, what is left of it; where it takes longer than was expected, as much again
 * as it is late: so a device whose driver hangs, or which compiles for the first time, falls
 * behind.
 */
int64_t psgi_route_backlog(const psgi_member *member, int64_t now_ns)
{
	int64_t backlog = atomic_load_explicit(&member->backlog_ns, memory_order_relaxed);
	int64_t started = atomic_load_explicit(&member->started_ns, memory_order_relaxed);
	int64_t cost, elapsed;

	if (started != 0) {
		cost = atomic_load_explicit(&member->started_cost_ns, memory_order_relaxed);
		elapsed = now_ns > started ? now_ns - started : 0;
		backlog += elapsed <= cost ? -elapsed : elapsed - cost - cost;
	}
	return backlog > 0 ? backlog : 0;
}

static bool any_well(const psg_fleet *fleet)
{
	bool any = false;

	for (size_t i = 0; i < fleet->n && !any; i++)
		any = psgi_member_well(&fleet->members[i]);
	return any;
}

/* Where the next search begins: equals take turns. */
static _Thread_local uint32_t next_turn;

psgi_member *psgi_route_choose(psg_fleet *fleet, uint64_t kind, uint64_t tried,
			       int64_t *expected_ns)
{
	int64_t now = psg_now_ns(), least = least_known(fleet, kind);
	bool well = any_well(fleet);
	uint32_t best_runs = 0;
	psgi_member *best = NULL;

	for (size_t k = 0; k < fleet->n; k++) {
		psgi_member *member = &fleet->members[(next_turn + k) % fleet->n];
		int64_t cost = least, expected;
		uint32_t runs;

		if ((tried >> member->index & 1) != 0 || member->worker == NULL ||
		    (well && !psgi_member_well(member)))
			continue;
		runs = known(member, kind, &cost);
		expected = add(psgi_route_backlog(member, now), runs < EARLY_RUNS ? least : cost);
		if (best == NULL || expected < *expected_ns ||
		    (expected == *expected_ns && runs < best_runs)) {
			best = member;
			best_runs = runs;
			*expected_ns = expected;
		}
	}
	if (best != NULL)
		next_turn = best->index + 1;
	return best;
}

/* --- counting --- */

void psgi_fleet_enter(psgi_member *member, psgi_job *job)
{
	psgi_extra *extra = psgi_extra_of(job);
	int64_t cost;

	extra->route_kind = kind_of(job);
	if (known(member, extra->route_kind, &cost) < EARLY_RUNS)
		cost = least_known(member->fleet, extra->route_kind);
	extra->cost_ns = cost;
	atomic_store_explicit(&extra->member, member, memory_order_relaxed);
	atomic_fetch_add_explicit(&member->backlog_ns, cost, memory_order_relaxed);
	atomic_fetch_add_explicit(&member->entered, 1, memory_order_relaxed);
}

/* Release: who sees that it has left sees that it came. */
void psgi_fleet_leave(const psgi_job *job)
{
	const psgi_extra *extra = psgi_extra_of(job);
	psgi_member *member = atomic_load_explicit(&extra->member, memory_order_relaxed);

	atomic_fetch_sub_explicit(&member->backlog_ns, extra->cost_ns, memory_order_relaxed);
	atomic_fetch_add_explicit(&member->ended, 1, memory_order_release);
}

void psgi_fleet_started(const psg_worker *worker, const psgi_job *job, int64_t now_ns)
{
	psgi_member *member = worker->lanes.member;

	if (member == NULL)
		return;
	atomic_store_explicit(&member->started_cost_ns, psgi_extra_of(job)->cost_ns,
			      memory_order_relaxed);
	atomic_store_explicit(&member->started_ns, now_ns, memory_order_relaxed);
}

/* A failure says nothing of how long the work takes: who fails at once must not get all jobs. */
void psgi_fleet_ran(const psg_worker *worker, const psgi_job *job, psg_status status, int64_t ns)
{
	psgi_member *member = worker->lanes.member;

	if (member == NULL)
		return;
	atomic_store_explicit(&member->started_ns, 0, memory_order_relaxed);
	if (status == PSG_OK)
		psgi_route_note(member, psgi_extra_of(job)->route_kind, ns);
}
