/* SPDX-License-Identifier: Apache-2.0 */
/* Slices picked by index along one axis. */
#include "config.h"

#include "ops/family.h"

#include <inttypes.h>
#include <string.h>

psg_status psgi_gather_shape(psgi_call *call, psg_error *error)
{
	const psg_shape *x = &call->in[0].shape, *index = &call->in[1].shape;
	psg_shape out = { .rank = 0 };
	char text_x[PSGI_SHAPE_TEXT], text_i[PSGI_SHAPE_TEXT];
	int32_t axis = 0;
	psg_status status = psgi_need_dtype(call, 1, PSG_I64, error);

	if (status == PSG_OK)
		status = psgi_axis(call, call->params->concat.axis, x->rank, &axis, error);
	if (status != PSG_OK)
		return status;
	if (x->rank - 1 + index->rank > PSG_MAX_RANK)
		return psgi_fail(error, PSG_INVALID, "gather: %s by indices %s is over rank %d",
				 psgi_shape_text(x, text_x), psgi_shape_text(index, text_i),
				 PSG_MAX_RANK);
	for (int32_t i = 0; i < axis; i++)
		out.dim[out.rank++] = x->dim[i];
	for (int32_t i = 0; i < index->rank; i++)
		out.dim[out.rank++] = index->dim[i];
	for (int32_t i = axis + 1; i < x->rank; i++)
		out.dim[out.rank++] = x->dim[i];
	return psgi_out(call, 0, call->in[0].dtype, &out, error);
}

void psgi_gather_cost(const psgi_call *call, psg_cost *cost)
{
	int64_t n = psg_shape_elements(&call->out[0].shape);

	/* Reads what it writes, and the indices; not the whole table. */
	cost->macs = 0;
	cost->bytes = 2 * n * (int64_t)psg_dtype_size(call->out[0].dtype) +
		      psg_shape_elements(&call->in[1].shape) * (int64_t)sizeof(int64_t);
}

psg_status psgi_gather_ref(const psgi_call *call, psg_error *error)
{
	const psgi_view *in = &call->in[0];
	int32_t axis = call->params->concat.axis;
	int64_t n = psg_shape_elements(&call->in[1].shape), dim, outer, size;
	const int64_t *index = call->in[1].data;
	const char *from = in->data;
	char *to = call->out[0].data;

	axis = axis < 0 ? axis + in->shape.rank : axis;
	dim = in->shape.dim[axis];
	outer = psgi_product(&in->shape, 0, axis);
	size = psgi_product(&in->shape, axis + 1, in->shape.rank) *
	       (int64_t)psg_dtype_size(in->dtype);
	for (int64_t k = 0; k < n; k++)
		if (index[k] < -dim || index[k] >= dim)
			return psgi_fail(error, PSG_INVALID,
					 "gather: index %" PRId64 " is outside -%" PRId64
					 "..%" PRId64,
					 index[k], dim, dim - 1);
	if (size == 0)
		return PSG_OK;
	for (int64_t i = 0; i < outer; i++) {
		for (int64_t k = 0; k < n; k++) {
			int64_t at = index[k] < 0 ? index[k] + dim : index[k];

			memcpy(to, from + (i * dim + at) * size, (size_t)size);
			to += size;
		}
	}
	return PSG_OK;
}
