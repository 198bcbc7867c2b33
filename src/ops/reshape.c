/* SPDX-License-Identifier: Apache-2.0 */
/* Reshape, flatten, squeeze and unsqueeze: the same elements under another shape. */
#include "config.h"

#include "ops/family.h"

#include <inttypes.h>
#include <string.h>

static psg_status reshape(const psgi_call *call, psg_shape *out, psg_error *error)
{
	const psg_reshape_params *p = &call->params->reshape;
	const psg_shape *x = &call->in[0].shape;
	char text_x[PSGI_SHAPE_TEXT], text[PSGI_SHAPE_TEXT];
	int64_t n = psg_shape_elements(x), known = 1;
	int32_t left = -1;

	if (p->shape.rank < 0 || p->shape.rank > PSG_MAX_RANK)
		return psgi_fail(error, PSG_INVALID,
				 "reshape: rank %" PRId32 " is not within 0..%d", p->shape.rank,
				 PSG_MAX_RANK);
	*out = p->shape;
	psgi_shape_text(x, text_x);
	psgi_shape_text(&p->shape, text);
	for (int32_t i = 0; i < out->rank; i++) {
		if (out->dim[i] == 0 && !p->allow_zero) {
			if (i >= x->rank)
				return psgi_fail(error, PSG_INVALID,
						 "reshape: %s copies dimension %" PRId32
						 " that the input %s does not have",
						 text, i, text_x);
			out->dim[i] = x->dim[i];
		}
		if (out->dim[i] < -1 || (out->dim[i] == -1 && left >= 0))
			return psgi_fail(error, PSG_INVALID,
					 "reshape: %s has a negative dimension, one -1 is possible",
					 text);
		if (out->dim[i] == -1)
			left = i;
		else if (!psgi_mul_i64(known, out->dim[i], &known))
			known = -1;
	}
	if (left >= 0 && known > 0)
		out->dim[left] = n / known;
	/* With a zero beside the -1 any number would fit: numpy refuses that too. */
	if (known < 0 || (left >= 0 ? known == 0 || n % known != 0 : known != n))
		return psgi_fail(error, PSG_INVALID,
				 "reshape: the %" PRId64 " elements of %s do not fit %s", n, text_x,
				 text);
	return PSG_OK;
}

static psg_status flatten(const psgi_call *call, psg_shape *out, psg_error *error)
{
	const psg_shape *x = &call->in[0].shape;
	int32_t axis = call->params->axes.axes[0];

	/* One past the last dimension is possible. */
	if (axis < -x->rank || axis > x->rank)
		return psgi_fail(error, PSG_INVALID,
				 "flatten: axis %" PRId32 " is outside -%" PRId32 "..%" PRId32,
				 axis, x->rank, x->rank);
	axis = axis < 0 ? axis + x->rank : axis;
	*out = PSG_SHAPE(psgi_product(x, 0, axis), psgi_product(x, axis, x->rank));
	return PSG_OK;
}

/* The set of axes named, of a tensor of `rank` dimensions. */
static psg_status named(const psgi_call *call, int32_t rank, bool *set, psg_error *error)
{
	const psg_axes_params *p = &call->params->axes;
	int32_t axis = 0;

	for (int32_t i = 0; i < p->n_axes; i++) {
		psg_status status = psgi_axis(call, p->axes[i], rank, &axis, error);

		if (status != PSG_OK)
			return status;
		if (set[axis])
			return psgi_fail(error, PSG_INVALID, "%s: axis %" PRId32 " is named twice",
					 psgi_call_name(call), axis);
		set[axis] = true;
	}
	return PSG_OK;
}

static psg_status squeeze(const psgi_call *call, psg_shape *out, psg_error *error)
{
	const psg_shape *x = &call->in[0].shape;
	bool set[PSG_MAX_RANK] = { false }, all = call->params->axes.n_axes == 0;
	char text[PSGI_SHAPE_TEXT];
	psg_status status = named(call, x->rank, set, error);

	out->rank = 0;
	for (int32_t i = 0; i < x->rank && status == PSG_OK; i++) {
		if (set[i] && x->dim[i] != 1)
			return psgi_fail(error, PSG_INVALID,
					 "squeeze: dimension %" PRId32 " of %s is %" PRId64
					 ", not 1",
					 i, psgi_shape_text(x, text), x->dim[i]);
		if (!set[i] && !(all && x->dim[i] == 1))
			out->dim[out->rank++] = x->dim[i];
	}
	return status;
}

static psg_status unsqueeze(const psgi_call *call, psg_shape *out, psg_error *error)
{
	const psg_shape *x = &call->in[0].shape;
	int32_t rank = x->rank + call->params->axes.n_axes, from = 0;
	bool set[PSG_MAX_RANK] = { false };
	char text[PSGI_SHAPE_TEXT];
	psg_status status;

	if (rank > PSG_MAX_RANK)
		return psgi_fail(error, PSG_INVALID,
				 "unsqueeze: %s with %" PRId32 " more dimensions is over rank %d",
				 psgi_shape_text(x, text), call->params->axes.n_axes, PSG_MAX_RANK);
	status = named(call, rank, set, error);
	out->rank = rank;
	for (int32_t i = 0; i < rank && status == PSG_OK; i++)
		out->dim[i] = set[i] ? 1 : x->dim[from++];
	return status;
}

psg_status psgi_reshape_shape(psgi_call *call, psg_error *error)
{
	psg_shape out = { .rank = 0 };
	psg_status status;
	int32_t n_axes = call->kind == PSG_OP_RESHAPE ? 0 : call->params->axes.n_axes;

	if (n_axes < 0 || n_axes > PSG_MAX_RANK)
		return psgi_fail(error, PSG_INVALID,
				 "%s: %" PRId32 " axes, at most %d are possible",
				 psgi_call_name(call), n_axes, PSG_MAX_RANK);
	if (call->kind == PSG_OP_RESHAPE)
		status = reshape(call, &out, error);
	else if (call->kind == PSG_OP_FLATTEN)
		status = flatten(call, &out, error);
	else if (call->kind == PSG_OP_SQUEEZE)
		status = squeeze(call, &out, error);
	else
		status = unsqueeze(call, &out, error);
	return status == PSG_OK ? psgi_out(call, 0, call->in[0].dtype, &out, error) : status;
}

PSGI_PLAIN_COST(reshape)

psg_status psgi_reshape_ref(const psgi_call *call, psg_error *error)
{
	const psgi_view *in = &call->in[0];
	size_t n = (size_t)psg_shape_elements(&in->shape);

	(void)error;
	if (n > 0)
		memcpy(call->out[0].data, in->data, n * psg_dtype_size(in->dtype));
	return PSG_OK;
}
