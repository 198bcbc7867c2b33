/* SPDX-License-Identifier: Apache-2.0 */
/* What jobs are: running each kind, and ending those that never ran. */
#include "config.h"

#include "jobs/job.h"

#include "base/base.h"
#include "device/device.h"
#include "jobs/batcher.h"
#include "jobs/executor.h"
#include "jobs/fleet.h"
#include "jobs/flight.h"
#include "jobs/lane.h"
#include "jobs/observe.h"
#include "ops/ops.h"

#include <stdlib.h>

/* --- running, on the worker's thread --- */

psg_status psgi_job_wants_stop(const psgi_job *job, const psg_worker *worker, int64_t now_ns,
			       psgi_outcome *outcome)
{
	const psg_future *future = &job->future;

	if ((atomic_load_explicit(&future->word, memory_order_relaxed) & PSGI_STOP) != 0) {
		*outcome = PSGI_CANCELLED;
		return PSG_CANCELLED;
	}
	if (psgi_stall_took(worker, job)) {
		*outcome = PSGI_FAILED;
		return PSG_STALLED;
	}
	if (atomic_load_explicit(&worker->dropping, memory_order_relaxed)) {
		*outcome = PSGI_FAILED;
		return PSG_SHUTDOWN;
	}
	if (atomic_load_explicit(&future->deadline_ns, memory_order_relaxed) <= now_ns) {
		*outcome = PSGI_EXPIRED;
		return PSG_TIMED_OUT;
	}
	return PSG_OK;
}

psg_status psgi_job_stopped(psg_status status, psg_error *error)
{
	return psgi_fail(error, status, "stopped while it ran: %s", psg_status_text(status));
}

/* Asked between the steps of a model. */
struct stop {
	const psg_worker *worker;
	const psgi_job *job;
	psgi_outcome outcome;
	psg_status status; /* why it was stopped; OK: it was not */
};

static bool wants_stop(void *user)
{
	struct stop *stop = user;

	stop->status = psgi_job_wants_stop(stop->job, stop->worker, psg_now_ns(), &stop->outcome);
	return stop->status != PSG_OK;
}

/* A sample's outputs are cut as if others had run with it. */
static psg_status cut_outputs(psgi_job *job, psg_error *error)
{
	psgi_extra *extra = psgi_extra_of(job);

	for (size_t i = 0; i < extra->n_out; i++) {
		psg_tensor *whole = extra->out[i];
		psg_status status;

		if (!psgi_rows_needs_cut(whole))
			continue;
		status = psgi_rows_cut(whole, 0, &extra->out[i], error);
		if (status != PSG_OK)
			extra->out[i] = whole;
		else
			psg_tensor_unref(whole);
		if (status != PSG_OK)
			return status;
	}
	return PSG_OK;
}

static psg_status make_outputs(psgi_extra *extra, size_t n_out, psg_error *error)
{
	extra->out = extra->few_out;
	if (n_out <= PSGI_SLOT_TENSORS)
		return PSG_OK;
	extra->out = calloc(n_out, sizeof(psg_tensor *));
	return extra->out != NULL ? PSG_OK
				  : psgi_fail(error, PSG_NOMEM, "no memory for %zu outputs", n_out);
}

/* There are none. */
static void free_outputs(psgi_extra *extra)
{
	if (extra->out != extra->few_out)
		free(extra->out);
}

static psg_status keep_outputs(psgi_job *job, size_t n_out, psg_error *error)
{
	psgi_extra_of(job)->n_out = n_out;
	return job->kind == PSGI_JOB_SAMPLE ? cut_outputs(job, error) : PSG_OK;
}

static psg_status why_stopped(const struct stop *stop, psg_status status, psgi_outcome *outcome,
			      psg_error *error)
{
	if (status != PSG_CANCELLED || stop->status == PSG_OK)
		return status;
	*outcome = stop->outcome;
	return psgi_job_stopped(stop->status, error);
}

static psg_status run_model(psgi_job *job, const psg_worker *worker, psg_device *device,
			    psgi_outcome *outcome, psg_error *error)
{
	struct stop stop = { .worker = worker, .job = job, .outcome = PSGI_FAILED };
	psgi_extra *extra = psgi_extra_of(job);
	psg_model *model = psgi_job_model(job);
	size_t n_in, n_out = psg_model_outputs(model);
	psg_tensor *const *in = psgi_job_inputs(job, &n_in);
	psg_status status = make_outputs(extra, n_out, error);

	if (status != PSG_OK)
		return status;
	status =
		psg_model_run(model, device, in, n_in, extra->out, n_out, wants_stop, &stop, error);
	if (status == PSG_OK)
		return keep_outputs(job, n_out, error);
	free_outputs(extra);
	return why_stopped(&stop, status, outcome, error);
}

