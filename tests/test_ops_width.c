/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Valid widths: each sample of a batch, with garbage past its width, gives what
 * it gives alone; and where that cannot be, the operator says so.
 */
#include "config.h"

#include "t_ops.h"
#include "t_suites.h"

#include <math.h>
#include <string.h>

#define SAMPLES 3

/* How an input differs from sample to sample. */
typedef enum mode {
	NONE,   /* no such input */
	SHARED, /* the same for all samples: weights */
	SAMPLE, /* one part a sample, without columns */
	WIDE,   /* one part a sample, with columns along the row's axis */
	SQUARE, /* columns along axes 2 and 3 */
} mode;

typedef struct row {
	psg_op_kind kind;
	int32_t axis;
	struct {
		mode mode;
		psg_shape shape;
		psg_dtype dtype;
	} in[5];
	psg_op_params params;
} row;

static const row rows[] = {
	{ PSG_OP_CONV,
	  3,
	  { { WIDE, T_SHAPE(3, 2, 5, 65), 0 },
	    { SHARED, T_SHAPE(5, 2, 3, 3), 0 },
	    { SHARED, T_SHAPE(5), 0 } },
	  { .conv.window = { .pad_begin = { 1, 1 }, .pad_end = { 1, 1 } } } },
	{ PSG_OP_CONV,
	  3,
	  { { WIDE, T_SHAPE(3, 4, 9, 63), 0 }, { SHARED, T_SHAPE(4, 1, 5, 5), 0 } },
	  { .conv = { .groups = 4,
		      .window = { .stride = { 2, 1 },
				  .pad_begin = { 2, 2 },
				  .pad_end = { 2, 2 } } } } },
	{ PSG_OP_CONV,
	  3,
	  { { WIDE, T_SHAPE(3, 2, 5, 63), 0 }, { SHARED, T_SHAPE(6, 2, 3, 3), 0 } },
	  { .conv.window = { .stride = { 1, 2 },
			     .dilation = { 1, 3 },
			     .pad_begin = { 1, 4 },
			     .pad_end = { 1, 5 } } } },
	{ PSG_OP_CONV,
	  3,
	  { { WIDE, T_SHAPE(3, 6, 5, 65), 0 }, { SHARED, T_SHAPE(7, 6, 1, 1), 0 } },
	  { .none = 0 } },
	{ PSG_OP_CONV,
	  3,
	  { { WIDE, T_SHAPE(3, 2, 5, 65), 0 }, { SHARED, T_SHAPE(5, 2, 2, 4), 0 } },
	  { .conv.window.auto_pad = PSG_PAD_SAME_UPPER } },
	{ PSG_OP_CONV,
	  2,
	  { { WIDE, T_SHAPE(3, 2, 63), 0 }, { SHARED, T_SHAPE(2, 2, 3), 0 } },
	  { .conv.window = { .stride = { 3 }, .pad_begin = { 2 } } } },
	{ PSG_OP_CONV,
	  2,
	  { { WIDE, T_SHAPE(3, 2, 9, 4), 0 }, { SHARED, T_SHAPE(5, 2, 3, 3), 0 } },
	  { .conv.window = { .pad_begin = { 1, 1 }, .pad_end = { 1, 1 } } } },
	{ PSG_OP_CONV_TRANSPOSE,
	  3,
	  { { WIDE, T_SHAPE(3, 2, 5, 65), 0 }, { SHARED, T_SHAPE(2, 3, 2, 2), 0 } },
	  { .conv.window.stride = { 2, 2 } } },
	{ PSG_OP_IM2COL,
	  3,
	  { { WIDE, T_SHAPE(3, 2, 3, 63), 0 } },
	  { .conv.window = { .kernel = { 3, 3 },
			     .stride = { 1, 2 },
			     .pad_begin = { 0, 1 },
			     .pad_end = { 0, 1 } } } },
	{ PSG_OP_POOL_MAX,
	  3,
	  { { WIDE, T_SHAPE(3, 2, 6, 65), 0 } },
	  { .pool.window = { .kernel = { 2, 2 }, .stride = { 2, 2 }, .pad_begin = { 1, 1 } } } },
	{ PSG_OP_POOL_MAX,
	  3,
	  { { WIDE, T_SHAPE(3, 2, 6, 65), 0 } },
	  { .pool = { .window = { .kernel = { 3, 3 },
				  .stride = { 2, 2 },
				  .pad_begin = { 1, 1 },
				  .pad_end = { 1, 1 } },
		      .ceil_mode = true } } },
	{ PSG_OP_POOL_AVG,
	  3,
	  { { WIDE, T_SHAPE(3, 2, 3, 65), 0 } },
	  { .pool.window = { .kernel = { 3, 1 }, .stride = { 3, 2 } } } },
	{ PSG_OP_POOL_AVG,
	  3,
	  { { WIDE, T_SHAPE(3, 2, 4, 65), 0 } },
	  { .pool = { .window = { .kernel = { 3, 3 },
				  .stride = { 1, 2 },
				  .pad_begin = { 1, 1 },
				  .pad_end = { 1, 1 } } } } },
	{ PSG_OP_POOL_AVG,
	  3,
	  { { WIDE, T_SHAPE(3, 2, 4, 65), 0 } },
	  { .pool = { .window = { .kernel = { 3, 3 },
				  .stride = { 1, 2 },
				  .pad_begin = { 1, 1 },
				  .pad_end = { 1, 1 } },
		      .ceil_mode = true,
		      .count_include_pad = true } } },
	{ PSG_OP_POOL_LP,
	  3,
	  { { WIDE, T_SHAPE(3, 2, 4, 65), 0 } },
	  { .pool.window = { .kernel = { 2, 3 }, .pad_begin = { 0, 2 } } } },
	{ PSG_OP_GLOBAL_AVG, 3, { { WIDE, T_SHAPE(3, 4, 5, 65), 0 } }, { .none = 0 } },
	{ PSG_OP_GLOBAL_MAX, 3, { { WIDE, T_SHAPE(3, 4, 5, 65), 0 } }, { .none = 0 } },
	{ PSG_OP_GLOBAL_AVG, 2, { { WIDE, T_SHAPE(3, 4, 65, 3), 0 } }, { .none = 0 } },
	{ PSG_OP_MATMUL,
	  1,
	  { { WIDE, T_SHAPE(3, 65, 7), 0 },
	    { SHARED, T_SHAPE(7, 9), 0 },
	    { SHARED, T_SHAPE(9), 0 } },
	  { .none = 0 } },
	{ PSG_OP_MATMUL,
	  1,
	  { { WIDE, T_SHAPE(3, 65, 7), 0 }, { SHARED, T_SHAPE(7), 0 } },
	  { .none = 0 } },
	{ PSG_OP_MATMUL,
	  2,
	  { { WIDE, T_SHAPE(3, 7, 65), 0 }, { SHARED, T_SHAPE(5, 7), 0 } },
	  { .matmul = { .trans_a = true, .trans_b = true } } },
	{ PSG_OP_MATMUL,
	  1,
	  { { WIDE, T_SHAPE(3, 65, 2, 3), 0 }, { SHARED, T_SHAPE(3, 4), 0 } },
	  { .none = 0 } },
	{ PSG_OP_HARDSWISH, 3, { { WIDE, T_SHAPE(3, 2, 3, 65), 0 } }, { .none = 0 } },
	{ PSG_OP_CAST, 2, { { WIDE, T_SHAPE(3, 2, 65), 0 } }, { .cast.to = PSG_I64 } },
	{ PSG_OP_NOT, 2, { { WIDE, T_SHAPE(3, 2, 65), PSG_I64 } }, { .none = 0 } },
	{ PSG_OP_ADD,
	  3,
	  { { WIDE, T_SHAPE(3, 2, 3, 65), 0 }, { WIDE, T_SHAPE(3, 2, 3, 65), 0 } },
	  { .none = 0 } },
	{ PSG_OP_MUL,
	  3,
	  { { WIDE, T_SHAPE(3, 2, 3, 65), 0 }, { SAMPLE, T_SHAPE(3, 2, 1, 1), 0 } },
	  { .none = 0 } },
	{ PSG_OP_SUB,
	  3,
	  { { SHARED, T_SHAPE(1), 0 }, { WIDE, T_SHAPE(3, 2, 3, 65), 0 } },
	  { .none = 0 } },
	{ PSG_OP_MEAN,
	  1,
	  { { WIDE, T_SHAPE(3, 65, 4), 0 },
	    { SHARED, T_SHAPE(4), 0 },
	    { WIDE, T_SHAPE(3, 65, 1), 0 } },
	  { .none = 0 } },
	{ PSG_OP_LESS,
	  1,
	  { { WIDE, T_SHAPE(3, 65, 4), 0 }, { SHARED, T_SHAPE(4), 0 } },
	  { .none = 0 } },
	{ PSG_OP_WHERE,
	  2,
	  { { WIDE, T_SHAPE(3, 2, 65), PSG_I64 },
	    { WIDE, T_SHAPE(3, 2, 65), 0 },
	    { SHARED, T_SHAPE(2, 1), 0 } },
	  { .none = 0 } },
	{ PSG_OP_ADD_BIAS,
	  3,
	  { { WIDE, T_SHAPE(3, 2, 3, 65), 0 }, { SHARED, T_SHAPE(2), 0 } },
	  { .none = 0 } },
	{ PSG_OP_SCALE_CH,
	  3,
	  { { WIDE, T_SHAPE(3, 2, 3, 65), 0 }, { SAMPLE, T_SHAPE(3, 2), 0 } },
	  { .none = 0 } },
	{ PSG_OP_REDUCE_MEAN,
	  3,
	  { { WIDE, T_SHAPE(3, 2, 3, 65), 0 } },
	  { .reduce = { .axes = { 2, 3 }, .n_axes = 2 } } },
	{ PSG_OP_REDUCE_MEAN,
	  2,
	  { { WIDE, T_SHAPE(3, 5, 65), PSG_I64 } },
	  { .reduce = { .axes = { 2 }, .n_axes = 1 } } },
	{ PSG_OP_REDUCE_LOG_SUM_EXP,
	  3,
	  { { WIDE, T_SHAPE(3, 2, 3, 65), 0 } },
	  { .reduce = { .axes = { -1 }, .n_axes = 1, .drop_dims = true } } },
	{ PSG_OP_REDUCE_MAX,
	  2,
	  { { WIDE, T_SHAPE(3, 5, 65, 2), 0 } },
	  { .reduce = { .axes = { 2 }, .n_axes = 1 } } },
	{ PSG_OP_REDUCE_SUM,
	  3,
	  { { WIDE, T_SHAPE(3, 2, 3, 65), 0 } },
	  { .reduce = { .axes = { 1 }, .n_axes = 1, .drop_dims = true } } },
	{ PSG_OP_REDUCE_SUM,
	  3,
	  { { WIDE, T_SHAPE(3, 2, 3, 65), 0 } },
	  { .reduce.noop_empty = true } },
	{ PSG_OP_ARG_MAX, 2, { { WIDE, T_SHAPE(3, 5, 65), 0 } }, { .arg.axis = 2 } },
	{ PSG_OP_ARG_MIN,
	  2,
	  { { WIDE, T_SHAPE(3, 5, 65), 0 } },
	  { .arg = { .axis = 1, .drop_dims = true } } },
	{ PSG_OP_BATCH_NORM,
	  3,
	  { { WIDE, T_SHAPE(3, 2, 3, 65), 0 },
	    { SHARED, T_SHAPE(2), 0 },
	    { SHARED, T_SHAPE(2), 0 },
	    { SHARED, T_SHAPE(2), 0 },
	    { SHARED, T_SHAPE(2), 0 } },
	  { .norm.epsilon = 2 } },
	{ PSG_OP_INSTANCE_NORM,
	  3,
	  { { WIDE, T_SHAPE(3, 2, 3, 65), 0 },
	    { SHARED, T_SHAPE(2), 0 },
	    { SHARED, T_SHAPE(2), 0 } },
	  { .norm.epsilon = 1e-5F } },
	{ PSG_OP_LAYER_NORM,
	  1,
	  { { WIDE, T_SHAPE(3, 65, 7), 0 }, { SHARED, T_SHAPE(7), 0 }, { SHARED, T_SHAPE(7), 0 } },
	  { .norm = { 1e-5F, -1 } } },
	{ PSG_OP_LAYER_NORM,
	  1,
	  { { WIDE, T_SHAPE(3, 65, 7), 0 }, { SHARED, T_SHAPE(7), 0 }, { SHARED, T_SHAPE(7), 0 } },
	  { .norm = { 1e-5F, 1 } } },
	{ PSG_OP_SOFTMAX, 3, { { WIDE, T_SHAPE(3, 2, 3, 65), 0 } }, { .softmax.axis = -1 } },
	{ PSG_OP_SOFTMAX, 2, { { WIDE, T_SHAPE(3, 2, 65, 3), 0 } }, { .softmax.axis = 2 } },
	{ PSG_OP_SOFTMAX, 3, { { WIDE, T_SHAPE(3, 2, 3, 65), 0 } }, { .softmax.axis = 1 } },
	{ PSG_OP_SOFTMAX, 2, { { WIDE, T_SHAPE(3, 2, 65, 3), 0 } }, { .softmax = { 1, true } } },
	{ PSG_OP_SOFTMAX, 1, { { WIDE, T_SHAPE(3, 65, 7), 0 } }, { .softmax = { 2, true } } },
	{ PSG_OP_LOG_SOFTMAX, 1, { { WIDE, T_SHAPE(3, 65, 7), 0 } }, { .softmax.axis = 1 } },
	{ PSG_OP_TRANSPOSE,
	  3,
	  { { WIDE, T_SHAPE(3, 2, 4, 65), 0 } },
	  { .transpose.perm = { 0, 3, 1, 2 } } },
	{ PSG_OP_RESHAPE,
	  3,
	  { { WIDE, T_SHAPE(3, 2, 4, 65), 0 } },
	  { .reshape.shape = T_SHAPE(0, 8, 1, -1) } },
	{ PSG_OP_RESHAPE,
	  1,
	  { { WIDE, T_SHAPE(3, 65, 24), 0 } },
	  { .reshape.shape = T_SHAPE(0, -1, 3, 2, 4) } },
	{ PSG_OP_FLATTEN, 1, { { WIDE, T_SHAPE(3, 65), 0 } }, { .axes = { { 1 }, 1 } } },
	{ PSG_OP_SQUEEZE, 3, { { WIDE, T_SHAPE(3, 2, 1, 65), 0 } }, { .axes = { { 2 }, 1 } } },
	{ PSG_OP_UNSQUEEZE, 2, { { WIDE, T_SHAPE(3, 2, 65), 0 } }, { .axes = { { 2 }, 1 } } },
	{ PSG_OP_SLICE,
	  3,
	  { { WIDE, T_SHAPE(3, 5, 2, 65), 0 } },
	  { .slice = { .axes = { 1 },
		       .start = { -1 },
		       .end = { INT64_MIN },
		       .step = { -2 },
		       .n_axes = 1 } } },
	{ PSG_OP_CROP_COLS,
	  1,
	  { { WIDE, T_SHAPE(3, 65, 7), 0 } },
	  { .slice = { .start = { 2 }, .end = { 5 } } } },
	{ PSG_OP_CONCAT,
	  3,
	  { { WIDE, T_SHAPE(3, 2, 2, 65), 0 }, { WIDE, T_SHAPE(3, 5, 2, 65), 0 } },
	  { .concat.axis = 1 } },
	{ PSG_OP_COPY_PART,
	  3,
	  { { WIDE, T_SHAPE(3, 5, 2, 65), 0 }, { WIDE, T_SHAPE(3, 2, 2, 65), 0 } },
	  { .concat = { .axis = 1, .offset = 3 } } },
	{ PSG_OP_SPLIT,
	  3,
	  { { WIDE, T_SHAPE(3, 5, 2, 65), 0 } },
	  { .split = { .axis = 1, .n = 2, .size = { 2, 3 } } } },
	{ PSG_OP_PAD_ALL,
	  3,
	  { { WIDE, T_SHAPE(3, 5, 2, 65), 0 } },
	  { .pad = { .value = 3, .begin = { 0, 1, 0, 0 }, .end = { 0, 0, 2, 0 } } } },
	{ PSG_OP_PAD_RB, 3, { { WIDE, T_SHAPE(3, 5, 2, 65), 0 } }, { .pad.end = { 3, 0 } } },
	{ PSG_OP_ZERO_COLS, 3, { { WIDE, T_SHAPE(3, 5, 2, 65), 0 } }, { .none = 0 } },
	{ PSG_OP_EXPAND,
	  3,
	  { { WIDE, T_SHAPE(3, 1, 2, 65), 0 } },
	  { .reshape.shape = T_SHAPE(1, 4, 1, 1) } },
	{ PSG_OP_TILE,
	  3,
	  { { WIDE, T_SHAPE(3, 2, 2, 65), 0 } },
	  { .reshape.shape = T_SHAPE(1, 2, 3, 1) } },
	{ PSG_OP_GATHER,
	  3,
	  { { WIDE, T_SHAPE(3, 4, 2, 65), 0 }, { SHARED, T_SHAPE(2, 2), PSG_I64 } },
	  { .concat.axis = 1 } },
	{ PSG_OP_GATHER,
	  1,
	  { { WIDE, T_SHAPE(3, 65, 4), 0 }, { SHARED, { 0, { 0 } }, PSG_I64 } },
	  { .concat.axis = 2 } },
	{ PSG_OP_DEPTH_TO_SPACE, 3, { { WIDE, T_SHAPE(3, 8, 3, 65), 0 } }, { .depth.block = 2 } },
	{ PSG_OP_INTERP_NEAREST,
	  3,
	  { { WIDE, T_SHAPE(3, 2, 3, 65), 0 } },
	  { .resize.scale = { 1, 1, 1.5, 4 } } },
	{ PSG_OP_INTERP_NEAREST,
	  3,
	  { { WIDE, T_SHAPE(3, 2, 3, 65), 0 } },
	  { .resize = { .scale = { 1, 1, 2, 2 },
			.coordinates = PSG_COORD_HALF_PIXEL,
			.nearest = PSG_NEAREST_ROUND_PREFER_FLOOR } } },
	{ PSG_OP_CHW_TO_SEQ, 3, { { WIDE, T_SHAPE(3, 7, 1, 65), 0 } }, { .none = 0 } },
	{ PSG_OP_SEQ_TO_CHW, 1, { { WIDE, T_SHAPE(3, 65, 7), 0 } }, { .none = 0 } },
	{ PSG_OP_ATTENTION, 1, { { WIDE, T_SHAPE(3, 65, 18), 0 } }, { .attention.heads = 2 } },
	{ PSG_OP_ATTN_SOFTMAX, 3, { { SQUARE, T_SHAPE(3, 2, 65, 65), 0 } }, { .none = 0 } },
	{ PSG_OP_ATTN_SOFTMAX, 2, { { SQUARE, T_SHAPE(3, 2, 65, 65), 0 } }, { .none = 0 } },
	{ PSG_OP_ATTN_MERGE, 2, { { WIDE, T_SHAPE(3, 2, 65, 7), 0 } }, { .none = 0 } },
	{ PSG_OP_CTC_DIGEST, 1, { { WIDE, T_SHAPE(3, 65, 9), 0 } }, { .none = 0 } },
};
#define N_ROWS (sizeof(rows) / sizeof(rows[0]))

