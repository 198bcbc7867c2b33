/* SPDX-License-Identifier: Apache-2.0 */
/* What a trace tells of jobs: where each came from, when it ran, and what it consisted of. */
#include "config.h"

#include <check.h>
#include <stdlib.h>

#ifdef HAVE_JANSSON

#include <pagesift/batch.h>

#include "base/trace.h"
#include "device/cuda.h"
#include "kernels/args.h"

#include "fakecuda_util.h"
#include "jobs_util.h"
#include "onnx_text.h"
#include "trace_util.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static char path[64];

static void set_up(void)
{
	int fd;

	(void)snprintf(path, sizeof(path), "test_jobs_trace.XXXXXX");
	fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	(void)close(fd);
	ck_assert_int_eq(setenv("PAGESIFT_TRACE", path, 1), 0);
}

static void tear_down(void)
{
	(void)unsetenv("PAGESIFT_TRACE");
	(void)unlink(path);
}

static psg_worker *open_named(const char *device, const char *name)
{
	psg_worker_options options = { .name = name };
	psg_error error = PSG_ERROR_INIT;
	psg_worker *worker;

	ck_assert_msg(psg_worker_open(device, &options, &worker, &error) == PSG_OK, "%s",
		      error.message);
	return worker;
}

/* Three operators, whose names no JSON can hold as they are. */
static const char model_text[] = "opset 13; in x ? 3; Relu x > a\"\\; Tanh a\"\\ > b\x01; "
				 "Relu b\x01 > y; out y";

static psg_model *load(const char *name)
{
	psg_error error = PSG_ERROR_INIT;
	psg_model *model;
	size_t size;
	uint8_t *data = t_onnx(model_text, &size);

	ck_assert_msg(psg_model_load_memory(data, size, name, NULL, &model, &error) == PSG_OK, "%s",
		      error.message);
	free(data);
	return model;
}

static psg_future *submit_model(psg_worker *worker, psg_model *model, int64_t samples)
{
	psg_error error = PSG_ERROR_INIT;
	psg_future *future;
	psg_tensor *in;

	ck_assert_int_eq(psg_tensor_create(PSG_F32, &PSG_SHAPE(samples, 3), &in, NULL), PSG_OK);
	memset(psg_tensor_data(in), 0, (size_t)samples * 3 * sizeof(float));
	ck_assert_msg(psg_submit_model(worker, model, &in, 1, NULL, &future, &error) == PSG_OK,
		      "%s", error.message);
	psg_tensor_unref(in);
	return future;
}

static psg_status fails(psg_device *device, void *arg, psg_error *error)
{
	(void)device;
	(void)arg;
	(void)error;
	return PSG_FORMAT;
}

/* Two samples that run together: all that wait for a batcher's first run on the reference device.
 */
static void run_pair(psg_worker *worker, psg_model *model)
{
	psg_batcher *batcher;
	psg_future *futures[2];
	psg_tensor *sample;
	t_gate gate;

	ck_assert_int_eq(psg_batcher_open(worker, model, NULL, &batcher, NULL), PSG_OK);
	ck_assert_int_eq(psg_tensor_create(PSG_F32, &PSG_SHAPE(1, 3), &sample, NULL), PSG_OK);
	memset(psg_tensor_data(sample), 0, 3 * sizeof(float));
	t_gate_close(&gate, worker);
	for (size_t i = 0; i < 2; i++)
		ck_assert_int_eq(psg_batcher_submit(batcher, sample, NULL, &futures[i], NULL),
				 PSG_OK);
	t_gate_open(&gate);
	for (size_t i = 0; i < 2; i++)
		ck_assert_int_eq(t_finish(futures[i]), PSG_OK);
	psg_tensor_unref(sample);
	psg_batcher_close(batcher);
}

/* --- what is in what --- */

static int64_t end_of(const json_t *span)
{
	return t_trace_ns(span, "ts") + t_trace_ns(span, "dur");
}

