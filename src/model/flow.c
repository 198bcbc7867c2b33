/* SPDX-License-Identifier: Apache-2.0 */
/* Keeping a flow: growing it, counting uses, following valid widths. */
#include "config.h"

#include "model/flow.h"

#include "base/base.h"

#include <stdlib.h>
#include <string.h>

int32_t psgi_flow_add_value(psgi_flow *flow, psg_dtype dtype, const psg_shape *shape)
{
	if (flow->n_values == flow->cap_values) {
		size_t cap = flow->cap_values * 2 + 16;
		psgi_fvalue *grown = realloc(flow->values, cap * sizeof(*grown));

		if (grown == NULL)
			return -1;
		flow->values = grown;
		flow->cap_values = cap;
	}
	flow->values[flow->n_values] = (psgi_fvalue){ dtype, *shape, NULL, -1, 0, -1, 0 };
	return (int32_t)flow->n_values++;
}

int32_t psgi_flow_add_node(psgi_flow *flow, const psgi_fnode *node)
{
	if (flow->n_nodes == flow->cap_nodes) {
		size_t cap = flow->cap_nodes * 2 + 16;
		psgi_fnode *grown = realloc(flow->nodes, cap * sizeof(*grown));

		if (grown == NULL)
			return -1;
		flow->nodes = grown;
		flow->cap_nodes = cap;
	}
	flow->nodes[flow->n_nodes] = *node;
	return (int32_t)flow->n_nodes++;
}

void psgi_flow_free(psgi_flow *flow)
{
	for (size_t i = 0; i < flow->n_values; i++)
		psg_tensor_unref(flow->values[i].constant);
	free(flow->values);
	free(flow->nodes);
	free(flow->widths);
	memset(flow, 0, sizeof(*flow));
}

static void count_uses(psgi_flow *flow)
{
	for (size_t i = 0; i < flow->n_values; i++) {
		flow->values[i].uses = 0;
		flow->values[i].producer = -1;
	}
	for (size_t i = 0; i < flow->graph->n_outputs; i++)
		flow->values[flow->outputs[i]].uses++;
	for (size_t i = 0; i < flow->n_nodes; i++) {
		psgi_fnode *node = &flow->nodes[i];

		if (node->dead)
			continue;
		for (size_t k = 0; k < node->n_in; k++) {
			if (node->in[k] >= 0)
				flow->values[node->in[k]].uses++;
		}
		for (size_t k = 0; k < node->n_post; k++) {
			if (node->post[k].value >= 0)
				flow->values[node->post[k].value].uses++;
		}
		if (node->mix.parts > 0 && node->mix.addend >= 0)
			flow->values[node->mix.addend].uses++;
		for (size_t k = 0; k < node->n_out; k++) {
			if (node->out[k] >= 0)
				flow->values[node->out[k]].producer = (int32_t)i;
		}
	}
}

static bool wanted(const psgi_flow *flow, const psgi_fnode *node)
{
	for (size_t k = 0; k < node->n_out; k++) {
		if (node->out[k] >= 0 && flow->values[node->out[k]].uses > 0)
			return true;
	}
	return false;
}

void psgi_flow_sweep(psgi_flow *flow)
{
	bool again = true;

	count_uses(flow);
	while (again) {
		again = false;
		/* Backwards, so that a chain of unwanted nodes goes in one round. */
		for (size_t i = flow->n_nodes; i-- > 0;) {
			psgi_fnode *node = &flow->nodes[i];

			if (node->dead || wanted(flow, node))
				continue;
			node->dead = true;
			again = true;
			for (size_t k = 0; k < node->n_in; k++) {
				if (node->in[k] >= 0)
					flow->values[node->in[k]].uses--;
			}
			if (node->mix.parts > 0 && node->mix.addend >= 0)
				flow->values[node->mix.addend].uses--;
		}
	}
}

psgi_fnode *psgi_flow_sole(psgi_flow *flow, int32_t value, psg_op_kind kind)
{
	psgi_fvalue *v;

	if (value < 0)
		return NULL;
	v = &flow->values[value];
	if (v->uses != 1 || v->producer < 0 || flow->nodes[v->producer].dead ||
	    flow->nodes[v->producer].kind != kind)
		return NULL;
	return &flow->nodes[v->producer];
}

static psgi_view value_view(const psgi_flow *flow, int32_t index)
{
	psgi_view view = { .shape.rank = -1 };

	if (index >= 0) {
		const psgi_fvalue *value = &flow->values[index];

		view.dtype = value->dtype;
		view.shape = value->shape;
		if (value->constant != NULL)
			view.data = psg_tensor_data(value->constant);
	}
	return view;
}

