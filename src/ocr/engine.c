/* SPDX-License-Identifier: Apache-2.0 */
/* Opening and closing an engine, admission of pages, and the lists they wait in. */
#include "config.h"

#include "ocr/engine.h"

#include "base/fork.h"
#include "ocr/page.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define DEFAULT_PAGES 64

/* Host threads at most; chosen: beyond this many cores decoding is never what is waited for. */
#define MOST_HOST_THREADS 64

/* Before another try for a job slot that no job's end will tell of; chosen: a slot comes home
 * within a few microseconds, and a core has better to do than to ask all the time. */
#define RETRY_NS 100000

/* Pages that the host prepares for each GPU; chosen: decoding a page takes a core some times as
 * long as the card has work with it. */
#define PAGES_AHEAD_OF_A_GPU 6

/*
 * Pages that are worked on at a time: two at each worker keep it busy while one is with the host,
 * and some more are being decoded.  The others wait as files, which are small.
 */
static size_t running_pages(const psgi_crew *crew)
{
	size_t ahead = PAGES_AHEAD_OF_A_GPU * psgi_crew_gpus(crew);

	return 2 * psgi_crew_width(crew) + (ahead > 2 ? ahead : 2);
}

/* --- lists; under the lock --- */

/* Behind all of the same priority. */
static void list_add(psgi_page **list, psgi_page *page)
{
	psgi_page **link = list;

	while (*link != NULL && (*link)->priority >= page->priority)
		link = &(*link)->wait_next;
	page->wait_next = *link;
	*link = page;
	page->waits_in = list;
}

static psgi_page *list_pop(psgi_page **list)
{
	psgi_page *page = *list;

	if (page == NULL)
		return NULL;
	*list = page->wait_next;
	page->waits_in = NULL;
	return page;
}

static void list_remove(psgi_page *page)
{
	psgi_page **link = page->waits_in;

	if (link == NULL)
		return;
	while (*link != page)
		link = &(*link)->wait_next;
	*link = page->wait_next;
	page->waits_in = NULL;
}

static void admit_waiting(psg_ocr *ocr)
{
	psgi_page *page;

	while (ocr->n_running < running_pages(&ocr->crew) &&
	       (page = list_pop(&ocr->waiting)) != NULL) {
		page->running = true;
		ocr->n_running++;
		psgi_page_wake(page, PSGI_WAKE);
	}
}

/* --- for pages --- */

bool psgi_engine_enter(psg_ocr *ocr, psgi_page *page)
{
	bool running;

	(void)pthread_mutex_lock(&ocr->lock);
	if (!page->running && page->waits_in == NULL) {
		list_add(&ocr->waiting, page);
		admit_waiting(ocr);
	}
	running = page->running;
	(void)pthread_mutex_unlock(&ocr->lock);
	return running;
}

void psgi_engine_park(psg_ocr *ocr, psgi_page *page, uint64_t before)
{
	(void)pthread_mutex_lock(&ocr->lock);
	if (page->waits_in != NULL) {
		(void)pthread_mutex_unlock(&ocr->lock);
		return;
	}
	/*
	 * Sequentially consistent, as psgi_engine_job_ended's: either that sees n_parked, or this
	 * sees its jobs_ended.
	 */
	(void)atomic_fetch_add(&ocr->n_parked, 1);
	if (atomic_load(&ocr->jobs_ended) == before &&
	    atomic_load(&ocr->jobs_started) > atomic_load(&ocr->jobs_ended)) {
		list_add(&ocr->parked, page);
		(void)pthread_mutex_unlock(&ocr->lock);
		return;
	}
	(void)atomic_fetch_sub(&ocr->n_parked, 1);
	(void)pthread_mutex_unlock(&ocr->lock);
	/* A job has ended, or all have and the last slot is being handed back this moment; but it
	 * may also be held by a job that was submitted from a page's callback. */
	(void)nanosleep(&(struct timespec){ .tv_nsec = RETRY_NS }, NULL);
	psgi_page_wake(page, PSGI_WAKE);
}

