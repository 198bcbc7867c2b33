/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ONNX operators that are read: one table of names, opsets and what turns
 * attributes into a descriptor.
 */
#include "config.h"

#include "model/onnx_internal.h"

#include "base/base.h"

#include <math.h>
#include <string.h>

/* One node being read; the first error stays. */
struct reader {
	const Onnx__NodeProto *proto;
	int64_t opset;
	psgi_node *node;
	psg_error *error;
	psg_status status;
};

static void fail(struct reader *r, psg_status status, const char *message, const char *name)
{
	if (r->status == PSG_OK)
		r->status = psgi_fail(r->error, status, message, name);
}

/* --- attributes --- */

static const Onnx__AttributeProto *attribute(const struct reader *r, const char *name)
{
	for (size_t i = 0; i < r->proto->n_attribute; i++) {
		if (r->proto->attribute[i]->name != NULL &&
		    strcmp(r->proto->attribute[i]->name, name) == 0)
			return r->proto->attribute[i];
	}
	return NULL;
}

static int64_t attr_int(const struct reader *r, const char *name, int64_t fallback)
{
	const Onnx__AttributeProto *a = attribute(r, name);

	return a == NULL ? fallback : a->i;
}

/* An integer that the descriptor keeps in 32 bits. */
static int32_t attr_int32(struct reader *r, const char *name, int32_t fallback)
{
	int64_t value = attr_int(r, name, fallback);

	if (value < INT32_MIN || value > INT32_MAX)
		fail(r, PSG_FORMAT, "attribute '%s' is out of range", name);
	return (int32_t)value;
}

static float attr_float(const struct reader *r, const char *name, float fallback)
{
	const Onnx__AttributeProto *a = attribute(r, name);

	return a == NULL ? fallback : a->f;
}

/* Is the string attribute `name` (or its default) `want`? */
static bool attr_is(const struct reader *r, const char *name, const char *fallback,
		    const char *want)
{
	const Onnx__AttributeProto *a = attribute(r, name);

	if (a == NULL)
		return strcmp(fallback, want) == 0;
	return a->s.len == strlen(want) && memcmp(a->s.data, want, a->s.len) == 0;
}

/* Copies a list of at most `room` integers; how many, 0 when it is not there. */
static size_t attr_ints(struct reader *r, const char *name, int64_t *values, size_t room)
{
	const Onnx__AttributeProto *a = attribute(r, name);

	if (a == NULL)
		return 0;
	if (a->n_ints > room) {
		fail(r, PSG_UNSUPPORTED, "attribute '%s' has too many entries", name);
		return 0;
	}
	for (size_t i = 0; i < a->n_ints; i++)
		values[i] = a->ints[i];
	return a->n_ints;
}

static size_t attr_ints32(struct reader *r, const char *name, int32_t *values, size_t room)
{
	int64_t wide[2 * PSG_MAX_RANK];
	size_t n = attr_ints(r, name, wide, room < 2 * PSG_MAX_RANK ? room : 2 * PSG_MAX_RANK);

	for (size_t i = 0; i < n; i++) {
		if (wide[i] < INT32_MIN || wide[i] > INT32_MAX)
			fail(r, PSG_FORMAT, "attribute '%s' is out of range", name);
		values[i] = (int32_t)wide[i];
	}
	return n;
}

static void params(struct reader *r, uint32_t mask, psgi_bind_fn bind)
{
	r->node->param_inputs = mask;
	r->node->bind = bind;
}

/* --- families --- */

static void plain(struct reader *r)
{
	(void)r;
}

