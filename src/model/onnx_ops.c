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

static void params(psgi_reader *r, uint32_t mask, psgi_bind_fn bind)
{
	r->node->param_inputs = mask;
	r->node->bind = bind;
}

/* Makes `tensor`, whose reference it takes, input `index`: a parameter that was an attribute. */
static void add_input(psgi_reader *r, size_t index, psg_tensor *tensor)
{
	int32_t value = psgi_graph_add_value(
		r->graph, (psgi_value){ NULL, psg_tensor_dtype(tensor), tensor });

	if (value < 0) {
		psgi_reader_fail(r, PSG_NOMEM, "no memory for the %s", "model");
		return;
	}
	while (r->node->n_in <= index)
		r->node->in[r->node->n_in++] = -1;
	r->node->in[index] = value;
}

static void add_list(psgi_reader *r, size_t index, psg_dtype dtype, const void *values, size_t n)
{
	psg_shape shape = PSG_SHAPE((int64_t)n);
	psg_tensor *tensor;
	psg_status status = psg_tensor_create_from(dtype, &shape, values, &tensor, r->error);

	if (status == PSG_OK)
		add_input(r, index, tensor);
	else if (r->status == PSG_OK)
		r->status = status;
}

/* --- families --- */

static void plain(psgi_reader *r)
{
	(void)r;
}

/* A list of numbers, one a spatial dimension, of which there are as many in each list. */
static void read_spatial(psgi_reader *r, const char *name, int32_t least, int32_t *values)
{
	size_t n = psgi_attr_ints32(r, name, values, PSG_MAX_SPATIAL);

	for (size_t i = 0; i < n; i++) {
		if (values[i] < least)
			psgi_reader_fail(r, PSG_FORMAT,
					 least > 0 ? "attribute '%s' has a number below 1"
						   : "attribute '%s' has a number below 0",
					 name);
	}
	if (n > 0 && r->node->spatial > 0 && n != r->node->spatial)
		psgi_reader_fail(r, PSG_FORMAT, "attribute '%s' does not fit the others", name);
	if (n > 0)
		r->node->spatial = (uint8_t)n;
}

static void read_window(psgi_reader *r, psg_window *w)
{
	int32_t pads[2 * PSG_MAX_SPATIAL] = { 0 };
	size_t n = psgi_attr_ints32(r, "pads", pads, 2 * PSG_MAX_SPATIAL);

	read_spatial(r, "kernel_shape", 1, w->kernel);
	read_spatial(r, "strides", 1, w->stride);
	read_spatial(r, "dilations", 1, w->dilation);
	if (n % 2 != 0 || (n > 0 && r->node->spatial > 0 && n != 2U * r->node->spatial))
		psgi_reader_fail(r, PSG_FORMAT, "attribute '%s' needs two entries a dimension",
				 "pads");
	if (n > 0)
		r->node->spatial = (uint8_t)(n / 2);
	for (size_t i = 0; i < n / 2; i++) {
		w->pad_begin[i] = pads[i];
		w->pad_end[i] = pads[n / 2 + i];
	}
	if (psgi_attr_is(r, "auto_pad", "NOTSET", "SAME_UPPER"))
		w->auto_pad = PSG_PAD_SAME_UPPER;
	else if (psgi_attr_is(r, "auto_pad", "NOTSET", "SAME_LOWER"))
		w->auto_pad = PSG_PAD_SAME_LOWER;
	else if (psgi_attr_is(r, "auto_pad", "NOTSET", "VALID"))
		w->auto_pad = PSG_PAD_VALID;
	else if (!psgi_attr_is(r, "auto_pad", "NOTSET", "NOTSET"))
		psgi_reader_fail(
			r, PSG_FORMAT,
			"attribute '%s' is not one of NOTSET, VALID, SAME_UPPER, SAME_LOWER",
			"auto_pad");
	params(r, 0, psgi_bind_window);
}

static void conv(psgi_reader *r)
{
	psg_conv_params *p = &r->node->params.conv;

	read_window(r, &p->window);
	p->groups = psgi_attr_int32(r, "group", 1);
	if (p->groups < 1)
		psgi_reader_fail(r, PSG_FORMAT, "attribute '%s' must be positive", "group");
	read_spatial(r, "output_padding", 0, p->output_padding);
	read_spatial(r, "output_shape", 0, p->output_size);
}

