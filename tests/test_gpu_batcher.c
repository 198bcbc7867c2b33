/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Batchers on a GPU: what waits runs together, as many as there are and memory allows; what fails
 * is run again with fewer, or alone, or on the CPU.
 *
 * Nothing is known of a batcher's first run, so that it takes all that waits: tests whose batches
 * are counted have a batcher of their own each time.
 */
#include "config.h"

#include "batch_util.h"
#include "fakecuda_util.h"

#include <pagesift/stats.h>

#include <pthread.h>
#include <stdlib.h>

static psg_worker *worker;
static psg_model *model;

static void set_up(void)
{
	psg_error error = PSG_ERROR_INIT;

	t_gpu_begin();
	ck_assert_msg(psg_worker_open("cuda", NULL, &worker, &error) == PSG_OK, "%s",
		      error.message);
	model = t_model(T_COLUMNS);
}

static void tear_down(void)
{
	psg_model_unref(model);
	psg_worker_close(worker);
	t_gpu_expect_nothing_left();
}

/* --- together --- */

#define MOST 100

/* The batcher's first `n` samples wait together. */
static void put_all(psg_batcher *batcher, uint32_t n, const psg_job_options *options,
		    psg_future **futures)
{
	t_gate gate;

	t_gate_close(&gate, worker);
	for (uint32_t k = 0; k < n; k++)
		futures[k] = t_put_kth(batcher, k, options);
	t_gate_open(&gate);
}

static void runs_well(psg_batcher *batcher, uint32_t n)
{
	psg_future *futures[MOST];

	put_all(batcher, n, NULL, futures);
	for (uint32_t k = 0; k < n; k++)
		t_expect_kth(futures[k], k);
}

/* Samples that wait, and the first run that they make. */
static const struct first_run {
	uint32_t n;
	psg_batcher_options options;
	uint64_t largest, empty;
} first_runs[] = {
	{ 1, { 0 }, 1, 0 },
	{ 2, { 0 }, 2, 0 },
	{ 5, { 0 }, 5, 1 },
	{ 13, { 0 }, 13, 3 },
	{ 64, { 0 }, 64, 0 },
	{ 100, { 0 }, 64, 0 },
	{ 13, { .max_batch = 1 }, 1, 0 },
	{ 12, { .max_batch = 4 }, 4, 0 },
	{ 13, { .memory_bytes = 1 }, 1, 0 },
	{ 13, { .max_delay_ns = -1 }, 13, 3 },
};

START_TEST(shares_runs)
{
	const struct first_run *row = &first_runs[_i];
	psg_batcher *batcher = t_batcher(worker, model, &row->options);
	psg_stats stats = { .size = sizeof(stats) };
	psg_batcher_stats counts;

	runs_well(batcher, row->n);
	counts = t_batch_stats(batcher);
	ck_assert_uint_eq(counts.samples, row->n);
	ck_assert_uint_eq(counts.largest, row->largest);
	if (row->largest == row->n)
		ck_assert_uint_eq(counts.runs, 1);
	if (counts.runs == 1)
		ck_assert_uint_eq(counts.empty, row->empty);
	ck_assert_uint_eq(counts.splits, 0);
	ck_assert_int_eq(psg_stats_get(worker, &stats), PSG_OK);
	ck_assert_uint_eq(stats.samples.count, counts.runs);
	ck_assert_uint_eq(stats.samples.sum, row->n);
	ck_assert_uint_eq(stats.samples.max, row->largest);
	psg_batcher_close(batcher);
}
END_TEST

static void give_up(psg_future *future, int how)
{
	if (how == 0)
		ck_assert_int_eq(psg_future_cancel(future), PSG_CANCEL_REMOVED);
	if (how == 2)
		ck_assert_int_eq(psg_future_wait(future), PSG_TIMED_OUT); /* held up, it expires */
	psg_future_release(future);
}

/* Every second one, the first too, ends while it waits: cancelled, dropped, or by its deadline.
 * The others fill one run, as if these had never been. */
