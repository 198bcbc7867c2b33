/* SPDX-License-Identifier: Apache-2.0 */
/* Pools and columns of images: one thread an output element that looks through a window. */
#include "functions.h"
#include "window.h"

/* The taps of a window along one dimension that lie on the input: first, first + step, ... */
struct span {
	int32_t first, n;
	int32_t counted; /* taps on the input or its padding */
};

/* As the reference path says, which is where averages with padding are defined. */
INLINE struct span span_of(int32_t output, int32_t stride, int32_t pad, int32_t pad_end,
			   int32_t kernel, int32_t dilation, int32_t limit)
{
	int32_t start = output * stride - pad;
	int32_t skip = start < 0 ? (-start + dilation - 1) / dilation : 0;
	int32_t padded = limit + pad_end - start, inside = limit - start;
	struct span s = { .first = start + skip * dilation };

	s.counted = padded <= 0 ? 0 : (padded + dilation - 1) / dilation;
	s.counted = s.counted < kernel ? s.counted : kernel;
	s.n = inside <= 0 ? 0 : (inside + dilation - 1) / dilation;
	s.n = (s.n < kernel ? s.n : kernel) - skip;
	s.n = s.n > 0 ? s.n : 0;
	return s;
}

KERNEL(im2col, im2col_args)
{
	const gpu_window *w = &a.window;
	struct output o = output_of(w, INDEX);
	int64_t channel = o.plane / (w->kernel_h * w->kernel_w);
	int32_t tap = (int32_t)(o.plane % (w->kernel_h * w->kernel_w));
	int32_t y = o.y * w->stride_h - w->pad_h + tap / w->kernel_w * w->dilation_h;
	int32_t x = o.x * w->stride_w - w->pad_w + tap % w->kernel_w * w->dilation_w;
	int32_t rows, columns;

	if (INDEX >= a.n)
		return;
	limits_of(w, channel / a.channels, &rows, &columns);
	a.y[INDEX] = y >= 0 && y < rows && x >= 0 && x < columns
			     ? a.x[(channel * w->in_h + y) * w->in_w + x]
			     : 0;
}

struct view {
	const float GLOBAL *x; /* the plane */
	struct span rows, columns;
};

INLINE struct view view_of(const pool_args *a, int64_t index)
{
	const gpu_window *w = &a->window;
	struct output o = output_of(w, index);
	struct view v = { .x = a->x + o.plane * w->in_h * w->in_w };
	int32_t rows, columns;

	limits_of(w, o.plane / a->channels, &rows, &columns);
	v.rows =
		span_of(o.y, w->stride_h, w->pad_h, w->pad_end_h, w->kernel_h, w->dilation_h, rows);
	v.columns = span_of(o.x, w->stride_w, w->pad_w, w->pad_end_w, w->kernel_w, w->dilation_w,
			    columns);
	return v;
}

INLINE float tap_of(const gpu_window *w, const struct view *v, int32_t i, int32_t j)
{
	return v->x[(int64_t)(v->rows.first + i * w->dilation_h) * w->in_w + v->columns.first +
		    j * w->dilation_w];
}

KERNEL(pool_max, pool_args)
{
	struct view v;
	float best = -GPU_INFINITY;

	if (INDEX >= a.n)
		return;
	v = view_of(&a, INDEX);
	for (int32_t i = 0; i < v.rows.n; i++)
		for (int32_t j = 0; j < v.columns.n; j++) {
			float x = tap_of(&a.window, &v, i, j);

			if (!(x <= best)) /* a NaN stays: nothing is above it */
				best = is_nan(best) ? best : x;
		}
	a.y[INDEX] = best;
}

KERNEL(pool_avg, pool_args)
{
	struct view v;
	float sum = 0;
	int32_t n;

	if (INDEX >= a.n)
		return;
	v = view_of(&a, INDEX);
	n = a.count_pads ? v.rows.counted * v.columns.counted : v.rows.n * v.columns.n;
	for (int32_t i = 0; i < v.rows.n; i++)
		for (int32_t j = 0; j < v.columns.n; j++)
			sum += tap_of(&a.window, &v, i, j);
	a.y[INDEX] = n > 0 ? sum / (float)n : 0;
}
