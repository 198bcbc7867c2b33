/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs that a GPU fails to do: each failure has its code, stays in its job, and is done again on
 * the CPU where the caller allows it.  And what a GPU's worker holds while jobs come and go.
 */
#include "config.h"

#include "device/cuda.h"
#include "driver/cuda.h"

#include "fakecuda_util.h"
#include "jobs_util.h"
#include "onnx_text.h"

#include <malloc.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define KIB ((size_t)1 << 10)

static psg_worker *open_worker(void)
{
	psg_error error = PSG_ERROR_INIT;
	psg_worker *worker;

	t_gpu_begin();
	ck_assert_msg(psg_worker_open("cuda", NULL, &worker, &error) == PSG_OK, "%s",
		      error.message);
	return worker;
}

static void close_worker(psg_worker *worker)
{
	psg_worker_close(worker);
	t_gpu_expect_nothing_left();
}

static psg_status read_stats(psg_device *device, void *arg, psg_error *error)
{
	(void)error;
	psgi_gpu_stats_get(device, arg);
	return PSG_OK;
}

static psgi_gpu_stats stats_of(psg_worker *worker)
{
	psgi_gpu_stats stats;

	ck_assert_int_eq(t_finish(t_submit(worker, read_stats, &stats, NULL)), PSG_OK);
	return stats;
}

/* --- an operator whose result is known --- */

/* max(x, 0) of n numbers, of which every second one is negative. */
static psg_op relu_of(int64_t n)
{
	psg_op op = { .kind = PSG_OP_RELU, .n_in = 1 };
	float *x;

	ck_assert_int_eq(psg_tensor_create(PSG_F32, &PSG_SHAPE(n), &op.in[0], NULL), PSG_OK);
	x = psg_tensor_data(op.in[0]);
	for (int64_t i = 0; i < n; i++)
		x[i] = (float)(i % 2 == 0 ? i : -i);
	return op;
}

static psg_future *submit_op(psg_worker *worker, const psg_op *op, bool fallback)
{
	psg_job_options options = { .cpu_fallback = fallback };
	psg_error error = PSG_ERROR_INIT;
	psg_future *future;

	ck_assert_msg(psg_submit(worker, op, &options, &future, &error) == PSG_OK, "%s",
		      error.message);
	return future;
}

static void check_relu(psg_future *future, int64_t n)
{
	psg_error error = PSG_ERROR_INIT;
	psg_tensor *const *out;
	const float *y;
	size_t n_out;

	(void)psg_future_wait(future);
	ck_assert_msg(psg_future_tensors(future, &out, &n_out, &error) == PSG_OK, "%s",
		      error.message);
	y = psg_tensor_const_data(out[0]);
	for (int64_t i = 0; i < n; i++)
		if ((int64_t)y[i] != (i % 2 == 0 ? i : 0))
			ck_abort_msg("element %lld is %g", (long long)i, (double)y[i]);
}

/* A job is done, and its future tells of a fallback with these words; "": of none. */
static void does(psg_worker *worker, const char *words)
{
	psg_op op = relu_of(100);
	psg_future *future = submit_op(worker, &op, true);
	const char *fallback;

	check_relu(future, 100);
	fallback = psg_future_fallback(future);
	ck_assert_msg(words[0] != '\0' ? strstr(fallback, words) != NULL : fallback[0] == '\0',
		      "%s", fallback);
	psg_future_release(future);
	psg_tensor_unref(op.in[0]);
}

/* The GPU does it, as if nothing had been. */
static void works(psg_worker *worker)
{
	does(worker, "");
}

/* --- failures --- */

static const struct failure {
	const char *rules;
	psg_status status;
	const char *words;
	bool stays; /* code that was refused is not tried again */
} failures[] = {
	{ "cuLaunchKernel:1:701", PSG_LAUNCH, "kernel 'relu': cuda:0: cuLaunchKernel: CUDA_ERROR_L",
	  false },
	{ "cuLaunchKernel:1:1", PSG_LAUNCH, "CUDA_ERROR_INVALID_VALUE", false },
	{ "cuLaunchKernel:1:2", PSG_OOM, PSG_OOM_TAG, false },
	{ "cuModuleLoadDataEx:1+:218", PSG_JIT, "kernels 'element' for sm_61", true },
	{ "cuModuleLoadDataEx:1+:222", PSG_TOO_OLD, "CUDA_ERROR_UNSUPPORTED_PTX_VERSION", true },
	{ "cuModuleGetFunction:1:500", PSG_JIT, "kernel 'relu' of 'element'", false },
	{ "cuMemAlloc_v2:1+:2", PSG_OOM, PSG_OOM_TAG, false },
	{ "cuMemcpyHtoDAsync_v2:1:1", PSG_DRIVER, "cuMemcpyHtoDAsync_v2", false },
	{ "cuMemcpyDtoHAsync_v2:1:999", PSG_DRIVER, "cuMemcpyDtoHAsync_v2", false },
	{ "cuEventSynchronize:1:999", PSG_DRIVER, "cuEventSynchronize", false },
	{ "run:1:719", PSG_DEVICE_LOST, "CUDA_ERROR_LAUNCH_FAILED", false },
	{ "cuEventSynchronize:1:700", PSG_DEVICE_LOST, "CUDA_ERROR_ILLEGAL_ADDRESS", false },
};

