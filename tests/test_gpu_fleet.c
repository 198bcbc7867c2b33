/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A fleet of GPUs that are lost: their jobs go on to others, once each, and nobody notices.
 *
 * Gates hold devices up, so that it is known where jobs are when one is lost.
 */
#include "config.h"

#include "jobs/fleet.h"

#include "device/cuda.h"
#include "kernels/args.h"

#include "fakecuda_util.h"
#include "jobs_util.h"
#include "onnx_text.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static const char *const three[] = { "cuda:0", "cuda:1", "cuda:2" };

static psg_fleet *open_fleet(const char *const *devices, size_t n, const psg_fleet_options *options)
{
	psg_error error = PSG_ERROR_INIT;
	psg_fleet *fleet;

	ck_assert_int_eq(setenv("FAKECUDA_DEVICES", "4", 0), 0);
	t_gpu_begin();
	ck_assert_msg(psg_fleet_open(devices, n, options, &fleet, &error) == PSG_OK, "%s",
		      error.message);
	return fleet;
}

static void close_fleet(psg_fleet *fleet)
{
	psg_fleet_close(fleet);
	t_gpu_expect_nothing_left();
}

static psg_fleet_device device_of(const psg_fleet *fleet, size_t index)
{
	psg_fleet_device device = { .size = sizeof(device) };

	ck_assert_int_eq(psg_fleet_device_get(fleet, index, &device), PSG_OK);
	return device;
}

static psg_worker *worker_of(const psg_fleet *fleet, size_t index)
{
	return device_of(fleet, index).worker;
}

static psg_fleet_stats stats_of(const psg_fleet *fleet)
{
	psg_fleet_stats stats = { .size = sizeof(stats) };

	ck_assert_int_eq(psg_fleet_stats_get(fleet, &stats), PSG_OK);
	return stats;
}

/* --- work whose result is known --- */

#define ELEMENTS 100

static psg_op relu(void)
{
	psg_op op = { .kind = PSG_OP_RELU, .n_in = 1 };
	float *x;

	ck_assert_int_eq(psg_tensor_create(PSG_F32, &PSG_SHAPE(ELEMENTS), &op.in[0], NULL), PSG_OK);
	x = psg_tensor_data(op.in[0]);
	for (int i = 0; i < ELEMENTS; i++)
		x[i] = (float)(i - 50);
	return op;
}

static psg_model *relu_model(void)
{
	psg_model *model;
	size_t size;
	uint8_t *bytes = t_onnx("opset 7; in x 100; Relu x > y; out y", &size);

	ck_assert_int_eq(psg_model_load_memory(bytes, size, "relu", NULL, &model, NULL), PSG_OK);
	free(bytes);
	return model;
}

static bool is_right(psg_future *future)
{
	psg_tensor *const *out;
	const float *y;
	size_t n;

	if (psg_future_tensors(future, &out, &n, NULL) != PSG_OK)
		return false;
	y = psg_tensor_const_data(out[0]);
	for (int i = 0; i < ELEMENTS; i++)
		if ((int)y[i] != (i > 50 ? i - 50 : 0))
			return false;
	return true;
}

/* Waits and releases. */
static void expect_right(psg_future *future)
{
	psg_error error = PSG_ERROR_INIT;

	ck_assert_msg(psg_future_wait(future) == PSG_OK, "%s, %s",
		      psg_status_name(psg_future_error(future, &error)), error.message);
	ck_assert(is_right(future));
	psg_future_release(future);
}

static psg_future *submit_op(psg_worker *worker, const psg_op *op, const psg_job_options *options)
{
	psg_future *future;

	ck_assert_int_eq(psg_submit(worker, op, options, &future, NULL), PSG_OK);
	return future;
}

/* --- losing a card --- */

static psg_status lose(psg_device *device, void *arg, psg_error *error)
{
	unary_args args = { .n = 0 };
	psgi_launch launch = { .kernel = PSGI_GPU_relu,
			       .grid = { 1, 1, 1 },
			       .block = { 32, 1, 1 },
			       .args = &args,
			       .args_bytes = sizeof(args) };
	psg_status status;

	(void)arg;
	t_gpu_fail("run:1:719");
	status = psgi_gpu_launch(device, &launch, error);
	if (status == PSG_OK)
		status = psgi_gpu_sync(device, error);
	t_gpu_fail("");
	return status;
}

