/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every public operation on futures, at random, from more threads than cores, which come and go: on
 * two workers of small lanes, with deadlines, full lanes, completion queues, sets that are waited
 * for, callbacks that submit, and handles that go from thread to thread.  Rounds end by draining,
 * by an abort among it all, or by closing.  Each job has a record: in the end of a round every
 * accepted one was called back once and came out of its queue once, those that ran are those that
 * ended well, and the counters agree.
 *
 * PSG_STRESS_OPS sets the number of operations, PSG_STRESS_SEED the random numbers, which are
 * printed: the choices of each thread follow from them, not how the threads meet.  `make
 * check-stress` does ten million, plain and under ThreadSanitizer.
 */
#include "config.h"

#include "instrumented.h"
#include "jobs_util.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define OPS 1000000
#define SEATS 8         /* threads at a time */
#define ROUND_OPS 30000 /* of a seat in a round */
#define LIFE_OPS 3000   /* of a thread, on average half of it */
#define WORKERS 2
#define QUEUES 2
#define CAPACITY 32 /* of a lane: small, so that it is full often */
#define HAND 12     /* futures that a thread has */
#define SHELF 16    /* futures that wait for any thread to take them */

struct record {
	atomic_uchar ran, called, popped;
	atomic_uchar status; /* as the callback saw it */
	bool accepted, calls_back, queued;
	bool releases; /* the callback, the caller's handle */
	bool submits;  /* the callback, another job */
	uint8_t worker;
};

enum ending { BY_DRAINING, BY_ABORT, BY_CLOSING, ENDINGS };

struct round {
	enum ending ending;
	psg_worker *workers[WORKERS];
	psg_completion_queue *queues[QUEUES];
	psg_future *_Atomic shelf[SHELF];
	_Atomic uint64_t from_callbacks[WORKERS]; /* accepted */
	_Atomic uint64_t ran_from_callbacks;
};

struct seat {
	struct round *round;
	uint32_t number, random;
	uint64_t ops, quota, life; /* done; to do; until this thread ends */
	struct record *records;    /* ROUND_OPS */
	size_t used;
	uint64_t accepted[WORKERS], full[WORKERS], late[WORKERS];
	psg_future *hand[HAND];
	size_t held;
};

static struct round *the_round; /* for callbacks, whose `user` is the record */

/* --- numbers --- */

static uint32_t below(struct seat *self, uint32_t n)
{
	self->random = self->random * 1664525 + 1013904223;
	return (self->random >> 8) % n;
}

static bool one_in(struct seat *self, uint32_t n)
{
	return below(self, n) == 0;
}

static uint64_t environment(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text != NULL && text[0] != '\0' ? strtoull(text, NULL, 10) : otherwise;
}

static uint64_t all_ops(void)
{
	return environment("PSG_STRESS_OPS", T_ON_VALGRIND ? OPS / 20
					     : T_SANITIZED ? OPS / 4
							   : OPS);
}

/* --- jobs --- */

static psg_status run_record(psg_device *device, void *arg, psg_error *error)
{
	(void)device;
	(void)error;
	(void)atomic_fetch_add(&((struct record *)arg)->ran, 1);
	return PSG_OK;
}

static psg_status run_from_callback(psg_device *device, void *arg, psg_error *error)
{
	(void)device;
	(void)error;
	(void)atomic_fetch_add(&((struct round *)arg)->ran_from_callbacks, 1);
	return PSG_OK;
}

static void submit_from_callback(uint8_t worker)
{
	if (psg_submit_function(the_round->workers[worker], run_from_callback, the_round, NULL,
				NULL, NULL) == PSG_OK)
		(void)atomic_fetch_add(&the_round->from_callbacks[worker], 1);
}

static void call_back(psg_future *future, void *user)
{
	struct record *record = user;

	ck_assert(psg_future_poll(future) == PSG_FUTURE_DONE);
	atomic_store(&record->status, (unsigned char)psg_future_error(future, NULL));
	(void)atomic_fetch_add(&record->called, 1);
	if (record->submits)
		submit_from_callback(record->worker);
	if (record->releases)
		psg_future_release(future);
}

/* --- the hand --- */

/* Handles that do not fit are dropped. */
static void hold(struct seat *self, psg_future *future)
{
	if (future == NULL)
		return;
	if (self->held < HAND)
		self->hand[self->held++] = future;
	else
		psg_future_release(future);
}

static psg_future *take(struct seat *self)
{
	uint32_t i = below(self, (uint32_t)self->held);
	psg_future *future = self->hand[i];

	self->hand[i] = self->hand[--self->held];
	return future;
}

