/* SPDX-License-Identifier: Apache-2.0 */
/* From a graph and the shapes of its inputs to a flow. */
#include "config.h"

#include "model/flow.h"

#include "base/base.h"

#include <stdlib.h>
#include <string.h>

/* Values above this many elements are not evaluated while planning (chosen: shapes are tiny). */
#define MAX_HOST_ELEMENTS 65536

/* Nor when all of one plan's together have more elements than this, or take more multiply-adds and
 * elements read and written (chosen: some milliseconds). */
#define ALL_HOST_ELEMENTS (INT64_C(1) << 20)
#define ALL_HOST_WORK (INT64_C(1) << 24)

struct host {
	int64_t elements, work; /* what is left */
};

static psg_status no_memory(psg_error *error)
{
	return psgi_fail(error, PSG_NOMEM, "no memory for a plan");
}

/* Splits a node's inputs into parameters, whose values bind needs, and data, which the operator
 * gets. */
static psg_status bind_node(psgi_flow *flow, const psgi_node *source, psgi_fnode *node,
			    psg_error *error)
{
	psg_tensor *param[PSG_MAX_INPUTS] = { NULL };
	psg_shape shape[PSG_MAX_INPUTS];
	psgi_node bound = *source;
	psg_status status = PSG_OK;

	node->kind = source->kind;
	node->name = source->name;
	for (size_t i = 0; i < source->n_in; i++) {
		int32_t value = source->in[i];

		shape[i].rank = -1;
		if ((source->shape_inputs >> i & 1U) != 0) {
			if (value >= 0)
				shape[i] = flow->values[value].shape;
		} else if ((source->param_inputs >> i & 1U) == 0) {
			node->in[node->n_in++] = value;
			if (value >= 0)
				shape[i] = flow->values[value].shape;
		} else if (value >= 0) {
			param[i] = flow->values[value].constant;
			if (param[i] == NULL)
				return psgi_fail(error, PSG_UNSUPPORTED,
						 "input %zu is computed from data, but shapes "
						 "must be known before a run",
						 i);
		}
	}
	while (node->n_in > 0 && node->in[node->n_in - 1] < 0)
		node->n_in--;
	if (source->bind != NULL)
		status = source->bind(&bound, param, shape, error);
	node->params = bound.params;
	return status;
}

/* Shape and Size read no data. */
static psg_status shape_value(psgi_call *call, psg_tensor **out, psg_error *error)
{
	const psg_shape *in = &call->in[0].shape;
	const psg_shape_params *params = &call->params->shape;
	int64_t dims[PSG_MAX_RANK + 1] = { psg_shape_elements(in) };

	if (call->kind == PSG_OP_SHAPE) {
		int64_t start = params->start;

		if (start < 0)
			start += in->rank;
		if (start < 0)
			start = 0;
		for (int64_t i = 0; i < psg_shape_elements(&call->out[0].shape); i++)
			dims[i] = in->dim[start + i];
	}
	return psg_tensor_create_from(PSG_I64, &call->out[0].shape, dims, out, error);
}

static bool all_known(const psgi_flow *flow, const psgi_fnode *node)
{
	for (size_t i = 0; i < node->n_in; i++) {
		if (node->in[i] >= 0 && flow->values[node->in[i]].constant == NULL)
			return false;
	}
	return true;
}

/* Runs the node now: its outputs become constants of the flow. */
static psg_status evaluate(psgi_flow *flow, const psgi_fnode *node, psgi_call *call,
			   psg_error *error)
{
	psg_tensor *out[PSG_MAX_OUTPUTS] = { NULL };
	psg_status status;

	if (node->kind == PSG_OP_SHAPE || node->kind == PSG_OP_SIZE) {
		status = shape_value(call, &out[0], error);
	} else {
		psg_op op = { .kind = node->kind, .params = node->params, .n_in = node->n_in };

		for (size_t i = 0; i < node->n_in; i++)
			op.in[i] = node->in[i] < 0 ? NULL : flow->values[node->in[i]].constant;
		status = psgi_reference_run(&op, out, node->n_out, error);
	}
	if (status != PSG_OK)
		return status;
	for (size_t i = 0; i < node->n_out; i++) {
		if (node->out[i] >= 0)
			flow->values[node->out[i]].constant = out[i];
		else
			psg_tensor_unref(out[i]);
	}
	return PSG_OK;
}

