/* SPDX-License-Identifier: Apache-2.0 */
/* Workers that go by deadlines, and jobs that are refused because they would be late. */
#include "config.h"

#include "jobs_util.h"

#include <pthread.h>
#include <string.h>

#define MANY 2000
#define FAR (600 * PSG_SECOND)

static psg_worker *open_worker(bool earliest_deadline_first)
{
	psg_worker_options options = { .lane_capacity = 2 * MANY,
				       .earliest_deadline_first = earliest_deadline_first };
	psg_error error = PSG_ERROR_INIT;
	psg_worker *worker;

	ck_assert_msg(psg_worker_open("reference", &options, &worker, &error) == PSG_OK, "%s",
		      error.message);
	return worker;
}

/* --- order --- */

static struct {
	int n, order[MANY];
} played; /* written by the worker, read after draining */

static psg_status play(psg_device *device, void *arg, psg_error *error)
{
	(void)device;
	(void)error;
	played.order[played.n++] = (int)(intptr_t)arg;
	return PSG_OK;
}

struct row {
	int number, priority;
	int64_t deadline; /* seconds from now; 0: none */
};

struct submission {
	psg_worker *worker;
	const struct row *rows;
	size_t n;
	int64_t begin_ns;
};

static void *submit_rows(void *arg)
{
	const struct submission *all = arg;

	for (size_t i = 0; i < all->n; i++) {
		const struct row *row = &all->rows[i];
		psg_job_options options = { .priority = row->priority };

		if (row->deadline != 0)
			options.deadline_ns = all->begin_ns + FAR + row->deadline * PSG_SECOND;
		ck_assert_int_eq(psg_submit_function(all->worker, play,
						     (void *)(intptr_t)row->number, &options, NULL,
						     NULL),
				 PSG_OK);
	}
	return NULL;
}

/* Up to `split` from this thread, the others from another, while the worker is held up. */
static void play_rows(bool earliest_deadline_first, const struct row *rows, size_t n, size_t split)
{
	psg_worker *worker = open_worker(earliest_deadline_first);
	int64_t now = psg_now_ns();
	struct submission first = { worker, rows, split, now };
	struct submission second = { worker, rows + split, n - split, now };
	pthread_t thread;
	t_gate gate;

	played.n = 0;
	t_gate_close(&gate, worker);
	(void)submit_rows(&first);
	ck_assert_int_eq(pthread_create(&thread, NULL, submit_rows, &second), 0);
	ck_assert_int_eq(pthread_join(thread, NULL), 0);
	t_gate_open(&gate);
	ck_assert_int_eq(psg_worker_drain(worker, -1), PSG_OK);
	ck_assert_int_eq(played.n, (int)n);
	psg_worker_close(worker);
}

static const struct row some[] = {
	{ 1, 0, 50 }, { 2, 0, 0 },  { 3, 0, 0 },  { 4, -1, 10 }, { 5, 1, 0 },
	{ 6, 0, 20 }, { 7, 1, 90 }, { 8, 0, 30 }, { 9, 0, 20 },  { 10, 1, 80 },
};

START_TEST(earliest_first_within_a_class)
{
	static const int expected[] = { 10, 7, 5, 6, 9, 8, 1, 2, 3, 4 };

	play_rows(true, some, T_COUNT(some), T_COUNT(some) / 2);
	ck_assert_mem_eq(played.order, expected, sizeof(expected));
}
END_TEST

START_TEST(deadlines_do_not_count_unless_asked)
{
	static const int expected[] = { 5, 7, 10, 1, 2, 3, 6, 8, 9, 4 };

	play_rows(false, some, T_COUNT(some), T_COUNT(some));
	ck_assert_mem_eq(played.order, expected, sizeof(expected));
}
END_TEST

/* A page's jobs have one deadline: they run as they came. */
START_TEST(equal_ones_in_order)
{
	struct row rows[100];

	for (int i = 0; i < 100; i++)
		rows[i] = (struct row){ i, 0, 7 };
	play_rows(true, rows, 100, 100);
	for (int i = 0; i < 100; i++)
		ck_assert_int_eq(played.order[i], i);
}
END_TEST

START_TEST(many_in_any_order)
{
	static struct row rows[MANY];
	static int64_t deadlines[MANY];
	uint32_t seed = 3;

	for (int i = 0; i < MANY; i++) {
		seed = seed * 1664525 + 1013904223;
		deadlines[i] = 1 + (seed >> 8) % 500;
		rows[i] = (struct row){ i, 0, deadlines[i] };
	}
	play_rows(true, rows, MANY, MANY);
	for (int i = 1; i < MANY; i++) {
		int a = played.order[i - 1], b = played.order[i];

		ck_assert(deadlines[a] < deadlines[b] || (deadlines[a] == deadlines[b] && a < b));
	}
}
END_TEST

