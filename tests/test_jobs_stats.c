/* SPDX-License-Identifier: Apache-2.0 */
/* What is told of a worker in numbers: they are those of its jobs, whoever asks and when. */
#include "config.h"

#include <pagesift/shared.h>
#include <pagesift/stats.h>

#include "jobs_util.h"
#include "onnx_text.h"

#include <pthread.h>
#include <string.h>
#include <unistd.h>

/* Too large for a stack that is also the test's. */
static psg_stats *stats_of(const psg_worker *worker)
{
	static psg_stats stats;

	memset(&stats, 0xa5, sizeof(stats));
	stats.size = sizeof(stats);
	ck_assert_int_eq(psg_stats_get(worker, &stats), PSG_OK);
	return &stats;
}

static void expect_empty(const psg_histogram *histogram)
{
	ck_assert_uint_eq(histogram->count, 0);
	ck_assert_uint_eq(histogram->sum, 0);
	ck_assert_uint_eq(psg_histogram_quantile(histogram, 0.5), 0);
}

/* --- the struct --- */

START_TEST(before_any_job)
{
	psg_worker *worker = t_open(0);
	const psg_stats *stats = stats_of(worker);

	expect_empty(&stats->wait_ns);
	expect_empty(&stats->run_ns);
	expect_empty(&stats->samples);
	expect_empty(&stats->bytes_in);
	expect_empty(&stats->bytes_out);
	ck_assert_uint_eq(stats->device_jobs, 0);
	ck_assert_uint_eq(stats->device_busy_ns, 0);
	ck_assert_uint_eq(stats->worker.submitted, 0);
	ck_assert_str_eq(stats->worker.phase, "");
	psg_worker_close(worker);
}
END_TEST

/* Of a caller that was compiled with another version. */
START_TEST(other_sizes)
{
	struct {
		psg_stats stats;
		unsigned char more[64], behind;
	} *newer = malloc(sizeof(*newer));
	psg_worker *worker = t_open(0);

	ck_assert_ptr_nonnull(newer);
	memset(newer, 0xa5, sizeof(*newer));
	newer->stats.size = 0;
	ck_assert_int_eq(psg_stats_get(worker, &newer->stats), PSG_INVALID);
	newer->stats.size = sizeof(psg_stats) - 1;
	ck_assert_int_eq(psg_stats_get(worker, &newer->stats), PSG_INVALID);
	newer->stats.size = SIZE_MAX;
	ck_assert_int_eq(psg_stats_get(worker, &newer->stats), PSG_INVALID);
	ck_assert_uint_eq(newer->stats.device_jobs, UINT64_C(0xa5a5a5a5a5a5a5a5));
	newer->stats.size = sizeof(psg_stats) + sizeof(newer->more);
	ck_assert_int_eq(psg_stats_get(worker, &newer->stats), PSG_OK);
	ck_assert_uint_eq(newer->stats.device_jobs, 0);
	for (size_t i = 0; i < sizeof(newer->more); i++)
		ck_assert_uint_eq(newer->more[i], 0);
	ck_assert_uint_eq(newer->behind, 0xa5);
	free(newer);
	psg_worker_close(worker);
}
END_TEST

/* --- times --- */

#define JOBS 300

/* The histograms have exactly the times that the futures tell. */
START_TEST(times_are_those_of_the_futures)
{
	psg_worker *worker = t_open(0);
	psg_future *futures[JOBS];
	uint64_t wait = 0, ran = 0, longest = 0;
	const psg_stats *stats;

	for (size_t i = 0; i < JOBS; i++)
		futures[i] = t_submit(worker, i % 100 == 50 ? t_pause : t_nothing, NULL, NULL);
	for (size_t i = 0; i < JOBS; i++) {
		psg_future_times times;
		uint64_t took;

		ck_assert_int_eq(psg_future_wait(futures[i]), PSG_OK);
		psg_future_times_get(futures[i], &times);
		psg_future_release(futures[i]);
		took = (uint64_t)(times.finished_ns - times.started_ns);
		wait += (uint64_t)(times.started_ns - times.queued_ns);
		ran += took;
		longest = took > longest ? took : longest;
	}
	stats = stats_of(worker);
	ck_assert_uint_eq(stats->wait_ns.count, JOBS);
	ck_assert_uint_eq(stats->wait_ns.sum, wait);
	ck_assert_uint_eq(stats->run_ns.count, JOBS);
	ck_assert_uint_eq(stats->run_ns.sum, ran);
	ck_assert_uint_eq(stats->run_ns.max, longest);
	ck_assert_uint_ge(psg_histogram_quantile(&stats->run_ns, 0.995), T_PAUSE_NS);
	ck_assert_uint_eq(stats->device_jobs, JOBS);
	ck_assert_uint_eq(stats->device_busy_ns, ran);
	ck_assert_uint_eq(stats->worker.busy_ns, ran);
	ck_assert_uint_eq(stats->worker.completed, JOBS);
	expect_empty(&stats->samples);
	expect_empty(&stats->bytes_in);
	psg_worker_close(worker);
}
END_TEST

