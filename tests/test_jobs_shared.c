/* SPDX-License-Identifier: Apache-2.0 */
/* One device for several engines: finding it, turns, and engines that come and go. */
#include "config.h"

#include "batch_util.h"
#include "fakecuda_util.h"
#include "jobs_util.h"
#include "onnx_text.h"

#include <pagesift/shared.h>
#include <pagesift/stats.h>

#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static psg_shared_worker *acquire(const char *device)
{
	psg_error error = PSG_ERROR_INIT;
	psg_shared_worker *shared;

	ck_assert_msg(psg_shared_worker_acquire(device, NULL, &shared, &error) == PSG_OK, "%s",
		      error.message);
	return shared;
}

static psg_shared_worker *acquire_card(void)
{
	t_gpu_begin();
	return acquire("cuda:0");
}

static psg_worker *engine(psg_shared_worker *shared, const psg_worker_options *options)
{
	psg_error error = PSG_ERROR_INIT;
	psg_worker *worker;

	ck_assert_msg(psg_worker_open_shared(shared, options, &worker, &error) == PSG_OK, "%s",
		      error.message);
	return worker;
}

/* --- finding it --- */

START_TEST(one_device_is_opened_once)
{
	psg_shared_worker *first = acquire("reference"), *second = acquire("reference");
	psg_shared_worker *other = acquire("cpu:1");

	ck_assert_ptr_eq(first, second);
	ck_assert_ptr_ne(first, other);
	ck_assert_str_eq(psg_shared_worker_device(first)->name, "reference");
	psg_shared_worker_release(other);
	psg_shared_worker_release(first);
	ck_assert_uint_eq(psg_shared_worker_engines(second), 0);
	psg_shared_worker_release(second);
	psg_shared_worker_release(NULL);
}
END_TEST

/* Whatever it leads to here. */
START_TEST(auto_is_what_it_leads_to)
{
	psg_shared_worker *automatic = acquire("auto");
	const char *name = psg_shared_worker_device(automatic)->name;
	psg_shared_worker *named = acquire(name), *again = acquire("auto");

	ck_assert_ptr_eq(automatic, named);
	ck_assert_ptr_eq(automatic, again);
	psg_shared_worker_release(automatic);
	psg_shared_worker_release(again);
	/* The name alone keeps it; "auto" still leads there. */
	again = acquire("auto");
	ck_assert_ptr_eq(named, again);
	psg_shared_worker_release(named);
	psg_shared_worker_release(again);
	/* Found the other way round. */
	named = acquire("cpu");
	automatic = acquire("auto");
	ck_assert_int_eq(named == automatic,
			 strcmp(psg_shared_worker_device(named)->name,
				psg_shared_worker_device(automatic)->name) == 0);
	psg_shared_worker_release(automatic);
	psg_shared_worker_release(named);
}
END_TEST

START_TEST(refusals)
{
	static const struct {
		psg_worker_options options;
		const char *message;
	} cases[] = {
		{ { .weight = -1 }, "weight -1" },
		{ { .weight = 10001 }, "weight 10001" },
		{ { .memory_share = 1.5 }, "memory share 1.5" },
		{ { .memory_share = -0.5 }, "memory share -0.5" },
		{ { .lane_capacity = 65536 }, "lane capacity 65536" },
	};
	psg_shared_worker *shared = (psg_shared_worker *)(uintptr_t)64;
	psg_error error = PSG_ERROR_INIT;
	psg_worker *worker;

	ck_assert_int_eq(psg_shared_worker_acquire("abacus", NULL, &shared, &error), PSG_INVALID);
	ck_assert_ptr_null(shared);
	ck_assert_ptr_nonnull(strstr(error.message, "abacus"));
	ck_assert_int_eq(psg_shared_worker_acquire(NULL, NULL, &shared, &error), PSG_INVALID);
	shared = acquire("reference");
	for (size_t i = 0; i < T_COUNT(cases); i++) {
		ck_assert_int_eq(psg_worker_open_shared(shared, &cases[i].options, &worker, &error),
				 PSG_INVALID);
		ck_assert_ptr_null(worker);
		ck_assert_msg(strstr(error.message, cases[i].message) != NULL, "%s", error.message);
	}
	ck_assert_uint_eq(psg_shared_worker_engines(shared), 0);
	psg_shared_worker_release(shared);
}
END_TEST

