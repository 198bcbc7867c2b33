/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batchers on a CPU: whatever samples run together, each has its own result and its own end.  How
 * many do is measured time's to say, here; tests/test_gpu_batcher.c knows it.
 */
#include "config.h"

#include "batch_util.h"
#include "nomem.h"

#include <pagesift/stats.h>

#include <pthread.h>
#include <stdio.h>

static psg_worker *worker;
static psg_model *model;
static psg_batcher *batcher;

static void set_up(void)
{
	worker = t_open(0);
	model = t_model(T_COLUMNS);
	batcher = t_batcher(worker, model, NULL);
}

static void tear_down(void)
{
	t_nomem_disarm();
	psg_batcher_close(batcher);
	psg_model_unref(model);
	psg_worker_close(worker);
}

/* --- what is refused --- */

static void refuses_to_open(const char *text, size_t max_batch, const char *words)
{
	psg_batcher_options options = { .max_batch = max_batch };
	psg_model *wrong = t_model(text);
	psg_batcher *out = batcher;
	psg_error error = PSG_ERROR_INIT;

	ck_assert_int_eq(psg_batcher_open(worker, wrong, &options, &out, &error), PSG_INVALID);
	ck_assert_ptr_null(out);
	ck_assert_msg(strstr(error.message, words) != NULL, "%s", error.message);
	psg_model_unref(wrong);
}

START_TEST(refuses_models)
{
	refuses_to_open("opset 13; in x ? 3; in z ? 3; Add x z > y; out y", 0, "one input");
	refuses_to_open(T_COLUMNS, 65, "65 samples: at most 64");
}
END_TEST

static void refuses(psg_tensor *sample, const char *words)
{
	psg_future *future = (psg_future *)(void *)batcher;
	psg_error error = PSG_ERROR_INIT;

	ck_assert_int_eq(psg_batcher_submit(batcher, sample, NULL, &future, &error), PSG_INVALID);
	ck_assert_ptr_null(future);
	ck_assert_msg(strstr(error.message, words) != NULL, "%s", error.message);
	psg_tensor_unref(sample);
}

START_TEST(refuses_samples)
{
	psg_tensor *sample;

	refuses(NULL, "no sample");
	ck_assert_int_eq(psg_tensor_create(PSG_F32, &PSG_SHAPE(2, 1, 2, 8), &sample, NULL), PSG_OK);
	refuses(sample, "first dimension is 1");
	ck_assert_int_eq(psg_tensor_create(PSG_F32, &(psg_shape){ 0 }, &sample, NULL), PSG_OK);
	refuses(sample, "first dimension is 1");
	ck_assert_int_eq(psg_tensor_create(PSG_I64, &PSG_SHAPE(1, 1, 2, 8), &sample, NULL), PSG_OK);
	refuses(sample, "float32");
	sample = t_sample(0);
	psg_worker_abort(worker);
	ck_assert_int_eq(psg_batcher_submit(batcher, sample, NULL, NULL, NULL), PSG_SHUTDOWN);
	psg_tensor_unref(sample);
}
END_TEST

/* --- results --- */

#define SAMPLES 40

/* All wait, and are done in whatever batches. */
START_TEST(each_has_its_own)
{
	psg_future *futures[SAMPLES];
	psg_batcher_stats stats;
	t_gate gate;

	for (uint32_t round = 0; round < 5; round++) {
		t_gate_close(&gate, worker);
		for (uint32_t k = 0; k < SAMPLES; k++)
			futures[k] = t_put_kth(batcher, k + round, NULL);
		t_gate_open(&gate);
		for (uint32_t k = 0; k < SAMPLES; k++)
			t_expect_kth(futures[k], k + round);
	}
	stats = t_batch_stats(batcher);
	ck_assert_uint_eq(stats.samples, 5 * SAMPLES);
	ck_assert_uint_le(stats.runs, stats.samples);
	ck_assert_uint_ge(stats.runs * stats.largest, stats.samples);
	ck_assert(stats.element_ns > 0);
	ck_assert_uint_eq(stats.waits, 0);
}
END_TEST

/* The reference device has a batch of two before it knows what runs take; the samples are alone in
 * their shape otherwise. */
