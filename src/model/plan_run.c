/* SPDX-License-Identifier: Apache-2.0 */
/* Starting a run of a plan: memory, valid widths, then step after step; and ending it. */
#include "config.h"

#include "model/plan.h"

#include "base/base.h"
#include "base/trace.h"
#include "device/cuda.h"
#include "ops/cuda.h"

#include <string.h>

struct run {
	psgi_plan *plan;
	psg_device *device;
	psg_tensor *const *in;
	psg_tensor **out;
	char *arena;
	void *scratch;
	/* Memory of the device: a tensor's own on a CPU, but for an input 0 that was cleaned. */
	void *in_data[PSG_MAX_INPUTS], *out_data[PSG_MAX_OUTPUTS];
	void *clean;    /* input 0 with zeros in its padding; NULL: the tensor's own data */
	int32_t *valid; /* of the device */
	bool widths;    /* input 0 has valid widths */
	bool ragged;    /* some sample is narrower than the batch */
};

static bool is_cuda(const struct run *run)
{
	return run->device->info.kind == PSG_DEVICE_CUDA;
}

static void *address(const struct run *run, int32_t index)
{
	const psgi_pvalue *value = &run->plan->values[index];

	while (value->home == PSGI_HOME_ALIAS)
		value = &run->plan->values[value->root];
	switch (value->home) {
	case PSGI_HOME_CONSTANT:
		return value->data;
	case PSGI_HOME_INPUT:
		return run->in_data[value->port];
	case PSGI_HOME_OUTPUT:
		return run->out_data[value->port];
	default:
		return run->arena + value->offset;
	}
}

static psgi_operand operand(const struct run *run, int32_t index)
{
	psgi_operand operand = { NULL, NULL };

	if (index < 0)
		return operand;
	operand.data = address(run, index);
	if (run->ragged && run->plan->values[index].width >= 0)
		operand.valid =
			run->valid + (size_t)run->plan->values[index].width * run->plan->samples;
	return operand;
}

/* Fills the table of valid widths; a place's parent always comes before it. */
static psg_status fill_widths(psgi_plan *plan, const int32_t *widths, psg_error *error)
{
	size_t n = plan->samples;

	memcpy(plan->valid, widths, n * sizeof(int32_t));
	for (size_t w = 1; w < plan->flow.n_widths; w++) {
		const psgi_width *width = &plan->flow.widths[w];

		for (size_t i = 0; i < n; i++) {
			int32_t before = plan->valid[(size_t)width->parent * n + i];
			int32_t after = psgi_width_apply(&width->map, before, width->limit);

			if (after <= 0)
				return psgi_fail(
					error, PSG_INVALID,
					"sample %zu is too narrow for this model: of %d "
					"columns nothing is left where windows are %d wide",
					i, widths[i], width->map.kernel);
			plan->valid[w * n + i] = after;
		}
	}
	return PSG_OK;
}

/* Copies input 0 with zeros past each valid width, so that no step need mask it. */
static psg_status clean_input(struct run *run, const int32_t *widths, int32_t axis,
			      psg_error *error)
{
	const psg_shape *shape = psg_tensor_shape(run->in[0]);
	const float *from = psg_tensor_const_data(run->in[0]);
	int64_t columns = shape->dim[axis], rows = 1, inner = 1;
	float *to =
		psgi_device_alloc(run->device, (size_t)psg_shape_elements(shape) * sizeof(float));

	if (to == NULL)
		return psgi_fail(error, PSG_NOMEM, "no memory for a batch of %lld elements",
				 (long long)psg_shape_elements(shape));
	run->clean = run->in_data[0] = to;
	for (int32_t i = 1; i < axis; i++)
		rows *= shape->dim[i];
	for (int32_t i = axis + 1; i < shape->rank; i++)
		inner *= shape->dim[i];
	for (int64_t n = 0; n < shape->dim[0]; n++) {
		size_t valid = (size_t)(widths[n] * inner), all = (size_t)(columns * inner);

		for (int64_t r = 0; r < rows; r++, from += all, to += all) {
			memcpy(to, from, valid * sizeof(float));
			memset(to + valid, 0, (all - valid) * sizeof(float));
		}
	}
	return PSG_OK;
}

