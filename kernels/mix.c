/* SPDX-License-Identifier: Apache-2.0 */
/* Gate, addend, nearest interpolation and concatenation in one pass. */
#include "walk.h"

KERNEL(mix, mix_args)
{
	int64_t row, plane, x = walk_index(INDEX, a.width, &row),
			    y = walk_index(row, a.height, &plane);
	int64_t sample = plane / a.channels, c = plane % a.channels;
	float v;

	if (INDEX >= a.samples * a.channels * a.height * a.width)
		return;
	v = a.a[(plane * (a.height / a.up_a) + y / a.up_a) * (a.width / a.up_a) + x / a.up_a];
	v *= a.gate != NULL ? a.base + a.gate[plane] : a.base;
	if (a.b != NULL)
		v += a.b[(plane * (a.height / a.up_b) + y / a.up_b) * (a.width / a.up_b) +
			 x / a.up_b];
	a.y[((sample * a.all + a.offset + c) * a.height + y) * a.width + x] = v;
}
