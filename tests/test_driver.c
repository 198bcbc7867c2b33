/* SPDX-License-Identifier: Apache-2.0 */
/* Opening the driver's libraries: every way in which it fails says what and why.  A process opens
 * them once, so each test is a process of its own. */
#include "config.h"

#include "driver/cuda.h"
#include "driver/nvml.h"

#include "fakecuda_util.h"

#include <check.h>
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const psgi_cuda *opened(void)
{
	const psgi_cuda *cuda;
	psg_error error = PSG_ERROR_INIT;
	psg_status status = psgi_cuda_get(&cuda, &error);

	ck_assert_msg(status == PSG_OK, "%s", error.message);
	return cuda;
}

static void expect_refusal(psg_status wanted, const char *words)
{
	const psgi_cuda *cuda;
	psg_error error = PSG_ERROR_INIT;

	for (int i = 0; i < 2; i++) { /* the second answer is the first one's */
		psg_status status = psgi_cuda_get(&cuda, &error);

		ck_assert_msg(status == wanted, "%s: %s", psg_status_name(status), error.message);
		ck_assert_ptr_null(cuda);
		ck_assert_int_eq(error.code, wanted);
		ck_assert_msg(strstr(error.message, words) != NULL, "'%s' has no '%s'",
			      error.message, words);
	}
	ck_assert_int_eq(psgi_cuda_get(&cuda, NULL), wanted);
}

START_TEST(opens)
{
	const psgi_cuda *cuda;
	int count = -1;

	t_gpu_begin();
	cuda = opened();
	ck_assert_ptr_eq(opened(), cuda);
	ck_assert_int_ge(cuda->version, 11000);
	ck_assert_ptr_nonnull(strchr(cuda->path, '/'));
	ck_assert_int_eq(cuda->device_count(&count), CUDA_SUCCESS);
	ck_assert_int_ge(count, 1);
}
END_TEST

/* The fake has all of the table, so that each call can be tested. */
START_TEST(fake_is_complete)
{
	const psgi_cuda *cuda;

	t_gpu_begin();
	cuda = opened();
#define PRESENT(name, symbol, since, needed, args) ck_assert_msg(cuda->name != NULL, "%s", #symbol);
	PSGI_CUDA_MAP(PRESENT)
#undef PRESENT
}
END_TEST

START_TEST(library_is_missing)
{
	ck_assert_int_eq(setenv("PAGESIFT_LIBCUDA", "/nowhere/libcuda.so.1", 1), 0);
	expect_refusal(PSG_DRIVER, "PAGESIFT_LIBCUDA=/nowhere/libcuda.so.1: ");
}
END_TEST

START_TEST(machine_without_driver)
{
	ck_assert_int_eq(unsetenv("PAGESIFT_LIBCUDA"), 0);
	if (dlopen("libcuda.so.1", RTLD_NOW) == NULL)
		expect_refusal(PSG_NO_DEVICE, "no NVIDIA GPU found");
}
END_TEST

/* Any library that is none of the driver's. */
START_TEST(library_is_another)
{
	ck_assert_int_eq(setenv("PAGESIFT_LIBCUDA", "libc.so.6", 1), 0);
	expect_refusal(PSG_TOO_OLD, "cuDevicePrimaryCtxRelease_v2: the NVIDIA driver is too old, "
				    "need one of CUDA 11.0 or later");
}
END_TEST

static const struct refusal {
	const char *rule;
	psg_status status;
	const char *words;
} refusals[] = {
	{ "cuInit:1:100", PSG_NO_DEVICE, "no NVIDIA GPU found" },
	{ "cuInit:1:999", PSG_DRIVER,
	  "cuInit: CUDA_ERROR_UNKNOWN (999: unknown error); is the nvidia_uvm module loaded" },
	{ "cuInit:1:803", PSG_DRIVER, "restart after a driver update" },
	{ "cuInit:1:12345", PSG_DRIVER, "cuInit: an unknown code (12345: no text)" },
	{ "cuInit:1:2", PSG_OOM, PSG_OOM_TAG ": cuInit: CUDA_ERROR_OUT_OF_MEMORY" },
	{ "cuDriverGetVersion:1:3", PSG_DRIVER, "cuDriverGetVersion: CUDA_ERROR_NOT_INITIALIZED" },
};

START_TEST(initialisation_fails)
{
	const struct refusal *row = &refusals[_i];

	t_gpu_begin();
	ck_assert_int_eq(setenv("FAKECUDA_FAIL", row->rule, 1), 0);
	expect_refusal(row->status, row->words);
}
END_TEST

START_TEST(no_card_is_visible)
{
	t_gpu_begin();
	ck_assert_int_eq(setenv("CUDA_VISIBLE_DEVICES", "", 1), 0);
	expect_refusal(PSG_NO_DEVICE, "no NVIDIA GPU found");
}
END_TEST

#define THREADS 8

static pthread_barrier_t start;

static void *open_in_thread(void *out)
{
	(void)pthread_barrier_wait(&start);
	(void)psgi_cuda_get(out, NULL);
	return NULL;
}

START_TEST(threads_open_once)
{
	pthread_t threads[THREADS];
	const psgi_cuda *cuda[THREADS];

	t_gpu_begin();
	ck_assert_int_eq(pthread_barrier_init(&start, NULL, THREADS), 0);
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, open_in_thread, &cuda[i]), 0);
	for (int i = 0; i < THREADS; i++) {
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
		ck_assert_ptr_nonnull(cuda[i]);
		ck_assert_ptr_eq(cuda[i], cuda[0]);
	}
	if (!t_gpu_real())
		ck_assert_int_eq(t_gpu_counts().calls, 2); /* cuInit, cuDriverGetVersion */
	(void)pthread_barrier_destroy(&start);
}
END_TEST

