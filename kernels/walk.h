/* SPDX-License-Identifier: Apache-2.0 */
/* From an element's number to its place in each dimension. */
#ifndef PSG_KERNELS_WALK_H
#define PSG_KERNELS_WALK_H

#include "kernel.h"

/* i % dim, with i / dim in *rest.  The compiler asks whether both fit 32 bits, in which divisions
 * are several times cheaper. */
INLINE int64_t walk_index(int64_t i, int64_t dim, int64_t *rest)
{
	*rest = i / dim;
	return i - *rest * dim;
}

/* Where element `index` of a pair's result finds its operands. */
INLINE void walk_pair(const gpu_pair *p, int64_t index, int64_t *a, int64_t *b)
{
	int64_t rest = index, x = 0, y = 0;

	ROLLED for (int32_t d = p->rank - 1; d >= 0; d--)
	{
		int64_t i = walk_index(rest, p->dim[d], &rest);

		x += i * p->a_step[d];
		y += i * p->b_step[d];
	}
	*a = x;
	*b = y;
}

#endif
