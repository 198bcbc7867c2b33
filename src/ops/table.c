/* SPDX-License-Identifier: Apache-2.0 */
/* The operator table, generated from PSG_OP_MAP, and the calls that go through it. */
#include "config.h"

#include "ops/family.h"

#include <inttypes.h>
#include <stdlib.h>

static const psgi_rule rules[] = {
#define RULE(KIND, name, family, params, min_in, max_in, min_out, max_out)                         \
	[PSG_OP_##KIND] = { #name,                                                                 \
			    min_in,                                                                \
			    max_in,                                                                \
			    min_out,                                                               \
			    max_out,                                                               \
			    psgi_##family##_shape,                                                 \
			    psgi_##family##_cost,                                                  \
			    psgi_##family##_ref },
	PSG_OP_MAP(RULE)
#undef RULE
};

const psgi_rule *psgi_rule_of(psg_op_kind kind)
{
	return (size_t)kind < PSG_OP_KINDS ? &rules[kind] : NULL;
}

const char *psg_op_name(psg_op_kind kind)
{
	const psgi_rule *rule = psgi_rule_of(kind);

	return rule != NULL ? rule->name : NULL;
}

const char *psgi_call_name(const psgi_call *call)
{
	return rules[call->kind].name;
}

static psg_status check_inputs(const psgi_call *call, const psgi_rule *rule, psg_error *error)
{
	psg_status status = PSG_OK;

	for (size_t i = 0; i < call->n_in && status == PSG_OK; i++) {
		if (!psgi_has_input(call, i)) {
			if (i < rule->min_in)
				return psgi_fail(error, PSG_INVALID,
						 "%s: input %zu is missing, %zu are wanted",
						 rule->name, i, rule->min_in);
			continue;
		}
		if (call->in[i].dtype != PSG_F32 && call->in[i].dtype != PSG_I64)
			return psgi_fail(error, PSG_INVALID, "%s: input %zu has element type %d",
					 rule->name, i, (int)call->in[i].dtype);
		status = psgi_shape_check(&call->in[i].shape, error);
		if (status != PSG_OK)
			psgi_error_prefix(error, "%s: input %zu", rule->name, i);
	}
	return status;
}

psg_status psgi_infer(psgi_call *call, psg_error *error)
{
	const psgi_rule *rule = psgi_rule_of(call->kind);
	psg_status status;

	if (rule == NULL)
		return psgi_fail(error, PSG_INVALID, "operator %d is outside the table of %d",
				 (int)call->kind, (int)PSG_OP_KINDS);
	if (call->n_in < rule->min_in || call->n_in > rule->max_in)
		return psgi_fail(error, PSG_INVALID, "%s: %zu inputs, %zu to %zu are wanted",
				 rule->name, call->n_in, rule->min_in, rule->max_in);
	if (call->n_out < rule->min_out || call->n_out > rule->max_out)
		return psgi_fail(error, PSG_INVALID, "%s: %zu outputs, %zu to %zu are possible",
				 rule->name, call->n_out, rule->min_out, rule->max_out);
	status = check_inputs(call, rule, error);
	return status == PSG_OK ? rule->shape(call, error) : status;
}

/* A split says itself how many outputs it has; all others give the table's least. */
static size_t least_outputs(const psg_op *op, const psgi_rule *rule)
{
	return op->kind == PSG_OP_SPLIT && op->params.split.n > 0 ? (size_t)op->params.split.n
								  : rule->min_out;
}

psg_status psgi_call_of_op(const psg_op *op, size_t n_out, psgi_call *call, psg_error *error)
{
	const psgi_rule *rule = psgi_rule_of(op->kind);

	*call = (psgi_call){
		.kind = op->kind, .params = &op->params, .n_in = op->n_in, .n_out = n_out
	};
	if (n_out == 0 && rule != NULL)
		call->n_out = least_outputs(op, rule);
	for (size_t i = 0; i < op->n_in && i < PSG_MAX_INPUTS; i++) {
		if (op->in[i] != NULL)
			call->in[i] = psgi_view_of(op->in[i]);
		else
			call->in[i].shape.rank = -1;
	}
	return psgi_infer(call, error);
}

psg_status psg_op_infer(const psg_op *op, psg_shape *out_shapes, psg_dtype *out_dtypes,
			size_t *n_out, psg_error *error)
{
	const psgi_rule *rule = psgi_rule_of(op->kind);
	size_t wanted = op->kind == PSG_OP_SPLIT || rule == NULL ? 0 : rule->max_out;
	psgi_call call;
	psg_status status = psgi_call_of_op(op, wanted, &call, error);

	if (status != PSG_OK)
		return status;
	for (size_t i = 0; i < call.n_out; i++) {
		out_shapes[i] = call.out[i].shape;
		out_dtypes[i] = call.out[i].dtype;
	}
	*n_out = call.n_out;
	return PSG_OK;
}

psg_status psg_op_cost(const psg_op *op, psg_cost *cost, psg_error *error)
{
	psgi_call call;
	psg_status status = psgi_call_of_op(op, 0, &call, error);

	if (status == PSG_OK)
		rules[call.kind].cost(&call, cost);
	return status;
}

void psgi_plain_cost(const psgi_call *call, psg_cost *cost)
{
	*cost = (psg_cost){ 0, 0 };
	for (size_t i = 0; i < call->n_in; i++)
		if (psgi_has_input(call, i))
			cost->bytes += psg_shape_elements(&call->in[i].shape) *
				       (int64_t)psg_dtype_size(call->in[i].dtype);
	for (size_t i = 0; i < call->n_out; i++)
		cost->bytes += psg_shape_elements(&call->out[i].shape) *
			       (int64_t)psg_dtype_size(call->out[i].dtype);
}

psg_status psgi_run_reference(const psgi_call *call, psg_error *error)
{
	for (size_t i = 0; i < call->n_out; i++) {
		if (psg_shape_elements(&call->out[i].shape) > 0)
			return rules[call->kind].ref(call, error);
	}
	return PSG_OK;
}

static psg_status give_widths(const psgi_call *call, const psgi_width_map *map,
			      const psgi_view *from, psg_tensor *to, psg_error *error)
{
	const psg_shape *shape = psg_tensor_shape(to);
	size_t n = (size_t)from->shape.dim[0];
	int32_t *widths = malloc(n > 0 ? n * sizeof(*widths) : 1);
	psg_status status;

	if (widths == NULL)
		return psgi_fail(error, PSG_NOMEM, "%s: no memory for valid widths",
				 psgi_call_name(call));
	for (size_t i = 0; i < n; i++)
		widths[i] = psgi_width_apply(map, from->valid[i], shape->dim[map->axis]);
	status = psg_tensor_set_valid_widths(to, map->axis, widths, n, error);
	if (status != PSG_OK)
		psgi_error_prefix(error, "%s", psgi_call_name(call));
	free(widths);
	return status;
}

psg_status psgi_create_outputs(psgi_call *call, psg_tensor **out, psg_error *error)
{
	const psgi_view *from = &call->in[psgi_width_carrier(call)];
	bool masked = call->n_in > 0 && psgi_masked(from);
	psgi_width_map map = { 0 };
	psg_status status = PSG_OK;

	if (masked && !psgi_width_rule(call, from->valid_axis, &map))
		return psgi_fail(error, PSG_UNSUPPORTED,
				 "%s: valid widths along axis %" PRId32
				 " cannot follow this operator: run it sample by sample",
				 psgi_call_name(call), from->valid_axis);
	for (size_t i = 0; i < call->n_out && status == PSG_OK; i++) {
		status = psg_tensor_create(call->out[i].dtype, &call->out[i].shape, &out[i], error);
		if (status == PSG_OK)
			call->out[i].data = psg_tensor_data(out[i]);
		if (status == PSG_OK && masked && map.axis > 0)
			status = give_widths(call, &map, from, out[i], error);
	}
	return status;
}

psg_status psgi_reference_run(const psg_op *op, psg_tensor **out, size_t n_out, psg_error *error)
{
	psgi_call call;
	psg_status status = psgi_call_of_op(op, n_out, &call, error);

	if (status != PSG_OK)
		return status;
	for (size_t i = 0; i < call.n_out; i++)
		out[i] = NULL;
	status = psgi_create_outputs(&call, out, error);
	if (status == PSG_OK)
		status = psgi_run_reference(&call, error);
	for (size_t i = 0; i < call.n_out && status != PSG_OK; i++) {
		psg_tensor_unref(out[i]);
		out[i] = NULL;
	}
	return status;
}
