/* SPDX-License-Identifier: Apache-2.0 */
/* Permutations of dimensions: transpose, depth to space, and sequences of columns. */
#include "config.h"

#include "ops/family.h"

#include <inttypes.h>

psg_status psgi_transpose_shape(psgi_call *call, psg_error *error)
{
	const psg_shape *x = &call->in[0].shape;
	const int32_t *perm = call->params->transpose.perm;
	bool seen[PSG_MAX_RANK] = { false };
	psg_shape out = { .rank = x->rank };
	char text[PSGI_SHAPE_TEXT];

	for (int32_t i = 0; i < x->rank; i++) {
		if (perm[i] < 0 || perm[i] >= x->rank || seen[perm[i]])
			return psgi_fail(error, PSG_INVALID,
					 "transpose: entry %" PRId32 " of the permutation of %s is "
					 "%" PRId32 ", which is no dimension or there already",
					 i, psgi_shape_text(x, text), perm[i]);
		seen[perm[i]] = true;
		out.dim[i] = x->dim[perm[i]];
	}
	return psgi_out(call, 0, call->in[0].dtype, &out, error);
}

PSGI_PLAIN_COST(transpose)

psg_status psgi_transpose_ref(const psgi_call *call, psg_error *error)
{
	const psgi_view *in = &call->in[0];

	(void)error;
	psgi_permute(call->out[0].data, in->data, psg_dtype_size(in->dtype), in->shape.rank,
		     in->shape.dim, call->params->transpose.perm);
	return PSG_OK;
}

psg_status psgi_depth_shape(psgi_call *call, psg_error *error)
{
	const psg_shape *x = &call->in[0].shape;
	int64_t b = call->params->depth.block;
	psg_shape out = *x;
	char text[PSGI_SHAPE_TEXT];
	psg_status status = psgi_need_rank(call, 0, 4, 4, error);
	bool fits;

	if (status != PSG_OK)
		return status;
	/* b is 32 bits wide, so b * b cannot overflow; products with dimensions can. */
	if (call->kind == PSG_OP_DEPTH_TO_SPACE)
		fits = b > 0 && x->dim[1] % (b * b) == 0 &&
		       psgi_mul_i64(x->dim[2], b, &out.dim[2]) &&
		       psgi_mul_i64(x->dim[3], b, &out.dim[3]);
	else
		fits = b > 0 && x->dim[2] % b == 0 && x->dim[3] % b == 0 &&
		       psgi_mul_i64(x->dim[1], b * b, &out.dim[1]);
	if (!fits)
		return psgi_fail(error, PSG_INVALID,
				 "%s: %s does not divide into blocks of %" PRId64,
				 psgi_call_name(call), psgi_shape_text(x, text), b);
	if (call->kind == PSG_OP_DEPTH_TO_SPACE) {
		out.dim[1] = x->dim[1] / (b * b);
	} else {
		out.dim[2] = x->dim[2] / b;
		out.dim[3] = x->dim[3] / b;
	}
	return psgi_out(call, 0, call->in[0].dtype, &out, error);
}

PSGI_PLAIN_COST(depth)

void psgi_depth_walk(const psgi_call *call, psgi_walk *walk)
{
	static const int32_t dcr[] = { 0, 3, 4, 1, 5, 2 }, crd[] = { 0, 1, 4, 2, 5, 3 };
	static const int32_t to_depth[] = { 0, 3, 5, 1, 2, 4 };
	const psgi_view *in = &call->in[0];
	const int64_t *x = in->shape.dim;
	int64_t b = call->params->depth.block;
	bool column_row_depth = call->params->depth.column_row_depth;
	const int64_t dims_dcr[] = { x[0], b, b, x[1] / (b * b), x[2], x[3] };
	const int64_t dims_crd[] = { x[0], x[1] / (b * b), b, b, x[2], x[3] };
	const int64_t dims_to[] = { x[0], x[1], x[2] / b, b, x[3] / b, b };

	if (call->kind == PSG_OP_SPACE_TO_DEPTH)
		psgi_permute_walk(6, dims_to, to_depth, walk);
	else if (column_row_depth)
		psgi_permute_walk(6, dims_crd, crd, walk);
	else
		psgi_permute_walk(6, dims_dcr, dcr, walk);
}

psg_status psgi_depth_ref(const psgi_call *call, psg_error *error)
{
	psgi_walk walk;

	(void)error;
	psgi_depth_walk(call, &walk);
	psgi_walk_copy(&walk, call->out[0].data, call->in[0].data,
		       psg_dtype_size(call->in[0].dtype));
	return PSG_OK;
}

psg_status psgi_sequence_shape(psgi_call *call, psg_error *error)
{
	const psg_shape *x = &call->in[0].shape;
	int64_t height = call->params->sequence.height;
	char text[PSGI_SHAPE_TEXT];
	bool to_seq = call->kind == PSG_OP_CHW_TO_SEQ;
	psg_shape out;
	psg_status status = psgi_need_rank(call, 0, to_seq ? 4 : 3, to_seq ? 4 : 3, error);

	if (status != PSG_OK)
		return status;
	if (to_seq) {
		/* Both are within the element limit, unless the other dimensions are 0. */
		out = PSG_SHAPE(x->dim[0], 0, x->dim[1]);
		if (!psgi_mul_i64(x->dim[2], x->dim[3], &out.dim[1]))
			return psgi_fail(error, PSG_INVALID, "chw_to_seq: %s is too large",
					 psgi_shape_text(x, text));
		return psgi_out(call, 0, call->in[0].dtype, &out, error);
	}
	height = height == 0 ? 1 : height;
	if (height < 1 || x->dim[1] % height != 0)
		return psgi_fail(error, PSG_INVALID,
				 "seq_to_chw: the %" PRId64 " steps of %s do not make %" PRId64
				 " rows",
				 x->dim[1], psgi_shape_text(x, text), height);
	out = PSG_SHAPE(x->dim[0], x->dim[2], height, x->dim[1] / height);
	return psgi_out(call, 0, call->in[0].dtype, &out, error);
}

PSGI_PLAIN_COST(sequence)

psg_status psgi_sequence_ref(const psgi_call *call, psg_error *error)
{
	static const int32_t swap[] = { 0, 2, 1 };
	const psgi_view *in = &call->in[0];
	const int64_t *x = in->shape.dim;
	bool to_seq = call->kind == PSG_OP_CHW_TO_SEQ;
	const int64_t dims[] = { x[0], x[1], to_seq ? x[2] * x[3] : x[2] };

	(void)error;
	psgi_permute(call->out[0].data, in->data, psg_dtype_size(in->dtype), 3, dims, swap);
	return PSG_OK;
}
