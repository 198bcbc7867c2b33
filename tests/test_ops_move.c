/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Data movement: the input holds its own indices, so each output element says
 * where it came from.  Every case runs for both element types.
 */
#include "config.h"

#include "t_ops.h"

#include <math.h>
#include <string.h>

/* The flat index of the input that output index `at` comes from; -1: the fill value. */
typedef int64_t (*source_fn)(const psg_op *op, const psg_shape *x, const int64_t *at);

#define FILL 77

/* Runs `op` on indices of shape x in both types and compares each element with its source. */
static void check(psg_op op, psg_shape x, psg_shape out_shape, source_fn source)
{
	for (int type = 0; type < 2; type++) {
		psg_dtype dtype = type == 0 ? PSG_F32 : PSG_I64;
		psg_tensor *out;

		op.in[0] = t_iota(dtype, x);
		op.n_in = op.n_in > 1 ? op.n_in : 1;
		out = t_run1(&op);
		t_expect_shape(out, dtype, out_shape);
		for (int64_t i = 0; i < psg_shape_elements(&out_shape); i++) {
			int64_t at[PSG_MAX_RANK], from;

			t_unflatten(&out_shape, i, at);
			from = source(&op, &x, at);
			t_expect_close(t_get(out, i), from < 0 ? FILL : (double)from, 0,
				       psg_op_name(op.kind), i);
		}
		psg_tensor_unref(out);
		psg_tensor_unref(op.in[0]);
	}
}

static int64_t from_transpose(const psg_op *op, const psg_shape *x, const int64_t *at)
{
	int64_t index[PSG_MAX_RANK];

	for (int32_t i = 0; i < x->rank; i++)
		index[op->params.transpose.perm[i]] = at[i];
	return t_flatten(x, index);
}

