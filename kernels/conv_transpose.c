/* SPDX-License-Identifier: Apache-2.0 */
/* Transposed convolution, one thread an output element. */
#include "posts.h"
#include "window.h"

/* The input index that a tap carries to an output, or -1. */
INLINE int32_t source_of(int32_t output, int32_t pad, int32_t tap, int32_t stride, int32_t limit)
{
	int32_t at = output + pad - tap;

	return at < 0 || at % stride != 0 || at / stride >= limit ? -1 : at / stride;
}

KERNEL(conv_transpose, conv_transpose_args)
{
	const gpu_window *w = &a.window;
	struct output o = output_of(w, INDEX);
	int64_t sample = o.plane / a.outputs, output = o.plane % a.outputs;
	int64_t each = a.outputs / a.groups, channels = a.channels / a.groups;
	int64_t first = output / each * channels, plane = (int64_t)w->in_h * w->in_w;
	int32_t taps = w->kernel_h * w->kernel_w, rows, columns;
	float sum = 0;

	if (INDEX >= a.n)
		return;
	limits_of(w, sample, &rows, &columns);
	for (int32_t tap = 0; tap < taps; tap++) {
		int32_t y = source_of(o.y, w->pad_h, tap / w->kernel_w * w->dilation_h, w->stride_h,
				      rows);
		int32_t x = source_of(o.x, w->pad_w, tap % w->kernel_w * w->dilation_w, w->stride_w,
				      columns);
		const float GLOBAL *in =
			a.x + (sample * a.channels + first) * plane + (int64_t)y * w->in_w + x;
		const float GLOBAL *weight = a.w + (first * each + output % each) * taps + tap;

		if (y < 0 || x < 0)
			continue;
		for (int64_t c = 0; c < channels; c++)
			sum += weight[c * each * taps] * in[c * plane];
	}
	if (a.bias != NULL)
		sum += a.bias[output];
	a.y[INDEX] = after(&a.posts, sum, INDEX);
}
