/* SPDX-License-Identifier: Apache-2.0 */
/* What a future says and does, one behaviour a test. */
#include "config.h"

#include "base/base.h"
#include "instrumented.h"
#include "jobs_util.h"

#include <pthread.h>
#include <stdio.h>

static psg_status fail_loudly(psg_device *device, void *arg, psg_error *error)
{
	(void)device;
	(void)arg;
	return psgi_fail(error, PSG_FORMAT, "page 7 is torn");
}

static psg_status fail_silently(psg_device *device, void *arg, psg_error *error)
{
	(void)device;
	(void)error;
	return *(psg_status *)arg;
}

START_TEST(a_function_that_ends_well)
{
	psg_worker *worker = t_open(0);
	atomic_int ran = 0;
	psg_future *future = t_submit(worker, t_add_one, &ran, NULL);
	psg_error error = PSG_ERROR_INIT;

	ck_assert_int_eq(psg_future_wait(future), PSG_OK);
	ck_assert_int_eq(psg_future_poll(future), PSG_FUTURE_DONE);
	ck_assert_int_eq(psg_future_error(future, &error), PSG_OK);
	ck_assert_int_eq(error.code, PSG_OK);
	ck_assert_int_eq(ran, 1);
	psg_future_release(future);
	psg_worker_close(worker);
}
END_TEST

START_TEST(a_failure_keeps_its_message)
{
	psg_worker *worker = t_open(0);
	psg_future *future = t_submit(worker, fail_loudly, NULL, NULL);
	psg_error error = PSG_ERROR_INIT;

	ck_assert_int_eq(psg_future_wait(future), PSG_FORMAT);
	ck_assert_int_eq(psg_future_error(future, &error), PSG_FORMAT);
	ck_assert_int_eq(error.code, PSG_FORMAT);
	ck_assert_str_eq(error.message, "page 7 is torn");
	psg_future_release(future);
	/* The slot's next user does not inherit it. */
	future = t_submit(worker, t_nothing, NULL, NULL);
	ck_assert_int_eq(psg_future_wait(future), PSG_OK);
	ck_assert_int_eq(psg_future_error(future, NULL), PSG_OK);
	psg_future_release(future);
	psg_worker_close(worker);
}
END_TEST

/* Each status that a function may return is the future's. */
START_TEST(every_status_is_passed_on)
{
#define ROW(name, value, text) PSG_##name,
	psg_status all[] = { PSG_STATUS_MAP(ROW) };
#undef ROW
	psg_worker *worker = t_open(0);

	for (size_t i = 0; i < T_COUNT(all); i++) {
		psg_future *future = t_submit(worker, fail_silently, &all[i], NULL);
		psg_error error = PSG_ERROR_INIT;

		ck_assert_int_eq(psg_future_wait(future), all[i]);
		ck_assert_int_eq(psg_future_error(future, &error), all[i]);
		if (all[i] != PSG_OK)
			ck_assert_str_eq(error.message, psg_status_text(all[i]));
		psg_future_release(future);
	}
	psg_worker_close(worker);
}
END_TEST

START_TEST(a_queued_one_is_not_done)
{
	psg_worker *worker = t_open(0);
	t_gate gate;
	psg_future *future;

	t_gate_close(&gate, worker);
	future = t_submit(worker, t_nothing, NULL, NULL);
	ck_assert_int_eq(psg_future_poll(gate.future), PSG_FUTURE_RUNNING);
	ck_assert_int_eq(psg_future_poll(future), PSG_FUTURE_QUEUED);
	ck_assert_int_eq(psg_future_wait_for(future, 0), PSG_TIMED_OUT);
	ck_assert_int_eq(psg_future_wait_for(future, -5), PSG_TIMED_OUT);
	ck_assert_int_eq(psg_future_wait_for(future, PSG_MILLISECOND), PSG_TIMED_OUT);
	ck_assert_int_eq(psg_future_wait_until(future, psg_now_ns() - 1), PSG_TIMED_OUT);
	ck_assert_int_eq(psg_future_wait_until(future, 0), PSG_TIMED_OUT);
	ck_assert_int_eq(psg_future_error(future, NULL), PSG_INVALID);
	t_gate_open(&gate);
	ck_assert_int_eq(psg_future_wait_for(future, INT64_MAX), PSG_OK);
	psg_future_release(future);
	psg_worker_close(worker);
}
END_TEST

