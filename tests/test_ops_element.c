/* SPDX-License-Identifier: Apache-2.0 */
/* Element-wise operators of both types against their formulas. */
#include "config.h"

#include "t_ops.h"

#include <float.h>
#include <math.h>

#define SELU_ALPHA 1.67326319217681884765625 /* ONNX's defaults for Selu */
#define SELU_GAMMA 1.05070102214813232421875

static double clamp(double v, double low, double high)
{
	return fmin(fmax(v, low), high);
}

/* The formulas of op.h, as they stand there. */
static double formula(psg_op_kind kind, double x, double a, double b)
{
	switch (kind) {
	case PSG_OP_IDENTITY:
		return x;
	case PSG_OP_RELU:
		return fmax(x, 0);
	case PSG_OP_LEAKY_RELU:
		return x < 0 ? a * x : x;
	case PSG_OP_ELU:
		return x < 0 ? a * (exp(x) - 1) : x;
	case PSG_OP_CELU:
		return fmax(0, x) + fmin(0, a * (exp(x / a) - 1));
	case PSG_OP_SELU:
		return b * (x <= 0 ? a * exp(x) - a : x);
	case PSG_OP_THRESHOLDED_RELU:
		return x > a ? x : 0;
	case PSG_OP_CLIP:
		return clamp(x, a, b);
	case PSG_OP_AFFINE:
		return a * x + b;
	case PSG_OP_SIGMOID:
		return 1 / (1 + exp(-x));
	case PSG_OP_HARDSIGMOID:
		return a == 0 && b == 0 ? clamp(x / 6 + 0.5, 0, 1) : clamp(a * x + b, 0, 1);
	case PSG_OP_SE_GATE:
		return clamp(x / 5 + 0.5, 0, 1);
	case PSG_OP_HARDSWISH:
		return isinf(x) ? (x > 0 ? x : 0) : x * clamp(x / 6 + 0.5, 0, 1);
	case PSG_OP_SILU:
		return isinf(x) ? (x > 0 ? x : 0) : x / (1 + exp(-x));
	case PSG_OP_GELU:
		return isinf(x) ? (x > 0 ? x : 0) : x / 2 * (1 + erf(x / sqrt(2)));
	case PSG_OP_ERF:
		return erf(x);
	case PSG_OP_SOFTPLUS:
		return x > 50 ? x : log(1 + exp(x));
	case PSG_OP_SOFTSIGN:
		return x / (1 + fabs(x));
	case PSG_OP_TANH:
		return tanh(x);
	case PSG_OP_EXP:
		return exp(x);
	case PSG_OP_LOG:
		return log(x);
	case PSG_OP_SQRT:
		return sqrt(x);
	case PSG_OP_ABS:
		return fabs(x);
	case PSG_OP_NEG:
		return -x;
	case PSG_OP_RECIPROCAL:
		return 1 / x;
	case PSG_OP_FLOOR:
		return floor(x);
	case PSG_OP_CEIL:
		return ceil(x);
	case PSG_OP_ROUND:
		return isinf(x) ? x : x - remainder(x, 1);
	case PSG_OP_SIGN:
		return (x > 0) - (x < 0);
	case PSG_OP_SIN:
		return sin(x);
	case PSG_OP_COS:
		return cos(x);
	case PSG_OP_TAN:
		return tan(x);
	case PSG_OP_ASIN:
		return asin(x);
	case PSG_OP_ACOS:
		return acos(x);
	case PSG_OP_ATAN:
		return atan(x);
	case PSG_OP_SINH:
		return sinh(x);
	case PSG_OP_COSH:
		return cosh(x);
	case PSG_OP_ASINH:
		return asinh(x);
	case PSG_OP_ACOSH:
		return acosh(x);
	case PSG_OP_ATANH:
		return atanh(x);
	default:
		ck_abort_msg("no formula for %s", psg_op_name(kind));
	}
}

