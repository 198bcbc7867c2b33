/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolution, and the columns it is made of.  Dense ones are matrix products
 * whose right side is cut out of the image on the fly; with few output channels
 * a group (depthwise) that would not pay, and rows are summed directly.
 */
#include "config.h"

#include "ops/family.h"

#include <inttypes.h>

#define ROW 512 /* doubles of one row buffer: 4 KiB on the stack */

static int64_t groups_of(const psgi_call *call)
{
	return call->params->conv.groups == 0 ? 1 : call->params->conv.groups;
}

psg_status psgi_conv_shape(psgi_call *call, psg_error *error)
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
	psgi_shape_text(x, text_x);
	psgi_shape_text(w, text_w);
	if (groups < 1 || w->dim[0] % groups != 0)
		return psgi_fail(error, PSG_INVALID,
				 "conv: %" PRId64 " output channels of weights %s in %" PRId64
				 " groups",
				 w->dim[0], text_w, groups);
	if (x->dim[1] % groups != 0 || x->dim[1] / groups != w->dim[1])
		return psgi_fail(error, PSG_INVALID,
				 "conv: input %s has %" PRId64 " channels, weights %s in %" PRId64
				 " groups want %" PRId64,
				 text_x, x->dim[1], text_w, groups, w->dim[1] * groups);
	if (psgi_has_input(call, 2))
		status = psgi_need_vector(call, 2, w->dim[0], error);
	if (status == PSG_OK)
		status = psgi_geometry_of(call, &g, error);
	if (status != PSG_OK)
		return status;
	shape = psgi_geometry_shape(&g, x->dim[0], w->dim[0]);
	return psgi_out(call, 0, PSG_F32, &shape, error);
}

void psgi_conv_cost(const psgi_call *call, psg_cost *cost)
{
	const psg_shape *w = &call->in[1].shape;

	psgi_plain_cost(call, cost);
	cost->macs =
		psgi_mul_most(psg_shape_elements(&call->out[0].shape), psgi_product(w, 1, w->rank));
}

/* One sample's channels of one group, seen as columns. */
typedef struct columns {
	const psgi_geometry *g;
	const float *x;                 /* the first channel */
	int64_t limit[PSG_MAX_SPATIAL]; /* what lies past it is zero and not read */
} columns;

/* Output columns [*from, *to) of 0..n whose input column o * stride + shift is within 0..limit. */
static void inside(int64_t shift, int64_t stride, int64_t limit, int64_t *from, int64_t *to)
{
	int64_t first = shift >= 0 ? 0 : (-shift + stride - 1) / stride;
	int64_t end = limit > shift ? (limit - shift + stride - 1) / stride : 0;

	*from = *from > first ? *from : first;
	*to = *to < end ? *to : end;
	*to = *to > *from ? *to : *from;
}

/* One output row's part [o0, o0 + n): the taps (k0, k1, k2) of one channel, zeros outside. */
static void tap_row(const columns *c, const float *channel, const int64_t *k, int64_t o_d,
		    int64_t o_h, int64_t o0, int64_t n, double *to)
{
	const psgi_geometry *g = c->g;
	int64_t d = o_d * g->stride[0] - g->pad_begin[0] + k[0] * g->dilation[0];
	int64_t h = o_h * g->stride[1] - g->pad_begin[1] + k[1] * g->dilation[1];
	int64_t shift = k[2] * g->dilation[2] - g->pad_begin[2], from = o0, end = o0 + n;

	inside(shift, g->stride[2], c->limit[2], &from, &end);
	if (d < 0 || d >= c->limit[0] || h < 0 || h >= c->limit[1] || end <= from)
		from = end = o0 + n;
	for (int64_t o = o0; o < from; o++)
		to[o - o0] = 0;
	channel += from < end ? (d * g->in[1] + h) * g->in[2] + shift : 0;
	for (int64_t o = from; o < end; o++)
		to[o - o0] = channel[o * g->stride[2]];
	for (int64_t o = end; o < o0 + n; o++)
		to[o - o0] = 0;
}

