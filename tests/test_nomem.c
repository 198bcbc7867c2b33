/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory that runs out anywhere on a page's way, when an engine opens, and when
 * a worker does.  What fails must say NOMEM, what does not must be right, and
 * the next page is read as ever.  (That nothing is lost: run it in asan/.)
 *
 * With tiny models each allocation fails once; the real ones take thousands,
 * of which some do.
 */
#include "config.h"

#include "engine_util.h"
#include "nomem.h"
#include "tiny_models.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>

/* Failures to try with the real models; chosen for a few seconds, under ThreadSanitizer for less
 * than a minute.  */
#if defined(__SANITIZE_THREAD__)
#define SOME 4
#else
#define SOME 40
#endif

static char folder[] = "test_nomem.XXXXXX";
static psg_ocr_options options;
static long most; /* failures to try */
static psg_worker *worker;
static psg_ocr *ocr;
static t_file file;
static char text[64]; /* its first line */

/* What a page came to while an allocation failed. */
struct outcome {
	psg_status status;
	psg_error error;
	long calls, refused;
	char text[64]; /* of its first line, when it ended well */
};

static struct outcome read_failing(t_file page, long n, bool from_then_on)
{
	struct outcome outcome = { .error = PSG_ERROR_INIT };
	psg_future *future = NULL;
	const psg_page *read = NULL;

	t_nomem_arm(n, from_then_on);
	outcome.status =
		psg_ocr_submit(ocr, page.data, page.size, 0, NULL, &future, &outcome.error);
	if (outcome.status == PSG_OK) {
		(void)psg_future_wait(future);
		outcome.status = psg_ocr_page(future, &read, &outcome.error);
	}
	t_nomem_disarm();
	outcome.calls = atomic_load(&t_nomem_calls);
	outcome.refused = atomic_load(&t_nomem_refused);
	if (outcome.status == PSG_OK && read->n_lines > 0)
		(void)snprintf(outcome.text, sizeof(outcome.text), "%s", read->lines[0].text);
	psg_future_release(future);
	return outcome;
}

/* With all the memory it wants. */
static struct outcome read_well(t_file page)
{
	struct outcome outcome = read_failing(page, -1, false);

	ck_assert_msg(outcome.status == PSG_OK, "%s", outcome.error.message);
	return outcome;
}

static void still_reads(void)
{
	ck_assert_str_eq(read_well(file).text, text);
}

/* The message is the status' own when there was no memory for more. */
static void check_nomem(psg_status status, const psg_error *error, long n)
{
	ck_assert_msg(status == PSG_NOMEM && error->code == PSG_NOMEM &&
			      (strstr(error->message, "memory") != NULL ||
			       strstr(error->message, "thread") != NULL),
		      "allocation %ld: %s, %s", n, psg_status_name(status), error->message);
}

static void check_outcome(const struct outcome *outcome, long n, const char *right)
{
	if (outcome->status != PSG_OK)
		check_nomem(outcome->status, &outcome->error, n);
	else
		ck_assert_str_eq(outcome->text, right);
}

/* From one allocation that fails to the next. */
static long step(long calls)
{
	return calls > most ? calls / most : 1;
}

/* --- with and without the real models --- */

static void set_up(void)
{
	worker = t_worker(0);
	ocr = t_engine(&worker, 1, &options);
	(void)snprintf(text, sizeof(text), "%s", read_well(file).text);
	ck_assert_uint_gt(strlen(text), 0);
}

static void set_up_tiny(void)
{
	most = LONG_MAX;
	t_tiny_models(folder);
	options = (psg_ocr_options){ .models_dir = folder, .unclip = T_TINY_UNCLIP };
	file.data = t_tiny_page(0, &file.size); /* with a line on its head */
	set_up();
}

static void set_up_real(void)
{
	most = SOME;
	options = (psg_ocr_options){ 0 };
	file = t_text_page("READ 42");
	set_up();
}

static void tear_down(void)
{
	t_nomem_disarm();
	psg_ocr_close(ocr);
	psg_worker_close(worker);
	free(file.data);
}

static void tear_down_tiny(void)
{
	tear_down();
	t_tiny_models_remove(folder);
}

/* --- pages --- */

/* A page of a kind that was read before: all its plans are there. */
START_TEST(a_page)
{
	long n = 0, failed = 0;
	struct outcome outcome;

	do {
		outcome = read_failing(file, n, _i == 1);
		check_outcome(&outcome, n, text);
		failed += outcome.status == PSG_NOMEM;
		n++;
	} while (outcome.refused > 0);
	ck_assert_int_gt(failed, 20);
	still_reads();
}
END_TEST

/* The first page of a worker. */
START_TEST(a_first_page)
{
	psg_worker *known = worker;
	psg_ocr *known_ocr = ocr;
	long n = 0, failed = 0;
	struct outcome outcome;

	do {
		worker = t_worker(0);
		ocr = t_engine(&worker, 1, &options);
		outcome = read_failing(file, n, _i == 1);
		check_outcome(&outcome, n, text);
		failed += outcome.status == PSG_NOMEM;
		n++;
		still_reads();
		psg_ocr_close(ocr);
		psg_worker_close(worker);
	} while (outcome.refused > 0);
	ck_assert_int_gt(failed, 50);
	worker = known;
	ocr = known_ocr;
}
END_TEST

