/* SPDX-License-Identifier: Apache-2.0 */
/* Reductions over any set of axes, and the place of the largest or least element along one. */
#include "config.h"

#include "ops/family.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

static psg_status reduced_axes(const psgi_call *call, bool *reduced, psg_error *error)
{
	const psg_reduce_params *p = &call->params->reduce;
	int32_t rank = call->in[0].shape.rank, axis = 0;

	if (p->n_axes < 0 || p->n_axes > PSG_MAX_RANK)
		return psgi_fail(error, PSG_INVALID,
				 "%s: %" PRId32 " axes, at most %d are possible",
				 psgi_call_name(call), p->n_axes, PSG_MAX_RANK);
	for (int32_t i = 0; i < rank; i++)
		reduced[i] = p->n_axes == 0 && !p->noop_empty;
	for (int32_t i = 0; i < p->n_axes; i++) {
		psg_status status = psgi_axis(call, p->axes[i], rank, &axis, error);

		if (status != PSG_OK)
			return status;
		if (reduced[axis])
			return psgi_fail(error, PSG_INVALID, "%s: axis %" PRId32 " is named twice",
					 psgi_call_name(call), axis);
		reduced[axis] = true;
	}
	return PSG_OK;
}

static bool takes_integers(psg_op_kind kind)
{
	return kind == PSG_OP_REDUCE_SUM || kind == PSG_OP_REDUCE_MIN ||
	       kind == PSG_OP_REDUCE_MAX || kind == PSG_OP_REDUCE_PROD ||
	       kind == PSG_OP_REDUCE_MEAN;
}

psg_status psgi_reduce_shape(psgi_call *call, psg_error *error)
{
	const psg_shape *x = &call->in[0].shape;
	bool reduced[PSG_MAX_RANK] = { false };
	psg_shape shape = { .rank = 0 };
	psg_status status = PSG_OK;

	if (!takes_integers(call->kind))
		status = psgi_need_dtype(call, 0, PSG_F32, error);
	if (status == PSG_OK)
		status = reduced_axes(call, reduced, error);
	for (int32_t i = 0; i < x->rank; i++)
		if (!reduced[i] || !call->params->reduce.drop_dims)
			shape.dim[shape.rank++] = reduced[i] ? 1 : x->dim[i];
	return status == PSG_OK ? psgi_out(call, 0, call->in[0].dtype, &shape, error) : status;
}

PSGI_PLAIN_COST(reduce)

/*
 * A walk over the valid part of sample n, or of the whole tensor with n < 0:
 * operand 0 is the input, operand 1 the sums, which reduced axes do not move.
 */
static bool start(const psgi_view *in, const bool *reduced, int64_t n, psgi_walk *walk)
{
	const psg_shape *x = &in->shape;
	int64_t stride[PSG_MAX_RANK], sums = 1;

	*walk = (psgi_walk){ .rank = x->rank, .operands = 2 };
	psgi_strides(x, stride);
	for (int32_t i = x->rank - 1; i >= 0; i--) {
		walk->dim[i] = n < 0 ? x->dim[i] : psgi_extent(in, i, n);
		walk->step[0][i] = stride[i];
		walk->step[1][i] = reduced[i] ? 0 : sums;
		sums *= reduced[i] ? 1 : x->dim[i];
	}
	if (n >= 0) {
		walk->dim[0] = 1;
		walk->at[0] = n * walk->step[0][0];
		walk->at[1] = n * walk->step[1][0];
	}
	return psgi_walk_start(walk);
}

static int64_t samples(const psgi_view *in)
{
	return psgi_masked(in) ? in->shape.dim[0] : 1;
}

/* A run into one sum keeps it in a register. */
#define EACH(KIND, type, expression)                                                               \
	case PSG_OP_REDUCE_##KIND:                                                                 \
		if (step == 0) {                                                                   \
			type a = *sums;                                                            \
			for (int64_t i = 0; i < n; i++) {                                          \
				const type v = (type)x[i * x_step];                                \
				a = (expression);                                                  \
			}                                                                          \
			*sums = a;                                                                 \
		} else {                                                                           \
			for (int64_t i = 0; i < n; i++) {                                          \
				const type v = (type)x[i * x_step], a = sums[i * step];            \
				sums[i * step] = (expression);                                     \
			}                                                                          \
		}                                                                                  \
		return;

static void fold_f64(psg_op_kind kind, double *sums, int64_t step, const float *x, int64_t x_step,
		     int64_t n)
{
	switch (kind) {
	case PSG_OP_REDUCE_MEAN:
	case PSG_OP_REDUCE_LOG_SUM:
		EACH(SUM, double, a + v)
		EACH(MAX, double, v > a || v != v ? v : a)
		EACH(MIN, double, v < a || v != v ? v : a)
		EACH(PROD, double, a *v)
		EACH(L1, double, a + fabs(v))
	case PSG_OP_REDUCE_L2:
		EACH(SUM_SQUARE, double, a + v * v)
	default:
		return;
	}
}