static psg_status fails(psg_device *device, void *arg, psg_error *error)
{
	(void)device;
	(void)arg;
	(void)error;
	return PSG_FORMAT;
}

/* Jobs that nobody watches have no time of submission; those that never ran, none at all. */
START_TEST(who_is_counted)
{
	psg_worker *worker = t_open(0);
	psg_job_options late = { .deadline_ns = psg_now_ns() - 1 };
	psg_future *cancelled, *expired;
	const psg_stats *stats;
	t_gate gate;

	t_gate_close(&gate, worker);
	for (int i = 0; i < 5; i++)
		ck_assert_int_eq(psg_submit_function(worker, t_nothing, NULL, NULL, NULL, NULL),
				 PSG_OK);
	cancelled = t_submit(worker, t_nothing, NULL, NULL);
	ck_assert_int_eq(psg_future_cancel(cancelled), PSG_CANCEL_REMOVED);
	expired = t_submit(worker, t_nothing, NULL, &late);
	t_gate_open(&gate);
	ck_assert_int_eq(t_finish(cancelled), PSG_CANCELLED);
	ck_assert_int_eq(t_finish(expired), PSG_TIMED_OUT);
	ck_assert_int_eq(t_finish(t_submit(worker, fails, NULL, NULL)), PSG_FORMAT);
	stats = stats_of(worker);
	ck_assert_uint_eq(stats->worker.submitted, 9);
	ck_assert_uint_eq(stats->worker.completed, 6);
	ck_assert_uint_eq(stats->worker.failed, 1);
	ck_assert_uint_eq(stats->run_ns.count, 7);
	ck_assert_uint_eq(stats->wait_ns.count, 2);
	ck_assert_uint_eq(stats->device_jobs, 7);
	psg_worker_close(worker);
}
END_TEST

/* --- sizes --- */

static psg_tensor *tensor(const psg_shape *shape)
{
	psg_tensor *out;

	ck_assert_int_eq(psg_tensor_create(PSG_F32, shape, &out, NULL), PSG_OK);
	memset(psg_tensor_data(out), 0, (size_t)psg_shape_elements(shape) * sizeof(float));
	return out;
}

static void run_model(psg_worker *worker, psg_model *model, int64_t samples)
{
	psg_tensor *in = tensor(&PSG_SHAPE(samples, 3));
	psg_future *future;

	ck_assert_int_eq(psg_submit_model(worker, model, &in, 1, NULL, &future, NULL), PSG_OK);
	ck_assert_int_eq(t_finish(future), PSG_OK);
	psg_tensor_unref(in);
}

static void run_op(psg_worker *worker, int64_t n, psg_status status)
{
	psg_op op = { .kind = PSG_OP_DIV, .n_in = 2 };
	psg_future *future;

	/* Whole numbers, whose division by zero is an error of the run. */
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(psg_tensor_create(PSG_I64, &PSG_SHAPE(n), &op.in[i], NULL),
				 PSG_OK);
		for (int64_t k = 0; k < n; k++)
			((int64_t *)psg_tensor_data(op.in[i]))[k] =
				i == 1 && status != PSG_OK ? 0 : 1;
	}
	ck_assert_int_eq(psg_submit(worker, &op, NULL, &future, NULL), PSG_OK);
	ck_assert_int_eq(t_finish(future), status);
	psg_tensor_unref(op.in[0]);
	psg_tensor_unref(op.in[1]);
}