static void lose_card(const psg_fleet *fleet, size_t index)
{
	ck_assert_int_eq(t_finish(t_submit(worker_of(fleet, index), lose, NULL, NULL)),
			 PSG_DEVICE_LOST);
	ck_assert_int_eq(device_of(fleet, index).health.code, PSG_DEVICE_LOST);
}

static void hold(const psg_fleet *fleet, t_gate *gates, size_t first, size_t end)
{
	for (size_t i = first; i < end; i++)
		t_gate_close(&gates[i], worker_of(fleet, i));
}

static void let_go(t_gate *gates, size_t first, size_t end)
{
	for (size_t i = first; i < end; i++)
		t_gate_open(&gates[i]);
}

static void await_empty(const psg_fleet *fleet, size_t index)
{
	while (device_of(fleet, index).queued > 0)
		(void)sched_yield();
}

#define JOBS 60
#define DETACHED 6

/* Operators, models and functions by turns, wherever the fleet puts them. */
static void submit_many(psg_fleet *fleet, const psg_op *op, psg_model *model, atomic_int *ran,
			const psg_job_options *options, psg_future **futures)
{
	for (int i = 0; i < JOBS; i++) {
		psg_status status =
			i % 3 == 0   ? psg_fleet_submit(fleet, op, options, &futures[i], NULL)
			: i % 3 == 1 ? psg_fleet_submit_model(fleet, model, &op->in[0], 1, options,
							      &futures[i], NULL)
				     : psg_fleet_submit_function(fleet, t_add_one, ran, options,
								 &futures[i], NULL);

		ck_assert_int_eq(status, PSG_OK);
	}
}

/* One is lost while its queue is full: all end well on the others; it gets nothing any more. */
START_TEST(a_queue_goes_on)
{
	psg_fleet *fleet = open_fleet(three, 3, NULL);
	psg_op op = relu();
	psg_model *model = relu_model();
	psg_error error = PSG_ERROR_INIT;
	psg_future *futures[JOBS], *loser;
	atomic_int ran = 0, done = 0;
	psg_job_options options = { .done = t_count_done };
	t_gate gates[3];
	uint64_t moved;

	hold(fleet, gates, 0, 3);
	loser = t_submit(worker_of(fleet, 0), lose, NULL, NULL);
	options.user = &done;
	submit_many(fleet, &op, model, &ran, &options, futures);
	for (int i = 0; i < DETACHED; i++) /* nobody sees them end */
		ck_assert_int_eq(
			psg_submit_function(worker_of(fleet, 0), t_add_one, &ran, NULL, NULL, NULL),
			PSG_OK);
	moved = device_of(fleet, 0).queued - 2;
	ck_assert_uint_gt(moved, 0);
	let_go(gates, 0, 1);
	ck_assert_int_eq(t_finish(loser), PSG_DEVICE_LOST);
	await_empty(fleet, 0);
	ck_assert_uint_eq(device_of(fleet, 0).moved_out, moved);
	ck_assert_uint_eq(device_of(fleet, 1).moved_in + device_of(fleet, 2).moved_in, moved);
	ck_assert_uint_gt(device_of(fleet, 1).moved_in, 0);
	ck_assert_uint_gt(device_of(fleet, 2).moved_in, 0);
	ck_assert_uint_eq(stats_of(fleet).moved, moved);
	ck_assert_uint_eq(stats_of(fleet).lost, 1);
	ck_assert_uint_eq(stats_of(fleet).queued, JOBS + DETACHED + 2);
	ck_assert_int_eq(atomic_load(&ran), 0);
	ck_assert_int_eq(atomic_load(&done), 0);
	let_go(gates, 1, 3);
	for (int i = 0; i < JOBS; i++) {
		ck_assert_int_eq(psg_future_wait(futures[i]), PSG_OK);
		ck_assert_int_gt(psg_fleet_where(fleet, futures[i]), 0);
		ck_assert_str_eq(psg_future_fallback(futures[i]), "");
		ck_assert(i % 3 == 2 || is_right(futures[i]));
		psg_future_release(futures[i]);
	}
	await_empty(fleet, 1);
	await_empty(fleet, 2);
	ck_assert_int_eq(atomic_load(&ran), JOBS / 3 + DETACHED);
	ck_assert_int_eq(atomic_load(&done), JOBS);
	ck_assert_int_eq(psg_fleet_health(fleet, &error), PSG_OK);
	ck_assert_ptr_nonnull(strstr(device_of(fleet, 0).health.message, "CUDA_ERROR_LAUNCH_FAIL"));
	moved = device_of(fleet, 0).routed;
	for (int i = 0; i < JOBS; i++) {
		ck_assert_int_eq(psg_fleet_submit(fleet, &op, NULL, &futures[i], NULL), PSG_OK);
		ck_assert_int_eq(psg_future_wait(futures[i]), PSG_OK);
		expect_right(futures[i]);
	}
	ck_assert_uint_eq(device_of(fleet, 0).routed, moved);
	psg_model_unref(model);
	psg_tensor_unref(op.in[0]);
	close_fleet(fleet);
}
END_TEST

