/* SPDX-License-Identifier: Apache-2.0 */
/* Whole numbers of 64 bits: arithmetic that wraps, comparisons, conversions, sums. */
#include "block.h"
#include "walk.h"

INLINE int64_t wrapped_product(int64_t x, int64_t y)
{
	return (int64_t)((uint64_t)x * (uint64_t)y);
}

INLINE int64_t wrapped_sum(int64_t x, int64_t y)
{
	return (int64_t)((uint64_t)x + (uint64_t)y);
}

INLINE int64_t wrapped_difference(int64_t x, int64_t y)
{
	return (int64_t)((uint64_t)x - (uint64_t)y);
}

/* *bad: there is none, and 0 is given. */
INLINE int64_t quotient_of(int64_t x, int64_t y, bool *bad)
{
	*bad = y == 0;
	if (y == 0)
		return 0;
	/* The one quotient that does not fit wraps like the rest. */
	return y == -1 ? wrapped_difference(0, x) : x / y;
}

INLINE int64_t power_of(int64_t base, int64_t exponent, bool *bad)
{
	int64_t result = 1;

	*bad = exponent < 0 && base == 0;
	if (exponent < 0)
		return base == 1 || (base == -1 && exponent % 2 == 0) ? 1 : base == -1 ? -1 : 0;
	ROLLED for (; exponent > 0; exponent >>= 1)
	{
		if ((exponent & 1) != 0)
			result = wrapped_product(result, base);
		base = wrapped_product(base, base);
	}
	return result;
}

#define COMPARISONS                                                                                \
	case GPU_INTEGER_EQUAL:                                                                    \
		return x == y;                                                                     \
	case GPU_INTEGER_LESS:                                                                     \
		return x < y;                                                                      \
	case GPU_INTEGER_LESS_EQUAL:                                                               \
		return x <= y;                                                                     \
	case GPU_INTEGER_GREATER:                                                                  \
		return x > y;

INLINE int64_t integer_of(int32_t function, int64_t x, int64_t y, bool *bad)
{
	switch (function) {
		COMPARISONS
	case GPU_INTEGER_GREATER_EQUAL:
		return x >= y;
	case GPU_INTEGER_DIFFERENCE:
		return wrapped_difference(x, y);
	case GPU_INTEGER_PRODUCT:
		return wrapped_product(x, y);
	case GPU_INTEGER_QUOTIENT:
		return quotient_of(x, y, bad);
	case GPU_INTEGER_POWER:
		return power_of(x, y, bad);
	case GPU_INTEGER_LEAST:
		return x < y ? x : y;
	case GPU_INTEGER_MOST:
		return x > y ? x : y;
	case GPU_INTEGER_NOT:
		return x == 0;
	case GPU_INTEGER_NEG:
		return wrapped_difference(0, x);
	case GPU_INTEGER_ABS:
		return x < 0 ? wrapped_difference(0, x) : x;
	case GPU_INTEGER_SIGN:
		return (x > 0) - (x < 0);
	default:
		return wrapped_sum(x, y);
	}
}

KERNEL(integers, integer_args)
{
	bool bad = false;
	int64_t x, y;

	if (INDEX >= a.pair.n)
		return;
	walk_pair(&a.pair, INDEX, &x, &y);
	a.y[INDEX] = integer_of(a.pair.function, a.a[x], a.b[y], &bad);
	if (bad && a.bad != NULL)
		REPORT(a.bad, INDEX);
}

INLINE bool compared(int32_t function, float x, float y)
{
	switch (function) {
		COMPARISONS
	default:
		return x >= y;
	}
}

KERNEL(compare, compare_args)
{
	int64_t x, y;

	if (INDEX >= a.pair.n)
		return;
	walk_pair(&a.pair, INDEX, &x, &y);
	a.y[INDEX] = compared(a.pair.function, a.a[x], a.b[y]);
}

/* 2^63 is a float; the largest integer is none. */
INLINE int64_t nearest_integer(float v)
{
	if (is_nan(v))
		return 0;
	if (v >= 9223372036854775808.0f)
		return INT64_MAX;
	return v <= -9223372036854775808.0f ? INT64_MIN : (int64_t)v;
}

INLINE int64_t within_32_bits(int64_t v)
{
	return v < INT32_MIN ? INT32_MIN : v > INT32_MAX ? INT32_MAX : v;
}

/* The low 32 bits, sign extended, by arithmetic that C defines. */
INLINE int64_t low_32_bits(int64_t v)
{
	return (int64_t)(((uint64_t)v + 0x80000000u) & 0xffffffffu) - 0x80000000ll;
}

KERNEL(cast, cast_args)
{
	const float GLOBAL *floats = a.x;
	const int64_t GLOBAL *integers = a.x;
	float GLOBAL *to_floats = a.y;
	int64_t GLOBAL *to = a.y;

	if (INDEX >= a.n)
		return;
	switch (a.kind) {
	case GPU_CAST_TRUTH:
		to_floats[INDEX] = floats[INDEX] != 0;
		return;
	case GPU_CAST_FLOAT_TO_INTEGER:
		to[INDEX] = nearest_integer(floats[INDEX]);
		return;
	case GPU_CAST_FLOAT_TO_INT32:
		to[INDEX] = within_32_bits(nearest_integer(floats[INDEX]));
		return;
	case GPU_CAST_FLOAT_TO_BOOL:
		to[INDEX] = floats[INDEX] != 0;
		return;
	case GPU_CAST_INTEGER_TO_FLOAT:
		to_floats[INDEX] = (float)integers[INDEX];
		return;
	case GPU_CAST_INTEGER_TO_INT32:
		to[INDEX] = low_32_bits(integers[INDEX]);
		return;
	default:
		to[INDEX] = integers[INDEX] != 0;
		return;
	}
}

struct integers_shared {
	int64_t room[BLOCK_MOST];
};

INLINE int64_t folded(int32_t kind, int64_t x, int64_t y)
{
	switch (kind) {
	case GPU_REDUCE_MAX:
		return x > y ? x : y;
	case GPU_REDUCE_MIN:
		return x < y ? x : y;
	case GPU_REDUCE_PROD:
		return wrapped_product(x, y);
	default:
		return wrapped_sum(x, y);
	}
}

INLINE int64_t neutral(int32_t kind)
{
	return kind == GPU_REDUCE_MAX    ? INT64_MIN
	       : kind == GPU_REDUCE_MIN  ? INT64_MAX
	       : kind == GPU_REDUCE_PROD ? 1
					 : 0;
}

KERNEL_SHARED(reduce_integers, reduce_integers_args, struct integers_shared)
{
	struct integers_shared SHARED *s = SHARED_OF(reduce_integers);
	const int64_t GLOBAL *x =
		a.x + block_over(BLOCK, a.step) * a.n * a.step + block_rest(BLOCK, a.step);
	int64_t part = neutral(a.kind);

	for (int64_t i = THREAD; i < a.n; i += THREADS)
		part = folded(a.kind, part, x[i * a.step]);
	s->room[THREAD] = part;
	for (int32_t step = THREADS / 2; step > 0; step /= 2) {
		BARRIER();
		if (THREAD < step)
			s->room[THREAD] = folded(a.kind, s->room[THREAD], s->room[THREAD + step]);
	}
	if (THREAD == 0)
		a.y[BLOCK] = a.kind == GPU_REDUCE_MEAN ? s->room[0] / a.n : s->room[0];
}