static void read_window(struct reader *r, psg_window *w)
{
	int32_t pads[2 * PSG_MAX_SPATIAL] = { 0 };
	size_t n = attr_ints32(r, "pads", pads, 2 * PSG_MAX_SPATIAL);

	(void)attr_ints32(r, "strides", w->stride, PSG_MAX_SPATIAL);
	(void)attr_ints32(r, "dilations", w->dilation, PSG_MAX_SPATIAL);
	if (n % 2 != 0)
		fail(r, PSG_FORMAT, "attribute '%s' needs two entries a dimension", "pads");
	for (size_t i = 0; i < n / 2; i++) {
		w->pad_begin[i] = pads[i];
		w->pad_end[i] = pads[n / 2 + i];
	}
	if (attr_is(r, "auto_pad", "NOTSET", "SAME_UPPER"))
		w->auto_pad = PSG_PAD_SAME_UPPER;
	else if (attr_is(r, "auto_pad", "NOTSET", "SAME_LOWER"))
		w->auto_pad = PSG_PAD_SAME_LOWER;
	else if (attr_is(r, "auto_pad", "NOTSET", "VALID"))
		w->auto_pad = PSG_PAD_VALID;
	else if (!attr_is(r, "auto_pad", "NOTSET", "NOTSET"))
		fail(r, PSG_FORMAT,
		     "attribute '%s' is not one of NOTSET, VALID, SAME_UPPER, SAME_LOWER",
		     "auto_pad");
}

static void conv(struct reader *r)
{
	psg_conv_params *p = &r->node->params.conv;

	read_window(r, &p->window);
	(void)attr_ints32(r, "kernel_shape", p->window.kernel, PSG_MAX_SPATIAL);
	p->groups = attr_int32(r, "group", 1);
	(void)attr_ints32(r, "output_padding", p->output_padding, PSG_MAX_SPATIAL);
	(void)attr_ints32(r, "output_shape", p->output_size, PSG_MAX_SPATIAL);
}

static void pool(struct reader *r)
{
	psg_pool_params *p = &r->node->params.pool;

	read_window(r, &p->window);
	if (attr_ints32(r, "kernel_shape", p->window.kernel, PSG_MAX_SPATIAL) == 0)
		fail(r, PSG_FORMAT, "attribute '%s' is missing", "kernel_shape");
	p->ceil_mode = attr_int(r, "ceil_mode", 0) != 0;
	p->count_include_pad = attr_int(r, "count_include_pad", 0) != 0;
	p->column_major = attr_int(r, "storage_order", 0) != 0;
	p->p = attr_int32(r, "p", 2);
	if (p->p < 1)
		fail(r, PSG_FORMAT, "attribute '%s' must be positive", "p");
}

static void gemm(struct reader *r)
{
	psg_matmul_params *p = &r->node->params.matmul;

	p->alpha = attr_float(r, "alpha", 1);
	p->beta = attr_float(r, "beta", 1);
	p->trans_a = attr_int(r, "transA", 0) != 0;
	p->trans_b = attr_int(r, "transB", 0) != 0;
	if (p->alpha == 0)
		fail(r, PSG_UNSUPPORTED, "attribute '%s' is 0", "alpha");
	if (p->beta == 0 && r->node->n_in > 2)
		r->node->n_in = 2;
}

static void alpha_beta(struct reader *r, float alpha, float beta)
{
	r->node->params.unary =
		(psg_unary_params){ attr_float(r, "alpha", alpha), attr_float(r, "beta", beta) };
}

static void leaky_relu(struct reader *r)
{
	alpha_beta(r, 0.01F, 0);
}

static void alpha_one(struct reader *r)
{
	alpha_beta(r, 1, 0);
}

static void selu(struct reader *r)
{
	r->node->params.unary =
		(psg_unary_params){ attr_float(r, "alpha", 1.67326319217681884765625F),
				    attr_float(r, "gamma", 1.05070102214813232421875F) };
}

static void hardsigmoid(struct reader *r)
{
	alpha_beta(r, 0.2F, 0.5F);
	if (r->node->params.unary.alpha == 0 && r->node->params.unary.beta == 0)
		fail(r, PSG_UNSUPPORTED, "attributes %s are both 0", "alpha and beta");
}

static void clip_attr(struct reader *r)
{
	r->node->params.unary = (psg_unary_params){ attr_float(r, "min", -INFINITY),
						    attr_float(r, "max", INFINITY) };
}

static void clip_input(struct reader *r)
{
	params(r, 0x6, psgi_bind_clip);
}

static void read_reduce(struct reader *r)
{
	psg_reduce_params *p = &r->node->params.reduce;

	p->n_axes = (int32_t)attr_ints32(r, "axes", p->axes, PSG_MAX_RANK);
	p->drop_dims = attr_int(r, "keepdims", 1) == 0;
	p->noop_empty = attr_int(r, "noop_with_empty_axes", 0) != 0;
}

