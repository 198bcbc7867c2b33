/* SPDX-License-Identifier: Apache-2.0 */
/* Means and maxima of planes, one block a plane. */
#include "block.h"

struct plane_shared {
	float room[BLOCK_MOST];
};

/* The valid columns of plane `BLOCK`, each thread its part. */
INLINE float plane_part(const global_pool_args *a, const place *at, bool average, int64_t *count)
{
	int64_t columns = a->valid != NULL ? a->valid[block_over(BLOCK, a->channels)] : a->columns;
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

KERNEL_SHARED(global_avg, global_pool_args, struct plane_shared)
{
	int64_t count;
	float part = plane_part(&a, at, true, &count);
	float sum = block_sum(at, SHARED_OF(global_avg)->room, part);

	if (THREAD == 0)
		a.y[BLOCK] = sum / (float)count;
}

KERNEL_SHARED(global_max, global_pool_args, struct plane_shared)
{
	int64_t count;
	float part = plane_part(&a, at, false, &count);
	float most = block_max(at, SHARED_OF(global_max)->room, part);

	if (THREAD == 0)
		a.y[BLOCK] = most;
}