/* It has ended with this; its record agrees. */
static void check_ended(psg_future *future, psg_status status)
{
	const struct record *record = psg_future_user(future);
	psg_future_times times;

	ck_assert_int_eq(psg_future_poll(future), PSG_FUTURE_DONE);
	ck_assert_int_eq(psg_future_error(future, NULL), status);
	ck_assert_int_eq(psg_future_cancel(future), PSG_CANCEL_DONE);
	if (record->calls_back) {
		ck_assert_int_eq(atomic_load(&record->called), 1);
		ck_assert_int_eq(atomic_load(&record->status), (int)status);
	}
	ck_assert_int_eq(atomic_load(&record->ran), status == PSG_OK);
	psg_future_times_get(future, &times);
	ck_assert_int_ge(times.finished_ns, times.queued_ns);
}

/* --- operations --- */

static void set_options(struct seat *self, struct record *record, psg_job_options *options)
{
	struct round *round = self->round;

	record->calls_back = true;
	options->done = call_back;
	options->user = record;
	options->priority = (int32_t)below(self, 3) - 1;
	if (one_in(self, 4))
		options->deadline_ns = psg_now_ns() + below(self, 100000);
	options->refuse_late = one_in(self, 8);
	if (one_in(self, 4))
		options->room_timeout_ns = below(self, 50000);
	record->queued = one_in(self, 4);
	if (record->queued)
		options->queue = round->queues[below(self, QUEUES)];
	record->submits = one_in(self, 16);
}

/* Most with options and a future. */
static void submit(struct seat *self)
{
	struct record *record = &self->records[self->used++];
	psg_job_options options = { .user = record };
	bool plain = one_in(self, 4), detached = one_in(self, 4);
	psg_future *future = NULL;
	psg_status status;

	record->worker = (uint8_t)below(self, WORKERS);
	if (!plain)
		set_options(self, record, &options);
	record->releases = !plain && !detached && one_in(self, 4);
	status = psg_submit_function(self->round->workers[record->worker], run_record, record,
				     plain && detached ? NULL : &options, detached ? NULL : &future,
				     NULL);
	record->accepted = status == PSG_OK;
	self->accepted[record->worker] += status == PSG_OK;
	self->full[record->worker] += status == PSG_FULL;
	self->late[record->worker] += status == PSG_TIMED_OUT;
	ck_assert(status == PSG_OK || status == PSG_FULL ||
		  (status == PSG_TIMED_OUT && options.refuse_late) ||
		  (status == PSG_SHUTDOWN && self->round->ending == BY_ABORT));
	if (status == PSG_OK && !record->releases)
		hold(self, future);
}

static void wait_for_one(struct seat *self, psg_future *future)
{
	psg_status status;

	switch (below(self, 4)) {
	case 0:
		status = psg_future_wait_for(future, below(self, 30000));
		break;
	case 1:
		status = psg_future_wait_until(future, psg_now_ns() + below(self, 30000));
		break;
	default:
		check_ended(future, psg_future_wait(future));
		return;
	}
	/* TIMED_OUT may be its own status, too. */
	if (status != PSG_TIMED_OUT)
		check_ended(future, status);
}

static void cancel(psg_future *future)
{
	const struct record *record = psg_future_user(future);

	switch (psg_future_cancel(future)) {
	case PSG_CANCEL_REMOVED:
		check_ended(future, PSG_CANCELLED);
		ck_assert_int_eq(atomic_load(&record->ran), 0);
		break;
	case PSG_CANCEL_DONE:
		ck_assert_int_eq(psg_future_poll(future), PSG_FUTURE_DONE);
		break;
	case PSG_CANCEL_RUNNING:
		break;
	}
}

static void look_at(psg_future *future)
{
	psg_status status = psg_future_error(future, NULL);
	psg_future_times times;

	psg_future_times_get(future, &times);
	ck_assert_int_gt(times.queued_ns, 0);
	ck_assert_str_eq(psg_future_fallback(future), "");
	if (psg_future_poll(future) != PSG_FUTURE_DONE)
		ck_assert_int_eq(status, PSG_INVALID);
}

static void wait_for_any(struct seat *self)
{
	int64_t deadline = one_in(self, 2) ? INT64_MAX : psg_now_ns() + below(self, 30000);
	size_t which;
	psg_status status = psg_future_wait_any(self->hand, self->held, deadline, &which);

	if (status == PSG_OK)
		check_ended(self->hand[which], psg_future_error(self->hand[which], NULL));
	else
		ck_assert(status == PSG_TIMED_OUT && which == self->held && deadline != INT64_MAX);
}

