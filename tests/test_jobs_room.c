/* SPDX-License-Identifier: Apache-2.0 */
/* Submitting to a full lane: waiting for room, and being told when there may be some. */
#include "config.h"

#include "batch_util.h"

#include <pthread.h>
#include <string.h>

#define NEVER INT64_MAX

static psg_status submit(psg_worker *worker, const psg_job_options *options, psg_error *error)
{
	return psg_submit_function(worker, t_nothing, NULL, options, NULL, error);
}

static void *open_soon(void *arg)
{
	t_sleep_ns(5 * PSG_MILLISECOND); /* so that it is waited for; right either way */
	t_gate_open(arg);
	return NULL;
}

/* Another thread lets go of the only job. */
START_TEST(room_that_comes)
{
	psg_worker *worker = t_open(1);
	psg_job_options options = { .room_timeout_ns = NEVER };
	pthread_t thread;
	t_gate gate;

	for (int i = 0; i < 5; i++) {
		psg_future *future;

		t_gate_close(&gate, worker);
		ck_assert_int_eq(pthread_create(&thread, NULL, open_soon, &gate), 0);
		ck_assert_int_eq(
			psg_submit_function(worker, t_nothing, NULL, &options, &future, NULL),
			PSG_OK);
		ck_assert_int_eq(t_finish(future), PSG_OK);
		ck_assert_int_eq(pthread_join(thread, NULL), 0);
	}
	ck_assert_uint_eq(t_stats(worker).refused_full, 0);
	psg_worker_close(worker);
}
END_TEST

/* What is detached comes home by itself; operators and models wait as functions do. */
START_TEST(room_for_an_operator)
{
	psg_worker *worker = t_open(1);
	psg_job_options options = { .room_timeout_ns = NEVER };
	psg_tensor *tensor;
	psg_op relu;

	ck_assert_int_eq(psg_tensor_create(PSG_F32, &PSG_SHAPE(4), &tensor, NULL), PSG_OK);
	relu = (psg_op){ .kind = PSG_OP_RELU, .in = { tensor }, .n_in = 1 };
	for (int i = 0; i < 200; i++)
		ck_assert_int_eq(psg_submit(worker, &relu, &options, NULL, NULL), PSG_OK);
	ck_assert_int_eq(psg_worker_drain(worker, -1), PSG_OK);
	ck_assert_uint_eq(t_stats(worker).completed, 200);
	psg_worker_close(worker);
	psg_tensor_unref(tensor);
}
END_TEST

START_TEST(no_room_in_time)
{
	psg_worker *worker = t_open(1);
	psg_job_options options = { .room_timeout_ns = 0 };
	psg_error error = PSG_ERROR_INIT;
	t_gate gate;

	t_gate_close(&gate, worker);
	ck_assert_int_eq(submit(worker, &options, &error), PSG_FULL);
	ck_assert_ptr_null(strstr(error.message, "also after"));
	options.room_timeout_ns = -1;
	ck_assert_int_eq(submit(worker, &options, &error), PSG_FULL);
	ck_assert_ptr_null(strstr(error.message, "also after"));
	options.room_timeout_ns = 3 * PSG_MILLISECOND;
	ck_assert_int_eq(submit(worker, &options, &error), PSG_FULL);
	ck_assert_ptr_nonnull(strstr(error.message, "also after"));
	/* A job that could not start any more is not waited with. */
	options.room_timeout_ns = NEVER;
	options.deadline_ns = psg_now_ns() + 3 * PSG_MILLISECOND;
	ck_assert_int_eq(submit(worker, &options, &error), PSG_FULL);
	ck_assert_int_ge(psg_now_ns(), options.deadline_ns);
	ck_assert_int_eq(submit(worker, &options, &error), PSG_FULL);
	ck_assert_uint_eq(t_stats(worker).refused_full, 5);
	t_gate_open(&gate);
	psg_worker_close(worker);
}
END_TEST

/* --- where one may not wait --- */

struct inside {
	psg_worker *worker;
	psg_status first, second;
};

static psg_status submit_inside(psg_device *device, void *arg, psg_error *error)
{
	struct inside *inside = arg;
	psg_job_options options = { .room_timeout_ns = NEVER };

	(void)device;
	(void)error;
	inside->first = submit(inside->worker, &options, NULL);
	inside->second = submit(inside->worker, &options, NULL);
	return PSG_OK;
}

START_TEST(on_the_worker_itself)
{
	struct inside inside = { .worker = t_open(1) };

	ck_assert_int_eq(t_finish(t_submit(inside.worker, submit_inside, &inside, NULL)), PSG_OK);
	ck_assert_int_eq(inside.first, PSG_OK);
	ck_assert_int_eq(inside.second, PSG_FULL);
	psg_worker_close(inside.worker);
}
END_TEST

