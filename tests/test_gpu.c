/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CUDA device: why it cannot be opened, its memory, copies and launches, and each call of the
 * driver that fails.  On the fake driver, or with PAGESIFT_TEST_GPU=real on the machine's own,
 * where what only the fake one can do is left out.  A process opens one driver, so that each test
 * is a process of its own.
 */
#include "config.h"

#include "device/cuda.h"
#include "device/ptx.h"
#include "driver/cuda.h"
#include "kernels/args.h"

#include "fakecuda_util.h"

#include <check.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)

static psg_device *opened(const char *name)
{
	psg_device *device;
	psg_error error = PSG_ERROR_INIT;
	psg_status status;

	t_gpu_begin();
	status = psg_device_open(name, &device, &error);
	ck_assert_msg(status == PSG_OK, "%s: %s", name, error.message);
	return device;
}

static void closed(psg_device *device)
{
	psg_device_close(device);
	t_gpu_expect_nothing_left();
}

static void expect(psg_status status, psg_status wanted, const psg_error *error, const char *words)
{
	ck_assert_msg(status == wanted, "%s: %s", psg_status_name(status), error->message);
	ck_assert_int_eq(error->code, wanted);
	if (wanted == PSG_OOM)
		ck_assert_msg(strncmp(error->message, PSG_OOM_TAG, strlen(PSG_OOM_TAG)) == 0, "%s",
			      error->message);
	ck_assert_msg(strstr(error->message, words) != NULL, "'%s' has no '%s'", error->message,
		      words);
}

#define GOOD(call)                                                                                 \
	do {                                                                                       \
		psg_error reason_ = PSG_ERROR_INIT, *why = &reason_;                               \
		psg_status status_ = call;                                                         \
		ck_assert_msg(status_ == PSG_OK, "%s", reason_.message);                           \
	} while (0)

/* --- reasons --- */

static const struct reason {
	const char *variable, *value, *device;
	psg_status status;
	const char *message;
} reasons[] = {
	{ "PAGESIFT_GPU", "off", "cuda", PSG_DISABLED, "GPU disabled by PAGESIFT_GPU=off" },
	{ "PAGESIFT_GPU", "OFF", "cuda:0", PSG_DISABLED, "GPU disabled by PAGESIFT_GPU=off" },
	{ "PAGESIFT_GPU", "Off", "cuda:7", PSG_DISABLED, "GPU disabled by PAGESIFT_GPU=off" },
	{ "FAKECUDA_DEVICES", "1", "cuda:3", PSG_NO_DEVICE, "no GPU 3: this machine has 1" },
	{ "FAKECUDA_DEVICES", "2", "cuda:9999", PSG_NO_DEVICE, "no GPU 9999: this machine has 2" },
	{ "CUDA_VISIBLE_DEVICES", "", "cuda", PSG_NO_DEVICE, "no NVIDIA GPU found" },
	{ "FAKECUDA_CAPABILITY", "5.2", "cuda", PSG_TOO_OLD,
	  "GPU compute capability 5.2 is too old, need at least 6.1 (Pascal)" },
	{ "FAKECUDA_CAPABILITY", "6.0", "cuda", PSG_TOO_OLD,
	  "GPU compute capability 6.0 is too old, need at least 6.1 (Pascal)" },
	{ "FAKECUDA_FAIL", "cuDeviceGetCount:1+:46", "cuda", PSG_DRIVER, NULL },
	{ "FAKECUDA_FAIL", "cuDevicePrimaryCtxRetain:1+:2", "cuda", PSG_OOM, NULL },
	{ "PAGESIFT_GPU_MEMORY", "much", "cuda", PSG_INVALID,
	  "PAGESIFT_GPU_MEMORY=much: want bytes, with K, M or G behind them, or a percentage such "
	  "as 50%" },
	{ "PAGESIFT_PTX", "sm_99", "cuda", PSG_INVALID,
	  "PAGESIFT_PTX=sm_99: this build has sm_61 sm_70" },
	{ "PAGESIFT_PTX", "sm_70x", "cuda", PSG_INVALID,
	  "PAGESIFT_PTX=sm_70x: this build has sm_61 sm_70" },
};

START_TEST(refuses)
{
	const struct reason *row = &reasons[_i];
	psg_error error = PSG_ERROR_INIT;
	psg_device *device;

	t_gpu_begin();
	ck_assert_int_eq(setenv(row->variable, row->value, 1), 0);
	expect(psg_device_open(row->device, &device, &error), row->status, &error,
	       row->message != NULL ? row->message : "");
	ck_assert_ptr_null(device);
	if (row->message != NULL)
		ck_assert_str_eq(error.message, row->message);
	if (row->status == PSG_OOM)
		ck_assert_int_eq(strncmp(error.message, PSG_OOM_TAG, strlen(PSG_OOM_TAG)), 0);
	ck_assert_int_eq(psg_device_open(row->device, &device, NULL), row->status);
	t_gpu_expect_nothing_left();
}
END_TEST

/* "auto" is a CPU then, and tells. */
START_TEST(auto_tells_why)
{
	const struct reason *row = &reasons[_i];
	psg_device *device;

	if (row->device[4] == ':') /* auto has no index */
		return;
	t_gpu_begin();
	ck_assert_int_eq(setenv(row->variable, row->value, 1), 0);
	GOOD(psg_device_open("auto:1", &device, why));
	ck_assert_int_eq(psg_device_info_get(device)->kind, PSG_DEVICE_CPU);
	ck_assert_int_eq(psg_device_info_get(device)->fallback_code, row->status);
	if (row->message != NULL)
		ck_assert_str_eq(psg_device_info_get(device)->fallback, row->message);
	else
		ck_assert_str_ne(psg_device_info_get(device)->fallback, "");
	psg_device_close(device);
	t_gpu_expect_nothing_left();
}
END_TEST

/* The second card where the first one cannot be used. */
START_TEST(auto_takes_a_usable_one)
{
	psg_device *device;

	ck_assert_int_eq(setenv("FAKECUDA_DEVICES", "2", 1), 0);
	ck_assert_int_eq(setenv("FAKECUDA_FAIL", "cuDevicePrimaryCtxRetain:1:46", 1), 0);
	device = opened("auto");
	ck_assert_str_eq(psg_device_info_get(device)->name, "cuda:1");
	ck_assert_str_eq(psg_device_info_get(device)->fallback, "");
	closed(device);
}
END_TEST

static const struct choice {
	const char *capability;
	int ptx;
} choices[] = { { "6.1", 61 }, { "6.2", 61 }, { "7.0", 70 }, { "8.6", 70 }, { "12.0", 70 } };

START_TEST(chooses_ptx)
{
	psg_device *device;

	ck_assert_int_eq(setenv("FAKECUDA_CAPABILITY", choices[_i].capability, 1), 0);
	device = opened("cuda");
	ck_assert_int_eq(psgi_gpu_ptx(device), choices[_i].ptx);
	ck_assert_int_eq(psg_device_info_get(device)->gpu.ptx, choices[_i].ptx);
	closed(device);
}
END_TEST

/* Each kernel of the list is in its text with the parameter that the host fills, for each target.
 */