static psg_unary_params params_of(psg_op_kind kind, int variant)
{
	switch (kind) {
	case PSG_OP_SELU:
		return (psg_unary_params){ (float)SELU_ALPHA, (float)SELU_GAMMA };
	case PSG_OP_CLIP:
		return (psg_unary_params){ -0.25F, 0.75F };
	case PSG_OP_AFFINE:
		return (psg_unary_params){ 1.5F, -0.5F };
	case PSG_OP_HARDSIGMOID:
		return variant == 0 ? (psg_unary_params){ 0, 0 } : (psg_unary_params){ 0.2F, 0.5F };
	default:
		return (psg_unary_params){ variant == 0 ? 0.3F : 1.5F, 0 };
	}
}

/* What a value becomes; a NaN must stay one, whatever the formula's comparisons make of it. */
static double expected(psg_op_kind kind, double x, psg_unary_params p)
{
	return isnan(x) ? NAN : formula(kind, x, (double)p.alpha, (double)p.beta);
}

static void unary(psg_op_kind kind)
{
	static const float special[] = { 0,       -0.0F, 1,      -1,       0.5F,      -0.5F, 1.5F,
					 2.5F,    -2.5F, 3,      -3,       6,         -6,    20,
					 -20,     80,    -80,    INFINITY, -INFINITY, NAN,   1e-30F,
					 -1e-30F, 1e30F, -1e30F, FLT_MAX,  FLT_MIN };
	const int64_t sizes[] = { 1, 7, 63, 65 };

	for (int round = 0; round < 10; round++) {
		int variant = round % 2;
		bool fixed = round >= 8;
		int64_t n =
			fixed ? (int64_t)(sizeof(special) / sizeof(special[0])) : sizes[round / 2];
		psg_op op = { .kind = kind,
			      .params.unary = params_of(kind, variant),
			      .in = { fixed ? t_floats(PSG_SHAPE(n), special)
					    : t_random(PSG_SHAPE(n, 1)) },
			      .n_in = 1 };
		psg_tensor *out;

		for (int64_t i = 0; i < n && !fixed; i++)
			t_data(op.in[0])[i] *= 8;
		out = t_run1(&op);
		for (int64_t i = 0; i < n; i++) {
			double x = t_get(op.in[0], i);
			double want = expected(kind, x, op.params.unary);

			/* The result is a float: overflow there is right. */
			t_expect_close(t_get(out, i), (double)(float)want, 1e-6, psg_op_name(kind),
				       i);
		}
		psg_tensor_unref(out);
		t_free(&op);
	}
}

static void unary_integers(psg_op_kind kind)
{
	const int64_t x[] = { 0, 5, -7, INT64_MAX, INT64_MIN };
	const int64_t neg[] = { 0, -5, 7, -INT64_MAX, INT64_MIN };
	const int64_t abs[] = { 0, 5, 7, INT64_MAX, INT64_MIN };
	const int64_t sign[] = { 0, 1, -1, 1, -1 };
	const int64_t *want = kind == PSG_OP_NEG    ? neg
			      : kind == PSG_OP_ABS  ? abs
			      : kind == PSG_OP_SIGN ? sign
						    : x;
	psg_op op = { .kind = kind, .in = { t_integers(PSG_SHAPE(5), x) }, .n_in = 1 };
	psg_tensor *out = t_run_free(&op);

	t_expect_shape(out, PSG_I64, PSG_SHAPE(5));
	for (size_t i = 0; i < 5; i++)
		ck_assert_int_eq(((const int64_t *)psg_tensor_const_data(out))[i], want[i]);
	psg_tensor_unref(out);
}

static bool compares(psg_op_kind kind)
{
	return kind >= PSG_OP_EQUAL && kind <= PSG_OP_GREATER_EQUAL;
}

