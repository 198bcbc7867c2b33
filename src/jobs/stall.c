/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "jobs/stall.h"

#include "base/base.h"
#include "jobs/fleet.h"
#include "jobs/jobs.h"
#include "jobs/worker.h"

/* Chosen: the longest calls that were seen to return compile kernels, for seconds. */
#define DEFAULT_LIMIT_NS (60 * PSG_SECOND)

/* Looks within the limit: a stall is noticed at most so much later.  Chosen. */
#define LOOKS 4

int64_t psgi_stall_limit(int64_t limit_ns, bool on_gpu)
{
	if (limit_ns < 0 || !on_gpu)
		return 0;
	return limit_ns != 0 ? limit_ns : DEFAULT_LIMIT_NS;
}

/* --- who ends the job that runs --- */

static bool is_watched(const psg_worker *worker)
{
	return worker->stall.limit_ns != 0;
}

static bool is_of(const psgi_job *job, const psg_worker *worker)
{
	return job->lane->serial == worker->lanes.serial;
}

/* Only this thread fills one. */
static psgi_job *_Atomic *free_place(psg_worker *worker)
{
	size_t i = 0;

	while (i < PSGI_FLIGHTS - 1 &&
	       atomic_load_explicit(&worker->runs_moved[i], memory_order_relaxed) != NULL)
		i++;
	return &worker->runs_moved[i];
}

/*
 * One of another member's lanes is told of by a word of its own, of which there are enough, and not
 * found by looking at slots: what is there may be another job by then.  With it goes a hold, to
 * whoever takes it.
 *
 * Release: what the keeper reads of the job.
 */
void psgi_stall_mark(psg_worker *worker, psgi_job *job)
{
	if (!is_watched(worker))
		return;
	if (is_of(job, worker)) {
		atomic_fetch_or_explicit(&job->future.word, PSGI_RUNS, memory_order_release);
		return;
	}
	atomic_fetch_add_explicit(&job->future.word, PSGI_RUNS + PSGI_HOLD, memory_order_relaxed);
	atomic_store_explicit(free_place(worker), job, memory_order_release);
}

/* Acquire: what the keeper did, when it was first. */
bool psgi_stall_reclaim(psg_worker *worker, psgi_job *job)
{
	if (!is_watched(worker))
		return true;
	if (is_of(job, worker))
		return (atomic_fetch_and_explicit(&job->future.word, ~PSGI_RUNS,
						  memory_order_acq_rel) &
			PSGI_RUNS) != 0;
	for (size_t i = 0; i < PSGI_FLIGHTS; i++) {
		psgi_job *expected = job;

		if (!atomic_compare_exchange_strong_explicit(&worker->runs_moved[i], &expected,
							     NULL, memory_order_acq_rel,
							     memory_order_relaxed))
			continue;
		atomic_fetch_sub_explicit(&job->future.word, PSGI_RUNS + PSGI_HOLD,
					  memory_order_relaxed);
		return true;
	}
	return false;
}

bool psgi_stall_took(const psg_worker *worker, const psgi_job *job)
{
	return is_watched(worker) &&
	       (atomic_load_explicit(&job->future.word, memory_order_relaxed) & PSGI_RUNS) == 0;
}

void psgi_stall_drop(psgi_job *job)
{
	psgi_job_drop_inputs(job);
	psgi_future_drop(&job->future, PSGI_HOLD);
}

/*
 * The mark is there only while the executor's hold is, so that one more may be taken with it.  One
 * that has moved runs elsewhere.
 */
static bool take(psg_future *future)
{
	uint64_t word = atomic_load_explicit(&future->word, memory_order_relaxed);

	while ((word & (PSGI_RUNS | PSGI_MOVED)) == PSGI_RUNS)
		if (atomic_compare_exchange_weak_explicit(
			    &future->word, &word, (word & ~PSGI_RUNS) + PSGI_HOLD,
			    memory_order_acq_rel, memory_order_relaxed))
			return true;
	return false;
}

