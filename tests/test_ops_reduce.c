/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions, softmax and normalisations against sums over all elements with the same place. */
#include "config.h"

#include "t_ops.h"

#include <math.h>
#include <stdlib.h>

typedef struct reduce_row {
	psg_shape x, out;
	psg_reduce_params p;
	unsigned mask; /* bit i: dimension i is reduced */
} reduce_row;

static const reduce_row reduce_rows[] = {
	{ { 0, { 0 } }, { 0, { 0 } }, { .n_axes = 0 }, 0 },
	{ T_SHAPE(65), T_SHAPE(1), { .n_axes = 0 }, 1 },
	{ T_SHAPE(65), { 0, { 0 } }, { .n_axes = 0, .drop_dims = true }, 1 },
	{ T_SHAPE(2, 3, 63), T_SHAPE(2, 1, 63), { .axes = { 1 }, .n_axes = 1 }, 2 },
	{ T_SHAPE(2, 3, 63), T_SHAPE(2, 3), { .axes = { -1 }, .n_axes = 1, .drop_dims = true }, 4 },
	{ T_SHAPE(2, 3, 4, 7),
	  T_SHAPE(3),
	  { .axes = { 0, 3, 2 }, .n_axes = 3, .drop_dims = true },
	  13 },
	{ T_SHAPE(3, 1, 2, 2, 1, 5),
	  T_SHAPE(3, 1, 1, 2, 1, 1),
	  { .axes = { 2, 5 }, .n_axes = 2 },
	  36 },
	{ T_SHAPE(2, 3), T_SHAPE(2, 3), { .noop_empty = true }, 0 },
	{ T_SHAPE(7, 1), T_SHAPE(1, 1), { .axes = { 0 }, .n_axes = 1 }, 1 },
	{ T_SHAPE(0, 3), T_SHAPE(0, 1), { .axes = { 1 }, .n_axes = 1 }, 2 },
};

static double step(psg_op_kind kind, double a, double v)
{
	switch (kind) {
	case PSG_OP_REDUCE_MAX:
		return fmax(a, v);
	case PSG_OP_REDUCE_MIN:
		return fmin(a, v);
	case PSG_OP_REDUCE_PROD:
		return a * v;
	case PSG_OP_REDUCE_L1:
		return a + fabs(v);
	case PSG_OP_REDUCE_L2:
	case PSG_OP_REDUCE_SUM_SQUARE:
		return a + v * v;
	case PSG_OP_REDUCE_LOG_SUM_EXP:
		return a + exp(v);
	default:
		return a + v;
	}
}

static double start(psg_op_kind kind)
{
	return kind == PSG_OP_REDUCE_MAX    ? -INFINITY
	       : kind == PSG_OP_REDUCE_MIN  ? INFINITY
	       : kind == PSG_OP_REDUCE_PROD ? 1
					    : 0;
}

static double finish(psg_op_kind kind, double a, int64_t n)
{
	return kind == PSG_OP_REDUCE_MEAN                                           ? a / (double)n
	       : kind == PSG_OP_REDUCE_L2                                           ? sqrt(a)
	       : kind == PSG_OP_REDUCE_LOG_SUM || kind == PSG_OP_REDUCE_LOG_SUM_EXP ? log(a)
										    : a;
}

/* The element of the result, its dimensions kept, that element `flat` of x goes to. */
static int64_t target(const psg_shape *x, unsigned mask, int64_t flat)
{
	int64_t at[PSG_MAX_RANK], to = 0;

	t_unflatten(x, flat, at);
	for (int32_t i = 0; i < x->rank; i++)
		if ((mask >> i & 1) == 0)
			to = to * x->dim[i] + at[i];
	return to;
}

static void check_reduce(psg_op_kind kind, const reduce_row *row, const psg_tensor *x,
			 const psg_tensor *out)
{
	for (int64_t i = 0; i < psg_shape_elements(&row->out); i++) {
		double a = start(kind);
		int64_t n = 0;

		for (int64_t k = 0; k < psg_shape_elements(&row->x); k++) {
			if (target(&row->x, row->mask, k) == i) {
				a = step(kind, a, t_get(x, k));
				n++;
			}
		}
		a = finish(kind, a, n);
		if (psg_tensor_dtype(x) == PSG_I64)
			a = trunc(a);
		t_expect_close(t_get(out, i), a, 1e-6, psg_op_name(kind), i);
	}
}

