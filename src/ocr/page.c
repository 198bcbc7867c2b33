/* SPDX-License-Identifier: Apache-2.0 */
/* The page's state machine: wake-ups, jobs, stages, the end. */
#include "config.h"

#include "ocr/page.h"

#include <stdlib.h>
#include <string.h>

/* Jobs that a page may have at a worker: one that runs and one that is next (chosen: more would
 * only keep other pages' jobs waiting). */
#define JOBS_AT_A_WORKER 2

/*
 * Samples of one job.  On a CPU a batch is no faster than its samples one by one (measured: eight
 * lines of 320 columns 45 ms each, one 32 ms), and would need a plan for every size; on a GPU one
 * line does not fill the card (chosen, until a batcher decides from measured times).
 */
static const size_t cpu_samples[PSGI_STAGES] = { 1, 1, 1, 0 };
static const size_t cuda_samples[PSGI_STAGES] = { 1, 16, 8, 0 };

/* --- life --- */

static void free_page(psgi_page *page)
{
	if (page == NULL)
		return;
	psgi_stages_free(page);
	if (page->result != NULL)
		psgi_result_free(page->result);
	free(page->slots);
	free(page->tried);
	free(page);
}

static void cancel_hook(psg_future *future, void *owner)
{
	(void)future;
	psgi_page_wake(owner, PSGI_WAKE);
}

static void run(psgi_task *task);

psg_status psgi_page_create(psg_ocr *ocr, const void *data, size_t size, int32_t index,
			    const psg_job_options *options, psgi_page **out, psg_error *error)
{
	psgi_page *page = calloc(1, sizeof(*page));
	psg_status status = PSG_OK;

	*out = NULL;
	if (page != NULL) {
		page->n_slots = JOBS_AT_A_WORKER * ocr->n_workers;
		page->slots = calloc(page->n_slots, sizeof(*page->slots));
		page->tried = calloc(ocr->n_workers, sizeof(*page->tried));
		page->data = malloc(size > 0 ? size : 1);
	}
	if (page == NULL || page->slots == NULL || page->tried == NULL || page->data == NULL)
		status = psgi_fail(error, PSG_NOMEM, "no memory for a page of %zu bytes", size);
	if (status == PSG_OK)
		status = psgi_promise_create(options, cancel_hook, page, &page->future, error);
	if (status != PSG_OK) {
		free_page(page);
		return status;
	}
	if (size > 0)
		memcpy(page->data, data, size);
	page->size = size;
	page->index = index;
	page->ocr = ocr;
	page->task.run = run;
	page->stage = -1;
	page->submitted_ns = psg_now_ns();
	page->deadline_ns = PSGI_NEVER;
	if (options != NULL)
		page->priority = options->priority;
	if (options != NULL && options->deadline_ns != 0)
		page->deadline_ns = options->deadline_ns;
	for (size_t i = 0; i < page->n_slots; i++)
		page->slots[i].page = page;
	*out = page;
	return PSG_OK;
}

/*
 * Release: what was done before the wake-up is seen by the runner; acquire: who finds 0 goes on
 * from where the last runner stopped.  With anything else there the page has a runner that has yet
 * to come here, and it is not ours to touch any more.
 */
void psgi_page_wake(psgi_page *page, uint64_t wake)
{
	if (atomic_fetch_add_explicit(&page->wakes, wake, memory_order_acq_rel) == 0)
		psgi_pool_post(page->ocr->pool, &page->task);
}

/* --- errors --- */

/* The first error is the page's; `error` holds its message. */
static void fail(psgi_page *page, const char *where, psg_error *error)
{
	if (page->status != PSG_OK)
		return;
	/* Some rooms name the stage themselves. */
	if (strncmp(error->message, where, strlen(where)) != 0)
		psgi_error_prefix(error, "%s", where);
	page->status = error->code;
	page->error = *error;
}

static const char *place(const psgi_page *page)
{
	return page->stage < 0 ? "waiting" : psgi_stages[page->stage].job_name;
}

/* Is there anybody who still wants it? */
static void look(psgi_page *page)
{
	psg_error error = PSG_ERROR_INIT;
	int64_t now = psg_now_ns();

	if (page->status != PSG_OK)
		return;
	if (atomic_load_explicit(&page->ocr->closing, memory_order_relaxed))
		(void)psgi_fail(&error, PSG_CANCELLED, "the engine is closing");
	else if (!psgi_promise_unwanted(page->future))
		return;
	else if (page->deadline_ns <= now)
		(void)psgi_fail(&error, PSG_TIMED_OUT, "the deadline passed %.1f ms ago",
				(double)(now - page->deadline_ns) / (double)PSG_MILLISECOND);
	else
		(void)psgi_fail(&error, PSG_CANCELLED, "cancelled by the caller");
	fail(page, place(page), &error);
}

