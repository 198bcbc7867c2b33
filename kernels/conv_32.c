/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions in tiles of 32: see gemm_tile.h. */
#define SIDE 32
#define FOURS_M 1
#define FOURS_N 1
#include "gemm_tile.h"

KERNEL_SHARED(conv_32, conv_args, struct tile_shared)
{
	product(&a.gemm, &a, SHARED_OF(conv_32), at);
}
