/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The plans of a device: one for each model and set of input shapes, the most
 * recently used first, within each model's bound.
 *
 * They hang on the device, which one thread owns, so finding one takes no
 * lock.  Plans of a model that nobody holds any more go at the next look-up.
 */
#include "config.h"

#include "model/model.h"
#include "model/plan.h"
#include "model/plans.h"
#include "model/start.h"

#include "base/base.h"
#include "base/trace.h"
#include "ops/cuda_weights.h"

#include <stdlib.h>
#include <string.h>

/* Values of by-value inputs that one key may hold (chosen: they are shapes, axes, bounds). */
#define MAX_KEY_VALUES 4096

struct entry {
	struct entry *next;
	psg_model *model; /* held */
	void *key;
	size_t key_bytes;
	psgi_plan *plan;
	const psgi_memory_account *account; /* of who made it */
};

struct plans {
	struct entry *first;
};

static void free_entry(struct entry *entry)
{
	psgi_plan_destroy(entry->plan);
	if (entry->model != NULL)
		psgi_model_drop(entry->model);
	free(entry->key);
	free(entry);
}

/* Of whoever made them, or of one account. */
static void drop_plans(struct plans *plans, bool all, const psgi_memory_account *account)
{
	struct entry **link = &plans->first;

	while (*link != NULL) {
		struct entry *entry = *link;

		if (all || entry->account == account) {
			*link = entry->next;
			free_entry(entry);
		} else {
			link = &entry->next;
		}
	}
}

static void free_plans(void *memory)
{
	drop_plans(memory, true, NULL);
	free(memory);
}

static struct plans *plans_of(psg_device *device)
{
	if (device->plans == NULL) {
		device->plans = calloc(1, sizeof(struct plans));
		device->free_plans = free_plans;
	}
	return device->plans;
}

/* Drops plans of closed models and, of this model, those past its bound. */
static void trim(struct plans *plans, const psg_model *model)
{
	struct entry **link = &plans->first;
	size_t kept = 0;

	while (*link != NULL) {
		struct entry *entry = *link;

		kept += entry->model == model;
		if (psgi_model_closed(entry->model) ||
		    (entry->model == model && kept > model->options.max_plans)) {
			*link = entry->next;
			free_entry(entry);
		} else {
			link = &entry->next;
		}
	}
}

/* Finds a plan and moves it to the front. */
static psgi_plan *find(struct plans *plans, const psg_model *model, const void *key,
		       size_t key_bytes)
{
	for (struct entry **link = &plans->first; *link != NULL; link = &(*link)->next) {
		struct entry *entry = *link;

		if (entry->model == model && entry->key_bytes == key_bytes &&
		    memcmp(entry->key, key, key_bytes) == 0) {
			*link = entry->next;
			entry->next = plans->first;
			plans->first = entry;
			return entry->plan;
		}
	}
	return NULL;
}

/* The key: every shape, then the values of the inputs that decide shapes. */
static psg_status make_key(const psg_model *model, const psg_shape *shapes, psg_tensor *const *in,
			   void **key, size_t *key_bytes, psg_error *error)
{
	size_t n = model->graph->n_inputs, bytes = n * sizeof(psg_shape);
	char *at;

	for (size_t i = 0; in != NULL && i < n; i++) {
		if ((model->by_value >> i & 1U) == 0)
			continue;
		if (psg_shape_elements(&shapes[i]) > MAX_KEY_VALUES)
			return psgi_fail(
				error, PSG_UNSUPPORTED,
				"input '%s' decides shapes and has %lld values, at most %d "
				"are read",
				model->graph->input_ports[i].name,
				(long long)psg_shape_elements(&shapes[i]), MAX_KEY_VALUES);
		bytes += (size_t)psg_shape_elements(&shapes[i]) *
			 psg_dtype_size(psg_tensor_dtype(in[i]));
	}
	at = *key = calloc(1, bytes + 1);
	if (at == NULL)
		return psgi_fail(error, PSG_NOMEM, "no memory for a plan");
	for (size_t i = 0; i < n; i++, at += sizeof(psg_shape)) {
		psg_shape shape = { .rank = shapes[i].rank };

		for (int32_t k = 0; k < shape.rank;
		     k++) /* what lies past rank is not part of the key */
			shape.dim[k] = shapes[i].dim[k];
		memcpy(at, &shape, sizeof(shape));
	}
	for (size_t i = 0; in != NULL && i < n; i++) {
		size_t size = (size_t)psg_shape_elements(&shapes[i]) *
			      psg_dtype_size(psg_tensor_dtype(in[i]));

		if ((model->by_value >> i & 1U) == 0)
			continue;
		memcpy(at, psg_tensor_const_data(in[i]), size);
		at += size;
	}
	*key_bytes = bytes;
	return PSG_OK;
}

