/* SPDX-License-Identifier: Apache-2.0 */
/* Means, masks and pools of images in blocks. */
#include "config.h"

#include "ops/blocked.h"
#include "ops/vector.h"

#include "base/base.h"

#include <stdlib.h>
#include <string.h>

#define MAX_BLOCK 16

struct image_kernel {
	psgi_kernel kernel;
	int64_t samples, channels, blocks, height, width, block;
	/* pools */
	psg_op_kind kind;
	int64_t out_height, out_width, kh, kw, sh, sw, ph, pw;
};

static void destroy(psgi_kernel *kernel)
{
	free(kernel);
}

static psg_status create(const char *name, const psg_shape *shape, int32_t block,
			 psg_status (*run)(psgi_kernel *, const psgi_operand *,
					   const psgi_operand *, void *, psg_error *),
			 struct image_kernel **out, psg_error *error)
{
	struct image_kernel *self = calloc(1, sizeof(*self));

	if (self == NULL)
		return psgi_fail(error, PSG_NOMEM, "no memory for an operator");
	self->kernel = (psgi_kernel){ name, 0, run, destroy };
	self->samples = shape->dim[0];
	self->channels = shape->dim[1];
	self->height = shape->rank > 3 ? shape->dim[2] : 1;
	self->width = shape->dim[shape->rank - 1];
	self->block = block;
	self->blocks = (self->channels + block - 1) / block;
	*out = self;
	return PSG_OK;
}

static int64_t valid_width(const struct image_kernel *self, const psgi_operand *in, int64_t sample)
{
	return in->valid != NULL ? in->valid[sample] : self->width;
}

/* --- mean --- */

PSGI_VECTOR
static void sum_rows(const struct image_kernel *self, const float *in, int64_t valid, double *total)
{
	for (int64_t y = 0; y < self->height; y++, in += self->width * self->block) {
		float row[MAX_BLOCK] = { 0 }; /* a row is short enough for float */

		if (self->block == 16) {
			for (int64_t x = 0; x < valid; x++) {
				for (int64_t l = 0; l < 16; l++)
					row[l] += in[x * 16 + l];
			}
		} else {
			for (int64_t x = 0; x < valid; x++) {
				for (int64_t l = 0; l < self->block; l++)
					row[l] += in[x * self->block + l];
			}
		}
		for (int64_t l = 0; l < self->block; l++)
			total[l] += (double)row[l];
	}
}

static psg_status run_mean(psgi_kernel *kernel, const psgi_operand *in, const psgi_operand *out,
			   void *scratch, psg_error *error)
{
	const struct image_kernel *self = (struct image_kernel *)kernel;

	(void)scratch;
	(void)error;
#pragma omp parallel for schedule(static)
	for (int64_t i = 0; i < self->samples * self->blocks; i++) {
		int64_t valid = valid_width(self, in, i / self->blocks);
		double total[MAX_BLOCK] = { 0 }, count = (double)(valid * self->height);
		float *mean = (float *)out[0].data + i * self->block;

		sum_rows(self,
			 (const float *)in[0].data + i * self->height * self->width * self->block,
			 valid, total);
		for (int64_t l = 0; l < self->block; l++)
			mean[l] = (float)(total[l] / count);
	}
	return PSG_OK;
}

psg_status psgi_global_avg_kernel(const psg_shape *in, int32_t block, psgi_kernel **out,
				  psg_error *error)
{
	struct image_kernel *self = NULL;
	psg_status status = create("mean", in, block, run_mean, &self, error);

	if (status == PSG_OK)
		*out = &self->kernel;
	return status;
}

/* --- mask --- */

static psg_status run_mask(psgi_kernel *kernel, const psgi_operand *in, const psgi_operand *out,
			   void *scratch, psg_error *error)
{
	const struct image_kernel *self = (struct image_kernel *)kernel;
	float *row = in[0].data;

	(void)out;
	(void)scratch;
	(void)error;
	if (in[0].valid == NULL)
		return PSG_OK;
	for (int64_t n = 0; n < self->samples; n++) {
		int64_t valid = in[0].valid[n];

		for (int64_t r = 0; r < self->blocks * self->height;
		     r++, row += self->width * self->block)
			memset(row + valid * self->block, 0,
			       (size_t)((self->width - valid) * self->block) * sizeof(float));
	}
	return PSG_OK;
}

