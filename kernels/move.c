/* SPDX-License-Identifier: Apache-2.0 */
/* Elements go elsewhere: heads apart, padding, zeros in columns, interpolation. */
#include "functions.h"
#include "walk.h"

KERNEL(attn_split, copy_args)
{
	int64_t rest = INDEX, x = 0;

	if (INDEX >= a.n)
		return;
	ROLLED for (int32_t d = a.rank - 1; d >= 0; d--) x +=
		walk_index(rest, a.dim[d], &rest) * a.x_step[d];
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

	ROLLED for (int32_t d = a->rank - 1; d >= 0; d--)
	{
		int64_t o = walk_index(rest, a->out[d], &rest);
		int64_t i = padded_source(a->mode, o, a->begin[d], a->in[d]);

		inside = inside && i >= 0;
		x += i * step;
		step *= a->in[d];
	}
	a->y[index] = inside ? a->x[x] : a->value[index % 2];
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
	ROLLED for (int32_t d = a.rank - 1; d >= 0; d--)
	{
		x += a.table[table + walk_index(rest, a.dim[d], &rest)];
		table += a.dim[d];
	}
	a.y[INDEX] = a.x[x];
}
