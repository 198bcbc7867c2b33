/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions in tiles of 64: see gemm_tile.h. */
#define SIDE 64
#define FOURS_M 2
#define FOURS_N 1
#include "gemm_tile.h"

KERNEL_SHARED(conv_64, conv_args, struct tile_shared)
{
	product(&a.gemm, &a, SHARED_OF(conv_64), at);
}
