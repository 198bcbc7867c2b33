/* SPDX-License-Identifier: Apache-2.0 */
/* What the graph passes share: looking around in a graph, folding constants, sweeping. */
#include "config.h"

#include "model/passes.h"

#include "base/base.h"

#include <stdlib.h>
#include <string.h>

psg_status psgi_editor_open(psgi_editor *editor, psgi_graph *graph, psg_error *error)
{
	size_t n = graph->n_values;

	*editor = (psgi_editor){ .graph = graph, .of.n = n };
	editor->of.producer = malloc((n + 1) * sizeof(int32_t));
	editor->of.uses = calloc(n + 1, sizeof(int32_t));
	if (editor->of.producer == NULL || editor->of.uses == NULL)
		return psgi_fail(error, PSG_NOMEM, "no memory for a pass over the model");
	memset(editor->of.producer, 0xff, (n + 1) * sizeof(int32_t));
	for (size_t i = 0; i < graph->n_nodes; i++) {
		const psgi_node *node = &graph->nodes[i];

		if (node->dead)
			continue;
		for (size_t k = 0; k < node->n_in; k++) {
			if (node->in[k] >= 0)
				editor->of.uses[node->in[k]]++;
		}
		for (size_t k = 0; k < node->n_out; k++) {
			if (node->out[k] >= 0)
				editor->of.producer[node->out[k]] = (int32_t)i;
		}
	}
	for (size_t i = 0; i < graph->n_outputs; i++)
		editor->of.uses[graph->outputs[i]]++;
	return PSG_OK;
}

void psgi_editor_close(psgi_editor *editor)
{
	free(editor->of.producer);
	free(editor->of.uses);
	memset(editor, 0, sizeof(*editor));
}

psgi_node *psgi_made_by(const psgi_editor *editor, int32_t value, psg_op_kind kind)
{
	psgi_node *node;

	if (value < 0 || (size_t)value >= editor->of.n || editor->of.producer[value] < 0)
		return NULL;
	node = &editor->graph->nodes[editor->of.producer[value]];
	return !node->dead && node->kind == kind ? node : NULL;
}

psgi_node *psgi_made_solely_by(const psgi_editor *editor, int32_t value, psg_op_kind kind)
{
	psgi_node *node = psgi_made_by(editor, value, kind);

	return node != NULL && editor->of.uses[value] == 1 ? node : NULL;
}

void psgi_take_over(psgi_editor *editor, psgi_node *maker, psgi_node *node)
{
	editor->of.producer[maker->out[0]] = -1;
	editor->of.uses[maker->out[0]] = 0;
	maker->out[0] = node->out[0];
	editor->of.producer[maker->out[0]] = (int32_t)(maker - editor->graph->nodes);
	node->dead = true;
}

void psgi_drop_constant(psgi_editor *editor, int32_t value)
{
	psgi_value *constant = &editor->graph->values[value];

	if ((size_t)value < editor->of.n && --editor->of.uses[value] > 0)
		return;
	psg_tensor_unref(constant->constant);
	constant->constant = NULL;
}

bool psgi_scalar(const psgi_graph *graph, int32_t value, float *scalar, int32_t *rank)
{
	const psg_tensor *tensor = value < 0 ? NULL : graph->values[value].constant;

	if (tensor == NULL || psg_tensor_dtype(tensor) != PSG_F32 ||
	    psg_shape_elements(psg_tensor_shape(tensor)) != 1)
		return false;
	*scalar = *(const float *)psg_tensor_const_data(tensor);
	if (rank != NULL)
		*rank = psg_tensor_shape(tensor)->rank;
	return true;
}

bool psgi_with_scalar(const psgi_graph *graph, const psgi_node *node, float *scalar, int32_t *other,
		      int32_t *rank)
{
	if (node->n_in != 2)
		return false;
	for (size_t i = 0; i < 2; i++) {
		if (psgi_scalar(graph, node->in[i], scalar, rank)) {
			*other = node->in[1 - i];
			return *other >= 0;
		}
	}
	return false;
}

void psgi_become_unary(psgi_node *node, psg_op_kind kind, int32_t in, float alpha, float beta)
{
	node->kind = kind;
	memset(&node->params, 0, sizeof(node->params));
	node->params.unary = (psg_unary_params){ alpha, beta };
	node->param_inputs = 0;
	node->bind = NULL;
	node->in[0] = in;
	node->n_in = 1;
}

bool psgi_take_room(psgi_graph *graph, int64_t elements)
{
	if (elements > graph->fold_room)
		return false;
	graph->fold_room -= elements;
	return true;
}

