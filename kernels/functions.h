/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Functions of one element in single precision, the same on the device and on
 * the host.  Relative errors are a few 1e-7 (1e-5 where a large argument is
 * rounded before an exponential).  NaN stays NaN; infinities give what C's functions do.
 * Polynomials interpolate in Chebyshev points of the interval they name.
 */
#ifndef PSG_KERNELS_FUNCTIONS_H
#define PSG_KERNELS_FUNCTIONS_H

#include "kernel.h"

/* How the longer ones are compiled: a file that calls them in many places may say OUT_OF_LINE. */
#ifndef FUNCTION
#define FUNCTION INLINE
#endif

INLINE float from_bits(uint32_t bits)
{
	union {
		uint32_t bits;
		float value;
	} u = { .bits = bits };

	return u.value;
}

INLINE uint32_t to_bits(float value)
{
	union {
		float value;
		uint32_t bits;
	} u = { .value = value };

	return u.bits;
}

INLINE bool is_nan(float v)
{
	return v != v;
}

#define GPU_INFINITY __builtin_inff()

/* The nearest integer, halves to even, of |v| < 2^22: adding 1.5 * 2^23 leaves no room for the
 * fraction. */
INLINE float nearest(float v)
{
	const float shift = 12582912.0f;

	return (v + shift) - shift;
}

/* 2^n of -252..254, in two factors of which each is a normal number. */
INLINE float times_power(float v, int32_t n)
{
	int32_t half = n / 2;

	return v * from_bits((uint32_t)(half + 127) << 23) *
	       from_bits((uint32_t)(n - half + 127) << 23);
}

/* e^r - 1 for |r| <= 0.35: Taylor's sum to r^7 / 7!, the next term is below 6e-9. */
INLINE float small_expm1(float r)
{
	float p = 1.0f / 5040;

	p = p * r + 1.0f / 720;
	p = p * r + 1.0f / 120;
	p = p * r + 1.0f / 24;
	p = p * r + 1.0f / 6;
	p = p * r + 0.5f;
	return p * r * r + r;
}

/* x = n ln 2 + r; ln 2 in two parts, the first with 15 bits so that n times it is exact. */
INLINE float split_ln2(float x, float *r)
{
	float n = nearest(x * 1.44269504f);

	*r = (x - n * 0.693145752f) - n * 1.42860677e-6f;
	return n;
}

FUNCTION float exp_of(float x)
{
	float n, r;

	if (!(x < 89.0f))
		return is_nan(x) ? x : GPU_INFINITY; /* e^88.72 is the largest float */
	if (x < -104.0f)
		return 0; /* e^-103.97 is half the least denormal */
	n = split_ln2(x, &r);
	return times_power(1.0f + small_expm1(r), (int32_t)n);
}

FUNCTION float expm1_of(float x)
{
	return x < 0.35f && x > -0.35f ? small_expm1(x) : exp_of(x) - 1.0f;
}

/* log(1 + f) / f for 1 + f in [sqrt 1/2, sqrt 2] */
INLINE float log_series(float f)
{
	float p = -0.0745118621949309f;

	p = p * f + 0.12806610429803977f;
	p = p * f - 0.13266031361172143f;
	p = p * f + 0.14199650098750746f;
	p = p * f - 0.16608369414186344f;
	p = p * f + 0.2000093944033374f;
	p = p * f - 0.2500157909915172f;
	p = p * f + 0.33333345349807997f;
	p = p * f - 0.49999988496143033f;
	return p * f + 1.0f;
}

FUNCTION float log_of(float x)
{
	int32_t e = 0, bits;
	float m;

	if (!(x > 0))
		return x == 0 ? -GPU_INFINITY : (x - x) / (x - x);
	if (x == GPU_INFINITY)
		return x;
	if (x < 1.17549435e-38f) { /* a denormal */
		x *= 8388608.0f;
		e = -23;
	}
	bits = (int32_t)to_bits(x);
	e += (bits >> 23) - 127;
	m = from_bits(((uint32_t)bits & 0x7fffffu) | 0x3f800000u);
	if (m > 1.41421356f) {
		m *= 0.5f;
		e++;
	}
	return (float)e * 0.693145752f + ((float)e * 1.42860677e-6f + (m - 1) * log_series(m - 1));
}

