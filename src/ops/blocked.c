/* SPDX-License-Identifier: Apache-2.0 */
/* Changing layouts: copies, and plain channels to blocked ones and back. */
#include "config.h"

#include "ops/blocked.h"

#include "base/base.h"

#include <stdlib.h>
#include <string.h>

struct layout_kernel {
	psgi_kernel kernel;
	size_t bytes;                             /* copy */
	int64_t samples, channels, pixels, block; /* reorder; block is that of the blocked side */
};

static void destroy(psgi_kernel *kernel)
{
	free(kernel);
}

static psg_status create(psg_status (*run)(psgi_kernel *, const psgi_operand *,
					   const psgi_operand *, void *, psg_error *),
			 struct layout_kernel **out, psg_error *error)
{
	struct layout_kernel *self = calloc(1, sizeof(*self));

	if (self == NULL)
		return psgi_fail(error, PSG_NOMEM, "no memory for an operator");
	self->kernel = (psgi_kernel){ "layout", 0, run, destroy };
	*out = self;
	return PSG_OK;
}

static psg_status run_copy(psgi_kernel *kernel, const psgi_operand *in, const psgi_operand *out,
			   void *scratch, psg_error *error)
{
	(void)scratch;
	(void)error;
	memcpy(out[0].data, in[0].data, ((struct layout_kernel *)kernel)->bytes);
	return PSG_OK;
}

psg_status psgi_copy_kernel(size_t bytes, psgi_kernel **out, psg_error *error)
{
	struct layout_kernel *self = NULL;
	psg_status status = create(run_copy, &self, error);

	if (status != PSG_OK)
		return status;
	self->bytes = bytes;
	*out = &self->kernel;
	return PSG_OK;
}

static psg_status run_block(psgi_kernel *kernel, const psgi_operand *in, const psgi_operand *out,
			    void *scratch, psg_error *error)
{
	const struct layout_kernel *self = (struct layout_kernel *)kernel;
	const float *from = in[0].data;
	float *to = out[0].data;

	(void)scratch;
	(void)error;
	for (int64_t n = 0; n < self->samples; n++, from += self->channels * self->pixels) {
		for (int64_t first = 0; first < self->channels; first += self->block) {
			int64_t lanes = self->channels - first;

			if (lanes >= self->block)
				lanes = self->block;
			else
				memset(to, 0, (size_t)(self->pixels * self->block) * sizeof(float));
			for (int64_t c = 0; c < lanes; c++) {
				const float *plane = from + (first + c) * self->pixels;

				for (int64_t p = 0; p < self->pixels; p++)
					to[p * self->block + c] = plane[p];
			}
			to += self->pixels * self->block;
		}
	}
	return PSG_OK;
}

static psg_status run_unblock(psgi_kernel *kernel, const psgi_operand *in, const psgi_operand *out,
			      void *scratch, psg_error *error)
{
	const struct layout_kernel *self = (struct layout_kernel *)kernel;
	const float *from = in[0].data;
	float *to = out[0].data;

	(void)scratch;
	(void)error;
	for (int64_t n = 0; n < self->samples; n++, to += self->channels * self->pixels) {
		for (int64_t first = 0; first < self->channels; first += self->block) {
			int64_t lanes = self->channels - first;

			if (lanes > self->block)
				lanes = self->block;
			for (int64_t c = 0; c < lanes; c++) {
				float *plane = to + (first + c) * self->pixels;

				for (int64_t p = 0; p < self->pixels; p++)
					plane[p] = from[p * self->block + c];
			}
			from += self->pixels * self->block;
		}
	}
	return PSG_OK;
}

psg_status psgi_reorder_kernel(const psg_shape *shape, int32_t from, int32_t to, psgi_kernel **out,
			       psg_error *error)
{
	struct layout_kernel *self = NULL;
	psg_status status = create(from > to ? run_unblock : run_block, &self, error);

	if (status != PSG_OK)
		return status;
	self->samples = shape->dim[0];
	self->channels = shape->dim[1];
	self->pixels = 1;
	for (int32_t i = 2; i < shape->rank; i++)
		self->pixels *= shape->dim[i];
	self->block = from > to ? from : to;
	*out = &self->kernel;
	return PSG_OK;
}