static void pool(psgi_reader *r)
{
	psg_pool_params *p = &r->node->params.pool;

	read_window(r, &p->window);
	if (!psgi_attr_given(r, "kernel_shape"))
		psgi_reader_fail(r, PSG_FORMAT, "attribute '%s' is missing", "kernel_shape");
	p->ceil_mode = psgi_attr_int(r, "ceil_mode", 0) != 0;
	p->count_include_pad = psgi_attr_int(r, "count_include_pad", 0) != 0;
	p->column_major = psgi_attr_int(r, "storage_order", 0) != 0;
}

static void pool_lp(psgi_reader *r)
{
	psg_pool_params *p = &r->node->params.pool;

	pool(r);
	if (r->opset == 1) { /* a float then; other norms than whole ones are not done */
		float norm = psgi_attr_float(r, "p", 2);

		p->p = norm >= 1 && norm <= 1024 ? (int32_t)norm : 0;
		if ((float)p->p != norm)
			p->p = 0;
	} else {
		p->p = psgi_attr_int32(r, "p", 2);
	}
	if (p->p < 1)
		psgi_reader_fail(r, PSG_UNSUPPORTED, "attribute '%s' is not a positive integer",
				 "p");
}

static void gemm(psgi_reader *r)
{
	psg_matmul_params *p = &r->node->params.matmul;

	p->alpha = psgi_attr_float(r, "alpha", 1);
	p->beta = psgi_attr_float(r, "beta", 1);
	p->trans_a = psgi_attr_int(r, "transA", 0) != 0;
	p->trans_b = psgi_attr_int(r, "transB", 0) != 0;
	if (p->alpha == 0)
		psgi_reader_fail(r, PSG_UNSUPPORTED, "attribute '%s' is 0", "alpha");
	if (p->beta == 0 && r->node->n_in > 2)
		r->node->n_in = 2;
}

static void alpha_beta(psgi_reader *r, float alpha, float beta)
{
	r->node->params.unary = (psg_unary_params){ psgi_attr_float(r, "alpha", alpha),
						    psgi_attr_float(r, "beta", beta) };
}

static void leaky_relu(psgi_reader *r)
{
	alpha_beta(r, 0.01F, 0);
}

static void alpha_one(psgi_reader *r)
{
	alpha_beta(r, 1, 0);
}

static void selu(psgi_reader *r)
{
	r->node->params.unary =
		(psg_unary_params){ psgi_attr_float(r, "alpha", 1.67326319217681884765625F),
				    psgi_attr_float(r, "gamma", 1.05070102214813232421875F) };
}

/* The constants had fewer digits at first. */
static void selu_first(psgi_reader *r)
{
	r->node->params.unary = (psg_unary_params){ psgi_attr_float(r, "alpha", 1.6732F),
						    psgi_attr_float(r, "gamma", 1.0507F) };
}

static void hardsigmoid(psgi_reader *r)
{
	alpha_beta(r, 0.2F, 0.5F);
	if (r->node->params.unary.alpha == 0 && r->node->params.unary.beta == 0)
		psgi_reader_fail(r, PSG_UNSUPPORTED, "attributes %s are both 0", "alpha and beta");
}

static void clip_attr(psgi_reader *r)
{
	r->node->params.unary = (psg_unary_params){ psgi_attr_float(r, "min", -INFINITY),
						    psgi_attr_float(r, "max", INFINITY) };
}

static void clip_input(psgi_reader *r)
{
	params(r, 0x6, psgi_bind_clip);
}

static void read_reduce(psgi_reader *r)
{
	psg_reduce_params *p = &r->node->params.reduce;

	p->n_axes = (int32_t)psgi_attr_ints32(r, "axes", p->axes, PSG_MAX_RANK);
	p->drop_dims = psgi_attr_int(r, "keepdims", 1) == 0;
	p->noop_empty = psgi_attr_int(r, "noop_with_empty_axes", 0) != 0;
}