void psgi_engine_job_ended(psg_ocr *ocr)
{
	psgi_page *page;

	(void)atomic_fetch_add(&ocr->jobs_ended, 1);
	if (atomic_load(&ocr->n_parked) == 0)
		return;
	/* Woken under the lock, because a page that is over leaves the list under it. */
	(void)pthread_mutex_lock(&ocr->lock);
	while ((page = list_pop(&ocr->parked)) != NULL) {
		(void)atomic_fetch_sub(&ocr->n_parked, 1);
		psgi_page_wake(page, PSGI_WAKE);
	}
	(void)pthread_mutex_unlock(&ocr->lock);
}

/* Counts a page out; under the lock. */
static void count_out(psg_ocr *ocr)
{
	ocr->n_pages--;
	if (ocr->n_pages == 0)
		(void)pthread_cond_broadcast(&ocr->none);
}

void psgi_engine_leave(psg_ocr *ocr, psgi_page *page)
{
	(void)pthread_mutex_lock(&ocr->lock);
	if (page->waits_in == &ocr->parked)
		(void)atomic_fetch_sub(&ocr->n_parked, 1);
	list_remove(page);
	if (page->previous != NULL)
		page->previous->next = page->next;
	else
		ocr->pages = page->next;
	if (page->next != NULL)
		page->next->previous = page->previous;
	if (page->running) {
		ocr->n_running--;
		admit_waiting(ocr);
	}
	count_out(ocr);
	(void)pthread_mutex_unlock(&ocr->lock);
}

/* --- submitting --- */

static bool forked(const psg_ocr *ocr)
{
	return ocr->generation != psgi_fork_generation();
}

/* Counts the page in, or refuses it. */
static psg_status admit(psg_ocr *ocr, psg_error *error)
{
	psg_status status = PSG_OK;

	(void)pthread_mutex_lock(&ocr->lock);
	if (atomic_load_explicit(&ocr->closing, memory_order_relaxed))
		status = psgi_fail(error, PSG_SHUTDOWN, "the engine is closing");
	else if (ocr->n_pages >= ocr->max_pages)
		status = psgi_fail(error, PSG_FULL, "%zu pages are in flight, which is the limit",
				   ocr->n_pages);
	else
		ocr->n_pages++;
	(void)pthread_mutex_unlock(&ocr->lock);
	return status;
}

/* Wakes the pages whose deadline has passed: a page that waits for its turn has no job that would
 * tell it.  One that is woken in vain does no harm. */
static void expire(psgi_task *task)
{
	psg_ocr *ocr = (psg_ocr *)(void *)task;
	int64_t now = psg_now_ns(), next = PSGI_NEVER;

	(void)pthread_mutex_lock(&ocr->lock);
	for (psgi_page *page = ocr->pages; page != NULL; page = page->next) {
		if (page->deadline_ns <= now)
			psgi_page_wake(page, PSGI_WAKE);
		else if (page->deadline_ns < next)
			next = page->deadline_ns;
	}
	psgi_pool_alarm(ocr->pool, &ocr->expiry, next);
	(void)pthread_mutex_unlock(&ocr->lock);
}

/* From here on others may wake the page; woken under the lock, it is not over before that is left.
 */
static void start_page(psg_ocr *ocr, psgi_page *page)
{
	(void)pthread_mutex_lock(&ocr->lock);
	page->next = ocr->pages;
	if (page->next != NULL)
		page->next->previous = page;
	ocr->pages = page;
	psgi_pool_alarm(ocr->pool, &ocr->expiry, page->deadline_ns);
	psgi_page_wake(page, PSGI_WAKE);
	(void)pthread_mutex_unlock(&ocr->lock);
}

static void give_up_place(psg_ocr *ocr)
{
	(void)pthread_mutex_lock(&ocr->lock);
	count_out(ocr);
	(void)pthread_mutex_unlock(&ocr->lock);
}