/* Full, odd, and the least; each row's axis is cut to them. */
static int32_t width_of(const row *r, size_t sample)
{
	size_t i = 0;
	int64_t dim;

	while (r->in[i].mode < WIDE)
		i++;
	dim = r->in[i].shape.dim[r->axis];
	return sample == 0 ? (int32_t)(dim / 2 + 1) : sample == 1 ? (int32_t)dim : 1;
}

static psg_tensor *make(psg_dtype dtype, psg_shape shape)
{
	psg_tensor *t = dtype == PSG_F32 ? t_random(shape) : t_iota(dtype, shape);

	for (int64_t i = 0; i < psg_shape_elements(&shape) && dtype == PSG_I64; i++)
		((int64_t *)psg_tensor_data(t))[i] %= 4; /* an index, a truth value */
	return t;
}

/* The part of sample n that it would have alone. */
static psg_tensor *cut(psg_tensor *t, mode m, int32_t axis, int64_t n, int32_t width)
{
	psg_shape shape = *psg_tensor_shape(t), full = shape;
	psg_tensor *part;

	if (m == SHARED)
		return psg_tensor_ref(t);
	shape.dim[0] = 1;
	if (m == WIDE)
		shape.dim[axis] = width;
	if (m == SQUARE)
		shape.dim[2] = shape.dim[3] = width;
	part = make(psg_tensor_dtype(t), shape);
	for (int64_t i = 0; i < psg_shape_elements(&shape); i++) {
		int64_t at[PSG_MAX_RANK], from;

		t_unflatten(&shape, i, at);
		at[0] = n;
		from = t_flatten(&full, at);
		if (psg_tensor_dtype(t) == PSG_I64)
			((int64_t *)psg_tensor_data(part))[i] =
				((const int64_t *)psg_tensor_const_data(t))[from];
		else
			t_data(part)[i] = t_data(t)[from];
	}
	return part;
}