/* --- the same in two --- */

/* While this one is being started, the one before it may come to its end. */
static bool polls_and_wants_stop(void *user)
{
	const struct stop *stop = user;

	psgi_flight_poll(stop->worker->executor);
	return wants_stop(user);
}

static bool settle(void *user)
{
	const struct stop *stop = user;

	return psgi_flight_settle(stop->worker->executor);
}

psg_status psgi_job_start(psgi_job *job, psg_worker *worker, psgi_started *started,
			  psgi_outcome *outcome, psg_error *error)
{
	struct stop stop = { .worker = worker, .job = job, .outcome = PSGI_FAILED };
	const psgi_start_hooks hooks = { polls_and_wants_stop, settle, &stop };
	psgi_extra *extra = psgi_extra_of(job);
	psg_model *model = psgi_job_model(job);
	size_t n_in, n_out = psg_model_outputs(model);
	psg_tensor *const *in = psgi_job_inputs(job, &n_in);
	psg_status status = make_outputs(extra, n_out, error);

	*outcome = PSGI_FAILED;
	if (status != PSG_OK)
		return status;
	status = psgi_model_start(model, worker->executor->device, in, n_in, n_out, &hooks, started,
				  error);
	if (status == PSG_OK)
		return PSG_OK;
	free_outputs(extra);
	return why_stopped(&stop, status, outcome, error);
}

psg_status psgi_job_finish(psgi_job *job, psg_worker *worker, psgi_started *started,
			   psgi_outcome *outcome, psg_error *error)
{
	psgi_extra *extra = psgi_extra_of(job);
	psg_status status = PSG_OK;

	if (!psgi_started_is_done(started))
		status = psgi_job_wants_stop(job, worker, psg_now_ns(), outcome);
	if (status != PSG_OK) {
		psgi_started_drop(started);
		free_outputs(extra);
		return psgi_job_stopped(status, error);
	}
	status = psgi_started_finish(started, extra->out, error);
	if (status == PSG_OK)
		return keep_outputs(job, started->n_out, error);
	free_outputs(extra);
	return status;
}

static psg_status run_op(psgi_job *job, psg_device *device, psg_error *error)
{
	psgi_extra *extra = psgi_extra_of(job);
	size_t n_out = 0; /* the least */
	psg_status status;

	extra->out = extra->few_out;
	status = psg_op_run(device, &extra->op, extra->out, &n_out, error);
	if (status == PSG_OK)
		extra->n_out = n_out;
	return status;
}

static psg_status run_on(psgi_job *job, const psg_worker *worker, psg_device *device,
			 psgi_outcome *outcome, psg_error *error)
{
	return job->kind == PSGI_JOB_OP ? run_op(job, device, error)
					: run_model(job, worker, device, outcome, error);
}

/* One core: when a GPU has failed, others want them too. */
static const char host_name[] = "cpu:1";

/* After the device failed, as `error` says, which stays there when the CPU does better. */
static psg_status run_on_host(psgi_job *job, psg_worker *worker, psgi_outcome *outcome,
			      psg_error *error)
{
	psgi_executor *executor = worker->executor;
	psg_error reason = *error;
	psg_status status = PSG_OK;

	if (executor->host == NULL)
		status = psg_device_open(host_name, &executor->host, error);
	if (status == PSG_OK)
		status = run_on(job, worker, executor->host, outcome, error);
	if (status != PSG_OK) {
		psgi_error_prefix(error, "on the CPU, after '%.200s'", reason.message);
		return status;
	}
	psgi_log(PSG_LOG_WARNING, "%s: a job was done again on the CPU: %s", worker->name,
		 reason.message);
	psgi_count(&worker->recomputed);
	*error = reason;
	return PSG_OK;
}

/* Operators that came alone, by where they ran. */
struct places {
	uint64_t on_gpu, on_cpu;
};

static struct places count_places(const psgi_executor *executor)
{
	struct places places = { executor->device->ops_on_gpu, executor->device->ops_on_cpu };

	if (executor->host != NULL)
		places.on_cpu += executor->host->ops_on_cpu;
	return places;
}

/* The devices count for all their workers, and on this thread; others read the copies. */
static void add_places(psg_worker *worker, struct places before)
{
	struct places now = count_places(worker->executor);

	psgi_count_more(&worker->ops_on_gpu, now.on_gpu - before.on_gpu);
	psgi_count_more(&worker->ops_on_cpu, now.on_cpu - before.on_cpu);
}

/* A function is told of a failure of the device like everybody, and that is all. */
static psg_status run_function(const psgi_job *job, psg_device *device, psg_error *error)
{
	psg_status status = job->fn(device, job->arg, error);

	if (status == PSG_OK)
		error->message[0] = '\0'; /* it may have met a failure and got over it */
	return status;
}