static psg_status begin_widths(struct run *run, psg_error *error)
{
	psgi_plan *plan = run->plan;
	int32_t axis;
	const int32_t *widths =
		plan->flow.graph->n_inputs > 0 ? psg_tensor_valid_widths(run->in[0], &axis) : NULL;
	const psgi_fvalue *input;
	psg_status status;

	if (widths == NULL)
		return PSG_OK;
	run->widths = true;
	input = &plan->flow.values[plan->flow.inputs[0]];
	if (input->width_axis != axis || input->dtype != PSG_F32)
		return psgi_fail(
			error, PSG_INVALID,
			"valid widths are along dimension %d, this model's columns along %d", axis,
			input->width_axis);
	if (plan->flow.mixer != NULL)
		return psgi_fail(
			error, PSG_UNSUPPORTED,
			"node '%.80s' mixes columns in a way that valid widths cannot follow: "
			"run samples of different widths one at a time",
			plan->flow.mixer);
	for (size_t i = 0; i < plan->samples; i++)
		run->ragged = run->ragged || widths[i] < input->shape.dim[axis];
	status = fill_widths(plan, widths, error);
	if (is_cuda(run)) /* where each kernel looks itself, at a copy */
		return status;
	run->valid = plan->valid;
	return status == PSG_OK && run->ragged ? clean_input(run, widths, axis, error) : status;
}

static psg_status create_outputs(struct run *run, psg_error *error)
{
	const psgi_flow *flow = &run->plan->flow;

	for (size_t i = 0; i < flow->graph->n_outputs; i++) {
		const psgi_fvalue *value = &flow->values[flow->outputs[i]];
		psg_status status =
			psgi_tensor_create_raw(value->dtype, &value->shape, &run->out[i], error);

		if (status == PSG_OK && run->widths && value->width >= 0)
			status = psg_tensor_set_valid_widths(
				run->out[i], value->width_axis,
				run->plan->valid + (size_t)value->width * run->plan->samples,
				run->plan->samples, error);
		if (status != PSG_OK)
			return status;
	}
	return PSG_OK;
}

/* On a GPU this is the launch; when it ran there the device tells. */
static void trace_step(const struct run *run, const psgi_step *step, int64_t begin_ns)
{
	const psgi_trace_arg args[] = { { "node", step->name, 0 },
					{ "kernel", step->kernel->name, 0 } };

	psgi_trace_span(is_cuda(run) ? "launch" : "kernel", psg_op_name(step->kind), begin_ns,
			psg_now_ns(), args, 2);
}

static psg_status run_step(const struct run *run, const psgi_step *step, psg_error *error)
{
	psgi_operand in[PSG_MAX_INPUTS], out[PSG_MAX_OUTPUTS];
	int64_t begin = psgi_trace_begin();
	psg_status status;

	for (size_t k = 0; k < step->n_in; k++)
		in[k] = operand(run, step->in[k]);
	for (size_t k = 0; k < step->n_out; k++)
		out[k] = operand(run, step->out[k]);
	status = step->kernel->run(step->kernel, in, out, run->scratch, error);
	if (begin != 0)
		trace_step(run, step, begin);
	if (status != PSG_OK)
		psgi_error_prefix(error, "node '%.80s' (%s)", step->name, psg_op_name(step->kind));
	return status;
}

static psg_status run_steps(struct run *run, const psgi_start_hooks *hooks, psg_error *error)
{
	for (size_t i = 0; i < run->plan->n_steps; i++) {
		psg_status status;

		if (hooks->stop != NULL && hooks->stop(hooks->user))
			return psgi_fail(error, PSG_CANCELLED, "stopped before step %zu of %zu",
					 i + 1, run->plan->n_steps);
		status = run_step(run, &run->plan->steps[i], error);
		if (status != PSG_OK)
			return status;
	}
	return PSG_OK;
}

/* --- memory of the device --- */

static psg_status take(const struct run *run, size_t bytes, void **out, psg_error *error)
{
	if (is_cuda(run))
		return psgi_gpu_alloc(run->device, bytes + 1, out, error);
	*out = psgi_device_alloc(run->device, bytes + 1);
	return *out != NULL
		       ? PSG_OK
		       : psgi_fail(error, PSG_NOMEM, "no memory for a run of %zu bytes", bytes);
}

static size_t widths_bytes(const psgi_plan *plan)
{
	return plan->flow.n_widths * plan->samples * sizeof(int32_t);
}

