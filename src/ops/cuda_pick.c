/* SPDX-License-Identifier: Apache-2.0 */
/* Operators on a CUDA device that take what values say: gather, where, arg_max and arg_min. */
#include "config.h"

#include "ops/cuda_internal.h"

#include <inttypes.h>

/* The reference path's message needs the index, which lies on the device. */
static psg_status index_outside(const psgi_cuda *cuda, int64_t bad, const psgi_operand *in,
				psg_error *error)
{
	int64_t dim = cuda->launch[0].args.gather.dim, index = 0;
	psg_status status = psgi_gpu_copy_out(
		cuda->device, &index, (const int64_t *)in[1].data + bad, sizeof(index), error);

	if (status != PSG_OK)
		return status;
	return psgi_fail(error, PSG_INVALID,
			 "gather: index %" PRId64 " is outside -%" PRId64 "..%" PRId64, index, dim,
			 dim - 1);
}

static psg_status gather(psgi_cuda *cuda, const psgi_call *call, bool *done, psg_error *error)
{
	const psg_shape *x = &call->in[0].shape;
	int64_t words = psgi_cuda_words(&call->in[0]);
	int64_t n = psg_shape_elements(&call->out[0].shape) * words;
	int32_t axis = call->params->concat.axis;
	psgi_cuda_launch *l;
	psg_status status = PSG_OK;

	axis = axis < 0 ? axis + x->rank : axis;
	if (psgi_cuda_may_have(&call->in[1], INT64_MIN, -x->dim[axis] - 1) ||
	    psgi_cuda_may_have(&call->in[1], x->dim[axis], INT64_MAX))
		status = psgi_cuda_judge(cuda, index_outside, error);
	l = psgi_cuda_each(cuda, PSGI_GPU_gather, n, sizeof(gather_args));
	l->args.gather = (gather_args){ .bad = cuda->table,
					.n = n,
					.dim = x->dim[axis],
					.count = psg_shape_elements(&call->in[1].shape),
					.inner = psgi_product(x, axis + 1, x->rank) * words };
	PSGI_SLOT(l, PSGI_SLOT_IN, 0, gather_args, x);
	PSGI_SLOT(l, PSGI_SLOT_IN, 1, gather_args, index);
	PSGI_SLOT(l, PSGI_SLOT_OUT, 0, gather_args, y);
	*done = status == PSG_OK;
	return status;
}

/* The words of an element are a dimension of their own, along which the condition does not move. */
static bool where(psgi_cuda *cuda, const psgi_call *call)
{
	const psg_shape *out = &call->out[0].shape;
	int64_t words = psgi_cuda_words(&call->out[0]), n = psg_shape_elements(out) * words;
	psgi_cuda_launch *l = psgi_cuda_each(cuda, PSGI_GPU_where, n, sizeof(where_args));
	gpu_pair *p = &l->args.where.pair;

	p->n = n;
	p->rank = out->rank + (words > 1);
	psgi_broadcast_strides(&call->in[0].shape, out, l->args.where.c_step);
	psgi_broadcast_strides(&call->in[1].shape, out, p->a_step);
	psgi_broadcast_strides(&call->in[2].shape, out, p->b_step);
	for (int32_t i = 0; i < out->rank; i++) {
		p->dim[i] = out->dim[i];
		p->a_step[i] *= words;
		p->b_step[i] *= words;
	}
	p->dim[out->rank] = words;
	p->a_step[out->rank] = p->b_step[out->rank] = 1;
	PSGI_SLOT(l, PSGI_SLOT_IN, 0, where_args, c);
	PSGI_SLOT(l, PSGI_SLOT_IN, 1, where_args, a);
	PSGI_SLOT(l, PSGI_SLOT_IN, 2, where_args, b);
	PSGI_SLOT(l, PSGI_SLOT_OUT, 0, where_args, y);
	return true;
}

static bool arg(psgi_cuda *cuda, const psgi_call *call)
{
	const psg_shape *x = &call->in[0].shape;
	const psg_arg_params *p = &call->params->arg;
	int32_t axis = p->axis < 0 ? p->axis + x->rank : p->axis;
	int64_t inner = psgi_product(x, axis + 1, x->rank);
	psgi_cuda_launch *l =
		psgi_cuda_add(cuda, PSGI_GPU_arg, psg_shape_elements(&call->out[0].shape),
			      psgi_cuda_row_threads(x->dim[axis]), sizeof(arg_args));

	l->args.arg = (arg_args){ .len = x->dim[axis],
				  .inner = inner,
				  .sample = inner * (axis > 0 ? psgi_product(x, 1, axis) : 1),
				  .integers = call->in[0].dtype == PSG_I64,
				  .least = call->kind == PSG_OP_ARG_MIN,
				  .last = p->select_last };
	PSGI_SLOT(l, PSGI_SLOT_IN, 0, arg_args, x);
	PSGI_SLOT(l, PSGI_SLOT_OUT, 0, arg_args, y);
	if (axis > 0 && call->in[0].valid_axis == axis)
		PSGI_SLOT(l, PSGI_SLOT_VALID, 0, arg_args, valid);
	return true;
}

psg_status psgi_cuda_pick(psgi_cuda *cuda, const psgi_call *call, psgi_cuda_post_list *posts,
			  bool *done, psg_error *error)
{
	(void)posts;
	switch (call->kind) {
	case PSG_OP_GATHER:
		return gather(cuda, call, done, error);
	case PSG_OP_WHERE:
		*done = where(cuda, call);
		break;
	case PSG_OP_ARG_MAX:
	case PSG_OP_ARG_MIN:
		*done = arg(cuda, call);
		break;
	default:
		break;
	}
	return PSG_OK;
}
