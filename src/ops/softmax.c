/* SPDX-License-Identifier: Apache-2.0 */
/* Softmax and its logarithm along an axis; columns past the valid width have no part in it. */
#include "config.h"

#include "ops/family.h"

#include <math.h>

/* ONNX before opset 13 names the split and allows it behind the last dimension. */
static psg_status axis_of(const psgi_call *call, int32_t *axis, psg_error *error)
{
	const psg_softmax_params *p = &call->params->softmax;
	int32_t rank = call->in[0].shape.rank;

	if (p->flatten && p->axis == rank) {
		*axis = rank;
		return PSG_OK;
	}
	return psgi_axis(call, p->axis, rank, axis, error);
}

psg_status psgi_softmax_shape(psgi_call *call, psg_error *error)
{
	int32_t axis;
	psg_status status = psgi_need_dtype(call, 0, PSG_F32, error);

	if (status == PSG_OK)
		status = axis_of(call, &axis, error);
	return status == PSG_OK ? psgi_out(call, 0, PSG_F32, &call->in[0].shape, error) : status;
}

PSGI_PLAIN_COST(softmax)

/*
 * One group: `len` elements `step` apart, of which those count whose column,
 * (i / inner) % columns, is below `valid`.
 */
typedef struct run {
	const float *x;
	float *y;
	int64_t len, step, inner, columns, valid;
} run;

static bool counts(const run *r, int64_t i)
{
	return r->valid == r->columns || i / r->inner % r->columns < r->valid;
}

static void normalise(const run *r, bool logarithm)
{
	double peak = -INFINITY, sum = 0;

	for (int64_t i = 0; i < r->len; i++)
		if (counts(r, i) && !((double)r->x[i * r->step] <= peak))
			peak = r->x[i * r->step];
	for (int64_t i = 0; i < r->len; i++)
		if (counts(r, i))
			sum += exp((double)r->x[i * r->step] - peak);
	for (int64_t i = 0; i < r->len; i++) {
		double v;

		if (!counts(r, i)) {
			r->y[i * r->step] = 0;
			continue;
		}
		v = (double)r->x[i * r->step] - peak;
		r->y[i * r->step] = (float)(logarithm ? v - log(sum) : exp(v) / sum);
	}
}

/* Whether the valid width lies among the normalised dimensions, and how its columns repeat. */
static bool cuts(const psgi_view *in, int32_t axis, bool flatten, run *r)
{
	int32_t w = in->valid_axis;

	if (!psgi_masked(in) || w < axis || (!flatten && w != axis))
		return false;
	r->columns = in->shape.dim[w];
	r->inner = flatten ? psgi_product(&in->shape, w + 1, in->shape.rank) : 1;
	return true;
}

psg_status psgi_softmax_ref(const psgi_call *call, psg_error *error)
{
	const psgi_view *in = &call->in[0];
	const psg_shape *x = &in->shape;
	bool flatten = call->params->softmax.flatten;
	run r = { .inner = 1, .columns = 1, .valid = 1 };
	int32_t axis, end;
	int64_t outer, sample;
	psg_status status = axis_of(call, &axis, error);
	bool cut;

	if (status != PSG_OK || psg_shape_elements(x) == 0)
		return status;
	end = flatten ? x->rank : axis + 1;
	cut = cuts(in, axis, flatten, &r);
	outer = psgi_product(x, 0, axis);
	sample = axis > 0 ? psgi_product(x, 1, axis) : 1;
	r.len = psgi_product(x, axis, end);
	r.step = psgi_product(x, end, x->rank);
	r.valid = r.columns;
	for (int64_t i = 0; i < outer; i++) {
		if (cut && axis > 0)
			r.valid = in->valid[i / sample];
		for (int64_t k = 0; k < r.step; k++) {
			r.x = (const float *)in->data + i * r.len * r.step + k;
			r.y = (float *)call->out[0].data + i * r.len * r.step + k;
			normalise(&r, call->kind == PSG_OP_LOG_SOFTMAX);
		}
	}
	return PSG_OK;
}