START_TEST(sizes_are_those_of_the_tensors)
{
	static const char text[] = "opset 13; in x ? 3; Relu x > y; Concat x y > z axis=1; out y; "
				   "out z";
	psg_worker *worker = t_open(0);
	psg_model *model;
	const psg_stats *stats;
	size_t size;
	uint8_t *data = t_onnx(text, &size);
	psg_error error = PSG_ERROR_INIT;

	ck_assert_msg(psg_model_load_memory(data, size, "x.onnx", NULL, &model, &error) == PSG_OK,
		      "%s", error.message);
	free(data);
	run_model(worker, model, 5);
	run_model(worker, model, 1);
	run_model(worker, model, 32);
	stats = stats_of(worker);
	ck_assert_uint_eq(stats->samples.count, 3);
	ck_assert_uint_eq(stats->samples.sum, 38);
	ck_assert_uint_eq(stats->samples.min, 1);
	ck_assert_uint_eq(stats->samples.max, 32);
	ck_assert_uint_eq(stats->bytes_in.count, 3);
	ck_assert_uint_eq(stats->bytes_in.sum, 38 * 3 * 4);
	ck_assert_uint_eq(stats->bytes_out.sum, 38 * 9 * 4);
	ck_assert_uint_eq(stats->bytes_out.max, 32 * 9 * 4);
	run_op(worker, 10, PSG_OK);
	run_op(worker, 10, PSG_INVALID);
	stats = stats_of(worker);
	ck_assert_uint_eq(stats->samples.count, 3);
	ck_assert_uint_eq(stats->bytes_in.count, 5);
	ck_assert_uint_eq(stats->bytes_in.sum, 38 * 3 * 4 + 2 * 2 * 10 * 8);
	ck_assert_uint_eq(stats->bytes_out.count, 5);
	ck_assert_uint_eq(stats->bytes_out.sum, 38 * 9 * 4 + 10 * 8);
	ck_assert_uint_eq(stats->bytes_out.min, 0);
	ck_assert_uint_eq(stats->run_ns.count, 5);
	psg_model_unref(model);
	psg_worker_close(worker);
}
END_TEST

/* Each worker has its own; the device's are those of all. */
START_TEST(of_a_shared_device)
{
	psg_shared_worker *shared;
	psg_worker *workers[2];
	uint64_t busy = 0;

	ck_assert_int_eq(psg_shared_worker_acquire("reference", NULL, &shared, NULL), PSG_OK);
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(psg_worker_open_shared(shared, NULL, &workers[i], NULL), PSG_OK);
	for (int i = 0; i < 30; i++)
		ck_assert_int_eq(t_finish(t_submit(workers[i % 3 == 0], t_nothing, NULL, NULL)),
				 PSG_OK);
	for (int i = 0; i < 2; i++) {
		const psg_stats *stats = stats_of(workers[i]);

		ck_assert_uint_eq(stats->run_ns.count, i == 1 ? 10 : 20);
		ck_assert_uint_eq(stats->device_jobs, 30);
		busy += stats->run_ns.sum;
	}
	ck_assert_uint_eq(stats_of(workers[0])->device_busy_ns, busy);
	for (int i = 0; i < 2; i++)
		psg_worker_close(workers[i]);
	psg_shared_worker_release(shared);
}
END_TEST

/* --- lanes --- */

#define LANES 3

struct seen {
	size_t n;
	psg_lane_stats lane[LANES + 1];
};

static void see(void *user, const psg_lane_stats *lane)
{
	struct seen *seen = user;

	ck_assert_uint_lt(seen->n, LANES + 1);
	seen->lane[seen->n++] = *lane;
}

static struct seen look(const psg_worker *worker)
{
	struct seen seen = { 0 };

	psg_stats_lanes(worker, see, &seen);
	return seen;
}

/* Submits so many, and one more than the lane takes; waits until it may end. */
struct producer {
	psg_worker *worker;
	size_t jobs, more;
	int32_t thread;
	sem_t ready, go_on;
	pthread_t id;
};

static void *produce(void *argument)
{
	struct producer *producer = argument;
	psg_future *futures[8] = { NULL };

	producer->thread = (int32_t)gettid();
	for (size_t i = 0; i < producer->jobs; i++)
		futures[i] = t_submit(producer->worker, t_nothing, NULL, NULL);
	for (size_t i = 0; i < producer->more; i++)
		ck_assert_int_eq(
			psg_submit_function(producer->worker, t_nothing, NULL, NULL, NULL, NULL),
			PSG_FULL);
	(void)sem_post(&producer->ready);
	while (sem_wait(&producer->go_on) != 0)
		;
	for (size_t i = 0; i < producer->jobs; i++)
		psg_future_release(futures[i]);
	return NULL;
}

