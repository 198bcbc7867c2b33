/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators of ONNX that are several of ours.  The node being read becomes the
 * last of them; those before it go into the graph, under its name.
 */
#include "config.h"

#include "model/onnx_internal.h"

#include "base/base.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- building --- */

/* Puts `node` into the graph, making value `out`; -1 when memory is short. */
static int32_t emit_as(psgi_reader *r, psgi_node node, int32_t out)
{
	node.op_type = r->node->op_type;
	node.name = strdup(psgi_onnx_node_name(r->proto));
	node.n_out = 1;
	node.out[0] = out;
	if (node.name == NULL || out < 0)
		free(node.name);
	else if (psgi_graph_add_node(r->graph, node) >= 0)
		return out;
	psgi_reader_fail(r, PSG_NOMEM, "no memory for the %s", "model");
	return -1;
}

/* The same for a new value. */
static int32_t emit(psgi_reader *r, psgi_node node)
{
	return emit_as(r, node,
		       psgi_graph_add_value(r->graph, (psgi_value){ NULL, PSG_F32, NULL }));
}

static psgi_node unary(psg_op_kind kind, int32_t x)
{
	return (psgi_node){ .kind = kind, .n_in = 1, .in = { x } };
}

static psgi_node affine(int32_t x, float alpha, float beta)
{
	psgi_node node = unary(PSG_OP_AFFINE, x);

	node.params.unary = (psg_unary_params){ alpha, beta };
	return node;
}

static psgi_node binary(psg_op_kind kind, int32_t x, int32_t y)
{
	return (psgi_node){ .kind = kind, .n_in = 2, .in = { x, y } };
}

/* An operator over x whose parameters follow from the shape of `like`. */
static psgi_node shaped(psg_op_kind kind, int32_t x, int32_t like, psgi_bind_fn bind)
{
	psgi_node node = binary(kind, x, like);

	node.shape_inputs = 0x2;
	node.bind = bind;
	return node;
}

static int32_t scalar(psgi_reader *r, float value)
{
	psg_shape shape = { .rank = 0 };
	psg_tensor *tensor;
	int32_t index = -1;

	if (psg_tensor_create_from(PSG_F32, &shape, &value, &tensor, NULL) == PSG_OK)
		index = psgi_graph_add_value(r->graph, (psgi_value){ NULL, PSG_F32, tensor });
	if (index < 0)
		psgi_reader_fail(r, PSG_NOMEM, "no memory for the %s", "model");
	return index;
}

/* The node itself becomes the last operator; its outputs stay. */
static void become(psgi_reader *r, psgi_node last)
{
	r->node->kind = last.kind;
	r->node->params = last.params;
	r->node->param_inputs = last.param_inputs;
	r->node->shape_inputs = last.shape_inputs;
	r->node->bind = last.bind;
	r->node->n_in = last.n_in;
	memcpy(r->node->in, last.in, sizeof(last.in));
}

/* Has the node so many inputs, and all of them? */
static bool has_inputs(psgi_reader *r, size_t n)
{
	bool all = r->node->n_in == n;

	for (size_t i = 0; all && i < n; i++)
		all = r->node->in[i] >= 0;
	if (!all && r->status == PSG_OK)
		r->status = psgi_fail(r->error, PSG_FORMAT,
				      "it has %zu inputs of data, %zu is right", r->node->n_in, n);
	return all;
}

/* --- before opset 7, the second operand was lined up with dimensions of the first --- */

/* Input 0 gets as many dimensions of 1 behind it as line it up with axis axes[0] of input 1. */
static psg_status bind_line_up(psgi_node *node, psg_tensor *const *param, const psg_shape *shape,
			       psg_error *error)
{
	psg_axes_params *p = &node->params.axes;
	int64_t axis = p->axes[0], behind;
	char small[PSGI_SHAPE_TEXT], large[PSGI_SHAPE_TEXT];

	(void)param;
	if (axis < 0)
		axis += shape[1].rank;
	behind = shape[1].rank - axis - shape[0].rank;
	if (behind < 0 && psg_shape_elements(&shape[0]) == 1)
		behind = 0;
	if (axis < 0 || behind < 0)
		return psgi_fail(error, PSG_FORMAT, "%s does not line up with %s from axis %d on",
				 psgi_shape_text(&shape[0], small),
				 psgi_shape_text(&shape[1], large), p->axes[0]);
	p->n_axes = (int32_t)behind;
	for (int32_t i = 0; i < p->n_axes; i++)
		p->axes[i] = shape[0].rank + i;
	return PSG_OK;
}