static double combine(psg_op_kind kind, double a, double b)
{
	switch (kind) {
	case PSG_OP_ADD:
	case PSG_OP_MEAN:
		return a + b;
	case PSG_OP_SUB:
		return a - b;
	case PSG_OP_MUL:
		return a * b;
	case PSG_OP_DIV:
		return a / b;
	case PSG_OP_POW:
		return pow(a, b);
	case PSG_OP_MIN:
		return isnan(a) || isnan(b) ? NAN : fmin(a, b);
	case PSG_OP_MAX:
		return isnan(a) || isnan(b) ? NAN : fmax(a, b);
	case PSG_OP_PRELU:
		return a < 0 ? a * b : a;
	case PSG_OP_EQUAL:
		return a == b;
	case PSG_OP_LESS:
		return a < b;
	case PSG_OP_LESS_EQUAL:
		return a <= b;
	case PSG_OP_GREATER:
		return a > b;
	case PSG_OP_GREATER_EQUAL:
		return a >= b;
	default:
		ck_abort_msg("no formula for %s", psg_op_name(kind));
	}
}

typedef struct shapes {
	psg_shape a, b, out;
} shapes;

static const shapes broadcasts[] = {
	{ { 0, { 0 } }, { 0, { 0 } }, { 0, { 0 } } },
	{ T_SHAPE(1), { 0, { 0 } }, T_SHAPE(1) },
	{ T_SHAPE(7), T_SHAPE(7), T_SHAPE(7) },
	{ T_SHAPE(65), T_SHAPE(1), T_SHAPE(65) },
	{ T_SHAPE(2, 3, 600), T_SHAPE(600), T_SHAPE(2, 3, 600) },
	{ T_SHAPE(2, 3, 63), T_SHAPE(3, 1), T_SHAPE(2, 3, 63) },
	{ T_SHAPE(2, 5, 3, 4), T_SHAPE(2, 5, 1, 1), T_SHAPE(2, 5, 3, 4) },
	{ T_SHAPE(0, 3), T_SHAPE(1, 3), T_SHAPE(0, 3) },
	/* Not for prelu, whose slope may not extend the input. */
	{ { 0, { 0 } }, T_SHAPE(5), T_SHAPE(5) },
	{ T_SHAPE(3, 1), T_SHAPE(1, 65), T_SHAPE(3, 65) },
	{ T_SHAPE(2, 1, 3, 1, 2), T_SHAPE(3, 1, 4, 1), T_SHAPE(2, 3, 3, 4, 2) },
};
#define UNIDIRECTIONAL 8

/* Small integers, so that comparisons meet equal values. */
static psg_tensor *coarse(psg_shape shape)
{
	psg_tensor *t = t_random(shape);

	for (int64_t i = 0; i < psg_shape_elements(&shape); i++)
		t_data(t)[i] = roundf(t_data(t)[i] * 3);
	return t;
}

static void binary(psg_op_kind kind)
{
	size_t n =
		kind == PSG_OP_PRELU ? UNIDIRECTIONAL : sizeof(broadcasts) / sizeof(broadcasts[0]);

	for (size_t s = 0; s < 2 * n; s++) {
		const shapes *row = &broadcasts[s / 2];
		bool exact = s % 2 != 0;
		psg_op op = { .kind = kind,
			      .in = { exact ? coarse(row->a) : t_random(row->a),
				      exact ? coarse(row->b) : t_random(row->b) },
			      .n_in = 2 };
		psg_tensor *out;

		/* A NaN and an infinity, where there is room. */
		if (psg_shape_elements(&row->a) > 6) {
			t_data(op.in[0])[3] = NAN;
			t_data(op.in[0])[5] = -INFINITY;
		}
		out = t_run1(&op);
		t_expect_shape(out, compares(kind) ? PSG_I64 : PSG_F32, row->out);
		for (int64_t i = 0; i < psg_shape_elements(&row->out); i++) {
			int64_t at[PSG_MAX_RANK];
			double want;

			t_unflatten(&row->out, i, at);
			want = combine(kind, t_broadcast(op.in[0], row->out.rank, at),
				       t_broadcast(op.in[1], row->out.rank, at));
			t_expect_close(t_get(out, i), kind == PSG_OP_MEAN ? want / 2 : want, 1e-6,
				       psg_op_name(kind), i);
		}
		psg_tensor_unref(out);
		t_free(&op);
	}
}

