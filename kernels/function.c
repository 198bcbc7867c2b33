/* SPDX-License-Identifier: Apache-2.0 */
/* Any function of one element.  A module of its own: all functions together are much code. */
#define FUNCTION OUT_OF_LINE
#include "trigonometry.h"

INLINE float rare_function(int32_t function, float x, float alpha, float beta)
{
	switch (function) {
	case GPU_ELU:
		return x < 0 ? alpha * expm1_of(x) : x;
	case GPU_CELU:
		return x > 0 ? x : alpha * expm1_of(x / alpha);
	case GPU_SELU:
		return x > 0 ? beta * x : beta * alpha * expm1_of(x);
	case GPU_THRESHOLDED_RELU:
		return x <= alpha ? 0 : x;
	case GPU_SOFTPLUS:
		return (x < 0 ? 0 : x) + log1p_of(exp_of(-__builtin_fabsf(x)));
	case GPU_SOFTSIGN:
		return x / (1.0f + __builtin_fabsf(x));
	case GPU_FLOOR:
		return __builtin_floorf(x);
	case GPU_CEIL:
		return __builtin_ceilf(x);
	case GPU_ROUND:
		return __builtin_rintf(x);
	case GPU_SIGN:
		return x > 0 ? 1 : x < 0 ? -1 : x;
	case GPU_SINH:
		return sinh_of(x);
	case GPU_COSH:
		return cosh_of(x);
	case GPU_ASINH:
		return asinh_of(x);
	case GPU_ACOSH:
		return acosh_of(x);
	case GPU_ATANH:
		return atanh_of(x);
	default:
		return x;
	}
}

INLINE float any_function(int32_t function, float x, float alpha, float beta)
{
	switch (function) {
	case GPU_SIGMOID:
		return sigmoid_of(x);
	case GPU_SILU:
		return gated(x, sigmoid_of(x));
	case GPU_GELU:
		return gated(x, 0.5f * erfc_of(x * -0.707106781f));
	case GPU_ERF:
		return erf_of(x);
	case GPU_TANH:
		return tanh_of(x);
	case GPU_EXP:
		return exp_of(x);
	case GPU_LOG:
		return log_of(x);
	case GPU_SQRT:
		return __builtin_sqrtf(x);
	case GPU_RECIPROCAL:
		return 1.0f / x;
	default:
		return function < GPU_SIGMOID ? light_function(function, x, alpha, beta)
					      : rare_function(function, x, alpha, beta);
	}
}

KERNEL(unary, unary_args)
{
	if (INDEX < a.n)
		a.y[INDEX] = any_function(a.function, a.x[INDEX], a.alpha, a.beta);
}
