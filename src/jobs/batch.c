/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "jobs/batch.h"

#include "device/device.h"
#include "jobs/batcher.h"
#include "jobs/flight.h"
#include "jobs/look.h"
#include "jobs/run.h"
#include "jobs/serve.h"

_Static_assert(PSG_MAX_OUTPUTS <= PSGI_SLOT_TENSORS, "outputs of any model fit into a slot");

struct batch {
	psgi_executor *executor;
	psg_worker *worker;
	psg_batcher *batcher;
	/* What waits and fits, the one whose turn it is first. */
	psgi_candidate candidates[PSGI_BATCH_MOST];
	psgi_job *jobs[PSGI_BATCH_MOST];
	size_t n;
	bool others; /* something else waits, too */
};

static bool is_on_cpu(const struct batch *batch)
{
	return batch->executor->info.kind == PSG_DEVICE_CPU;
}

/* --- who waits --- */

static void add(struct batch *batch, psgi_job *job)
{
	/* Relaxed: the ring that brought the job ordered this. */
	batch->candidates[batch->n] = (psgi_candidate){
		.width = psgi_sample_elements(job),
		.queued_ns = atomic_load_explicit(&job->future.queued_ns, memory_order_relaxed),
		.deadline_ns = atomic_load_explicit(&job->future.deadline_ns, memory_order_relaxed),
	};
	batch->jobs[batch->n++] = job;
}

static bool is_ours(const struct batch *batch, const psgi_job *job)
{
	return job->kind == PSGI_JOB_SAMPLE && psgi_extra_of(job)->sample.batcher == batch->batcher;
}

static bool fits(const struct batch *batch, const psgi_job *job)
{
	const psgi_extra *first = psgi_extra_of(batch->jobs[0]), *extra = psgi_extra_of(job);

	return is_ours(batch, job) && psgi_rows_fit(&first->sample.shape, first->sample.axis,
						    &extra->sample.shape, extra->sample.axis);
}

/* Not when it has ended while it waited.  Relaxed: claiming it decides. */
static bool is_wanted(const struct batch *batch, const psgi_job *job)
{
	const psg_future *future = &job->future;

	return psgi_future_is(atomic_load_explicit(&future->word, memory_order_relaxed),
			      PSGI_QUEUED) &&
	       atomic_load_explicit(&future->deadline_ns, memory_order_relaxed) >
		       batch->executor->now_ns;
}

/* One that has ended stays until its turn comes. */
static psgi_sifted consider(void *user, psgi_job *job)
{
	struct batch *batch = user;

	if (batch->n == PSGI_BATCH_MOST)
		return PSGI_ENOUGH;
	if (!fits(batch, job)) {
		batch->others = true;
		return PSGI_LEAVE;
	}
	if (is_wanted(batch, job))
		add(batch, job);
	return PSGI_LEAVE;
}

/* Arrivals are told in their order, which is not that of turns. */
static void note_pace(struct batch *batch)
{
	int64_t queued[PSGI_BATCH_MOST];

	for (size_t i = 0; i < batch->n; i++) {
		int64_t ns = batch->candidates[i].queued_ns;
		size_t k = i;

		for (; k > 0 && queued[k - 1] > ns; k--)
			queued[k] = queued[k - 1];
		queued[k] = ns;
	}
	for (size_t i = 0; i < batch->n; i++)
		psgi_pace_note(&batch->batcher->pace, queued[i]);
}

/* All that wait, of the class of the first one. */
static void gather(struct batch *batch)
{
	psgi_queue *queue = &batch->worker->queue;
	int rank = batch->jobs[0]->rank;

	psgi_look(batch->worker, batch->executor->now_ns);
	batch->n = 1;
	batch->others = false;
	psgi_queue_sift(queue, rank, consider, batch);
	for (int other = 0; other < PSGI_RANKS; other++)
		if (other != rank &&
		    (queue->last_turn[other] != NULL || queue->earliest[other] != NULL))
			batch->others = true;
	note_pace(batch);
}

/* --- how many there may be --- */

/* Runs after one that memory was too short for, until it is believed to be there again; chosen. */
#define WARY_RUNS 64

static int64_t free_bytes(const struct batch *batch)
{
	const psgi_memory_account *account = batch->worker->account;
	psgi_device_memory memory;
	size_t room, share;

	psgi_device_memory_get(batch->executor->device, &memory);
	room = memory.limit > memory.used ? memory.limit - memory.used : 0;
	if (account != NULL) {
		share = account->limit > account->used ? account->limit - account->used : 0;
		room = share < room ? share : room;
	}
	return room < INT64_MAX ? (int64_t)room : INT64_MAX;
}

