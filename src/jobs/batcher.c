/* SPDX-License-Identifier: Apache-2.0 */
/* A batcher from outside: opening, submitting, counters. */
#include "config.h"

#include "jobs/batcher.h"

#include "base/base.h"
#include "base/fork.h"
#include "jobs/submit.h"

#include <stdlib.h>
#include <string.h>

/* --- life --- */

static psg_status check_open(const psg_model *model, const psg_batcher_options *options,
			     psg_error *error)
{
	if (options->max_batch > PSGI_BATCH_MOST)
		return psgi_fail(error, PSG_INVALID, "batches of %zu samples: at most %d",
				 options->max_batch, PSGI_BATCH_MOST);
	if (psg_model_inputs(model) != 1)
		return psgi_fail(error, PSG_INVALID,
				 "a batcher wants a model of one input, this one has %zu",
				 psg_model_inputs(model));
	return PSG_OK;
}

/* A model of samples one by one takes no batch. */
static size_t most_of(const psg_model *model, const psg_batcher_options *options)
{
	const psg_shape *shape = &psg_model_input(model, 0)->shape;

	if (shape->rank > 0 && shape->dim[0] >= 0)
		return 1;
	return options->max_batch != 0 ? options->max_batch : PSGI_BATCH_MOST;
}

/* No bound is one that leaves room for any time to be added to it. */
static int64_t delay_of(const psg_batcher_options *options)
{
	const int64_t unbounded = PSGI_NEVER / 4;

	if (options->max_delay_ns < 0)
		return 0;
	return options->max_delay_ns == 0 || options->max_delay_ns > unbounded
		       ? unbounded
		       : options->max_delay_ns;
}

psg_status psg_batcher_open(psg_worker *worker, psg_model *model,
			    const psg_batcher_options *options, psg_batcher **out, psg_error *error)
{
	static const psg_batcher_options defaults;
	psg_batcher *batcher;
	psg_status status;

	*out = NULL;
	if (options == NULL)
		options = &defaults;
	status = check_open(model, options, error);
	if (status != PSG_OK)
		return status;
	batcher = aligned_alloc(PSGI_CACHE_LINE, sizeof(*batcher));
	if (batcher == NULL)
		return psgi_fail(error, PSG_NOMEM, "no memory for a batcher");
	memset(batcher, 0, sizeof(*batcher));
	batcher->worker = worker;
	batcher->model = psg_model_ref(model);
	batcher->most = most_of(model, options);
	batcher->max_delay_ns = delay_of(options);
	batcher->memory_bytes =
		options->memory_bytes < INT64_MAX ? (int64_t)options->memory_bytes : INT64_MAX;
	atomic_store_explicit(&batcher->holders, 1, memory_order_relaxed);
	*out = batcher;
	return PSG_OK;
}

/* As every last reference: release own use, acquire that of others. */
void psgi_batcher_drop(psg_batcher *batcher)
{
	if (atomic_fetch_sub_explicit(&batcher->holders, 1, memory_order_acq_rel) != 1)
		return;
	psgi_rows_free(&batcher->rows);
	psg_model_unref(batcher->model);
	free(batcher);
}

void psg_batcher_close(psg_batcher *batcher)
{
	if (batcher == NULL || batcher->worker->lanes.generation != psgi_fork_generation())
		return;
	psgi_batcher_drop(batcher);
}

/* --- submitting --- */

static psg_status check_sample(const psg_batcher *batcher, const psg_tensor *sample,
			       psg_error *error)
{
	const psg_port *port = psg_model_input(batcher->model, 0);
	const psg_shape *shape;

	if (sample == NULL)
		return psgi_fail(error, PSG_INVALID, "no sample is given");
	shape = psg_tensor_shape(sample);
	if (psg_tensor_dtype(sample) != port->dtype)
		return psgi_fail(error, PSG_INVALID, "input '%s' wants %s elements", port->name,
				 port->dtype == PSG_F32 ? "float32" : "integer");
	if (shape->rank < 1 || shape->dim[0] != 1)
		return psgi_fail(error, PSG_INVALID,
				 "a sample's first dimension is 1, this one's %lld",
				 shape->rank < 1 ? -1LL : (long long)shape->dim[0]);
	return PSG_OK;
}

psg_status psg_batcher_submit(psg_batcher *batcher, psg_tensor *sample,
			      const psg_job_options *options, psg_future **out, psg_error *error)
{
	psgi_extra *extra;
	psgi_job *job;
	uint64_t bytes = 0;
	psg_status status = check_sample(batcher, sample, error);

	if (status == PSG_OK) {
		bytes = psgi_submit_bytes(batcher->worker, &sample, 1);
		status = psgi_submit_take(batcher->worker, options, bytes, &job, error);
	}
	if (status != PSG_OK)
		return psgi_submit_refused(out, status);
	/* Relaxed: the caller has the handle. */
	atomic_fetch_add_explicit(&batcher->holders, 1, memory_order_relaxed);
	job->kind = PSGI_JOB_SAMPLE;
	extra = psgi_extra_of(job);
	extra->n_out = 0;
	extra->bytes = bytes;
	extra->sample.batcher = batcher;
	extra->sample.in = psg_tensor_ref(sample);
	extra->sample.shape = *psg_tensor_shape(sample);
	extra->sample.axis = 0;
	(void)psg_tensor_valid_widths(sample, &extra->sample.axis);
	psgi_submit_commit(batcher->worker, job, out);
	return PSG_OK;
}

/* --- counters --- */

/* An eighth is the newest, as of a worker's mean duration. */
void psgi_batcher_note(psg_batcher *batcher, size_t n, size_t size, int64_t width, int64_t ns)
{
	batcher->crowd += ((double)n - batcher->crowd) / 8;
	psgi_fit_note(&batcher->fit, (int64_t)size * width, ns);
	atomic_store_explicit(&batcher->base_ns, batcher->fit.base_ns, memory_order_relaxed);
	atomic_store_explicit(&batcher->element_ns, batcher->fit.column_ns, memory_order_relaxed);
	psgi_count_more(&batcher->samples, n);
	psgi_count(&batcher->runs);
	psgi_count_more(&batcher->empty, size - n);
	if (n > atomic_load_explicit(&batcher->largest, memory_order_relaxed))
		atomic_store_explicit(&batcher->largest, n, memory_order_relaxed);
}

static uint64_t count_of(const _Atomic uint64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

void psg_batcher_stats_get(const psg_batcher *batcher, psg_batcher_stats *stats)
{
	*stats = (psg_batcher_stats){
		.samples = count_of(&batcher->samples),
		.runs = count_of(&batcher->runs),
		.empty = count_of(&batcher->empty),
		.largest = count_of(&batcher->largest),
		.splits = count_of(&batcher->splits),
		.waits = count_of(&batcher->waits),
		.waited_ns = (int64_t)count_of(&batcher->waited_ns),
		.base_ns = atomic_load_explicit(&batcher->base_ns, memory_order_relaxed),
		.element_ns = atomic_load_explicit(&batcher->element_ns, memory_order_relaxed),
	};
}