static const struct listed {
	const char *name;
	psgi_gpu_family family;
	size_t bytes;
} listed[] = {
#define LISTED(name, family, args) { #name, PSGI_FAMILY_##family, sizeof(args) },
	PSGI_KERNELS(LISTED)
#undef LISTED
};

START_TEST(ptx_has_the_kernels)
{
	static const int targets[] = {
#define TARGET(target) target,
		PSGI_PTX_TARGETS(TARGET)
#undef TARGET
	};

	for (size_t i = 0; i < 2 * sizeof(listed) / sizeof(listed[0]); i++) {
		const struct listed *row = &listed[i / 2];
		char *text = NULL, words[80];
		const char *at;

		GOOD(psgi_ptx_text(row->family, targets[i % 2], &text, why));
		(void)snprintf(words, sizeof(words), "\n.target sm_%d\n", targets[i % 2]);
		ck_assert_ptr_nonnull(strstr(text, words));
		(void)snprintf(words, sizeof(words), ".visible .entry %s(\n", row->name);
		at = strstr(text, words);
		ck_assert_msg(at != NULL, "%s is not in its text", row->name);
		at = strchr(at, '[');
		ck_assert_ptr_nonnull(at);
		ck_assert_uint_eq(strtoul(at + 1, NULL, 10), row->bytes);
		free(text);
	}
}
END_TEST

START_TEST(ptx_is_forced)
{
	psg_device *device;

	ck_assert_int_eq(setenv("PAGESIFT_PTX", "sm_61", 1), 0);
	device = opened("cuda");
	ck_assert_int_eq(psgi_gpu_ptx(device), 61);
	GOOD(psgi_gpu_load(device, PSGI_GPU_relu, why));
	closed(device);
}
END_TEST

/* --- info, count, probe --- */

static void expect_gpu(const psg_gpu_info *gpu)
{
	ck_assert_int_eq(gpu->index, 0);
	ck_assert_str_ne(gpu->name, "");
	ck_assert_msg(strncmp(gpu->uuid, "GPU-", 4) == 0 || strncmp(gpu->uuid, "MIG-", 4) == 0,
		      "'%s'", gpu->uuid);
	ck_assert_uint_eq(strlen(gpu->uuid), 40);
	ck_assert_ptr_nonnull(strchr(gpu->pci, ':'));
	ck_assert_int_ge(gpu->capability, 61);
	ck_assert_int_ge(gpu->multiprocessors, 1);
	ck_assert_uint_gt(gpu->free_bytes, 0);
	ck_assert_uint_ge(gpu->total_bytes, gpu->free_bytes);
	ck_assert_int_ge(gpu->cuda, 11000);
	ck_assert_int_ge(gpu->ptx, 61);
}

START_TEST(info_is_filled)
{
	psg_device *device = opened("cuda");
	const psg_device_info *info = psg_device_info_get(device);

	ck_assert_int_eq(info->kind, PSG_DEVICE_CUDA);
	ck_assert_str_eq(info->name, "cuda:0");
	ck_assert_ptr_nonnull(strstr(info->detail, info->gpu.name));
	expect_gpu(&info->gpu);
	ck_assert_int_ge(psgi_gpu_limits_get(device)->capability, 61);
	ck_assert_uint_ge(psgi_gpu_limits_get(device)->shared_bytes, 49152);
	closed(device);
}
END_TEST

/* With NVML and without: nothing is compiled, and nothing of the card stays taken. */
START_TEST(probe)
{
	psg_gpu_info gpu;
	int32_t count = -1;

	t_gpu_begin();
	if (_i == 1)
		ck_assert_int_eq(setenv("PAGESIFT_LIBNVML", "/nowhere", 1), 0);
	GOOD(psg_device_count(&count, why));
	ck_assert_int_ge(count, 1);
	GOOD(psg_gpu_probe(0, &gpu, why));
	expect_gpu(&gpu);
	ck_assert_int_eq(gpu.driver[0] == '\0', _i == 1);
	ck_assert_int_eq(psg_gpu_probe(count, &gpu, NULL), PSG_NO_DEVICE);
	ck_assert_int_eq(psg_gpu_probe(-1, &gpu, NULL), PSG_NO_DEVICE);
	ck_assert_int_eq(t_gpu_counts().compiled, 0);
	t_gpu_expect_nothing_left();
}
END_TEST

START_TEST(probe_of_what_cannot_be_used)
{
	psg_gpu_info gpu;
	int32_t count = -1;

	t_gpu_begin();
	ck_assert_int_eq(setenv("FAKECUDA_CAPABILITY", "5.2", 1), 0);
	ck_assert_int_eq(psg_gpu_probe(0, &gpu, NULL), PSG_TOO_OLD);
	ck_assert_str_eq(gpu.name, "Fake GPU 0");
	ck_assert_int_eq(gpu.ptx, 0);
	ck_assert_int_eq(setenv("PAGESIFT_GPU", "off", 1), 0);
	ck_assert_int_eq(psg_gpu_probe(0, &gpu, NULL), PSG_DISABLED);
	GOOD(psg_device_count(&count, why));
	ck_assert_int_eq(count, 1);
}
END_TEST

START_TEST(count_of_none)
{
	int32_t count = -1;

	t_gpu_begin();
	ck_assert_int_eq(setenv("CUDA_VISIBLE_DEVICES", "-1", 1), 0);
	GOOD(psg_device_count(&count, why));
	ck_assert_int_eq(count, 0);
}
END_TEST

START_TEST(driver_tells)
{
	psg_gpu_driver driver;

	t_gpu_begin();
	GOOD(psg_gpu_driver_get(&driver, why));
	ck_assert_ptr_nonnull(strchr(driver.library, '/'));
	ck_assert_int_ge(driver.cuda, 11000);
	if (!t_gpu_real()) {
		ck_assert_str_eq(driver.version, "550.54.14");
		ck_assert_int_eq(driver.nvml_cards, 1);
		ck_assert_str_eq(driver.nvml_problem, "");
	}
}
END_TEST

/* --- the calling thread's context --- */

struct driver {
	CUresult (*retain)(CUcontext *, CUdevice);
	CUresult (*release)(CUdevice);
	CUresult (*push)(CUcontext);
	CUresult (*pop)(CUcontext *);
	CUresult (*current)(CUcontext *);
};

static CUcontext current(const struct driver *driver)
{
	CUcontext context = NULL;

	ck_assert_int_eq(driver->current(&context), CUDA_SUCCESS);
	return context;
}

static void use_device(const struct driver *driver, CUcontext wanted)
{
	psg_device *device;
	psg_gpu_info gpu;
	void *memory;

	GOOD(psg_gpu_probe(0, &gpu, why));
	ck_assert_ptr_eq(current(driver), wanted);
	GOOD(psg_device_open("cuda", &device, why));
	ck_assert_ptr_eq(current(driver), wanted);
	GOOD(psgi_gpu_alloc(device, 1000, &memory, why));
	GOOD(psgi_gpu_fill(device, memory, 1, 1000, why));
	GOOD(psgi_gpu_sync(device, why));
	ck_assert_ptr_eq(current(driver), wanted);
	GOOD(psgi_device_enter(device, why));
	GOOD(psgi_device_enter(device, why));
	ck_assert_ptr_nonnull(current(driver));
	GOOD(psgi_gpu_sync(device, why));
	psgi_device_leave(device);
	ck_assert_ptr_nonnull(current(driver));
	psgi_device_leave(device);
	ck_assert_ptr_eq(current(driver), wanted);
	psg_device_close(device);
	ck_assert_ptr_eq(current(driver), wanted);
}