static bool holds(const json_t *outer, const json_t *inner)
{
	return t_trace_int(outer, "tid") == t_trace_int(inner, "tid") &&
	       t_trace_ns(outer, "ts") <= t_trace_ns(inner, "ts") &&
	       t_trace_ns(inner, "ts") < end_of(outer) && end_of(inner) <= end_of(outer);
}

/* The one span of a category around an event of the same thread. */
static const json_t *around(const json_t *events, const char *category, const json_t *inner)
{
	const json_t *span, *found = NULL;

	for (size_t k = 0; (span = t_trace_find(events, "X", category, NULL, k)) != NULL; k++) {
		if (!holds(span, inner))
			continue;
		ck_assert_ptr_null(found);
		found = span;
	}
	ck_assert_msg(found != NULL, "no span of '%s' around '%s'", category,
		      t_trace_string(inner, "name"));
	return found;
}

static size_t within(const json_t *events, const char *category, const json_t *outer)
{
	const json_t *span;
	size_t n = 0;

	for (size_t k = 0; (span = t_trace_find(events, "X", category, NULL, k)) != NULL; k++)
		n += holds(outer, span);
	return n;
}

/* Each arrow leads from a submission to a job, which name the same. */
static void check_arrows(const json_t *events, size_t n)
{
	const json_t *end, *begin, *job, *submit;

	ck_assert_uint_eq(t_trace_count(events, "f", NULL, NULL), n);
	ck_assert_uint_eq(t_trace_count(events, "s", NULL, NULL), n);
	for (size_t k = 0; (end = t_trace_find(events, "f", NULL, NULL, k)) != NULL; k++) {
		const char *id = t_trace_string(end, "id");
		size_t found = 0, at = 0;

		for (size_t i = 0; (begin = t_trace_find(events, "s", NULL, NULL, i)) != NULL;
		     i++) {
			if (strcmp(t_trace_string(begin, "id"), id) != 0)
				continue;
			at = i;
			found++;
		}
		ck_assert_uint_eq(found, 1);
		begin = t_trace_find(events, "s", NULL, NULL, at);
		ck_assert_int_le(t_trace_ns(begin, "ts"), t_trace_ns(end, "ts"));
		submit = around(events, "submit", begin);
		job = around(events, "job", end);
		ck_assert_int_eq(t_trace_number(submit, "job"), t_trace_number(job, "job"));
		ck_assert_int_eq(t_trace_number(submit, "lane"), t_trace_number(job, "lane"));
		ck_assert_str_eq(t_trace_text(submit, "worker"), t_trace_text(job, "worker"));
		ck_assert_str_eq(t_trace_string(submit, "name") + strlen("submit "),
				 t_trace_string(job, "name"));
	}
}

/* A thread does one job after the other. */
static void check_order(const json_t *events)
{
	const json_t *span;
	int64_t before = 0;

	for (size_t k = 0; (span = t_trace_find(events, "X", "job", NULL, k)) != NULL; k++) {
		ck_assert_int_ge(t_trace_ns(span, "ts"), before);
		before = end_of(span);
	}
}

/* --- jobs --- */

static void check_job(const json_t *events, const char *name, const char *kind, const char *outcome,
		      const char *status, size_t n)
{
	const json_t *job;
	size_t found = 0;

	for (size_t k = 0; (job = t_trace_find(events, "X", "job", name, k)) != NULL; k++)
		found += strcmp(t_trace_text(job, "kind"), kind) == 0 &&
			 strcmp(t_trace_text(job, "outcome"), outcome) == 0 &&
			 strcmp(t_trace_text(job, "status"), status) == 0;
	ck_assert_uint_eq(found, n);
}

static psg_future_times times_of_function(psg_worker *worker)
{
	psg_future *future = t_submit(worker, t_pause, NULL, NULL);
	psg_future_times times;

	(void)psg_future_wait(future);
	psg_future_times_get(future, &times);
	psg_future_release(future);
	return times;
}