/* The run that meets the loss is done elsewhere, and is queued until then; a GPU goes before the
 * CPU that it might use. */
START_TEST(a_run_goes_on)
{
	psg_fleet *fleet = open_fleet(three, 2, NULL);
	psg_op op = relu();
	atomic_int done = 0;
	psg_job_options options = { .cpu_fallback = true, .done = t_count_done, .user = &done };
	psg_future_times times;
	psg_future *future;
	t_gate gates[2];

	hold(fleet, gates, 1, 2);
	t_gpu_fail("run:1:719");
	future = submit_op(worker_of(fleet, 0), &op, &options);
	ck_assert_int_eq(psg_fleet_where(fleet, future), -1);
	await_empty(fleet, 0);
	while (psg_future_poll(future) == PSG_FUTURE_RUNNING)
		(void)sched_yield();
	ck_assert_int_eq(psg_future_poll(future), PSG_FUTURE_QUEUED);
	psg_future_times_get(future, &times);
	ck_assert_int_eq(times.started_ns, 0);
	ck_assert_int_eq(atomic_load(&done), 0);
	let_go(gates, 1, 2);
	ck_assert_int_eq(psg_future_wait(future), PSG_OK);
	ck_assert_int_eq(psg_fleet_where(fleet, future), 1);
	ck_assert_str_eq(psg_future_fallback(future), "");
	expect_right(future);
	ck_assert_int_eq(atomic_load(&done), 1);
	ck_assert_uint_eq(stats_of(fleet).recomputed, 0);
	ck_assert_uint_eq(stats_of(fleet).completed, 2);
	ck_assert_uint_eq(stats_of(fleet).failed, 0);
	psg_tensor_unref(op.in[0]);
	close_fleet(fleet);
}
END_TEST

/* One after the other is lost; a job goes to each at most once, and in the end where it may. */
START_TEST(all_are_lost)
{
	psg_fleet_options fleet_options = { .cpu_fallback = _i == 1 };
	psg_fleet *fleet = open_fleet(three, 3, &fleet_options);
	psg_op op = relu();
	psg_job_options options = { .cpu_fallback = _i == 2 };
	psg_error error = PSG_ERROR_INIT;
	psg_future *future;

	for (size_t i = 0; i < 3; i++) {
		ck_assert_int_eq(psg_fleet_health(fleet, &error), PSG_OK);
		/* Each run from now on is a card's last one. */
		t_gpu_fail(i < 2 ? "run:1:719" : "run:1+:719");
		ck_assert_int_eq(psg_fleet_submit(fleet, &op, &options, &future, NULL), PSG_OK);
		if (i < 2) {
			expect_right(future);
		} else if (_i == 0) {
			ck_assert_int_eq(psg_future_wait(future), PSG_DEVICE_LOST);
			ck_assert_int_eq(psg_future_error(future, &error), PSG_DEVICE_LOST);
			ck_assert_ptr_nonnull(strstr(error.message, "CUDA_ERROR_LAUNCH_FAILED"));
			psg_future_release(future);
		} else {
			ck_assert_int_eq(psg_future_wait(future), PSG_OK);
			ck_assert_ptr_nonnull(
				strstr(psg_future_fallback(future), "CUDA_ERROR_LAUNCH_FAILED"));
			expect_right(future);
		}
		ck_assert_uint_eq(stats_of(fleet).lost, i + 1);
	}
	ck_assert_int_eq(psg_fleet_health(fleet, &error), PSG_DEVICE_LOST);
	ck_assert_uint_eq(stats_of(fleet).moved, 2);
	ck_assert_uint_eq(stats_of(fleet).recomputed, _i == 0 ? 0 : 1);
	/* Later ones end so, too, and at once. */
	ck_assert_int_eq(psg_fleet_submit(fleet, &op, &options, &future, NULL), PSG_OK);
	ck_assert_int_eq(t_finish(future), _i == 0 ? PSG_DEVICE_LOST : PSG_OK);
	ck_assert_uint_eq(stats_of(fleet).moved, 2);
	psg_tensor_unref(op.in[0]);
	close_fleet(fleet);
}
END_TEST