static void reduce(psg_op_kind kind)
{
	for (size_t i = 0; i < sizeof(reduce_rows) / sizeof(reduce_rows[0]); i++) {
		const reduce_row *row = &reduce_rows[i];
		psg_op op = {
			.kind = kind, .params.reduce = row->p, .in = { t_random(row->x) }, .n_in = 1
		};
		psg_tensor *out;

		/* Positive, so that logarithms and products say something. */
		for (int64_t k = 0; k < psg_shape_elements(&row->x); k++)
			t_data(op.in[0])[k] +=
				kind == PSG_OP_REDUCE_PROD || kind == PSG_OP_REDUCE_LOG_SUM ? 1.5F
											    : 0;
		out = t_run1(&op);
		t_expect_shape(out, PSG_F32, row->out);
		check_reduce(kind, row, op.in[0], out);
		psg_tensor_unref(out);
		t_free(&op);
	}
}

static void reduce_integers(psg_op_kind kind)
{
	for (size_t i = 0; i < sizeof(reduce_rows) / sizeof(reduce_rows[0]); i++) {
		const reduce_row *row = &reduce_rows[i];
		psg_op op = { .kind = kind,
			      .params.reduce = row->p,
			      .in = { t_iota(PSG_I64, row->x) },
			      .n_in = 1 };
		psg_tensor *out;

		for (int64_t k = 0; k < psg_shape_elements(&row->x); k++) {
			int64_t *x = (int64_t *)psg_tensor_data(op.in[0]) + k;

			*x = kind == PSG_OP_REDUCE_PROD ? *x % 2 + 1 : *x - 9;
		}
		if (kind == PSG_OP_REDUCE_PROD && psg_shape_elements(&row->x) > 60) {
			t_free(&op);
			continue; /* wraps, which doubles do not */
		}
		out = t_run1(&op);
		t_expect_shape(out, PSG_I64, row->out);
		check_reduce(kind, row, op.in[0], out);
		psg_tensor_unref(out);
		t_free(&op);
	}
}

/* NaN and infinities, and values whose exponentials overflow. */
static void reduce_extremes(psg_op_kind kind)
{
	const float nan[] = { 1, NAN, 2 }, large[] = { 1000, 1000, 999 };
	const float inf[] = { -INFINITY, -INFINITY, -INFINITY };
	psg_op op = { .kind = kind, .in = { t_floats(PSG_SHAPE(3), nan) }, .n_in = 1 };
	psg_tensor *out = t_run_free(&op);

	ck_assert(isnan(t_get(out, 0)));
	psg_tensor_unref(out);
	if (kind != PSG_OP_REDUCE_LOG_SUM_EXP)
		return;
	op.in[0] = t_floats(PSG_SHAPE(3), large);
	out = t_run_free(&op);
	t_expect_close(t_get(out, 0), 1000 + log(2 + exp(-1)), 1e-6, "reduce_log_sum_exp", 0);
	psg_tensor_unref(out);
	op.in[0] = t_floats(PSG_SHAPE(3), inf);
	out = t_run_free(&op);
	ck_assert(isinf(t_get(out, 0)) && t_get(out, 0) < 0);
	psg_tensor_unref(out);
}

static void reduce_nothing(psg_op_kind kind)
{
	psg_op op = { .kind = kind,
		      .params.reduce = { .axes = { 1 }, .n_axes = 1 },
		      .in = { t_random(PSG_SHAPE(2, 0)) },
		      .n_in = 1 };
	psg_tensor *out = t_run_free(&op);

	t_expect_shape(out, PSG_F32, PSG_SHAPE(2, 1));
	for (int64_t i = 0; i < 2; i++)
		t_expect_close(t_get(out, i), finish(kind, start(kind), 0), 0, psg_op_name(kind),
			       i);
	psg_tensor_unref(out);
}