static void reduce_input(struct reader *r)
{
	read_reduce(r);
	params(r, 0x2, psgi_bind_reduce);
}

static void arg(struct reader *r)
{
	r->node->params.arg =
		(psg_arg_params){ attr_int32(r, "axis", 0), attr_int(r, "keepdims", 1) == 0,
				  attr_int(r, "select_last_index", 0) != 0 };
}

static void norm(struct reader *r)
{
	r->node->params.norm.epsilon = attr_float(r, "epsilon", 1e-5F);
	r->node->params.norm.axis = attr_int32(r, "axis", -1);
	if (attr_int(r, "training_mode", 0) != 0)
		fail(r, PSG_UNSUPPORTED, "%s is not done here", "training");
	if (attr_int(r, "spatial", 1) != 1)
		fail(r, PSG_UNSUPPORTED, "attribute '%s' is not 1", "spatial");
	if (attr_int(r, "stash_type", 1) != 1)
		fail(r, PSG_UNSUPPORTED, "attribute '%s' is not 1", "stash_type");
}

static void softmax_flat(struct reader *r)
{
	r->node->params.softmax = (psg_softmax_params){ attr_int32(r, "axis", 1), true };
}

static void softmax(struct reader *r)
{
	r->node->params.softmax = (psg_softmax_params){ attr_int32(r, "axis", -1), false };
}

static void transpose(struct reader *r)
{
	if (attr_ints32(r, "perm", r->node->params.transpose.perm, PSG_MAX_RANK) == 0)
		params(r, 0, psgi_bind_transpose);
}

static void reshape(struct reader *r)
{
	r->node->params.reshape.allow_zero = attr_int(r, "allowzero", 0) != 0;
	params(r, 0x2, psgi_bind_reshape);
}

static void flatten(struct reader *r)
{
	r->node->params.axes.axes[0] = attr_int32(r, "axis", 1);
	r->node->params.axes.n_axes = 1;
}

static void axes_attr(struct reader *r)
{
	psg_axes_params *p = &r->node->params.axes;

	p->n_axes = (int32_t)attr_ints32(r, "axes", p->axes, PSG_MAX_RANK);
}

static void axes_input(struct reader *r)
{
	params(r, 0x2, psgi_bind_axes);
}

static void slice_attr(struct reader *r)
{
	psg_slice_params *p = &r->node->params.slice;
	size_t n = attr_ints(r, "starts", p->start, PSG_MAX_RANK);
	size_t axes = attr_ints32(r, "axes", p->axes, PSG_MAX_RANK);

	if (attr_ints(r, "ends", p->end, PSG_MAX_RANK) != n || (axes != 0 && axes != n))
		fail(r, PSG_FORMAT, "the lengths of %s do not match", "starts, ends and axes");
	p->n_axes = (int32_t)n;
	for (size_t i = 0; i < n; i++) {
		p->step[i] = 1;
		if (axes == 0)
			p->axes[i] = (int32_t)i;
	}
}

static void slice_input(struct reader *r)
{
	params(r, 0x1e, psgi_bind_slice);
}

static void concat(struct reader *r)
{
	r->node->params.concat.axis = attr_int32(r, "axis", 1);
}

static void gather(struct reader *r)
{
	r->node->params.concat.axis = attr_int32(r, "axis", 0);
}

static void split(struct reader *r)
{
	psg_split_params *p = &r->node->params.split;
	size_t n = attr_ints(r, "split", p->size, PSG_MAX_OUTPUTS);

	p->axis = attr_int32(r, "axis", 0);
	p->n = (int32_t)r->node->n_out;
	if (n != 0 && n != r->node->n_out)
		fail(r, PSG_FORMAT, "attribute '%s' does not match the number of outputs", "split");
	if (r->opset >= 13)
		params(r, 0x2, psgi_bind_split);
}

static void read_pad_mode(struct reader *r)
{
	psg_pad_params *p = &r->node->params.pad;

	if (attr_is(r, "mode", "constant", "constant"))
		p->mode = PSG_PAD_CONSTANT;
	else if (attr_is(r, "mode", "constant", "reflect"))
		p->mode = PSG_PAD_REFLECT;
	else if (attr_is(r, "mode", "constant", "edge"))
		p->mode = PSG_PAD_EDGE;
	else
		fail(r, PSG_UNSUPPORTED, "attribute '%s' is not constant, reflect or edge", "mode");
}