/* A job meets the loss of each card on its way; the CPU that has it in the end tells why. */
START_TEST(a_job_visits_each_once)
{
	static const char *const devices[] = { "cuda:0", "cuda:1", "cuda:2", "reference" };
	psg_fleet *fleet = open_fleet(devices, _i == 0 ? 3 : 4, NULL);
	psg_op op = relu();
	uint64_t kind = psgi_route_kind(PSGI_JOB_OP, PSG_OP_RELU, op.in, 1);
	psg_future *future;

	for (size_t i = 0; i < psg_fleet_devices(fleet); i++)
		for (int k = 0; k < 2; k++)
			psgi_route_note(&fleet->members[i], kind, i < 3 ? 1 : 1000 * PSG_SECOND);
	t_gpu_fail("run:1+:719");
	future = submit_op(worker_of(fleet, 0), &op, NULL);
	if (_i == 0) {
		ck_assert_int_eq(t_finish(future), PSG_DEVICE_LOST);
	} else {
		ck_assert_int_eq(psg_future_wait(future), PSG_OK);
		ck_assert_int_eq(psg_fleet_where(fleet, future), 3);
		ck_assert_ptr_nonnull(
			strstr(psg_future_fallback(future), "CUDA_ERROR_LAUNCH_FAILED"));
		expect_right(future);
	}
	ck_assert_uint_eq(stats_of(fleet).moved, _i == 0 ? 2 : 3);
	ck_assert_uint_eq(stats_of(fleet).failed, _i == 0 ? 1 : 0);
	ck_assert_uint_eq(stats_of(fleet).lost, 3);
	for (size_t i = 0; i < 3; i++)
		ck_assert_uint_eq(device_of(fleet, i).queued, 0);
	psg_tensor_unref(op.in[0]);
	close_fleet(fleet);
}
END_TEST

/* A function that has started stays, and its end is its own. */
START_TEST(functions_that_started_stay)
{
	psg_fleet *fleet = open_fleet(three, 2, NULL);
	psg_future *future;

	ck_assert_int_eq(psg_fleet_submit_function(fleet, lose, NULL, NULL, &future, NULL), PSG_OK);
	ck_assert_int_eq(psg_future_wait(future), PSG_DEVICE_LOST);
	psg_future_release(future);
	ck_assert_uint_eq(stats_of(fleet).moved, 0);
	ck_assert_uint_eq(stats_of(fleet).lost, 1);
	close_fleet(fleet);
}
END_TEST

/* --- what can be done to a job on its way --- */

/* Its deadline ends it while it waits at its second device, also where the keeper was not to care
 * for it at its last look. */
START_TEST(deadlines_go_with_jobs)
{
	psg_fleet *fleet;
	psg_op op = relu();
	psg_job_options options = { 0 };
	psg_future *running, *queued[3], *behind;
	t_gate gates[2];

	ck_assert_int_eq(setenv("FAKECUDA_HANG", "cuLaunchKernel", 1), 0);
	fleet = open_fleet(three, 2, NULL);
	hold(fleet, gates, 1, 2);
	options.deadline_ns = psg_now_ns() + 100 * PSG_MILLISECOND;
	running = submit_op(worker_of(fleet, 0), &op, &options);
	while (psg_future_poll(running) != PSG_FUTURE_RUNNING)
		(void)sched_yield();
	options.deadline_ns = psg_now_ns() + PSG_MILLISECOND;
	behind = submit_op(worker_of(fleet, 0), &op, &options);
	ck_assert_int_eq(t_finish(behind), PSG_TIMED_OUT);
	t_gpu_fail("run:1:719"); /* goes on, and loses the card */
	ck_assert_int_eq(t_finish(running), PSG_TIMED_OUT);
	options.deadline_ns = psg_now_ns() + 10 * PSG_MILLISECOND;
	for (size_t i = 0; i < 3; i++)
		queued[i] = submit_op(worker_of(fleet, 0), &op, i == 0 ? NULL : &options);
	ck_assert_int_eq(t_finish(queued[1]), PSG_TIMED_OUT);
	ck_assert_int_eq(t_finish(queued[2]), PSG_TIMED_OUT);
	ck_assert_uint_eq(stats_of(fleet).expired, 4);
	let_go(gates, 1, 2);
	expect_right(queued[0]);
	psg_tensor_unref(op.in[0]);
	close_fleet(fleet);
}
END_TEST