static const char running_message[] = "the device does not answer: a call of its driver, which "
				      "this job was in, has not returned";
static const char queued_message[] = "the device does not answer: the job had not started";

static void end_running(psgi_job *job)
{
	job->future.message = running_message;
	psgi_job_end_taken(job, PSGI_FAILED, PSG_STALLED, psg_now_ns());
}

/* Acquire: the job, as it was marked. */
static void end_running_moved(psg_worker *worker)
{
	for (size_t i = 0; i < PSGI_FLIGHTS; i++) {
		psgi_job *job = atomic_exchange_explicit(&worker->runs_moved[i], NULL,
							 memory_order_acq_rel);

		if (job == NULL)
			continue;
		atomic_fetch_and_explicit(&job->future.word, ~PSGI_RUNS, memory_order_relaxed);
		end_running(job);
	}
}

/* --- those that wait --- */

/*
 * May it go on to another device?  Not where it is a batcher's, which is of this worker, nor one in
 * the heap of those that go by their deadline: its links are that heap's, which is the executor's.
 */
static bool may_move(const psg_worker *worker, const psgi_job *job)
{
	bool in_heap =
		worker->queue.by_deadline &&
		atomic_load_explicit(&job->future.deadline_ns, memory_order_relaxed) != PSGI_NEVER;

	return worker->lanes.member != NULL && job->kind != PSGI_JOB_SAMPLE && !in_heap &&
	       !atomic_load_explicit(&worker->dropping, memory_order_relaxed) &&
	       psgi_fleet_has_other(worker->lanes.member, job);
}

/* One that was claimed, with a hold: the executor has another one, which it drops when it finds it
 * in its queue. */
static void move_or_end(psg_worker *worker, psgi_job *job)
{
	if (!may_move(worker, job))
		psgi_job_end_unrun(job, PSGI_FAILED, PSG_STALLED, queued_message);
	else if (!psgi_fleet_move(worker, job))
		psgi_job_end_unrun(job, PSGI_CANCELLED, PSG_CANCELLED,
				   "cancelled on the way to another device");
}

static void end_one(void *user, psgi_job *job)
{
	psg_worker *worker = user;

	if (psgi_future_claim_unmoved(&job->future, PSGI_HOLD))
		move_or_end(worker, job);
	else if (take(&job->future))
		end_running(job);
}

static bool waits_moved(uint64_t word)
{
	return (word & (PSGI_STATE | PSGI_MOVED)) == (PSGI_QUEUED | PSGI_MOVED);
}

/*
 * One of another member's slots, if it was sent here.  The hold keeps it the same job.  Should it
 * go on once more between the look and the claim, it ends all the same: it has been here.
 */
static void end_if_here(void *user, psgi_job *job)
{
	const psg_worker *worker = user;
	psg_future *future = &job->future;

	if (!waits_moved(atomic_load_explicit(&future->word, memory_order_relaxed)) ||
	    !psgi_future_hold(future))
		return;
	if (atomic_load_explicit(&psgi_extra_of(job)->member, memory_order_relaxed) ==
		    worker->lanes.member &&
	    waits_moved(atomic_load_explicit(&future->word, memory_order_relaxed)) &&
	    psgi_future_claim(future, 0)) {
		psgi_job_end_unrun(job, PSGI_FAILED, PSG_STALLED, queued_message);
		return;
	}
	psgi_future_drop(future, PSGI_HOLD);
}

/* They are in the executor's heap, so that they cannot go on. */
static void end_moved_here(psg_worker *worker)
{
	const psgi_member *member = worker->lanes.member;

	for (size_t i = 0; member != NULL && i < member->fleet->n; i++) {
		const psg_worker *origin = member->fleet->members[i].worker;

		if (origin != NULL && origin != worker)
			psgi_lanes_visit_jobs(&origin->lanes, end_if_here, worker);
	}
}

/* Those that were submitted while the last look refused nobody yet are among them. */
static void end_jobs(psg_worker *worker)
{
	psgi_lanes_visit_jobs(&worker->lanes, end_one, worker);
	end_running_moved(worker);
	end_moved_here(worker);
}