static void run_relu(psg_worker *worker)
{
	psg_op op = { .kind = PSG_OP_RELU, .n_in = 1 };
	psg_future *future;

	ck_assert_int_eq(psg_tensor_create(PSG_F32, &PSG_SHAPE(7), &op.in[0], NULL), PSG_OK);
	memset(psg_tensor_data(op.in[0]), 0, 7 * sizeof(float));
	ck_assert_int_eq(psg_submit(worker, &op, NULL, &future, NULL), PSG_OK);
	ck_assert_int_eq(t_finish(future), PSG_OK);
	psg_tensor_unref(op.in[0]);
}

START_TEST(each_job)
{
	psg_worker *worker = open_named("reference", "t-worker");
	psg_model *model = load("/some/where/tiny.onnx");
	psg_future_times times;
	const json_t *job, *counter;
	json_t *events;

	/* A detached one has its arrow, too. */
	ck_assert_int_eq(psg_submit_function(worker, t_nothing, NULL, NULL, NULL, NULL), PSG_OK);
	times = times_of_function(worker);
	ck_assert_int_eq(t_finish(t_submit(worker, fails, NULL, NULL)), PSG_FORMAT);
	run_relu(worker);
	ck_assert_int_eq(t_finish(submit_model(worker, model, 5)), PSG_OK);
	ck_assert_int_eq(t_finish(submit_model(worker, model, 5)), PSG_OK);
	psg_model_unref(model);
	psg_worker_close(worker);

	events = t_trace_load(path);
	check_job(events, "function", "function", "completed", "OK", 2);
	check_job(events, "function", "function", "failed", "FORMAT", 1);
	check_job(events, "relu", "operator", "completed", "OK", 1);
	check_job(events, "tiny.onnx", "model", "completed", "OK", 2);
	ck_assert_uint_eq(t_trace_count(events, "X", "job", NULL), 6);
	check_arrows(events, 6);
	check_order(events);
	/* The same times as the future's. */
	job = t_trace_find(events, "X", "job", "function", 1);
	ck_assert_int_eq(t_trace_ns(job, "ts"), times.started_ns);
	ck_assert_int_eq(t_trace_ns(job, "dur"), times.finished_ns - times.started_ns);
	ck_assert_int_eq(t_trace_number(job, "wait_ns"), times.started_ns - times.queued_ns);
	ck_assert_str_eq(t_trace_text(job, "worker"), "t-worker");
	ck_assert_str_eq(t_trace_thread_name(events, t_trace_int(job, "tid")), "t-worker");
	counter = t_trace_find(events, "C", NULL, NULL, 0);
	ck_assert_int_eq(strncmp(t_trace_string(counter, "name"), "jobs of t-worker (", 18), 0);
	ck_assert_int_ge(t_trace_number(counter, "queued"), 1);
	json_decref(events);
}
END_TEST

/* Their submission is timed, which it is not without a trace. */
START_TEST(detached_jobs_wait_too)
{
	psg_worker *worker = open_named("reference", NULL);
	json_t *events;
	t_gate gate;

	t_gate_close(&gate, worker);
	ck_assert_int_eq(psg_submit_function(worker, t_nothing, NULL, NULL, NULL, NULL), PSG_OK);
	t_gate_open(&gate);
	ck_assert_int_eq(psg_worker_drain(worker, -1), PSG_OK);
	psg_worker_close(worker);
	events = t_trace_load(path);
	ck_assert_uint_eq(t_trace_count(events, "X", "job", NULL), 2);
	ck_assert_int_gt(t_trace_number(t_trace_find(events, "X", "job", NULL, 1), "wait_ns"), 0);
	json_decref(events);
}
END_TEST

