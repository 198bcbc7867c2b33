/* SPDX-License-Identifier: Apache-2.0 */
/* Pools, columns of images and reductions on a CUDA device. */
#include "config.h"

#include "ops/cuda_internal.h"

static bool im2col(psgi_cuda *cuda, const psgi_call *call)
{
	int64_t n = psg_shape_elements(&call->out[0].shape);
	psgi_cuda_launch *l = psgi_cuda_each(cuda, PSGI_GPU_im2col, n, sizeof(im2col_args));

	l->args.im2col = (im2col_args){ .n = n, .channels = call->in[0].shape.dim[1] };
	PSGI_SLOT(l, PSGI_SLOT_IN, 0, im2col_args, x);
	PSGI_SLOT(l, PSGI_SLOT_OUT, 0, im2col_args, y);
	psgi_cuda_valid(l, call, offsetof(im2col_args, window));
	return psgi_cuda_window_of(call, &l->args.im2col.window, NULL);
}

static bool pool(psgi_cuda *cuda, const psgi_call *call)
{
	int64_t n = psg_shape_elements(&call->out[0].shape);
	psgi_cuda_launch *l = psgi_cuda_each(
		cuda, call->kind == PSG_OP_POOL_MAX ? PSGI_GPU_pool_max : PSGI_GPU_pool_avg, n,
		sizeof(pool_args));

	l->args.pool = (pool_args){ .n = n,
				    .channels = call->in[0].shape.dim[1],
				    .count_pads = call->params->pool.count_include_pad };
	PSGI_SLOT(l, PSGI_SLOT_IN, 0, pool_args, x);
	PSGI_SLOT(l, PSGI_SLOT_OUT, 0, pool_args, y);
	psgi_cuda_valid(l, call, offsetof(pool_args, window));
	return call->n_out == 1 && psgi_cuda_window_of(call, &l->args.pool.window, NULL);
}

static bool global_pool(psgi_cuda *cuda, const psgi_call *call)
{
	const psg_shape *x = &call->in[0].shape;
	int64_t planes = x->dim[0] * x->dim[1], size = psgi_product(x, 2, x->rank);
	int32_t axis = call->in[0].valid_axis < 2 ? 2 : call->in[0].valid_axis;
	psgi_cuda_launch *l = psgi_cuda_add(
		cuda, call->kind == PSG_OP_GLOBAL_AVG ? PSGI_GPU_global_avg : PSGI_GPU_global_max,
		planes, psgi_cuda_row_threads(size), sizeof(global_pool_args));

	l->args.global_pool = (global_pool_args){
		.channels = x->dim[1], .planes = planes, .outer = 1, .columns = 1, .inner = 1
	};
	if (x->rank > 2) {
		l->args.global_pool.outer = psgi_product(x, 2, axis);
		l->args.global_pool.columns = x->dim[axis];
		l->args.global_pool.inner = psgi_product(x, axis + 1, x->rank);
	}
	PSGI_SLOT(l, PSGI_SLOT_IN, 0, global_pool_args, x);
	PSGI_SLOT(l, PSGI_SLOT_OUT, 0, global_pool_args, y);
	if (call->in[0].valid_axis >= 2)
		PSGI_SLOT(l, PSGI_SLOT_VALID, 0, global_pool_args, valid);
	return true;
}

static int32_t reduction_of(psg_op_kind kind)
{
	switch (kind) {
	case PSG_OP_REDUCE_SUM:
		return GPU_REDUCE_SUM;
	case PSG_OP_REDUCE_MEAN:
		return GPU_REDUCE_MEAN;
	case PSG_OP_REDUCE_MAX:
		return GPU_REDUCE_MAX;
	case PSG_OP_REDUCE_MIN:
		return GPU_REDUCE_MIN;
	case PSG_OP_REDUCE_PROD:
		return GPU_REDUCE_PROD;
	case PSG_OP_REDUCE_L1:
		return GPU_REDUCE_L1;
	case PSG_OP_REDUCE_L2:
		return GPU_REDUCE_L2;
	case PSG_OP_REDUCE_SUM_SQUARE:
		return GPU_REDUCE_SUM_SQUARE;
	case PSG_OP_REDUCE_LOG_SUM:
		return GPU_REDUCE_LOG_SUM;
	default:
		return -1;
	}
}

