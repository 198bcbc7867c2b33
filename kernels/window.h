/* SPDX-License-Identifier: Apache-2.0 */
/* Windows over images: what a sample's valid width leaves, and where an output's window begins. */
#ifndef PSG_KERNELS_WINDOW_H
#define PSG_KERNELS_WINDOW_H

#include "functions.h"

/* Rows and columns of one sample that count; what lies past them is padding. */
INLINE void limits_of(const gpu_window *w, int64_t sample, int32_t *rows, int32_t *columns)
{
	*rows = w->in_h;
	*columns = w->in_w;
	if (w->valid != NULL)
		*(w->valid_rows ? rows : columns) = w->valid[sample];
}

/* Element `index` of [planes, out_h, out_w]; 32-bit divisions are several times cheaper. */
struct output {
	int64_t plane;
	int32_t y, x;
};

INLINE struct output output_of(const gpu_window *w, int64_t index)
{
	int64_t row;

	if (index <= UINT32_MAX) {
		uint32_t i = (uint32_t)index, r = i / (uint32_t)w->out_w;

		return (struct output){ r / (uint32_t)w->out_h, (int32_t)(r % (uint32_t)w->out_h),
					(int32_t)(i % (uint32_t)w->out_w) };
	}
	row = index / w->out_w;
	return (struct output){ row / w->out_h, (int32_t)(row % w->out_h),
				(int32_t)(index % w->out_w) };
}

#endif
