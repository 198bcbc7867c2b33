/* SPDX-License-Identifier: Apache-2.0 */
/* Normalisation, softmax and the digest: one block a row. */
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
	int64_t start = block_over(BLOCK, a.step) * a.len * a.step + block_rest(BLOCK, a.step);
	int64_t valid = a.valid != NULL ? a.valid[block_over(BLOCK, a.sample)] : a.columns;
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
	int64_t valid = a.valid != NULL ? a.valid[block_over(BLOCK, a.sample)] : a.len;
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
	int64_t valid = a.valid != NULL ? a.valid[block_over(BLOCK, a.sample)] : a.width;
	int64_t number = a.columns / a.width * valid,
		channel = a.channels > 0 ? block_rest(BLOCK, a.channels) : 0;
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

/* The first of the largest; classes are counted in floats, which are exact up to 2^24. */
KERNEL_SHARED(ctc_digest, digest_args, struct row_shared)
{
	struct row_shared SHARED *s = SHARED_OF(ctc_digest);
	int64_t step = block_rest(BLOCK, a.steps), best = 0;
	int64_t valid = a.valid != NULL ? a.valid[block_over(BLOCK, a.steps)] : a.steps;
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
