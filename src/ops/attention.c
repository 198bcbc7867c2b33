/* SPDX-License-Identifier: Apache-2.0 */
/* Multi-head self-attention, whole and in its three steps; any head size. */
#include "config.h"

#include "ops/family.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

static int64_t heads_of(const psgi_call *call)
{
	return call->params->attention.heads == 0 ? 1 : call->params->attention.heads;
}

/* x [N,T,3*h*d]: d, or INVALID. */
static psg_status head_size(const psgi_call *call, int64_t *d, psg_error *error)
{
	const psg_shape *x = &call->in[0].shape;
	int64_t heads = heads_of(call);
	char text[PSGI_SHAPE_TEXT];
	psg_status status = psgi_need_rank(call, 0, 3, 3, error);

	if (status != PSG_OK)
		return status;
	if (heads < 1 || x->dim[2] % (3 * heads) != 0 || x->dim[2] == 0)
		return psgi_fail(error, PSG_INVALID,
				 "%s: the %" PRId64 " columns of %s are not q, k and v of %" PRId64
				 " heads",
				 psgi_call_name(call), x->dim[2], psgi_shape_text(x, text), heads);
	*d = x->dim[2] / (3 * heads);
	return PSG_OK;
}

psg_status psgi_attention_shape(psgi_call *call, psg_error *error)
{
	const psg_shape *x = &call->in[0].shape;
	char text[PSGI_SHAPE_TEXT];
	psg_shape out = *x;
	int64_t d = 0, heads = heads_of(call);
	psg_status status = psgi_need_dtype(call, 0, PSG_F32, error);

	if (status != PSG_OK)
		return status;
	switch (call->kind) {
	case PSG_OP_ATTN_SPLIT:
		status = head_size(call, &d, error);
		out = PSG_SHAPE(3, x->dim[0], heads, x->dim[1], d);
		break;
	case PSG_OP_ATTENTION:
		status = head_size(call, &d, error);
		out = PSG_SHAPE(x->dim[0], x->dim[1], heads * d);
		break;
	case PSG_OP_ATTN_SOFTMAX:
		status = psgi_need_rank(call, 0, 4, 4, error);
		if (status == PSG_OK && x->dim[2] != x->dim[3])
			status = psgi_fail(error, PSG_INVALID,
					   "attn_softmax: scores %s have %" PRId64
					   " queries and %" PRId64 " keys, as many are wanted",
					   psgi_shape_text(x, text), x->dim[2], x->dim[3]);
		break;
	default: /* attn_merge */
		status = psgi_need_rank(call, 0, 4, 4, error);
		out = PSG_SHAPE(x->dim[0], x->dim[2], 0);
		if (status == PSG_OK && !psgi_mul_i64(x->dim[1], x->dim[3], &out.dim[2]))
			status = psgi_fail(error, PSG_INVALID, "attn_merge: %s is too large",
					   psgi_shape_text(x, text));
		break;
	}
	return status == PSG_OK ? psgi_out(call, 0, PSG_F32, &out, error) : status;
}

void psgi_attention_cost(const psgi_call *call, psg_cost *cost)
{
	psgi_plain_cost(call, cost);
	/* q k^T and p v: T * T * d for each head */
	if (call->kind == PSG_OP_ATTENTION)
		cost->macs = psgi_mul_most(2 * psg_shape_elements(&call->out[0].shape),
					   call->in[0].shape.dim[1]);
}

static void split(const psgi_call *call)
{
	static const int32_t perm[] = { 2, 0, 3, 1, 4 };
	const psg_shape *x = &call->in[0].shape, *out = &call->out[0].shape;
	const int64_t dims[] = { x->dim[0], x->dim[1], 3, out->dim[2], out->dim[4] };
	int64_t q = psgi_product(out, 1, out->rank);
	float scale = call->params->attention.scale, *y = call->out[0].data;

	psgi_permute(y, call->in[0].data, sizeof(float), 5, dims, perm);
	if (scale != 0)
		for (int64_t i = 0; i < q; i++)
			y[i] *= scale;
}

/* One row of scores becomes probabilities; keys from `valid` on have none. */
static void softmax(double *scores, int64_t valid)
{
	double peak = -INFINITY, sum = 0;

	for (int64_t i = 0; i < valid; i++)
		if (!(scores[i] <= peak))
			peak = scores[i];
	for (int64_t i = 0; i < valid; i++) {
		scores[i] = exp(scores[i] - peak);
		sum += scores[i];
	}
	for (int64_t i = 0; i < valid; i++)
		scores[i] /= sum;
}