/* The job ends with the failure's code; the next one is done. */
START_TEST(failure_is_told)
{
	const struct failure *row = &failures[_i];
	psg_worker *worker = open_worker();
	psg_op op = relu_of(1000);
	psg_error error = PSG_ERROR_INIT;
	psg_future *future;

	t_gpu_fail(row->rules);
	future = submit_op(worker, &op, false);
	ck_assert_str_eq(psg_status_name(psg_future_wait(future)), psg_status_name(row->status));
	ck_assert_int_eq(psg_future_error(future, &error), row->status);
	ck_assert_msg(strstr(error.message, row->words) != NULL, "%s", error.message);
	ck_assert_str_eq(psg_future_fallback(future), "");
	psg_future_release(future);
	ck_assert_int_eq(psg_worker_health(worker, NULL),
			 row->status == PSG_DEVICE_LOST ? PSG_DEVICE_LOST : PSG_OK);
	ck_assert_uint_eq(t_stats(worker).failed, 1);
	ck_assert_uint_eq(t_stats(worker).recomputed, 0);
	t_gpu_fail("");
	if (row->status != PSG_DEVICE_LOST)
		does(worker, row->stays ? row->words : "");
	psg_tensor_unref(op.in[0]);
	close_worker(worker);
}
END_TEST

/* The same, where the caller allows the CPU. */
START_TEST(failure_is_made_good)
{
	const struct failure *row = &failures[_i];
	psg_worker *worker = open_worker();
	psg_op op = relu_of(1000);
	psg_error error = PSG_ERROR_INIT;
	psg_future *future;

	t_gpu_fail(row->rules);
	future = submit_op(worker, &op, true);
	check_relu(future, 1000);
	ck_assert_int_eq(psg_future_error(future, &error), PSG_OK);
	ck_assert_msg(strstr(psg_future_fallback(future), row->words) != NULL, "%s",
		      psg_future_fallback(future));
	psg_future_release(future);
	ck_assert_uint_eq(t_stats(worker).completed, 1);
	ck_assert_uint_eq(t_stats(worker).recomputed, 1);
	t_gpu_fail("");
	if (row->status != PSG_DEVICE_LOST)
		does(worker, row->stays ? row->words : "");
	psg_tensor_unref(op.in[0]);
	close_worker(worker);
}
END_TEST

/* What is wrong in itself is not tried again. */
START_TEST(errors_of_the_job_stay)
{
	psg_worker *worker = open_worker();
	psg_job_options options = { .cpu_fallback = true };
	psg_tensor *x;
	psg_model *model;
	psg_future *future;
	size_t size;
	uint8_t *bytes = t_onnx("opset 11; in x ? 4; w s 3 = 1 2 3; Add x s > y; out y", &size);

	ck_assert_int_eq(psg_model_load_memory(bytes, size, "wrong", NULL, &model, NULL), PSG_OK);
	ck_assert_int_eq(psg_tensor_create(PSG_F32, &PSG_SHAPE(2, 4), &x, NULL), PSG_OK);
	ck_assert_int_eq(psg_submit_model(worker, model, &x, 1, &options, &future, NULL), PSG_OK);
	ck_assert_int_eq(psg_future_wait(future), PSG_INVALID);
	ck_assert_uint_eq(t_stats(worker).recomputed, 0);
	psg_future_release(future);
	psg_model_unref(model);
	psg_tensor_unref(x);
	free(bytes);
	close_worker(worker);
}
END_TEST

static psg_future *submit_gather(psg_worker *worker, int64_t index)
{
	psg_op op = { .kind = PSG_OP_GATHER, .n_in = 2 };
	psg_future *future;

	ck_assert_int_eq(psg_tensor_create(PSG_F32, &PSG_SHAPE(5), &op.in[0], NULL), PSG_OK);
	((float *)psg_tensor_data(op.in[0]))[3] = 7;
	ck_assert_int_eq(psg_tensor_create(PSG_I64, &PSG_SHAPE(2), &op.in[1], NULL), PSG_OK);
	((int64_t *)psg_tensor_data(op.in[1]))[1] = index;
	future = submit_op(worker, &op, true);
	psg_tensor_unref(op.in[0]);
	psg_tensor_unref(op.in[1]);
	return future;
}