static void pad_attr(struct reader *r)
{
	psg_pad_params *p = &r->node->params.pad;
	int64_t pads[2 * PSG_MAX_RANK];
	size_t n = attr_ints(r, "pads", pads, 2 * PSG_MAX_RANK);

	read_pad_mode(r);
	p->value = attr_float(r, "value", 0);
	for (size_t i = 0; i < n / 2; i++) {
		p->begin[i] = pads[i];
		p->end[i] = pads[n / 2 + i];
	}
}

static void pad_input(struct reader *r)
{
	read_pad_mode(r);
	params(r, 0x6, psgi_bind_pad);
}

static void expand(struct reader *r)
{
	params(r, 0x2, psgi_bind_reshape);
}

static void depth(struct reader *r)
{
	psg_depth_params *p = &r->node->params.depth;

	p->block = attr_int32(r, "blocksize", 0);
	p->column_row_depth = attr_is(r, "mode", "DCR", "CRD");
	if (p->block < 1)
		fail(r, PSG_FORMAT, "attribute '%s' must be positive", "blocksize");
}

static void require_nearest(struct reader *r)
{
	if (!attr_is(r, "mode", "nearest", "nearest"))
		fail(r, PSG_UNSUPPORTED,
		     "attribute '%s' is not nearest: other interpolations are not done", "mode");
}

static void upsample_attr(struct reader *r)
{
	const Onnx__AttributeProto *a = attribute(r, "scales");

	require_nearest(r);
	if (a == NULL || a->n_floats == 0 || a->n_floats > PSG_MAX_RANK) {
		fail(r, PSG_FORMAT, "attribute '%s' is missing or too long", "scales");
		return;
	}
	for (size_t i = 0; i < a->n_floats; i++)
		r->node->params.resize.scale[i] = (double)a->floats[i];
}

static void upsample_input(struct reader *r)
{
	require_nearest(r);
	params(r, 0x2, psgi_bind_upsample);
}

static void resize(struct reader *r)
{
	static const struct {
		const char *name;
		psg_coordinates value;
	} coordinates[] = {
		{ "half_pixel", PSG_COORD_HALF_PIXEL },
		{ "asymmetric", PSG_COORD_ASYMMETRIC },
		{ "pytorch_half_pixel", PSG_COORD_PYTORCH_HALF_PIXEL },
		{ "align_corners", PSG_COORD_ALIGN_CORNERS },
		{ "tf_half_pixel_for_nn", PSG_COORD_TF_HALF_PIXEL_FOR_NN },
	};
	static const struct {
		const char *name;
		psg_nearest value;
	} nearest[] = {
		{ "round_prefer_floor", PSG_NEAREST_ROUND_PREFER_FLOOR },
		{ "round_prefer_ceil", PSG_NEAREST_ROUND_PREFER_CEIL },
		{ "floor", PSG_NEAREST_FLOOR },
		{ "ceil", PSG_NEAREST_CEIL },
	};
	bool known = false, rounds = false;

	require_nearest(r);
	for (size_t i = 0; i < sizeof(coordinates) / sizeof(coordinates[0]); i++) {
		if (attr_is(r, "coordinate_transformation_mode", "half_pixel",
			    coordinates[i].name)) {
			r->node->params.resize.coordinates = coordinates[i].value;
			known = true;
		}
	}
	for (size_t i = 0; i < sizeof(nearest) / sizeof(nearest[0]); i++) {
		if (attr_is(r, "nearest_mode", "round_prefer_floor", nearest[i].name)) {
			r->node->params.resize.nearest = nearest[i].value;
			rounds = true;
		}
	}
	if (!known)
		fail(r, PSG_UNSUPPORTED, "this %s is not done", "coordinate_transformation_mode");
	if (!rounds)
		fail(r, PSG_FORMAT, "unknown %s", "nearest_mode");
	params(r, 0xe, psgi_bind_resize);
}

static void shape(struct reader *r)
{
	r->node->params.shape =
		(psg_shape_params){ attr_int32(r, "start", 0), attr_int32(r, "end", 0) };
	if (attribute(r, "end") != NULL && r->node->params.shape.end == 0)
		fail(r, PSG_UNSUPPORTED, "attribute '%s' is 0", "end");
}

