/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Matrix product in double for the reference path: plain sums, but blocked,
 * because without oneDNN the whole library runs on them.
 */
#include "config.h"

#include "ops/family.h"

#include <stdlib.h>
#include <string.h>

/*
 * Blocks, chosen: a tile of 4 x 4 sums fits the 16 vector registers of plain
 * x86-64; a packed panel of B (128 x 64 doubles, 64 KiB) stays in the second
 * cache; ROWS rows share one packing of B.
 */
#define TILE 4
#define DEPTH 128
#define ROWS 64
#define COLUMNS PSGI_GEMM_COLUMNS

/* Four doubles; the compiler makes of it what the machine has. */
typedef double quad __attribute__((vector_size(32)));

typedef struct workspace {
	quad b[COLUMNS / TILE][DEPTH];
	quad a[DEPTH]; /* four rows of A, one quad a step of k */
	quad sums[ROWS][COLUMNS / TILE];
	double row[COLUMNS];
} workspace;

static void pack_b(const psgi_gemm *g, workspace *w, int64_t k0, int64_t kn, int64_t n0, int64_t nn)
{
	int64_t panels = (nn + TILE - 1) / TILE;

	for (int64_t k = 0; k < kn; k++) {
		g->row(g->user, k0 + k, n0, nn, w->row);
		for (int64_t n = nn; n < panels * TILE; n++)
			w->row[n] = 0;
		for (int64_t p = 0; p < panels; p++)
			memcpy(&w->b[p][k], w->row + p * TILE, sizeof(quad));
	}
}

/* Rows past the last repeat it; their sums are never stored. */
static void pack_a(const psgi_gemm *g, workspace *w, int64_t m0, int64_t k0, int64_t kn)
{
	for (int64_t r = 0; r < TILE; r++) {
		int64_t m = m0 + r < g->m ? m0 + r : g->m - 1;
		const float *a = g->a + m * g->a_row + k0 * g->a_step;

		for (int64_t k = 0; k < kn; k++)
			w->a[k][r] = a[k * g->a_step];
	}
}

PSGI_INNER_LOOP static void tile(workspace *w, int64_t row, int64_t panel, int64_t kn)
{
	const quad *a = w->a, *b = w->b[panel];
	quad s0 = w->sums[row][panel], s1 = w->sums[row + 1][panel];
	quad s2 = w->sums[row + 2][panel], s3 = w->sums[row + 3][panel];

	for (int64_t k = 0; k < kn; k++) {
		s0 += a[k][0] * b[k];
		s1 += a[k][1] * b[k];
		s2 += a[k][2] * b[k];
		s3 += a[k][3] * b[k];
	}
	w->sums[row][panel] = s0;
	w->sums[row + 1][panel] = s1;
	w->sums[row + 2][panel] = s2;
	w->sums[row + 3][panel] = s3;
}

static void store(const psgi_gemm *g, const workspace *w, int64_t m0, int64_t mn, int64_t n0,
		  int64_t nn)
{
	for (int64_t m = 0; m < mn; m++) {
		double start = g->start != NULL ? (double)g->start[m0 + m] : 0;
		float *out = g->out + (m0 + m) * g->out_row + n0;

		for (int64_t n = 0; n < nn; n++)
			out[n] = (float)(start + g->alpha * w->sums[m][n / TILE][n % TILE]);
	}
}

static void block(const psgi_gemm *g, workspace *w, int64_t m0, int64_t mn, int64_t n0, int64_t nn)
{
	memset(w->sums, 0, sizeof(w->sums));
	for (int64_t k0 = 0; k0 < g->k; k0 += DEPTH) {
		int64_t kn = g->k - k0 < DEPTH ? g->k - k0 : DEPTH;

		pack_b(g, w, k0, kn, n0, nn);
		for (int64_t m = 0; m < mn; m += TILE) {
			pack_a(g, w, m0 + m, k0, kn);
			for (int64_t panel = 0; panel * TILE < nn; panel++)
				tile(w, m, panel, kn);
		}
	}
	store(g, w, m0, mn, n0, nn);
}

psg_status psgi_gemm_run(const psgi_gemm *g, psg_error *error)
{
	workspace *w = aligned_alloc(64, (sizeof(*w) + 63) / 64 * 64);

	if (w == NULL)
		return psgi_fail(error, PSG_NOMEM, "matrix product: no memory for its workspace");
	for (int64_t n0 = 0; n0 < g->n; n0 += COLUMNS) {
		int64_t nn = g->n - n0 < COLUMNS ? g->n - n0 : COLUMNS;

		for (int64_t m0 = 0; m0 < g->m; m0 += ROWS)
			block(g, w, m0, g->m - m0 < ROWS ? g->m - m0 : ROWS, n0, nn);
	}
	free(w);
	return PSG_OK;
}
