/* SPDX-License-Identifier: Apache-2.0 */
/* Workers and lanes: opening, order, bounds, threads that come and go, every way to end. */
#include "config.h"

#include "jobs/worker.h"
#include "jobs_util.h"

#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* --- opening --- */

START_TEST(the_device_refuses)
{
	psg_worker *worker = (psg_worker *)(uintptr_t)64; /* to be overwritten */
	psg_error error = PSG_ERROR_INIT;

	ck_assert_int_eq(psg_worker_open("abacus", NULL, &worker, &error), PSG_INVALID);
	ck_assert_ptr_null(worker);
	ck_assert_ptr_nonnull(strstr(error.message, "abacus"));
	ck_assert_int_eq(psg_worker_open(NULL, NULL, &worker, &error), PSG_INVALID);
}
END_TEST

START_TEST(the_capacity_is_bounded)
{
	psg_worker_options options = { .lane_capacity = 65536 };
	psg_worker *worker;
	psg_error error = PSG_ERROR_INIT;

	ck_assert_int_eq(psg_worker_open("reference", &options, &worker, &error), PSG_INVALID);
	ck_assert_ptr_nonnull(strstr(error.message, "65535"));
	psg_worker_close(t_open(65535));
	psg_worker_close(NULL);
}
END_TEST

START_TEST(it_says_what_it_runs_on)
{
	psg_worker *worker = t_open(0);

	ck_assert_str_eq(psg_worker_device(worker)->name, "reference");
	psg_worker_close(worker);
}
END_TEST

static psg_status look_at_thread(psg_device *device, void *arg, psg_error *error)
{
	sigset_t blocked;

	(void)error;
	if (strcmp(psg_device_info_get(device)->name, "reference") != 0 ||
	    pthread_sigmask(SIG_BLOCK, NULL, &blocked) != 0 || sigismember(&blocked, SIGTERM) != 1)
		return PSG_INVALID;
	return pthread_getname_np(pthread_self(), arg, 16) == 0 ? PSG_OK : PSG_INVALID;
}

START_TEST(the_thread_is_named_and_deaf)
{
	psg_worker_options options = { .name = "a name longer than the kernel keeps" };
	psg_worker *worker;
	char name[16];

	ck_assert_int_eq(psg_worker_open("reference", NULL, &worker, NULL), PSG_OK);
	ck_assert_int_eq(t_finish(t_submit(worker, look_at_thread, name, NULL)), PSG_OK);
	ck_assert_str_eq(name, "psg-reference");
	psg_worker_close(worker);
	ck_assert_int_eq(psg_worker_open("reference", &options, &worker, NULL), PSG_OK);
	ck_assert_int_eq(t_finish(t_submit(worker, look_at_thread, name, NULL)), PSG_OK);
	ck_assert_str_eq(name, "a name longer t");
	psg_worker_close(worker);
}
END_TEST

/* --- bounds --- */

/* Slots are in use from submission to release. */
START_TEST(full_at_exactly_the_capacity)
{
	static const size_t capacities[] = { 1, 2, 3, 4, 7, 8, 100, 1023 };

	for (size_t c = 0; c < T_COUNT(capacities); c++) {
		size_t n = capacities[c];
		psg_worker *worker = t_open(n);
		psg_future **futures = calloc(n, sizeof(psg_future *)),
			   *extra = (psg_future *)futures;
		psg_error error = PSG_ERROR_INIT;

		for (size_t i = 0; i < n; i++)
			futures[i] = t_submit(worker, t_nothing, NULL, NULL);
		ck_assert_int_eq(psg_submit_function(worker, t_nothing, NULL, NULL, &extra, &error),
				 PSG_FULL);
		ck_assert_ptr_null(extra);
		ck_assert_int_eq(error.code, PSG_FULL);
		ck_assert_uint_eq(t_stats(worker).refused_full, 1);
		ck_assert_int_eq(t_finish(futures[0]), PSG_OK);
		futures[0] = t_submit(worker, t_nothing, NULL, NULL);
		for (size_t i = 0; i < n; i++)
			ck_assert_int_eq(t_finish(futures[i]), PSG_OK);
		free(futures);
		psg_worker_close(worker);
	}
}
END_TEST

