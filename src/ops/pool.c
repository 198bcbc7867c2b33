/* SPDX-License-Identifier: Apache-2.0 */
/* Pools over windows and over whole planes.  What lies past a valid width is padding. */
#include "config.h"

#include "ops/family.h"

#include <inttypes.h>
#include <math.h>

psg_status psgi_pool_shape(psgi_call *call, psg_error *error)
{
	const psg_shape *x = &call->in[0].shape;
	psgi_geometry g;
	psg_shape shape;
	psg_status status = psgi_need_dtype(call, 0, PSG_F32, error);

	if (status == PSG_OK)
		status = psgi_need_rank(call, 0, 3, 2 + PSG_MAX_SPATIAL, error);
	if (status == PSG_OK && call->params->pool.p < 0)
		status = psgi_fail(error, PSG_INVALID, "%s: norm %" PRId32 " is negative",
				   psgi_call_name(call), call->params->pool.p);
	if (status == PSG_OK)
		status = psgi_geometry_of(call, &g, error);
	if (status != PSG_OK)
		return status;
	shape = psgi_geometry_shape(&g, x->dim[0], x->dim[1]);
	status = psgi_out(call, 0, PSG_F32, &shape, error);
	if (status == PSG_OK && call->n_out > 1)
		status = psgi_out(call, 1, PSG_I64, &shape, error);
	return status;
}

PSGI_PLAIN_COST(pool)

/* The taps of one window along one dimension that lie on the input. */
typedef struct span {
	int64_t first, step, n;
	int64_t counted; /* taps on the input or its padding */
} span;

static span span_of(const psgi_geometry *g, int32_t i, int64_t o, int64_t limit)
{
	int64_t start = o * g->stride[i] - g->pad_begin[i], step = g->dilation[i];
	int64_t skip = start < 0 ? (-start + step - 1) / step : 0;
	int64_t padded = limit + g->pad_end[i] - start, inside = limit - start;
	span s = { .first = start + skip * step, .step = step };

	s.counted = padded <= 0 ? 0 : (padded + step - 1) / step;
	s.counted = s.counted < g->kernel[i] ? s.counted : g->kernel[i];
	s.n = inside <= 0 ? 0 : (inside + step - 1) / step;
	s.n = (s.n < g->kernel[i] ? s.n : g->kernel[i]) - skip;
	s.n = s.n > 0 ? s.n : 0;
	return s;
}

typedef struct window {
	const float *plane;
	const psgi_geometry *g;
	span s[PSG_MAX_SPATIAL];
} window;

static int64_t tap(const window *w, int64_t d, int64_t h, int64_t k)
{
	return ((w->s[0].first + d * w->s[0].step) * w->g->in[1] + w->s[1].first +
		h * w->s[1].step) *
		       w->g->in[2] +
	       w->s[2].first + k * w->s[2].step;
}

/* The first largest element, or the first NaN; *at is its place in the plane, -1 without taps. */
static double largest(const window *w, int64_t *at)
{
	double best = -INFINITY;

	*at = -1;
	for (int64_t d = 0; d < w->s[0].n; d++) {
		for (int64_t h = 0; h < w->s[1].n; h++) {
			for (int64_t k = 0; k < w->s[2].n; k++) {
				int64_t i = tap(w, d, h, k);
				double v = w->plane[i];

				if (*at < 0 || v > best || (isnan(v) && !isnan(best))) {
					best = v;
					*at = i;
				}
			}
		}
	}
	return best;
}

static double sum(const window *w, int32_t p)
{
	double total = 0;

	for (int64_t d = 0; d < w->s[0].n; d++) {
		for (int64_t h = 0; h < w->s[1].n; h++) {
			for (int64_t k = 0; k < w->s[2].n; k++) {
				double v = w->plane[tap(w, d, h, k)];

				if (p == 0)
					total += v;
				else
					total += p == 1   ? fabs(v)
						 : p == 2 ? v * v
							  : pow(fabs(v), p);
			}
		}
	}
	return total;
}

/* A window without any tap, which only padding columns have, gives 0. */
static double mean(const window *w, bool count_pads)
{
	int64_t n = count_pads ? w->s[0].counted * w->s[1].counted * w->s[2].counted
			       : w->s[0].n * w->s[1].n * w->s[2].n;

	return n > 0 ? sum(w, 0) / (double)n : 0;
}

/* ONNX's index of an element of plane `plane`; in column-major order the first dimension is
 * the innermost. */