/* Wraps like two's complement: the sums and products of shapes are checked where they are used. */
static void fold_i64(psg_op_kind kind, int64_t *sums, int64_t step, const int64_t *x,
		     int64_t x_step, int64_t n)
{
	switch (kind) {
	case PSG_OP_REDUCE_MEAN:
		EACH(SUM, int64_t, (int64_t)((uint64_t)a + (uint64_t)v))
		EACH(PROD, int64_t, (int64_t)((uint64_t)a * (uint64_t)v))
		EACH(MAX, int64_t, v > a ? v : a)
		EACH(MIN, int64_t, v < a ? v : a)
	default:
		return;
	}
}

/* sums += e^(x - peak), peak 0 where it is infinite so that no infinities are subtracted. */
static void fold_exponentials(double *sums, const double *peaks, int64_t step, const float *x,
			      int64_t x_step, int64_t n)
{
	for (int64_t i = 0; i < n; i++) {
		double peak = peaks[i * step];

		sums[i * step] += exp((double)x[i * x_step] - (isinf(peak) ? 0 : peak));
	}
}

static void sweep_f64(const psgi_call *call, const bool *reduced, psg_op_kind kind, double *sums,
		      const double *peaks)
{
	const psgi_view *in = &call->in[0];
	int64_t all = samples(in);
	psgi_walk w;

	for (int64_t n = 0; n < all; n++) {
		if (!start(in, reduced, psgi_masked(in) ? n : -1, &w))
			continue;
		do {
			const float *x = (const float *)in->data + w.at[0];

			if (peaks != NULL)
				fold_exponentials(sums + w.at[1], peaks + w.at[1], w.run_step[1], x,
						  w.run_step[0], w.run);
			else
				fold_f64(kind, sums + w.at[1], w.run_step[1], x, w.run_step[0],
					 w.run);
		} while (psgi_walk_next(&w));
	}
}

/* Elements that go into each result of sample n, or into every result when samples are reduced. */
static int64_t count_of(const psgi_view *in, const bool *reduced, int64_t n)
{
	int64_t count = 1, total = 0;

	if (in->shape.rank > 0 && reduced[0]) {
		for (int64_t s = 0; s < in->shape.dim[0]; s++) {
			int64_t each = 1;

			for (int32_t i = 1; i < in->shape.rank; i++)
				each *= reduced[i] ? psgi_extent(in, i, s) : 1;
			total += each;
		}
		return total;
	}
	for (int32_t i = 1; i < in->shape.rank; i++)
		count *= reduced[i] ? psgi_extent(in, i, n) : 1;
	return count;
}

static double finish(psg_op_kind kind, double sum, double peak, int64_t count)
{
	switch (kind) {
	case PSG_OP_REDUCE_MEAN:
		return sum / (double)count;
	case PSG_OP_REDUCE_L2:
		return sqrt(sum);
	case PSG_OP_REDUCE_LOG_SUM:
		return log(sum);
	case PSG_OP_REDUCE_LOG_SUM_EXP:
		return log(sum) + (isinf(peak) ? 0 : peak);
	default:
		return sum;
	}
}

static void fill_f64(double *sums, int64_t n, double value)
{
	for (int64_t i = 0; i < n; i++)
		sums[i] = value;
}

static double neutral(psg_op_kind kind)
{
	return kind == PSG_OP_REDUCE_MAX    ? -INFINITY
	       : kind == PSG_OP_REDUCE_MIN  ? INFINITY
	       : kind == PSG_OP_REDUCE_PROD ? 1
					    : 0;
}

static psg_status reduce_f64(const psgi_call *call, const bool *reduced, psg_error *error)
{
	const psgi_view *in = &call->in[0];
	int64_t n = psg_shape_elements(&call->out[0].shape), each = n;
	bool exponentials = call->kind == PSG_OP_REDUCE_LOG_SUM_EXP;
	double *sums = malloc(((size_t)n * 2 + 1) * sizeof(*sums)), *peaks = NULL;
	float *out = call->out[0].data;

	if (sums == NULL)
		return psgi_fail(error, PSG_NOMEM, "%s: no memory for %" PRId64 " sums",
				 psgi_call_name(call), n);
	fill_f64(sums, n, neutral(call->kind));
	if (exponentials) {
		peaks = sums + n;
		fill_f64(peaks, n, -INFINITY);
		sweep_f64(call, reduced, PSG_OP_REDUCE_MAX, peaks, NULL);
	}
	sweep_f64(call, reduced, call->kind, sums, peaks);
	if (in->shape.rank > 0 && !reduced[0] && in->shape.dim[0] > 0)
		each = n / in->shape.dim[0];
	for (int64_t i = 0; i < n; i++) {
		int64_t count = count_of(in, reduced, i / each);

		out[i] = (float)finish(call->kind, sums[i], exponentials ? peaks[i] : 0, count);
	}
	free(sums);
	return PSG_OK;
}

