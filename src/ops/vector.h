/* SPDX-License-Identifier: Apache-2.0 */
/* Loops compiled for several vector widths, of which the best is taken when the library is loaded.
 */
#ifndef PSG_OPS_VECTOR_H
#define PSG_OPS_VECTOR_H

#include <stdint.h>
#include <string.h>

/*
 * A distribution builds for the oldest x86-64; these loops are worth more.
 * Not under sanitizers, whose run time is not up yet when the choice is made.
 */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(PSG_SANITIZED)
#define PSGI_VECTOR                                                                                \
	__attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default"),               \
		       optimize("O3", "no-math-errno", "no-trapping-math")))
#else
#define PSGI_VECTOR
#endif

#if defined(__GNUC__)
#define PSGI_INLINE static inline __attribute__((always_inline))
#else
#define PSGI_INLINE static inline
#endif

/*
 * e^x for x <= 0 in float: relative error below 2e-7 (checked in tests over all
 * of the range), 0 below the smallest normal number.  x = n ln 2 + r with
 * |r| <= ln 2 / 2, then a polynomial (Taylor to the sixth power, whose rest is
 * below 1.2e-7 there) times 2^n.
 */
PSGI_INLINE float psgi_exp_negative(float x)
{
	const float magic = 12582912.0F; /* 1.5 * 2^23: adding it rounds to an integer */
	float t, n, r, p;
	uint32_t bits;

	x = x < -87.0F ? -87.0F : x;
	t = x * 1.44269504F + magic;
	memcpy(&bits, &t, sizeof(bits)); /* n is in its low bits, of a NaN nothing in particular */
	n = t - magic;
	r = x - n * 0.693145752F; /* ln 2 in two parts, the first exact in few bits */
	r -= n * 1.42860677e-6F;
	p = 1.38888889e-3F;
	p = p * r + 8.33333333e-3F;
	p = p * r + 4.16666667e-2F;
	p = p * r + 1.66666667e-1F;
	p = p * r + 0.5F;
	p = p * r + 1.0F;
	p = p * r + 1.0F;
	bits = (bits + 127) << 23;
	memcpy(&t, &bits, sizeof(t));
	return p * t;
}

#endif