/* Queries and keys are the same columns, so widths along either dimension name both. */
static psg_status softmax_rows(const psgi_call *call, psg_error *error)
{
	const psgi_view *in = &call->in[0];
	const int64_t *x = in->shape.dim;
	const float *from = in->data;
	float *to = call->out[0].data;
	double *row = malloc(((size_t)x[3] + 1) * sizeof(*row));

	if (row == NULL)
		return psgi_fail(error, PSG_NOMEM, "attn_softmax: no memory for a row of %" PRId64,
				 x[3]);
	for (int64_t i = 0; i < x[0] * x[1] * x[2]; i++) {
		int64_t n = i / (x[1] * x[2]);
		int64_t valid = psgi_masked(in) && in->valid_axis >= 2 ? in->valid[n] : x[3];

		for (int64_t k = 0; k < valid; k++)
			row[k] = from[i * x[3] + k];
		softmax(row, valid);
		for (int64_t k = 0; k < x[3]; k++)
			to[i * x[3] + k] = k < valid ? (float)row[k] : 0;
	}
	free(row);
	return PSG_OK;
}

typedef struct head {
	const float *qkv; /* the sample's first step, at this head's q */
	float *out;
	int64_t d, width, valid; /* width: h * d */
	double scale;
} head;

/* One query against all keys.  Rows of qkv are q, k and v, `width` columns each. */
static void attend(const head *h, int64_t t, double *scores, double *sums)
{
	const float *q = h->qkv + t * 3 * h->width;

	for (int64_t i = 0; i < h->valid; i++) {
		const float *k = h->qkv + i * 3 * h->width + h->width;

		scores[i] = 0;
		for (int64_t j = 0; j < h->d; j++)
			scores[i] += (double)q[j] * (double)k[j];
		scores[i] *= h->scale;
	}
	softmax(scores, h->valid);
	for (int64_t j = 0; j < h->d; j++)
		sums[j] = 0;
	for (int64_t i = 0; i < h->valid; i++) {
		const float *v = h->qkv + i * 3 * h->width + 2 * h->width;

		for (int64_t j = 0; j < h->d; j++)
			sums[j] += scores[i] * (double)v[j];
	}
	for (int64_t j = 0; j < h->d; j++)
		h->out[t * h->width + j] = (float)sums[j];
}

static psg_status attention(const psgi_call *call, psg_error *error)
{
	const psgi_view *in = &call->in[0];
	const int64_t *x = in->shape.dim;
	int64_t heads = heads_of(call), width = call->out[0].shape.dim[2], d = width / heads;
	double scale = (double)call->params->attention.scale;
	double *room = malloc((size_t)(x[1] + d + 1) * sizeof(*room));

	if (room == NULL)
		return psgi_fail(error, PSG_NOMEM, "attention: no memory for %" PRId64 " scores",
				 x[1]);
	for (int64_t i = 0; i < x[0] * heads; i++) {
		int64_t n = i / heads;
		head h = {
			.qkv = (const float *)in->data + n * x[1] * x[2] + i % heads * d,
			.out = (float *)call->out[0].data + n * x[1] * width + i % heads * d,
			.d = d,
			.width = width,
			.valid = psgi_extent(in, 1, n),
			.scale = scale == 0 ? 1 / sqrt((double)d) : scale,
		};

		for (int64_t t = 0; t < h.valid; t++)
			attend(&h, t, room, room + x[1]);
	}
	free(room);
	return PSG_OK;
}

psg_status psgi_attention_ref(const psgi_call *call, psg_error *error)
{
	static const int32_t merge[] = { 0, 2, 1, 3 };

	switch (call->kind) {
	case PSG_OP_ATTN_SPLIT:
		split(call);
		return PSG_OK;
	case PSG_OP_ATTN_SOFTMAX:
		return softmax_rows(call, error);
	case PSG_OP_ATTENTION:
		return attention(call, error);
	default:
		psgi_permute(call->out[0].data, call->in[0].data, sizeof(float), 4,
			     call->in[0].shape.dim, merge);
		return PSG_OK;
	}
}
