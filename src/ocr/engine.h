/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The engine: models, workers, the host pool, and the pages in flight.
 *
 * What is above `closing` is constant while the engine is open, but for the crew.  The lists are
 * under `lock`, which is only held for a few steps: never over a page's work,
 * a submission or a callback to the user.
 */
#ifndef PSG_OCR_ENGINE_H
#define PSG_OCR_ENGINE_H

#include "jobs/jobs.h"
#include "ocr/boxes.h"
#include "ocr/crew.h"
#include "ocr/text.h"

#include <pthread.h>
#include <stdatomic.h>

typedef struct psgi_page psgi_page;

typedef struct psgi_models {
	psg_model *detect, *direct, *recognise; /* `direct` is NULL when not asked for */
	psgi_dictionary *dictionary;
} psgi_models;

/*
 * Loads the models of a folder (psg_ocr_options.models_dir), side by side.
 * Errors as psg_ocr_open.  On failure nothing is left to free.
 */
psg_status psgi_models_load(const char *dir, bool no_direction, psgi_models *out, psg_error *error);

void psgi_models_free(psgi_models *models);

struct psg_ocr {
	psgi_task expiry; /* first: the pool knows the engine by it */
	psgi_crew crew;
	psgi_models models;
	psgi_pool *pool;
	psgi_box_options box_options;
	int32_t limit_side;
	int64_t max_pixels;
	size_t max_pages;
	uint32_t generation; /* psgi_fork_generation at opening */

	atomic_bool closing;
	_Atomic uint64_t jobs_started, jobs_ended; /* of all pages */
	_Atomic uint64_t n_parked;                 /* pages in `parked`, or about to be */
	_Atomic uint64_t read, failed, fallbacks;  /* pages, as psg_ocr_stats says */
	_Atomic uint64_t moved;                    /* jobs that went on to another worker */

	pthread_mutex_t lock;
	pthread_cond_t none; /* n_pages became 0 */
	psgi_page *pages;    /* in flight */
	size_t n_pages, n_running;
	/* Pages that wait, by priority and then first in, first out. */
	psgi_page *waiting; /* for a place among the running ones */
	psgi_page *parked;  /* for a free job slot */
};

/* True: the page may run.  False: it waits, and is woken when it may. */
bool psgi_engine_enter(psg_ocr *ocr, psgi_page *page);

/*
 * After a submission that was FULL, when jobs_ended was `before` it: the page is woken when
 * it is worth another try.
 */
void psgi_engine_park(psg_ocr *ocr, psgi_page *page, uint64_t before);

/* A job of the engine has ended: wakes the parked pages. */
void psgi_engine_job_ended(psg_ocr *ocr);

/* The page is over: takes it out of all lists and lets the next one run.  The engine may be gone
 * afterwards. */
void psgi_engine_leave(psg_ocr *ocr, psgi_page *page);

#endif