/* Garbage past each width. */
static void spoil(psg_tensor *t, mode m, int32_t axis, const int32_t *widths)
{
	const psg_shape *shape = psg_tensor_shape(t);
	psg_error error = PSG_ERROR_INIT;

	for (int64_t i = 0; i < psg_shape_elements(shape); i++) {
		int64_t at[PSG_MAX_RANK];
		bool past;

		t_unflatten(shape, i, at);
		past = m == SQUARE ? at[2] >= widths[at[0]] || at[3] >= widths[at[0]]
				   : at[axis] >= widths[at[0]];
		if (!past)
			continue;
		if (psg_tensor_dtype(t) == PSG_I64)
			((int64_t *)psg_tensor_data(t))[i] = INT64_MIN;
		else
			t_data(t)[i] = i % 3 == 0 ? INFINITY : NAN;
	}
	ck_assert_msg(psg_tensor_set_valid_widths(t, axis, widths, SAMPLES, &error) == PSG_OK, "%s",
		      error.message);
}

/* Sample n of the batch's output against the whole of the lone output. */
static void compare(const row *r, const psg_tensor *batch, const psg_tensor *alone, int64_t n)
{
	const psg_shape *shape = psg_tensor_shape(alone), *full = psg_tensor_shape(batch);
	int32_t axis = 0;
	const int32_t *valid = psg_tensor_valid_widths(batch, &axis);

	ck_assert_int_eq(full->rank, shape->rank);
	ck_assert_int_eq(full->dim[0], SAMPLES);
	if (valid != NULL)
		ck_assert_msg(valid[n] == shape->dim[axis], "%s: width %d along %d, alone %lld",
			      psg_op_name(r->kind), valid[n], axis, (long long)shape->dim[axis]);
	for (int32_t i = 1; i < shape->rank; i++)
		ck_assert(i == axis || r->in[0].mode == SQUARE || full->dim[i] == shape->dim[i]);
	for (int64_t i = 0; i < psg_shape_elements(shape); i++) {
		int64_t at[PSG_MAX_RANK];

		t_unflatten(shape, i, at);
		at[0] = n;
		T_TRUE(!isnan(t_get(alone, i)));
		t_expect_close(t_get(batch, t_flatten(full, at)), t_get(alone, i), 0,
			       psg_op_name(r->kind), i);
	}
}

