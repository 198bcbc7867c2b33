/* SPDX-License-Identifier: Apache-2.0 */
/* Normalisation, softmax and digest over rows. */
#include "config.h"

#include "ops/rows.h"
#include "ops/vector.h"

#include "base/base.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct rows_kernel {
	psgi_kernel kernel;
	int64_t rows, columns;
	float epsilon;
	bool has_beta;
};

static void destroy(psgi_kernel *kernel)
{
	free(kernel);
}

static psg_status create(const char *name, int64_t rows, int64_t columns,
			 psg_status (*run)(psgi_kernel *, const psgi_operand *,
					   const psgi_operand *, void *, psg_error *),
			 struct rows_kernel **out, psg_error *error)
{
	struct rows_kernel *self = calloc(1, sizeof(*self));

	if (self == NULL)
		return psgi_fail(error, PSG_NOMEM, "no memory for an operator");
	self->kernel = (psgi_kernel){ name, 0, run, destroy };
	self->rows = rows;
	self->columns = columns;
	*out = self;
	return PSG_OK;
}

/* Sums in 16 lanes, so that rounding and speed do not depend on the compiler's mood. */
#define LANES 16

PSGI_INLINE float add_lanes(const float *lane)
{
	float sum = 0;

	for (int l = 0; l < LANES; l++)
		sum += lane[l];
	return sum;
}

/* --- layer norm --- */

PSGI_VECTOR
static void normalise(const float *in, const float *gamma, const float *beta, int64_t n,
		      float epsilon, float *out)
{
	float lane[LANES] = { 0 }, square[LANES] = { 0 }, mean, factor;

	for (int64_t i = 0; i < n; i++)
		lane[i % LANES] += in[i];
	mean = add_lanes(lane) / (float)n;
	for (int64_t i = 0; i < n; i++)
		square[i % LANES] += (in[i] - mean) * (in[i] - mean);
	factor = 1 / sqrtf(add_lanes(square) / (float)n + epsilon);
	for (int64_t i = 0; i < n; i++)
		out[i] = (in[i] - mean) * factor * gamma[i] + (beta == NULL ? 0 : beta[i]);
}

static psg_status run_layer_norm(psgi_kernel *kernel, const psgi_operand *in,
				 const psgi_operand *out, void *scratch, psg_error *error)
{
	const struct rows_kernel *self = (struct rows_kernel *)kernel;

	(void)scratch;
	(void)error;
	for (int64_t r = 0; r < self->rows; r++)
		normalise((const float *)in[0].data + r * self->columns, in[1].data,
			  self->has_beta ? in[2].data : NULL, self->columns, self->epsilon,
			  (float *)out[0].data + r * self->columns);
	return PSG_OK;
}

psg_status psgi_layer_norm_kernel(int64_t rows, int64_t columns, float epsilon, bool has_beta,
				  psgi_kernel **out, psg_error *error)
{
	struct rows_kernel *self = NULL;
	psg_status status = create("layer norm", rows, columns, run_layer_norm, &self, error);

	if (status != PSG_OK)
		return status;
	self->epsilon = epsilon;
	self->has_beta = has_beta;
	*out = &self->kernel;
	return PSG_OK;
}

/* --- softmax --- */

PSGI_VECTOR
static float row_max(const float *in, int64_t n)
{
	float lane[LANES], max;
	int64_t i = 0;

	for (int l = 0; l < LANES; l++)
		lane[l] = -INFINITY;
	for (; i + LANES <= n; i += LANES) {
		for (int l = 0; l < LANES; l++)
			lane[l] = in[i + l] > lane[l] ? in[i + l] : lane[l];
	}
	max = lane[0];
	for (int l = 1; l < LANES; l++)
		max = lane[l] > max ? lane[l] : max;
	for (; i < n; i++)
		max = in[i] > max ? in[i] : max;
	return max;
}

/* Sum of e^(x - max); also stores the terms where `out` is given. */
PSGI_VECTOR
static float exp_sum(const float *in, int64_t n, float max, float *out)
{
	float lane[LANES] = { 0 }, sum;
	int64_t i = 0;

	for (; i + LANES <= n; i += LANES) {
		for (int l = 0; l < LANES; l++) {
			float e = psgi_exp_negative(in[i + l] - max);

			lane[l] += e;
			if (out != NULL)
				out[i + l] = e;
		}
	}
	sum = add_lanes(lane);
	for (; i < n; i++) {
		float e = psgi_exp_negative(in[i] - max);

		sum += e;
		if (out != NULL)
			out[i] = e;
	}
	return sum;
}

PSGI_VECTOR
static void scale(float *row, int64_t n, float factor)
{
	for (int64_t i = 0; i < n; i++)
		row[i] *= factor;
}

static psg_status run_softmax(psgi_kernel *kernel, const psgi_operand *in, const psgi_operand *out,
			      void *scratch, psg_error *error)
{
	const struct rows_kernel *self = (struct rows_kernel *)kernel;

	(void)scratch;
	(void)error;
#pragma omp parallel for schedule(static)
	for (int64_t r = 0; r < self->rows; r++) {
		const float *row = (const float *)in[0].data + r * self->columns;
		float *to = (float *)out[0].data + r * self->columns;

		scale(to, self->columns,
		      1 / exp_sum(row, self->columns, row_max(row, self->columns), to));
	}
	return PSG_OK;
}

psg_status psgi_softmax_kernel(int64_t rows, int64_t columns, psgi_kernel **out, psg_error *error)
{
	struct rows_kernel *self = NULL;
	psg_status status = create("softmax", rows, columns, run_softmax, &self, error);

	if (status == PSG_OK)
		*out = &self->kernel;
	return status;
}