START_TEST(contexts_stay)
{
	struct driver driver;
	psg_gpu_info gpu;
	CUcontext foreign;
	CUdevice other = t_gpu_real() ? 0 : 1;

	ck_assert_int_eq(setenv("FAKECUDA_DEVICES", "2", 1), 0);
	t_gpu_begin();
	GOOD(psg_gpu_probe(0, &gpu, why)); /* opens the driver */
	t_gpu_symbol("cuDevicePrimaryCtxRetain", &driver.retain);
	t_gpu_symbol("cuDevicePrimaryCtxRelease_v2", &driver.release);
	t_gpu_symbol("cuCtxPushCurrent_v2", &driver.push);
	t_gpu_symbol("cuCtxPopCurrent_v2", &driver.pop);
	t_gpu_symbol("cuCtxGetCurrent", &driver.current);
	use_device(&driver, NULL);
	ck_assert_int_eq(driver.retain(&foreign, other), CUDA_SUCCESS);
	ck_assert_int_eq(driver.push(foreign), CUDA_SUCCESS);
	use_device(&driver, foreign);
	ck_assert_int_eq(driver.pop(&foreign), CUDA_SUCCESS);
	ck_assert_ptr_null(current(&driver));
	ck_assert_int_eq(driver.release(other), CUDA_SUCCESS);
	t_gpu_expect_nothing_left();
}
END_TEST

/* --- threads --- */

struct intrusion {
	psg_device *device;
	psg_status alloc, sync, enter, load, launch;
	psg_error error, launch_error;
};

static void *intrude(void *argument)
{
	struct intrusion *i = argument;
	unary_args args = { .n = 0 };
	psgi_launch relu = { .kernel = PSGI_GPU_relu,
			     .grid = { 1, 1, 1 },
			     .block = { 32, 1, 1 },
			     .args = &args,
			     .args_bytes = sizeof(args) };
	void *memory;

	i->alloc = psgi_gpu_alloc(i->device, 100, &memory, NULL);
	i->sync = psgi_gpu_sync(i->device, &i->error);
	i->enter = psgi_device_enter(i->device, NULL);
	i->load = psgi_gpu_load(i->device, PSGI_GPU_relu, NULL);
	i->launch = psgi_gpu_launch(i->device, &relu, &i->launch_error);
	return NULL;
}

/* A device is its opener's: another thread is told so, before it touches the driver. */
START_TEST(other_threads_are_refused)
{
	struct intrusion i = { .device = opened("cuda"),
			       .error = PSG_ERROR_INIT,
			       .launch_error = PSG_ERROR_INIT };
	int64_t calls = t_gpu_counts().calls;
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, intrude, &i), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_int_eq(i.alloc, PSG_INVALID);
	ck_assert_int_eq(i.enter, PSG_INVALID);
	ck_assert_int_eq(i.load, PSG_INVALID);
	expect(i.sync, PSG_INVALID, &i.error, "cuda:0 belongs to the thread that opened it");
	expect(i.launch, PSG_INVALID, &i.launch_error,
	       "cuda:0 belongs to the thread that opened it");
	ck_assert_int_eq(t_gpu_counts().calls, calls);
	GOOD(psgi_gpu_sync(i.device, why));
	closed(i.device);
}
END_TEST

/* --- fork --- */

static void in_child(psg_device *parents, void *memory)
{
	psg_device *device;
	psg_gpu_info gpu;
	char byte = 0;
	int32_t count;

	if (psg_device_open("cuda", &device, NULL) != PSG_FORKED)
		_exit(1);
	if (psg_gpu_probe(0, &gpu, NULL) != PSG_FORKED ||
	    psg_device_count(&count, NULL) != PSG_FORKED)
		_exit(2);
	if (psgi_gpu_copy_in(parents, memory, &byte, 1, NULL) != PSG_FORKED ||
	    psgi_gpu_sync(parents, NULL) != PSG_FORKED)
		_exit(3);
	if (psgi_device_alloc(parents, 10) != NULL)
		_exit(4);
	psgi_device_free(parents, memory);
	psg_device_close(parents);
	if (psg_device_open("auto:1", &device, NULL) != PSG_OK ||
	    strstr(psg_device_info_get(device)->fallback, "fork") == NULL)
		_exit(5);
	psg_device_close(device);
	_exit(0);
}

START_TEST(forked_child)
{
	static psg_device *device; /* so that valgrind finds it in the child, which ends early */
	void *memory;
	int status = -1;
	pid_t child;

	device = opened("cuda");
	GOOD(psgi_gpu_alloc(device, 1000, &memory, why));
	child = fork();
	ck_assert_int_ge(child, 0);
	if (child == 0)
		in_child(device, memory);
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	GOOD(psgi_gpu_fill(device, memory, 1, 1000, why));
	GOOD(psgi_gpu_sync(device, why));
	closed(device);
}
END_TEST

/* What the child of one that asked gets; each in a process of its own. */
static const struct asked {
	const char *variable, *value; /* while the parent asks */
	psg_status parent;            /* that psg_gpu_probe gives there */
	bool always;                  /* for the child too */
	psg_status child;             /* that opening gives there */
	const char *words;
} asked[] = {
	{ NULL, NULL, PSG_OK, false, PSG_FORKED, "open devices after fork" },
	{ "PAGESIFT_GPU", "off", PSG_DISABLED, false, PSG_OK, "" },
	{ "PAGESIFT_GPU", "off", PSG_DISABLED, true, PSG_DISABLED, "PAGESIFT_GPU=off" },
	{ "CUDA_VISIBLE_DEVICES", "", PSG_NO_DEVICE, true, PSG_NO_DEVICE, "no NVIDIA GPU found" },
	{ "PAGESIFT_LIBCUDA", "/nowhere/x", PSG_DRIVER, true, PSG_DRIVER, "/nowhere/x" },
};

static int ask_in_child(const struct asked *row)
{
	psg_error error = PSG_ERROR_INIT;
	psg_device *device = NULL;
	psg_status status = psg_device_open("cuda", &device, &error);

	psg_device_close(device);
	if (status != row->child || strstr(error.message, row->words) == NULL)
		return 1;
	if (psg_device_open("auto:1", &device, NULL) != PSG_OK)
		return 2;
	if (row->child != PSG_OK &&
	    strstr(psg_device_info_get(device)->fallback, row->words) == NULL)
		return 3;
	psg_device_close(device);
	return 0;
}

START_TEST(child_of_one_that_asked)
{
	const struct asked *row = &asked[_i];
	psg_gpu_info gpu;
	int status = -1;
	pid_t child;

	t_gpu_begin();
	if (row->variable != NULL)
		ck_assert_int_eq(setenv(row->variable, row->value, 1), 0);
	ck_assert_int_eq(psg_gpu_probe(0, &gpu, NULL), row->parent);
	if (row->variable != NULL && !row->always)
		ck_assert_int_eq(unsetenv(row->variable), 0);
	child = fork();
	ck_assert_int_ge(child, 0);
	if (child == 0)
		_exit(ask_in_child(row));
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
}
END_TEST

