/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What submitting does not do while the worker is awake: allocate, lock, make
 * system calls.  The linker's --wrap counts the library's own calls; where the
 * kernel can tell, it says of all system calls whether there was one.
 */
#include "config.h"

#include "jobs_util.h"
#include "nomem.h"
#include "onnx_text.h"

#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

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

/* --- the kernel's word --- */

#if defined(PR_SET_SYSCALL_USER_DISPATCH) && !defined(PSG_SANITIZED)
/* The sanitizers' own parts make system calls whenever they like. */
#define CAN_WATCH 1
#else
#define CAN_WATCH 0
#endif

#if CAN_WATCH
/* What the kernel reads at each system call of the thread that is watched: does it let it pass? */
static volatile char pass = SYSCALL_DISPATCH_FILTER_ALLOW;
static volatile sig_atomic_t caught; /* the first one's number, and one more; 0: there was none */

/* Its own return is a system call. */
static void catch (int number, siginfo_t *info, void *context)
{
	(void)number;
	(void)context;
	pass = SYSCALL_DISPATCH_FILTER_ALLOW;
	caught = info->si_syscall + 1;
}
#endif

/* From here on the calling thread's first system call is caught, and not made. */
static void begin_watch(void)
{
#if CAN_WATCH
	caught = 0;
	pass = SYSCALL_DISPATCH_FILTER_BLOCK;
#endif
}

/* One more than the number of the system call that was made since; 0: none. */
static long end_watch(void)
{
#if CAN_WATCH
	pass = SYSCALL_DISPATCH_FILTER_ALLOW;
	return caught;
#else
	return 0;
#endif
}

/*
 * For the calling thread.  Older kernels and other processors cannot; nor can it be done where
 * reading the clock is a system call, which a submission with a future does.
 */
static bool can_watch(void)
{
#if CAN_WATCH
	const struct sigaction action = { .sa_sigaction = catch, .sa_flags = SA_SIGINFO };

	if (sigaction(SIGSYS, &action, NULL) != 0 ||
	    prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, 0, 0, &pass) != 0)
		return false;
	begin_watch();
	(void)psg_now_ns();
	return end_watch() == 0;
#else
	return false;
#endif
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

/* What a number of submissions did. */
struct counts {
	long allocations, locks, wrapped_calls, kernel_call;
	int with_options;
	bool watched;
};

/* Jobs of one kind, without options and with several, with futures and without. */
static struct counts submit_jobs(int kind, psg_job_options options, psg_completion_queue *queue,
				 psg_future **futures)
{
	struct counts counts = { .watched = can_watch() };

	t_nomem_arm(-1, false);
	locks = 0;
	system_calls = 0;
	if (counts.watched)
		begin_watch();
	for (int i = 0; i < JOBS; i++) {
		bool bare = i % 5 == 0;

		futures[i] = NULL;
		options.priority = i % 3 - 1;
		options.deadline_ns += 1;
		options.queue = i % 2 == 0 ? queue : NULL;
		if (submit(kind, bare ? NULL : &options, i % 4 == 3 ? NULL : &futures[i]) != PSG_OK)
			break;
		counts.with_options += !bare;
	}
	counts.kernel_call = counts.watched ? end_watch() : 0;
	counts.allocations = atomic_load(&t_nomem_calls); /* before libcheck locks something */
	counts.locks = locks;
	counts.wrapped_calls = system_calls;
	return counts;
}

/* Also of jobs that go first, have deadlines (the first of them tells the keeper), callbacks and a
 * completion queue. */
START_TEST(submitting_is_quiet)
{
	psg_future *futures[JOBS];
	atomic_int done = 0;
	psg_job_options options = { .deadline_ns = psg_now_ns() + 600 * PSG_SECOND,
				    .done = t_count_done,
				    .user = &done };
	psg_completion_queue *queue;
	struct counts counts;
	t_gate gate;

	ck_assert_int_eq(psg_completion_queue_create(&queue, NULL), PSG_OK);
	ck_assert_int_eq(t_finish(t_submit(worker, t_nothing, NULL, &options)), PSG_OK);
	t_gate_close(&gate, worker);
	counts = submit_jobs(_i, options, queue, futures);
	ck_assert_int_eq(counts.allocations, 0);
	ck_assert_int_eq(counts.locks, 0);
	ck_assert_int_eq(counts.wrapped_calls, 0);
	ck_assert_msg(counts.kernel_call == 0, "system call %ld was made", counts.kernel_call - 1);
	t_gate_open(&gate);
	for (int i = 0; i < JOBS; i++)
		if (futures[i] != NULL)
			ck_assert_int_eq(t_finish(futures[i]), PSG_OK);
	ck_assert_int_eq(psg_worker_drain(worker, -1), PSG_OK);
	ck_assert_int_eq(atomic_load(&done), counts.with_options + 1);
	ck_assert_int_eq(counts.with_options, JOBS - JOBS / 5);
	psg_completion_queue_destroy(queue);
	/* The wrappers do count, and the kernel does tell. */
	ck_assert_int_gt(atomic_load(&all_system_calls), 0);
	if (counts.watched) {
		begin_watch();
		(void)getppid();
		ck_assert_int_eq(end_watch(), SYS_getppid + 1);
	}
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
