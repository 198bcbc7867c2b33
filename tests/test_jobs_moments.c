/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moments of a worker's life that chance does not hit.  serve.c is compiled
 * here with a stop after its last look for jobs before it falls asleep, so that
 * what others do just then is done there each time.
 */
#include "config.h"

#include "jobs/lanes.h"
#include "jobs_util.h"

#include <pthread.h>
#include <string.h>

/* The worker stops once, when `armed`. */
static struct {
	atomic_bool armed;
	sem_t reached, go_on;
} stop;

static void wait_on(sem_t *semaphore)
{
	while (sem_wait(semaphore) != 0)
		;
}

static bool marked_then_stop(const psgi_lanes *lanes, const char *caller)
{
	bool marked = psgi_lanes_marked(lanes);

	if (!marked && strcmp(caller, "settle") == 0 && atomic_exchange(&stop.armed, false)) {
		(void)sem_post(&stop.reached);
		wait_on(&stop.go_on);
	}
	return marked;
}

#define psgi_lanes_marked(lanes) marked_then_stop(lanes, __func__)
#include "jobs/serve.c" /* NOLINT(bugprone-suspicious-include): see above */
#undef psgi_lanes_marked

/* A worker that has looked for jobs, found none, and is about to sleep. */
static psg_worker *open_stopped(void)
{
	psg_worker *worker;

	(void)sem_init(&stop.reached, 0, 0);
	(void)sem_init(&stop.go_on, 0, 0);
	atomic_store(&stop.armed, true);
	worker = t_open(4);
	wait_on(&stop.reached);
	return worker;
}

/* What was accepted before draining is run. */
START_TEST(drain_after_the_last_look)
{
	psg_worker *worker = open_stopped();
	atomic_int ran = 0;
	psg_future *future = t_submit(worker, t_add_one, &ran, NULL);

	ck_assert_int_eq(psg_worker_drain(worker, 0), PSG_TIMED_OUT);
	(void)sem_post(&stop.go_on);
	ck_assert_int_eq(psg_worker_drain(worker, -1), PSG_OK);
	ck_assert_int_eq(t_finish(future), PSG_OK);
	ck_assert_int_eq(ran, 1);
	psg_worker_close(worker);
}
END_TEST

static void *go_on_when_closing(void *arg)
{
	psg_worker *worker = arg;

	while (!atomic_load(&worker->closing))
		t_sleep_ns(PSG_MILLISECOND / 10);
	(void)sem_post(&stop.go_on);
	return NULL;
}

/* The job is ended by the closer; the worker still takes it out of its ring, or its lane would
 * never be freed. */
START_TEST(close_after_the_last_look)
{
	psg_worker *worker = open_stopped();
	atomic_int ran = 0, done = 0;
	psg_job_options options = { .done = t_count_done, .user = &done };
	pthread_t thread;

	ck_assert_int_eq(psg_submit_function(worker, t_add_one, &ran, &options, NULL, NULL),
			 PSG_OK);
	ck_assert_int_eq(pthread_create(&thread, NULL, go_on_when_closing, worker), 0);
	psg_worker_close(worker);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_int_eq(ran, 0);
	ck_assert_int_eq(done, 1);
}
END_TEST

/* Submits when the worker's thread is gone, as if the worker had been found open long before. */
static void submit_late(psg_future *future, void *user)
{
	psg_worker *worker = user;
	psg_future *late;

	(void)future;
	while (!atomic_load(&worker->closing))
		t_sleep_ns(PSG_MILLISECOND / 10);
	t_sleep_ns(20 * PSG_MILLISECOND); /* right without, but then it is not so late */
	atomic_store(&worker->refusing, false);
	late = t_submit(worker, t_nothing, NULL, NULL);
	atomic_store(&worker->refusing, true);
	ck_assert_int_eq(psg_future_wait(late), PSG_SHUTDOWN);
	psg_future_release(late);
	/* One that is ended here, whose slot is still in the ring. */
	atomic_store(&worker->refusing, false);
	late = t_submit(worker, t_nothing, NULL, NULL);
	atomic_store(&worker->refusing, true);
	psg_future_release(late);
}

static void *cancel_it(void *arg)
{
	(void)psg_future_cancel(arg);
	psg_future_release(arg);
	return NULL;
}

/* The worker is gone, but not for a callback on the thread of a canceller. */
START_TEST(submit_from_a_callback_while_closing)
{
	psg_worker *worker = t_open(4);
	psg_job_options options = { .done = submit_late, .user = worker };
	psg_future *future;
	pthread_t thread;
	t_gate gate;

	t_gate_close(&gate, worker);
	future = t_submit(worker, t_nothing, NULL, &options);
	ck_assert_int_eq(pthread_create(&thread, NULL, cancel_it, future), 0);
	while (psg_future_poll(future) == PSG_FUTURE_QUEUED)
		t_sleep_ns(PSG_MILLISECOND / 10);
	t_gate_open(&gate);
	psg_worker_close(worker);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		drain_after_the_last_look,
		close_after_the_last_look,
		submit_from_a_callback_while_closing,
	};

	return t_run("moments", tests, T_COUNT(tests));
}
