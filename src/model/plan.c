/* SPDX-License-Identifier: Apache-2.0 */
/* Building a plan: its values, its steps, and where a flow value lies in which layout. */
#include "config.h"

#include "model/plan.h"

#include "base/base.h"
#include "ops/blocked.h"
#include "ops/cuda.h"
#include "ops/cuda_transfer.h"
#include "ops/cuda_weights.h"

#include <stdlib.h>
#include <string.h>

static psg_status no_memory(psg_error *error)
{
	return psgi_fail(error, PSG_NOMEM, "no memory for a plan");
}

static bool is_cuda(const psgi_plan *plan)
{
	return plan->device->info.kind == PSG_DEVICE_CUDA;
}

/* --- values --- */

static int32_t add_value(psgi_plan *plan, const psgi_pvalue *value)
{
	if (plan->n_values == plan->cap_values) {
		size_t cap = plan->cap_values * 2 + 64;
		psgi_pvalue *grown = realloc(plan->values, cap * sizeof(*grown));

		if (grown == NULL)
			return -1;
		plan->values = grown;
		plan->cap_values = cap;
	}
	plan->values[plan->n_values] = *value;
	plan->values[plan->n_values].first = INT32_MAX;
	plan->values[plan->n_values].last = -1;
	return (int32_t)plan->n_values++;
}

static psgi_pvalue describe(const psgi_plan *plan, int32_t flow_value, int32_t block)
{
	const psgi_fvalue *source = &plan->flow.values[flow_value];
	psg_shape stored = source->shape;

	if (block > 1)
		stored.dim[1] = (stored.dim[1] + block - 1) / block * block;
	return (psgi_pvalue){
		.home = PSGI_HOME_ARENA,
		.flow_value = flow_value,
		.block = block,
		.bytes = (size_t)psg_shape_elements(&stored) * psg_dtype_size(source->dtype),
		.width = source->width,
		.width_axis = source->width_axis,
	};
}

int32_t psgi_plan_add(psgi_plan *plan, int32_t flow_value, int32_t block)
{
	psgi_pvalue value = describe(plan, flow_value, block);
	int32_t index = add_value(plan, &value);

	if (index >= 0)
		(block > 1 ? plan->blocked : plan->plain)[flow_value] = index;
	return index;
}

static int32_t root_of(const psgi_plan *plan, int32_t value)
{
	while (plan->values[value].home == PSGI_HOME_ALIAS)
		value = plan->values[value].root;
	return value;
}

/* --- steps --- */

static void extend_life(psgi_plan *plan, int32_t value, int32_t step)
{
	psgi_pvalue *root;

	if (value < 0)
		return;
	root = &plan->values[root_of(plan, value)];
	if (step < root->first)
		root->first = step;
	if (step > root->last)
		root->last = step;
}

psg_status psgi_plan_step(psgi_plan *plan, const psgi_step *step, psg_error *error)
{
	int32_t index = (int32_t)plan->n_steps;

	if (plan->n_steps == plan->cap_steps) {
		size_t cap = plan->cap_steps * 2 + 64;
		psgi_step *grown = realloc(plan->steps, cap * sizeof(*grown));

		if (grown == NULL) {
			psgi_kernel_destroy(step->kernel);
			return no_memory(error);
		}
		plan->steps = grown;
		plan->cap_steps = cap;
	}
	plan->steps[plan->n_steps++] = *step;
	for (size_t i = 0; i < step->n_in; i++)
		extend_life(plan, step->in[i], index);
	for (size_t i = 0; i < step->n_out; i++)
		extend_life(plan, step->out[i], index);
	if (step->kernel->scratch_bytes > plan->scratch_bytes)
		plan->scratch_bytes = step->kernel->scratch_bytes;
	return PSG_OK;
}