/* --- digest --- */

static psg_status run_digest(psgi_kernel *kernel, const psgi_operand *in, const psgi_operand *out,
			     void *scratch, psg_error *error)
{
	const struct rows_kernel *self = (struct rows_kernel *)kernel;

	(void)scratch;
	(void)error;
#pragma omp parallel for schedule(static)
	for (int64_t r = 0; r < self->rows; r++) {
		const float *row = (const float *)in[0].data + r * self->columns;
		float *digest = (float *)out[0].data + r * 2, max = row_max(row, self->columns);
		int64_t best = 0;

		while (best < self->columns - 1 && row[best] != max)
			best++;
		digest[0] = (float)best;
		digest[1] = 1 / exp_sum(row, self->columns, max, NULL);
	}
	return PSG_OK;
}

psg_status psgi_digest_kernel(int64_t rows, int64_t columns, psgi_kernel **out, psg_error *error)
{
	struct rows_kernel *self = NULL;
	psg_status status = create("digest", rows, columns, run_digest, &self, error);

	if (status == PSG_OK)
		*out = &self->kernel;
	return status;
}

/* --- attention --- */

struct attention_kernel {
	psgi_kernel kernel;
	int64_t samples, steps, heads, size;
	float scale;
};

/* Values are taken this many at a time; head sizes are filled up with zeros. */
static int64_t padded(int64_t size)
{
	return (size + LANES - 1) / LANES * LANES;
}

/* softmax(q k^T) in place of `score`, keys along memory. */
PSGI_INLINE float weigh_keys(const float *q, const float *k, int64_t d, int64_t keys, float scale,
			     float *score)
{
	float max = -INFINITY, sum = 0;

	for (int64_t j = 0; j < keys; j++)
		score[j] = 0;
	for (int64_t i = 0; i < d; i++) {
		float factor = q[i] * scale;

		for (int64_t j = 0; j < keys; j++)
			score[j] += factor * k[i * keys + j];
	}
	for (int64_t j = 0; j < keys; j++)
		max = score[j] > max ? score[j] : max;
	for (int64_t j = 0; j < keys; j++)
		score[j] = psgi_exp_negative(score[j] - max);
	for (int64_t j = 0; j < keys; j++)
		sum += score[j];
	return 1 / sum;
}

/* One head of one sample; keys and values gathered so that the inner loops run along memory. */
PSGI_VECTOR
static void attend(const struct attention_kernel *self, const float *qkv, int64_t keys,
		   float *scratch, float *out)
{
	int64_t d = self->size, width = self->heads * d, stride = 3 * width, room = padded(d);
	float *k = scratch, *v = k + d * self->steps, *score = v + room * self->steps;

	memset(v, 0, (size_t)(room * keys) * sizeof(float));
	for (int64_t j = 0; j < keys; j++) {
		for (int64_t i = 0; i < d; i++)
			k[i * keys + j] = qkv[j * stride + width + i];
		memcpy(v + j * room, qkv + j * stride + 2 * width, (size_t)d * sizeof(float));
	}
	for (int64_t t = 0; t < self->steps; t++) {
		float factor = weigh_keys(qkv + t * stride, k, d, keys, self->scale, score);

		for (int64_t first = 0; first < d; first += LANES) {
			int64_t n = d - first < LANES ? d - first : LANES;
			float sum[LANES] = { 0 };

			for (int64_t j = 0; j < keys; j++) {
				for (int l = 0; l < LANES; l++)
					sum[l] += score[j] * v[j * room + first + l];
			}
			for (int64_t i = 0; i < n; i++)
				out[t * width + first + i] = sum[i] * factor;
		}
	}
}

static psg_status run_attention(psgi_kernel *kernel, const psgi_operand *in,
				const psgi_operand *out, void *scratch, psg_error *error)
{
	const struct attention_kernel *self = (struct attention_kernel *)kernel;
	int64_t width = self->heads * self->size;
	int64_t per_head =
		(int64_t)(kernel->scratch_bytes / sizeof(float)) / (self->samples * self->heads);

	(void)error;
#pragma omp parallel for schedule(static)
	for (int64_t i = 0; i < self->samples * self->heads; i++) {
		int64_t n = i / self->heads, head = i % self->heads;

		attend(self,
		       (const float *)in[0].data + n * self->steps * 3 * width + head * self->size,
		       in[0].valid == NULL ? self->steps : in[0].valid[n],
		       (float *)scratch + i * per_head,
		       (float *)out[0].data + n * self->steps * width + head * self->size);
	}
	return PSG_OK;
}

static void destroy_attention(psgi_kernel *kernel)
{
	free(kernel);
}

psg_status psgi_attention_kernel(const psg_shape *qkv, int32_t heads, float factor,
				 psgi_kernel **out, psg_error *error)
{
	struct attention_kernel *self = calloc(1, sizeof(*self));
	size_t per_head;

	if (self == NULL)
		return psgi_fail(error, PSG_NOMEM, "no memory for an operator");
	self->samples = qkv->dim[0];
	self->steps = qkv->dim[1];
	self->heads = heads;
	self->size = qkv->dim[2] / 3 / heads;
	self->scale = factor != 0 ? factor : (float)(1 / sqrt((double)self->size));
	per_head = (size_t)((self->size + padded(self->size) + 1) * self->steps);
	self->kernel = (psgi_kernel){ "attention",
				      per_head * (size_t)(self->samples * heads) * sizeof(float),
				      run_attention, destroy_attention };
	*out = &self->kernel;
	return PSG_OK;
}