/* --- jobs --- */

/* On the worker's thread, or a canceller's: must be short. */
static void job_done(psg_future *future, void *user)
{
	psgi_slot *slot = user;
	psgi_page *page = slot->page;
	psg_tensor *const *tensors;
	size_t n;

	slot->status = psg_future_tensors(future, &tensors, &n, &slot->error);
	if (slot->status == PSG_OK && n != 1)
		slot->status = psgi_fail(&slot->error, PSG_INVALID, "%zu outputs, want 1", n);
	if (slot->status == PSG_OK)
		slot->out = psg_tensor_ref(tensors[0]);
	/* Release, with the runner's acquire: the three fields above. */
	atomic_store_explicit(&slot->ended, true, memory_order_release);
	psgi_engine_job_ended(page->ocr);
	psgi_page_wake(page, PSGI_WAKE_JOB);
}

static void harvest(psgi_page *page)
{
	for (size_t i = 0; i < page->n_slots; i++) {
		psgi_slot *slot = &page->slots[i];

		if (slot->future == NULL ||
		    !atomic_load_explicit(&slot->ended, memory_order_acquire))
			continue;
		/* The handle was kept until now so that the runner could cancel the job. */
		psg_future_release(slot->future);
		slot->future = NULL;
		if (slot->status == PSG_OK && page->status == PSG_OK)
			slot->status = psgi_stages[page->stage].take(page, slot, &slot->error);
		if (slot->status != PSG_OK)
			fail(page, psgi_stages[page->stage].job_name, &slot->error);
		psg_tensor_unref(slot->out);
		slot->out = NULL;
	}
}

static psgi_slot *free_slot(psgi_page *page)
{
	for (size_t i = 0; i < page->n_slots; i++)
		if (page->slots[i].future == NULL)
			return &page->slots[i];
	return NULL;
}

/* The untried worker with the least waiting; NULL: all are tried. */
static psg_worker *least_loaded(psgi_page *page)
{
	const psg_ocr *ocr = page->ocr;
	uint64_t least = UINT64_MAX;
	size_t best = SIZE_MAX;

	for (size_t i = 0; i < ocr->n_workers; i++) {
		uint64_t load = page->tried[i] ? UINT64_MAX : psgi_worker_load(ocr->workers[i]);

		if (!page->tried[i] && (best == SIZE_MAX || load < least)) {
			best = i;
			least = load;
		}
	}
	if (best == SIZE_MAX)
		return NULL;
	page->tried[best] = true;
	return ocr->workers[best];
}

static psg_model *stage_model(const psgi_page *page)
{
	const psgi_models *models = &page->ocr->models;

	return page->stage == PSGI_DETECT   ? models->detect
	       : page->stage == PSGI_DIRECT ? models->direct
					    : models->recognise;
}

/* Submits page->input to the least loaded worker that takes it; FULL when one would later. */
static psg_status submit(psgi_page *page, psgi_slot *slot, psg_error *error)
{
	psg_job_options options = { .deadline_ns = page->deadline_ns,
				    .priority = page->priority,
				    .done = job_done,
				    .user = slot };
	psg_status status = PSG_SHUTDOWN;
	psg_worker *worker;
	bool full = false;

	memset(page->tried, 0, page->ocr->n_workers * sizeof(*page->tried));
	atomic_store_explicit(&slot->ended, false, memory_order_relaxed);
	while ((worker = least_loaded(page)) != NULL) {
		status = psg_submit_model(worker, stage_model(page), &page->input, 1, &options,
					  &slot->future, error);
		if (status == PSG_OK) {
			(void)atomic_fetch_add(&page->ocr->jobs_started, 1);
			page->started++;
			if (page->stage == PSGI_DETECT)
				page->detected_by = worker;
			return PSG_OK;
		}
		full = full || status == PSG_FULL;
		if (status != PSG_FULL && status != PSG_SHUTDOWN)
			break;
	}
	slot->future = NULL;
	return full ? PSG_FULL : status;
}