/* A step that converts `from` into the layout of `to`, or copies. */
static psg_status convert(psgi_plan *plan, int32_t from, int32_t to, psg_error *error)
{
	const psgi_pvalue *a = &plan->values[from], *b = &plan->values[to];
	const psgi_fvalue *source = &plan->flow.values[a->flow_value];
	psgi_step step = { .name = "layout", .kind = PSG_OP_IDENTITY, .n_in = 1, .n_out = 1 };
	psg_status status;

	step.in[0] = from;
	step.out[0] = to;
	if (is_cuda(plan))
		status = psgi_cuda_copy(plan->device, a->bytes, &step.kernel, error);
	else if (a->block == b->block)
		status = psgi_copy_kernel(a->bytes, &step.kernel, error);
	else
		status = psgi_reorder_kernel(&source->shape, a->block, b->block, &step.kernel,
					     error);
	return status == PSG_OK ? psgi_plan_step(plan, &step, error) : status;
}

/* Where a constant lies on the plan's device. */
static psg_status add_constant(psgi_plan *plan, int32_t flow_value, psg_error *error)
{
	psg_tensor *tensor = plan->flow.values[flow_value].constant;
	void *data = psg_tensor_data(tensor);
	int32_t index = psgi_plan_add(plan, flow_value, 1);
	psg_status status = PSG_OK;

	if (index < 0)
		return no_memory(error);
	if (is_cuda(plan))
		status = psgi_weight_use(plan->device, tensor, &data, error);
	if (status != PSG_OK)
		return status;
	plan->values[index].home = PSGI_HOME_CONSTANT;
	plan->values[index].data = data;
	return PSG_OK;
}

static void drop_constants(psgi_plan *plan)
{
	for (size_t i = 0; i < plan->n_values && is_cuda(plan); i++) {
		const psgi_pvalue *value = &plan->values[i];

		if (value->home == PSGI_HOME_CONSTANT)
			psgi_weight_drop(plan->device,
					 plan->flow.values[value->flow_value].constant);
	}
}

psg_status psgi_plan_plain(psgi_plan *plan, int32_t flow_value, int32_t *out, psg_error *error)
{
	const psgi_fvalue *source = &plan->flow.values[flow_value];

	if (plan->plain[flow_value] < 0 && source->constant != NULL) {
		psg_status status = add_constant(plan, flow_value, error);

		if (status != PSG_OK)
			return status;
	} else if (plan->plain[flow_value] < 0) {
		int32_t from = plan->blocked[flow_value], to = psgi_plan_add(plan, flow_value, 1);
		psg_status status;

		if (from < 0 || to < 0)
			return no_memory(error);
		status = convert(plan, from, to, error);
		if (status != PSG_OK)
			return status;
	}
	*out = plan->plain[flow_value];
	return PSG_OK;
}

psg_status psgi_plan_blocked(psgi_plan *plan, int32_t flow_value, int32_t block, int32_t *out,
			     psg_error *error)
{
	if (plan->blocked[flow_value] < 0) {
		int32_t from, to;
		psg_status status = psgi_plan_plain(plan, flow_value, &from, error);

		if (status != PSG_OK)
			return status;
		to = psgi_plan_add(plan, flow_value, block);
		if (to < 0)
			return no_memory(error);
		status = convert(plan, from, to, error);
		if (status != PSG_OK)
			return status;
	}
	*out = plan->blocked[flow_value];
	return PSG_OK;
}

/* --- lowering --- */

/* Operators that only rename dimensions: the result lies where the input does. */
static bool is_rename(psg_op_kind kind)
{
	return kind == PSG_OP_RESHAPE || kind == PSG_OP_FLATTEN || kind == PSG_OP_SQUEEZE ||
	       kind == PSG_OP_UNSQUEEZE || kind == PSG_OP_IDENTITY;
}

static psg_status lower_rename(psgi_plan *plan, const psgi_fnode *node, psg_error *error)
{
	int32_t from, index;
	psg_status status = psgi_plan_plain(plan, node->in[0], &from, error);

	if (status != PSG_OK)
		return status;
	index = psgi_plan_add(plan, node->out[0], 1);
	if (index < 0)
		return no_memory(error);
	plan->values[index].home = PSGI_HOME_ALIAS;
	plan->values[index].root = root_of(plan, from);
	return PSG_OK;
}

