/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrix products: sgemm and its smaller tiles for row-major operands, gemm_any
 * for any steps (transposed ones), gemm_dots for few rows of few results.
 */
#include "gemm.h"

#define FETCH_ROWS(k) NAME(fetch_rows)(&a, a.b + tile.b, tile.n0, k, THREAD, &f)

#define NAME(x) large_##x
#define SIDE 128
#define FOURS_M 2
#define FOURS_N 2
#include "gemm_tile.h"
KERNEL_SHARED(sgemm, gemm_args, struct large_shared)
{
	struct tile tile = tile_of(&a, BLOCK, SIDE);

	PRODUCT(sgemm, large, &a, FETCH_ROWS, large_store_rows);
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
KERNEL_SHARED(sgemm_64, gemm_args, struct middle_shared)
{
	struct tile tile = tile_of(&a, BLOCK, SIDE);

	PRODUCT(sgemm_64, middle, &a, FETCH_ROWS, middle_store_rows);
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
KERNEL_SHARED(sgemm_32, gemm_args, struct small_shared)
{
	struct tile tile = tile_of(&a, BLOCK, SIDE);

	PRODUCT(sgemm_32, small, &a, FETCH_ROWS, small_store_rows);
}

/* The same with steps between neighbours in a row, element by element. */
INLINE void any_fetch(const gemm_args *g, const float GLOBAL *a, const float GLOBAL *b,
		      const struct tile *tile, int64_t k0, int32_t t, struct small_fetched *f)
{
	UNROLL for (int32_t r = 0; r < 2; r++) UNROLL for (int32_t e = 0; e < 4; e++)
	{
		int64_t m = tile->m0 + t / 4 + r * 16, ka = k0 + t % 4 * 4 + e;
		int64_t n = tile->n0 + t % 8 * 4 + e, kb = k0 + t / 8 + r * 8;

		f->a[r][e] = m < g->m && ka < g->k ? a[m * g->a_row + ka * g->a_step] : 0;
		f->b[r][e] = n < g->n && kb < g->k ? b[kb * g->b_row + n * g->b_step] : 0;
	}
}

KERNEL_SHARED(gemm_any, gemm_args, struct small_shared)
{
	struct small_shared SHARED *s = SHARED_OF(gemm_any);
	struct tile tile = tile_of(&a, BLOCK, SIDE);
	f4 sums[4] = { { 0 } };
	struct small_fetched f;

	for (int64_t k = 0; k < a.k; k += TILE_DEPTH) {
		any_fetch(&a, a.a + tile.a, a.b + tile.b, &tile, k, THREAD, &f);
		BARRIER(); /* nobody reads the step before any more */
		small_store_a(s, 0, THREAD, &f);
		small_store_rows(s, 0, THREAD, &f);
		BARRIER();
		small_step(s, 0, THREAD, sums);
	}
	small_finish(&a, &tile, s, sums, at);
}

#undef NAME
#undef SIDE
#undef FOURS_M
#undef FOURS_N

/*
 * c[m, n] = a[m, :] . b[:, n] with b turned (its columns lie in rows): 32 threads
 * a result, so that long sums of few results do not wait for memory one by one.
 */
#define DOTS 4   /* results a block */
#define LANES 32 /* threads a result */

struct dots_shared {
	float sum[DOTS][LANES];
};

KERNEL_SHARED(gemm_dots, gemm_args, struct dots_shared)
{
	struct dots_shared SHARED *s = SHARED_OF(gemm_dots);
	int32_t lane = THREAD % LANES, dot = THREAD / LANES;
	int64_t result = (int64_t)BLOCK * DOTS + dot, m = result / a.n, n = result % a.n;
	float sum = 0;

	if (m < a.m)
		for (int64_t k = lane; k < a.k; k += LANES)
			sum += a.a[m * a.a_row + k] * a.b[n * a.b_step + k];
	s->sum[dot][lane] = sum;
	for (int32_t step = LANES / 2; step > 0; step /= 2) {
		BARRIER();
		if (lane < step)
			s->sum[dot][lane] += s->sum[dot][lane + step];
	}
	if (lane == 0 && m < a.m) {
		float v = s->sum[dot][0] * a.alpha;

		if (a.bias_kind != GPU_NO_BIAS)
			v += a.bias[a.bias_kind == GPU_ROW_BIAS ? m : n];
		a.c[m * a.c_row + n] = after(&a.posts, v, m * a.c_row + n);
	}
}
