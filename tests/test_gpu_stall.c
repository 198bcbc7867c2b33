/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A card that does not answer: its jobs end, it gets no more, it may be closed, and when the call
 * returns after all, nothing is left of what was under way.
 *
 * Only the fake driver hangs when it is asked to: with a real one there is nothing to test.
 */
#include "config.h"

#include <pagesift/fleet.h>
#include <pagesift/shared.h>

#include "batch_util.h"
#include "fakecuda_util.h"

#include <dirent.h>
#include <pthread.h>
#include <stdlib.h>

/* Long enough for what does not hang on a busy machine, also under a sanitizer. */
#define LIMIT (250 * PSG_MILLISECOND)

static const psg_worker_options options = { .stall_limit_ns = LIMIT };

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

/* Until no more are left. */
static void await_threads(int most)
{
	while (threads() > most)
		t_sleep_ns(PSG_MILLISECOND);
}

/* The first launch does not return until t_gpu_fail. */
static void begin(void)
{
	ck_assert_int_eq(setenv("FAKECUDA_HANG", "cuLaunchKernel", 1), 0);
	t_gpu_begin();
}

static psg_worker *open_worker(void)
{
	psg_error error = PSG_ERROR_INIT;
	psg_worker *worker;

	ck_assert_msg(psg_worker_open("cuda:0", &options, &worker, &error) == PSG_OK, "%s",
		      error.message);
	return worker;
}

static psg_op relu(void)
{
	psg_op op = { .kind = PSG_OP_RELU, .n_in = 1 };

	ck_assert_int_eq(psg_tensor_create(PSG_F32, &PSG_SHAPE(7), &op.in[0], NULL), PSG_OK);
	for (int i = 0; i < 7; i++)
		((float *)psg_tensor_data(op.in[0]))[i] = (float)(i - 3);
	return op;
}

static psg_future *submit_relu(psg_worker *worker, const psg_job_options *job_options)
{
	psg_op op = relu();
	psg_error error = PSG_ERROR_INIT;
	psg_future *future;

	ck_assert_msg(psg_submit(worker, &op, job_options, &future, &error) == PSG_OK, "%s",
		      error.message);
	psg_tensor_unref(op.in[0]);
	return future;
}

static void expect(psg_future *future, psg_status status, const char *text)
{
	psg_error error = PSG_ERROR_INIT;

	ck_assert_int_eq(psg_future_wait(future), status);
	ck_assert_int_eq(psg_future_error(future, &error), status);
	ck_assert_msg(status == PSG_OK || strstr(error.message, text) != NULL, "%s", error.message);
	psg_future_release(future);
}

static void await_health(const psg_worker *worker, psg_status status)
{
	while (psg_worker_health(worker, NULL) != status)
		t_sleep_ns(PSG_MILLISECOND);
}

static void expect_relu(psg_worker *worker)
{
	psg_future *future = submit_relu(worker, NULL);
	psg_tensor *const *out;
	size_t n;

	ck_assert_int_eq(psg_future_wait(future), PSG_OK);
	ck_assert_int_eq(psg_future_tensors(future, &out, &n, NULL), PSG_OK);
	ck_assert_float_eq(((const float *)psg_tensor_const_data(out[0]))[6], 3);
	ck_assert_float_eq(((const float *)psg_tensor_const_data(out[0]))[0], 0);
	psg_future_release(future);
}

/* --- one worker --- */