static void check_sample(const row *r, const psg_op *whole, psg_tensor *const *batch, int64_t n)
{
	psg_op op = *whole;
	psg_tensor *alone[PSG_MAX_OUTPUTS] = { NULL };
	size_t n_out = r->kind == PSG_OP_SPLIT ? (size_t)r->params.split.n : 1;

	for (size_t i = 0; i < op.n_in; i++)
		op.in[i] = cut(whole->in[i], r->in[i].mode, r->axis, n, width_of(r, (size_t)n));
	t_run(&op, alone, n_out);
	for (size_t i = 0; i < n_out; i++) {
		compare(r, batch[i], alone[i], n);
		psg_tensor_unref(alone[i]);
	}
	t_free(&op);
}

START_TEST(batch_equals_alone)
{
	const row *r = &rows[_i];
	psg_op op = { .kind = r->kind, .params = r->params };
	psg_op clean = op;
	psg_tensor *out[PSG_MAX_OUTPUTS] = { NULL };
	int32_t widths[SAMPLES];

	for (size_t i = 0; i < SAMPLES; i++)
		widths[i] = width_of(r, i);
	while (op.n_in < 5 && r->in[op.n_in].mode != NONE) {
		op.in[op.n_in] = make(r->in[op.n_in].dtype, r->in[op.n_in].shape);
		op.n_in++;
	}
	clean = op;
	for (size_t i = 0; i < op.n_in; i++)
		if (r->in[i].mode >= WIDE)
			spoil(op.in[i], r->in[i].mode, r->axis, widths);
	t_run(&op, out, 0);
	for (int64_t n = 0; n < SAMPLES; n++)
		check_sample(r, &clean, out, n);
	for (size_t i = 0; i < PSG_MAX_OUTPUTS; i++)
		psg_tensor_unref(out[i]);
	t_free(&op);
}
END_TEST