START_TEST(a_function_has_no_tensors)
{
	psg_worker *worker = t_open(0);
	psg_future *future = t_submit(worker, t_nothing, NULL, NULL);
	psg_tensor *const *tensors;
	psg_error error = PSG_ERROR_INIT;
	size_t n = 9;

	ck_assert_int_eq(psg_future_wait(future), PSG_OK);
	ck_assert_int_eq(psg_future_tensors(future, &tensors, &n, &error), PSG_INVALID);
	ck_assert_uint_eq(n, 0);
	ck_assert_ptr_null(tensors);
	psg_future_release(future);
	psg_worker_close(worker);
}
END_TEST

START_TEST(times_are_in_order)
{
	psg_worker *worker = t_open(0);
	psg_future_times times;
	t_gate gate;
	psg_future *future;

	t_gate_close(&gate, worker);
	future = t_submit(worker, t_nothing, NULL, NULL);
	psg_future_times_get(future, &times);
	ck_assert_int_gt(times.queued_ns, 0);
	ck_assert_int_eq(times.started_ns, 0);
	ck_assert_int_eq(times.finished_ns, 0);
	t_gate_open(&gate);
	ck_assert_int_eq(psg_future_wait(future), PSG_OK);
	psg_future_times_get(future, &times);
	ck_assert_int_ge(times.started_ns, times.queued_ns);
	ck_assert_int_ge(times.finished_ns, times.started_ns);
	ck_assert_int_ge(psg_now_ns(), times.finished_ns);
	psg_future_release(future);
	psg_worker_close(worker);
}
END_TEST

/* A slot's former job, with all that one can have: ends well, badly, or past its deadline. */
static void use_slot(psg_worker *worker, int how, atomic_int *done, psg_completion_queue *queue)
{
	const psg_status results[] = { PSG_OK, PSG_FORMAT, PSG_TIMED_OUT };
	psg_status wanted = results[how];
	psg_job_options options = { .done = t_count_done,
				    .user = done,
				    .queue = queue,
				    .deadline_ns = how == 2 ? 1 : psg_now_ns() + 600 * PSG_SECOND };
	psg_future *future = t_submit(worker, fail_silently, &wanted, &options);

	ck_assert_int_eq(psg_future_wait(future), wanted);
	ck_assert_ptr_eq(psg_future_user(future), done);
	psg_future_release(future);
	ck_assert_int_eq(psg_completion_queue_wait(queue, INT64_MAX, &future), PSG_OK);
	psg_future_release(future);
}

static void check_bare(psg_future *future)
{
	psg_error error = PSG_ERROR_INIT;

	ck_assert_int_eq(psg_future_wait(future), PSG_OK);
	ck_assert_int_eq(psg_future_error(future, &error), PSG_OK);
	ck_assert_str_eq(psg_future_fallback(future), "");
}

/* There is one slot only: the next job gets it. */
START_TEST(nothing_stays_of_a_former_job)
{
	psg_worker *worker = t_open(1);
	atomic_int done = 0;
	psg_completion_queue *queue;
	psg_future_times times;
	t_gate gate;

	ck_assert_int_eq(psg_completion_queue_create(&queue, NULL), PSG_OK);
	for (int how = 0; how < 3; how++) {
		use_slot(worker, how, &done, queue);
		t_gate_close(&gate, worker);
		ck_assert_ptr_null(psg_future_user(gate.future));
		psg_future_times_get(gate.future, &times);
		ck_assert_int_ge(times.started_ns, times.queued_ns);
		ck_assert_int_eq(times.finished_ns, 0);
		(void)psg_future_ref(gate.future);
		t_gate_open(&gate);
		check_bare(gate.future);
		psg_future_release(gate.future);
		ck_assert_int_eq(done, how + 1);
		ck_assert_ptr_null(psg_completion_queue_pop(queue));
	}
	psg_completion_queue_destroy(queue);
	psg_worker_close(worker);
}
END_TEST

/* --- cancelling --- */

START_TEST(cancel_removes_a_queued_one)
{
	psg_worker *worker = t_open(0);
	atomic_int ran = 0;
	psg_future_times times;
	t_gate gate;
	psg_future *future;

	t_gate_close(&gate, worker);
	future = t_submit(worker, t_add_one, &ran, NULL);
	ck_assert_int_eq(psg_future_cancel(future), PSG_CANCEL_REMOVED);
	/* At once: the worker is still held up. */
	ck_assert_int_eq(psg_future_wait(future), PSG_CANCELLED);
	ck_assert_int_eq(psg_future_cancel(future), PSG_CANCEL_DONE);
	psg_future_times_get(future, &times);
	ck_assert_int_eq(times.started_ns, 0);
	ck_assert_int_gt(times.finished_ns, 0);
	psg_future_release(future);
	t_gate_open(&gate);
	ck_assert_int_eq(psg_worker_drain(worker, -1), PSG_OK);
	ck_assert_int_eq(ran, 0);
	psg_worker_close(worker);
}
END_TEST