/* Only the card sees that an index is wrong, and it is right about it. */
START_TEST(errors_of_values_stay)
{
	psg_worker *worker;
	psg_error error = PSG_ERROR_INIT;
	psg_tensor *const *y;
	psg_future *future;
	size_t n;

	ck_assert_int_eq(setenv("PAGESIFT_OPERATORS", "gpu", 1), 0);
	worker = open_worker();
	for (int i = 0; i < 3; i++) {
		future = submit_gather(worker, 5);
		ck_assert_int_eq(psg_future_wait(future), PSG_INVALID);
		ck_assert_int_eq(psg_future_error(future, &error), PSG_INVALID);
		ck_assert_str_eq(error.message, "gather: index 5 is outside -5..4");
		ck_assert_str_eq(psg_future_fallback(future), "");
		psg_future_release(future);
		ck_assert_int_eq(psg_worker_health(worker, NULL), PSG_OK);
		future = submit_gather(worker, -2);
		ck_assert_int_eq(psg_future_wait(future), PSG_OK);
		ck_assert_int_eq(psg_future_tensors(future, &y, &n, NULL), PSG_OK);
		ck_assert_float_eq(((const float *)psg_tensor_const_data(y[0]))[1], 7);
		psg_future_release(future);
	}
	ck_assert_uint_eq(t_stats(worker).recomputed, 0);
	ck_assert_uint_eq(stats_of(worker).launches, 6);
	close_worker(worker);
}
END_TEST

/* Once lost, always lost: later jobs are the CPU's, or end at once without a call of the driver. */
START_TEST(lost_card)
{
	psg_worker *worker = open_worker();
	psg_op op = relu_of(1000);
	psg_error error = PSG_ERROR_INIT;
	int64_t calls;

	ck_assert_int_eq(psg_worker_health(worker, &error), PSG_OK);
	t_gpu_fail("run:1:719");
	ck_assert_int_eq(t_finish(submit_op(worker, &op, false)), PSG_DEVICE_LOST);
	ck_assert_int_eq(psg_worker_health(worker, &error), PSG_DEVICE_LOST);
	ck_assert_int_eq(error.code, PSG_DEVICE_LOST);
	ck_assert_ptr_nonnull(strstr(error.message, "CUDA_ERROR_LAUNCH_FAILED"));
	calls = t_gpu_counts().calls;
	for (int i = 0; i < 10; i++) {
		psg_future *future = submit_op(worker, &op, i % 2 == 0);

		if (i % 2 == 0)
			check_relu(future, 1000);
		else
			ck_assert_int_eq(psg_future_wait(future), PSG_DEVICE_LOST);
		psg_future_release(future);
	}
	ck_assert_uint_eq(t_stats(worker).recomputed, 5);
	ck_assert_int_eq(t_gpu_counts().calls, calls);
	psg_tensor_unref(op.in[0]);
	close_worker(worker);
}
END_TEST

/* A trim waits for the card, and may be the one that finds it lost. */
START_TEST(lost_at_a_trim)
{
	psg_worker *worker = open_worker();
	psg_error error = PSG_ERROR_INIT;

	works(worker);
	t_gpu_fail("cuStreamSynchronize:1:719");
	psg_worker_trim(worker);
	while (t_stats(worker).memory_held > 0)
		t_sleep_ns(PSG_MILLISECOND);
	ck_assert_int_eq(psg_worker_health(worker, &error), PSG_DEVICE_LOST);
	ck_assert_ptr_nonnull(strstr(error.message, "CUDA_ERROR_LAUNCH_FAILED"));
	t_gpu_fail("");
	close_worker(worker);
}
END_TEST

/* A model's run, too. */
START_TEST(model_run_is_made_good)
{
	psg_worker *worker = open_worker();
	psg_job_options options = { .cpu_fallback = true };
	size_t size, n;
	uint8_t *bytes =
		t_onnx("opset 11; in x ? 3; w s 3 = 1 2 3; Add x s > z; Relu z > y; out y", &size);
	psg_tensor *x, *const *y;
	psg_model *model;
	psg_future *future;

	ck_assert_int_eq(psg_model_load_memory(bytes, size, "sum", NULL, &model, NULL), PSG_OK);
	ck_assert_int_eq(psg_tensor_create(PSG_F32, &PSG_SHAPE(2, 3), &x, NULL), PSG_OK);
	((float *)psg_tensor_data(x))[4] = -5;
	for (int i = 0; i < 3; i++) {
		t_gpu_fail(i == 0 ? "" : i == 1 ? "cuLaunchKernel:1:701" : "run:1:719");
		ck_assert_int_eq(psg_submit_model(worker, model, &x, 1, &options, &future, NULL),
				 PSG_OK);
		ck_assert_int_eq(psg_future_wait(future), PSG_OK);
		ck_assert_int_eq(psg_future_fallback(future)[0] != '\0', i > 0);
		ck_assert_int_eq(psg_future_tensors(future, &y, &n, NULL), PSG_OK);
		ck_assert_float_eq(((const float *)psg_tensor_const_data(y[0]))[3], 1);
		ck_assert_float_eq(((const float *)psg_tensor_const_data(y[0]))[4], 0);
		psg_future_release(future);
	}
	psg_model_unref(model);
	psg_tensor_unref(x);
	free(bytes);
	close_worker(worker);
}
END_TEST