static void reduce_input(psgi_reader *r)
{
	read_reduce(r);
	params(r, 0x2, psgi_bind_reduce);
}

static void arg(psgi_reader *r)
{
	r->node->params.arg = (psg_arg_params){ psgi_attr_int32(r, "axis", 0),
						psgi_attr_int(r, "keepdims", 1) == 0,
						psgi_attr_int(r, "select_last_index", 0) != 0 };
}

static void norm(psgi_reader *r)
{
	r->node->params.norm.epsilon = psgi_attr_float(r, "epsilon", 1e-5F);
	r->node->params.norm.axis = psgi_attr_int32(r, "axis", -1);
	if (psgi_attr_int(r, "training_mode", 0) != 0)
		psgi_reader_fail(r, PSG_UNSUPPORTED, "%s is not done here", "training");
	if (psgi_attr_int(r, "spatial", 1) != 1)
		psgi_reader_fail(r, PSG_UNSUPPORTED, "attribute '%s' is not 1", "spatial");
	if (psgi_attr_int(r, "stash_type", 1) != 1)
		psgi_reader_fail(r, PSG_UNSUPPORTED, "attribute '%s' is not 1", "stash_type");
}

/* Before opset 7 models said whether they were being trained; the default was that they were. */
static void require_test(psgi_reader *r)
{
	if (psgi_attr_int(r, "is_test", 0) == 0)
		psgi_reader_fail(r, PSG_UNSUPPORTED,
				 "attribute '%s' is 0: training is not done here", "is_test");
}

static void norm_first(psgi_reader *r)
{
	norm(r);
	require_test(r);
}

static void layer_norm(psgi_reader *r)
{
	norm(r);
	psgi_read_layer_norm_moments(r);
}

static void dropout_first(psgi_reader *r)
{
	require_test(r);
	psgi_read_dropout_mask(r);
}

static void softmax_flat(psgi_reader *r)
{
	r->node->params.softmax = (psg_softmax_params){ psgi_attr_int32(r, "axis", 1), true };
}

static void softmax(psgi_reader *r)
{
	r->node->params.softmax = (psg_softmax_params){ psgi_attr_int32(r, "axis", -1), false };
}

static void transpose(psgi_reader *r)
{
	if (psgi_attr_ints32(r, "perm", r->node->params.transpose.perm, PSG_MAX_RANK) == 0)
		params(r, 0, psgi_bind_transpose);
}

static void reshape(psgi_reader *r)
{
	r->node->params.reshape.allow_zero = psgi_attr_int(r, "allowzero", 0) != 0;
	params(r, 0x2, psgi_bind_reshape);
}

static void reshape_attr(psgi_reader *r)
{
	psg_shape *to = &r->node->params.reshape.shape;

	to->rank = (int32_t)psgi_attr_ints(r, "shape", to->dim, PSG_MAX_RANK);
}

static void flatten(psgi_reader *r)
{
	r->node->params.axes.axes[0] = psgi_attr_int32(r, "axis", 1);
	r->node->params.axes.n_axes = 1;
}

static void axes_attr(psgi_reader *r)
{
	psg_axes_params *p = &r->node->params.axes;

	p->n_axes = (int32_t)psgi_attr_ints32(r, "axes", p->axes, PSG_MAX_RANK);
}

static void axes_input(psgi_reader *r)
{
	params(r, 0x2, psgi_bind_axes);
}

static void slice_attr(psgi_reader *r)
{
	psg_slice_params *p = &r->node->params.slice;
	size_t n = psgi_attr_ints(r, "starts", p->start, PSG_MAX_RANK);
	size_t axes = psgi_attr_ints32(r, "axes", p->axes, PSG_MAX_RANK);

	if (psgi_attr_ints(r, "ends", p->end, PSG_MAX_RANK) != n || (axes != 0 && axes != n))
		psgi_reader_fail(r, PSG_FORMAT, "the lengths of %s do not match",
				 "starts, ends and axes");
	p->n_axes = (int32_t)n;
	for (size_t i = 0; i < n; i++) {
		p->step[i] = 1;
		if (axes == 0)
			p->axes[i] = (int32_t)i;
	}
}

static void slice_input(psgi_reader *r)
{
	params(r, 0x1e, psgi_bind_slice);
}

