/* SPDX-License-Identifier: Apache-2.0 */
/* Depthwise convolution, one thread an output element. */
#include "posts.h"
#include "window.h"

/* The channel's plane and weights, the window's first element, and what counts of the plane. */
struct glimpse {
	const float GLOBAL *x;
	const float GLOBAL *taps;
	int32_t y, c, rows, columns;
};

INLINE float product_at(const gpu_window *w, const struct glimpse *g, int32_t i, int32_t j,
			int32_t kernel_w)
{
	int32_t y = g->y + i * w->dilation_h, c = g->c + j * w->dilation_w;

	return y >= 0 && y < g->rows && c >= 0 && c < g->columns
		       ? g->taps[i * kernel_w + j] * g->x[(int64_t)y * w->in_w + c]
		       : 0;
}

/* With a size that the compiler knows: all loads are under way at once. */
INLINE float square_sum(const gpu_window *w, const struct glimpse *g, int32_t size)
{
	float sum = 0;

	UNROLL for (int32_t i = 0; i < size; i++) UNROLL for (int32_t j = 0; j < size; j++) sum +=
		product_at(w, g, i, j, size);
	return sum;
}

INLINE float any_sum(const gpu_window *w, const struct glimpse *g)
{
	float sum = 0;

	for (int32_t i = 0; i < w->kernel_h; i++)
		for (int32_t j = 0; j < w->kernel_w; j++)
			sum += product_at(w, g, i, j, w->kernel_w);
	return sum;
}

KERNEL(depthwise, depthwise_args)
{
	const gpu_window *w = &a.window;
	struct output o = output_of(w, INDEX);
	int64_t sample = o.plane / a.channels, channel = o.plane % a.channels;
	int64_t plane = sample * (a.channels / a.multiplier) + channel / a.multiplier;
	struct glimpse g = { .x = a.x + plane * w->in_h * w->in_w,
			     .taps = a.w + channel * w->kernel_h * w->kernel_w,
			     .y = o.y * w->stride_h - w->pad_h,
			     .c = o.x * w->stride_w - w->pad_w };
	float sum;

	if (INDEX >= a.n)
		return;
	limits_of(w, sample, &g.rows, &g.columns);
	if (w->kernel_h == 3 && w->kernel_w == 3)
		sum = square_sum(w, &g, 3);
	else if (w->kernel_h == 5 && w->kernel_w == 5)
		sum = square_sum(w, &g, 5);
	else
		sum = any_sum(w, &g);
	if (a.bias != NULL)
		sum += a.bias[channel];
	a.y[INDEX] = after(&a.posts, sum, INDEX);
}