/* --- memory --- */

/* Its input fits into the card's share, its result does not beside it. */
#define SHARE "1M"
#define TOO_LARGE ((int64_t)(700 * KIB / sizeof(float)))

static void limit_memory(void)
{
	ck_assert_int_eq(setenv("PAGESIFT_GPU_MEMORY", SHARE, 1), 0);
}

/* A small job behind one that finds no memory is done. */
START_TEST(oom_stays_in_its_job)
{
	psg_op large = relu_of(TOO_LARGE), small = relu_of(1000);
	psg_error error = PSG_ERROR_INIT;
	psg_future *futures[3];
	psg_worker *worker;
	t_gate gate;

	limit_memory();
	worker = open_worker();
	t_gate_close(&gate, worker);
	futures[0] = submit_op(worker, &large, false);
	futures[1] = submit_op(worker, &small, false);
	futures[2] = submit_op(worker, &large, true);
	t_gate_open(&gate);
	ck_assert_int_eq(psg_future_wait(futures[0]), PSG_OOM);
	ck_assert_int_eq(psg_future_error(futures[0], &error), PSG_OOM);
	ck_assert(psg_error_is_oom(&error));
	ck_assert_msg(strstr(error.message, "716800 bytes were asked for") != NULL ||
			      strstr(error.message, "716801 bytes were asked for") != NULL,
		      "%s", error.message);
	check_relu(futures[1], 1000);
	ck_assert_str_eq(psg_future_fallback(futures[1]), "");
	check_relu(futures[2], TOO_LARGE);
	ck_assert_int_eq(strncmp(psg_future_fallback(futures[2]), PSG_OOM_TAG, strlen(PSG_OOM_TAG)),
			 0);
	for (int i = 0; i < 3; i++)
		psg_future_release(futures[i]);
	psg_tensor_unref(large.in[0]);
	psg_tensor_unref(small.in[0]);
	close_worker(worker);
}
END_TEST

/* Bytes of the heap in use; 0 where nobody tells. */
static size_t heap(void)
{
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
	return mallinfo2().uordblks;
#else
	return 0;
#endif
}

/* Its result alone is more than the card's share. */
static psg_model *doubling_model(void)
{
	size_t size;
	uint8_t *bytes = t_onnx("opset 11; in x ?; Concat x x > y axis=0; out y", &size);
	psg_model *model;

	ck_assert_int_eq(psg_model_load_memory(bytes, size, "twice", NULL, &model, NULL), PSG_OK);
	free(bytes);
	return model;
}

/* With a model, that one is run on the operator's input. */
static psg_future *submit_either(psg_worker *worker, psg_model *model, const psg_op *op)
{
	psg_future *future;

	if (model == NULL)
		return submit_op(worker, op, false);
	ck_assert_int_eq(psg_submit_model(worker, model, op->in, 1, NULL, &future, NULL), PSG_OK);
	return future;
}

/* A thousand jobs without memory leave nothing behind, on the card or on the host: operators, and
 * runs of a model, which are tried again with all room made. */
START_TEST(a_thousand_ooms)
{
	psg_op op = relu_of(TOO_LARGE);
	psg_model *model = _i == 0 ? NULL : doubling_model();
	psgi_gpu_stats before = { 0 }, after;
	size_t heap_before = 0;
	psg_worker *worker;

	limit_memory();
	worker = open_worker();
	for (int i = 0; i < 1010; i++) {
		if (i == 10) {
			before = stats_of(worker);
			heap_before = heap();
		}
		ck_assert_int_eq(t_finish(submit_either(worker, model, &op)), PSG_OOM);
	}
	after = stats_of(worker);
	ck_assert_uint_eq(after.used_bytes, before.used_bytes);
	if (model == NULL)
		ck_assert_uint_eq(after.used_bytes, 0);
	ck_assert_uint_eq(after.held_bytes, before.held_bytes);
	ck_assert_uint_eq(after.high_bytes, before.high_bytes);
	/* Far less than one message a job. */
	ck_assert_msg(heap() < heap_before + 16 * KIB, "%zu bytes more", heap() - heap_before);
	ck_assert_uint_eq(t_stats(worker).failed, 1010);
	psg_tensor_unref(op.in[0]);
	psg_model_unref(model);
	close_worker(worker);
}
END_TEST