void psgi_flow_call(const psgi_flow *flow, const psgi_fnode *node, psgi_call *call)
{
	call->kind = node->kind;
	call->params = &node->params;
	call->n_in = node->n_in;
	call->n_out = node->n_out;
	for (size_t k = 0; k < node->n_in; k++)
		call->in[k] = value_view(flow, node->in[k]);
	for (size_t k = 0; k < node->n_out; k++)
		call->out[k] = value_view(flow, node->out[k]);
}

static int32_t or_one(int32_t value)
{
	return value == 0 ? 1 : value;
}

/* What a map adds to a width before it divides by the stride. */
static int64_t growth(const psgi_width_map *map)
{
	return (int64_t)map->pad_begin + map->pad_end -
	       ((int64_t)or_one(map->kernel) - 1) * or_one(map->dilation);
}

static bool same_map(const psgi_width_map *a, const psgi_width_map *b)
{
	return growth(a) == growth(b) && or_one(a->stride) == or_one(b->stride) &&
	       or_one(a->repeat) == or_one(b->repeat) && a->ceil_mode == b->ceil_mode;
}

/* The place `map` leads to from `parent`: where nothing changes the same one, else one for each
 * map. */
static int32_t width_after(psgi_flow *flow, int32_t parent, const psgi_width_map *map,
			   int64_t limit)
{
	static const psgi_width_map same = { 0 };

	if (same_map(map, &same))
		return parent;
	for (size_t i = 1; i < flow->n_widths; i++) {
		const psgi_width *width = &flow->widths[i];

		if (width->parent == parent && width->limit == limit && same_map(&width->map, map))
			return (int32_t)i;
	}
	flow->widths[flow->n_widths] = (psgi_width){ parent, *map, limit };
	return (int32_t)flow->n_widths++;
}

/* Every operand with columns must have the same ones as in[0]. */
static bool widths_agree(const psgi_flow *flow, const psgi_fnode *node, int32_t width)
{
	for (size_t k = 1; k < node->n_in; k++) {
		if (node->in[k] >= 0 && flow->values[node->in[k]].width >= 0 &&
		    flow->values[node->in[k]].width != width)
			return false;
	}
	return true;
}

/* in[0] gets the columns: the rules look at it alone, and sums and products may be swapped. */
static void wide_first(psgi_flow *flow, psgi_fnode *node)
{
	if ((node->kind == PSG_OP_ADD || node->kind == PSG_OP_MUL) && node->n_in == 2 &&
	    flow->values[node->in[0]].width < 0 && flow->values[node->in[1]].width >= 0) {
		int32_t first = node->in[0];

		node->in[0] = node->in[1];
		node->in[1] = first;
	}
}

static bool follow(psgi_flow *flow, psgi_fnode *node)
{
	psgi_call call;
	psgi_width_map map;
	int32_t width;

	if (node->n_in == 0 || node->in[0] < 0)
		return true;
	wide_first(flow, node);
	width = flow->values[node->in[0]].width;
	if (!widths_agree(flow, node, width))
		return false;
	if (width < 0)
		return true;
	psgi_flow_call(flow, node, &call);
	if (!psgi_width_rule(&call, flow->values[node->in[0]].width_axis, &map))
		return false;
	node->looks_sideways = map.looks_sideways;
	if (map.axis == 0)
		return true;
	width = width_after(flow, width, &map, call.out[0].shape.dim[map.axis]);
	for (size_t k = 0; k < node->n_out; k++) {
		if (node->out[k] >= 0) {
			flow->values[node->out[k]].width = width;
			flow->values[node->out[k]].width_axis = map.axis;
		}
	}
	return true;
}

psg_status psgi_flow_widths(psgi_flow *flow, psg_error *error)
{
	psgi_fvalue *input;

	flow->mixer = "input";
	if (flow->graph->n_inputs == 0)
		return PSG_OK;
	input = &flow->values[flow->inputs[0]];
	/* Each node makes at most one new place. */
	flow->widths = calloc(flow->n_nodes + 1, sizeof(*flow->widths));
	if (flow->widths == NULL)
		return psgi_fail(error, PSG_NOMEM, "no memory for a plan");
	if (input->shape.rank < 2)
		return PSG_OK;
	/* Images [N,C,H,W] have their columns last, sequences [N,T,C] in the middle. */
	input->width_axis = input->shape.rank == 3 ? 1 : input->shape.rank - 1;
	input->width = 0;
	flow->widths[0] = (psgi_width){ -1, { 0 }, input->shape.dim[input->width_axis] };
	flow->n_widths = 1;
	for (size_t i = 0; i < flow->n_nodes; i++) {
		if (!flow->nodes[i].dead && !follow(flow, &flow->nodes[i])) {
			flow->mixer = flow->nodes[i].name;
			return PSG_OK;
		}
	}
	flow->mixer = NULL;
	return PSG_OK;
}