struct finder {
	pthread_barrier_t *together;
	const char *device;
	psg_shared_worker *shared;
	psg_status status;
};

static void *find(void *arg)
{
	struct finder *finder = arg;

	(void)pthread_barrier_wait(finder->together);
	finder->status = psg_shared_worker_acquire(finder->device, NULL, &finder->shared, NULL);
	return NULL;
}

/* Rounds in which all threads ask at once, some by another name, some for what there is not. */
START_TEST(many_threads_find_one)
{
	static const char *const devices[] = { "cpu:1", "abacus", "cpu:1", "reference" };
	struct finder finders[8];
	pthread_t threads[8];
	pthread_barrier_t together;

	ck_assert_int_eq(pthread_barrier_init(&together, NULL, 8), 0);
	for (int round = 0; round < 100; round++) {
		for (size_t i = 0; i < 8; i++) {
			finders[i] =
				(struct finder){ .together = &together, .device = devices[i % 4] };
			ck_assert_int_eq(pthread_create(&threads[i], NULL, find, &finders[i]), 0);
		}
		for (size_t i = 0; i < 8; i++)
			ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
		for (size_t i = 0; i < 8; i++) {
			bool wrong = i % 4 == 1;

			ck_assert_int_eq(finders[i].status, wrong ? PSG_INVALID : PSG_OK);
			ck_assert_ptr_eq(finders[i].shared,
					 wrong ? NULL : finders[i % 4 == 2 ? 0 : i % 4].shared);
		}
		for (size_t i = 0; i < 8; i++)
			psg_shared_worker_release(finders[i].shared);
	}
	(void)pthread_barrier_destroy(&together);
}
END_TEST

/* --- jobs --- */

static psg_status which_thread(psg_device *device, void *arg, psg_error *error)
{
	(void)device;
	(void)error;
	*(pthread_t *)arg = pthread_self();
	return PSG_OK;
}

START_TEST(engines_share_the_thread_and_nothing_else)
{
	psg_shared_worker *shared = acquire("reference");
	psg_worker *a = engine(shared, NULL), *b = engine(shared, NULL);
	pthread_t threads[2];

	ck_assert_uint_eq(psg_shared_worker_engines(shared), 2);
	/* The workers keep it. */
	psg_shared_worker_release(shared);
	ck_assert_int_eq(t_finish(t_submit(a, which_thread, &threads[0], NULL)), PSG_OK);
	ck_assert_int_eq(t_finish(t_submit(b, which_thread, &threads[1], NULL)), PSG_OK);
	ck_assert(pthread_equal(threads[0], threads[1]));
	ck_assert_uint_eq(t_stats(a).completed, 1);
	ck_assert_uint_eq(t_stats(b).submitted, 1);
	psg_worker_close(a);
	/* Who asks finds the same thread as long as one is open. */
	shared = acquire("reference");
	a = engine(shared, NULL);
	ck_assert_int_eq(t_finish(t_submit(a, which_thread, &threads[0], NULL)), PSG_OK);
	ck_assert(pthread_equal(threads[0], threads[1]));
	psg_shared_worker_release(shared);
	psg_worker_close(b);
	psg_worker_close(a);
}
END_TEST

/* An engine whose queue is never empty: each job that ends submits one more. */
struct flood {
	psg_worker *worker;
	psg_job_fn job;
	atomic_bool stop;
	atomic_int live;
};

static void one_more(psg_future *future, void *user)
{
	struct flood *flood = user;
	psg_job_options options = { .done = one_more, .user = flood };

	(void)future;
	if (atomic_load(&flood->stop) ||
	    psg_submit_function(flood->worker, flood->job, NULL, &options, NULL, NULL) != PSG_OK)
		atomic_fetch_sub(&flood->live, 1);
}

static void start_flood(struct flood *flood, psg_worker *worker, psg_job_fn job)
{
	psg_job_options options = { .done = one_more, .user = flood };

	*flood = (struct flood){ .worker = worker, .job = job, .live = 4 };
	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(psg_submit_function(worker, job, NULL, &options, NULL, NULL),
				 PSG_OK);
}

static void stop_flood(struct flood *flood)
{
	atomic_store(&flood->stop, true);
	while (atomic_load(&flood->live) > 0)
		t_sleep_ns(PSG_MILLISECOND / 10);
}