START_TEST(the_default_capacity)
{
	psg_worker *worker = t_open(0);
	t_gate gate;
	int n = 1;

	t_gate_close(&gate, worker);
	while (psg_submit_function(worker, t_nothing, NULL, NULL, NULL, NULL) == PSG_OK)
		n++;
	ck_assert_int_eq(n, 1023);
	t_gate_open(&gate);
	psg_worker_close(worker);
}
END_TEST

/* Many times round a small ring. */
START_TEST(slots_and_ring_go_round)
{
	psg_worker *worker = t_open(3);
	atomic_int ran = 0;

	for (int i = 0; i < 5000; i++) {
		psg_future *a = t_submit(worker, t_add_one, &ran, NULL);
		psg_future *b = t_submit(worker, t_add_one, &ran, NULL);

		ck_assert_int_eq(t_finish(b), PSG_OK);
		ck_assert_int_eq(t_finish(a), PSG_OK);
	}
	ck_assert_int_eq(ran, 10000);
	psg_worker_close(worker);
}
END_TEST

START_TEST(bad_priority)
{
	static const int32_t bad[] = { -2, 2, INT32_MIN, INT32_MAX };
	psg_worker *worker = t_open(0);

	for (size_t i = 0; i < T_COUNT(bad); i++) {
		psg_job_options options = { .priority = bad[i] };
		psg_future *future = (psg_future *)worker;

		ck_assert_int_eq(
			psg_submit_function(worker, t_nothing, NULL, &options, &future, NULL),
			PSG_INVALID);
		ck_assert_ptr_null(future);
	}
	psg_worker_close(worker);
}
END_TEST

/* --- order --- */

static struct {
	int n, order[64];
} played; /* written by the worker, read after draining */

static psg_status play(psg_device *device, void *arg, psg_error *error)
{
	(void)device;
	(void)error;
	played.order[played.n++] = (int)(intptr_t)arg;
	return PSG_OK;
}

static void submit_number(psg_worker *worker, int number, int32_t priority)
{
	psg_job_options options = { .priority = priority };

	ck_assert_int_eq(
		psg_submit_function(worker, play, (void *)(intptr_t)number, &options, NULL, NULL),
		PSG_OK);
}

START_TEST(priorities_go_first_and_lanes_in_order)
{
	static const int expected[] = { 3, 6, 1, 4, 7, 2, 5, 8 };
	psg_worker *worker = t_open(0);
	t_gate gate;

	played.n = 0;
	t_gate_close(&gate, worker);
	submit_number(worker, 1, 0);
	submit_number(worker, 2, -1);
	submit_number(worker, 3, 1);
	submit_number(worker, 4, 0);
	submit_number(worker, 5, -1);
	submit_number(worker, 6, 1);
	submit_number(worker, 7, 0);
	submit_number(worker, 8, -1);
	t_gate_open(&gate);
	ck_assert_int_eq(psg_worker_drain(worker, -1), PSG_OK);
	ck_assert_int_eq(played.n, (int)T_COUNT(expected));
	ck_assert_mem_eq(played.order, expected, sizeof(expected));
	psg_worker_close(worker);
}
END_TEST

static psg_status play_and_push(psg_device *device, void *arg, psg_error *error)
{
	psg_worker *worker = arg;

	(void)device;
	(void)error;
	played.order[played.n++] = 100;
	submit_number(worker, 101, 1);
	return PSG_OK;
}

/* Also when it is put there while the worker has others in its hands, and without long jobs. */
START_TEST(a_late_priority_job_goes_first)
{
	psg_worker *worker = t_open(0);
	psg_future *last;
	t_gate gate;

	played.n = 0;
	t_gate_close(&gate, worker);
	submit_number(worker, 0, 0);
	ck_assert_int_eq(psg_submit_function(worker, play_and_push, worker, NULL, NULL, NULL),
			 PSG_OK);
	for (int i = 1; i < 19; i++)
		submit_number(worker, i, 0);
	last = t_submit(worker, play, (void *)19, NULL);
	t_gate_open(&gate);
	ck_assert_int_eq(t_finish(last), PSG_OK);
	ck_assert_int_eq(played.n, 22);
	ck_assert_int_eq(played.order[1], 100);
	ck_assert_int_eq(played.order[2], 101);
	ck_assert_int_eq(played.order[3], 1);
	psg_worker_close(worker);
}
END_TEST

static psg_status play_and_push_normal(psg_device *device, void *arg, psg_error *error)
{
	psg_worker *worker = arg;

	(void)device;
	(void)error;
	played.order[played.n++] = 100;
	submit_number(worker, 101, 0);
	return PSG_OK;
}

