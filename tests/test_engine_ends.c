/* SPDX-License-Identifier: Apache-2.0 */
/* How pages end before they are read: cancelled, too late, refused, closed under. */
#include "config.h"

#include "engine_util.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static psg_worker *worker;
static psg_ocr *ocr;
static t_file file;

static void set_up(void)
{
	worker = t_worker(0);
	ocr = t_engine(&worker, 1, &(psg_ocr_options){ .max_pages = 8 });
	file = t_text_page("READ 42");
}

static void tear_down(void)
{
	psg_ocr_close(ocr);
	psg_worker_close(worker);
	free(file.data);
}

/* The engine still reads. */
static void still_reads(void)
{
	psg_future *future = t_submit(ocr, file, NULL);
	char *text = t_text(future);

	ck_assert_str_eq(text, "READ 42\n");
	free(text);
	psg_future_release(future);
}

/* --- cancelling --- */

/* The worker is held up, so whatever the page waits for cannot come: cancelling must end it. */
START_TEST(cancel_waiting)
{
	t_hold hold;
	psg_future *future;
	psg_error error;

	t_hold_up(&hold, worker);
	future = t_submit(ocr, file, NULL);
	ck_assert_int_eq(psg_future_wait_for(future, PSG_MILLISECOND * 20 * _i), PSG_TIMED_OUT);
	ck_assert_int_ne(psg_future_cancel(future), PSG_CANCEL_DONE);
	t_ends(future, PSG_CANCELLED, &error);
	t_let_go(&hold);
	still_reads();
}
END_TEST

/* At many moments of a page's way; it ends well or as cancelled, never otherwise. */
START_TEST(cancel_any_time)
{
	int64_t whole, begin;

	still_reads();
	begin = psg_now_ns();
	still_reads();
	whole = psg_now_ns() - begin;
	for (int i = 0; i < 24; i++) {
		psg_future *future = t_submit(ocr, file, NULL);
		psg_status status = psg_future_wait_for(future, whole * i / 24);

		if (status == PSG_TIMED_OUT) {
			(void)psg_future_cancel(future);
			status = psg_future_wait_for(future, T_FOREVER);
		}
		ck_assert_msg(status == PSG_OK || status == PSG_CANCELLED, "%s",
			      psg_status_name(status));
		if (i == 0)
			ck_assert_int_eq(status, PSG_CANCELLED);
		psg_future_release(future);
	}
	still_reads();
}
END_TEST

static void count(psg_future *future, void *user)
{
	(void)future;
	(void)atomic_fetch_add((atomic_int *)user, 1);
}

static void wait_for(const atomic_int *counter, int value)
{
	const struct timespec step = { .tv_nsec = 1000000 };

	for (int64_t end = psg_now_ns() + T_FOREVER; atomic_load(counter) < value;) {
		ck_assert(psg_now_ns() < end);
		(void)nanosleep(&step, NULL);
	}
}

/* Letting go of the only handle is cancelling; the callback tells that the page is over. */
START_TEST(abandon)
{
	atomic_int ended = 0;
	psg_job_options options = { .done = count, .user = &ended };
	t_hold hold;

	t_hold_up(&hold, worker);
	for (int i = 0; i < 8; i++)
		psg_future_release(t_submit(ocr, file, &options));
	wait_for(&ended, 8);
	t_let_go(&hold);
	still_reads();
	ck_assert_int_eq(atomic_load(&ended), 8);
}
END_TEST

/* --- deadlines --- */

START_TEST(deadline)
{
	psg_job_options late = { .deadline_ns = 1 }, options = { 0 };
	t_hold hold;
	psg_error error;
	psg_future *future;

	t_ends(t_submit(ocr, file, &late), PSG_TIMED_OUT, &error);
	ck_assert_msg(strstr(error.message, "deadline") != NULL, "%s", error.message);
	t_hold_up(&hold, worker);
	options.deadline_ns = psg_now_ns() + 50 * PSG_MILLISECOND;
	future = t_submit(ocr, file, &options);
	t_ends(future, PSG_TIMED_OUT, &error); /* while the worker is held up */
	ck_assert(psg_now_ns() >= options.deadline_ns);
	t_let_go(&hold);
	options.deadline_ns = psg_now_ns() + T_FOREVER;
	future = t_submit(ocr, file, &options);
	ck_assert_str_eq(t_wait(future)->lines[0].text, "READ 42");
	psg_future_release(future);
}
END_TEST

