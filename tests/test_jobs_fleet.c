/* SPDX-License-Identifier: Apache-2.0 */
/* A fleet of CPUs: where jobs go, and that its futures are those of a worker. */
#include "config.h"

#include "jobs/fleet.h"

#include "jobs_util.h"
#include "nomem.h"
#include "onnx_text.h"

#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static psg_fleet *open_fleet(const char *const *devices, size_t n, const psg_fleet_options *options)
{
	psg_error error = PSG_ERROR_INIT;
	psg_fleet *fleet;

	ck_assert_msg(psg_fleet_open(devices, n, options, &fleet, &error) == PSG_OK, "%s",
		      error.message);
	return fleet;
}

/* Three that are alike. */
static psg_fleet *open_three(size_t capacity)
{
	static const char *const devices[] = { "reference", "reference", "reference" };
	psg_fleet_options options = { .worker.lane_capacity = capacity };

	return open_fleet(devices, 3, &options);
}

static psg_fleet_device device_of(const psg_fleet *fleet, size_t index)
{
	psg_fleet_device device = { .size = sizeof(device) };

	ck_assert_int_eq(psg_fleet_device_get(fleet, index, &device), PSG_OK);
	return device;
}

static psg_fleet_stats stats_of(const psg_fleet *fleet)
{
	psg_fleet_stats stats = { .size = sizeof(stats) };

	ck_assert_int_eq(psg_fleet_stats_get(fleet, &stats), PSG_OK);
	return stats;
}

static psg_future *submit(psg_fleet *fleet, psg_job_fn fn, void *arg,
			  const psg_job_options *options)
{
	psg_error error = PSG_ERROR_INIT;
	psg_future *future;

	ck_assert_msg(psg_fleet_submit_function(fleet, fn, arg, options, &future, &error) == PSG_OK,
		      "%s", error.message);
	return future;
}

/* Runs one, and tells where. */
static int32_t run(psg_fleet *fleet, psg_job_fn fn, void *arg)
{
	psg_future *future = submit(fleet, fn, arg, NULL);
	int32_t where;

	ck_assert_int_eq(psg_future_wait(future), PSG_OK);
	where = psg_fleet_where(fleet, future);
	psg_future_release(future);
	return where;
}

/* As if two jobs of this function had taken so long there. */
static void teach(psg_fleet *fleet, size_t index, psg_job_fn fn, int64_t ns)
{
	for (int i = 0; i < 2; i++)
		psgi_route_note(&fleet->members[index], psgi_route_kind_of_fn(fn), ns);
}

static void hold_all(psg_fleet *fleet, t_gate *gates)
{
	for (size_t i = 0; i < psg_fleet_devices(fleet); i++)
		t_gate_close(&gates[i], device_of(fleet, i).worker);
}

static void let_all_go(psg_fleet *fleet, t_gate *gates)
{
	for (size_t i = 0; i < psg_fleet_devices(fleet); i++)
		t_gate_open(&gates[i]);
}

/* --- opening --- */

START_TEST(opens_what_is_named)
{
	static const char *const devices[] = { "reference", "cpu:1" };
	static const char *const wrong[] = { "reference", "abacus" };
	static const char *const none[] = { "reference", NULL };
	const char *many[PSG_FLEET_MOST + 1];
	psg_fleet *fleet = open_fleet(devices, 2, NULL);
	psg_error error = PSG_ERROR_INIT;
	psg_fleet_device device = { .size = sizeof(device) };
	psg_fleet_stats stats = { .size = 1 };

	ck_assert_uint_eq(psg_fleet_devices(fleet), 2);
	ck_assert_int_eq(psg_fleet_health(fleet, &error), PSG_OK);
	for (size_t i = 0; i < 2; i++) {
		device = device_of(fleet, i);
		ck_assert_str_eq(device.name, devices[i]);
		ck_assert_int_eq(device.info->kind, PSG_DEVICE_CPU);
		ck_assert_int_eq(device.health.code, PSG_OK);
		ck_assert_ptr_nonnull(device.worker);
		ck_assert_uint_eq(device.queued + device.routed, 0);
		ck_assert_int_eq(device.expected_ns, 0);
	}
	ck_assert_int_eq(psg_fleet_device_get(fleet, 2, &device), PSG_INVALID);
	device.size = 8;
	ck_assert_int_eq(psg_fleet_device_get(fleet, 0, &device), PSG_INVALID);
	ck_assert_int_eq(psg_fleet_stats_get(fleet, &stats), PSG_INVALID);
	psg_fleet_close(fleet);
	psg_fleet_close(NULL);
	ck_assert_int_eq(psg_fleet_open(wrong, 2, NULL, &fleet, &error), PSG_INVALID);
	ck_assert_ptr_null(fleet);
	ck_assert_ptr_nonnull(strstr(error.message, "abacus"));
	ck_assert_int_eq(psg_fleet_open(none, 2, NULL, &fleet, &error), PSG_INVALID);
	ck_assert_str_eq(error.message, "device 1 has no name");
	for (size_t i = 0; i < T_COUNT(many); i++)
		many[i] = "reference";
	ck_assert_int_eq(psg_fleet_open(many, T_COUNT(many), NULL, &fleet, &error), PSG_INVALID);
	ck_assert_str_eq(error.message, "a fleet of 65 devices: at most 64");
}
END_TEST

