/* SPDX-License-Identifier: Apache-2.0 */
/* Completion queues: what comes out of them, and what their descriptor tells. */
#include "config.h"

#include "jobs/jobs.h"
#include "jobs_util.h"
#include "nomem.h"
#include "onnx_text.h"

#include <poll.h>
#include <pthread.h>
#include <stdarg.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define NEVER INT64_MAX

/* When armed, a write stops once before it is done. */
static struct {
	atomic_bool armed;
	sem_t reached, go_on;
} stop;

/* The library's calls: futexes with six arguments, and the descriptor's. */
long __real_syscall(long number, ...);
long __wrap_syscall(long number, ...);
long __wrap_syscall(long number, ...)
{
	va_list list;
	long a[6];

	va_start(list, number);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(list, long);
	va_end(list);
	if (number == SYS_write && atomic_exchange(&stop.armed, false)) {
		(void)sem_post(&stop.reached);
		while (sem_wait(&stop.go_on) != 0)
			;
	}
	return __real_syscall(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static psg_completion_queue *create(void)
{
	psg_error error = PSG_ERROR_INIT;
	psg_completion_queue *queue;

	ck_assert_msg(psg_completion_queue_create(&queue, &error) == PSG_OK, "%s", error.message);
	return queue;
}

static bool readable(psg_completion_queue *queue)
{
	struct pollfd look = { .fd = psg_completion_queue_fd(queue), .events = POLLIN };
	int n = poll(&look, 1, 0);

	ck_assert_int_ge(n, 0);
	ck_assert(n == 0 || look.revents == POLLIN);
	return n == 1;
}

static psg_future *promise(const psg_job_options *options)
{
	psg_future *future;

	ck_assert_int_eq(psgi_promise_create(options, NULL, NULL, &future, NULL), PSG_OK);
	return future;
}

static void keep(psg_future *future, psg_status status)
{
	psgi_promise_complete(future, status, NULL, NULL, NULL);
}

/* A promise that only the queue has a handle of. */
static psg_future *queued_promise(psg_completion_queue *queue, void *user)
{
	psg_job_options options = { .queue = queue, .user = user };
	psg_future *future = promise(&options);

	psg_future_release(future);
	return future;
}

static void check_pop(psg_completion_queue *queue, void *user, psg_status status)
{
	psg_future *future = psg_completion_queue_pop(queue);

	ck_assert_ptr_nonnull(future);
	ck_assert_ptr_eq(psg_future_user(future), user);
	ck_assert_int_eq(psg_future_poll(future), PSG_FUTURE_DONE);
	ck_assert_int_eq(psg_future_error(future, NULL), status);
	psg_future_release(future);
}

/* Not in that of submission. */
START_TEST(in_the_order_of_completion)
{
	psg_worker *worker = t_open(0);
	psg_completion_queue *queue = create();
	int users[3];
	psg_job_options options = { .queue = queue, .user = &users[0], .priority = -1 };
	t_gate gate;

	t_gate_close(&gate, worker);
	ck_assert_int_eq(psg_submit_function(worker, t_nothing, NULL, &options, NULL, NULL),
			 PSG_OK);
	options.user = &users[1];
	options.priority = 0;
	psg_future_release(t_submit(worker, t_nothing, NULL, &options)); /* cancels nothing */
	options.user = &users[2];
	options.priority = 1;
	psg_future_release(t_submit(worker, t_nothing, NULL, &options));
	ck_assert_ptr_null(psg_completion_queue_pop(queue));
	t_gate_open(&gate);
	ck_assert_int_eq(psg_worker_drain(worker, -1), PSG_OK);
	check_pop(queue, &users[2], PSG_OK);
	check_pop(queue, &users[1], PSG_OK);
	check_pop(queue, &users[0], PSG_OK);
	ck_assert_ptr_null(psg_completion_queue_pop(queue));
	psg_completion_queue_destroy(queue);
	psg_worker_close(worker);
}
END_TEST

START_TEST(readable_while_there_is_something)
{
	psg_completion_queue *queue = create();

	for (int round = 0; round < 3; round++) {
		psg_future *a = queued_promise(queue, NULL), *b = queued_promise(queue, NULL);
		psg_future *c = queued_promise(queue, NULL);

		ck_assert(!readable(queue));
		keep(a, PSG_OK);
		ck_assert(readable(queue));
		keep(b, PSG_OK);
		check_pop(queue, NULL, PSG_OK);
		ck_assert(readable(queue));
		keep(c, PSG_OK); /* behind a batch that is not used up */
		check_pop(queue, NULL, PSG_OK);
		ck_assert(readable(queue));
		check_pop(queue, NULL, PSG_OK);
		ck_assert(!readable(queue));
		ck_assert_ptr_null(psg_completion_queue_pop(queue));
		ck_assert(!readable(queue));
	}
	psg_completion_queue_destroy(queue);
}
END_TEST

static void *keep_it(void *future)
{
	keep(future, PSG_OK);
	return NULL;
}

/* It is popped by a thread that looks without being told. */
START_TEST(popped_before_it_is_told)
{
	psg_completion_queue *queue = create();
	psg_future *a = queued_promise(queue, NULL), *b = queued_promise(queue, NULL);
	pthread_t thread;

	(void)sem_init(&stop.reached, 0, 0);
	(void)sem_init(&stop.go_on, 0, 0);
	atomic_store(&stop.armed, true);
	ck_assert_int_eq(pthread_create(&thread, NULL, keep_it, a), 0);
	while (sem_wait(&stop.reached) != 0)
		;
	ck_assert(!readable(queue));
	check_pop(queue, NULL, PSG_OK);
	ck_assert_ptr_null(psg_completion_queue_pop(queue));
	(void)sem_post(&stop.go_on);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert(readable(queue)); /* once, and that is all */
	ck_assert_ptr_null(psg_completion_queue_pop(queue));
	ck_assert(!readable(queue));
	keep(b, PSG_OK);
	ck_assert(readable(queue));
	check_pop(queue, NULL, PSG_OK);
	ck_assert(!readable(queue));
	psg_completion_queue_destroy(queue);
}
END_TEST

static psg_status end_badly(psg_device *device, void *arg, psg_error *error)
{
	(void)device;
	(void)arg;
	(void)error;
	return PSG_FORMAT;
}

/* By the worker, by a canceller, by the keeper of deadlines, by an abort. */
START_TEST(however_they_end)
{
	psg_worker *worker = t_open(0);
	psg_completion_queue *queue = create();
	psg_job_options options = { .queue = queue, .user = &options };
	psg_future *cancelled, *late;
	t_gate gate;

	(void)t_finish(t_submit(worker, end_badly, NULL, &options));
	t_gate_close(&gate, worker);
	cancelled = t_submit(worker, t_nothing, NULL, &options);
	psg_future_release(t_submit(worker, t_nothing, NULL, &options));
	options.deadline_ns = psg_now_ns() + PSG_MILLISECOND;
	late = t_submit(worker, t_nothing, NULL, &options);
	psg_future_release(late);
	check_pop(queue, &options, PSG_FORMAT);
	/* A waiter may know a moment before it is in the queue. */
	ck_assert_int_eq(psg_completion_queue_wait(queue, NEVER, &late), PSG_OK);
	ck_assert_int_eq(t_finish(late), PSG_TIMED_OUT);
	ck_assert_int_eq(psg_future_cancel(cancelled), PSG_CANCEL_REMOVED);
	psg_future_release(cancelled);
	psg_worker_abort(worker);
	check_pop(queue, &options, PSG_CANCELLED);
	check_pop(queue, &options, PSG_SHUTDOWN);
	ck_assert_ptr_null(psg_completion_queue_pop(queue));
	t_gate_open(&gate);
	psg_worker_close(worker);
	psg_completion_queue_destroy(queue);
}
END_TEST

/* Operators, model runs, functions and pages' promises share one. */
START_TEST(jobs_of_all_kinds)
{
	size_t size, n;
	uint8_t *file = t_onnx("opset 7; in x 4; Relu x > y; out y", &size);
	psg_worker *worker = t_open(0);
	psg_completion_queue *queue = create();
	psg_job_options options = { .queue = queue };
	psg_tensor *tensor, *const *outputs;
	psg_model *model;
	psg_future *future;
	psg_op relu;

	ck_assert_int_eq(psg_tensor_create(PSG_F32, &PSG_SHAPE(4), &tensor, NULL), PSG_OK);
	ck_assert_int_eq(psg_model_load_memory(file, size, "relu", NULL, &model, NULL), PSG_OK);
	relu = (psg_op){ .kind = PSG_OP_RELU, .in = { tensor }, .n_in = 1 };
	ck_assert_int_eq(psg_submit(worker, &relu, &options, NULL, NULL), PSG_OK);
	ck_assert_int_eq(psg_submit_model(worker, model, &tensor, 1, &options, NULL, NULL), PSG_OK);
	ck_assert_int_eq(psg_submit_function(worker, end_badly, NULL, &options, NULL, NULL),
			 PSG_OK);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(psg_completion_queue_wait(queue, NEVER, &future), PSG_OK);
		ck_assert_int_eq(psg_future_tensors(future, &outputs, &n, NULL), PSG_OK);
		ck_assert_uint_eq(n, 1);
		psg_future_release(future);
	}
	ck_assert_int_eq(psg_completion_queue_wait(queue, NEVER, &future), PSG_OK);
	ck_assert_int_eq(t_finish(future), PSG_FORMAT);
	keep(queued_promise(queue, &options), PSG_OOM);
	check_pop(queue, &options, PSG_OOM);
	psg_completion_queue_destroy(queue);
	psg_worker_close(worker);
	psg_model_unref(model);
	psg_tensor_unref(tensor);
	free(file);
}
END_TEST

/* --- the callback --- */

static void pop_nothing(psg_future *future, void *user)
{
	psg_completion_queue *const *queue = user;

	ck_assert_int_eq(psg_future_poll(future), PSG_FUTURE_DONE);
	ck_assert_ptr_null(psg_completion_queue_pop(*queue));
}

START_TEST(the_callback_comes_first)
{
	psg_worker *worker = t_open(0);
	psg_completion_queue *queue = create();
	psg_job_options options = { .done = pop_nothing, .user = &queue, .queue = queue };

	ck_assert_int_eq(psg_submit_function(worker, t_nothing, NULL, &options, NULL, NULL),
			 PSG_OK);
	ck_assert_int_eq(psg_worker_drain(worker, -1), PSG_OK);
	check_pop(queue, &queue, PSG_OK);
	psg_completion_queue_destroy(queue);
	psg_worker_close(worker);
}
END_TEST

/* --- destroying --- */

static atomic_int freed;

static void free_nothing(void *result)
{
	(void)result;
	atomic_fetch_add(&freed, 1);
}

/* What was not popped is released; what ends later, too; handles of others stay good. */
START_TEST(destroying_it)
{
	psg_completion_queue *queue = create();
	psg_job_options options = { .queue = queue };
	psg_future *popped = queued_promise(queue, NULL), *waits = queued_promise(queue, NULL);
	psg_future *more = queued_promise(queue, NULL), *late = queued_promise(queue, NULL);
	psg_future *kept = promise(&options);

	freed = 0;
	psgi_promise_complete(popped, PSG_OK, NULL, &freed, free_nothing);
	psgi_promise_complete(waits, PSG_OK, NULL, &freed, free_nothing);
	check_pop(queue, NULL, PSG_OK);
	psgi_promise_complete(more, PSG_OK, NULL, &freed, free_nothing);
	ck_assert_int_eq(freed, 1);
	psg_completion_queue_destroy(queue);
	ck_assert_int_eq(freed, 3);
	psgi_promise_complete(late, PSG_OK, NULL, &freed, free_nothing);
	ck_assert_int_eq(freed, 4);
	psgi_promise_complete(kept, PSG_OK, NULL, &freed, free_nothing);
	ck_assert_int_eq(psg_future_wait(kept), PSG_OK);
	psg_future_release(kept);
	ck_assert_int_eq(freed, 5);
	psg_completion_queue_destroy(NULL);
}
END_TEST

START_TEST(destroying_it_under_jobs)
{
	psg_worker *worker = t_open(0);
	psg_completion_queue *queue = create();
	atomic_int ran = 0;
	psg_job_options options = { .queue = queue };
	t_gate gate;

	t_gate_close(&gate, worker);
	ck_assert_int_eq(psg_submit_function(worker, t_add_one, &ran, &options, NULL, NULL),
			 PSG_OK);
	psg_completion_queue_destroy(queue);
	t_gate_open(&gate);
	ck_assert_int_eq(psg_worker_drain(worker, -1), PSG_OK);
	ck_assert_int_eq(ran, 1);
	psg_worker_close(worker);
}
END_TEST

/* --- waiting without an event loop --- */

START_TEST(nothing_comes)
{
	psg_completion_queue *queue = create();
	psg_future *future = (psg_future *)queue;

	ck_assert_int_eq(psg_completion_queue_wait(queue, 0, &future), PSG_TIMED_OUT);
	ck_assert_ptr_null(future);
	ck_assert_int_eq(psg_completion_queue_wait(queue, INT64_MIN, &future), PSG_TIMED_OUT);
	ck_assert_int_eq(psg_completion_queue_wait(queue, PSG_MILLISECOND, &future), PSG_TIMED_OUT);
	keep(queued_promise(queue, NULL), PSG_OK);
	ck_assert_int_eq(psg_completion_queue_wait(queue, 0, &future), PSG_OK);
	psg_future_release(future);
	psg_completion_queue_destroy(queue);
}
END_TEST

static void *wait_for_one(void *queue)
{
	psg_future *future;

	ck_assert_int_eq(psg_completion_queue_wait(queue, NEVER, &future), PSG_OK);
	psg_future_release(future);
	return NULL;
}

/* Each gets one, whether it comes alone or with others. */
START_TEST(many_wait)
{
	enum { THREADS = 9 };
	psg_completion_queue *queue = create();
	psg_future *futures[THREADS];
	pthread_t threads[THREADS];

	for (size_t i = 0; i < THREADS; i++) {
		futures[i] = queued_promise(queue, NULL);
		ck_assert_int_eq(pthread_create(&threads[i], NULL, wait_for_one, queue), 0);
	}
	t_sleep_ns(10 * PSG_MILLISECOND); /* most of them sleep now; right either way */
	for (size_t i = 0; i < THREADS; i++)
		keep(futures[i], PSG_OK);
	for (size_t i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
	ck_assert_ptr_null(psg_completion_queue_pop(queue));
	ck_assert(!readable(queue));
	psg_completion_queue_destroy(queue);
}
END_TEST

static psg_status wait_inside(psg_device *device, void *arg, psg_error *error)
{
	psg_future *future;

	(void)device;
	(void)error;
	return psg_completion_queue_wait(arg, NEVER, &future);
}

START_TEST(on_the_worker_itself)
{
	psg_worker *worker = t_open(0);
	psg_completion_queue *queue = create();

	ck_assert_int_eq(t_finish(t_submit(worker, wait_inside, queue, NULL)), PSG_INVALID);
	psg_completion_queue_destroy(queue);
	psg_worker_close(worker);
}
END_TEST

/* --- fork, memory --- */

static int use_in_child(psg_completion_queue *queue)
{
	psg_job_options options = { .queue = queue };
	psg_future *future;

	if (psg_completion_queue_pop(queue) != NULL || psg_completion_queue_fd(queue) != -1)
		return 1;
	if (psg_completion_queue_wait(queue, NEVER, &future) != PSG_FORKED || future != NULL)
		return 2;
	if (psgi_promise_create(&options, NULL, NULL, &future, NULL) != PSG_FORKED)
		return 3;
	psg_completion_queue_destroy(queue);
	return 0;
}

START_TEST(after_a_fork)
{
	psg_completion_queue *queue = create();
	int status;
	pid_t child;

	keep(queued_promise(queue, NULL), PSG_OK);
	child = fork();
	ck_assert_int_ge(child, 0);
	if (child == 0)
		_exit(use_in_child(queue));
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	ck_assert(readable(queue));
	check_pop(queue, NULL, PSG_OK);
	psg_completion_queue_destroy(queue);
}
END_TEST

START_TEST(what_it_cannot_get)
{
	struct rlimit limit, none;
	psg_error error = PSG_ERROR_INIT;
	psg_completion_queue *queue = NULL;

	t_nomem_arm(0, false);
	ck_assert_int_eq(psg_completion_queue_create(&queue, &error), PSG_NOMEM);
	t_nomem_disarm();
	ck_assert_ptr_null(queue);
	ck_assert_ptr_nonnull(strstr(error.message, "memory"));
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = (struct rlimit){ .rlim_cur = 0, .rlim_max = limit.rlim_max };
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	ck_assert_int_eq(psg_completion_queue_create(&queue, &error), PSG_NOMEM);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	ck_assert_ptr_null(queue);
	ck_assert_ptr_nonnull(strstr(error.message, "descriptor"));
}
END_TEST

START_TEST(completing_takes_no_memory)
{
	psg_worker *worker = t_open(0);
	psg_completion_queue *queue = create();
	psg_job_options options = { .queue = queue };
	long calls;

	ck_assert_int_eq(t_finish(t_submit(worker, t_nothing, NULL, NULL)), PSG_OK); /* the lane */
	t_nomem_arm(-1, false);
	for (int i = 0; i < 100; i++)
		if (psg_submit_function(worker, t_nothing, NULL, &options, NULL, NULL) != PSG_OK)
			break;
	(void)psg_worker_drain(worker, -1);
	for (int i = 0; i < 100; i++)
		psg_future_release(psg_completion_queue_pop(queue));
	calls = atomic_load(&t_nomem_calls); /* before libcheck's own */
	ck_assert_int_eq(calls, 0);
	ck_assert_uint_eq(t_stats(worker).completed, 101);
	ck_assert_ptr_null(psg_completion_queue_pop(queue));
	psg_completion_queue_destroy(queue);
	psg_worker_close(worker);
}
END_TEST

/* --- everything at once --- */

#define PRODUCERS 4
#define POPPERS 4
#define JOBS 5000 /* of each producer */

struct record {
	atomic_int popped;
};

static struct {
	psg_worker *worker;
	psg_completion_queue *queue;
	struct record records[PRODUCERS][JOBS];
	atomic_int left;
} all;

static uint32_t t_random(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

static void submit_one(struct record *record, uint32_t *seed)
{
	psg_job_options options = { .queue = all.queue, .user = record };
	psg_future *future;

	if (t_random(seed) % 4 == 0)
		options.deadline_ns = psg_now_ns() + t_random(seed) % 100000;
	while (psg_submit_function(all.worker, t_nothing, NULL, &options, &future, NULL) ==
	       PSG_FULL)
		(void)sched_yield();
	if (t_random(seed) % 4 == 0)
		(void)psg_future_cancel(future);
	psg_future_release(future);
	if (t_random(seed) % 16 == 0)
		(void)sched_yield(); /* so that it runs empty */
}

static void *produce(void *arg)
{
	uint32_t number = (uint32_t)(uintptr_t)arg, seed = number + 1;

	for (size_t i = 0; i < JOBS; i++)
		submit_one(&all.records[number][i], &seed);
	return NULL;
}

/* Half of them by poll, half by waiting; the last one wakes the others by what it put last. */
static void *consume(void *arg)
{
	struct pollfd look = { .fd = psg_completion_queue_fd(all.queue), .events = POLLIN };
	bool polls = (uintptr_t)arg % 2 == 0;

	while (atomic_load(&all.left) > 0) {
		psg_future *future = NULL;

		if (polls && poll(&look, 1, 20) > 0)
			future = psg_completion_queue_pop(all.queue);
		else if (!polls)
			(void)psg_completion_queue_wait(all.queue, 20 * PSG_MILLISECOND, &future);
		for (; future != NULL; future = psg_completion_queue_pop(all.queue)) {
			struct record *record = psg_future_user(future);

			ck_assert_int_eq(psg_future_poll(future), PSG_FUTURE_DONE);
			atomic_fetch_add(&record->popped, 1);
			psg_future_release(future);
			atomic_fetch_sub(&all.left, 1);
		}
	}
	return NULL;
}

START_TEST(everything_at_once)
{
	pthread_t threads[PRODUCERS + POPPERS];
	psg_worker_stats stats;

	all.worker = t_open(64);
	all.queue = create();
	all.left = PRODUCERS * JOBS;
	for (uintptr_t i = 0; i < PRODUCERS + POPPERS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL,
						i < PRODUCERS ? produce : consume, (void *)i),
				 0);
	for (size_t i = 0; i < PRODUCERS + POPPERS; i++)
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
	for (size_t i = 0; i < (size_t)PRODUCERS * JOBS; i++)
		ck_assert_int_eq(all.records[i / JOBS][i % JOBS].popped, 1);
	ck_assert_ptr_null(psg_completion_queue_pop(all.queue));
	ck_assert(!readable(all.queue));
	stats = t_stats(all.worker);
	ck_assert_uint_eq(stats.completed + stats.cancelled + stats.expired, PRODUCERS * JOBS);
	/* Else the test has lost its point. */
	ck_assert_uint_gt(stats.completed, 0);
	ck_assert_uint_gt(stats.cancelled, 0);
	ck_assert_uint_gt(stats.expired, 0);
	psg_completion_queue_destroy(all.queue);
	psg_worker_close(all.worker);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		in_the_order_of_completion,
		readable_while_there_is_something,
		popped_before_it_is_told,
		however_they_end,
		jobs_of_all_kinds,
		the_callback_comes_first,
		destroying_it,
		destroying_it_under_jobs,
		nothing_comes,
		many_wait,
		on_the_worker_itself,
		after_a_fork,
		what_it_cannot_get,
		completing_takes_no_memory,
		everything_at_once,
	};

	return t_run("completion queues", tests, T_COUNT(tests));
}