START_TEST(cancelling_on_the_way)
{
	psg_fleet *fleet;
	psg_op op = relu();
	psg_error error = PSG_ERROR_INIT;
	psg_future *running, *queued[4];
	t_gate gates[2];

	ck_assert_int_eq(setenv("FAKECUDA_HANG", "cuLaunchKernel", 1), 0);
	fleet = open_fleet(three, 2, NULL);
	hold(fleet, gates, 1, 2);
	running = submit_op(worker_of(fleet, 0), &op, NULL);
	for (size_t i = 0; i < 4; i++)
		queued[i] = submit_op(worker_of(fleet, 0), &op, NULL);
	while (psg_future_poll(running) != PSG_FUTURE_RUNNING)
		(void)sched_yield();
	/* It would not have stopped; now it does not go on. */
	ck_assert_int_eq(psg_future_cancel(running), PSG_CANCEL_RUNNING);
	ck_assert_int_eq(psg_future_cancel(queued[0]), PSG_CANCEL_REMOVED);
	t_gpu_fail("run:1:719");
	ck_assert_int_eq(psg_future_wait(running), PSG_CANCELLED);
	ck_assert_int_eq(psg_future_error(running, &error), PSG_CANCELLED);
	ck_assert_str_eq(error.message, "cancelled on the way to another device");
	psg_future_release(running);
	await_empty(fleet, 0);
	ck_assert_uint_eq(device_of(fleet, 1).queued, 1 + 3);
	ck_assert_int_eq(psg_future_cancel(queued[1]), PSG_CANCEL_REMOVED);
	psg_future_release(queued[2]);
	ck_assert_uint_eq(device_of(fleet, 1).queued, 1 + 1);
	let_go(gates, 1, 2);
	expect_right(queued[3]);
	ck_assert_int_eq(t_finish(queued[0]), PSG_CANCELLED);
	ck_assert_int_eq(t_finish(queued[1]), PSG_CANCELLED);
	ck_assert_uint_eq(stats_of(fleet).cancelled, 4);
	psg_tensor_unref(op.in[0]);
	close_fleet(fleet);
}
END_TEST

/* Notes when it ran. */
struct order {
	atomic_int *next;
	int at;
};

static psg_status note_order(psg_device *device, void *arg, psg_error *error)
{
	struct order *order = arg;

	(void)device;
	(void)error;
	order->at = atomic_fetch_add(order->next, 1);
	return PSG_OK;
}

/* Classes stay what they are; in each, what was moved goes before what was there, but for the job
 * that is found before the executor looks who sends it some. */
START_TEST(priorities_go_with_jobs)
{
	/* The last two wait at the second device. */
	static const int priorities[] = { -1, 0, -1, 0, 0, -1 };
	static const int expected[] = { 3, 1, 4, 2, 0, 5 };
	psg_fleet *fleet = open_fleet(three, 2, NULL);
	struct order orders[6];
	psg_future *futures[6], *loser;
	atomic_int next = 0;
	t_gate gates[2];

	hold(fleet, gates, 0, 2);
	loser = t_submit(worker_of(fleet, 0), lose, NULL, NULL);
	for (int i = 0; i < 6; i++) {
		psg_job_options options = { .priority = priorities[i] };

		orders[i] = (struct order){ .next = &next };
		futures[i] =
			t_submit(worker_of(fleet, i < 4 ? 0 : 1), note_order, &orders[i], &options);
	}
	let_go(gates, 0, 1);
	ck_assert_int_eq(t_finish(loser), PSG_DEVICE_LOST);
	await_empty(fleet, 0);
	let_go(gates, 1, 2);
	for (int i = 0; i < 6; i++) {
		ck_assert_int_eq(t_finish(futures[i]), PSG_OK);
		ck_assert_int_eq(orders[i].at, expected[i]);
	}
	close_fleet(fleet);
}
END_TEST

