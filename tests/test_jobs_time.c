/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time: waits end when they should, deadlines are noticed while the worker is busy.
 *
 * On an idle machine waits end within 0.2 ms and deadlines are noticed within
 * 1.5 ms of what was asked; the promises are 2 ms and 5 ms.  Other processes
 * may keep a thread from its core for longer than that, so each figure gets
 * five tries and the best must keep the promise; none may be early, nor late
 * by more than HARD_NS, which only a missed wake-up or a wrong clock exceeds.
 */
#include "config.h"

#include "jobs/ec.h"
#include "jobs/futex.h"
#include "jobs_util.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#define WAIT_NS (2 * PSG_MILLISECOND)
#define EXPIRY_NS (5 * PSG_MILLISECOND)
#define HARD_NS PSG_SECOND
#define TRIES 5

/* From the issue: those that CK's own waiting misses by up to a factor of seven. */
static const int64_t asked_ms[] = { 1, 5, 20, 130, 300, 900 };

/* Tries `late_ns` until it is good enough; it returns how late it was. */
static void check_late(int64_t (*late_ns)(void *user, int64_t asked_ns), void *user,
		       int64_t asked_ns, int64_t bound_ns)
{
	int64_t best = INT64_MAX;

	for (int i = 0; i < TRIES && best > bound_ns; i++) {
		int64_t late = late_ns(user, asked_ns);

		ck_assert_int_ge(late, 0);
		ck_assert_int_lt(late, HARD_NS);
		if (late < best)
			best = late;
	}
	(void)printf("asked %4lld ms: %.3f ms late\n", (long long)(asked_ns / PSG_MILLISECOND),
		     (double)best / 1e6);
	ck_assert_int_le(best, bound_ns);
}

static int64_t event_late(void *user, int64_t asked_ns)
{
	psgi_event *event = user;
	int64_t until = psg_now_ns() + asked_ns;

	ck_assert(!psgi_event_wait(event, psgi_event_value(event), until));
	return psg_now_ns() - until;
}

START_TEST(event_waits_end_in_time)
{
	psgi_event event;

	psgi_event_init(&event);
	for (size_t i = 0; i < T_COUNT(asked_ms); i++)
		check_late(event_late, &event, asked_ms[i] * PSG_MILLISECOND, WAIT_NS);
}
END_TEST

START_TEST(event_that_was_signalled)
{
	psgi_event event;
	uint32_t value;

	psgi_event_init(&event);
	value = psgi_event_value(&event);
	psgi_event_signal(&event);
	ck_assert(psgi_event_wait(&event, value, PSGI_NEVER));
	ck_assert(psgi_event_wait(&event, value, 1));
	ck_assert(!psgi_event_wait(&event, psgi_event_value(&event), 1));
}
END_TEST

static int64_t future_late(void *user, int64_t asked_ns)
{
	int64_t until = psg_now_ns() + asked_ns;

	ck_assert_int_eq(psg_future_wait_for(user, asked_ns), PSG_TIMED_OUT);
	return psg_now_ns() - until;
}

START_TEST(future_waits_end_in_time)
{
	psg_worker *worker = t_open(0);
	t_gate gate;

	t_gate_close(&gate, worker);
	for (size_t i = 0; i < T_COUNT(asked_ms); i++)
		check_late(future_late, gate.future, asked_ms[i] * PSG_MILLISECOND, WAIT_NS);
	t_gate_open(&gate);
	psg_worker_close(worker);
}
END_TEST

/* Each of the set has not ended: the gate twice, and a job behind it. */
static int64_t any_late(void *user, int64_t asked_ns)
{
	int64_t until = psg_now_ns() + asked_ns;
	size_t which;

	ck_assert_int_eq(psg_future_wait_any(user, 3, until, &which), PSG_TIMED_OUT);
	return psg_now_ns() - until;
}

/* The first of the set has ended. */
static int64_t all_late(void *user, int64_t asked_ns)
{
	int64_t until = psg_now_ns() + asked_ns;

	ck_assert_int_eq(psg_future_wait_all((psg_future *const *)user - 1, 4, until),
			 PSG_TIMED_OUT);
	return psg_now_ns() - until;
}

START_TEST(waits_for_several_end_in_time)
{
	psg_worker *worker = t_open(0);
	psg_future *set[4];
	t_gate gate;

	set[0] = t_submit(worker, t_nothing, NULL, NULL);
	ck_assert_int_eq(psg_future_wait(set[0]), PSG_OK);
	t_gate_close(&gate, worker);
	set[1] = set[2] = gate.future;
	set[3] = t_submit(worker, t_nothing, NULL, NULL);
	for (size_t i = 0; i < T_COUNT(asked_ms); i++) {
		check_late(any_late, &set[1], asked_ms[i] * PSG_MILLISECOND, WAIT_NS);
		check_late(all_late, &set[1], asked_ms[i] * PSG_MILLISECOND, WAIT_NS);
	}
	psg_future_release(set[0]);
	psg_future_release(set[3]);
	t_gate_open(&gate);
	psg_worker_close(worker);
}
END_TEST