static void transpose(psg_op_kind kind)
{
	static const struct {
		psg_shape x, out;
		psg_transpose_params p;
	} rows[] = {
		{ { 0, { 0 } }, { 0, { 0 } }, { { 0 } } },
		{ T_SHAPE(7), T_SHAPE(7), { { 0 } } },
		{ T_SHAPE(7, 65), T_SHAPE(65, 7), { { 1, 0 } } },
		{ T_SHAPE(2, 3, 7, 5), T_SHAPE(2, 7, 5, 3), { { 0, 2, 3, 1 } } },
		{ T_SHAPE(2, 3, 7, 5), T_SHAPE(2, 3, 7, 5), { { 0, 1, 2, 3 } } },
		{ T_SHAPE(2, 1, 3, 8, 5), T_SHAPE(3, 2, 8, 1, 5), { { 2, 0, 3, 1, 4 } } },
		{ T_SHAPE(2, 3, 1, 4, 2, 3), T_SHAPE(3, 2, 4, 1, 3, 2), { { 5, 4, 3, 2, 1, 0 } } },
		{ T_SHAPE(0, 3), T_SHAPE(3, 0), { { 1, 0 } } },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check((psg_op){ .kind = kind, .params.transpose = rows[i].p }, rows[i].x,
		      rows[i].out, from_transpose);
}

/* All of the reshape family keep the order: element i is element i. */
static psg_shape kept_shape;

static int64_t from_same(const psg_op *op, const psg_shape *x, const int64_t *at)
{
	(void)op;
	(void)x;
	return t_flatten(&kept_shape, at);
}

static void check_kept(psg_op op, psg_shape x, psg_shape out)
{
	kept_shape = out;
	check(op, x, out, from_same);
}

static void reshape(psg_op_kind kind)
{
	static const struct {
		psg_shape x, to, out;
		bool allow_zero;
	} rows[] = {
		{ T_SHAPE(2, 3, 7), T_SHAPE(42), T_SHAPE(42), false },
		{ T_SHAPE(2, 3, 7), T_SHAPE(0, -1), T_SHAPE(2, 21), false },
		{ T_SHAPE(2, 3, 7), T_SHAPE(-1, 1, 7), T_SHAPE(6, 1, 7), false },
		{ T_SHAPE(1), { 0, { 0 } }, { 0, { 0 } }, false },
		{ { 0, { 0 } }, T_SHAPE(1, -1), T_SHAPE(1, 1), false },
		{ T_SHAPE(0, 3), T_SHAPE(3, 0), T_SHAPE(3, 0), true },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check_kept((psg_op){ .kind = kind,
				     .params.reshape = { rows[i].to, rows[i].allow_zero } },
			   rows[i].x, rows[i].out);
}

static void flatten(psg_op_kind kind)
{
	static const struct {
		int32_t axis;
		psg_shape out;
	} rows[] = {
		{ 0, T_SHAPE(1, 42) }, { 1, T_SHAPE(2, 21) }, { 2, T_SHAPE(6, 7) },
		{ 3, T_SHAPE(42, 1) }, { -1, T_SHAPE(6, 7) }, { -3, T_SHAPE(1, 42) },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check_kept((psg_op){ .kind = kind, .params.axes = { { rows[i].axis }, 1 } },
			   PSG_SHAPE(2, 3, 7), rows[i].out);
	check_kept((psg_op){ .kind = kind }, (psg_shape){ 0, { 0 } }, PSG_SHAPE(1, 1));
}

static void squeeze(psg_op_kind kind)
{
	psg_op op = { .kind = kind };

	check_kept(op, PSG_SHAPE(1, 3, 1, 7), PSG_SHAPE(3, 7));
	check_kept(op, PSG_SHAPE(1, 1), (psg_shape){ 0, { 0 } });
	op.params.axes = (psg_axes_params){ { -2 }, 1 };
	check_kept(op, PSG_SHAPE(1, 3, 1, 7), PSG_SHAPE(1, 3, 7));
	op.params.axes = (psg_axes_params){ { 2, 0 }, 2 };
	check_kept(op, PSG_SHAPE(1, 3, 1, 7), PSG_SHAPE(3, 7));
}

static void unsqueeze(psg_op_kind kind)
{
	psg_op op = { .kind = kind, .params.axes = { { 0 }, 1 } };

	check_kept(op, (psg_shape){ 0, { 0 } }, PSG_SHAPE(1));
	check_kept(op, PSG_SHAPE(7), PSG_SHAPE(1, 7));
	op.params.axes = (psg_axes_params){ { -1, 1 }, 2 };
	check_kept(op, PSG_SHAPE(3, 7), PSG_SHAPE(3, 1, 7, 1));
	op.params.axes.n_axes = 0;
	check_kept(op, PSG_SHAPE(3, 7), PSG_SHAPE(3, 7));
}

static int64_t from_slice(const psg_op *op, const psg_shape *x, const int64_t *at)
{
	const psg_slice_params *p = &op->params.slice;
	int64_t index[PSG_MAX_RANK];

	memcpy(index, at, sizeof(index));
	for (int32_t i = 0; i < p->n_axes; i++) {
		int32_t axis = p->axes[i] < 0 ? p->axes[i] + x->rank : p->axes[i];
		int64_t dim = x->dim[axis],
			start = p->start[i] < 0 ? p->start[i] + dim : p->start[i];
		int64_t step = p->step[i] == 0 ? 1 : p->step[i];

		start = start < 0 ? 0 : start >= dim ? dim - 1 : start;
		index[axis] = start + at[axis] * step;
	}
	return t_flatten(x, index);
}

static void slice(psg_op_kind kind)
{
	static const struct {
		psg_shape x, out;
		psg_slice_params p;
	} rows[] = {
		{ T_SHAPE(7),
		  T_SHAPE(3),
		  { .axes = { 0 }, .start = { 2 }, .end = { 5 }, .n_axes = 1 } },
		{ T_SHAPE(7),
		  T_SHAPE(2),
		  { .axes = { -1 }, .start = { -2 }, .end = { INT64_MAX }, .n_axes = 1 } },
		{ T_SHAPE(7),
		  T_SHAPE(3),
		  { .axes = { 0 }, .start = { 1 }, .end = { 7 }, .step = { 2 }, .n_axes = 1 } },
		{ T_SHAPE(7),
		  T_SHAPE(7),
		  { .axes = { 0 },
		    .start = { -1 },
		    .end = { INT64_MIN },
		    .step = { -1 },
		    .n_axes = 1 } },
		{ T_SHAPE(7),
		  T_SHAPE(3),
		  { .axes = { 0 }, .start = { 100 }, .end = { 0 }, .step = { -2 }, .n_axes = 1 } },
		{ T_SHAPE(7),
		  T_SHAPE(0),
		  { .axes = { 0 }, .start = { 5 }, .end = { 2 }, .n_axes = 1 } },
		{ T_SHAPE(7),
		  T_SHAPE(1),
		  { .axes = { 0 },
		    .start = { 3 },
		    .end = { 7 },
		    .step = { INT64_MAX },
		    .n_axes = 1 } },
		{ T_SHAPE(7),
		  T_SHAPE(1),
		  { .axes = { 0 },
		    .start = { 3 },
		    .end = { -8 },
		    .step = { INT64_MIN },
		    .n_axes = 1 } },
		{ T_SHAPE(2, 3, 7, 65),
		  T_SHAPE(2, 2, 7, 21),
		  { .axes = { 3, 1 },
		    .start = { 2, 1 },
		    .end = { 65, 3 },
		    .step = { 3, 1 },
		    .n_axes = 2 } },
		{ T_SHAPE(2, 3), T_SHAPE(2, 3), { .n_axes = 0 } },
		{ T_SHAPE(0, 3),
		  T_SHAPE(0, 3),
		  { .axes = { 0 },
		    .start = { -1 },
		    .end = { INT64_MIN },
		    .step = { -1 },
		    .n_axes = 1 } },
		{ { 0, { 0 } }, { 0, { 0 } }, { .n_axes = 0 } },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check((psg_op){ .kind = kind, .params.slice = rows[i].p }, rows[i].x, rows[i].out,
		      from_slice);
}

static int64_t from_crop(const psg_op *op, const psg_shape *x, const int64_t *at)
{
	int64_t index[PSG_MAX_RANK];

	memcpy(index, at, sizeof(index));
	index[x->rank - 1] += op->params.slice.start[0];
	return t_flatten(x, index);
}

static void crop_cols(psg_op_kind kind)
{
	psg_op op = { .kind = kind, .params.slice = { .start = { 5 }, .end = { 63 } } };

	check(op, PSG_SHAPE(2, 3, 7, 65), PSG_SHAPE(2, 3, 7, 58), from_crop);
	check(op, PSG_SHAPE(8), PSG_SHAPE(3), from_crop);
}

static void concat(psg_op_kind kind)
{
	static const int64_t sizes[] = { 3, 0, 1, 7 };

	for (int type = 0; type < 6; type++) {
		psg_dtype dtype = type % 2 == 0 ? PSG_F32 : PSG_I64;
		int32_t axis = type / 2;
		psg_op op = { .kind = kind, .params.concat.axis = axis - 3, .n_in = 4 };
		psg_shape shape = PSG_SHAPE(2, 5, 4);
		psg_tensor *out;

		for (size_t i = 0; i < 4; i++) {
			shape.dim[axis] = sizes[i];
			op.in[i] = t_iota(dtype, shape);
		}
		out = t_run1(&op);
		shape.dim[axis] = 11;
		t_expect_shape(out, dtype, shape);
		for (int64_t i = 0; i < psg_shape_elements(&shape); i++) {
			int64_t at[PSG_MAX_RANK];
			size_t k = 0;

			t_unflatten(&shape, i, at);
			while (at[axis] >= sizes[k])
				at[axis] -= sizes[k++];
			T_EQUAL(t_get(out, i), t_broadcast(op.in[k], 3, at));
		}
		psg_tensor_unref(out);
		t_free(&op);
	}
}

static void concat_one(psg_op_kind kind)
{
	check_kept((psg_op){ .kind = kind, .params.concat.axis = 1 }, PSG_SHAPE(2, 7),
		   PSG_SHAPE(2, 7));
}

static void copy_part(psg_op_kind kind)
{
	for (int type = 0; type < 2; type++) {
		psg_dtype dtype = type == 0 ? PSG_F32 : PSG_I64;
		psg_op op = { .kind = kind,
			      .params.concat = { .axis = 1, .offset = 2 },
			      .in = { t_iota(dtype, PSG_SHAPE(2, 7, 3)),
				      t_iota(dtype, PSG_SHAPE(2, 4, 3)) },
			      .n_in = 2 };
		psg_tensor *out = t_run_free(&op);

		t_expect_shape(out, dtype, PSG_SHAPE(2, 7, 3));
		for (int64_t i = 0; i < 42; i++) {
			int64_t n = i / 21, y = i / 3 % 7, x = i % 3;
			int64_t want = y >= 2 && y < 6 ? (n * 4 + y - 2) * 3 + x : i;

			T_EQUAL(t_get(out, i), (double)want);
		}
		psg_tensor_unref(out);
	}
}

/* Parts of axis 1 of [2,7,3]; all 0 and equal parts of axis 2. */
static void split(psg_op_kind kind)
{
	static const psg_split_params rows[] = { { .axis = 1, .n = 3, .size = { 2, 0, 5 } },
						 { .axis = -1, .n = 3, .size = { 0 } },
						 { .axis = 0, .n = 1, .size = { 2 } } };

	for (size_t r = 0; r < 3; r++) {
		int32_t axis = rows[r].axis < 0 ? rows[r].axis + 3 : rows[r].axis;
		psg_op op = { .kind = kind,
			      .params.split = rows[r],
			      .in = { t_iota(r == 0 ? PSG_I64 : PSG_F32, PSG_SHAPE(2, 7, 3)) },
			      .n_in = 1 };
		psg_tensor *out[PSG_MAX_OUTPUTS];
		int64_t offset = 0;

		t_run(&op, out, 0);
		for (int32_t k = 0; k < rows[r].n; k++) {
			psg_shape shape = *psg_tensor_shape(out[k]);

			ck_assert_int_eq(shape.dim[axis], r == 1 ? 1 : rows[r].size[k]);
			for (int64_t i = 0; i < psg_shape_elements(&shape); i++) {
				int64_t at[PSG_MAX_RANK];

				t_unflatten(&shape, i, at);
				at[axis] += offset;
				T_EQUAL(t_get(out[k], i),
					(double)t_flatten(&PSG_SHAPE(2, 7, 3), at));
			}
			offset += shape.dim[axis];
			psg_tensor_unref(out[k]);
		}
		t_free(&op);
	}
}

static int64_t from_pad(const psg_op *op, const psg_shape *x, const int64_t *at)
{
	const psg_pad_params *p = &op->params.pad;
	int64_t index[PSG_MAX_RANK];

	for (int32_t i = 0; i < x->rank; i++) {
		int64_t k = at[i] - p->begin[i], last = x->dim[i] - 1;

		if (k < 0 && p->mode == PSG_PAD_REFLECT)
			k = -k;
		if (k > last && p->mode == PSG_PAD_REFLECT)
			k = last - (k - last);
		if (p->mode == PSG_PAD_EDGE)
			k = k < 0 ? 0 : k > last ? last : k;
		if (k < 0 || k > last)
			return -1;
		index[i] = k;
	}
	return t_flatten(x, index);
}

static void pad_all(psg_op_kind kind)
{
	static const psg_pad_params rows[] = {
		{ .value = FILL },
		{ .value = FILL, .begin = { 0, 1, 0, 3 }, .end = { 1, 0, 2, 5 } },
		{ .value = FILL, .begin = { 0, -1, 0, 3 }, .end = { 0, 1, -4, -2 } },
		{ .mode = PSG_PAD_EDGE, .begin = { 0, 0, 1, 9 }, .end = { 2, 1, 0, 3 } },
		{ .mode = PSG_PAD_REFLECT, .begin = { 0, 0, 6, 4 }, .end = { 1, 2, 0, 4 } },
		{ .mode = PSG_PAD_REFLECT, .begin = { 0, 0, 0, -2 }, .end = { 0, 0, -1, 3 } },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		psg_shape x = PSG_SHAPE(2, 3, 7, 5), out = x;

		for (int k = 0; k < 4; k++)
			out.dim[k] += rows[i].begin[k] + rows[i].end[k];
		check((psg_op){ .kind = kind, .params.pad = rows[i] }, x, out, from_pad);
	}
	check((psg_op){ .kind = kind, .params.pad = { .value = FILL, .end = { 3 } } }, PSG_SHAPE(0),
	      PSG_SHAPE(3), from_pad);
}

static void pad_rb(psg_op_kind kind)
{
	psg_op op = { .kind = kind,
		      .params.pad.end = { 2, 3 },
		      .in = { t_iota(PSG_F32, PSG_SHAPE(1, 2, 7, 62)) },
		      .n_in = 1 };
	psg_tensor *out = t_run_free(&op);

	t_expect_shape(out, PSG_F32, PSG_SHAPE(1, 2, 9, 65));
	for (int64_t i = 0; i < 2 * 9 * 65; i++) {
		int64_t c = i / (9 * 65), y = i / 65 % 9, x = i % 65;

		T_EQUAL(t_get(out, i), y < 7 && x < 62 ? (double)((c * 7 + y) * 62 + x) : 0);
	}
	psg_tensor_unref(out);
}

/* Without widths a copy; with them zeros past each, in place of NaN. */
static void zero_cols(psg_op_kind kind)
{
	const int32_t widths[] = { 5, 3 };
	psg_error error = PSG_ERROR_INIT;
	psg_op op = { .kind = kind, .in = { t_iota(PSG_F32, PSG_SHAPE(2, 3, 5, 4)) }, .n_in = 1 };
	psg_tensor *out;

	check_kept((psg_op){ .kind = kind }, PSG_SHAPE(2, 3, 5), PSG_SHAPE(2, 3, 5));
	for (int64_t i = 0; i < 120; i++)
		if (i / 60 == 1 && i / 4 % 5 >= 3)
			t_data(op.in[0])[i] = NAN;
	ck_assert_int_eq(psg_tensor_set_valid_widths(op.in[0], 2, widths, 2, &error), PSG_OK);
	out = t_run_free(&op);
	for (int64_t i = 0; i < 120; i++)
		T_EQUAL(t_get(out, i), i / 60 == 1 && i / 4 % 5 >= 3 ? 0 : (double)i);
	psg_tensor_unref(out);
}

static int64_t from_broadcast(const psg_op *op, const psg_shape *x, const int64_t *at)
{
	int64_t index[PSG_MAX_RANK];
	int32_t rank =
		op->params.reshape.shape.rank > x->rank ? op->params.reshape.shape.rank : x->rank;

	for (int32_t i = 0; i < x->rank; i++)
		index[i] = x->dim[i] == 1 ? 0 : at[i + rank - x->rank];
	return t_flatten(x, index);
}

static void expand(psg_op_kind kind)
{
	static const struct {
		psg_shape x, to, out;
	} rows[] = {
		{ { 0, { 0 } }, T_SHAPE(2, 3), T_SHAPE(2, 3) },
		{ T_SHAPE(3, 1), T_SHAPE(2, 1, 65), T_SHAPE(2, 3, 65) },
		{ T_SHAPE(3, 7), T_SHAPE(1), T_SHAPE(3, 7) },
		{ T_SHAPE(1, 7), T_SHAPE(0, 1), T_SHAPE(0, 7) },
		{ T_SHAPE(2, 1, 3, 1), T_SHAPE(5, 1, 4), T_SHAPE(2, 5, 3, 4) },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check((psg_op){ .kind = kind, .params.reshape.shape = rows[i].to }, rows[i].x,
		      rows[i].out, from_broadcast);
}

static int64_t from_tile(const psg_op *op, const psg_shape *x, const int64_t *at)
{
	int64_t index[PSG_MAX_RANK];

	(void)op;
	for (int32_t i = 0; i < x->rank; i++)
		index[i] = at[i] % x->dim[i];
	return t_flatten(x, index);
}

static void tile(psg_op_kind kind)
{
	static const struct {
		psg_shape x, times, out;
	} rows[] = {
		{ T_SHAPE(7), T_SHAPE(3), T_SHAPE(21) },
		{ T_SHAPE(2, 3, 5), T_SHAPE(2, 1, 3), T_SHAPE(4, 3, 15) },
		{ T_SHAPE(2, 3), T_SHAPE(1, 0), T_SHAPE(2, 0) },
		{ T_SHAPE(1, 2, 1, 2, 1, 2), T_SHAPE(2, 2, 2, 2, 2, 2), T_SHAPE(2, 4, 2, 4, 2, 4) },
		{ { 0, { 0 } }, { 0, { 0 } }, { 0, { 0 } } },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		check((psg_op){ .kind = kind, .params.reshape.shape = rows[i].times }, rows[i].x,
		      rows[i].out, from_tile);
}

static void gather(psg_op_kind kind)
{
	const int64_t picks[] = { 2, -1, 0, 6, 2, -7 };

	for (int type = 0; type < 2; type++) {
		psg_dtype dtype = type == 0 ? PSG_F32 : PSG_I64;
		psg_op op = { .kind = kind,
			      .params.concat.axis = -2,
			      .in = { t_iota(dtype, PSG_SHAPE(2, 7, 5)),
				      t_integers(PSG_SHAPE(2, 3), picks) },
			      .n_in = 2 };
		psg_tensor *out = t_run_free(&op);

		t_expect_shape(out, dtype, PSG_SHAPE(2, 2, 3, 5));
		for (int64_t i = 0; i < 60; i++) {
			int64_t pick = picks[i / 5 % 6], row = pick < 0 ? pick + 7 : pick;
			int64_t want = (i / 30 * 7 + row) * 5 + i % 5;

			T_EQUAL(t_get(out, i), (double)want);
		}
		psg_tensor_unref(out);
	}
}

/* One scalar index takes the dimension away; an index outside is refused with the numbers. */
static void gather_scalar(psg_op_kind kind)
{
	const int64_t last = -1, outside = 7, below = -8;
	psg_shape scalar = { 0, { 0 } };
	psg_op op = { .kind = kind,
		      .in = { t_iota(PSG_I64, PSG_SHAPE(7)), t_integers(scalar, &last) },
		      .n_in = 2 };
	psg_tensor *out = t_run1(&op);

	t_expect_shape(out, PSG_I64, scalar);
	T_EQUAL(t_get(out, 0), 6);
	psg_tensor_unref(out);
	psg_tensor_unref(op.in[1]);
	op.in[1] = t_integers(scalar, &outside);
	t_refused(&op, PSG_INVALID, "gather", "index 7", "-7..6");
	psg_tensor_unref(op.in[1]);
	op.in[1] = t_integers(scalar, &below);
	t_refused(&op, PSG_INVALID, "gather", "index -8");
	t_free(&op);
}

static int64_t from_depth(const psg_op *op, const psg_shape *x, const int64_t *at)
{
	int64_t b = op->params.depth.block, y = at[2] % b, k = at[3] % b, c = x->dim[1] / (b * b);
	int64_t channel = op->params.depth.column_row_depth ? at[1] * b * b + y * b + k
							    : (y * b + k) * c + at[1];

	return t_flatten(x, (int64_t[]){ at[0], channel, at[2] / b, at[3] / b });
}

static int64_t from_space(const psg_op *op, const psg_shape *x, const int64_t *at)
{
	int64_t b = op->params.depth.block, part = at[1] / x->dim[1];

	return t_flatten(x, (int64_t[]){ at[0], at[1] % x->dim[1], at[2] * b + part / b,
					 at[3] * b + part % b });
}

static void depth_to_space(psg_op_kind kind)
{
	psg_op op = { .kind = kind, .params.depth.block = 2 };

	check(op, PSG_SHAPE(2, 12, 3, 5), PSG_SHAPE(2, 3, 6, 10), from_depth);
	op.params.depth.column_row_depth = true;
	check(op, PSG_SHAPE(2, 12, 3, 5), PSG_SHAPE(2, 3, 6, 10), from_depth);
	op.params.depth.block = 3;
	check(op, PSG_SHAPE(1, 9, 1, 7), PSG_SHAPE(1, 1, 3, 21), from_depth);
}

static void space_to_depth(psg_op_kind kind)
{
	psg_op op = { .kind = kind, .params.depth.block = 2 };

	check(op, PSG_SHAPE(2, 3, 4, 6), PSG_SHAPE(2, 12, 2, 3), from_space);
	op.params.depth.block = 3;
	check(op, PSG_SHAPE(1, 2, 3, 63), PSG_SHAPE(1, 18, 1, 21), from_space);
}

/* ONNX's definition of each coordinate mode and rounding, once more. */
static int64_t nearest(const psg_resize_params *p, int64_t o, int64_t in, int64_t out, double scale)
{
	double v = p->coordinates == PSG_COORD_ASYMMETRIC ? (double)o / scale
		   : p->coordinates == PSG_COORD_TF_HALF_PIXEL_FOR_NN
			   ? ((double)o + 0.5) / scale
			   : ((double)o + 0.5) / scale - 0.5;
	double low, part, r;

	if (p->coordinates == PSG_COORD_PYTORCH_HALF_PIXEL && out == 1)
		v = 0;
	if (p->coordinates == PSG_COORD_ALIGN_CORNERS)
		v = out == 1 ? 0 : (double)o * (double)(in - 1) / (double)(out - 1);
	low = floor(v);
	part = v - low;
	r = p->nearest == PSG_NEAREST_FLOOR                ? low
	    : p->nearest == PSG_NEAREST_CEIL               ? ceil(v)
	    : p->nearest == PSG_NEAREST_ROUND_PREFER_FLOOR ? low + (part > 0.5)
							   : low + (part >= 0.5);
	return (int64_t)fmin(fmax(r, 0), (double)(in - 1));
}

static psg_shape resized;

static int64_t from_resize(const psg_op *op, const psg_shape *x, const int64_t *at)
{
	const psg_resize_params *p = &op->params.resize;
	int64_t index[PSG_MAX_RANK];

	for (int32_t i = 0; i < x->rank; i++) {
		double scale =
			p->scale[i] > 0 ? p->scale[i] : (double)resized.dim[i] / (double)x->dim[i];

		index[i] = nearest(p, at[i], x->dim[i], resized.dim[i], scale);
	}
	return t_flatten(x, index);
}

static void interp_nearest(psg_op_kind kind)
{
	static const struct {
		psg_shape x, out;
		double scale[4];
	} rows[] = {
		{ T_SHAPE(1, 2, 3, 65), T_SHAPE(1, 2, 6, 130), { 1, 1, 2, 2 } },
		{ T_SHAPE(1, 2, 7, 5), T_SHAPE(1, 2, 4, 12), { 1, 1, 0.6, 2.5 } },
		{ T_SHAPE(1, 1, 2, 4), T_SHAPE(1, 1, 7, 1), { 0 } },
		{ T_SHAPE(2, 1, 1, 63), T_SHAPE(2, 1, 1, 40), { 0 } },
	};

	for (size_t r = 0; r < 4 * 5 * 4; r++) {
		size_t i = r / 20;
		psg_op op = { .kind = kind,
			      .params.resize = { .coordinates = (psg_coordinates)(r / 4 % 5),
						 .nearest = (psg_nearest)(r % 4) } };

		resized = rows[i].out;
		memcpy(op.params.resize.scale, rows[i].scale, sizeof(rows[i].scale));
		if (!(rows[i].scale[0] > 0))
			memcpy(op.params.resize.size, resized.dim, sizeof(resized.dim));
		check(op, rows[i].x, rows[i].out, from_resize);
	}
}

static void shape(psg_op_kind kind)
{
	static const struct {
		psg_shape_params p;
		int32_t from, n;
	} rows[] = {
		{ { 0, 0 }, 0, 4 },  { { 1, 3 }, 1, 2 },  { { -1, 0 }, 3, 1 },
		{ { 0, -1 }, 0, 3 }, { { -9, 9 }, 0, 4 }, { { 3, 1 }, 3, 0 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		psg_op op = { .kind = kind,
			      .params.shape = rows[i].p,
			      .in = { t_random(PSG_SHAPE(2, 3, 0, 65)) },
			      .n_in = 1 };
		psg_tensor *out = t_run1(&op);

		t_expect_shape(out, PSG_I64, PSG_SHAPE(rows[i].n));
		for (int64_t k = 0; k < rows[i].n; k++)
			T_EQUAL(t_get(out, k),
				(double)psg_tensor_shape(op.in[0])->dim[rows[i].from + k]);
		psg_tensor_unref(out);
		t_free(&op);
	}
}

static void size(psg_op_kind kind)
{
	const psg_shape shapes[] = { { 0, { 0 } }, PSG_SHAPE(2, 3, 65), PSG_SHAPE(0, 3) };
	const double want[] = { 1, 390, 0 };

	for (size_t i = 0; i < 3; i++) {
		psg_op op = { .kind = kind, .in = { t_random(shapes[i]) }, .n_in = 1 };
		psg_tensor *out = t_run_free(&op);

		t_expect_shape(out, PSG_I64, (psg_shape){ 0, { 0 } });
		T_EQUAL(t_get(out, 0), want[i]);
		psg_tensor_unref(out);
	}
}

static void constant_of_shape(psg_op_kind kind)
{
	const psg_shape shapes[] = { { 0, { 0 } }, PSG_SHAPE(7, 9), PSG_SHAPE(0, 2) };

	for (size_t i = 0; i < 6; i++) {
		psg_dtype dtype = i % 2 == 0 ? PSG_F32 : PSG_I64;
		psg_op op = { .kind = kind,
			      .params.fill = {
				      .dtype = dtype, .shape = shapes[i / 2], .value = -2.5 } };
		psg_tensor *out = t_run1(&op);

		t_expect_shape(out, dtype, shapes[i / 2]);
		for (int64_t k = 0; k < psg_shape_elements(&shapes[i / 2]); k++)
			T_EQUAL(t_get(out, k), dtype == PSG_F32 ? -2.5 : -2);
		psg_tensor_unref(out);
	}
}

static void range(psg_op_kind kind)
{
	static const struct {
		double start, limit, step;
		int64_t n;
	} rows[] = {
		{ 0, 7, 1, 7 }, { 10, 4, -2, 3 }, { 1, 2, 5, 1 }, { 3, 3, 1, 0 }, { 5, 0, 1, 0 }
	};

	for (size_t i = 0; i < 10; i++) {
		size_t r = i / 2;
		psg_dtype dtype = i % 2 == 0 ? PSG_F32 : PSG_I64;
		psg_op op = { .kind = kind,
			      .params.fill = { .dtype = dtype,
					       .start = rows[r].start,
					       .limit = rows[r].limit,
					       .step = rows[r].step } };
		psg_tensor *out = t_run1(&op);

		t_expect_shape(out, dtype, PSG_SHAPE(rows[r].n));
		for (int64_t k = 0; k < rows[r].n; k++)
			T_EQUAL(t_get(out, k), rows[r].start + (double)k * rows[r].step);
		psg_tensor_unref(out);
	}
}

static int64_t from_chw(const psg_op *op, const psg_shape *x, const int64_t *at)
{
	(void)op;
	return (at[0] * x->dim[1] + at[2]) * x->dim[2] * x->dim[3] + at[1];
}

static int64_t from_seq(const psg_op *op, const psg_shape *x, const int64_t *at)
{
	int64_t height = op->params.sequence.height;
	int64_t width = x->dim[1] / (height == 0 ? 1 : height);

	return (at[0] * x->dim[1] + at[2] * width + at[3]) * x->dim[2] + at[1];
}

static void chw_to_seq(psg_op_kind kind)
{
	psg_op op = { .kind = kind };

	check(op, PSG_SHAPE(2, 5, 3, 7), PSG_SHAPE(2, 21, 5), from_chw);
	check(op, PSG_SHAPE(1, 63, 1, 65), PSG_SHAPE(1, 65, 63), from_chw);
}

static void seq_to_chw(psg_op_kind kind)
{
	psg_op op = { .kind = kind };

	check(op, PSG_SHAPE(2, 21, 5), PSG_SHAPE(2, 5, 1, 21), from_seq);
	op.params.sequence.height = 3;
	check(op, PSG_SHAPE(2, 21, 5), PSG_SHAPE(2, 5, 3, 7), from_seq);
}

static const t_case t_move_cases[] = {
	{ PSG_OP_TRANSPOSE, transpose },
	{ PSG_OP_RESHAPE, reshape },
	{ PSG_OP_FLATTEN, flatten },
	{ PSG_OP_SQUEEZE, squeeze },
	{ PSG_OP_UNSQUEEZE, unsqueeze },
	{ PSG_OP_SLICE, slice },
	{ PSG_OP_CROP_COLS, crop_cols },
	{ PSG_OP_CONCAT, concat },
	{ PSG_OP_CONCAT, concat_one },
	{ PSG_OP_COPY_PART, copy_part },
	{ PSG_OP_SPLIT, split },
	{ PSG_OP_PAD_ALL, pad_all },
	{ PSG_OP_PAD_RB, pad_rb },
	{ PSG_OP_ZERO_COLS, zero_cols },
	{ PSG_OP_EXPAND, expand },
	{ PSG_OP_TILE, tile },
	{ PSG_OP_GATHER, gather },
	{ PSG_OP_GATHER, gather_scalar },
	{ PSG_OP_DEPTH_TO_SPACE, depth_to_space },
	{ PSG_OP_SPACE_TO_DEPTH, space_to_depth },
	{ PSG_OP_INTERP_NEAREST, interp_nearest },
	{ PSG_OP_SHAPE, shape },
	{ PSG_OP_SIZE, size },
	{ PSG_OP_CONSTANT_OF_SHAPE, constant_of_shape },
	{ PSG_OP_RANGE, range },
	{ PSG_OP_CHW_TO_SEQ, chw_to_seq },
	{ PSG_OP_SEQ_TO_CHW, seq_to_chw },
};

const t_cases t_move = T_CASES(t_move);