/* --- copies --- */

static const size_t lengths[] = { 0, 1, 63, 4096, MIB - 1, MIB, MIB + 1, 5 * MIB + 3, 9 * MIB };

static void fill_with(unsigned char *bytes, size_t n, unsigned seed)
{
	for (size_t i = 0; i < n; i++)
		bytes[i] = (unsigned char)((i * 2654435761U + seed) >> 13);
}

static bool all_are(const unsigned char *bytes, size_t n, unsigned char value)
{
	for (size_t i = 0; i < n; i++)
		if (bytes[i] != value)
			return false;
	return true;
}

/* There and back through a second block; the host's bytes are overwritten as soon as they may be.
 */
static void round_trip(psg_device *device, size_t n, bool ahead, unsigned seed)
{
	unsigned char *host = malloc(n + 1), *back = calloc(1, n + 1), *wanted = malloc(n + 1);
	void *first, *second;

	ck_assert(host != NULL && back != NULL && wanted != NULL);
	fill_with(wanted, n, seed);
	memcpy(host, wanted, n);
	GOOD(psgi_gpu_alloc(device, n, &first, why));
	GOOD(psgi_gpu_alloc(device, n, &second, why));
	if (ahead)
		GOOD(psgi_gpu_copy_ahead(device, first, host, n, why));
	else
		GOOD(psgi_gpu_copy_in(device, first, host, n, why));
	memset(host, 0xee, n);
	GOOD(psgi_gpu_fill(device, second, 0xdd, n, why));
	GOOD(psgi_gpu_copy_within(device, second, first, n, why));
	psgi_device_free(device, first);
	GOOD(psgi_gpu_copy_out(device, back, second, n, why));
	psgi_device_free(device, second);
	ck_assert_int_eq(memcmp(back, wanted, n), 0);
	free(wanted);
	free(back);
	free(host);
}

START_TEST(copies)
{
	psg_device *device = opened("cuda");

	for (unsigned round = 0; round < 3; round++)
		for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
			round_trip(device, lengths[i], round == 1, round);
	closed(device);
}
END_TEST

/* Many small ones share a stage, and more than all stages hold are on their way at once. */
START_TEST(copies_without_waiting)
{
	enum { COPIES = 3000, BYTES = 4000 };
	psg_device *device = opened("cuda");
	unsigned char host[BYTES], wanted[BYTES];
	unsigned char *memory, *back = malloc((size_t)COPIES * BYTES);
	void *block;

	ck_assert_ptr_nonnull(back);
	GOOD(psgi_gpu_alloc(device, (size_t)COPIES * BYTES, &block, why));
	memory = block;
	for (unsigned i = 0; i < COPIES; i++) {
		fill_with(host, BYTES, i);
		GOOD(psgi_gpu_copy_in(device, memory + (size_t)i * BYTES, host, BYTES, why));
	}
	GOOD(psgi_gpu_copy_out(device, back, memory, (size_t)COPIES * BYTES, why));
	for (unsigned i = 0; i < COPIES; i++) {
		fill_with(wanted, BYTES, i);
		ck_assert_int_eq(memcmp(back + (size_t)i * BYTES, wanted, BYTES), 0);
	}
	free(back);
	closed(device);
}
END_TEST

/* A copy ahead into a block that earlier work still reads: it has to wait for that work. */
START_TEST(copy_ahead_into_a_used_block)
{
	enum { BYTES = 6 << 20 }; /* more than the stages hold: the copy's stream is waited for */
	psg_device *device = opened("cuda");
	unsigned char *host = malloc(BYTES);
	void *from, *to, *again;

	ck_assert_ptr_nonnull(host);
	GOOD(psgi_gpu_alloc(device, BYTES, &from, why));
	GOOD(psgi_gpu_alloc(device, BYTES, &to, why));
	GOOD(psgi_gpu_fill(device, from, 7, BYTES, why));
	GOOD(psgi_gpu_copy_within(device, to, from, BYTES, why));
	psgi_device_free(device, from);
	GOOD(psgi_gpu_alloc(device, BYTES, &again, why));
	ck_assert_ptr_eq(again, from);
	memset(host, 9, BYTES);
	GOOD(psgi_gpu_copy_ahead(device, again, host, BYTES, why));
	GOOD(psgi_gpu_copy_out(device, host, to, BYTES, why));
	ck_assert(all_are(host, BYTES, 7));
	GOOD(psgi_gpu_copy_out(device, host, again, BYTES, why));
	ck_assert(all_are(host, BYTES, 9));
	free(host);
	closed(device);
}
END_TEST

static void wait_for_all(psg_device *device, int how, void *block)
{
	unsigned char byte;

	if (how == 0)
		GOOD(psgi_gpu_sync(device, why));
	else if (how == 1)
		GOOD(psgi_gpu_copy_out(device, &byte, block, 1, why));
	else
		psgi_gpu_trim(device);
}

/* All was waited for but the very last work, which is what still reads the block. */
START_TEST(copy_ahead_waits_for_the_last_work)
{
	enum { BYTES = 6 << 20 };
	psg_device *device = opened("cuda");
	unsigned char *host = malloc(BYTES);
	void *from, *to, *again, *idle;

	ck_assert_ptr_nonnull(host);
	GOOD(psgi_gpu_alloc(device, BYTES, &from, why));
	GOOD(psgi_gpu_alloc(device, BYTES, &to, why));
	GOOD(psgi_gpu_alloc(device, 1000, &idle, why));
	GOOD(psgi_gpu_fill(device, from, 7, BYTES, why));
	psgi_device_free(device, idle); /* for a trim to have something to do */
	wait_for_all(device, _i, to);
	GOOD(psgi_gpu_copy_within(device, to, from, BYTES, why));
	psgi_device_free(device, from);
	GOOD(psgi_gpu_alloc(device, BYTES, &again, why));
	ck_assert_ptr_eq(again, from);
	memset(host, 9, BYTES);
	GOOD(psgi_gpu_copy_ahead(device, again, host, BYTES, why));
	GOOD(psgi_gpu_copy_out(device, host, to, BYTES, why));
	ck_assert(all_are(host, BYTES, 7));
	free(host);
	closed(device);
}
END_TEST

/* Copies do without pinned memory where there is none. */
START_TEST(copies_without_pinned_memory)
{
	psg_device *device = opened("cuda");

	t_gpu_fail("cuMemHostAlloc:1+:2");
	for (size_t i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++)
		round_trip(device, lengths[i], false, 1);
	ck_assert_int_eq(t_gpu_counts().pinned, 0);
	closed(device);
}
END_TEST

/* --- launches --- */