START_TEST(cancel_of_a_running_one)
{
	psg_worker *worker = t_open(0);
	t_gate gate;

	t_gate_close(&gate, worker);
	ck_assert_int_eq(psg_future_cancel(gate.future), PSG_CANCEL_RUNNING);
	ck_assert_int_eq(psg_future_cancel(gate.future), PSG_CANCEL_RUNNING);
	ck_assert_int_eq(psg_future_poll(gate.future), PSG_FUTURE_RUNNING);
	t_gate_open(&gate); /* which asserts that a function ends as it says */
	psg_worker_close(worker);
}
END_TEST

START_TEST(cancel_of_a_done_one)
{
	psg_worker *worker = t_open(0);
	psg_future *future = t_submit(worker, t_nothing, NULL, NULL);

	ck_assert_int_eq(psg_future_wait(future), PSG_OK);
	ck_assert_int_eq(psg_future_cancel(future), PSG_CANCEL_DONE);
	ck_assert_int_eq(psg_future_wait(future), PSG_OK);
	psg_future_release(future);
	psg_worker_close(worker);
}
END_TEST

START_TEST(the_last_handle_cancels_a_queued_one)
{
	psg_worker *worker = t_open(0);
	atomic_int ran = 0;
	t_gate gate;
	psg_future *future;

	t_gate_close(&gate, worker);
	future = psg_future_ref(t_submit(worker, t_add_one, &ran, NULL));
	psg_future_release(future);
	ck_assert_int_eq(psg_future_poll(future), PSG_FUTURE_QUEUED);
	psg_future_release(future);
	ck_assert_uint_eq(t_stats(worker).cancelled, 1);
	t_gate_open(&gate);
	ck_assert_int_eq(psg_worker_drain(worker, -1), PSG_OK);
	ck_assert_int_eq(ran, 0);
	psg_worker_close(worker);
}
END_TEST

/* Who gives up waiting and goes leaves nothing in the queue. */
START_TEST(leaving_after_a_timed_wait)
{
	psg_worker *worker = t_open(0);
	atomic_int ran = 0;
	t_gate gate;

	t_gate_close(&gate, worker);
	for (int i = 0; i < 20; i++) {
		psg_future *future = t_submit(worker, t_add_one, &ran, NULL);

		ck_assert_int_eq(psg_future_wait_for(future, PSG_MILLISECOND / 10), PSG_TIMED_OUT);
		psg_future_release(future);
		ck_assert_uint_eq(t_stats(worker).queued, 1); /* the gate */
	}
	ck_assert_uint_eq(t_stats(worker).cancelled, 20);
	t_gate_open(&gate);
	ck_assert_int_eq(psg_worker_drain(worker, -1), PSG_OK);
	ck_assert_int_eq(ran, 0);
	psg_worker_close(worker);
}
END_TEST

START_TEST(the_last_handle_leaves_a_running_one)
{
	psg_worker *worker = t_open(0);
	t_gate gate;

	t_gate_close(&gate, worker);
	psg_future_release(gate.future);
	gate.future = t_submit(worker, t_nothing, NULL, NULL); /* what t_gate_open waits for */
	t_gate_open(&gate);
	ck_assert_int_eq(psg_worker_drain(worker, -1), PSG_OK);
	ck_assert_uint_eq(t_stats(worker).completed, 2);
	psg_worker_close(worker);
}
END_TEST

START_TEST(a_detached_job_runs)
{
	psg_worker *worker = t_open(0);
	atomic_int ran = 0;

	for (int i = 0; i < 100; i++)
		ck_assert_int_eq(psg_submit_function(worker, t_add_one, &ran, NULL, NULL, NULL),
				 PSG_OK);
	ck_assert_int_eq(psg_worker_drain(worker, -1), PSG_OK);
	ck_assert_int_eq(ran, 100);
	psg_worker_close(worker);
}
END_TEST

/* --- callbacks --- */

struct witness {
	psg_worker *worker;
	psg_future *future;
	pthread_t thread;
	psg_status status, wait, submit;
	psg_future_state state;
	psg_cancel_result cancel;
	char message[64];
	atomic_int calls, more;
	bool release, slow;
};

