/* SPDX-License-Identifier: Apache-2.0 */
/* What the sizes of gemm_tile.h have in common: rows read in fours, and where a tile lies. */
#ifndef PSG_KERNELS_GEMM_H
#define PSG_KERNELS_GEMM_H

#include "functions.h"

#define TILE_DEPTH 16 /* of one step: 33 KiB of shared memory for the largest tile */

/* Elements i..i+3 of a row of n, zeros past its end. */
INLINE f4 four_of(const float GLOBAL *row, int64_t i, int64_t n, bool aligned)
{
	f4 v = { 0 };

	if (aligned && i + 3 < n)
		return *(const f4 GLOBAL *)(row + i);
	UNROLL for (int32_t e = 0; e < 4; e++) if (i + e < n) v[e] = row[i + e];
	return v;
}

INLINE void put_four(float GLOBAL *row, int64_t i, int64_t n, bool aligned, f4 v)
{
	if (aligned && i + 3 < n) {
		*(f4 GLOBAL *)(row + i) = v;
		return;
	}
	UNROLL for (int32_t e = 0; e < 4; e++) if (i + e < n) row[i + e] = v[e];
}

/* One block's tile: its first row and column, and where its matrices start. */
struct tile {
	int64_t m0, n0, a, b, c, bias, sample;
};

/* Tiles that share columns of b are neighbours: b is the larger side here, and so read once. */
INLINE struct tile tile_of(const gemm_args *g, int64_t block, int32_t side)
{
	int64_t rest = block / g->tiles_m, z = rest / g->tiles_n;
	int64_t outer = z / g->inner, inner = z % g->inner;

	return (struct tile){
		.m0 = block % g->tiles_m * side,
		.n0 = rest % g->tiles_n * side,
		.a = outer * g->a_outer + inner * g->a_inner,
		.b = outer * g->b_outer + inner * g->b_inner,
		.c = outer * g->c_outer + inner * g->c_inner,
		.bias = inner * g->bias_inner,
		.sample = outer,
	};
}

/*
 * The rest of a kernel that has its `tile`: `g` its gemm_args; FETCH(k) gets step k of b into f,
 * and `store_b` puts it into shared memory.
 */
#define PRODUCT(kernel, size, g, FETCH, store_b)                                                   \
	struct size##_shared SHARED *s = SHARED_OF(kernel);                                        \
	f4 sums[4 * FOURS_M * FOURS_N] = { { 0 } };                                                \
	struct size##_fetched f;                                                                   \
	int32_t half = 0;                                                                          \
                                                                                                   \
	size##_fetch_a(g, (g)->a + tile.a, tile.m0, 0, THREAD, &f);                                \
	FETCH(0);                                                                                  \
	size##_store_a(s, 0, THREAD, &f);                                                          \
	store_b(s, 0, THREAD, &f);                                                                 \
	BARRIER();                                                                                 \
	/* What is fetched in the last round lies past the end of k: zeros, and not looked at. */  \
	ROLLED for (int64_t k = TILE_DEPTH; k < (g)->k + TILE_DEPTH; k += TILE_DEPTH)              \
	{                                                                                          \
		size##_fetch_a(g, (g)->a + tile.a, tile.m0, k, THREAD, &f);                        \
		FETCH(k);                                                                          \
		size##_step(s, half, THREAD, sums);                                                \
		half = 1 - half;                                                                   \
		size##_store_a(s, half, THREAD, &f);                                               \
		store_b(s, half, THREAD, &f);                                                      \
		BARRIER();                                                                         \
	}                                                                                          \
	size##_finish(g, &tile, s, sums, at)

#endif
