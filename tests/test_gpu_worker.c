/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A worker that owns a GPU: its thread has the card's context, the submitting threads do not, and a
 * card that is lost fails its jobs one by one while the process lives on.
 */
#include "config.h"

#include "device/cuda.h"
#include "driver/cuda.h"
#include "kernels/args.h"

#include "fakecuda_util.h"
#include "jobs_util.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef CUresult current_fn(CUcontext *context);

static current_fn *get_current;

static psg_worker *open_worker(void)
{
	psg_error error = PSG_ERROR_INIT;
	psg_worker *worker;

	t_gpu_begin();
	ck_assert_msg(psg_worker_open("cuda", NULL, &worker, &error) == PSG_OK, "%s",
		      error.message);
	ck_assert_int_eq(psg_worker_device(worker)->kind, PSG_DEVICE_CUDA);
	t_gpu_symbol("cuCtxGetCurrent", &get_current);
	return worker;
}

static psg_status run(psg_worker *worker, psg_job_fn fn, void *arg, psg_error *error)
{
	psg_future *future;
	psg_status status = psg_submit_function(worker, fn, arg, NULL, &future, error);

	ck_assert_int_eq(status, PSG_OK);
	status = psg_future_wait(future);
	if (status != PSG_OK)
		ck_assert_int_eq(psg_future_error(future, error), status);
	psg_future_release(future);
	return status;
}

#define BYTES ((size_t)3 << 20)

static psg_status round_trip(psg_device *device, void *arg, psg_error *error)
{
	unsigned char *host = arg;
	CUcontext context = NULL;
	void *block;
	psg_status status = psgi_gpu_alloc(device, BYTES, &block, error);

	if (get_current(&context) != CUDA_SUCCESS || context == NULL)
		return PSG_INVALID;
	if (status == PSG_OK)
		status = psgi_gpu_copy_in(device, block, host, BYTES, error);
	memset(host, 0, BYTES);
	if (status == PSG_OK)
		status = psgi_gpu_copy_out(device, host, block, BYTES, error);
	psgi_device_free(device, block);
	return status;
}

START_TEST(jobs_have_the_context)
{
	psg_worker *worker = open_worker();
	unsigned char *host = malloc(BYTES);
	CUcontext context = NULL;
	psg_error error = PSG_ERROR_INIT;

	ck_assert_ptr_nonnull(host);
	memset(host, 0x5a, BYTES);
	ck_assert_msg(run(worker, round_trip, host, &error) == PSG_OK, "%s", error.message);
	for (size_t i = 0; i < BYTES; i += 997)
		if (host[i] != 0x5a)
			ck_abort_msg("byte %zu is %u", i, host[i]);
	ck_assert_int_eq(get_current(&context), CUDA_SUCCESS);
	ck_assert_ptr_null(context);
	psg_worker_close(worker);
	free(host);
	t_gpu_expect_nothing_left();
}
END_TEST

/* While the worker is inside, its calls need not enter: they cost the driver nothing more. */
static psg_status count_calls(psg_device *device, void *arg, psg_error *error)
{
	int64_t *calls = arg;
	psg_status status = psgi_gpu_sync(device, error);

	*calls = t_gpu_counts().calls;
	for (int i = 0; i < 10 && status == PSG_OK; i++)
		status = psgi_gpu_sync(device, error);
	*calls = t_gpu_counts().calls - *calls;
	return status;
}

START_TEST(context_is_made_current_once)
{
	psg_worker *worker = open_worker();
	psg_error error = PSG_ERROR_INIT;
	int64_t calls = 0;

	ck_assert_int_eq(run(worker, count_calls, &calls, &error), PSG_OK);
	ck_assert_int_eq(calls, 10);
	psg_worker_close(worker);
	t_gpu_expect_nothing_left();
}
END_TEST