static psgi_node lined_up(int32_t x, int32_t like, int32_t axis)
{
	psgi_node node = shaped(PSG_OP_UNSQUEEZE, x, like, bind_line_up);

	node.params.axes.axes[0] = axis;
	return node;
}

/* Lines input 1 of the node up with its input 0. */
static void line_up(psgi_reader *r, int32_t axis)
{
	if (has_inputs(r, 2))
		r->node->in[1] = emit(r, lined_up(r->node->in[1], r->node->in[0], axis));
}

void psgi_read_line_up(psgi_reader *r)
{
	bool broadcast = psgi_attr_int(r, "broadcast", 0) != 0;
	int32_t axis = psgi_attr_int32(r, "axis", 0);

	/* Without an axis the last dimensions are meant, as ever after. */
	if (broadcast && psgi_attr_given(r, "axis"))
		line_up(r, axis);
}

void psgi_read_prelu_channels(psgi_reader *r)
{
	line_up(r, 1);
}

/* --- truth values, which are 0 and 1 --- */

void psgi_read_xor(psgi_reader *r)
{
	if (r->opset < 7)
		psgi_read_line_up(r);
	if (has_inputs(r, 2))
		become(r, unary(PSG_OP_NOT,
				emit(r, binary(PSG_OP_EQUAL, r->node->in[0], r->node->in[1]))));
}

void psgi_read_is_nan(psgi_reader *r)
{
	int32_t x = r->node->in[0];

	if (has_inputs(r, 1))
		become(r, unary(PSG_OP_NOT, emit(r, binary(PSG_OP_EQUAL, x, x))));
}

void psgi_read_is_inf(psgi_reader *r)
{
	bool positive = psgi_attr_int(r, "detect_positive", 1) != 0;
	bool negative = psgi_attr_int(r, "detect_negative", 1) != 0;
	int32_t x = r->node->in[0];

	if (!has_inputs(r, 1))
		return;
	if (positive && negative)
		x = emit(r, unary(PSG_OP_ABS, x));
	/* Nothing is less than minus infinity. */
	become(r, binary(positive || negative ? PSG_OP_EQUAL : PSG_OP_LESS, x,
			 scalar(r, positive ? INFINITY : -INFINITY)));
}

/* --- elements --- */

/* x + bias below -lambd, x - bias above lambd, 0 between. */
void psgi_read_shrink(psgi_reader *r)
{
	float bias = psgi_attr_float(r, "bias", 0), lambd = psgi_attr_float(r, "lambd", 0.5F);
	int32_t x = r->node->in[0], below, above;
	psgi_node inner = { .kind = PSG_OP_WHERE, .n_in = 3 }, outer = inner;

	if (!has_inputs(r, 1))
		return;
	below = emit(r, binary(PSG_OP_LESS, x, scalar(r, -lambd)));
	above = emit(r, binary(PSG_OP_GREATER, x, scalar(r, lambd)));
	inner.in[0] = above;
	inner.in[1] = emit(r, affine(x, 1, -bias));
	inner.in[2] = scalar(r, 0);
	outer.in[0] = below;
	outer.in[1] = emit(r, affine(x, 1, bias));
	outer.in[2] = emit(r, inner);
	become(r, outer);
}

/* --- a second output that says what was dropped: nothing --- */

static psg_status bind_ones(psgi_node *node, psg_tensor *const *param, const psg_shape *shape,
			    psg_error *error)
{
	(void)param;
	(void)error;
	node->params.fill.shape = shape[0];
	return PSG_OK;
}