/* This machine's driver, or none, must not decide. */
START_TEST(no_gpu_is_a_cpu)
{
	psg_fleet *fleet;
	psg_fleet_device device;

	ck_assert_int_eq(setenv("PAGESIFT_GPU", "off", 1), 0);
	fleet = open_fleet(NULL, 0, NULL);
	ck_assert_uint_eq(psg_fleet_devices(fleet), 1);
	device = device_of(fleet, 0);
	ck_assert_int_eq(device.info->kind, PSG_DEVICE_CPU);
	ck_assert_ptr_nonnull(strstr(device.info->fallback, "PAGESIFT_GPU=off"));
	ck_assert_int_eq(run(fleet, t_nothing, NULL), 0);
	psg_fleet_close(fleet);
}
END_TEST

/* Two fleets on one device, each with a worker of its own. */
START_TEST(fleets_share_devices)
{
	static const char *const devices[] = { "reference", "cpu:1" };
	psg_fleet_options options = { .shared = true };
	psg_fleet *first = open_fleet(devices, 2, &options);
	psg_fleet *second = open_fleet(devices, 2, &options);

	ck_assert_ptr_ne(device_of(first, 0).worker, device_of(second, 0).worker);
	ck_assert_ptr_eq(device_of(first, 0).info, device_of(second, 0).info);
	for (int i = 0; i < 100; i++) {
		(void)run(first, t_nothing, NULL);
		(void)run(second, t_nothing, NULL);
	}
	psg_fleet_close(first);
	(void)run(second, t_nothing, NULL);
	ck_assert_uint_eq(stats_of(second).completed, 101);
	psg_fleet_close(second);
}
END_TEST

/* --- choosing --- */

/* Each device gets the first two jobs of a kind, in turns. */
START_TEST(unknown_devices_are_tried_early)
{
	psg_fleet *fleet = open_three(0);
	int runs[3] = { 0 };

	for (int i = 0; i < 6; i++)
		runs[run(fleet, t_nothing, NULL)]++;
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(runs[i], 2);
		ck_assert_uint_eq(device_of(fleet, (size_t)i).routed, 2);
	}
	/* Another kind is unknown again. */
	for (int i = 0; i < 6; i++)
		runs[run(fleet, t_pause, NULL)]++;
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(runs[i], 4);
	psg_fleet_close(fleet);
}
END_TEST

START_TEST(idle_devices_are_chosen_by_speed)
{
	psg_fleet *fleet = open_three(0);

	teach(fleet, 0, t_add_one, 30 * PSG_SECOND);
	teach(fleet, 1, t_add_one, PSG_SECOND);
	teach(fleet, 2, t_add_one, 20 * PSG_SECOND);
	for (int i = 0; i < 10; i++) {
		atomic_int n = 0;

		ck_assert_int_eq(run(fleet, t_add_one, &n), 1);
	}
	psg_fleet_close(fleet);
}
END_TEST

/* While all are held, jobs lie there in proportion to speed.  What holds them is not counted. */
START_TEST(queues_are_in_proportion_to_speed)
{
	psg_fleet *fleet = open_three(0);
	atomic_int n = 0;
	t_gate gates[3];
	psg_future *futures[61];

	/* So long that the gates' own share of it, and the time they are held, do not count. */
	teach(fleet, 0, t_add_one, 3000 * PSG_SECOND);
	teach(fleet, 1, t_add_one, 1000 * PSG_SECOND);
	teach(fleet, 2, t_add_one, 1500 * PSG_SECOND);
	hold_all(fleet, gates);
	for (size_t i = 0; i < 61; i++)
		futures[i] = submit(fleet, t_add_one, &n, NULL);
	/* 10 : 30 : 20 of 60; one more is anybody's. */
	ck_assert_uint_le(device_of(fleet, 0).queued, 1 + 11);
	ck_assert_uint_ge(device_of(fleet, 0).queued, 1 + 10);
	ck_assert_uint_le(device_of(fleet, 1).queued, 1 + 31);
	ck_assert_uint_ge(device_of(fleet, 1).queued, 1 + 30);
	ck_assert_uint_le(device_of(fleet, 2).queued, 1 + 21);
	ck_assert_uint_ge(device_of(fleet, 2).queued, 1 + 20);
	for (size_t i = 0; i < 3; i++)
		ck_assert_int_ge(device_of(fleet, i).expected_ns, 29000 * PSG_SECOND);
	ck_assert_uint_eq(stats_of(fleet).queued, 64);
	let_all_go(fleet, gates);
	for (size_t i = 0; i < 61; i++)
		ck_assert_int_eq(t_finish(futures[i]), PSG_OK);
	ck_assert_int_eq(atomic_load(&n), 61);
	for (size_t i = 0; i < 3; i++) {
		ck_assert_uint_eq(device_of(fleet, i).queued, 0);
		ck_assert_int_eq(device_of(fleet, i).expected_ns, 0);
	}
	psg_fleet_close(fleet);
}
END_TEST

