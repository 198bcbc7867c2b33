/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What psg_model_stats tells of a GPU's memory without running anything, against what a run takes;
 * and that the first run of a size does on the card what each later one does.
 *
 * On the fake driver kernels do nothing here, which leaves memory as it is.
 */
#include "config.h"

#include "device/cuda.h"

#include "fakecuda_util.h"
#include "models.h"
#include "random_net.h"

#include <check.h>
#include <pagesift/gpu.h>
#include <stdlib.h>

static const struct row {
	const char *file; /* NULL: a random network */
	uint32_t net;
	int64_t n, height, width;
	bool ragged; /* the samples differ in width */
} rows[] = {
	{ T_DET, 0, 1, 960, 960, false }, { T_DET, 0, 1, 736, 1280, false },
	{ T_DET, 0, 2, 96, 32, false },   { T_REC, 0, 8, 48, 320, true },
	{ T_REC, 0, 8, 48, 320, false },  { T_REC, 0, 1, 48, 48, false },
	{ T_REC, 0, 3, 48, 2048, true },  { T_CLS, 0, 8, 48, 192, false },
	{ NULL, 17, 1, 320, 320, false }, { NULL, 18, 8, 48, 320, true },
	{ NULL, 19, 1, 32, 32, false },   { NULL, 20, 5, 64, 96, false },
	{ NULL, 21, 16, 96, 256, false },
};

static psg_device *device;

static void begin(void)
{
	psg_error error = PSG_ERROR_INIT;

	ck_assert_int_eq(setenv("FAKECUDA_ARITHMETIC", "off", 1), 0);
	t_gpu_begin();
	ck_assert_msg(psg_device_open("cuda", &device, &error) == PSG_OK, "%s", error.message);
}

static void end(void)
{
	psg_device_close(device);
	t_gpu_expect_nothing_left();
}

static psgi_gpu_stats gpu_now(void)
{
	psgi_gpu_stats stats;

	psgi_gpu_stats_get(device, &stats);
	return stats;
}

/* NULL: the file is not there. */
static psg_model *load(const struct row *row)
{
	psg_error error = PSG_ERROR_INIT;
	psg_model *model = NULL;
	psg_status status;
	char path[4096];

	if (row->file != NULL) {
		if (!t_model_path(row->file, path, sizeof(path)))
			return NULL;
		status = psg_model_load_file(path, NULL, &model, &error);
	} else {
		size_t size;
		void *file = t_random_net(row->net, 3, &size);

		status = psg_model_load_memory(file, size, "random", NULL, &model, &error);
		free(file);
	}
	ck_assert_msg(status == PSG_OK, "%s", error.message);
	return model;
}

static psg_model_stats predict(psg_model *model, const psg_shape *shape)
{
	psg_error error = PSG_ERROR_INIT;
	psg_model_stats stats;

	ck_assert_msg(psg_model_stats_get(model, device, shape, 1, &stats, &error) == PSG_OK, "%s",
		      error.message);
	return stats;
}

static void run(psg_model *model, const struct row *row)
{
	psg_error error = PSG_ERROR_INIT;
	psg_shape shape = PSG_SHAPE(row->n, 3, row->height, row->width);
	size_t n_out = psg_model_outputs(model);
	psg_tensor *in, *out[PSG_MAX_OUTPUTS];
	int32_t widths[16];

	ck_assert_int_eq(psg_tensor_create(PSG_F32, &shape, &in, NULL), PSG_OK);
	for (int32_t i = 0; i < (int32_t)row->n; i++)
		widths[i] = (int32_t)row->width - i;
	if (row->ragged)
		ck_assert_int_eq(psg_tensor_set_valid_widths(in, 3, widths, (size_t)row->n, NULL),
				 PSG_OK);
	ck_assert_msg(psg_model_run(model, device, &in, 1, out, n_out, NULL, NULL, &error) ==
			      PSG_OK,
		      "%s", error.message);
	for (size_t i = 0; i < n_out; i++)
		psg_tensor_unref(out[i]);
	psg_tensor_unref(in);
}

