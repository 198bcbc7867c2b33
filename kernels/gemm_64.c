/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products of row-major operands, in tiles of 64: see gemm_tile.h. */
#define SIDE 64
#define FOURS_M 2
#define FOURS_N 1
#include "gemm_tile.h"

KERNEL_SHARED(sgemm_64, gemm_args, struct tile_shared)
{
	product(&a, NULL, SHARED_OF(sgemm_64), at);
}
