/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the page engine share: workers and engines, gates that hold a worker up. */
#ifndef PSG_TESTS_ENGINE_UTIL_H
#define PSG_TESTS_ENGINE_UTIL_H

#include "models.h"
#include "page_font.h"

#include <pagesift/ocr.h>

#include <check.h>
#include <semaphore.h>
#include <string.h>

/* ThreadSanitizer does not know the threads of oneDNN and OpenMP, which this device leaves alone.
 */
#if defined(__SANITIZE_THREAD__)
#define T_DEVICE "reference"
#else
#define T_DEVICE "cpu:1"
#endif

/* Enough for any machine: no test waits for it to pass. */
#define T_FOREVER (600 * PSG_SECOND)

typedef struct t_file {
	uint8_t *data;
	size_t size;
} t_file;

static inline t_file t_text_page(const char *text)
{
	t_file file;

	file.data = t_font_page(text, false, &file.size);
	return file;
}

static inline psg_worker *t_worker(size_t lane_capacity)
{
	psg_worker_options options = { .lane_capacity = lane_capacity };
	psg_error error = PSG_ERROR_INIT;
	psg_worker *worker;

	ck_assert_msg(psg_worker_open(T_DEVICE, &options, &worker, &error) == PSG_OK, "%s",
		      error.message);
	return worker;
}

static inline psg_ocr *t_engine(psg_worker *const *workers, size_t n,
				const psg_ocr_options *options)
{
	psg_error error = PSG_ERROR_INIT;
	psg_ocr *ocr;

	ck_assert_msg(psg_ocr_open(workers, n, options, &ocr, &error) == PSG_OK, "%s",
		      error.message);
	return ocr;
}

static inline psg_future *t_submit(psg_ocr *ocr, t_file file, const psg_job_options *options)
{
	psg_error error = PSG_ERROR_INIT;
	psg_future *future;

	ck_assert_msg(psg_ocr_submit(ocr, file.data, file.size, 0, options, &future, &error) ==
			      PSG_OK,
		      "%s", error.message);
	return future;
}

static inline const psg_page *t_wait(psg_future *future)
{
	psg_error error = PSG_ERROR_INIT;
	const psg_page *page;

	(void)psg_future_wait(future);
	ck_assert_msg(psg_ocr_page(future, &page, &error) == PSG_OK, "%s", error.message);
	return page;
}

/* The text of a page that must be readable, for the caller to free(). */
static inline char *t_text(psg_future *future)
{
	char *text;

	ck_assert_int_eq(psg_page_format(t_wait(future), "page", PSG_FORMAT_TEXT, &text, NULL),
			 PSG_OK);
	return text;
}

/* Waits for a page that must end so; its message goes to `error`. */
static inline void t_ends(psg_future *future, psg_status status, psg_error *error)
{
	const psg_page *page;

	ck_assert_str_eq(psg_status_name(psg_future_wait_for(future, T_FOREVER)),
			 psg_status_name(status));
	*error = (psg_error)PSG_ERROR_INIT;
	ck_assert_int_eq(psg_ocr_page(future, &page, error), status);
	ck_assert_int_eq(error->code, status);
	psg_future_release(future);
}

/* A job that says when it runs, and goes on when it may. */
typedef struct t_hold {
	sem_t running, open;
	psg_future *future;
} t_hold;

static inline psg_status t_hold_job(psg_device *device, void *arg, psg_error *error)
{
	t_hold *hold = arg;

	(void)device;
	(void)error;
	(void)sem_post(&hold->running);
	while (sem_wait(&hold->open) != 0)
		;
	return PSG_OK;
}

/* Returns when the worker is held up. */
static inline void t_hold_up(t_hold *hold, psg_worker *worker)
{
	ck_assert_int_eq(sem_init(&hold->running, 0, 0), 0);
	ck_assert_int_eq(sem_init(&hold->open, 0, 0), 0);
	ck_assert_int_eq(psg_submit_function(worker, t_hold_job, hold, NULL, &hold->future, NULL),
			 PSG_OK);
	while (sem_wait(&hold->running) != 0)
		;
}

static inline void t_let_go(t_hold *hold)
{
	(void)sem_post(&hold->open);
	ck_assert_int_eq(psg_future_wait(hold->future), PSG_OK);
	psg_future_release(hold->future);
	(void)sem_destroy(&hold->running);
	(void)sem_destroy(&hold->open);
}

#endif