static void concat(psgi_reader *r)
{
	if (r->opset >= 4 && !psgi_attr_given(r, "axis"))
		psgi_reader_fail(r, PSG_FORMAT, "attribute '%s' is missing", "axis");
	r->node->params.concat.axis = psgi_attr_int32(r, "axis", 1);
}

static void gather(psgi_reader *r)
{
	r->node->params.concat.axis = psgi_attr_int32(r, "axis", 0);
}

static void split(psgi_reader *r)
{
	psg_split_params *p = &r->node->params.split;
	size_t n = psgi_attr_ints(r, "split", p->size, PSG_MAX_OUTPUTS);

	p->axis = psgi_attr_int32(r, "axis", 0);
	p->n = (int32_t)r->node->n_out;
	if (n != 0 && n != r->node->n_out)
		psgi_reader_fail(r, PSG_FORMAT,
				 "attribute '%s' does not match the number of outputs", "split");
	if (r->opset >= 13)
		params(r, 0x2, psgi_bind_split);
}

static void read_pad_mode(psgi_reader *r)
{
	psg_pad_params *p = &r->node->params.pad;

	if (psgi_attr_is(r, "mode", "constant", "constant"))
		p->mode = PSG_PAD_CONSTANT;
	else if (psgi_attr_is(r, "mode", "constant", "reflect"))
		p->mode = PSG_PAD_REFLECT;
	else if (psgi_attr_is(r, "mode", "constant", "edge"))
		p->mode = PSG_PAD_EDGE;
	else
		psgi_reader_fail(r, PSG_UNSUPPORTED,
				 "attribute '%s' is not constant, reflect or edge", "mode");
}

static void pad_attr(psgi_reader *r)
{
	const char *name = r->opset == 1 ? "paddings" : "pads";
	int64_t pads[2 * PSG_MAX_RANK];
	size_t n = psgi_attr_ints(r, name, pads, 2 * PSG_MAX_RANK);
	float value = psgi_attr_float(r, "value", 0);

	read_pad_mode(r);
	add_list(r, 1, PSG_I64, pads, n);
	add_list(r, 2, PSG_F32, &value, 1);
	params(r, 0x6, psgi_bind_pad);
}

static void pad_input(psgi_reader *r)
{
	read_pad_mode(r);
	params(r, 0x6, psgi_bind_pad);
}

static void expand(psgi_reader *r)
{
	params(r, 0x2, psgi_bind_reshape);
}

static void tile_first(psgi_reader *r)
{
	params(r, 0x6, psgi_bind_tile_axis);
}

static void depth(psgi_reader *r)
{
	psg_depth_params *p = &r->node->params.depth;

	p->block = psgi_attr_int32(r, "blocksize", 0);
	p->column_row_depth = psgi_attr_is(r, "mode", "DCR", "CRD");
	if (p->block < 1)
		psgi_reader_fail(r, PSG_FORMAT, "attribute '%s' must be positive", "blocksize");
}

static void require_nearest(psgi_reader *r)
{
	if (!psgi_attr_is(r, "mode", "nearest", "nearest"))
		psgi_reader_fail(r, PSG_UNSUPPORTED,
				 "attribute '%s' is not nearest: other interpolations are not done",
				 "mode");
}

static void upsample_attr(psgi_reader *r)
{
	const Onnx__AttributeProto *a =
		psgi_attr(r, "scales", ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__FLOATS);

	require_nearest(r);
	if (a == NULL || a->n_floats == 0)
		psgi_reader_fail(r, PSG_FORMAT, "attribute '%s' is missing", "scales");
	else
		add_list(r, 1, PSG_F32, a->floats, a->n_floats);
	params(r, 0x2, psgi_bind_upsample);
}

static void upsample_first(psgi_reader *r)
{
	float scales[] = { 1, 1, psgi_attr_float(r, "height_scale", 0),
			   psgi_attr_float(r, "width_scale", 0) };

	require_nearest(r);
	add_list(r, 1, PSG_F32, scales, 4);
	params(r, 0x2, psgi_bind_upsample);
}

static void upsample_input(psgi_reader *r)
{
	require_nearest(r);
	params(r, 0x2, psgi_bind_upsample);
}