static psg_status launch_relu(psg_device *device, void *y, const void *x, int64_t n,
			      psg_error *error)
{
	unary_args args = { .x = x, .y = y, .n = n };
	psgi_launch launch = { .kernel = PSGI_GPU_relu,
			       .grid = { (uint32_t)((n + 255) / 256), 1, 1 },
			       .block = { 256, 1, 1 },
			       .args = &args,
			       .args_bytes = sizeof(args) };
	psg_status status = psgi_gpu_launch(device, &launch, error);

	memset(&args, 0xff, sizeof(args)); /* it is read by now */
	return status;
}

START_TEST(launches)
{
	psg_device *device = opened("cuda");
	psgi_gpu_stats stats;
	void *memory;

	GOOD(psgi_gpu_alloc(device, 4000, &memory, why));
	GOOD(psgi_gpu_fill(device, memory, 0, 4000, why));
	GOOD(launch_relu(device, memory, memory, 1000, why));
	GOOD(launch_relu(device, memory, memory, 1000, why));
	GOOD(launch_relu(device, memory, memory, 0, why));
	GOOD(psgi_gpu_sync(device, why));
	psgi_gpu_stats_get(device, &stats);
	ck_assert_uint_eq(stats.launches, 2);
	ck_assert_uint_eq(stats.families, 1);
	ck_assert_int_gt(stats.load_ns, 0);
	if (!t_gpu_real()) {
		ck_assert_int_eq(t_gpu_counts().launches, 2);
		ck_assert_int_eq(t_gpu_counts().compiled, 1);
	}
	closed(device);
}
END_TEST

static const struct wrong_launch {
	uint32_t grid[3], block[3], shared;
	const char *words;
} wrong_launches[] = {
	{ { 1, 65536, 1 }, { 1, 1, 1 }, 0, "a grid of 1x65536x1, there may be 2147483647x65535x" },
	{ { 1, 1, 65536 }, { 1, 1, 1 }, 0, "a grid of 1x1x65536" },
	{ { 2147483648U, 1, 1 }, { 1, 1, 1 }, 0, "a grid of 2147483648x1x1" },
	{ { 1, 1, 1 }, { 1025, 1, 1 }, 0, "a block of 1025x1x1 threads, there may be 1 to 1024" },
	{ { 1, 1, 1 }, { 0, 1, 1 }, 0, "a block of 0x1x1" },
	{ { 1, 1, 1 }, { 65536, 65536, 65536 }, 0, "a block of 65536x65536x65536" },
	{ { 1, 1, 1 }, { 1, 1, 1 }, 1U << 30, "1073741824 bytes of shared memory, cuda:0 has" },
};

START_TEST(launch_is_refused)
{
	const struct wrong_launch *row = &wrong_launches[_i];
	psg_device *device = opened("cuda");
	psg_error error = PSG_ERROR_INIT;
	psgi_launch launch = { .kernel = PSGI_GPU_relu, .shared_bytes = row->shared };

	memcpy(launch.grid, row->grid, sizeof(launch.grid));
	memcpy(launch.block, row->block, sizeof(launch.block));
	expect(psgi_gpu_launch(device, &launch, &error), PSG_INVALID, &error, row->words);
	ck_assert_ptr_nonnull(strstr(error.message, "kernel 'relu'"));
	launch.kernel = PSGI_GPU_KERNELS;
	ck_assert_int_eq(psgi_gpu_launch(device, &launch, NULL), PSG_INVALID);
	closed(device);
}
END_TEST

/* As large as the kernel's own, or it would read past the end. */
START_TEST(parameter_of_other_size)
{
	psg_device *device = opened("cuda");
	psg_error error = PSG_ERROR_INIT;
	unary_args args = { .n = 0 };
	psgi_launch launch = { .kernel = PSGI_GPU_relu,
			       .grid = { 1, 1, 1 },
			       .block = { 32, 1, 1 },
			       .args = &args,
			       .args_bytes = sizeof(args) - 8 };

	expect(psgi_gpu_launch(device, &launch, &error), PSG_INVALID, &error,
	       "kernel 'relu': a parameter of 32 bytes, it takes 40");
	launch.args_bytes = sizeof(args);
	GOOD(psgi_gpu_launch(device, &launch, why));
	closed(device);
}
END_TEST

/* More shared memory than every block may have is asked for. */
START_TEST(much_shared_memory)
{
	psg_device *device = opened("cuda");
	unary_args args = { .n = 0 };
	psgi_launch launch = { .kernel = PSGI_GPU_relu,
			       .grid = { 1, 1, 1 },
			       .block = { 32, 1, 1 },
			       .shared_bytes = 60000,
			       .args = &args,
			       .args_bytes = sizeof(args) };

	if (psgi_gpu_limits_get(device)->shared_bytes >= launch.shared_bytes)
		GOOD(psgi_gpu_launch(device, &launch, why));
	GOOD(psgi_gpu_sync(device, why));
	closed(device);
}
END_TEST

static const struct launch_failure {
	const char *rule;
	psg_status status;
	const char *words;
} launch_failures[] = {
	{ "cuLaunchKernel:1:701", PSG_LAUNCH,
	  "kernel 'relu': cuda:0: cuLaunchKernel: CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES (701: " },
	{ "cuLaunchKernel:1:1", PSG_LAUNCH, "CUDA_ERROR_INVALID_VALUE" },
	{ "cuLaunchKernel:1:2", PSG_OOM, PSG_OOM_TAG },
	{ "cuModuleGetFunction:1:500", PSG_JIT,
	  "kernel 'relu' of 'element': cuda:0: cuModuleGetFunction: CUDA_ERROR_NOT_FOUND" },
	{ "cuModuleLoadDataEx:1:2", PSG_OOM, "kernels 'element' for sm_70" },
	{ "cuModuleLoadDataEx:1:221", PSG_JIT, "libnvidia-ptxjitcompiler" },
};

/* It is told, and the next launch works. */
START_TEST(launch_fails)
{
	const struct launch_failure *row = &launch_failures[_i];
	psg_device *device = opened("cuda");
	psg_error error = PSG_ERROR_INIT;
	void *memory;

	GOOD(psgi_gpu_alloc(device, 400, &memory, why));
	t_gpu_fail(row->rule);
	expect(launch_relu(device, memory, memory, 100, &error), row->status, &error, row->words);
	GOOD(launch_relu(device, memory, memory, 100, why));
	GOOD(psgi_gpu_sync(device, why));
	closed(device);
}
END_TEST

START_TEST(jit_fails_with_its_log)
{
	psg_device *device;
	psg_error error = PSG_ERROR_INIT;

	ck_assert_int_eq(setenv("FAKECUDA_JIT", "Unknown symbol 'nonsense'", 1), 0);
	device = opened("cuda");
	expect(psgi_gpu_load(device, PSGI_GPU_relu, &error), PSG_JIT, &error,
	       "Unknown symbol 'nonsense'");
	ck_assert_ptr_nonnull(strstr(error.message, "CUDA_ERROR_INVALID_PTX (218: "));
	ck_assert_ptr_nonnull(strstr(error.message, "kernels 'element' for sm_61"));
	closed(device);
}
END_TEST