void psgi_read_dropout_mask(psgi_reader *r)
{
	psgi_node ones = {
		.kind = PSG_OP_CONSTANT_OF_SHAPE,
		.shape_inputs = 0x1,
		.bind = bind_ones,
		.n_in = 1,
		.in = { r->node->in[0] },
	};

	if (r->node->n_out != 2 || r->node->n_in < 1 || r->node->in[0] < 0)
		return;
	ones.params.fill.value = 1;
	ones.params.fill.dtype = r->opset < 10 ? PSG_F32 : PSG_I64; /* a truth value since */
	(void)emit_as(r, ones, r->node->out[1]);
	r->node->n_out = 1;
}

/* --- the one greatest element of each row becomes 1, all others 0 --- */

/* 0, 1, .. along the dimension that `value` names until now. */
static psg_status bind_count(psgi_node *node, psg_tensor *const *param, const psg_shape *shape,
			     psg_error *error)
{
	psg_fill_params *p = &node->params.fill;
	int32_t axis = (int32_t)p->value;

	(void)param;
	if (axis < -shape[0].rank || axis >= shape[0].rank)
		return psgi_fail(error, PSG_FORMAT, "axis %d of %d dimensions", axis,
				 shape[0].rank);
	*p = (psg_fill_params){ .dtype = PSG_I64, .step = 1 };
	p->limit = (double)shape[0].dim[axis < 0 ? axis + shape[0].rank : axis];
	return PSG_OK;
}

/* As a reshape to the shape of input 1. */
static psg_status bind_like(psgi_node *node, psg_tensor *const *param, const psg_shape *shape,
			    psg_error *error)
{
	(void)param;
	(void)error;
	node->params.reshape = (psg_reshape_params){ shape[1], true };
	return PSG_OK;
}

void psgi_read_hardmax(psgi_reader *r)
{
	bool flat = r->opset < 13; /* all dimensions from axis on were one */
	int32_t x = r->node->in[0], rows = x, axis = psgi_attr_int32(r, "axis", flat ? 1 : -1);
	psgi_node flatten = unary(PSG_OP_FLATTEN, x), most, count, cast;

	if (!has_inputs(r, 1))
		return;
	if (flat) {
		flatten.params.axes = (psg_axes_params){ { axis }, 1 };
		rows = emit(r, flatten);
		axis = 1;
	}
	count = (psgi_node){ .kind = PSG_OP_RANGE,
			     .shape_inputs = 0x1,
			     .bind = bind_count,
			     .n_in = 1,
			     .in = { rows } };
	count.params.fill.value = axis;
	most = unary(PSG_OP_ARG_MAX, rows);
	most.params.arg.axis = axis;
	cast = unary(PSG_OP_CAST,
		     emit(r, binary(PSG_OP_EQUAL, emit(r, lined_up(emit(r, count), rows, axis)),
				    emit(r, most))));
	cast.params.cast.to = PSG_F32;
	if (flat)
		become(r, shaped(PSG_OP_RESHAPE, emit(r, cast), x, bind_like));
	else
		become(r, cast);
}

/* --- normalisations --- */

/* The dimensions from axes[0] on. */
static psg_status bind_from_axis(psgi_node *node, psg_tensor *const *param, const psg_shape *shape,
				 psg_error *error)
{
	psg_reduce_params *p = &node->params.reduce;
	int32_t axis = p->axes[0] < 0 ? p->axes[0] + shape[0].rank : p->axes[0];

	(void)param;
	if (axis < 0 || axis >= shape[0].rank)
		return psgi_fail(error, PSG_FORMAT, "axis %d of %d dimensions", p->axes[0],
				 shape[0].rank);
	p->n_axes = shape[0].rank - axis;
	for (int32_t i = 0; i < p->n_axes; i++)
		p->axes[i] = axis + i;
	return PSG_OK;
}

static psgi_node mean_from(int32_t x, int32_t axis)
{
	psgi_node node = unary(PSG_OP_REDUCE_MEAN, x);

	node.bind = bind_from_axis;
	node.params.reduce.axes[0] = axis;
	return node;
}