static bool has_fused_kernels(const psg_device *device)
{
#ifdef HAVE_DNNL
	return !device->reference;
#else
	return device->info.kind == PSG_DEVICE_CUDA;
#endif
}

static psg_status plan_flow(psg_model *model, psg_device *device, const psg_shape *shapes,
			    psg_tensor *const *in, psgi_plan **out, psg_error *error)
{
	psg_tensor *known[PSG_MAX_INPUTS] = { NULL };
	psgi_flow flow;
	psg_status status;

	for (size_t i = 0; in != NULL && i < model->graph->n_inputs; i++) {
		if ((model->by_value >> i & 1U) != 0)
			known[i] = in[i];
	}
	status = psgi_specialise(model->graph, shapes, known, &flow, error);
	if (status == PSG_OK)
		psgi_flow_sweep(&flow);
	if (status == PSG_OK && model->options.digest)
		status = psgi_pass_digest(&flow, error);
	if (status == PSG_OK)
		status = psgi_pass_attention(&flow, error);
	if (status == PSG_OK && !device->reference)
		status = psgi_pass_sequence(&flow, error);
	if (status == PSG_OK)
		status = psgi_flow_widths(&flow, error);
	if (status == PSG_OK && has_fused_kernels(device))
		status = psgi_pass_fuse(&flow, error);
	if (status != PSG_OK) {
		psgi_flow_free(&flow);
		return status;
	}
	return psgi_plan_create(&flow, device, model->packs, out, error);
}

static psg_status make_plan(psg_model *model, psg_device *device, const psg_shape *shapes,
			    psg_tensor *const *in, psgi_plan **out, psg_error *error)
{
	int64_t begin = psgi_trace_begin();
	psg_status status = plan_flow(model, device, shapes, in, out, error);

	if (begin != 0) {
		const psgi_trace_arg arg = { "model", psgi_model_name(model), 0 };

		psgi_trace_span("plan", "make a plan", begin, psg_now_ns(), &arg, 1);
	}
	return status;
}

/* Ends what runs beside this; who met its own limit meanwhile is to meet it again before it counts.
 */
static bool settle_others(psg_device *device, const psgi_start_hooks *hooks)
{
	if (hooks->settle == NULL || !hooks->settle(hooks->user))
		return false;
	if (device->account != NULL)
		device->account->refused = false;
	return true;
}

static const psgi_start_hooks no_hooks;

static psg_status plan_for(psg_model *model, psg_device *device, const psg_shape *shapes,
			   psg_tensor *const *in, const psgi_start_hooks *hooks, psgi_plan **out,
			   psg_error *error)
{
	struct plans *plans = plans_of(device);
	struct entry *entry;
	void *key = NULL;
	size_t key_bytes = 0;
	psg_status status;

	if (plans == NULL)
		return psgi_fail(error, PSG_NOMEM, "no memory for plans");
	status = make_key(model, shapes, in, &key, &key_bytes, error);
	if (status != PSG_OK)
		return status;
	*out = find(plans, model, key, key_bytes);
	if (*out != NULL) {
		free(key);
		return PSG_OK;
	}
	(void)settle_others(device, hooks); /* it takes some 10 ms */
	entry = calloc(1, sizeof(*entry));
	status = entry == NULL ? psgi_fail(error, PSG_NOMEM, "no memory for a plan")
			       : make_plan(model, device, shapes, in, &entry->plan, error);
	if (status != PSG_OK) {
		free(entry);
		free(key);
		return status;
	}
	psgi_model_hold(model);
	*entry =
		(struct entry){ plans->first, model, key, key_bytes, entry->plan, device->account };
	plans->first = entry;
	trim(plans, model);
	/* NOLINTNEXTLINE(clang-analyzer-unix.Malloc): an open model's first is never trimmed */
	*out = entry->plan;
	return PSG_OK;
}

psg_status psgi_plan_for(psg_model *model, psg_device *device, const psg_shape *shapes,
			 psg_tensor *const *in, psgi_plan **out, psg_error *error)
{
	return plan_for(model, device, shapes, in, &no_hooks, out, error);
}