static int64_t queue_late(void *user, int64_t asked_ns)
{
	int64_t until = psg_now_ns() + asked_ns;
	psg_future *future;

	ck_assert_int_eq(psg_completion_queue_wait(user, asked_ns, &future), PSG_TIMED_OUT);
	return psg_now_ns() - until;
}

START_TEST(queue_waits_end_in_time)
{
	psg_completion_queue *queue;

	ck_assert_int_eq(psg_completion_queue_create(&queue, NULL), PSG_OK);
	for (size_t i = 0; i < T_COUNT(asked_ms); i++)
		check_late(queue_late, queue, asked_ms[i] * PSG_MILLISECOND, WAIT_NS);
	psg_completion_queue_destroy(queue);
}
END_TEST

/* The gate has the only slot. */
static int64_t room_late(void *user, int64_t asked_ns)
{
	psg_job_options options = { .room_timeout_ns = asked_ns };
	int64_t until = psg_now_ns() + asked_ns;

	ck_assert_int_eq(psg_submit_function(user, t_nothing, NULL, &options, NULL, NULL),
			 PSG_FULL);
	return psg_now_ns() - until;
}

START_TEST(waits_for_room_end_in_time)
{
	psg_worker *worker = t_open(1);
	t_gate gate;

	t_gate_close(&gate, worker);
	for (size_t i = 0; i < T_COUNT(asked_ms); i++)
		check_late(room_late, worker, asked_ms[i] * PSG_MILLISECOND, WAIT_NS);
	t_gate_open(&gate);
	psg_worker_close(worker);
}
END_TEST

static int64_t drain_late(void *user, int64_t asked_ns)
{
	int64_t until = psg_now_ns() + asked_ns;

	ck_assert_int_eq(psg_worker_drain(user, asked_ns), PSG_TIMED_OUT);
	return psg_now_ns() - until;
}

START_TEST(draining_ends_in_time)
{
	psg_worker *worker = t_open(0);
	t_gate gate;

	t_gate_close(&gate, worker);
	check_late(drain_late, worker, 20 * PSG_MILLISECOND, WAIT_NS);
	check_late(drain_late, worker, 130 * PSG_MILLISECOND, WAIT_NS);
	t_gate_open(&gate);
	psg_worker_close(worker);
}
END_TEST

/* --- signals --- */

static void on_signal(int number)
{
	(void)number;
}

struct storm {
	pthread_t target;
	atomic_bool stop;
};

static void *storm(void *arg)
{
	struct storm *s = arg;

	while (!atomic_load(&s->stop)) {
		(void)pthread_kill(s->target, SIGUSR1);
		t_sleep_ns(PSG_MILLISECOND / 5);
	}
	return NULL;
}

/* Interrupted again and again, a wait is neither early nor late. */
START_TEST(signals_do_not_end_waits)
{
	struct sigaction action = { .sa_handler = on_signal };
	struct storm s = { .target = pthread_self() };
	psg_worker *worker = t_open(1);
	psg_completion_queue *queue;
	psg_future *set[3];
	pthread_t thread;
	t_gate gate;

	t_gate_close(&gate, worker);
	set[0] = set[1] = set[2] = gate.future;
	ck_assert_int_eq(psg_completion_queue_create(&queue, NULL), PSG_OK);
	ck_assert_int_eq(sigaction(SIGUSR1, &action, NULL), 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, storm, &s), 0);
	check_late(future_late, gate.future, 50 * PSG_MILLISECOND, WAIT_NS);
	check_late(any_late, set, 50 * PSG_MILLISECOND, WAIT_NS);
	check_late(queue_late, queue, 50 * PSG_MILLISECOND, WAIT_NS);
	check_late(room_late, worker, 50 * PSG_MILLISECOND, WAIT_NS);
	atomic_store(&s.stop, true);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	psg_completion_queue_destroy(queue);
	t_gate_open(&gate);
	psg_worker_close(worker);
}
END_TEST

/* --- deadlines --- */

static int64_t expiry_late(void *user, int64_t asked_ns)
{
	psg_job_options options = { .deadline_ns = psg_now_ns() + asked_ns };
	psg_future *future = t_submit(user, t_nothing, NULL, &options);
	psg_error error = PSG_ERROR_INIT;
	psg_future_times times;

	ck_assert_int_eq(psg_future_wait(future), PSG_TIMED_OUT);
	ck_assert_int_eq(psg_future_error(future, &error), PSG_TIMED_OUT);
	ck_assert_ptr_nonnull(strstr(error.message, "deadline"));
	psg_future_times_get(future, &times);
	ck_assert_int_eq(times.started_ns, 0);
	psg_future_release(future);
	return psg_now_ns() - options.deadline_ns;
}

/* The worker is in one job all the while. */
START_TEST(deadlines_are_noticed_while_it_is_busy)
{
	psg_worker *worker = t_open(0);
	t_gate gate;

	t_gate_close(&gate, worker);
	check_late(expiry_late, worker, 1 * PSG_MILLISECOND, EXPIRY_NS);
	check_late(expiry_late, worker, 20 * PSG_MILLISECOND, EXPIRY_NS);
	check_late(expiry_late, worker, 300 * PSG_MILLISECOND, EXPIRY_NS);
	t_gate_open(&gate);
	psg_worker_close(worker);
}
END_TEST

