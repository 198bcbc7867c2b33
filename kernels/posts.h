/* SPDX-License-Identifier: Apache-2.0 */
/* What is done with a result before it is stored. */
#ifndef PSG_KERNELS_POSTS_H
#define PSG_KERNELS_POSTS_H

#include "functions.h"

/*
 * The functions that posts may have; the others get a launch of their own.  All functions would
 * be more code in each kernel of products than the product itself.
 */
OUT_OF_LINE float post_function(int32_t function, float x, float alpha)
{
	switch (function) {
	case GPU_SIGMOID:
		return sigmoid_of(x);
	case GPU_SILU:
		return gated(x, sigmoid_of(x));
	case GPU_LEAKY_RELU:
		return x < 0 ? alpha * x : x;
	default:
		return x;
	}
}

/* A post that needs nothing but the value. */
INLINE float value_post(const gpu_post *p, float v)
{
	float t;

	if (p->kind == GPU_POST_FUNCTION)
		return post_function(p->function, v, p->alpha);
	t = clamp_of(p->alpha * v + p->beta, p->low, p->high);
	return p->kind == GPU_POST_GATE ? gated(v, t) : t;
}

/* All posts of one result; `index` is its place in the output and in the addends. */
INLINE float after(const gpu_posts *posts, float v, int64_t index)
{
	for (int64_t i = 0; i < posts->n; i++) {
		const gpu_post *p = &posts->at[i];

		v = p->kind == GPU_POST_ADD ? v + p->addend[index] : value_post(p, v);
	}
	return v;
}

#endif
