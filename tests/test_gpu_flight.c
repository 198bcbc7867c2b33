/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two runs of a GPU in flight: the next one is copied there and queued before the one before it is
 * waited for, and all else is as if each had run by itself.
 *
 * The order of the driver's calls is the fake one's to tell.
 */
#include "config.h"

#include <pagesift/fleet.h>
#include <pagesift/shared.h>

#include "device/cuda.h"

#include "batch_util.h"
#include "fakecuda_util.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static psg_worker *open_with(const psg_worker_options *options)
{
	psg_error error = PSG_ERROR_INIT;
	psg_worker *worker;

	t_gpu_begin();
	ck_assert_msg(psg_worker_open("cuda:0", options, &worker, &error) == PSG_OK, "%s",
		      error.message);
	return worker;
}

static psg_worker *open_worker(int32_t in_flight)
{
	const psg_worker_options options = { .in_flight = in_flight };

	return open_with(&options);
}

static void close_worker(psg_worker *worker)
{
	psg_worker_close(worker);
	t_gpu_expect_nothing_left();
}

/* --- models whose results are known --- */

#define MODELS 3
#define MOST_STEPS 64

/* n times max(v + 1, 0). */
static psg_model *chain(int n)
{
	char text[MOST_STEPS * 64];
	size_t at = (size_t)snprintf(text, sizeof(text), "opset 7; in v0 ? ?; w one 1 = 1.0; ");

	for (int i = 0; i < n; i++)
		at += (size_t)snprintf(text + at, sizeof(text) - at,
				       "Add v%d one > a%d; Relu a%d > v%d; ", i, i, i, i + 1);
	(void)snprintf(text + at, sizeof(text) - at, "out v%d", n);
	return t_model(text);
}

/* Rows of any length. */
static psg_tensor *input(int64_t rows, int64_t columns, int seed)
{
	psg_tensor *tensor;
	float *x;

	ck_assert_int_eq(psg_tensor_create(PSG_F32, &PSG_SHAPE(rows, columns), &tensor, NULL),
			 PSG_OK);
	x = psg_tensor_data(tensor);
	for (int64_t i = 0; i < rows * columns; i++)
		x[i] = (float)((i * 7 + seed) % 31) - 3;
	return tensor;
}

static bool is_right(psg_future *future, int n, int seed)
{
	psg_tensor *const *out;
	const float *y;
	int64_t elements;
	size_t n_out;

	if (psg_future_tensors(future, &out, &n_out, NULL) != PSG_OK)
		return false;
	y = psg_tensor_const_data(out[0]);
	elements = psg_shape_elements(psg_tensor_shape(out[0]));
	for (int64_t i = 0; i < elements; i++) {
		float right = (float)((i * 7 + seed) % 31) - 3;

		for (int k = 0; k < n; k++)
			right = right + 1 > 0 ? right + 1 : 0;
		if (y[i] != right)
			return false;
	}
	return true;
}

static psg_future *put(psg_worker *worker, psg_model *model, psg_tensor *x,
		       const psg_job_options *options)
{
	psg_error error = PSG_ERROR_INIT;
	psg_future *future;

	ck_assert_msg(psg_submit_model(worker, model, &x, 1, options, &future, &error) == PSG_OK,
		      "%s", error.message);
	return future;
}

/* --- the order in which jobs end --- */

typedef struct order {
	atomic_int n;
	int job[256];
} order;

typedef struct entry {
	order *all;
	int number;
} entry;

/* On the worker's thread. */
static void note_end(psg_future *future, void *user)
{
	entry *e = user;
	int n = atomic_load(&e->all->n);

	(void)future;
	e->all->job[n] = e->number;
	atomic_store(&e->all->n, n + 1);
}

/* --- the order of the driver's calls --- */

/* Calls of that letter before the first wait of the host, or all. */
static size_t count(const char *log, char letter, bool until_wait)
{
	size_t n = 0;

	for (; *log != '\0' && !(until_wait && (*log == 'W' || *log == 'w')); log++)
		n += *log == letter;
	return n;
}

#define ROUNDS 3

/* Two runs wait together; the last round's calls, when all has its memory. */
static char *log_of_two(psg_worker *worker, psg_model *const *models)
{
	psg_tensor *x = input(4, 50, 1);

	for (int i = 0; i < ROUNDS; i++) {
		psg_future *futures[2];
		t_gate gate;

		t_gate_close(&gate, worker);
		for (int k = 0; k < 2; k++)
			futures[k] = put(worker, models[k], x, NULL);
		t_gpu_fail("");
		t_gate_open(&gate);
		for (int k = 0; k < 2; k++)
			ck_assert_int_eq(t_finish(futures[k]), PSG_OK);
	}
	psg_tensor_unref(x);
	return t_gpu_log();
}

#define STEPS 4