/* What runs longer than was expected falls behind: by its job's end as late as it is already. */
START_TEST(late_devices_fall_behind)
{
	psg_fleet *fleet = open_three(0);
	psgi_member *member = &fleet->members[0];

	atomic_store(&member->backlog_ns, 50);
	atomic_store(&member->started_cost_ns, 20);
	ck_assert_int_eq(psgi_route_backlog(member, 1000), 50); /* nothing runs */
	atomic_store(&member->started_ns, 1000);
	ck_assert_int_eq(psgi_route_backlog(member, 900), 50); /* another core's clock */
	ck_assert_int_eq(psgi_route_backlog(member, 1005), 45);
	ck_assert_int_eq(psgi_route_backlog(member, 1020), 30);
	ck_assert_int_eq(psgi_route_backlog(member, 1100), 110);
	atomic_store(&member->backlog_ns, 0);
	atomic_store(&member->started_ns, 0);
	psg_fleet_close(fleet);
}
END_TEST

/* The first run may have to compile: the lesser of two counts, then an eighth of each. */
START_TEST(means)
{
	static const char *const devices[] = { "reference", "reference" };
	psg_fleet *fleet = open_fleet(devices, 2, NULL);
	uint64_t kind = psgi_route_kind_of_fn(t_pause);
	int64_t expected;

	/* Both would do it in 1000 then, and 0 has run the kind. */
	psgi_route_note(&fleet->members[0], kind, 5000);
	psgi_route_note(&fleet->members[0], kind, 1000);
	ck_assert_uint_eq(psgi_route_choose(fleet, kind, 0, &expected)->index, 1);
	ck_assert_int_eq(expected, 1000);
	ck_assert_uint_eq(psgi_route_choose(fleet, kind, 2, &expected)->index, 0);
	ck_assert_int_eq(expected, 1000);
	ck_assert_ptr_null(psgi_route_choose(fleet, kind, 3, &expected));
	psgi_route_note(&fleet->members[0], kind, 1800);
	(void)psgi_route_choose(fleet, kind, 2, &expected);
	ck_assert_int_eq(expected, 1100);
	/* 1 gets better than 0. */
	teach(fleet, 1, t_pause, 1099);
	ck_assert_uint_eq(psgi_route_choose(fleet, kind, 0, &expected)->index, 1);
	ck_assert_int_eq(expected, 1099);
	/* Nothing takes no time. */
	teach(fleet, 1, t_nothing, 0);
	(void)psgi_route_choose(fleet, psgi_route_kind_of_fn(t_nothing), 1, &expected);
	ck_assert_int_eq(expected, 1);
	psg_fleet_close(fleet);
}
END_TEST

/* Of kinds that meet in one place the later one stays. */
START_TEST(means_are_displaced)
{
	psg_fleet *fleet = open_three(0);
	psgi_member *member = &fleet->members[0];
	int64_t expected;

	for (int i = 0; i < 2; i++)
		psgi_route_note(member, 7, 10);
	for (int i = 0; i < 2; i++)
		psgi_route_note(member, 7 + PSGI_MEANS, 20);
	(void)psgi_route_choose(fleet, 7 + PSGI_MEANS, 6, &expected);
	ck_assert_int_eq(expected, 20);
	(void)psgi_route_choose(fleet, 7, 6, &expected);
	ck_assert_int_eq(expected, PSG_MILLISECOND); /* as of one that never ran */
	psg_fleet_close(fleet);
}
END_TEST

START_TEST(kinds)
{
	psg_tensor *small, *twice, *large;
	uint64_t kind;

	ck_assert_int_eq(psg_tensor_create(PSG_F32, &PSG_SHAPE(16), &small, NULL), PSG_OK);
	ck_assert_int_eq(psg_tensor_create(PSG_F32, &PSG_SHAPE(32), &twice, NULL), PSG_OK);
	ck_assert_int_eq(psg_tensor_create(PSG_F32, &PSG_SHAPE(64), &large, NULL), PSG_OK);
	kind = psgi_route_kind(PSGI_JOB_OP, PSG_OP_RELU, &small, 1);
	ck_assert_uint_eq(psgi_route_kind(PSGI_JOB_OP, PSG_OP_RELU, &twice, 1), kind);
	ck_assert_uint_ne(psgi_route_kind(PSGI_JOB_OP, PSG_OP_RELU, &large, 1), kind);
	ck_assert_uint_ne(psgi_route_kind(PSGI_JOB_OP, PSG_OP_ADD, &small, 1), kind);
	ck_assert_uint_ne(psgi_route_kind(PSGI_JOB_MODEL, PSG_OP_RELU, &small, 1), kind);
	psg_tensor_unref(small);
	psg_tensor_unref(twice);
	psg_tensor_unref(large);
}
END_TEST

