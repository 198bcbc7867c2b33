/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions in tiles of 128: see gemm_tile.h. */
#define SIDE 128
#define FOURS_M 2
#define FOURS_N 2
#include "gemm_tile.h"

KERNEL_SHARED(conv_128, conv_args, struct tile_shared)
{
	product(&a.gemm, &a, SHARED_OF(conv_128), at);
}