START_TEST(who_gives_up_takes_no_place)
{
	const psg_batcher_options four = { .max_batch = 4 };
	psg_batcher *batcher = t_batcher(worker, model, &four);
	psg_future *futures[8];
	psg_worker_stats before = t_stats(worker), after;
	psg_batcher_stats counts;
	t_gate gate;

	t_gate_close(&gate, worker);
	for (uint32_t k = 0; k < T_COUNT(futures); k++) {
		psg_job_options soon = { .deadline_ns = psg_now_ns() + PSG_MILLISECOND };

		futures[k] = t_put_kth(batcher, 0, _i == 2 && k % 2 == 0 ? &soon : NULL);
	}
	for (size_t k = 0; k < T_COUNT(futures); k += 2)
		give_up(futures[k], _i);
	t_gate_open(&gate);
	for (size_t k = 1; k < T_COUNT(futures); k += 2)
		t_expect_kth(futures[k], 0);
	counts = t_batch_stats(batcher);
	ck_assert_uint_eq(counts.runs, 1);
	ck_assert_uint_eq(counts.samples, 4);
	ck_assert_uint_eq(counts.empty, 0);
	after = t_stats(worker);
	ck_assert_uint_eq(after.completed - before.completed, 1 + 4); /* the gate, too */
	ck_assert_uint_eq(after.cancelled - before.cancelled, _i == 2 ? 0 : 4);
	ck_assert_uint_eq(after.expired - before.expired, _i == 2 ? 4 : 0);
	psg_batcher_close(batcher);
}
END_TEST

/* --- memory --- */

struct peak {
	psg_shape shape;
	int64_t bytes;
};

static psg_status read_peak(psg_device *device, void *arg, psg_error *error)
{
	struct peak *peak = arg;
	psg_model_stats stats;
	psg_status status = psg_model_stats_get(model, device, &peak->shape, 1, &stats, error);

	peak->bytes = stats.peak_bytes;
	return status;
}

static int64_t peak_of(int64_t width)
{
	struct peak peak = { .shape = PSG_SHAPE(1, 1, 2, width) };
	psg_future *future = t_submit(worker, read_peak, &peak, NULL);

	ck_assert_int_eq(t_finish(future), PSG_OK);
	return peak.bytes;
}

/* As many run together as what one takes allows. */
START_TEST(memory_bounds)
{
	psg_batcher_options options = { .memory_bytes = (uint64_t)(3 * peak_of(24)) };
	psg_batcher *batcher = t_batcher(worker, model, &options);

	runs_well(batcher, 17); /* each width once; the first batch has the widest */
	ck_assert_uint_ge(t_batch_stats(batcher).largest, 3);
	ck_assert_uint_le(t_batch_stats(batcher).largest, 9); /* of a third of its width */
	psg_batcher_close(batcher);
}
END_TEST

/* The first kernels that are launched find no memory: of eight samples, or then of four, two and
 * one, too, and each run is tried twice. */
#define ALIKE 17 /* all samples with such a number have the same width */

START_TEST(splits)
{
	static const char *const rules[] = {
		"cuLaunchKernel:1:2,cuLaunchKernel:2:2",
		"cuLaunchKernel:1:2,cuLaunchKernel:2:2,cuLaunchKernel:3:2,cuLaunchKernel:4:2,"
		"cuLaunchKernel:5:2,cuLaunchKernel:6:2,cuLaunchKernel:7:2,cuLaunchKernel:8:2",
	};
	psg_batcher *batcher = t_batcher(worker, model, NULL);
	psg_future *futures[8];
	t_gate gate;

	if (t_gpu_real()) {
		psg_batcher_close(batcher);
		return;
	}
	t_gate_close(&gate, worker);
	for (uint32_t k = 0; k < 8; k++)
		futures[k] = t_put_kth(batcher, ALIKE * k, NULL);
	t_gpu_fail(rules[_i]);
	t_gate_open(&gate);
	for (uint32_t k = 0; k < 8; k++) {
		if (_i == 1 && k == 0)
			ck_assert_int_eq(t_finish(futures[0]), PSG_OOM); /* also alone */
		else
			t_expect_kth(futures[k], ALIKE * k);
	}
	ck_assert_uint_eq(t_batch_stats(batcher).splits, _i == 0 ? 1 : 3);
	ck_assert_uint_eq(t_batch_stats(batcher).samples, _i == 0 ? 8 : 7);
	/* For a while there are no more than there was memory for. */
	t_gate_close(&gate, worker);
	for (uint32_t k = 0; k < 8; k++)
		futures[k] = t_put_kth(batcher, ALIKE * k, NULL);
	t_gate_open(&gate);
	for (uint32_t k = 0; k < 8; k++)
		t_expect_kth(futures[k], ALIKE * k);
	ck_assert_uint_eq(t_batch_stats(batcher).splits, _i == 0 ? 1 : 3);
	ck_assert_uint_le(t_batch_stats(batcher).largest, 4);
	psg_batcher_close(batcher);
}
END_TEST

