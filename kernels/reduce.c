/* SPDX-License-Identifier: Apache-2.0 */
/* One block a result: means of planes, sums along axes. */
#include "block.h"

struct reduce_shared {
	float room[BLOCK_MOST];
};

/* The valid columns of plane `BLOCK`, each thread its part. */
INLINE float plane_part(const global_pool_args *a, const place *at, bool average, int64_t *count)
{
	int64_t columns = a->valid != NULL ? a->valid[BLOCK / a->channels] : a->columns;
	const float GLOBAL *x = a->x + BLOCK * a->outer * a->columns * a->inner;
	int64_t row = columns * a->inner;
	float part = average ? 0 : -GPU_INFINITY;

	*count = a->outer * row;
	for (int64_t i = THREAD; i < *count; i += THREADS) {
		/* The counts of a plane fit 32 bits in all but absurd images. */
		int64_t r = *count <= UINT32_MAX ? (uint32_t)i / (uint32_t)row : i / row;
		float v = x[r * a->columns * a->inner + (i - r * row)];

		part = average ? part + v : larger(part, v);
	}
	(void)at;
	return part;
}

KERNEL_SHARED(global_avg, global_pool_args, struct reduce_shared)
{
	int64_t count;
	float part = plane_part(&a, at, true, &count);
	float sum = block_sum(at, SHARED_OF(global_avg)->room, part);

	if (THREAD == 0)
		a.y[BLOCK] = sum / (float)count;
}

KERNEL_SHARED(global_max, global_pool_args, struct reduce_shared)
{
	int64_t count;
	float part = plane_part(&a, at, false, &count);
	float most = block_max(at, SHARED_OF(global_max)->room, part);

	if (THREAD == 0)
		a.y[BLOCK] = most;
}

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
	const float GLOBAL *x = a.x + BLOCK / a.step * a.n * a.step + BLOCK % a.step;
	float part = first_of(a.kind);

	for (int64_t i = THREAD; i < a.n; i += THREADS)
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
		part /= (float)a.n;
	else if (a.kind == GPU_REDUCE_L2)
		part = __builtin_sqrtf(part);
	else if (a.kind == GPU_REDUCE_LOG_SUM)
		part = log_of(part);
	a.y[BLOCK] = part;
}
