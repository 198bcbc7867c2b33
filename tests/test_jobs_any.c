/* SPDX-License-Identifier: Apache-2.0 */
/* Waiting for any and for all of several futures. */
#include "config.h"

#include "jobs/jobs.h"
#include "jobs_util.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#define NEVER INT64_MAX

static psg_future *promise(void)
{
	psg_future *future;

	ck_assert_int_eq(psgi_promise_create(NULL, NULL, NULL, &future, NULL), PSG_OK);
	return future;
}

static void keep(psg_future *future, psg_status status)
{
	psgi_promise_complete(future, status, NULL, NULL, NULL);
}

static void check_any(psg_future *const *futures, size_t n, size_t expected)
{
	size_t which = 99;

	ck_assert_int_eq(psg_future_wait_any(futures, n, NEVER, &which), PSG_OK);
	ck_assert_uint_eq(which, expected);
}

static void check_no(psg_future *const *futures, size_t n, int64_t deadline_ns, psg_status expected)
{
	size_t which = 99;

	ck_assert_int_eq(psg_future_wait_any(futures, n, deadline_ns, &which), expected);
	ck_assert_uint_eq(which, n);
}

START_TEST(the_lowest_that_has_ended)
{
	psg_future *a = promise(), *b = promise(), *c = promise();
	psg_future *const set[] = { NULL, a, b, c, b, NULL };

	keep(c, PSG_FORMAT);
	check_any(set, T_COUNT(set), 3);
	keep(b, PSG_OK);
	check_any(set, T_COUNT(set), 2);
	check_any(set, 3, 2);
	check_no(set, 2, 0, PSG_TIMED_OUT);
	ck_assert_int_eq(psg_future_wait_all(set, T_COUNT(set), 0), PSG_TIMED_OUT);
	ck_assert_int_eq(psg_future_wait_all(set + 2, 3, 0), PSG_OK);
	keep(a, PSG_OK);
	check_any(set, T_COUNT(set), 1);
	/* Also of those that failed: the wait went well. */
	ck_assert_int_eq(psg_future_wait_all(set, T_COUNT(set), NEVER), PSG_OK);
	psg_future_release(a);
	psg_future_release(b);
	psg_future_release(c);
}
END_TEST

START_TEST(none_at_all)
{
	psg_future *const nothing[] = { NULL, NULL };

	check_no(NULL, 0, NEVER, PSG_INVALID);
	check_no(nothing, 2, NEVER, PSG_INVALID);
	ck_assert_int_eq(psg_future_wait_all(NULL, 0, NEVER), PSG_OK);
	ck_assert_int_eq(psg_future_wait_all(nothing, 2, NEVER), PSG_OK);
}
END_TEST

START_TEST(none_in_time)
{
	psg_future *const set[] = { promise(), promise() };
	const int64_t deadlines[] = { 0, -7, INT64_MIN, psg_now_ns() - 1, psg_now_ns() + 1 };

	for (size_t i = 0; i < T_COUNT(deadlines); i++) {
		check_no(set, 2, deadlines[i], PSG_TIMED_OUT);
		ck_assert_int_eq(psg_future_wait_all(set, 2, deadlines[i]), PSG_TIMED_OUT);
	}
	for (size_t i = 0; i < 2; i++) {
		keep(set[i], PSG_OK);
		psg_future_release(set[i]);
	}
}
END_TEST

/* --- while others complete them --- */

struct waiter {
	psg_future *const *set;
	size_t n, which;
	psg_status any, all;
	atomic_bool any_over;
};

static void *wait_any_then_all(void *arg)
{
	struct waiter *self = arg;

	self->any = psg_future_wait_any(self->set, self->n, NEVER, &self->which);
	atomic_store(&self->any_over, true);
	self->all = psg_future_wait_all(self->set, self->n, NEVER);
	return NULL;
}

