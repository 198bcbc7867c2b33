/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic and comparisons of broadcast operands, F32 in double and I64 with wrap-around. */
#include "config.h"

#include "ops/family.h"

#include <inttypes.h>
#include <math.h>

#define CHUNK 256 /* elements folded at a time: two buffers of 2 KiB on the stack */

static bool compares(psg_op_kind kind)
{
	return kind == PSG_OP_EQUAL || kind == PSG_OP_LESS || kind == PSG_OP_LESS_EQUAL ||
	       kind == PSG_OP_GREATER || kind == PSG_OP_GREATER_EQUAL;
}

static psg_status check_dtypes(const psgi_call *call, psg_error *error)
{
	for (size_t i = 0; i < call->n_in; i++) {
		if (!psgi_has_input(call, i))
			return psgi_fail(error, PSG_INVALID, "%s: input %zu is missing",
					 psgi_call_name(call), i);
		/* ONNX lets the exponent have a type of its own. */
		if (call->kind != PSG_OP_POW && call->in[i].dtype != call->in[0].dtype)
			return psgi_fail(error, PSG_INVALID,
					 "%s: input %zu and input 0 have different element types",
					 psgi_call_name(call), i);
	}
	if (call->kind == PSG_OP_MEAN || call->kind == PSG_OP_PRELU)
		return psgi_need_dtype(call, 0, PSG_F32, error);
	return PSG_OK;
}

psg_status psgi_binary_shape(psgi_call *call, psg_error *error)
{
	psg_shape shape = call->in[0].shape;
	char text_a[PSGI_SHAPE_TEXT], text_b[PSGI_SHAPE_TEXT];
	psg_status status = check_dtypes(call, error);

	for (size_t i = 1; i < call->n_in && status == PSG_OK; i++)
		status = psgi_broadcast(call, &shape, &call->in[i].shape, &shape, error);
	if (status != PSG_OK)
		return status;
	if (call->kind == PSG_OP_PRELU && !psg_shape_equal(&shape, &call->in[0].shape))
		return psgi_fail(error, PSG_INVALID,
				 "prelu: slope %s does not broadcast to the input %s",
				 psgi_shape_text(&call->in[1].shape, text_b),
				 psgi_shape_text(&call->in[0].shape, text_a));
	return psgi_out(call, 0, compares(call->kind) ? PSG_I64 : call->in[0].dtype, &shape, error);
}

PSGI_PLAIN_COST(binary)

#define EACH(KIND, expression)                                                                     \
	case PSG_OP_##KIND:                                                                        \
		for (int64_t i = 0; i < n; i++)                                                    \
			a[i] = (expression);                                                       \
		return true;

/* A NaN on either side wins, as in numpy. */
static double least(double a, double b)
{
	return a != a ? a : b != b ? b : a < b ? a : b;
}

static double most(double a, double b)
{
	return a != a ? a : b != b ? b : a > b ? a : b;
}

static bool fold_f64(psg_op_kind kind, double *restrict a, const double *restrict b, int64_t n)
{
	switch (kind) {
	case PSG_OP_MEAN:
		EACH(ADD, a[i] + b[i])
		EACH(SUB, a[i] - b[i])
		EACH(MUL, a[i] * b[i])
		EACH(DIV, a[i] / b[i])
		EACH(POW, pow(a[i], b[i]))
		EACH(MIN, least(a[i], b[i]))
		EACH(MAX, most(a[i], b[i]))
		EACH(PRELU, a[i] < 0 ? a[i] * b[i] : a[i])
		EACH(EQUAL, a[i] == b[i])
		EACH(LESS, a[i] < b[i])
		EACH(LESS_EQUAL, a[i] <= b[i])
		EACH(GREATER, a[i] > b[i])
		EACH(GREATER_EQUAL, a[i] >= b[i])
	default:
		return true;
	}
}

static int64_t add(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a + (uint64_t)b);
}

static int64_t subtract(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a - (uint64_t)b);
}

static int64_t multiply(int64_t a, int64_t b)
{
	return (int64_t)((uint64_t)a * (uint64_t)b);
}

