/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fleet's jobs that go on to another device.
 *
 * The executor of a lost device goes on to serve its queue, and sends each job
 * to another member instead of running it: that one's stack takes it, whose
 * links are the jobs' own.  There it goes into the heap of its class, which
 * comes before the lanes: it is the oldest.  It is QUEUED meanwhile, so that
 * the keeper of its origin, a canceller or an abort ends it as any other.
 *
 * The executor of a stalled device can send nothing, so that the keeper does
 * (stall.c).  Then the job stays in its origin's queue, too, with a hold of its
 * own: the executor finds that it has moved, and drops that.
 */
#include "config.h"

#include "jobs/fleet.h"

#include "base/base.h"

/* Where it has been.  Its origin's queue may still have it: it never goes back there. */
static uint64_t tried(const psgi_member *member, const psgi_job *job)
{
	return UINT64_C(1) << member->index | UINT64_C(1) << job->lane->member->index;
}

bool psgi_fleet_has_other(const psgi_member *member, const psgi_job *job)
{
	const psg_fleet *fleet = member->fleet;
	uint64_t not_to = tried(member, job);

	for (size_t i = 0; i < fleet->n; i++)
		if ((not_to >> i & 1) == 0 && psgi_member_well(&fleet->members[i]))
			return true;
	return false;
}

/*
 * The best of the others; where these have just been lost, too, one of them all
 * the same: its executor finds that there is no other, and ends the job.
 */
static psgi_member *next_of(psgi_member *member, const psgi_job *job)
{
	int64_t expected;

	return psgi_route_choose(member->fleet, psgi_extra_of(job)->route_kind, tried(member, job),
				 &expected);
}

/* Its counts go with it: it is ours, and nobody else ends it now. */
static void count_move(psgi_member *from, psgi_member *to, psgi_job *job)
{
	psgi_fleet_leave(job);
	psgi_fleet_enter(to, job);
	atomic_fetch_add_explicit(&from->moved_out, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&to->moved_in, 1, memory_order_relaxed);
}

/*
 * RUNNING to QUEUED: from here on others may end it.  Release: what this thread did with it.
 * False: it was asked to stop.
 */
static bool unclaim(psg_future *future)
{
	uint64_t word = atomic_load_explicit(&future->word, memory_order_relaxed);

	do
		if ((word & PSGI_STOP) != 0)
			return false;
	while (!atomic_compare_exchange_weak_explicit(
		&future->word, &word, (word - (PSGI_RUNNING - PSGI_QUEUED)) | PSGI_MOVED,
		memory_order_release, memory_order_relaxed));
	return true;
}

/* Release, with the taker's acquire: the job, and its link. */
static void send(psg_worker *worker, psgi_job *job)
{
	psgi_job *head = atomic_load_explicit(&worker->moved, memory_order_relaxed);

	do
		psgi_extra_of(job)->next = head;
	while (!atomic_compare_exchange_weak_explicit(&worker->moved, &head, job,
						      memory_order_release, memory_order_relaxed));
	psgi_executor_notify(worker->executor);
}

bool psgi_fleet_move(psg_worker *worker, psgi_job *job)
{
	psgi_member *from = worker->lanes.member, *to = next_of(from, job);
	psgi_keeper *keeper = &job->lane->member->worker->keeper;
	int64_t deadline = atomic_load_explicit(&job->future.deadline_ns, memory_order_relaxed);

	count_move(from, to, job);
	if (!unclaim(&job->future))
		return false;
	if (deadline != PSGI_NEVER) {
		/* A round of the keeper that met it claimed has not set the alarm for it. */
		psgi_full_fence();
		psgi_keeper_watch(keeper, deadline);
	}
	send(to->worker, job);
	return true;
}

/* The first one first. */
static psgi_job *take_all(psg_worker *worker)
{
	psgi_job *job = atomic_exchange_explicit(&worker->moved, NULL, memory_order_acquire);
	psgi_job *first = NULL;

	while (job != NULL) {
		psgi_job *next = psgi_extra_of(job)->next;

		psgi_extra_of(job)->next = first;
		first = job;
		job = next;
	}
	return first;
}

void psgi_fleet_take(psg_worker *worker)
{
	psgi_job *job = NULL;

	if (atomic_load_explicit(&worker->moved, memory_order_relaxed) != NULL)
		job = take_all(worker);
	while (job != NULL) {
		psgi_job *next = psgi_extra_of(job)->next;

		psgi_heap_push(&worker->queue.earliest[job->rank], job);
		job = next;
	}
}

void psgi_fleet_tell_loss(const psg_worker *worker, const psgi_job *job, psg_error *error)
{
	const psgi_member *origin = job->lane->member;
	const psgi_executor *executor;

	if (origin == NULL || origin == worker->lanes.member || job->kind == PSGI_JOB_FUNCTION)
		return;
	executor = origin->worker->executor;
	if (executor->info.kind == PSG_DEVICE_CPU || worker->executor->info.kind != PSG_DEVICE_CPU)
		return;
	/* Acquire: the loss. */
	if (atomic_load_explicit(&executor->is_lost, memory_order_acquire))
		*error = executor->lost;
	else
		(void)psgi_fail(error, PSG_STALLED, "%s did not answer", executor->info.name);
}