/* One run on a device that did nothing else takes what was told, and no more. */
START_TEST(one_run)
{
	const struct row *row = &rows[_i];
	psg_shape shape = PSG_SHAPE(row->n, 3, row->height, row->width);
	psg_model *model = load(row);
	psg_model_stats told;
	size_t taken;

	if (model == NULL)
		return;
	begin();
	told = predict(model, &shape);
	psg_device_close(device);
	ck_assert_msg(psg_device_open("cuda", &device, NULL) == PSG_OK, "again");
	run(model, row);
	taken = gpu_now().high_bytes - (size_t)told.weight_bytes;
	if (row->ragged)
		ck_assert_uint_eq(taken, (size_t)told.peak_bytes);
	ck_assert_uint_le(taken, (size_t)told.peak_bytes);
	ck_assert_uint_ge(taken, (size_t)told.peak_bytes / 10 * 9);
	psg_model_unref(model);
	end();
}
END_TEST

/* With what was told and no more the model runs; with less it does not. */
START_TEST(limit_of_what_was_told)
{
	const struct row *row = &rows[8];
	psg_shape shape = PSG_SHAPE(row->n, 3, row->height, row->width);
	psg_model *model = load(row);
	psg_model_stats told;
	char limit[32];

	begin();
	told = predict(model, &shape);
	psg_device_close(device);
	for (int i = 0; i < 2; i++) {
		psg_tensor *in, *out[PSG_MAX_OUTPUTS];
		psg_error error = PSG_ERROR_INIT;
		psg_status status;

		(void)snprintf(limit, sizeof(limit), "%lld",
			       (long long)(told.weight_bytes + told.peak_bytes) -
				       i * told.peak_bytes / 10);
		ck_assert_int_eq(setenv("PAGESIFT_GPU_MEMORY", limit, 1), 0);
		ck_assert_int_eq(psg_device_open("cuda", &device, NULL), PSG_OK);
		ck_assert_int_eq(psg_tensor_create(PSG_F32, &shape, &in, NULL), PSG_OK);
		status = psg_model_run(model, device, &in, 1, out, psg_model_outputs(model), NULL,
				       NULL, &error);
		ck_assert_msg(status == (i == 0 ? PSG_OK : PSG_OOM), "%s: %s", limit,
			      error.message);
		for (size_t k = 0; status == PSG_OK && k < psg_model_outputs(model); k++)
			psg_tensor_unref(out[k]);
		psg_tensor_unref(in);
		psg_device_close(device);
	}
	psg_model_unref(model);
	t_gpu_expect_nothing_left();
}
END_TEST

static const struct row resized[] = { { NULL, 17, 1, 0, 0, false }, { T_DET, 0, 1, 0, 0, false } };

/* A size that is new costs a plan, but no kernel is tried out for it. */
START_TEST(new_sizes_are_not_searched_for)
{
	static const int64_t sizes[][2] = { { 320, 320 }, { 96, 160 }, { 64, 256 }, { 32, 32 } };
	psg_model *model = load(&resized[_i]);

	if (model == NULL)
		return;
	begin();
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct row row = resized[_i];
		uint64_t before = gpu_now().launches, first;

		row.height = sizes[i][0];
		row.width = sizes[i][1];
		run(model, &row);
		first = gpu_now().launches - before;
		ck_assert_uint_gt(first, 0);
		run(model, &row);
		ck_assert_uint_eq(gpu_now().launches - before, 2 * first);
	}
	psg_model_unref(model);
	end();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("gpu peak");
	TCase *all = tcase_create("one run");
	SRunner *runner;
	int failed;

	tcase_set_timeout(all, 60);
	tcase_add_loop_test(all, one_run, 0, (int)(sizeof(rows) / sizeof(rows[0])));
	tcase_add_test(all, limit_of_what_was_told);
	tcase_add_loop_test(all, new_sizes_are_not_searched_for, 0,
			    (int)(sizeof(resized) / sizeof(resized[0])));
	suite_add_tcase(suite, all);
	runner = srunner_create(suite);
	srunner_set_fork_status(runner, CK_FORK); /* a process opens one driver */
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