/* Jobs that wait take nothing of the card, and many of them no more than one. */
START_TEST(queued_jobs_hold_no_memory)
{
	enum { JOBS = 30 };
	const int64_t n = (int64_t)(256 * KIB / sizeof(float));
	psg_worker *worker = open_worker();
	psg_op op = relu_of(n);
	psg_future *futures[JOBS];
	psgi_gpu_stats stats;
	t_gate gate;

	t_gate_close(&gate, worker);
	for (int i = 0; i < JOBS; i++)
		futures[i] = submit_op(worker, &op, false);
	if (!t_gpu_real())
		ck_assert_int_eq(t_gpu_counts().device_bytes, 0);
	t_gate_open(&gate);
	for (int i = 0; i < JOBS; i++) {
		check_relu(futures[i], n);
		psg_future_release(futures[i]);
	}
	stats = stats_of(worker);
	/* Input and output, by a byte and a size class larger. */
	ck_assert_uint_le(stats.high_bytes, 2 * (256 + 32) * KIB);
	psg_tensor_unref(op.in[0]);
	close_worker(worker);
}
END_TEST

/* --- trimming --- */

/* All that was asked for before has been done when it returns. */
static void pass(psg_worker *worker)
{
	ck_assert_int_eq(t_finish(t_submit(worker, t_nothing, NULL, NULL)), PSG_OK);
}

static void run_op(psg_worker *worker, int64_t n)
{
	psg_op op = relu_of(n);
	psg_future *future = submit_op(worker, &op, false);

	check_relu(future, n);
	psg_future_release(future);
	psg_tensor_unref(op.in[0]);
}

/* Leaves a weight in use. */
static void run_model(psg_worker *worker, psg_model *model)
{
	psg_tensor *x;
	psg_future *future;

	ck_assert_int_eq(psg_tensor_create(PSG_F32, &PSG_SHAPE(2, 3), &x, NULL), PSG_OK);
	ck_assert_int_eq(psg_submit_model(worker, model, &x, 1, NULL, &future, NULL), PSG_OK);
	ck_assert_int_eq(t_finish(future), PSG_OK);
	psg_tensor_unref(x);
}

static psg_model *sum_model(void)
{
	size_t size;
	uint8_t *bytes = t_onnx("opset 11; in x ? 3; w s 3 = 1 2 3; Add x s > y; out y", &size);
	psg_model *model;

	ck_assert_int_eq(psg_model_load_memory(bytes, size, "sum", NULL, &model, NULL), PSG_OK);
	free(bytes);
	return model;
}

/* Nothing is held but what is in use, and the driver agrees. */
static void expect_trimmed(psg_worker *worker)
{
	psg_worker_stats stats = t_stats(worker);

	ck_assert_uint_gt(stats.memory_used, 0);
	ck_assert_uint_eq(stats.memory_held, stats.memory_used);
	if (!t_gpu_real())
		ck_assert_int_eq(t_gpu_counts().device_bytes, (int64_t)stats.memory_held);
}

#define N_TRIM ((int64_t)(256 * KIB / sizeof(float)))

START_TEST(trim_gives_idle_memory_back)
{
	psg_worker *worker = open_worker();
	psg_model *model = sum_model();
	psg_worker_stats before;

	psg_worker_trim(worker); /* there is nothing yet */
	pass(worker);
	ck_assert_uint_eq(t_stats(worker).memory_held, 0);
	for (int i = 0; i < 3; i++) {
		run_model(worker, model);
		run_op(worker, N_TRIM);
		before = t_stats(worker);
		ck_assert_uint_ge(before.memory_held, before.memory_used + 512 * KIB);
		psg_worker_trim(worker);
		if (i == 0)
			pass(worker);
		while (t_stats(worker).memory_held != before.memory_used)
			t_sleep_ns(PSG_MILLISECOND); /* it is done without a job, too */
		expect_trimmed(worker);
		ck_assert_uint_eq(t_stats(worker).memory_peak, before.memory_peak);
	}
	run_model(worker, model); /* its weight is there still */
	psg_worker_trim(worker);
	psg_model_unref(model);
	close_worker(worker);
}
END_TEST

/* The caller does not wait for the job that runs, which keeps its memory. */
START_TEST(trim_comes_between_jobs)
{
	psg_worker *worker = open_worker();
	psg_model *model = sum_model();
	psg_worker_stats before;
	psg_future *future;
	psg_op op = relu_of(N_TRIM);
	t_gate gate;

	run_model(worker, model);
	run_op(worker, N_TRIM);
	t_gate_close(&gate, worker);
	before = t_stats(worker);
	for (int i = 0; i < 100; i++)
		psg_worker_trim(worker);
	future = submit_op(worker, &op, false);
	ck_assert_uint_eq(t_stats(worker).memory_held, before.memory_held);
	if (!t_gpu_real())
		ck_assert_int_eq(t_gpu_counts().device_bytes, (int64_t)before.memory_held);
	t_gate_open(&gate);
	check_relu(future, N_TRIM);
	psg_future_release(future);
	ck_assert_uint_eq(stats_of(worker).trims, 1);
	psg_worker_trim(worker);
	pass(worker);
	expect_trimmed(worker);
	psg_tensor_unref(op.in[0]);
	psg_model_unref(model);
	close_worker(worker);
}
END_TEST