static bool divide(int64_t *restrict a, const int64_t *restrict b, int64_t n)
{
	for (int64_t i = 0; i < n; i++) {
		if (b[i] == 0)
			return false;
		/* The one quotient that does not fit wraps like the rest. */
		a[i] = b[i] == -1 ? subtract(0, a[i]) : a[i] / b[i];
	}
	return true;
}

/* By squaring.  A negative exponent gives the quotient 1 / a^-b, truncated. */
static bool power(int64_t *restrict a, const int64_t *restrict b, int64_t n)
{
	for (int64_t i = 0; i < n; i++) {
		int64_t base = a[i], exponent = b[i], result = 1;

		if (exponent < 0) {
			if (base == 0)
				return false;
			result = base == 1 || (base == -1 && exponent % 2 == 0) ? 1
				 : base == -1                                   ? -1
										: 0;
			exponent = 0;
		}
		for (; exponent > 0; exponent /= 2) {
			if (exponent % 2 != 0)
				result = multiply(result, base);
			base = multiply(base, base);
		}
		a[i] = result;
	}
	return true;
}

/* False: a division by zero. */
static bool fold_i64(psg_op_kind kind, int64_t *restrict a, const int64_t *restrict b, int64_t n)
{
	switch (kind) {
	case PSG_OP_DIV:
		return divide(a, b, n);
	case PSG_OP_POW:
		return power(a, b, n);
		EACH(ADD, add(a[i], b[i]))
		EACH(SUB, subtract(a[i], b[i]))
		EACH(MUL, multiply(a[i], b[i]))
		EACH(MIN, a[i] < b[i] ? a[i] : b[i])
		EACH(MAX, a[i] > b[i] ? a[i] : b[i])
		EACH(EQUAL, a[i] == b[i])
		EACH(LESS, a[i] < b[i])
		EACH(LESS_EQUAL, a[i] <= b[i])
		EACH(GREATER, a[i] > b[i])
		EACH(GREATER_EQUAL, a[i] >= b[i])
	default:
		return true;
	}
}

static void load_f64(const psgi_view *in, int64_t at, int64_t step, int64_t n, double *to)
{
	if (in->dtype == PSG_I64) {
		const int64_t *x = (const int64_t *)in->data + at;

		for (int64_t i = 0; i < n; i++)
			to[i] = (double)x[i * step];
	} else {
		const float *x = (const float *)in->data + at;

		for (int64_t i = 0; i < n; i++)
			to[i] = (double)x[i * step];
	}
}

static void load_i64(const psgi_view *in, int64_t at, int64_t step, int64_t n, int64_t *to)
{
	const int64_t *x = (const int64_t *)in->data + at;

	for (int64_t i = 0; i < n; i++)
		to[i] = x[i * step];
}

/* Elements from..from+n of the walk's run.  Operand 0 is the output, operand 1 + i input i. */
static void chunk_f64(const psgi_call *call, const psgi_walk *w, int64_t from, int64_t n)
{
	const psgi_view *out = &call->out[0];
	double a[CHUNK], b[CHUNK];

	load_f64(&call->in[0], w->at[1] + from * w->run_step[1], w->run_step[1], n, a);
	for (size_t i = 1; i < call->n_in; i++) {
		load_f64(&call->in[i], w->at[i + 1] + from * w->run_step[i + 1], w->run_step[i + 1],
			 n, b);
		fold_f64(call->kind, a, b, n);
	}
	if (call->kind == PSG_OP_MEAN)
		for (int64_t i = 0; i < n; i++)
			a[i] /= (double)call->n_in;
	if (out->dtype == PSG_I64)
		for (int64_t i = 0; i < n; i++)
			((int64_t *)out->data)[w->at[0] + from + i] = psgi_to_i64(a[i]);
	else
		for (int64_t i = 0; i < n; i++)
			((float *)out->data)[w->at[0] + from + i] = (float)a[i];
}