static void look_around(psg_future *future, void *user)
{
	struct witness *witness = user;
	psg_error error = PSG_ERROR_INIT;

	witness->future = future;
	witness->thread = pthread_self();
	witness->status = psg_future_error(future, &error);
	(void)snprintf(witness->message, sizeof(witness->message), "%.63s", error.message);
	witness->state = psg_future_poll(future);
	witness->wait = psg_future_wait(future);
	witness->cancel = psg_future_cancel(future);
	witness->submit =
		psg_submit_function(witness->worker, t_add_one, &witness->more, NULL, NULL, NULL);
	if (witness->slow)
		t_sleep_ns(20 * PSG_MILLISECOND);
	if (witness->release)
		psg_future_release(future);
	atomic_fetch_add(&witness->calls, 1);
}

/* It sees the future done, may submit, and has returned before a waiter goes on. */
START_TEST(callback_before_the_waiters)
{
	psg_worker *worker = t_open(0);
	struct witness witness = { .worker = worker, .slow = true };
	psg_job_options options = { .done = look_around, .user = &witness };
	psg_future *future = t_submit(worker, fail_loudly, NULL, &options);

	ck_assert_int_eq(psg_future_wait(future), PSG_FORMAT);
	ck_assert_int_eq(witness.calls, 1);
	ck_assert_ptr_eq(witness.future, future);
	ck_assert_int_eq(witness.status, PSG_FORMAT);
	ck_assert_str_eq(witness.message, "page 7 is torn");
	ck_assert_int_eq(witness.state, PSG_FUTURE_DONE);
	ck_assert_int_eq(witness.wait, PSG_FORMAT);
	ck_assert_int_eq(witness.cancel, PSG_CANCEL_DONE);
	ck_assert_int_eq(witness.submit, PSG_OK);
	ck_assert(!pthread_equal(witness.thread, pthread_self()));
	psg_future_release(future);
	ck_assert_int_eq(psg_worker_drain(worker, -1), PSG_OK);
	ck_assert_int_eq(witness.more, 1);
	ck_assert_int_eq(witness.calls, 1);
	psg_worker_close(worker);
}
END_TEST

static void release_it(psg_future *future, void *user)
{
	psg_future_release(future);
	atomic_fetch_add((atomic_int *)user, 1);
}

/* The handle that psg_submit gave, which it may not even have returned yet. */
START_TEST(callback_may_release)
{
	psg_worker *worker = t_open(1);
	atomic_int calls = 0;
	psg_job_options options = { .done = release_it, .user = &calls };

	for (int i = 0; i < 100; i++) {
		psg_future *future;

		while (psg_submit_function(worker, t_nothing, NULL, &options, &future, NULL) !=
		       PSG_OK)
			(void)sched_yield();
		while (atomic_load(&calls) == i)
			(void)sched_yield();
	}
	psg_worker_close(worker);
	ck_assert_int_eq(calls, 100);
}
END_TEST

START_TEST(callback_on_the_canceller)
{
	psg_worker *worker = t_open(0);
	struct witness witness = { .worker = worker };
	psg_job_options options = { .done = look_around, .user = &witness };
	t_gate gate;
	psg_future *future;

	t_gate_close(&gate, worker);
	future = t_submit(worker, t_nothing, NULL, &options);
	ck_assert_int_eq(psg_future_cancel(future), PSG_CANCEL_REMOVED);
	ck_assert_int_eq(witness.calls, 1);
	ck_assert(pthread_equal(witness.thread, pthread_self()));
	ck_assert_int_eq(witness.status, PSG_CANCELLED);
	psg_future_release(future);
	t_gate_open(&gate);
	psg_worker_close(worker);
	ck_assert_int_eq(witness.calls, 1);
}
END_TEST

/* The handle that cancel was called with goes away inside it. */
START_TEST(callback_releases_under_cancel)
{
	psg_worker *worker = t_open(0);
	struct witness witness = { .worker = worker, .release = true };
	psg_job_options options = { .done = look_around, .user = &witness };
	t_gate gate;

	t_gate_close(&gate, worker);
	ck_assert_int_eq(psg_future_cancel(t_submit(worker, t_nothing, NULL, &options)),
			 PSG_CANCEL_REMOVED);
	t_gate_open(&gate);
	psg_worker_close(worker);
	ck_assert_int_eq(witness.calls, 1);
}
END_TEST