/* --- ending meanwhile --- */

static void *drain(void *fleet)
{
	return psg_fleet_drain(fleet, -1) == PSG_OK ? fleet : NULL;
}

/* The other has drained long since when the jobs come to it. */
START_TEST(draining_waits_for_what_moves)
{
	psg_fleet *fleet = open_fleet(three, 2, NULL);
	psg_op op = relu();
	psg_future *futures[20], *loser, *refused;
	pthread_t thread;
	void *drained;
	t_gate gates[1];

	hold(fleet, gates, 0, 1);
	loser = t_submit(worker_of(fleet, 0), lose, NULL, NULL);
	for (int i = 0; i < 20; i++)
		futures[i] = submit_op(worker_of(fleet, 0), &op, NULL);
	ck_assert_int_eq(psg_fleet_drain(fleet, 0), PSG_TIMED_OUT);
	ck_assert_int_eq(pthread_create(&thread, NULL, drain, fleet), 0);
	ck_assert_int_eq(psg_fleet_submit(fleet, &op, NULL, &refused, NULL), PSG_SHUTDOWN);
	let_go(gates, 0, 1);
	ck_assert_int_eq(t_finish(loser), PSG_DEVICE_LOST);
	for (int i = 0; i < 20; i++)
		expect_right(futures[i]);
	ck_assert_int_eq(pthread_join(thread, &drained), 0);
	ck_assert_ptr_eq(drained, fleet);
	ck_assert_uint_eq(stats_of(fleet).moved, 20);
	psg_tensor_unref(op.in[0]);
	close_fleet(fleet);
}
END_TEST

static void *close_it(void *fleet)
{
	psg_fleet_close(fleet);
	return NULL;
}

/* 0: the moved jobs wait at a device that is held; 1: the closing meets them on the way. */
START_TEST(closing_meanwhile)
{
	int rounds = _i == 0 ? 1 : 30;

	for (int round = 0; round < rounds; round++) {
		psg_fleet *fleet = open_fleet(three, 3, NULL);
		psg_op op = relu();
		psg_future *futures[40];
		t_gate gates[2];
		pthread_t thread;

		if (_i == 0)
			hold(fleet, gates, 1, 2);
		t_gpu_fail("run:1:719");
		for (int i = 0; i < 40; i++)
			futures[i] =
				submit_op(worker_of(fleet, _i == 0 ? 0 : (size_t)i % 3), &op, NULL);
		if (_i == 0)
			await_empty(fleet, 0);
		ck_assert_int_eq(pthread_create(&thread, NULL, close_it, fleet), 0);
		for (int i = 0; i < 40; i++) {
			psg_status status = psg_future_wait(futures[i]);

			ck_assert_msg(status == PSG_OK || status == PSG_SHUTDOWN, "%s",
				      psg_status_name(status));
		}
		if (_i == 0)
			let_go(gates, 1, 2);
		ck_assert_int_eq(pthread_join(thread, NULL), 0);
		for (int i = 0; i < 40; i++)
			psg_future_release(futures[i]);
		psg_tensor_unref(op.in[0]);
		t_gpu_expect_nothing_left();
		t_gpu_fail("");
	}
}
END_TEST

/* The run that meets the loss is sent to a device whose executor has left: the closer ends it. */
START_TEST(closing_meets_a_run_on_its_way)
{
	psg_fleet *fleet;
	psg_op op = relu();
	psg_future *future;
	pthread_t thread;

	ck_assert_int_eq(setenv("FAKECUDA_HANG", "cuLaunchKernel", 1), 0);
	fleet = open_fleet(three, 2, NULL);
	future = submit_op(worker_of(fleet, 0), &op, NULL);
	while (psg_future_poll(future) != PSG_FUTURE_RUNNING)
		(void)sched_yield();
	ck_assert_int_eq(pthread_create(&thread, NULL, close_it, fleet), 0);
	while (atomic_load(&fleet->members[1].worker->presence) != PSGI_LEFT)
		(void)sched_yield();
	t_gpu_fail("run:1:719");
	ck_assert_int_eq(t_finish(future), PSG_SHUTDOWN);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	psg_tensor_unref(op.in[0]);
	t_gpu_expect_nothing_left();
}
END_TEST

