/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of elements, and arithmetic with broadcasting, on a CUDA device. */
#include "config.h"

#include "ops/cuda_internal.h"

/* The function of the kernels for an operator; -1: they have none. */
static int32_t function_of(psg_op_kind kind)
{
	switch (kind) {
#define SAME(KIND)                                                                                 \
	case PSG_OP_##KIND:                                                                        \
		return GPU_##KIND;
		SAME(IDENTITY)
		SAME(RELU)
		SAME(CLIP)
		SAME(AFFINE)
		SAME(HARDSIGMOID)
		SAME(SE_GATE)
		SAME(HARDSWISH)
		SAME(LEAKY_RELU)
		SAME(ABS)
		SAME(NEG)
		SAME(SIGMOID)
		SAME(SILU)
		SAME(GELU)
		SAME(ERF)
		SAME(TANH)
		SAME(EXP)
		SAME(LOG)
		SAME(SQRT)
		SAME(RECIPROCAL)
		SAME(ELU)
		SAME(CELU)
		SAME(SELU)
		SAME(THRESHOLDED_RELU)
		SAME(SOFTPLUS)
		SAME(SOFTSIGN)
		SAME(FLOOR)
		SAME(CEIL)
		SAME(ROUND)
		SAME(SIGN)
		SAME(SINH)
		SAME(COSH)
		SAME(ASINH)
		SAME(ACOSH)
		SAME(ATANH)
#undef SAME
	default:
		return -1;
	}
}

/* The kernels that have a name of their own. */
static psgi_gpu_kernel unary_kernel(psg_op_kind kind)
{
	switch (kind) {
	case PSG_OP_RELU:
		return PSGI_GPU_relu;
	case PSG_OP_SILU:
		return PSGI_GPU_silu;
	case PSG_OP_GELU:
		return PSGI_GPU_gelu;
	case PSG_OP_SIGMOID:
		return PSGI_GPU_sigmoid;
	case PSG_OP_HARDSIGMOID:
		return PSGI_GPU_hardsigmoid;
	case PSG_OP_SE_GATE:
		return PSGI_GPU_se_gate;
	default:
		return PSGI_GPU_unary;
	}
}

psgi_cuda_launch *psgi_cuda_unary(psgi_cuda *cuda, psg_op_kind kind, psg_unary_params params,
				  int64_t n)
{
	int32_t function = function_of(kind);
	psgi_cuda_launch *l;

	if (function < 0)
		return NULL;
	if (kind == PSG_OP_HARDSIGMOID && params.alpha == 0 && params.beta == 0)
		params = (psg_unary_params){ 1.0F / 6, 0.5F };
	l = psgi_cuda_each(cuda, unary_kernel(kind), n, sizeof(unary_args));
	l->args.unary = (unary_args){
		.n = n, .alpha = params.alpha, .beta = params.beta, .function = function
	};
	return l;
}

static bool unary(psgi_cuda *cuda, const psgi_call *call)
{
	psgi_cuda_launch *l = NULL;

	if (call->kind != PSG_OP_IDENTITY && call->in[0].dtype == PSG_F32)
		l = psgi_cuda_unary(cuda, call->kind, call->params->unary,
				    psg_shape_elements(&call->out[0].shape));
	if (l == NULL)
		return false;
	PSGI_SLOT(l, PSGI_SLOT_IN, 0, unary_args, x);
	PSGI_SLOT(l, PSGI_SLOT_OUT, 0, unary_args, y);
	return true;
}

static int32_t binary_of(psg_op_kind kind)
{
	switch (kind) {
	case PSG_OP_ADD:
	case PSG_OP_MEAN:
		return GPU_SUM;
	case PSG_OP_SUB:
		return GPU_DIFFERENCE;
	case PSG_OP_MUL:
		return GPU_PRODUCT;
	case PSG_OP_DIV:
		return GPU_QUOTIENT;
	case PSG_OP_MIN:
		return GPU_LEAST;
	case PSG_OP_MAX:
		return GPU_MOST;
	case PSG_OP_PRELU:
		return GPU_SLOPE;
	default:
		return -1;
	}
}

/* One step of a chain: the result so far (of the first step input 0) with input `index`. */
static void step(psgi_cuda *cuda, const psgi_call *call, size_t index)
{
	const psg_shape *out = &call->out[0].shape;
	bool first = index == 1;
	psgi_cuda_launch *l =
		psgi_cuda_each(cuda, PSGI_GPU_binary, psg_shape_elements(out), sizeof(binary_args));

	psgi_cuda_pair(&l->args.binary.pair, out, first ? &call->in[0].shape : out,
		       &call->in[index].shape);
	l->args.binary.pair.function = binary_of(call->kind);
	PSGI_SLOT(l, first ? PSGI_SLOT_IN : PSGI_SLOT_OUT, 0, binary_args, a);
	PSGI_SLOT(l, PSGI_SLOT_IN, index, binary_args, b);
	PSGI_SLOT(l, PSGI_SLOT_OUT, 0, binary_args, y);
}