psg_status psgi_mask_kernel(const psg_shape *in, int32_t block, psgi_kernel **out, psg_error *error)
{
	struct image_kernel *self = NULL;
	psg_status status = create("mask", in, block, run_mask, &self, error);

	if (status == PSG_OK)
		*out = &self->kernel;
	return status;
}

/* --- pools --- */

struct window {
	int64_t y0, y1, x0, x1;
};

static struct window window_at(const struct image_kernel *self, int64_t y, int64_t x, int64_t valid)
{
	struct window w = { y * self->sh - self->ph, 0, x * self->sw - self->pw, 0 };

	w.y1 = w.y0 + self->kh > self->height ? self->height : w.y0 + self->kh;
	w.x1 = w.x0 + self->kw > valid ? valid : w.x0 + self->kw;
	w.y0 = w.y0 < 0 ? 0 : w.y0;
	w.x0 = w.x0 < 0 ? 0 : w.x0;
	return w;
}

static void pool_pixel(const struct image_kernel *self, const float *in, struct window w,
		       float *out)
{
	float count = (float)((w.y1 - w.y0) * (w.x1 - w.x0)), acc[MAX_BLOCK] = { 0 };
	bool max = self->kind == PSG_OP_POOL_MAX;
	int64_t block = self->block;

	for (int64_t l = 0; max && l < block; l++)
		acc[l] = -__builtin_inff();
	for (int64_t y = w.y0; y < w.y1; y++) {
		for (int64_t x = w.x0; x < w.x1; x++) {
			const float *pixel = in + (y * self->width + x) * block;

			for (int64_t l = 0; l < block; l++) {
				if (!max)
					acc[l] += pixel[l];
				else if (pixel[l] > acc[l] || pixel[l] != pixel[l])
					acc[l] = pixel[l];
			}
		}
	}
	for (int64_t l = 0; l < block; l++)
		out[l] = max ? acc[l] : acc[l] / count;
}

static psg_status run_pool(psgi_kernel *kernel, const psgi_operand *in, const psgi_operand *out,
			   void *scratch, psg_error *error)
{
	const struct image_kernel *self = (struct image_kernel *)kernel;
	int64_t pixels = self->height * self->width * self->block;
	int64_t out_row = self->out_width * self->block;

	(void)scratch;
	(void)error;
#pragma omp parallel for schedule(static)
	for (int64_t i = 0; i < self->samples * self->blocks; i++) {
		int64_t valid = valid_width(self, in, i / self->blocks);
		const float *image = (const float *)in[0].data + i * pixels;
		float *to = (float *)out[0].data + i * self->out_height * out_row;

		for (int64_t y = 0; y < self->out_height; y++) {
			for (int64_t x = 0; x < self->out_width; x++)
				pool_pixel(self, image, window_at(self, y, x, valid),
					   to + y * out_row + x * self->block);
		}
	}
	return PSG_OK;
}

static int64_t or_one(int32_t value)
{
	return value == 0 ? 1 : value;
}

psg_status psgi_pool_kernel(const psgi_call *call, int32_t block, psgi_kernel **out,
			    psg_error *error)
{
	const psg_pool_params *p = &call->params->pool;
	struct image_kernel *self = NULL;
	psg_status status = create("pool", &call->in[0].shape, block, run_pool, &self, error);

	if (status != PSG_OK)
		return status;
	self->kind = call->kind;
	self->out_height = call->out[0].shape.dim[2];
	self->out_width = call->out[0].shape.dim[3];
	self->kh = or_one(p->window.kernel[0]);
	self->kw = or_one(p->window.kernel[1]);
	self->sh = or_one(p->window.stride[0]);
	self->sw = or_one(p->window.stride[1]);
	self->ph = p->window.pad_begin[0];
	self->pw = p->window.pad_begin[1];
	*out = &self->kernel;
	return PSG_OK;
}