static void start(struct producer *producer, psg_worker *worker, size_t jobs, size_t more)
{
	*producer = (struct producer){ .worker = worker, .jobs = jobs, .more = more };
	ck_assert_int_eq(sem_init(&producer->ready, 0, 0), 0);
	ck_assert_int_eq(sem_init(&producer->go_on, 0, 0), 0);
	ck_assert_int_eq(pthread_create(&producer->id, NULL, produce, producer), 0);
	while (sem_wait(&producer->ready) != 0)
		;
}

static void finish(struct producer *producer)
{
	(void)sem_post(&producer->go_on);
	ck_assert_int_eq(pthread_join(producer->id, NULL), 0);
	(void)sem_destroy(&producer->ready);
	(void)sem_destroy(&producer->go_on);
}

static void expect_lane(const psg_lane_stats *lane, uint32_t index, int32_t thread,
			uint64_t submitted, uint64_t queued, uint64_t refused)
{
	ck_assert_uint_eq(lane->index, index);
	ck_assert_int_eq(lane->thread, thread);
	ck_assert_uint_eq(lane->capacity, 5);
	ck_assert_uint_eq(lane->submitted, submitted);
	ck_assert_uint_eq(lane->queued, queued);
	ck_assert_uint_eq(lane->refused_full, refused);
	ck_assert_uint_eq(lane->refused_late, 0);
}

START_TEST(what_each_lane_holds)
{
	psg_worker *worker = t_open(5);
	struct producer some, full;
	psg_future *cancelled;
	struct seen seen;
	t_gate gate;

	ck_assert_uint_eq(look(worker).n, 0);
	t_gate_close(&gate, worker);
	start(&some, worker, 3, 0);
	start(&full, worker, 5, 2);
	/* One that ends away from the worker. */
	cancelled = t_submit(worker, t_nothing, NULL, NULL);
	ck_assert_int_eq(psg_future_cancel(cancelled), PSG_CANCEL_REMOVED);
	psg_future_release(cancelled);
	seen = look(worker);
	ck_assert_uint_eq(seen.n, LANES);
	expect_lane(&seen.lane[0], 0, (int32_t)gettid(), 2, 1, 0);
	expect_lane(&seen.lane[1], 1, some.thread, 3, 3, 0);
	expect_lane(&seen.lane[2], 2, full.thread, 5, 5, 2);
	t_gate_open(&gate);
	ck_assert_int_eq(psg_worker_drain(worker, -1), PSG_OK);
	seen = look(worker);
	expect_lane(&seen.lane[1], 1, some.thread, 3, 0, 0);
	finish(&some);
	finish(&full);
	seen = look(worker);
	expect_lane(&seen.lane[0], 0, (int32_t)gettid(), 2, 0, 0);
	expect_lane(&seen.lane[1], 1, 0, 3, 0, 0);
	expect_lane(&seen.lane[2], 2, 0, 5, 0, 2);
	psg_worker_close(worker);
}
END_TEST

/* --- while jobs run --- */

#define THREADS 3
#define EACH 3000

static void *submit_many(void *worker)
{
	for (int i = 0; i < EACH; i++)
		ck_assert_int_eq(t_finish(t_submit(worker, t_nothing, NULL, NULL)), PSG_OK);
	return NULL;
}

static void add_lane(void *user, const psg_lane_stats *lane)
{
	*(uint64_t *)user += lane->submitted;
	ck_assert_uint_le(lane->queued, lane->submitted);
}

START_TEST(asked_while_jobs_run)
{
	psg_worker *worker = t_open(0);
	pthread_t threads[THREADS];
	uint64_t ran = 0, submitted;
	const psg_stats *stats;

	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, submit_many, worker), 0);
	do {
		stats = stats_of(worker);
		ck_assert_uint_ge(stats->run_ns.count, ran);
		ran = stats->run_ns.count;
		ck_assert_uint_ge(stats->wait_ns.count, ran); /* it is copied after it */
		ck_assert_uint_ge(stats->worker.submitted, ran);
		ck_assert_uint_le(stats->worker.queued, stats->worker.submitted);
		submitted = 0;
		psg_stats_lanes(worker, add_lane, &submitted);
		ck_assert_uint_ge(submitted, ran);
	} while (ran < THREADS * EACH);
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
	ck_assert_uint_eq(stats_of(worker)->worker.completed, THREADS * EACH);
	psg_worker_close(worker);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		before_any_job,
		other_sizes,
		times_are_those_of_the_futures,
		who_is_counted,
		sizes_are_those_of_the_tensors,
		of_a_shared_device,
		what_each_lane_holds,
		asked_while_jobs_run,
	};

	return t_run("stats", tests, T_COUNT(tests));
}