static void *run_and_trim(void *arg)
{
	psg_worker *worker = arg;

	for (int i = 0; i < 40; i++) {
		psg_worker_trim(worker);
		run_op(worker, 1000 + 5000 * (i % 7));
		(void)t_stats(worker);
	}
	return NULL;
}

static void *run_some(void *arg)
{
	for (int i = 0; i < 10; i++)
		run_op(arg, N_TRIM);
	return NULL;
}

/* However many submit, the card holds what one job takes. */
START_TEST(many_submitters_take_what_one_does)
{
	psg_worker *worker = open_worker();
	pthread_t threads[8];
	size_t one;

	run_op(worker, N_TRIM);
	one = stats_of(worker).high_bytes;
	for (size_t i = 0; i < T_COUNT(threads); i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, run_some, worker), 0);
	for (size_t i = 0; i < T_COUNT(threads); i++)
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
	ck_assert_uint_eq(stats_of(worker).high_bytes, one);
	close_worker(worker);
}
END_TEST

START_TEST(trims_of_many_threads)
{
	psg_worker *worker = open_worker();
	psg_model *model = sum_model();
	pthread_t threads[4];

	run_model(worker, model);
	for (size_t i = 0; i < T_COUNT(threads); i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, run_and_trim, worker), 0);
	for (size_t i = 0; i < T_COUNT(threads); i++)
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
	psg_worker_trim(worker);
	pass(worker);
	expect_trimmed(worker);
	psg_model_unref(model);
	close_worker(worker);
}
END_TEST

/* A CPU has no memory that it tells of; a trim is harmless, also when no job comes any more. */
START_TEST(trim_of_a_cpu)
{
	psg_worker *worker = t_open(0);
	psg_model *model = sum_model();

	for (int i = 0; i < 3; i++) {
		run_model(worker, model);
		run_op(worker, 1000);
		psg_worker_trim(worker);
	}
	ck_assert_uint_eq(t_stats(worker).memory_peak, 0);
	ck_assert_int_eq(psg_worker_drain(worker, -1), PSG_OK);
	psg_worker_trim(worker);
	psg_model_unref(model);
	psg_worker_close(worker);
}
END_TEST

/* --- who leaves --- */

/* Cancelled, too late or let go of before the start: nothing of it reaches the card. */
START_TEST(who_leaves_launches_nothing)
{
	psg_worker *worker = open_worker();
	psg_op op = relu_of(1000);
	psgi_gpu_stats before;
	t_gate gate;

	works(worker);
	before = stats_of(worker);
	t_gate_close(&gate, worker);
	for (int i = 0; i < 30; i++) {
		psg_job_options options = { .deadline_ns = i % 3 == 0
								   ? psg_now_ns() + PSG_MILLISECOND
								   : 0 };
		psg_future *future;

		ck_assert_int_eq(psg_submit(worker, &op, &options, &future, NULL), PSG_OK);
		if (i % 3 == 0)
			ck_assert_int_eq(psg_future_wait(future), PSG_TIMED_OUT);
		else if (i % 3 == 1)
			ck_assert_int_eq(psg_future_cancel(future), PSG_CANCEL_REMOVED);
		else
			ck_assert_int_eq(psg_future_wait_for(future, 0), PSG_TIMED_OUT);
		psg_future_release(future);
	}
	t_gate_open(&gate);
	pass(worker);
	ck_assert_uint_eq(t_stats(worker).expired, 10);
	ck_assert_uint_eq(t_stats(worker).cancelled, 20);
	ck_assert_uint_eq(stats_of(worker).launches, before.launches);
	ck_assert_uint_eq(stats_of(worker).allocs, before.allocs);
	psg_tensor_unref(op.in[0]);
	close_worker(worker);
}
END_TEST

/* What runs goes on without its client, and its memory comes back. */
START_TEST(who_leaves_a_running_one)
{
	psg_op op = relu_of(1000);
	psg_future *future;
	psg_worker *worker;

	ck_assert_int_eq(setenv("FAKECUDA_HANG", "cuEventSynchronize", 1), 0);
	worker = open_worker();
	future = submit_op(worker, &op, false);
	psg_tensor_unref(op.in[0]);
	while (psg_future_poll(future) != PSG_FUTURE_RUNNING)
		t_sleep_ns(PSG_MILLISECOND / 10);
	ck_assert_int_eq(psg_future_wait_for(future, PSG_MILLISECOND), PSG_TIMED_OUT);
	psg_future_release(future);
	t_gpu_fail(""); /* now the driver returns */
	pass(worker);
	ck_assert_uint_eq(t_stats(worker).completed, 2);
	ck_assert_uint_eq(stats_of(worker).used_bytes, 0);
	works(worker);
	close_worker(worker);
}
END_TEST