START_TEST(background_waits_for_a_late_normal_job)
{
	psg_worker *worker = t_open(0);
	psg_job_options background = { .priority = -1 };
	psg_future *last;
	t_gate gate;

	played.n = 0;
	t_gate_close(&gate, worker);
	ck_assert_int_eq(
		psg_submit_function(worker, play_and_push_normal, worker, &background, NULL, NULL),
		PSG_OK);
	last = t_submit(worker, play, (void *)1, &background);
	t_gate_open(&gate);
	ck_assert_int_eq(t_finish(last), PSG_OK);
	ck_assert_int_eq(played.n, 3);
	ck_assert_int_eq(played.order[0], 100);
	ck_assert_int_eq(played.order[1], 101);
	ck_assert_int_eq(played.order[2], 1);
	psg_worker_close(worker);
}
END_TEST

struct producer {
	psg_worker *worker;
	int first, n;
};

static void *produce(void *arg)
{
	struct producer *producer = arg;

	for (int i = 0; i < producer->n; i++)
		submit_number(producer->worker, producer->first + i, 0);
	return NULL;
}

/* A lane with one job does not wait for one with ten. */
START_TEST(lanes_take_turns)
{
	psg_worker *worker = t_open(0);
	struct producer many = { worker, 0, 10 }, few = { worker, 50, 3 };
	pthread_t thread;
	t_gate gate;
	int position = 0;

	played.n = 0;
	t_gate_close(&gate, worker);
	(void)produce(&many);
	ck_assert_int_eq(pthread_create(&thread, NULL, produce, &few), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	t_gate_open(&gate);
	ck_assert_int_eq(psg_worker_drain(worker, -1), PSG_OK);
	ck_assert_int_eq(played.n, 13);
	for (int i = 0; i < played.n; i++)
		if (played.order[i] == 52)
			position = i;
	ck_assert_int_le(position, 6); /* three turns of two lanes, and one before */
	psg_worker_close(worker);
}
END_TEST

/* --- the worker's own thread --- */

struct inside {
	psg_worker *worker;
	psg_future *future;
	psg_status submit, full, wait, wait_for, poll, drain;
	atomic_int ran;
};

static psg_status submit_inside(psg_device *device, void *arg, psg_error *error)
{
	struct inside *inside = arg;

	(void)device;
	inside->submit = psg_submit_function(inside->worker, t_add_one, &inside->ran, NULL,
					     &inside->future, error);
	inside->full =
		psg_submit_function(inside->worker, t_add_one, &inside->ran, NULL, NULL, NULL);
	inside->wait = psg_future_wait(inside->future);
	inside->wait_for = psg_future_wait_for(inside->future, PSG_SECOND);
	inside->poll = psg_future_wait_for(inside->future, 0);
	inside->drain = psg_worker_drain(inside->worker, -1);
	return PSG_OK;
}

/* It never waits for itself: not in a full lane, not for what only it can do. */
START_TEST(submitting_from_within)
{
	psg_worker *worker = t_open(1);
	struct inside inside = { .worker = worker };

	ck_assert_int_eq(t_finish(t_submit(worker, submit_inside, &inside, NULL)), PSG_OK);
	ck_assert_int_eq(inside.submit, PSG_OK);
	ck_assert_int_eq(inside.full, PSG_FULL);
	ck_assert_int_eq(inside.wait, PSG_INVALID);
	ck_assert_int_eq(inside.wait_for, PSG_INVALID);
	ck_assert_int_eq(inside.poll, PSG_TIMED_OUT);
	ck_assert_int_eq(inside.drain, PSG_INVALID);
	ck_assert_int_eq(t_finish(inside.future), PSG_OK);
	ck_assert_int_eq(inside.ran, 1);
	psg_worker_close(worker);
}
END_TEST

/* --- threads that come and go --- */

static uint32_t t_lanes_made(const psg_worker *worker)
{
	return atomic_load(&worker->lanes.n);
}

static void *submit_and_end(void *arg)
{
	ck_assert_int_eq(t_finish(t_submit(arg, t_nothing, NULL, NULL)), PSG_OK);
	return NULL;
}

START_TEST(ended_threads_give_their_lanes_back)
{
	psg_worker *worker = t_open(4);
	pthread_t threads[8];

	for (int round = 0; round < 125; round++) {
		for (size_t i = 0; i < T_COUNT(threads); i++)
			ck_assert_int_eq(pthread_create(&threads[i], NULL, submit_and_end, worker),
					 0);
		for (size_t i = 0; i < T_COUNT(threads); i++)
			ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
	}
	ck_assert_uint_eq(t_stats(worker).lanes, 0);
	ck_assert_uint_eq(t_stats(worker).submitted, 1000);
	/* Slots come home a moment after the last wait; eight at a time need few more than eight.
	 */
	ck_assert_uint_le(t_lanes_made(worker), 32);
	psg_worker_close(worker);
}
END_TEST

static void *submit_and_hand_over(void *arg)
{
	return t_submit(arg, t_nothing, NULL, NULL);
}

/* Its future is still held: the lane waits, its next owner has all slots. */
START_TEST(a_lane_in_use_is_not_given_on)
{
	psg_worker *worker = t_open(1);
	pthread_t thread;
	void *future, *second;

	ck_assert_int_eq(pthread_create(&thread, NULL, submit_and_hand_over, worker), 0);
	ck_assert_int_eq(pthread_join(thread, &future), 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, submit_and_hand_over, worker), 0);
	ck_assert_int_eq(pthread_join(thread, &second), 0);
	ck_assert_int_eq(t_finish(future), PSG_OK);
	ck_assert_int_eq(t_finish(second), PSG_OK);
	psg_worker_close(worker);
}
END_TEST