static psg_status long_pause(psg_device *device, void *arg, psg_error *error)
{
	(void)device;
	(void)arg;
	(void)error;
	t_sleep_ns(5 * PSG_MILLISECOND);
	return PSG_OK;
}

/* Of different jobs; 5 % is what is promised, over some hundred jobs. */
START_TEST(weights_divide_the_time)
{
	psg_shared_worker *shared = acquire("reference");
	psg_worker *a = engine(shared, &(psg_worker_options){ .weight = 3 });
	psg_worker *b = engine(shared, NULL);
	struct flood floods[2];
	double ratio;

	start_flood(&floods[0], a, t_pause);
	start_flood(&floods[1], b, long_pause);
	t_sleep_ns(3 * PSG_SECOND / 2);
	ratio = (double)t_stats(a).busy_ns / (double)t_stats(b).busy_ns;
	stop_flood(&floods[0]);
	stop_flood(&floods[1]);
	ck_assert_msg(ratio > 3 * 0.95 && ratio < 3 * 1.05, "3:1 gave %.3f", ratio);
	psg_worker_close(a);
	psg_worker_close(b);
	psg_shared_worker_release(shared);
}
END_TEST

/* --- a flood, and who comes beside it --- */

/* Of an engine that has all this waiting; `job` holds the device for a time that is known to be
 * more than turns give at once (turns.c). */
#define FLOOD_THREADS 3
#define FLOOD_EACH 100
#define HELD_NS (5 * PSG_MILLISECOND)

struct queued {
	psg_worker *worker;
	psg_batcher *batcher; /* NULL: functions */
	atomic_int ran;       /* of these functions */
};

static void *queue_many(void *arg)
{
	struct queued *queued = arg;
	psg_tensor *sample = t_sample(0);

	for (int i = 0; i < FLOOD_EACH; i++) {
		if (queued->batcher != NULL)
			ck_assert_int_eq(
				psg_batcher_submit(queued->batcher, sample, NULL, NULL, NULL),
				PSG_OK);
		else
			ck_assert_int_eq(psg_submit_function(queued->worker, t_add_one,
							     &queued->ran, NULL, NULL, NULL),
					 PSG_OK);
	}
	psg_tensor_unref(sample);
	return NULL;
}

static void queue_from_threads(struct queued *queued)
{
	pthread_t threads[FLOOD_THREADS];

	for (size_t i = 0; i < FLOOD_THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, queue_many, queued), 0);
	for (size_t i = 0; i < FLOOD_THREADS; i++)
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
}

static psg_status hold(psg_device *device, void *arg, psg_error *error)
{
	int64_t began = psg_now_ns();
	psg_status status = t_gate_job(device, arg, error);

	while (psg_now_ns() - began < HELD_NS)
		t_sleep_ns(HELD_NS);
	return status;
}

struct seen {
	struct queued *queued;
	int functions;
	uint64_t runs;
};

static psg_status see(psg_device *device, void *arg, psg_error *error)
{
	struct seen *seen = arg;

	(void)device;
	(void)error;
	seen->functions = atomic_load(&seen->queued->ran);
	seen->runs = seen->queued->batcher != NULL ? t_batch_stats(seen->queued->batcher).runs : 0;
	return PSG_OK;
}

/* The one has `queued` when the other comes, which owes nothing. */
static void come_beside(struct queued *queued, psg_worker *other)
{
	struct seen seen = { .queued = queued };
	psg_future *future;
	t_gate gate;

	ck_assert_int_eq(t_finish(t_submit(other, t_nothing, NULL, NULL)), PSG_OK);
	ck_assert_int_eq(sem_init(&gate.running, 0, 0), 0);
	ck_assert_int_eq(sem_init(&gate.open, 0, 0), 0);
	gate.future = t_submit(queued->worker, hold, &gate, NULL);
	while (sem_wait(&gate.running) != 0)
		;
	queue_from_threads(queued);
	ck_assert_uint_eq(t_stats(queued->worker).queued, 1 + FLOOD_THREADS * FLOOD_EACH);
	future = t_submit(other, see, &seen, NULL);
	t_gate_open(&gate);
	ck_assert_int_eq(t_finish(future), PSG_OK);
	ck_assert_int_eq(seen.functions, 0);
	ck_assert_uint_eq(seen.runs, 0);
}

/* Hundreds of functions, or of samples, wait: what runs just then ends, and none of them starts
 * before the other engine's job. */
