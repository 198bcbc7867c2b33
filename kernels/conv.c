/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolution as a matrix product whose right side is read out of the image:
 * column n is an output pixel, row k a weight's place, found in a table.
 */
#include "gemm.h"
#include "window.h"

/* The output pixel whose column a thread reads. */
struct pixel {
	const float GLOBAL *image; /* at its window's first element */
	int32_t y, x;              /* of that element */
	int32_t rows, columns;     /* that count; none for a column past the last */
};

INLINE struct pixel pixel_of(const conv_args *a, const struct tile *tile, int64_t n)
{
	const gpu_window *w = &a->window;
	struct pixel p;

	limits_of(w, tile->sample, &p.rows, &p.columns);
	if (n >= a->gemm.n)
		p.rows = 0;
	p.y = (int32_t)n / w->out_w * w->stride_h - w->pad_h;
	p.x = (int32_t)n % w->out_w * w->stride_w - w->pad_w;
	p.image = a->gemm.b + tile->b + (int64_t)p.y * w->in_w + p.x;
	return p;
}

INLINE float tap_of(const conv_args *a, const struct pixel *p, int64_t k)
{
	const gpu_tap tap = a->taps[k];
	int32_t y = p->y + tap.row, x = p->x + tap.column;

	return y >= 0 && y < p->rows && x >= 0 && x < p->columns ? p->image[tap.offset] : 0;
}

#define TILE_OF_IMAGE
#define FETCH_IMAGE(k) NAME(fetch_image)(&a, &pixel, k, THREAD, &f)

#define NAME(x) large_##x
#define SIDE 128
#define FOURS_M 2
#define FOURS_N 2
#include "gemm_tile.h"
KERNEL_SHARED(conv_128, conv_args, struct large_shared)
{
	struct tile tile = tile_of(&a.gemm, BLOCK, SIDE);
	struct pixel pixel = pixel_of(&a, &tile, tile.n0 + THREAD % SIDE);

	PRODUCT(conv_128, large, &a.gemm, FETCH_IMAGE, large_store_image);
}
#undef NAME
#undef SIDE
#undef FOURS_M
#undef FOURS_N

#define NAME(x) middle_##x
#define SIDE 64
#define FOURS_M 2
#define FOURS_N 1
#include "gemm_tile.h"
KERNEL_SHARED(conv_64, conv_args, struct middle_shared)
{
	struct tile tile = tile_of(&a.gemm, BLOCK, SIDE);
	struct pixel pixel = pixel_of(&a, &tile, tile.n0 + THREAD % SIDE);

	PRODUCT(conv_64, middle, &a.gemm, FETCH_IMAGE, middle_store_image);
}
#undef NAME
#undef SIDE
#undef FOURS_M
#undef FOURS_N

#define NAME(x) small_##x
#define SIDE 32
#define FOURS_M 1
#define FOURS_N 1
#include "gemm_tile.h"
KERNEL_SHARED(conv_32, conv_args, struct small_shared)
{
	struct tile tile = tile_of(&a.gemm, BLOCK, SIDE);
	struct pixel pixel = pixel_of(&a, &tile, tile.n0 + THREAD % SIDE);

	PRODUCT(conv_32, small, &a.gemm, FETCH_IMAGE, small_store_image);
}