/* --- noticing --- */

static void set_stalled(psg_worker *worker, const char *call, int64_t now_ns)
{
	psgi_stall *stall = &worker->stall;

	if (!atomic_load_explicit(&worker->stalled, memory_order_relaxed)) {
		psgi_log(PSG_LOG_ERROR,
			 "%s: the device does not answer: '%s' has not returned for "
			 "%.3g s",
			 worker->name, call,
			 (double)(now_ns - stall->since_ns) / (double)PSG_SECOND);
		atomic_store_explicit(&stall->at_ns, stall->since_ns, memory_order_relaxed);
		atomic_store_explicit(&stall->in, call, memory_order_relaxed);
		psgi_count(&stall->times);
		atomic_store_explicit(&worker->executor->stalled_ns, stall->since_ns,
				      memory_order_relaxed);
		/* Release: since when. */
		atomic_store_explicit(&worker->executor->stalled_phase, stall->begun,
				      memory_order_release);
		/* Release: what psg_worker_health tells of it. */
		atomic_store_explicit(&worker->stalled, true, memory_order_release);
	}
	psgi_worker_wake_producers(worker);
	end_jobs(worker);
	psgi_event_signal(&worker->executor->news); /* who closes the worker leaves it */
}

static void set_well(psg_worker *worker)
{
	if (!atomic_load_explicit(&worker->stalled, memory_order_relaxed))
		return;
	atomic_store_explicit(&worker->stalled, false, memory_order_release);
	psgi_log(PSG_LOG_WARNING, "%s: the device answers again", worker->name);
}

int64_t psgi_stall_look(void *user, int64_t now_ns)
{
	psg_worker *worker = user;
	psgi_stall *stall = &worker->stall;
	const psgi_phase *phase = &worker->executor->phase;
	/* Acquire: what the executor knew when the call began, as that its fleet is open. */
	const char *call = atomic_load_explicit(&phase->what, memory_order_acquire);
	uint32_t begun = atomic_load_explicit(&phase->begun, memory_order_relaxed);

	if (call == NULL || begun != stall->begun) {
		stall->begun = begun;
		stall->since_ns = now_ns;
		set_well(worker);
	} else if (now_ns - stall->since_ns >= stall->limit_ns) {
		set_stalled(worker, call, now_ns);
	}
	return now_ns + stall->limit_ns / LOOKS;
}

static psg_status tell(const psgi_executor *executor, const char *call, int64_t since_ns,
		       psg_error *error)
{
	return psgi_fail(error, PSG_STALLED,
			 "%s: the device does not answer: '%s' has not returned for %.3g s",
			 executor->info.name, call,
			 (double)(psg_now_ns() - since_ns) / (double)PSG_SECOND);
}

/* Acquire: the call, and since when. */
psg_status psgi_stall_tell(const psg_worker *worker, psg_error *error)
{
	const psgi_stall *stall = &worker->stall;

	if (!atomic_load_explicit(&worker->stalled, memory_order_acquire))
		return PSG_OK;
	return tell(worker->executor, atomic_load_explicit(&stall->in, memory_order_relaxed),
		    atomic_load_explicit(&stall->at_ns, memory_order_relaxed), error);
}

/* Who found it may be closed by now, so that it counts only while the thread is in that phase. */
psg_status psgi_stall_tell_device(const psgi_executor *executor, psg_error *error)
{
	uint32_t stalled = atomic_load_explicit(&executor->stalled_phase, memory_order_acquire);
	const char *call = atomic_load_explicit(&executor->phase.what, memory_order_relaxed);
	uint32_t begun = atomic_load_explicit(&executor->phase.begun, memory_order_relaxed);

	if (stalled == 0 || call == NULL || begun != stalled)
		return PSG_OK;
	return tell(executor, call,
		    atomic_load_explicit(&executor->stalled_ns, memory_order_relaxed), error);
}