struct leaver {
	psg_worker *worker;
	atomic_int *ran;
};

static void *submit_and_leave(void *arg)
{
	const struct leaver *leaver = arg;

	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(psg_submit_function(leaver->worker, t_add_one, leaver->ran, NULL,
						     NULL, NULL),
				 PSG_OK);
	return NULL;
}

/* What a thread has queued runs after its end, and its lane is free for others only then. */
START_TEST(a_thread_ends_before_its_jobs)
{
	atomic_int ran = 0;
	struct leaver leaver = { t_open(4), &ran };
	pthread_t thread;
	t_gate gate;

	t_gate_close(&gate, leaver.worker);
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(pthread_create(&thread, NULL, submit_and_leave, &leaver), 0);
		ck_assert_int_eq(pthread_join(thread, NULL), 0);
	}
	ck_assert_uint_eq(t_lanes_made(leaver.worker), 4); /* the gate's, too */
	ck_assert_uint_eq(t_stats(leaver.worker).lanes, 1);
	t_gate_open(&gate);
	while (t_stats(leaver.worker).queued > 0)
		t_sleep_ns(PSG_MILLISECOND / 10);
	ck_assert_int_eq(ran, 12);
	ck_assert_int_eq(pthread_create(&thread, NULL, submit_and_leave, &leaver), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_uint_eq(t_lanes_made(leaver.worker), 4);
	ck_assert_int_eq(psg_worker_drain(leaver.worker, -1), PSG_OK);
	ck_assert_int_eq(ran, 16);
	psg_worker_close(leaver.worker);
}
END_TEST

struct late {
	psg_worker *worker;
	sem_t submitted, closed;
};

static void *outlive_the_worker(void *arg)
{
	struct late *late = arg;
	psg_future *future = t_submit(late->worker, t_nothing, NULL, NULL);

	(void)sem_post(&late->submitted);
	while (sem_wait(&late->closed) != 0)
		;
	/* The worker and its device are gone; the future is not. */
	(void)psg_future_wait(future);
	psg_future_release(future);
	return NULL;
}

START_TEST(a_thread_may_outlive_the_worker)
{
	for (int i = 0; i < 20; i++) {
		struct late late = { .worker = t_open(0) };
		pthread_t thread;

		(void)sem_init(&late.submitted, 0, 0);
		(void)sem_init(&late.closed, 0, 0);
		ck_assert_int_eq(pthread_create(&thread, NULL, outlive_the_worker, &late), 0);
		while (sem_wait(&late.submitted) != 0)
			;
		psg_worker_close(late.worker);
		(void)sem_post(&late.closed);
		ck_assert_int_eq(pthread_join(thread, NULL), 0);
	}
}
END_TEST