/* The same, for what is copied there while the run before it is still on a GPU. */
static psg_status take_ahead(const struct run *run, size_t bytes, void **out, psg_error *error)
{
	return psgi_gpu_alloc_ahead(run->device, bytes + 1, out, error);
}

/* Copies to a GPU what a run reads there, and makes room for its outputs. */
static psg_status upload(struct run *run, psg_error *error)
{
	const psgi_plan *plan = run->plan;
	size_t table = widths_bytes(plan);
	psg_status status = PSG_OK;

	for (size_t i = 0; i < plan->flow.graph->n_inputs && status == PSG_OK; i++) {
		size_t bytes = psgi_tensor_bytes(run->in[i]);

		status = take_ahead(run, bytes, &run->in_data[i], error);
		if (status == PSG_OK)
			status = psgi_gpu_copy_ahead(run->device, run->in_data[i],
						     psg_tensor_const_data(run->in[i]), bytes,
						     error);
	}
	for (size_t i = 0; i < plan->flow.graph->n_outputs && status == PSG_OK; i++)
		status = take(run, psgi_tensor_bytes(run->out[i]), &run->out_data[i], error);
	if (status == PSG_OK && run->ragged) {
		void *valid;

		status = take_ahead(run, table, &valid, error);
		if (status == PSG_OK) {
			run->valid = valid;
			status = psgi_gpu_copy_ahead(run->device, valid, plan->valid, table, error);
		}
	}
	return status;
}

static void give_back(struct run *run)
{
	psgi_device_free(run->device, run->clean);
	psgi_device_free(run->device, run->arena);
	if (!is_cuda(run))
		return;
	for (size_t i = 0; i < PSG_MAX_INPUTS; i++)
		psgi_device_free(run->device, run->in_data[i]);
	for (size_t i = 0; i < PSG_MAX_OUTPUTS; i++)
		psgi_device_free(run->device, run->out_data[i]);
	psgi_device_free(run->device, run->valid);
}

static psg_status begin(struct run *run, psg_error *error)
{
	const psgi_plan *plan = run->plan;
	void *arena = NULL;
	psg_status status = take(run, plan->arena_bytes + plan->scratch_bytes, &arena, error);

	run->arena = arena;
	if (status != PSG_OK)
		return status;
	run->scratch = run->arena + plan->arena_bytes;
	for (size_t i = 0; i < plan->flow.graph->n_inputs && !is_cuda(run); i++)
		run->in_data[i] = psg_tensor_data(run->in[i]);
	status = begin_widths(run, error);
	if (status == PSG_OK)
		status = create_outputs(run, error);
	for (size_t i = 0; i < plan->flow.graph->n_outputs && status == PSG_OK && !is_cuda(run);
	     i++)
		run->out_data[i] = psg_tensor_data(run->out[i]);
	return status == PSG_OK && is_cuda(run) ? upload(run, error) : status;
}

/* --- how much of it --- */

static size_t value_bytes(const psgi_plan *plan, int32_t flow_value)
{
	const psgi_fvalue *value = &plan->flow.values[flow_value];

	return (size_t)psg_shape_elements(&value->shape) * psg_dtype_size(value->dtype);
}

/* As `take` gets it; a CPU's blocks are as large as they are asked to be. */
static size_t taken(const psgi_plan *plan, size_t bytes)
{
	return plan->device->info.kind == PSG_DEVICE_CUDA
		       ? psgi_gpu_block_bytes(plan->device, bytes + 1)
		       : bytes;
}

size_t psgi_plan_peak_bytes(const psgi_plan *plan)
{
	const psgi_flow *flow = &plan->flow;
	size_t bytes = taken(plan, plan->arena_bytes + plan->scratch_bytes);

	for (size_t i = 0; i < flow->graph->n_inputs; i++)
		bytes += taken(plan, value_bytes(plan, flow->inputs[i]));
	for (size_t i = 0; i < flow->graph->n_outputs; i++)
		bytes += taken(plan, value_bytes(plan, flow->outputs[i]));
	if (flow->n_widths > 0)
		bytes += taken(plan, widths_bytes(plan));
	for (size_t i = 0; i < plan->n_steps; i++)
		bytes += psgi_cuda_table_bytes(plan->steps[i].kernel);
	return bytes;
}

/* --- what is left when all is queued --- */

/*
 * The memory between the steps serves the next run at once, behind this one in the order of the
 * work.  What is copied there ahead of that order, and what is copied back, stays until this one
 * has ended.
 */