static int64_t flat_index(const psgi_geometry *g, int64_t plane, int64_t at, bool column_major)
{
	int64_t base = plane * g->in[0] * g->in[1] * g->in[2];
	int64_t k = at % g->in[2], h = at / g->in[2] % g->in[1], d = at / (g->in[2] * g->in[1]);

	if (at < 0)
		return -1;
	return base + (column_major ? d + g->in[0] * (h + g->in[1] * k) : at);
}

static void pool_one(const psgi_call *call, const window *w, int64_t plane, int64_t at)
{
	const psg_pool_params *params = &call->params->pool;
	int32_t p = params->p == 0 ? 2 : params->p;
	double value;
	int64_t place;

	if (call->kind == PSG_OP_POOL_MAX) {
		value = largest(w, &place);
		if (call->n_out > 1)
			((int64_t *)call->out[1].data)[at] =
				flat_index(w->g, plane, place, params->column_major);
	} else if (call->kind == PSG_OP_POOL_AVG) {
		value = mean(w, params->count_include_pad);
	} else {
		value = pow(sum(w, p), 1.0 / p);
	}
	((float *)call->out[0].data)[at] = (float)value;
}

psg_status psgi_pool_ref(const psgi_call *call, psg_error *error)
{
	const psg_shape *x = &call->in[0].shape;
	int64_t plane_size = psgi_product(x, 2, x->rank), limit[PSG_MAX_SPATIAL], at = 0;
	psgi_geometry g;
	psg_status status = psgi_geometry_of(call, &g, error);
	window w = { .g = &g };

	for (int64_t plane = 0; status == PSG_OK && plane < x->dim[0] * x->dim[1]; plane++) {
		psgi_geometry_limits(&g, &call->in[0], plane / x->dim[1], limit);
		w.plane = (const float *)call->in[0].data + plane * plane_size;
		for (int64_t d = 0; d < g.out[0]; d++) {
			w.s[0] = span_of(&g, 0, d, limit[0]);
			for (int64_t h = 0; h < g.out[1]; h++) {
				w.s[1] = span_of(&g, 1, h, limit[1]);
				for (int64_t k = 0; k < g.out[2]; k++) {
					w.s[2] = span_of(&g, 2, k, limit[2]);
					pool_one(call, &w, plane, at++);
				}
			}
		}
	}
	return status;
}

psg_status psgi_global_pool_shape(psgi_call *call, psg_error *error)
{
	psg_shape shape = call->in[0].shape;
	psg_status status = psgi_need_dtype(call, 0, PSG_F32, error);

	if (status == PSG_OK)
		status = psgi_need_rank(call, 0, 2, PSG_MAX_RANK, error);
	for (int32_t i = 2; i < shape.rank; i++)
		shape.dim[i] = 1;
	return status == PSG_OK ? psgi_out(call, 0, PSG_F32, &shape, error) : status;
}

PSGI_PLAIN_COST(global_pool)

/* Sum or maximum over the valid columns of one plane; *count is how many. */
static double whole_plane(const psgi_view *in, const float *plane, int64_t n, bool average,
			  int64_t *count)
{
	psgi_walk walk = { .rank = in->shape.rank - 2, .operands = 1 };
	int64_t stride[PSG_MAX_RANK];
	double result = average ? 0 : -INFINITY;

	psgi_strides(&in->shape, stride);
	*count = 1;
	for (int32_t i = 0; i < walk.rank; i++) {
		walk.dim[i] = psgi_extent(in, i + 2, n);
		walk.step[0][i] = stride[i + 2];
		*count *= walk.dim[i];
	}
	if (!psgi_walk_start(&walk))
		return result;
	do {
		const float *x = plane + walk.at[0];

		for (int64_t i = 0; i < walk.run; i++) {
			double v = x[i * walk.run_step[0]];

			if (average)
				result += v;
			else if (v > result || isnan(v))
				result = v;
		}
	} while (psgi_walk_next(&walk));
	return result;
}

psg_status psgi_global_pool_ref(const psgi_call *call, psg_error *error)
{
	const psg_shape *x = &call->in[0].shape;
	bool average = call->kind == PSG_OP_GLOBAL_AVG;
	int64_t size = psgi_product(x, 2, x->rank), count;
	float *out = call->out[0].data;

	(void)error;
	for (int64_t plane = 0; plane < x->dim[0] * x->dim[1]; plane++) {
		double value =
			whole_plane(&call->in[0], (const float *)call->in[0].data + plane * size,
				    plane / x->dim[1], average, &count);

		out[plane] = (float)(average ? value / (double)count : value);
	}
	return PSG_OK;
}