/* More threads than there are places to sleep at; jobs of a worker and promises. */
START_TEST(all_waiters_wake)
{
	enum { THREADS = 30 };
	psg_worker *worker = t_open(0);
	struct waiter waiters[THREADS];
	pthread_t threads[THREADS];
	psg_future *set[3];
	t_gate gate;

	t_gate_close(&gate, worker);
	set[0] = promise();
	set[1] = t_submit(worker, t_nothing, NULL, NULL);
	set[2] = promise();
	for (size_t i = 0; i < THREADS; i++) {
		waiters[i] = (struct waiter){ .set = set, .n = 3 };
		ck_assert_int_eq(pthread_create(&threads[i], NULL, wait_any_then_all, &waiters[i]),
				 0);
	}
	t_sleep_ns(10 * PSG_MILLISECOND); /* most of them sleep now; right either way */
	for (size_t i = 0; i < THREADS; i++)
		ck_assert(!atomic_load(&waiters[i].any_over));
	keep(set[2], PSG_FORMAT);
	for (size_t i = 0; i < THREADS; i++)
		while (!atomic_load(&waiters[i].any_over))
			(void)sched_yield();
	t_gate_open(&gate);
	keep(set[0], PSG_OK);
	for (size_t i = 0; i < THREADS; i++) {
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
		ck_assert_int_eq(waiters[i].any, PSG_OK);
		ck_assert_uint_eq(waiters[i].which, 2);
		ck_assert_int_eq(waiters[i].all, PSG_OK);
	}
	for (size_t i = 0; i < 3; i++)
		psg_future_release(set[i]);
	psg_worker_close(worker);
}
END_TEST

/* One thread waits on the same futures by itself while another waits for both. */
START_TEST(single_waits_beside_it)
{
	psg_future *const set[] = { promise(), promise() };
	struct waiter waiter = { .set = set, .n = 2 };
	pthread_t thread;

	ck_assert_int_eq(pthread_create(&thread, NULL, wait_any_then_all, &waiter), 0);
	ck_assert_int_eq(psg_future_wait_for(set[0], 10 * PSG_MILLISECOND), PSG_TIMED_OUT);
	keep(set[1], PSG_OK);
	keep(set[0], PSG_OK);
	ck_assert_int_eq(psg_future_wait(set[0]), PSG_OK);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_int_eq(waiter.any, PSG_OK);
	ck_assert_int_eq(waiter.all, PSG_OK);
	psg_future_release(set[0]);
	psg_future_release(set[1]);
}
END_TEST

struct late {
	psg_future *const *set;
	size_t n;
};

static void *keep_from_behind(void *arg)
{
	struct late *late = arg;

	t_sleep_ns(5 * PSG_MILLISECOND); /* so that it is waited for; right either way */
	for (size_t i = late->n; i-- > 0;)
		keep(late->set[i], PSG_OK);
	return NULL;
}

/* Each ends before the one that the loop found before. */
START_TEST(sixty_thousand)
{
	enum { N = 65536 };
	psg_future **set = calloc(N, sizeof(psg_future *));
	struct late late = { set, N };
	pthread_t thread;
	size_t left = N, which;

	for (size_t i = 0; i < N; i++)
		set[i] = promise();
	check_no(set, N, psg_now_ns() + PSG_MILLISECOND, PSG_TIMED_OUT);
	ck_assert_int_eq(pthread_create(&thread, NULL, keep_from_behind, &late), 0);
	for (int i = 0; i < 100; i++) {
		ck_assert_int_eq(psg_future_wait_any(set, left, NEVER, &which), PSG_OK);
		ck_assert_int_eq(psg_future_poll(set[which]), PSG_FUTURE_DONE);
		if (which == 0)
			break;
		left = which;
	}
	ck_assert_int_eq(psg_future_wait_all(set, N, NEVER), PSG_OK);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	for (size_t i = 0; i < N; i++)
		psg_future_release(set[i]);
	free(set);
}
END_TEST

/* --- where one may not wait --- */

struct inside {
	psg_future *own[2];
	psg_status any[2], all[2];
	size_t which[2];
};

