/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The three models against what onnxruntime made of the same inputs
 * (tests/golden, written by tests/make_goldens.cjs), on all kinds of devices.
 */
#include "config.h"

#include "fakecuda_util.h"
#include "models.h"

#include <check.h>
#include <math.h>
#include <pagesift/gpu.h>
#include <string.h>

#define TOLERANCE 1e-4
#define CLASS_STEP 53 /* as in make_goldens.cjs */

static const char *source_dir;

static const struct golden {
	const char *name, *model;
	int64_t height, width;
} goldens[] = {
	{ "det_96x160", T_DET, 96, 160 }, { "det_64x64", T_DET, 64, 64 },
	{ "rec_48x64", T_REC, 48, 64 },   { "rec_48x101", T_REC, 48, 101 },
	{ "cls_48x192", T_CLS, 48, 192 },
};

static const char *const devices[] = { "cpu", "cpu:1", "reference", "cuda" };

#define N_GOLDENS ((int)(sizeof(goldens) / sizeof(goldens[0])))
#define N_DEVICES ((int)(sizeof(devices) / sizeof(devices[0])))

static bool is_rec(const struct golden *golden)
{
	return strncmp(golden->name, "rec", 3) == 0;
}

/* `pixel` of make_goldens.cjs. */
static float pixel(bool det, int64_t y, int64_t x)
{
	int64_t line = det ? y % 32 : y * 32 / 48;
	bool ink = line >= 10 && line < 22 && x % 41 < 33 && (x * 7 + line * 5) % 11 < 6;

	return ink ? -1.5F : 1.75F;
}

static psg_tensor *input_of(const struct golden *golden)
{
	psg_shape shape = PSG_SHAPE(1, 3, golden->height, golden->width);
	bool det = strncmp(golden->name, "det", 3) == 0;
	psg_tensor *tensor = NULL;
	float *to;

	ck_assert_int_eq(psg_tensor_create(PSG_F32, &shape, &tensor, NULL), PSG_OK);
	to = psg_tensor_data(tensor);
	for (int64_t c = 0; c < 3; c++) {
		for (int64_t y = 0; y < golden->height; y++) {
			for (int64_t x = 0; x < golden->width; x++)
				*to++ = pixel(det, y, x);
		}
	}
	return tensor;
}

/* The numbers of a golden file; `n` gets how many. */
static float *read_golden(const struct golden *golden, size_t *n)
{
	char path[1024];
	float *numbers = malloc(1 << 20);
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s/tests/golden/%s.f32", source_dir, golden->name);
	file = fopen(path, "rb");
	ck_assert_msg(file != NULL && numbers != NULL, "%s is missing", path);
	*n = fread(numbers, sizeof(float), (1 << 20) / sizeof(float), file);
	(void)fclose(file);
	return numbers;
}

static void compare(const struct golden *golden, const char *what, size_t i, float got, float want)
{
	ck_assert_msg(fabs((double)got - (double)want) <= TOLERANCE,
		      "%s: %s %zu is %g, onnxruntime has %g", golden->name, what, i, (double)got,
		      (double)want);
}

/* Arg-max, its probability, and every 53rd class of each step. */
static void compare_steps(const struct golden *golden, const psg_tensor *out, const float *want,
			  size_t n)
{
	const psg_shape *shape = psg_tensor_shape(out);
	const float *row = psg_tensor_const_data(out);
	size_t classes = (size_t)shape->dim[2],
	       per_step = 2 + (classes + CLASS_STEP - 1) / CLASS_STEP;

	ck_assert_uint_eq(n, per_step * (size_t)shape->dim[1]);
	for (size_t t = 0; t < (size_t)shape->dim[1]; t++, row += classes, want += per_step) {
		size_t best = 0;

		for (size_t v = 1; v < classes; v++)
			best = row[v] > row[best] ? v : best;
		ck_assert_uint_eq(best, (size_t)want[0]);
		compare(golden, "probability of step", t, row[best], want[1]);
		for (size_t v = 0; v < classes; v += CLASS_STEP)
			compare(golden, "class", v, row[v], want[2 + v / CLASS_STEP]);
	}
}

static psg_tensor *run(const struct golden *golden, const char *device_name, bool digest)
{
	psg_model_options options = { .digest = digest };
	psg_error error = PSG_ERROR_INIT;
	psg_device *device;
	psg_model *model;
	psg_tensor *in = input_of(golden), *out = NULL;
	char path[1024];

	ck_assert(t_model_path(golden->model, path, sizeof(path)));
	ck_assert_msg(psg_device_open(device_name, &device, &error) == PSG_OK, "%s", error.message);
	ck_assert_msg(psg_model_load_file(path, &options, &model, &error) == PSG_OK, "%s",
		      error.message);
	ck_assert_msg(psg_model_run(model, device, &in, 1, &out, 1, NULL, NULL, &error) == PSG_OK,
		      "%s", error.message);
	psg_tensor_unref(in);
	psg_model_unref(model);
	psg_device_close(device);
	return out;
}

START_TEST(same_as_onnxruntime)
{
	const struct golden *golden = &goldens[_i % N_GOLDENS];
	psg_tensor *out = run(golden, devices[_i / N_GOLDENS], false);
	size_t n;
	float *want = read_golden(golden, &n);

	if (is_rec(golden)) {
		compare_steps(golden, out, want, n);
	} else {
		const float *got = psg_tensor_const_data(out);

		ck_assert_uint_eq(n, (size_t)psg_shape_elements(psg_tensor_shape(out)));
		for (size_t i = 0; i < n; i++)
			compare(golden, "element", i, got[i], want[i]);
	}
	free(want);
	psg_tensor_unref(out);
}
END_TEST

START_TEST(digest_is_the_arg_max)
{
	const struct golden *golden = &goldens[3];
	psg_tensor *all = run(golden, devices[_i], false), *digest = run(golden, devices[_i], true);
	const psg_shape *shape = psg_tensor_shape(digest);
	const float *two = psg_tensor_const_data(digest), *row = psg_tensor_const_data(all);
	int64_t classes = psg_tensor_shape(all)->dim[2];

	ck_assert_int_eq(shape->dim[2], 2);
	ck_assert_int_eq(shape->dim[1], psg_tensor_shape(all)->dim[1]);
	for (int64_t t = 0; t < shape->dim[1]; t++, row += classes, two += 2) {
		int64_t best = (int64_t)two[0];

		for (int64_t v = 0; v < classes; v++)
			ck_assert(row[v] <= row[best]);
		compare(golden, "digest of step", (size_t)t, two[1], row[best]);
	}
	psg_tensor_unref(all);
	psg_tensor_unref(digest);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("golden models");
	TCase *tests = tcase_create("models");
	SRunner *runner;
	char path[1024];
	int failed;

	source_dir = getenv("PSG_TOP"); /* from Makefile.am */
	if (source_dir == NULL)
		source_dir = ".";
	if (!t_model_path(T_DET, path, sizeof(path))) {
		(void)printf("skipped: no %s\n", path);
		return 77;
	}
	tcase_add_checked_fixture(tests, t_gpu_begin, NULL);
	tcase_set_timeout(tests, 300);
	tcase_add_loop_test(tests, same_as_onnxruntime, 0, N_GOLDENS * N_DEVICES);
	tcase_add_loop_test(tests, digest_is_the_arg_max, 0, N_DEVICES);
	suite_add_tcase(suite, tests);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? 0 : 1;
}