/* Sum, min, max and mean of one, three and sixteen operands. */
static void variadic(psg_op_kind kind)
{
	const size_t counts[] = { 1, 3, PSG_MAX_INPUTS };

	for (size_t c = 0; c < 3; c++) {
		psg_op op = { .kind = kind, .n_in = counts[c] };
		psg_shape shape = PSG_SHAPE(2, 7);
		psg_tensor *out;

		for (size_t i = 0; i < op.n_in; i++)
			op.in[i] = t_random(i % 2 == 0 ? shape : PSG_SHAPE(7));
		out = t_run1(&op);
		t_expect_shape(out, PSG_F32, shape);
		for (int64_t i = 0; i < 14; i++) {
			double want = t_get(op.in[0], i);

			for (size_t k = 1; k < op.n_in; k++)
				want = combine(kind, want, t_get(op.in[k], k % 2 == 0 ? i : i % 7));
			t_expect_close(t_get(out, i),
				       kind == PSG_OP_MEAN ? want / (double)op.n_in : want, 1e-6,
				       psg_op_name(kind), i);
		}
		psg_tensor_unref(out);
		t_free(&op);
	}
}

typedef struct integer_row {
	psg_op_kind kind;
	int64_t a, b, want;
} integer_row;

static const integer_row integer_rows[] = {
	{ PSG_OP_ADD, 3, -5, -2 },
	{ PSG_OP_ADD, INT64_MAX, 1, INT64_MIN },
	{ PSG_OP_SUB, 3, 5, -2 },
	{ PSG_OP_SUB, INT64_MIN, 1, INT64_MAX },
	{ PSG_OP_MUL, -7, 9, -63 },
	{ PSG_OP_MUL, INT64_MAX, 2, -2 },
	{ PSG_OP_DIV, 7, 2, 3 },
	{ PSG_OP_DIV, -7, 2, -3 },
	{ PSG_OP_DIV, 7, -2, -3 },
	{ PSG_OP_DIV, INT64_MIN, -1, INT64_MIN },
	/* Not exact in a double. */
	{ PSG_OP_DIV, INT64_C(9007199254740993), 1, INT64_C(9007199254740993) },
	{ PSG_OP_POW, 3, 4, 81 },
	{ PSG_OP_POW, -2, 63, INT64_MIN },
	{ PSG_OP_POW, 5, 0, 1 },
	{ PSG_OP_POW, 2, -1, 0 },
	{ PSG_OP_POW, 1, -3, 1 },
	{ PSG_OP_POW, -1, -3, -1 },
	{ PSG_OP_POW, -1, -2, 1 },
	{ PSG_OP_MIN, 3, -5, -5 },
	{ PSG_OP_MAX, 3, -5, 3 },
	{ PSG_OP_EQUAL, INT64_C(9007199254740993), INT64_C(9007199254740992), 0 },
	{ PSG_OP_EQUAL, 4, 4, 1 },
	{ PSG_OP_LESS, 3, 4, 1 },
	{ PSG_OP_LESS, 4, 4, 0 },
	{ PSG_OP_LESS_EQUAL, 4, 4, 1 },
	{ PSG_OP_GREATER, 5, 4, 1 },
	{ PSG_OP_GREATER, 4, 4, 0 },
	{ PSG_OP_GREATER_EQUAL, 3, 4, 0 },
};

static void binary_integers(psg_op_kind kind)
{
	size_t found = 0;

	for (size_t i = 0; i < sizeof(integer_rows) / sizeof(integer_rows[0]); i++) {
		const integer_row *row = &integer_rows[i];
		int64_t a[3] = { row->a, row->a, row->a };
		psg_op op = { .kind = kind, .n_in = 2 };
		psg_tensor *out;

		if (row->kind != kind)
			continue;
		op.in[0] = t_integers(PSG_SHAPE(3), a);
		op.in[1] = t_integers((psg_shape){ 0, { 0 } }, &row->b);
		out = t_run_free(&op);
		t_expect_shape(out, PSG_I64, PSG_SHAPE(3));
		for (size_t k = 0; k < 3; k++)
			ck_assert_int_eq(((const int64_t *)psg_tensor_const_data(out))[k],
					 row->want);
		psg_tensor_unref(out);
		found++;
	}
	ck_assert_uint_gt(found, 0);
}

