/* SPDX-License-Identifier: Apache-2.0 */
/* Normalisation, softmax, attention and the digest on a CUDA device. */
#include "config.h"

#include "ops/cuda_internal.h"

#include <math.h>

#define QUERIES 64 /* of a block of the attention kernels */

static bool softmax(psgi_cuda *cuda, const psgi_call *call)
{
	const psg_softmax_params *p = &call->params->softmax;
	const psg_shape *x = &call->in[0].shape;
	int32_t axis = p->axis < 0 ? p->axis + x->rank : p->axis, w = call->in[0].valid_axis;
	int32_t end = p->flatten ? x->rank : axis + 1;
	int64_t outer = psgi_product(x, 0, axis), step = psgi_product(x, end, x->rank);
	int64_t len = psgi_product(x, axis, end);
	psgi_cuda_launch *l = psgi_cuda_add(cuda, PSGI_GPU_softmax, outer * step,
					    psgi_cuda_row_threads(len), sizeof(softmax_args));
	softmax_args *a = &l->args.softmax;

	*a = (softmax_args){ .groups = outer * step,
			     .len = len,
			     .step = step,
			     .inner = 1,
			     .columns = 1,
			     .sample = step * (axis > 0 ? psgi_product(x, 1, axis) : 1),
			     .logarithm = call->kind == PSG_OP_LOG_SOFTMAX };
	if (w > 0 && w >= axis && w < end) {
		if (axis == 0) /* samples of different widths in one group */
			return false;
		a->columns = x->dim[w];
		a->inner = p->flatten ? psgi_product(x, w + 1, x->rank) : 1;
		PSGI_SLOT(l, PSGI_SLOT_VALID, 0, softmax_args, valid);
	}
	if (len == 0)
		l->blocks = 0;
	PSGI_SLOT(l, PSGI_SLOT_IN, 0, softmax_args, x);
	PSGI_SLOT(l, PSGI_SLOT_OUT, 0, softmax_args, y);
	return true;
}

static bool attn_softmax(psgi_cuda *cuda, const psgi_call *call)
{
	const int64_t *x = call->in[0].shape.dim;
	psgi_cuda_launch *l = psgi_cuda_add(cuda, PSGI_GPU_attn_softmax, x[0] * x[1] * x[2],
					    psgi_cuda_row_threads(x[3]), sizeof(softmax_args));

	l->args.softmax = (softmax_args){
		.groups = x[0] * x[1] * x[2], .len = x[3], .step = 1, .sample = x[1] * x[2]
	};
	PSGI_SLOT(l, PSGI_SLOT_IN, 0, softmax_args, x);
	PSGI_SLOT(l, PSGI_SLOT_OUT, 0, softmax_args, y);
	if (call->in[0].valid_axis >= 2)
		PSGI_SLOT(l, PSGI_SLOT_VALID, 0, softmax_args, valid);
	return true;
}

static psgi_cuda_launch *norm(psgi_cuda *cuda, const psgi_call *call, int32_t axis)
{
	const psg_shape *x = &call->in[0].shape;
	int32_t w = call->in[0].valid_axis;
	int64_t rows = psgi_product(x, 0, axis), columns = psgi_product(x, axis, x->rank);
	psgi_cuda_launch *l = psgi_cuda_add(cuda, PSGI_GPU_layer_norm, columns > 0 ? rows : 0,
					    psgi_cuda_row_threads(columns), sizeof(norm_args));
	norm_args *a = &l->args.norm;

	*a = (norm_args){ .rows = rows,
			  .columns = columns,
			  .sample = axis > 0 ? psgi_product(x, 1, axis) : 1,
			  .inner = 1,
			  .width = 1,
			  .epsilon = call->params->norm.epsilon };
	if (w > 0 && w >= axis) {
		a->width = x->dim[w];
		a->inner = psgi_product(x, w + 1, x->rank);
		PSGI_SLOT(l, PSGI_SLOT_VALID, 0, norm_args, valid);
	}
	PSGI_SLOT(l, PSGI_SLOT_IN, 0, norm_args, x);
	PSGI_SLOT(l, PSGI_SLOT_OUT, 0, norm_args, y);
	PSGI_SLOT(l, PSGI_SLOT_IN, 1, norm_args, gamma);
	if (psgi_has_input(call, 2))
		PSGI_SLOT(l, PSGI_SLOT_IN, 2, norm_args, beta);
	return l;
}

static bool layer_norm(psgi_cuda *cuda, const psgi_call *call)
{
	const psg_shape *x = &call->in[0].shape;
	int32_t axis = call->params->norm.axis;

	axis = axis < 0 ? axis + x->rank : axis;
	for (size_t i = 1; i < call->n_in; i++)
		if (psgi_has_input(call, i) &&
		    psg_shape_elements(&call->in[i].shape) != psgi_product(x, axis, x->rank))
			return false;
	if (axis == 0 && call->in[0].valid_axis > 0)
		return false;
	(void)norm(cuda, call, axis);
	return true;
}

static bool instance_norm(psgi_cuda *cuda, const psgi_call *call)
{
	norm(cuda, call, 2)->args.norm.channels = call->in[0].shape.dim[1];
	return true;
}