static size_t samples_of_a_job(const psgi_page *page)
{
	const psg_device_info *info = psg_worker_device(page->ocr->workers[0]);
	const size_t *table = info->kind == PSG_DEVICE_CPU ? cpu_samples : cuda_samples;
	size_t left = page->todo - page->next_todo, most = table[page->stage];

	return left < most ? left : most;
}

static void submit_jobs(psgi_page *page)
{
	const psgi_stage *stage = &psgi_stages[page->stage];
	psgi_slot *slot;

	while (page->next_todo < page->todo && (slot = free_slot(page)) != NULL) {
		psg_error error = PSG_ERROR_INIT;
		psg_status status = PSG_OK;
		uint64_t before = atomic_load(&page->ocr->jobs_ended);

		if (page->input == NULL) {
			page->n_input = samples_of_a_job(page);
			status = stage->make(page, &page->n_input, &page->input, &error);
		}
		if (status == PSG_OK)
			status = submit(page, slot, &error);
		if (status == PSG_FULL) {
			psgi_engine_park(page->ocr, page, before);
			return;
		}
		if (status != PSG_OK) {
			fail(page, stage->job_name, &error);
			return;
		}
		slot->first = page->next_todo;
		slot->n = page->n_input;
		page->next_todo += page->n_input;
		psg_tensor_unref(page->input);
		page->input = NULL;
	}
}

static void cancel_jobs(psgi_page *page)
{
	for (size_t i = 0; i < page->n_slots; i++)
		if (page->slots[i].future != NULL)
			(void)psg_future_cancel(page->slots[i].future);
}

/* --- stages --- */

/* The time since the last mark, which is moved to now. */
static double lap_ms(psgi_page *page)
{
	int64_t before = page->mark_ns;

	page->mark_ns = psg_now_ns();
	return (double)(page->mark_ns - before) / (double)PSG_MILLISECOND;
}

static void next_stage(psgi_page *page)
{
	psg_error error = PSG_ERROR_INIT;

	if (page->stage >= 0)
		page->jobs_ms[page->stage] = lap_ms(page);
	else
		page->mark_ns = psg_now_ns();
	page->stage++;
	page->todo = 0;
	page->next_todo = 0;
	if (psgi_stages[page->stage].begin(page, &error) != PSG_OK)
		fail(page, psgi_stages[page->stage].host_name, &error);
	page->host_ms[page->stage] = lap_ms(page);
}

/* Goes on until jobs must be waited for, or the text is there. */
static void work(psgi_page *page)
{
	if (page->stage < 0) {
		if (!psgi_engine_enter(page->ocr, page))
			return;
		psgi_promise_start(page->future);
	}
	while (page->status == PSG_OK) {
		if (page->next_todo < page->todo)
			submit_jobs(page);
		if (page->started != page->ended || page->next_todo < page->todo ||
		    page->stage == PSGI_TEXT)
			return;
		next_stage(page);
		look(page);
	}
}

static void finish(psgi_page *page)
{
	psg_page *result = page->result;

	page->result = NULL;
	psgi_stages_free(page);
	/* First, so that who waits for the page may submit the next one. */
	psgi_engine_leave(page->ocr, page);
	if (page->status != PSG_OK && result != NULL) {
		psgi_result_free(result);
		result = NULL;
	}
	psgi_promise_complete(page->future, page->status,
			      page->status != PSG_OK ? &page->error : NULL, result,
			      psgi_result_free);
	free_page(page);
}

/* True: the page is over and gone. */
static bool step(psgi_page *page)
{
	harvest(page);
	look(page);
	if (page->status == PSG_OK)
		work(page);
	if (page->status != PSG_OK)
		cancel_jobs(page);
	if (page->started != page->ended || (page->status == PSG_OK && page->stage != PSGI_TEXT))
		return false;
	finish(page);
	return true;
}

/*
 * `wakes` goes back to 0 only when nothing came in while the page was worked
 * on.  Else the page goes to the end of the pool's queue: what it waits for may
 * be the work of a page that is before it there.  A page that is over leaves
 * `wakes` above 0, so that a late canceller, whom psgi_promise_complete waits
 * for, does not post it again.
 */
static void run(psgi_task *task)
{
	psgi_page *page = (psgi_page *)(void *)task;
	uint64_t seen = atomic_load_explicit(&page->wakes, memory_order_acquire);

	page->ended += seen / PSGI_WAKE_JOB;
	if (step(page))
		return;
	if (atomic_fetch_sub_explicit(&page->wakes, seen, memory_order_acq_rel) != seen)
		psgi_pool_post(page->ocr->pool, task);
}