START_TEST(counts)
{
	psg_stats stats = { .size = sizeof(stats) };
	psg_future *futures[2];
	t_gate gate;

	t_gate_close(&gate, worker);
	futures[0] = t_put_kth(batcher, 0, NULL);
	futures[1] = t_put_kth(batcher, 17, NULL);
	t_gate_open(&gate);
	t_expect_kth(futures[0], 0);
	t_expect_kth(futures[1], 17);
	ck_assert_uint_eq(t_batch_stats(batcher).runs, 1);
	ck_assert_uint_eq(t_batch_stats(batcher).largest, 2);
	ck_assert_int_eq(psg_stats_get(worker, &stats), PSG_OK);
	ck_assert_uint_eq(stats.samples.count, 1);
	ck_assert_uint_eq(stats.samples.max, 2);
	ck_assert_uint_eq(stats.bytes_in.count, 2);
	ck_assert_uint_eq(stats.bytes_out.min, 3 * sizeof(float)); /* cut */
	ck_assert_uint_eq(stats.run_ns.count, 3);                  /* and the gate */
	ck_assert_uint_eq(stats.device_jobs, 3);
	ck_assert_uint_eq(t_stats(worker).completed, 3);
}
END_TEST

/* An output that is one for all: no batch says whose it is. */
START_TEST(needs_rows)
{
	psg_model *sums = t_model("opset 13; in x ? 3; ReduceSum x > y keepdims=0; out y");
	psg_batcher *other = t_batcher(worker, sums, NULL);
	psg_future *futures[6];
	t_gate gate;

	t_gate_close(&gate, worker);
	for (size_t i = 0; i < 6; i++) {
		psg_tensor *sample;

		ck_assert_int_eq(psg_tensor_create(PSG_F32, &PSG_SHAPE(1, 3), &sample, NULL),
				 PSG_OK);
		for (size_t k = 0; k < 3; k++)
			((float *)psg_tensor_data(sample))[k] = (float)(i + k);
		futures[i] = t_put(other, sample, NULL);
		psg_tensor_unref(sample);
	}
	t_gate_open(&gate);
	for (size_t i = 0; i < 6; i++) {
		psg_error error = PSG_ERROR_INIT;
		psg_tensor *const *out;
		size_t n;

		(void)psg_future_wait(futures[i]);
		ck_assert_msg(psg_future_tensors(futures[i], &out, &n, &error) == PSG_OK, "%s",
			      error.message);
		ck_assert_float_eq(*(const float *)psg_tensor_const_data(out[0]),
				   (float)(3 * i + 3));
		psg_future_release(futures[i]);
	}
	ck_assert_uint_eq(t_batch_stats(other).largest, 1);
	psg_batcher_close(other);
	psg_model_unref(sums);
}
END_TEST

/* Samples of other shapes, models and kinds of jobs between them. */
START_TEST(finds_its_own)
{
	psg_model *other_model = t_model("opset 13; in x ? 1 2 ?; Neg x > y; out y");
	psg_batcher *other = t_batcher(worker, other_model, NULL);
	psg_future *futures[SAMPLES], *negated[SAMPLES];
	atomic_int functions = 0;
	t_gate gate;

	t_gate_close(&gate, worker);
	for (uint32_t k = 0; k < SAMPLES; k++) {
		futures[k] = t_put_kth(batcher, k, NULL);
		negated[k] = t_put_kth(other, k, NULL);
		ck_assert_int_eq(
			psg_submit_function(worker, t_add_one, &functions, NULL, NULL, NULL),
			PSG_OK);
	}
	t_gate_open(&gate);
	for (uint32_t k = 0; k < SAMPLES; k++) {
		psg_tensor *const *out;
		psg_tensor *sample = t_sample(k);
		size_t n;

		t_expect_kth(futures[k], k);
		ck_assert_int_eq(psg_future_wait(negated[k]), PSG_OK);
		ck_assert_int_eq(psg_future_tensors(negated[k], &out, &n, NULL), PSG_OK);
		ck_assert_float_eq(*(const float *)psg_tensor_const_data(out[0]),
				   -*(const float *)psg_tensor_const_data(sample));
		psg_future_release(negated[k]);
		psg_tensor_unref(sample);
	}
	ck_assert_int_eq(psg_worker_drain(worker, -1), PSG_OK);
	ck_assert_int_eq(functions, SAMPLES);
	psg_batcher_close(other);
	psg_model_unref(other_model);
}
END_TEST

/* --- ends --- */

START_TEST(ends_while_waiting)
{
	psg_future *futures[8];
	psg_job_options late = { .deadline_ns = psg_now_ns() + 1 };
	t_gate gate;

	t_gate_close(&gate, worker);
	for (uint32_t k = 0; k < 8; k++)
		futures[k] = t_put_kth(batcher, k, k == 3 ? &late : NULL);
	ck_assert_int_eq(psg_future_cancel(futures[0]), PSG_CANCEL_REMOVED);
	ck_assert_int_eq(psg_future_cancel(futures[5]), PSG_CANCEL_REMOVED);
	psg_future_release(futures[6]);
	ck_assert_int_eq(t_finish(futures[3]), PSG_TIMED_OUT);
	t_gate_open(&gate);
	ck_assert_int_eq(t_finish(futures[0]), PSG_CANCELLED);
	ck_assert_int_eq(t_finish(futures[5]), PSG_CANCELLED);
	t_expect_kth(futures[1], 1);
	t_expect_kth(futures[2], 2);
	t_expect_kth(futures[4], 4);
	t_expect_kth(futures[7], 7);
	ck_assert_uint_eq(t_batch_stats(batcher).samples, 4);
}
END_TEST

