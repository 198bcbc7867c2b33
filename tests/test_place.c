/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where an operator that comes alone runs: predicted from rates, which are measured once and kept
 * in a file that may be anything.
 */
#include "config.h"

#include "device/device.h"
#include "ops/rates.h"

#include "fakecuda_util.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- a folder of its own for each test --- */

static char folder[64];

static void set_up(void)
{
	(void)snprintf(folder, sizeof(folder), "/tmp/test_place.XXXXXX");
	ck_assert_ptr_nonnull(mkdtemp(folder));
	ck_assert_int_eq(setenv("XDG_CACHE_HOME", folder, 1), 0);
	ck_assert_int_eq(setenv("PAGESIFT_OPERATORS", "auto", 1), 0);
	t_gpu_begin();
}

static void tear_down(void)
{
	char command[96];

	(void)snprintf(command, sizeof(command), "rm -rf %s", folder);
	ck_assert_int_eq(system(command), 0); /* NOLINT(cert-env33-c): a name of ours */
	t_gpu_expect_nothing_left();
}

static psg_device *open_device(void)
{
	psg_error error = PSG_ERROR_INIT;
	psg_device *device;

	ck_assert_msg(psg_device_open("cuda", &device, &error) == PSG_OK, "%s", error.message);
	return device;
}

static psg_op_rates rates_of(psg_device *device)
{
	psg_error error = PSG_ERROR_INIT;
	psg_op_rates rates;

	ck_assert_msg(psg_op_rates_get(device, &rates, &error) == PSG_OK, "%s", error.message);
	return rates;
}

/* --- operators --- */

static psg_tensor *matrix(int64_t side)
{
	psg_shape shape = PSG_SHAPE(side, side);
	psg_tensor *tensor;
	float *data;

	ck_assert_int_eq(psg_tensor_create(PSG_F32, &shape, &tensor, NULL), PSG_OK);
	data = psg_tensor_data(tensor);
	for (int64_t i = 0; i < side * side; i++)
		data[i] = (float)(i % 13) * 0.1F - 0.6F;
	return tensor;
}

static psg_status multiply(psg_device *device, int64_t side, psg_tensor **out, psg_error *error)
{
	psg_op op = { .kind = PSG_OP_MATMUL, .in = { matrix(side), matrix(side) }, .n_in = 2 };
	size_t n_out = 0;
	psg_status status = psg_op_run(device, &op, out, &n_out, error);

	psg_tensor_unref(op.in[0]);
	psg_tensor_unref(op.in[1]);
	return status;
}

/* Runs it; true: the GPU did. */
static bool goes_to_gpu(psg_device *device, int64_t side)
{
	psg_error error = PSG_ERROR_INIT;
	uint64_t gpu = device->ops_on_gpu, cpu = device->ops_on_cpu;
	psg_tensor *out;

	ck_assert_msg(multiply(device, side, &out, &error) == PSG_OK, "%s", error.message);
	psg_tensor_unref(out);
	ck_assert_uint_eq(device->ops_on_gpu + device->ops_on_cpu, gpu + cpu + 1);
	return device->ops_on_gpu > gpu;
}

/* --- the file --- */

static char text[4096];

static void read_text(const char *path)
{
	FILE *file = fopen(path, "re");
	size_t n;

	ck_assert_msg(file != NULL, "%s", path);
	n = fread(text, 1, sizeof(text) - 1, file);
	text[n] = '\0';
	ck_assert_int_eq(fclose(file), 0);
}

static void write_text(const char *path, const char *content)
{
	FILE *file = fopen(path, "we");

	ck_assert_msg(file != NULL, "%s", path);
	ck_assert_int_ge(fputs(content, file), 0);
	ck_assert_int_eq(fclose(file), 0);
}

/* In `text`: the line that begins with `name` gets another value, or goes where that is NULL. */
static void set_line(const char *name, const char *value)
{
	char *at = strstr(text, name), *end, rest[sizeof(text)];

	ck_assert_msg(at != NULL, "no %s in %s", name, text);
	end = strchr(at, '\n');
	ck_assert_ptr_nonnull(end);
	(void)snprintf(rest, sizeof(rest), "%s", end + 1);
	if (value == NULL)
		(void)snprintf(at, sizeof(text) - (size_t)(at - text), "%s", rest);
	else
		(void)snprintf(at, sizeof(text) - (size_t)(at - text), "%s %s\n%s", name, value,
			       rest);
}

