/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic with broadcasting. */
#include "functions.h"
#include "walk.h"

INLINE float binary_of(int32_t function, float x, float y)
{
	switch (function) {
	case GPU_DIFFERENCE:
		return x - y;
	case GPU_PRODUCT:
		return x * y;
	case GPU_QUOTIENT:
		return x / y;
	case GPU_LEAST:
		return is_nan(x) ? x : is_nan(y) ? y : x < y ? x : y;
	case GPU_MOST:
		return is_nan(x) ? x : is_nan(y) ? y : x > y ? x : y;
	case GPU_SLOPE:
		return x < 0 ? x * y : x;
	default:
		return x + y;
	}
}

KERNEL(binary, binary_args)
{
	int64_t x, y;

	if (INDEX >= a.pair.n)
		return;
	walk_pair(&a.pair, INDEX, &x, &y);
	a.y[INDEX] = binary_of(a.pair.function, a.a[x], a.b[y]);
}