START_TEST(its_jobs_end)
{
	psg_error error = PSG_ERROR_INIT;
	psg_future *jobs[3], *none;
	psg_worker *worker;
	psg_op op = relu();

	begin();
	worker = open_worker();
	for (int i = 0; i < 3; i++)
		jobs[i] = submit_relu(worker, NULL);
	expect(jobs[0], PSG_STALLED, "has not returned");
	expect(jobs[1], PSG_STALLED, "had not started");
	expect(jobs[2], PSG_STALLED, "had not started");
	await_health(worker, PSG_STALLED);
	(void)psg_worker_health(worker, &error);
	ck_assert_msg(strstr(error.message, "'launching a kernel' has not returned for") != NULL,
		      "%s", error.message);
	ck_assert_int_eq(psg_submit(worker, &op, NULL, &none, &error), PSG_STALLED);
	ck_assert_ptr_null(none);
	while (t_stats(worker).queued != 0) /* counted when the waiters know */
		t_sleep_ns(PSG_MILLISECOND);
	ck_assert_uint_eq(t_stats(worker).stalls, 1);
	ck_assert_uint_eq(t_stats(worker).failed, 3);
	t_gpu_fail("");
	await_health(worker, PSG_OK);
	expect_relu(worker);
	ck_assert_uint_eq(t_stats(worker).completed, 1);
	ck_assert_uint_eq(t_stats(worker).failed, 3);
	psg_worker_close(worker);
	psg_tensor_unref(op.in[0]);
	t_gpu_expect_nothing_left();
}
END_TEST

/* The job that was ended has let go of its future; the next ones get its slot. */
START_TEST(one_slot_comes_home)
{
	psg_worker_options one = options;
	psg_job_options room = { .room_timeout_ns = 600 * PSG_SECOND };
	psg_worker *worker;

	begin();
	one.lane_capacity = 1;
	ck_assert_int_eq(psg_worker_open("cuda:0", &one, &worker, NULL), PSG_OK);
	expect(submit_relu(worker, NULL), PSG_STALLED, "has not returned");
	t_gpu_fail("");
	await_health(worker, PSG_OK);
	for (int i = 0; i < 3; i++) {
		psg_future *future = submit_relu(worker, &room);

		ck_assert_int_eq(psg_future_wait(future), PSG_OK);
		psg_future_release(future);
	}
	psg_worker_close(worker);
	t_gpu_expect_nothing_left();
}
END_TEST

static void *wait_for_room(void *worker)
{
	const psg_job_options room = { .room_timeout_ns = 600 * PSG_SECOND };
	psg_op op = relu();
	psg_future *futures[3];

	/* The third one finds no slot, and none comes home. */
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(psg_submit(worker, &op, &room, &futures[i], NULL), PSG_OK);
	ck_assert_int_eq(psg_submit(worker, &op, &room, &futures[2], NULL), PSG_STALLED);
	psg_tensor_unref(op.in[0]);
	psg_future_release(futures[0]);
	psg_future_release(futures[1]);
	return NULL;
}