/* --- many at once --- */

struct producer {
	psg_fleet *fleet;
	const psg_op *op;
	psg_model *model;
	atomic_int *done;
	const atomic_bool *stop;
	int submitted, wrong;
};

/* A few at a time, of each kind; leaves one in eight alone. */
static void *produce(void *arg)
{
	struct producer *producer = arg;
	psg_job_options options = { .done = t_count_done, .user = producer->done };

	while (!atomic_load(producer->stop)) {
		psg_future *futures[8] = { NULL };

		for (int i = 0; i < 8; i++) {
			psg_status status =
				i % 2 == 0
					? psg_fleet_submit(producer->fleet, producer->op, &options,
							   &futures[i], NULL)
					: psg_fleet_submit_model(producer->fleet, producer->model,
								 &producer->op->in[0], 1, &options,
								 i == 7 ? NULL : &futures[i], NULL);

			producer->submitted += status == PSG_OK;
			producer->wrong += status != PSG_OK;
		}
		for (int i = 0; i < 8; i++) {
			if (futures[i] == NULL)
				continue;
			producer->wrong +=
				psg_future_wait(futures[i]) != PSG_OK || !is_right(futures[i]);
			psg_future_release(futures[i]);
		}
	}
	return NULL;
}

/* Three of four cards go while four threads submit: each job ends well, and once. */
START_TEST(losses_in_a_storm)
{
	static const char *const four[] = { "cuda:0", "cuda:1", "cuda:2", "cuda:3" };
	psg_fleet *fleet = open_fleet(four, 4, NULL);
	psg_op op = relu();
	psg_model *model = relu_model();
	struct producer producers[4];
	pthread_t threads[4];
	atomic_int done = 0;
	atomic_bool stop = false;
	int submitted = 0;

	for (size_t i = 0; i < 4; i++) {
		producers[i] = (struct producer){
			.fleet = fleet, .op = &op, .model = model, .done = &done, .stop = &stop
		};
		ck_assert_int_eq(pthread_create(&threads[i], NULL, produce, &producers[i]), 0);
	}
	for (int lost = 1; lost <= 3; lost++) {
		int before = atomic_load(&done);

		while (atomic_load(&done) < before + 500)
			(void)sched_yield();
		t_gpu_fail("run:1:719");
		while (stats_of(fleet).lost < (uint64_t)lost)
			(void)sched_yield();
	}
	atomic_store(&stop, true);
	for (size_t i = 0; i < 4; i++) {
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
		ck_assert_int_eq(producers[i].wrong, 0);
		submitted += producers[i].submitted;
	}
	ck_assert_int_eq(psg_fleet_drain(fleet, -1), PSG_OK);
	ck_assert_int_eq(atomic_load(&done), submitted);
	ck_assert_uint_eq(stats_of(fleet).completed, (uint64_t)submitted);
	ck_assert_uint_ge(stats_of(fleet).moved, 3);
	for (size_t i = 0; i < 4; i++)
		ck_assert_uint_eq(device_of(fleet, i).queued, 0);
	psg_model_unref(model);
	psg_tensor_unref(op.in[0]);
	close_fleet(fleet);
}
END_TEST

/* --- shared cards --- */

/* What loses one fleet's card loses it for the other, too; both go on. */
START_TEST(fleets_share_a_loss)
{
	psg_fleet_options options = { .shared = true };
	psg_fleet *first = open_fleet(three, 2, &options), *second = open_fleet(three, 2, &options);
	psg_op op = relu();
	psg_future *futures[20];

	lose_card(first, 0);
	ck_assert_uint_eq(stats_of(second).lost, 1);
	for (int i = 0; i < 20; i++)
		futures[i] = submit_op(worker_of(i % 2 == 0 ? first : second, 0), &op, NULL);
	for (int i = 0; i < 20; i++)
		expect_right(futures[i]);
	ck_assert_uint_eq(stats_of(first).moved, 10);
	ck_assert_uint_eq(stats_of(second).moved, 10);
	psg_fleet_close(first);
	psg_tensor_unref(op.in[0]);
	close_fleet(second);
}
END_TEST

/* --- all that there are --- */

