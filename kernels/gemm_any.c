/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products of operands with any steps (transposed ones), element by element. */
#define SIDE 32
#define FOURS_M 1
#define FOURS_N 1
#include "gemm_tile.h"

INLINE void fetch_any(const gemm_args *g, const struct tile *tile, int64_t k0, int32_t t,
		      struct fetched *f)
{
	const float GLOBAL *a = g->a + tile->a;
	const float GLOBAL *b = g->b + tile->b;

	UNROLL for (int32_t r = 0; r < 2; r++) UNROLL for (int32_t e = 0; e < 4; e++)
	{
		int64_t m = tile->m0 + t / 4 + r * 16, ka = k0 + t % 4 * 4 + e;
		int64_t n = tile->n0 + t % 8 * 4 + e, kb = k0 + t / 8 + r * 8;

		f->a[r][e] = m < g->m && ka < g->k ? a[m * g->a_row + ka * g->a_step] : 0;
		f->b[r][e] = n < g->n && kb < g->k ? b[kb * g->b_row + n * g->b_step] : 0;
	}
}

KERNEL_SHARED(gemm_any, gemm_args, struct tile_shared)
{
	struct tile_shared SHARED *s = SHARED_OF(gemm_any);
	struct tile tile = tile_of(&a, BLOCK, SIDE);
	f4 sums[TILE_SUMS] = { { 0 } };
	struct fetched f;

	for (int64_t k = 0; k < a.k; k += TILE_DEPTH) {
		fetch_any(&a, &tile, k, THREAD, &f);
		BARRIER(); /* nobody reads the step before any more */
		store_a(s, 0, THREAD, &f);
		store_rows(s, 0, THREAD, &f);
		BARRIER();
		step(s, 0, THREAD, sums);
	}
	finish(&a, &tile, s, sums, at);
}
