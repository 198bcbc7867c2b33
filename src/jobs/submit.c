/* SPDX-License-Identifier: Apache-2.0 */
/* Submitting: checks, a slot, the lane's ring, and waking who sleeps. */
#include "config.h"

#include "base/base.h"
#include "base/fork.h"
#include "base/trace.h"
#include "jobs/completion.h"
#include "jobs/fleet.h"
#include "jobs/jobs.h"
#include "jobs/submit.h"
#include "jobs/thread.h"

#include <stdio.h>
#include <stdlib.h>

static psg_status refuse_full(const psg_worker *worker, psgi_lane *lane, uint64_t goal,
			      int64_t waited_ns, psg_error *error)
{
	char waited[48] = "", later[64] = "later";
	int64_t after_ns;

	psgi_count(&lane->refused_full);
	if (error == NULL)
		return PSG_FULL;
	after_ns = psg_worker_retry_after_ns(worker);
	if (waited_ns > 0)
		(void)snprintf(waited, sizeof(waited), ", also after %.4g ms",
			       (double)waited_ns / (double)PSG_MILLISECOND);
	if (after_ns > 0)
		(void)snprintf(later, sizeof(later), "in about %.3g s",
			       (double)after_ns / (double)PSG_SECOND);
	if (goal != 0)
		return psgi_fail(
			error, PSG_FULL,
			"this thread's jobs read %llu bytes; with this one they would read "
			"more than the %llu that they may%s: try again %s",
			(unsigned long long)psgi_lane_bytes(lane),
			(unsigned long long)worker->lane_bytes, waited, later);
	return psgi_fail(error, PSG_FULL,
			 "all %u jobs that one thread may have are in use%s: release futures, or "
			 "try again %s",
			 (unsigned)lane->capacity, waited, later);
}

static psg_status refuse_ending(psg_error *error)
{
	return psgi_fail(error, PSG_SHUTDOWN, "the worker takes no more jobs");
}

/* Why it takes no jobs at all; OK: it does. */
static psg_status refuse_all(const psg_worker *worker, psg_error *error)
{
	if (atomic_load_explicit(&worker->refusing, memory_order_relaxed))
		return refuse_ending(error);
	return psgi_stall_tell(worker, error);
}

/* As if it were the last to run; floating point, which does not overflow. */
static psg_status check_late(const psg_worker *worker, psgi_lane *lane,
			     const psg_job_options *options, psg_error *error)
{
	uint64_t before;
	double mean, late;

	if (!options->refuse_late || options->deadline_ns == 0)
		return PSG_OK;
	before = psgi_worker_load(worker);
	mean = (double)atomic_load_explicit(&worker->mean_ns, memory_order_relaxed);
	late = ((double)before + 1) * mean - ((double)options->deadline_ns - (double)psg_now_ns());
	if (late <= 0)
		return PSG_OK;
	psgi_count(&lane->refused_late);
	return psgi_fail(error, PSG_TIMED_OUT,
			 "would miss its deadline by about %.3g ms: %llu jobs are before it, and "
			 "one takes %.3g ms",
			 late / (double)PSG_MILLISECOND, (unsigned long long)before,
			 mean / (double)PSG_MILLISECOND);
}

/* Until when; 0: not at all. */
static int64_t room_deadline(const psg_job_options *options, int64_t now_ns)
{
	int64_t deadline = PSGI_NEVER;

	if (options->room_timeout_ns <= 0 || psgi_future_busy())
		return 0;
	if (options->room_timeout_ns < PSGI_NEVER - now_ns)
		deadline = now_ns + options->room_timeout_ns;
	return options->deadline_ns != 0 && options->deadline_ns < deadline ? options->deadline_ns
									    : deadline;
}

/* Is there room for one job more, and for what it reads?  False: when so many bytes have been let
 * go of in all, or, where `*goal` is 0, when a job has ended. */
static bool has_room(const psg_worker *worker, psgi_lane *lane, uint64_t bytes, uint64_t *goal)
{
	*goal = bytes != 0 ? psgi_lane_goal(lane, bytes, worker->lane_bytes) : 0;
	return *goal == 0 && psgi_lane_has_room(lane);
}

