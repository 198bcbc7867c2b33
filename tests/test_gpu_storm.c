/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A million jobs from 32 threads on two cards that fail in all the ways that leave a card alive:
 * operators, runs of a model and functions, in bursts that fill their lanes, cancelled, late,
 * released, waited for and handed to other threads as a random number says, while other random
 * numbers change what the driver refuses.  Each accepted job must be called back once; what ended
 * well must have the right values; the sums must agree; and nothing may be left of it: no memory,
 * here or on the card, no thread, no descriptor.
 *
 * PSG_STORM_JOBS sets the number of jobs, PSG_STORM_SEED the random numbers, which are printed: the
 * choices of each thread follow from them, not how the threads meet.  Instrumented builds do a
 * fiftieth, valgrind a two-hundredth, and a real card, where each job takes 150 us, a twentieth.
 */
#include "config.h"

#include "fakecuda_util.h"
#include "instrumented.h"
#include "jobs_util.h"
#include "onnx_text.h"

#include <dirent.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define JOBS 1000000
#define THREADS 32
#define CARDS 2
#define CAPACITY 16  /* of a lane: less than a burst may take of it */
#define BURST 40     /* the most that are submitted one after the other */
#define SHELF 64     /* futures that wait for any thread to take them */
#define SMALL 64     /* numbers in an operator's input */
#define LARGE 12288  /* in one whose input and output are more than a card has */
#define SHARE "80K"  /* of a card: LARGE is 48 KiB on either side */
#define WEATHER 256u /* a thread changes what fails after this many jobs on average */

enum kind { FUNCTION, OPERATOR, OPERATOR_OF_TWO, TOO_LARGE, MODEL };

struct record {
	atomic_uchar called, ran;
	atomic_uchar status; /* as the callback saw it */
	bool accepted, releases;
	uint8_t kind;
};

/* How a storm ends: by itself, or half-way by what one thread does. */
enum ending { BY_ITSELF, BY_ABORT, BY_LOSS };

struct storm {
	enum ending ending;
	size_t jobs; /* of a thread */
	uint32_t seed;
	psg_worker *workers[CARDS];
	psg_model *model;
	psg_tensor *small, *other, *large, *row;
	atomic_int tensors;          /* of these, alive */
	fakecuda_fail_fn *set_rules; /* NULL: a real driver */
	pthread_mutex_t weather;     /* for what follows and who sets rules */
	bool lost;                   /* the rule that loses a card is set: it stays */
	psg_future *_Atomic shelf[SHELF];
	_Atomic uint64_t recomputed; /* as callbacks saw it */
	_Atomic uint64_t waited[PSG_FORKED + 1];
};

struct producer {
	struct storm *storm;
	size_t number;
	uint32_t random;
	uint64_t accepted, full, refused;
	struct record *records;
	pthread_t thread;
};

/* --- numbers --- */

static uint32_t random_below(struct producer *self, uint32_t n)
{
	self->random = self->random * 1664525 + 1013904223;
	return (self->random >> 8) % n;
}

static unsigned long environment(const char *name, unsigned long otherwise)
{
	const char *text = getenv(name);

	return text != NULL && text[0] != '\0' ? strtoul(text, NULL, 10) : otherwise;
}

static size_t all_jobs(void)
{
	return environment("PSG_STORM_JOBS", T_ON_VALGRIND  ? JOBS / 200
					     : T_SANITIZED  ? JOBS / 50
					     : t_gpu_real() ? JOBS / 20
							    : JOBS);
}

/* Enough for each thread to go on for a while after the half. */
static size_t fewer_jobs(void)
{
	size_t jobs = all_jobs() / 10, least = (size_t)THREADS * 100;

	return jobs > least ? jobs : least;
}

/* --- the jobs --- */

static psg_status count_run(psg_device *device, void *arg, psg_error *error)
{
	(void)device;
	(void)error;
	(void)atomic_fetch_add(&((struct record *)arg)->ran, 1);
	return PSG_OK;
}

static void end_tensor(void *user, void *data)
{
	struct storm *storm = user;

	free(data);
	(void)atomic_fetch_sub(&storm->tensors, 1);
}

