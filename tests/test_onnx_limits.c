/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a short file may make us do: constants folded at load, values worked out while planning, and
 * the number of operators have limits, beyond which the work is left for the run or refused.
 */
#include "config.h"

#include "onnx_text.h"

#include <check.h>
#include <pagesift/gpu.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static psg_status load_text(const char *text, psg_model **model, psg_error *error)
{
	size_t size;
	uint8_t *data = t_onnx(text, &size);
	psg_status status = psg_model_load_memory(data, size, "limits.onnx", NULL, model, error);

	free(data);
	return status;
}

static psg_model *must_load(const char *text)
{
	psg_error error = PSG_ERROR_INIT;
	psg_model *model;

	ck_assert_msg(load_text(text, &model, &error) == PSG_OK, "%s: %s", text, error.message);
	return model;
}

struct wanted {
	const char *name;
	size_t count;
};

static void look(void *user, const char *name, size_t count)
{
	struct wanted *wanted = user;

	if (strcmp(name, wanted->name) == 0)
		wanted->count = count;
}

/* How many operators of this name are left to run, for shapes or (NULL) before they are known. */
static size_t operators(psg_model *model, psg_device *device, const psg_shape *shapes,
			const char *name)
{
	psg_error error = PSG_ERROR_INIT;
	struct wanted wanted = { name, 0 };

	ck_assert_msg(psg_model_operators(model, device, shapes, 0, false, look, &wanted, &error) ==
			      PSG_OK,
		      "%s", error.message);
	return wanted.count;
}

static const char *const folded[] = {
	/* a small product is a constant; one of 8e9 multiply-adds is not made while loading */
	"w n i64 2 = 20 20; ConstantOfShape n > a; MatMul a a > y; out y",
	"w n i64 2 = 2000 2000; ConstantOfShape n > a; MatMul a a > y; out y",
};

START_TEST(work_at_load)
{
	psg_error error = PSG_ERROR_INIT;
	psg_model *model = must_load(folded[_i]);
	psg_device *device;

	ck_assert_int_eq(psg_device_open("cpu", &device, &error), PSG_OK);
	ck_assert_uint_eq(operators(model, device, NULL, "matmul"), _i == 0 ? 0 : 1);
	ck_assert_uint_eq(operators(model, device, NULL, "constant_of_shape"), 0);
	psg_device_close(device);
	psg_model_unref(model);
}
END_TEST

/* 64 times a million zeros, from some hundred bytes: most are left for the run. */
START_TEST(memory_at_load)
{
	psg_error error = PSG_ERROR_INIT;
	char text[4096] = "w n i64 1 = 1000000; ConstantOfShape n > a0; out a64";
	psg_model *model;
	psg_device *device;
	psg_model_stats stats;

	for (int i = 1; i <= 64; i++) {
		size_t n = strlen(text);

		(void)snprintf(text + n, sizeof(text) - n,
			       "; ConstantOfShape n > z%d; Add a%d z%d > a%d", i, i - 1, i, i);
	}
	model = must_load(text);
	ck_assert_int_eq(psg_device_open("cpu", &device, &error), PSG_OK);
	ck_assert_int_eq(psg_model_stats_get(model, device, NULL, 0, &stats, &error), PSG_OK);
	ck_assert_int_le(stats.weight_bytes, 20000000);
	ck_assert_uint_ge(stats.nodes_after, 100);
	psg_device_close(device);
	psg_model_unref(model);
}
END_TEST

/* Known while planning, but too much for it: 4e9 multiply-adds for a result of 65536 elements. */
START_TEST(work_while_planning)
{
	psg_error error = PSG_ERROR_INIT;
	psg_model *model = must_load("w n i64 2 = 256 60000; w m i64 2 = 60000 256; "
				     "ConstantOfShape n > a; ConstantOfShape m > b; "
				     "MatMul a b > y; out y");
	psg_device *device;
	psg_shape none[1] = { { .rank = 0 } };

	ck_assert_int_eq(psg_device_open("cpu", &device, &error), PSG_OK);
	ck_assert_uint_eq(operators(model, device, none, "matmul"), 1);
	psg_device_close(device);
	psg_model_unref(model);
}
END_TEST

/* A chain of `n` operators. */
static char *chain(int n, const char *format)
{
	size_t room = (size_t)n * 32 + 64, at;
	char *text = malloc(room);

	ck_assert_ptr_nonnull(text);
	at = (size_t)snprintf(text, room, "in v0 4; out v%d\n", n);
	for (int i = 0; i < n; i++) {
		at += (size_t)snprintf(text + at, room - at, format, i);
		at += (size_t)snprintf(text + at, room - at, " > v%d\n", i + 1);
	}
	return text;
}

START_TEST(number_of_operators)
{
	psg_error error = PSG_ERROR_INIT;
	char *text = chain(16385, "Relu v%d");
	psg_model *model;

	ck_assert_int_eq(load_text(text, &model, &error), PSG_UNSUPPORTED);
	ck_assert_msg(strstr(error.message, "16385 operators") != NULL &&
			      strstr(error.message, "at most 16384") != NULL,
		      "%s", error.message);
	free(text);
	text = chain(16384, "Relu v%d");
	psg_model_unref(must_load(text));
	free(text);
	text = chain(100001, "Relu v%d");
	ck_assert_int_eq(load_text(text, &model, &error), PSG_UNSUPPORTED);
	ck_assert_ptr_nonnull(strstr(error.message, "100001 nodes, at most 100000"));
	free(text);
	/* One of the file, four of ours. */
	text = chain(50000, "Shrink v%d");
	ck_assert_int_eq(load_text(text, &model, &error), PSG_UNSUPPORTED);
	ck_assert_ptr_nonnull(strstr(error.message, "over 100000 operators, of 50000 nodes"));
	free(text);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("onnx_limits");
	TCase *tests = tcase_create("limits");
	SRunner *runner;
	int failed;

	tcase_set_timeout(tests, 120);
	tcase_add_loop_test(tests, work_at_load, 0, 2);
	tcase_add_test(tests, memory_at_load);
	tcase_add_test(tests, work_while_planning);
	tcase_add_test(tests, number_of_operators);
	suite_add_tcase(suite, tests);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? 0 : 1;
}