/* Axis 1 of [2,7,5] with ties, by hand. */
static void arg(psg_op_kind kind)
{
	for (int variant = 0; variant < 8; variant++) {
		bool integers = variant & 1, last = (variant & 2) != 0, drop = (variant & 4) != 0;
		psg_op op = { .kind = kind,
			      .params.arg = { .axis = drop ? -2 : 1,
					      .drop_dims = drop,
					      .select_last = last },
			      .in = { t_iota(integers ? PSG_I64 : PSG_F32, PSG_SHAPE(2, 7, 5)) },
			      .n_in = 1 };
		psg_tensor *out;

		for (int64_t i = 0; i < 70; i++) {
			if (integers)
				((int64_t *)psg_tensor_data(op.in[0]))[i] = i * 11 % 4;
			else
				t_data(op.in[0])[i] = (float)(i * 11 % 4) - 1;
		}
		out = t_run1(&op);
		t_expect_shape(out, PSG_I64, drop ? PSG_SHAPE(2, 5) : PSG_SHAPE(2, 1, 5));
		for (int64_t i = 0; i < 10; i++) {
			int64_t first = i / 5 * 35 + i % 5, best = 0;

			for (int64_t k = 1; k < 7; k++) {
				double a = t_get(op.in[0], first + best * 5);
				double b = t_get(op.in[0], first + k * 5);
				bool wins = kind == PSG_OP_ARG_MAX ? b > a : b < a;

				best = wins || (b == a && last) ? k : best;
			}
			T_EQUAL(t_get(out, i), (double)best);
		}
		psg_tensor_unref(out);
		t_free(&op);
	}
}

static void arg_nan(psg_op_kind kind)
{
	const float x[] = { 1, NAN, 3, NAN, -INFINITY };
	psg_op op = { .kind = kind, .in = { t_floats(PSG_SHAPE(5), x) }, .n_in = 1 };
	psg_tensor *out = t_run_free(&op);

	T_EQUAL(t_get(out, 0), 1);
	psg_tensor_unref(out);
}

typedef struct softmax_row {
	psg_shape x;
	psg_softmax_params p;
	unsigned mask; /* the dimensions that sum to 1 */
} softmax_row;

static const softmax_row softmax_rows[] = {
	{ T_SHAPE(1), { 0, false }, 1 },          { T_SHAPE(3, 65), { -1, false }, 2 },
	{ T_SHAPE(2, 7, 3, 5), { 1, false }, 2 }, { T_SHAPE(2, 7, 3, 5), { 1, true }, 14 },
	{ T_SHAPE(2, 7, 3), { 0, true }, 7 },     { T_SHAPE(2, 7, 3), { 0, false }, 1 },
	{ T_SHAPE(2, 3), { 2, true }, 0 },        { T_SHAPE(0, 3), { 1, false }, 2 },
};

static void softmax(psg_op_kind kind)
{
	for (size_t i = 0; i < sizeof(softmax_rows) / sizeof(softmax_rows[0]); i++) {
		const softmax_row *row = &softmax_rows[i];
		psg_op op = { .kind = kind,
			      .params.softmax = row->p,
			      .in = { t_random(row->x) },
			      .n_in = 1 };
		int64_t n = psg_shape_elements(&row->x);
		psg_tensor *out = t_run1(&op);

		t_expect_shape(out, PSG_F32, row->x);
		for (int64_t k = 0; k < n; k++) {
			double sum = 0, want;

			for (int64_t j = 0; j < n; j++)
				if (target(&row->x, row->mask, j) == target(&row->x, row->mask, k))
					sum += exp(t_get(op.in[0], j));
			want = exp(t_get(op.in[0], k)) / sum;
			t_expect_close(t_get(out, k), kind == PSG_OP_SOFTMAX ? want : log(want),
				       1e-6, psg_op_name(kind), k);
		}
		psg_tensor_unref(out);
		t_free(&op);
	}
}