/* The same address may be another worker; the thread's cached lane must know. */
START_TEST(a_new_worker_at_an_old_address)
{
	atomic_int ran = 0;

	for (int i = 0; i < 50; i++) {
		psg_worker *worker = t_open(2);

		ck_assert_int_eq(t_finish(t_submit(worker, t_add_one, &ran, NULL)), PSG_OK);
		psg_worker_close(worker);
	}
	ck_assert_int_eq(ran, 50);
}
END_TEST

START_TEST(one_thread_and_several_workers)
{
	psg_worker *workers[5];
	atomic_int ran = 0;

	for (size_t i = 0; i < T_COUNT(workers); i++)
		workers[i] = t_open(8);
	for (int round = 0; round < 20; round++)
		for (size_t i = 0; i < T_COUNT(workers); i++)
			ck_assert_int_eq(t_finish(t_submit(workers[i], t_add_one, &ran, NULL)),
					 PSG_OK);
	ck_assert_int_eq(ran, 100);
	for (size_t i = 0; i < T_COUNT(workers); i++) {
		ck_assert_uint_eq(t_stats(workers[i]).lanes, 1);
		psg_worker_close(workers[i]);
	}
}
END_TEST

/* --- ending --- */

START_TEST(drain_finishes_what_is_queued)
{
	psg_worker *worker = t_open(0);
	atomic_int ran = 0;
	psg_error error = PSG_ERROR_INIT;
	psg_future *future = NULL;
	t_gate gate;

	t_gate_close(&gate, worker);
	for (int i = 0; i < 50; i++)
		ck_assert_int_eq(psg_submit_function(worker, t_add_one, &ran, NULL, NULL, NULL),
				 PSG_OK);
	ck_assert_int_eq(psg_worker_drain(worker, 2 * PSG_MILLISECOND), PSG_TIMED_OUT);
	ck_assert_int_eq(psg_submit_function(worker, t_add_one, &ran, NULL, &future, &error),
			 PSG_SHUTDOWN);
	ck_assert_int_eq(error.code, PSG_SHUTDOWN);
	t_gate_open(&gate);
	ck_assert_int_eq(psg_worker_drain(worker, -1), PSG_OK);
	ck_assert_int_eq(psg_worker_drain(worker, 0), PSG_OK);
	ck_assert_int_eq(ran, 50);
	ck_assert_uint_eq(t_stats(worker).queued, 0);
	psg_worker_close(worker);
}
END_TEST

/* Queued ones end at once, though the worker is held up; the running one ends as it likes. */
START_TEST(abort_ends_what_is_queued)
{
	psg_worker *worker = t_open(0);
	atomic_int ran = 0, done = 0;
	psg_job_options options = { .done = t_count_done, .user = &done };
	psg_future *futures[20];
	psg_error error = PSG_ERROR_INIT;
	t_gate gate;

	t_gate_close(&gate, worker);
	for (size_t i = 0; i < T_COUNT(futures); i++)
		futures[i] = t_submit(worker, t_add_one, &ran, &options);
	psg_worker_abort(worker);
	for (size_t i = 0; i < T_COUNT(futures); i++) {
		ck_assert_int_eq(psg_future_wait_for(futures[i], 0), PSG_SHUTDOWN);
		ck_assert_int_eq(psg_future_error(futures[i], &error), PSG_SHUTDOWN);
		psg_future_release(futures[i]);
	}
	ck_assert_int_eq(done, (int)T_COUNT(futures));
	ck_assert_int_eq(psg_submit_function(worker, t_nothing, NULL, NULL, NULL, NULL),
			 PSG_SHUTDOWN);
	t_gate_open(&gate);
	ck_assert_int_eq(psg_worker_drain(worker, -1), PSG_OK);
	ck_assert_int_eq(ran, 0);
	ck_assert_uint_eq(t_stats(worker).failed, T_COUNT(futures));
	psg_worker_close(worker);
	ck_assert_int_eq(done, (int)T_COUNT(futures));
}
END_TEST

static void *open_later(void *arg)
{
	t_sleep_ns(20 * PSG_MILLISECOND);
	(void)sem_post(&((t_gate *)arg)->open);
	return NULL;
}

