/* SPDX-License-Identifier: Apache-2.0 */
/* Choosing the samples that share a run. */
#include "config.h"

#include "jobs/batch.h"

#include "device/device.h"
#include "jobs/batcher.h"
#include "jobs/flight.h"
#include "jobs/look.h"
#include "jobs/run.h"
#include "jobs/serve.h"

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

/* --- their turn --- */

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
		psgi_batch_launch(batch->executor, batch->worker, batch->batcher, batch->jobs,
				  batch->n);
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