/* Is there room and time for evaluating the call?  Takes both. */
static bool small(const psgi_call *call, struct host *host)
{
	int64_t elements = 0, work;
	psg_cost cost = { 0, 0 };

	for (size_t i = 0; i < call->n_out; i++) {
		if (psg_shape_elements(&call->out[i].shape) > MAX_HOST_ELEMENTS)
			return false;
		elements += psg_shape_elements(&call->out[i].shape);
	}
	psgi_rule_of(call->kind)->cost(call, &cost);
	work = cost.macs + cost.bytes / (int64_t)sizeof(float);
	if (elements > host->elements || work > host->work)
		return false;
	host->elements -= elements;
	host->work -= work;
	return true;
}

static psg_status specialise_node(psgi_flow *flow, const psgi_node *source, struct host *host,
				  psg_error *error)
{
	psgi_fnode node = { .n_out = source->n_out };
	psgi_call call;
	psg_status status = bind_node(flow, source, &node, error);

	if (status != PSG_OK)
		return status;
	memcpy(node.out, source->out, sizeof(node.out));
	psgi_flow_call(flow, &node, &call);
	status = psgi_infer(&call, error);
	if (status != PSG_OK)
		return status;
	for (size_t i = 0; i < node.n_out; i++) {
		if (node.out[i] >= 0) {
			flow->values[node.out[i]].dtype = call.out[i].dtype;
			flow->values[node.out[i]].shape = call.out[i].shape;
		}
	}
	if (node.kind == PSG_OP_SHAPE || node.kind == PSG_OP_SIZE ||
	    (all_known(flow, &node) && small(&call, host)))
		return evaluate(flow, &node, &call, error);
	return psgi_flow_add_node(flow, &node) < 0 ? no_memory(error) : PSG_OK;
}

/* Does the shape fit what the file declares for the input? */
static psg_status check_input(const psg_port *port, const psg_shape *shape, psg_error *error)
{
	char want[PSGI_SHAPE_TEXT], have[PSGI_SHAPE_TEXT];
	bool fits = shape->rank == port->shape.rank;

	for (int32_t i = 0; fits && i < shape->rank; i++)
		fits = port->shape.dim[i] < 0 || port->shape.dim[i] == shape->dim[i];
	if (fits)
		return psgi_shape_check(shape, error);
	return psgi_fail(error, PSG_INVALID, "input '%s' is %s, the model wants %s", port->name,
			 psgi_shape_text(shape, have), psgi_shape_text(&port->shape, want));
}

static const char *elements_of(psg_dtype dtype)
{
	return dtype == PSG_F32 ? "float32" : "integers";
}

/* What comes out must be what the file declares, as callers rely on it. */
static psg_status check_outputs(const psgi_flow *flow, psg_error *error)
{
	for (size_t i = 0; i < flow->graph->n_outputs; i++) {
		const psg_port *port = &flow->graph->output_ports[i];
		psg_dtype dtype = flow->values[flow->outputs[i]].dtype;

		if (dtype != port->dtype)
			return psgi_fail(error, PSG_INVALID,
					 "output '%.80s' is %s, the file declares %s", port->name,
					 elements_of(dtype), elements_of(port->dtype));
	}
	return PSG_OK;
}

psg_status psgi_specialise(const psgi_graph *graph, const psg_shape *shapes,
			   psg_tensor *const *known, psgi_flow *flow, psg_error *error)
{
	struct host host = { ALL_HOST_ELEMENTS, ALL_HOST_WORK };
	psg_status status = PSG_OK;

	*flow = (psgi_flow){ .graph = graph, .inputs = graph->inputs, .outputs = graph->outputs };
	for (size_t i = 0; i < graph->n_values; i++) {
		const psgi_value *value = &graph->values[i];
		psg_shape none = { 0 };
		int32_t index = psgi_flow_add_value(flow, value->dtype, &none);

		if (index < 0)
			return no_memory(error);
		if (value->constant != NULL) {
			flow->values[index].constant = psg_tensor_ref(value->constant);
			flow->values[index].shape = *psg_tensor_shape(value->constant);
			flow->values[index].dtype = psg_tensor_dtype(value->constant);
		}
	}
	for (size_t i = 0; i < graph->n_inputs && status == PSG_OK; i++) {
		psgi_fvalue *value = &flow->values[graph->inputs[i]];

		status = check_input(&graph->input_ports[i], &shapes[i], error);
		value->shape = shapes[i];
		if (known != NULL && known[i] != NULL)
			value->constant = psg_tensor_ref(known[i]);
	}
	for (size_t i = 0; i < graph->n_nodes && status == PSG_OK; i++) {
		status = specialise_node(flow, &graph->nodes[i], &host, error);
		if (status != PSG_OK)
			psgi_error_prefix(error, "node '%.80s' (%s)", graph->nodes[i].name,
					  graph->nodes[i].op_type);
	}
	return status == PSG_OK ? check_outputs(flow, error) : status;
}