/* Compiling may take seconds, and each job would wait for it. */
START_TEST(refused_code_is_not_tried_again)
{
	psg_device *device;
	psg_error error = PSG_ERROR_INIT, again = PSG_ERROR_INIT;

	device = opened("cuda");
	t_gpu_fail("cuModuleLoadDataEx:1+:218");
	expect(psgi_gpu_load(device, PSGI_GPU_relu, &error), PSG_JIT, &error, "sm_61");
	t_gpu_fail("");
	expect(psgi_gpu_load(device, PSGI_GPU_silu, &again), PSG_JIT, &again, error.message);
	GOOD(psgi_gpu_load(device, PSGI_GPU_sgemm, why)); /* other code */
	closed(device);
	device = opened("cuda"); /* a new opening may meet another driver */
	GOOD(psgi_gpu_load(device, PSGI_GPU_relu, why));
	closed(device);
}
END_TEST

/* Names what there is and what is needed. */
START_TEST(driver_is_older_than_the_code)
{
	psg_device *device;
	psg_error error = PSG_ERROR_INIT;

	ck_assert_int_eq(setenv("FAKECUDA_CUDA", "9020", 1), 0);
	device = opened("cuda");
	expect(psgi_gpu_load(device, PSGI_GPU_relu, &error), PSG_TOO_OLD, &error,
	       "the driver is older than the PTX; it is one of CUDA 9.2, 10.0 is needed");
	closed(device);
}
END_TEST

/* --- code from a folder --- */

static char folder[] = "test_gpu.XXXXXX";

/* 'element', with `word` in the place of `wrong`. */
static void write_code(const char *wrong, const char *word)
{
	psg_error error = PSG_ERROR_INIT;
	char path[64], *text, *at;
	FILE *file;

	ck_assert_int_eq(psgi_ptx_text(PSGI_FAMILY_element, 61, &text, &error), PSG_OK);
	at = strstr(text, wrong);
	ck_assert_ptr_nonnull(at);
	ck_assert_ptr_nonnull(mkdtemp(folder));
	(void)snprintf(path, sizeof(path), "%s/element.ptx", folder);
	file = fopen(path, "we");
	ck_assert_ptr_nonnull(file);
	ck_assert_int_gt(
		fprintf(file, "%.*s%s%s", (int)(at - text), text, word, at + strlen(wrong)), 0);
	ck_assert_int_eq(fclose(file), 0);
	free(text);
	ck_assert_int_eq(setenv("PAGESIFT_PTX_DIR", folder, 1), 0);
}

static void remove_code(void)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "%s/element.ptx", folder);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(rmdir(folder), 0);
}

static const struct code {
	const char *wrong, *word;
	psg_status status;
	const char *message;
} codes_in_a_folder[] = {
	{ ".entry relu(", ".entry relu(", PSG_OK, "" },
	{ ".entry relu(", ".entry rely(", PSG_JIT,
	  "kernel 'relu' of 'element': cuda:0: cuModuleGetFunction: " },
	{ ".version ", ".virgin ", PSG_JIT, "kernels 'element' for sm_61: " },
};

/* Good code, code without one kernel, and what is no code. */
START_TEST(code_from_a_folder)
{
	const struct code *row = &codes_in_a_folder[_i];
	psg_error error = PSG_ERROR_INIT;
	psg_device *device;
	psg_status status;

	write_code(row->wrong, row->word);
	device = opened("cuda");
	for (int i = 0; i < 2; i++) {
		status = psgi_gpu_load(device, PSGI_GPU_relu, &error);
		if (row->status == PSG_OK)
			ck_assert_msg(status == PSG_OK, "%s", error.message);
		else
			expect(status, row->status, &error, row->message);
	}
	expect(psgi_gpu_load(device, PSGI_GPU_sgemm, &error), PSG_INVALID, &error,
	       "gemm_128.ptx: No such file or directory");
	closed(device);
	remove_code();
}
END_TEST

static char logged[2000];

static void keep_log(void *user, psg_log_level level, const char *message)
{
	(void)user;
	if (level == PSG_LOG_WARNING)
		(void)snprintf(logged, sizeof(logged), "%s", message);
}

START_TEST(falls_back_to_older_ptx)
{
	psg_device *device;

	ck_assert_int_eq(setenv("FAKECUDA_REFUSE", "sm_70", 1), 0);
	psg_log_set(keep_log, NULL, PSG_LOG_WARNING);
	device = opened("cuda");
	ck_assert_int_eq(psgi_gpu_ptx(device), 70);
	GOOD(psgi_gpu_load(device, PSGI_GPU_relu, why));
	ck_assert_int_eq(psgi_gpu_ptx(device), 61);
	ck_assert_msg(strstr(logged, "the driver refuses 'element' for sm_70, trying sm_61") !=
			      NULL,
		      "%s", logged);
	closed(device);
}
END_TEST

static void keep_loads(void *user, psg_log_level level, const char *message)
{
	(void)level;
	if (strstr(message, "loaded '") != NULL) {
		++*(int *)user;
		(void)snprintf(logged, sizeof(logged), "%s", message);
	}
}

/* Compiling is never silent: what was loaded and how long it took, once each. */
START_TEST(loading_is_logged)
{
	psg_device *device;
	double ms;
	char *at;
	int loads = 0;

	psg_log_set(keep_loads, &loads, PSG_LOG_INFO);
	device = opened("cuda");
	for (int i = 0; i < 3; i++)
		GOOD(psgi_gpu_load(device, PSGI_GPU_relu, why));
	ck_assert_int_eq(loads, 1);
	ck_assert_msg(strstr(logged, "cuda:0: loaded 'element' for sm_") != NULL, "%s", logged);
	at = strstr(logged, " in ");
	ck_assert_ptr_nonnull(at);
	ms = strtod(at + 4, &at);
	ck_assert_str_eq(at, " ms");
	ck_assert(ms >= 0);
	closed(device);
}
END_TEST

START_TEST(forced_ptx_does_not_fall_back)
{
	psg_device *device;
	psg_error error = PSG_ERROR_INIT;

	ck_assert_int_eq(setenv("FAKECUDA_REFUSE", "sm_70", 1), 0);
	ck_assert_int_eq(setenv("PAGESIFT_PTX", "sm_70", 1), 0);
	device = opened("cuda");
	expect(psgi_gpu_load(device, PSGI_GPU_relu, &error), PSG_JIT, &error, "sm_70");
	closed(device);
}
END_TEST

/* --- memory --- */

START_TEST(blocks_are_aligned_and_reused)
{
	psg_device *device = opened("cuda");
	psgi_gpu_stats stats;
	void *first = NULL, *memory;

	for (int i = 0; i < 100; i++) {
		GOOD(psgi_gpu_alloc(device, 100000, &memory, why));
		ck_assert_uint_eq((uintptr_t)memory % 256, 0);
		if (first == NULL)
			first = memory;
		ck_assert_ptr_eq(memory, first);
		psgi_device_free(device, memory);
	}
	psgi_device_free(device, NULL);
	GOOD(psgi_gpu_alloc(device, 50000, &memory, why));
	ck_assert_ptr_eq(memory, first);
	psgi_device_free(device, memory);
	GOOD(psgi_gpu_alloc_lasting(device, 50000, &memory, why)); /* of its own size */
	ck_assert_ptr_ne(memory, first);
	psgi_device_free(device, memory);
	GOOD(psgi_gpu_alloc(device, 0, &memory, why));
	ck_assert_ptr_nonnull(memory);
	psgi_gpu_stats_get(device, &stats);
	ck_assert_uint_eq(stats.driver_allocs, 3);
	ck_assert_uint_eq(stats.allocs, 103);
	ck_assert_uint_ge(stats.held_bytes, 150000 + 256);
	ck_assert_uint_eq(stats.used_bytes, 256);
	psgi_gpu_trim(device);
	psgi_gpu_stats_get(device, &stats);
	ck_assert_uint_eq(stats.held_bytes, 256);
	ck_assert_uint_ge(stats.high_bytes, 100000 + 256);
	closed(device); /* with a block in use */
}
END_TEST

