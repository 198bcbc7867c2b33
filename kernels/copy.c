/* SPDX-License-Identifier: Apache-2.0 */
/* Copies with any steps, and turned planes: elements go elsewhere as they are. */
#include "walk.h"

INLINE void copy_element(const copy_args *a, int64_t index)
{
	int64_t rest = index, x = a->x_start, y = a->y_start;

	ROLLED for (int32_t d = a->rank - 1; d >= 0; d--)
	{
		int64_t i = walk_index(rest, a->dim[d], &rest);

		x += i * a->x_step[d];
		y += i * a->y_step[d];
	}
	a->y[y] = a->x[x];
}

/* The same code under the names of what it is used for, so that a profile tells them apart. */
#define COPY(name)                                                                                 \
	KERNEL(name, copy_args)                                                                    \
	{                                                                                          \
		if (INDEX < a.n)                                                                   \
			copy_element(&a, INDEX);                                                   \
	}

COPY(copy_strided)
COPY(copy_part)
COPY(crop_cols)
COPY(attn_merge)

#define SWAP_SIDE 32
#define SWAP_ROWS 8 /* rows of a tile that a block moves at a time */

struct swap_shared {
	uint32_t tile[SWAP_SIDE][SWAP_SIDE + 1];
};

/* Both sides are read and written along rows; the tile is turned in shared memory. */
KERNEL_SHARED(chw_to_seq, swap_args, struct swap_shared)
{
	struct swap_shared SHARED *s = SHARED_OF(chw_to_seq);
	int32_t rest = block_over(BLOCK, a.tiles_columns);
	int64_t batch = block_over(rest, a.tiles_rows);
	int64_t row = (int64_t)block_rest(rest, a.tiles_rows) * SWAP_SIDE;
	int64_t column = (int64_t)block_rest(BLOCK, a.tiles_columns) * SWAP_SIDE;
	const uint32_t GLOBAL *x = a.x + batch * a.rows * a.columns;
	uint32_t GLOBAL *y = a.y + batch * a.rows * a.columns;
	int32_t along = THREAD % SWAP_SIDE;

	for (int32_t i = THREAD / SWAP_SIDE; i < SWAP_SIDE; i += SWAP_ROWS)
		if (row + i < a.rows && column + along < a.columns)
			s->tile[i][along] = x[(row + i) * a.columns + column + along];
	BARRIER();
	for (int32_t i = THREAD / SWAP_SIDE; i < SWAP_SIDE; i += SWAP_ROWS)
		if (column + i < a.columns && row + along < a.rows)
			y[(column + i) * a.rows + row + along] = s->tile[along][i];
}
