/* SPDX-License-Identifier: Apache-2.0 */
/* What the `model` command tells about a model. */
#include "config.h"

#include "model/model.h"
#include "model/plans.h"

#include "base/checked.h"
#include "ops/cuda_weights.h"

#include <string.h>

static void add_cost(const psgi_plan *plan, psg_cost *cost)
{
	for (size_t i = 0; i < plan->flow.n_nodes; i++) {
		const psgi_fnode *node = &plan->flow.nodes[i];
		psgi_call call;
		psg_cost one = { 0, 0 };

		if (node->dead)
			continue;
		psgi_flow_call(&plan->flow, node, &call);
		psgi_rule_of(node->kind)->cost(&call, &one);
		cost->macs = psgi_add_most(cost->macs, one.macs);
		cost->bytes = psgi_add_most(cost->bytes, one.bytes);
	}
}

/* What a GPU holds for the plan; one that two values share counts twice. */
static int64_t weight_bytes_of_plan(const psgi_plan *plan)
{
	size_t bytes = 0;

	for (size_t i = 0; i < plan->n_values; i++) {
		const psgi_pvalue *value = &plan->values[i];

		if (value->home == PSGI_HOME_CONSTANT)
			bytes += psgi_weight_bytes(plan->device,
						   plan->flow.values[value->flow_value].constant);
	}
	return (int64_t)bytes;
}

static int64_t weight_bytes(const psg_model *model)
{
	int64_t bytes = (int64_t)psgi_pack_bytes(model->packs);

	for (size_t i = 0; i < model->graph->n_values; i++) {
		const psg_tensor *tensor = model->graph->values[i].constant;

		if (tensor != NULL)
			bytes += (int64_t)psgi_tensor_bytes(tensor);
	}
	return bytes;
}

psg_status psg_model_stats_get(psg_model *model, psg_device *device, const psg_shape *shapes,
			       size_t n_shapes, psg_model_stats *stats, psg_error *error)
{
	psgi_plan *plan;
	psg_status status;

	memset(stats, 0, sizeof(*stats));
	stats->nodes_before = model->graph->file_nodes;
	stats->nodes_after = model->nodes_after_passes;
	stats->parameters = model->graph->parameters;
	if (shapes != NULL && n_shapes == model->graph->n_inputs) {
		status = psgi_plan_for(model, device, shapes, NULL, &plan, error);
		if (status != PSG_OK)
			return status;
		add_cost(plan, &stats->cost);
		stats->nodes_after = plan->n_steps;
		stats->peak_bytes = (int64_t)psgi_plan_peak_bytes(plan);
		if (psg_device_info_get(device)->kind == PSG_DEVICE_CUDA) {
			stats->weight_bytes = weight_bytes_of_plan(plan);
			return PSG_OK;
		}
	}
	stats->weight_bytes = weight_bytes(model);
	return PSG_OK;
}

psg_status psg_model_operators(psg_model *model, psg_device *device, const psg_shape *shapes,
			       size_t n_shapes, bool before,
			       void (*visit)(void *user, const char *name, size_t count),
			       void *user, psg_error *error)
{
	size_t counts[PSG_OP_KINDS] = { 0 };
	psgi_plan *plan;
	psg_status status;

	if (before) {
		for (size_t i = 0; i < model->graph->n_counts; i++)
			visit(user, model->graph->counts[i].op_type, model->graph->counts[i].count);
		return PSG_OK;
	}
	if (shapes == NULL || n_shapes != model->graph->n_inputs) {
		for (size_t i = 0; i < model->graph->n_nodes; i++)
			counts[model->graph->nodes[i].kind]++;
	} else {
		status = psgi_plan_for(model, device, shapes, NULL, &plan, error);
		if (status != PSG_OK)
			return status;
		for (size_t i = 0; i < plan->n_steps; i++)
			counts[plan->steps[i].kind]++;
	}
	for (int kind = 0; kind < PSG_OP_KINDS; kind++) {
		if (counts[kind] > 0)
			visit(user, psg_op_name((psg_op_kind)kind), counts[kind]);
	}
	return PSG_OK;
}
