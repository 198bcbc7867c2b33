/* SPDX-License-Identifier: Apache-2.0 */
/* A bias for each channel, a factor for each channel of each sample. */
#include "config.h"

#include "ops/family.h"

#include <inttypes.h>

psg_status psgi_channel_shape(psgi_call *call, psg_error *error)
{
	const psg_shape *x = &call->in[0].shape, *s = &call->in[1].shape;
	char text_x[PSGI_SHAPE_TEXT], text_s[PSGI_SHAPE_TEXT];
	psg_status status = psgi_need_dtype(call, 0, PSG_F32, error);

	if (status == PSG_OK)
		status = psgi_need_dtype(call, 1, PSG_F32, error);
	if (status == PSG_OK)
		status = psgi_need_rank(call, 0, 2, PSG_MAX_RANK, error);
	if (status == PSG_OK && call->kind == PSG_OP_ADD_BIAS)
		status = psgi_need_vector(call, 1, x->dim[1], error);
	if (status == PSG_OK && call->kind == PSG_OP_SCALE_CH &&
	    (s->rank < 2 || s->dim[0] != x->dim[0] || s->dim[1] != x->dim[1] ||
	     psgi_product(s, 2, s->rank) != 1))
		status = psgi_fail(error, PSG_INVALID,
				   "scale_ch: input %s wants scales [%" PRId64 ",%" PRId64
				   "], not %s",
				   psgi_shape_text(x, text_x), x->dim[0], x->dim[1],
				   psgi_shape_text(s, text_s));
	return status == PSG_OK ? psgi_out(call, 0, PSG_F32, x, error) : status;
}

PSGI_PLAIN_COST(channel)

psg_status psgi_channel_ref(const psgi_call *call, psg_error *error)
{
	const psg_shape *x = &call->in[0].shape;
	int64_t size = psgi_product(x, 2, x->rank);
	const float *from = call->in[0].data, *each = call->in[1].data;
	float *to = call->out[0].data;

	(void)error;
	for (int64_t plane = 0; plane < x->dim[0] * x->dim[1]; plane++) {
		if (call->kind == PSG_OP_ADD_BIAS) {
			float bias = each[plane % x->dim[1]];

			for (int64_t i = 0; i < size; i++)
				to[i] = from[i] + bias;
		} else {
			float scale = each[plane];

			for (int64_t i = 0; i < size; i++)
				to[i] = from[i] * scale;
		}
		from += size;
		to += size;
	}
	return PSG_OK;
}
