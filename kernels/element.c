/* SPDX-License-Identifier: Apache-2.0 */
/* One element in, one out: activations, sums, a value for each channel. */
#include "functions.h"
#include "walk.h"

KERNEL(unary, unary_args)
{
	if (INDEX < a.n)
		a.y[INDEX] = any_function(a.function, a.x[INDEX], a.alpha, a.beta);
}

#define ELEMENT(name, expression)                                                                  \
	KERNEL(name, unary_args)                                                                   \
	{                                                                                          \
		if (INDEX < a.n) {                                                                 \
			float x = a.x[INDEX];                                                      \
                                                                                                   \
			a.y[INDEX] = (expression);                                                 \
		}                                                                                  \
	}

ELEMENT(relu, light_function(GPU_RELU, x, 0, 0))
ELEMENT(hardsigmoid, light_function(GPU_HARDSIGMOID, x, a.alpha, a.beta))
ELEMENT(se_gate, light_function(GPU_SE_GATE, x, 0, 0))
ELEMENT(sigmoid, sigmoid_of(x))
ELEMENT(silu, gated(x, sigmoid_of(x)))
ELEMENT(gelu, gated(x, 0.5f * erfc_of(x * -0.707106781f)))

KERNEL(add2, add2_args)
{
	if (INDEX < a.n)
		a.y[INDEX] = a.a[INDEX] + a.b[INDEX];
}

KERNEL(add_bias, channel_args)
{
	int64_t i = INDEX;

	if (i < a.planes * a.size)
		a.y[i] = a.x[i] + a.each[i / a.size % a.channels];
}

KERNEL(scale_ch, channel_args)
{
	int64_t i = INDEX;

	if (i < a.planes * a.size)
		a.y[i] = a.x[i] * a.each[i / a.size % a.channels];
}

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
	int64_t rest = INDEX, x = 0, y = 0;

	if (INDEX >= a.n)
		return;
	for (int32_t d = a.rank - 1; d >= 0; d--) {
		int64_t i = walk_index(rest, a.dim[d], &rest);

		x += i * a.a_step[d];
		y += i * a.b_step[d];
	}
	a.y[INDEX] = binary_of(a.function, a.a[x], a.b[y]);
}

KERNEL(mix, mix_args)
{
	int64_t row, plane, x = walk_index(INDEX, a.width, &row),
			    y = walk_index(row, a.height, &plane);
	int64_t sample = plane / a.channels, c = plane % a.channels;
	float v;

	if (INDEX >= a.samples * a.channels * a.height * a.width)
		return;
	v = a.a[(plane * (a.height / a.up_a) + y / a.up_a) * (a.width / a.up_a) + x / a.up_a];
	v *= a.gate != NULL ? a.base + a.gate[plane] : a.base;
	if (a.b != NULL)
		v += a.b[(plane * (a.height / a.up_b) + y / a.up_b) * (a.width / a.up_b) +
			 x / a.up_b];
	a.y[((sample * a.all + a.offset + c) * a.height + y) * a.width + x] = v;
}
