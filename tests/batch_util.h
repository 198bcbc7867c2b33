/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of batches share: a model over columns, samples for it, and their results alone.
 */
#ifndef PSG_TESTS_BATCH_UTIL_H
#define PSG_TESTS_BATCH_UTIL_H

#include "jobs_util.h"
#include "onnx_text.h"

#include <pagesift/batch.h>

#include <math.h>
#include <string.h>

/* Each column of a result has the columns around it in it, so that it tells where a sample ends. */
#define T_COLUMNS                                                                                  \
	"opset 13; in x ? 1 2 ?; w k 1 1 2 3 = 0.5 -1.0 2.0 1.5 0.25 -0.75; "                      \
	"Conv x k > c kernel_shape=[2,3] pads=[0,1,0,1]; Tanh c > y; out y"

static inline psg_model *t_model(const char *text)
{
	psg_error error = PSG_ERROR_INIT;
	psg_model *model;
	size_t size;
	uint8_t *data = t_onnx(text, &size);

	ck_assert_msg(psg_model_load_memory(data, size, "tiny", NULL, &model, &error) == PSG_OK,
		      "%s", error.message);
	free(data);
	return model;
}

static inline psg_batcher *t_batcher(psg_worker *worker, psg_model *model,
				     const psg_batcher_options *options)
{
	psg_error error = PSG_ERROR_INIT;
	psg_batcher *batcher;

	ck_assert_msg(psg_batcher_open(worker, model, options, &batcher, &error) == PSG_OK, "%s",
		      error.message);
	return batcher;
}

/* The `k`-th: 3 to 19 columns are valid of 8, 16 or 24, the others huge. */
static inline psg_tensor *t_sample(uint32_t k)
{
	int32_t valid = 3 + (int32_t)(k * 7 % 17), width = (valid + 7) / 8 * 8;
	psg_tensor *sample;
	float *x;

	ck_assert_int_eq(psg_tensor_create(PSG_F32, &PSG_SHAPE(1, 1, 2, width), &sample, NULL),
			 PSG_OK);
	x = psg_tensor_data(sample);
	for (int32_t i = 0; i < 2 * width; i++)
		x[i] = i % width < valid ? (float)((k * 31 + (uint32_t)i * 17) % 64) / 64 - 0.5F
					 : 1e6F;
	ck_assert_int_eq(psg_tensor_set_valid_widths(sample, 3, &valid, 1, NULL), PSG_OK);
	return sample;
}

static inline psg_future *t_put(psg_batcher *batcher, psg_tensor *sample,
				const psg_job_options *options)
{
	psg_error error = PSG_ERROR_INIT;
	psg_future *future;

	ck_assert_msg(psg_batcher_submit(batcher, sample, options, &future, &error) == PSG_OK, "%s",
		      error.message);
	return future;
}

static inline psg_future *t_put_kth(psg_batcher *batcher, uint32_t k,
				    const psg_job_options *options)
{
	psg_tensor *sample = t_sample(k);
	psg_future *future = t_put(batcher, sample, options);

	psg_tensor_unref(sample);
	return future;
}

/* What T_COLUMNS makes of the `k`-th sample, one column after the other. */
static inline void t_check_columns(const psg_tensor *got, uint32_t k)
{
	static const double weights[2][3] = { { 0.5, -1.0, 2.0 }, { 1.5, 0.25, -0.75 } };
	psg_tensor *sample = t_sample(k);
	int32_t width = (int32_t)psg_tensor_shape(sample)->dim[3], axis = 0;
	int32_t valid = psg_tensor_valid_widths(sample, NULL)[0];
	const float *x = psg_tensor_const_data(sample), *y = psg_tensor_const_data(got);
	const psg_shape *shape = psg_tensor_shape(got);

	ck_assert_int_eq(shape->rank, 4);
	ck_assert_int_eq(shape->dim[0], 1);
	ck_assert_int_eq(shape->dim[3], valid);
	ck_assert_int_eq(psg_tensor_valid_widths(got, &axis)[0], valid);
	ck_assert_int_eq(axis, 3);
	for (int32_t i = 0; i < valid; i++) {
		double sum = 0;

		for (int32_t row = 0; row < 2; row++)
			for (int32_t d = -1; d <= 1; d++)
				if (i + d >= 0 && i + d < valid)
					sum += weights[row][d + 1] * (double)x[row * width + i + d];
		ck_assert_msg(fabs(tanh(sum) - (double)y[i]) < 1e-5, "sample %u, column %d", k, i);
	}
	psg_tensor_unref(sample);
}

/* Waits for what became of the `k`-th sample, and releases it. */
static inline void t_expect_kth(psg_future *future, uint32_t k)
{
	psg_error error = PSG_ERROR_INIT;
	psg_tensor *const *out;
	size_t n;

	(void)psg_future_wait(future);
	ck_assert_msg(psg_future_tensors(future, &out, &n, &error) == PSG_OK, "sample %u: %s", k,
		      error.message);
	ck_assert_uint_eq(n, 1);
	t_check_columns(out[0], k);
	psg_future_release(future);
}

static inline psg_batcher_stats t_batch_stats(const psg_batcher *batcher)
{
	psg_batcher_stats stats;

	psg_batcher_stats_get(batcher, &stats);
	return stats;
}

#endif