struct done_at {
	int64_t ns;
	atomic_int calls;
};

static void note_time(psg_future *future, void *user)
{
	struct done_at *done = user;

	(void)future;
	done->ns = psg_now_ns();
	atomic_fetch_add(&done->calls, 1);
}

/* Nobody waits and there is no handle: the callback comes all the same. */
static int64_t callback_late(void *user, int64_t asked_ns)
{
	struct done_at done = { 0 };
	psg_job_options options = { .deadline_ns = psg_now_ns() + asked_ns,
				    .done = note_time,
				    .user = &done };

	ck_assert_int_eq(psg_submit_function(user, t_nothing, NULL, &options, NULL, NULL), PSG_OK);
	while (atomic_load(&done.calls) == 0)
		t_sleep_ns(PSG_MILLISECOND / 10);
	return done.ns - options.deadline_ns;
}

START_TEST(callbacks_of_expired_jobs)
{
	psg_worker *worker = t_open(0);
	t_gate gate;

	t_gate_close(&gate, worker);
	check_late(callback_late, worker, 3 * PSG_MILLISECOND, EXPIRY_NS);
	check_late(callback_late, worker, 50 * PSG_MILLISECOND, EXPIRY_NS);
	t_gate_open(&gate);
	psg_worker_close(worker);
}
END_TEST

/* The nearest is not the first that was submitted, and those in between are cancelled. */
START_TEST(deadlines_out_of_order)
{
	psg_worker *worker = t_open(0);
	psg_future *futures[30];
	int64_t start = psg_now_ns();
	t_gate gate;

	t_gate_close(&gate, worker);
	for (int i = 0; i < 30; i++) {
		psg_job_options options = { .deadline_ns = start + (1 + (i * 7) % 30) * 4 *
									   PSG_MILLISECOND };

		futures[i] = t_submit(worker, t_nothing, NULL, &options);
	}
	for (int i = 0; i < 30; i += 3)
		(void)psg_future_cancel(futures[i]);
	for (int i = 0; i < 30; i++) {
		psg_status status = psg_future_wait(futures[i]);
		psg_future_times times;

		psg_future_times_get(futures[i], &times);
		if (status == PSG_TIMED_OUT)
			ck_assert_int_ge(times.finished_ns - start,
					 (1 + (i * 7) % 30) * 4 * PSG_MILLISECOND);
		else
			ck_assert_int_eq(status, PSG_CANCELLED);
		if (i % 3 != 0)
			ck_assert_int_eq(status, PSG_TIMED_OUT);
		psg_future_release(futures[i]);
	}
	t_gate_open(&gate);
	psg_worker_close(worker);
}
END_TEST

START_TEST(a_deadline_that_is_past)
{
	psg_worker *worker = t_open(0);
	psg_job_options options = { .deadline_ns = psg_now_ns() - 1 };
	atomic_int ran = 0;

	ck_assert_int_eq(t_finish(t_submit(worker, t_add_one, &ran, &options)), PSG_TIMED_OUT);
	options.deadline_ns = -5;
	ck_assert_int_eq(t_finish(t_submit(worker, t_add_one, &ran, &options)), PSG_TIMED_OUT);
	ck_assert_int_eq(ran, 0);
	options.deadline_ns = psg_now_ns() + 60 * PSG_SECOND;
	ck_assert_int_eq(t_finish(t_submit(worker, t_add_one, &ran, &options)), PSG_OK);
	ck_assert_int_eq(ran, 1);
	psg_worker_close(worker);
}
END_TEST

/* A deadline is for the start: what runs in time is not touched. */
START_TEST(a_deadline_that_passes_while_it_runs)
{
	psg_worker *worker = t_open(0);
	psg_job_options options = { .deadline_ns = psg_now_ns() + 30 * PSG_MILLISECOND };
	t_gate gate = { .future = NULL };
	psg_future *future;

	(void)sem_init(&gate.running, 0, 0);
	(void)sem_init(&gate.open, 0, 0);
	options.deadline_ns = psg_now_ns() + PSG_SECOND;
	future = t_submit(worker, t_gate_job, &gate, &options);
	while (sem_wait(&gate.running) != 0)
		;
	while (psg_now_ns() <= options.deadline_ns)
		t_sleep_ns(options.deadline_ns - psg_now_ns() + PSG_MILLISECOND);
	(void)sem_post(&gate.open);
	ck_assert_int_eq(t_finish(future), PSG_OK);
	psg_worker_close(worker);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		event_waits_end_in_time,
		event_that_was_signalled,
		future_waits_end_in_time,
		waits_for_several_end_in_time,
		queue_waits_end_in_time,
		waits_for_room_end_in_time,
		draining_ends_in_time,
		signals_do_not_end_waits,
		deadlines_are_noticed_while_it_is_busy,
		callbacks_of_expired_jobs,
		deadlines_out_of_order,
		a_deadline_that_is_past,
		a_deadline_that_passes_while_it_runs,
	};

	return t_run("time", tests, T_COUNT(tests));
}
