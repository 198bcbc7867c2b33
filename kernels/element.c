/* SPDX-License-Identifier: Apache-2.0 */
/* One element in, one out: activations that have a name, sums, a value for each channel. */
#include "functions.h"

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