/* A lost device gets none, so that a job meets each at most once.  A sample is its batcher's, and
 * that is of this worker. */
static bool is_for_others(const psgi_job *job, const psg_worker *worker, psg_status status)
{
	return job->kind != PSGI_JOB_SAMPLE && status == PSG_DEVICE_LOST &&
	       worker->executor->device->lost.code != PSG_OK && worker->lanes.member != NULL;
}

psg_status psgi_job_judge(psgi_job *job, psg_worker *worker, psg_status status,
			  psgi_outcome *outcome, psg_error *error)
{
	if (status == PSG_OK)
		error->message[0] = '\0'; /* as above */
	/* A closing fleet's others may be gone. */
	if (is_for_others(job, worker, status) &&
	    atomic_load_explicit(&worker->dropping, memory_order_relaxed))
		status = psgi_fail(error, PSG_SHUTDOWN,
				   "the device was lost, and the fleet was shut down");
	if (is_for_others(job, worker, status) && psgi_fleet_has_other(worker->lanes.member, job))
		*outcome = PSGI_MOVES;
	else if (job->cpu_fallback && psgi_device_failed(status) &&
		 worker->executor->info.kind != PSG_DEVICE_CPU && !psgi_stall_took(worker, job))
		status = run_on_host(job, worker, outcome, error);
	if (status == PSG_OK)
		*outcome = PSGI_COMPLETED;
	return status;
}

static psg_status run_tensors(psgi_job *job, psg_worker *worker, psgi_outcome *outcome,
			      psg_error *error)
{
	struct places before = count_places(worker->executor);
	psg_status status = run_on(job, worker, worker->executor->device, outcome, error);

	status = psgi_job_judge(job, worker, status, outcome, error);
	if (job->kind == PSGI_JOB_OP)
		add_places(worker, before);
	return status;
}

psg_status psgi_job_run(psgi_job *job, psg_worker *worker, psgi_outcome *outcome, psg_error *error)
{
	psg_status status;

	*outcome = PSGI_FAILED;
	if (job->kind == PSGI_JOB_FUNCTION || job->kind == PSGI_JOB_DETACHED)
		status = run_function(job, worker->executor->device, error);
	else
		status = run_tensors(job, worker, outcome, error);
	if (status == PSG_OK)
		*outcome = PSGI_COMPLETED;
	return status;
}

/* --- what a job holds --- */

psg_model *psgi_job_model(const psgi_job *job)
{
	const psgi_extra *extra = psgi_extra_of(job);

	return job->kind == PSGI_JOB_SAMPLE ? extra->sample.batcher->model : extra->model.model;
}

psg_tensor *const *psgi_job_inputs(const psgi_job *job, size_t *n)
{
	const psgi_extra *extra = psgi_extra_of(job);

	*n = job->kind == PSGI_JOB_SAMPLE ? 1 : extra->model.n_in;
	return job->kind == PSGI_JOB_SAMPLE ? &extra->sample.in : extra->model.in;
}

int64_t psgi_job_samples(const psgi_job *job)
{
	size_t n;
	psg_tensor *const *in = psgi_job_inputs(job, &n);
	const psg_shape *shape = n > 0 ? psg_tensor_shape(in[0]) : NULL;

	return shape != NULL && shape->rank > 0 ? shape->dim[0] : 1;
}

uint64_t psgi_tensors_bytes(psg_tensor *const *tensors, size_t n)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < n; i++)
		if (tensors[i] != NULL)
			bytes += psgi_tensor_bytes(tensors[i]);
	return bytes;
}

void psgi_job_drop_inputs(psgi_job *job)
{
	psgi_extra *extra = psgi_extra_of(job);

	switch ((psgi_job_kind)job->kind) {
	case PSGI_JOB_FUNCTION:
	case PSGI_JOB_DETACHED:
		return;
	case PSGI_JOB_OP:
		for (size_t i = 0; i < extra->op.n_in; i++)
			psg_tensor_unref(extra->op.in[i]);
		break;
	case PSGI_JOB_MODEL:
		for (size_t i = 0; i < extra->model.n_in; i++)
			psg_tensor_unref(extra->model.in[i]);
		if (extra->model.in != extra->model.few)
			free(extra->model.in);
		psg_model_unref(extra->model.model);
		break;
	case PSGI_JOB_SAMPLE:
		psg_tensor_unref(extra->sample.in);
		break;
	}
	psgi_lane_drop_bytes(job->lane, extra->bytes);
}