static psg_status fails(psg_device *device, void *arg, psg_error *error)
{
	(void)device;
	(void)arg;
	(void)error;
	return PSG_INVALID;
}

/* Who fails at once is not fast. */
START_TEST(failures_are_not_measured)
{
	psg_fleet *fleet = open_three(0);
	int64_t expected;

	for (int i = 0; i < 9; i++)
		ck_assert_int_eq(t_finish(submit(fleet, fails, NULL, NULL)), PSG_INVALID);
	(void)psgi_route_choose(fleet, psgi_route_kind_of_fn(fails), 0, &expected);
	ck_assert_int_eq(expected, PSG_MILLISECOND);
	ck_assert_uint_eq(stats_of(fleet).failed, 9);
	psg_fleet_close(fleet);
}
END_TEST

/* --- a worker's futures --- */

START_TEST(operators_and_models)
{
	psg_fleet *fleet = open_three(0);
	psg_error error = PSG_ERROR_INIT;
	psg_op op = { .kind = PSG_OP_RELU, .n_in = 1 }, wrong = op;
	psg_tensor *const *out;
	psg_tensor *x;
	psg_model *model;
	psg_future *future;
	size_t size, n;
	uint8_t *bytes = t_onnx("opset 7; in x 4; Relu x > y; out y", &size);

	ck_assert_int_eq(psg_tensor_create(PSG_F32, &PSG_SHAPE(4), &x, NULL), PSG_OK);
	for (int i = 0; i < 4; i++)
		((float *)psg_tensor_data(x))[i] = (float)(i - 2);
	op.in[0] = x;
	ck_assert_int_eq(psg_model_load_memory(bytes, size, "relu", NULL, &model, NULL), PSG_OK);
	for (int i = 0; i < 20; i++) {
		if (i % 2 == 0)
			ck_assert_int_eq(psg_fleet_submit(fleet, &op, NULL, &future, NULL), PSG_OK);
		else
			ck_assert_int_eq(
				psg_fleet_submit_model(fleet, model, &x, 1, NULL, &future, NULL),
				PSG_OK);
		ck_assert_int_eq(psg_future_wait(future), PSG_OK);
		ck_assert_int_eq(psg_future_tensors(future, &out, &n, NULL), PSG_OK);
		ck_assert_uint_eq(n, 1);
		ck_assert_float_eq(((const float *)psg_tensor_const_data(out[0]))[3], 1);
		ck_assert_float_eq(((const float *)psg_tensor_const_data(out[0]))[0], 0);
		ck_assert_str_eq(psg_future_fallback(future), "");
		psg_future_release(future);
	}
	future = (psg_future *)(uintptr_t)64;
	ck_assert_int_eq(psg_fleet_submit(fleet, &wrong, NULL, &future, &error), PSG_INVALID);
	ck_assert_ptr_null(future);
	wrong.n_in = PSG_MAX_INPUTS + 1;
	ck_assert_int_eq(psg_fleet_submit(fleet, &wrong, NULL, &future, &error), PSG_INVALID);
	ck_assert_int_eq(psg_fleet_submit_model(fleet, model, &x, 0, NULL, &future, &error),
			 PSG_INVALID);
	ck_assert_int_eq(psg_fleet_drain(fleet, -1), PSG_OK);
	ck_assert_uint_eq(stats_of(fleet).completed, 20);
	psg_fleet_close(fleet);
	psg_model_unref(model);
	psg_tensor_unref(x);
	free(bytes);
}
END_TEST

/* With nobody to see them end, they do. */
START_TEST(detached_jobs)
{
	psg_fleet *fleet = open_three(0);
	atomic_int n = 0;

	for (int i = 0; i < 1000; i++)
		ck_assert_int_eq(psg_fleet_submit_function(fleet, t_add_one, &n, NULL, NULL, NULL),
				 PSG_OK);
	ck_assert_int_eq(psg_fleet_drain(fleet, -1), PSG_OK);
	ck_assert_int_eq(atomic_load(&n), 1000);
	ck_assert_uint_eq(stats_of(fleet).completed, 1000);
	ck_assert_int_eq(psg_fleet_submit_function(fleet, t_add_one, &n, NULL, NULL, NULL),
			 PSG_SHUTDOWN);
	psg_fleet_close(fleet);
}
END_TEST

