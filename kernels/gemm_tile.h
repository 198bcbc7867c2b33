/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tile of a matrix product, for the size that SIDE, FOURS_M and FOURS_N say.
 *
 * SIDE columns and rows a block, FOURS_M x FOURS_N groups of 4 x 4 sums a
 * thread.  What a step needs is fetched into registers while the step before is
 * computed from shared memory, of which there are two halves: one barrier a step.
 * Each thread fetches 8 elements of a and 8 of b a step, whatever the size.
 *
 * Code costs time when a program first runs, because the driver compiles it
 * then: what is long stands once, in loops that are not unrolled.
 */
#ifndef PSG_KERNELS_GEMM_TILE_H
#define PSG_KERNELS_GEMM_TILE_H

#include "gemm.h"
#include "window.h"

#define TILE_DEPTH 16 /* of one step: 33 KiB of shared memory for the largest tile */
#define TILE_THREADS (SIDE / (4 * FOURS_M) * (SIDE / (4 * FOURS_N)))
#define TILE_X (SIDE / (4 * FOURS_N))             /* threads along a row of c */
#define TILE_SUMS (4 * FOURS_M * FOURS_N)         /* fours a thread */
#define TILE_PASS (TILE_SUMS < 8 ? TILE_SUMS : 8) /* those whose places fit */

struct tile_shared {
	/* a is turned, so that four rows are one load; 4 more so that turning meets few conflicts
	 */
	_Alignas(16) float a[2][TILE_DEPTH][SIDE + 4];
	_Alignas(16) float b[2][TILE_DEPTH][SIDE];
};

struct fetched {
	f4 a[2], b[2];
};

/* --- b out of an image: column n is an output pixel, row k a weight's place --- */

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

/* Eight elements of one column: rows t / SIDE, t / SIDE + 2 .. of the step, because TILE_THREADS is
 * twice SIDE in every size. */
INLINE void fetch_image(const conv_args *a, const struct pixel *p, int64_t k0, int32_t t,
			struct fetched *f)
{
	UNROLL for (int32_t i = 0; i < 8; i++)
	{
		int64_t k = k0 + t / SIDE + i * (TILE_THREADS / SIDE);

		f->b[i / 4][i % 4] = k < a->gemm.k ? tap_of(a, p, k) : 0;
	}
}

INLINE void store_image(struct tile_shared SHARED *s, int32_t half, int32_t t,
			const struct fetched *f)
{
	UNROLL for (int32_t i = 0; i < 8; i++)
		s->b[half][t / SIDE + i * (TILE_THREADS / SIDE)][t % SIDE] = f->b[i / 4][i % 4];
}

/* --- b of rows, four columns at a time --- */

INLINE void fetch_rows(const gemm_args *g, const float GLOBAL *b, int64_t n0, int64_t k0, int32_t t,
		       struct fetched *f)
{
	UNROLL for (int32_t r = 0; r < 2; r++)
	{
		int64_t n = n0 + t % (SIDE / 4) * 4;
		int64_t k = k0 + t / (SIDE / 4) + r * (TILE_DEPTH / 2);

		f->b[r] = k < g->k ? four_of(b + k * g->b_row, n, g->n, g->fours_b) : (f4){ 0 };
	}
}

INLINE void store_rows(struct tile_shared SHARED *s, int32_t half, int32_t t,
		       const struct fetched *f)
{
	UNROLL for (int32_t r = 0; r < 2; r++) *
		(f4 SHARED *)&s
			->b[half][t / (SIDE / 4) + r * (TILE_DEPTH / 2)][t % (SIDE / 4) * 4] =
		f->b[r];
}

/* --- a, sums, results --- */

INLINE void fetch_a(const gemm_args *g, const float GLOBAL *a, int64_t m0, int64_t k0, int32_t t,
		    struct fetched *f)
{
	UNROLL for (int32_t r = 0; r < 2; r++)
	{
		int64_t m = m0 + t / 4 + r * (TILE_THREADS / 4), k = k0 + t % 4 * 4;

		f->a[r] = m < g->m ? four_of(a + m * g->a_row, k, g->k, g->fours_a) : (f4){ 0 };
	}
}

INLINE void store_a(struct tile_shared SHARED *s, int32_t half, int32_t t, const struct fetched *f)
{
	UNROLL for (int32_t r = 0; r < 2; r++) UNROLL for (int32_t i = 0; i < 4; i++)
		s->a[half][t % 4 * 4 + i][t / 4 + r * (TILE_THREADS / 4)] = f->a[r][i];
}