START_TEST(next_is_queued_before_the_wait)
{
	bool two = _i == 2;
	psg_worker *worker = open_worker(_i);
	psg_model *model = chain(STEPS), *models[2] = { model, model };
	char *log = log_of_two(worker, models);
	size_t launches = count(log, 'L', false);

	ck_assert_msg(count(log, 'u', false) == 2 && launches >= 2, "%s", log);
	ck_assert_msg(count(log, 'u', true) == (two ? 2U : 1U), "%s", log);
	ck_assert_msg(count(log, 'L', true) == (two ? launches : launches / 2), "%s", log);
	/* The first one's copy back is not behind the second one's kernels. */
	ck_assert_msg(count(log, 'd', false) == (two ? 1U : 0U), "%s", log);
	ck_assert_msg(count(log, 'D', false) == (two ? 1U : 2U), "%s", log);
	/* No copy to the card waits for the run before. */
	ck_assert_msg(strstr(log, "su") == NULL, "%s", log);
	free(log);
	psg_model_unref(model);
	close_worker(worker);
}
END_TEST

/* Many in a row: no copy to the card waits for a run before, and memory is that of two. */
START_TEST(copies_go_ahead)
{
	psg_worker *worker = open_worker(0);
	psg_model *model = chain(STEPS);
	psg_tensor *x = input(4, 50, 1);
	uint64_t held = 0;
	char *log;

	for (int round = 0; round < ROUNDS; round++) {
		psg_future *futures[12];
		t_gate gate;

		t_gate_close(&gate, worker);
		for (int i = 0; i < 12; i++)
			futures[i] = put(worker, model, x, NULL);
		t_gpu_fail("");
		t_gate_open(&gate);
		for (int i = 0; i < 12; i++)
			ck_assert_int_eq(t_finish(futures[i]), PSG_OK);
		ck_assert(round < 2 || t_stats(worker).memory_held == held);
		held = t_stats(worker).memory_held;
	}
	log = t_gpu_log();
	ck_assert_msg(count(log, 'u', false) == 12 && strstr(log, "su") == NULL, "%s", log);
	free(log);
	psg_tensor_unref(x);
	psg_model_unref(model);
	close_worker(worker);
}
END_TEST

static bool is_relu_of(psg_future *future, const psg_tensor *x)
{
	const float *from = psg_tensor_const_data(x), *y;
	psg_tensor *const *out;
	size_t n_out;

	if (psg_future_tensors(future, &out, &n_out, NULL) != PSG_OK)
		return false;
	y = psg_tensor_const_data(out[0]);
	for (int64_t i = 0; i < psg_shape_elements(psg_tensor_shape(x)); i++)
		if (y[i] != (from[i] > 0 ? from[i] : 0))
			return false;
	return true;
}

/* The only memory for the second one's input is what the first one, not done, has between its
 * steps: that copy waits. */
START_TEST(copies_wait_for_readers)
{
	psg_model *models[2] = { t_model("opset 7; in v0 ? ?; Relu v0 > v1; out v1"),
				 chain(STEPS) };
	psg_tensor *x = input(4, 50, 1);
	psg_future *futures[2];
	psg_worker *worker;
	t_gate gate;
	char *log;

	ck_assert_int_eq(setenv("FAKECUDA_EAGER", "1", 1), 0);
	worker = open_worker(0);
	for (int k = 0; k < 2; k++)
		ck_assert_int_eq(t_finish(put(worker, models[k], x, NULL)), PSG_OK);
	t_gate_close(&gate, worker);
	futures[0] = put(worker, models[1], x, NULL);
	futures[1] = put(worker, models[0], x, NULL);
	t_gpu_fail("");
	t_gate_open(&gate);
	for (int k = 0; k < 2; k++)
		ck_assert_int_eq(psg_future_wait(futures[k]), PSG_OK);
	ck_assert(is_right(futures[0], STEPS, 1));
	ck_assert(is_relu_of(futures[1], x));
	for (int k = 0; k < 2; k++)
		psg_future_release(futures[k]);
	log = t_gpu_log();
	ck_assert_msg(strstr(log, "su") != NULL, "%s", log);
	free(log);
	psg_tensor_unref(x);
	for (int k = 0; k < 2; k++)
		psg_model_unref(models[k]);
	close_worker(worker);
}
END_TEST

/* The first is done long before the second is started: its end does not wait for that. */
START_TEST(its_end_is_not_late)
{
	psg_worker *worker = open_worker(0);
	psg_model *models[2] = { chain(1), chain(MOST_STEPS / 2) };
	char *log = log_of_two(worker, models), *copy_out = strpbrk(log, "dD");

	ck_assert_msg(copy_out != NULL && strchr(copy_out, 'L') != NULL, "%s", log);
	ck_assert_msg(strchr(log, 'Q') < copy_out, "%s", log);
	free(log);
	psg_model_unref(models[0]);
	psg_model_unref(models[1]);
	close_worker(worker);
}
END_TEST