/* Row k of the column matrix [C * kernel, outputs], for the matrix product. */
static void column_row(const void *user, int64_t k, int64_t n0, int64_t count, double *to)
{
	const columns *c = user;
	const psgi_geometry *g = c->g;
	int64_t tap[PSG_MAX_SPATIAL], at = n0, end = n0 + count;
	const float *channel;

	tap[2] = k % g->kernel[2];
	tap[1] = k / g->kernel[2] % g->kernel[1];
	tap[0] = k / (g->kernel[2] * g->kernel[1]) % g->kernel[0];
	channel = c->x +
		  k / (g->kernel[2] * g->kernel[1] * g->kernel[0]) * g->in[0] * g->in[1] * g->in[2];
	while (at < end) {
		int64_t o_w = at % g->out[2], row = at / g->out[2];
		int64_t n = g->out[2] - o_w < end - at ? g->out[2] - o_w : end - at;

		tap_row(c, channel, tap, row / g->out[1], row % g->out[1], o_w, n, to + (at - n0));
		at += n;
	}
}

/* A 1x1 convolution without padding reads the image as it lies. */
static void point_row(const void *user, int64_t k, int64_t n0, int64_t count, double *to)
{
	const columns *c = user;
	const float *x = c->x + k * c->g->in[0] * c->g->in[1] * c->g->in[2] + n0;

	for (int64_t i = 0; i < count; i++)
		to[i] = x[i];
}

static bool is_point(const psgi_geometry *g)
{
	for (int32_t i = 0; i < PSG_MAX_SPATIAL; i++)
		if (g->kernel[i] != 1 || g->stride[i] != 1 || g->pad_begin[i] != 0 ||
		    g->pad_end[i] != 0)
			return false;
	return true;
}

/* sums[o] += w * x[o * stride]: the inner loop of the direct path. */
PSGI_INNER_LOOP static void add_row(double *restrict sums, const float *restrict x, int64_t stride,
				    double w, int64_t n)
{
	if (stride == 1)
		for (int64_t o = 0; o < n; o++)
			sums[o] += w * (double)x[o];
	else
		for (int64_t o = 0; o < n; o++)
			sums[o] += w * (double)x[o * stride];
}

/* All taps of one channel on part [o0, o0 + n) of one output row. */
static void direct_taps(const columns *c, const float *channel, const float *w, int64_t o_d,
			int64_t o_h, int64_t o0, int64_t n, double *sums)
{
	const psgi_geometry *g = c->g;

	for (int64_t k = 0; k < g->kernel[0] * g->kernel[1]; k++) {
		int64_t d =
			o_d * g->stride[0] - g->pad_begin[0] + k / g->kernel[1] * g->dilation[0];
		int64_t h =
			o_h * g->stride[1] - g->pad_begin[1] + k % g->kernel[1] * g->dilation[1];
		int64_t row = (d * g->in[1] + h) * g->in[2];

		if (d < 0 || d >= c->limit[0] || h < 0 || h >= c->limit[1])
			continue;
		for (int64_t kw = 0; kw < g->kernel[2]; kw++) {
			int64_t shift = kw * g->dilation[2] - g->pad_begin[2];
			int64_t from = o0, to = o0 + n;

			inside(shift, g->stride[2], c->limit[2], &from, &to);
			if (to > from)
				add_row(sums + (from - o0),
					channel + row + from * g->stride[2] + shift, g->stride[2],
					w[k * g->kernel[2] + kw], to - from);
		}
	}
}

/* One output channel: `w` its weights, `out` its plane. */
static void direct(const columns *c, int64_t channels, const float *w, double bias, float *out)
{
	const psgi_geometry *g = c->g;
	int64_t plane = g->in[0] * g->in[1] * g->in[2];
	int64_t taps = g->kernel[0] * g->kernel[1] * g->kernel[2];

	for (int64_t row = 0; row < g->out[0] * g->out[1]; row++) {
		for (int64_t o0 = 0; o0 < g->out[2]; o0 += ROW) {
			int64_t n = g->out[2] - o0 < ROW ? g->out[2] - o0 : ROW;
			double sums[ROW];

			for (int64_t i = 0; i < n; i++)
				sums[i] = bias;
			for (int64_t k = 0; k < channels; k++)
				direct_taps(c, c->x + k * plane, w + k * taps, row / g->out[1],
					    row % g->out[1], o0, n, sums);
			for (int64_t i = 0; i < n; i++)
				out[row * g->out[2] + o0 + i] = (float)sums[i];
		}
	}
}