/* From `first` on, every second number is negative. */
static psg_tensor *numbers(struct storm *storm, const psg_shape *shape, int first)
{
	int n = (int)psg_shape_elements(shape);
	float *x = malloc((size_t)n * sizeof(*x));
	psg_tensor *tensor;

	ck_assert_ptr_nonnull(x);
	for (int i = 0; i < n; i++)
		x[i] = (float)(i % 2 == 0 ? first + i : -first - i);
	ck_assert_int_eq(psg_tensor_wrap(PSG_F32, shape, x, end_tensor, storm, &tensor, NULL),
			 PSG_OK);
	(void)atomic_fetch_add(&storm->tensors, 1);
	return tensor;
}

static psg_model *make_model(void)
{
	size_t size;
	uint8_t *bytes =
		t_onnx("opset 11; in x ? 3; w s 3 = 1 2 3; Add x s > z; Relu z > y; out y", &size);
	psg_model *model;

	ck_assert_int_eq(psg_model_load_memory(bytes, size, "sum", NULL, &model, NULL), PSG_OK);
	free(bytes);
	return model;
}

static psg_status submit(struct producer *self, struct record *record,
			 const psg_job_options *options, psg_future **out)
{
	struct storm *storm = self->storm;
	psg_worker *worker = storm->workers[random_below(self, CARDS)];
	psg_op relu = { .kind = PSG_OP_RELU, .n_in = 1, .in = { storm->small } };
	psg_op sum = { .kind = PSG_OP_ADD, .n_in = 2, .in = { storm->small, storm->other } };

	switch ((enum kind)record->kind) {
	case FUNCTION:
		return psg_submit_function(worker, count_run, record, options, out, NULL);
	case OPERATOR_OF_TWO:
		return psg_submit(worker, &sum, options, out, NULL);
	case TOO_LARGE:
		relu.in[0] = storm->large;
		return psg_submit(worker, &relu, options, out, NULL);
	case MODEL:
		return psg_submit_model(worker, storm->model, &storm->row, 1, options, out, NULL);
	case OPERATOR:
		break;
	}
	return psg_submit(worker, &relu, options, out, NULL);
}

static enum kind pick_kind(struct producer *self)
{
	uint32_t random = random_below(self, 256);

	if (random == 0)
		return TOO_LARGE;
	if (random < 24)
		return MODEL;
	if (random < 96)
		return FUNCTION;
	return random < 144 ? OPERATOR_OF_TWO : OPERATOR;
}

static float expected(enum kind kind, size_t i)
{
	static const float sums[] = { 1, 1, 5, 0, 6, 0 }; /* (0 -1 2; -3 4 -5) + (1 2 3) */
	float x = i % 2 == 0 ? (float)i : 0;

	if (kind == MODEL)
		return sums[i];
	return kind == OPERATOR_OF_TWO ? (i % 2 == 0 ? (float)i : -(float)i) + 1 : x;
}

static void check_values(psg_future *future, enum kind kind)
{
	psg_tensor *const *out;
	const float *y;
	size_t n_out, n = kind == MODEL ? 6 : kind == TOO_LARGE ? LARGE : SMALL;

	if (kind == FUNCTION)
		return;
	ck_assert_int_eq(psg_future_tensors(future, &out, &n_out, NULL), PSG_OK);
	y = psg_tensor_const_data(out[0]);
	for (size_t i = 0; i < n; i++)
		if (y[i] < expected(kind, i) || y[i] > expected(kind, i))
			ck_abort_msg("kind %d: element %zu is %g, not %g", (int)kind, i,
				     (double)y[i], (double)expected(kind, i));
}

/* --- what a thread does with them --- */

static struct storm *the_storm; /* for callbacks, whose `user` is the record */

static void call_back(psg_future *future, void *user)
{
	struct record *record = user;

	atomic_store(&record->status, (unsigned char)psg_future_error(future, NULL));
	(void)atomic_fetch_add(&record->called, 1);
	if (psg_future_fallback(future)[0] != '\0')
		(void)atomic_fetch_add(&the_storm->recomputed, 1);
	if (record->releases)
		psg_future_release(future);
}