/* One alone costs no event more than it needs. */
START_TEST(one_alone_is_as_ever)
{
	psg_worker *worker = open_worker(_i);
	psg_model *model = chain(STEPS);
	psg_tensor *x = input(4, 50, 1);
	char *log;

	for (int i = 0; i < ROUNDS; i++) {
		t_gpu_fail("");
		ck_assert_int_eq(t_finish(put(worker, model, x, NULL)), PSG_OK);
	}
	log = t_gpu_log();
	ck_assert_msg(count(log, 'Q', false) == 0 && count(log, 'R', false) == 1 &&
			      count(log, 'W', false) == 1 && count(log, 'd', false) == 0,
		      "%s", log);
	free(log);
	psg_tensor_unref(x);
	psg_model_unref(model);
	close_worker(worker);
}
END_TEST

/* Full batches go ahead, too. */
START_TEST(full_batches_go_ahead)
{
	const psg_batcher_options options = { .max_batch = 4 };
	psg_worker *worker = open_worker(_i);
	psg_model *model = t_model(T_COLUMNS);
	psg_batcher *batcher = t_batcher(worker, model, &options);
	psg_future *futures[8];
	t_gate gate;
	char *log;

	for (int round = 0; round < ROUNDS; round++) {
		t_gate_close(&gate, worker);
		for (uint32_t k = 0; k < 8; k++)
			futures[k] = t_put_kth(batcher, 5, NULL);
		t_gpu_fail("");
		t_gate_open(&gate);
		for (uint32_t k = 0; k < 8; k++)
			ck_assert_int_eq(t_finish(futures[k]), PSG_OK);
	}
	log = t_gpu_log();
	ck_assert_msg(count(log, 'L', true) == count(log, 'L', false) / (_i == 2 ? 1 : 2), "%s",
		      log);
	free(log);
	psg_batcher_close(batcher);
	psg_model_unref(model);
	close_worker(worker);
}
END_TEST

START_TEST(what_may_be_asked_for)
{
	psg_worker_options options = { .in_flight = 3 };
	psg_error error = PSG_ERROR_INIT;
	psg_worker *worker;

	t_gpu_begin();
	ck_assert_int_eq(psg_worker_open("cuda:0", &options, &worker, &error), PSG_INVALID);
	ck_assert_str_eq(error.message, "3 runs in flight: 1 or 2, or 0 for 2");
	options.in_flight = -1;
	ck_assert_int_eq(psg_worker_open("cuda:0", &options, &worker, &error), PSG_INVALID);
}
END_TEST

/* --- mixed --- */

#define JOBS 120

static psg_status check_device(psg_device *device, void *arg, psg_error *error)
{
	(void)arg;
	return psgi_gpu_sync(device, error);
}

/* Every seventh is a function or operator, and every eleventh is cancelled or too late. */
static psg_future *put_any(psg_worker *worker, psg_model *const *models, psg_tensor *const *x,
			   int i, psg_job_options *options)
{
	psg_op op = { .kind = PSG_OP_RELU, .n_in = 1, .in = { x[i % MODELS] } };
	psg_future *future;

	options->deadline_ns = i % 11 == 5 ? psg_now_ns() + 1 : 0;
	if (i % 14 == 3)
		return t_submit(worker, check_device, NULL, options);
	if (i % 14 == 10) {
		ck_assert_int_eq(psg_submit(worker, &op, options, &future, NULL), PSG_OK);
		return future;
	}
	return put(worker, models[i % MODELS], x[i / MODELS % MODELS], options);
}

/* What ended well did so in the order of submission. */
static void check_order(const order *all, psg_future *const *futures)
{
	int last = -1;

	for (int i = 0; i < atomic_load(&all->n); i++) {
		int job = all->job[i];

		if (psg_future_wait(futures[job]) != PSG_OK)
			continue;
		ck_assert_int_gt(job, last);
		last = job;
	}
}

static void mix(psg_worker *worker, psg_model *const *models, psg_tensor *const *x)
{
	static order all;
	static entry entries[JOBS];
	psg_future *futures[JOBS];

	atomic_store(&all.n, 0);
	for (int i = 0; i < JOBS; i++) {
		psg_job_options options = { .done = note_end, .user = &entries[i] };

		entries[i] = (entry){ &all, i };
		futures[i] = put_any(worker, models, x, i, &options);
		if (i % 11 == 7)
			(void)psg_future_cancel(futures[i - 2]);
	}
	for (int i = 0; i < JOBS; i++) {
		psg_status status = psg_future_wait(futures[i]);
		bool is_model = i % 14 != 3 && i % 14 != 10;

		if (i % 11 == 5)
			ck_assert(status == PSG_OK || status == PSG_TIMED_OUT ||
				  status == PSG_CANCELLED);
		else
			ck_assert_int_eq(status, PSG_OK);
		if (status == PSG_OK && is_model)
			ck_assert(is_right(futures[i], 2 + i % MODELS, i / MODELS % MODELS));
	}
	while (atomic_load(&all.n) < JOBS)
		t_sleep_ns(PSG_MILLISECOND);
	check_order(&all, futures);
	for (int i = 0; i < JOBS; i++)
		psg_future_release(futures[i]);
}