START_TEST(limit_holds)
{
	psg_device *device;
	psg_error error = PSG_ERROR_INIT;
	psgi_gpu_stats stats;
	void *memory, *more;

	ck_assert_int_eq(setenv("PAGESIFT_GPU_MEMORY", "32M", 1), 0);
	device = opened("cuda");
	expect(psgi_gpu_alloc(device, 33 * MIB, &memory, &error), PSG_OOM, &error,
	       "out of GPU memory: cuda:0: 34603008 bytes were asked for; this device uses 0 of "
	       "the 33554432 it may, and the card has ");
	ck_assert_ptr_null(memory);
	ck_assert(psg_error_is_oom(&error));
	GOOD(psgi_gpu_alloc(device, 32 * MIB, &memory, why));
	ck_assert_int_eq(psgi_gpu_alloc(device, 1, &more, NULL), PSG_OOM);
	ck_assert_int_eq(psgi_gpu_alloc(device, SIZE_MAX, &more, NULL), PSG_OOM);
	ck_assert_ptr_null(psgi_device_alloc(device, SIZE_MAX - 100));
	psgi_device_free(device, memory);
	GOOD(psgi_gpu_alloc(device, 1, &memory, why)); /* the idle block made room */
	psgi_gpu_stats_get(device, &stats);
	ck_assert_uint_eq(stats.limit_bytes, 32 * MIB);
	ck_assert_uint_eq(stats.high_bytes, 32 * MIB);
	closed(device);
}
END_TEST

/* Idle blocks go back to the driver before there is said to be no memory. */
START_TEST(full_card_gets_idle_blocks_back)
{
	psg_device *device;
	psgi_gpu_stats stats;
	void *blocks[3], *memory;

	ck_assert_int_eq(setenv("FAKECUDA_MEMORY", "64", 1), 0);
	device = opened("cuda");
	for (int i = 0; i < 3; i++)
		GOOD(psgi_gpu_alloc(device, 16 * MIB, &blocks[i], why));
	for (int i = 0; i < 3; i++)
		psgi_device_free(device, blocks[i]);
	GOOD(psgi_gpu_alloc(device, 60 * MIB, &memory, why));
	psgi_gpu_stats_get(device, &stats);
	ck_assert_uint_eq(stats.trims, 1);
	ck_assert_uint_eq(stats.held_bytes, 60 * MIB);
	ck_assert_int_eq(psgi_gpu_alloc(device, 16 * MIB, &blocks[0], NULL), PSG_OOM);
	psgi_device_free(device, memory);
	GOOD(psgi_gpu_alloc(device, 16 * MIB, &blocks[0], why));
	closed(device);
}
END_TEST