/* One span for all samples of a run, to which the arrows of each lead. */
START_TEST(a_batch)
{
	psg_worker *worker = open_named("reference", "t-worker");
	psg_model *model = load("tiny.onnx");
	const json_t *end, *job;
	size_t led = 0;
	json_t *events;

	run_pair(worker, model);
	psg_model_unref(model);
	psg_worker_close(worker);
	events = t_trace_load(path);
	ck_assert_uint_eq(t_trace_count(events, "X", "job", NULL), 2);
	job = t_trace_find(events, "X", "job", "tiny.onnx", 0);
	ck_assert_ptr_nonnull(job);
	ck_assert_str_eq(t_trace_text(job, "kind"), "sample");
	ck_assert_str_eq(t_trace_text(job, "status"), "OK");
	ck_assert_int_eq(t_trace_number(job, "samples"), 2);
	ck_assert_int_eq(t_trace_number(job, "empty"), 0);
	ck_assert_int_eq(t_trace_number(job, "elements"), 3);
	ck_assert_uint_eq(within(events, "batch", job), 1);
	ck_assert_uint_eq(t_trace_count(events, "X", "submit", "submit tiny.onnx"), 2);
	for (size_t k = 0; (end = t_trace_find(events, "f", NULL, NULL, k)) != NULL; k++)
		led += around(events, "job", end) == job;
	ck_assert_uint_eq(led, 2);
	check_order(events);
	json_decref(events);
}
END_TEST

/* --- what a model run consists of --- */

static void check_batch(const json_t *events, const json_t *batch, const char *category)
{
	const json_t *step;
	size_t n = 0;

	ck_assert_int_eq(t_trace_number(batch, "samples"), 5);
	ck_assert_str_eq(t_trace_text(batch, "status"), "OK");
	ck_assert_uint_eq(within(events, category, batch), (size_t)t_trace_number(batch, "steps"));
	ck_assert_int_eq(t_trace_number(around(events, "job", batch), "samples"), 5);
	for (size_t k = 0; (step = t_trace_find(events, "X", category, "tanh", k)) != NULL; k++) {
		if (!holds(batch, step))
			continue;
		ck_assert_str_eq(t_trace_text(step, "node"), "b\x01");
		n++;
	}
	ck_assert_uint_eq(n, 1);
}

static void check_batches(const json_t *events, const char *category, size_t n)
{
	const json_t *batch;
	size_t k;

	for (k = 0; (batch = t_trace_find(events, "X", "batch", "tiny.onnx", k)) != NULL; k++)
		check_batch(events, batch, category);
	ck_assert_uint_eq(k, n);
}

START_TEST(steps_of_a_model)
{
	psg_worker *worker = open_named("reference", NULL);
	psg_model *model = load("tiny.onnx");
	const json_t *step, *plan;
	json_t *events;

	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(t_finish(submit_model(worker, model, 5)), PSG_OK);
	psg_model_unref(model);
	psg_worker_close(worker);
	events = t_trace_load(path);
	check_batches(events, "kernel", 3);
	ck_assert_uint_eq(t_trace_count(events, "X", "kernel", "relu"), 6);
	step = t_trace_find(events, "X", "kernel", "relu", 0);
	ck_assert_str_eq(t_trace_text(step, "node"), "a\"\\");
	ck_assert_str_eq(t_trace_text(step, "kernel"), "reference");
	/* All shapes are the same. */
	plan = t_trace_only(events, "X", "plan", NULL);
	ck_assert_str_eq(t_trace_text(plan, "model"), "tiny.onnx");
	(void)around(events, "job", plan);
	json_decref(events);
}
END_TEST

/* --- a card --- */

static void check_kernels(const json_t *events, int64_t track, const json_t *job)
{
	const json_t *span;
	int64_t before = 0;
	size_t n = 0;

	for (size_t k = 0; (span = t_trace_find(events, "X", "kernel", NULL, k)) != NULL; k++) {
		ck_assert_int_eq(t_trace_int(span, "tid"), track);
		ck_assert_int_ge(t_trace_ns(span, "ts"), before);
		before = end_of(span);
		n += t_trace_ns(span, "ts") >= t_trace_ns(job, "ts") - PSG_MILLISECOND &&
		     end_of(span) <= end_of(job) + PSG_MILLISECOND;
	}
	ck_assert_uint_ge(n, 3);
}