psg_status psg_ocr_submit(psg_ocr *ocr, const void *data, size_t size, int32_t page,
			  const psg_job_options *options, psg_future **out, psg_error *error)
{
	bool queued = options != NULL && options->queue != NULL;
	psgi_page *made;
	psg_status status;

	if (out == NULL && !queued)
		return psgi_fail(error, PSG_INVALID,
				 "a page needs a future or a queue to be told by");
	if (out != NULL)
		*out = NULL;
	if (data == NULL && size > 0)
		return psgi_fail(error, PSG_INVALID, "a page of %zu bytes at NULL", size);
	if (options != NULL && (options->priority < -1 || options->priority > 1))
		return psgi_fail(error, PSG_INVALID, "priority %d: -1, 0 and 1 are there",
				 (int)options->priority);
	if (forked(ocr))
		return psgi_fail(error, PSG_FORKED,
				 "the engine lives in the parent process: open one here");
	status = admit(ocr, error);
	if (status != PSG_OK)
		return status;
	status = psgi_page_create(ocr, data, size, page, options, &made, error);
	if (status != PSG_OK) {
		give_up_place(ocr);
		return status;
	}
	/* Before the page can end. */
	if (out != NULL)
		*out = made->future;
	else
		psg_future_release(made->future); /* the queue has its own handle */
	start_page(ocr, made);
	return PSG_OK;
}

/* --- opening and closing --- */

static psg_status check_options(const psg_ocr_options *options, psg_error *error)
{
	static const float empty_map[1] = { 0 };
	psgi_box_options boxes = { options->box_threshold, options->box_score, options->unclip };
	psgi_detect_plan plan;
	psgi_box *none;
	size_t n;
	psg_status status;

	if (options->max_pixels < 0)
		return psgi_fail(error, PSG_INVALID, "max_pixels %lld: at least 1, or 0",
				 (long long)options->max_pixels);
	if (options->host_threads < 0)
		return psgi_fail(error, PSG_INVALID, "host_threads %d: at least 1, or 0",
				 (int)options->host_threads);
	/* Those who use these know their bounds. */
	status = psgi_detect_plan_make(1, 1, options->limit_side, &plan, error);
	if (status == PSG_OK)
		status = psgi_find_boxes(empty_map, 1, 1, &boxes, 1, 1, &none, &n, error);
	return status;
}

/* A GPU's worker leaves the cores to the host's part of pages. */
static int32_t host_threads(const psg_ocr *ocr, int32_t wanted)
{
	int64_t cores = wanted;

	if (wanted == 0 && psgi_crew_gpus(&ocr->crew) > 0)
		cores = psg_cpu_cores();
	else
		for (size_t i = 0; wanted == 0 && i < ocr->crew.n_given; i++)
			cores += psg_worker_device(ocr->crew.given[i])->threads;
	return cores < 1 ? 1 : cores > MOST_HOST_THREADS ? MOST_HOST_THREADS : (int32_t)cores;
}

static psg_status init_lock(psg_ocr *ocr, psg_error *error)
{
	if (pthread_mutex_init(&ocr->lock, NULL) != 0)
		return psgi_fail(error, PSG_NOMEM, "no memory for a lock");
	if (pthread_cond_init(&ocr->none, NULL) == 0)
		return PSG_OK;
	(void)pthread_mutex_destroy(&ocr->lock);
	return psgi_fail(error, PSG_NOMEM, "no memory for a condition");
}