START_TEST(all_kinds_together)
{
	psg_worker *worker = open_worker(0);
	psg_model *models[MODELS];
	psg_tensor *x[MODELS];
	uint64_t held = 0;

	for (int i = 0; i < MODELS; i++) {
		models[i] = chain(2 + i);
		x[i] = input(1 + i, 100 << (2 * i), i);
	}
	for (int round = 0; round < 6; round++) {
		mix(worker, models, x);
		if (round == 2)
			held = t_stats(worker).memory_held;
	}
	ck_assert_uint_eq(t_stats(worker).memory_held, held);
	for (int i = 0; i < MODELS; i++) {
		psg_model_unref(models[i]);
		psg_tensor_unref(x[i]);
	}
	close_worker(worker);
}
END_TEST

/* --- callbacks between the steps of the next run --- */

#define CHAINS 5 /* the last two in batches */
#define LINKS 40

/* Each submits the next one of its chain, and cancels what came of the others. */
typedef struct links {
	psg_worker *worker;
	psg_model *model;
	psg_batcher *batcher;
	psg_tensor *x;
	struct links *all;
	psg_future *last; /* of it, held; the worker's thread's */
	int left, wrong;
	atomic_bool done;
} links;

static void next_link(psg_future *future, void *user);

static psg_status put_link(links *l)
{
	const psg_job_options options = { .done = next_link, .user = l, .cpu_fallback = true };

	if (l->batcher != NULL)
		return psg_batcher_submit(l->batcher, l->x, &options, &l->last, NULL);
	return psg_submit_model(l->worker, l->model, &l->x, 1, &options, &l->last, NULL);
}

static void next_link(psg_future *future, void *user)
{
	links *l = user;
	psg_status status = psg_future_wait(future);

	l->wrong += status != PSG_OK && status != PSG_CANCELLED;
	if (status == PSG_OK && l->batcher == NULL)
		l->wrong += !is_right(future, STEPS, 1);
	if (l->left % 5 == 0)
		for (int i = 0; i < CHAINS; i++)
			if (l->all[i].last != NULL && &l->all[i] != l)
				(void)psg_future_cancel(l->all[i].last);
	if (l->left % 7 == 0)
		psg_worker_trim(l->worker);
	psg_future_release(l->last);
	l->last = NULL;
	if (--l->left == 0)
		atomic_store(&l->done, true);
	else
		l->wrong += put_link(l) != PSG_OK;
}

static psg_status put_links(psg_device *device, void *arg, psg_error *error)
{
	links *l = arg;

	(void)device;
	(void)error;
	for (int i = 0; i < CHAINS; i++)
		l[i].wrong += put_link(&l[i]) != PSG_OK;
	return PSG_OK;
}

START_TEST(callbacks_in_between)
{
	static const char *const rules[] = { "cuLaunchKernel:50:701,cuMemcpyDtoHAsync_v2:9:2",
					     "cuStreamWaitEvent:9:999,cuEventRecord:20+:999",
					     "run:100:719" };
	psg_worker *worker = open_worker(0);
	psg_model *model = chain(STEPS), *columns = t_model(T_COLUMNS);
	const psg_batcher_options options = { .max_batch = 2 };
	psg_batcher *batcher = t_batcher(worker, columns, &options);
	links l[CHAINS];

	for (int i = 0; i < CHAINS; i++)
		l[i] = (links){ .worker = worker,
				.model = model,
				.batcher = i < 3 ? NULL : batcher,
				.x = i < 3 ? input(4, 50, 1) : t_sample(1),
				.all = l,
				.left = LINKS };
	if (_i > 0 && !t_gpu_real())
		t_gpu_fail(rules[_i - 1]);
	ck_assert_int_eq(t_finish(t_submit(worker, put_links, l, NULL)), PSG_OK);
	for (int i = 0; i < CHAINS; i++)
		while (!atomic_load(&l[i].done))
			t_sleep_ns(PSG_MILLISECOND);
	psg_batcher_close(batcher);
	psg_model_unref(model);
	psg_model_unref(columns);
	close_worker(worker);
	for (int i = 0; i < CHAINS; i++) {
		ck_assert_int_eq(l[i].wrong, 0);
		psg_tensor_unref(l[i].x);
	}
}
END_TEST

/* --- ending with runs in flight --- */

/* 0: drain, 1: abort and close, 2: close. */
START_TEST(ending)
{
	psg_worker *worker = open_worker(0);
	psg_model *model = chain(STEPS);
	psg_tensor *x = input(4, 50, 1);
	psg_future *futures[40];

	for (int i = 0; i < 40; i++)
		futures[i] = put(worker, model, x, NULL);
	ck_assert_int_eq(psg_future_wait(futures[3]), PSG_OK);
	if (_i == 0) {
		ck_assert_int_eq(psg_worker_drain(worker, -1), PSG_OK);
		ck_assert_uint_eq(t_stats(worker).completed, 40);
	}
	if (_i == 1)
		psg_worker_abort(worker);
	psg_worker_close(worker);
	for (int i = 0; i < 40; i++) {
		psg_status status = psg_future_wait(futures[i]);

		ck_assert(status == PSG_OK || (_i > 0 && status == PSG_SHUTDOWN));
		ck_assert(status != PSG_OK || is_right(futures[i], STEPS, 1));
		psg_future_release(futures[i]);
	}
	psg_tensor_unref(x);
	psg_model_unref(model);
	t_gpu_expect_nothing_left();
}
END_TEST