/* One group of one sample. */
static psg_status group(const psgi_call *call, const columns *c, int64_t first, int64_t m,
			float *out, psg_error *error)
{
	const psg_shape *ws = &call->in[1].shape;
	const psgi_geometry *g = c->g;
	int64_t k = psgi_product(ws, 1, ws->rank), n = g->out[0] * g->out[1] * g->out[2];
	const float *bias =
		psgi_has_input(call, 2) ? (const float *)call->in[2].data + first : NULL;
	const float *w = (const float *)call->in[1].data + first * k;
	psgi_gemm gemm = {
		.m = m,
		.n = n,
		.k = k,
		.a = w,
		.a_row = k,
		.a_step = 1,
		.row = is_point(g) ? point_row : column_row,
		.user = c,
		.start = bias,
		.alpha = 1,
		.out = out,
		.out_row = n,
	};

	if (m >= 4) /* a tile of the matrix product */
		return psgi_gemm_run(&gemm, error);
	for (int64_t i = 0; i < m; i++)
		direct(c, ws->dim[1], w + i * k, bias != NULL ? (double)bias[i] : 0, out + i * n);
	return PSG_OK;
}

psg_status psgi_conv_ref(const psgi_call *call, psg_error *error)
{
	const psg_shape *x = &call->in[0].shape;
	int64_t groups = groups_of(call), m = call->in[1].shape.dim[0] / groups;
	int64_t plane = psgi_product(x, 2, x->rank), channels = x->dim[1] / groups;
	psgi_geometry g;
	psg_status status = psgi_geometry_of(call, &g, error);
	columns c = { .g = &g };

	for (int64_t n = 0; n < x->dim[0] && status == PSG_OK; n++) {
		psgi_geometry_limits(&g, &call->in[0], n, c.limit);
		for (int64_t i = 0; i < groups && status == PSG_OK; i++) {
			c.x = (const float *)call->in[0].data +
			      (n * x->dim[1] + i * channels) * plane;
			status =
				group(call, &c, i * m, m,
				      (float *)call->out[0].data +
					      (n * groups + i) * m * g.out[0] * g.out[1] * g.out[2],
				      error);
		}
	}
	return status;
}

psg_status psgi_im2col_shape(psgi_call *call, psg_error *error)
{
	const psg_shape *x = &call->in[0].shape;
	psgi_geometry g;
	psg_shape shape = { .rank = 3, .dim = { x->dim[0], x->dim[1], 1 } };
	psg_status status = psgi_need_dtype(call, 0, PSG_F32, error);

	if (status == PSG_OK)
		status = psgi_need_rank(call, 0, 3, 2 + PSG_MAX_SPATIAL, error);
	if (status == PSG_OK)
		status = psgi_geometry_of(call, &g, error);
	if (status != PSG_OK)
		return status;
	for (int32_t i = 0; i < PSG_MAX_SPATIAL; i++)
		if (!psgi_mul_i64(shape.dim[1], g.kernel[i], &shape.dim[1]) ||
		    !psgi_mul_i64(shape.dim[2], g.out[i], &shape.dim[2]))
			return psgi_fail(error, PSG_INVALID,
					 "im2col: a kernel of %" PRId64 " and %" PRId64
					 " outputs are too many columns",
					 g.kernel[i], g.out[i]);
	return psgi_out(call, 0, PSG_F32, &shape, error);
}

PSGI_PLAIN_COST(im2col)

psg_status psgi_im2col_ref(const psgi_call *call, psg_error *error)
{
	const psg_shape *x = &call->in[0].shape, *out = &call->out[0].shape;
	psgi_geometry g;
	psg_status status = psgi_geometry_of(call, &g, error);
	columns c = { .g = &g };
	float *to = call->out[0].data;

	for (int64_t n = 0; n < x->dim[0] && status == PSG_OK; n++) {
		psgi_geometry_limits(&g, &call->in[0], n, c.limit);
		c.x = (const float *)call->in[0].data + n * psgi_product(x, 1, x->rank);
		for (int64_t k = 0; k < out->dim[1]; k++) {
			for (int64_t o0 = 0; o0 < out->dim[2]; o0 += ROW) {
				int64_t count = out->dim[2] - o0 < ROW ? out->dim[2] - o0 : ROW;
				double row[ROW];

				column_row(&c, k, o0, count, row);
				for (int64_t i = 0; i < count; i++)
					*to++ = (float)row[i];
			}
		}
	}
	return status;
}