static void divide_by_zero(psg_op_kind kind)
{
	const int64_t a[] = { 0, 0, 0 }, b[] = { 1, kind == PSG_OP_POW ? -1 : 0, 1 };
	psg_op op = { .kind = kind,
		      .in = { t_integers(PSG_SHAPE(3), a), t_integers(PSG_SHAPE(3), b) },
		      .n_in = 2 };

	t_refused(&op, PSG_INVALID, psg_op_name(kind), "division by zero");
	t_free(&op);
}

/* ONNX lets base and exponent have different types; the result has the base's. */
static void mixed_power(psg_op_kind kind)
{
	const float base[] = { 2, -3, 0.5F }, exponent[] = { 2, 0.5F, -1 };
	const int64_t ibase[] = { 2, 9, 4 }, iexponent[] = { 3, 3, -2 };
	const double want[] = { 8, -27, 4 }, iwant[] = { 4, 3, 0 };
	psg_op op = { .kind = kind,
		      .in = { t_floats(PSG_SHAPE(3), base), t_integers(PSG_SHAPE(3), iexponent) },
		      .n_in = 2 };
	psg_tensor *out = t_run_free(&op);

	t_expect_shape(out, PSG_F32, PSG_SHAPE(3));
	t_expect_values(out, want, 1e-6, "pow");
	psg_tensor_unref(out);
	op.in[0] = t_integers(PSG_SHAPE(3), ibase);
	op.in[1] = t_floats(PSG_SHAPE(3), exponent);
	out = t_run_free(&op);
	t_expect_shape(out, PSG_I64, PSG_SHAPE(3));
	t_expect_values(out, iwant, 0, "pow");
	psg_tensor_unref(out);
}

static void where(psg_op_kind kind)
{
	const int64_t choice[] = { 1, 0, -3 };

	for (int type = 0; type < 2; type++) {
		psg_dtype dtype = type == 0 ? PSG_F32 : PSG_I64;
		psg_op op = { .kind = kind,
			      .in = { t_integers(PSG_SHAPE(3, 1), choice),
				      t_iota(dtype, PSG_SHAPE(65)),
				      t_iota(dtype, PSG_SHAPE(2, 3, 1)) },
			      .n_in = 3 };
		psg_tensor *out = t_run1(&op);
		psg_shape shape = PSG_SHAPE(2, 3, 65);

		t_expect_shape(out, dtype, shape);
		for (int64_t i = 0; i < 2 * 3 * 65; i++) {
			int64_t at[PSG_MAX_RANK];

			t_unflatten(&shape, i, at);
			T_EQUAL(t_get(out, i),
				at[1] == 1 ? t_broadcast(op.in[2], 3, at) : (double)at[2]);
		}
		psg_tensor_unref(out);
		t_free(&op);
	}
}

static void channel(psg_op_kind kind)
{
	const psg_shape xs[] = { PSG_SHAPE(2, 3, 7, 65), PSG_SHAPE(2, 3), PSG_SHAPE(2, 3, 1) };

	for (size_t i = 0; i < 3; i++) {
		psg_op op = { .kind = kind, .in = { t_random(xs[i]) }, .n_in = 2 };
		int64_t size = psg_shape_elements(&xs[i]) / 6;
		psg_tensor *out;

		op.in[1] = t_random(kind == PSG_OP_ADD_BIAS ? PSG_SHAPE(3)
				    : i == 0                ? PSG_SHAPE(2, 3, 1, 1)
							    : PSG_SHAPE(2, 3));
		out = t_run1(&op);
		t_expect_shape(out, PSG_F32, xs[i]);
		for (int64_t k = 0; k < 6 * size; k++) {
			double x = t_get(op.in[0], k),
			       c = t_get(op.in[1],
					 kind == PSG_OP_ADD_BIAS ? k / size % 3 : k / size);

			t_expect_close(t_get(out, k), kind == PSG_OP_ADD_BIAS ? x + c : x * c, 1e-6,
				       psg_op_name(kind), k);
		}
		psg_tensor_unref(out);
		t_free(&op);
	}
}

