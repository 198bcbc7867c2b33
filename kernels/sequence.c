/* SPDX-License-Identifier: Apache-2.0 */
/* Normalisation, softmax, attention and the digest: one block a row, or a few queries. */
#include "block.h"

struct row_shared {
	float room[BLOCK_MOST];
	int64_t place[BLOCK_MOST];
};

/* Does element i of a row count? */
INLINE bool counts(int64_t i, int64_t inner, int64_t columns, int64_t valid)
{
	return valid >= columns || i / inner % columns < valid;
}

KERNEL_SHARED(softmax, softmax_args, struct row_shared)
{
	float SHARED *room = SHARED_OF(softmax)->room;
	int64_t group = BLOCK, start = group / a.step * a.len * a.step + group % a.step;
	int64_t valid = a.valid != NULL ? a.valid[group / a.sample] : a.columns;
	const float GLOBAL *x = a.x + start;
	float GLOBAL *y = a.y + start;
	float peak = -GPU_INFINITY, sum = 0, shift;

	for (int64_t i = THREAD; i < a.len; i += THREADS)
		if (counts(i, a.inner, a.columns, valid))
			peak = larger(peak, x[i * a.step]);
	peak = block_max(at, room, peak);
	for (int64_t i = THREAD; i < a.len; i += THREADS)
		if (counts(i, a.inner, a.columns, valid))
			sum += exp_of(x[i * a.step] - peak);
	sum = block_sum(at, room, sum);
	shift = a.logarithm ? log_of(sum) : 0;
	for (int64_t i = THREAD; i < a.len; i += THREADS) {
		float v = 0;

		if (counts(i, a.inner, a.columns, valid)) {
			v = x[i * a.step] - peak;
			v = a.logarithm ? v - shift : exp_of(v) / sum;
		}
		y[i * a.step] = v;
	}
}

/* Keys past the valid width have no part in a row, whichever query it is. */
KERNEL_SHARED(attn_softmax, softmax_args, struct row_shared)
{
	float SHARED *room = SHARED_OF(attn_softmax)->room;
	int64_t valid = a.valid != NULL ? a.valid[BLOCK / a.sample] : a.len;
	const float GLOBAL *x = a.x + BLOCK * a.len;
	float GLOBAL *y = a.y + BLOCK * a.len;
	float peak = -GPU_INFINITY, sum = 0;

	for (int64_t i = THREAD; i < valid; i += THREADS)
		peak = larger(peak, x[i]);
	peak = block_max(at, room, peak);
	for (int64_t i = THREAD; i < valid; i += THREADS)
		sum += exp_of(x[i] - peak);
	sum = block_sum(at, room, sum);
	for (int64_t i = THREAD; i < a.len; i += THREADS)
		y[i] = i < valid ? exp_of(x[i] - peak) / sum : 0;
}

/* Mean, then variance around it: two passes, because one would cancel. */
KERNEL_SHARED(layer_norm, norm_args, struct row_shared)
{
	float SHARED *room = SHARED_OF(layer_norm)->room;
	const float GLOBAL *x = a.x + BLOCK * a.columns;
	float GLOBAL *y = a.y + BLOCK * a.columns;
	int64_t valid = a.valid != NULL ? a.valid[BLOCK / a.sample] : a.width;
	int64_t number = a.columns / a.width * valid,
		channel = a.channels > 0 ? BLOCK % a.channels : 0;
	float sum = 0, mean, factor;

	for (int64_t i = THREAD; i < a.columns; i += THREADS)
		if (counts(i, a.inner, a.width, valid))
			sum += x[i];
	mean = block_sum(at, room, sum) / (float)number;
	sum = 0;
	for (int64_t i = THREAD; i < a.columns; i += THREADS)
		if (counts(i, a.inner, a.width, valid))
			sum += (x[i] - mean) * (x[i] - mean);
	factor = 1.0f / __builtin_sqrtf(block_sum(at, room, sum) / (float)number + a.epsilon);
	for (int64_t i = THREAD; i < a.columns; i += THREADS) {
		int64_t c = a.channels > 0 ? channel : i;
		float v = (x[i] - mean) * factor * a.gamma[c];

		y[i] = a.beta != NULL ? v + a.beta[c] : v;
	}
}

/*
 * Each thread has a query; keys and values pass by in tiles of shared memory.
 * Sums are kept relative to the largest score so far and scaled when it grows.
 */
#define QUERIES 64 /* threads a block, and keys a tile */