/* Waits for room as long as it may. */
static psg_status wait_for_room(psg_worker *worker, psgi_lane *lane, uint64_t bytes, uint64_t goal,
				const psg_job_options *options, psg_error *error)
{
	int64_t begin = psg_now_ns(), deadline = room_deadline(options, begin);
	bool in_time = deadline > begin;

	if (!in_time)
		return refuse_full(worker, lane, goal, 0, error);
	while (in_time) {
		psg_status status;

		in_time = psgi_lane_wait(lane, &worker->refusing, goal, deadline);
		status = refuse_all(worker, error);
		if (status != PSG_OK)
			return status;
		if (has_room(worker, lane, bytes, &goal))
			return PSG_OK;
	}
	return refuse_full(worker, lane, goal, psg_now_ns() - begin, error);
}

static const psg_job_options no_options;

static psg_status check(const psg_worker *worker, const psg_job_options *options, psg_error *error)
{
	psg_status status;

	if (worker->lanes.generation != psgi_fork_generation())
		return psgi_fail(error, PSG_FORKED,
				 "the worker lives in the parent process: open one here");
	status = refuse_all(worker, error);
	if (status != PSG_OK)
		return status;
	if (options->priority < -1 || options->priority > 1)
		return psgi_fail(error, PSG_INVALID, "priority %d: -1, 0 and 1 are there",
				 (int)options->priority);
	return psgi_completion_check(options->queue, error);
}

/* A free slot has none: see psgi_job_clear_options. */
static void set_options(psgi_job *job, const psg_job_options *options)
{
	psg_future *future = &job->future;

	job->has_options = true;
	future->done = options->done;
	future->user = options->user;
	future->queue = options->queue;
	if (options->deadline_ns != 0)
		atomic_store_explicit(&future->deadline_ns, options->deadline_ns,
				      memory_order_relaxed);
}

uint64_t psgi_submit_bytes(const psg_worker *worker, psg_tensor *const *in, size_t n_in)
{
	return worker->lane_bytes != 0 ? psgi_tensors_bytes(in, n_in) : 0;
}

/* The thread's lane, with room for a job that reads so many bytes. */
static psg_status admit(psg_worker *worker, const psg_job_options *options, uint64_t bytes,
			psgi_lane **out, psg_error *error)
{
	psgi_lane *lane = NULL;
	uint64_t goal;
	psg_status status = check(worker, options, error);

	if (status == PSG_OK) {
		lane = psgi_thread_lane(worker->lanes.serial);
		if (lane == NULL)
			status = psgi_thread_attach(&worker->lanes, &lane, error);
	}
	if (status == PSG_OK)
		status = check_late(worker, lane, options, error);
	if (status == PSG_OK && !has_room(worker, lane, bytes, &goal))
		status = wait_for_room(worker, lane, bytes, goal, options, error);
	*out = lane;
	return status;
}

/* One of the future's fields is not as in a free slot. */
static bool has_options(const psg_job_options *options)
{
	return options->done != NULL || options->user != NULL || options->queue != NULL ||
	       options->deadline_ns != 0;
}

static psgi_job *take(psgi_lane *lane, const psg_job_options *options)
{
	psgi_job *job = psgi_lane_take(lane); /* there is room */

	job->rank = (uint8_t)(PSGI_NORMAL - options->priority);
	job->cpu_fallback = options->cpu_fallback;
	if (has_options(options))
		set_options(job, options);
	return job;
}

psg_status psgi_submit_take(psg_worker *worker, const psg_job_options *options, uint64_t bytes,
			    psgi_job **out, psg_error *error)
{
	psgi_lane *lane;
	psg_status status;

	if (options == NULL)
		options = &no_options;
	status = admit(worker, options, bytes, &lane, error);
	if (status != PSG_OK)
		return status;
	lane->bytes += bytes;
	*out = take(lane, options);
	return PSG_OK;
}

static psgi_entry entry_of(const psgi_job *job, int64_t deadline_ns)
{
	return (psgi_entry){ .word = job->number | (uint64_t)job->rank << PSGI_ENTRY_RANK_BIT |
				     (deadline_ns != PSGI_NEVER ? PSGI_ENTRY_DEADLINE : 0) };
}