START_TEST(close_with_queued_running_and_held)
{
	psg_worker *worker = t_open(0);
	atomic_int ran = 0, done = 0;
	psg_job_options options = { .done = t_count_done, .user = &done };
	psg_future *futures[10], *before = t_submit(worker, t_nothing, NULL, NULL);
	pthread_t thread;
	t_gate gate;

	t_gate_close(&gate, worker);
	for (size_t i = 0; i < T_COUNT(futures); i++)
		futures[i] = t_submit(worker, t_add_one, &ran, &options);
	ck_assert_int_eq(pthread_create(&thread, NULL, open_later, &gate), 0);
	psg_worker_close(worker);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_int_eq(ran, 0);
	ck_assert_int_eq(done, (int)T_COUNT(futures));
	ck_assert_int_eq(t_finish(before), PSG_OK);
	ck_assert_int_eq(t_finish(gate.future), PSG_OK);
	for (size_t i = 0; i < T_COUNT(futures); i++)
		ck_assert_int_eq(t_finish(futures[i]), PSG_SHUTDOWN);
}
END_TEST

/* Drained or not, each job of each life ends once. */
START_TEST(a_thousand_lives)
{
	for (int i = 0; i < 1000; i++) {
		psg_worker *worker = t_open(4);
		atomic_int ran = 0, done = 0;
		psg_job_options options = { .done = t_count_done, .user = &done };

		for (int k = 0; k < 3; k++)
			ck_assert_int_eq(
				psg_submit_function(worker, t_add_one, &ran, &options, NULL, NULL),
				PSG_OK);
		if (i % 2 == 0) {
			ck_assert_int_eq(psg_worker_drain(worker, -1), PSG_OK);
			ck_assert_int_eq(ran, 3);
		}
		psg_worker_close(worker);
		ck_assert_int_eq(done, 3);
	}
}
END_TEST

static psg_status abort_inside(psg_device *device, void *arg, psg_error *error)
{
	(void)device;
	(void)error;
	psg_worker_abort(arg);
	return PSG_OK;
}

START_TEST(abort_from_within)
{
	psg_worker *worker = t_open(0);
	psg_future *first, *second;
	t_gate gate;

	t_gate_close(&gate, worker);
	first = t_submit(worker, abort_inside, worker, NULL);
	second = t_submit(worker, t_nothing, NULL, NULL);
	t_gate_open(&gate);
	ck_assert_int_eq(t_finish(first), PSG_OK);
	ck_assert_int_eq(t_finish(second), PSG_SHUTDOWN);
	psg_worker_close(worker);
}
END_TEST

static void resubmit(psg_future *future, void *user)
{
	struct inside *inside = user;

	(void)future;
	inside->submit = psg_submit_function(inside->worker, t_nothing, NULL, NULL, NULL, NULL);
}

START_TEST(a_callback_cannot_keep_a_worker_alive)
{
	psg_worker *worker = t_open(0);
	struct inside inside = { .worker = worker };
	psg_job_options options = { .done = resubmit, .user = &inside };
	t_gate gate;

	t_gate_close(&gate, worker);
	ck_assert_int_eq(psg_submit_function(worker, t_nothing, NULL, &options, NULL, NULL),
			 PSG_OK);
	psg_worker_abort(worker);
	ck_assert_int_eq(inside.submit, PSG_SHUTDOWN);
	t_gate_open(&gate);
	psg_worker_close(worker);
}
END_TEST

/* --- fork --- */

static int child(psg_worker *worker, psg_future *queued, psg_future *done)
{
	psg_future *future;
	psg_error error = PSG_ERROR_INIT;

	if (psg_submit_function(worker, t_nothing, NULL, NULL, &future, &error) != PSG_FORKED)
		return 1;
	if (error.code != PSG_FORKED || future != NULL)
		return 2;
	if (psg_future_wait(queued) != PSG_FORKED ||
	    psg_future_wait_for(queued, PSG_SECOND) != PSG_FORKED)
		return 3;
	if (psg_future_wait(done) != PSG_OK)
		return 4;
	if (psg_future_error(queued, NULL) != PSG_FORKED)
		return 5;
	if (psg_worker_drain(worker, -1) != PSG_FORKED)
		return 6;
	psg_worker_abort(worker);
	psg_future_release(queued);
	psg_future_release(done);
	psg_worker_close(worker);
#ifndef PSG_TSAN /* which knows no threads in a forked child */
	/* The child may have a worker of its own. */
	worker = t_open(0);
	if (t_finish(t_submit(worker, t_nothing, NULL, NULL)) != PSG_OK)
		return 7;
	psg_worker_close(worker);
#endif
	return 0;
}