static void submit_relu(psg_worker *worker)
{
	psg_shape shape = PSG_SHAPE(7);
	psg_op op = { .kind = PSG_OP_RELU, .n_in = 1 };
	psg_future *future;

	ck_assert_int_eq(psg_tensor_create(PSG_F32, &shape, &op.in[0], NULL), PSG_OK);
	ck_assert_int_eq(psg_submit(worker, &op, NULL, &future, NULL), PSG_OK);
	ck_assert_int_eq(psg_future_wait(future), PSG_OK);
	psg_future_release(future);
	psg_tensor_unref(op.in[0]);
}

START_TEST(operators_are_counted_by_place)
{
	static const char *const wish[] = { "gpu", "cpu" };

	for (size_t i = 0; i < 2; i++) {
		psg_worker_stats stats;
		psg_worker *worker;

		ck_assert_int_eq(setenv("PAGESIFT_OPERATORS", wish[i], 1), 0);
		worker = open_worker();
		for (int k = 0; k < 3; k++)
			submit_relu(worker);
		psg_worker_stats_get(worker, &stats);
		ck_assert_uint_eq(stats.ops_on_gpu, i == 0 ? 3 : 0);
		ck_assert_uint_eq(stats.ops_on_cpu, i == 0 ? 0 : 3);
		psg_worker_close(worker);
		t_gpu_expect_nothing_left();
	}
}
END_TEST

static psg_status launch(psg_device *device, void *arg, psg_error *error)
{
	unary_args args = { .n = 0 };
	psgi_launch relu = { .kernel = PSGI_GPU_relu,
			     .grid = { 1, 1, 1 },
			     .block = { 32, 1, 1 },
			     .args = &args,
			     .args_bytes = sizeof(args) };
	psg_status status = psgi_gpu_launch(device, &relu, error);

	(void)arg;
	return status == PSG_OK ? psgi_gpu_sync(device, error) : status;
}

START_TEST(lost_card_fails_its_jobs)
{
	psg_worker *worker = open_worker();
	psg_worker *other;
	psg_error error = PSG_ERROR_INIT;

	ck_assert_int_eq(run(worker, launch, NULL, &error), PSG_OK);
	t_gpu_fail("run:1:719");
	for (int i = 0; i < 5; i++) {
		ck_assert_int_eq(run(worker, launch, NULL, &error), PSG_DEVICE_LOST);
		ck_assert_msg(strstr(error.message, "CUDA_ERROR_LAUNCH_FAILED (719") != NULL, "%s",
			      error.message);
	}
	other = t_open(0); /* the CPU works on */
	ck_assert_int_eq(run(other, t_nothing, NULL, &error), PSG_OK);
	psg_worker_close(other);
	psg_worker_close(worker);
	t_gpu_expect_nothing_left();
}
END_TEST

/* Every call of the driver that opening a worker makes fails in turn. */
START_TEST(opening_fails_at_each_call)
{
	psg_worker *worker = open_worker();
	int64_t calls = t_gpu_counts().calls;
	psg_error error = PSG_ERROR_INIT;
	char rule[40];

	psg_worker_close(worker);
	for (int64_t n = 1; n <= calls; n++) {
		(void)snprintf(rule, sizeof(rule), "*:%lld:999", (long long)n);
		t_gpu_fail(rule);
		if (psg_worker_open("cuda", NULL, &worker, &error) == PSG_OK)
			psg_worker_close(worker);
		t_gpu_expect_nothing_left();
	}
	t_gpu_fail("");
	worker = open_worker();
	psg_worker_close(worker);
}
END_TEST

/* --- a driver that does not return --- */

static int threads(void)
{
	DIR *folder = opendir("/proc/self/task");
	int n = 0;

	ck_assert_ptr_nonnull(folder);
	for (const struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder))
		n += entry->d_name[0] != '.';
	(void)closedir(folder);
	return n;
}

static const struct hang {
	const char *symbol, *phase;
} hangs[] = {
	{ "cuInit", "cuda:0 is not open after 0.05 s, at 'cuInit'" },
	{ "cuDevicePrimaryCtxRetain", "at 'cuDevicePrimaryCtxRetain'" },
	{ "cuStreamCreate", "at 'opening'" },
};

/* Opening ends in time and says what hangs; the CPU can be used; what comes back later cleans up.
 */