/* --- memory --- */

/* Two runs' inputs and results do not fit, nor does anything but one plan. */
START_TEST(two_do_not_fit)
{
	const int64_t elements = 48 << 10;
	psg_worker *worker;
	psg_model *model = chain(STEPS);
	psg_tensor *x = input(1, elements, 1);
	psg_future *futures[6];
	t_gate gate;

	ck_assert_int_eq(setenv("PAGESIFT_GPU_MEMORY", "1M", 1), 0);
	worker = open_worker(0);
	for (int round = 0; round < 3; round++) {
		t_gate_close(&gate, worker);
		for (int i = 0; i < 6; i++)
			futures[i] = put(worker, model, x, NULL);
		t_gate_open(&gate);
		for (int i = 0; i < 6; i++) {
			psg_error error = PSG_ERROR_INIT;

			(void)psg_future_wait(futures[i]);
			ck_assert_msg(psg_future_error(futures[i], &error) == PSG_OK, "%s",
				      error.message);
			ck_assert(is_right(futures[i], STEPS, 1));
			psg_future_release(futures[i]);
		}
	}
	psg_tensor_unref(x);
	psg_model_unref(model);
	close_worker(worker);
}
END_TEST

/* There is room for a batch of two, and beside its results for one more sample: the next two wait
 * for them rather than go one at a time. */
START_TEST(batches_stay_as_large)
{
	const psg_batcher_options options = { .max_batch = 16 };
	psg_model *model = t_model(T_COLUMNS);
	psg_batcher_stats stats = { 0 };
	psg_batcher *batcher;
	psg_future *futures[64];
	psg_worker *worker;
	t_gate gate;

	ck_assert_int_eq(setenv("PAGESIFT_GPU_MEMORY", "3000", 1), 0);
	worker = open_worker(_i);
	batcher = t_batcher(worker, model, &options);
	t_gate_close(&gate, worker);
	for (uint32_t k = 0; k < 64; k++)
		futures[k] = t_put_kth(batcher, 5, NULL);
	t_gate_open(&gate);
	for (uint32_t k = 0; k < 64; k++)
		t_expect_kth(futures[k], 5);
	psg_batcher_stats_get(batcher, &stats);
	ck_assert_uint_eq(stats.largest, 2);
	ck_assert_uint_eq(stats.runs, 32);
	psg_batcher_close(batcher);
	psg_model_unref(model);
	close_worker(worker);
}
END_TEST

static psg_status read_account(psg_device *device, void *arg, psg_error *error)
{
	(void)error;
	*(size_t *)arg = device->account->used;
	return PSG_OK;
}

static size_t used_by(psg_worker *worker)
{
	size_t used;

	ck_assert_int_eq(t_finish(t_submit(worker, read_account, &used, NULL)), PSG_OK);
	return used;
}

/* Runs of two workers of one card in turns: each pays for its own memory, and gets it back. */
START_TEST(two_engines)
{
	const psg_worker_options half = { .memory_share = 0.5 };
	psg_model *models[2] = { chain(STEPS), chain(STEPS + 1) };
	psg_tensor *x = input(2, 300, 1);
	psg_future *last[10];
	psg_shared_worker *shared;
	psg_worker *workers[2];
	size_t used[2] = { 0, 0 };

	t_gpu_begin();
	ck_assert_int_eq(psg_shared_worker_acquire("cuda:0", NULL, &shared, NULL), PSG_OK);
	for (int k = 0; k < 2; k++)
		ck_assert_int_eq(psg_worker_open_shared(shared, &half, &workers[k], NULL), PSG_OK);
	for (int round = 0; round < 4; round++) {
		psg_future *futures[40];
		t_gate gate;

		t_gate_close(&gate, workers[0]);
		for (int i = 0; i < 40; i++)
			futures[i] = put(workers[i % 2], models[i % 2], x, NULL);
		t_gate_open(&gate);
		for (int i = 0; i < 40; i++) {
			ck_assert_int_eq(psg_future_wait(futures[i]), PSG_OK);
			ck_assert(is_right(futures[i], STEPS + i % 2, 1));
			psg_future_release(futures[i]);
		}
		for (int k = 0; k < 2; k++) {
			ck_assert(round == 0 || used_by(workers[k]) == used[k]);
			used[k] = used_by(workers[k]);
			ck_assert_uint_gt(used[k], 0); /* a weight, taken beside another's run */
		}
	}
	/* One goes while the other's are in flight. */
	for (int i = 0; i < 10; i++)
		last[i] = put(workers[1], models[1], x, NULL);
	psg_worker_close(workers[0]);
	for (int i = 0; i < 10; i++)
		ck_assert_int_eq(t_finish(last[i]), PSG_OK);
	psg_worker_close(workers[1]);
	psg_shared_worker_release(shared);
	psg_tensor_unref(x);
	psg_model_unref(models[0]);
	psg_model_unref(models[1]);
	t_gpu_expect_nothing_left();
}
END_TEST

