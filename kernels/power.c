/* SPDX-License-Identifier: Apache-2.0 */
/* Powers, in double: an error of a logarithm grows with the exponent.  Much code, so alone. */
#include "walk.h"

INLINE double double_of(uint64_t bits)
{
	union {
		uint64_t bits;
		double value;
	} u = { .bits = bits };

	return u.value;
}

INLINE uint64_t bits_of(double value)
{
	union {
		double value;
		uint64_t bits;
	} u = { .value = value };

	return u.bits;
}

#define ENDLESS __builtin_inf()

/* log(x) of x >= 0 that no float is too small for, so no denormal of a double. */
INLINE double log_of_double(double x)
{
	int64_t bits = (int64_t)bits_of(x);
	double e = (double)((bits >> 52) - 1023), m, s, y, p;

	if (x == 0 || x == ENDLESS)
		return x == 0 ? -ENDLESS : x;
	m = double_of(((uint64_t)bits & 0xfffffffffffffu) | 0x3ff0000000000000u);
	if (m > 1.4142135623730951) {
		m *= 0.5;
		e += 1;
	}
	/* 2 artanh(s): y <= 0.0295, and the next term is below 2e-12 of the sum. */
	s = (m - 1) / (m + 1);
	y = s * s;
	p = 1.0 / 13;
	p = p * y + 1.0 / 11;
	p = p * y + 1.0 / 9;
	p = p * y + 1.0 / 7;
	p = p * y + 1.0 / 5;
	p = p * y + 1.0 / 3;
	return e * 0.6931471805599453 + 2 * s * (p * y + 1);
}

/* e^t as far as floats go. */
INLINE double exp_of_double(double t)
{
	double n, r, p;

	if (t > 89 || t < -104)
		return t > 0 ? ENDLESS : 0; /* e^88.72 and e^-103.97 are the last floats */
	n = __builtin_rint(t * 1.4426950408889634);
	r = t - n * 0.6931471805599453;
	p = 1.0 / 40320; /* r <= 0.347: the next term is below 3e-10 */
	p = p * r + 1.0 / 5040;
	p = p * r + 1.0 / 720;
	p = p * r + 1.0 / 120;
	p = p * r + 1.0 / 24;
	p = p * r + 1.0 / 6;
	p = p * r + 0.5;
	p = p * r + 1;
	return (p * r + 1) * double_of((uint64_t)((int64_t)n + 1023) << 52);
}

/* What C's pow says of zeros, infinities and NaN. */
INLINE double power_of(double x, double y)
{
	bool whole = __builtin_floor(y) == y, odd = whole && __builtin_floor(y / 2) * 2 != y;
	bool negative = bits_of(x) >> 63 != 0;
	double m = negative ? -x : x, v;

	if (y == 0 || x == 1)
		return 1;
	if (x != x || y != y)
		return x + y;
	if (m == 1 && (y == ENDLESS || y == -ENDLESS))
		return 1;
	if (negative && m != 0 && m != ENDLESS && !whole)
		return (x - x) / (x - x);
	v = exp_of_double(y * log_of_double(m));
	return negative && odd ? -v : v;
}

KERNEL(power, power_args)
{
	int64_t x, y;

	if (INDEX >= a.pair.n)
		return;
	walk_pair(&a.pair, INDEX, &x, &y);
	a.y[INDEX] = (float)power_of(a.a[x],
				     a.integers != NULL ? (double)a.integers[y] : (double)a.b[y]);
}