static psg_status chunk_i64(const psgi_call *call, const psgi_walk *w, int64_t from, int64_t n,
			    psg_error *error)
{
	int64_t *out = (int64_t *)call->out[0].data + w->at[0] + from, b[CHUNK];

	load_i64(&call->in[0], w->at[1] + from * w->run_step[1], w->run_step[1], n, out);
	for (size_t i = 1; i < call->n_in; i++) {
		load_i64(&call->in[i], w->at[i + 1] + from * w->run_step[i + 1], w->run_step[i + 1],
			 n, b);
		if (!fold_i64(call->kind, out, b, n))
			return psgi_fail(error, PSG_INVALID,
					 "%s: division by zero in elements %" PRId64 " to %" PRId64,
					 psgi_call_name(call), w->at[0] + from,
					 w->at[0] + from + n - 1);
	}
	return PSG_OK;
}

/* The walk of a call whose output is dense and whose inputs are broadcast to it. */
static bool start(const psgi_call *call, psgi_walk *walk)
{
	const psg_shape *out = &call->out[0].shape;

	*walk = (psgi_walk){ .rank = out->rank, .operands = (int32_t)call->n_in + 1 };
	for (int32_t i = 0; i < out->rank; i++)
		walk->dim[i] = out->dim[i];
	psgi_strides(out, walk->step[0]);
	for (size_t i = 0; i < call->n_in; i++)
		psgi_broadcast_strides(&call->in[i].shape, out, walk->step[i + 1]);
	return psgi_walk_start(walk);
}

psg_status psgi_binary_ref(const psgi_call *call, psg_error *error)
{
	bool integers = call->in[0].dtype == PSG_I64 &&
			(call->kind != PSG_OP_POW || call->in[1].dtype == PSG_I64);
	psg_status status = PSG_OK;
	psgi_walk walk;

	if (!start(call, &walk))
		return PSG_OK;
	do {
		for (int64_t i = 0; i < walk.run && status == PSG_OK; i += CHUNK) {
			int64_t n = walk.run - i < CHUNK ? walk.run - i : CHUNK;

			if (integers)
				status = chunk_i64(call, &walk, i, n, error);
			else
				chunk_f64(call, &walk, i, n);
		}
	} while (status == PSG_OK && psgi_walk_next(&walk));
	return status;
}

psg_status psgi_select_shape(psgi_call *call, psg_error *error)
{
	psg_shape shape = { .rank = 0 };
	psg_status status = psgi_need_dtype(call, 0, PSG_I64, error);

	if (status == PSG_OK && call->in[1].dtype != call->in[2].dtype)
		status = psgi_fail(error, PSG_INVALID,
				   "where: inputs 1 and 2 have different element types");
	if (status == PSG_OK)
		status =
			psgi_broadcast(call, &call->in[0].shape, &call->in[1].shape, &shape, error);
	if (status == PSG_OK)
		status = psgi_broadcast(call, &shape, &call->in[2].shape, &shape, error);
	return status == PSG_OK ? psgi_out(call, 0, call->in[1].dtype, &shape, error) : status;
}

PSGI_PLAIN_COST(select)

#define SELECT(type)                                                                               \
	do {                                                                                       \
		const type *a = (const type *)call->in[1].data + walk.at[2];                       \
		const type *b = (const type *)call->in[2].data + walk.at[3];                       \
		type *y = (type *)call->out[0].data + walk.at[0];                                  \
		for (int64_t i = 0; i < walk.run; i++)                                             \
			y[i] = c[i * walk.run_step[1]] != 0 ? a[i * walk.run_step[2]]              \
							    : b[i * walk.run_step[3]];             \
	} while (0)

psg_status psgi_select_ref(const psgi_call *call, psg_error *error)
{
	psgi_walk walk;

	(void)error;
	if (!start(call, &walk))
		return PSG_OK;
	do {
		const int64_t *c = (const int64_t *)call->in[0].data + walk.at[1];

		if (call->out[0].dtype == PSG_I64)
			SELECT(int64_t);
		else
			SELECT(float);
	} while (psgi_walk_next(&walk));
	return PSG_OK;
}