/* A job holds what it reads: the caller lets go of all of it before the start. */
START_TEST(inputs_outlive_their_owner)
{
	psg_worker *worker = open_worker();
	psg_model *model = sum_model();
	psg_op op = relu_of(1000);
	psg_tensor *x, *const *y;
	psg_future *futures[2];
	size_t n;
	t_gate gate;

	ck_assert_int_eq(psg_tensor_create(PSG_F32, &PSG_SHAPE(2, 3), &x, NULL), PSG_OK);
	((float *)psg_tensor_data(x))[4] = 5;
	t_gate_close(&gate, worker);
	futures[0] = submit_op(worker, &op, false);
	ck_assert_int_eq(psg_submit_model(worker, model, &x, 1, NULL, &futures[1], NULL), PSG_OK);
	psg_tensor_unref(op.in[0]);
	psg_tensor_unref(x);
	psg_model_unref(model);
	t_gate_open(&gate);
	check_relu(futures[0], 1000);
	ck_assert_int_eq(psg_future_wait(futures[1]), PSG_OK);
	ck_assert_int_eq(psg_future_tensors(futures[1], &y, &n, NULL), PSG_OK);
	ck_assert_float_eq(((const float *)psg_tensor_const_data(y[0]))[4], 7);
	psg_future_release(futures[0]);
	psg_future_release(futures[1]);
	close_worker(worker);
}
END_TEST

/* --- threads --- */

static void *open_it(void *arg)
{
	*(psg_worker **)arg = open_worker();
	return NULL;
}

static void *use_it(void *arg)
{
	works(*(psg_worker **)arg);
	return NULL;
}

static void *close_it(void *arg)
{
	psg_worker_close(*(psg_worker **)arg);
	return NULL;
}

/* Opened, used and closed from three threads. */
START_TEST(three_threads)
{
	void *(*const parts[])(void *) = { open_it, use_it, close_it };
	psg_worker *worker = NULL;
	pthread_t thread;

	for (size_t i = 0; i < T_COUNT(parts); i++) {
		ck_assert_int_eq(pthread_create(&thread, NULL, parts[i], &worker), 0);
		ck_assert_int_eq(pthread_join(thread, NULL), 0);
	}
	t_gpu_expect_nothing_left();
}
END_TEST

struct job {
	psg_worker *worker;
	psg_model *model;
};

static void *load_model(void *arg)
{
	((struct job *)arg)->model = sum_model();
	return NULL;
}

static void *run_loaded(void *arg)
{
	run_model(((struct job *)arg)->worker, ((struct job *)arg)->model);
	return NULL;
}

static void *unload_model(void *arg)
{
	psg_model_unref(((struct job *)arg)->model);
	return NULL;
}

/* Loaded, run and let go of in three threads, of which none is the worker's. */
START_TEST(a_model_of_three_threads)
{
	void *(*const parts[])(void *) = { load_model, run_loaded, unload_model };
	struct job job = { open_worker(), NULL };
	pthread_t thread;

	for (size_t i = 0; i < T_COUNT(parts); i++) {
		ck_assert_int_eq(pthread_create(&thread, NULL, parts[i], &job), 0);
		ck_assert_int_eq(pthread_join(thread, NULL), 0);
	}
	works(job.worker);
	close_worker(job.worker);
}
END_TEST

/* A context that this thread has current, of another card where there is one. */
struct foreign {
	CUresult (*release)(CUdevice);
	CUresult (*pop)(CUcontext *);
	CUresult (*current)(CUcontext *);
	CUcontext context;
	CUdevice card;
};

/* The driver must be open. */
static struct foreign begin_foreign(void)
{
	struct foreign f = { .card = t_gpu_real() ? 0 : 1 };
	CUresult (*retain)(CUcontext *, CUdevice);
	CUresult (*push)(CUcontext);

	t_gpu_symbol("cuDevicePrimaryCtxRetain", &retain);
	t_gpu_symbol("cuDevicePrimaryCtxRelease_v2", &f.release);
	t_gpu_symbol("cuCtxPushCurrent_v2", &push);
	t_gpu_symbol("cuCtxPopCurrent_v2", &f.pop);
	t_gpu_symbol("cuCtxGetCurrent", &f.current);
	ck_assert_int_eq(retain(&f.context, f.card), CUDA_SUCCESS);
	ck_assert_int_eq(push(f.context), CUDA_SUCCESS);
	return f;
}

static void still_current(const struct foreign *f)
{
	CUcontext found = NULL;

	ck_assert_int_eq(f->current(&found), CUDA_SUCCESS);
	ck_assert_ptr_eq(found, f->context);
}

/* It was the only one on the thread's stack. */
static void end_foreign(const struct foreign *f)
{
	CUcontext found = NULL;

	ck_assert_int_eq(f->pop(&found), CUDA_SUCCESS);
	ck_assert_ptr_eq(found, f->context);
	ck_assert_int_eq(f->current(&found), CUDA_SUCCESS);
	ck_assert_ptr_null(found);
	ck_assert_int_eq(f->release(f->card), CUDA_SUCCESS);
	t_gpu_expect_nothing_left();
}

