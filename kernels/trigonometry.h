/* SPDX-License-Identifier: Apache-2.0 */
/* The trigonometric and hyperbolic functions and their inverses, as functions.h has the others. */
#ifndef PSG_KERNELS_TRIGONOMETRY_H
#define PSG_KERNELS_TRIGONOMETRY_H

#include "functions.h"

/* x - sqrt(x^2 - 1) and its like would cancel; |x| from 1e4 on leaves nothing of the 1. */
INLINE float asinh_of(float x)
{
	float m = x < 0 ? -x : x, v;

	if (m > 1e4f)
		v = log_of(m) + 0.693147181f;
	else
		v = log1p_of(m + m * m / (1.0f + __builtin_sqrtf(m * m + 1.0f)));
	return x < 0 ? -v : v;
}

INLINE float acosh_of(float x)
{
	float m = x - 1.0f;

	if (x < 1)
		return (x - x) / (x - x);
	return x > 1e4f ? log_of(x) + 0.693147181f
			: log1p_of(m + __builtin_sqrtf(2.0f * m + m * m));
}

INLINE float atanh_of(float x)
{
	float m = x < 0 ? -x : x, v;

	if (!(m < 1))
		return m == 1 ? x / 0.0f : (x - x) / (x - x);
	v = 0.5f * log1p_of(2.0f * m / (1.0f - m));
	return x < 0 ? -v : v;
}

INLINE float sinh_of(float x)
{
	float m = x < 0 ? -x : x, e = expm1_of(m < 88 ? m : m / 2), v;

	/* Past 88 e^m may overflow where sinh does not. */
	v = m < 88 ? 0.5f * (e + e / (e + 1.0f)) : 0.5f * (e + 1.0f) * (e + 1.0f);
	return x < 0 ? -v : v;
}

INLINE float cosh_of(float x)
{
	float m = x < 0 ? -x : x, e = exp_of(m < 88 ? m : m / 2);

	return m < 88 ? 0.5f * (e + 1.0f / e) : 0.5f * e * e;
}

#endif
