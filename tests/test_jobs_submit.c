/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What submitting does not do while the worker is awake: allocate, lock, make
 * system calls.  The linker's --wrap counts the library's own calls.
 */
#include "config.h"

#include "jobs_util.h"
#include "nomem.h"
#include "onnx_text.h"

#include <pthread.h>
#include <stdarg.h>

#define JOBS 100 /* of each kind */

/* Of the calling thread: the keeper and the worker may go to sleep meanwhile. */
static _Thread_local long locks, system_calls;
static atomic_long all_system_calls;

int __real_pthread_mutex_lock(pthread_mutex_t *lock);
int __wrap_pthread_mutex_lock(pthread_mutex_t *lock);
int __wrap_pthread_mutex_lock(pthread_mutex_t *lock)
{
	locks++;
	return __real_pthread_mutex_lock(lock);
}

/* The library's only use of it is the futex: six arguments. */
long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
long __wrap_syscall(long number, ...)
{
	va_list list;
	long a[6];

	system_calls++;
	(void)atomic_fetch_add(&all_system_calls, 1);
	va_start(list, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static psg_worker *worker;
static psg_tensor *tensor;
static psg_model *model;

static void set_up(void)
{
	size_t size;
	uint8_t *file = t_onnx("opset 7; in x 4; Relu x > y; out y", &size);

	worker = t_open(0);
	ck_assert_int_eq(psg_tensor_create(PSG_F32, &PSG_SHAPE(4), &tensor, NULL), PSG_OK);
	ck_assert_int_eq(psg_model_load_memory(file, size, "relu", NULL, &model, NULL), PSG_OK);
	free(file);
}

static void tear_down(void)
{
	psg_model_unref(model);
	psg_tensor_unref(tensor);
	psg_worker_close(worker);
}

static psg_status submit(int kind, const psg_job_options *options, psg_future **out)
{
	psg_op relu = { .kind = PSG_OP_RELU, .in = { tensor }, .n_in = 1 };

	return kind == 0   ? psg_submit_function(worker, t_nothing, NULL, options, out, NULL)
	       : kind == 1 ? psg_submit(worker, &relu, options, out, NULL)
			   : psg_submit_model(worker, model, &tensor, 1, options, out, NULL);
}

/* Also of jobs that go first, have deadlines (the first of them tells the keeper), callbacks and a
 * completion queue. */
START_TEST(submitting_is_quiet)
{
	psg_future *futures[JOBS];
	long counted[3];
	atomic_int done = 0;
	psg_job_options options = { .deadline_ns = psg_now_ns() + 600 * PSG_SECOND,
				    .done = t_count_done,
				    .user = &done };
	psg_completion_queue *queue;
	t_gate gate;

	ck_assert_int_eq(psg_completion_queue_create(&queue, NULL), PSG_OK);
	ck_assert_int_eq(t_finish(t_submit(worker, t_nothing, NULL, &options)), PSG_OK);
	t_gate_close(&gate, worker);
	t_nomem_arm(-1, false);
	locks = 0;
	system_calls = 0;
	for (int i = 0; i < JOBS; i++) {
		psg_future **out = i % 4 == 3 ? NULL : &futures[i];

		futures[i] = NULL;
		options.priority = i % 3 - 1;
		options.deadline_ns += 1;
		options.queue = i % 2 == 0 ? queue : NULL;
		if (submit(_i, &options, out) != PSG_OK)
			break;
	}
	counted[0] = atomic_load(&t_nomem_calls); /* all before libcheck locks something */
	counted[1] = locks;
	counted[2] = system_calls;
	ck_assert_int_eq(counted[0], 0);
	ck_assert_int_eq(counted[1], 0);
	ck_assert_int_eq(counted[2], 0);
	t_gate_open(&gate);
	for (int i = 0; i < JOBS; i++)
		if (futures[i] != NULL)
			ck_assert_int_eq(t_finish(futures[i]), PSG_OK);
	ck_assert_int_eq(psg_worker_drain(worker, -1), PSG_OK);
	ck_assert_int_eq(atomic_load(&done), JOBS + 1);
	psg_completion_queue_destroy(queue);
	/* The wrappers do count. */
	ck_assert_int_gt(atomic_load(&all_system_calls), 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("submitting");
	TCase *all = tcase_create("submitting");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(all, set_up, tear_down);
	tcase_add_loop_test(all, submitting_is_quiet, 0, 3);
	suite_add_tcase(suite, all);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? 0 : 1;
}
