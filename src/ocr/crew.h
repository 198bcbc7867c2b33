/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who does the jobs of pages: the workers that the engine was given and, where a GPU fails, CPU
 * workers of the engine's own.
 *
 * A job goes to the worker with the least waiting whose device is not lost: of what may be in
 * flight there, the smallest part is.  Where lines gain by it, those of all pages run together, by
 * a batcher for each model.  One that a GPU failed to do goes on to another of the given workers,
 * once, and then to the engine's own.  These are opened one by one, when they are needed and those
 * that there are have work, up to one a core. Any thread.
 */
#ifndef PSG_OCR_CREW_H
#define PSG_OCR_CREW_H

#include "jobs/jobs.h"

#include <pagesift/batch.h>

#include <pthread.h>
#include <stdatomic.h>

/* Models whose jobs are samples of batches, at most. */
#define PSGI_CREW_MODELS 2

/* A page's jobs at a GPU and elsewhere. */
#define PSGI_CREW_GPU_JOBS 32

typedef struct psgi_crew {
	psg_worker **given; /* borrowed */
	size_t n_given;
	psg_model *models[PSGI_CREW_MODELS]; /* borrowed */
	/* By worker that was given, a batcher for each of these; NULL: it takes samples one by one.
	 */
	psg_batcher *(*batchers)[PSGI_CREW_MODELS];
	psg_worker **own;
	size_t most_own; /* 0: what a GPU fails to do has failed */
	_Atomic size_t n_own;
	pthread_mutex_t lock; /* of who opens one */
} psgi_crew;

/* The array is copied, the workers outlive the crew.  NOMEM. */
psg_status psgi_crew_init(psgi_crew *crew, psg_worker *const *workers, size_t n, bool no_fallback,
			  psg_error *error);

/* Jobs of these models, `n` of them, NULLs among them, will be samples, [1, ...].  Before any
 * submission; the models outlive the crew.  NOMEM; the crew is as it was or has some batchers. */
psg_status psgi_crew_batch(psgi_crew *crew, psg_model *const *models, size_t n, psg_error *error);

/* No jobs are left.  All zero is allowed. */
void psgi_crew_free(psgi_crew *crew);

/* Workers that there may be; `tried` below has so many. */
static inline size_t psgi_crew_most(const psgi_crew *crew)
{
	return crew->n_given + crew->most_own;
}

/* Workers that share the jobs as things are. */
size_t psgi_crew_width(const psgi_crew *crew);

/* Jobs that a page may have at all of these: where they are samples of batches (`batched`), and
 * where they are not. */
size_t psgi_crew_room(const psgi_crew *crew, bool batched);

/* The most that the last may ever say. */
size_t psgi_crew_most_room(const psgi_crew *crew);

/* GPUs that take jobs as things are. */
size_t psgi_crew_gpus(const psgi_crew *crew);

/* A run of a model on one input. */
typedef struct psgi_errand {
	psg_model *model;
	psg_tensor *input;
	psg_job_options options;
	const psg_worker *failed; /* where it failed the last time */
	unsigned failures;        /* 0: it is new */
} psgi_errand;

/* May a job that ended so on this worker go on to another? */
bool psgi_crew_may_move(const psgi_crew *crew, const psg_worker *worker, psg_status status);

/*
 * Submits to whoever takes it, *who.  FULL: one would later; SHUTDOWN: none would; else as
 * psg_submit_model and psg_worker_open.  `tried` is scratch.
 */
psg_status psgi_crew_submit(psgi_crew *crew, const psgi_errand *errand, bool *tried,
			    const psg_worker **who, psg_future **out, psg_error *error);

/* Why a GPU that was given is not used any more; false: all are. */
bool psgi_crew_lost(const psgi_crew *crew, psg_error *why);

#endif