START_TEST(full_lanes_lead_elsewhere)
{
	psg_fleet *fleet = open_three(4);
	psg_error error = PSG_ERROR_INIT;
	psg_job_options patient = { .room_timeout_ns = 5 * PSG_MILLISECOND };
	psg_job_options endless = { .room_timeout_ns = INT64_MAX };
	psg_future *futures[9], *future;
	t_gate gates[3];

	/* All would be 2's. */
	teach(fleet, 0, t_nothing, 9000 * PSG_SECOND);
	teach(fleet, 1, t_nothing, 9000 * PSG_SECOND);
	teach(fleet, 2, t_nothing, PSG_SECOND);
	hold_all(fleet, gates);
	for (size_t i = 0; i < 9; i++)
		futures[i] = submit(fleet, t_nothing, NULL, &endless); /* without waiting */
	for (size_t i = 0; i < 3; i++)
		ck_assert_uint_eq(device_of(fleet, i).queued, 4);
	future = (psg_future *)(uintptr_t)64;
	ck_assert_int_eq(psg_fleet_submit_function(fleet, t_nothing, NULL, NULL, &future, &error),
			 PSG_FULL);
	ck_assert_ptr_null(future);
	ck_assert_ptr_nonnull(strstr(error.message, "all 4 jobs"));
	ck_assert_int_eq(
		psg_fleet_submit_function(fleet, t_nothing, NULL, &patient, &future, &error),
		PSG_FULL);
	ck_assert_ptr_nonnull(strstr(error.message, "also after"));
	ck_assert_uint_eq(stats_of(fleet).refused_full, 2);
	ck_assert_uint_eq(stats_of(fleet).submitted, 12);
	let_all_go(fleet, gates);
	for (size_t i = 0; i < 9; i++)
		ck_assert_int_eq(t_finish(futures[i]), PSG_OK);
	psg_fleet_close(fleet);
}
END_TEST

struct releaser {
	psg_future *const *futures;
	t_gate *gates;
	psg_fleet *fleet;
};

static void *release_them(void *arg)
{
	const struct releaser *releaser = arg;

	let_all_go(releaser->fleet, releaser->gates);
	for (size_t i = 0; i < 3; i++)
		ck_assert_int_eq(t_finish(releaser->futures[i]), PSG_OK);
	return NULL;
}

/* Whoever waits for room gets it where it would have gone. */
START_TEST(waits_for_room)
{
	psg_fleet *fleet = open_three(2);
	psg_job_options patient = { .room_timeout_ns = INT64_MAX };
	psg_future *futures[3], *future;
	t_gate gates[3];
	struct releaser releaser = { futures, gates, fleet };
	pthread_t thread;

	teach(fleet, 0, t_nothing, PSG_SECOND);
	teach(fleet, 1, t_nothing, 9000 * PSG_SECOND);
	teach(fleet, 2, t_nothing, 9000 * PSG_SECOND);
	hold_all(fleet, gates);
	for (size_t i = 0; i < 3; i++)
		futures[i] = submit(fleet, t_nothing, NULL, NULL);
	ck_assert_int_eq(pthread_create(&thread, NULL, release_them, &releaser), 0);
	future = submit(fleet, t_nothing, NULL, &patient);
	ck_assert_int_eq(t_finish(future), PSG_OK);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	psg_fleet_close(fleet);
}
END_TEST

START_TEST(deadlines)
{
	psg_fleet *fleet = open_three(0);
	atomic_int n = 0, ended = 0;
	psg_job_options soon = { .deadline_ns = psg_now_ns() + 20 * PSG_MILLISECOND,
				 .done = t_count_done,
				 .user = &ended };
	psg_job_options late = { .deadline_ns = INT64_MAX, .refuse_late = true };
	psg_error error = PSG_ERROR_INIT;
	psg_future *futures[6], *future;
	t_gate gates[3];

	hold_all(fleet, gates);
	for (size_t i = 0; i < 6; i++)
		futures[i] = submit(fleet, t_add_one, &n, &soon);
	for (size_t i = 0; i < 6; i++)
		ck_assert_int_eq(t_finish(futures[i]), PSG_TIMED_OUT); /* while all are held */
	ck_assert_int_eq(atomic_load(&ended), 6);
	ck_assert_uint_eq(stats_of(fleet).expired, 6);
	for (size_t i = 0; i < 3; i++)
		teach(fleet, i, t_add_one, (int64_t)(i + 5) * 1000 * PSG_SECOND);
	late.deadline_ns = psg_now_ns() + 4000 * PSG_SECOND;
	ck_assert_int_eq(psg_fleet_submit_function(fleet, t_add_one, &n, &late, &future, &error),
			 PSG_TIMED_OUT);
	ck_assert_ptr_nonnull(strstr(error.message, "would miss its deadline"));
	late.deadline_ns = psg_now_ns();
	ck_assert_int_eq(psg_fleet_submit_function(fleet, t_add_one, &n, &late, &future, &error),
			 PSG_TIMED_OUT);
	ck_assert_uint_eq(stats_of(fleet).refused_late, 2);
	late.deadline_ns = psg_now_ns() + 6000 * PSG_SECOND;
	future = submit(fleet, t_add_one, &n, &late);
	let_all_go(fleet, gates);
	ck_assert_int_eq(t_finish(future), PSG_OK);
	ck_assert_int_eq(atomic_load(&n), 1);
	psg_fleet_close(fleet);
}
END_TEST