static void cast(struct reader *r)
{
	int64_t to = attr_int(r, "to", 0);

	if (to < 0 || to > INT32_MAX || !psgi_onnx_dtype((int32_t)to, &r->node->params.cast.to))
		fail(r, PSG_UNSUPPORTED, "a cast to %s is not done",
		     psgi_onnx_type_name(to < 0 || to > INT32_MAX ? 0 : (int32_t)to));
	r->node->params.cast.to_int32 = to == 6;
	r->node->params.cast.to_bool = to == 9;
}

static void constant_of_shape(struct reader *r)
{
	const Onnx__AttributeProto *a = attribute(r, "value");
	psg_fill_params *p = &r->node->params.fill;
	psg_tensor *value = NULL;
	psg_status status;

	params(r, 0x1, psgi_bind_shape);
	p->dtype = PSG_F32;
	if (a == NULL || a->t == NULL)
		return;
	status = psgi_onnx_tensor(a->t, "value", &value, r->error);
	if (status == PSG_OK && psg_shape_elements(psg_tensor_shape(value)) != 1)
		status = psgi_fail(r->error, PSG_FORMAT, "the value must be one number");
	if (status == PSG_OK) {
		p->dtype = psg_tensor_dtype(value);
		p->value = p->dtype == PSG_F32
				   ? (double)*(const float *)psg_tensor_const_data(value)
				   : (double)*(const int64_t *)psg_tensor_const_data(value);
	}
	psg_tensor_unref(value);
	if (r->status == PSG_OK)
		r->status = status;
}

static void range(struct reader *r)
{
	params(r, 0x7, psgi_bind_range);
}

static void dropout(struct reader *r)
{
	if (r->opset >= 12)
		params(r, 0x6, psgi_bind_dropout);
}

/* --- the table --- */

#define WINDOW "auto_pad dilations kernel_shape pads strides "