static void drop_outputs(psgi_extra *extra)
{
	for (size_t i = 0; i < extra->n_out; i++)
		psg_tensor_unref(extra->out[i]);
	if (extra->n_out > 0 && extra->out != extra->few_out)
		free(extra->out);
	extra->n_out = 0;
}

/* --- ending away from the worker --- */

const char psgi_unstarted_message[] = "the worker was shut down before it started";

/*
 * The lane counts: the worker may be closing, and is gone for this thread once
 * the lane has counted.
 */
void psgi_job_end_taken(psgi_job *job, psgi_outcome outcome, psg_status status, int64_t now_ns)
{
	psgi_lane *lane = job->lane;

	psgi_observe_done(job, status);
	if (lane->member != NULL)
		psgi_fleet_leave(job);
	atomic_fetch_add_explicit(&lane->outcome[outcome], 1, memory_order_relaxed);
	psgi_future_settle(&job->future, status, now_ns);
	psgi_future_publish(&job->future, 0);
	/* Release: who sees that all have ended sees what their callbacks did.  The hold keeps the
	 * lane. */
	atomic_fetch_add_explicit(&lane->ended, 1, memory_order_release);
	psgi_future_drop(&job->future, PSGI_HOLD);
}

void psgi_job_end_away(psgi_job *job, psgi_outcome outcome, psg_status status, int64_t now_ns)
{
	psgi_job_drop_inputs(job);
	psgi_job_end_taken(job, outcome, status, now_ns);
}

void psgi_job_end_unrun(psgi_job *job, psgi_outcome outcome, psg_status status, const char *message)
{
	job->future.message = message;
	atomic_store_explicit(&job->future.started_ns, 0, memory_order_relaxed);
	psgi_job_end_away(job, outcome, status, psg_now_ns());
}

/* --- as a class of futures --- */

static psg_cancel_result cancel(psg_future *future)
{
	uint64_t word;

	if (psgi_future_claim(future, PSGI_HOLD)) {
		psgi_job_end_unrun(psgi_job_of(future), PSGI_CANCELLED, PSG_CANCELLED,
				   "cancelled before it started");
		return PSG_CANCEL_REMOVED;
	}
	word = atomic_load_explicit(&future->word, memory_order_relaxed);
	while (psgi_future_is(word, PSGI_RUNNING))
		if (atomic_compare_exchange_weak_explicit(&future->word, &word, word | PSGI_STOP,
							  memory_order_relaxed,
							  memory_order_relaxed))
			return PSG_CANCEL_RUNNING;
	return PSG_CANCEL_DONE;
}

/* One that runs goes on: only what has not started is cancelled with its last handle. */
static void abandon(psg_future *future)
{
	if (psgi_future_claim(future, PSGI_HOLD))
		psgi_job_end_unrun(psgi_job_of(future), PSGI_CANCELLED, PSG_CANCELLED,
				   "cancelled before it started");
}

void psgi_job_clear_options(psgi_job *job)
{
	psg_future *future = &job->future;

	if (!job->has_options)
		return;
	job->has_options = false;
	future->done = NULL;
	future->user = NULL;
	future->queue = NULL;
	/* No deadline is one that never comes. */
	atomic_store_explicit(&future->deadline_ns, PSGI_NEVER, memory_order_relaxed);
}

static void recycle(psg_future *future)
{
	psgi_job *job = psgi_job_of(future);

	/* A function that ended well has left neither outputs nor a message. */
	if (job->kind != PSGI_JOB_FUNCTION || future->status != PSG_OK) {
		if (job->kind != PSGI_JOB_FUNCTION)
			drop_outputs(psgi_extra_of(job));
		free(future->owned);
		future->owned = NULL;
		future->message = NULL;
	}
	if (job->kind == PSGI_JOB_SAMPLE)
		psgi_batcher_drop(psgi_extra_of(job)->sample.batcher);
	psgi_job_clear_options(job);
	psgi_lane_return(job->lane, job);
}

static bool tensors(psg_future *future, psg_tensor *const **out, size_t *n)
{
	const psgi_job *job = psgi_job_of(future);

	if (job->kind == PSGI_JOB_FUNCTION)
		return false;
	*out = psgi_extra_of(job)->out;
	*n = psgi_extra_of(job)->n_out;
	return true;
}

static const psgi_lane *lane_of(const psg_future *future)
{
	const psgi_job *job =
		(const psgi_job *)(const void *)((const char *)future - offsetof(psgi_job, future));

	return job->lane;
}

static uint64_t serial(const psg_future *future)
{
	return lane_of(future)->serial;
}

static uint32_t fleet(const psg_future *future)
{
	return lane_of(future)->fleet;
}

const psgi_future_class psgi_job_class = { cancel, abandon, recycle, tensors, serial, fleet };
