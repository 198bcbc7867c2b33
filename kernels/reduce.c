/* SPDX-License-Identifier: Apache-2.0 */
/* Sums along axes, one block a result. */
#include "block.h"

struct reduce_shared {
	float room[BLOCK_MOST];
};

INLINE float first_of(int32_t kind)
{
	return kind == GPU_REDUCE_MAX    ? -GPU_INFINITY
	       : kind == GPU_REDUCE_MIN  ? GPU_INFINITY
	       : kind == GPU_REDUCE_PROD ? 1
					 : 0;
}

INLINE float fold(int32_t kind, float a, float b)
{
	switch (kind) {
	case GPU_REDUCE_MAX:
		return larger(a, b);
	case GPU_REDUCE_MIN:
		return is_nan(a) || a < b ? a : b;
	case GPU_REDUCE_PROD:
		return a * b;
	default:
		return a + b;
	}
}

INLINE float taken(int32_t kind, float v)
{
	return kind == GPU_REDUCE_L1                                    ? __builtin_fabsf(v)
	       : kind == GPU_REDUCE_L2 || kind == GPU_REDUCE_SUM_SQUARE ? v * v
									: v;
}

KERNEL_SHARED(reduce, reduce_args, struct reduce_shared)
{
	struct reduce_shared SHARED *s = SHARED_OF(reduce);
	const float GLOBAL *x =
		a.x + block_over(BLOCK, a.step) * a.n * a.step + block_rest(BLOCK, a.step);
	int64_t width = a.valid == NULL ? a.columns : a.valid[block_over(BLOCK, a.sample)];
	float part = first_of(a.kind);

	for (int64_t i = THREAD; i < a.n; i += THREADS)
		if (a.valid == NULL || i / a.inner % a.columns < width)
			part = fold(a.kind, part, taken(a.kind, x[i * a.step]));
	s->room[THREAD] = part;
	for (int32_t step = THREADS / 2; step > 0; step /= 2) {
		BARRIER();
		if (THREAD < step)
			s->room[THREAD] = fold(a.kind, s->room[THREAD], s->room[THREAD + step]);
	}
	if (THREAD != 0)
		return;
	part = s->room[0];
	if (a.kind == GPU_REDUCE_MEAN)
		part /= (float)(a.n / a.columns * width);
	else if (a.kind == GPU_REDUCE_L2)
		part = __builtin_sqrtf(part);
	else if (a.kind == GPU_REDUCE_LOG_SUM)
		part = log_of(part);
	a.y[BLOCK] = part;
}