static void wait_for_all(struct seat *self)
{
	int64_t deadline = one_in(self, 2) ? INT64_MAX : psg_now_ns() + below(self, 30000);
	psg_status status = psg_future_wait_all(self->hand, self->held, deadline);

	ck_assert(status == PSG_OK || (status == PSG_TIMED_OUT && deadline != INT64_MAX));
	for (size_t i = 0; status == PSG_OK && i < self->held; i++)
		ck_assert_int_eq(psg_future_poll(self->hand[i]), PSG_FUTURE_DONE);
}

static void note_popped(psg_future *future)
{
	struct record *record = psg_future_user(future);

	ck_assert_int_eq(psg_future_poll(future), PSG_FUTURE_DONE);
	ck_assert(record->queued);
	ck_assert_int_eq(atomic_fetch_add(&record->popped, 1), 0);
}

static void pop(struct seat *self)
{
	psg_completion_queue *queue = self->round->queues[below(self, QUEUES)];
	psg_future *future = NULL;

	if (!one_in(self, 4))
		future = psg_completion_queue_pop(queue);
	else
		(void)psg_completion_queue_wait(queue, below(self, 20000), &future);
	if (future == NULL)
		return;
	note_popped(future);
	hold(self, future);
}

/* What stood there is this thread's now. */
static void swap_with_shelf(struct seat *self, psg_future *future)
{
	hold(self, atomic_exchange(&self->round->shelf[below(self, SHELF)], future));
}

static void ask_worker(struct seat *self)
{
	psg_worker *worker = self->round->workers[below(self, WORKERS)];
	psg_worker_stats stats = t_stats(worker);

	ck_assert_uint_le(stats.completed + stats.failed + stats.cancelled + stats.expired,
			  stats.submitted + CAPACITY * SEATS);
	ck_assert_int_ge(psg_worker_retry_after_ns(worker), 0);
	ck_assert_int_eq(psg_worker_health(worker, NULL), PSG_OK);
	if (one_in(self, 64))
		psg_worker_trim(worker);
}

static void with_future(struct seat *self)
{
	uint32_t choice = below(self, 16);
	psg_future *future = take(self);

	if (choice < 4) {
		psg_future_release(future);
		return;
	}
	if (choice < 6) {
		swap_with_shelf(self, future);
		return;
	}
	if (choice < 7)
		wait_for_one(self, future);
	else if (choice < 9)
		cancel(future);
	else if (choice < 11)
		hold(self, psg_future_ref(future));
	else
		look_at(future);
	hold(self, future);
}

static void one_op(struct seat *self)
{
	uint32_t choice = below(self, 64);

	if (choice < 18 || self->held == 0)
		submit(self);
	else if (choice < 20)
		wait_for_any(self);
	else if (choice < 21)
		wait_for_all(self);
	else if (choice < 26)
		pop(self);
	else if (choice < 27)
		ask_worker(self);
	else
		with_future(self);
	self->ops++;
	/* Again and again from the half on. */
	if (self->round->ending == BY_ABORT && self->number == 0 && self->ops > self->quota / 2 &&
	    one_in(self, 1000))
		psg_worker_abort(self->round->workers[below(self, WORKERS)]);
}

/* --- threads --- */

/* What it holds in the end is dropped: it leaves its lanes with jobs under way. */
static void *live(void *arg)
{
	struct seat *self = arg;

	while (self->ops < self->life)
		one_op(self);
	while (self->held > 0)
		psg_future_release(self->hand[--self->held]);
	return NULL;
}

static void *sit(void *arg)
{
	struct seat *self = arg;

	while (self->ops < self->quota) {
		pthread_t thread;

		self->life = self->ops + 1 + below(self, LIFE_OPS);
		if (self->life > self->quota)
			self->life = self->quota;
		ck_assert_int_eq(pthread_create(&thread, NULL, live, self), 0);
		ck_assert_int_eq(pthread_join(thread, NULL), 0);
	}
	return NULL;
}

/* --- a round --- */

static void check_record(const struct record *record)
{
	psg_status status = (psg_status)atomic_load(&record->status);

	ck_assert_int_eq(atomic_load(&record->called), record->accepted && record->calls_back);
	ck_assert_int_eq(atomic_load(&record->popped), record->accepted && record->queued);
	if (!record->accepted)
		ck_assert_int_eq(atomic_load(&record->ran), 0);
	else if (record->calls_back)
		ck_assert_int_eq(atomic_load(&record->ran), status == PSG_OK);
	else
		ck_assert_int_le(atomic_load(&record->ran), 1);
	ck_assert(status == PSG_OK || status == PSG_CANCELLED || status == PSG_TIMED_OUT ||
		  status == PSG_SHUTDOWN);
}