/* Who has a run in flight has had a turn, although that is not paid for yet. */
START_TEST(engines_take_turns)
{
	static order all;
	psg_model *model = chain(STEPS);
	psg_tensor *x = input(2, 30, 1);
	psg_shared_worker *shared;
	psg_worker *workers[3];
	psg_future *futures[4];
	entry entries[4];
	t_gate gate;

	ck_assert_int_eq(setenv("FAKECUDA_LAUNCH_US", "1000", 1), 0);
	t_gpu_begin();
	ck_assert_int_eq(psg_shared_worker_acquire("cuda:0", NULL, &shared, NULL), PSG_OK);
	for (int k = 0; k < 3; k++) {
		ck_assert_int_eq(psg_worker_open_shared(shared, NULL, &workers[k], NULL), PSG_OK);
		ck_assert_int_eq(t_finish(put(workers[k], model, x, NULL)), PSG_OK);
	}
	t_gate_close(&gate, workers[2]);
	for (int i = 0; i < 4; i++) {
		const psg_job_options options = { .done = note_end, .user = &entries[i] };

		entries[i] = (entry){ &all, i };
		futures[i] = put(workers[i % 2], model, x, &options);
	}
	t_gate_open(&gate);
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(t_finish(futures[i]), PSG_OK);
	for (int k = 0; k < 3; k++)
		psg_worker_close(workers[k]);
	ck_assert_int_ne(all.job[0] % 2, all.job[1] % 2);
	psg_shared_worker_release(shared);
	psg_tensor_unref(x);
	psg_model_unref(model);
	t_gpu_expect_nothing_left();
}
END_TEST

/* --- failures --- */

#define FAILING 4

/* Four runs of two plans wait together and then meet the rule; 0: all may use the CPU, and are
 * right.  Returns how many failed. */
static int run_failing(psg_worker *worker, const char *rules, psg_model *const *models,
		       psg_tensor *x, bool fallback)
{
	psg_job_options options = { .cpu_fallback = fallback };
	psg_future *futures[FAILING];
	t_gate gate;
	int failed = 0;

	t_gate_close(&gate, worker);
	for (int i = 0; i < FAILING; i++)
		futures[i] = put(worker, models[i % 2], x, &options);
	t_gpu_fail(rules);
	t_gate_open(&gate);
	for (int i = 0; i < FAILING; i++) {
		psg_status status = psg_future_wait(futures[i]);

		if (status == PSG_OK)
			ck_assert_msg(is_right(futures[i], STEPS + i % 2, 1), "%s: job %d", rules,
				      i);
		failed += status != PSG_OK;
		psg_future_release(futures[i]);
	}
	return failed;
}

/* The n-th call of all fails, for each n. */
START_TEST(each_call_fails)
{
	static const int codes[] = { 1, 2, 999 };
	psg_model *models[2] = { chain(STEPS), chain(STEPS + 1) };
	psg_tensor *x = input(2, 30, 1);
	psg_worker *worker = open_worker(0);
	int64_t faults = 0;

	(void)run_failing(worker, "", models, x, false);
	for (int n = 1; n == 1 || t_gpu_counts().faults > faults; n++) {
		char rules[32];
		int failed;

		faults = t_gpu_counts().faults;
		(void)snprintf(rules, sizeof(rules), "*:%d:%d", n, codes[n % 3]);
		failed = run_failing(worker, rules, models, x, _i == 1);
		ck_assert_msg(failed <= (_i == 1 ? 0 : 1), "%s: %d failed", rules, failed);
		ck_assert_int_eq(run_failing(worker, "", models, x, false), 0);
		ck_assert_int_eq(psg_worker_health(worker, NULL), PSG_OK);
	}
	ck_assert_int_gt(faults, 60);
	psg_tensor_unref(x);
	psg_model_unref(models[0]);
	psg_model_unref(models[1]);
	close_worker(worker);
}
END_TEST

/* One that fails as it is started does not end before the one that was started before it. */
START_TEST(failing_at_the_start)
{
	static order all;
	psg_worker *worker = open_worker(0);
	psg_model *model = chain(STEPS);
	psg_tensor *x = input(4, 50, 1);
	psg_future *futures[4];
	entry entries[4];
	t_gate gate;

	ck_assert_int_eq(t_finish(put(worker, model, x, NULL)), PSG_OK);
	t_gate_close(&gate, worker);
	for (int i = 0; i < 4; i++) {
		const psg_job_options options = { .done = note_end, .user = &entries[i] };

		entries[i] = (entry){ &all, i };
		futures[i] = put(worker, model, x, &options);
	}
	/* The second one's copy to the card. */
	t_gpu_fail("cuMemcpyHtoDAsync_v2:2:1");
	t_gate_open(&gate);
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(t_finish(futures[i]), i == 1 ? PSG_DRIVER : PSG_OK);
	psg_worker_close(worker);
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(all.job[i], i);
	psg_tensor_unref(x);
	psg_model_unref(model);
	t_gpu_expect_nothing_left();
}
END_TEST