static psg_status create(psg_worker *const *workers, size_t n, const psg_ocr_options *options,
			 psg_ocr **out, psg_error *error)
{
	psg_ocr *ocr = calloc(1, sizeof(*ocr));
	psg_status status;

	*out = NULL;
	if (ocr == NULL)
		return psgi_fail(error, PSG_NOMEM, "no memory for an engine");
	status = psgi_crew_init(&ocr->crew, workers, n, options->no_fallback, error);
	if (status != PSG_OK) {
		free(ocr);
		return status;
	}
	ocr->box_options =
		(psgi_box_options){ options->box_threshold, options->box_score, options->unclip };
	ocr->limit_side = options->limit_side;
	ocr->max_pixels = options->max_pixels;
	ocr->max_pages = options->max_pages > 0 ? options->max_pages : DEFAULT_PAGES;
	ocr->expiry.run = expire;
	ocr->generation = psgi_fork_generation();
	status = init_lock(ocr, error);
	if (status != PSG_OK) {
		psgi_crew_free(&ocr->crew);
		free(ocr);
		return status;
	}
	*out = ocr;
	return PSG_OK;
}

static void destroy(psg_ocr *ocr)
{
	psgi_pool_close(ocr->pool);
	psgi_crew_free(&ocr->crew);
	psgi_models_free(&ocr->models);
	(void)pthread_cond_destroy(&ocr->none);
	(void)pthread_mutex_destroy(&ocr->lock);
	free(ocr);
}

/* Lines and pieces of them; windows of pages are large enough by themselves. */
static psg_status batch_lines(psg_ocr *ocr, psg_error *error)
{
	psg_model *const models[] = { ocr->models.direct, ocr->models.recognise };

	return psgi_crew_batch(&ocr->crew, models, sizeof(models) / sizeof(models[0]), error);
}

psg_status psg_ocr_open(psg_worker *const *workers, size_t n, const psg_ocr_options *options,
			psg_ocr **out, psg_error *error)
{
	static const psg_ocr_options defaults;
	psg_ocr *ocr;
	psg_status status;

	*out = NULL;
	if (options == NULL)
		options = &defaults;
	if (n == 0)
		return psgi_fail(error, PSG_NO_DEVICE, "an engine needs at least one worker");
	for (size_t i = 0; i < n; i++)
		if (workers == NULL || workers[i] == NULL)
			return psgi_fail(error, PSG_INVALID, "worker %zu of %zu is NULL", i, n);
	status = check_options(options, error);
	if (status == PSG_OK)
		status = create(workers, n, options, &ocr, error);
	if (status != PSG_OK)
		return status;
	status = psgi_models_load(options->models_dir, options->no_direction, &ocr->models, error);
	if (status == PSG_OK)
		status = batch_lines(ocr, error);
	if (status == PSG_OK)
		status = psgi_pool_open(host_threads(ocr, options->host_threads), "psg-host",
					&ocr->pool, error);
	if (status != PSG_OK) {
		destroy(ocr);
		return status;
	}
	*out = ocr;
	return PSG_OK;
}

void psg_ocr_close(psg_ocr *ocr)
{
	if (ocr == NULL || forked(ocr)) /* a child's copy has no threads to end */
		return;
	(void)pthread_mutex_lock(&ocr->lock);
	atomic_store_explicit(&ocr->closing, true, memory_order_relaxed);
	for (psgi_page *page = ocr->pages; page != NULL; page = page->next)
		psgi_page_wake(page, PSGI_WAKE);
	while (ocr->n_pages > 0)
		(void)pthread_cond_wait(&ocr->none, &ocr->lock);
	(void)pthread_mutex_unlock(&ocr->lock);
	/* Joins the threads, whose last pages may still be completing their futures. */
	destroy(ocr);
}

/* --- counters --- */

void psg_ocr_stats_get(const psg_ocr *ocr, psg_ocr_stats *stats)
{
	/* Looked at first and counted last, so that there are never more of them than pages. */
	stats->fallbacks = atomic_load_explicit(&ocr->fallbacks, memory_order_acquire);
	stats->pages = atomic_load_explicit(&ocr->read, memory_order_relaxed);
	stats->failed = atomic_load_explicit(&ocr->failed, memory_order_relaxed);
	stats->moved_jobs = atomic_load_explicit(&ocr->moved, memory_order_relaxed);
}