/* The second and third output: the mean, and one over the deviation. */
void psgi_read_layer_norm_moments(psgi_reader *r)
{
	psgi_node *node = r->node;
	int32_t x = node->in[0], axis = node->params.norm.axis, mean, apart, variance;

	if (node->n_out < 2 || node->n_out > 3 || node->n_in < 1 || x < 0)
		return;
	mean = emit(r, mean_from(x, axis));
	if (node->out[1] >= 0)
		(void)emit_as(r, unary(PSG_OP_IDENTITY, mean), node->out[1]);
	if (node->n_out == 3 && node->out[2] >= 0) {
		apart = emit(r, binary(PSG_OP_SUB, x, mean));
		variance = emit(r, mean_from(emit(r, binary(PSG_OP_MUL, apart, apart)), axis));
		variance = emit(r, affine(variance, 1, node->params.norm.epsilon));
		(void)emit_as(r, unary(PSG_OP_RECIPROCAL, emit(r, unary(PSG_OP_SQRT, variance))),
			      node->out[2]);
	}
	node->n_out = 1;
}

/* (x - mean) / (deviation + 1e-9) over the axes; the number is in ONNX's definition. */
void psgi_read_mean_variance(psgi_reader *r)
{
	int32_t x = r->node->in[0], apart, deviation;
	psgi_node mean = unary(PSG_OP_REDUCE_MEAN, x);
	psg_reduce_params *p = &mean.params.reduce;

	if (!has_inputs(r, 1))
		return;
	if (psgi_attr_given(r, "axes"))
		p->n_axes = (int32_t)psgi_attr_ints32(r, "axes", p->axes, PSG_MAX_RANK);
	else
		*p = (psg_reduce_params){ .axes = { 0, 2, 3 }, .n_axes = 3 };
	apart = emit(r, binary(PSG_OP_SUB, x, emit(r, mean)));
	mean.in[0] = emit(r, binary(PSG_OP_MUL, apart, apart));
	deviation = emit(r, unary(PSG_OP_SQRT, emit(r, mean)));
	become(r, binary(PSG_OP_DIV, apart, emit(r, affine(deviation, 1, 1e-9F))));
}

/* [N,C,..] as [N,1,C,all the rest], so that a pool runs over the channels. */
static psg_status bind_channels_as_rows(psgi_node *node, psg_tensor *const *param,
					const psg_shape *shape, psg_error *error)
{
	psg_shape *to = &node->params.reshape.shape;

	(void)param;
	if (shape[0].rank < 3)
		return psgi_fail(error, PSG_FORMAT, "%d dimensions, at least 3 are right",
				 shape[0].rank);
	*to = (psg_shape)PSG_SHAPE(shape[0].dim[0], 1, shape[0].dim[1], 1);
	for (int32_t i = 2; i < shape[0].rank; i++)
		to->dim[3] *= shape[0].dim[i];
	node->params.reshape.allow_zero = true;
	return PSG_OK;
}

/* x / (bias + alpha * mean of the squares of `size` channels)^beta, past the ends being zeros. */
void psgi_read_lrn(psgi_reader *r)
{
	int32_t x = r->node->in[0], size = psgi_attr_int32(r, "size", 0), squares;
	psgi_node rows, pool = { .kind = PSG_OP_POOL_AVG, .n_in = 1 };
	psg_window *w = &pool.params.pool.window;

	if (size < 1)
		psgi_reader_fail(r, PSG_FORMAT, "attribute '%s' is not positive", "size");
	if (size < 1 || !has_inputs(r, 1))
		return;
	rows = unary(PSG_OP_RESHAPE, emit(r, binary(PSG_OP_MUL, x, x)));
	rows.bind = bind_channels_as_rows;
	pool.in[0] = emit(r, rows);
	pool.params.pool.count_include_pad = true;
	*w = (psg_window){ .kernel = { size, 1 },
			   .pad_begin = { (size - 1) / 2 },
			   .pad_end = { size / 2 } };
	squares = emit(r, shaped(PSG_OP_RESHAPE, emit(r, pool), x, bind_like));
	squares = emit(r, affine(squares, psgi_attr_float(r, "alpha", 1e-4F),
				 psgi_attr_float(r, "bias", 1)));
	become(r, binary(PSG_OP_DIV, x,
			 emit(r, binary(PSG_OP_POW, squares,
					scalar(r, psgi_attr_float(r, "beta", 0.75F))))));
}
