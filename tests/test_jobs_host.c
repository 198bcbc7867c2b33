/* SPDX-License-Identifier: Apache-2.0 */
/* The host pool, and promises: futures that their owner completes. */
#include "config.h"

#include "base/base.h"
#include "jobs/jobs.h"
#include "jobs_util.h"

#include <pthread.h>
#include <string.h>

/* --- the pool --- */

struct numbered {
	psgi_task task; /* first */
	int number;
	psgi_pool *pool;
	struct numbered *then;
};

static struct {
	pthread_mutex_t lock;
	int n, order[2000];
} log_of_tasks = { .lock = PTHREAD_MUTEX_INITIALIZER };

static void run_numbered(psgi_task *task)
{
	struct numbered *self = (struct numbered *)task;

	(void)pthread_mutex_lock(&log_of_tasks.lock);
	log_of_tasks.order[log_of_tasks.n++] = self->number;
	(void)pthread_mutex_unlock(&log_of_tasks.lock);
	if (self->then != NULL)
		psgi_pool_post(self->pool, &self->then->task);
}

START_TEST(tasks_start_in_order)
{
	static struct numbered tasks[1000];
	psgi_pool *pool;

	log_of_tasks.n = 0;
	ck_assert_int_eq(psgi_pool_open(1, "t-pool", &pool, NULL), PSG_OK);
	for (int i = 0; i < 1000; i++) {
		tasks[i] = (struct numbered){ { run_numbered, NULL }, i, pool, NULL };
		psgi_pool_post(pool, &tasks[i].task);
	}
	psgi_pool_close(pool); /* runs them all */
	ck_assert_int_eq(log_of_tasks.n, 1000);
	for (int i = 0; i < 1000; i++)
		ck_assert_int_eq(log_of_tasks.order[i], i);
}
END_TEST

/* Each task posts the next, also while the pool closes. */
START_TEST(tasks_may_post_tasks)
{
	static struct numbered tasks[1000];
	psgi_pool *pool;

	log_of_tasks.n = 0;
	ck_assert_int_eq(psgi_pool_open(3, NULL, &pool, NULL), PSG_OK);
	for (int i = 0; i < 1000; i++)
		tasks[i] = (struct numbered){
			{ run_numbered, NULL }, i, pool, i < 999 ? &tasks[i + 1] : NULL
		};
	psgi_pool_post(pool, &tasks[0].task);
	psgi_pool_close(pool);
	ck_assert_int_eq(log_of_tasks.n, 1000);
}
END_TEST

struct meeting {
	psgi_task task; /* first */
	pthread_barrier_t *barrier;
	char name[16];
};

static void meet(psgi_task *task)
{
	struct meeting *self = (struct meeting *)task;

	(void)pthread_getname_np(pthread_self(), self->name, sizeof(self->name));
	(void)pthread_barrier_wait(self->barrier);
}

/* Ends only when all of them run at once. */
START_TEST(tasks_run_beside_each_other)
{
	pthread_barrier_t barrier;
	struct meeting tasks[4];
	psgi_pool *pool;

	ck_assert_int_eq(pthread_barrier_init(&barrier, NULL, 4), 0);
	ck_assert_int_eq(psgi_pool_open(4, "t-meeting", &pool, NULL), PSG_OK);
	for (size_t i = 0; i < 4; i++) {
		tasks[i].task.run = meet;
		tasks[i].barrier = &barrier;
		psgi_pool_post(pool, &tasks[i].task);
	}
	psgi_pool_close(pool);
	for (size_t i = 0; i < 4; i++)
		ck_assert_str_eq(tasks[i].name, "t-meeting");
	(void)pthread_barrier_destroy(&barrier);
}
END_TEST

START_TEST(a_pool_needs_threads)
{
	psgi_pool *pool;
	psg_error error = PSG_ERROR_INIT;

	ck_assert_int_eq(psgi_pool_open(0, NULL, &pool, &error), PSG_INVALID);
	ck_assert_ptr_null(pool);
	psgi_pool_close(NULL);
}
END_TEST

struct alarm_clock {
	psgi_task task; /* first */
	sem_t rung;
	int64_t at_ns;
	atomic_int times;
};