static uint32_t t_random(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

/* Pages of random sizes: an input, a run's memory, an output, and a few small blocks. */
START_TEST(pool_settles)
{
	enum { PAGES = 2000 };
	psg_device *device = opened("cuda");
	psgi_gpu_stats middle = { 0 }, end;
	uint32_t seed = 3;
	size_t most = 0;

	for (int page = 0; page < PAGES; page++) {
		size_t large = MIB + t_random(&seed) % 1000 * (MIB / 16), used;
		size_t sizes[] = { large / 20, large, large / 90, t_random(&seed) % 5000 };
		void *blocks[4];

		for (int i = 0; i < 4; i++)
			GOOD(psgi_gpu_alloc(device, sizes[i], &blocks[i], why));
		used = sizes[0] + sizes[1] + sizes[2] + sizes[3];
		most = used > most ? used : most;
		for (int i = 0; i < 4; i++)
			psgi_device_free(device, blocks[i]);
		if (page == PAGES / 2)
			psgi_gpu_stats_get(device, &middle);
	}
	psgi_gpu_stats_get(device, &end);
	/* Of 4000 allocations; a new smallest or largest size comes up now and then. */
	ck_assert_uint_le(end.driver_allocs, middle.driver_allocs + 8);
	ck_assert_uint_le(end.held_bytes, middle.held_bytes + middle.held_bytes / 100);
	/* 1/8 by sizes of blocks, 1/7 by small ones beside the large: both rarely at their worst
	 */
	ck_assert_uint_le(end.high_bytes, most + most / 5);
	closed(device);
}
END_TEST

/* For tools that watch the ends of blocks: sizes are exact, and nothing is kept. */
START_TEST(pool_is_off)
{
	psg_device *device;
	psgi_gpu_stats stats;
	void *memory;

	ck_assert_int_eq(setenv("PAGESIFT_GPU_POOL", "off", 1), 0);
	device = opened("cuda");
	GOOD(psgi_gpu_alloc(device, 1000001, &memory, why));
	psgi_gpu_stats_get(device, &stats);
	ck_assert_uint_eq(stats.held_bytes, 1000001);
	GOOD(psgi_gpu_fill(device, memory, 1, 1000001, why));
	psgi_device_free(device, memory);
	psgi_gpu_stats_get(device, &stats);
	ck_assert_uint_eq(stats.held_bytes, 0);
	closed(device);
}
END_TEST

/* --- a lost device --- */

START_TEST(lost_device_says_so_at_once)
{
	psg_device *device = opened("cuda");
	psg_error error = PSG_ERROR_INIT;
	char byte = 0;
	int64_t calls;
	void *memory;

	GOOD(psgi_gpu_alloc(device, 400, &memory, why));
	t_gpu_fail("run:1:700");
	GOOD(launch_relu(device, memory, memory, 100, why));
	expect(psgi_gpu_sync(device, &error), PSG_DEVICE_LOST, &error,
	       "cuda:0: cuStreamSynchronize: CUDA_ERROR_ILLEGAL_ADDRESS (700: ");
	calls = t_gpu_counts().calls;
	ck_assert_int_eq(launch_relu(device, memory, memory, 100, NULL), PSG_DEVICE_LOST);
	ck_assert_int_eq(psgi_gpu_copy_in(device, memory, &byte, 1, NULL), PSG_DEVICE_LOST);
	ck_assert_int_eq(psgi_gpu_copy_out(device, &byte, memory, 1, NULL), PSG_DEVICE_LOST);
	ck_assert_int_eq(psgi_gpu_copy_ahead(device, memory, &byte, 1, NULL), PSG_DEVICE_LOST);
	ck_assert_int_eq(psgi_gpu_fill(device, memory, 0, 1, NULL), PSG_DEVICE_LOST);
	ck_assert_int_eq(psgi_gpu_sync(device, NULL), PSG_DEVICE_LOST);
	ck_assert_int_eq(psgi_device_enter(device, NULL), PSG_DEVICE_LOST);
	ck_assert_ptr_null(psgi_device_alloc(device, 10));
	expect(psgi_gpu_load(device, PSGI_GPU_relu, &error), PSG_DEVICE_LOST, &error, "700");
	psgi_device_free(device, memory);
	psgi_gpu_trim(device);
	ck_assert_int_eq(t_gpu_counts().calls, calls);
	closed(device);
}
END_TEST

/* --- every call fails in turn --- */

static psg_status use_memory(psg_device *device, psg_error *error)
{
	static unsigned char host[3 << 20];
	void *from = NULL, *to = NULL;
	psg_status status = psgi_gpu_alloc(device, sizeof(host), &from, error);

	if (status == PSG_OK)
		status = psgi_gpu_alloc(device, sizeof(host), &to, error);
	if (status == PSG_OK)
		status = psgi_gpu_copy_ahead(device, from, host, sizeof(host), error);
	if (status == PSG_OK)
		status = launch_relu(device, to, from, sizeof(host) / 4, error);
	if (status == PSG_OK)
		status = psgi_gpu_copy_in(device, from, host, sizeof(host), error);
	if (status == PSG_OK)
		status = psgi_gpu_fill(device, from, 1, sizeof(host), error);
	if (status == PSG_OK)
		status = psgi_gpu_copy_within(device, to, from, sizeof(host), error);
	if (status == PSG_OK)
		status = psgi_gpu_copy_out(device, host, to, sizeof(host), error);
	if (status == PSG_OK && host[sizeof(host) - 1] != 1)
		ck_abort_msg("wrong bytes without an error");
	if (status == PSG_OK)
		status = psgi_gpu_sync(device, error);
	psgi_device_free(device, from);
	psgi_device_free(device, to);
	return status;
}

static psg_status open_and_use(psg_error *error)
{
	psg_device *device;
	psg_gpu_info gpu;
	psg_status status = psg_gpu_probe(0, &gpu, error);

	if (status == PSG_OK)
		status = psg_device_open("cuda", &device, error);
	if (status != PSG_OK)
		return status;
	status = use_memory(device, error);
	psgi_gpu_trim(device);
	psg_device_close(device);
	return status;
}

static const int codes[] = { CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_UNKNOWN, CUDA_ERROR_INVALID_VALUE,
			     CUDA_ERROR_ILLEGAL_ADDRESS };

/* Some calls are optional, and their failure shows only in what is missing.  Nothing may leak. */
START_TEST(each_call_fails)
{
	psg_error error = PSG_ERROR_INIT;
	int64_t calls, failures = 0;
	char rule[40];

	t_gpu_begin();
	GOOD(open_and_use(why));
	calls = t_gpu_counts().calls;
	GOOD(open_and_use(why));
	calls = t_gpu_counts().calls - calls;
	for (int64_t n = 1; n <= calls + 5; n++) {
		psg_status status;

		(void)snprintf(rule, sizeof(rule), "*:%lld:%d", (long long)n, codes[_i]);
		t_gpu_fail(rule);
		error = (psg_error)PSG_ERROR_INIT;
		status = open_and_use(&error);
		ck_assert_int_eq(status, error.code);
		if (status != PSG_OK) {
			failures++;
			ck_assert_str_ne(error.message, "");
			ck_assert_msg(status == PSG_OOM || status == PSG_DRIVER ||
					      status == PSG_LAUNCH || status == PSG_JIT ||
					      status == PSG_DEVICE_LOST,
				      "%s: %s: %s", rule, psg_status_name(status), error.message);
		}
		t_gpu_expect_nothing_left();
		ck_assert(n <= calls || status == PSG_OK);
	}
	ck_assert_int_ge(failures, calls / 2);
	t_gpu_fail("");
	GOOD(open_and_use(why));
}
END_TEST

#define COUNT(table) ((int)(sizeof(table) / sizeof((table)[0])))

static TCase *for_any(void)
{
	TCase *tests = tcase_create("any GPU");

	tcase_set_timeout(tests, 60); /* a cold start compiles */
	tcase_add_test(tests, info_is_filled);
	tcase_add_loop_test(tests, probe, 0, 2);
	tcase_add_test(tests, driver_tells);
	tcase_add_test(tests, contexts_stay);
	tcase_add_test(tests, other_threads_are_refused);
	tcase_add_test(tests, forked_child);
	tcase_add_loop_test(tests, child_of_one_that_asked, 0, COUNT(asked));
	tcase_add_test(tests, ptx_has_the_kernels);
	tcase_add_test(tests, ptx_is_forced);
	tcase_add_loop_test(tests, code_from_a_folder, 0, COUNT(codes_in_a_folder));
	tcase_add_test(tests, loading_is_logged);
	tcase_add_test(tests, copies);
	tcase_add_test(tests, copies_without_waiting);
	tcase_add_test(tests, copy_ahead_into_a_used_block);
	tcase_add_loop_test(tests, copy_ahead_waits_for_the_last_work, 0, 3);
	tcase_add_test(tests, launches);
	tcase_add_loop_test(tests, launch_is_refused, 0, COUNT(wrong_launches));
	tcase_add_test(tests, parameter_of_other_size);
	tcase_add_test(tests, much_shared_memory);
	tcase_add_test(tests, blocks_are_aligned_and_reused);
	tcase_add_test(tests, limit_holds);
	tcase_add_test(tests, pool_settles);
	tcase_add_test(tests, pool_is_off);
	return tests;
}

static TCase *for_fake(void)
{
	TCase *tests = tcase_create("fake GPU");

	tcase_set_timeout(tests, 60); /* a cold start compiles */
	tcase_add_loop_test(tests, refuses, 0, COUNT(reasons));
	tcase_add_loop_test(tests, auto_tells_why, 0, COUNT(reasons));
	tcase_add_test(tests, auto_takes_a_usable_one);
	tcase_add_loop_test(tests, chooses_ptx, 0, COUNT(choices));
	tcase_add_test(tests, probe_of_what_cannot_be_used);
	tcase_add_test(tests, count_of_none);
	tcase_add_test(tests, copies_without_pinned_memory);
	tcase_add_loop_test(tests, launch_fails, 0, COUNT(launch_failures));
	tcase_add_test(tests, jit_fails_with_its_log);
	tcase_add_test(tests, refused_code_is_not_tried_again);
	tcase_add_test(tests, driver_is_older_than_the_code);
	tcase_add_test(tests, falls_back_to_older_ptx);
	tcase_add_test(tests, forced_ptx_does_not_fall_back);
	tcase_add_test(tests, full_card_gets_idle_blocks_back);
	tcase_add_test(tests, lost_device_says_so_at_once);
	tcase_add_loop_test(tests, each_call_fails, 0, COUNT(codes));
	return tests;
}

int main(void)
{
	Suite *suite = suite_create("gpu");
	SRunner *runner;
	int failed;

	suite_add_tcase(suite, for_any());
	if (!t_gpu_real())
		suite_add_tcase(suite, for_fake());
	runner = srunner_create(suite);
	srunner_set_fork_status(runner, CK_FORK); /* a process opens one driver */
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