static void flood_beside(bool samples)
{
	psg_shared_worker *shared = acquire("reference");
	psg_worker *a = engine(shared, NULL), *b = engine(shared, NULL);
	psg_model *model = t_model(T_COLUMNS);
	struct queued queued = { .worker = a };

	if (samples)
		queued.batcher = t_batcher(a, model, NULL);
	come_beside(&queued, b);
	ck_assert_int_eq(psg_worker_drain(a, -1), PSG_OK);
	ck_assert_uint_eq(t_stats(a).completed, 1 + FLOOD_THREADS * FLOOD_EACH);
	psg_batcher_close(queued.batcher);
	psg_model_unref(model);
	psg_worker_close(a);
	psg_worker_close(b);
	psg_shared_worker_release(shared);
}

START_TEST(a_flood_of_functions_delays_by_one)
{
	flood_beside(false);
}
END_TEST

START_TEST(a_flood_of_samples_delays_by_one)
{
	flood_beside(true);
}
END_TEST

/* --- those who give up --- */

#define GIVERS 4
#define GIVEN_UP 90 /* of each */

struct giver {
	psg_worker *worker;
	atomic_int *served, *given_up; /* that ran */
};

/* Of each two requests one is given up: by a cancel, by its last handle, by its deadline. */
static void *give_up(void *arg)
{
	const struct giver *giver = arg;

	for (int i = 0; i < GIVEN_UP; i++) {
		psg_job_options soon = { .deadline_ns = psg_now_ns() + PSG_MILLISECOND };
		psg_future *future;

		ck_assert_int_eq(psg_submit_function(giver->worker, t_add_one, giver->served, NULL,
						     NULL, NULL),
				 PSG_OK);
		future = t_submit(giver->worker, t_add_one, giver->given_up,
				  i % 3 == 2 ? &soon : NULL);
		if (i % 3 == 0)
			ck_assert_int_eq(psg_future_cancel(future), PSG_CANCEL_REMOVED);
		if (i % 3 == 2)
			ck_assert_int_eq(psg_future_wait(future), PSG_TIMED_OUT);
		psg_future_release(future);
	}
	return NULL;
}

/* While the device is held up, of two engines: none of what is given up runs, all else does. */
START_TEST(who_gives_up_never_runs)
{
	psg_shared_worker *shared = acquire("reference");
	psg_worker *workers[] = { engine(shared, NULL), engine(shared, NULL) };
	atomic_int served = 0, given_up = 0;
	struct giver givers[GIVERS];
	pthread_t threads[GIVERS];
	t_gate gate;

	t_gate_close(&gate, workers[0]);
	for (size_t i = 0; i < GIVERS; i++) {
		givers[i] = (struct giver){ workers[i % 2], &served, &given_up };
		ck_assert_int_eq(pthread_create(&threads[i], NULL, give_up, &givers[i]), 0);
	}
	for (size_t i = 0; i < GIVERS; i++)
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
	t_gate_open(&gate);
	for (size_t i = 0; i < 2; i++) {
		psg_stats stats = { .size = sizeof(stats) };
		uint64_t each = GIVERS / 2 * GIVEN_UP;

		ck_assert_int_eq(psg_worker_drain(workers[i], -1), PSG_OK);
		ck_assert_int_eq(psg_stats_get(workers[i], &stats), PSG_OK);
		ck_assert_uint_eq(stats.worker.completed, each + (i == 0)); /* the gate, too */
		ck_assert_uint_eq(stats.worker.cancelled, each / 3 * 2);
		ck_assert_uint_eq(stats.worker.expired, each / 3);
		ck_assert_uint_eq(stats.run_ns.count, each + (i == 0));
	}
	ck_assert_int_eq(served, GIVERS * GIVEN_UP);
	ck_assert_int_eq(given_up, 0);
	psg_worker_close(workers[0]);
	psg_worker_close(workers[1]);
	psg_shared_worker_release(shared);
}
END_TEST

