/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random networks: the passes, layouts and memory plans of `cpu` and `cuda`
 * against the plain loops, and a batch of different widths against each of its
 * samples alone.
 */
#include "config.h"

#include "fakecuda_util.h"
#include "random_net.h"

#include <check.h>
#include <math.h>
#include <pagesift/gpu.h>
#include <stdlib.h>
#include <string.h>

#ifdef PSG_TSAN
#define NETWORKS 20 /* nothing runs side by side here, so that slow tool learns nothing new */
#else
#define NETWORKS 120
#endif
#define SAMPLES 3
#define CHANNELS 3
#define HEIGHT 32
#define COLUMNS 64
/* Rounding of sums in another order, of values around 1 through a dozen layers. */
#define TOLERANCE 1e-4F

static psg_device *open_device(const char *name)
{
	psg_error error = PSG_ERROR_INIT;
	psg_device *device = NULL;

	ck_assert_msg(psg_device_open(name, &device, &error) == PSG_OK, "%s", error.message);
	return device;
}

static psg_model *load(uint32_t seed)
{
	psg_error error = PSG_ERROR_INIT;
	psg_model *model = NULL;
	size_t size;
	void *file = t_random_net(seed, CHANNELS, &size);
	psg_status status = psg_model_load_memory(file, size, "random", NULL, &model, &error);

	free(file);
	ck_assert_msg(status == PSG_OK, "network %u: %s", seed, error.message);
	return model;
}

/* Samples first..first+n of `columns`, what is past widths[] (may be NULL) is NaN. */
static psg_tensor *input(int64_t first, int64_t n, int64_t columns, const int32_t *widths)
{
	psg_error error = PSG_ERROR_INIT;
	psg_shape shape = PSG_SHAPE(n, CHANNELS, HEIGHT, columns);
	psg_tensor *tensor;
	float *to;

	ck_assert_int_eq(psg_tensor_create(PSG_F32, &shape, &tensor, &error), PSG_OK);
	to = psg_tensor_data(tensor);
	for (int64_t i = 0; i < n * CHANNELS * HEIGHT; i++) {
		int64_t sample = i / (CHANNELS * HEIGHT);
		uint32_t state = (uint32_t)(first * CHANNELS * HEIGHT + i) * 747796405U + 1;

		for (int64_t x = 0; x < columns; x++)
			*to++ = widths == NULL || x < widths[sample] ? t_random_float(&state) : NAN;
	}
	if (widths != NULL)
		ck_assert_int_eq(psg_tensor_set_valid_widths(tensor, 3, widths, (size_t)n, &error),
				 PSG_OK);
	return tensor;
}

/* All outputs; `out` gets NULL where a run fails. */
static psg_status run(psg_model *model, psg_device *device, psg_tensor *in, psg_tensor *out[2],
		      psg_error *error)
{
	psg_status status;

	out[0] = out[1] = NULL;
	status = psg_model_run(model, device, &in, 1, out, psg_model_outputs(model), NULL, NULL,
			       error);
	psg_tensor_unref(in);
	return status;
}

static void drop(psg_tensor *out[2])
{
	psg_tensor_unref(out[0]);
	psg_tensor_unref(out[1]);
}

static float largest(const psg_tensor *tensor)
{
	const float *data = psg_tensor_const_data(tensor);
	float max = 1;

	for (int64_t i = 0; i < psg_shape_elements(psg_tensor_shape(tensor)); i++)
		max = fabsf(data[i]) > max ? fabsf(data[i]) : max;
	return max;
}

/* How far sample 0 of `want` is from sample `sample` of `got`, in parts of the largest value; what
 * `got` has more of along `axis` does not count. */
static float distance(const psg_tensor *got, int64_t sample, const psg_tensor *want,
		      int64_t samples, int32_t axis)
{
	const psg_shape *g = psg_tensor_shape(got), *w = psg_tensor_shape(want);
	const float *a = psg_tensor_const_data(got), *b = psg_tensor_const_data(want);
	int64_t rows = samples, inner = 1;
	float worst = 0;

	for (int32_t i = 1; i < axis; i++)
		rows *= w->dim[i];
	for (int32_t i = axis + 1; i < w->rank; i++)
		inner *= w->dim[i];
	a += sample * (rows / samples) * g->dim[axis] * inner;
	for (int64_t r = 0; r < rows; r++) {
		for (int64_t i = 0; i < w->dim[axis] * inner; i++) {
			float d = fabsf(a[r * g->dim[axis] * inner + i] -
					b[r * w->dim[axis] * inner + i]);

			worst = d <= worst ? worst : d; /* NaN wins */
		}
	}
	return worst / largest(want);
}

