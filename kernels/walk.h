/* SPDX-License-Identifier: Apache-2.0 */
/* From an element's number to its place in each dimension. */
#ifndef PSG_KERNELS_WALK_H
#define PSG_KERNELS_WALK_H

#include "kernel.h"

/* i % dim, with i / dim in *rest; 32-bit divisions, where they do, are several times cheaper. */
INLINE int64_t walk_index(int64_t i, int64_t dim, int64_t *rest)
{
	if (i <= UINT32_MAX && dim <= UINT32_MAX) {
		*rest = (uint32_t)i / (uint32_t)dim;
		return (uint32_t)i % (uint32_t)dim;
	}
	*rest = i / dim;
	return i % dim;
}

#endif
