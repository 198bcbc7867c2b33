/* SPDX-License-Identifier: Apache-2.0 */
/* The two numbers of each time step that CTC decoding needs: a class and its probability. */
#include "config.h"

#include "ops/family.h"

#include <inttypes.h>
#include <math.h>

psg_status psgi_ctc_shape(psgi_call *call, psg_error *error)
{
	const psg_shape *x = &call->in[0].shape;
	char text[PSGI_SHAPE_TEXT];
	psg_shape out;
	psg_status status = psgi_need_dtype(call, 0, PSG_F32, error);

	if (status == PSG_OK)
		status = psgi_need_rank(call, 0, 3, 3, error);
	if (status == PSG_OK && x->dim[2] == 0)
		status = psgi_fail(error, PSG_INVALID, "ctc_digest: %s has no classes",
				   psgi_shape_text(x, text));
	out = PSG_SHAPE(x->dim[0], x->dim[1], 2);
	return status == PSG_OK ? psgi_out(call, 0, PSG_F32, &out, error) : status;
}

PSGI_PLAIN_COST(ctc)

/* Classes are counted in floats, which are exact up to 2^24. */
static void digest(const float *x, int64_t classes, float *out)
{
	int64_t best = 0;
	double sum = 0;

	for (int64_t i = 1; i < classes; i++)
		if (x[i] > x[best])
			best = i;
	for (int64_t i = 0; i < classes; i++)
		sum += exp((double)x[i] - (double)x[best]);
	out[0] = (float)best;
	out[1] = (float)(1 / sum);
}

psg_status psgi_ctc_ref(const psgi_call *call, psg_error *error)
{
	const psgi_view *in = &call->in[0];
	const int64_t *x = in->shape.dim;
	float *out = call->out[0].data;

	(void)error;
	for (int64_t n = 0; n < x[0]; n++)
		for (int64_t t = 0; t < psgi_extent(in, 1, n); t++)
			digest((const float *)in->data + (n * x[1] + t) * x[2], x[2],
			       out + (n * x[1] + t) * 2);
	return PSG_OK;
}