static const struct {
	const char *name;
	int first, last; /* opsets in which it means this */
	psg_op_kind kind;
	void (*read)(struct reader *r);
	const char *attributes; /* those that are understood; ones that only concern training are
				   ignored */
} operators[] = {
	{ "Conv", 1, 17, PSG_OP_CONV, conv, WINDOW "group" },
	{ "ConvTranspose", 1, 17, PSG_OP_CONV_TRANSPOSE, conv,
	  WINDOW "group output_padding output_shape" },
	{ "MaxPool", 1, 17, PSG_OP_POOL_MAX, pool, WINDOW "ceil_mode storage_order" },
	{ "AveragePool", 1, 17, PSG_OP_POOL_AVG, pool, WINDOW "ceil_mode count_include_pad" },
	{ "LpPool", 2, 17, PSG_OP_POOL_LP, pool, WINDOW "p" },
	{ "GlobalAveragePool", 1, 17, PSG_OP_GLOBAL_AVG, plain, "" },
	{ "GlobalMaxPool", 1, 17, PSG_OP_GLOBAL_MAX, plain, "" },
	{ "MatMul", 1, 17, PSG_OP_MATMUL, plain, "" },
	{ "Gemm", 7, 17, PSG_OP_MATMUL, gemm, "alpha beta transA transB" },
	{ "Identity", 1, 17, PSG_OP_IDENTITY, plain, "" },
	{ "Dropout", 7, 17, PSG_OP_IDENTITY, dropout, "ratio seed" },
	{ "Relu", 6, 17, PSG_OP_RELU, plain, "" },
	{ "LeakyRelu", 6, 17, PSG_OP_LEAKY_RELU, leaky_relu, "alpha" },
	{ "Elu", 6, 17, PSG_OP_ELU, alpha_one, "alpha" },
	{ "Celu", 12, 17, PSG_OP_CELU, alpha_one, "alpha" },
	{ "Selu", 6, 17, PSG_OP_SELU, selu, "alpha gamma" },
	{ "ThresholdedRelu", 10, 17, PSG_OP_THRESHOLDED_RELU, alpha_one, "alpha" },
	{ "Clip", 6, 10, PSG_OP_CLIP, clip_attr, "min max" },
	{ "Clip", 11, 17, PSG_OP_CLIP, clip_input, "" },
	{ "Sigmoid", 6, 17, PSG_OP_SIGMOID, plain, "" },
	{ "HardSigmoid", 6, 17, PSG_OP_HARDSIGMOID, hardsigmoid, "alpha beta" },
	{ "HardSwish", 14, 17, PSG_OP_HARDSWISH, plain, "" },
	{ "Erf", 9, 17, PSG_OP_ERF, plain, "" },
	{ "Softplus", 1, 17, PSG_OP_SOFTPLUS, plain, "" },
	{ "Softsign", 1, 17, PSG_OP_SOFTSIGN, plain, "" },
	{ "Tanh", 6, 17, PSG_OP_TANH, plain, "" },
	{ "Exp", 6, 17, PSG_OP_EXP, plain, "" },
	{ "Log", 6, 17, PSG_OP_LOG, plain, "" },
	{ "Sqrt", 6, 17, PSG_OP_SQRT, plain, "" },
	{ "Abs", 6, 17, PSG_OP_ABS, plain, "" },
	{ "Neg", 6, 17, PSG_OP_NEG, plain, "" },
	{ "Reciprocal", 6, 17, PSG_OP_RECIPROCAL, plain, "" },
	{ "Floor", 6, 17, PSG_OP_FLOOR, plain, "" },
	{ "Ceil", 6, 17, PSG_OP_CEIL, plain, "" },
	{ "Round", 11, 17, PSG_OP_ROUND, plain, "" },
	{ "Sign", 9, 17, PSG_OP_SIGN, plain, "" },
	{ "Sin", 7, 17, PSG_OP_SIN, plain, "" },
	{ "Cos", 7, 17, PSG_OP_COS, plain, "" },
	{ "Tan", 7, 17, PSG_OP_TAN, plain, "" },
	{ "Asin", 7, 17, PSG_OP_ASIN, plain, "" },
	{ "Acos", 7, 17, PSG_OP_ACOS, plain, "" },
	{ "Atan", 7, 17, PSG_OP_ATAN, plain, "" },
	{ "Sinh", 9, 17, PSG_OP_SINH, plain, "" },
	{ "Cosh", 9, 17, PSG_OP_COSH, plain, "" },
	{ "Asinh", 9, 17, PSG_OP_ASINH, plain, "" },
	{ "Acosh", 9, 17, PSG_OP_ACOSH, plain, "" },
	{ "Atanh", 9, 17, PSG_OP_ATANH, plain, "" },
	{ "Add", 7, 17, PSG_OP_ADD, plain, "" },
	{ "Sum", 6, 17, PSG_OP_ADD, plain, "" },
	{ "Sub", 7, 17, PSG_OP_SUB, plain, "" },
	{ "Mul", 7, 17, PSG_OP_MUL, plain, "" },
	{ "Div", 7, 17, PSG_OP_DIV, plain, "" },
	{ "Pow", 7, 17, PSG_OP_POW, plain, "" },
	{ "Min", 6, 17, PSG_OP_MIN, plain, "" },
	{ "Max", 6, 17, PSG_OP_MAX, plain, "" },
	{ "Mean", 6, 17, PSG_OP_MEAN, plain, "" },
	{ "PRelu", 7, 17, PSG_OP_PRELU, plain, "" },
	{ "Equal", 7, 17, PSG_OP_EQUAL, plain, "" },
	{ "Less", 7, 17, PSG_OP_LESS, plain, "" },
	{ "LessOrEqual", 12, 17, PSG_OP_LESS_EQUAL, plain, "" },
	{ "Greater", 7, 17, PSG_OP_GREATER, plain, "" },
	{ "GreaterOrEqual", 12, 17, PSG_OP_GREATER_EQUAL, plain, "" },
	{ "And", 7, 17, PSG_OP_MUL, plain, "" }, /* of 0 and 1 */
	{ "Or", 7, 17, PSG_OP_MAX, plain, "" },
	{ "Not", 1, 17, PSG_OP_NOT, plain, "" },
	{ "Where", 9, 17, PSG_OP_WHERE, plain, "" },
	{ "ReduceSum", 1, 12, PSG_OP_REDUCE_SUM, read_reduce, "axes keepdims" },
	{ "ReduceSum", 13, 17, PSG_OP_REDUCE_SUM, reduce_input, "keepdims noop_with_empty_axes" },
	{ "ReduceMean", 1, 17, PSG_OP_REDUCE_MEAN, read_reduce, "axes keepdims" },
	{ "ReduceMax", 1, 17, PSG_OP_REDUCE_MAX, read_reduce, "axes keepdims" },
	{ "ReduceMin", 1, 17, PSG_OP_REDUCE_MIN, read_reduce, "axes keepdims" },
	{ "ReduceProd", 1, 17, PSG_OP_REDUCE_PROD, read_reduce, "axes keepdims" },
	{ "ReduceL1", 1, 17, PSG_OP_REDUCE_L1, read_reduce, "axes keepdims" },
	{ "ReduceL2", 1, 17, PSG_OP_REDUCE_L2, read_reduce, "axes keepdims" },
	{ "ReduceLogSum", 1, 17, PSG_OP_REDUCE_LOG_SUM, read_reduce, "axes keepdims" },
	{ "ReduceLogSumExp", 1, 17, PSG_OP_REDUCE_LOG_SUM_EXP, read_reduce, "axes keepdims" },
	{ "ReduceSumSquare", 1, 17, PSG_OP_REDUCE_SUM_SQUARE, read_reduce, "axes keepdims" },
	{ "ArgMax", 1, 17, PSG_OP_ARG_MAX, arg, "axis keepdims select_last_index" },
	{ "ArgMin", 1, 17, PSG_OP_ARG_MIN, arg, "axis keepdims select_last_index" },
	{ "BatchNormalization", 7, 17, PSG_OP_BATCH_NORM, norm,
	  "epsilon momentum spatial training_mode" },
	{ "InstanceNormalization", 6, 17, PSG_OP_INSTANCE_NORM, norm, "epsilon" },
	{ "LayerNormalization", 17, 17, PSG_OP_LAYER_NORM, norm, "axis epsilon stash_type" },
	{ "Softmax", 1, 12, PSG_OP_SOFTMAX, softmax_flat, "axis" },
	{ "Softmax", 13, 17, PSG_OP_SOFTMAX, softmax, "axis" },
	{ "LogSoftmax", 1, 12, PSG_OP_LOG_SOFTMAX, softmax_flat, "axis" },
	{ "LogSoftmax", 13, 17, PSG_OP_LOG_SOFTMAX, softmax, "axis" },
	{ "Transpose", 1, 17, PSG_OP_TRANSPOSE, transpose, "perm" },
	{ "Reshape", 5, 17, PSG_OP_RESHAPE, reshape, "allowzero" },
	{ "Flatten", 1, 17, PSG_OP_FLATTEN, flatten, "axis" },
	{ "Squeeze", 1, 12, PSG_OP_SQUEEZE, axes_attr, "axes" },
	{ "Squeeze", 13, 17, PSG_OP_SQUEEZE, axes_input, "" },
	{ "Unsqueeze", 1, 12, PSG_OP_UNSQUEEZE, axes_attr, "axes" },
	{ "Unsqueeze", 13, 17, PSG_OP_UNSQUEEZE, axes_input, "" },
	{ "Slice", 1, 9, PSG_OP_SLICE, slice_attr, "axes starts ends" },
	{ "Slice", 10, 17, PSG_OP_SLICE, slice_input, "" },
	{ "Concat", 4, 17, PSG_OP_CONCAT, concat, "axis" },
	{ "Split", 2, 17, PSG_OP_SPLIT, split, "axis split" },
	{ "Pad", 2, 10, PSG_OP_PAD_ALL, pad_attr, "mode pads value" },
	{ "Pad", 11, 17, PSG_OP_PAD_ALL, pad_input, "mode" },
	{ "Expand", 8, 17, PSG_OP_EXPAND, expand, "" },
	{ "Tile", 6, 17, PSG_OP_TILE, expand, "" },
	{ "Gather", 1, 17, PSG_OP_GATHER, gather, "axis" },
	{ "DepthToSpace", 1, 17, PSG_OP_DEPTH_TO_SPACE, depth, "blocksize mode" },
	{ "SpaceToDepth", 1, 17, PSG_OP_SPACE_TO_DEPTH, depth, "blocksize" },
	{ "Upsample", 7, 8, PSG_OP_INTERP_NEAREST, upsample_attr, "mode scales" },
	{ "Upsample", 9, 9, PSG_OP_INTERP_NEAREST, upsample_input, "mode" },
	{ "Resize", 10, 10, PSG_OP_INTERP_NEAREST, upsample_input, "mode" },
	{ "Resize", 11, 17, PSG_OP_INTERP_NEAREST, resize,
	  "mode coordinate_transformation_mode nearest_mode cubic_coeff_a exclude_outside "
	  "extrapolation_value" },
	{ "Shape", 1, 17, PSG_OP_SHAPE, shape, "start end" },
	{ "Size", 1, 17, PSG_OP_SIZE, plain, "" },
	{ "Cast", 6, 17, PSG_OP_CAST, cast, "to" },
	{ "ConstantOfShape", 9, 17, PSG_OP_CONSTANT_OF_SHAPE, constant_of_shape, "value" },
	{ "Range", 11, 17, PSG_OP_RANGE, range, "" },
};

