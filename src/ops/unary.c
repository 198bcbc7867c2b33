/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of one element.  Computed in double; a NaN stays one. */
#include "config.h"

#include "ops/family.h"

#include <math.h>
#include <string.h>

#define SQRT_HALF 0.70710678118654752440

static bool takes_integers(psg_op_kind kind)
{
	return kind == PSG_OP_IDENTITY || kind == PSG_OP_NEG || kind == PSG_OP_ABS ||
	       kind == PSG_OP_SIGN;
}

psg_status psgi_unary_shape(psgi_call *call, psg_error *error)
{
	psg_status status = PSG_OK;

	if (!takes_integers(call->kind))
		status = psgi_need_dtype(call, 0, PSG_F32, error);
	if (status == PSG_OK && call->kind == PSG_OP_CELU && call->params->unary.alpha == 0)
		status = psgi_fail(error, PSG_INVALID, "celu: alpha is 0, and x is divided by it");
	if (status != PSG_OK)
		return status;
	return psgi_out(call, 0, call->in[0].dtype, &call->in[0].shape, error);
}

PSGI_PLAIN_COST(unary)

static double clamp(double v, double low, double high)
{
	return v < low ? low : v > high ? high : v;
}

static double sigmoid(double v)
{
	return 1 / (1 + exp(-v));
}

static double selu(double v, double a, double gamma)
{
	return v > 0 ? gamma * v : gamma * a * expm1(v);
}

static double celu(double v, double a)
{
	return v > 0 ? v : a * expm1(v / a);
}

/* Without overflow: log(1 + e^v) = max(v, 0) + log(1 + e^-|v|). */
static double softplus(double v)
{
	return (v < 0 ? 0 : v) + log1p(exp(-fabs(v)));
}

/* x times a gate, except that a closed gate wins over an infinite x. */
static double gated(double v, double gate)
{
	return gate == 0 ? 0 : v * gate;
}

static double sign(double v)
{
	return v > 0 ? 1 : v < 0 ? -1 : v;
}

#define EACH(KIND, expression)                                                                     \
	case PSG_OP_##KIND:                                                                        \
		for (int64_t i = 0; i < n; i++) {                                                  \
			const double v = x[i];                                                     \
			y[i] = (float)(expression);                                                \
		}                                                                                  \
		return;

static void rectifiers(psg_op_kind kind, double a, double b, const float *x, float *y, int64_t n)
{
	switch (kind) {
		EACH(RELU, v < 0 ? 0 : v)
		EACH(LEAKY_RELU, v < 0 ? a * v : v)
		EACH(ELU, v < 0 ? a * expm1(v) : v)
		EACH(CELU, celu(v, a))
		EACH(SELU, selu(v, a, b))
		EACH(THRESHOLDED_RELU, v <= a ? 0 : v)
		EACH(CLIP, clamp(v, a, b))
		EACH(AFFINE, a * v + b)
		EACH(SIGMOID, sigmoid(v))
		EACH(HARDSIGMOID, clamp(a * v + b, 0, 1))
		EACH(SE_GATE, clamp(v / 5 + 0.5, 0, 1))
		EACH(HARDSWISH, gated(v, clamp(v / 6 + 0.5, 0, 1)))
		EACH(SILU, gated(v, sigmoid(v)))
		EACH(GELU, gated(v, 0.5 * erfc(-v * SQRT_HALF)))
		EACH(ERF, erf(v))
		EACH(SOFTPLUS, softplus(v))
		EACH(SOFTSIGN, v / (1 + fabs(v)))
		EACH(TANH, tanh(v))
	default:
		return;
	}
}

static void functions(psg_op_kind kind, const float *x, float *y, int64_t n)
{
	switch (kind) {
		EACH(EXP, exp(v))
		EACH(LOG, log(v))
		EACH(SQRT, sqrt(v))
		EACH(ABS, fabs(v))
		EACH(NEG, -v)
		EACH(RECIPROCAL, 1 / v)
		EACH(FLOOR, floor(v))
		EACH(CEIL, ceil(v))
		EACH(ROUND, rint(v)) /* halves to even in the default rounding mode */
		EACH(SIGN, sign(v))
		EACH(SIN, sin(v))
		EACH(COS, cos(v))
		EACH(TAN, tan(v))
		EACH(ASIN, asin(v))
		EACH(ACOS, acos(v))
		EACH(ATAN, atan(v))
		EACH(SINH, sinh(v))
		EACH(COSH, cosh(v))
		EACH(ASINH, asinh(v))
		EACH(ACOSH, acosh(v))
		EACH(ATANH, atanh(v))
	default:
		return;
	}
}

/* Negation wraps as two's complement does, so that the least integer is not undefined. */
static int64_t negated(int64_t v)
{
	return (int64_t)(0 - (uint64_t)v);
}

static void integers(psg_op_kind kind, const int64_t *x, int64_t *y, int64_t n)
{
	for (int64_t i = 0; i < n; i++) {
		int64_t v = x[i];

		if (kind == PSG_OP_NEG || (kind == PSG_OP_ABS && v < 0))
			v = negated(v);
		else if (kind == PSG_OP_SIGN)
			v = (v > 0) - (v < 0);
		y[i] = v;
	}
}

psg_status psgi_unary_ref(const psgi_call *call, psg_error *error)
{
	const psgi_view *in = &call->in[0];
	double a = (double)call->params->unary.alpha, b = (double)call->params->unary.beta;
	int64_t n = psg_shape_elements(&in->shape);
	void *out = call->out[0].data;

	(void)error;
	if (call->kind == PSG_OP_HARDSIGMOID && a == 0 && b == 0) {
		a = 1.0 / 6;
		b = 0.5;
	}
	if (call->kind == PSG_OP_IDENTITY) {
		if (n > 0)
			memcpy(out, in->data, (size_t)n * psg_dtype_size(in->dtype));
	} else if (in->dtype == PSG_I64) {
		integers(call->kind, in->data, out, n);
	} else {
		rectifiers(call->kind, a, b, in->data, out, n);
		functions(call->kind, in->data, out, n);
	}
	return PSG_OK;
}