/* The file of this device, made by measuring; its text in `text`. */
static void make_file(char *path, size_t size)
{
	psg_device *device = open_device();

	(void)rates_of(device);
	ck_assert(psgi_rates_path(device, path, size));
	read_text(path);
	psg_device_close(device);
}

/* --- tests --- */

START_TEST(rates_are_kept)
{
	psg_device *device = open_device();
	psg_op_rates first = rates_of(device), second;
	int64_t launches;
	struct stat info;

	ck_assert(first.gpu_call_ns > 0 && first.copy_in > 0 && first.copy_out > 0);
	ck_assert(first.gpu_macs > 0 && first.cpu_call_ns > 0 && first.cpu_macs > 0);
	ck_assert_msg(strncmp(first.file, folder, strlen(folder)) == 0, "%s", first.file);
	ck_assert_int_eq(stat(first.file, &info), 0);
	ck_assert_uint_eq(info.st_mode & 0777, 0600);
	psg_device_close(device);
	device = open_device();
	launches = t_gpu_counts().launches;
	second = rates_of(device);
	ck_assert_int_eq(t_gpu_counts().launches, launches); /* nothing was measured */
	ck_assert_mem_eq(&first, &second, sizeof(first));
	psg_device_close(device);
}
END_TEST

START_TEST(each_goes_where_it_is_faster)
{
	psg_device *device;
	char path[256];

	make_file(path, sizeof(path));
	set_line("gpu_call_ns", "10000");
	set_line("gpu_operand_ns", "0");
	set_line("gpu_in", "1000000000000000");
	set_line("gpu_out", "1000000000000000");
	set_line("gpu_macs", "1000000000000000");
	set_line("product_call_ns", "1");
	set_line("product_per_second", "1000000000"); /* a ns each: 10 us are 21.5 ^ 3 */
	set_line("sums_call_ns", "1"); /* which a build without oneDNN does instead */
	set_line("sums_per_second", "1000000000");
	write_text(path, text);
	device = open_device();
	ck_assert_int_eq(rates_of(device).product_side, 32); /* in steps of 16 */
	ck_assert(!goes_to_gpu(device, 8));
	ck_assert(!goes_to_gpu(device, 21));
	ck_assert(goes_to_gpu(device, 22));
	ck_assert(goes_to_gpu(device, 100));
	psg_device_close(device);
	/* Behind a slow bus nothing of this size is worth it. */
	set_line("gpu_in", "10000000");
	write_text(path, text);
	device = open_device();
	ck_assert(!goes_to_gpu(device, 22));
	ck_assert(!goes_to_gpu(device, 64)); /* 32 KiB are 3 ms, 64 ^ 3 are 0.3 */
	psg_device_close(device);
}
END_TEST

static const char *const broken[][2] = {
	/* a line's name, and what it gets */
	{ "pagesift-gpu rates", "of operators, 2" },
	{ "library", "0.0.0" },
	{ "driver", "1.2.3, CUDA 12040" },
	{ "card", "Fake GPU 9" },
	{ "host", "64 cores" },
	{ "gpu_call_ns", "" },
	{ "gpu_call_ns", "-1" },
	{ "gpu_call_ns", "1e3" },
	{ "gpu_call_ns", "10000000001" },
	{ "gpu_call_ns", "18446744073709551617" },
	{ "gpu_call_ns", "99999999999999999999999999999999999999999" },
	{ "gpu_in", "0" },
	{ "gpu_macs", "nan" },
	{ "plain_per_second", "999" },
	{ "plain_per_second", "1000000 " },
	{ "end", "of it" },
	{ "gpu_out", NULL },
	{ "end", NULL },
};

static void is_measured_anew(const char *path, const char *what)
{
	psg_device *device = open_device();
	int64_t launches = t_gpu_counts().launches;
	char written[sizeof(text)];
	psg_op_rates rates = rates_of(device);

	ck_assert_msg(t_gpu_counts().launches > launches, "%s was believed", what);
	ck_assert_msg(strcmp(rates.file, path) == 0, "%s was not replaced", what);
	memcpy(written, text, sizeof(text));
	psg_device_close(device);
	device = open_device();
	launches = t_gpu_counts().launches;
	(void)rates_of(device);
	ck_assert_int_eq(t_gpu_counts().launches, launches);
	psg_device_close(device);
	memcpy(text, written, sizeof(text));
}