/* Four pages run; the worker is held up, so the others get no turn before their deadlines, which
 * are not in order. */
START_TEST(deadline_while_waiting)
{
	static const int64_t after_ms[] = { 60, 20, 40 };
	psg_future *running[4], *waiting[3];
	int64_t begin = psg_now_ns();
	psg_error error;
	t_hold hold;

	t_hold_up(&hold, worker);
	for (int i = 0; i < 4; i++)
		running[i] = t_submit(ocr, file, NULL);
	for (int i = 0; i < 3; i++) {
		psg_job_options options = { .deadline_ns = begin + after_ms[i] * PSG_MILLISECOND };

		waiting[i] = t_submit(ocr, file, &options);
	}
	for (int i = 0; i < 3; i++) {
		psg_future_times times;

		(void)psg_future_wait(waiting[i]);
		psg_future_times_get(waiting[i], &times);
		ck_assert_int_ge(times.finished_ns, begin + after_ms[i] * PSG_MILLISECOND);
		ck_assert_int_eq(times.started_ns, 0);
		t_ends(waiting[i], PSG_TIMED_OUT, &error);
		ck_assert_msg(strstr(error.message, "waiting: the deadline") != NULL, "%s",
			      error.message);
	}
	t_let_go(&hold);
	for (int i = 0; i < 4; i++) {
		(void)t_wait(running[i]);
		psg_future_release(running[i]);
	}
}
END_TEST

/* --- the limit on pages --- */

START_TEST(full)
{
	psg_future *futures[8], *refused = NULL;
	psg_error error = PSG_ERROR_INIT;
	t_hold hold;

	t_hold_up(&hold, worker);
	for (int i = 0; i < 8; i++)
		futures[i] = t_submit(ocr, file, NULL);
	ck_assert_int_eq(psg_ocr_submit(ocr, file.data, file.size, 0, NULL, &refused, &error),
			 PSG_FULL);
	ck_assert_ptr_null(refused);
	ck_assert_msg(strstr(error.message, "8 pages") != NULL, "%s", error.message);
	/* One that ended makes room for one, also if it had waited for its turn. */
	for (int i = 0; i < 8; i++) {
		(void)psg_future_cancel(futures[i]);
		t_ends(futures[i], PSG_CANCELLED, &error);
		futures[i] = t_submit(ocr, file, NULL);
		ck_assert_int_eq(
			psg_ocr_submit(ocr, file.data, file.size, 0, NULL, &refused, &error),
			PSG_FULL);
	}
	t_let_go(&hold);
	for (int i = 0; i < 8; i++) {
		ck_assert_str_eq(t_wait(futures[i])->lines[0].text, "READ 42");
		psg_future_release(futures[i]);
	}
}
END_TEST

/* Nobody has to ask for a limit. */
START_TEST(full_by_default)
{
	psg_ocr *engine = t_engine(&worker, 1, NULL);
	psg_future *futures[64], *refused = NULL;
	psg_error error = PSG_ERROR_INIT;
	t_hold hold;

	t_hold_up(&hold, worker);
	for (int i = 0; i < 64; i++)
		futures[i] = t_submit(engine, file, NULL);
	ck_assert_int_eq(psg_ocr_submit(engine, file.data, file.size, 0, NULL, &refused, &error),
			 PSG_FULL);
	ck_assert_ptr_null(refused);
	ck_assert_msg(strstr(error.message, "64 pages") != NULL, "%s", error.message);
	psg_ocr_close(engine);
	for (int i = 0; i < 64; i++)
		t_ends(futures[i], PSG_CANCELLED, &error);
	t_let_go(&hold);
	still_reads();
}
END_TEST

/* Who is told that a page is over finds room for the next one. */
static void submit_next(psg_future *future, void *user)
{
	psg_future *next;

	(void)future;
	if (psg_ocr_submit(ocr, file.data, file.size, 0, NULL, &next, NULL) != PSG_OK)
		return;
	psg_future_release(next);
	(void)atomic_fetch_add((atomic_int *)user, 1);
}