static void resize(psgi_reader *r)
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
		if (psgi_attr_is(r, "coordinate_transformation_mode", "half_pixel",
				 coordinates[i].name)) {
			r->node->params.resize.coordinates = coordinates[i].value;
			known = true;
		}
	}
	for (size_t i = 0; i < sizeof(nearest) / sizeof(nearest[0]); i++) {
		if (psgi_attr_is(r, "nearest_mode", "round_prefer_floor", nearest[i].name)) {
			r->node->params.resize.nearest = nearest[i].value;
			rounds = true;
		}
	}
	if (!known)
		psgi_reader_fail(r, PSG_UNSUPPORTED, "this %s is not done",
				 "coordinate_transformation_mode");
	if (!rounds)
		psgi_reader_fail(r, PSG_FORMAT, "unknown %s", "nearest_mode");
	params(r, 0xe, psgi_bind_resize);
}

static void shape(psgi_reader *r)
{
	r->node->params.shape =
		(psg_shape_params){ psgi_attr_int32(r, "start", 0), psgi_attr_int32(r, "end", 0) };
	if (psgi_attr_given(r, "end") && r->node->params.shape.end == 0)
		psgi_reader_fail(r, PSG_UNSUPPORTED, "attribute '%s' is 0", "end");
}

static void cast_to(psgi_reader *r, int64_t to)
{
	if (to < 0 || to > INT32_MAX || !psgi_onnx_dtype((int32_t)to, &r->node->params.cast.to))
		psgi_reader_fail(r, PSG_UNSUPPORTED, "a cast to %s is not done",
				 psgi_onnx_type_name(to < 0 || to > INT32_MAX ? 0 : (int32_t)to));
	r->node->params.cast.to_int32 = to == ONNX__TENSOR_PROTO__DATA_TYPE__INT32;
	r->node->params.cast.to_bool = to == ONNX__TENSOR_PROTO__DATA_TYPE__BOOL;
}

static void cast(psgi_reader *r)
{
	cast_to(r, psgi_attr_int(r, "to", 0));
}

/* Types had names at first. */
static void cast_named(psgi_reader *r)
{
	static const struct {
		const char *name;
		int to;
	} names[] = {
		{ "FLOAT", ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT },
		{ "INT32", ONNX__TENSOR_PROTO__DATA_TYPE__INT32 },
		{ "INT64", ONNX__TENSOR_PROTO__DATA_TYPE__INT64 },
		{ "BOOL", ONNX__TENSOR_PROTO__DATA_TYPE__BOOL },
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (psgi_attr_is(r, "to", "", names[i].name)) {
			cast_to(r, names[i].to);
			return;
		}
	}
	psgi_reader_fail(r, PSG_UNSUPPORTED, "attribute '%s' is not FLOAT, INT32, INT64 or BOOL",
			 "to");
}