static void cast_floats(psg_op_kind kind)
{
	static const float x[] = {
		0, -0.0F, 1.9F, -1.9F, 3e9F, -3e9F, 1e30F, -1e30F, NAN, INFINITY
	};
	static const int64_t to_i64[] = { 0,           0,         1,         -1, 3000000000,
					  -3000000000, INT64_MAX, INT64_MIN, 0,  INT64_MAX };
	static const int64_t to_i32[] = { 0,         0,         1,         -1, INT32_MAX,
					  INT32_MIN, INT32_MAX, INT32_MIN, 0,  INT32_MAX };
	static const int64_t to_bool[] = { 0, 0, 1, 1, 1, 1, 1, 1, 1, 1 };
	static const struct {
		psg_cast_params p;
		const int64_t *want;
	} rows[] = { { { .to = PSG_I64 }, to_i64 },
		     { { .to = PSG_I64, .to_int32 = true }, to_i32 },
		     { { .to = PSG_I64, .to_bool = true }, to_bool } };
	psg_op op = { .kind = kind, .in = { t_floats(PSG_SHAPE(10), x) }, .n_in = 1 };
	psg_tensor *out;

	for (size_t r = 0; r < 3; r++) {
		op.params.cast = rows[r].p;
		out = t_run1(&op);
		t_expect_shape(out, PSG_I64, PSG_SHAPE(10));
		for (size_t i = 0; i < 10; i++)
			ck_assert_int_eq(((const int64_t *)psg_tensor_const_data(out))[i],
					 rows[r].want[i]);
		psg_tensor_unref(out);
	}
	op.params.cast = (psg_cast_params){ .to = PSG_F32 };
	out = t_run_free(&op);
	for (int64_t i = 0; i < 10; i++)
		t_expect_close(t_get(out, i), (double)x[i], 0, "cast", i);
	psg_tensor_unref(out);
}

static void cast_integers(psg_op_kind kind)
{
	const int64_t x[] = { 0, -1, INT64_C(0x180000000), INT64_C(0x7fffffff), INT64_MIN };
	const int64_t to_i32[] = { 0, -1, INT32_MIN, INT32_MAX, 0 };
	psg_op op = { .kind = kind,
		      .params.cast = { .to = PSG_F32 },
		      .in = { t_integers(PSG_SHAPE(5), x) },
		      .n_in = 1 };
	psg_tensor *out = t_run1(&op);

	t_expect_shape(out, PSG_F32, PSG_SHAPE(5));
	for (int64_t i = 0; i < 5; i++)
		T_EQUAL(t_get(out, i), (double)(float)x[i]);
	psg_tensor_unref(out);
	op.params.cast = (psg_cast_params){ .to = PSG_I64, .to_int32 = true };
	out = t_run1(&op);
	for (size_t i = 0; i < 5; i++)
		ck_assert_int_eq(((const int64_t *)psg_tensor_const_data(out))[i], to_i32[i]);
	psg_tensor_unref(out);
	op.params.cast = (psg_cast_params){ .to = PSG_I64, .to_bool = true };
	out = t_run_free(&op);
	for (int64_t i = 0; i < 5; i++)
		T_EQUAL(t_get(out, i), i > 0);
	psg_tensor_unref(out);
}

static void negate(psg_op_kind kind)
{
	const int64_t x[] = { 0, 1, -7 };
	const double want[] = { 1, 0, 0 };
	psg_op op = { .kind = kind, .in = { t_integers(PSG_SHAPE(3), x) }, .n_in = 1 };
	psg_tensor *out = t_run_free(&op);

	t_expect_shape(out, PSG_I64, PSG_SHAPE(3));
	t_expect_values(out, want, 0, "not");
	psg_tensor_unref(out);
}