/* `w`: the reduced axis that has valid widths; 0: none. */
static bool reduce_axes(psgi_cuda *cuda, const psgi_call *call, int32_t first, int32_t last,
			int32_t w)
{
	const psg_shape *x = &call->in[0].shape;
	int32_t kind = reduction_of(call->kind);
	int64_t n = psgi_product(x, first, last + 1), step = psgi_product(x, last + 1, x->rank);
	bool integers = call->in[0].dtype == PSG_I64;
	psgi_cuda_launch *l =
		psgi_cuda_add(cuda, integers ? PSGI_GPU_reduce_integers : PSGI_GPU_reduce,
			      psg_shape_elements(&call->out[0].shape), psgi_cuda_row_threads(n),
			      integers ? sizeof(reduce_integers_args) : sizeof(reduce_args));

	if (integers) {
		l->args.reduce_integers =
			(reduce_integers_args){ .n = n, .step = step, .kind = kind };
		PSGI_SLOT(l, PSGI_SLOT_IN, 0, reduce_integers_args, x);
		PSGI_SLOT(l, PSGI_SLOT_OUT, 0, reduce_integers_args, y);
		return n > 0 || call->kind != PSG_OP_REDUCE_MEAN; /* which is an error */
	}
	l->args.reduce = (reduce_args){ .outputs = l->blocks,
					.n = n,
					.step = step,
					.inner = 1,
					.columns = 1,
					.sample = step,
					.kind = kind };
	if (w > 0) {
		l->args.reduce.inner = psgi_product(x, w + 1, last + 1);
		l->args.reduce.columns = n > 0 ? psgi_product(x, w, w + 1) : 1;
		l->args.reduce.sample = psgi_product(x, 1, first) * step;
		PSGI_SLOT(l, PSGI_SLOT_VALID, 0, reduce_args, valid);
	}
	PSGI_SLOT(l, PSGI_SLOT_IN, 0, reduce_args, x);
	PSGI_SLOT(l, PSGI_SLOT_OUT, 0, reduce_args, y);
	return true;
}

/* Axes that follow each other; others are left alone. */
static bool reduce(psgi_cuda *cuda, const psgi_call *call)
{
	const psg_reduce_params *p = &call->params->reduce;
	const psg_shape *x = &call->in[0].shape;
	int32_t first = x->rank, last = -1, w = call->in[0].valid_axis;
	bool reduced[PSG_MAX_RANK] = { false };

	if (reduction_of(call->kind) < 0 || (p->n_axes == 0 && p->noop_empty))
		return false;
	for (int32_t i = 0; i < (p->n_axes == 0 ? x->rank : p->n_axes); i++) {
		int32_t axis = p->n_axes == 0 ? i : p->axes[i];

		axis = axis < 0 ? axis + x->rank : axis;
		reduced[axis] = true;
		first = axis < first ? axis : first;
		last = axis > last ? axis : last;
	}
	for (int32_t i = first; i <= last; i++)
		if (!reduced[i])
			return false;
	if (last < 0)
		first = last + 1;
	w = w < first || w > last ? 0 : w;
	if (w > 0 && (first == 0 || call->in[0].dtype == PSG_I64))
		return false;
	return reduce_axes(cuda, call, first, last, w);
}

psg_status psgi_cuda_window(psgi_cuda *cuda, const psgi_call *call, psgi_cuda_post_list *posts,
			    bool *done, psg_error *error)
{
	(void)posts;
	(void)error;
	switch (call->kind) {
	case PSG_OP_IM2COL:
		*done = im2col(cuda, call);
		break;
	case PSG_OP_POOL_MAX:
	case PSG_OP_POOL_AVG:
		*done = pool(cuda, call);
		break;
	case PSG_OP_GLOBAL_AVG:
	case PSG_OP_GLOBAL_MAX:
		*done = global_pool(cuda, call);
		break;
	default:
		*done = reduce(cuda, call);
		break;
	}
	return PSG_OK;
}