static void softmax_extremes(psg_op_kind kind)
{
	const float x[] = { 1000, 999, -INFINITY, 0, NAN, 0 };
	psg_op op = { .kind = kind,
		      .params.softmax.axis = 1,
		      .in = { t_floats(PSG_SHAPE(2, 3), x) },
		      .n_in = 1 };
	psg_tensor *out = t_run_free(&op);
	double p = 1 / (1 + exp(-1)), want[] = { p, 1 - p, 0, NAN, NAN, NAN };

	for (int64_t i = 0; i < 6; i++)
		t_expect_close(t_get(out, i), kind == PSG_OP_SOFTMAX ? want[i] : log(want[i]), 1e-6,
			       psg_op_name(kind), i);
	psg_tensor_unref(out);
}

static void batch_norm(psg_op_kind kind)
{
	const psg_shape xs[] = { PSG_SHAPE(2, 3, 7, 63), PSG_SHAPE(4, 3), PSG_SHAPE(1, 3, 1) };

	for (size_t s = 0; s < 3; s++) {
		psg_op op = { .kind = kind,
			      .params.norm.epsilon = 1e-3F,
			      .in = { t_random(xs[s]), t_random(PSG_SHAPE(3)),
				      t_random(PSG_SHAPE(3)), t_random(PSG_SHAPE(3)),
				      t_random(PSG_SHAPE(3)) },
			      .n_in = 5 };
		int64_t n = psg_shape_elements(&xs[s]), size = n / xs[s].dim[0] / 3;
		psg_tensor *out;

		for (int64_t i = 0; i < 3; i++)
			t_data(op.in[4])[i] += 1;
		out = t_run1(&op);
		for (int64_t i = 0; i < n; i++) {
			int64_t c = i / size % 3;

			t_expect_close(t_get(out, i),
				       (t_get(op.in[0], i) - t_get(op.in[3], c)) /
						       sqrt(t_get(op.in[4], c) + (double)1e-3F) *
						       t_get(op.in[1], c) +
					       t_get(op.in[2], c),
				       1e-6, "batch_norm", i);
		}
		psg_tensor_unref(out);
		t_free(&op);
	}
}

/* Elements [first, first + n) of x, normalised; gamma and beta of element i. */
static double normalised(const psg_tensor *x, int64_t first, int64_t n, int64_t i, double epsilon)
{
	double mean = 0, variance = 0;

	for (int64_t k = 0; k < n; k++)
		mean += t_get(x, first + k) / (double)n;
	for (int64_t k = 0; k < n; k++)
		variance += pow(t_get(x, first + k) - mean, 2) / (double)n;
	return (t_get(x, first + i) - mean) / sqrt(variance + epsilon);
}

static void instance_norm(psg_op_kind kind)
{
	const psg_shape xs[] = { PSG_SHAPE(2, 3, 7, 65), PSG_SHAPE(1, 3, 63) };

	for (size_t s = 0; s < 2; s++) {
		psg_op op = { .kind = kind,
			      .params.norm.epsilon = 1e-5F,
			      .in = { t_random(xs[s]), t_random(PSG_SHAPE(3)),
				      t_random(PSG_SHAPE(3)) },
			      .n_in = 3 };
		int64_t n = psg_shape_elements(&xs[s]), size = n / xs[s].dim[0] / 3;
		psg_tensor *out = t_run1(&op);

		for (int64_t i = 0; i < n; i += 5) {
			int64_t c = i / size % 3;

			t_expect_close(t_get(out, i),
				       normalised(op.in[0], i / size * size, size, i % size,
						  (double)1e-5F) *
						       t_get(op.in[1], c) +
					       t_get(op.in[2], c),
				       1e-6, "instance_norm", i);
		}
		psg_tensor_unref(out);
		t_free(&op);
	}
}