static void submit_in_callback(psg_future *future, void *user)
{
	(void)future;
	(void)submit_inside(NULL, user, NULL);
}

/* On the canceller's thread, which has a job in its lane that nobody else lets go of. */
START_TEST(in_a_callback)
{
	struct inside inside = { .worker = t_open(2) };
	psg_job_options options = { .done = submit_in_callback, .user = &inside };
	psg_future *future;
	t_gate gate;

	t_gate_close(&gate, inside.worker);
	future = t_submit(inside.worker, t_nothing, NULL, &options);
	ck_assert_int_eq(psg_future_cancel(future), PSG_CANCEL_REMOVED);
	ck_assert_int_eq(inside.first, PSG_FULL);
	ck_assert_int_eq(inside.second, PSG_FULL);
	psg_future_release(future);
	t_gate_open(&gate);
	psg_worker_close(inside.worker);
}
END_TEST

/* --- shutting down --- */

#define THREADS 6

struct waiter {
	psg_worker *worker;
	atomic_int *accepted;
	psg_status status;
};

/* Fills its lane, and waits. */
static void *fill(void *arg)
{
	struct waiter *waiter = arg;
	psg_job_options options = { .room_timeout_ns = NEVER };

	for (;;) {
		waiter->status = submit(waiter->worker, &options, NULL);
		if (waiter->status != PSG_OK)
			return NULL;
		atomic_fetch_add(waiter->accepted, 1);
	}
}

static void end_waits(void (*end)(psg_worker *worker), bool asleep)
{
	psg_worker *worker = t_open(2);
	struct waiter waiters[THREADS];
	pthread_t threads[THREADS];
	atomic_int accepted = 0;
	t_gate gate;

	t_gate_close(&gate, worker);
	for (size_t i = 0; i < THREADS; i++) {
		waiters[i] = (struct waiter){ .worker = worker, .accepted = &accepted };
		ck_assert_int_eq(pthread_create(&threads[i], NULL, fill, &waiters[i]), 0);
	}
	while (asleep && atomic_load(&accepted) < 2 * THREADS)
		(void)sched_yield();
	if (asleep)
		t_sleep_ns(2 * PSG_MILLISECOND);
	end(worker);
	for (size_t i = 0; i < THREADS; i++) {
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
		ck_assert_int_eq(waiters[i].status, PSG_SHUTDOWN);
	}
	ck_assert_int_le(accepted, 2 * THREADS); /* nothing ended before they were told */
	t_gate_open(&gate);
	psg_worker_close(worker);
}

static void drain(psg_worker *worker)
{
	ck_assert_int_eq(psg_worker_drain(worker, 0), PSG_TIMED_OUT);
}

START_TEST(shutting_down_ends_waits)
{
	end_waits(drain, true);
	end_waits(psg_worker_abort, true);
	for (int i = 0; i < 50; i++)
		end_waits(i % 2 == 0 ? drain : psg_worker_abort, false);
}
END_TEST

/* --- beside a long job --- */

struct hurdle {
	atomic_bool open;
};

static psg_status take_hurdle(psg_device *device, void *arg, psg_error *error)
{
	struct hurdle *hurdle = arg;

	(void)device;
	(void)error;
	while (!atomic_load(&hurdle->open))
		(void)sched_yield();
	return PSG_OK;
}

/*
 * The lane is full of short jobs, with one among them that waits for its submitter: the few that
 * ended before it make room, though who waits would rather have more.
 */
START_TEST(room_before_a_long_job)
{
	enum { MANY = 64, BEFORE = 3 };
	psg_worker *worker = t_open(MANY);
	const psg_job_options options = { .room_timeout_ns = NEVER };
	atomic_int ran = 0;

	for (int round = 0; round < 20; round++) {
		struct hurdle hurdle = { false };
		psg_future *last;
		t_gate gate;

		t_gate_close(&gate, worker);
		for (int i = 0; i < MANY - 1; i++)
			ck_assert_int_eq(
				psg_submit_function(worker, i == BEFORE ? take_hurdle : t_add_one,
						    i == BEFORE ? (void *)&hurdle : (void *)&ran,
						    NULL, NULL, NULL),
				PSG_OK);
		ck_assert_int_eq(submit(worker, NULL, NULL), PSG_FULL);
		t_gate_open(&gate); /* whose place is one more */
		for (int i = 0; i <= BEFORE; i++)
			ck_assert_int_eq(submit(worker, &options, NULL), PSG_OK);
		atomic_store(&hurdle.open, true);
		ck_assert_int_eq(
			psg_submit_function(worker, t_nothing, NULL, &options, &last, NULL),
			PSG_OK);
		ck_assert_int_eq(t_finish(last), PSG_OK);
		ck_assert_int_eq(ran, (round + 1) * (MANY - 2));
	}
	psg_worker_close(worker);
}
END_TEST