START_TEST(broken_files_are_replaced)
{
	char path[256], good[sizeof(text)], what[128];

	make_file(path, sizeof(path));
	memcpy(good, text, sizeof(good));
	for (size_t i = 0; i < sizeof(broken) / sizeof(broken[0]); i++) {
		memcpy(text, good, sizeof(text));
		set_line(broken[i][0], broken[i][1]);
		write_text(path, text);
		(void)snprintf(what, sizeof(what), "'%s %s'", broken[i][0],
			       broken[i][1] != NULL ? broken[i][1] : "(missing)");
		is_measured_anew(path, what);
	}
	for (size_t n = 0; n < strlen(good); n += 97) { /* cut at many places */
		memcpy(text, good, sizeof(text));
		text[n] = '\0';
		write_text(path, text);
		is_measured_anew(path, "half a file");
	}
	(void)snprintf(text, sizeof(text), "%.2000s%.2000s", good, good);
	write_text(path, text);
	is_measured_anew(path, "twice a file");
}
END_TEST

START_TEST(what_is_no_file_does_no_harm)
{
	char path[256], big[64];
	psg_device *device;
	FILE *file;

	make_file(path, sizeof(path));
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(mkfifo(path, 0600), 0); /* opening it would wait for a writer */
	is_measured_anew(path, "a pipe");
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(symlink(path, path), 0);
	is_measured_anew(path, "a link to itself");
	file = fopen(path, "we");
	ck_assert_ptr_nonnull(file);
	memset(big, 'x', sizeof(big));
	for (int i = 0; i < 1 << 14; i++)
		ck_assert_uint_eq(fwrite(big, sizeof(big), 1, file), 1);
	ck_assert_int_eq(fclose(file), 0);
	is_measured_anew(path, "a megabyte");
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(mkdir(path, 0700), 0); /* which a file cannot take the place of */
	device = open_device();
	ck_assert_str_eq(rates_of(device).file, "");
	psg_device_close(device);
}
END_TEST

/* The folder cannot be written, is none, or is not known: everything works, and nothing is kept. */
START_TEST(nowhere_to_keep_them)
{
	static const char *const nowhere[] = { "/dev/null", "/proc/self", "relative", "" };
	psg_device *device;

	ck_assert_int_eq(unsetenv("HOME"), 0);
	for (size_t i = 0; i < sizeof(nowhere) / sizeof(nowhere[0]); i++) {
		ck_assert_int_eq(setenv("XDG_CACHE_HOME", nowhere[i], 1), 0);
		device = open_device();
		ck_assert_str_eq(rates_of(device).file, "");
		(void)goes_to_gpu(device, 16);
		psg_device_close(device);
	}
	ck_assert_int_eq(unsetenv("XDG_CACHE_HOME"), 0);
	ck_assert_int_eq(setenv("HOME", folder, 1), 0);
	device = open_device();
	ck_assert_ptr_nonnull(strstr(rates_of(device).file, "/.cache/pagesift/rates-GPU-"));
	psg_device_close(device);
}
END_TEST

START_TEST(wishes)
{
	psg_error error = PSG_ERROR_INIT;
	psg_tensor *gpu, *cpu;
	psg_device *device;

	ck_assert_int_eq(setenv("PAGESIFT_OPERATORS", "gpu", 1), 0);
	device = open_device();
	ck_assert(goes_to_gpu(device, 1));
	ck_assert_int_eq(multiply(device, 65, &gpu, NULL), PSG_OK);
	psg_device_close(device);
	ck_assert_int_eq(setenv("PAGESIFT_OPERATORS", "cpu", 1), 0);
	device = open_device();
	ck_assert(!goes_to_gpu(device, 256));
	ck_assert_int_eq(multiply(device, 65, &cpu, NULL), PSG_OK);
	psg_device_close(device);
	for (size_t i = 0; i < 65UL * 65; i++) {
		float a = ((const float *)psg_tensor_const_data(gpu))[i];
		float b = ((const float *)psg_tensor_const_data(cpu))[i];

		ck_assert_float_eq_tol(a, b, 1e-4F);
	}
	psg_tensor_unref(gpu);
	psg_tensor_unref(cpu);
	ck_assert_int_eq(access(folder, F_OK), 0);
	ck_assert_int_eq(setenv("PAGESIFT_OPERATORS", "GPU1", 1), 0);
	ck_assert_int_eq(psg_device_open("cuda", &device, &error), PSG_INVALID);
	ck_assert_str_eq(error.message, "PAGESIFT_OPERATORS=GPU1: want auto, gpu or cpu");
}
END_TEST

/* A call of the driver fails while the rates are measured: operators are done all the same, or the
 * error is told. */
