/* SPDX-License-Identifier: Apache-2.0 */
/* Transposed convolution: each output row gathers the input rows that reach it. */
#include "config.h"

#include "ops/family.h"

#include <inttypes.h>
#include <stdlib.h>

static int64_t groups_of(const psgi_call *call)
{
	return call->params->conv.groups == 0 ? 1 : call->params->conv.groups;
}

psg_status psgi_conv_transpose_shape(psgi_call *call, psg_error *error)
{
	const psg_shape *x = &call->in[0].shape, *w = &call->in[1].shape;
	char text_x[PSGI_SHAPE_TEXT], text_w[PSGI_SHAPE_TEXT];
	int64_t groups = groups_of(call);
	psgi_geometry g;
	psg_shape shape;
	psg_status status = PSG_OK;

	for (size_t i = 0; i < call->n_in && status == PSG_OK; i++)
		if (psgi_has_input(call, i))
			status = psgi_need_dtype(call, i, PSG_F32, error);
	if (status == PSG_OK)
		status = psgi_need_rank(call, 0, 3, 2 + PSG_MAX_SPATIAL, error);
	if (status == PSG_OK)
		status = psgi_need_rank(call, 1, x->rank, x->rank, error);
	if (status != PSG_OK)
		return status;
	if (groups < 1 || x->dim[1] != w->dim[0] || x->dim[1] % groups != 0)
		return psgi_fail(error, PSG_INVALID,
				 "conv_transpose: input %s has %" PRId64
				 " channels, weights %s in %" PRId64 " groups want %" PRId64,
				 psgi_shape_text(x, text_x), x->dim[1], psgi_shape_text(w, text_w),
				 groups, w->dim[0]);
	shape.dim[1] = 0;
	if (!psgi_mul_i64(w->dim[1], groups, &shape.dim[1]))
		return psgi_fail(error, PSG_INVALID,
				 "conv_transpose: weights %s in %" PRId64 " groups",
				 psgi_shape_text(w, text_w), groups);
	if (psgi_has_input(call, 2))
		status = psgi_need_vector(call, 2, shape.dim[1], error);
	if (status == PSG_OK)
		status = psgi_geometry_of(call, &g, error);
	if (status != PSG_OK)
		return status;
	shape = psgi_geometry_shape(&g, x->dim[0], shape.dim[1]);
	return psgi_out(call, 0, PSG_F32, &shape, error);
}

void psgi_conv_transpose_cost(const psgi_call *call, psg_cost *cost)
{
	const psg_shape *w = &call->in[1].shape;

	psgi_plain_cost(call, cost);
	cost->macs =
		psgi_mul_most(psg_shape_elements(&call->in[0].shape), psgi_product(w, 1, w->rank));
}

/* The input index that tap k carries to output o, or -1. */
static int64_t source(const psgi_geometry *g, int32_t i, int64_t o, int64_t k, int64_t limit)
{
	int64_t at = o + g->pad_begin[i] - k * g->dilation[i];

	if (at < 0 || at % g->stride[i] != 0 || at / g->stride[i] >= limit)
		return -1;
	return at / g->stride[i];
}

/* Adds one input row times one tap: input column i goes to output i * stride + shift. */
static void add_row(double *sums, const float *x, double w, int64_t stride, int64_t shift,
		    int64_t in, int64_t out)
{
	int64_t from = shift >= 0 ? 0 : (-shift + stride - 1) / stride;
	int64_t end = out > shift ? (out - shift + stride - 1) / stride : 0;

	end = end < in ? end : in;
	for (int64_t i = from; i < end; i++)
		sums[i * stride + shift] += w * (double)x[i];
}

/* One output row of one output channel: x is the group's first channel, w its first tap for this
 * output channel, w_step from one input channel's taps to the next. */
static void output_row(const psgi_geometry *g, const int64_t *limit, const float *x,
		       int64_t channels, const float *w, int64_t w_step, int64_t row, double *sums)
{
	for (int64_t k = 0; k < g->kernel[0] * g->kernel[1]; k++) {
		int64_t d = source(g, 0, row / g->out[1], k / g->kernel[1], limit[0]);
		int64_t h = source(g, 1, row % g->out[1], k % g->kernel[1], limit[1]);

		if (d < 0 || h < 0)
			continue;
		for (int64_t c = 0; c < channels; c++) {
			const float *from = x + ((c * g->in[0] + d) * g->in[1] + h) * g->in[2];
			const float *taps = w + c * w_step + k * g->kernel[2];

			for (int64_t kw = 0; kw < g->kernel[2]; kw++)
				add_row(sums, from, taps[kw], g->stride[2],
					kw * g->dilation[2] - g->pad_begin[2], limit[2], g->out[2]);
		}
	}
}

static void sample(const psgi_call *call, const psgi_geometry *g, int64_t n, double *sums)
{
	const psg_shape *x = &call->in[0].shape, *w = &call->in[1].shape;
	int64_t groups = groups_of(call), m = w->dim[1], channels = x->dim[1] / groups;
	int64_t taps = psgi_product(w, 2, w->rank), plane = psgi_product(x, 2, x->rank);
	int64_t limit[PSG_MAX_SPATIAL], rows = g->out[0] * g->out[1];
	const float *bias = psgi_has_input(call, 2) ? call->in[2].data : NULL;
	const float *in = (const float *)call->in[0].data + n * x->dim[1] * plane;
	const float *weights = call->in[1].data;
	float *out = (float *)call->out[0].data + n * groups * m * rows * g->out[2];

	psgi_geometry_limits(g, &call->in[0], n, limit);
	for (int64_t o = 0; o < groups * m; o++) {
		int64_t first = o / m * channels;

		for (int64_t row = 0; row < rows; row++) {
			for (int64_t i = 0; i < g->out[2]; i++)
				sums[i] = bias != NULL ? (double)bias[o] : 0;
			output_row(g, limit, in + first * plane, channels,
				   weights + (first * m + o % m) * taps, m * taps, row, sums);
			for (int64_t i = 0; i < g->out[2]; i++)
				*out++ = (float)sums[i];
		}
	}
}

psg_status psgi_conv_transpose_ref(const psgi_call *call, psg_error *error)
{
	psgi_geometry g;
	psg_status status = psgi_geometry_of(call, &g, error);
	double *sums;

	if (status != PSG_OK)
		return status;
	sums = malloc(((size_t)g.out[2] + 1) * sizeof(*sums));
	if (sums == NULL)
		return psgi_fail(error, PSG_NOMEM,
				 "conv_transpose: no memory for a row of %" PRId64, g.out[2]);
	for (int64_t n = 0; n < call->in[0].shape.dim[0]; n++)
		sample(call, &g, n, sums);
	free(sums);
	return PSG_OK;
}
