/* SPDX-License-Identifier: Apache-2.0 */
/* Normalisations: with given statistics, over a plane, over the last dimensions. */
#include "config.h"

#include "ops/family.h"

#include <inttypes.h>
#include <math.h>

static psg_status check_layer(const psgi_call *call, psg_error *error)
{
	const psg_shape *x = &call->in[0].shape;
	char text[PSGI_SHAPE_TEXT], text_x[PSGI_SHAPE_TEXT];
	psg_shape part = { .rank = 0 }, both;
	int32_t axis;
	psg_status status = psgi_axis(call, call->params->norm.axis, x->rank, &axis, error);

	if (status != PSG_OK)
		return status;
	for (int32_t i = axis; i < x->rank; i++)
		part.dim[part.rank++] = x->dim[i];
	for (size_t i = 1; i < call->n_in; i++) {
		if (!psgi_has_input(call, i))
			continue;
		status = psgi_broadcast(call, &part, &call->in[i].shape, &both, error);
		if (status == PSG_OK && !psg_shape_equal(&part, &both))
			status =
				psgi_fail(error, PSG_INVALID,
					  "layer_norm: input %zu %s does not fit the dimensions of "
					  "%s from axis %" PRId32 " on",
					  i, psgi_shape_text(&call->in[i].shape, text),
					  psgi_shape_text(x, text_x), axis);
		if (status != PSG_OK)
			return status;
	}
	return PSG_OK;
}

psg_status psgi_norm_shape(psgi_call *call, psg_error *error)
{
	const psg_shape *x = &call->in[0].shape;
	psg_status status = PSG_OK;

	for (size_t i = 0; i < call->n_in && status == PSG_OK; i++)
		if (psgi_has_input(call, i))
			status = psgi_need_dtype(call, i, PSG_F32, error);
	if (status == PSG_OK && call->kind == PSG_OP_LAYER_NORM) {
		status = check_layer(call, error);
	} else if (status == PSG_OK) {
		status = psgi_need_rank(call, 0, 2, PSG_MAX_RANK, error);
		for (size_t i = 1; i < call->n_in && status == PSG_OK; i++)
			status = psgi_need_vector(call, i, x->dim[1], error);
	}
	return status == PSG_OK ? psgi_out(call, 0, PSG_F32, x, error) : status;
}

PSGI_PLAIN_COST(norm)

static void batch_norm(const psgi_call *call, double epsilon)
{
	const psg_shape *x = &call->in[0].shape;
	const float *scale = call->in[1].data, *bias = call->in[2].data;
	const float *mean = call->in[3].data, *variance = call->in[4].data;
	const float *from = call->in[0].data;
	float *to = call->out[0].data;
	int64_t size = psgi_product(x, 2, x->rank);

	for (int64_t plane = 0; plane < x->dim[0] * x->dim[1]; plane++) {
		int64_t c = plane % x->dim[1];
		double factor = (double)scale[c] / sqrt((double)variance[c] + epsilon);
		double centre = mean[c], shift = bias[c];

		for (int64_t i = 0; i < size; i++)
			*to++ = (float)(((double)*from++ - centre) * factor + shift);
	}
}

/* A block of dimensions axis.. of one sample, its valid columns only. */
typedef struct block {
	psgi_walk walk; /* operand 0: the elements; 1 and 2: gamma and beta */
	int64_t count;
} block;

static block block_of(const psgi_view *in, int32_t axis, int64_t n)
{
	block b = { .walk = { .rank = in->shape.rank - axis, .operands = 3 }, .count = 1 };
	int64_t stride[PSG_MAX_RANK];

	psgi_strides(&in->shape, stride);
	for (int32_t i = 0; i < b.walk.rank; i++) {
		b.walk.dim[i] = i + axis == 0 ? in->shape.dim[0] : psgi_extent(in, i + axis, n);
		b.walk.step[0][i] = stride[i + axis];
		b.count *= b.walk.dim[i];
	}
	return b;
}