static void layer_norm(psg_op_kind kind)
{
	static const struct {
		psg_shape x, gamma, beta;
		int32_t axis;
		int64_t size;
	} rows[] = {
		{ T_SHAPE(2, 7, 120), T_SHAPE(120), T_SHAPE(120), -1, 120 },
		{ T_SHAPE(2, 3, 65), T_SHAPE(3, 65), T_SHAPE(65), 1, 195 },
		{ T_SHAPE(2, 3, 5), T_SHAPE(1), T_SHAPE(3, 1), 1, 15 },
		{ T_SHAPE(7), T_SHAPE(7), T_SHAPE(7), 0, 7 },
	};

	for (size_t r = 0; r < 2 * sizeof(rows) / sizeof(rows[0]); r++) {
		bool with_beta = r % 2 == 0;
		psg_shape x = rows[r / 2].x;
		int64_t size = rows[r / 2].size, at[PSG_MAX_RANK];
		psg_op op = { .kind = kind,
			      .params.norm = { 1e-6F, rows[r / 2].axis },
			      .in = { t_random(x), t_random(rows[r / 2].gamma),
				      with_beta ? t_random(rows[r / 2].beta) : NULL },
			      .n_in = with_beta || r == 1 ? 3 : 2 };
		psg_tensor *out = t_run1(&op);

		for (int64_t i = 0; i < psg_shape_elements(&x); i += 3) {
			double want = normalised(op.in[0], i / size * size, size, i % size,
						 (double)1e-6F);

			t_unflatten(&x, i, at);
			want *= t_broadcast(op.in[1], x.rank, at);
			want += with_beta ? t_broadcast(op.in[2], x.rank, at) : 0;
			t_expect_close(t_get(out, i), want, 1e-5, "layer_norm", i);
		}
		psg_tensor_unref(out);
		t_free(&op);
	}
}

static const t_case t_reduce_cases[] = {
	{ PSG_OP_REDUCE_SUM, reduce },
	{ PSG_OP_REDUCE_MEAN, reduce },
	{ PSG_OP_REDUCE_MAX, reduce },
	{ PSG_OP_REDUCE_MIN, reduce },
	{ PSG_OP_REDUCE_PROD, reduce },
	{ PSG_OP_REDUCE_L1, reduce },
	{ PSG_OP_REDUCE_L2, reduce },
	{ PSG_OP_REDUCE_LOG_SUM, reduce },
	{ PSG_OP_REDUCE_LOG_SUM_EXP, reduce },
	{ PSG_OP_REDUCE_SUM_SQUARE, reduce },
	{ PSG_OP_REDUCE_SUM, reduce_integers },
	{ PSG_OP_REDUCE_MEAN, reduce_integers },
	{ PSG_OP_REDUCE_MAX, reduce_integers },
	{ PSG_OP_REDUCE_MIN, reduce_integers },
	{ PSG_OP_REDUCE_PROD, reduce_integers },
	{ PSG_OP_REDUCE_SUM, reduce_extremes },
	{ PSG_OP_REDUCE_MEAN, reduce_extremes },
	{ PSG_OP_REDUCE_MAX, reduce_extremes },
	{ PSG_OP_REDUCE_MIN, reduce_extremes },
	{ PSG_OP_REDUCE_L2, reduce_extremes },
	{ PSG_OP_REDUCE_LOG_SUM_EXP, reduce_extremes },
	{ PSG_OP_REDUCE_SUM, reduce_nothing },
	{ PSG_OP_REDUCE_MEAN, reduce_nothing },
	{ PSG_OP_REDUCE_MAX, reduce_nothing },
	{ PSG_OP_REDUCE_MIN, reduce_nothing },
	{ PSG_OP_REDUCE_PROD, reduce_nothing },
	{ PSG_OP_REDUCE_LOG_SUM_EXP, reduce_nothing },
	{ PSG_OP_ARG_MAX, arg },
	{ PSG_OP_ARG_MIN, arg },
	{ PSG_OP_ARG_MAX, arg_nan },
	{ PSG_OP_ARG_MIN, arg_nan },
	{ PSG_OP_SOFTMAX, softmax },
	{ PSG_OP_LOG_SOFTMAX, softmax },
	{ PSG_OP_SOFTMAX, softmax_extremes },
	{ PSG_OP_LOG_SOFTMAX, softmax_extremes },
	{ PSG_OP_BATCH_NORM, batch_norm },
	{ PSG_OP_INSTANCE_NORM, instance_norm },
	{ PSG_OP_LAYER_NORM, layer_norm },
};

const t_cases t_reduce = T_CASES(t_reduce);