/* They come, work, drain or are aborted, and go, while another has a flood. */
START_TEST(engines_come_and_go)
{
	psg_shared_worker *shared = acquire("reference");
	psg_worker *busy = engine(shared, NULL);
	struct flood flood;
	uint64_t before;

	start_flood(&flood, busy, t_nothing);
	for (int round = 0; round < 200; round++) {
		psg_worker *worker = engine(shared, NULL);
		psg_future *futures[8];
		int32_t how = round % 3;

		for (size_t i = 0; i < T_COUNT(futures); i++)
			futures[i] = t_submit(worker, t_nothing, NULL, NULL);
		if (how == 0)
			ck_assert_int_eq(psg_worker_drain(worker, -1), PSG_OK);
		if (how == 1)
			psg_worker_abort(worker);
		if (how == 2)
			psg_worker_close(worker);
		for (size_t i = 0; i < T_COUNT(futures); i++) {
			psg_status status = t_finish(futures[i]);

			ck_assert(status == PSG_OK || (how != 0 && status == PSG_SHUTDOWN));
		}
		if (how != 2)
			psg_worker_close(worker);
	}
	before = t_stats(busy).completed;
	while (t_stats(busy).completed == before)
		t_sleep_ns(PSG_MILLISECOND / 10);
	stop_flood(&flood);
	ck_assert_uint_eq(t_stats(busy).failed, 0);
	psg_worker_close(busy);
	psg_shared_worker_release(shared);
}
END_TEST

struct inside {
	psg_worker *sibling;
	psg_future *future;
	psg_shared_worker *shared;
	psg_status wait, drain, acquire;
};

static psg_status ask_inside(psg_device *device, void *arg, psg_error *error)
{
	struct inside *inside = arg;

	(void)device;
	inside->future = t_submit(inside->sibling, t_nothing, NULL, NULL);
	inside->wait = psg_future_wait(inside->future);
	inside->drain = psg_worker_drain(inside->sibling, -1);
	inside->acquire = psg_shared_worker_acquire("cpu", NULL, &inside->shared, error);
	return PSG_OK;
}

/* A job must not wait for what its own thread would have to do. */
START_TEST(siblings_are_not_waited_for)
{
	psg_shared_worker *shared = acquire("reference");
	psg_worker *a = engine(shared, NULL), *b = engine(shared, NULL);
	struct inside inside = { .sibling = b };

	ck_assert_int_eq(t_finish(t_submit(a, ask_inside, &inside, NULL)), PSG_OK);
	ck_assert_int_eq(inside.wait, PSG_INVALID);
	ck_assert_int_eq(inside.drain, PSG_INVALID);
	ck_assert_int_eq(inside.acquire, PSG_INVALID);
	ck_assert_int_eq(t_finish(inside.future), PSG_OK);
	psg_worker_close(a);
	psg_worker_close(b);
	psg_shared_worker_release(shared);
}
END_TEST

static int in_child(psg_shared_worker *parents, psg_worker *parents_worker)
{
	psg_shared_worker *shared;
	psg_worker *worker;
	psg_future *future;

	if (psg_worker_open_shared(parents, NULL, &worker, NULL) != PSG_FORKED || worker != NULL)
		return 1;
	psg_worker_close(parents_worker);
	psg_shared_worker_release(parents);
#ifdef PSG_TSAN
	return 0; /* it knows no threads of a child whose parent has some */
#endif
	if (psg_shared_worker_acquire("reference", NULL, &shared, NULL) != PSG_OK ||
	    shared == parents)
		return 2;
	if (psg_worker_open_shared(shared, NULL, &worker, NULL) != PSG_OK ||
	    psg_submit_function(worker, t_nothing, NULL, NULL, &future, NULL) != PSG_OK ||
	    psg_future_wait(future) != PSG_OK)
		return 3;
	psg_future_release(future);
	psg_worker_close(worker);
	psg_shared_worker_release(shared);
	return 0;
}

START_TEST(a_child_has_its_own)
{
	psg_shared_worker *shared = acquire("reference");
	psg_worker *worker = engine(shared, NULL);
	int status;
	pid_t pid = fork();

	if (pid == 0)
		_exit(in_child(shared, worker));
	ck_assert_int_gt(pid, 0);
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), 0);
	ck_assert_int_eq(t_finish(t_submit(worker, t_nothing, NULL, NULL)), PSG_OK);
	psg_worker_close(worker);
	psg_shared_worker_release(shared);
}
END_TEST

/* --- a GPU --- */

static psg_model *sum_model(void)
{
	size_t size;
	uint8_t *bytes =
		t_onnx("opset 11; in x ? 3; w s 3 = 1 2 3; Add x s > z; Relu z > y; out y", &size);
	psg_model *model;

	ck_assert_int_eq(psg_model_load_memory(bytes, size, "sum", NULL, &model, NULL), PSG_OK);
	free(bytes);
	return model;
}

