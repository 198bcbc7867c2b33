/* SPDX-License-Identifier: Apache-2.0 */
/*
 * c[m, n] = a[m, :] . b[:, n] with b turned (its columns lie in rows): 32 threads
 * a result, so that long sums of few results do not wait for memory one by one.
 */
#include "posts.h"

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
