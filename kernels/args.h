/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The one parameter of each kernel, as the device and the host see it.
 *
 * Fixed-width types and natural alignment only, so that the layouts agree.
 * Counts and steps are in elements unless they say otherwise.
 */
#ifndef PSG_KERNELS_ARGS_H
#define PSG_KERNELS_ARGS_H

#include <stdint.h>

#ifdef __NVPTX__
#define GLOBAL __attribute__((address_space(1)))
#else
#define GLOBAL /* in the host's code an address that only the device follows */
#endif

/* Functions of one element, as in pagesift/op.h; ADD adds the addend's element. */
typedef enum gpu_function {
	GPU_IDENTITY,
	GPU_ADD,
	GPU_RELU,
	GPU_CLIP,
	GPU_AFFINE,
	GPU_HARDSIGMOID,
	GPU_SE_GATE,
	GPU_HARDSWISH,
	GPU_LEAKY_RELU,
	GPU_ABS,
	GPU_NEG,
	GPU_SIGMOID, /* from here on with an exponential or more */
	GPU_SILU,
	GPU_GELU,
	GPU_ERF,
	GPU_TANH,
	GPU_EXP,
	GPU_LOG,
	GPU_SQRT,
	GPU_RECIPROCAL,
	GPU_ELU,
	GPU_CELU,
	GPU_SELU,
	GPU_THRESHOLDED_RELU,
	GPU_SOFTPLUS,
	GPU_SOFTSIGN,
	GPU_FLOOR,
	GPU_CEIL,
	GPU_ROUND,
	GPU_SIGN,
	GPU_SINH,
	GPU_COSH,
	GPU_ASINH,
	GPU_ACOSH,
	GPU_ATANH,
} gpu_function;

/* What is done with a result before it is stored, in this order. */
#define GPU_MAX_POST 6
typedef struct gpu_post {
	int32_t function; /* gpu_function */
	float alpha, beta;
	int32_t unused;
	const float GLOBAL *addend; /* ADD: laid out as the result */
} gpu_post;

typedef struct gpu_posts {
	int64_t n;
	gpu_post at[GPU_MAX_POST];
} gpu_posts;

/* y[i] = f(x[i]) */
typedef struct unary_args {
	const float GLOBAL *x;
	float GLOBAL *y;
	int64_t n;
	float alpha, beta;
	int32_t function;
} unary_args;

/* y[i] = a[i] + b[i] */
typedef struct add2_args {
	const float GLOBAL *a;
	const float GLOBAL *b;
	float GLOBAL *y;
	int64_t n;
} add2_args;

/* y[p, i] = x[p, i] with one value a plane p: each[p % channels] is added or a factor. */
typedef struct channel_args {
	const float GLOBAL *x;
	const float GLOBAL *each;
	float GLOBAL *y;
	int64_t planes, size, channels;
} channel_args;

#endif