static void wait_and_release(struct storm *storm, psg_future *future)
{
	const struct record *record = psg_future_user(future);
	psg_status status = psg_future_wait(future);

	(void)atomic_fetch_add(&storm->waited[status], 1);
	ck_assert_int_eq(atomic_load(&record->called), 1);
	ck_assert_int_eq(atomic_load(&record->status), (int)status);
	if (status == PSG_OK)
		check_values(future, (enum kind)record->kind);
	ck_assert_int_eq(psg_future_cancel(future), PSG_CANCEL_DONE);
	psg_future_release(future);
}

/* The future's handle is used up. */
static void treat(struct producer *self, psg_future *future)
{
	struct storm *storm = self->storm;

	switch (random_below(self, 8)) {
	case 0:
		psg_future_release(future);
		break;
	case 1:
		(void)psg_future_cancel(future);
		psg_future_release(future);
		break;
	case 2:
		(void)psg_future_cancel(future);
		wait_and_release(storm, future);
		break;
	case 3:
		(void)psg_future_wait_for(future, random_below(self, 50000));
		psg_future_release(future);
		break;
	case 4: /* to the shelf; what stood there is this thread's now */
		future = atomic_exchange(&storm->shelf[random_below(self, SHELF)], future);
		if (future != NULL)
			treat(self, future);
		break;
	default:
		wait_and_release(storm, future);
	}
}

static psg_status submit_one(struct producer *self, struct record *record, psg_future **out)
{
	psg_job_options options = {
		.priority = (int32_t)random_below(self, 3) - 1,
		.done = call_back,
		.user = record,
		.cpu_fallback = random_below(self, 4) == 0,
	};
	bool detached = random_below(self, 8) == 0;
	psg_status status;

	*out = NULL;
	record->kind = (uint8_t)pick_kind(self);
	record->releases = !detached && random_below(self, 8) == 0;
	if (random_below(self, 8) == 0)
		options.deadline_ns = psg_now_ns() + random_below(self, 500000);
	if (random_below(self, 4) == 0)
		options.room_timeout_ns = random_below(self, 100000);
	status = submit(self, record, &options, detached ? NULL : out);
	record->accepted = status == PSG_OK;
	self->accepted += status == PSG_OK;
	self->full += status == PSG_FULL;
	self->refused += status == PSG_SHUTDOWN;
	ck_assert(status == PSG_OK || status == PSG_FULL || status == PSG_SHUTDOWN);
	if (record->releases)
		*out = NULL; /* the callback's */
	return status;
}

/* As many as chance says, or the lanes take; the number of records that were used. */
static size_t burst(struct producer *self, struct record *records, size_t most)
{
	size_t n = 1 + random_below(self, BURST), held = 0, used = 0;
	psg_future *futures[BURST];
	psg_status status = PSG_OK;

	for (; status == PSG_OK && used < n && used < most; used++) {
		status = submit_one(self, &records[used], &futures[held]);
		held += futures[held] != NULL;
	}
	for (size_t i = 0; i < held; i++)
		treat(self, futures[i]);
	return used;
}

/* --- what fails --- */

/* One call some time ahead; memory, when there is none, is gone until the weather changes. */
static const char *const faults[] = {
	"cuLaunchKernel:%u:701", "cuLaunchKernel:%u:2",       "cuMemAlloc_v2:%u+:2",
	"cuMemAlloc_v2:%u:2",    "cuMemcpyHtoDAsync_v2:%u:1", "cuMemcpyDtoHAsync_v2:%u:999",
	"cuLaunchKernel:%u:1",   "cuEventSynchronize:%u:999",
};

static void set_rules(struct storm *storm, const char *rules, bool losing)
{
	if (storm->set_rules == NULL)
		return;
	(void)pthread_mutex_lock(&storm->weather);
	if (!storm->lost)
		storm->set_rules(rules);
	storm->lost = storm->lost || losing;
	(void)pthread_mutex_unlock(&storm->weather);
}

