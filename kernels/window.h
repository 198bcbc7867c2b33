/* SPDX-License-Identifier: Apache-2.0 */
/* Windows over images: what a sample's valid width leaves, and where an output's window begins. */
#ifndef PSG_KERNELS_WINDOW_H
#define PSG_KERNELS_WINDOW_H

#include "walk.h"

/* Rows and columns of one sample that count; what lies past them is padding. */
INLINE void limits_of(const gpu_window *w, int64_t sample, int32_t *rows, int32_t *columns)
{
	*rows = w->in_h;
	*columns = w->in_w;
	if (w->valid != NULL)
		*(w->valid_rows ? rows : columns) = w->valid[sample];
}

/* Element `index` of [planes, out_h, out_w]. */
struct output {
	int64_t plane;
	int32_t y, x;
};

INLINE struct output output_of(const gpu_window *w, int64_t index)
{
	int64_t row, plane, x = walk_index(index, w->out_w, &row),
			    y = walk_index(row, w->out_h, &plane);

	return (struct output){ plane, (int32_t)y, (int32_t)x };
}

#endif