/*
 * Gives up what a GPU could do without, so that a run that found no memory may be tried again.  Who
 * met the limit of its own share does not cost others their plans.
 */
static bool make_room(psg_device *device)
{
	psgi_memory_account *account = device->account;
	bool own = account != NULL && account->refused;

	if (device->info.kind != PSG_DEVICE_CUDA || device->plans == NULL)
		return false;
	drop_plans(device->plans, !own, account);
	if (own)
		account->refused = false;
	(void)psgi_weights_evict(device);
	return true;
}

static int64_t samples_of(psg_tensor *const *in, size_t n_in)
{
	const psg_shape *shape = n_in > 0 ? psg_tensor_shape(in[0]) : NULL;

	return shape != NULL && shape->rank > 0 ? shape->dim[0] : 1;
}

/* From the start to the end, or to a failure in between. */
void psgi_started_trace(const psgi_started *started, psg_status status)
{
	const psgi_trace_arg args[] = {
		{ "samples", NULL, started->samples },
		{ "steps", NULL, (int64_t)started->n_steps },
		{ "status", psg_status_name(status), 0 },
	};

	if (started->begin_ns != 0)
		psgi_trace_span("batch", psgi_model_name(started->model), started->begin_ns,
				psg_now_ns(), args, 3);
}

static psg_status check_inputs(const psg_model *model, psg_tensor *const *in, size_t n_in,
			       size_t n_out, psg_shape *shapes, psg_error *error)
{
	if (n_in != model->graph->n_inputs || n_out != model->graph->n_outputs)
		return psgi_fail(
			error, PSG_INVALID,
			"the model has %zu inputs and %zu outputs, the call gives %zu and %zu",
			model->graph->n_inputs, model->graph->n_outputs, n_in, n_out);
	for (size_t i = 0; i < n_in; i++) {
		const psg_port *port = &model->graph->input_ports[i];

		if (psg_tensor_dtype(in[i]) != port->dtype)
			return psgi_fail(error, PSG_INVALID, "input '%s' wants %s elements",
					 port->name,
					 port->dtype == PSG_F32 ? "float32" : "integer");
		shapes[i] = *psg_tensor_shape(in[i]);
	}
	return PSG_OK;
}

/* Each try makes its plan, if there is none, and traces its run. */
static psg_status try_start(psg_model *model, psg_device *device, const psg_shape *shapes,
			    psg_tensor *const *in, const psgi_start_hooks *hooks,
			    psgi_started *started, psg_error *error)
{
	psgi_plan *plan;
	psg_status status;

	memset(started, 0, sizeof(*started));
	status = plan_for(model, device, shapes, in, hooks, &plan, error);
	if (status != PSG_OK)
		return status;
	started->model = model;
	started->samples = samples_of(in, model->graph->n_inputs);
	started->begin_ns = psgi_trace_begin();
	status = psgi_plan_start(plan, in, hooks, started, error);
	if (status != PSG_OK)
		psgi_started_trace(started, status);
	return status;
}

psg_status psgi_model_start(psg_model *model, psg_device *device, psg_tensor *const *in,
			    size_t n_in, size_t n_out, const psgi_start_hooks *hooks,
			    psgi_started *started, psg_error *error)
{
	psg_shape shapes[PSG_MAX_INPUTS];
	psg_status status = check_inputs(model, in, n_in, n_out, shapes, error);

	if (status != PSG_OK)
		return status;
	for (bool again = true;;) {
		status = try_start(model, device, shapes, in, hooks, started, error);
		if (status != PSG_OOM)
			return status;
		if (settle_others(device, hooks))
			continue;
		if (!again || !make_room(device))
			return status;
		again = false;
	}
}

psg_status psg_model_run(psg_model *model, psg_device *device, psg_tensor *const *in, size_t n_in,
			 psg_tensor **out, size_t n_out, bool (*stop)(void *user), void *user,
			 psg_error *error)
{
	const psgi_start_hooks hooks = { .stop = stop, .user = user };
	psgi_started started;
	psg_status status;

	for (size_t i = 0; i < n_out; i++)
		out[i] = NULL;
	for (bool again = true;; again = false) {
		status = psgi_model_start(model, device, in, n_in, n_out, &hooks, &started, error);
		if (status != PSG_OK)
			return status;
		status = psgi_started_finish(&started, out, error);
		if (status != PSG_OOM || !again || !make_room(device))
			return status;
	}
}
