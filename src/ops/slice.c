/* SPDX-License-Identifier: Apache-2.0 */
/* Slices with ONNX's clamping, and the columns of an image. */
#include "config.h"

#include "ops/family.h"

#include <inttypes.h>

typedef struct part {
	int64_t start, step, n;
} part;

static int64_t clamp(int64_t v, int64_t low, int64_t high)
{
	return v < low ? low : v > high ? high : v;
}

/* A negative index counts from the end.  No overflow: the signs differ. */
static int64_t from_end(int64_t v, int64_t dim)
{
	return v < 0 ? v + dim : v;
}

static part part_of(int64_t start, int64_t end, int64_t step, int64_t dim)
{
	part p = { .n = 0 };

	start = from_end(start, dim);
	end = from_end(end, dim);
	/* A longer step reaches no second element either, and this one cannot overflow. */
	p.step = step == 0 ? 1 : clamp(step, -dim - 1, dim + 1);
	if (p.step > 0) {
		p.start = clamp(start, 0, dim);
		end = clamp(end, 0, dim);
		p.n = end > p.start ? (end - p.start - 1) / p.step + 1 : 0;
	} else {
		p.start = clamp(start, -1, dim - 1);
		end = clamp(end, -1, dim - 1);
		p.n = p.start > end ? (p.start - end - 1) / -p.step + 1 : 0;
	}
	return p;
}

static psg_status parts_of(const psgi_call *call, part *parts, psg_error *error)
{
	const psg_slice_params *p = &call->params->slice;
	const psg_shape *x = &call->in[0].shape;
	bool seen[PSG_MAX_RANK] = { false };
	int32_t axis = 0;

	for (int32_t i = 0; i < x->rank; i++)
		parts[i] = (part){ 0, 1, x->dim[i] };
	if (call->kind == PSG_OP_CROP_COLS) {
		psg_status status = psgi_need_rank(call, 0, 1, PSG_MAX_RANK, error);

		if (status == PSG_OK)
			parts[x->rank - 1] =
				part_of(p->start[0], p->end[0], 1, x->dim[x->rank - 1]);
		return status;
	}
	if (p->n_axes < 0 || p->n_axes > PSG_MAX_RANK)
		return psgi_fail(error, PSG_INVALID,
				 "slice: %" PRId32 " axes, at most %d are possible", p->n_axes,
				 PSG_MAX_RANK);
	for (int32_t i = 0; i < p->n_axes; i++) {
		psg_status status = psgi_axis(call, p->axes[i], x->rank, &axis, error);

		if (status != PSG_OK)
			return status;
		if (seen[axis])
			return psgi_fail(error, PSG_INVALID,
					 "slice: axis %" PRId32 " is named twice", axis);
		seen[axis] = true;
		parts[axis] = part_of(p->start[i], p->end[i], p->step[i], x->dim[axis]);
	}
	return PSG_OK;
}

psg_status psgi_slice_shape(psgi_call *call, psg_error *error)
{
	psg_shape out = { .rank = call->in[0].shape.rank };
	part parts[PSG_MAX_RANK];
	psg_status status = parts_of(call, parts, error);

	for (int32_t i = 0; i < out.rank && status == PSG_OK; i++)
		out.dim[i] = parts[i].n;
	return status == PSG_OK ? psgi_out(call, 0, call->in[0].dtype, &out, error) : status;
}

PSGI_PLAIN_COST(slice)

psg_status psgi_slice_walk(const psgi_call *call, psgi_walk *walk, psg_error *error)
{
	const psgi_view *in = &call->in[0];
	part parts[PSG_MAX_RANK];
	psg_status status = parts_of(call, parts, error);

	if (status != PSG_OK)
		return status;
	*walk = (psgi_walk){ .rank = in->shape.rank, .operands = 2 };
	psgi_strides(&call->out[0].shape, walk->step[0]);
	psgi_strides(&in->shape, walk->step[1]);
	for (int32_t i = 0; i < walk->rank; i++) {
		walk->dim[i] = parts[i].n;
		/* One element or none: its step is never taken. */
		walk->at[1] += parts[i].n > 0 ? parts[i].start * walk->step[1][i] : 0;
		walk->step[1][i] *= parts[i].n > 1 ? parts[i].step : 1;
	}
	return PSG_OK;
}

psg_status psgi_slice_ref(const psgi_call *call, psg_error *error)
{
	psgi_walk walk;
	psg_status status = psgi_slice_walk(call, &walk, error);

	if (status == PSG_OK)
		psgi_walk_copy(&walk, call->out[0].data, call->in[0].data,
			       psg_dtype_size(call->in[0].dtype));
	return status;
}