/*
 * Orders a job that was put before three looks at what the others may have stored: whether the
 * worker still polls this lane, whether it is told to look, and which alarm the keeper has.  Each
 * of them stores, fences and then looks for jobs, so a job is never left lying.  Only the first
 * pays for our not fencing, see look.c.
 */
static void fence(const psgi_lane *lane, uint8_t rank, int64_t deadline_ns)
{
	if (rank != PSGI_URGENT && deadline_ns == PSGI_NEVER &&
	    atomic_load_explicit(&lane->unfenced, memory_order_relaxed))
		psgi_light_fence();
	else
		psgi_full_fence();
}

/* To be remembered only if somebody may ask.  Who has a deadline is ordered by it, too. */
static int64_t time_of(psgi_lane *lane, bool seen, int64_t deadline_ns)
{
	if (!seen)
		return 0;
	return deadline_ns != PSGI_NEVER ? psg_now_ns() : psgi_recent_ns(&lane->clock);
}

/* The job is in the ring; it may be over, and its slot somebody else's. */
static void announce(psg_worker *worker, psgi_lane *lane, uint8_t rank, int64_t deadline_ns)
{
	fence(lane, rank, deadline_ns);
	if (!atomic_load_explicit(&lane->noticed, memory_order_relaxed)) {
		atomic_store_explicit(&lane->noticed, true, memory_order_relaxed);
		psgi_lanes_mark(&worker->lanes, lane);
		psgi_event_signal(&worker->executor->work);
	}
	if (rank == PSGI_URGENT && !atomic_load_explicit(&worker->urgent, memory_order_relaxed))
		atomic_store_explicit(&worker->urgent, true, memory_order_relaxed);
	if (deadline_ns != PSGI_NEVER)
		psgi_keeper_watch(&worker->keeper, deadline_ns);
}

void psgi_submit_commit(psg_worker *worker, psgi_job *job, psg_future **out)
{
	psg_future *future = &job->future;
	psgi_lane *lane = job->lane;
	int64_t deadline = PSGI_NEVER;
	uint8_t rank = job->rank;
	bool queued = job->has_options && future->queue != NULL;
	uint64_t handles = (out != NULL ? PSGI_HANDLE : 0) + (queued ? PSGI_HANDLE : 0);

	if (job->has_options)
		deadline = atomic_load_explicit(&future->deadline_ns, memory_order_relaxed);
	atomic_store_explicit(&future->queued_ns,
			      time_of(lane,
				      out != NULL || job->has_options || psgi_tracing() ||
					      job->kind == PSGI_JOB_SAMPLE,
				      deadline),
			      memory_order_relaxed);
	/* Before the worker can call back. */
	if (out != NULL)
		*out = future;
	if (queued)
		psgi_completion_expect(future->queue);
	psgi_count(&lane->accepted);
	if (lane->member != NULL)
		psgi_fleet_enter(lane->member, job);
	psgi_observe_submit(worker, job);
	/* Release, for the keeper and an abort, who find the job in its slot; the worker gets it
	 * through the ring. */
	atomic_store_explicit(&future->word, PSGI_QUEUED + PSGI_HOLD + handles,
			      memory_order_release);
	psgi_lane_put(lane, entry_of(job, deadline));
	announce(worker, lane, rank, deadline);
}

/* A job that nobody will look at but the worker, in the ring's order. */
static void put_detached(psg_worker *worker, psgi_lane *lane, psg_job_fn fn, void *arg)
{
	lane->room--;
	psgi_count(&lane->accepted);
	psgi_observe_submit_detached(lane);
	psgi_lane_put(lane, (psgi_entry){ .fn = fn, .arg = arg });
	announce(worker, lane, PSGI_NORMAL, PSGI_NEVER);
}

/* A fleet's job may be ended by others than its worker. */
static bool may_be_detached(const psg_worker *worker, const psg_job_options *options)
{
	return !has_options(options) && options->priority == 0 && worker->lanes.member == NULL &&
	       !psgi_tracing();
}