START_TEST(same_as_the_plain_loops)
{
	uint32_t seed = (uint32_t)_i / 2;
	psg_error error = PSG_ERROR_INIT;
	psg_device *fast = open_device(_i % 2 == 0 ? "cpu" : "cuda");
	psg_device *plain = open_device("reference");
	psg_model *model = load(seed);
	psg_tensor *got[2], *want[2];
	ck_assert_msg(run(model, fast, input(0, SAMPLES, COLUMNS, NULL), got, &error) == PSG_OK,
		      "network %u: %s", seed, error.message);
	ck_assert_msg(run(model, plain, input(0, SAMPLES, COLUMNS, NULL), want, &error) == PSG_OK,
		      "network %u: %s", seed, error.message);
	for (size_t i = 0; i < psg_model_outputs(model); i++) {
		float d =
			distance(got[i], 0, want[i], SAMPLES, psg_tensor_shape(want[i])->rank - 1);

		ck_assert_msg(d <= TOLERANCE, "network %u, output %zu: off by %g", seed, i,
			      (double)d);
	}
	drop(got);
	drop(want);
	psg_model_unref(model);
	psg_device_close(fast);
	psg_device_close(plain);
}
END_TEST

/* Each sample of a batch against the same one alone. */
static void compare_alone(psg_model *model, psg_device *device, uint32_t seed,
			  const int32_t *widths, psg_tensor *batch[2])
{
	for (int64_t s = 0; s < SAMPLES; s++) {
		psg_error error = PSG_ERROR_INIT;
		psg_tensor *alone[2];

		ck_assert_msg(run(model, device, input(s, 1, widths[s], NULL), alone, &error) ==
				      PSG_OK,
			      "network %u: %s", seed, error.message);
		for (size_t i = 0; i < psg_model_outputs(model); i++) {
			int32_t axis;
			const int32_t *valid = psg_tensor_valid_widths(batch[i], &axis);
			float d;

			ck_assert_ptr_nonnull(valid);
			ck_assert_int_eq(valid[s], psg_tensor_shape(alone[i])->dim[axis]);
			d = distance(batch[i], s, alone[i], 1, axis);
			ck_assert_msg(d <= TOLERANCE,
				      "network %u, output %zu, sample %d: off by %g", seed, i,
				      (int)s, (double)d);
		}
		drop(alone);
	}
}

/* Batches that are refused are right too, but not many may be. */
static void different_widths(const char *name)
{
	static const int32_t few[][SAMPLES] = { { 64, 40, 32 }, { 33, 64, 17 }, { 64, 8, 50 } };
	psg_device *device = open_device(name);
	int answered = 0;

	for (uint32_t seed = 0; seed < NETWORKS; seed++) {
		const int32_t *widths = few[seed % 3];
		psg_error error = PSG_ERROR_INIT;
		psg_model *model = load(seed);
		psg_tensor *batch[2];
		psg_status status =
			run(model, device, input(0, SAMPLES, COLUMNS, widths), batch, &error);

		ck_assert_msg(status == PSG_OK || status == PSG_UNSUPPORTED ||
				      status == PSG_INVALID,
			      "network %u: %s", seed, error.message);
		if (status == PSG_OK) {
			answered++;
			compare_alone(model, device, seed, widths, batch);
		}
		drop(batch);
		psg_model_unref(model);
	}
	psg_device_close(device);
	ck_assert_int_ge(answered, NETWORKS / 2);
}

START_TEST(widths_on_the_cpu)
{
	different_widths("cpu");
}
END_TEST

START_TEST(widths_on_a_gpu)
{
	different_widths("cuda");
}
END_TEST

START_TEST(widths_by_the_plain_loops)
{
	different_widths("reference");
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("plans");
	TCase *tests = tcase_create("random networks");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(tests, t_gpu_begin, NULL);
	tcase_set_timeout(tests, 120);
	tcase_add_loop_test(tests, same_as_the_plain_loops, 0, 2 * NETWORKS);
	tcase_add_test(tests, widths_on_the_cpu);
	tcase_add_test(tests, widths_on_a_gpu);
	tcase_add_test(tests, widths_by_the_plain_loops);
	suite_add_tcase(suite, tests);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
