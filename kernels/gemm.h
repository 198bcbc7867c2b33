/* SPDX-License-Identifier: Apache-2.0 */
/* What products have in common: rows read in fours, and where a tile lies. */
#ifndef PSG_KERNELS_GEMM_H
#define PSG_KERNELS_GEMM_H

#include "posts.h"

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
INLINE struct tile tile_of(const gemm_args *g, int32_t block, int32_t side)
{
	int32_t rest = block_over(block, g->tiles_m), z = block_over(rest, g->tiles_n);
	int64_t outer = block_over(z, g->inner), inner = block_rest(z, g->inner);

	return (struct tile){
		.m0 = (int64_t)block_rest(block, g->tiles_m) * side,
		.n0 = (int64_t)block_rest(rest, g->tiles_n) * side,
		.a = outer * g->a_outer + inner * g->a_inner,
		.b = outer * g->b_outer + inner * g->b_inner,
		.c = outer * g->c_outer + inner * g->c_inner,
		.bias = inner * g->bias_inner,
		.sample = outer,
	};
}

#endif