static void ring(psgi_task *task)
{
	struct alarm_clock *clock = (struct alarm_clock *)task;

	clock->at_ns = psg_now_ns();
	atomic_fetch_add(&clock->times, 1);
	(void)sem_post(&clock->rung);
}

static void wait_for_ring(struct alarm_clock *clock)
{
	while (sem_wait(&clock->rung) != 0)
		;
}

/* Whether threads wait or are just given a task; the later of two is nothing. */
static void check_alarms(int32_t threads)
{
	struct alarm_clock clock = { { ring, NULL }, .times = 0 };
	struct numbered tasks[50];
	psgi_pool *pool;

	log_of_tasks.n = 0;
	(void)sem_init(&clock.rung, 0, 0);
	ck_assert_int_eq(psgi_pool_open(threads, NULL, &pool, NULL), PSG_OK);
	for (int i = 0; i < 50; i++) {
		int64_t at = psg_now_ns() + (i % 5) * PSG_MILLISECOND;

		tasks[i] = (struct numbered){ { run_numbered, NULL }, i, pool, NULL };
		psgi_pool_alarm(pool, &clock.task, at);
		psgi_pool_alarm(pool, &clock.task, at + 600 * PSG_SECOND);
		psgi_pool_post(pool, &tasks[i].task);
		wait_for_ring(&clock);
		ck_assert_int_ge(clock.at_ns, at);
	}
	psgi_pool_alarm(pool, &clock.task, psg_now_ns() + 600 * PSG_SECOND);
	psgi_pool_alarm(pool, &clock.task, INT64_MIN);
	wait_for_ring(&clock);
	psgi_pool_alarm(pool, &clock.task, psg_now_ns() + 600 * PSG_SECOND);
	psgi_pool_close(pool); /* does not wait for it */
	ck_assert_int_eq(log_of_tasks.n, 50);
	ck_assert_int_eq(atomic_load(&clock.times), 51);
}

START_TEST(alarms_go_off)
{
	check_alarms(1);
	check_alarms(3);
}
END_TEST

/* --- promises --- */

struct owner {
	psg_future *future;
	int hooks;
	bool completes; /* in the hook */
	psg_status status;
	sem_t in_hook, go_on;
	atomic_bool hook_over;
};

static void hook(psg_future *future, void *user)
{
	struct owner *owner = user;

	ck_assert_ptr_eq(future, owner->future);
	owner->hooks++;
	if (owner->completes)
		psgi_promise_complete(future, PSG_CANCELLED, NULL, NULL, NULL);
}

static psg_future *promise(struct owner *owner, const psg_job_options *options)
{
	ck_assert_int_eq(psgi_promise_create(options, hook, owner, &owner->future, NULL), PSG_OK);
	return owner->future;
}

static atomic_int freed;

static void free_text(void *result)
{
	atomic_fetch_add(&freed, 1);
	free(result);
}

static void free_other(void *result)
{
	free(result);
}

START_TEST(a_promise_that_is_kept)
{
	struct owner owner = { .hooks = 0 };
	psg_future *future = promise(&owner, NULL);
	psg_tensor *const *tensors;
	psg_future_times times;
	size_t n;

	freed = 0;
	ck_assert_int_eq(psg_future_poll(future), PSG_FUTURE_QUEUED);
	ck_assert_ptr_null(psgi_promise_result(future, free_text));
	psgi_promise_start(future);
	ck_assert_int_eq(psg_future_poll(future), PSG_FUTURE_RUNNING);
	psgi_promise_complete(future, PSG_OK, NULL, strdup("text"), free_text);
	ck_assert_int_eq(psg_future_wait(future), PSG_OK);
	ck_assert_str_eq(psgi_promise_result(future, free_text), "text");
	ck_assert_ptr_null(psgi_promise_result(future, free_other));
	ck_assert_int_eq(psg_future_tensors(future, &tensors, &n, NULL), PSG_INVALID);
	psg_future_times_get(future, &times);
	ck_assert_int_ge(times.started_ns, times.queued_ns);
	ck_assert_int_ge(times.finished_ns, times.started_ns);
	ck_assert_int_eq(psg_future_cancel(future), PSG_CANCEL_DONE);
	ck_assert_int_eq(owner.hooks, 0);
	ck_assert_int_eq(freed, 0);
	psg_future_release(future);
	ck_assert_int_eq(freed, 1);
}
END_TEST

