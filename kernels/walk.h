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

#endif
