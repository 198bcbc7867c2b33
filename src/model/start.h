/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A model's run in two: starting it, and waiting for it, so that the next one can be started while
 * a GPU works.
 *
 * A started run needs nothing of its plan, which may go meanwhile: what it still uses of the
 * device's memory it has itself, and what its kernels read otherwise (weights, tables, the memory
 * between its steps) goes back to the pool in the order of the work.
 */
#ifndef PSG_MODEL_START_H
#define PSG_MODEL_START_H

#include "device/cuda.h"

#include <pagesift/model.h>

/* Run by who starts a run; each but `stop` may be NULL, and `stop` too. */
typedef struct psgi_start_hooks {
	bool (*stop)(void *user); /* between two steps: true ends the run with CANCELLED */
	/* Before what takes long, such as making a plan, and where memory is short: ends what else
	 * was started on the device; false: there was nothing. */
	bool (*settle)(void *user);
	void *user;
} psgi_start_hooks;

typedef struct psgi_started {
	psg_device *device;
	psg_model *model; /* valid until the run has ended */
	bool is_queued;   /* on a GPU, at `point`; else it is done */
	psgi_gpu_point point;
	size_t n_in, n_out, n_steps;
	int64_t samples;
	int64_t begin_ns; /* for the trace; 0: there is none */
	psg_tensor *out[PSG_MAX_OUTPUTS];
	/* Of the GPU. */
	void *in_data[PSG_MAX_INPUTS], *out_data[PSG_MAX_OUTPUTS], *valid;
} psgi_started;

/*
 * As psg_model_run, but returns when all is queued on a GPU, and does all on a CPU.  The inputs are
 * read then.  With OK the caller ends the run, on the same thread, by one of the next two; the
 * model lives until then.
 */
psg_status psgi_model_start(psg_model *model, psg_device *device, psg_tensor *const *in,
			    size_t n_in, size_t n_out, const psgi_start_hooks *hooks,
			    psgi_started *started, psg_error *error);

/* Would ending it not wait? */
bool psgi_started_is_done(const psgi_started *started);

/* Waits for the run, but not for what was started after it, and fills `out` as psg_model_run does,
 * whose errors it has.  The run has ended, also with an error. */
psg_status psgi_started_finish(psgi_started *started, psg_tensor **out, psg_error *error);

/* Ends it without waiting: nobody wants what comes of it. */
void psgi_started_drop(psgi_started *started);

#endif
