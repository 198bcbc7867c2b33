/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products of row-major operands, in tiles of 32: see gemm_tile.h. */
#define SIDE 32
#define FOURS_M 1
#define FOURS_N 1
#include "gemm_tile.h"

KERNEL_SHARED(sgemm_32, gemm_args, struct tile_shared)
{
	product(&a, NULL, SHARED_OF(sgemm_32), at);
}