/* The card is lost in each of the kernels, with runs in flight. */
START_TEST(lost_in_flight)
{
	psg_model *models[2] = { chain(STEPS), chain(STEPS + 1) };
	psg_tensor *x = input(2, 30, 1);

	for (int n = 1; n <= 6 * STEPS; n += 3) {
		psg_worker *worker = open_worker(0);
		char rules[32];

		(void)run_failing(worker, "", models, x, false);
		(void)snprintf(rules, sizeof(rules), "run:%d:719", n);
		ck_assert_int_eq(run_failing(worker, rules, models, x, true), 0);
		ck_assert_int_eq(psg_worker_health(worker, NULL), PSG_DEVICE_LOST);
		ck_assert_uint_eq(t_stats(worker).completed, 2 * FAILING + 2);
		t_gpu_fail("");
		close_worker(worker);
	}
	psg_tensor_unref(x);
	psg_model_unref(models[0]);
	psg_model_unref(models[1]);
}
END_TEST

/* The same in a fleet: both go on to the other card. */
START_TEST(lost_in_a_fleet)
{
	static const char *const devices[] = { "cuda:0", "cuda:1" };
	psg_model *model = chain(STEPS);
	psg_tensor *x = input(2, 30, 1);
	psg_fleet_stats stats = { .size = sizeof(stats) };
	psg_future *futures[40];
	char rules[32];
	psg_fleet *fleet;

	ck_assert_int_eq(setenv("FAKECUDA_DEVICES", "2", 1), 0);
	t_gpu_begin();
	ck_assert_int_eq(psg_fleet_open(devices, 2, NULL, &fleet, NULL), PSG_OK);
	(void)snprintf(rules, sizeof(rules), "run:%d:719", 20 + 7 * _i);
	for (int i = 0; i < 40; i++)
		ck_assert_int_eq(
			psg_fleet_submit_model(fleet, model, &x, 1, NULL, &futures[i], NULL),
			PSG_OK);
	t_gpu_fail(rules);
	for (int i = 0; i < 40; i++) {
		psg_error error = PSG_ERROR_INIT;

		(void)psg_future_wait(futures[i]);
		ck_assert_msg(psg_future_error(futures[i], &error) == PSG_OK, "%s", error.message);
		ck_assert(is_right(futures[i], STEPS, 1));
		psg_future_release(futures[i]);
	}
	ck_assert_int_eq(psg_fleet_stats_get(fleet, &stats), PSG_OK);
	ck_assert_uint_eq(stats.completed, 40);
	psg_fleet_close(fleet);
	psg_tensor_unref(x);
	psg_model_unref(model);
	t_gpu_expect_nothing_left();
}
END_TEST

/* Batches that fail at the end while others are in flight are run again. */
START_TEST(failing_batches)
{
	static const char *const rules[] = { "cuMemcpyDtoHAsync_v2:2:2", "cuEventSynchronize:1:999",
					     "cuLaunchKernel:3:701", "cuMemcpyHtoDAsync_v2:2:1" };
	const psg_batcher_options options = { .max_batch = 4 };
	const psg_job_options fallback = { .cpu_fallback = true }; /* of one that runs alone */
	psg_worker *worker = open_worker(0);
	psg_model *model = t_model(T_COLUMNS);
	psg_batcher *batcher = t_batcher(worker, model, &options);
	psg_future *futures[16];
	t_gate gate;

	for (int round = 0; round < 4; round++) {
		t_gate_close(&gate, worker);
		for (uint32_t k = 0; k < 16; k++)
			futures[k] = t_put_kth(batcher, k, &fallback);
		t_gpu_fail(round == 0 ? "" : rules[_i]);
		t_gate_open(&gate);
		for (uint32_t k = 0; k < 16; k++)
			t_expect_kth(futures[k], k);
		t_gpu_fail("");
	}
	psg_batcher_close(batcher);
	psg_model_unref(model);
	close_worker(worker);
}
END_TEST

/* --- a card that does not answer --- */