/* Steps enough, and long enough, that a cancel comes between them also on a busy machine. */
static psg_model *long_model(void)
{
	char text[32768] = "opset 13; in x ? 8192; Tanh x > a0";
	char *end = text + strlen(text);
	psg_model *out;

	for (int i = 0; i < 600; i++)
		end += sprintf(end, "; %s a%d > a%d", i % 2 != 0 ? "Tanh" : "Neg", i, i + 1);
	(void)sprintf(end, "; Relu a600 > y; out y");
	out = t_model(text);
	return out;
}

/* One of two that run together is cancelled, and the other one goes on; or both are, and the run
 * ends.  The first run of all is of both, so each time there is a new batcher. */
START_TEST(ends_while_running)
{
	psg_model *slow = long_model();
	bool stopped = false;
	psg_tensor *sample;

	ck_assert_int_eq(psg_tensor_create(PSG_F32, &PSG_SHAPE(1, 8192), &sample, NULL), PSG_OK);
	memset(psg_tensor_data(sample), 0, 8192 * sizeof(float));
	for (int i = 0; i < 200 && !stopped; i++) {
		psg_batcher *other = t_batcher(worker, slow, NULL);
		psg_future *futures[2];
		t_gate gate;

		t_gate_close(&gate, worker);
		for (size_t k = 0; k < 2; k++)
			futures[k] = t_put(other, sample, NULL);
		t_gate_open(&gate);
		while (psg_future_poll(futures[0]) == PSG_FUTURE_QUEUED)
			;
		(void)psg_future_cancel(futures[0]);
		if (_i == 1)
			(void)psg_future_cancel(futures[1]);
		stopped = psg_future_wait(futures[0]) == PSG_CANCELLED;
		if (_i == 0)
			ck_assert_int_eq(psg_future_wait(futures[1]), PSG_OK);
		else
			stopped = psg_future_wait(futures[1]) == PSG_CANCELLED && stopped;
		/* After the run. */
		ck_assert_int_eq(t_finish(t_submit(worker, t_nothing, NULL, NULL)), PSG_OK);
		ck_assert_uint_eq(t_batch_stats(other).runs, _i == 1 && stopped ? 0 : 1);
		psg_future_release(futures[0]);
		psg_future_release(futures[1]);
		psg_batcher_close(other);
	}
	ck_assert_msg(stopped, "none was stopped");
	psg_tensor_unref(sample);
	psg_model_unref(slow);
}
END_TEST

START_TEST(outlived_by_samples)
{
	psg_future *futures[8];
	t_gate gate;

	t_gate_close(&gate, worker);
	for (uint32_t k = 0; k < 8; k++)
		futures[k] = t_put_kth(batcher, k, NULL);
	psg_batcher_close(batcher);
	batcher = NULL;
	psg_model_unref(model);
	model = NULL;
	t_gate_open(&gate);
	for (uint32_t k = 0; k < 8; k++)
		t_expect_kth(futures[k], k);
}
END_TEST

START_TEST(aborted)
{
	psg_future *futures[8];
	t_gate gate;

	t_gate_close(&gate, worker);
	for (uint32_t k = 0; k < 8; k++)
		futures[k] = t_put_kth(batcher, k, NULL);
	psg_worker_abort(worker);
	for (uint32_t k = 0; k < 8; k++)
		ck_assert_int_eq(t_finish(futures[k]), PSG_SHUTDOWN);
	t_gate_open(&gate);
	ck_assert_uint_eq(t_batch_stats(batcher).samples, 0);
}
END_TEST

/* --- many at once --- */

/* ThreadSanitizer is slow. */
#ifdef __SANITIZE_THREAD__
#define ROUNDS 60
#else
#define ROUNDS 400
#endif

