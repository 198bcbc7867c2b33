/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "jobs/stall.h"

#include "base/base.h"
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

/* There is always a place: no more runs are in flight. */
static void replace_moved(psg_worker *worker, const psgi_job *old, psgi_job *job)
{
	for (size_t i = 0; i < PSGI_FLIGHTS; i++) {
		psgi_job *_Atomic *place = &worker->runs_moved[i];

		if (atomic_load_explicit(place, memory_order_relaxed) != old)
			continue;
		atomic_store_explicit(place, job, memory_order_relaxed);
		return;
	}
}

/* Release: what the keeper reads of the job. */
void psgi_stall_mark(psg_worker *worker, psgi_job *job)
{
	if (!is_watched(worker))
		return;
	if (job->lane->serial != worker->lanes.serial)
		replace_moved(worker, NULL, job);
	atomic_fetch_or_explicit(&job->future.word, PSGI_RUNS, memory_order_release);
}

/* Acquire: what the keeper did, when it was first. */
bool psgi_stall_reclaim(psg_worker *worker, psgi_job *job)
{
	if (!is_watched(worker))
		return true;
	replace_moved(worker, job, NULL);
	return (atomic_fetch_and_explicit(&job->future.word, ~PSGI_RUNS, memory_order_acq_rel) &
		PSGI_RUNS) != 0;
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

/* The mark is there only while the executor's hold is, so that one more may be taken with it. */
static bool take(psg_future *future)
{
	uint64_t word = atomic_load_explicit(&future->word, memory_order_relaxed);

	while ((word & PSGI_RUNS) != 0)
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
	if (!take(&job->future))
		return;
	job->future.message = running_message;
	psgi_job_end_taken(job, PSGI_FAILED, PSG_STALLED, psg_now_ns());
}

static void end_one(void *user, psgi_job *job)
{
	(void)user;
	if (psgi_future_claim(&job->future, PSGI_HOLD))
		psgi_job_end_unrun(job, PSGI_FAILED, PSG_STALLED, queued_message);
	else
		end_running(job);
}

/* Those that were submitted while the last look refused nobody yet are among them. */
static void end_jobs(psg_worker *worker)
{
	psgi_job *moved[PSGI_FLIGHTS];

	for (size_t i = 0; i < PSGI_FLIGHTS; i++)
		moved[i] = atomic_load_explicit(&worker->runs_moved[i], memory_order_relaxed);
	psgi_lanes_visit_jobs(&worker->lanes, end_one, NULL);
	for (size_t i = 0; i < PSGI_FLIGHTS; i++)
		if (moved[i] != NULL)
			end_running(moved[i]);
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
	const char *call = atomic_load_explicit(&phase->what, memory_order_relaxed);
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

/* Acquire: the call, and since when. */
psg_status psgi_stall_tell(const psg_worker *worker, psg_error *error)
{
	const psgi_stall *stall = &worker->stall;
	int64_t since;

	if (!atomic_load_explicit(&worker->stalled, memory_order_acquire))
		return PSG_OK;
	since = atomic_load_explicit(&stall->at_ns, memory_order_relaxed);
	return psgi_fail(error, PSG_STALLED,
			 "%s: the device does not answer: '%s' has not returned for %.3g s",
			 worker->executor->info.name,
			 atomic_load_explicit(&stall->in, memory_order_relaxed),
			 (double)(psg_now_ns() - since) / (double)PSG_SECOND);
}