/* --- shuffle --- */

static psg_status run_shuffle(psgi_kernel *kernel, const psgi_operand *in, const psgi_operand *out,
			      void *scratch, psg_error *error)
{
	const struct image_kernel *self = (struct image_kernel *)kernel;
	int64_t b = self->kh, block = self->block, plane = self->height * self->width * block;

	(void)scratch;
	(void)error;
#pragma omp parallel for schedule(static)
	for (int64_t i = 0; i < self->samples * self->height * b; i++) {
		int64_t n = i / (self->height * b), y = i % (self->height * b);
		const float *sample = (const float *)in[0].data + n * self->blocks * plane;
		float *row = (float *)out[0].data + i * self->width * b;

		for (int64_t j = 0; j < b; j++) {
			int64_t c = y % b * b + j;
			const float *from = sample + c / block * plane +
					    y / b * self->width * block + c % block;

			for (int64_t x = 0; x < self->width; x++)
				row[x * b + j] = from[x * block];
		}
	}
	return PSG_OK;
}

psg_status psgi_shuffle_kernel(const psg_shape *in, int32_t factor, int32_t block,
			       psgi_kernel **out, psg_error *error)
{
	struct image_kernel *self = NULL;
	psg_status status = create("shuffle", in, block, run_shuffle, &self, error);

	if (status != PSG_OK)
		return status;
	self->kh = factor;
	*out = &self->kernel;
	return PSG_OK;
}

/* --- sequences --- */

static psg_status run_to_sequence(psgi_kernel *kernel, const psgi_operand *in,
				  const psgi_operand *out, void *scratch, psg_error *error)
{
	const struct image_kernel *self = (struct image_kernel *)kernel;
	int64_t pixels = self->height * self->width, block = self->block;
	const float *from = in[0].data;
	float *to = out[0].data;

	(void)scratch;
	(void)error;
	for (int64_t n = 0; n < self->samples; n++, to += pixels * self->channels) {
		for (int64_t c = 0; c < self->channels; c += block, from += pixels * block) {
			int64_t lanes = self->channels - c < block ? self->channels - c : block;

			for (int64_t t = 0; t < pixels; t++)
				memcpy(to + t * self->channels + c, from + t * block,
				       (size_t)lanes * sizeof(float));
		}
	}
	return PSG_OK;
}

static psg_status run_to_image(psgi_kernel *kernel, const psgi_operand *in, const psgi_operand *out,
			       void *scratch, psg_error *error)
{
	const struct image_kernel *self = (struct image_kernel *)kernel;
	int64_t pixels = self->height * self->width, block = self->block;
	const float *from = in[0].data;
	float *to = out[0].data;

	(void)scratch;
	(void)error;
	for (int64_t n = 0; n < self->samples; n++, from += pixels * self->channels) {
		for (int64_t c = 0; c < self->channels; c += block, to += pixels * block) {
			int64_t lanes = self->channels - c < block ? self->channels - c : block;

			for (int64_t t = 0; t < pixels; t++) {
				memcpy(to + t * block, from + t * self->channels + c,
				       (size_t)lanes * sizeof(float));
				memset(to + t * block + lanes, 0,
				       (size_t)(block - lanes) * sizeof(float));
			}
		}
	}
	return PSG_OK;
}

psg_status psgi_to_sequence_kernel(const psg_shape *image, int32_t block, psgi_kernel **out,
				   psg_error *error)
{
	struct image_kernel *self = NULL;
	psg_status status = create("to sequence", image, block, run_to_sequence, &self, error);

	if (status == PSG_OK)
		*out = &self->kernel;
	return status;
}

psg_status psgi_to_image_kernel(const psg_shape *image, int32_t block, psgi_kernel **out,
				psg_error *error)
{
	struct image_kernel *self = NULL;
	psg_status status = create("to image", image, block, run_to_image, &self, error);

	if (status == PSG_OK)
		*out = &self->kernel;
	return status;
}
