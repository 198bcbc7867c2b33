/* SPDX-License-Identifier: Apache-2.0 */
/* The self-test of a GPU: it runs every kernel there is, and finds the one that is wrong. */
#include "config.h"

#include "device/cuda.h"

#include "fakecuda_util.h"

#include <pagesift/op.h>

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static psg_device *open_device(void)
{
	psg_error error = PSG_ERROR_INIT;
	psg_device *device;

	t_gpu_begin();
	ck_assert_msg(psg_device_open("cuda", &device, &error) == PSG_OK, "%s", error.message);
	return device;
}

static psg_gpu_check run(psg_device *device)
{
	psg_error error = PSG_ERROR_INIT;
	psg_gpu_check check;

	ck_assert_msg(psg_gpu_check_run(device, &check, &error) == PSG_OK, "%s", error.message);
	return check;
}

/* A new kernel needs a case in src/ops/cuda_check_cases.c. */
START_TEST(every_kernel_runs_and_is_right)
{
	psg_device *device = open_device();
	psg_gpu_check check = run(device);

	for (size_t k = 0; k < PSGI_GPU_KERNELS; k++)
		ck_assert_msg(psgi_gpu_launches(device, (psgi_gpu_kernel)k) > 0,
			      "the self-test has no case for kernel '%s'",
			      psgi_gpu_kernel_name((psgi_gpu_kernel)k));
	ck_assert_msg(check.wrong == 0, "%s (%s)", check.message, check.wrong_kernels);
	ck_assert_int_gt(check.cases, 80);
	ck_assert_int_eq(check.kernels, PSGI_GPU_KERNELS);
	ck_assert_int_eq(check.launched, PSGI_GPU_KERNELS);
	ck_assert_int_gt(check.ns, 0);
	ck_assert_str_eq(check.message, "");
	psg_device_close(device);
	t_gpu_expect_nothing_left();
}
END_TEST

START_TEST(a_wrong_kernel_is_named)
{
	psg_device *device;
	psg_gpu_check check;

	ck_assert_int_eq(setenv("FAKECUDA_SKIP", "layer_norm", 1), 0);
	device = open_device();
	check = run(device);
	ck_assert_int_eq(check.wrong, 2); /* instance_norm has it too */
	ck_assert_str_eq(check.wrong_kernels, "layer_norm");
	ck_assert_msg(strstr(check.message, "layer_norm of [2,7,121]: element 0 of 1694 is") ==
			      check.message,
		      "%s", check.message);
	psg_device_close(device);
	t_gpu_expect_nothing_left();
}
END_TEST

/* A kernel that finds an error in good operands computes wrongly: the others are tried yet. */
START_TEST(an_error_that_is_none)
{
	static const char *const kernels[] = { "integers", "gather" };
	static const char *const messages[] = {
		"div of [7,33]: div: division by zero in element 0",
		"gather of [2,5,33]: gather: index ",
	};
	static const int wrong[] = { 2, 1 }; /* div and pow */
	psg_device *device;
	psg_gpu_check check;

	ck_assert_int_eq(setenv("FAKECUDA_BAD", kernels[_i], 1), 0);
	device = open_device();
	check = run(device);
	ck_assert_int_eq(check.wrong, wrong[_i]);
	ck_assert_str_eq(check.wrong_kernels, kernels[_i]);
	ck_assert_msg(strstr(check.message, messages[_i]) == check.message, "%s", check.message);
	ck_assert_int_eq(check.launched, PSGI_GPU_KERNELS);
	psg_device_close(device);
	t_gpu_expect_nothing_left();
}
END_TEST

/* A call of the driver fails: that is an error, or there was another way, but never a wrong result.
 */
START_TEST(failures_are_errors)
{
	psg_device *device = open_device();
	int64_t calls = t_gpu_counts().calls;
	psg_error error = PSG_ERROR_INIT;
	psg_gpu_check check;
	int survived = 0, failed = 0;
	char rule[40];

	(void)run(device);
	calls = t_gpu_counts().calls - calls;
	psg_device_close(device);
	for (int64_t n = 1; n < calls; n += 97) {
		device = open_device();
		(void)snprintf(rule, sizeof(rule), "*:%lld:999", (long long)n);
		t_gpu_fail(rule);
		if (psg_gpu_check_run(device, &check, &error) == PSG_OK) {
			survived++;
		} else {
			ck_assert_msg(strstr(error.message, "self-test of '") == error.message,
				      "%s", error.message);
			failed++;
		}
		ck_assert_int_eq(check.wrong, 0);
		t_gpu_fail("");
		psg_device_close(device);
		t_gpu_expect_nothing_left();
	}
	ck_assert_int_gt(failed, survived);
}
END_TEST

START_TEST(speeds_are_measured)
{
	psg_device *device = open_device();
	psg_error error = PSG_ERROR_INIT;
	psg_gpu_speed speed;

	ck_assert_msg(psg_gpu_speed_measure(device, &speed, &error) == PSG_OK, "%s", error.message);
	ck_assert_int_ge(speed.product_side, 64);
	ck_assert(speed.product_macs > 0 && speed.copy_in > 0 && speed.copy_out > 0 &&
		  speed.launch_ns > 0);
	psg_device_close(device);
	t_gpu_expect_nothing_left();
}
END_TEST

START_TEST(a_cpu_is_refused)
{
	psg_error error = PSG_ERROR_INIT;
	psg_gpu_check check;
	psg_gpu_speed speed;
	psg_device *device;

	ck_assert_int_eq(psg_device_open("cpu:1", &device, NULL), PSG_OK);
	ck_assert_int_eq(psg_gpu_check_run(device, &check, &error), PSG_INVALID);
	ck_assert_str_eq(error.message, "cpu is not a GPU");
	ck_assert_int_eq(psg_gpu_speed_measure(device, &speed, NULL), PSG_INVALID);
	ck_assert_uint_eq(psg_gpu_modules(device, NULL, 0), 0);
	psg_device_close(device);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("gpu check");
	TCase *any = tcase_create("any GPU"), *fake = tcase_create("fake GPU");
	SRunner *runner;
	int failed;

	tcase_set_timeout(any, 300);
	tcase_add_test(any, every_kernel_runs_and_is_right);
	tcase_add_test(any, speeds_are_measured);
	tcase_add_test(any, a_cpu_is_refused);
	suite_add_tcase(suite, any);
	tcase_set_timeout(fake, 300);
	tcase_add_test(fake, a_wrong_kernel_is_named);
	tcase_add_loop_test(fake, an_error_that_is_none, 0, 2);
	tcase_add_test(fake, failures_are_errors);
	if (!t_gpu_real())
		suite_add_tcase(suite, fake);
	runner = srunner_create(suite);
	srunner_set_fork_status(runner, CK_FORK); /* a process opens one driver */
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