#define N_OPERATORS (sizeof(operators) / sizeof(operators[0]))

/* Is `name` a word of `list`? */
static bool is_listed(const char *list, const char *name)
{
	size_t n = strlen(name);

	for (const char *at = strstr(list, name); n > 0 && at != NULL; at = strstr(at + 1, name)) {
		if ((at == list || at[-1] == ' ') && (at[n] == ' ' || at[n] == '\0'))
			return true;
	}
	return false;
}

static psg_status check_attributes(const Onnx__NodeProto *proto, const char *known,
				   psg_error *error)
{
	for (size_t i = 0; i < proto->n_attribute; i++) {
		const char *name = proto->attribute[i]->name;

		/* Opset 1's leave to work in place says nothing about the result. */
		if (name == NULL ||
		    (!is_listed(known, name) && strcmp(name, "consumed_inputs") != 0))
			return psgi_fail(error, PSG_UNSUPPORTED,
					 "attribute '%.40s' is not understood",
					 name == NULL ? "" : name);
	}
	return PSG_OK;
}

/* Counts of inputs and outputs, by the operator table and without parameters. */
static psg_status check_counts(const psgi_node *node, psg_error *error)
{
	const psgi_rule *rule = psgi_rule_of(node->kind);
	size_t data = 0, outputs = 0;

	for (size_t i = 0; i < node->n_in; i++)
		data += (node->param_inputs >> i & 1U) == 0 && node->in[i] >= 0;
	for (size_t i = 0; i < node->n_out; i++)
		outputs += node->out[i] >= 0;
	if (data < rule->min_in || data > rule->max_in)
		return psgi_fail(error, PSG_FORMAT,
				 "it has %zu inputs of data, %zu to %zu are right", data,
				 rule->min_in, rule->max_in);
	if (node->n_out < rule->min_out || outputs == 0)
		return psgi_fail(error, PSG_FORMAT, "it has no output");
	if (node->n_out > rule->max_out || outputs != node->n_out)
		return psgi_fail(error, PSG_UNSUPPORTED, "it has %zu outputs, at most %zu are made",
				 node->n_out, rule->max_out);
	return PSG_OK;
}

psg_status psgi_onnx_operator(const Onnx__NodeProto *proto, int64_t opset, psgi_node *node,
			      psg_error *error)
{
	bool known = false;

	for (size_t i = 0; i < N_OPERATORS; i++) {
		struct reader r = { proto, opset, node, error, PSG_OK };
		psg_status status;

		if (strcmp(operators[i].name, proto->op_type) != 0)
			continue;
		known = true;
		if (opset < operators[i].first || opset > operators[i].last)
			continue;
		node->op_type = operators[i].name;
		node->kind = operators[i].kind;
		status = check_attributes(proto, operators[i].attributes, error);
		if (status != PSG_OK)
			return status;
		operators[i].read(&r);
		return r.status == PSG_OK ? check_counts(node, error) : r.status;
	}
	if (known)
		return psgi_fail(error, PSG_UNSUPPORTED, "it is not there in opset %lld",
				 (long long)opset);
	return psgi_fail(error, PSG_UNSUPPORTED, "this operator is not done here");
}