/* Who submits keeps the context that it has current, and no other. */
START_TEST(contexts_of_submitters_stay)
{
	struct foreign foreign;
	psg_worker *worker;

	ck_assert_int_eq(setenv("FAKECUDA_DEVICES", "2", 1), 0);
	worker = open_worker(); /* opens the driver */
	foreign = begin_foreign();
	works(worker);
	still_current(&foreign);
	psg_worker_close(worker);
	worker = open_worker();
	psg_worker_close(worker);
	end_foreign(&foreign);
}
END_TEST

/* And who has a device of its own, without a worker. */
START_TEST(contexts_of_callers_stay)
{
	psg_model *model = sum_model();
	psg_op op = relu_of(100);
	struct foreign foreign;
	psg_model_stats stats;
	psg_device *device;
	psg_tensor *x, *y;
	size_t n = 1;

	ck_assert_int_eq(setenv("FAKECUDA_DEVICES", "2", 1), 0);
	psg_worker_close(open_worker()); /* opens the driver */
	foreign = begin_foreign();
	ck_assert_int_eq(psg_device_open("cuda", &device, NULL), PSG_OK);
	still_current(&foreign);
	ck_assert_int_eq(psg_op_run(device, &op, &y, &n, NULL), PSG_OK);
	still_current(&foreign);
	psg_tensor_unref(y);
	ck_assert_int_eq(psg_tensor_create(PSG_F32, &PSG_SHAPE(2, 3), &x, NULL), PSG_OK);
	ck_assert_int_eq(psg_model_stats_get(model, device, &PSG_SHAPE(2, 3), 1, &stats, NULL),
			 PSG_OK);
	still_current(&foreign);
	ck_assert_int_eq(psg_model_run(model, device, &x, 1, &y, 1, NULL, NULL, NULL), PSG_OK);
	still_current(&foreign);
	psg_device_close(device);
	psg_tensor_unref(op.in[0]);
	psg_tensor_unref(x);
	psg_tensor_unref(y);
	psg_model_unref(model);
	end_foreign(&foreign);
}
END_TEST

/* Start and stop, with work under way or without, leave nothing behind. */
START_TEST(many_lives)
{
	psg_op op = relu_of(1000);
	int lives = t_gpu_real() ? 10 : 200;

	for (int i = 0; i < lives; i++) {
		psg_worker *worker = open_worker();
		psg_future *future = i % 2 == 0 ? submit_op(worker, &op, false) : NULL;

		close_worker(worker);
		if (future != NULL) {
			psg_status status = t_finish(future);

			ck_assert_msg(status == PSG_OK || status == PSG_SHUTDOWN, "%s",
				      psg_status_name(status));
		}
	}
	psg_tensor_unref(op.in[0]);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("gpu jobs");
	TCase *any = tcase_create("any GPU"), *fake = tcase_create("fake GPU");
	SRunner *runner;
	int failed;

	tcase_set_timeout(any, 60);
	tcase_add_test(any, errors_of_the_job_stay);
	tcase_add_test(any, errors_of_values_stay);
	tcase_add_test(any, oom_stays_in_its_job);
	tcase_add_loop_test(any, a_thousand_ooms, 0, 2);
	tcase_add_test(any, queued_jobs_hold_no_memory);
	tcase_add_test(any, trim_gives_idle_memory_back);
	tcase_add_test(any, trim_comes_between_jobs);
	tcase_add_test(any, many_submitters_take_what_one_does);
	tcase_add_test(any, trims_of_many_threads);
	tcase_add_test(any, trim_of_a_cpu);
	tcase_add_test(any, who_leaves_launches_nothing);
	tcase_add_test(any, inputs_outlive_their_owner);
	tcase_add_test(any, three_threads);
	tcase_add_test(any, a_model_of_three_threads);
	tcase_add_test(any, contexts_of_submitters_stay);
	tcase_add_test(any, contexts_of_callers_stay);
	tcase_add_test(any, many_lives);
	suite_add_tcase(suite, any);
	tcase_set_timeout(fake, 60);
	tcase_add_loop_test(fake, failure_is_told, 0, (int)T_COUNT(failures));
	tcase_add_loop_test(fake, failure_is_made_good, 0, (int)T_COUNT(failures));
	tcase_add_test(fake, who_leaves_a_running_one);
	tcase_add_test(fake, lost_card);
	tcase_add_test(fake, lost_at_a_trim);
	tcase_add_test(fake, model_run_is_made_good);
	if (!t_gpu_real())
		suite_add_tcase(suite, fake);
	runner = srunner_create(suite);
	srunner_set_fork_status(runner, CK_FORK); /* a process opens one driver */
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