static psg_status wait_inside(psg_device *device, void *arg, psg_error *error)
{
	struct inside *inside = arg;
	psg_future *ended = promise();
	psg_future *const set[] = { inside->own[0], inside->own[1], ended };

	(void)device;
	(void)error;
	inside->any[0] = psg_future_wait_any(set, 3, NEVER, &inside->which[0]);
	inside->all[0] = psg_future_wait_all(set, 3, NEVER);
	(void)psg_future_cancel(inside->own[0]);
	(void)psg_future_cancel(inside->own[1]);
	keep(ended, PSG_OK);
	inside->any[1] = psg_future_wait_any(set, 3, NEVER, &inside->which[1]);
	inside->all[1] = psg_future_wait_all(set, 3, NEVER);
	psg_future_release(ended);
	return PSG_OK;
}

START_TEST(on_the_worker_itself)
{
	psg_worker *worker = t_open(0);
	struct inside inside = { .which = { 99, 99 } };
	psg_future *future;
	t_gate gate;

	t_gate_close(&gate, worker);
	future = t_submit(worker, wait_inside, &inside, NULL);
	inside.own[0] = t_submit(worker, t_nothing, NULL, NULL);
	inside.own[1] = t_submit(worker, t_nothing, NULL, NULL);
	t_gate_open(&gate);
	ck_assert_int_eq(t_finish(future), PSG_OK);
	ck_assert_int_eq(inside.any[0], PSG_INVALID);
	ck_assert_uint_eq(inside.which[0], 3);
	ck_assert_int_eq(inside.all[0], PSG_INVALID);
	ck_assert_int_eq(inside.any[1], PSG_OK);
	ck_assert_uint_eq(inside.which[1], 0);
	ck_assert_int_eq(inside.all[1], PSG_OK);
	psg_future_release(inside.own[0]);
	psg_future_release(inside.own[1]);
	psg_worker_close(worker);
}
END_TEST

struct called {
	psg_status any, all;
	size_t which;
};

static void wait_in_callback(psg_future *future, void *user)
{
	psg_future *const set[] = { NULL, future };
	struct called *called = user;

	called->any = psg_future_wait_any(set, 2, NEVER, &called->which);
	called->all = psg_future_wait_all(set, 2, NEVER);
}

START_TEST(in_its_callback_it_has_ended)
{
	psg_worker *worker = t_open(0);
	struct called called = { .which = 99 };
	psg_job_options options = { .done = wait_in_callback, .user = &called };

	ck_assert_int_eq(t_finish(t_submit(worker, t_nothing, NULL, &options)), PSG_OK);
	ck_assert_int_eq(called.any, PSG_OK);
	ck_assert_uint_eq(called.which, 1);
	ck_assert_int_eq(called.all, PSG_OK);
	psg_worker_close(worker);
}
END_TEST

static int wait_in_child(psg_future *const *set)
{
	size_t which;

	if (psg_future_wait_any(set, 2, NEVER, &which) != PSG_OK || which != 1)
		return 1;
	if (psg_future_wait_any(set, 1, NEVER, &which) != PSG_FORKED)
		return 2;
	return psg_future_wait_all(set, 2, NEVER) == PSG_FORKED ? 0 : 3;
}

START_TEST(after_a_fork)
{
	psg_future *const set[] = { promise(), promise() };
	int status;
	pid_t child;

	keep(set[1], PSG_OK);
	child = fork();
	ck_assert_int_ge(child, 0);
	if (child == 0)
		_exit(wait_in_child(set));
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	keep(set[0], PSG_OK);
	psg_future_release(set[0]);
	psg_future_release(set[1]);
}
END_TEST

/* --- everything at once --- */

#define THREADS 8
#define ROUNDS 300
#define SET 24   /* futures that a thread waits for */
#define SHELF 32 /* futures of all threads, each with a handle of its own */

static struct {
	psg_worker *worker;
	psg_future *_Atomic shelf[SHELF];
	atomic_int ended[PSG_FORKED + 1];
	atomic_int timed_out;
} all;