/* Three kinds of faults, or none for a while. */
static void change_weather(struct producer *self)
{
	char rules[256] = "", *at = rules;

	if (random_below(self, 4) != 0) {
		for (int i = 0; i < 3; i++) {
			const char *fault = faults[random_below(self, T_COUNT(faults))];

			/* NOLINTNEXTLINE(clang-diagnostic-format-nonliteral): of the table above */
			at += sprintf(at, fault, 1 + random_below(self, WEATHER));
			at += sprintf(at, ",");
		}
	}
	set_rules(self->storm, rules, false);
}

static void end_half_way(struct producer *self)
{
	struct storm *storm = self->storm;

	if (self->number != 0)
		return;
	if (storm->ending == BY_ABORT)
		psg_worker_abort(storm->workers[0]);
	if (storm->ending == BY_LOSS)
		set_rules(storm, "run:1:719", true);
}

static void *produce(void *arg)
{
	struct producer *self = arg;
	size_t jobs = self->storm->jobs;
	bool ended = false;

	for (size_t i = 0; i < jobs;) {
		size_t used = burst(self, &self->records[i], jobs - i);

		i += used;
		if (random_below(self, WEATHER) < used)
			change_weather(self);
		if (i >= jobs / 2 && !ended) {
			end_half_way(self);
			ended = true;
		}
	}
	return NULL;
}

/* --- sums --- */

static void check_record(const struct record *record, uint64_t *by_status)
{
	unsigned char status = atomic_load(&record->status);

	ck_assert_int_eq(atomic_load(&record->called), record->accepted ? 1 : 0);
	if (record->kind == FUNCTION)
		ck_assert_int_eq(atomic_load(&record->ran),
				 record->accepted && status == PSG_OK ? 1 : 0);
	if (record->accepted)
		by_status[status]++;
}

static psg_worker_stats sum_stats(const struct storm *storm)
{
	psg_worker_stats sum = { 0 };

	for (int i = 0; i < CARDS; i++) {
		psg_worker_stats stats = t_stats(storm->workers[i]);

		sum.submitted += stats.submitted;
		sum.completed += stats.completed;
		sum.failed += stats.failed;
		sum.cancelled += stats.cancelled;
		sum.expired += stats.expired;
		sum.refused_full += stats.refused_full;
		sum.recomputed += stats.recomputed;
		sum.queued += stats.queued;
		sum.lanes += stats.lanes;
		ck_assert_str_eq(stats.phase, "");
	}
	return sum;
}

/* Else the storm has lost its point; a small one may meet with less. */
static void check_weather(const struct storm *storm, const uint64_t *by_status, uint64_t full)
{
	if (THREADS * storm->jobs < JOBS / 50)
		return;
	ck_assert_uint_gt(by_status[PSG_OK], 0);
	ck_assert_uint_gt(by_status[PSG_CANCELLED], 0);
	ck_assert_uint_gt(by_status[PSG_TIMED_OUT], 0);
	ck_assert_uint_gt(by_status[PSG_OOM], 0);
	ck_assert_uint_gt(full, 0);
	if (storm->set_rules == NULL)
		return;
	ck_assert_uint_gt(atomic_load(&storm->recomputed), 0);
	ck_assert_int_gt(t_gpu_counts().faults, 0);
	ck_assert_uint_gt(by_status[PSG_LAUNCH], 0);
	ck_assert_uint_gt(by_status[PSG_DRIVER], 0);
}