void psgi_plan_call(const psgi_plan *plan, const psgi_fnode *node, psgi_call *call)
{
	psgi_flow_call(&plan->flow, node, call);
	for (size_t i = 0; i < node->n_in; i++) {
		const psgi_fvalue *value = node->in[i] < 0 ? NULL : &plan->flow.values[node->in[i]];

		if (value != NULL && value->width >= 0)
			call->in[i].valid_axis = value->width_axis;
	}
}

static psg_status add_operands(psgi_plan *plan, const psgi_fnode *node, psgi_step *step,
			       psg_error *error)
{
	psg_status status = PSG_OK;

	for (size_t i = 0; i < node->n_in && status == PSG_OK; i++) {
		step->in[step->n_in++] = -1;
		if (node->in[i] >= 0)
			status = psgi_plan_plain(plan, node->in[i], &step->in[i], error);
	}
	for (size_t i = 0; i < node->n_post && status == PSG_OK; i++)
		if (node->post[i].value >= 0)
			status = psgi_plan_plain(plan, node->post[i].value, &step->in[step->n_in++],
						 error);
	for (size_t i = 0; i < node->n_out && status == PSG_OK; i++) {
		if (node->out[i] < 0)
			return psgi_fail(error, PSG_UNSUPPORTED, "its output %zu has no name", i);
		step->out[i] = psgi_plan_add(plan, node->out[i], 1);
		if (step->out[i] < 0)
			status = no_memory(error);
	}
	return status;
}

psg_status psgi_plan_node(psgi_plan *plan, const psgi_fnode *node, psgi_kernel *kernel,
			  psg_error *error)
{
	psgi_step step = {
		.name = node->name, .kind = node->kind, .kernel = kernel, .n_out = node->n_out
	};
	psg_status status = add_operands(plan, node, &step, error);

	if (status == PSG_OK)
		return psgi_plan_step(plan, &step, error);
	psgi_kernel_destroy(kernel);
	return status;
}

static psg_status lower_reference(psgi_plan *plan, const psgi_fnode *node, psg_error *error)
{
	psgi_kernel *kernel;
	psgi_call call;
	psg_status status;

	psgi_plan_call(plan, node, &call);
	status = psgi_reference_kernel(&call, &kernel, error);
	if (status == PSG_OK && is_cuda(plan)) {
		const psgi_cuda_host *host = psgi_cuda_host_of(node->kind);

		psgi_log(PSG_LOG_DEBUG, "node '%.80s' (%s) runs on the host: %s", node->name,
			 psg_op_name(node->kind),
			 host != NULL ? host->reason : "no kernel takes this form of it");
		status = psgi_cuda_on_host(plan->device, &call, kernel, &kernel, error);
	}
	return status == PSG_OK ? psgi_plan_node(plan, node, kernel, error) : status;
}

/* A node without an epilogue. */
static psg_status lower_bare(psgi_plan *plan, const psgi_fnode *node, psg_error *error)
{
	bool done = false;
	psg_status status = PSG_OK;

	if (is_cuda(plan))
		status = psgi_lower_cuda(plan, node, &done, error);
	return status != PSG_OK || done ? status : lower_reference(plan, node, error);
}