/* log(1 + x) of x > -1: what rounding 1 + x loses is put back as a factor. */
FUNCTION float log1p_of(float x)
{
	float u = 1.0f + x, d = u - 1.0f;

	if (d == 0 || x == GPU_INFINITY)
		return x;
	return log_of(u) * (x / d);
}

/* erf(x) / x in y = x^2 of 0..1 */
INLINE float small_erf(float x)
{
	float y = x * x, p = 7.875875050430342e-05f;

	p = p * y - 0.0008016864283299621f;
	p = p * y + 0.0051890874229765785f;
	p = p * y - 0.02685421201037881f;
	p = p * y + 0.11283594715154313f;
	p = p * y - 0.3761262666671985f;
	return x * (p * y + 1.1283791658483509f);
}

/* e^(z^2) erfc(z) / t in t = 1 / (1 + z / 2) of 0..1, so for every z >= 0 */
FUNCTION float large_erfc(float z)
{
	float t = 1.0f / (1.0f + 0.5f * z), p = 0.04535133662083337f;
	float high = from_bits(to_bits(z) & 0xfffff000u); /* so that its square is exact */

	p = p * t - 0.2455800362600822f;
	p = p * t + 0.5168995400665604f;
	p = p * t - 0.4824747604684832f;
	p = p * t + 0.15188517959333483f;
	p = p * t - 0.0679582752967289f;
	p = p * t + 0.09582719938828953f;
	p = p * t + 0.1749485963162027f;
	p = p * t + 0.2469135612177304f;
	p = p * t + 0.28209286733463235f;
	p = p * t + 0.282094799651273f;
	return t * p * exp_of(-high * high) * exp_of((high - z) * (high + z));
}

FUNCTION float erf_of(float x)
{
	if (is_nan(x))
		return x;
	if (x < 1 && x > -1)
		return small_erf(x);
	if (x > 4 || x < -4)
		return x > 0 ? 1.0f : -1.0f;
	return x > 0 ? 1.0f - large_erfc(x) : large_erfc(-x) - 1.0f;
}

FUNCTION float erfc_of(float x)
{
	if (is_nan(x))
		return x;
	if (x > 0.5f)
		return x > 11 ? 0 : large_erfc(x);
	return 1.0f - erf_of(x);
}

/* Without overflow, and so that the least results keep their digits. */
FUNCTION float sigmoid_of(float x)
{
	float e = exp_of(x < 0 ? x : -x);

	return (x < 0 ? e : 1.0f) / (1.0f + e);
}

FUNCTION float tanh_of(float x)
{
	float e = expm1_of(x < 0 ? 2 * x : -2 * x), t = -e / (2.0f + e);

	return x < 0 ? -t : t;
}

INLINE float clamp_of(float v, float low, float high)
{
	return v < low ? low : v > high ? high : v;
}

/* x times a gate, except that a closed gate wins over an infinite x. */
INLINE float gated(float x, float gate)
{
	return gate == 0 ? 0 : x * gate;
}

/* The functions without an exponential, small enough to be written out where they are used. */
INLINE float light_function(int32_t function, float x, float alpha, float beta)
{
	switch (function) {
	case GPU_RELU:
		return x < 0 ? 0 : x;
	case GPU_CLIP:
		return clamp_of(x, alpha, beta);
	case GPU_AFFINE:
		return alpha * x + beta;
	case GPU_HARDSIGMOID:
		return clamp_of(alpha * x + beta, 0, 1);
	case GPU_SE_GATE:
		return clamp_of(x / 5 + 0.5f, 0, 1);
	case GPU_HARDSWISH:
		return gated(x, clamp_of(x * (1.0f / 6) + 0.5f, 0, 1));
	case GPU_LEAKY_RELU:
		return x < 0 ? alpha * x : x;
	case GPU_ABS:
		return __builtin_fabsf(x);
	case GPU_NEG:
		return -x;
	default:
		return x;
	}
}

#endif
