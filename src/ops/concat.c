/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors put together along an axis, taken apart, and one put into another. */
#include "config.h"

#include "ops/family.h"

#include <inttypes.h>
#include <string.h>

/* Do the shapes of inputs 0 and `index` agree but for `axis`, and their types? */
static psg_status agrees(const psgi_call *call, size_t index, int32_t axis, psg_error *error)
{
	const psg_shape *a = &call->in[0].shape, *b = &call->in[index].shape;
	char text_a[PSGI_SHAPE_TEXT], text_b[PSGI_SHAPE_TEXT];
	bool same;

	if (!psgi_has_input(call, index))
		return psgi_fail(error, PSG_INVALID, "%s: input %zu is missing",
				 psgi_call_name(call), index);
	if (call->in[index].dtype != call->in[0].dtype)
		return psgi_fail(error, PSG_INVALID,
				 "%s: input %zu and input 0 have different element types",
				 psgi_call_name(call), index);
	same = a->rank == b->rank;
	for (int32_t i = 0; i < a->rank && same; i++)
		same = i == axis || a->dim[i] == b->dim[i];
	if (!same)
		return psgi_fail(error, PSG_INVALID,
				 "%s: input %zu %s and input 0 %s differ beside axis %" PRId32,
				 psgi_call_name(call), index, psgi_shape_text(b, text_b),
				 psgi_shape_text(a, text_a), axis);
	return PSG_OK;
}

psg_status psgi_concat_shape(psgi_call *call, psg_error *error)
{
	const psg_concat_params *p = &call->params->concat;
	psg_shape out = call->in[0].shape;
	char text_a[PSGI_SHAPE_TEXT], text_b[PSGI_SHAPE_TEXT];
	int32_t axis = 0;
	psg_status status = psgi_axis(call, p->axis, out.rank, &axis, error);

	for (size_t i = 1; i < call->n_in && status == PSG_OK; i++) {
		status = agrees(call, i, axis, error);
		/* 16 inputs of at most 2^33: no overflow. */
		if (status == PSG_OK && call->kind == PSG_OP_CONCAT)
			out.dim[axis] += call->in[i].shape.dim[axis];
	}
	if (status == PSG_OK && call->kind == PSG_OP_COPY_PART &&
	    (p->offset < 0 || p->offset > out.dim[axis] - call->in[1].shape.dim[axis]))
		status = psgi_fail(error, PSG_INVALID,
				   "copy_part: %s does not fit into %s at %" PRId64
				   " along axis %" PRId32,
				   psgi_shape_text(&call->in[1].shape, text_b),
				   psgi_shape_text(&out, text_a), p->offset, axis);
	return status == PSG_OK ? psgi_out(call, 0, call->in[0].dtype, &out, error) : status;
}

PSGI_PLAIN_COST(concat)

/* Copies all of `part` to or from place `at` of `whole` along `axis`. */
static void exchange(const psgi_view *whole, const psgi_view *part, int32_t axis, int64_t at,
		     bool into_whole)
{
	psgi_walk walk = { .rank = whole->shape.rank, .operands = 2 };
	int32_t w = into_whole ? 0 : 1;

	psgi_strides(&whole->shape, walk.step[w]);
	psgi_strides(&part->shape, walk.step[1 - w]);
	for (int32_t i = 0; i < walk.rank; i++)
		walk.dim[i] = part->shape.dim[i];
	walk.at[w] = at * walk.step[w][axis];
	psgi_walk_copy(&walk, into_whole ? whole->data : part->data,
		       into_whole ? part->data : whole->data, psg_dtype_size(whole->dtype));
}

psg_status psgi_concat_ref(const psgi_call *call, psg_error *error)
{
	const psg_concat_params *p = &call->params->concat;
	const psgi_view *out = &call->out[0];
	int32_t axis = p->axis < 0 ? p->axis + out->shape.rank : p->axis;
	int64_t at = 0;

	(void)error;
	if (call->kind == PSG_OP_COPY_PART) {
		size_t n = (size_t)psg_shape_elements(&out->shape);

		if (n > 0)
			memcpy(out->data, call->in[0].data, n * psg_dtype_size(out->dtype));
		exchange(out, &call->in[1], axis, p->offset, true);
		return PSG_OK;
	}
	for (size_t i = 0; i < call->n_in; i++) {
		exchange(out, &call->in[i], axis, at, true);
		at += call->in[i].shape.dim[axis];
	}
	return PSG_OK;
}

/* The sizes along the axis: as given, or equal parts. */
static psg_status sizes_of(const psgi_call *call, int64_t dim, int64_t *size, psg_error *error)
{
	const psg_split_params *p = &call->params->split;
	int64_t n = (int64_t)call->n_out, sum = 0;
	bool given = false;

	if (n < 1 || (p->n != 0 && p->n != n))
		return psgi_fail(error, PSG_INVALID,
				 "split: %zu outputs are wanted of a split in %" PRId32,
				 call->n_out, p->n);
	for (int64_t i = 0; i < n; i++)
		given = given || p->size[i] != 0;
	if (!given && n > 0 && dim % n != 0)
		return psgi_fail(error, PSG_INVALID,
				 "split: %" PRId64 " does not divide into %" PRId64 " equal parts",
				 dim, n);
	for (int64_t i = 0; i < n; i++) {
		size[i] = given ? p->size[i] : dim / n;
		if (size[i] < 0 || size[i] > dim)
			return psgi_fail(error, PSG_INVALID,
					 "split: part %" PRId64 " of %" PRId64
					 " is not within 0..%" PRId64,
					 i, size[i], dim);
		sum += size[i];
	}
	if (sum != dim)
		return psgi_fail(error, PSG_INVALID,
				 "split: the parts sum to %" PRId64 ", the dimension is %" PRId64,
				 sum, dim);
	return PSG_OK;
}

psg_status psgi_split_shape(psgi_call *call, psg_error *error)
{
	psg_shape out = call->in[0].shape;
	int64_t size[PSG_MAX_OUTPUTS];
	int32_t axis = 0;
	psg_status status = psgi_axis(call, call->params->split.axis, out.rank, &axis, error);

	if (status == PSG_OK)
		status = sizes_of(call, out.dim[axis], size, error);
	for (size_t i = 0; i < call->n_out && status == PSG_OK; i++) {
		out.dim[axis] = size[i];
		status = psgi_out(call, i, call->in[0].dtype, &out, error);
	}
	return status;
}

PSGI_PLAIN_COST(split)

psg_status psgi_split_ref(const psgi_call *call, psg_error *error)
{
	const psgi_view *in = &call->in[0];
	int32_t axis = call->params->split.axis;
	int64_t at = 0;

	(void)error;
	axis = axis < 0 ? axis + in->shape.rank : axis;
	for (size_t i = 0; i < call->n_out; i++) {
		exchange(in, &call->out[i], axis, at, false);
		at += call->out[i].shape.dim[axis];
	}
	return PSG_OK;
}