psg_status psgi_submit_refused(psg_future **out, psg_status status)
{
	if (out != NULL)
		*out = NULL;
	return status;
}

psg_status psg_submit_function(psg_worker *worker, psg_job_fn fn, void *arg,
			       const psg_job_options *options, psg_future **out, psg_error *error)
{
	psgi_lane *lane;
	psgi_job *job;
	psg_status status;

	if (options == NULL)
		options = &no_options;
	status = admit(worker, options, 0, &lane, error);
	if (status != PSG_OK)
		return psgi_submit_refused(out, status);
	if (out == NULL && fn != NULL && may_be_detached(worker, options)) {
		put_detached(worker, lane, fn, arg);
		return PSG_OK;
	}
	job = take(lane, options);
	job->fn = fn;
	job->arg = arg;
	job->kind = PSGI_JOB_FUNCTION;
	psgi_submit_commit(worker, job, out);
	return PSG_OK;
}

psg_status psg_submit(psg_worker *worker, const psg_op *op, const psg_job_options *options,
		      psg_future **out, psg_error *error)
{
	psg_shape shapes[PSG_MAX_OUTPUTS];
	psg_dtype dtypes[PSG_MAX_OUTPUTS];
	psgi_job *job;
	size_t n_out;
	uint64_t bytes = 0;
	psg_status status = psg_op_infer(op, shapes, dtypes, &n_out, error);

	if (status == PSG_OK) {
		bytes = psgi_submit_bytes(worker, op->in, op->n_in);
		status = psgi_submit_take(worker, options, bytes, &job, error);
	}
	if (status != PSG_OK)
		return psgi_submit_refused(out, status);
	job->kind = PSGI_JOB_OP;
	psgi_extra_of(job)->op = *op;
	psgi_extra_of(job)->n_out = 0;
	psgi_extra_of(job)->bytes = bytes;
	for (size_t i = 0; i < op->n_in; i++)
		if (op->in[i] != NULL)
			(void)psg_tensor_ref(op->in[i]);
	psgi_submit_commit(worker, job, out);
	return PSG_OK;
}

static psg_status check_inputs(const psg_model *model, psg_tensor *const *in, size_t n_in,
			       psg_error *error)
{
	if (n_in != psg_model_inputs(model))
		return psgi_fail(error, PSG_INVALID, "%zu inputs given, the model has %zu", n_in,
				 psg_model_inputs(model));
	for (size_t i = 0; i < n_in; i++)
		if (in[i] == NULL)
			return psgi_fail(error, PSG_INVALID, "input %zu (%s) is NULL", i,
					 psg_model_input(model, i)->name);
	return PSG_OK;
}

psg_status psg_submit_model(psg_worker *worker, psg_model *model, psg_tensor *const *in,
			    size_t n_in, const psg_job_options *options, psg_future **out,
			    psg_error *error)
{
	psgi_extra *extra;
	psgi_job *job;
	uint64_t bytes = 0;
	psg_status status = check_inputs(model, in, n_in, error);

	if (status == PSG_OK) {
		bytes = psgi_submit_bytes(worker, in, n_in);
		status = psgi_submit_take(worker, options, bytes, &job, error);
	}
	if (status != PSG_OK)
		return psgi_submit_refused(out, status);
	extra = psgi_extra_of(job);
	extra->n_out = 0;
	extra->bytes = bytes;
	extra->model.in = extra->model.few;
	if (n_in > PSGI_SLOT_TENSORS) {
		extra->model.in = calloc(n_in, sizeof(psg_tensor *));
		if (extra->model.in == NULL) {
			psgi_job_clear_options(job);
			job->lane->bytes -= bytes;
			psgi_lane_untake(job->lane, job);
			return psgi_submit_refused(
				out, psgi_fail(error, PSG_NOMEM,
					       "no memory for a job of %zu inputs", n_in));
		}
	}
	job->kind = PSGI_JOB_MODEL;
	extra->model.model = psg_model_ref(model);
	extra->model.n_in = n_in;
	for (size_t i = 0; i < n_in; i++)
		extra->model.in[i] = psg_tensor_ref(in[i]);
	psgi_submit_commit(worker, job, out);
	return PSG_OK;
}