/* As much as there is when nothing is in flight, where that decides how many may run. */
static void look_for_room(struct batch *batch, int64_t width)
{
	psg_batcher *batcher = batch->batcher;
	psgi_need *need = &batcher->need;

	if (batcher->wary_runs > 0) {
		batcher->wary_runs--;
		return;
	}
	need->room = batcher->memory_bytes != 0 ? batcher->memory_bytes : free_bytes(batch);
	if (batcher->memory_bytes == 0 && psgi_need_most(need, width) < batcher->most &&
	    psgi_flight_land(batch->executor))
		need->room = free_bytes(batch);
}

/* What a run of this sample alone takes.  Where that cannot be told, the run will tell. */
static void plan_alone(struct batch *batch, const psgi_job *job)
{
	psg_shape shape = psgi_extra_of(job)->sample.shape;
	psgi_need *need = &batch->batcher->need;
	psg_model_stats stats;
	psg_error error;

	(void)psgi_flight_land(batch->executor); /* it takes some 10 ms */
	need->width = psgi_sample_elements(job);
	need->bytes = 0;
	psgi_run_begin_use(batch->executor, batch->worker);
	if (psg_model_stats_get(batch->batcher->model, batch->executor->device, &shape, 1, &stats,
				&error) == PSG_OK)
		need->bytes = stats.peak_bytes;
	psgi_run_end_use(batch->executor);
}

/*
 * Only where a batch could be, and only when what is known of narrower samples does not already
 * say that all may run together: planning takes some 10 ms.
 */
static void bound_by_memory(struct batch *batch)
{
	psgi_need *need = &batch->batcher->need;
	size_t widest = 0;

	if (is_on_cpu(batch) || batch->n < 2)
		return;
	for (size_t i = 1; i < batch->n; i++)
		if (batch->candidates[i].width > batch->candidates[widest].width)
			widest = i;
	look_for_room(batch, batch->candidates[widest].width);
	if (batch->candidates[widest].width > need->width &&
	    (need->bytes == 0 ||
	     psgi_need_most(need, batch->candidates[widest].width) < batch->batcher->most))
		plan_alone(batch, batch->jobs[widest]);
}

/*
 * Before the base is known as much is taken as there is, so that it will be; on a CPU two,
 * because there a larger run gains little and keeps others waiting.
 */
static psgi_terms terms_of(const struct batch *batch)
{
	const psg_batcher *batcher = batch->batcher;
	psgi_terms terms = {
		.base_ns = batcher->fit.base_ns,
		.column_ns = batcher->fit.column_ns,
		.most = batcher->no_rows ? 1 : batcher->most,
		.need = batcher->need,
		.may_wait = batcher->fit.known && !is_on_cpu(batch),
		.crowd = batcher->crowd,
		.max_delay_ns = batcher->max_delay_ns,
		.now_ns = batch->executor->now_ns,
	};

	if (!batcher->fit.known) {
		terms.base_ns = (double)PSG_SECOND;
		terms.column_ns = 1e-6; /* any: the base outweighs it */
		if (is_on_cpu(batch) && terms.most > 2)
			terms.most = 2;
	}
	return terms;
}

/* --- beside another run --- */

/*
 * Is it as large as it may be, or are there more than are looked at?  Else who comes while the card
 * is busy may still go with it, and those that wait are not kept by that.
 */
static bool is_full(struct batch *batch)
{
	psgi_terms terms = terms_of(batch);
	size_t chosen = psgi_choice_pick(&terms, batch->candidates, batch->n);
	int64_t width = 0;

	for (size_t i = 0; i < batch->n; i++)
		if (batch->candidates[i].chosen && batch->candidates[i].width > width)
			width = batch->candidates[i].width;
	return batch->n == PSGI_BATCH_MOST || chosen >= psgi_choice_most(&terms, width);
}

/* --- waiting for more --- */

/* Would the device be idle otherwise, and may the samples be kept? */
static bool may_wait(const struct batch *batch)
{
	return !batch->others &&
	       !atomic_load_explicit(&batch->executor->attention, memory_order_relaxed) &&
	       !atomic_load_explicit(&batch->worker->refusing, memory_order_relaxed) &&
	       !psgi_serve_has_others(batch->executor, batch->worker);
}

/* Until when it is worth it; not after now: not at all. */
static int64_t worth_until(const struct batch *batch)
{
	psgi_terms terms;

	if (!may_wait(batch))
		return 0;
	terms = terms_of(batch);
	return psgi_choice_wait(&terms, &batch->batcher->pace, batch->candidates, batch->n);
}

static psgi_sifted take_this(void *user, psgi_job *job)
{
	return job == user ? PSGI_TAKE : PSGI_LEAVE;
}