START_TEST(all_gpus)
{
	psg_fleet *fleet;
	psg_op op = relu();
	psg_future *future;

	ck_assert_int_eq(setenv("FAKECUDA_FAIL", "cuDevicePrimaryCtxRetain:2:46", 1), 0);
	ck_assert_int_eq(setenv("FAKECUDA_DEVICES", "3", 1), 0);
	fleet = open_fleet(NULL, 0, NULL);
	ck_assert_uint_eq(psg_fleet_devices(fleet), 3);
	ck_assert_str_eq(device_of(fleet, 1).name, "cuda:1");
	ck_assert_ptr_null(device_of(fleet, 1).info);
	ck_assert_ptr_null(device_of(fleet, 1).worker);
	ck_assert_int_ne(device_of(fleet, 1).health.code, PSG_OK);
	ck_assert_uint_gt(strlen(device_of(fleet, 1).health.message), 0);
	for (int i = 0; i < 10; i++) {
		ck_assert_int_eq(psg_fleet_submit(fleet, &op, NULL, &future, NULL), PSG_OK);
		expect_right(future);
	}
	ck_assert_uint_ge(device_of(fleet, 0).routed, 2);
	ck_assert_uint_eq(device_of(fleet, 1).routed, 0);
	ck_assert_uint_ge(device_of(fleet, 2).routed, 2);
	lose_card(fleet, 0);
	ck_assert_int_eq(psg_fleet_submit(fleet, &op, NULL, &future, NULL), PSG_OK);
	expect_right(future);
	psg_fleet_trim(fleet);
	psg_tensor_unref(op.in[0]);
	close_fleet(fleet);
}
END_TEST

START_TEST(no_gpu_works)
{
	psg_fleet *fleet;

	ck_assert_int_eq(setenv("FAKECUDA_FAIL", "cuDevicePrimaryCtxRetain:1+:46", 1), 0);
	fleet = open_fleet(NULL, 0, NULL);
	ck_assert_uint_eq(psg_fleet_devices(fleet), 1);
	ck_assert_int_eq(device_of(fleet, 0).info->kind, PSG_DEVICE_CPU);
	ck_assert_uint_gt(strlen(device_of(fleet, 0).info->fallback), 0);
	ck_assert_int_eq(device_of(fleet, 0).health.code, PSG_OK);
	close_fleet(fleet);
}
END_TEST

/* Opening fails at each call of the driver in turn, and leaves nothing. */
START_TEST(opening_fails_at_each_call)
{
	psg_fleet *fleet = open_fleet(three, 2, NULL);
	int64_t calls = t_gpu_counts().calls;
	char rule[40];

	close_fleet(fleet);
	for (int64_t n = 1; n <= calls; n++) {
		(void)snprintf(rule, sizeof(rule), "*:%lld:999", (long long)n);
		t_gpu_fail(rule);
		if (psg_fleet_open(three, 2, NULL, &fleet, NULL) == PSG_OK)
			psg_fleet_close(fleet);
		t_gpu_expect_nothing_left();
	}
}
END_TEST

int main(void)
{
	Suite *s = suite_create("fleet of GPUs");
	TCase *fake = tcase_create("fake GPUs");
	SRunner *runner;
	int failed;

	if (t_gpu_real())
		return 77; /* real ones are not to be lost */
	tcase_set_timeout(fake, 120);
	tcase_add_test(fake, a_queue_goes_on);
	tcase_add_test(fake, a_run_goes_on);
	tcase_add_loop_test(fake, all_are_lost, 0, 3);
	tcase_add_loop_test(fake, a_job_visits_each_once, 0, 2);
	tcase_add_test(fake, functions_that_started_stay);
	tcase_add_test(fake, deadlines_go_with_jobs);
	tcase_add_test(fake, cancelling_on_the_way);
	tcase_add_test(fake, priorities_go_with_jobs);
	tcase_add_test(fake, draining_waits_for_what_moves);
	tcase_add_loop_test(fake, closing_meanwhile, 0, 2);
	tcase_add_test(fake, closing_meets_a_run_on_its_way);
	tcase_add_test(fake, losses_in_a_storm);
	tcase_add_test(fake, fleets_share_a_loss);
	tcase_add_test(fake, all_gpus);
	tcase_add_test(fake, no_gpu_works);
	tcase_add_test(fake, opening_fails_at_each_call);
	suite_add_tcase(s, fake);
	runner = srunner_create(s);
	srunner_set_fork_status(runner, CK_FORK); /* a process opens one driver */
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