START_TEST(a_card)
{
	psg_worker *worker;
	psg_model *model = load("tiny.onnx");
	const json_t *track, *copy;
	json_t *events;

	t_gpu_begin();
	worker = open_named("cuda", NULL);
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(t_finish(submit_model(worker, model, 5)), PSG_OK);
	psg_model_unref(model);
	psg_worker_close(worker);
	t_gpu_expect_nothing_left();
	events = t_trace_load(path);
	check_batches(events, "launch", 2);
	ck_assert_uint_gt(t_trace_count(events, "X", "load", "element"), 0);
	ck_assert_ptr_nonnull(t_trace_find(events, "C", NULL, "memory of cuda:0", 0));
	copy = t_trace_find(events, "X", "copy", "copy out", 0);
	ck_assert_int_eq(t_trace_number(copy, "bytes"), 5 * 3 * 4);
	ck_assert_str_eq(t_trace_text(copy, "device"), "cuda:0");
	ck_assert_uint_eq(t_trace_count(events, "X", "copy", "copy ahead"), 2);
	/* Its kernels are on a track of their own. */
	track = t_trace_find(events, "X", "kernel", "relu", 0);
	ck_assert_ptr_nonnull(track);
	ck_assert_str_eq(t_trace_thread_name(events, t_trace_int(track, "tid")), "cuda:0 kernels");
	ck_assert_uint_eq(t_trace_count(events, "X", "kernel", "relu"), 4);
	check_kernels(events, t_trace_int(track, "tid"), t_trace_find(events, "X", "job", NULL, 1));
	json_decref(events);
}
END_TEST

/* Two clocks differ by no more. */
#define CLOCKS_NS 1000

/* Spans of a track lie in each other or apart: viewers drop others. */
static void check_nested(const json_t *events)
{
	const json_t *a, *b;

	for (size_t i = 0; (a = t_trace_find(events, "X", NULL, NULL, i)) != NULL; i++)
		for (size_t k = 0; (b = t_trace_find(events, "X", NULL, NULL, k)) != NULL; k++)
			ck_assert_msg(t_trace_int(a, "tid") != t_trace_int(b, "tid") ||
					      t_trace_ns(a, "ts") >= t_trace_ns(b, "ts") ||
					      end_of(a) <= t_trace_ns(b, "ts") + CLOCKS_NS ||
					      end_of(a) >= end_of(b) - CLOCKS_NS,
				      "%s and %s overlap", t_trace_string(a, "cat"),
				      t_trace_string(b, "cat"));
}

/* Each run is started beside the one before. */
START_TEST(runs_in_flight)
{
	psg_future *futures[6];
	psg_worker *worker;
	psg_model *model = load("tiny.onnx");
	json_t *events;
	t_gate gate;

	t_gpu_begin();
	worker = open_named("cuda", NULL);
	ck_assert_int_eq(t_finish(submit_model(worker, model, 5)), PSG_OK);
	t_gate_close(&gate, worker);
	for (int i = 0; i < 6; i++)
		futures[i] = submit_model(worker, model, 5);
	t_gate_open(&gate);
	for (int i = 0; i < 6; i++)
		ck_assert_int_eq(t_finish(futures[i]), PSG_OK);
	psg_model_unref(model);
	psg_worker_close(worker);
	events = t_trace_load(path);
	ck_assert_uint_eq(t_trace_count(events, "X", "batch", NULL), 7);
	check_nested(events);
	json_decref(events);
}
END_TEST

/* More launches than are kept, before anybody waits for them. */
#define LAUNCHES 2500

static psg_status launch_many(psg_device *device, void *arg, psg_error *error)
{
	unary_args unary = { 0 };
	psgi_launch launch = { .kernel = PSGI_GPU_relu,
			       .grid = { 1, 1, 1 },
			       .block = { 32, 1, 1 },
			       .args = &unary,
			       .args_bytes = sizeof(unary) };
	psg_status status = PSG_OK;

	(void)arg;
	for (int i = 0; i < LAUNCHES && status == PSG_OK; i++)
		status = psgi_gpu_launch(device, &launch, error);
	return status == PSG_OK ? psgi_gpu_sync(device, error) : status;
}

