/* SPDX-License-Identifier: Apache-2.0 */
/* Shapes as tensors, tensors from nothing, and conversions between element types. */
#include "config.h"

#include "ops/family.h"

#include <inttypes.h>
#include <math.h>

/* The dimensions start..end that `shape` asks for, clamped as ONNX does. */
static void range_of(const psgi_call *call, int32_t *from, int32_t *to)
{
	const psg_shape_params *p = &call->params->shape;
	int32_t rank = call->in[0].shape.rank, end = p->end == 0 ? rank : p->end;

	*from = p->start < 0 ? (p->start < -rank ? 0 : p->start + rank) : p->start;
	*to = end < 0 ? (end < -rank ? 0 : end + rank) : end;
	*from = *from > rank ? rank : *from;
	*to = *to > rank ? rank : *to;
	*to = *to < *from ? *from : *to;
}

psg_status psgi_shape_shape(psgi_call *call, psg_error *error)
{
	psg_shape out = { .rank = 0 };
	int32_t from, to;

	if (call->kind == PSG_OP_SHAPE) {
		range_of(call, &from, &to);
		out = PSG_SHAPE(to - from);
	}
	return psgi_out(call, 0, PSG_I64, &out, error);
}

/* Looks at no element. */
void psgi_shape_cost(const psgi_call *call, psg_cost *cost)
{
	cost->macs = 0;
	cost->bytes = psg_shape_elements(&call->out[0].shape) * (int64_t)sizeof(int64_t);
}

psg_status psgi_shape_ref(const psgi_call *call, psg_error *error)
{
	const psg_shape *x = &call->in[0].shape;
	int64_t *out = call->out[0].data;
	int32_t from, to;

	(void)error;
	if (call->kind == PSG_OP_SIZE) {
		out[0] = psg_shape_elements(x);
		return PSG_OK;
	}
	range_of(call, &from, &to);
	for (int32_t i = from; i < to; i++)
		out[i - from] = x->dim[i];
	return PSG_OK;
}

psg_status psgi_fill_shape(psgi_call *call, psg_error *error)
{
	const psg_fill_params *p = &call->params->fill;
	psg_shape out = p->shape;
	double n;

	if (p->dtype != PSG_F32 && p->dtype != PSG_I64)
		return psgi_fail(error, PSG_INVALID, "%s: %d is no element type",
				 psgi_call_name(call), (int)p->dtype);
	if (call->kind == PSG_OP_RANGE) {
		n = ceil((p->limit - p->start) / p->step);
		if (p->step == 0 || isnan(n) || n > (double)PSG_MAX_ELEMENTS)
			return psgi_fail(error, PSG_INVALID,
					 "range: from %g to %g by %g is not a range of at most "
					 "%" PRId64 " elements",
					 p->start, p->limit, p->step, PSG_MAX_ELEMENTS);
		out = PSG_SHAPE(n > 0 ? (int64_t)n : 0);
	}
	return psgi_out(call, 0, p->dtype, &out, error);
}

PSGI_PLAIN_COST(fill)

psg_status psgi_fill_ref(const psgi_call *call, psg_error *error)
{
	const psg_fill_params *p = &call->params->fill;
	bool range = call->kind == PSG_OP_RANGE;
	int64_t n = psg_shape_elements(&call->out[0].shape);

	(void)error;
	for (int64_t i = 0; i < n; i++) {
		double v = range ? p->start + (double)i * p->step : p->value;

		if (p->dtype == PSG_I64)
			((int64_t *)call->out[0].data)[i] = psgi_to_i64(v);
		else
			((float *)call->out[0].data)[i] = (float)v;
	}
	return PSG_OK;
}

psg_status psgi_cast_shape(psgi_call *call, psg_error *error)
{
	psg_dtype to = PSG_I64;
	psg_status status = PSG_OK;

	if (call->kind == PSG_OP_NOT)
		status = psgi_need_dtype(call, 0, PSG_I64, error);
	else
		to = call->params->cast.to;
	if (to != PSG_F32 && to != PSG_I64)
		return psgi_fail(error, PSG_INVALID, "cast: %d is no element type", (int)to);
	return status == PSG_OK ? psgi_out(call, 0, to, &call->in[0].shape, error) : status;
}

PSGI_PLAIN_COST(cast)

static int64_t clamp_int32(int64_t v)
{
	return v < INT32_MIN ? INT32_MIN : v > INT32_MAX ? INT32_MAX : v;
}

static int64_t cast_float(const psg_cast_params *p, float v)
{
	if (p->to_bool)
		return v != 0;
	if (p->to_int32)
		return clamp_int32(psgi_to_i64((double)v));
	return psgi_to_i64((double)v);
}

static int64_t cast_integer(const psg_cast_params *p, int64_t v)
{
	if (p->to_bool)
		return v != 0;
	/* The low 32 bits, sign extended, by arithmetic that C defines. */
	if (p->to_int32)
		return (int64_t)(((uint64_t)v + UINT64_C(0x80000000)) & UINT32_MAX) -
		       INT64_C(0x80000000);
	return v;
}

psg_status psgi_cast_ref(const psgi_call *call, psg_error *error)
{
	const psg_cast_params *p = &call->params->cast;
	const psgi_view *in = &call->in[0];
	int64_t n = psg_shape_elements(&in->shape);
	const int64_t *integers = in->data;
	const float *floats = in->data;
	int64_t *to = call->out[0].data;
	float *to_floats = call->out[0].data;

	(void)error;
	for (int64_t i = 0; i < n; i++) {
		if (call->kind == PSG_OP_NOT)
			to[i] = integers[i] == 0;
		else if (in->dtype == PSG_F32 && p->to == PSG_F32)
			to_floats[i] = p->to_bool ? (float)(floats[i] != 0) : floats[i];
		else if (in->dtype == PSG_F32)
			to[i] = cast_float(p, floats[i]);
		else if (p->to == PSG_I64)
			to[i] = cast_integer(p, integers[i]);
		else
			to_floats[i] = (float)integers[i];
	}
	return PSG_OK;
}
