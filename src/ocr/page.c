/* SPDX-License-Identifier: Apache-2.0 */
/* The page's state machine: wake-ups, stages, the end. */
#include "config.h"

#include "ocr/page.h"

#include "base/trace.h"

#include <stdlib.h>
#include <string.h>

/* --- life --- */

/* All that stages made and jobs keep. */
static void free_work(psgi_page *page)
{
	psgi_stages_free(page);
	psgi_jobs_free(page);
}

static void free_page(psgi_page *page)
{
	if (page == NULL)
		return;
	free_work(page);
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
		page->n_slots = psgi_crew_most_room(&ocr->crew);
		page->slots = calloc(page->n_slots, sizeof(*page->slots));
		page->tried = calloc(psgi_crew_most(&ocr->crew), sizeof(*page->tried));
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

void psgi_page_fail(psgi_page *page, const char *where, psg_error *error)
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
	bool unwanted;
	int64_t now;

	if (page->status != PSG_OK)
		return;
	unwanted = psgi_promise_unwanted(page->future);
	now = psg_now_ns(); /* after it, or a deadline that passes in between would be a cancel */
	if (atomic_load_explicit(&page->ocr->closing, memory_order_relaxed))
		(void)psgi_fail(&error, PSG_CANCELLED, "the engine is closing");
	else if (!unwanted)
		return;
	else if (page->deadline_ns <= now)
		(void)psgi_fail(&error, PSG_TIMED_OUT, "the deadline passed %.1f ms ago",
				(double)(now - page->deadline_ns) / (double)PSG_MILLISECOND);
	else
		(void)psgi_fail(&error, PSG_CANCELLED, "cancelled by the caller");
	psgi_page_fail(page, place(page), &error);
}

/* --- stages --- */

/* The time since the last mark, which is moved to now. */
static double lap_ms(psgi_page *page)
{
	int64_t before = page->mark_ns;

	page->mark_ns = psg_now_ns();
	return (double)(page->mark_ns - before) / (double)PSG_MILLISECOND;
}

/* A page has no number: the time of its submission tells it from others. */
void psgi_page_trace(const psgi_page *page, const char *name, const char *part, int64_t begin_ns)
{
	const psgi_trace_arg args[] = { { "part", part, 0 }, { "page", NULL, page->submitted_ns } };

	if (begin_ns != 0)
		psgi_trace_span("page", name, begin_ns, psg_now_ns(), args, 2);
}

static void next_stage(psgi_page *page)
{
	psg_error error = PSG_ERROR_INIT;
	int64_t begin = psgi_trace_begin();

	if (page->stage >= 0)
		page->jobs_ms[page->stage] = lap_ms(page);
	else
		page->mark_ns = psg_now_ns();
	page->stage++;
	page->todo = 0;
	page->next_todo = 0;
	if (psgi_stages[page->stage].begin(page, &error) != PSG_OK)
		psgi_page_fail(page, psgi_stages[page->stage].host_name, &error);
	page->host_ms[page->stage] = lap_ms(page);
	psgi_page_trace(page, psgi_stages[page->stage].host_name, "begin", begin);
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
		bool more = page->next_todo < page->todo || page->n_going_on > 0;

		if (more)
			psgi_jobs_submit(page);
		if (page->started != page->ended || page->next_todo < page->todo ||
		    page->n_going_on > 0 || page->stage == PSGI_TEXT)
			return;
		next_stage(page);
		look(page);
	}
}

static void count(const psgi_page *page)
{
	psg_ocr *ocr = page->ocr;

	(void)atomic_fetch_add_explicit(page->status == PSG_OK ? &ocr->read : &ocr->failed, 1,
					memory_order_relaxed);
	/* Release, with psg_ocr_stats_get: who sees a fallback sees its page among those read. */
	if (page->status == PSG_OK && page->fallback[0] != '\0')
		(void)atomic_fetch_add_explicit(&ocr->fallbacks, 1, memory_order_release);
}

static void finish(psgi_page *page)
{
	psg_page *result = page->result;

	page->result = NULL;
	free_work(page);
	count(page);
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
	psgi_jobs_harvest(page);
	look(page);
	if (page->status == PSG_OK)
		work(page);
	if (page->status != PSG_OK)
		psgi_jobs_cancel(page);
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
