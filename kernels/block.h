/* SPDX-License-Identifier: Apache-2.0 */
/* Sums and maxima over the threads of a block, whose number is a power of two. */
#ifndef PSG_KERNELS_BLOCK_H
#define PSG_KERNELS_BLOCK_H

#include "functions.h"

#define BLOCK_MOST 256 /* threads */

/* All threads get the result; `room` is free again for the next call. */
INLINE float block_sum(const place *at, float SHARED *room, float v)
{
	BARRIER(); /* the result before was read */
	room[THREAD] = v;
	for (int32_t step = THREADS / 2; step > 0; step /= 2) {
		BARRIER();
		if (THREAD < step)
			room[THREAD] += room[THREAD + step];
	}
	BARRIER();
	return room[0];
}

/* The largest; a NaN is above everything. */
INLINE float larger(float a, float b)
{
	return is_nan(a) || a > b ? a : b;
}

INLINE float block_max(const place *at, float SHARED *room, float v)
{
	BARRIER();
	room[THREAD] = v;
	for (int32_t step = THREADS / 2; step > 0; step /= 2) {
		BARRIER();
		if (THREAD < step)
			room[THREAD] = larger(room[THREAD], room[THREAD + step]);
	}
	BARRIER();
	return room[0];
}

#endif
