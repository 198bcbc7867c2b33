/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tile of a matrix product, for one size: included once for each.
 *
 * SIDE columns and rows a block, FOURS_M x FOURS_N groups of 4 x 4 sums a
 * thread.  What a step needs is fetched into registers while the step before is
 * computed from shared memory, of which there are two halves: one barrier a step.
 * NAME(x) makes the names of this size.  Each thread fetches 8 elements of a and
 * 8 of b a step, whatever the size.
 */
#define TILE_THREADS (SIDE / (4 * FOURS_M) * (SIDE / (4 * FOURS_N)))
#define TILE_X (SIDE / (4 * FOURS_N))             /* threads along a row of c */
#define TILE_PASS (FOURS_M * FOURS_N < 2 ? 4 : 8) /* fours a thread whose places fit */

struct NAME(shared) {
	/* a is turned, so that four rows are one load; 4 more so that turning meets few conflicts
	 */
	_Alignas(16) float a[2][TILE_DEPTH][SIDE + 4];
	_Alignas(16) float b[2][TILE_DEPTH][SIDE];
};

struct NAME(fetched) {
	f4 a[2], b[2];
};

/* Rows of b, four columns at a time. */
INLINE void NAME(fetch_rows)(const gemm_args *g, const float GLOBAL *b, int64_t n0, int64_t k0,
			     int32_t t, struct NAME(fetched) * f)
{
	UNROLL for (int32_t r = 0; r < 2; r++)
	{
		int64_t n = n0 + t % (SIDE / 4) * 4;
		int64_t k = k0 + t / (SIDE / 4) + r * (TILE_DEPTH / 2);

		f->b[r] = k < g->k ? four_of(b + k * g->b_row, n, g->n, g->fours_b) : (f4){ 0 };
	}
}

INLINE void NAME(store_rows)(struct NAME(shared) SHARED *s, int32_t half, int32_t t,
			     const struct NAME(fetched) * f)
{
	UNROLL for (int32_t r = 0; r < 2; r++) *
		(f4 SHARED *)&s
			->b[half][t / (SIDE / 4) + r * (TILE_DEPTH / 2)][t % (SIDE / 4) * 4] =
		f->b[r];
}

#ifdef TILE_OF_IMAGE /* eight elements of one column of b */
/* Rows t / SIDE, t / SIDE + 2 .. of the step: TILE_THREADS is twice SIDE in every size. */
INLINE void NAME(fetch_image)(const conv_args *a, const struct pixel *p, int64_t k0, int32_t t,
			      struct NAME(fetched) * f)
{
	UNROLL for (int32_t i = 0; i < 8; i++)
	{
		int64_t k = k0 + t / SIDE + i * (TILE_THREADS / SIDE);

		f->b[i / 4][i % 4] = k < a->gemm.k ? tap_of(a, p, k) : 0;
	}
}

INLINE void NAME(store_image)(struct NAME(shared) SHARED *s, int32_t half, int32_t t,
			      const struct NAME(fetched) * f)
{
	UNROLL for (int32_t i = 0; i < 8; i++)
		s->b[half][t / SIDE + i * (TILE_THREADS / SIDE)][t % SIDE] = f->b[i / 4][i % 4];
}
#endif

INLINE void NAME(fetch_a)(const gemm_args *g, const float GLOBAL *a, int64_t m0, int64_t k0,
			  int32_t t, struct NAME(fetched) * f)
{
	UNROLL for (int32_t r = 0; r < 2; r++)
	{
		int64_t m = m0 + t / 4 + r * (TILE_THREADS / 4), k = k0 + t % 4 * 4;

		f->a[r] = m < g->m ? four_of(a + m * g->a_row, k, g->k, g->fours_a) : (f4){ 0 };
	}
}

INLINE void NAME(store_a)(struct NAME(shared) SHARED *s, int32_t half, int32_t t,
			  const struct NAME(fetched) * f)
{
	UNROLL for (int32_t r = 0; r < 2; r++) UNROLL for (int32_t i = 0; i < 4; i++)
		s->a[half][t % 4 * 4 + i][t / 4 + r * (TILE_THREADS / 4)] = f->a[r][i];
}

/* sums[i * FOURS_N + j] is row i (of 4 * FOURS_M) and columns of group j. */
INLINE void NAME(step)(const struct NAME(shared) SHARED *s, int32_t half, int32_t t, f4 *sums)
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
INLINE void NAME(put)(const gemm_args *g, const struct tile *tile, int64_t m, int64_t n, f4 v)
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

/*
 * Results are put from a loop that is not unrolled, or its many conditions would be most of the
 * kernel's code and of the time to compile it: registers cannot be counted through, so that sums
 * lie in shared memory meanwhile, each thread's in a place of its own.
 */
INLINE void NAME(finish)(const gemm_args *g, const struct tile *tile, struct NAME(shared) SHARED *s,
			 const f4 *sums, const place *at)
{
	f4 SHARED *room = (f4 SHARED *)s;

	UNROLL for (int32_t pass = 0; pass < 4 * FOURS_M * FOURS_N; pass += TILE_PASS)
	{
		BARRIER(); /* nobody reads the last step any more */
		UNROLL for (int32_t i = 0; i < TILE_PASS; i++) room[i * TILE_THREADS + THREAD] =
			sums[pass + i];
		ROLLED for (int32_t i = 0; i < TILE_PASS; i++)
		{
			int32_t row = (pass + i) / FOURS_N, group = (pass + i) % FOURS_N;
			int64_t m = tile->m0 + row / 4 * (SIDE / FOURS_M) + THREAD / TILE_X * 4 +
				    row % 4;
			int64_t n = tile->n0 + group * (SIDE / FOURS_N) + THREAD % TILE_X * 4;

			if (m < g->m && n < g->n)
				NAME(put)(g, tile, m, n, room[i * TILE_THREADS + THREAD]);
		}
	}
}

#undef TILE_PASS
#undef TILE_THREADS
#undef TILE_X