START_TEST(a_forked_child_is_told)
{
	psg_worker *worker = t_open(0);
	atomic_int calls = 0;
	psg_job_options options = { .done = t_count_done, .user = &calls };
	psg_future *done = t_submit(worker, t_nothing, NULL, NULL), *queued;
	t_gate gate;
	int status;
	pid_t pid;

	ck_assert_int_eq(psg_future_wait(done), PSG_OK);
	t_gate_close(&gate, worker);
	queued = t_submit(worker, t_nothing, NULL, &options);
	pid = fork();
	if (pid == 0) {
		int failed = child(worker, queued, done);

		_exit(failed == 0 && calls == 0 ? 0 : 10 + failed);
	}
	ck_assert_int_gt(pid, 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), 0);
	/* The parent has noticed nothing. */
	t_gate_open(&gate);
	ck_assert_int_eq(t_finish(queued), PSG_OK);
	ck_assert_int_eq(t_finish(done), PSG_OK);
	ck_assert_int_eq(calls, 1);
	psg_worker_close(worker);
}
END_TEST

/* --- idle --- */

static int64_t cpu_ns(void)
{
	struct timespec time;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
	return (int64_t)time.tv_sec * PSG_SECOND + time.tv_nsec;
}

/* All threads of the process: the worker, its keeper of deadlines, and this one, asleep. */
START_TEST(idle_costs_nothing)
{
	psg_worker *worker = t_open(0);
	int64_t before;

	ck_assert_int_eq(t_finish(t_submit(worker, t_nothing, NULL, NULL)), PSG_OK);
	t_sleep_ns(20 * PSG_MILLISECOND);
	before = cpu_ns();
	t_sleep_ns(300 * PSG_MILLISECOND);
	ck_assert_int_lt(cpu_ns() - before, 5 * PSG_MILLISECOND);
	psg_worker_close(worker);
}
END_TEST

START_TEST(counters)
{
	psg_worker *worker = t_open(2);
	psg_worker_stats stats;
	psg_job_options late = { .deadline_ns = 1 };
	t_gate gate;
	psg_future *future;

	t_gate_close(&gate, worker);
	future = t_submit(worker, t_nothing, NULL, NULL);
	ck_assert_int_eq(psg_submit_function(worker, t_nothing, NULL, NULL, NULL, NULL), PSG_FULL);
	stats = t_stats(worker);
	ck_assert_uint_eq(stats.submitted, 2);
	ck_assert_uint_eq(stats.queued, 2);
	ck_assert_uint_eq(stats.lanes, 1);
	ck_assert_int_eq(psg_future_cancel(future), PSG_CANCEL_REMOVED);
	psg_future_release(future);
	t_gate_open(&gate);
	ck_assert_int_eq(t_finish(t_submit(worker, t_nothing, NULL, &late)), PSG_TIMED_OUT);
	ck_assert_int_eq(psg_worker_drain(worker, -1), PSG_OK);
	stats = t_stats(worker);
	ck_assert_uint_eq(stats.submitted, 3);
	ck_assert_uint_eq(stats.completed, 1);
	ck_assert_uint_eq(stats.cancelled, 1);
	ck_assert_uint_eq(stats.expired, 1);
	ck_assert_uint_eq(stats.failed, 0);
	ck_assert_uint_eq(stats.refused_full, 1);
	ck_assert_uint_eq(stats.queued, 0);
	psg_worker_close(worker);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		the_device_refuses,
		the_capacity_is_bounded,
		it_says_what_it_runs_on,
		the_thread_is_named_and_deaf,
		full_at_exactly_the_capacity,
		the_default_capacity,
		slots_and_ring_go_round,
		bad_priority,
		priorities_go_first_and_lanes_in_order,
		a_late_priority_job_goes_first,
		background_waits_for_a_late_normal_job,
		lanes_take_turns,
		submitting_from_within,
		ended_threads_give_their_lanes_back,
		a_lane_in_use_is_not_given_on,
		a_thread_ends_before_its_jobs,
		a_thread_may_outlive_the_worker,
		a_new_worker_at_an_old_address,
		one_thread_and_several_workers,
		drain_finishes_what_is_queued,
		abort_ends_what_is_queued,
		close_with_queued_running_and_held,
		a_thousand_lives,
		abort_from_within,
		a_callback_cannot_keep_a_worker_alive,
		a_forked_child_is_told,
		idle_costs_nothing,
		counters,
	};

	return t_run("workers", tests, T_COUNT(tests));
}