/* Cases whose columns cannot be followed. */
static const row refusals[] = {
	{ PSG_OP_CONV,
	  3,
	  { { WIDE, T_SHAPE(3, 2, 5, 7), 0 }, { SHARED, T_SHAPE(5, 2, 3, 3), 0 } },
	  { .conv.window = { .stride = { 1, 2 }, .auto_pad = PSG_PAD_SAME_UPPER } } },
	{ PSG_OP_CONV,
	  1,
	  { { WIDE, T_SHAPE(3, 2, 5, 7), 0 }, { SHARED, T_SHAPE(5, 2, 1, 1), 0 } },
	  { .none = 0 } },
	{ PSG_OP_CONV_TRANSPOSE,
	  3,
	  { { WIDE, T_SHAPE(3, 2, 5, 7), 0 }, { SHARED, T_SHAPE(2, 5, 3, 3), 0 } },
	  { .conv.window.stride = { 2, 2 } } },
	{ PSG_OP_IM2COL,
	  3,
	  { { WIDE, T_SHAPE(3, 2, 5, 7), 0 } },
	  { .conv.window.kernel = { 3, 3 } } },
	{ PSG_OP_GLOBAL_AVG, 1, { { WIDE, T_SHAPE(3, 2, 5, 7), 0 } }, { .none = 0 } },
	{ PSG_OP_MATMUL,
	  2,
	  { { WIDE, T_SHAPE(3, 2, 7), 0 }, { SHARED, T_SHAPE(7, 4), 0 } },
	  { .none = 0 } },
	{ PSG_OP_MATMUL,
	  1,
	  { { WIDE, T_SHAPE(3, 7, 2), 0 }, { WIDE, T_SHAPE(3, 2, 5), 0 } },
	  { .none = 0 } },
	{ PSG_OP_ADD,
	  1,
	  { { WIDE, T_SHAPE(3, 1, 2), 0 }, { SHARED, T_SHAPE(7, 2), 0 } },
	  { .none = 0 } },
	{ PSG_OP_ADD,
	  1,
	  { { WIDE, T_SHAPE(3, 7, 2), 0 }, { SHARED, T_SHAPE(2, 3, 7, 2), 0 } },
	  { .none = 0 } },
	{ PSG_OP_DIV,
	  1,
	  { { WIDE, T_SHAPE(3, 7, 2), PSG_I64 }, { WIDE, T_SHAPE(3, 7, 2), PSG_I64 } },
	  { .none = 0 } },
	{ PSG_OP_POW,
	  1,
	  { { WIDE, T_SHAPE(3, 7, 2), PSG_I64 }, { SHARED, T_SHAPE(1), PSG_I64 } },
	  { .none = 0 } },
	{ PSG_OP_SCALE_CH,
	  1,
	  { { WIDE, T_SHAPE(3, 7, 2), 0 }, { SAMPLE, T_SHAPE(3, 7), 0 } },
	  { .none = 0 } },
	{ PSG_OP_REDUCE_SUM,
	  2,
	  { { WIDE, T_SHAPE(3, 7, 2), 0 } },
	  { .reduce = { .axes = { 0 }, .n_axes = 1 } } },
	{ PSG_OP_REDUCE_SUM, 2, { { WIDE, T_SHAPE(3, 7, 2), 0 } }, { .reduce.n_axes = 0 } },
	{ PSG_OP_ARG_MAX, 2, { { WIDE, T_SHAPE(3, 7, 2), 0 } }, { .arg.axis = 0 } },
	{ PSG_OP_SOFTMAX, 2, { { WIDE, T_SHAPE(3, 7, 2), 0 } }, { .softmax.axis = 0 } },
	{ PSG_OP_LAYER_NORM,
	  2,
	  { { WIDE, T_SHAPE(3, 7, 2), 0 }, { SHARED, T_SHAPE(2), 0 } },
	  { .norm.axis = 0 } },
	{ PSG_OP_TRANSPOSE,
	  2,
	  { { WIDE, T_SHAPE(3, 7, 2), 0 } },
	  { .transpose.perm = { 1, 0, 2 } } },
	{ PSG_OP_RESHAPE,
	  1,
	  { { WIDE, T_SHAPE(3, 7, 2), 0 } },
	  { .reshape.shape = T_SHAPE(21, 2) } },
	{ PSG_OP_RESHAPE,
	  1,
	  { { WIDE, T_SHAPE(3, 8, 2), 0 } },
	  { .reshape.shape = T_SHAPE(3, 4, 4) } },
	{ PSG_OP_FLATTEN, 1, { { WIDE, T_SHAPE(3, 8, 2), 0 } }, { .axes = { { 1 }, 1 } } },
	{ PSG_OP_SLICE,
	  1,
	  { { WIDE, T_SHAPE(3, 8, 2), 0 } },
	  { .slice = { .axes = { 1 }, .start = { 1 }, .end = { 8 }, .n_axes = 1 } } },
	{ PSG_OP_SLICE,
	  1,
	  { { WIDE, T_SHAPE(3, 8, 2), 0 } },
	  { .slice = { .axes = { 1 },
		       .start = { -1 },
		       .end = { INT64_MIN },
		       .step = { -1 },
		       .n_axes = 1 } } },
	{ PSG_OP_CROP_COLS,
	  2,
	  { { WIDE, T_SHAPE(3, 8, 7), 0 } },
	  { .slice = { .start = { 2 }, .end = { 5 } } } },
	{ PSG_OP_CONCAT,
	  1,
	  { { WIDE, T_SHAPE(3, 8, 2), 0 }, { WIDE, T_SHAPE(3, 8, 2), 0 } },
	  { .concat.axis = 1 } },
	{ PSG_OP_SPLIT, 1, { { WIDE, T_SHAPE(3, 8, 2), 0 } }, { .split = { .axis = 1, .n = 2 } } },
	{ PSG_OP_PAD_ALL,
	  1,
	  { { WIDE, T_SHAPE(3, 8, 2), 0 } },
	  { .pad = { .begin = { 0, 1 }, .end = { 0, -1 } } } },
	{ PSG_OP_PAD_RB, 2, { { WIDE, T_SHAPE(3, 8, 7), 0 } }, { .pad.end = { 0, 1 } } },
	{ PSG_OP_EXPAND,
	  1,
	  { { WIDE, T_SHAPE(3, 8, 7), 0 } },
	  { .reshape.shape = T_SHAPE(2, 1, 1, 1) } },
	{ PSG_OP_TILE,
	  1,
	  { { WIDE, T_SHAPE(3, 8, 7), 0 } },
	  { .reshape.shape = T_SHAPE(1, 2, 1) } },
	{ PSG_OP_GATHER,
	  1,
	  { { WIDE, T_SHAPE(3, 8, 2), 0 }, { SHARED, T_SHAPE(1), PSG_I64 } },
	  { .concat.axis = 1 } },
	{ PSG_OP_SPACE_TO_DEPTH, 3, { { WIDE, T_SHAPE(3, 2, 4, 8), 0 } }, { .depth.block = 2 } },
	{ PSG_OP_INTERP_NEAREST,
	  2,
	  { { WIDE, T_SHAPE(3, 2, 8), 0 } },
	  { .resize.scale = { 1, 1, 1.5 } } },
	{ PSG_OP_INTERP_NEAREST,
	  2,
	  { { WIDE, T_SHAPE(3, 2, 8), 0 } },
	  { .resize = { .scale = { 1, 1, 2 }, .coordinates = PSG_COORD_ALIGN_CORNERS } } },
	{ PSG_OP_SHAPE, 2, { { WIDE, T_SHAPE(3, 2, 8), 0 } }, { .none = 0 } },
	{ PSG_OP_ATTN_SPLIT, 1, { { WIDE, T_SHAPE(3, 7, 6), 0 } }, { .none = 0 } },
	{ PSG_OP_CHW_TO_SEQ, 3, { { WIDE, T_SHAPE(3, 7, 2, 6), 0 } }, { .none = 0 } },
	{ PSG_OP_SEQ_TO_CHW, 1, { { WIDE, T_SHAPE(3, 8, 6), 0 } }, { .sequence.height = 2 } },
};