/* The one whose turn it is may have ended while it waited: then it is the next one's. */
static void pass_turn(struct batch *batch)
{
	while (batch->n > 0 && !is_wanted(batch, batch->jobs[0])) {
		psgi_job *ended = batch->jobs[0];
		int rank = ended->rank;

		batch->n--;
		for (size_t i = 0; i < batch->n; i++) {
			batch->jobs[i] = batch->jobs[i + 1];
			batch->candidates[i] = batch->candidates[i + 1];
		}
		if (batch->n > 0)
			psgi_queue_sift(&batch->worker->queue, rank, take_this, batch->jobs[0]);
		(void)psgi_run_claim(batch->executor, batch->worker, ended);
	}
}

/*
 * The gaps remember a crowd for a while that has gone: so waits of somebody who is alone which
 * bring nobody are left out more and more often.
 */
static void wait_for_more(struct batch *batch)
{
	psg_batcher *batcher = batch->batcher;
	int64_t began = batch->executor->now_ns, until = worth_until(batch);
	bool alone = batch->n == 1;

	if (until <= began || (alone && !psgi_patience_lasts(&batcher->patience)))
		return;
	do {
		psgi_serve_await(batch->executor, until);
		gather(batch);
		pass_turn(batch);
		until = batch->n > 0 ? worth_until(batch) : 0;
	} while (until > batch->executor->now_ns);
	if (alone)
		psgi_patience_note(&batcher->patience, batch->n <= 1);
	psgi_count(&batcher->waits);
	psgi_count_more(&batcher->waited_ns, (uint64_t)(batch->executor->now_ns - began));
}

/* --- taking them --- */

static psgi_sifted take_chosen(void *user, psgi_job *job)
{
	const struct batch *batch = user;

	if (!is_ours(batch, job))
		return PSGI_LEAVE;
	for (size_t i = 1; i < batch->n; i++)
		if (batch->jobs[i] == job)
			return batch->candidates[i].chosen ? PSGI_TAKE : PSGI_LEAVE;
	return PSGI_LEAVE;
}

/* Leaves those that are to run now, all claimed. */
static void take(struct batch *batch)
{
	psgi_terms terms = terms_of(batch);
	size_t n = 0;

	if (psgi_choice_pick(&terms, batch->candidates, batch->n) > 1)
		psgi_queue_sift(&batch->worker->queue, batch->jobs[0]->rank, take_chosen, batch);
	for (size_t i = 0; i < batch->n; i++)
		if (batch->candidates[i].chosen &&
		    psgi_run_claim(batch->executor, batch->worker, batch->jobs[i]))
			batch->jobs[n++] = batch->jobs[i];
	batch->n = n;
}

/* --- running them --- */

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

/* The like of run_all for those that were taken now: they may be in flight afterwards. */
static void run_or_launch(const struct batch *batch)
{
	psgi_executor *executor = batch->executor;
	psgi_flight *flight;

	if (batch->n == 1) {
		executor->now_ns = psg_now_ns();
		psgi_run_or_launch(executor, batch->worker, batch->jobs[0]);
	} else if (psgi_flight_may(executor, batch->worker)) {
		flight = psgi_flight_begin(executor, batch->worker);
		start(executor, flight, batch->batcher, batch->jobs, batch->n);
		psgi_flight_launched(executor, flight);
	} else {
		run_all(executor, batch->worker, batch->batcher, batch->jobs, batch->n);
	}
}

/* Gathers what waits beside the first one, which is none where that has ended meanwhile. */
static void gather_beside(struct batch *batch)
{
	psgi_executor *executor = batch->executor;

	gather(batch);
	if (executor->pending == NULL || is_full(batch))
		return;
	(void)psgi_flight_land(executor);
	executor->now_ns = psg_now_ns();
	gather(batch);
	pass_turn(batch);
}

static void choose_and_run(struct batch *batch)
{
	if (batch->executor->pending == NULL && batch->n > 0)
		wait_for_more(batch);
	bound_by_memory(batch);
	if (batch->n > 0)
		take(batch);
	if (batch->n > 0)
		run_or_launch(batch);
}

void psgi_batch_run(psgi_executor *executor, psg_worker *worker, psgi_job *sample)
{
	struct batch batch = { .executor = executor,
			       .worker = worker,
			       .batcher = psgi_extra_of(sample)->sample.batcher };

	if (!psgi_flight_may(executor, worker))
		(void)psgi_flight_land(executor);
	executor->now_ns = psg_now_ns();
	if (!is_wanted(&batch, sample)) {
		/* Others would keep a place for it, which it then leaves empty. */
		(void)psgi_run_claim(executor, worker, sample);
		return;
	}
	/* The last sample's slot may go home while we still count.  Relaxed: its slot holds it. */
	atomic_fetch_add_explicit(&batch.batcher->holders, 1, memory_order_relaxed);
	add(&batch, sample);
	gather_beside(&batch);
	choose_and_run(&batch);
	psgi_batcher_drop(batch.batcher);
}
