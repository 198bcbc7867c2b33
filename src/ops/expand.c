/* SPDX-License-Identifier: Apache-2.0 */
/* Copies of a tensor along its dimensions: broadcast or tiled. */
#include "config.h"

#include "ops/family.h"

#include <inttypes.h>

static psg_status tiled(const psgi_call *call, psg_shape *out, psg_error *error)
{
	const psg_shape *x = &call->in[0].shape, *times = &call->params->reshape.shape;
	char text[PSGI_SHAPE_TEXT], text_t[PSGI_SHAPE_TEXT];
	bool fits = times->rank == x->rank;

	*out = *x;
	for (int32_t i = 0; i < x->rank && fits; i++)
		fits = times->dim[i] >= 0 && psgi_mul_i64(x->dim[i], times->dim[i], &out->dim[i]);
	if (!fits)
		return psgi_fail(error, PSG_INVALID, "tile: %s repeated %s times",
				 psgi_shape_text(x, text), psgi_shape_text(times, text_t));
	return PSG_OK;
}

psg_status psgi_expand_shape(psgi_call *call, psg_error *error)
{
	const psg_shape *to = &call->params->reshape.shape;
	psg_shape out;
	psg_status status;

	if (call->kind == PSG_OP_TILE) {
		status = tiled(call, &out, error);
	} else {
		status = psgi_shape_check(to, error);
		if (status != PSG_OK)
			psgi_error_prefix(error, "expand");
		else
			status = psgi_broadcast(call, &call->in[0].shape, to, &out, error);
	}
	return status == PSG_OK ? psgi_out(call, 0, call->in[0].dtype, &out, error) : status;
}

PSGI_PLAIN_COST(expand)

void psgi_expand_walk(const psgi_call *call, psgi_walk *walk)
{
	const psg_shape *x = &call->in[0].shape, *out = &call->out[0].shape;
	int64_t to[PSG_MAX_RANK], from[PSG_MAX_RANK];

	*walk = (psgi_walk){ .rank = out->rank, .operands = 2 };
	psgi_strides(out, to);
	if (call->kind == PSG_OP_EXPAND) {
		for (int32_t i = 0; i < out->rank; i++) {
			walk->dim[i] = out->dim[i];
			walk->step[0][i] = to[i];
		}
		psgi_broadcast_strides(x, out, walk->step[1]);
	} else {
		/* Each dimension becomes two: which copy, and where in it. */
		psgi_strides(x, from);
		walk->rank = 2 * x->rank;
		for (int32_t i = 0; i < x->rank; i++) {
			walk->dim[2 * i] = call->params->reshape.shape.dim[i];
			walk->dim[2 * i + 1] = x->dim[i];
			walk->step[0][2 * i] = to[i] * x->dim[i];
			walk->step[0][2 * i + 1] = to[i];
			walk->step[1][2 * i] = 0;
			walk->step[1][2 * i + 1] = from[i];
		}
	}
}

psg_status psgi_expand_ref(const psgi_call *call, psg_error *error)
{
	psgi_walk walk;

	(void)error;
	psgi_expand_walk(call, &walk);
	psgi_walk_copy(&walk, call->out[0].data, call->in[0].data,
		       psg_dtype_size(call->in[0].dtype));
	return PSG_OK;
}