/* The page with a margin at its right and below; the `k`-th size that needs another plan. */
static t_file other_size(int k)
{
	int right = 32 * (1 + k % 20), below = 32 * (k / 20), width, height, at;
	t_file page = { 0 };
	size_t size;

	ck_assert_int_eq(sscanf((const char *)file.data, "P5 %d %d 255%n", &width, &height, &at),
			 2);
	size = (size_t)(width + right) * (size_t)(height + below);
	page.data = malloc(32 + size);
	ck_assert_ptr_nonnull(page.data);
	page.size = (size_t)snprintf((char *)page.data, 32, "P5 %d %d 255\n", width + right,
				     height + below);
	memset(page.data + page.size, 255, size);
	for (int y = 0; y < height; y++)
		memcpy(page.data + page.size + (size_t)y * (size_t)(width + right),
		       file.data + at + 1 + (size_t)y * (size_t)width, (size_t)width);
	page.size += size;
	return page;
}

/* What reading the `k`-th size comes to, and what it is when all is well. */
static struct outcome read_other(int k, long n, bool from_then_on)
{
	t_file page = other_size(k);
	struct outcome outcome = read_failing(page, n, from_then_on);

	check_outcome(&outcome, n, read_well(page).text);
	free(page.data);
	return outcome;
}

/* A page whose detection plan has to be made. */
START_TEST(a_page_of_a_new_size)
{
	long calls, failed = 0;

	(void)read_other(0, -1, false);
	calls = read_other(1, -1, false).calls;
	for (int i = 0; i < SOME; i++)
		failed += read_other(2 + i, i * step(calls), _i == 1).status == PSG_NOMEM;
	ck_assert_int_gt(failed, SOME / 4);
	still_reads();
}
END_TEST

/* --- opening --- */

START_TEST(opening_an_engine)
{
	long n, calls, failed = 0;
	psg_ocr *other;

	t_nomem_arm(-1, false);
	ck_assert_int_eq(psg_ocr_open(&worker, 1, &options, &other, NULL), PSG_OK);
	calls = atomic_load(&t_nomem_calls);
	psg_ocr_close(other);
	for (n = 0; n < calls; n += step(calls)) {
		psg_error error = PSG_ERROR_INIT;
		psg_status status;

		t_nomem_arm(n, _i == 1);
		status = psg_ocr_open(&worker, 1, &options, &other, &error);
		t_nomem_disarm();
		if (status == PSG_OK) { /* it could do without, or its threads came to fewer */
			psg_ocr_close(other);
			continue;
		}
		check_nomem(status, &error, n);
		ck_assert_ptr_null(other);
		failed++;
	}
	ck_assert_int_ge(failed, SOME / 2);
	still_reads();
}
END_TEST

START_TEST(opening_a_worker)
{
	long n = 0, refused;

	do {
		psg_error error = PSG_ERROR_INIT;
		psg_worker *other;
		psg_status status;

		t_nomem_arm(n, _i == 1);
		status = psg_worker_open(T_DEVICE, NULL, &other, &error);
		t_nomem_disarm();
		refused = atomic_load(&t_nomem_refused);
		if (status == PSG_OK)
			psg_worker_close(other);
		else
			check_nomem(status, &error, n);
		n++;
	} while (refused > 0);
	ck_assert_int_gt(n, 2);
}
END_TEST

/* In each loop, 0: one allocation fails; 1: and all that follow. */
static Suite *suite(bool real)
{
	Suite *s = suite_create("no memory");
	TCase *tiny = tcase_create("tiny models"), *all = tcase_create("real models");

	tcase_add_checked_fixture(tiny, set_up_tiny, tear_down_tiny);
	tcase_set_timeout(tiny, 600);
	tcase_add_loop_test(tiny, a_page, 0, 2);
	tcase_add_loop_test(tiny, a_first_page, 0, 2);
	tcase_add_loop_test(tiny, opening_an_engine, 0, 2);
	tcase_add_loop_test(tiny, opening_a_worker, 0, 2);
	suite_add_tcase(s, tiny);
	tcase_add_checked_fixture(all, set_up_real, tear_down);
	tcase_set_timeout(all, 600);
	if (real) {
		tcase_add_loop_test(all, a_page, 0, 2);
		tcase_add_loop_test(all, a_page_of_a_new_size, 0, 2);
		tcase_add_loop_test(all, opening_an_engine, 0, 2);
	}
	suite_add_tcase(s, all);
	return s;
}

int main(void)
{
	SRunner *runner;
	int failed;
	char path[1024];

	runner = srunner_create(suite(t_model_path("ppocr_keys_v1.txt", path, sizeof(path))));
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? 0 : 1;
}