START_TEST(callback_of_an_abandoned_one)
{
	psg_worker *worker = t_open(0);
	struct witness witness = { .worker = worker };
	psg_job_options options = { .done = look_around, .user = &witness };
	t_gate gate;

	t_gate_close(&gate, worker);
	psg_future_release(t_submit(worker, t_nothing, NULL, &options));
	ck_assert_int_eq(witness.calls, 1);
	ck_assert_int_eq(witness.status, PSG_CANCELLED);
	t_gate_open(&gate);
	psg_worker_close(worker);
	ck_assert_int_eq(witness.calls, 1);
}
END_TEST

static void keep_it(psg_future *future, void *user)
{
	*(psg_future **)user = psg_future_ref(future);
}

/* A detached job's future can be kept from within its callback. */
START_TEST(callback_may_take_a_handle)
{
	psg_worker *worker = t_open(0);
	psg_future *kept = NULL;
	psg_job_options options = { .done = keep_it, .user = &kept };

	ck_assert_int_eq(psg_submit_function(worker, fail_loudly, NULL, &options, NULL, NULL),
			 PSG_OK);
	ck_assert_int_eq(psg_worker_drain(worker, -1), PSG_OK);
	psg_worker_close(worker);
	ck_assert_ptr_nonnull(kept);
	ck_assert_int_eq(psg_future_wait(kept), PSG_FORMAT);
	psg_future_release(kept);
}
END_TEST

/* As many handles as are promised, and no more; each is one. */
START_TEST(handles_are_counted)
{
	const uint32_t most = (1U << 24) - 1;
	psg_worker *worker = t_open(0);
	psg_status status = PSG_OOM;
	psg_future *future = t_submit(worker, fail_silently, &status, NULL);

	ck_assert_int_eq(psg_future_wait(future), PSG_OOM);
	if (!T_ON_VALGRIND) { /* minutes */
		for (uint32_t n = 1; n < most; n++)
			if (psg_future_ref(future) != future)
				ck_abort_msg("%u handles are too many", (unsigned)n);
		ck_assert_ptr_null(psg_future_ref(future));
		psg_future_release(future);
		ck_assert_ptr_eq(psg_future_ref(future), future);
		ck_assert_ptr_null(psg_future_ref(future));
		for (uint32_t n = 1; n < most; n++)
			psg_future_release(future);
	}
	ck_assert_int_eq(psg_future_wait(future), PSG_OOM);
	psg_future_release(future);
	psg_worker_close(worker);
}
END_TEST

/* --- several waiters --- */

static void *wait_for_it(void *arg)
{
	psg_status status = psg_future_wait(arg);

	psg_future_release(arg);
	return (void *)(intptr_t)status;
}

START_TEST(all_waiters_wake)
{
	psg_worker *worker = t_open(0);
	pthread_t threads[8];
	t_gate gate;
	psg_future *future;

	t_gate_close(&gate, worker);
	future = t_submit(worker, fail_loudly, NULL, NULL);
	for (size_t i = 0; i < T_COUNT(threads); i++)
		ck_assert_int_eq(
			pthread_create(&threads[i], NULL, wait_for_it, psg_future_ref(future)), 0);
	t_sleep_ns(10 * PSG_MILLISECOND); /* most of them sleep now; right either way */
	t_gate_open(&gate);
	for (size_t i = 0; i < T_COUNT(threads); i++) {
		void *status;

		ck_assert_int_eq(pthread_join(threads[i], &status), 0);
		ck_assert_int_eq((int)(intptr_t)status, PSG_FORMAT);
	}
	psg_future_release(future);
	psg_worker_close(worker);
}
END_TEST

START_TEST(null_may_be_released)
{
	psg_future_release(NULL);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		a_function_that_ends_well,
		a_failure_keeps_its_message,
		every_status_is_passed_on,
		a_queued_one_is_not_done,
		a_function_has_no_tensors,
		times_are_in_order,
		nothing_stays_of_a_former_job,
		cancel_removes_a_queued_one,
		cancel_of_a_running_one,
		cancel_of_a_done_one,
		the_last_handle_cancels_a_queued_one,
		leaving_after_a_timed_wait,
		the_last_handle_leaves_a_running_one,
		a_detached_job_runs,
		callback_before_the_waiters,
		callback_may_release,
		callback_on_the_canceller,
		callback_releases_under_cancel,
		callback_of_an_abandoned_one,
		callback_may_take_a_handle,
		handles_are_counted,
		all_waiters_wake,
		null_may_be_released,
	};

	return t_run("futures", tests, T_COUNT(tests));
}
