/* SPDX-License-Identifier: Apache-2.0 */
/* Resize by the nearest element, with ONNX's coordinates and roundings. */
#include "config.h"

#include "ops/family.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

static bool given(const double *scale, int32_t rank)
{
	for (int32_t i = 0; i < rank; i++)
		if (!(scale[i] > 0))
			return false;
	return true;
}

psg_status psgi_resize_shape(psgi_call *call, psg_error *error)
{
	const psg_resize_params *p = &call->params->resize;
	const psg_shape *x = &call->in[0].shape;
	bool scaled = given(p->scale, x->rank);
	psg_shape out = *x;
	char text[PSGI_SHAPE_TEXT];

	if ((size_t)p->coordinates > PSG_COORD_TF_HALF_PIXEL_FOR_NN ||
	    (size_t)p->nearest > PSG_NEAREST_ROUND_PREFER_CEIL)
		return psgi_fail(error, PSG_INVALID, "interp_nearest: coordinates %d, rounding %d",
				 (int)p->coordinates, (int)p->nearest);
	for (int32_t i = 0; i < x->rank; i++) {
		double size = scaled ? floor((double)x->dim[i] * p->scale[i]) : (double)p->size[i];

		if (!(size >= 0) || size > (double)PSG_MAX_ELEMENTS || (!scaled && size < 1))
			return psgi_fail(error, PSG_INVALID,
					 "interp_nearest: dimension %" PRId32
					 " of %s has scale %g and size %" PRId64
					 ", one for each must be above 0",
					 i, psgi_shape_text(x, text), p->scale[i], p->size[i]);
		out.dim[i] = (int64_t)size;
		if (out.dim[i] > 0 && x->dim[i] == 0)
			return psgi_fail(error, PSG_INVALID,
					 "interp_nearest: dimension %" PRId32
					 " of %s is empty and cannot become %" PRId64,
					 i, psgi_shape_text(x, text), out.dim[i]);
	}
	return psgi_out(call, 0, call->in[0].dtype, &out, error);
}

PSGI_PLAIN_COST(resize)

/* The place in the input of output column o, as ONNX's coordinate modes say. */
static double place(psg_coordinates mode, double o, double scale, int64_t in, int64_t out)
{
	switch (mode) {
	case PSG_COORD_HALF_PIXEL:
		return (o + 0.5) / scale - 0.5;
	case PSG_COORD_PYTORCH_HALF_PIXEL:
		return out > 1 ? (o + 0.5) / scale - 0.5 : 0;
	case PSG_COORD_ALIGN_CORNERS:
		return out > 1 ? o * (double)(in - 1) / (double)(out - 1) : 0;
	case PSG_COORD_TF_HALF_PIXEL_FOR_NN:
		return (o + 0.5) / scale;
	default:
		return o / scale;
	}
}

static double rounded(psg_nearest mode, double v)
{
	switch (mode) {
	case PSG_NEAREST_CEIL:
		return ceil(v);
	case PSG_NEAREST_ROUND_PREFER_FLOOR:
		return ceil(v - 0.5);
	case PSG_NEAREST_ROUND_PREFER_CEIL:
		return floor(v + 0.5);
	default:
		return floor(v);
	}
}

int64_t psgi_resize_source(const psgi_call *call, int32_t axis, int64_t o)
{
	const psg_resize_params *p = &call->params->resize;
	int64_t in = call->in[0].shape.dim[axis], out = call->out[0].shape.dim[axis];
	bool scaled = given(p->scale, call->in[0].shape.rank);
	double scale = scaled ? p->scale[axis] : (double)out / (double)in;
	double at = rounded(p->nearest, place(p->coordinates, (double)o, scale, in, out));

	return at < 0 ? 0 : at > (double)(in - 1) ? in - 1 : (int64_t)at;
}

psg_status psgi_resize_ref(const psgi_call *call, psg_error *error)
{
	const psgi_view *in = &call->in[0], *out = &call->out[0];
	int64_t *table[PSG_MAX_RANK];

	if (!psgi_tables(&out->shape, table))
		return psgi_fail(error, PSG_NOMEM, "interp_nearest: no memory for its tables");
	for (int32_t i = 0; i < out->shape.rank; i++)
		for (int64_t o = 0; o < out->shape.dim[i]; o++)
			table[i][o] = psgi_resize_source(call, i, o);
	psgi_table_copy(out->data, &out->shape, in->data, &in->shape, table,
			psg_dtype_size(in->dtype), NULL);
	free(table[0]);
	return PSG_OK;
}