/* --- failures --- */

static const struct failure {
	const char *rules;
	psg_status status;
	bool lasts;
} failures[] = {
	{ "cuMemAlloc_v2:1+:2", PSG_OOM, true },        { "cuLaunchKernel:1+:1", PSG_LAUNCH, true },
	{ "cuLaunchKernel:1:701", PSG_LAUNCH, false },  { "run:1:719", PSG_DEVICE_LOST, true },
	{ "cuModuleLoadDataEx:1+:218", PSG_JIT, true },
};

/* What fails for all fails for each; what failed once is done by the second try, alone. */
START_TEST(failures_are_told)
{
	const struct failure *row = &failures[_i];
	psg_batcher *batcher = t_batcher(worker, model, NULL);
	psg_future *futures[8];

	if (t_gpu_real()) {
		psg_batcher_close(batcher);
		return;
	}
	t_gpu_fail(row->rules);
	put_all(batcher, 8, NULL, futures);
	for (uint32_t k = 0; k < 8; k++) {
		if (!row->lasts)
			t_expect_kth(futures[k], k);
		else
			ck_assert_int_eq(t_finish(futures[k]), row->status);
	}
	ck_assert_uint_eq(t_batch_stats(batcher).samples, row->lasts ? 0 : 8);
	t_gpu_fail("");
	psg_batcher_close(batcher);
}
END_TEST

/* And is done by the CPU where that is allowed. */
START_TEST(falls_back)
{
	const psg_job_options options = { .cpu_fallback = true };
	const struct failure *row = &failures[_i];
	psg_batcher *batcher = t_batcher(worker, model, NULL);
	psg_future *futures[8];

	if (t_gpu_real()) {
		psg_batcher_close(batcher);
		return;
	}
	t_gpu_fail(row->rules);
	put_all(batcher, 8, &options, futures);
	for (uint32_t k = 0; k < 8; k++) {
		(void)psg_future_wait(futures[k]);
		ck_assert_int_eq(psg_future_fallback(futures[k])[0] != '\0', row->lasts);
		t_expect_kth(futures[k], k);
	}
	ck_assert_uint_eq(t_stats(worker).recomputed, row->lasts ? 8 : 0);
	ck_assert_uint_eq(t_batch_stats(batcher).samples, row->lasts ? 0 : 8);
	t_gpu_fail("");
	psg_batcher_close(batcher);
}
END_TEST

/* --- waiting for more --- */

static void set_up_slow(void)
{
	if (!t_gpu_real())
		ck_assert_int_eq(setenv("FAKECUDA_LAUNCH_US", "500", 1), 0);
	set_up();
}

/* Two come one after the other, again and again: the first one waits for the second, as soon as it
 * is known that a run's base is more than the time between them. */
START_TEST(waits_for_more)
{
	const psg_batcher_options options = { .max_delay_ns = _i == 0 ? 0 : -1 };
	psg_batcher *batcher = t_batcher(worker, model, &options);
	psg_batcher_stats stats = { .waits = 0 };
	uint32_t k = 0;

	for (; k < 3; k++) /* of different sizes */
		runs_well(batcher, 1 + k);
	for (; stats.waits == 0 && k < (_i == 0 ? 4000 : 40); k++) {
		psg_future *first = t_put_kth(batcher, k, NULL);
		psg_future *second = t_put_kth(batcher, k + 1, NULL);

		t_expect_kth(first, k);
		t_expect_kth(second, k + 1);
		stats = t_batch_stats(batcher);
	}
	ck_assert_int_eq(stats.waits > 0, _i == 0);
	ck_assert_int_eq(stats.waited_ns > 0, _i == 0);
	psg_batcher_close(batcher);
}
END_TEST