static void *use(void *argument)
{
	uint32_t seed = *(uint32_t *)argument;

	for (uint32_t i = 0; i < ROUNDS; i++) {
		psg_job_options options = { .deadline_ns = psg_now_ns() + PSG_SECOND * 30,
					    .priority = (int32_t)(i % 3) - 1 };
		psg_future *first = t_put_kth(batcher, seed + i, i % 5 == 0 ? &options : NULL);
		psg_future *second = t_put_kth(batcher, seed + i + 1, NULL);
		psg_status status;

		if (i % 7 == 0)
			(void)psg_future_cancel(second);
		t_expect_kth(first, seed + i);
		status = t_finish(second);
		ck_assert(status == PSG_OK || (i % 7 == 0 && status == PSG_CANCELLED));
	}
	return NULL;
}

START_TEST(storm)
{
	pthread_t threads[4];
	uint32_t seeds[4];

	if (_i == 1) {
		psg_worker_options options = { .earliest_deadline_first = true };

		psg_batcher_close(batcher);
		psg_worker_close(worker);
		ck_assert_int_eq(psg_worker_open("reference", &options, &worker, NULL), PSG_OK);
		batcher = t_batcher(worker, model, NULL);
	}
	for (uint32_t i = 0; i < 4; i++) {
		seeds[i] = i * 1000;
		ck_assert_int_eq(pthread_create(&threads[i], NULL, use, &seeds[i]), 0);
	}
	for (size_t i = 0; i < 4; i++)
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
}
END_TEST

/* --- memory --- */

START_TEST(no_memory_to_open)
{
	psg_error error = PSG_ERROR_INIT;
	psg_batcher *other;

	t_nomem_arm(0, false);
	ck_assert_int_eq(psg_batcher_open(worker, model, NULL, &other, &error), PSG_NOMEM);
	ck_assert_ptr_null(other);
	t_nomem_disarm();
}
END_TEST

/* Two together, after the first allocations; what came of it. */
static long fails_at(long n, bool from_then_on)
{
	psg_future *futures[2];
	psg_batcher *other;
	t_gate gate;

	other = t_batcher(worker, model, NULL);
	t_gate_close(&gate, worker);
	for (uint32_t k = 0; k < 2; k++)
		futures[k] = t_put_kth(other, k, NULL);
	t_nomem_arm(n, from_then_on); /* libcheck's assertions take memory, too */
	(void)sem_post(&gate.open);
	for (uint32_t k = 0; k < 2; k++)
		(void)psg_future_wait(futures[k]);
	t_nomem_disarm();
	ck_assert_int_eq(t_finish(gate.future), PSG_OK);
	for (uint32_t k = 0; k < 2; k++) {
		psg_error error = PSG_ERROR_INIT;

		if (psg_future_error(futures[k], &error) == PSG_OK && error.code == PSG_OK) {
			t_expect_kth(futures[k], k);
			continue;
		}
		ck_assert_int_eq(error.code, PSG_NOMEM);
		psg_future_release(futures[k]);
	}
	psg_batcher_close(other);
	return atomic_load(&t_nomem_refused);
}

/* Each allocation of a batch fails once, or it and all that follow. */
START_TEST(no_memory_to_run)
{
	long n = 0, refused = 0;

	(void)fails_at(-1, false);
	for (; fails_at(n, _i == 1) > 0; n++)
		refused++;
	ck_assert_int_gt(refused, 5);
	t_expect_kth(t_put_kth(batcher, 1, NULL), 1);
}
END_TEST

/* Submitting takes none once the thread has its lane. */
START_TEST(no_memory_to_submit)
{
	psg_tensor *sample = t_sample(4);
	psg_future *future = t_put(batcher, sample, NULL);
	psg_status status;
	t_gate gate;

	t_expect_kth(future, 4);
	t_gate_close(&gate, worker);
	t_nomem_arm(0, true);
	status = psg_batcher_submit(batcher, sample, NULL, &future, NULL);
	t_nomem_disarm();
	ck_assert_int_eq(status, PSG_OK);
	t_gate_open(&gate);
	t_expect_kth(future, 4);
	psg_tensor_unref(sample);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("batcher");
	TCase *all = tcase_create("batcher");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(all, set_up, tear_down);
	tcase_set_timeout(all, 120);
	tcase_add_test(all, refuses_models);
	tcase_add_test(all, refuses_samples);
	tcase_add_test(all, each_has_its_own);
	tcase_add_test(all, counts);
	tcase_add_test(all, needs_rows);
	tcase_add_test(all, finds_its_own);
	tcase_add_test(all, ends_while_waiting);
	tcase_add_loop_test(all, ends_while_running, 0, 2);
	tcase_add_test(all, outlived_by_samples);
	tcase_add_test(all, aborted);
	tcase_add_loop_test(all, storm, 0, 2);
	tcase_add_test(all, no_memory_to_open);
	tcase_add_loop_test(all, no_memory_to_run, 0, 2);
	tcase_add_test(all, no_memory_to_submit);
	suite_add_tcase(suite, all);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