static void check_sums(struct storm *storm, const struct producer *producers)
{
	psg_worker_stats stats = sum_stats(storm);
	uint64_t accepted = 0, full = 0, refused = 0, by_status[PSG_FORKED + 1] = { 0 };

	for (int p = 0; p < THREADS; p++) {
		accepted += producers[p].accepted;
		full += producers[p].full;
		refused += producers[p].refused;
		for (size_t i = 0; i < storm->jobs; i++)
			check_record(&producers[p].records[i], by_status);
	}
	ck_assert_uint_eq(accepted + full + refused, THREADS * storm->jobs);
	ck_assert_uint_eq(stats.submitted, accepted);
	ck_assert_uint_eq(stats.refused_full, full);
	ck_assert_uint_eq(stats.queued, 0);
	ck_assert_uint_eq(stats.lanes, 0); /* their threads have ended */
	ck_assert_uint_eq(stats.completed, by_status[PSG_OK]);
	ck_assert_uint_eq(stats.cancelled, by_status[PSG_CANCELLED]);
	ck_assert_uint_eq(stats.expired, by_status[PSG_TIMED_OUT]);
	ck_assert_uint_eq(stats.failed, by_status[PSG_OOM] + by_status[PSG_LAUNCH] +
						by_status[PSG_DRIVER] + by_status[PSG_SHUTDOWN] +
						by_status[PSG_DEVICE_LOST]);
	ck_assert_uint_eq(stats.completed + stats.failed + stats.cancelled + stats.expired,
			  stats.submitted);
	ck_assert_uint_eq(stats.recomputed, atomic_load(&storm->recomputed));
	ck_assert_int_eq(refused > 0, storm->ending == BY_ABORT);
	ck_assert_int_eq(by_status[PSG_DEVICE_LOST] > 0, storm->ending == BY_LOSS);
	check_weather(storm, by_status, full);
	(void)printf("%zu jobs: ", THREADS * storm->jobs);
	for (int i = 0; i <= PSG_FORKED; i++)
		if (by_status[i] > 0)
			(void)printf("%s %llu, ", psg_status_name((psg_status)i),
				     (unsigned long long)by_status[i]);
	(void)printf("on the CPU %llu, FULL %llu\n", (unsigned long long)stats.recomputed,
		     (unsigned long long)full);
	(void)fflush(stdout);
}

/* --- one storm --- */

static void open_storm(struct storm *storm)
{
	static const char *const cards[CARDS] = { "cuda:0", "cuda:1" };

	for (int i = 0; i < CARDS; i++) {
		const psg_worker_options options = { .lane_capacity = CAPACITY };
		psg_error error = PSG_ERROR_INIT;

		ck_assert_msg(psg_worker_open(t_gpu_real() ? "cuda" : cards[i], &options,
					      &storm->workers[i], &error) == PSG_OK,
			      "%s", error.message);
	}
	storm->model = make_model();
	storm->small = numbers(storm, &PSG_SHAPE(SMALL), 0);
	storm->other = numbers(storm, &PSG_SHAPE(1), 1);
	storm->large = numbers(storm, &PSG_SHAPE(LARGE), 0);
	storm->row = numbers(storm, &PSG_SHAPE(2, 3), 0);
	ck_assert_int_eq(pthread_mutex_init(&storm->weather, NULL), 0);
	if (!t_gpu_real())
		t_gpu_symbol("fakecuda_fail", &storm->set_rules);
}

static void close_storm(struct storm *storm)
{
	for (int i = 0; i < CARDS; i++)
		psg_worker_close(storm->workers[i]);
	psg_model_unref(storm->model);
	psg_tensor_unref(storm->small);
	psg_tensor_unref(storm->other);
	psg_tensor_unref(storm->large);
	psg_tensor_unref(storm->row);
	/* No job holds one any more, also none whose future is kept. */
	ck_assert_int_eq(atomic_load(&storm->tensors), 0);
	(void)pthread_mutex_destroy(&storm->weather);
}

static void clear_shelf(struct storm *storm)
{
	for (int i = 0; i < SHELF; i++)
		psg_future_release(atomic_exchange(&storm->shelf[i], NULL));
}

static void run_storm(size_t jobs, uint32_t seed, enum ending ending)
{
	struct storm *storm = calloc(1, sizeof(*storm));
	struct producer *producers = calloc(THREADS, sizeof(*producers));

	the_storm = storm;
	storm->jobs = (jobs + THREADS - 1) / THREADS;
	storm->ending = ending;
	open_storm(storm);
	for (size_t p = 0; p < THREADS; p++) {
		producers[p].storm = storm;
		producers[p].number = p;
		producers[p].random = seed + (uint32_t)p * 7919;
		producers[p].records = calloc(storm->jobs, sizeof(struct record));
		ck_assert_int_eq(pthread_create(&producers[p].thread, NULL, produce, &producers[p]),
				 0);
	}
	for (int p = 0; p < THREADS; p++)
		ck_assert_int_eq(pthread_join(producers[p].thread, NULL), 0);
	if (ending == BY_ITSELF)
		clear_shelf(storm); /* else they outlive the workers */
	for (int i = 0; i < CARDS; i++)
		ck_assert_int_eq(psg_worker_drain(storm->workers[i], -1), PSG_OK);
	check_sums(storm, producers);
	close_storm(storm);
	clear_shelf(storm);
	for (int p = 0; p < THREADS; p++)
		free(producers[p].records);
	free(producers);
	free(storm);
	if (!t_gpu_real())
		t_gpu_fail("");
}