START_TEST(cancelling)
{
	psg_fleet *fleet = open_three(0);
	atomic_int n = 0, ended = 0;
	psg_job_options options = { .done = t_count_done, .user = &ended };
	psg_future *futures[9];
	t_gate gates[3];

	hold_all(fleet, gates);
	for (size_t i = 0; i < 9; i++)
		futures[i] = submit(fleet, t_add_one, &n, &options);
	for (size_t i = 0; i < 6; i++)
		ck_assert_int_eq(psg_future_cancel(futures[i]), PSG_CANCEL_REMOVED);
	ck_assert_int_eq(atomic_load(&ended), 6);
	for (size_t i = 3; i < 9; i++) /* the last handle cancels, too */
		psg_future_release(futures[i]);
	ck_assert_int_eq(atomic_load(&ended), 9);
	for (size_t i = 0; i < 3; i++) {
		ck_assert_int_eq(psg_future_cancel(futures[i]), PSG_CANCEL_DONE);
		ck_assert_int_eq(t_finish(futures[i]), PSG_CANCELLED);
		ck_assert_uint_eq(device_of(fleet, i).queued, 1);
	}
	ck_assert_uint_eq(stats_of(fleet).cancelled, 9);
	let_all_go(fleet, gates);
	ck_assert_int_eq(psg_fleet_drain(fleet, -1), PSG_OK);
	ck_assert_int_eq(atomic_load(&n), 0);
	psg_fleet_close(fleet);
}
END_TEST

START_TEST(completion_queues)
{
	psg_fleet *fleet = open_three(0);
	psg_completion_queue *queue;
	psg_job_options options = { 0 };
	int seen = 0;

	ck_assert_int_eq(psg_completion_queue_create(&queue, NULL), PSG_OK);
	options.queue = queue;
	for (int i = 0; i < 300; i++)
		ck_assert_int_eq(
			psg_fleet_submit_function(fleet, t_nothing, NULL, &options, NULL, NULL),
			PSG_OK);
	for (; seen < 300; seen++) {
		psg_future *future;

		ck_assert_int_eq(psg_completion_queue_wait(queue, INT64_MAX, &future), PSG_OK);
		ck_assert_int_ge(psg_fleet_where(fleet, future), 0);
		psg_future_release(future);
	}
	psg_fleet_close(fleet);
	psg_completion_queue_destroy(queue);
}
END_TEST

/* --- waiting for oneself --- */

struct inner {
	psg_fleet *fleet;
	psg_future *future;
	psg_status wait, drain, completion;
};

static psg_status wait_inside(psg_device *device, void *arg, psg_error *error)
{
	struct inner *inner = arg;

	(void)device;
	inner->drain = psg_fleet_drain(inner->fleet, 0);
	inner->wait = psg_future_wait(inner->future);
	(void)error;
	return PSG_OK;
}

/* A thread of the fleet waits for none of its jobs, wherever these are: they might come to it. */
START_TEST(the_fleets_threads_do_not_wait_for_it)
{
	static const char *const devices[] = { "reference", "reference" };
	psg_fleet *fleet = open_fleet(devices, 2, NULL);
	psg_fleet *other = open_fleet(devices, 1, NULL);
	struct inner inner = { .fleet = fleet };
	t_gate gate;

	t_gate_close(&gate, device_of(fleet, 0).worker);
	inner.future = t_submit(device_of(fleet, 0).worker, t_nothing, NULL, NULL);
	ck_assert_int_eq(t_finish(t_submit(device_of(fleet, 1).worker, wait_inside, &inner, NULL)),
			 PSG_OK);
	ck_assert_int_eq(inner.wait, PSG_INVALID);
	ck_assert_int_eq(inner.drain, PSG_INVALID);
	t_gate_open(&gate);
	ck_assert_int_eq(t_finish(inner.future), PSG_OK);
	/* Others' threads do. */
	inner.future = submit(fleet, t_nothing, NULL, NULL);
	ck_assert_int_eq(t_finish(submit(other, wait_inside, &inner, NULL)), PSG_OK);
	ck_assert_int_eq(inner.wait, PSG_OK);
	ck_assert_int_eq(psg_fleet_where(other, inner.future), -1);
	psg_future_release(inner.future);
	psg_fleet_close(other);
	psg_fleet_close(fleet);
}
END_TEST

/* --- ending --- */

