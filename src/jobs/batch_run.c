/* SPDX-License-Identifier: Apache-2.0 */
/* Running samples together: one run of the model, and to each its rows. */
#include "config.h"

#include "jobs/batch.h"

#include "device/device.h"
#include "jobs/batcher.h"
#include "jobs/flight.h"
#include "jobs/run.h"

#include <string.h>

_Static_assert(PSG_MAX_OUTPUTS <= PSGI_SLOT_TENSORS, "outputs of any model fit into a slot");

/* --- ends of single samples --- */

static void end_one(psgi_executor *executor, psgi_flight *flight, size_t i, psgi_outcome outcome,
		    psg_status status, const psg_error *error, int64_t now_ns)
{
	psgi_job *job = flight->jobs[i];

	flight->jobs[i] = NULL;
	flight->left--;
	if (!psgi_stall_reclaim(flight->worker, job)) {
		psgi_stall_drop(job);
		return;
	}
	if (status != PSG_OK)
		psgi_future_note(&job->future, error->message);
	psgi_observe_ran_together(flight->worker, job,
				  psgi_flight_ns(executor, flight->started_ns, now_ns), now_ns);
	psgi_run_end(flight->worker, job, outcome, status, now_ns);
}

/* Ends those that want to stop; true: nobody is left. */
static bool stop_some(psgi_flight *flight)
{
	int64_t now = psg_now_ns();

	for (size_t i = 0; i < flight->n; i++) {
		psgi_outcome outcome;
		psg_status status;
		psg_error error;

		if (flight->jobs[i] == NULL)
			continue;
		status = psgi_job_wants_stop(flight->jobs[i], flight->worker, now, &outcome);
		if (status != PSG_OK)
			end_one(flight->worker->executor, flight, i, outcome,
				psgi_job_stopped(status, &error), &error, now);
	}
	return flight->left == 0;
}

/* Between the steps, where the run before it may end. */
static bool stop(void *user)
{
	psgi_flight *flight = user;

	psgi_flight_poll(flight->worker->executor);
	return stop_some(flight);
}

static bool settle(void *user)
{
	const psgi_flight *flight = user;

	return psgi_flight_settle(flight->worker->executor);
}

/* --- the run --- */

/* INVALID when an output has no row for each sample. */
static psg_status check_rows(const psgi_flight *flight, psg_error *error)
{
	for (size_t i = 0; i < flight->n_out; i++) {
		const psg_shape *shape = psg_tensor_shape(flight->out[i]);

		if (shape->rank < 1 || shape->dim[0] != (int64_t)flight->size)
			return psgi_fail(error, PSG_INVALID,
					 "output %zu of a batch of %zu has no row for each", i,
					 flight->size);
	}
	return PSG_OK;
}

static psg_status start_model(psgi_flight *flight, psg_device *device, psg_error *error)
{
	const psgi_start_hooks hooks = { stop, settle, flight };
	psg_batcher *batcher = flight->batcher;
	psg_tensor *samples[PSGI_BATCH_MOST], *packed = NULL;
	psg_status status;

	for (size_t i = 0; i < flight->n; i++)
		samples[i] = psgi_extra_of(flight->jobs[i])->sample.in;
	status = psgi_rows_pack(&batcher->rows, samples, flight->n, flight->size, &packed, error);
	if (status == PSG_OK)
		status = psgi_model_start(batcher->model, device, &packed, 1,
					  psg_model_outputs(batcher->model), &hooks, &flight->run,
					  error);
	psg_tensor_unref(packed);
	psgi_rows_done(&batcher->rows);
	return status;
}

psg_status psgi_batch_finish(psgi_flight *flight)
{
	psg_batcher *batcher = flight->batcher;
	psg_status status;

	if (!psgi_started_is_done(&flight->run) && stop_some(flight)) {
		psgi_started_drop(&flight->run);
		return PSG_CANCELLED;
	}
	status = psgi_started_finish(&flight->run, flight->out, &flight->error);
	if (status != PSG_OK)
		return status;
	flight->n_out = psg_model_outputs(batcher->model);
	status = check_rows(flight, &flight->error);
	if (status != PSG_OK)
		batcher->no_rows = true;
	return status;
}

/* --- results --- */

static psg_status cut_one(const psgi_flight *flight, size_t row, psg_error *error)
{
	psgi_extra *extra = psgi_extra_of(flight->jobs[row]);

	extra->out = extra->few_out;
	for (extra->n_out = 0; extra->n_out < flight->n_out; extra->n_out++) {
		psg_status status = psgi_rows_cut(flight->out[extra->n_out], row,
						  &extra->few_out[extra->n_out], error);

		if (status != PSG_OK)
			return status;
	}
	return PSG_OK;
}

/* To those that are left. */
static void hand_out(psgi_executor *executor, psgi_flight *flight)
{
	psg_status status[PSGI_BATCH_MOST];
	int64_t now;

	for (size_t i = 0; i < flight->n; i++)
		if (flight->jobs[i] != NULL)
			status[i] = cut_one(flight, i, &flight->error);
	now = psg_now_ns();
	for (size_t i = 0; i < flight->n; i++)
		if (flight->jobs[i] != NULL)
			end_one(executor, flight, i,
				status[i] == PSG_OK ? PSGI_COMPLETED : PSGI_FAILED, status[i],
				&flight->error, now);
}

/* --- starting --- */

static void begin(const psgi_flight *flight)
{
	for (size_t i = 0; i < flight->n; i++) {
		psg_future *future = &flight->jobs[i]->future;
		int64_t queued = atomic_load_explicit(&future->queued_ns, memory_order_relaxed);
		int64_t now = flight->started_ns;

		/* It may have come after the clock was read. */
		atomic_store_explicit(&future->started_ns, now > queued ? now : queued,
				      memory_order_relaxed);
		psgi_observe_start_together(flight->jobs[i]);
		psgi_stall_mark(flight->worker, flight->jobs[i]);
	}
}