START_TEST(who_waits_for_a_slot_is_told)
{
	psg_worker_options two = options;
	psg_worker *worker;
	pthread_t thread;

	begin();
	two.lane_capacity = 2;
	ck_assert_int_eq(psg_worker_open("cuda:0", &two, &worker, NULL), PSG_OK);
	ck_assert_int_eq(pthread_create(&thread, NULL, wait_for_room, worker), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	t_gpu_fail("");
	await_health(worker, PSG_OK);
	psg_worker_close(worker);
	t_gpu_expect_nothing_left();
}
END_TEST

/* Once each, whoever tells. */
START_TEST(callbacks_and_queues_are_told)
{
	psg_completion_queue *queue;
	psg_future *future;
	psg_worker *worker;
	atomic_int done = 0;
	psg_job_options told = { .done = t_count_done, .user = &done };

	begin();
	worker = open_worker();
	ck_assert_int_eq(psg_completion_queue_create(&queue, NULL), PSG_OK);
	told.queue = queue;
	for (int i = 0; i < 4; i++)
		psg_future_release(submit_relu(worker, &told));
	for (int i = 0; i < 4; i++) {
		ck_assert_int_eq(psg_completion_queue_wait(queue, INT64_MAX, &future), PSG_OK);
		ck_assert_int_eq(psg_future_wait(future), PSG_STALLED);
		psg_future_release(future);
	}
	t_gpu_fail("");
	await_health(worker, PSG_OK);
	psg_worker_close(worker);
	ck_assert_int_eq(done, 4);
	ck_assert_ptr_null(psg_completion_queue_pop(queue));
	psg_completion_queue_destroy(queue);
	t_gpu_expect_nothing_left();
}
END_TEST

static psg_status be_slow(psg_device *device, void *arg, psg_error *error)
{
	(void)device;
	(void)arg;
	(void)error;
	t_sleep_ns(3 * LIMIT);
	return PSG_OK;
}

/* A function that takes long on the host is none of it, nor is a CPU's. */
START_TEST(long_work_is_no_stall)
{
	psg_worker *worker;

	t_gpu_begin();
	ck_assert_int_eq(psg_worker_open(_i == 0 ? "cuda:0" : "reference", &options, &worker, NULL),
			 PSG_OK);
	ck_assert_int_eq(t_finish(t_submit(worker, be_slow, NULL, NULL)), PSG_OK);
	ck_assert_int_eq(psg_worker_health(worker, NULL), PSG_OK);
	ck_assert_uint_eq(t_stats(worker).stalls, 0);
	psg_worker_close(worker);
	t_gpu_expect_nothing_left();
}
END_TEST

START_TEST(a_negative_limit_waits)
{
	psg_worker_options never = { .stall_limit_ns = -1 };
	psg_future *future;
	psg_worker *worker;

	begin();
	ck_assert_int_eq(psg_worker_open("cuda:0", &never, &worker, NULL), PSG_OK);
	future = submit_relu(worker, NULL);
	ck_assert_int_eq(psg_future_wait_for(future, 3 * LIMIT), PSG_TIMED_OUT);
	t_gpu_fail("");
	ck_assert_int_eq(psg_future_wait(future), PSG_OK);
	psg_future_release(future);
	psg_worker_close(worker);
	t_gpu_expect_nothing_left();
}
END_TEST

/* --- closing --- */

/* It does not wait for the card; what is left behind cleans up when the call returns. */
START_TEST(closing_leaves_it_behind)
{
	psg_worker *worker;
	psg_future *running, *queued;
	int before;

	begin();
	psg_worker_close(t_open(0)); /* with the first thread a sanitizer starts one that stays */
	before = threads();
	worker = open_worker();
	running = submit_relu(worker, NULL);
	queued = submit_relu(worker, NULL);
	while (psg_future_poll(running) == PSG_FUTURE_QUEUED)
		t_sleep_ns(PSG_MILLISECOND);
	if (_i == 0) /* else it is noticed while closing waits */
		ck_assert_int_eq(psg_future_wait(queued), PSG_STALLED);
	psg_worker_close(worker);
	ck_assert_int_eq(psg_future_wait(running), PSG_STALLED);
	ck_assert_int_eq(psg_future_wait(queued), _i == 0 ? PSG_STALLED : PSG_SHUTDOWN);
	ck_assert_int_gt(threads(), before);
	if (_i == 0)
		psg_future_release(running);
	t_gpu_fail("");
	await_threads(before);
	if (_i != 0)
		psg_future_release(running); /* valid until now */
	psg_future_release(queued);
	t_gpu_expect_nothing_left();
}
END_TEST

/* --- several on one card --- */

static void expect_refused(psg_status status, const psg_error *error)
{
	ck_assert_int_eq(status, PSG_STALLED);
	ck_assert_msg(strstr(error->message, "'launching a kernel' has not returned for") != NULL,
		      "%s", error->message);
}

/* Those that are there, and those that would come. */
START_TEST(all_engines_of_the_card)
{
	psg_error error = PSG_ERROR_INIT;
	psg_shared_worker *shared, *held;
	psg_worker *engines[2], *none;
	int before;

	begin();
	psg_worker_close(t_open(0));
	before = threads();
	ck_assert_int_eq(psg_shared_worker_acquire("cuda:0", NULL, &shared, NULL), PSG_OK);
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(psg_worker_open_shared(shared, &options, &engines[i], NULL),
				 PSG_OK);
	held = shared;
	expect(submit_relu(engines[0], NULL), PSG_STALLED, "has not returned");
	await_health(engines[1], PSG_STALLED);
	psg_worker_close(engines[_i]);
	expect_refused(psg_shared_worker_acquire("cuda:0", NULL, &shared, &error), &error);
	ck_assert_ptr_null(shared);
	expect_refused(psg_worker_open_shared(held, &options, &none, &error), &error);
	ck_assert_ptr_null(none);
	t_gpu_fail("");
	await_health(engines[1 - _i], PSG_OK);
	expect_relu(engines[1 - _i]);
	psg_worker_close(engines[1 - _i]);
	ck_assert_int_eq(psg_worker_open_shared(held, &options, &none, NULL), PSG_OK);
	expect_relu(none);
	psg_worker_close(none);
	psg_shared_worker_release(held);
	await_threads(before);
	t_gpu_expect_nothing_left();
}
END_TEST

START_TEST(samples_of_a_batch)
{
	psg_future *samples[6];
	psg_batcher *batcher;
	psg_model *model;
	psg_worker *worker;

	begin();
	worker = open_worker();
	model = t_model(T_COLUMNS);
	batcher = t_batcher(worker, model, NULL);
	for (uint32_t i = 0; i < 6; i++)
		samples[i] = t_put_kth(batcher, i, NULL);
	for (uint32_t i = 0; i < 6; i++)
		expect(samples[i], PSG_STALLED, "does not answer");
	t_gpu_fail("");
	await_health(worker, PSG_OK);
	for (uint32_t i = 0; i < 6; i++)
		samples[i] = t_put_kth(batcher, i, NULL);
	for (uint32_t i = 0; i < 6; i++)
		t_expect_kth(samples[i], i);
	psg_batcher_close(batcher);
	psg_worker_close(worker);
	psg_model_unref(model);
	t_gpu_expect_nothing_left();
}
END_TEST

/* --- a fleet --- */

static psg_fleet_device device_of(const psg_fleet *fleet, size_t index)
{
	psg_fleet_device device = { .size = sizeof(device) };

	ck_assert_int_eq(psg_fleet_device_get(fleet, index, &device), PSG_OK);
	return device;
}

static psg_future *submit_to_fleet(psg_fleet *fleet)
{
	psg_op op = relu();
	psg_future *future;

	ck_assert_int_eq(psg_fleet_submit(fleet, &op, NULL, &future, NULL), PSG_OK);
	psg_tensor_unref(op.in[0]);
	return future;
}

START_TEST(a_fleet_goes_on_without_it)
{
	static const char *const devices[] = { "cuda:0", "cpu:1" };
	const psg_fleet_options fleet_options = { .worker = options };
	psg_fleet *fleet;
	int before;

	begin();
	psg_worker_close(t_open(0));
	before = threads();
	ck_assert_int_eq(psg_fleet_open(devices, 2, &fleet_options, &fleet, NULL), PSG_OK);
	expect(submit_relu(device_of(fleet, 0).worker, NULL), PSG_STALLED, "has not returned");
	await_health(device_of(fleet, 0).worker, PSG_STALLED);
	ck_assert_int_eq(device_of(fleet, 0).health.code, PSG_STALLED);
	ck_assert_int_eq(psg_fleet_health(fleet, NULL), PSG_OK);
	for (int i = 0; i < 20; i++) {
		psg_future *future = submit_to_fleet(fleet);

		ck_assert_int_eq(psg_future_wait(future), PSG_OK);
		ck_assert_int_eq(psg_fleet_where(fleet, future), 1);
		psg_future_release(future);
	}
	if (_i == 0) {
		t_gpu_fail("");
		await_health(device_of(fleet, 0).worker, PSG_OK);
		expect_relu(device_of(fleet, 0).worker);
		psg_fleet_close(fleet);
	} else { /* it is closed first */
		psg_fleet_close(fleet);
		t_gpu_fail("");
		await_threads(before);
	}
	t_gpu_expect_nothing_left();
}
END_TEST

static void expect_at(const psg_fleet *fleet, psg_future *future, int32_t where)
{
	ck_assert_int_eq(psg_future_wait(future), PSG_OK);
	ck_assert_int_eq(psg_fleet_where(fleet, future), where);
	ck_assert_msg(strstr(psg_future_fallback(future), "did not answer") != NULL, "%s",
		      psg_future_fallback(future));
	psg_future_release(future);
}

/* Those that wait for it run elsewhere, but for one in the order of deadlines; and it finds nothing
 * of them when it answers. */
START_TEST(a_queue_goes_on)
{
	static const char *const devices[] = { "cuda:0", "cpu:1" };
	psg_fleet_options fleet_options = { .worker = options };
	psg_job_options late = { .deadline_ns = psg_now_ns() + 600 * PSG_SECOND };
	psg_fleet_stats stats = { .size = sizeof(stats) };
	psg_future *running, *ordered, *queued[5];
	psg_worker *first;
	psg_fleet *fleet;
	int before;

	begin();
	psg_worker_close(t_open(0));
	before = threads();
	fleet_options.worker.earliest_deadline_first = true;
	fleet_options.worker.lane_capacity = 7;
	ck_assert_int_eq(psg_fleet_open(devices, 2, &fleet_options, &fleet, NULL), PSG_OK);
	first = device_of(fleet, 0).worker;
	running = submit_relu(first, NULL);
	while (psg_future_poll(running) == PSG_FUTURE_QUEUED)
		t_sleep_ns(PSG_MILLISECOND);
	ordered = submit_relu(first, &late);
	for (int i = 0; i < 5; i++)
		queued[i] = submit_relu(first, NULL);
	expect(running, PSG_STALLED, "has not returned");
	expect(ordered, PSG_STALLED, "had not started");
	for (int i = 0; i < 5; i++)
		expect_at(fleet, queued[i], 1);
	ck_assert_uint_eq(device_of(fleet, 0).moved_out, 5);
	if (_i == 0) {
		const psg_job_options room = { .room_timeout_ns = 600 * PSG_SECOND };
		psg_future *all[7];

		t_gpu_fail("");
		await_health(first, PSG_OK);
		for (int i = 0; i < 7; i++) /* the slots come home */
			all[i] = submit_relu(first, &room);
		for (int i = 0; i < 7; i++)
			expect(all[i], PSG_OK, "");
		ck_assert_int_eq(psg_fleet_drain(fleet, -1), PSG_OK);
		ck_assert_int_eq(psg_fleet_stats_get(fleet, &stats), PSG_OK);
		ck_assert_uint_eq(stats.submitted, 14);
		ck_assert_uint_eq(stats.completed, 12);
		ck_assert_uint_eq(stats.failed, 2);
	}
	psg_fleet_close(fleet);
	t_gpu_fail("");
	await_threads(before);
	t_gpu_expect_nothing_left();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("stalls");
	TCase *tests = tcase_create("stalls");
	SRunner *runner;
	int failed;

	if (t_gpu_real())
		return 77;
	tcase_set_timeout(tests, 60);
	tcase_add_test(tests, its_jobs_end);
	tcase_add_test(tests, one_slot_comes_home);
	tcase_add_test(tests, who_waits_for_a_slot_is_told);
	tcase_add_test(tests, callbacks_and_queues_are_told);
	tcase_add_loop_test(tests, long_work_is_no_stall, 0, 2);
	tcase_add_test(tests, a_negative_limit_waits);
	tcase_add_loop_test(tests, closing_leaves_it_behind, 0, 2);
	tcase_add_loop_test(tests, all_engines_of_the_card, 0, 2);
	tcase_add_test(tests, samples_of_a_batch);
	tcase_add_loop_test(tests, a_fleet_goes_on_without_it, 0, 2);
	tcase_add_loop_test(tests, a_queue_goes_on, 0, 2);
	suite_add_tcase(suite, tests);
	runner = srunner_create(suite);
	srunner_set_fork_status(runner, CK_FORK); /* a process opens one driver */
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