/* --- everything at once --- */

#define JOBS 20000 /* of each thread */

/* Slots come home from the worker, from a thread that holds futures, and from cancellers. */
struct producer {
	psg_worker *worker;
	psg_future *_Atomic *shelf;
	uint32_t seed;
};

static void *produce(void *arg)
{
	struct producer *self = arg;
	psg_job_options options = { .room_timeout_ns = NEVER };

	for (int i = 0; i < JOBS; i++) {
		psg_future *future = NULL;

		self->seed = self->seed * 1664525 + 1013904223;
		ck_assert_int_eq(psg_submit_function(self->worker, t_nothing, NULL, &options,
						     self->seed >> 30 == 0 ? &future : NULL, NULL),
				 PSG_OK);
		/* Each shelf is full for the time of one round: others let go of it. */
		psg_future_release(atomic_exchange(&self->shelf[(self->seed >> 8) % 4], future));
	}
	return NULL;
}

static atomic_bool over;

static void *clear_shelf(void *arg)
{
	psg_future *_Atomic *shelf = arg;

	while (!atomic_load(&over)) {
		for (size_t i = 0; i < 4; i++)
			psg_future_release(atomic_exchange(&shelf[i], NULL));
		(void)sched_yield();
	}
	return NULL;
}

/* A wake-up that is lost would be waited for in vain. */
START_TEST(everything_at_once)
{
	psg_future *_Atomic shelf[4] = { NULL };
	psg_worker *worker = t_open(2);
	struct producer producers[THREADS];
	pthread_t threads[THREADS], cleaner;

	over = false;
	ck_assert_int_eq(pthread_create(&cleaner, NULL, clear_shelf, shelf), 0);
	for (uint32_t i = 0; i < THREADS; i++) {
		producers[i] = (struct producer){ worker, shelf, i * 7919 };
		ck_assert_int_eq(pthread_create(&threads[i], NULL, produce, &producers[i]), 0);
	}
	for (size_t i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
	atomic_store(&over, true);
	ck_assert_int_eq(pthread_join(cleaner, NULL), 0);
	ck_assert_int_eq(psg_worker_drain(worker, -1), PSG_OK);
	for (size_t i = 0; i < 4; i++)
		psg_future_release(shelf[i]);
	ck_assert_uint_eq(t_stats(worker).submitted, THREADS * JOBS);
	ck_assert_uint_eq(t_stats(worker).refused_full, 0);
	psg_worker_close(worker);
}
END_TEST

/* --- when to come back --- */

START_TEST(when_to_come_back)
{
	enum { QUEUED = 7 };
	psg_worker *worker = t_open(QUEUED + 1);
	psg_error error = PSG_ERROR_INIT;
	t_gate gate;

	ck_assert_int_eq(psg_worker_retry_after_ns(worker), 0);
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(t_finish(t_submit(worker, t_pause, NULL, NULL)), PSG_OK);
	t_gate_close(&gate, worker);
	for (int i = 0; i < QUEUED; i++)
		ck_assert_int_eq(submit(worker, NULL, NULL), PSG_OK);
	ck_assert_int_eq(submit(worker, NULL, &error), PSG_FULL);
	ck_assert_ptr_nonnull(strstr(error.message, "in about "));
	/* No pause was shorter. */
	ck_assert_int_ge(psg_worker_retry_after_ns(worker), (QUEUED + 1) * (T_PAUSE_NS - 8));
	t_gate_open(&gate);
	ck_assert_int_eq(psg_worker_drain(worker, -1), PSG_OK);
	ck_assert_int_eq(psg_worker_retry_after_ns(worker), 0);
	psg_worker_close(worker);
}
END_TEST

/* --- bytes --- */

#define BYTES_EACH 400

static psg_op relu_of_400(void)
{
	psg_op op = { .kind = PSG_OP_RELU, .n_in = 1 };

	ck_assert_int_eq(psg_tensor_create(PSG_F32, &PSG_SHAPE(BYTES_EACH / 4), &op.in[0], NULL),
			 PSG_OK);
	return op;
}

static psg_worker *open_bytes(uint64_t bytes)
{
	const psg_worker_options options = { .lane_bytes = bytes };
	psg_worker *worker;

	ck_assert_int_eq(psg_worker_open("reference", &options, &worker, NULL), PSG_OK);
	return worker;
}

/* As many as fit, however many slots there are; functions read nothing. */
START_TEST(bytes_are_bounded)
{
	psg_worker *worker = open_bytes(4 * BYTES_EACH - 1);
	psg_op op = relu_of_400();
	psg_error error = PSG_ERROR_INIT;
	psg_future *futures[3], *none;
	t_gate gate;

	t_gate_close(&gate, worker);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(psg_submit(worker, &op, NULL, &futures[i], NULL), PSG_OK);
	ck_assert_int_eq(psg_submit(worker, &op, NULL, &none, &error), PSG_FULL);
	ck_assert_ptr_null(none);
	ck_assert_msg(strstr(error.message, "jobs read 1200 bytes") != NULL, "%s", error.message);
	ck_assert_int_eq(submit(worker, NULL, NULL), PSG_OK);
	/* One that is cancelled makes room at once, though its slot is still in the queue. */
	ck_assert_int_eq(psg_future_cancel(futures[1]), PSG_CANCEL_REMOVED);
	psg_future_release(futures[1]);
	ck_assert_int_eq(psg_submit(worker, &op, NULL, &futures[1], NULL), PSG_OK);
	ck_assert_int_eq(psg_submit(worker, &op, NULL, NULL, NULL), PSG_FULL);
	ck_assert_uint_eq(t_stats(worker).refused_full, 2);
	t_gate_open(&gate);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(t_finish(futures[i]), PSG_OK);
	psg_worker_close(worker);
	psg_tensor_unref(op.in[0]);
}
END_TEST

/* A job above the bound runs when it is alone. */
START_TEST(one_that_is_larger)
{
	psg_worker *worker = open_bytes(BYTES_EACH - 1);
	psg_job_options room = { .room_timeout_ns = NEVER };
	psg_op op = relu_of_400();
	psg_future *future;
	t_gate gate;

	t_gate_close(&gate, worker);
	ck_assert_int_eq(psg_submit(worker, &op, NULL, &future, NULL), PSG_OK);
	ck_assert_int_eq(psg_submit(worker, &op, NULL, NULL, NULL), PSG_FULL);
	t_gate_open(&gate);
	ck_assert_int_eq(t_finish(future), PSG_OK);
	for (int i = 0; i < 300; i++) /* each waits for the one before it */
		ck_assert_int_eq(psg_submit(worker, &op, &room, NULL, NULL), PSG_OK);
	ck_assert_int_eq(psg_worker_drain(worker, -1), PSG_OK);
	ck_assert_uint_eq(t_stats(worker).completed, 302);
	psg_worker_close(worker);
	psg_tensor_unref(op.in[0]);
}
END_TEST

/* Futures may be kept: what has ended reads nothing any more. */
START_TEST(kept_futures_take_no_bytes)
{
	psg_worker *worker = open_bytes(BYTES_EACH);
	psg_job_options room = { .room_timeout_ns = NEVER };
	psg_future *futures[50];
	psg_op op = relu_of_400();

	for (int i = 0; i < 50; i++)
		ck_assert_int_eq(psg_submit(worker, &op, &room, &futures[i], NULL), PSG_OK);
	for (int i = 0; i < 50; i++)
		ck_assert_int_eq(t_finish(futures[i]), PSG_OK);
	psg_worker_close(worker);
	psg_tensor_unref(op.in[0]);
}
END_TEST

/* In a slot whose last job read something. */
START_TEST(a_model_that_reads_nothing)
{
	const psg_worker_options options = { .lane_capacity = 1, .lane_bytes = BYTES_EACH };
	psg_model *model = t_model("opset 13; w k 2 = 1 -1; Relu k > y; out y");
	psg_op op = relu_of_400();
	psg_future *future;
	psg_worker *worker;

	ck_assert_int_eq(psg_worker_open("reference", &options, &worker, NULL), PSG_OK);
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(psg_submit(worker, &op, NULL, &future, NULL), PSG_OK);
		ck_assert_int_eq(t_finish(future), PSG_OK);
		ck_assert_int_eq(psg_submit_model(worker, model, NULL, 0, NULL, &future, NULL),
				 PSG_OK);
		ck_assert_int_eq(t_finish(future), PSG_OK);
	}
	psg_worker_close(worker);
	psg_model_unref(model);
	psg_tensor_unref(op.in[0]);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		room_that_comes,
		room_for_an_operator,
		no_room_in_time,
		on_the_worker_itself,
		in_a_callback,
		shutting_down_ends_waits,
		room_before_a_long_job,
		everything_at_once,
		when_to_come_back,
		bytes_are_bounded,
		one_that_is_larger,
		kept_futures_take_no_bytes,
		a_model_that_reads_nothing,
	};

	return t_run("room", tests, T_COUNT(tests));
}