START_TEST(opening_hangs)
{
	const struct hang *row = &hangs[_i];
	psg_worker_options options = { .open_timeout_ns = 50 * PSG_MILLISECOND };
	psg_error error = PSG_ERROR_INIT;
	psg_worker *worker, *other;
	int before;

	t_gpu_begin();
	psg_worker_close(t_open(0)); /* with the first thread a sanitizer starts one that stays */
	before = threads();
	ck_assert_int_eq(setenv("FAKECUDA_HANG", row->symbol, 1), 0);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(psg_worker_open("cuda:0", &options, &worker, &error),
				 PSG_TIMED_OUT);
		ck_assert_ptr_null(worker);
		ck_assert_int_eq(error.code, PSG_TIMED_OUT);
		if (i == 0)
			ck_assert_msg(strstr(error.message, row->phase) != NULL, "%s",
				      error.message);
	}
	other = t_open(0);
	ck_assert_int_eq(run(other, t_nothing, NULL, &error), PSG_OK);
	psg_worker_close(other);
	t_gpu_fail(""); /* now it returns */
	while (threads() > before)
		t_sleep_ns(PSG_MILLISECOND);
	t_gpu_expect_nothing_left();
	worker = open_worker();
	ck_assert_int_eq(run(worker, launch, NULL, &error), PSG_OK);
	psg_worker_close(worker);
	t_gpu_expect_nothing_left();
}
END_TEST

static const struct hang job_hangs[] = {
	{ "cuModuleLoadDataEx", "compiling or loading the kernels 'element'" },
	{ "cuStreamSynchronize", "waiting for the card" },
};

/* Who waits for a job can leave, and others can tell where it is. */
START_TEST(job_hangs_in_the_driver)
{
	const struct hang *row = &job_hangs[_i];
	psg_error error = PSG_ERROR_INIT;
	psg_future *future;
	psg_worker *worker;

	ck_assert_int_eq(setenv("FAKECUDA_HANG", row->symbol, 1), 0);
	worker = open_worker();
	ck_assert_str_eq(t_stats(worker).phase, "");
	future = t_submit(worker, launch, NULL, NULL);
	while (strcmp(t_stats(worker).phase, row->phase) != 0)
		t_sleep_ns(PSG_MILLISECOND);
	ck_assert_int_eq(psg_future_wait_for(future, 10 * PSG_MILLISECOND), PSG_TIMED_OUT);
	ck_assert_int_eq(psg_future_cancel(future), PSG_CANCEL_RUNNING);
	psg_future_release(future);
	ck_assert_int_eq(psg_worker_drain(worker, 10 * PSG_MILLISECOND), PSG_TIMED_OUT);
	t_gpu_fail("");
	ck_assert_int_eq(psg_worker_drain(worker, -1), PSG_OK);
	ck_assert_str_eq(t_stats(worker).phase, "");
	psg_worker_close(worker);
	worker = open_worker();
	ck_assert_int_eq(run(worker, launch, NULL, &error), PSG_OK);
	psg_worker_close(worker);
	t_gpu_expect_nothing_left();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("gpu worker");
	TCase *any = tcase_create("any GPU"), *fake = tcase_create("fake GPU");
	SRunner *runner;
	int failed;

	tcase_set_timeout(any, 60);
	tcase_add_test(any, jobs_have_the_context);
	tcase_add_test(any, operators_are_counted_by_place);
	suite_add_tcase(suite, any);
	tcase_add_test(fake, context_is_made_current_once);
	tcase_add_test(fake, lost_card_fails_its_jobs);
	tcase_add_test(fake, opening_fails_at_each_call);
	tcase_add_loop_test(fake, opening_hangs, 0, (int)T_COUNT(hangs));
	tcase_add_loop_test(fake, job_hangs_in_the_driver, 0, (int)T_COUNT(job_hangs));
	if (!t_gpu_real())
		suite_add_tcase(suite, fake);
	runner = srunner_create(suite);
	srunner_set_fork_status(runner, CK_FORK); /* a process opens one driver */
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