/* Is the result small and cheap enough to be made now? */
static bool may_fold(psgi_graph *graph, const psg_op *op, const psg_shape *out, size_t n_out)
{
	int64_t elements = 0, work;
	psg_cost cost;

	for (size_t i = 0; i < n_out; i++)
		elements += psg_shape_elements(&out[i]);
	if (psg_op_cost(op, &cost, NULL) != PSG_OK)
		return false;
	work = cost.macs + cost.bytes / (int64_t)sizeof(float);
	if (work > graph->fold_work || !psgi_take_room(graph, elements))
		return false;
	graph->fold_work -= work;
	return true;
}

/* Binds and runs one node whose inputs are all constant. */
static psg_status fold_node(psgi_graph *graph, psgi_node *node, psg_error *error)
{
	psg_tensor *param[PSG_MAX_INPUTS] = { NULL }, *out[PSG_MAX_OUTPUTS] = { NULL };
	psg_shape shape[PSG_MAX_INPUTS], out_shape[PSG_MAX_OUTPUTS];
	psg_dtype out_dtype[PSG_MAX_OUTPUTS];
	psgi_node bound = *node;
	psg_op op = { .kind = node->kind };
	psg_status status;
	size_t n_out = node->n_out;

	for (size_t i = 0; i < node->n_in; i++) {
		psg_tensor *tensor = node->in[i] < 0 ? NULL : graph->values[node->in[i]].constant;

		shape[i].rank = -1;
		if ((node->param_inputs >> i & 1U) != 0) {
			param[i] = tensor;
			continue;
		}
		if (tensor != NULL)
			shape[i] = *psg_tensor_shape(tensor);
		if ((node->shape_inputs >> i & 1U) == 0)
			op.in[op.n_in++] = tensor;
	}
	while (op.n_in > 0 && op.in[op.n_in - 1] == NULL)
		op.n_in--;
	status = node->bind == NULL ? PSG_OK : node->bind(&bound, param, shape, error);
	if (status != PSG_OK)
		return status;
	op.params = bound.params;
	status = psg_op_infer(&op, out_shape, out_dtype, &n_out, error);
	if (status != PSG_OK)
		return status;
	if (!may_fold(graph, &op, out_shape, n_out))
		return PSG_OK;
	status = psgi_reference_run(&op, out, node->n_out, error);
	if (status != PSG_OK)
		return status;
	for (size_t i = 0; i < node->n_out; i++) {
		if (node->out[i] >= 0) {
			graph->values[node->out[i]].constant = out[i];
			graph->values[node->out[i]].dtype = psg_tensor_dtype(out[i]);
		} else {
			psg_tensor_unref(out[i]);
		}
	}
	node->dead = true;
	return PSG_OK;
}

psg_status psgi_pass_fold(psgi_graph *graph, psg_error *error)
{
	for (size_t i = 0; i < graph->n_nodes; i++) {
		psgi_node *node = &graph->nodes[i];
		bool known = !node->dead;
		psg_status status;

		for (size_t k = 0; known && k < node->n_in; k++)
			known = node->in[k] < 0 || graph->values[node->in[k]].constant != NULL;
		if (!known)
			continue;
		status = fold_node(graph, node, error);
		if (status != PSG_OK) {
			psgi_error_prefix(error, "node '%.80s' (%s)", node->name, node->op_type);
			return status;
		}
	}
	return PSG_OK;
}

psg_status psgi_graph_sweep(psgi_graph *graph, psg_error *error)
{
	psgi_editor editor;
	psg_status status = psgi_editor_open(&editor, graph, error);
	size_t kept = 0;

	for (size_t i = graph->n_nodes; status == PSG_OK && i-- > 0;) {
		psgi_node *node = &graph->nodes[i];
		bool wanted = false;

		for (size_t k = 0; k < node->n_out; k++)
			wanted = wanted || (node->out[k] >= 0 && editor.of.uses[node->out[k]] > 0);
		if (node->dead || wanted)
			continue;
		node->dead = true;
		for (size_t k = 0; k < node->n_in; k++) {
			if (node->in[k] >= 0)
				editor.of.uses[node->in[k]]--;
		}
	}
	/* Constants that only dead nodes used are as much weight as the ones in use. */
	for (size_t i = 0; status == PSG_OK && i < graph->n_values; i++) {
		if (editor.of.uses[i] == 0) {
			psg_tensor_unref(graph->values[i].constant);
			graph->values[i].constant = NULL;
		}
	}
	psgi_editor_close(&editor);
	for (size_t i = 0; status == PSG_OK && i < graph->n_nodes; i++) {
		if (graph->nodes[i].dead)
			free(graph->nodes[i].name);
		else
			graph->nodes[kept++] = graph->nodes[i];
	}
	if (status == PSG_OK)
		graph->n_nodes = kept;
	return status;
}
