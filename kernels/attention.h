/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Attention for heads of at most SIZE: each thread has a query; keys and values
 * pass by in tiles of shared memory.  Sums are kept relative to the largest score
 * so far and scaled when it grows.
 */
#ifndef PSG_KERNELS_ATTENTION_H
#define PSG_KERNELS_ATTENTION_H

#include "functions.h"

#define QUERIES 64 /* threads a block, and keys a tile */

struct attention_shared {
	float k[QUERIES][SIZE], v[QUERIES][SIZE];
};

/* A query and what the keys so far gave. */
struct query {
	float q[SIZE], sums[SIZE], peak, total;
};

INLINE void take_key(struct query *s, const float SHARED *key, const float SHARED *value,
		     float scale)
{
	float score = 0, p;

	UNROLL for (int32_t j = 0; j < SIZE; j++) score += s->q[j] * key[j];
	score *= scale;
	if (!(score <= s->peak)) {
		p = exp_of(s->peak - score);
		s->peak = score;
		s->total *= p;
		UNROLL for (int32_t j = 0; j < SIZE; j++) s->sums[j] *= p;
	}
	/* Nothing but -infinity so far has no part unless all is that. */
	p = score == -GPU_INFINITY ? 0 : exp_of(score - s->peak);
	s->total += p;
	UNROLL for (int32_t j = 0; j < SIZE; j++) s->sums[j] += p * value[j];
}

INLINE void attend(const attention_args *a, struct attention_shared SHARED *s, const place *at)
{
	int32_t rest = block_over(BLOCK, a->tiles);
	int64_t head = block_rest(rest, a->heads), sample = block_over(rest, a->heads);
	int64_t query = (int64_t)block_rest(BLOCK, a->tiles) * QUERIES + THREAD;
	int64_t width = a->heads * a->size, valid = a->valid != NULL ? a->valid[sample] : a->steps;
	const float GLOBAL *x = a->qkv + sample * a->steps * 3 * width + head * a->size;
	float GLOBAL *y = a->y + (sample * a->steps + query) * width + head * a->size;
	struct query own = { .peak = -GPU_INFINITY };

	UNROLL for (int32_t j = 0; j < SIZE; j++) own.q[j] =
		j < a->size && query < valid ? x[query * 3 * width + j] : 0;
	for (int64_t first = 0; first < valid; first += QUERIES) {
		int64_t key = first + THREAD;
		int32_t keys = valid - first < QUERIES ? (int32_t)(valid - first) : QUERIES;
		const float GLOBAL *row = x + key * 3 * width;

		BARRIER(); /* nobody reads the keys before any more */
		UNROLL for (int32_t j = 0; j < SIZE; j++)
		{
			bool there = key < valid && j < a->size;

			s->k[THREAD][j] = there ? row[width + j] : 0;
			s->v[THREAD][j] = there ? row[2 * width + j] : 0;
		}
		BARRIER();
		ROLLED for (int32_t i = 0; i < keys; i++)
			take_key(&own, s->k[i], s->v[i], a->scale);
	}
	if (query < a->steps)
		UNROLL for (int32_t j = 0; j < SIZE; j++) if (j < a->size) y[j] =
			query < valid ? own.sums[j] / own.total : 0;
}

#endif