static const t_case t_element_cases[] = {
	{ PSG_OP_IDENTITY, unary },
	{ PSG_OP_RELU, unary },
	{ PSG_OP_LEAKY_RELU, unary },
	{ PSG_OP_ELU, unary },
	{ PSG_OP_CELU, unary },
	{ PSG_OP_SELU, unary },
	{ PSG_OP_THRESHOLDED_RELU, unary },
	{ PSG_OP_CLIP, unary },
	{ PSG_OP_AFFINE, unary },
	{ PSG_OP_SIGMOID, unary },
	{ PSG_OP_HARDSIGMOID, unary },
	{ PSG_OP_SE_GATE, unary },
	{ PSG_OP_HARDSWISH, unary },
	{ PSG_OP_SILU, unary },
	{ PSG_OP_GELU, unary },
	{ PSG_OP_ERF, unary },
	{ PSG_OP_SOFTPLUS, unary },
	{ PSG_OP_SOFTSIGN, unary },
	{ PSG_OP_TANH, unary },
	{ PSG_OP_EXP, unary },
	{ PSG_OP_LOG, unary },
	{ PSG_OP_SQRT, unary },
	{ PSG_OP_ABS, unary },
	{ PSG_OP_NEG, unary },
	{ PSG_OP_RECIPROCAL, unary },
	{ PSG_OP_FLOOR, unary },
	{ PSG_OP_CEIL, unary },
	{ PSG_OP_ROUND, unary },
	{ PSG_OP_SIGN, unary },
	{ PSG_OP_SIN, unary },
	{ PSG_OP_COS, unary },
	{ PSG_OP_TAN, unary },
	{ PSG_OP_ASIN, unary },
	{ PSG_OP_ACOS, unary },
	{ PSG_OP_ATAN, unary },
	{ PSG_OP_SINH, unary },
	{ PSG_OP_COSH, unary },
	{ PSG_OP_ASINH, unary },
	{ PSG_OP_ACOSH, unary },
	{ PSG_OP_ATANH, unary },
	{ PSG_OP_IDENTITY, unary_integers },
	{ PSG_OP_NEG, unary_integers },
	{ PSG_OP_ABS, unary_integers },
	{ PSG_OP_SIGN, unary_integers },
	{ PSG_OP_ADD, binary },
	{ PSG_OP_SUB, binary },
	{ PSG_OP_MUL, binary },
	{ PSG_OP_DIV, binary },
	{ PSG_OP_POW, binary },
	{ PSG_OP_MIN, binary },
	{ PSG_OP_MAX, binary },
	{ PSG_OP_MEAN, binary },
	{ PSG_OP_PRELU, binary },
	{ PSG_OP_EQUAL, binary },
	{ PSG_OP_LESS, binary },
	{ PSG_OP_LESS_EQUAL, binary },
	{ PSG_OP_GREATER, binary },
	{ PSG_OP_GREATER_EQUAL, binary },
	{ PSG_OP_ADD, variadic },
	{ PSG_OP_MIN, variadic },
	{ PSG_OP_MAX, variadic },
	{ PSG_OP_MEAN, variadic },
	{ PSG_OP_ADD, binary_integers },
	{ PSG_OP_SUB, binary_integers },
	{ PSG_OP_MUL, binary_integers },
	{ PSG_OP_DIV, binary_integers },
	{ PSG_OP_POW, binary_integers },
	{ PSG_OP_MIN, binary_integers },
	{ PSG_OP_MAX, binary_integers },
	{ PSG_OP_EQUAL, binary_integers },
	{ PSG_OP_LESS, binary_integers },
	{ PSG_OP_LESS_EQUAL, binary_integers },
	{ PSG_OP_GREATER, binary_integers },
	{ PSG_OP_GREATER_EQUAL, binary_integers },
	{ PSG_OP_DIV, divide_by_zero },
	{ PSG_OP_POW, divide_by_zero },
	{ PSG_OP_POW, mixed_power },
	{ PSG_OP_WHERE, where },
	{ PSG_OP_ADD_BIAS, channel },
	{ PSG_OP_SCALE_CH, channel },
	{ PSG_OP_CAST, cast_floats },
	{ PSG_OP_CAST, cast_integers },
	{ PSG_OP_NOT, negate },
};

const t_cases t_element = T_CASES(t_element);