START_TEST(a_promise_that_is_broken)
{
	struct owner owner = { .hooks = 0 };
	psg_future *future = promise(&owner, NULL);
	psg_error error = PSG_ERROR_INIT;

	(void)psgi_fail(&error, PSG_FORMAT, "not an image");
	psgi_promise_complete(future, PSG_FORMAT, &error, NULL, NULL);
	error = (psg_error)PSG_ERROR_INIT;
	ck_assert_int_eq(psg_future_error(future, &error), PSG_FORMAT);
	ck_assert_str_eq(error.message, "not an image");
	ck_assert_ptr_null(psgi_promise_result(future, NULL));
	psg_future_release(future);
}
END_TEST

/* A result that came with a failure is freed, too, and not shown. */
START_TEST(a_result_with_an_error)
{
	struct owner owner = { .hooks = 0 };
	psg_future *future = promise(&owner, NULL);

	freed = 0;
	psgi_promise_complete(future, PSG_NOMEM, NULL, strdup("half"), free_text);
	ck_assert_ptr_null(psgi_promise_result(future, free_text));
	psg_future_release(future);
	ck_assert_int_eq(freed, 1);
}
END_TEST

START_TEST(cancelling_asks_the_owner_once)
{
	struct owner owner = { .hooks = 0 };
	psg_future *future = promise(&owner, NULL);

	ck_assert(!psgi_promise_unwanted(future));
	psgi_promise_start(future);
	ck_assert_int_eq(psg_future_cancel(future), PSG_CANCEL_RUNNING);
	ck_assert_int_eq(psg_future_cancel(future), PSG_CANCEL_RUNNING);
	ck_assert_int_eq(owner.hooks, 1);
	ck_assert(psgi_promise_unwanted(future));
	psgi_promise_complete(future, PSG_CANCELLED, NULL, NULL, NULL);
	ck_assert_int_eq(psg_future_wait(future), PSG_CANCELLED);
	psg_future_release(future);
	ck_assert_int_eq(owner.hooks, 1);
}
END_TEST

/* An owner that gives up at once. */
START_TEST(completing_in_the_hook)
{
	atomic_int calls = 0;
	psg_job_options options = { .done = t_count_done, .user = &calls };
	struct owner owner = { .completes = true };
	psg_future *future = promise(&owner, &options);

	ck_assert_int_eq(psg_future_cancel(future), PSG_CANCEL_REMOVED);
	ck_assert_int_eq(psg_future_wait(future), PSG_CANCELLED);
	ck_assert_int_eq(calls, 1);
	psg_future_release(future);
	ck_assert_int_eq(owner.hooks, 1);
}
END_TEST

START_TEST(the_last_handle_of_a_promise)
{
	struct owner owner = { .completes = false };
	psg_future *future = promise(&owner, NULL);

	freed = 0;
	psg_future_release(psg_future_ref(future));
	ck_assert_int_eq(owner.hooks, 0);
	psg_future_release(future);
	ck_assert_int_eq(owner.hooks, 1);
	ck_assert(psgi_promise_unwanted(future)); /* the owner still has its reference */
	psgi_promise_complete(future, PSG_OK, NULL, strdup("nobody reads it"), free_text);
	ck_assert_int_eq(freed, 1);
	owner.completes = true;
	psg_future_release(promise(&owner, NULL));
	ck_assert_int_eq(owner.hooks, 2);
}
END_TEST

static void release_it(psg_future *future, void *user)
{
	atomic_fetch_add((atomic_int *)user, 1);
	psg_future_release(future);
}

START_TEST(a_promise_released_under_cancel)
{
	atomic_int calls = 0;
	psg_job_options options = { .done = release_it, .user = &calls };
	struct owner owner = { .completes = true };

	ck_assert_int_eq(psg_future_cancel(promise(&owner, &options)), PSG_CANCEL_REMOVED);
	ck_assert_int_eq(calls, 1);
}
END_TEST