static uint32_t t_random(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

/* Another thread's, a promise that another thread will keep, or a job of this thread's. */
static psg_future *find_one(uint32_t *seed)
{
	psg_future *_Atomic *place = &all.shelf[t_random(seed) % SHELF];
	psg_job_options options = { 0 };
	psg_future *future = atomic_exchange(place, NULL);

	if (future != NULL)
		return future;
	if (t_random(seed) % 4 == 0)
		options.deadline_ns = psg_now_ns() + t_random(seed) % 200000;
	future = t_submit(all.worker, t_nothing, NULL, &options);
	psg_future_release(atomic_exchange(place, psg_future_ref(future)));
	if (t_random(seed) % 8 == 0)
		(void)psg_future_cancel(future);
	return future;
}

/* Waits until all are gone, with a limit of time now and then. */
static void use_up(psg_future **set, size_t n, uint32_t *seed)
{
	for (size_t left = n; left > 0;) {
		bool limit = t_random(seed) % 4 == 0;
		int64_t deadline = psg_now_ns() + t_random(seed) % 100000;
		size_t which;
		psg_status status = psg_future_wait_any(set, n, limit ? deadline : NEVER, &which);

		if (status == PSG_TIMED_OUT) {
			ck_assert(limit && psg_now_ns() >= deadline);
			atomic_fetch_add(&all.timed_out, 1);
			continue;
		}
		ck_assert_int_eq(status, PSG_OK);
		ck_assert_uint_lt(which, n);
		ck_assert_int_eq(psg_future_poll(set[which]), PSG_FUTURE_DONE);
		atomic_fetch_add(&all.ended[psg_future_error(set[which], NULL)], 1);
		psg_future_release(set[which]);
		set[which] = NULL;
		left--;
	}
}

static void *live(void *arg)
{
	uint32_t seed = (uint32_t)(uintptr_t)arg;

	for (int round = 0; round < ROUNDS; round++) {
		psg_future *set[SET];

		for (size_t i = 0; i < SET; i++)
			set[i] = find_one(&seed);
		if (round % 3 == 0)
			ck_assert_int_eq(psg_future_wait_all(set, SET, NEVER), PSG_OK);
		use_up(set, SET, &seed);
	}
	return NULL;
}

static psg_status take_a_moment(psg_device *device, void *arg, psg_error *error)
{
	(void)device;
	(void)arg;
	(void)error;
	t_sleep_ns(20000); /* so that others fall asleep */
	return PSG_OK;
}

/* A wake-up that is lost would be waited for in vain. */
START_TEST(everything_at_once)
{
	pthread_t threads[THREADS];
	atomic_int sum = 0;

	all.worker = t_open(0);
	for (uintptr_t i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, live, (void *)(i + 1)), 0);
	for (int i = 0; i < 1000; i++)
		(void)t_finish(t_submit(all.worker, take_a_moment, NULL, NULL));
	for (size_t i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
	for (size_t i = 0; i < SHELF; i++)
		psg_future_release(atomic_exchange(&all.shelf[i], NULL));
	for (size_t i = 0; i <= PSG_FORKED; i++)
		sum += all.ended[i];
	ck_assert_int_eq(sum, THREADS * ROUNDS * SET);
	/* Else the test has lost its point. */
	ck_assert_int_gt(all.ended[PSG_OK], 0);
	ck_assert_int_gt(all.ended[PSG_CANCELLED], 0);
	ck_assert_int_gt(all.ended[PSG_TIMED_OUT], 0);
	ck_assert_int_gt(all.timed_out, 0);
	psg_worker_close(all.worker);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		the_lowest_that_has_ended,
		none_at_all,
		none_in_time,
		all_waiters_wake,
		single_waits_beside_it,
		sixty_thousand,
		on_the_worker_itself,
		in_its_callback_it_has_ended,
		after_a_fork,
		everything_at_once,
	};

	return t_run("any and all", tests, T_COUNT(tests));
}