/* A node whose epilogue no kernel took: the operator and its posts, one after the other. */
static psg_status lower_unfused(psgi_plan *plan, const psgi_fnode *node, psg_error *error)
{
	psgi_fnode bare = *node;
	psg_status status;

	bare.n_post = 0;
	for (size_t i = 0; i < node->n_post; i++) {
		psgi_fnode post = {
			.kind = node->post[i].kind, .name = node->name, .n_in = 1, .n_out = 1
		};
		const psgi_fvalue result = plan->flow.values[node->out[0]];
		int32_t between = psgi_flow_add_value(&plan->flow, result.dtype, &result.shape);

		if (between < 0 || (size_t)between >= plan->n_homes)
			return no_memory(error);
		plan->flow.values[between].width = result.width;
		plan->flow.values[between].width_axis = result.width_axis;
		plan->plain[between] = plan->blocked[between] = -1;
		post.params.unary = (psg_unary_params){ node->post[i].alpha, node->post[i].beta };
		if (post.kind == PSG_OP_ADD) {
			post.params = (psg_op_params){ .none = 0 };
			post.in[post.n_in++] = node->post[i].value;
		}
		bare.out[0] = between;
		status = lower_bare(plan, &bare, error);
		if (status != PSG_OK)
			return status;
		post.in[0] = between;
		post.out[0] = node->out[0];
		bare = post;
	}
	return lower_bare(plan, &bare, error);
}

static psg_status lower_node(psgi_plan *plan, psgi_pack_cache *packs, psgi_fnode *node,
			     psg_error *error)
{
	bool done = false;
	psg_status status = PSG_OK;

	if (is_rename(node->kind) && node->n_post == 0 &&
	    plan->flow.values[node->out[0]].constant == NULL)
		return lower_rename(plan, node, error);
	if (is_cuda(plan))
		status = psgi_lower_cuda(plan, node, &done, error);
#ifdef HAVE_DNNL
	else if (!plan->device->reference)
		status = psgi_lower_fast(plan, packs, node, &done, error);
#else
	(void)packs;
#endif
	return status != PSG_OK || done ? status : lower_unfused(plan, node, error);
}

/* Results go straight into the output tensor where their memory is the plan's own. */
static psg_status lower_outputs(psgi_plan *plan, psg_error *error)
{
	const psgi_graph *graph = plan->flow.graph;

	for (size_t i = 0; i < graph->n_outputs; i++) {
		int32_t value, root, copy;
		psg_status status = psgi_plan_plain(plan, graph->outputs[i], &value, error);
		psgi_pvalue made;

		if (status != PSG_OK)
			return status;
		if (plan->values ==
		    NULL) { /* never after a success, which the analyser cannot see */
			(void)no_memory(error);
			return PSG_NOMEM;
		}
		root = root_of(plan, value);
		if (plan->values[root].home == PSGI_HOME_ARENA) {
			plan->values[root].home = PSGI_HOME_OUTPUT;
			plan->values[root].port = i;
			continue;
		}
		made = describe(plan, graph->outputs[i], 1);
		made.home = PSGI_HOME_OUTPUT;
		made.port = i;
		copy = add_value(plan, &made);
		status = copy < 0 ? no_memory(error) : convert(plan, value, copy, error);
		if (status != PSG_OK)
			return status;
	}
	return PSG_OK;
}

/* --- memory: largest first, each at the lowest place free during its life --- */

#define ALIGNMENT 256 /* as a GPU's memory; a CPU's would do with 64 */

static int by_size(const void *a, const void *b)
{
	const psgi_pvalue *x = *(psgi_pvalue *const *)a, *y = *(psgi_pvalue *const *)b;

	return x->bytes < y->bytes ? 1 : x->bytes > y->bytes ? -1 : x->first - y->first;
}

static bool alive_together(const psgi_pvalue *a, const psgi_pvalue *b)
{
	return a->first <= b->last && b->first <= a->last;
}

static void place(psgi_pvalue **placed, size_t n, psgi_pvalue *value)
{
	bool moved = true;

	value->offset = 0;
	/* Each pass jumps over one block in the way; offsets only grow, so it ends. */
	while (moved) {
		moved = false;
		for (size_t i = 0; i < n; i++) {
			psgi_pvalue *other = placed[i];

			if (alive_together(value, other) &&
			    value->offset < other->offset + other->bytes &&
			    other->offset < value->offset + value->bytes) {
				value->offset = other->offset + other->bytes;
				moved = true;
			}
		}
	}
}