START_TEST(many_launches)
{
	psg_worker *worker;
	json_t *events;

	t_gpu_begin();
	worker = open_named("cuda", NULL);
	ck_assert_int_eq(t_finish(t_submit(worker, launch_many, NULL, NULL)), PSG_OK);
	psg_worker_close(worker);
	t_gpu_expect_nothing_left();
	events = t_trace_load(path);
	ck_assert_uint_eq(t_trace_count(events, "X", "kernel", "relu"), LAUNCHES);
	json_decref(events);
}
END_TEST

/* A driver that does not tell times does its work as ever. */
START_TEST(a_driver_without_times)
{
	/* The last one fails for one launch only. */
	static const char *const rules[] = { "cuEventElapsedTime:1+:999", "cuEventRecord:1:999",
					     "cuEventCreate:3+:999" };
	psg_worker *worker;
	psg_model *model = load("tiny.onnx");
	json_t *events;

	t_gpu_begin();
	if (t_gpu_real())
		return;
	ck_assert_int_eq(setenv("FAKECUDA_FAIL", "", 1), 0);
	worker = open_named("cuda", NULL);
	t_gpu_fail(rules[_i]);
	run_relu(worker);
	t_gpu_fail("");
	ck_assert_int_eq(t_finish(submit_model(worker, model, 5)), PSG_OK);
	psg_model_unref(model);
	psg_worker_close(worker);
	t_gpu_expect_nothing_left();
	events = t_trace_load(path);
	ck_assert_uint_eq(t_trace_count(events, "X", "job", NULL), 2);
	ck_assert_uint_eq(t_trace_count(events, "X", "kernel", NULL), _i == 2 ? 3 : 0);
	json_decref(events);
}
END_TEST

/* One that has waited for all, and then says that it has not: no room is left for more. */
START_TEST(a_driver_without_an_end)
{
	psg_worker *worker;
	json_t *events;

	t_gpu_begin();
	if (t_gpu_real())
		return;
	ck_assert_int_eq(setenv("FAKECUDA_FAIL", "", 1), 0);
	worker = open_named("cuda", NULL);
	t_gpu_fail("cuEventElapsedTime:1+:600");
	ck_assert_int_eq(t_finish(t_submit(worker, launch_many, NULL, NULL)), PSG_OK);
	psg_worker_close(worker);
	t_gpu_expect_nothing_left();
	events = t_trace_load(path);
	ck_assert_uint_eq(t_trace_count(events, "X", "kernel", NULL), 0);
	json_decref(events);
}
END_TEST

/* --- workers that come and go --- */

START_TEST(one_file_for_all_workers)
{
	psg_worker *first = open_named("reference", "t-first");
	psg_worker *second = open_named("reference", "t-second");
	json_t *events;

	(void)t_finish(t_submit(first, t_nothing, NULL, NULL));
	(void)t_finish(t_submit(second, t_nothing, NULL, NULL));
	psg_worker_close(first);
	(void)t_finish(t_submit(second, t_nothing, NULL, NULL));
	psg_worker_close(second);
	ck_assert(!psgi_tracing());
	events = t_trace_load(path); /* whole, with nobody left */
	ck_assert_uint_eq(t_trace_count(events, "X", "job", NULL), 3);
	json_decref(events);
	first = open_named("reference", "t-third");
	ck_assert(psgi_tracing());
	(void)t_finish(t_submit(first, t_nothing, NULL, NULL));
	psg_worker_close(first);
	events = t_trace_load(path);
	ck_assert_uint_eq(t_trace_count(events, "X", "job", NULL), 4);
	check_arrows(events, 4);
	json_decref(events);
}
END_TEST