/* Those that ended before their turn are passed over, wherever they stand. */
START_TEST(some_are_cancelled)
{
	psg_worker *worker = open_worker(true);
	psg_future *futures[30];
	t_gate gate;

	played.n = 0;
	t_gate_close(&gate, worker);
	for (int i = 0; i < 30; i++) {
		psg_job_options options = { .deadline_ns = psg_now_ns() + FAR - i * PSG_SECOND };

		futures[i] = t_submit(worker, play, (void *)(intptr_t)i, &options);
	}
	for (int i = 0; i < 30; i += 3)
		ck_assert_int_eq(psg_future_cancel(futures[i]), PSG_CANCEL_REMOVED);
	t_gate_open(&gate);
	for (int i = 0; i < 30; i++)
		ck_assert_int_eq(t_finish(futures[i]), i % 3 == 0 ? PSG_CANCELLED : PSG_OK);
	ck_assert_int_eq(played.n, 20);
	for (int i = 1; i < 20; i++)
		ck_assert_int_lt(played.order[i], played.order[i - 1]);
	psg_worker_close(worker);
}
END_TEST

/* Closing ends those that are in its order, too. */
START_TEST(closed_over_some)
{
	psg_worker *worker = open_worker(true);
	atomic_int done = 0;
	psg_job_options options = { .deadline_ns = psg_now_ns() + FAR,
				    .done = t_count_done,
				    .user = &done };
	t_gate gate;

	t_gate_close(&gate, worker);
	for (int i = 0; i < 50; i++)
		ck_assert_int_eq(psg_submit_function(worker, t_nothing, NULL, &options, NULL, NULL),
				 PSG_OK);
	psg_worker_abort(worker);
	t_gate_open(&gate);
	psg_worker_close(worker);
	ck_assert_int_eq(done, 50);
}
END_TEST

/* --- refusing --- */

static psg_status submit_until(psg_worker *worker, int64_t from_now_ns, bool refuse_late,
			       psg_error *error)
{
	psg_job_options options = { .deadline_ns = psg_now_ns() + from_now_ns,
				    .refuse_late = refuse_late };
	psg_future *future = NULL;
	psg_status status = psg_submit_function(worker, t_nothing, NULL, &options, &future, error);

	ck_assert((status == PSG_OK) == (future != NULL));
	psg_future_release(future);
	return status;
}

/* Nine jobs of at least 2 ms are before it. */
START_TEST(late_ones_are_refused)
{
	psg_worker *worker = open_worker(false);
	psg_error error = PSG_ERROR_INIT;
	t_gate gate;

	for (int i = 0; i < 4; i++)
		ck_assert_int_eq(t_finish(t_submit(worker, t_pause, NULL, NULL)), PSG_OK);
	t_gate_close(&gate, worker);
	for (int i = 0; i < 8; i++)
		ck_assert_int_eq(psg_submit_function(worker, t_nothing, NULL, NULL, NULL, NULL),
				 PSG_OK);
	ck_assert_int_eq(submit_until(worker, 9 * T_PAUSE_NS, true, &error), PSG_TIMED_OUT);
	ck_assert_ptr_nonnull(strstr(error.message, "would miss its deadline by about "));
	ck_assert_ptr_nonnull(strstr(error.message, " 9 jobs are before it"));
	ck_assert_int_eq(submit_until(worker, 9 * T_PAUSE_NS, false, &error), PSG_OK);
	ck_assert_int_eq(submit_until(worker, FAR, true, &error), PSG_OK);
	ck_assert_uint_eq(t_stats(worker).refused_late, 1);
	ck_assert_uint_eq(t_stats(worker).refused_full, 0);
	t_gate_open(&gate);
	psg_worker_close(worker);
}
END_TEST

/* Nothing is known: whatever can be in time is taken. */
START_TEST(no_measure_yet)
{
	psg_worker *worker = open_worker(false);
	psg_job_options none = { .refuse_late = true };
	psg_error error = PSG_ERROR_INIT;
	t_gate gate;

	t_gate_close(&gate, worker);
	ck_assert_int_eq(submit_until(worker, PSG_SECOND, true, &error), PSG_OK);
	ck_assert_int_eq(submit_until(worker, -PSG_MILLISECOND, true, &error), PSG_TIMED_OUT);
	ck_assert_int_eq(psg_submit_function(worker, t_nothing, NULL, &none, NULL, NULL), PSG_OK);
	ck_assert_uint_eq(t_stats(worker).refused_late, 1);
	t_gate_open(&gate);
	psg_worker_close(worker);
}
END_TEST

int main(void)
{
	const TTest *const tests[] = {
		earliest_first_within_a_class,
		deadlines_do_not_count_unless_asked,
		equal_ones_in_order,
		many_in_any_order,
		some_are_cancelled,
		closed_over_some,
		late_ones_are_refused,
		no_measure_yet,
	};

	return t_run("deadlines", tests, T_COUNT(tests));
}