static int64_t widest(psgi_job *const *jobs, size_t n)
{
	int64_t width = 0;

	for (size_t i = 0; i < n; i++)
		if (psgi_sample_elements(jobs[i]) > width)
			width = psgi_sample_elements(jobs[i]);
	return width;
}

static psgi_observed_batch seen_of(const psgi_flight *flight)
{
	return (psgi_observed_batch){ flight->batcher->model, flight->n, flight->size,
				      flight->width };
}

/* Starts claimed ones together; the flight was cleared. */
static void start(psgi_executor *executor, psgi_flight *flight, psg_batcher *batcher,
		  psgi_job *const *jobs, size_t n)
{
	psgi_observed_batch seen;

	memcpy(flight->jobs, jobs, n * sizeof(psgi_job *));
	flight->n = flight->left = n;
	flight->size = psgi_batch_size(n);
	flight->width = widest(jobs, n);
	flight->started_ns = psg_now_ns();
	flight->batcher = batcher;
	/* Relaxed: one of its samples holds it. */
	atomic_fetch_add_explicit(&batcher->holders, 1, memory_order_relaxed);
	begin(flight);
	seen = seen_of(flight);
	psgi_observe_batch_start(flight->worker, &seen);
	psgi_run_begin_use(executor, flight->worker);
	flight->status = start_model(flight, executor->device, &flight->error);
	psgi_run_end_use(executor);
}

/* --- when memory is short, or one of them fails --- */

/* Runs after one that memory was too short for, until it is believed to be there again; chosen. */
#define WARY_RUNS 64

/* Those that are to be run again. */
static size_t drop_ended(psg_worker *worker, psgi_job **jobs, size_t n)
{
	size_t left = 0;

	for (size_t i = 0; i < n; i++) {
		if (jobs[i] == NULL)
			continue;
		if (psgi_stall_reclaim(worker, jobs[i]))
			jobs[left++] = jobs[i];
		else
			psgi_stall_drop(jobs[i]);
	}
	return left;
}

/* So many were too many. */
static void be_wary(psg_batcher *batcher, size_t n, int64_t width)
{
	psgi_need *need = &batcher->need;
	size_t fewer = n / 2;

	psgi_count(&batcher->splits);
	batcher->wary_runs = WARY_RUNS;
	if (need->bytes <= 0) {
		need->bytes = 1; /* any: what counts is how many fit */
		need->width = width;
	}
	while (psgi_need_most(need, width) > fewer && need->room > 1)
		need->room /= 2;
}

/* Runs claimed ones, which have ended afterwards. */
static void run_all(psgi_executor *executor, psg_worker *worker, psg_batcher *batcher,
		    psgi_job *const *jobs, size_t n)
{
	psgi_flight flight;

	if (n == 1) { /* as if there were no batcher */
		executor->now_ns = psg_now_ns();
		psgi_run_claimed(executor, worker, jobs[0]);
		return;
	}
	psgi_flight_clear(&flight, worker);
	start(executor, &flight, batcher, jobs, n);
	if (flight.status == PSG_OK)
		flight.status = psgi_batch_finish(&flight);
	/* NOLINTNEXTLINE(misc-no-recursion): six deep, for 64 */
	psgi_batch_end(executor, &flight);
}

static void run_again(psgi_executor *executor, psgi_flight *flight)
{
	size_t n = drop_ended(flight->worker, flight->jobs, flight->n);
	psgi_job **jobs = flight->jobs;

	if (n > 1 && flight->status == PSG_OOM) {
		be_wary(flight->batcher, n, flight->width);
		/* NOLINTBEGIN(misc-no-recursion): as above */
		run_all(executor, flight->worker, flight->batcher, jobs, n / 2);
		run_all(executor, flight->worker, flight->batcher, jobs + n / 2, n - n / 2);
		/* NOLINTEND(misc-no-recursion) */
		return;
	}
	for (size_t i = 0; i < n; i++)
		run_all(executor, flight->worker, flight->batcher, &jobs[i], 1);
}

void psgi_batch_end(psgi_executor *executor, psgi_flight *flight)
{
	psgi_observed_batch seen = seen_of(flight);
	int64_t now = psg_now_ns();
	int64_t ns = psgi_flight_ns(executor, flight->started_ns, now);

	psgi_run_note_use(executor);
	psgi_run_account(flight->worker, ns, (uint32_t)flight->n);
	psgi_observe_batch(flight->worker, &seen, flight->status, ns, now);
	if (flight->status == PSG_OK) {
		psgi_batcher_note(flight->batcher, flight->left, flight->size, flight->width, ns);
		hand_out(executor, flight);
	}
	for (size_t i = 0; i < flight->n_out; i++)
		psg_tensor_unref(flight->out[i]);
	executor->landed_ns = now;
	executor->now_ns = psg_now_ns();
	if (flight->status != PSG_OK)
		run_again(executor, flight);
	psgi_batcher_drop(flight->batcher);
}

void psgi_batch_launch(psgi_executor *executor, psg_worker *worker, psg_batcher *batcher,
		       psgi_job *const *jobs, size_t n)
{
	psgi_flight *flight;

	if (n == 1) {
		executor->now_ns = psg_now_ns();
		psgi_run_or_launch(executor, worker, jobs[0]);
	} else if (psgi_flight_may(executor, worker)) {
		flight = psgi_flight_begin(executor, worker);
		start(executor, flight, batcher, jobs, n);
		psgi_flight_launched(executor, flight);
	} else {
		run_all(executor, worker, batcher, jobs, n);
	}
}