static void constant_of_shape(psgi_reader *r)
{
	const Onnx__AttributeProto *a =
		psgi_attr(r, "value", ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__TENSOR);
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

static void range(psgi_reader *r)
{
	params(r, 0x7, psgi_bind_range);
}

static void dropout(psgi_reader *r)
{
	if (r->opset >= 12)
		params(r, 0x6, psgi_bind_dropout);
	psgi_read_dropout_mask(r);
}

/* --- the table --- */

#define WINDOW "auto_pad dilations kernel_shape pads strides "

static const struct {
	const char *name;
	int first, last; /* opsets in which it means this */
	psg_op_kind kind;
	void (*read)(psgi_reader *r);
	const char *attributes; /* those that are understood; ones that only concern training are
				   ignored */
} operators[] = {
	{ "Conv", 1, 17, PSG_OP_CONV, conv, WINDOW "group" },
	{ "ConvTranspose", 1, 17, PSG_OP_CONV_TRANSPOSE, conv,
	  WINDOW "group output_padding output_shape" },
	{ "MaxPool", 1, 17, PSG_OP_POOL_MAX, pool, WINDOW "ceil_mode storage_order" },
	{ "AveragePool", 1, 17, PSG_OP_POOL_AVG, pool, WINDOW "ceil_mode count_include_pad" },
	{ "LpPool", 1, 17, PSG_OP_POOL_LP, pool_lp, WINDOW "p" },
	{ "GlobalAveragePool", 1, 17, PSG_OP_GLOBAL_AVG, plain, "" },
	{ "GlobalMaxPool", 1, 17, PSG_OP_GLOBAL_MAX, plain, "" },
	{ "MatMul", 1, 17, PSG_OP_MATMUL, plain, "" },
	{ "Gemm", 1, 6, PSG_OP_MATMUL, gemm, "alpha beta transA transB broadcast" },
	{ "Gemm", 7, 17, PSG_OP_MATMUL, gemm, "alpha beta transA transB" },
	{ "Identity", 1, 17, PSG_OP_IDENTITY, plain, "" },
	{ "Dropout", 1, 6, PSG_OP_IDENTITY, dropout_first, "ratio is_test" },
	{ "Dropout", 7, 17, PSG_OP_IDENTITY, dropout, "ratio seed" },
	{ "Relu", 1, 17, PSG_OP_RELU, plain, "" },
	{ "LeakyRelu", 1, 17, PSG_OP_LEAKY_RELU, leaky_relu, "alpha" },
	{ "Elu", 1, 17, PSG_OP_ELU, alpha_one, "alpha" },
	{ "Celu", 12, 17, PSG_OP_CELU, alpha_one, "alpha" },
	{ "Selu", 1, 5, PSG_OP_SELU, selu_first, "alpha gamma" },
	{ "Selu", 6, 17, PSG_OP_SELU, selu, "alpha gamma" },
	{ "ThresholdedRelu", 10, 17, PSG_OP_THRESHOLDED_RELU, alpha_one, "alpha" },
	{ "Shrink", 9, 17, PSG_OP_WHERE, psgi_read_shrink, "bias lambd" },
	{ "Clip", 1, 10, PSG_OP_CLIP, clip_attr, "min max" },
	{ "Clip", 11, 17, PSG_OP_CLIP, clip_input, "" },
	{ "Sigmoid", 1, 17, PSG_OP_SIGMOID, plain, "" },
	{ "HardSigmoid", 1, 17, PSG_OP_HARDSIGMOID, hardsigmoid, "alpha beta" },
	{ "HardSwish", 14, 17, PSG_OP_HARDSWISH, plain, "" },
	{ "Erf", 9, 17, PSG_OP_ERF, plain, "" },
	{ "Softplus", 1, 17, PSG_OP_SOFTPLUS, plain, "" },
	{ "Softsign", 1, 17, PSG_OP_SOFTSIGN, plain, "" },
	{ "Tanh", 1, 17, PSG_OP_TANH, plain, "" },
	{ "Exp", 1, 17, PSG_OP_EXP, plain, "" },
	{ "Log", 1, 17, PSG_OP_LOG, plain, "" },
	{ "Sqrt", 1, 17, PSG_OP_SQRT, plain, "" },
	{ "Abs", 1, 17, PSG_OP_ABS, plain, "" },
	{ "Neg", 1, 17, PSG_OP_NEG, plain, "" },
	{ "Reciprocal", 1, 17, PSG_OP_RECIPROCAL, plain, "" },
	{ "Floor", 1, 17, PSG_OP_FLOOR, plain, "" },
	{ "Ceil", 1, 17, PSG_OP_CEIL, plain, "" },
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
	{ "Add", 1, 6, PSG_OP_ADD, psgi_read_line_up, "broadcast axis" },
	{ "Add", 7, 17, PSG_OP_ADD, plain, "" },
	{ "Sum", 1, 17, PSG_OP_ADD, plain, "" },
	{ "Sub", 1, 6, PSG_OP_SUB, psgi_read_line_up, "broadcast axis" },
	{ "Sub", 7, 17, PSG_OP_SUB, plain, "" },
	{ "Mul", 1, 6, PSG_OP_MUL, psgi_read_line_up, "broadcast axis" },
	{ "Mul", 7, 17, PSG_OP_MUL, plain, "" },
	{ "Div", 1, 6, PSG_OP_DIV, psgi_read_line_up, "broadcast axis" },
	{ "Div", 7, 17, PSG_OP_DIV, plain, "" },
	{ "Pow", 1, 6, PSG_OP_POW, psgi_read_line_up, "broadcast axis" },
	{ "Pow", 7, 17, PSG_OP_POW, plain, "" },
	{ "Min", 1, 17, PSG_OP_MIN, plain, "" },
	{ "Max", 1, 17, PSG_OP_MAX, plain, "" },
	{ "Mean", 1, 17, PSG_OP_MEAN, plain, "" },
	{ "PRelu", 1, 6, PSG_OP_PRELU, psgi_read_prelu_channels, "" },
	{ "PRelu", 7, 17, PSG_OP_PRELU, plain, "" },
	{ "Equal", 1, 6, PSG_OP_EQUAL, psgi_read_line_up, "broadcast axis" },
	{ "Equal", 7, 17, PSG_OP_EQUAL, plain, "" },
	{ "Less", 1, 6, PSG_OP_LESS, psgi_read_line_up, "broadcast axis" },
	{ "Less", 7, 17, PSG_OP_LESS, plain, "" },
	{ "LessOrEqual", 12, 17, PSG_OP_LESS_EQUAL, plain, "" },
	{ "Greater", 1, 6, PSG_OP_GREATER, psgi_read_line_up, "broadcast axis" },
	{ "Greater", 7, 17, PSG_OP_GREATER, plain, "" },
	{ "GreaterOrEqual", 12, 17, PSG_OP_GREATER_EQUAL, plain, "" },
	{ "And", 1, 6, PSG_OP_MUL, psgi_read_line_up, "broadcast axis" },
	{ "And", 7, 17, PSG_OP_MUL, plain, "" }, /* of 0 and 1 */
	{ "Or", 1, 6, PSG_OP_MAX, psgi_read_line_up, "broadcast axis" },
	{ "Or", 7, 17, PSG_OP_MAX, plain, "" },
	{ "Xor", 1, 6, PSG_OP_NOT, psgi_read_xor, "broadcast axis" },
	{ "Xor", 7, 17, PSG_OP_NOT, psgi_read_xor, "" },
	{ "IsNaN", 9, 17, PSG_OP_NOT, psgi_read_is_nan, "" },
	{ "IsInf", 10, 17, PSG_OP_EQUAL, psgi_read_is_inf, "detect_negative detect_positive" },
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
	{ "BatchNormalization", 1, 6, PSG_OP_BATCH_NORM, norm_first,
	  "epsilon momentum spatial is_test" },
	{ "BatchNormalization", 7, 17, PSG_OP_BATCH_NORM, norm,
	  "epsilon momentum spatial training_mode" },
	{ "InstanceNormalization", 1, 17, PSG_OP_INSTANCE_NORM, norm, "epsilon" },
	{ "LayerNormalization", 17, 17, PSG_OP_LAYER_NORM, layer_norm, "axis epsilon stash_type" },
	{ "MeanVarianceNormalization", 9, 17, PSG_OP_DIV, psgi_read_mean_variance, "axes" },
	{ "LRN", 1, 17, PSG_OP_DIV, psgi_read_lrn, "alpha beta bias size" },
	{ "Hardmax", 1, 17, PSG_OP_CAST, psgi_read_hardmax, "axis" },
	{ "Softmax", 1, 12, PSG_OP_SOFTMAX, softmax_flat, "axis" },
	{ "Softmax", 13, 17, PSG_OP_SOFTMAX, softmax, "axis" },
	{ "LogSoftmax", 1, 12, PSG_OP_LOG_SOFTMAX, softmax_flat, "axis" },
	{ "LogSoftmax", 13, 17, PSG_OP_LOG_SOFTMAX, softmax, "axis" },
	{ "Transpose", 1, 17, PSG_OP_TRANSPOSE, transpose, "perm" },
	{ "Reshape", 1, 4, PSG_OP_RESHAPE, reshape_attr, "shape" },
	{ "Reshape", 5, 17, PSG_OP_RESHAPE, reshape, "allowzero" },
	{ "Flatten", 1, 17, PSG_OP_FLATTEN, flatten, "axis" },
	{ "Squeeze", 1, 12, PSG_OP_SQUEEZE, axes_attr, "axes" },
	{ "Squeeze", 13, 17, PSG_OP_SQUEEZE, axes_input, "" },
	{ "Unsqueeze", 1, 12, PSG_OP_UNSQUEEZE, axes_attr, "axes" },
	{ "Unsqueeze", 13, 17, PSG_OP_UNSQUEEZE, axes_input, "" },
	{ "Slice", 1, 9, PSG_OP_SLICE, slice_attr, "axes starts ends" },
	{ "Slice", 10, 17, PSG_OP_SLICE, slice_input, "" },
	{ "Concat", 1, 17, PSG_OP_CONCAT, concat, "axis" },
	{ "Split", 1, 17, PSG_OP_SPLIT, split, "axis split" },
	{ "Pad", 1, 1, PSG_OP_PAD_ALL, pad_attr, "mode paddings value" },
	{ "Pad", 2, 10, PSG_OP_PAD_ALL, pad_attr, "mode pads value" },
	{ "Pad", 11, 17, PSG_OP_PAD_ALL, pad_input, "mode" },
	{ "Expand", 8, 17, PSG_OP_EXPAND, expand, "" },
	{ "Tile", 1, 5, PSG_OP_TILE, tile_first, "" },
	{ "Tile", 6, 17, PSG_OP_TILE, expand, "" },
	{ "Gather", 1, 17, PSG_OP_GATHER, gather, "axis" },
	{ "DepthToSpace", 1, 17, PSG_OP_DEPTH_TO_SPACE, depth, "blocksize mode" },
	{ "SpaceToDepth", 1, 17, PSG_OP_SPACE_TO_DEPTH, depth, "blocksize" },
	{ "Upsample", 1, 6, PSG_OP_INTERP_NEAREST, upsample_first,
	  "mode height_scale width_scale" },
	{ "Upsample", 7, 8, PSG_OP_INTERP_NEAREST, upsample_attr, "mode scales" },
	{ "Upsample", 9, 9, PSG_OP_INTERP_NEAREST, upsample_input, "mode" },
	{ "Resize", 10, 10, PSG_OP_INTERP_NEAREST, upsample_input, "mode" },
	{ "Resize", 11, 17, PSG_OP_INTERP_NEAREST, resize,
	  "mode coordinate_transformation_mode nearest_mode cubic_coeff_a exclude_outside "
	  "extrapolation_value" },
	{ "Shape", 1, 17, PSG_OP_SHAPE, shape, "start end" },
	{ "Size", 1, 17, PSG_OP_SIZE, plain, "" },
	{ "Cast", 1, 5, PSG_OP_CAST, cast_named, "to" },
	{ "Cast", 6, 17, PSG_OP_CAST, cast, "to" },
	{ "ConstantOfShape", 9, 17, PSG_OP_CONSTANT_OF_SHAPE, constant_of_shape, "value" },
	{ "Range", 11, 17, PSG_OP_RANGE, range, "" },
};

#define N_OPERATORS (sizeof(operators) / sizeof(operators[0]))

/* Counts of inputs and outputs, by the operator table and without parameters. */
static psg_status check_counts(const psgi_node *node, psg_error *error)
{
	const psgi_rule *rule = psgi_rule_of(node->kind);
	size_t data = 0, outputs = 0;

	for (size_t i = 0; i < node->n_in; i++)
		data += ((node->param_inputs | node->shape_inputs) >> i & 1U) == 0 &&
			node->in[i] >= 0;
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

psg_status psgi_onnx_operator(const Onnx__NodeProto *proto, int64_t opset, psgi_graph *graph,
			      psgi_node *node, psg_error *error)
{
	bool known = false;

	for (size_t i = 0; i < N_OPERATORS; i++) {
		psgi_reader r = { proto, opset, graph, node, error, PSG_OK };
		psg_status status;

		if (strcmp(operators[i].name, proto->op_type) != 0)
			continue;
		known = true;
		if (opset < operators[i].first || opset > operators[i].last)
			continue;
		node->op_type = operators[i].name;
		node->kind = operators[i].kind;
		status = psgi_attr_check(proto, operators[i].attributes, error);
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