/* Neither a worker that cannot be opened nor a file keeps anything. */
START_TEST(what_fails_leaves_nothing)
{
	psg_worker *worker;

	ck_assert_int_ne(psg_worker_open("nonsense", NULL, &worker, NULL), PSG_OK);
	ck_assert(!psgi_tracing());
	json_decref(t_trace_load(path));
	ck_assert_int_eq(setenv("PAGESIFT_TRACE", "/dev/full", 1), 0);
	worker = open_named("reference", NULL);
	for (int i = 0; i < 100; i++)
		ck_assert_int_eq(t_finish(t_submit(worker, t_nothing, NULL, NULL)), PSG_OK);
	psgi_trace_flush();
	ck_assert(!psgi_tracing());
	ck_assert_int_eq(t_finish(t_submit(worker, t_nothing, NULL, NULL)), PSG_OK);
	psg_worker_close(worker);
}
END_TEST

/* Without the variable nothing is traced; a worker that is opened with it begins. */
START_TEST(only_where_it_is_asked_for)
{
	psg_worker *worker, *other;
	json_t *events;

	ck_assert_int_eq(unsetenv("PAGESIFT_TRACE"), 0);
	worker = open_named("reference", "t-before");
	(void)t_finish(t_submit(worker, t_nothing, NULL, NULL));
	ck_assert(!psgi_tracing());
	ck_assert_int_eq(setenv("PAGESIFT_TRACE", path, 1), 0);
	other = open_named("reference", "t-other");
	ck_assert(psgi_tracing());
	(void)t_finish(t_submit(worker, t_nothing, NULL, NULL));
	psg_worker_close(other);
	psg_worker_close(worker);
	ck_assert(!psgi_tracing());
	events = t_trace_load(path);
	ck_assert_str_eq(t_trace_text(t_trace_only(events, "X", "job", NULL), "worker"),
			 "t-before");
	json_decref(events);
}
END_TEST

/* --- many threads --- */

#define THREADS 4
#define EACH 150

static void *submit_many(void *worker)
{
	for (int i = 0; i < EACH; i++)
		ck_assert_int_eq(t_finish(t_submit(worker, t_nothing, NULL, NULL)), PSG_OK);
	return NULL;
}

/* Rings are larger than this needs, so that nothing is dropped. */
START_TEST(many_threads)
{
	psg_worker *worker = open_named("reference", "t-many");
	pthread_t threads[THREADS];
	json_t *events;

	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, submit_many, worker), 0);
	psgi_trace_flush();
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
	psg_worker_close(worker);
	events = t_trace_load(path);
	ck_assert_uint_eq(t_trace_count(events, "X", "submit", NULL), THREADS * EACH);
	ck_assert_uint_eq(t_trace_count(events, "s", NULL, NULL), THREADS * EACH);
	ck_assert_uint_eq(t_trace_count(events, "X", "job", NULL), THREADS * EACH);
	ck_assert_uint_eq(t_trace_count(events, "f", NULL, NULL), THREADS * EACH);
	check_order(events);
	json_decref(events);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("traces of jobs");
	TCase *cases = tcase_create("traces of jobs");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(cases, set_up, tear_down);
	tcase_add_test(cases, each_job);
	tcase_add_test(cases, detached_jobs_wait_too);
	tcase_add_test(cases, a_batch);
	tcase_add_test(cases, steps_of_a_model);
	tcase_add_test(cases, a_card);
	tcase_add_test(cases, runs_in_flight);
	tcase_add_test(cases, many_launches);
	tcase_add_loop_test(cases, a_driver_without_times, 0, 3);
	tcase_add_test(cases, a_driver_without_an_end);
	tcase_add_test(cases, one_file_for_all_workers);
	tcase_add_test(cases, what_fails_leaves_nothing);
	tcase_add_test(cases, only_where_it_is_asked_for);
	tcase_add_test(cases, many_threads);
	tcase_set_timeout(cases, 60);
	suite_add_tcase(suite, cases);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

#else

int main(void)
{
	return 77; /* nothing here reads JSON */
}

#endif