/* Mean, then variance around it: two passes, because one would cancel. */
static void statistics(const block *b, const float *x, double *mean, double *variance)
{
	for (int32_t pass = 0; pass < 2; pass++) {
		psgi_walk w = b->walk;
		double sum = 0;

		if (psgi_walk_start(&w))
			do
				for (int64_t i = 0; i < w.run; i++) {
					double v = x[w.at[0] + i * w.run_step[0]];

					sum += pass == 0 ? v : (v - *mean) * (v - *mean);
				}
			while (psgi_walk_next(&w));
		*(pass == 0 ? mean : variance) = sum / (double)b->count;
	}
}

/* gamma and beta may be NULL. */
static void normalise(const block *b, const float *x, float *y, const float *gamma,
		      const float *beta, double epsilon)
{
	psgi_walk w = b->walk;
	double mean = 0, variance = 0, factor;

	statistics(b, x, &mean, &variance);
	factor = 1 / sqrt(variance + epsilon);
	if (!psgi_walk_start(&w))
		return;
	do {
		for (int64_t i = 0; i < w.run; i++) {
			int64_t at = w.at[0] + i * w.run_step[0];
			double v = ((double)x[at] - mean) * factor;

			if (gamma != NULL)
				v *= (double)gamma[w.at[1] + i * w.run_step[1]];
			if (beta != NULL)
				v += (double)beta[w.at[2] + i * w.run_step[2]];
			y[at] = (float)v;
		}
	} while (psgi_walk_next(&w));
}

static void instance_norm(const psgi_call *call, double epsilon)
{
	const psg_shape *x = &call->in[0].shape;
	int64_t size = psgi_product(x, 2, x->rank);

	for (int64_t plane = 0; plane < x->dim[0] * x->dim[1]; plane++) {
		block b = block_of(&call->in[0], 2, plane / x->dim[1]);
		int64_t c = plane % x->dim[1];

		/* One scale and one bias for the whole plane: steps of 0. */
		normalise(&b, (const float *)call->in[0].data + plane * size,
			  (float *)call->out[0].data + plane * size,
			  (const float *)call->in[1].data + c, (const float *)call->in[2].data + c,
			  epsilon);
	}
}

static void layer_norm(const psgi_call *call, double epsilon)
{
	const psg_shape *x = &call->in[0].shape;
	int32_t axis = call->params->norm.axis;
	int64_t size, outer, sample;
	psg_shape part = { .rank = 0 };

	axis = axis < 0 ? axis + x->rank : axis;
	size = psgi_product(x, axis, x->rank);
	outer = psgi_product(x, 0, axis);
	sample = axis > 0 ? psgi_product(x, 1, axis) : 1;
	for (int32_t i = axis; i < x->rank; i++)
		part.dim[part.rank++] = x->dim[i];
	for (int64_t i = 0; i < outer; i++) {
		block b = block_of(&call->in[0], axis, i / sample);
		bool has_beta = psgi_has_input(call, 2);

		psgi_broadcast_strides(&call->in[1].shape, &part, b.walk.step[1]);
		if (has_beta)
			psgi_broadcast_strides(&call->in[2].shape, &part, b.walk.step[2]);
		normalise(&b, (const float *)call->in[0].data + i * size,
			  (float *)call->out[0].data + i * size, call->in[1].data,
			  has_beta ? call->in[2].data : NULL, epsilon);
	}
}

psg_status psgi_norm_ref(const psgi_call *call, psg_error *error)
{
	double epsilon = (double)call->params->norm.epsilon;

	(void)error;
	if (call->kind == PSG_OP_BATCH_NORM)
		batch_norm(call, epsilon);
	else if (call->kind == PSG_OP_INSTANCE_NORM)
		instance_norm(call, epsilon);
	else
		layer_norm(call, epsilon);
	return PSG_OK;
}