static psg_status reduce_i64(const psgi_call *call, const bool *reduced, psg_error *error)
{
	const psgi_view *in = &call->in[0];
	int64_t n = psg_shape_elements(&call->out[0].shape), all = samples(in), count;
	int64_t *out = call->out[0].data;
	psgi_walk w;

	for (int64_t i = 0; i < n; i++)
		out[i] = call->kind == PSG_OP_REDUCE_MAX    ? INT64_MIN
			 : call->kind == PSG_OP_REDUCE_MIN  ? INT64_MAX
			 : call->kind == PSG_OP_REDUCE_PROD ? 1
							    : 0;
	for (int64_t s = 0; s < all; s++) {
		if (!start(in, reduced, psgi_masked(in) ? s : -1, &w))
			continue;
		do
			fold_i64(call->kind, out + w.at[1], w.run_step[1],
				 (const int64_t *)in->data + w.at[0], w.run_step[0], w.run);
		while (psgi_walk_next(&w));
	}
	for (int64_t i = 0; i < n && call->kind == PSG_OP_REDUCE_MEAN; i++) {
		count = count_of(in, reduced,
				 in->shape.rank > 0 && !reduced[0] ? i / (n / in->shape.dim[0])
								   : 0);
		if (count == 0)
			return psgi_fail(error, PSG_INVALID, "reduce_mean: no integers to average");
		out[i] /= count;
	}
	return PSG_OK;
}

psg_status psgi_reduce_ref(const psgi_call *call, psg_error *error)
{
	bool reduced[PSG_MAX_RANK] = { false };
	psg_status status = reduced_axes(call, reduced, error);

	if (status != PSG_OK)
		return status;
	return call->in[0].dtype == PSG_I64 ? reduce_i64(call, reduced, error)
					    : reduce_f64(call, reduced, error);
}

psg_status psgi_arg_shape(psgi_call *call, psg_error *error)
{
	const psg_arg_params *p = &call->params->arg;
	const psg_shape *x = &call->in[0].shape;
	psg_shape shape = { .rank = 0 };
	char text[PSGI_SHAPE_TEXT];
	int32_t axis;
	psg_status status = psgi_need_rank(call, 0, 1, PSG_MAX_RANK, error);

	if (status == PSG_OK)
		status = psgi_axis(call, p->axis, x->rank, &axis, error);
	if (status != PSG_OK)
		return status;
	if (x->dim[axis] == 0)
		return psgi_fail(error, PSG_INVALID, "%s: axis %" PRId32 " of %s is empty",
				 psgi_call_name(call), axis, psgi_shape_text(x, text));
	for (int32_t i = 0; i < x->rank; i++)
		if (i != axis || !p->drop_dims)
			shape.dim[shape.rank++] = i == axis ? 1 : x->dim[i];
	return psgi_out(call, 0, PSG_I64, &shape, error);
}

PSGI_PLAIN_COST(arg)

/* -1, 0 or 1 as element b is less, equal or more than element a; a NaN beats all others. */
static int compare(const psgi_view *in, int64_t a, int64_t b, bool largest)
{
	if (in->dtype == PSG_I64) {
		const int64_t *x = in->data;

		return (x[b] > x[a]) - (x[b] < x[a]);
	} else {
		const float *x = in->data;

		if (isnan(x[a]) || isnan(x[b]))
			return (isnan(x[b]) - isnan(x[a]) != 0) *
			       (isnan(x[b]) ? (largest ? 1 : -1) : (largest ? -1 : 1));
		return (x[b] > x[a]) - (x[b] < x[a]);
	}
}

psg_status psgi_arg_ref(const psgi_call *call, psg_error *error)
{
	const psgi_view *in = &call->in[0];
	const psg_arg_params *p = &call->params->arg;
	bool largest = call->kind == PSG_OP_ARG_MAX;
	int32_t axis = p->axis < 0 ? p->axis + in->shape.rank : p->axis;
	int64_t outer = psgi_product(&in->shape, 0, axis), len = in->shape.dim[axis];
	int64_t inner = psgi_product(&in->shape, axis + 1, in->shape.rank);
	int64_t *out = call->out[0].data;

	(void)error;
	for (int64_t i = 0; i < outer * inner; i++) {
		int64_t first = i / inner * len * inner + i % inner, best = 0, n = len;

		if (axis > 0 && psgi_masked(in) && in->valid_axis == axis)
			n = in->valid[i / inner / psgi_product(&in->shape, 1, axis)];
		for (int64_t k = 1; k < n; k++) {
			int order = compare(in, first + best * inner, first + k * inner, largest);

			if ((largest ? order > 0 : order < 0) || (order == 0 && p->select_last))
				best = k;
		}
		out[i] = best;
	}
	return PSG_OK;
}