/* Somebody who is alone after that is kept waiting a few times, less and less often. */
START_TEST(forgets_a_crowd)
{
	psg_batcher *batcher = t_batcher(worker, model, NULL);
	uint64_t before;

	for (uint32_t k = 0; k < 3; k++)
		runs_well(batcher, 1 + k);
	for (uint32_t k = 0; k < 40; k++) {
		psg_future *first = t_put_kth(batcher, k, NULL);

		t_expect_kth(t_put_kth(batcher, k, NULL), k);
		t_expect_kth(first, k);
	}
	before = t_batch_stats(batcher).waits;
	for (uint32_t k = 0; k < 100; k++)
		t_expect_kth(t_put_kth(batcher, k, NULL), k);
	/* In vain, all of them: the 1st, 3rd, 7th and so on of those that seemed worth it. */
	ck_assert_uint_le(t_batch_stats(batcher).waits - before, 6);
	psg_batcher_close(batcher);
}
END_TEST

/* Who waits for more hears of a shutdown. */
START_TEST(wait_ends)
{
	psg_batcher *batcher = t_batcher(worker, model, NULL);
	psg_future *futures[64];

	for (uint32_t k = 0; k < 3; k++)
		runs_well(batcher, 1 + k);
	for (uint32_t k = 0; k < T_COUNT(futures); k++)
		futures[k] = t_put_kth(batcher, k, NULL);
	if (_i == 0)
		ck_assert_int_eq(psg_worker_drain(worker, -1), PSG_OK);
	else
		psg_worker_abort(worker);
	for (uint32_t k = 0; k < T_COUNT(futures); k++) {
		psg_status status = t_finish(futures[k]);

		ck_assert(status == PSG_OK || (_i == 1 && status == PSG_SHUTDOWN));
	}
	psg_batcher_close(batcher);
}
END_TEST

/* --- many at once --- */

#ifdef __SANITIZE_THREAD__
#define ROUNDS 20
#else
#define ROUNDS 60
#endif

static void *use(void *argument)
{
	psg_batcher *batcher = argument;

	for (uint32_t k = 0; k < ROUNDS; k++) {
		psg_future *gone = t_put_kth(batcher, k, NULL);

		t_expect_kth(t_put_kth(batcher, k, NULL), k);
		if (k % 3 == 0)
			(void)psg_future_cancel(gone);
		psg_future_release(gone);
	}
	return NULL;
}

START_TEST(storm)
{
	psg_batcher *batcher = t_batcher(worker, model, NULL);
	pthread_t threads[6];

	for (size_t i = 0; i < T_COUNT(threads); i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, use, batcher), 0);
	for (size_t i = 0; i < T_COUNT(threads); i++)
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
	ck_assert_uint_ge(t_batch_stats(batcher).samples, T_COUNT(threads) * ROUNDS);
	psg_batcher_close(batcher);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("batcher on a GPU");
	TCase *all = tcase_create("batcher");
	TCase *slow = tcase_create("on a slow card");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(all, set_up, tear_down);
	tcase_set_timeout(all, 120);
	tcase_add_loop_test(all, shares_runs, 0, (int)T_COUNT(first_runs));
	tcase_add_loop_test(all, who_gives_up_takes_no_place, 0, 3);
	tcase_add_test(all, memory_bounds);
	tcase_add_loop_test(all, splits, 0, 2);
	tcase_add_loop_test(all, failures_are_told, 0, (int)T_COUNT(failures));
	tcase_add_loop_test(all, falls_back, 0, (int)T_COUNT(failures));
	tcase_add_test(all, storm);
	suite_add_tcase(suite, all);
	tcase_add_checked_fixture(slow, set_up_slow, tear_down);
	tcase_set_timeout(slow, 120);
	tcase_add_loop_test(slow, waits_for_more, 0, 2);
	tcase_add_test(slow, forgets_a_crowd);
	tcase_add_loop_test(slow, wait_ends, 0, 2);
	suite_add_tcase(suite, slow);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