START_TEST(a_promise_past_its_deadline)
{
	psg_job_options options = { .deadline_ns = psg_now_ns() + 20 * PSG_MILLISECOND };
	struct owner owner = { .hooks = 0 };
	psg_future *future = promise(&owner, &options);

	t_sleep_ns(21 * PSG_MILLISECOND);
	ck_assert(psgi_promise_unwanted(future));
	ck_assert_int_eq(psg_future_wait_for(future, 0), PSG_TIMED_OUT);
	psgi_promise_complete(future, PSG_TIMED_OUT, NULL, NULL, NULL);
	ck_assert_int_eq(psg_future_wait(future), PSG_TIMED_OUT);
	psg_future_release(future);
}
END_TEST

static void slow_hook(psg_future *future, void *user)
{
	struct owner *owner = user;

	(void)future;
	(void)sem_post(&owner->in_hook);
	while (sem_wait(&owner->go_on) != 0)
		;
	t_sleep_ns(20 * PSG_MILLISECOND);
	atomic_store(&owner->hook_over, true);
}

static void *cancel_it(void *arg)
{
	(void)psg_future_cancel(arg);
	psg_future_release(arg);
	return NULL;
}

/* When complete returns, the owner may be freed: nobody is in its hook any more. */
START_TEST(completing_waits_for_the_hook)
{
	struct owner owner = { .hooks = 0 };
	psg_future *future;
	pthread_t thread;

	(void)sem_init(&owner.in_hook, 0, 0);
	(void)sem_init(&owner.go_on, 0, 0);
	ck_assert_int_eq(psgi_promise_create(NULL, slow_hook, &owner, &future, NULL), PSG_OK);
	ck_assert_int_eq(pthread_create(&thread, NULL, cancel_it, psg_future_ref(future)), 0);
	while (sem_wait(&owner.in_hook) != 0)
		;
	(void)sem_post(&owner.go_on);
	psgi_promise_complete(future, PSG_OK, NULL, NULL, NULL);
	ck_assert(atomic_load(&owner.hook_over));
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	psg_future_release(future);
}
END_TEST

struct race {
	pthread_barrier_t barrier;
	psg_future *future;
	atomic_int calls, hooks;
};

static void racing_hook(psg_future *future, void *user)
{
	(void)future;
	atomic_fetch_add(&((struct race *)user)->hooks, 1);
}

static void *racing_canceller(void *arg)
{
	struct race *race = arg;

	for (int i = 0; i < 2000; i++) {
		(void)pthread_barrier_wait(&race->barrier);
		if (i % 2 == 0)
			(void)psg_future_cancel(race->future);
		psg_future_release(race->future);
		(void)pthread_barrier_wait(&race->barrier);
	}
	return NULL;
}

/* Owner against a canceller or the last release, over and over. */
START_TEST(promises_race)
{
	struct race race = { .calls = 0 };
	psg_job_options options = { .done = t_count_done, .user = &race.calls };
	pthread_t thread;

	ck_assert_int_eq(pthread_barrier_init(&race.barrier, NULL, 2), 0);
	ck_assert_int_eq(pthread_create(&thread, NULL, racing_canceller, &race), 0);
	for (int i = 0; i < 2000; i++) {
		ck_assert_int_eq(
			psgi_promise_create(&options, racing_hook, &race, &race.future, NULL),
			PSG_OK);
		(void)pthread_barrier_wait(&race.barrier);
		psgi_promise_complete(race.future, PSG_OK, NULL, NULL, NULL);
		(void)pthread_barrier_wait(&race.barrier);
		ck_assert_int_eq(race.calls, i + 1);
	}
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_int_le(race.hooks, 2000);
	(void)pthread_barrier_destroy(&race.barrier);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		tasks_start_in_order,
		tasks_may_post_tasks,
		tasks_run_beside_each_other,
		a_pool_needs_threads,
		alarms_go_off,
		a_promise_that_is_kept,
		a_promise_that_is_broken,
		a_result_with_an_error,
		cancelling_asks_the_owner_once,
		completing_in_the_hook,
		the_last_handle_of_a_promise,
		a_promise_released_under_cancel,
		a_promise_past_its_deadline,
		completing_waits_for_the_hook,
		promises_race,
	};

	return t_run("host", tests, T_COUNT(tests));
}