static bool batch_norm(psgi_cuda *cuda, const psgi_call *call)
{
	const psg_shape *x = &call->in[0].shape;
	int64_t n = psg_shape_elements(x);
	psgi_cuda_launch *l = psgi_cuda_each(cuda, PSGI_GPU_batch_norm, n, sizeof(batch_norm_args));

	l->args.batch_norm = (batch_norm_args){ .n = n,
						.size = psgi_product(x, 2, x->rank),
						.channels = x->dim[1],
						.epsilon = call->params->norm.epsilon };
	PSGI_SLOT(l, PSGI_SLOT_IN, 0, batch_norm_args, x);
	PSGI_SLOT(l, PSGI_SLOT_IN, 1, batch_norm_args, scale);
	PSGI_SLOT(l, PSGI_SLOT_IN, 2, batch_norm_args, bias);
	PSGI_SLOT(l, PSGI_SLOT_IN, 3, batch_norm_args, mean);
	PSGI_SLOT(l, PSGI_SLOT_IN, 4, batch_norm_args, variance);
	PSGI_SLOT(l, PSGI_SLOT_OUT, 0, batch_norm_args, y);
	return true;
}

static int64_t heads_of(const psgi_call *call)
{
	return call->params->attention.heads == 0 ? 1 : call->params->attention.heads;
}

static bool attention(psgi_cuda *cuda, const psgi_call *call)
{
	const int64_t *x = call->in[0].shape.dim;
	int64_t heads = heads_of(call), size = x[2] / (3 * heads);
	int64_t tiles = (x[1] + QUERIES - 1) / QUERIES;
	float scale = call->params->attention.scale;
	psgi_cuda_launch *l;

	if (size > 64)
		return false;
	l = psgi_cuda_add(cuda,
			  size <= 16   ? PSGI_GPU_attention_16
			  : size <= 32 ? PSGI_GPU_attention_32
				       : PSGI_GPU_attention_64,
			  x[0] * heads * tiles, QUERIES, sizeof(attention_args));
	l->args.attention =
		(attention_args){ .samples = x[0],
				  .steps = x[1],
				  .heads = heads,
				  .size = size,
				  .tiles = tiles,
				  .scale = scale == 0 ? (float)(1 / sqrt((double)size)) : scale };
	PSGI_SLOT(l, PSGI_SLOT_IN, 0, attention_args, qkv);
	PSGI_SLOT(l, PSGI_SLOT_OUT, 0, attention_args, y);
	if (call->in[0].valid_axis == 1)
		PSGI_SLOT(l, PSGI_SLOT_VALID, 0, attention_args, valid);
	return true;
}

/* qkv to [3, N, heads, T, d], q times a factor; heads together again. */
static bool attn_move(psgi_cuda *cuda, const psgi_call *call)
{
	static const int32_t apart[] = { 2, 0, 3, 1, 4 }, together[] = { 0, 2, 1, 3 };
	const int64_t *x = call->in[0].shape.dim, *out = call->out[0].shape.dim;
	bool split = call->kind == PSG_OP_ATTN_SPLIT;
	int64_t n = psg_shape_elements(&call->out[0].shape);
	const int64_t dims[] = { x[0], x[1], 3, out[2], out[4] };
	float scale = call->params->attention.scale;
	psgi_cuda_launch *l = psgi_cuda_each(
		cuda, split ? PSGI_GPU_attn_split : PSGI_GPU_attn_merge, n, sizeof(copy_args));
	copy_args *a = &l->args.copy;
	psgi_walk walk;

	if (split)
		psgi_permute_walk(5, dims, apart, &walk);
	else
		psgi_permute_walk(4, x, together, &walk);
	a->n = n;
	a->rank = walk.rank;
	a->scale = scale == 0 ? 1 : scale;
	a->scaled = n / 3;
	for (int32_t i = 0; i < walk.rank; i++) {
		a->dim[i] = walk.dim[i];
		a->x_step[i] = walk.step[1][i];
		a->y_step[i] = walk.step[0][i];
	}
	PSGI_SLOT(l, PSGI_SLOT_IN, 0, copy_args, x);
	PSGI_SLOT(l, PSGI_SLOT_OUT, 0, copy_args, y);
	return true;
}

static bool digest(psgi_cuda *cuda, const psgi_call *call)
{
	const int64_t *x = call->in[0].shape.dim;
	psgi_cuda_launch *l = psgi_cuda_add(cuda, PSGI_GPU_ctc_digest, x[0] * x[1],
					    psgi_cuda_row_threads(x[2]), sizeof(digest_args));

	l->args.digest = (digest_args){ .samples = x[0], .steps = x[1], .classes = x[2] };
	PSGI_SLOT(l, PSGI_SLOT_IN, 0, digest_args, x);
	PSGI_SLOT(l, PSGI_SLOT_OUT, 0, digest_args, y);
	if (call->in[0].valid_axis == 1)
		PSGI_SLOT(l, PSGI_SLOT_VALID, 0, digest_args, valid);
	return true;
}

psg_status psgi_cuda_sequence(psgi_cuda *cuda, const psgi_call *call, psgi_cuda_post_list *posts,
			      bool *done, psg_error *error)
{
	(void)posts;
	(void)error;
	switch (call->kind) {
	case PSG_OP_SOFTMAX:
	case PSG_OP_LOG_SOFTMAX:
		*done = softmax(cuda, call);
		break;
	case PSG_OP_ATTN_SOFTMAX:
		*done = attn_softmax(cuda, call);
		break;
	case PSG_OP_LAYER_NORM:
		*done = layer_norm(cuda, call);
		break;
	case PSG_OP_INSTANCE_NORM:
		*done = instance_norm(cuda, call);
		break;
	case PSG_OP_BATCH_NORM:
		*done = batch_norm(cuda, call);
		break;
	case PSG_OP_ATTENTION:
		*done = attention(cuda, call);
		break;
	case PSG_OP_ATTN_SPLIT:
	case PSG_OP_ATTN_MERGE:
		*done = attn_move(cuda, call);
		break;
	case PSG_OP_CTC_DIGEST:
		*done = digest(cuda, call);
		break;
	default:
		break;
	}
	return PSG_OK;
}