static psg_status run_rows(psg_worker *worker, psg_model *model, int64_t rows, psg_error *error)
{
	psg_tensor *x;
	psg_future *future;
	psg_status status;

	ck_assert_int_eq(psg_tensor_create(PSG_F32, &PSG_SHAPE(rows, 3), &x, NULL), PSG_OK);
	ck_assert_int_eq(psg_submit_model(worker, model, &x, 1, NULL, &future, NULL), PSG_OK);
	status = psg_future_wait(future);
	(void)psg_future_error(future, error);
	psg_future_release(future);
	psg_tensor_unref(x);
	return status;
}

START_TEST(memory_is_shared)
{
	psg_shared_worker *shared = acquire_card();
	/* A hundred-thousandth of the card: some hundred kilobytes, or one megabyte. */
	psg_worker *poor =
		engine(shared, &(psg_worker_options){ .name = "poor", .memory_share = 1e-5 });
	psg_worker *rich = engine(shared, &(psg_worker_options){ .memory_share = 0.9 });
	psg_worker *free_one = engine(shared, NULL);
	psg_model *model = sum_model();
	psg_error error = PSG_ERROR_INIT;

	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(run_rows(poor, model, 100, &error), PSG_OK);
		ck_assert_int_eq(run_rows(poor, model, 1000000, &error), PSG_OOM);
		ck_assert(psg_error_is_oom(&error));
		ck_assert_msg(strstr(error.message, "'poor'") != NULL, "%s", error.message);
		ck_assert_int_eq(run_rows(rich, model, 1000000, &error), PSG_OK);
		ck_assert_int_eq(run_rows(free_one, model, 1000000, &error), PSG_OK);
	}
	/* What it used is given back when it goes, and its plans outlive it. */
	psg_worker_close(poor);
	poor = engine(shared, &(psg_worker_options){ .name = "poor", .memory_share = 1e-5 });
	ck_assert_int_eq(run_rows(poor, model, 100, &error), PSG_OK);
	psg_worker_close(poor);
	psg_worker_close(rich);
	psg_worker_close(free_one);
	psg_model_unref(model);
	psg_shared_worker_release(shared);
	t_gpu_expect_nothing_left();
}
END_TEST

/* The loss is everybody's, and who comes later is told at once. */
START_TEST(a_lost_card_is_lost_for_all)
{
	psg_shared_worker *shared = acquire_card(), *later;
	psg_worker *a = engine(shared, NULL), *b = engine(shared, NULL);
	psg_model *model = sum_model();
	psg_error error = PSG_ERROR_INIT;

	if (t_gpu_real())
		goto done; /* it would be lost to the other tests, too */
	t_gpu_fail("run:1:719");
	ck_assert_int_ne(run_rows(a, model, 100, &error), PSG_OK);
	ck_assert_int_eq(run_rows(a, model, 100, &error), PSG_DEVICE_LOST);
	ck_assert_int_eq(run_rows(b, model, 100, &error), PSG_DEVICE_LOST);
	ck_assert_int_eq(psg_worker_health(b, NULL), PSG_DEVICE_LOST);
	ck_assert_int_eq(psg_shared_worker_acquire("cuda:0", NULL, &later, &error),
			 PSG_DEVICE_LOST);
	ck_assert_ptr_null(later);
done:
	psg_model_unref(model);
	psg_worker_close(a);
	psg_worker_close(b);
	psg_shared_worker_release(shared);
}
END_TEST

START_TEST(auto_and_the_card)
{
	psg_shared_worker *card = acquire_card(), *automatic = acquire("auto");

	ck_assert_ptr_eq(card, automatic);
	psg_shared_worker_release(card);
	psg_shared_worker_release(automatic);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		one_device_is_opened_once,
		auto_is_what_it_leads_to,
		refusals,
		many_threads_find_one,
		engines_share_the_thread_and_nothing_else,
		weights_divide_the_time,
		a_flood_of_functions_delays_by_one,
		a_flood_of_samples_delays_by_one,
		who_gives_up_never_runs,
		engines_come_and_go,
		siblings_are_not_waited_for,
		a_child_has_its_own,
		memory_is_shared,
		a_lost_card_is_lost_for_all,
		auto_and_the_card,
	};

	return t_run("shared workers", tests, T_COUNT(tests));
}