static void leave(struct run *run, psgi_started *started)
{
	psgi_device_free(run->device, run->clean);
	psgi_device_free(run->device, run->arena);
	started->is_queued = is_cuda(run);
	if (!started->is_queued)
		return;
	memcpy(started->in_data, run->in_data, sizeof(run->in_data));
	memcpy(started->out_data, run->out_data, sizeof(run->out_data));
	started->valid = run->valid;
	psgi_gpu_point_set(run->device, &started->point);
}

static void drop_outputs(psgi_started *started)
{
	for (size_t i = 0; i < started->n_out; i++) {
		psg_tensor_unref(started->out[i]);
		started->out[i] = NULL;
	}
}

psg_status psgi_plan_start(psgi_plan *plan, psg_tensor *const *in, const psgi_start_hooks *hooks,
			   psgi_started *started, psg_error *error)
{
	struct run run = { .plan = plan, .device = plan->device, .in = in, .out = started->out };
	psg_status status;

	started->device = plan->device;
	started->n_in = plan->flow.graph->n_inputs;
	started->n_out = plan->flow.graph->n_outputs;
	started->n_steps = plan->n_steps;
	status = begin(&run, error);
	if (status == PSG_OK)
		status = run_steps(&run, hooks, error);
	if (status == PSG_OK) {
		leave(&run, started);
		return PSG_OK;
	}
	give_back(&run);
	drop_outputs(started);
	return status;
}

/* --- ending it --- */

bool psgi_started_is_done(const psgi_started *started)
{
	return !started->is_queued || psgi_gpu_point_is_passed(started->device, &started->point);
}

/* Nothing is queued behind it: as any copy, in the order of the work. */
static psg_status download_last(const psgi_started *started, psg_error *error)
{
	psg_status status = PSG_OK;

	for (size_t i = 0; i < started->n_out && status == PSG_OK; i++)
		status = psgi_gpu_copy_out(started->device, psg_tensor_data(started->out[i]),
					   started->out_data[i], psgi_tensor_bytes(started->out[i]),
					   error);
	return status;
}

static psg_status download(const psgi_started *started, psg_error *error)
{
	psg_status status = PSG_OK;

	for (size_t i = 0; i < started->n_out && status == PSG_OK; i++)
		status = psgi_gpu_copy_out_at(
			started->device, &started->point, psg_tensor_data(started->out[i]),
			started->out_data[i], psgi_tensor_bytes(started->out[i]), error);
	return status;
}

static void free_at_point(const psgi_started *started)
{
	for (size_t i = 0; i < started->n_in; i++)
		psgi_gpu_free_at(started->device, &started->point, started->in_data[i]);
	for (size_t i = 0; i < started->n_out; i++)
		psgi_gpu_free_at(started->device, &started->point, started->out_data[i]);
	psgi_gpu_free_at(started->device, &started->point, started->valid);
}

/* Copies may still be queued: what they read is given up behind them. */
static void move_to_end(psgi_started *started)
{
	psgi_gpu_point_set(started->device, &started->point);
	psgi_gpu_point_clear(started->device, &started->point);
}

static psg_status finish_queued(psgi_started *started, psg_error *error)
{
	bool is_last = psgi_gpu_point_is_last(started->device, &started->point);
	psg_status status;

	if (is_last)
		psgi_gpu_point_clear(started->device, &started->point);
	status = is_last ? download_last(started, error) : download(started, error);
	if (!is_last)
		psgi_gpu_point_clear(started->device, &started->point);
	if (status != PSG_OK)
		move_to_end(started);
	free_at_point(started);
	started->is_queued = false;
	return status;
}

psg_status psgi_started_finish(psgi_started *started, psg_tensor **out, psg_error *error)
{
	psg_status status = started->is_queued ? finish_queued(started, error) : PSG_OK;

	psgi_started_trace(started, status);
	if (status != PSG_OK)
		drop_outputs(started);
	for (size_t i = 0; i < started->n_out; i++)
		out[i] = started->out[i];
	return status;
}

void psgi_started_drop(psgi_started *started)
{
	if (started->is_queued) {
		psgi_gpu_point_clear(started->device, &started->point);
		free_at_point(started);
		started->is_queued = false;
	}
	psgi_started_trace(started, PSG_CANCELLED);
	drop_outputs(started);
}
