/* SPDX-License-Identifier: Apache-2.0 */
/* Gates, residuals, nearest interpolation and concatenation of blocked images in one pass. */
#include "config.h"

#include "ops/blocked.h"
#include "ops/vector.h"

#include "base/base.h"

#include <stdlib.h>
#include <string.h>

#define MAX_LANES 16

struct mix_kernel {
	psgi_kernel kernel;
	psgi_mix_spec spec;
};

/* One row of `lanes` channels; `s` is the distance between pixels. */
PSGI_INLINE void scale_row(float *out, const float *a, const float *factor, int64_t width,
			   int64_t up, int64_t s, int64_t lanes)
{
	for (int64_t x = 0; x < width; x += up, a += s) {
		for (int64_t r = 0; r < up; r++, out += s) {
			for (int64_t l = 0; l < lanes; l++)
				out[l] = a[l] * factor[l];
		}
	}
}

PSGI_INLINE void sum_row(float *out, const float *a, const float *factor, const float *b,
			 int64_t width, int64_t up, int64_t s, int64_t lanes)
{
	for (int64_t x = 0; x < width; x += up, b += s) {
		for (int64_t r = 0; r < up; r++, out += s, a += s) {
			for (int64_t l = 0; l < lanes; l++)
				out[l] = a[l] * factor[l] + b[l];
		}
	}
}

/* Constant lanes and strides let the compiler use whole vectors. */
PSGI_VECTOR
static void mix_row(const psgi_mix_spec *spec, int64_t lanes, float *out, const float *a,
		    const float *factor, const float *b)
{
	int64_t width = spec->out.dim[3];

	if (b != NULL && spec->block == 16 && lanes == 16)
		sum_row(out, a, factor, b, width, spec->up_b, 16, 16);
	else if (b != NULL)
		sum_row(out, a, factor, b, width, spec->up_b, spec->block, 8);
	else if (spec->block == 16 && lanes == 16)
		scale_row(out, a, factor, width, spec->up_a, 16, 16);
	else
		scale_row(out, a, factor, width, spec->up_a, spec->block, 8);
}

/* Where channel `c` of sample `n` starts, of `channels` in blocks with `pixels` each. */
static int64_t channel_at(int64_t n, int64_t c, int64_t channels, int64_t pixels, int64_t block)
{
	int64_t blocks = (channels + block - 1) / block;

	return (n * blocks + c / block) * pixels * block + c % block;
}

/* All rows of one group of lanes. */
static void mix_group(const psgi_mix_spec *spec, int64_t n, int64_t c, int64_t lanes,
		      const psgi_operand *in, float *out)
{
	int64_t height = spec->out.dim[2], width = spec->out.dim[3], block = spec->block;
	int64_t wa = width / spec->up_a, wb = width / spec->up_b;
	const float *a = in[0].data, *b = in[2].data, *gate = in[1].data;
	float factor[MAX_LANES];

	for (int64_t l = 0; l < lanes; l++) {
		factor[l] = spec->base;
		if (spec->has_gate)
			factor[l] = c + l < spec->channels
					    ? spec->base + gate[n * spec->gate_stride + c + l]
					    : 0;
	}
	a += channel_at(n, c, spec->channels, height / spec->up_a * wa, block);
	if (spec->has_b)
		b += channel_at(n, c, spec->channels, height / spec->up_b * wb, block);
	out += channel_at(n, c + spec->offset, spec->out.dim[1], height * width, block);
	for (int64_t y = 0; y < height; y++, out += width * block)
		mix_row(spec, lanes, out, a + y / spec->up_a * wa * block, factor,
			spec->has_b ? b + y / spec->up_b * wb * block : NULL);
}

/* Zeros into the lanes of the last block that no part fills. */
static void clear_group(const psgi_mix_spec *spec, int64_t n, int64_t c, int64_t lanes, float *out)
{
	int64_t pixels = spec->out.dim[2] * spec->out.dim[3];

	out += channel_at(n, c + spec->offset, spec->out.dim[1], pixels, spec->block);
	for (int64_t p = 0; p < pixels; p++, out += spec->block)
		memset(out, 0, (size_t)lanes * sizeof(float));
}

static psg_status run(psgi_kernel *kernel, const psgi_operand *in, const psgi_operand *out,
		      void *scratch, psg_error *error)
{
	const psgi_mix_spec *spec = &((struct mix_kernel *)kernel)->spec;
	int64_t lanes = spec->block == 16 && spec->offset % 16 == 0 && spec->out.dim[1] % 16 == 0 &&
					spec->channels % 16 == 0
				? 16
				: 8;
	int64_t end = spec->offset + spec->channels, groups, total;

	(void)scratch;
	(void)error;
	/* The last part also fills the padding of the last block. */
	if (end == spec->out.dim[1])
		end = (end + spec->block - 1) / spec->block * spec->block;
	groups = (end - spec->offset + lanes - 1) / lanes;
	total = spec->out.dim[0] * groups;
#pragma omp parallel for schedule(static)
	for (int64_t i = 0; i < total; i++) {
		int64_t n = i / groups, c = i % groups * lanes;

		if (c < spec->channels)
			mix_group(spec, n, c, lanes, in, out[0].data);
		else
			clear_group(spec, n, c, lanes, out[0].data);
	}
	return PSG_OK;
}

static void destroy(psgi_kernel *kernel)
{
	free(kernel);
}

psg_status psgi_mix_kernel(const psgi_mix_spec *spec, psgi_kernel **out, psg_error *error)
{
	struct mix_kernel *self = calloc(1, sizeof(*self));

	if (self == NULL)
		return psgi_fail(error, PSG_NOMEM, "no memory for an operator");
	self->kernel = (psgi_kernel){ "mix", 0, run, destroy };
	self->spec = *spec;
	*out = &self->kernel;
	return PSG_OK;
}