START_TEST(measuring_fails)
{
	psg_error error = PSG_ERROR_INIT;
	char path[256], rule[40];
	int64_t calls;
	psg_device *device = open_device();

	calls = t_gpu_counts().calls;
	(void)rates_of(device);
	calls = t_gpu_counts().calls - calls;
	ck_assert(psgi_rates_path(device, path, sizeof(path)));
	psg_device_close(device);
	for (int64_t n = 1; n < calls; n += 29) {
		psg_tensor *out = NULL;

		(void)unlink(path);
		device = open_device();
		(void)snprintf(rule, sizeof(rule), "*:%lld:999", (long long)n);
		t_gpu_fail(rule);
		if (multiply(device, 16, &out, &error) == PSG_OK)
			psg_tensor_unref(out);
		t_gpu_fail("");
		(void)goes_to_gpu(device, 16);
		psg_device_close(device);
		t_gpu_expect_nothing_left();
	}
}
END_TEST

/* Also where the host would do it. */
START_TEST(a_lost_card_is_told_of)
{
	psg_error error = PSG_ERROR_INIT;
	psg_tensor *out;
	psg_device *device;

	ck_assert_int_eq(setenv("PAGESIFT_OPERATORS", "gpu", 1), 0);
	device = open_device();
	t_gpu_fail("run:1:719");
	ck_assert_int_eq(multiply(device, 16, &out, &error), PSG_DEVICE_LOST);
	device->operators = PSGI_OPERATORS_CPU;
	ck_assert_int_eq(multiply(device, 16, &out, &error), PSG_DEVICE_LOST);
	psg_device_close(device);
	t_gpu_fail("");
}
END_TEST

/* On either side: the indices of a pool's maxima are not wanted unless they are asked for. */
START_TEST(as_many_results_as_asked_for)
{
	static const char *const name[] = { "reference", "cpu:1", "cuda" };
	psg_shape shape = PSG_SHAPE(1, 1, 4, 4);
	psg_op op = { .kind = PSG_OP_POOL_MAX,
		      .n_in = 1,
		      .params = { .pool.window = { .kernel = { 2, 2 } } } };
	psg_tensor *out[PSG_MAX_OUTPUTS];

	ck_assert_int_eq(setenv("PAGESIFT_OPERATORS", "gpu", 1), 0);
	ck_assert_int_eq(psg_tensor_create(PSG_F32, &shape, &op.in[0], NULL), PSG_OK);
	for (size_t i = 0; i < 3; i++) {
		psg_device *device;

		ck_assert_int_eq(psg_device_open(name[i], &device, NULL), PSG_OK);
		for (size_t wanted = 0; wanted < 3; wanted++) {
			size_t n = wanted;

			ck_assert_int_eq(psg_op_run(device, &op, out, &n, NULL), PSG_OK);
			ck_assert_uint_eq(n, wanted == 2 ? 2 : 1);
			for (size_t k = 0; k < n; k++)
				psg_tensor_unref(out[k]);
		}
		psg_device_close(device);
	}
	psg_tensor_unref(op.in[0]);
}
END_TEST

START_TEST(a_cpu_has_no_choice)
{
	psg_error error = PSG_ERROR_INIT;
	psg_op_rates rates;
	psg_device *device;

	ck_assert_int_eq(psg_device_open("cpu:1", &device, NULL), PSG_OK);
	ck_assert(!goes_to_gpu(device, 16));
	ck_assert_int_eq(psg_op_rates_get(device, &rates, &error), PSG_INVALID);
	ck_assert_str_eq(error.message, "cpu is not a GPU");
	psg_device_close(device);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("place");
	TCase *any = tcase_create("any GPU"), *fake = tcase_create("fake GPU");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(any, set_up, tear_down);
	tcase_add_checked_fixture(fake, set_up, tear_down);
	tcase_set_timeout(any, 300);
	tcase_set_timeout(fake, 300);
	tcase_add_test(any, rates_are_kept);
	tcase_add_test(any, each_goes_where_it_is_faster);
	tcase_add_test(any, nowhere_to_keep_them);
	tcase_add_test(any, wishes);
	tcase_add_test(any, as_many_results_as_asked_for);
	tcase_add_test(any, a_cpu_has_no_choice);
	suite_add_tcase(suite, any);
	tcase_add_test(fake, broken_files_are_replaced);
	tcase_add_test(fake, what_is_no_file_does_no_harm);
	tcase_add_test(fake, measuring_fails);
	tcase_add_test(fake, a_lost_card_is_told_of);
	if (!t_gpu_real())
		suite_add_tcase(suite, fake);
	runner = srunner_create(suite);
	srunner_set_fork_status(runner, CK_FORK); /* a process opens one driver */
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