START_TEST(refuses_to_mix)
{
	const row *r = &refusals[_i];
	psg_op op = { .kind = r->kind, .params = r->params };
	int32_t widths[SAMPLES] = { 1, 1, 1 };

	while (op.n_in < 5 && r->in[op.n_in].mode != NONE) {
		op.in[op.n_in] = make(r->in[op.n_in].dtype, r->in[op.n_in].shape);
		if (r->in[op.n_in].mode == WIDE)
			spoil(op.in[op.n_in], WIDE, r->axis, widths);
		op.n_in++;
	}
	t_refused(&op, PSG_UNSUPPORTED, psg_op_name(r->kind), "sample by sample");
	t_free(&op);
}
END_TEST

/* The second output of a maximum pool counts columns of the whole batch. */
START_TEST(indices_have_no_widths)
{
	const int32_t widths[] = { 4, 2 };
	psg_error error = PSG_ERROR_INIT;
	psg_op op = { .kind = PSG_OP_POOL_MAX,
		      .params.pool.window.kernel = { 2 },
		      .in = { t_random(PSG_SHAPE(2, 3, 4)) },
		      .n_in = 1 };
	psg_tensor *out[2] = { NULL, NULL };

	ck_assert_int_eq(psg_tensor_set_valid_widths(op.in[0], 2, widths, 2, &error), PSG_OK);
	ck_assert_int_eq(psgi_reference_run(&op, out, 2, &error), PSG_UNSUPPORTED);
	ck_assert_ptr_null(out[1]);
	t_free(&op);
}
END_TEST