START_TEST(room_when_told)
{
	atomic_int submitted = 0;
	psg_job_options options = { .done = submit_next, .user = &submitted };
	psg_future *futures[8];

	for (int i = 0; i < 8; i++)
		futures[i] = t_submit(ocr, file, &options);
	for (int i = 0; i < 8; i++) {
		(void)t_wait(futures[i]);
		psg_future_release(futures[i]);
	}
	ck_assert_int_eq(atomic_load(&submitted), 8);
}
END_TEST

static psg_status nothing(psg_device *device, void *arg, psg_error *error)
{
	(void)device;
	(void)arg;
	(void)error;
	return PSG_OK;
}

/* On the host thread, whose lane has one slot; the worker may not have let it go yet. */
static void take_the_slot(psg_future *future, void *user)
{
	psg_status status;

	(void)future;
	do
		status = psg_submit_function(worker, nothing, NULL, NULL, user, NULL);
	while (status == PSG_FULL);
	ck_assert_int_eq(status, PSG_OK);
}

#define PAUSE_NS 100000 /* between two tries for a slot: RETRY_NS of src/ocr/engine.c */

/* A callback keeps the only job slot of the only host thread: pages wait for it, without haste. */
START_TEST(slot_held_by_a_callback)
{
	psg_future *holder, *first, *second;
	psg_job_options options = { .done = take_the_slot, .user = &holder };
	psg_worker_stats before, after;
	psg_ocr *engine;
	int64_t begin, tries;

	psg_ocr_close(ocr);
	psg_worker_close(worker);
	worker = t_worker(1);
	ocr = NULL;
	engine = t_engine(&worker, 1, &(psg_ocr_options){ .host_threads = 1 });
	first = t_submit(engine, file, &options);
	(void)t_wait(first);
	second = t_submit(engine, file, NULL);
	ck_assert_int_eq(psg_future_wait(holder), PSG_OK);
	ck_assert_int_eq(psg_future_wait_for(second, 50 * PSG_MILLISECOND), PSG_TIMED_OUT);
	/* A pause may be longer than it is meant to be, never shorter. */
	begin = psg_now_ns();
	psg_worker_stats_get(worker, &before);
	ck_assert_int_eq(psg_future_wait_for(second, 400 * PSG_MILLISECOND), PSG_TIMED_OUT);
	psg_worker_stats_get(worker, &after);
	tries = (int64_t)(after.refused_full - before.refused_full);
	ck_assert_int_gt(tries, 0);
	ck_assert_int_le(tries, (psg_now_ns() - begin) / PAUSE_NS + 1);
	psg_future_release(holder);
	ck_assert_str_eq(t_wait(second)->lines[0].text, "READ 42");
	psg_future_release(first);
	psg_future_release(second);
	psg_ocr_close(engine);
}
END_TEST

/* --- whose turn it is --- */

static atomic_int turn;

static void note_turn(psg_future *future, void *user)
{
	(void)future;
	*(int *)user = atomic_fetch_add(&turn, 1);
}

/* Six pages of which four run: of the two that wait, the urgent one overtakes. */
START_TEST(urgent_first)
{
	psg_future *futures[6];
	int turns[6];
	t_hold hold;

	t_hold_up(&hold, worker);
	for (int i = 0; i < 6; i++) {
		psg_job_options options = { .priority = i == 5   ? 1
							: i == 4 ? -1
								 : 0,
					    .done = note_turn,
					    .user = &turns[i] };

		futures[i] = t_submit(ocr, file, &options);
		ck_assert_int_eq(psg_future_wait_for(futures[i], 10 * PSG_MILLISECOND),
				 PSG_TIMED_OUT);
	}
	t_let_go(&hold);
	for (int i = 0; i < 6; i++) {
		(void)t_wait(futures[i]);
		psg_future_release(futures[i]);
	}
	ck_assert_int_eq(turns[4], 5);
	ck_assert_int_lt(turns[5], turns[4]);
}
END_TEST