static psg_status lay_out(psgi_plan *plan, psg_error *error)
{
	psgi_pvalue **order = malloc((plan->n_values + 1) * sizeof(psgi_pvalue *));
	size_t n = 0;

	if (order == NULL)
		return no_memory(error);
	for (size_t i = 0; i < plan->n_values; i++) {
		psgi_pvalue *value = &plan->values[i];

		if (value->home == PSGI_HOME_ARENA) {
			value->bytes = (value->bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
			order[n++] = value;
		}
	}
	qsort(order, n, sizeof(psgi_pvalue *), by_size);
	for (size_t i = 0; i < n; i++) {
		place(order, i, order[i]);
		if (order[i]->offset + order[i]->bytes > plan->arena_bytes)
			plan->arena_bytes = order[i]->offset + order[i]->bytes;
	}
	free(order);
	return PSG_OK;
}

/* --- the whole --- */

static psg_status prepare(psgi_plan *plan, psg_error *error)
{
	psgi_flow *flow = &plan->flow;

	/* Lowering an unfused epilogue adds values: at most one a post. */
	plan->n_homes = flow->n_values + flow->n_nodes * PSGI_MAX_POST;
	plan->plain = malloc((plan->n_homes + 1) * sizeof(int32_t));
	plan->blocked = malloc((plan->n_homes + 1) * sizeof(int32_t));
	if (plan->plain == NULL || plan->blocked == NULL)
		return no_memory(error);
	memset(plan->plain, 0xff, plan->n_homes * sizeof(int32_t));
	memset(plan->blocked, 0xff, plan->n_homes * sizeof(int32_t));
	for (size_t i = 0; i < flow->graph->n_inputs; i++) {
		int32_t index = psgi_plan_add(plan, flow->inputs[i], 1);

		if (index < 0)
			return no_memory(error);
		plan->values[index].home = PSGI_HOME_INPUT;
		plan->values[index].port = i;
	}
	if (flow->n_widths > 0) {
		plan->samples = (size_t)flow->values[flow->inputs[0]].shape.dim[0];
		plan->valid = calloc(flow->n_widths * (plan->samples + 1), sizeof(int32_t));
		if (plan->valid == NULL)
			return no_memory(error);
	}
	return PSG_OK;
}

psg_status psgi_plan_create(psgi_flow *flow, psg_device *device, psgi_pack_cache *packs,
			    psgi_plan **out, psg_error *error)
{
	psgi_plan *plan = calloc(1, sizeof(*plan));
	psg_status status;

	if (plan == NULL) {
		psgi_flow_free(flow);
		return no_memory(error);
	}
	plan->device = device;
	plan->flow = *flow;
	status = prepare(plan, error);
	for (size_t i = 0; status == PSG_OK && i < plan->flow.n_nodes; i++) {
		psgi_fnode node = plan->flow.nodes[i];

		if (node.dead)
			continue;
		status = lower_node(plan, packs, &node, error);
		if (status != PSG_OK)
			psgi_error_prefix(error, "node '%.80s' (%s)", node.name,
					  psg_op_name(node.kind));
	}
	if (status == PSG_OK)
		status = lower_outputs(plan, error);
	if (status == PSG_OK)
		status = lay_out(plan, error);
	if (status != PSG_OK) {
		psgi_plan_destroy(plan);
		return status;
	}
	*out = plan;
	return PSG_OK;
}

void psgi_plan_destroy(psgi_plan *plan)
{
	if (plan == NULL)
		return;
	for (size_t i = 0; i < plan->n_steps; i++)
		psgi_kernel_destroy(plan->steps[i].kernel);
	drop_constants(plan);
	free(plan->steps);
	free(plan->values);
	free(plan->plain);
	free(plan->blocked);
	free(plan->valid);
	psgi_flow_free(&plan->flow);
	free(plan);
}