/* sums[i * FOURS_N + j] is row i (of 4 * FOURS_M) and columns of group j. */
INLINE void step(const struct tile_shared SHARED *s, int32_t half, int32_t t, f4 *sums)
{
	UNROLL for (int32_t k = 0; k < TILE_DEPTH; k++)
	{
		f4 a[FOURS_M], b[FOURS_N];

		UNROLL for (int32_t i = 0; i < FOURS_M; i++) a[i] =
			*(const f4 SHARED *)&s->a[half][k][i * (SIDE / FOURS_M) + t / TILE_X * 4];
		UNROLL for (int32_t j = 0; j < FOURS_N; j++) b[j] =
			*(const f4 SHARED *)&s->b[half][k][j * (SIDE / FOURS_N) + t % TILE_X * 4];
		UNROLL for (int32_t i = 0; i < 4 * FOURS_M; i++)
			UNROLL for (int32_t j = 0; j < FOURS_N; j++) sums[i * FOURS_N + j] +=
			a[i / 4][i % 4] * b[j];
	}
}

/* Bias, posts and storing of four results in a row. */
INLINE void put(const gemm_args *g, const struct tile *tile, int64_t m, int64_t n, f4 v)
{
	int64_t row = tile->c + m * g->c_row;

	v *= g->alpha;
	if (g->bias_kind == GPU_ROW_BIAS)
		v += g->bias[tile->bias + m];
	else if (g->bias_kind == GPU_COLUMN_BIAS)
		v += four_of(g->bias + tile->bias, n, g->n, false);
	for (int64_t p = 0; p < g->posts.n; p++) {
		const gpu_post *post = &g->posts.at[p];

		if (post->kind == GPU_POST_ADD)
			v += four_of(post->addend + row, n, g->n, g->fours_c);
		else
			UNROLL for (int32_t e = 0; e < 4; e++) v[e] = value_post(post, v[e]);
	}
	put_four(g->c + row, n, g->n, g->fours_c, v);
}

/* Registers cannot be counted through by a loop that is not unrolled, so that sums lie in shared
 * memory meanwhile, each thread's in a place of its own. */
INLINE void finish(const gemm_args *g, const struct tile *tile, struct tile_shared SHARED *s,
		   const f4 *sums, const place *at)
{
	f4 SHARED *room = (f4 SHARED *)s;

	ROLLED for (int32_t pass = 0; pass < TILE_SUMS; pass += TILE_PASS)
	{
		BARRIER(); /* nobody reads the last step any more */
		UNROLL for (int32_t i = 0; i < TILE_PASS; i++) room[i * TILE_THREADS + THREAD] =
			pass == 0 ? sums[i] : sums[TILE_SUMS - TILE_PASS + i];
		ROLLED for (int32_t i = 0; i < TILE_PASS; i++)
		{
			int32_t row = (pass + i) / FOURS_N, group = (pass + i) % FOURS_N;
			int64_t m = tile->m0 + row / 4 * (SIDE / FOURS_M) + THREAD / TILE_X * 4 +
				    row % 4;
			int64_t n = tile->n0 + group * (SIDE / FOURS_N) + THREAD % TILE_X * 4;

			if (m < g->m && n < g->n)
				put(g, tile, m, n, room[i * TILE_THREADS + THREAD]);
		}
	}
}

/* One block's part of `g`, which is that of `conv` where this is not NULL. */
INLINE void product(const gemm_args *g, const conv_args *conv, struct tile_shared SHARED *s,
		    const place *at)
{
	struct tile tile = tile_of(g, BLOCK, SIDE);
	struct pixel pixel;
	f4 sums[TILE_SUMS] = { { 0 } };
	int32_t half = 0;

	if (conv != NULL)
		pixel = pixel_of(conv, &tile, tile.n0 + THREAD % SIDE);
	/* What is fetched in the last round lies past the end of k: zeros, and not looked at. */
	ROLLED for (int64_t k = 0; k < g->k + TILE_DEPTH; k += TILE_DEPTH)
	{
		struct fetched f;

		fetch_a(g, g->a + tile.a, tile.m0, k, THREAD, &f);
		if (conv != NULL)
			fetch_image(conv, &pixel, k, THREAD, &f);
		else
			fetch_rows(g, g->b + tile.b, tile.n0, k, THREAD, &f);
		if (k > 0) {
			step(s, half, THREAD, sums);
			half = 1 - half;
		}
		store_a(s, half, THREAD, &f);
		if (conv != NULL)
			store_image(s, half, THREAD, &f);
		else
			store_rows(s, half, THREAD, &f);
		BARRIER();
	}
	finish(g, &tile, s, sums, at);
}

#endif