/* What the child of an open parent gets; exits with 0 if that is right. */
static void in_child(void)
{
	const psgi_cuda *cuda;
	const psgi_nvml *nvml;
	psg_error error = PSG_ERROR_INIT;
	size_t bytes;

	if (psgi_cuda_get(&cuda, &error) != PSG_FORKED || error.code != PSG_FORKED ||
	    strstr(error.message, "open devices after fork") == NULL || cuda != NULL)
		_exit(1);
	if (psgi_nvml_get(&nvml, NULL) != PSG_FORKED || psgi_nvml_free_memory("GPU-0", &bytes))
		_exit(2);
	_exit(psgi_cuda_forked() ? 0 : 3);
}

START_TEST(forked_child)
{
	const psgi_nvml *nvml;
	int status = -1;
	pid_t child;

	t_gpu_begin();
	(void)opened();
	(void)psgi_nvml_get(&nvml, NULL);
	ck_assert(!psgi_cuda_forked());
	child = fork();
	ck_assert_int_ge(child, 0);
	if (child == 0)
		in_child();
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	(void)opened(); /* the parent's is as before */
}
END_TEST

START_TEST(nvml_tells)
{
	const psgi_nvml *nvml;
	size_t bytes = 0;

	t_gpu_begin();
	ck_assert_int_eq(setenv("FAKECUDA_FREE", "321", 1), 0);
	ck_assert_int_eq(psgi_nvml_get(&nvml, NULL), PSG_OK);
	ck_assert_str_eq(nvml->version, "550.54.14");
	ck_assert(psgi_nvml_free_memory("GPU-0", &bytes));
	ck_assert_uint_eq(bytes, (size_t)321 << 20);
}
END_TEST

static const struct nvml_refusal {
	const char *library, *code;
	psg_status status;
	const char *words;
} nvml_refusals[] = {
	{ "/nowhere/libnvidia-ml.so.1", "0", PSG_DRIVER, "PAGESIFT_LIBNVML=/nowhere/" },
	{ "libc.so.6", "0", PSG_TOO_OLD, "has no nvmlInit_v2" },
	{ NULL, "9", PSG_DRIVER, "nvmlInit_v2: code 9 (Driver Not Loaded); the kernel's" },
	{ NULL, "4", PSG_DRIVER, "may not open /dev/nvidiactl" },
	{ NULL, "18", PSG_DRIVER, "the driver was updated under the running kernel" },
};

START_TEST(nvml_fails)
{
	const struct nvml_refusal *row = &nvml_refusals[_i];
	const psgi_nvml *nvml;
	psg_error error = PSG_ERROR_INIT;
	size_t bytes;

	t_gpu_begin();
	if (row->library != NULL)
		ck_assert_int_eq(setenv("PAGESIFT_LIBNVML", row->library, 1), 0);
	ck_assert_int_eq(setenv("FAKECUDA_NVML", row->code, 1), 0);
	ck_assert_int_eq(psgi_nvml_get(&nvml, &error), row->status);
	ck_assert_msg(strstr(error.message, row->words) != NULL, "%s", error.message);
	ck_assert(!psgi_nvml_free_memory("GPU-0", &bytes));
}
END_TEST

/* Which codes end the process's use of the card. */
START_TEST(lost_codes)
{
	const psgi_cuda *cuda;
	psg_error error = PSG_ERROR_INIT;

	t_gpu_begin();
	cuda = opened();
	ck_assert(psgi_cuda_is_lost(CUDA_ERROR_ILLEGAL_ADDRESS));
	ck_assert(psgi_cuda_is_lost(CUDA_ERROR_LAUNCH_FAILED));
	ck_assert(!psgi_cuda_is_lost(CUDA_ERROR_OUT_OF_MEMORY));
	ck_assert(!psgi_cuda_is_lost(CUDA_SUCCESS));
	ck_assert_int_eq(psgi_cuda_fail(cuda, CUDA_ERROR_ILLEGAL_ADDRESS, "cuX", &error),
			 PSG_DEVICE_LOST);
	ck_assert_msg(strstr(error.message, "cuX: CUDA_ERROR_ILLEGAL_ADDRESS (700: ") != NULL, "%s",
		      error.message);
}
END_TEST

#define COUNT(table) ((int)(sizeof(table) / sizeof((table)[0])))

int main(void)
{
	Suite *suite = suite_create("driver");
	TCase *both = tcase_create("any driver"), *fake = tcase_create("fake driver");
	SRunner *runner;
	int failed;

	tcase_set_timeout(both, 60); /* chosen: a driver that was not loaded takes seconds */
	tcase_add_test(both, opens);
	tcase_add_test(both, library_is_missing);
	tcase_add_test(both, library_is_another);
	tcase_add_test(both, machine_without_driver);
	tcase_add_test(both, threads_open_once);
	tcase_add_test(both, forked_child);
	tcase_add_test(both, lost_codes);
	suite_add_tcase(suite, both);
	tcase_add_test(fake, fake_is_complete);
	tcase_add_loop_test(fake, initialisation_fails, 0, COUNT(refusals));
	tcase_add_test(fake, no_card_is_visible);
	tcase_add_test(fake, nvml_tells);
	tcase_add_loop_test(fake, nvml_fails, 0, COUNT(nvml_refusals));
	if (!t_gpu_real())
		suite_add_tcase(suite, fake);
	runner = srunner_create(suite);
	srunner_set_fork_status(runner, CK_FORK); /* the driver is opened once a process */
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