START_TEST(draining)
{
	psg_fleet *fleet = open_three(0);
	atomic_int n = 0;
	psg_future *future;
	t_gate gates[3];

	hold_all(fleet, gates);
	for (int i = 0; i < 30; i++)
		ck_assert_int_eq(psg_fleet_submit_function(fleet, t_add_one, &n, NULL, NULL, NULL),
				 PSG_OK);
	ck_assert_int_eq(psg_fleet_drain(fleet, PSG_MILLISECOND), PSG_TIMED_OUT);
	ck_assert_int_eq(psg_fleet_submit_function(fleet, t_add_one, &n, NULL, &future, NULL),
			 PSG_SHUTDOWN);
	let_all_go(fleet, gates);
	ck_assert_int_eq(psg_fleet_drain(fleet, -1), PSG_OK);
	ck_assert_int_eq(atomic_load(&n), 30);
	ck_assert_uint_eq(stats_of(fleet).queued, 0);
	psg_fleet_close(fleet);
}
END_TEST

START_TEST(aborting)
{
	psg_fleet *fleet = open_three(0);
	atomic_int n = 0;
	psg_future *futures[30];
	t_gate gates[3];

	hold_all(fleet, gates);
	for (size_t i = 0; i < 30; i++)
		futures[i] = submit(fleet, t_add_one, &n, NULL);
	psg_fleet_abort(fleet);
	for (size_t i = 0; i < 30; i++)
		ck_assert_int_eq(t_finish(futures[i]), PSG_SHUTDOWN);
	let_all_go(fleet, gates);
	psg_fleet_close(fleet);
	ck_assert_int_eq(atomic_load(&n), 0);
}
END_TEST

static void *close_it(void *fleet)
{
	psg_fleet_close(fleet);
	return NULL;
}

/* The queued ones end while the running ones hold the closer up. */
START_TEST(closing_while_jobs_wait)
{
	psg_fleet *fleet = open_three(0);
	atomic_int n = 0;
	psg_future *futures[30];
	t_gate gates[3];
	pthread_t thread;

	hold_all(fleet, gates);
	for (size_t i = 0; i < 30; i++)
		futures[i] = submit(fleet, t_add_one, &n, NULL);
	ck_assert_int_eq(pthread_create(&thread, NULL, close_it, fleet), 0);
	for (size_t i = 0; i < 30; i++)
		ck_assert_int_eq(psg_future_wait(futures[i]), PSG_SHUTDOWN);
	for (size_t i = 0; i < 3; i++)
		t_gate_open(&gates[i]);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	ck_assert_int_eq(atomic_load(&n), 0);
	for (size_t i = 0; i < 30; i++) /* they outlive the fleet */
		psg_future_release(futures[i]);
}
END_TEST

/* Several threads submit, cancel and leave; the fleet is drained under them, and closed. */
struct producer {
	psg_fleet *fleet;
	atomic_int *ran;
	int submitted, cancelled;
};

static void *produce(void *arg)
{
	struct producer *producer = arg;
	psg_job_options options = { .room_timeout_ns = PSG_SECOND };

	for (;;) {
		psg_future *future;
		psg_status status = psg_fleet_submit_function(
			producer->fleet, t_add_one, producer->ran, &options, &future, NULL);

		if (status == PSG_SHUTDOWN)
			return NULL;
		if (status != PSG_OK)
			continue;
		producer->submitted++;
		if (producer->submitted % 7 == 0)
			producer->cancelled += psg_future_cancel(future) == PSG_CANCEL_REMOVED;
		(void)psg_future_wait(future);
		psg_future_release(future);
	}
}

START_TEST(many_threads)
{
	for (int round = 0; round < 5; round++) {
		psg_fleet *fleet = open_three(8);
		struct producer producers[4];
		pthread_t threads[4];
		atomic_int ran = 0;
		int submitted = 0, cancelled = 0;

		for (size_t i = 0; i < 4; i++) {
			producers[i] = (struct producer){ .fleet = fleet, .ran = &ran };
			ck_assert_int_eq(pthread_create(&threads[i], NULL, produce, &producers[i]),
					 0);
		}
		while (atomic_load(&ran) < 2000)
			(void)sched_yield();
		ck_assert_int_eq(psg_fleet_drain(fleet, -1), PSG_OK);
		for (size_t i = 0; i < 4; i++) {
			ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
			submitted += producers[i].submitted;
			cancelled += producers[i].cancelled;
		}
		ck_assert_uint_eq(stats_of(fleet).submitted, (uint64_t)submitted);
		ck_assert_uint_eq(stats_of(fleet).cancelled, (uint64_t)cancelled);
		ck_assert_uint_eq(stats_of(fleet).queued, 0);
		ck_assert_uint_eq(stats_of(fleet).completed, (uint64_t)atomic_load(&ran));
		for (size_t i = 0; i < 3; i++)
			ck_assert_uint_eq(device_of(fleet, i).queued, 0);
		psg_fleet_close(fleet);
	}
}
END_TEST

