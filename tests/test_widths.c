/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A line in a batch of lines of very different widths gets the classes and,
 * within 1e-4, the probabilities that it gets alone, whatever its padding
 * holds; with the fast kernels and with the reference ones.
 */
#include "config.h"

#include "models.h"

#include <check.h>
#include <math.h>
#include <pagesift/gpu.h>

#define HEIGHT 48

static char rec_path[1024];

/* Something like strokes: every line different, deterministic. */
static float pixel(int64_t line, int64_t c, int64_t y, int64_t x)
{
	double phase = (double)((line + 1) * (x + 3 * y) % 37) / 37;

	return (float)(sin(6.28 * phase + (double)c) * ((x / 7 + line) % 3 == 0 ? 1 : 0.2));
}

/* Lines of the given widths in one tensor of `columns`, NaN in the padding. */
static psg_tensor *batch_of(const int32_t *widths, int64_t first, int64_t n, int64_t columns)
{
	psg_error error = PSG_ERROR_INIT;
	psg_shape shape = PSG_SHAPE(n, 3, HEIGHT, columns);
	psg_tensor *tensor;
	float *to;

	ck_assert_msg(psg_tensor_create(PSG_F32, &shape, &tensor, &error) == PSG_OK, "%s",
		      error.message);
	to = psg_tensor_data(tensor);
	for (int64_t i = 0; i < n; i++) {
		for (int64_t c = 0; c < 3; c++) {
			for (int64_t y = 0; y < HEIGHT; y++) {
				for (int64_t x = 0; x < columns; x++)
					*to++ = x < widths[i] ? pixel(first + i, c, y, x) : NAN;
			}
		}
	}
	ck_assert_int_eq(psg_tensor_set_valid_widths(tensor, 3, widths, (size_t)n, &error), PSG_OK);
	return tensor;
}

static psg_tensor *run(psg_model *model, psg_device *device, psg_tensor *in)
{
	psg_error error = PSG_ERROR_INIT;
	psg_tensor *out = NULL;

	ck_assert_msg(psg_model_run(model, device, &in, 1, &out, 1, NULL, NULL, &error) == PSG_OK,
		      "%s", error.message);
	psg_tensor_unref(in);
	return out;
}

static void compare_line(const psg_tensor *batch, int64_t line, const psg_tensor *alone)
{
	const psg_shape *b = psg_tensor_shape(batch), *a = psg_tensor_shape(alone);
	const float *got = psg_tensor_const_data(batch), *want = psg_tensor_const_data(alone);
	const int32_t *valid = psg_tensor_valid_widths(batch, NULL);

	ck_assert_ptr_nonnull(valid);
	ck_assert_int_eq(valid[line], a->dim[1]);
	got += line * b->dim[1] * b->dim[2];
	for (int64_t t = 0; t < a->dim[1]; t++) {
		int64_t best_got = 0, best_want = 0;

		for (int64_t v = 0; v < a->dim[2]; v++) {
			float g = got[t * a->dim[2] + v], w = want[t * a->dim[2] + v];

			ck_assert_msg(fabsf(g - w) <= 1e-4F,
				      "line %d step %d class %d: %g alone, %g in the batch",
				      (int)line, (int)t, (int)v, (double)w, (double)g);
			best_got = g > got[t * a->dim[2] + best_got] ? v : best_got;
			best_want = w > want[t * a->dim[2] + best_want] ? v : best_want;
		}
		ck_assert_int_eq(best_got, best_want);
	}
}

static void check_batch(const char *device_name, const int32_t *widths, int64_t n, int64_t columns)
{
	psg_error error = PSG_ERROR_INIT;
	psg_device *device;
	psg_model *model;
	psg_tensor *batch;

	ck_assert_msg(psg_device_open(device_name, &device, &error) == PSG_OK, "%s", error.message);
	ck_assert_msg(psg_model_load_file(rec_path, NULL, &model, &error) == PSG_OK, "%s",
		      error.message);
	batch = run(model, device, batch_of(widths, 0, n, columns));
	for (int64_t i = 0; i < n; i++) {
		psg_tensor *alone = run(model, device, batch_of(&widths[i], i, 1, widths[i]));

		compare_line(batch, i, alone);
		psg_tensor_unref(alone);
	}
	psg_tensor_unref(batch);
	psg_model_unref(model);
	psg_device_close(device);
}

START_TEST(fast_kernels)
{
	static const int32_t widths[] = { 640, 17, 181, 324, 333, 96, 639 };

	check_batch("cpu", widths, 7, 640);
}
END_TEST

START_TEST(bucket_wider_than_every_line)
{
	static const int32_t widths[] = { 250, 100 };

	check_batch("cpu:1", widths, 2, 272);
}
END_TEST

START_TEST(reference_kernels)
{
	static const int32_t widths[] = { 96, 41 };

	check_batch("reference", widths, 2, 100);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("valid widths");
	TCase *tests = tcase_create("lines");
	SRunner *runner;
	int failed;

	if (!t_model_path(T_REC, rec_path, sizeof(rec_path))) {
		(void)printf("skipped: no %s\n", rec_path);
		return 77;
	}
	tcase_set_timeout(tests, 300);
	tcase_add_test(tests, fast_kernels);
	tcase_add_test(tests, bucket_wider_than_every_line);
	tcase_add_test(tests, reference_kernels);
	suite_add_tcase(suite, tests);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? 0 : 1;
}
