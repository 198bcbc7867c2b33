/* SPDX-License-Identifier: Apache-2.0 */
/* Padding by a value, a reflection or the edge, and zeros past each sample's valid width. */
#include "config.h"

#include "ops/family.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

psg_status psgi_pad_params_of(const psgi_call *call, psg_pad_params *p, psg_error *error)
{
	int32_t rank = call->in[0].shape.rank;
	psg_status status = PSG_OK;

	if (call->kind == PSG_OP_PAD_ALL) {
		*p = call->params->pad;
		return PSG_OK;
	}
	*p = (psg_pad_params){ .mode = PSG_PAD_CONSTANT };
	if (call->kind == PSG_OP_PAD_RB) {
		status = psgi_need_rank(call, 0, 2, PSG_MAX_RANK, error);
		if (status == PSG_OK) {
			p->end[rank - 2] = call->params->pad.end[0];
			p->end[rank - 1] = call->params->pad.end[1];
			if (p->end[rank - 2] < 0 || p->end[rank - 1] < 0)
				return psgi_fail(error, PSG_INVALID,
						 "pad_rb: %" PRId64 " rows and %" PRId64
						 " columns may not be negative",
						 p->end[rank - 2], p->end[rank - 1]);
		}
	}
	return status;
}

/* One dimension: its size after padding. */
static psg_status padded(const psgi_call *call, const psg_pad_params *p, int32_t i, int64_t *out,
			 psg_error *error)
{
	const psg_shape *x = &call->in[0].shape;
	int64_t dim = x->dim[i], begin = p->begin[i], end = p->end[i];
	/* A reflection does not repeat the edge, so it has one column less to give. */
	int64_t most = p->mode == PSG_PAD_REFLECT ? dim - 1
		       : p->mode == PSG_PAD_EDGE  ? (dim > 0 ? PSG_MAX_ELEMENTS : 0)
						  : PSG_MAX_ELEMENTS;
	char text[PSGI_SHAPE_TEXT];

	if (((begin > 0 || end > 0) && (begin > most || end > most)) || begin < -dim ||
	    end < -dim || dim + begin + end < 0)
		return psgi_fail(error, PSG_INVALID,
				 "%s: pads %" PRId64 " and %" PRId64 " for dimension %" PRId32
				 " of %s, at most %" PRId64 " are possible",
				 psgi_call_name(call), begin, end, i, psgi_shape_text(x, text),
				 most > 0 ? most : 0);
	*out = dim + begin + end;
	return PSG_OK;
}

psg_status psgi_pad_shape(psgi_call *call, psg_error *error)
{
	psg_shape out = call->in[0].shape;
	psg_pad_params p;
	psg_status status = psgi_pad_params_of(call, &p, error);

	if (status == PSG_OK && (size_t)p.mode > PSG_PAD_EDGE)
		return psgi_fail(error, PSG_INVALID, "pad_all: mode %d is unknown", (int)p.mode);
	for (int32_t i = 0; i < out.rank && status == PSG_OK; i++)
		status = padded(call, &p, i, &out.dim[i], error);
	return status == PSG_OK ? psgi_out(call, 0, call->in[0].dtype, &out, error) : status;
}

PSGI_PLAIN_COST(pad)

/* Where element o of a padded dimension comes from; -1: nowhere. */
static int64_t source(psg_pad_mode mode, int64_t o, int64_t begin, int64_t dim)
{
	int64_t at = o - begin;

	if (at >= 0 && at < dim)
		return at;
	if (mode == PSG_PAD_CONSTANT)
		return -1;
	if (mode == PSG_PAD_EDGE)
		return at < 0 ? 0 : dim - 1;
	return at < 0 ? -at : 2 * (dim - 1) - at;
}

static psg_status pad(const psgi_call *call, const psg_pad_params *p, psg_error *error)
{
	const psgi_view *in = &call->in[0], *out = &call->out[0];
	int64_t *table[PSG_MAX_RANK], integer = psgi_to_i64((double)p->value);

	if (!psgi_tables(&out->shape, table))
		return psgi_fail(error, PSG_NOMEM, "%s: no memory for its tables",
				 psgi_call_name(call));
	for (int32_t i = 0; i < out->shape.rank; i++)
		for (int64_t o = 0; o < out->shape.dim[i]; o++)
			table[i][o] = source(p->mode, o, p->begin[i], in->shape.dim[i]);
	psgi_table_copy(out->data, &out->shape, in->data, &in->shape, table,
			psg_dtype_size(in->dtype),
			in->dtype == PSG_I64 ? (const void *)&integer : &p->value);
	free(table[0]);
	return PSG_OK;
}

static void zero_cols(const psgi_call *call)
{
	const psgi_view *in = &call->in[0];
	size_t size = psg_dtype_size(in->dtype);
	size_t bytes = (size_t)psg_shape_elements(&in->shape) * size;
	int64_t outer, inner, sample, dim;
	char *out = call->out[0].data;

	if (bytes == 0)
		return;
	if (!psgi_masked(in)) {
		memcpy(out, in->data, bytes);
		return;
	}
	dim = in->shape.dim[in->valid_axis];
	outer = psgi_product(&in->shape, 0, in->valid_axis);
	sample = psgi_product(&in->shape, 1, in->valid_axis);
	inner = psgi_product(&in->shape, in->valid_axis + 1, in->shape.rank);
	for (int64_t i = 0; i < outer; i++) {
		size_t at = (size_t)(i * dim * inner) * size;
		size_t keep = (size_t)(in->valid[i / sample] * inner) * size;

		memcpy(out + at, (const char *)in->data + at, keep);
		memset(out + at + keep, 0, (size_t)(dim * inner) * size - keep);
	}
}

psg_status psgi_pad_ref(const psgi_call *call, psg_error *error)
{
	psg_pad_params p;
	psg_status status = psgi_pad_params_of(call, &p, error);

	if (status != PSG_OK)
		return status;
	if (call->kind == PSG_OP_ZERO_COLS) {
		zero_cols(call);
		return PSG_OK;
	}
	return pad(call, &p, error);
}