/* Alone, the sample would be refused too. */
START_TEST(too_narrow)
{
	const int32_t widths[] = { 7, 2 };
	psg_error error = PSG_ERROR_INIT;
	psg_op op = { .kind = PSG_OP_POOL_AVG,
		      .params.pool.window.kernel = { 3 },
		      .in = { t_random(PSG_SHAPE(2, 3, 7)) },
		      .n_in = 1 };

	ck_assert_int_eq(psg_tensor_set_valid_widths(op.in[0], 2, widths, 2, &error), PSG_OK);
	t_refused(&op, PSG_INVALID, "pool_avg", "width 0", "sample 1");
	t_free(&op);
}
END_TEST

START_TEST(apply)
{
	static const struct {
		psgi_width_map map;
		int32_t width, want;
		int64_t limit;
	} table[] = {
		{ { 3, 1, 1, 1, 0, 0, 1, false, false }, 65, 65, 100 },
		{ { 3, 1, 1, 1, 0, 0, 1, false, false }, 65, 40, 40 },
		{ { 3, 3, 2, 1, 1, 1, 1, false, true }, 63, 32, 100 },
		{ { 3, 3, 2, 1, 1, 1, 1, false, true }, 1, 1, 100 },
		{ { 3, 3, 1, 4, 4, 4, 1, false, true }, 5, 5, 100 },
		{ { 3, 2, 2, 1, 0, 0, 1, false, true }, 7, 3, 100 },
		{ { 3, 2, 2, 1, 0, 0, 1, true, true }, 7, 4, 100 },
		{ { 3, 2, 3, 1, 1, 1, 1, true, true }, 4, 2, 100 },
		{ { 3, 3, 1, 1, 0, 0, 1, false, true }, 2, 0, 100 },
		{ { 3, 1, 1, 1, 0, 0, 4, false, false }, 5, 20, 100 },
		{ { 3, 1, 1, 1, 0, 0, 4, false, false }, 5, 18, 18 },
		{ { 3, 1, 1, 1, 0, 0, INT32_MAX, false, false }, 5, INT32_MAX, INT64_MAX },
	};

	for (size_t i = 0; i < sizeof(table) / sizeof(table[0]); i++)
		ck_assert_int_eq(psgi_width_apply(&table[i].map, table[i].width, table[i].limit),
				 table[i].want);
}
END_TEST