/* Waiting for the first one hangs, with the second behind it and a third in the queue. */
START_TEST(stalled_in_flight)
{
	const psg_worker_options options = { .stall_limit_ns = 250 * PSG_MILLISECOND };
	psg_model *model = chain(STEPS);
	psg_tensor *x = input(2, 30, 1);
	psg_future *futures[3];
	psg_worker *worker;

	ck_assert_int_eq(setenv("FAKECUDA_HANG", "cuEventSynchronize", 1), 0);
	worker = open_with(&options);
	for (int i = 0; i < 3; i++)
		futures[i] = put(worker, model, x, NULL);
	for (int i = 0; i < 3; i++)
		ck_assert_int_eq(psg_future_wait(futures[i]), PSG_STALLED);
	if (_i == 1) { /* it is left behind */
		psg_worker_close(worker);
		t_gpu_fail("");
	} else {
		t_gpu_fail("");
		while (psg_worker_health(worker, NULL) != PSG_OK)
			t_sleep_ns(PSG_MILLISECOND);
		for (int i = 0; i < 3; i++) {
			psg_future *future = put(worker, model, x, NULL);

			ck_assert_int_eq(psg_future_wait(future), PSG_OK);
			ck_assert(is_right(future, STEPS, 1));
			psg_future_release(future);
		}
		ck_assert_uint_eq(t_stats(worker).failed, 3);
		psg_worker_close(worker);
	}
	for (int i = 0; i < 3; i++)
		psg_future_release(futures[i]);
	psg_tensor_unref(x);
	psg_model_unref(model);
	while (t_gpu_counts().contexts > 0)
		t_sleep_ns(PSG_MILLISECOND);
	t_gpu_expect_nothing_left();
}
END_TEST

/* --- several threads --- */

#define THREADS 4
#define EACH 60

typedef struct client {
	pthread_t thread;
	psg_worker *worker;
	psg_batcher *batcher;
	psg_model *model, *columns;
	int number, bad;
} client;

/* Up to three at a time, every second one a sample. */
static void *submit_some(void *argument)
{
	client *c = argument;
	psg_tensor *x = input(1 + c->number, 40, c->number);
	psg_future *futures[3];

	for (uint32_t i = 0; i < EACH; i += 3) {
		for (uint32_t k = 0; k < 3; k++)
			futures[k] = (i + k) % 2 == 0 ? put(c->worker, c->model, x, NULL)
						      : t_put_kth(c->batcher, i + k, NULL);
		for (uint32_t k = 0; k < 3; k++) {
			c->bad += psg_future_wait(futures[k]) != PSG_OK;
			if ((i + k) % 2 == 0)
				c->bad += !is_right(futures[k], STEPS, c->number);
			psg_future_release(futures[k]);
		}
	}
	psg_tensor_unref(x);
	return NULL;
}

START_TEST(several_threads)
{
	const psg_batcher_options options = { .max_batch = 2 };
	psg_worker *worker = open_worker(_i);
	psg_model *model = chain(STEPS), *columns = t_model(T_COLUMNS);
	psg_batcher *batcher = t_batcher(worker, columns, &options);
	client clients[THREADS];

	for (int k = 0; k < THREADS; k++) {
		clients[k] = (client){ .worker = worker,
				       .batcher = batcher,
				       .model = model,
				       .columns = columns,
				       .number = k };
		ck_assert_int_eq(pthread_create(&clients[k].thread, NULL, submit_some, &clients[k]),
				 0);
	}
	for (int k = 0; k < THREADS; k++) {
		(void)pthread_join(clients[k].thread, NULL);
		ck_assert_int_eq(clients[k].bad, 0);
	}
	ck_assert_uint_eq(t_stats(worker).completed, THREADS * EACH);
	psg_batcher_close(batcher);
	psg_model_unref(model);
	psg_model_unref(columns);
	close_worker(worker);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("runs in flight");
	TCase *all = tcase_create("flight"), *fake = tcase_create("calls");
	SRunner *runner;
	int failed;

	tcase_set_timeout(all, 120);
	tcase_set_timeout(fake, 120);
	tcase_add_test(all, what_may_be_asked_for);
	tcase_add_test(all, all_kinds_together);
	tcase_add_loop_test(all, callbacks_in_between, 0, 4);
	tcase_add_loop_test(all, ending, 0, 3);
	tcase_add_test(all, two_do_not_fit);
	tcase_add_test(all, two_engines);
	tcase_add_loop_test(all, several_threads, 1, 3);
	tcase_add_loop_test(fake, next_is_queued_before_the_wait, 1, 3);
	tcase_add_test(fake, copies_go_ahead);
	tcase_add_test(fake, copies_wait_for_readers);
	tcase_add_test(fake, its_end_is_not_late);
	tcase_add_loop_test(fake, one_alone_is_as_ever, 1, 3);
	tcase_add_loop_test(fake, full_batches_go_ahead, 1, 3);
	tcase_add_test(fake, engines_take_turns);
	tcase_add_loop_test(fake, batches_stay_as_large, 1, 3);
	tcase_add_loop_test(fake, each_call_fails, 0, 2);
	tcase_add_test(fake, failing_at_the_start);
	tcase_add_test(fake, lost_in_flight);
	tcase_add_loop_test(fake, lost_in_a_fleet, 0, 8);
	tcase_add_loop_test(fake, failing_batches, 0, 4);
	tcase_add_loop_test(fake, stalled_in_flight, 0, 2);
	suite_add_tcase(suite, all);
	if (!t_gpu_real())
		suite_add_tcase(suite, fake);
	runner = srunner_create(suite);
	srunner_set_fork_status(runner, CK_FORK); /* a process opens one driver */
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