/* The result so far times 1 / n. */
static void divide(psgi_cuda *cuda, const psgi_call *call)
{
	psgi_cuda_launch *l =
		psgi_cuda_unary(cuda, PSG_OP_AFFINE, (psg_unary_params){ 1 / (float)call->n_in, 0 },
				psg_shape_elements(&call->out[0].shape));

	PSGI_SLOT(l, PSGI_SLOT_OUT, 0, unary_args, x);
	PSGI_SLOT(l, PSGI_SLOT_OUT, 0, unary_args, y);
}

/* Floats to floats or whole numbers. */
static bool power(psgi_cuda *cuda, const psgi_call *call)
{
	const psg_shape *out = &call->out[0].shape;
	psgi_cuda_launch *l =
		psgi_cuda_each(cuda, PSGI_GPU_power, psg_shape_elements(out), sizeof(power_args));

	psgi_cuda_pair(&l->args.power.pair, out, &call->in[0].shape, &call->in[1].shape);
	PSGI_SLOT(l, PSGI_SLOT_IN, 0, power_args, a);
	if (call->in[1].dtype == PSG_F32)
		PSGI_SLOT(l, PSGI_SLOT_IN, 1, power_args, b);
	else
		PSGI_SLOT(l, PSGI_SLOT_IN, 1, power_args, integers);
	PSGI_SLOT(l, PSGI_SLOT_OUT, 0, power_args, y);
	return true;
}

static bool binary(psgi_cuda *cuda, const psgi_call *call)
{
	bool good = binary_of(call->kind) >= 0 && call->n_in >= 2;

	for (size_t i = 0; i < call->n_in && good; i++)
		good = call->in[i].dtype == PSG_F32;
	if (good && call->kind == PSG_OP_ADD && call->n_in == 2 &&
	    psg_shape_equal(&call->in[0].shape, &call->in[1].shape)) {
		int64_t n = psg_shape_elements(&call->out[0].shape);
		psgi_cuda_launch *l = psgi_cuda_each(cuda, PSGI_GPU_add2, n, sizeof(add2_args));

		l->args.add2.n = n;
		PSGI_SLOT(l, PSGI_SLOT_IN, 0, add2_args, a);
		PSGI_SLOT(l, PSGI_SLOT_IN, 1, add2_args, b);
		PSGI_SLOT(l, PSGI_SLOT_OUT, 0, add2_args, y);
		return true;
	}
	for (size_t i = 1; i < call->n_in && good; i++)
		step(cuda, call, i);
	if (good && call->kind == PSG_OP_MEAN)
		divide(cuda, call);
	return good;
}

static bool channel(psgi_cuda *cuda, const psgi_call *call)
{
	const psg_shape *x = &call->in[0].shape;
	bool bias = call->kind == PSG_OP_ADD_BIAS;
	int64_t n = psg_shape_elements(x);
	psgi_cuda_launch *l = psgi_cuda_each(cuda, bias ? PSGI_GPU_add_bias : PSGI_GPU_scale_ch, n,
					     sizeof(channel_args));

	l->args.channel = (channel_args){ .planes = x->dim[0] * x->dim[1],
					  .size = psgi_product(x, 2, x->rank),
					  .channels = bias ? x->dim[1] : x->dim[0] * x->dim[1] };
	PSGI_SLOT(l, PSGI_SLOT_IN, 0, channel_args, x);
	PSGI_SLOT(l, PSGI_SLOT_IN, 1, channel_args, each);
	PSGI_SLOT(l, PSGI_SLOT_OUT, 0, channel_args, y);
	return true;
}

psg_status psgi_cuda_element(psgi_cuda *cuda, const psgi_call *call, psgi_cuda_post_list *posts,
			     bool *done, psg_error *error)
{
	(void)posts;
	(void)error;
	if (call->kind == PSG_OP_ADD_BIAS || call->kind == PSG_OP_SCALE_CH)
		*done = channel(cuda, call);
	else if (call->kind == PSG_OP_POW && call->in[0].dtype == PSG_F32)
		*done = power(cuda, call);
	else
		*done = unary(cuda, call) || binary(cuda, call);
	return PSG_OK;
}