#define ATTENTION(name, SIZE)                                                                      \
	struct name##_shared {                                                                     \
		float k[QUERIES][SIZE], v[QUERIES][SIZE];                                          \
	};                                                                                         \
                                                                                                   \
	KERNEL_SHARED(name, attention_args, struct name##_shared)                                  \
	{                                                                                          \
		struct name##_shared SHARED *s = SHARED_OF(name);                                  \
		int64_t head = BLOCK / a.tiles % a.heads, sample = BLOCK / a.tiles / a.heads;      \
		int64_t query = BLOCK % a.tiles * QUERIES + THREAD, width = a.heads * a.size;      \
		int64_t valid = a.valid != NULL ? a.valid[sample] : a.steps;                       \
		const float GLOBAL *x = a.qkv + sample * a.steps * 3 * width + head * a.size;      \
		float q[SIZE], sums[SIZE], peak = -GPU_INFINITY, total = 0;                        \
                                                                                                   \
		UNROLL for (int32_t j = 0; j < SIZE; j++)                                          \
		{                                                                                  \
			q[j] = j < a.size && query < valid ? x[query * 3 * width + j] : 0;         \
			sums[j] = 0;                                                               \
		}                                                                                  \
		for (int64_t first = 0; first < valid; first += QUERIES) {                         \
			int64_t key = first + THREAD;                                              \
			int32_t keys =                                                             \
				valid - first < QUERIES ? (int32_t)(valid - first) : QUERIES;      \
                                                                                                   \
			BARRIER();                                                                 \
			UNROLL for (int32_t j = 0; j < SIZE; j++)                                  \
			{                                                                          \
				bool there = key < valid && j < a.size;                            \
				const float GLOBAL *row = x + key * 3 * width + j;                 \
                                                                                                   \
				s->k[THREAD][j] = there ? row[width] : 0;                          \
				s->v[THREAD][j] = there ? row[2 * width] : 0;                      \
			}                                                                          \
			BARRIER();                                                                 \
			for (int32_t i = 0; i < keys; i++) {                                       \
				float score = 0, p;                                                \
                                                                                                   \
				UNROLL for (int32_t j = 0; j < SIZE; j++) score +=                 \
					q[j] * s->k[i][j];                                         \
				score *= a.scale;                                                  \
				if (!(score <= peak)) {                                            \
					p = exp_of(peak - score);                                  \
					peak = score;                                              \
					total *= p;                                                \
					UNROLL for (int32_t j = 0; j < SIZE; j++) sums[j] *= p;    \
				}                                                                  \
				/* Nothing but -infinity so far has no part unless all is that. */ \
				p = score == -GPU_INFINITY ? 0 : exp_of(score - peak);             \
				total += p;                                                        \
				UNROLL for (int32_t j = 0; j < SIZE; j++) sums[j] +=               \
					p * s->v[i][j];                                            \
			}                                                                          \
		}                                                                                  \
		if (query < a.steps)                                                               \
			UNROLL for (int32_t j = 0; j < SIZE; j++) if (j < a.size)                  \
				a.y[(sample * a.steps + query) * width + head * a.size + j] =      \
				query < valid ? sums[j] / total : 0;                               \
	}

ATTENTION(attention_16, 16)
ATTENTION(attention_32, 32)
ATTENTION(attention_64, 64)

/* The first of the largest; classes are counted in floats, which are exact up to 2^24. */
KERNEL_SHARED(ctc_digest, digest_args, struct row_shared)
{
	struct row_shared SHARED *s = SHARED_OF(ctc_digest);
	int64_t step = BLOCK % a.steps, best = 0;
	int64_t valid = a.valid != NULL ? a.valid[BLOCK / a.steps] : a.steps;
	const float GLOBAL *x = a.x + BLOCK * a.classes;
	float GLOBAL *y = a.y + BLOCK * (int64_t)2;
	float peak = -GPU_INFINITY, sum = 0;

	if (step >= valid) {
		if (THREAD < 2)
			y[THREAD] = 0;
		return;
	}
	for (int64_t i = THREAD; i < a.classes; i += THREADS)
		if (x[i] > peak) {
			peak = x[i];
			best = i;
		}
	s->room[THREAD] = peak;
	s->place[THREAD] = best;
	for (int32_t half = THREADS / 2; half > 0; half /= 2) {
		BARRIER();
		if (THREAD < half && (s->room[THREAD + half] > s->room[THREAD] ||
				      (s->room[THREAD + half] == s->room[THREAD] &&
				       s->place[THREAD + half] < s->place[THREAD]))) {
			s->room[THREAD] = s->room[THREAD + half];
			s->place[THREAD] = s->place[THREAD + half];
		}
	}
	BARRIER();
	best = is_nan(x[0]) ? 0 : s->place[0]; /* nothing is above a NaN */
	peak = x[best];
	for (int64_t i = THREAD; i < a.classes; i += THREADS)
		sum += exp_of(x[i] - peak);
	sum = block_sum(at, s->room, sum);
	if (THREAD == 0) {
		y[0] = (float)best;
		y[1] = 1.0f / sum;
	}
}
