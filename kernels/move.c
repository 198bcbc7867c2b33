/* SPDX-License-Identifier: Apache-2.0 */
/* Elements go elsewhere: copies with any steps, padding, interpolation, transposition. */
#include "functions.h"
#include "walk.h"

INLINE void copy_element(const copy_args *a, int64_t index)
{
	int64_t rest = index, x = a->x_start, y = a->y_start;

	for (int32_t d = a->rank - 1; d >= 0; d--) {
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

KERNEL(attn_split, copy_args)
{
	int64_t rest = INDEX, x = 0;

	if (INDEX >= a.n)
		return;
	for (int32_t d = a.rank - 1; d >= 0; d--)
		x += walk_index(rest, a.dim[d], &rest) * a.x_step[d];
	a.y[INDEX] = INDEX < a.scaled ? to_bits(from_bits(a.x[x]) * a.scale) : a.x[x];
}

/* Where element o of a padded dimension comes from; -1: nowhere. */
INLINE int64_t padded_source(int32_t mode, int64_t o, int64_t begin, int64_t dim)
{
	int64_t at = o - begin;

	if (at >= 0 && at < dim)
		return at;
	if (mode == GPU_PAD_CONSTANT)
		return -1;
	if (mode == GPU_PAD_EDGE)
		return at < 0 ? 0 : dim - 1;
	return at < 0 ? -at : 2 * (dim - 1) - at;
}

INLINE void pad_element(const pad_args *a, int64_t index)
{
	int64_t rest = index, x = 0, step = 1;
	bool inside = true;

	for (int32_t d = a->rank - 1; d >= 0; d--) {
		int64_t o = walk_index(rest, a->out[d], &rest);
		int64_t i = padded_source(a->mode, o, a->begin[d], a->in[d]);

		inside = inside && i >= 0;
		x += i * step;
		step *= a->in[d];
	}
	a->y[index] = inside ? a->x[x] : a->value;
}

KERNEL(pad_all, pad_args)
{
	if (INDEX < a.n)
		pad_element(&a, INDEX);
}

KERNEL(pad_rb, pad_args)
{
	if (INDEX < a.n)
		pad_element(&a, INDEX);
}

KERNEL(zero_cols, zero_cols_args)
{
	if (INDEX < a.n) {
		int64_t column = INDEX / a.inner % a.columns;

		a.y[INDEX] = column < a.valid[INDEX / a.sample] ? a.x[INDEX] : 0;
	}
}

KERNEL(interp_nearest, interp_args)
{
	int64_t rest = INDEX, x = 0, table = 0;

	if (INDEX >= a.n)
		return;
	for (int32_t d = a.rank - 1; d >= 0; d--) {
		x += a.table[table + walk_index(rest, a.dim[d], &rest)];
		table += a.dim[d];
	}
	a.y[INDEX] = a.x[x];
}

#define SWAP_SIDE 32
#define SWAP_ROWS 8 /* rows of a tile that a block moves at a time */

struct swap_shared {
	uint32_t tile[SWAP_SIDE][SWAP_SIDE + 1];
};

/* Both sides are read and written along rows; the tile is turned in shared memory. */
KERNEL_SHARED(chw_to_seq, swap_args, struct swap_shared)
{
	struct swap_shared SHARED *s = SHARED_OF(chw_to_seq);
	int64_t rest = BLOCK / a.tiles_columns, batch = rest / a.tiles_rows;
	int64_t row = rest % a.tiles_rows * SWAP_SIDE, column = BLOCK % a.tiles_columns * SWAP_SIDE;
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
