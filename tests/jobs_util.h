/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the jobs room share: workers, gates that hold a worker up, counters. */
#ifndef PSG_TESTS_JOBS_UTIL_H
#define PSG_TESTS_JOBS_UTIL_H

#include <pagesift/job.h>

#include <check.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

#define T_COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The reference device: no threads and no primitives of its own. */
static inline psg_worker *t_open(size_t capacity)
{
	psg_worker_options options = { .lane_capacity = capacity };
	psg_error error = PSG_ERROR_INIT;
	psg_worker *worker;

	ck_assert_msg(psg_worker_open("reference", &options, &worker, &error) == PSG_OK, "%s",
		      error.message);
	return worker;
}

static inline void t_sleep_ns(int64_t ns)
{
	struct timespec time = { .tv_sec = ns / PSG_SECOND, .tv_nsec = ns % PSG_SECOND };

	while (nanosleep(&time, &time) != 0)
		;
}

/* --- functions to submit --- */

static inline psg_status t_nothing(psg_device *device, void *arg, psg_error *error)
{
	(void)device;
	(void)arg;
	(void)error;
	return PSG_OK;
}

/* A job whose duration can be told from none. */
#define T_PAUSE_NS (2 * PSG_MILLISECOND)

static inline psg_status t_pause(psg_device *device, void *arg, psg_error *error)
{
	(void)device;
	(void)arg;
	(void)error;
	t_sleep_ns(T_PAUSE_NS);
	return PSG_OK;
}

static inline psg_status t_add_one(psg_device *device, void *arg, psg_error *error)
{
	(void)device;
	(void)error;
	atomic_fetch_add((atomic_int *)arg, 1);
	return PSG_OK;
}

/* A job that says when it runs, and goes on when it may. */
typedef struct t_gate {
	sem_t running, open;
	psg_future *future;
} t_gate;

static inline psg_status t_gate_job(psg_device *device, void *arg, psg_error *error)
{
	t_gate *gate = arg;

	(void)device;
	(void)error;
	(void)sem_post(&gate->running);
	while (sem_wait(&gate->open) != 0)
		;
	return PSG_OK;
}

/* Returns when the worker is held up. */
static inline void t_gate_close(t_gate *gate, psg_worker *worker)
{
	/* A job that ended in the queue, just now, leaves its slot only when the worker meets it.
	 */
	const psg_job_options options = { .room_timeout_ns = 600 * PSG_SECOND };

	ck_assert_int_eq(sem_init(&gate->running, 0, 0), 0);
	ck_assert_int_eq(sem_init(&gate->open, 0, 0), 0);
	ck_assert_int_eq(
		psg_submit_function(worker, t_gate_job, gate, &options, &gate->future, NULL),
		PSG_OK);
	while (sem_wait(&gate->running) != 0)
		;
}

static inline void t_gate_open(t_gate *gate)
{
	(void)sem_post(&gate->open);
	ck_assert_int_eq(psg_future_wait(gate->future), PSG_OK);
	psg_future_release(gate->future);
	(void)sem_destroy(&gate->running);
	(void)sem_destroy(&gate->open);
}

static inline psg_future *t_submit(psg_worker *worker, psg_job_fn fn, void *arg,
				   const psg_job_options *options)
{
	psg_error error = PSG_ERROR_INIT;
	psg_future *future;

	ck_assert_msg(psg_submit_function(worker, fn, arg, options, &future, &error) == PSG_OK,
		      "%s", error.message);
	return future;
}

/* Waits and releases. */
static inline psg_status t_finish(psg_future *future)
{
	psg_status status = psg_future_wait(future);

	psg_future_release(future);
	return status;
}

static inline psg_worker_stats t_stats(const psg_worker *worker)
{
	psg_worker_stats stats;

	psg_worker_stats_get(worker, &stats);
	return stats;
}

/* A callback that counts. */
static inline void t_count_done(psg_future *future, void *user)
{
	(void)future;
	atomic_fetch_add((atomic_int *)user, 1);
}

static inline int t_run(const char *name, const TTest *const *tests, size_t n)
{
	Suite *suite = suite_create(name);
	TCase *all = tcase_create(name);
	SRunner *runner;
	int failed;

	for (size_t i = 0; i < n; i++)
		tcase_add_test(all, tests[i]);
	tcase_set_timeout(all, 60);
	suite_add_tcase(suite, all);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

#endif
