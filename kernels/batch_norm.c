/* SPDX-License-Identifier: Apache-2.0 */
/* Normalisation by given statistics of each channel, where no convolution takes it. */
#include "functions.h"

KERNEL(batch_norm, batch_norm_args)
{
	int64_t i = INDEX, c;

	if (i >= a.n)
		return;
	c = i / a.size % a.channels;
	a.y[i] = (a.x[i] - a.mean[c]) * (a.scale[c] / __builtin_sqrtf(a.variance[c] + a.epsilon)) +
		 a.bias[c];
}
