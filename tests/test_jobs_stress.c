/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Everything at once: more threads than cores submit into small lanes, and
 * wait, cancel, time out, release and swap futures with each other as a random
 * number says.  Each job has a record: how often it ran and was called back,
 * and with which status.  In the end every accepted job has ended once, those
 * that ran are those that ended well, and the counters agree.
 */
#include "config.h"

#include "jobs_util.h"

#include <pthread.h>
#include <string.h>

#define PRODUCERS 8
#define JOBS 20000  /* of each */
#define CAPACITY 32 /* of a lane: small, so that it is full often */
#define SHELF 16    /* futures that wait for any thread to take them */

struct record {
	atomic_int ran, called;
	atomic_int status; /* as the callback saw it */
	bool accepted;     /* the producer's */
	bool releases;     /* the callback releases the handle */
};

struct stress {
	psg_worker *worker;
	psg_future *_Atomic shelf[SHELF];
	atomic_uint_fast64_t statuses[PSG_FORKED + 1];
};

struct producer {
	struct stress *stress;
	uint32_t seed;
	uint64_t accepted, full, refused;
	bool aborts;            /* half-way, and again and again from there */
	struct record *records; /* JOBS */
};

static uint32_t t_random(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

static psg_status run_record(psg_device *device, void *arg, psg_error *error)
{
	(void)device;
	(void)error;
	atomic_fetch_add(&((struct record *)arg)->ran, 1);
	return PSG_OK;
}

static void call_back(psg_future *future, void *user)
{
	struct record *record = user;

	atomic_store(&record->status, (int)psg_future_error(future, NULL));
	atomic_fetch_add(&record->called, 1);
	if (record->releases)
		psg_future_release(future);
}

static void wait_and_release(struct stress *stress, psg_future *future)
{
	psg_status status = psg_future_wait(future);

	atomic_fetch_add(&stress->statuses[status], 1);
	ck_assert_int_eq(psg_future_cancel(future), PSG_CANCEL_DONE);
	psg_future_release(future);
}

/* What the random number says; the future's handle is used up. */
static void treat(struct producer *self, psg_future *future)
{
	struct stress *stress = self->stress;

	switch (t_random(&self->seed) % 8) {
	case 0:
		psg_future_release(future);
		break;
	case 1:
		(void)psg_future_cancel(future);
		psg_future_release(future);
		break;
	case 2:
		(void)psg_future_cancel(future);
		wait_and_release(stress, future);
		break;
	case 3:
		(void)psg_future_wait_for(future, t_random(&self->seed) % 50000);
		psg_future_release(future);
		break;
	case 4:
	case 5:
		wait_and_release(stress, future);
		break;
	default: /* to the shelf; what stood there is this thread's now */
		future = atomic_exchange(&stress->shelf[t_random(&self->seed) % SHELF], future);
		if (future != NULL)
			treat(self, future);
	}
}

static void count(struct producer *self, struct record *record, psg_status status)
{
	record->accepted = status == PSG_OK;
	if (status == PSG_OK) {
		self->accepted++;
	} else if (status == PSG_FULL) {
		self->full++;
	} else {
		ck_assert_int_eq(status, PSG_SHUTDOWN);
		self->refused++;
	}
}

static psg_status submit_one(struct producer *self, struct record *record)
{
	psg_job_options options = {
		.priority = (int32_t)(t_random(&self->seed) % 3) - 1,
		.done = call_back,
		.user = record,
	};
	bool detached = t_random(&self->seed) % 4 == 0;
	psg_future *future = NULL;
	psg_status status;

	if (t_random(&self->seed) % 4 == 0)
		options.deadline_ns = psg_now_ns() + t_random(&self->seed) % 100000;
	record->releases = !detached && t_random(&self->seed) % 4 == 0;
	status = psg_submit_function(self->stress->worker, run_record, record, &options,
				     detached ? NULL : &future, NULL);
	count(self, record, status);
	if (status == PSG_OK && !detached && !record->releases)
		treat(self, future);
	return status;
}

/* Holds futures until there are no slots left; returns how many records were used. */
static int fill(struct producer *self, struct record *records, int n)
{
	psg_future *held[CAPACITY];
	int used = 0, holding = 0;
	psg_status status = PSG_OK;

	for (; status == PSG_OK && used < n; used++) {
		psg_job_options options = { .done = call_back, .user = &records[used] };
		psg_future *future;

		status = psg_submit_function(self->stress->worker, run_record, &records[used],
					     &options, &future, NULL);
		count(self, &records[used], status);
		if (status == PSG_OK)
			held[holding++] = future;
	}
	while (holding > 0)
		treat(self, held[--holding]);
	return used;
}

static void *produce(void *arg)
{
	struct producer *self = arg;
	int i = 0;

	while (i < JOBS) {
		if (self->aborts && i >= JOBS / 2)
			psg_worker_abort(self->stress->worker);
		if (t_random(&self->seed) % 512 == 0)
			i += fill(self, &self->records[i], JOBS - i);
		else if (submit_one(self, &self->records[i++]) == PSG_FULL)
			(void)sched_yield();
	}
	return NULL;
}

static void check_record(const struct record *record)
{
	int status = atomic_load(&record->status);

	ck_assert_int_eq(atomic_load(&record->called), record->accepted ? 1 : 0);
	ck_assert_int_eq(atomic_load(&record->ran), record->accepted && status == PSG_OK ? 1 : 0);
	ck_assert(status == PSG_OK || status == PSG_CANCELLED || status == PSG_TIMED_OUT ||
		  status == PSG_SHUTDOWN);
}

static void check_sums(struct stress *stress, struct producer *producers)
{
	psg_worker_stats stats = t_stats(stress->worker);
	uint64_t accepted = 0, full = 0, by_status[PSG_FORKED + 1] = { 0 };

	for (int p = 0; p < PRODUCERS; p++) {
		accepted += producers[p].accepted;
		full += producers[p].full;
		for (int i = 0; i < JOBS; i++) {
			check_record(&producers[p].records[i]);
			if (producers[p].records[i].accepted)
				by_status[atomic_load(&producers[p].records[i].status)]++;
		}
	}
	ck_assert_uint_eq(stats.submitted, accepted);
	ck_assert_uint_eq(stats.refused_full, full);
	ck_assert_uint_eq(stats.queued, 0);
	ck_assert_uint_eq(stats.completed, by_status[PSG_OK]);
	ck_assert_uint_eq(stats.cancelled, by_status[PSG_CANCELLED]);
	ck_assert_uint_eq(stats.expired, by_status[PSG_TIMED_OUT]);
	ck_assert_uint_eq(stats.failed, by_status[PSG_SHUTDOWN]);
	/* Else the test has lost its point. */
	ck_assert_uint_gt(stats.completed, 0);
	ck_assert_uint_gt(stats.cancelled, 0);
	ck_assert_uint_gt(stats.expired, 0);
	ck_assert_uint_gt(full, 0);
}

static void clear_shelf(struct stress *stress)
{
	for (int i = 0; i < SHELF; i++)
		psg_future_release(atomic_exchange(&stress->shelf[i], NULL));
}

static void stress_it(uint32_t seed, bool aborted)
{
	struct stress *stress = calloc(1, sizeof(*stress));
	struct producer producers[PRODUCERS];
	pthread_t threads[PRODUCERS];

	stress->worker = t_open(CAPACITY);
	for (uint32_t p = 0; p < PRODUCERS; p++) {
		producers[p] = (struct producer){ .stress = stress,
						  .seed = seed + p * 7919,
						  .aborts = aborted && p == 0,
						  .records = calloc(JOBS, sizeof(struct record)) };
		ck_assert_int_eq(pthread_create(&threads[p], NULL, produce, &producers[p]), 0);
	}
	for (int p = 0; p < PRODUCERS; p++)
		ck_assert_int_eq(pthread_join(threads[p], NULL), 0);
	if (!aborted)
		clear_shelf(stress); /* else they outlive the worker */
	ck_assert_int_eq(psg_worker_drain(stress->worker, -1), PSG_OK);
	check_sums(stress, producers);
	ck_assert_uint_eq(producers[0].refused > 0, aborted);
	psg_worker_close(stress->worker);
	clear_shelf(stress);
	for (int p = 0; p < PRODUCERS; p++)
		free(producers[p].records);
	free(stress);
}

START_TEST(everything_at_once)
{
	stress_it(1, false);
}
END_TEST

START_TEST(everything_and_an_abort)
{
	stress_it(2, true);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = { everything_at_once, everything_and_an_abort };

	return t_run("stress", tests, T_COUNT(tests));
}