START_TEST(a_forked_child_is_told)
{
	psg_fleet *fleet = open_three(0);
	int status;
	pid_t child;

	(void)run(fleet, t_nothing, NULL);
	child = fork();
	if (child == 0) {
		psg_future *future;
		bool right = psg_fleet_submit_function(fleet, t_nothing, NULL, NULL, &future,
						       NULL) == PSG_FORKED &&
			     psg_fleet_drain(fleet, -1) == PSG_FORKED;

		psg_fleet_abort(fleet);
		psg_fleet_close(fleet);
		_exit(right ? 0 : 1);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	(void)run(fleet, t_nothing, NULL);
	psg_fleet_close(fleet);
}
END_TEST

/* --- without memory --- */

/* Each allocation of opening, the first job and closing fails once, and all from there on. */
START_TEST(no_memory)
{
	static const char *const devices[] = { "reference", "reference" };
	psg_fleet_options options = { .shared = _i >= 2, .worker.memory_share = 0.5 };
	long failed = 0, refused, n = 0;

	do {
		psg_error error = PSG_ERROR_INIT;
		psg_future *future = NULL;
		psg_fleet *fleet;
		psg_status status;

		t_nomem_arm(n, _i % 2 == 1);
		status = psg_fleet_open(devices, 2, &options, &fleet, &error);
		if (status == PSG_OK)
			status = psg_fleet_submit_function(fleet, t_nothing, NULL, NULL, &future,
							   &error);
		t_nomem_disarm();
		refused = atomic_load(&t_nomem_refused);
		if (status != PSG_OK) {
			ck_assert_int_eq(status, PSG_NOMEM);
			ck_assert_ptr_null(future);
			failed++;
		} else {
			ck_assert_int_eq(t_finish(future), PSG_OK);
		}
		psg_fleet_close(fleet);
		n++;
	} while (refused > 0);
	ck_assert_int_gt(failed, 8);
}
END_TEST

/* --- what submitting does not do --- */

static _Thread_local long locks;

int __real_pthread_mutex_lock(pthread_mutex_t *lock);
int __wrap_pthread_mutex_lock(pthread_mutex_t *lock);
int __wrap_pthread_mutex_lock(pthread_mutex_t *lock)
{
	locks++;
	return __real_pthread_mutex_lock(lock);
}

START_TEST(submitting_takes_no_lock_and_no_memory)
{
	psg_fleet *fleet = open_three(0);
	psg_future *futures[100];
	long allocations, locked;
	int failed = 0;
	t_gate gates[3];

	hold_all(fleet, gates); /* which makes this thread's lanes */
	locks = 0;
	t_nomem_arm(-1, false); /* libcheck's own count, too */
	for (size_t i = 0; i < 100; i++)
		failed += psg_fleet_submit_function(fleet, t_nothing, NULL, NULL, &futures[i],
						    NULL) != PSG_OK;
	allocations = atomic_load(&t_nomem_calls);
	locked = locks;
	t_nomem_disarm();
	ck_assert_int_eq(failed, 0);
	ck_assert_int_eq(allocations, 0);
	ck_assert_int_eq(locked, 0);
	let_all_go(fleet, gates);
	for (size_t i = 0; i < 100; i++)
		ck_assert_int_eq(t_finish(futures[i]), PSG_OK);
	psg_fleet_trim(fleet);
	psg_fleet_close(fleet);
}
END_TEST

int main(void)
{
	Suite *s = suite_create("fleet");
	TCase *all = tcase_create("CPUs");
	SRunner *runner;
	int failed;

	tcase_set_timeout(all, 60);
	tcase_add_test(all, opens_what_is_named);
	tcase_add_test(all, no_gpu_is_a_cpu);
	tcase_add_test(all, fleets_share_devices);
	tcase_add_test(all, unknown_devices_are_tried_early);
	tcase_add_test(all, idle_devices_are_chosen_by_speed);
	tcase_add_test(all, queues_are_in_proportion_to_speed);
	tcase_add_test(all, late_devices_fall_behind);
	tcase_add_test(all, means);
	tcase_add_test(all, means_are_displaced);
	tcase_add_test(all, kinds);
	tcase_add_test(all, failures_are_not_measured);
	tcase_add_test(all, operators_and_models);
	tcase_add_test(all, detached_jobs);
	tcase_add_test(all, full_lanes_lead_elsewhere);
	tcase_add_test(all, waits_for_room);
	tcase_add_test(all, deadlines);
	tcase_add_test(all, cancelling);
	tcase_add_test(all, completion_queues);
	tcase_add_test(all, the_fleets_threads_do_not_wait_for_it);
	tcase_add_test(all, draining);
	tcase_add_test(all, aborting);
	tcase_add_test(all, closing_while_jobs_wait);
	tcase_add_test(all, many_threads);
	tcase_add_test(all, a_forked_child_is_told);
	tcase_add_loop_test(all, no_memory, 0, 4);
	tcase_add_test(all, submitting_takes_no_lock_and_no_memory);
	suite_add_tcase(s, all);
	runner = srunner_create(s);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