/* --- closing --- */

START_TEST(close_with_pages)
{
	psg_ocr *engine = t_engine(&worker, 1, NULL);
	psg_future *futures[12];
	psg_error error;
	t_hold hold;

	if (_i == 0)
		t_hold_up(&hold, worker);
	for (int i = 0; i < 12; i++)
		futures[i] = t_submit(engine, file, NULL);
	/* From fresh pages to half of them read. */
	(void)psg_future_wait_for(futures[_i / 2], _i == 0 ? 0 : _i * 20 * PSG_MILLISECOND);
	psg_ocr_close(engine);
	for (int i = 0; i < 12; i++) {
		ck_assert_int_eq(psg_future_poll(futures[i]), PSG_FUTURE_DONE);
		if (psg_future_wait(futures[i]) == PSG_OK) {
			ck_assert_str_eq(t_wait(futures[i])->lines[0].text, "READ 42");
			psg_future_release(futures[i]);
		} else {
			t_ends(futures[i], PSG_CANCELLED, &error);
		}
	}
	if (_i == 0)
		t_let_go(&hold);
	still_reads();
}
END_TEST

/* Submits the next page when one has ended, for as long as it may. */
static void submit_again(psg_future *future, void *user)
{
	psg_job_options options = { .done = submit_again, .user = user };
	psg_future *next;
	psg_status status;

	(void)future;
	status = psg_ocr_submit(user, file.data, file.size, 0, &options, &next, NULL);
	if (status == PSG_OK)
		psg_future_release(next);
	else
		ck_assert_int_eq(status, PSG_SHUTDOWN);
}

/* What is told that its page was cancelled may not keep the engine open. */
START_TEST(close_ends_submitting)
{
	psg_ocr *engine = t_engine(&worker, 1, NULL);
	psg_job_options options = { .done = submit_again, .user = engine };
	psg_future *futures[4];
	t_hold hold;

	t_hold_up(&hold, worker);
	for (int i = 0; i < 4; i++)
		futures[i] = t_submit(engine, file, &options);
	psg_ocr_close(engine);
	for (int i = 0; i < 4; i++) {
		ck_assert_int_eq(psg_future_poll(futures[i]), PSG_FUTURE_DONE);
		psg_future_release(futures[i]);
	}
	t_let_go(&hold);
	still_reads();
}
END_TEST

/* The child has none of the threads: it is told so, and can leave. */
START_TEST(forked)
{
	int result = 0;
	pid_t child = fork();

	ck_assert_int_ge(child, 0);
	if (child == 0) {
		psg_future *future;
		psg_status status =
			psg_ocr_submit(ocr, file.data, file.size, 0, NULL, &future, NULL);

		psg_ocr_close(ocr);
		_exit(status == PSG_FORKED ? 0 : 1);
	}
	ck_assert_int_eq(waitpid(child, &result, 0), child);
	ck_assert(WIFEXITED(result) && WEXITSTATUS(result) == 0);
	still_reads();
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("ends of pages");
	TCase *pages = tcase_create("pages");

	tcase_add_checked_fixture(pages, set_up, tear_down);
	tcase_set_timeout(pages, 600);
	tcase_add_loop_test(pages, cancel_waiting, 0, 3);
	tcase_add_test(pages, cancel_any_time);
	tcase_add_test(pages, abandon);
	tcase_add_test(pages, deadline);
	tcase_add_test(pages, deadline_while_waiting);
	tcase_add_test(pages, full);
	tcase_add_test(pages, full_by_default);
	tcase_add_test(pages, room_when_told);
	tcase_add_test(pages, slot_held_by_a_callback);
	tcase_add_test(pages, urgent_first);
	tcase_add_loop_test(pages, close_with_pages, 0, 6);
	tcase_add_test(pages, close_ends_submitting);
	tcase_add_test(pages, forked);
	suite_add_tcase(s, pages);
	return s;
}

int main(void)
{
	SRunner *runner;
	int failed;
	char path[1024];

	if (!t_model_path("ppocr_keys_v1.txt", path, sizeof(path)))
		return 77;
	runner = srunner_create(suite());
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? 0 : 1;
}
