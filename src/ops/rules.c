/* SPDX-License-Identifier: Apache-2.0 */
/* The checks and the shape arithmetic that the shape rules of all families are made of. */
#include "config.h"

#include "ops/family.h"

#include <inttypes.h>

static const char *dtype_name(psg_dtype dtype)
{
	return dtype == PSG_I64 ? "I64" : "F32";
}

psg_status psgi_need_dtype(const psgi_call *call, size_t index, psg_dtype dtype, psg_error *error)
{
	if (call->in[index].dtype == dtype)
		return PSG_OK;
	return psgi_fail(error, PSG_UNSUPPORTED, "%s: input %zu is %s, only %s is supported",
			 psgi_call_name(call), index, dtype_name(call->in[index].dtype),
			 dtype_name(dtype));
}

psg_status psgi_need_rank(const psgi_call *call, size_t index, int32_t least, int32_t most,
			  psg_error *error)
{
	const psg_shape *shape = &call->in[index].shape;
	char text[PSGI_SHAPE_TEXT];

	if (shape->rank >= least && shape->rank <= most)
		return PSG_OK;
	return psgi_fail(error, PSG_INVALID,
			 "%s: input %zu %s has rank %" PRId32 ", %" PRId32 " to %" PRId32
			 " is wanted",
			 psgi_call_name(call), index, psgi_shape_text(shape, text), shape->rank,
			 least, most);
}

psg_status psgi_need_vector(const psgi_call *call, size_t index, int64_t n, psg_error *error)
{
	const psg_shape *shape = &call->in[index].shape;
	char text[PSGI_SHAPE_TEXT];

	if (shape->rank == 1 && shape->dim[0] == n)
		return PSG_OK;
	return psgi_fail(error, PSG_INVALID, "%s: input %zu is %s, [%" PRId64 "] is wanted",
			 psgi_call_name(call), index, psgi_shape_text(shape, text), n);
}

psg_status psgi_axis(const psgi_call *call, int32_t axis, int32_t rank, int32_t *out,
		     psg_error *error)
{
	if (axis < -rank || axis >= rank)
		return psgi_fail(error, PSG_INVALID,
				 "%s: axis %" PRId32 " is outside -%" PRId32 "..%" PRId32,
				 psgi_call_name(call), axis, rank, rank - 1);
	*out = axis < 0 ? axis + rank : axis;
	return PSG_OK;
}

psg_status psgi_out(psgi_call *call, size_t index, psg_dtype dtype, const psg_shape *shape,
		    psg_error *error)
{
	psg_status status = psgi_shape_check(shape, error);

	if (status != PSG_OK) {
		psgi_error_prefix(error, "%s: output %zu", psgi_call_name(call), index);
		return status;
	}
	call->out[index].dtype = dtype;
	call->out[index].shape = *shape;
	return PSG_OK;
}

psg_status psgi_broadcast(const psgi_call *call, const psg_shape *a, const psg_shape *b,
			  psg_shape *out, psg_error *error)
{
	char text_a[PSGI_SHAPE_TEXT], text_b[PSGI_SHAPE_TEXT];
	psg_shape shape = { .rank = a->rank > b->rank ? a->rank : b->rank };

	for (int32_t i = 0; i < shape.rank; i++) {
		int32_t ia = i - (shape.rank - a->rank), ib = i - (shape.rank - b->rank);
		int64_t da = ia < 0 ? 1 : a->dim[ia], db = ib < 0 ? 1 : b->dim[ib];

		if (da != db && da != 1 && db != 1)
			return psgi_fail(error, PSG_INVALID,
					 "%s: %s and %s do not broadcast: %" PRId64
					 " against %" PRId64,
					 psgi_call_name(call), psgi_shape_text(a, text_a),
					 psgi_shape_text(b, text_b), da, db);
		shape.dim[i] = da == 1 ? db : da;
	}
	*out = shape;
	return PSG_OK;
}

int64_t psgi_to_i64(double value)
{
	if (value != value)
		return 0;
	/* Comparisons with 2^63, which is a double; INT64_MAX is none. */
	if (value >= 9223372036854775808.0)
		return INT64_MAX;
	return value <= -9223372036854775808.0 ? INT64_MIN : (int64_t)value;
}

int64_t psgi_product(const psg_shape *shape, int32_t from, int32_t to)
{
	int64_t n = 1;

	for (int32_t i = from; i < to; i++)
		n *= shape->dim[i];
	return n;
}

void psgi_strides(const psg_shape *shape, int64_t *strides)
{
	int64_t n = 1;

	for (int32_t i = shape->rank - 1; i >= 0; i--) {
		strides[i] = n;
		n *= shape->dim[i];
	}
}

void psgi_broadcast_strides(const psg_shape *shape, const psg_shape *out, int64_t *strides)
{
	int64_t n = 1;

	for (int32_t i = out->rank - 1; i >= 0; i--) {
		int32_t at = i - (out->rank - shape->rank);

		strides[i] = at < 0 || shape->dim[at] == 1 ? 0 : n;
		n *= at < 0 ? 1 : shape->dim[at];
	}
}