static void check_records(const struct seat *seats)
{
	for (int s = 0; s < SEATS; s++)
		for (size_t i = 0; i < seats[s].used; i++)
			check_record(&seats[s].records[i]);
}

static uint64_t count_ran(const struct seat *seats)
{
	uint64_t ran = 0;

	for (int s = 0; s < SEATS; s++)
		for (size_t i = 0; i < seats[s].used; i++)
			ran += atomic_load(&seats[s].records[i].ran);
	return ran;
}

/* All jobs have ended. */
static void check_sums(struct round *round, const struct seat *seats)
{
	uint64_t completed = 0;

	for (int w = 0; w < WORKERS; w++) {
		psg_worker_stats stats = t_stats(round->workers[w]);
		uint64_t accepted = atomic_load(&round->from_callbacks[w]), late = 0;

		for (int s = 0; s < SEATS; s++) {
			accepted += seats[s].accepted[w];
			late += seats[s].late[w];
		}
		ck_assert_uint_eq(stats.submitted, accepted);
		ck_assert_uint_eq(stats.queued, 0);
		ck_assert_uint_eq(stats.completed + stats.failed + stats.cancelled + stats.expired,
				  accepted);
		ck_assert_uint_eq(stats.refused_late, late);
		completed += stats.completed;
	}
	ck_assert_uint_eq(completed, count_ran(seats) + atomic_load(&round->ran_from_callbacks));
}

static void clear_shelf(struct round *round)
{
	for (int i = 0; i < SHELF; i++)
		psg_future_release(atomic_exchange(&round->shelf[i], NULL));
}

static void empty_queues(struct round *round)
{
	for (int q = 0; q < QUEUES; q++) {
		psg_future *future;

		while ((future = psg_completion_queue_pop(round->queues[q])) != NULL) {
			note_popped(future);
			psg_future_release(future);
		}
	}
}

static void end_round(struct round *round, const struct seat *seats)
{
	bool outlive = round->ending != BY_DRAINING; /* futures the workers */

	if (!outlive)
		clear_shelf(round);
	for (int w = 0; w < WORKERS && round->ending != BY_CLOSING; w++)
		ck_assert_int_eq(psg_worker_drain(round->workers[w], -1), PSG_OK);
	if (round->ending != BY_CLOSING)
		check_sums(round, seats);
	for (int w = 0; w < WORKERS; w++)
		psg_worker_close(round->workers[w]);
	clear_shelf(round);
	empty_queues(round);
	check_records(seats);
	for (int q = 0; q < QUEUES; q++)
		psg_completion_queue_destroy(round->queues[q]);
}

/* The operations that were made. */
static uint64_t one_round(enum ending ending, uint32_t seed, uint64_t ops)
{
	struct round *round = calloc(1, sizeof(*round));
	struct seat *seats = calloc(SEATS, sizeof(*seats));
	pthread_t threads[SEATS];
	uint64_t sum = 0;

	ck_assert(round != NULL && seats != NULL);
	the_round = round;
	round->ending = ending;
	for (int w = 0; w < WORKERS; w++)
		round->workers[w] = t_open(CAPACITY);
	for (int q = 0; q < QUEUES; q++)
		ck_assert_int_eq(psg_completion_queue_create(&round->queues[q], NULL), PSG_OK);
	for (uint32_t s = 0; s < SEATS; s++) {
		seats[s] = (struct seat){ .round = round,
					  .number = s,
					  .random = seed + s * 7919,
					  .quota = ops < ROUND_OPS ? ops : ROUND_OPS,
					  .records = calloc(ROUND_OPS, sizeof(struct record)) };
		ck_assert_ptr_nonnull(seats[s].records);
		ck_assert_int_eq(pthread_create(&threads[s], NULL, sit, &seats[s]), 0);
	}
	for (int s = 0; s < SEATS; s++)
		ck_assert_int_eq(pthread_join(threads[s], NULL), 0);
	end_round(round, seats);
	for (int s = 0; s < SEATS; s++) {
		sum += seats[s].ops;
		free(seats[s].records);
	}
	free(seats);
	free(round);
	return sum;
}

START_TEST(everything_at_once)
{
	uint32_t seed = (uint32_t)environment("PSG_STRESS_SEED", 1);
	uint64_t ops = all_ops(), done = 0;

	(void)printf("%llu operations, PSG_STRESS_SEED=%u\n", (unsigned long long)ops,
		     (unsigned)seed);
	(void)fflush(stdout);
	for (uint32_t i = 0; done < ops; i++)
		done += one_round((enum ending)(i % ENDINGS), seed + i * 104729,
				  (ops - done + SEATS - 1) / SEATS);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = { everything_at_once };

	return t_run("stress", tests, T_COUNT(tests));
}
