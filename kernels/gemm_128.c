/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products of row-major operands, in tiles of 128: see gemm_tile.h. */
#define SIDE 128
#define FOURS_M 2
#define FOURS_N 2
#include "gemm_tile.h"

KERNEL_SHARED(sgemm, gemm_args, struct tile_shared)
{
	product(&a, NULL, SHARED_OF(sgemm), at);
}