/* A rule for each family that can have one has a row above; these cannot. */
START_TEST(every_rule_is_tested)
{
	static const psg_op_kind none[] = { PSG_OP_SPACE_TO_DEPTH, PSG_OP_SHAPE, PSG_OP_SIZE,
					    PSG_OP_CONSTANT_OF_SHAPE, PSG_OP_RANGE };
	const char *families[PSG_OP_KINDS] = {
#define FAMILY(KIND, name, family, ...) #family,
		PSG_OP_MAP(FAMILY)
#undef FAMILY
	};

	for (size_t kind = 0; kind < PSG_OP_KINDS; kind++) {
		bool found = false;

		for (size_t i = 0; i < N_ROWS; i++)
			found = found || strcmp(families[kind], families[rows[i].kind]) == 0;
		for (size_t i = 0; i < sizeof(none) / sizeof(none[0]); i++)
			found = found || none[i] == kind;
		ck_assert_msg(found, "no width test for the family %s of %s", families[kind],
			      psg_op_name((psg_op_kind)kind));
	}
}
END_TEST

TCase *t_width_cases(void)
{
	TCase *cases = tcase_create("widths");

	tcase_set_timeout(cases, 120);
	tcase_add_loop_test(cases, batch_equals_alone, 0, (int)N_ROWS);
	tcase_add_loop_test(cases, refuses_to_mix, 0,
			    (int)(sizeof(refusals) / sizeof(refusals[0])));
	tcase_add_test(cases, indices_have_no_widths);
	tcase_add_test(cases, too_narrow);
	tcase_add_test(cases, apply);
	tcase_add_test(cases, every_rule_is_tested);
	return cases;
}
