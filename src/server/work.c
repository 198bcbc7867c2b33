/* SPDX-License-Identifier: Apache-2.0 */
/* Moving a request's pages through the engine. */
#include "config.h"

#include "server/work.h"

#include "server/document.h"

#include <stdlib.h>
#include <string.h>

/* The engine copies the file for each page that it has: together no more than this, or one copy
 * (chosen). */
#define COPIES (INT64_C(16) << 20)

#define NEWS (UINT64_C(1) << 32) /* in the word: another than a page's end */

/* --- finding pages --- */

/* "Not an image" is another error than "an image, but broken". */
static void not_read(const psg_error *error, srv_problem *problem)
{
	srv_problem_of(error, problem);
	if (error->code == PSG_FORMAT && strncmp(error->message, "TIFF:", 5) != 0)
		problem->kind = SRV_NOT_AN_IMAGE;
}

static bool too_many(srv_work *work, const srv_image *image, int32_t count)
{
	int64_t most = work->server->options->limits.pages;

	if ((int64_t)work->n + count <= most)
		return false;
	srv_problem_set(&work->problem, SRV_TOO_LARGE,
			"a request has at most %lld pages here, and '%.200s' has %d",
			(long long)most, srv_image_name(image), (int)count);
	return true;
}

/* Pages of the image that the engine may have. */
static size_t at_a_time(const srv_image *image)
{
	int64_t copies = COPIES / (int64_t)(image->size + 1);

	if (copies < 1)
		return 1;
	return copies < SRV_PAGES_AT_A_TIME ? (size_t)copies : SRV_PAGES_AT_A_TIME;
}

/* A file of one page is freed when its copy has been made; others stay beside their copies. */
static bool count_copies(srv_work *work, const srv_image *image, int32_t pages)
{
	if (pages == 1 || srv_body_count(work->body, (int64_t)(at_a_time(image) * image->size)))
		return true;
	work->problem = work->body->problem;
	return false;
}

/* False: the problem is set. */
static bool add_pages(srv_work *work, const srv_image *image)
{
	psg_error error = PSG_ERROR_INIT;
	int32_t count = 1;
	psg_status status = psg_image_pages(image->data, image->size, &count, &error);
	srv_page *pages;

	if (status != PSG_OK)
		count = 1;
	if (too_many(work, image, count) || !count_copies(work, image, count))
		return false;
	pages = realloc(work->pages, (work->n + (size_t)count) * sizeof(*pages));
	if (pages == NULL) {
		srv_problem_set(&work->problem, SRV_NO_MEMORY, "no memory for the pages");
		return false;
	}
	work->pages = pages;
	for (int32_t i = 0; i < count; i++)
		pages[work->n++] = (srv_page){ .work = work,
					       .image = image,
					       .index = status == PSG_OK ? i : -1,
					       .error = error };
	return true;
}

/* False: the problem is set. */
static bool find_pages(srv_work *work)
{
	for (size_t i = 0; i < work->body->n; i++)
		if (!add_pages(work, &work->body->images[i]))
			return false;
	if (work->n == 1 && work->pages[0].index < 0) {
		not_read(&work->pages[0].error, &work->problem);
		return false;
	}
	work->engine = srv_engine_hold(work->server);
	if (work->engine != NULL)
		return true;
	srv_problem_set(&work->problem, SRV_UNAVAILABLE, "the server ends");
	work->problem.retry_after_s = 1;
	return false;
}

/* --- pages --- */

/* On any thread.  What is counted last is not touched after: the work may be gone. */
static void tell(srv_work *work, uint64_t news)
{
	if (atomic_fetch_add_explicit(&work->word, news, memory_order_acq_rel) == 0)
		srv_clerks_post(&work->server->clerks, &work->task);
}

/* The library's callback. */
static void page_ended(psg_future *future, void *user)
{
	srv_page *page = user;
	psg_future_times times;

	psg_future_times_get(future, &times);
	srv_metrics_page(&page->work->server->metrics, psg_future_error(future, NULL),
			 times.finished_ns - times.queued_ns);
	tell(page->work, 1);
}

static void submit(srv_work *work, srv_page *page)
{
	const psg_job_options options = { .deadline_ns = work->deadline_ns,
					  .done = page_ended,
					  .user = page };

	if (page->index >= 0 && !work->told &&
	    psg_ocr_submit(work->engine->ocr, page->image->data, page->image->size, page->index,
			   &options, &page->future, &page->error) == PSG_OK)
		return;
	if (page->index >= 0 && work->told)
		page->error = (psg_error){ PSG_CANCELLED, "waiting: cancelled by the caller" };
	srv_metrics_page(&work->server->metrics, page->error.code, 0);
	work->ended++;
}

static void submit_some(srv_work *work)
{
	while (work->submitted < work->n &&
	       work->submitted - work->ended < at_a_time(work->pages[work->submitted].image))
		submit(work, &work->pages[work->submitted++]);
	if (work->submitted == work->n)
		srv_body_drop_images(work->body);
}

/* Those that end so are counted as all others. */
static void cancel_submitted(srv_work *work)
{
	work->told = true;
	for (size_t i = 0; i < work->submitted; i++)
		if (work->pages[i].future != NULL)
			(void)psg_future_cancel(work->pages[i].future);
}

/* False: there is nothing more to wait for. */
static bool advance(srv_work *work)
{
	if (work->engine == NULL && !find_pages(work))
		return false;
	if (!work->told && atomic_load(&work->cancelled))
		cancel_submitted(work);
	submit_some(work);
	return work->ended < work->n;
}

/* --- the work's turn --- */

static void end(srv_work *work)
{
	if (work->engine != NULL)
		srv_document_write(work);
	for (size_t i = 0; i < work->n; i++)
		psg_future_release(work->pages[i].future);
	if (work->engine != NULL)
		srv_engine_drop(work->server, work->engine);
	work->engine = NULL;
	free(work->pages);
	work->pages = NULL;
	srv_body_drop_images(work->body);
	work->done(work->user);
}

/*
 * Until nothing new has come: then the next one to bring news finds 0 and queues the work again.
 * When all pages have ended, the word is left as it is, so that nobody does.
 */
static void run(srv_task *task)
{
	srv_work *work = (srv_work *)(void *)((char *)task - offsetof(srv_work, task));
	uint64_t seen;

	do {
		seen = atomic_load_explicit(&work->word, memory_order_acquire);
		work->ended += (uint32_t)seen;
		if (!advance(work)) {
			end(work);
			return;
		}
	} while (atomic_fetch_sub_explicit(&work->word, seen, memory_order_acq_rel) != seen);
}

void srv_work_start(srv_work *work, void (*done)(void *user), void *user)
{
	work->task.run = run;
	work->done = done;
	work->user = user;
	tell(work, NEWS);
}

/* Sequentially consistent, and before the news: the clerk that sees these sees it. */
void srv_work_cancel(srv_work *work)
{
	atomic_store(&work->cancelled, true);
	tell(work, NEWS);
}

void srv_work_clear(srv_work *work)
{
	free(work->text);
	work->text = NULL;
}