/* --- what is left --- */

struct left {
	size_t descriptors, threads, heap;
};

static size_t entries(const char *folder)
{
	DIR *stream = opendir(folder);
	size_t n = 0;

	ck_assert_ptr_nonnull(stream);
	while (readdir(stream) != NULL)
		n++;
	(void)closedir(stream);
	return n;
}

static struct left look(void)
{
	struct left left = { .descriptors = entries("/proc/self/fd"),
			     .threads = entries("/proc/self/task") };

#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 33)
	left.heap = mallinfo2().uordblks; /* 0 where the allocator is a sanitizer's */
#endif
	return left;
}

static void *name_thread(void *name)
{
	*(pid_t *)name = gettid();
	return NULL;
}

/* With a process's first thread a sanitizer starts one of its own, in a forked child once more: so
 * it does before anything is counted. */
static void start_first_thread(void)
{
	char task[64];
	pthread_t thread;
	pid_t name;

	ck_assert_int_eq(pthread_create(&thread, NULL, name_thread, &name), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	(void)snprintf(task, sizeof(task), "/proc/self/task/%d", (int)name);
	while (access(task, F_OK) == 0)
		(void)sched_yield();
}

/* A joined thread may be in its folder still for a moment. */
static void wait_for_threads(size_t threads)
{
	while (entries("/proc/self/task") > threads)
		(void)sched_yield();
}

/* Heap that a first storm did not need: arenas of other threads, stages, fibers.  Chosen: far less
 * than a byte a job would be. */
#define SLACK ((size_t)256 << 10)

static void whole_storm(size_t jobs, enum ending ending)
{
	unsigned long seed = environment("PSG_STORM_SEED", (unsigned long)ending + 1);
	struct left first, before, after;
	/* A real driver keeps threads and descriptors of its own from its first use on. */
	const struct left *least = t_gpu_real() ? &before : &first;

	(void)printf("PSG_STORM_SEED=%lu\n", seed);
	ck_assert_int_eq(setenv("PAGESIFT_GPU_MEMORY", SHARE, 1), 0);
	ck_assert_int_eq(setenv("FAKECUDA_DEVICES", "2", 1), 0);
	t_gpu_begin();
	start_first_thread();
	first = look();
	run_storm(THREADS * (size_t)BURST, (uint32_t)seed, BY_ITSELF);
	before = look();
	run_storm(jobs, (uint32_t)seed, ending);
	t_gpu_expect_nothing_left();
	wait_for_threads(least->threads);
	after = look();
	ck_assert_uint_le(after.threads, least->threads);
	ck_assert_uint_eq(after.descriptors, least->descriptors);
	ck_assert_msg(after.heap < before.heap + SLACK, "%zu bytes more", after.heap - before.heap);
}

START_TEST(a_million_jobs)
{
	whole_storm(all_jobs(), BY_ITSELF);
}
END_TEST

/* One card's worker is aborted half-way, while all go on submitting to both. */
START_TEST(storm_and_an_abort)
{
	whole_storm(fewer_jobs(), BY_ABORT);
}
END_TEST

/* A card is lost half-way: the rest fails at once, or is done on the CPU. */
START_TEST(storm_and_a_loss)
{
	whole_storm(fewer_jobs(), BY_LOSS);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("gpu storm");
	TCase *all = tcase_create("storms");
	SRunner *runner;
	int failed;

	tcase_set_timeout(all, 600); /* only for what hangs */
	tcase_add_test(all, a_million_jobs);
	tcase_add_test(all, storm_and_an_abort);
	if (!t_gpu_real())
		tcase_add_test(all, storm_and_a_loss);
	suite_add_tcase(suite, all);
	runner = srunner_create(suite);
	srunner_set_fork_status(runner, CK_FORK); /* a process opens one driver */
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
