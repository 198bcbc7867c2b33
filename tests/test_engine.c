/* SPDX-License-Identifier: Apache-2.0 */
/* Pages through the engine: what they give, that nothing changes it, and what is refused. */
#include "config.h"

#include "engine_util.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static psg_worker *worker;
static psg_ocr *ocr;

static void open_engine(const psg_ocr_options *options)
{
	worker = t_worker(0);
	ocr = t_engine(&worker, 1, options);
}

static void set_up(void)
{
	open_engine(NULL);
}

static void tear_down(void)
{
	psg_ocr_close(ocr);
	psg_worker_close(worker);
}

/* --- what a page gives --- */

START_TEST(one_page)
{
	t_file file = t_text_page("READ 42");
	psg_future *future = t_submit(ocr, file, NULL);
	const psg_page *page = t_wait(future);
	const psg_line *line;

	free(file.data); /* a copy was taken */
	ck_assert_int_eq(page->width, (7 * 6 + 16) * 4);
	ck_assert_int_eq(page->height, (13 + 16) * 4);
	ck_assert_int_eq(page->index, 0);
	ck_assert_int_eq(page->count, 1);
	ck_assert_str_eq(page->device, psg_worker_device(worker)->name);
	ck_assert_str_eq(page->fallback, "");
	ck_assert_uint_eq(page->n_lines, 1);
	line = &page->lines[0];
	ck_assert_str_eq(line->text, "READ 42");
	ck_assert(line->confidence > 0.5F && line->confidence <= 1);
	ck_assert(line->box_score >= 0.6F && line->box_score <= 1);
	ck_assert(fabsf(line->angle) < 3);
	/* The letters lie at 32..196 x 32..60; the box is around them. */
	ck_assert(line->quad[0].x < 40 && line->quad[0].y < 40);
	ck_assert(line->quad[2].x > 188 && line->quad[2].y > 52);
	ck_assert(page->times.decode_ms > 0 && page->times.detect_ms > 0 &&
		  page->times.boxes_ms > 0 && page->times.direction_ms > 0 &&
		  page->times.recognise_ms > 0);
	ck_assert(page->times.total_ms >= page->times.decode_ms + page->times.detect_ms +
						  page->times.boxes_ms + page->times.direction_ms +
						  page->times.recognise_ms);
	psg_future_release(future);
}
END_TEST

START_TEST(blank_page)
{
	t_file file = t_text_page("   ");
	psg_future *future = t_submit(ocr, file, NULL);

	ck_assert_uint_eq(t_wait(future)->n_lines, 0);
	psg_future_release(future);
	free(file.data);
}
END_TEST

START_TEST(upside_down)
{
	const char *text = "READ THIS PAGE OUT LOUD";
	t_file upright = t_text_page(text), turned;
	psg_future *up = t_submit(ocr, upright, NULL), *down;
	const psg_page *page;

	turned.data = t_font_page(text, true, &turned.size);
	down = t_submit(ocr, turned, NULL);
	page = t_wait(down);
	ck_assert_uint_eq(page->n_lines, 1);
	ck_assert(fabsf(page->lines[0].angle) > 177);
	/* The text's top left is the page's bottom right. */
	ck_assert(page->lines[0].quad[0].x > page->lines[0].quad[1].x);
	ck_assert(page->lines[0].quad[0].y > page->lines[0].quad[3].y);
	ck_assert_uint_eq(t_wait(up)->n_lines, 1);
	ck_assert_ptr_nonnull(strstr(t_wait(up)->lines[0].text, "THIS"));
	ck_assert_ptr_nonnull(strstr(page->lines[0].text, "THIS"));
	psg_future_release(up);
	psg_future_release(down);
	free(upright.data);
	free(turned.data);
}
END_TEST

/* --- many at a time --- */

static const char *const texts[] = { "READ 42", "PAGE 1234\nTHIS LINE IS LONGER", "OUT LOUD" };

struct client {
	psg_ocr *ocr;
	const t_file *files;
	char *const *expected;
	size_t first, n, wrong;
};

/* Submits all its pages, then takes their texts. */
static void *run_client(void *argument)
{
	struct client *client = argument;
	psg_future *futures[8];

	for (size_t i = 0; i < client->n; i++)
		futures[i] = t_submit(client->ocr,
				      client->files[(client->first + i) % COUNT(texts)], NULL);
	for (size_t i = 0; i < client->n; i++) {
		char *text = t_text(futures[i]);

		client->wrong +=
			strcmp(text, client->expected[(client->first + i) % COUNT(texts)]) != 0;
		free(text);
		psg_future_release(futures[i]);
	}
	return NULL;
}

/* Eight threads with three pages each give the texts that the pages give alone. */
static void compare(psg_worker *const *workers, size_t n, int32_t host_threads)
{
	psg_ocr *engine = t_engine(workers, n, &(psg_ocr_options){ .host_threads = host_threads });
	struct client clients[8];
	pthread_t threads[COUNT(clients)];
	t_file files[COUNT(texts)];
	char *expected[COUNT(texts)];

	for (size_t i = 0; i < COUNT(texts); i++) {
		psg_future *future;

		files[i] = t_text_page(texts[i]);
		future = t_submit(engine, files[i], NULL);
		expected[i] = t_text(future);
		ck_assert_uint_gt(strlen(expected[i]), 5);
		psg_future_release(future);
	}
	for (size_t i = 0; i < COUNT(clients); i++) {
		clients[i] = (struct client){ engine, files, expected, i, 3, 0 };
		ck_assert_int_eq(pthread_create(&threads[i], NULL, run_client, &clients[i]), 0);
	}
	for (size_t i = 0; i < COUNT(clients); i++) {
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
		ck_assert_uint_eq(clients[i].wrong, 0);
	}
	psg_ocr_close(engine);
	for (size_t i = 0; i < COUNT(texts); i++) {
		free(files[i].data);
		free(expected[i]);
	}
}

START_TEST(many_threads)
{
	psg_worker *workers[2] = { t_worker(0), t_worker(0) };

	compare(workers, 2, 3);
	psg_worker_close(workers[0]);
	psg_worker_close(workers[1]);
}
END_TEST

/* Lanes of one slot: nearly every submission is refused at first.  With one host thread all pages
 * need the same slot, and what gives it back needs the thread. */
START_TEST(full_lanes)
{
	psg_worker *only = t_worker(1);
	psg_worker_stats stats;

	compare(&only, 1, _i == 0 ? 1 : 3);
	psg_worker_stats_get(only, &stats);
	ck_assert_uint_gt(stats.refused_full, 0);
	psg_worker_close(only);
}
END_TEST

/* A worker that was shut down is passed over. */
START_TEST(one_worker_down)
{
	psg_worker *workers[2] = { t_worker(0), t_worker(0) };
	psg_ocr *engine = t_engine(workers, 2, NULL);
	t_file file = t_text_page("READ 42");
	psg_future *future;
	psg_error error;

	psg_worker_abort(workers[0]);
	future = t_submit(engine, file, NULL);
	ck_assert_str_eq(t_wait(future)->lines[0].text, "READ 42");
	psg_future_release(future);
	psg_worker_abort(workers[1]);
	t_ends(t_submit(engine, file, NULL), PSG_SHUTDOWN, &error);
	psg_ocr_close(engine);
	psg_worker_close(workers[0]);
	psg_worker_close(workers[1]);
	free(file.data);
}
END_TEST

/* --- pages that cannot be read --- */

START_TEST(bad_pages)
{
	static const struct {
		const char *data;
		size_t size;
		int32_t page;
		psg_status status;
	} cases[] = {
		{ "", 0, 0, PSG_FORMAT },
		{ "plain text\n", 11, 0, PSG_FORMAT },
		{ "P5 60000 60000 255\n", 19, 0, PSG_FORMAT },
		{ "P5 4 4 255\n1234", 15, 0, PSG_FORMAT },
		{ "P5 2 2 255\n1234", 15, 1, PSG_INVALID },
		{ "P5 2 2 255\n1234", 15, -1, PSG_INVALID },
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		psg_future *future;
		psg_error error;

		ck_assert_int_eq(psg_ocr_submit(ocr, cases[i].data, cases[i].size, cases[i].page,
						NULL, &future, NULL),
				 PSG_OK);
		t_ends(future, cases[i].status, &error);
		ck_assert_msg(strncmp(error.message, "decoding: ", 10) == 0, "%s", error.message);
	}
}
END_TEST

START_TEST(refused_at_once)
{
	psg_job_options urgent = { .priority = 2 };
	psg_future *future = (psg_future *)&urgent;
	psg_error error = PSG_ERROR_INIT;

	ck_assert_int_eq(psg_ocr_submit(ocr, NULL, 4, 0, NULL, &future, &error), PSG_INVALID);
	ck_assert_ptr_null(future);
	ck_assert_int_eq(psg_ocr_submit(ocr, "P5", 2, 0, &urgent, &future, &error), PSG_INVALID);
	ck_assert_int_eq(psg_ocr_submit(ocr, "P5", 2, 0, NULL, NULL, &error), PSG_INVALID);
}
END_TEST

START_TEST(not_a_page)
{
	psg_future *future;
	const psg_page *page;
	t_hold hold;

	t_hold_up(&hold, worker);
	ck_assert_int_eq(psg_ocr_page(hold.future, &page, NULL), PSG_INVALID);
	future = psg_future_ref(hold.future);
	t_let_go(&hold);
	ck_assert_int_eq(psg_ocr_page(future, &page, NULL), PSG_INVALID);
	psg_future_release(future);
}
END_TEST

/* --- opening --- */

START_TEST(bad_options)
{
	static const psg_ocr_options bad[] = {
		{ .limit_side = 5 },         { .limit_side = -960 },
		{ .limit_side = INT32_MAX }, { .host_threads = -1 },
		{ .max_pixels = INT64_MIN }, { .unclip = -1 },
		{ .unclip = INFINITY },      { .box_score = NAN },
		{ .box_score = -0.5F },      { .box_threshold = 1e30F },
	};
	psg_ocr *none = ocr;

	for (size_t i = 0; i < COUNT(bad); i++) {
		psg_error error = PSG_ERROR_INIT;

		ck_assert_int_eq(psg_ocr_open(&worker, 1, &bad[i], &none, &error), PSG_INVALID);
		ck_assert_ptr_null(none);
		ck_assert_uint_gt(strlen(error.message), 10);
	}
	ck_assert_int_eq(psg_ocr_open(NULL, 0, NULL, &none, NULL), PSG_NO_DEVICE);
	ck_assert_int_eq(psg_ocr_open(NULL, 1, NULL, &none, NULL), PSG_INVALID);
	ck_assert_int_eq(psg_ocr_open((psg_worker *[]){ worker, NULL }, 2, NULL, &none, NULL),
			 PSG_INVALID);
	psg_ocr_close(NULL);
}
END_TEST

static const char *const names[] = { T_DET, T_REC, T_CLS, "ppocr_keys_v1.txt" };

/* A folder with links to the models, except that `file` is `as`, or missing when `as` is NULL. */
static void make_folder(char *folder, const char *file, const char *as)
{
	ck_assert_ptr_nonnull(mkdtemp(folder));
	for (size_t i = 0; i < COUNT(names); i++) {
		const char *source = strcmp(names[i], file) == 0 ? as : names[i];
		char path[1024], link[1024], *target;

		if (source == NULL)
			continue;
		ck_assert(t_model_path(source, path, sizeof(path)));
		target = realpath(path, NULL);
		ck_assert_ptr_nonnull(target);
		(void)snprintf(link, sizeof(link), "%s/%s", folder, names[i]);
		ck_assert_int_eq(symlink(target, link), 0);
		free(target);
	}
}

static void remove_folder(const char *folder)
{
	char path[1024];

	for (size_t i = 0; i < COUNT(names); i++) {
		(void)snprintf(path, sizeof(path), "%s/%s", folder, names[i]);
		(void)unlink(path);
	}
	(void)rmdir(folder);
}

/* Opening with that folder must fail so; the message has all three words. */
static void refuses(const char *folder, psg_status status, const char *a, const char *b,
		    const char *c)
{
	psg_ocr_options options = { .models_dir = folder };
	psg_error error = PSG_ERROR_INIT;
	psg_ocr *none;

	ck_assert_int_eq(psg_ocr_open(&worker, 1, &options, &none, &error), status);
	ck_assert_msg(strstr(error.message, a) != NULL && strstr(error.message, b) != NULL &&
			      strstr(error.message, c) != NULL,
		      "%s", error.message);
}

START_TEST(missing_models)
{
	refuses("/nonexistent", PSG_INVALID, "/nonexistent", T_DET, "bootstrap models");
	for (size_t i = 0; i < COUNT(names); i++) {
		char folder[] = "test_engine.XXXXXX";

		make_folder(folder, names[i], NULL);
		refuses(folder, PSG_INVALID, names[i], folder, "PAGESIFT_MODELS");
		remove_folder(folder);
	}
}
END_TEST

/* Each file of an engine is found by its number, and told when it is missing. */
START_TEST(find_files)
{
	char folder[] = "test_engine.XXXXXX";
	psg_error error = PSG_ERROR_INIT;
	char *path;

	make_folder(folder, T_REC, NULL);
	for (size_t i = 0; i < COUNT(names); i++) {
		bool there = strcmp(names[i], T_REC) != 0;
		psg_status status = psg_ocr_find(folder, (psg_ocr_file)i, &path, &error);

		ck_assert_int_eq(status, there ? PSG_OK : PSG_INVALID);
		ck_assert_ptr_nonnull(strstr(there ? path : error.message, names[i]));
		ck_assert_ptr_nonnull(strstr(there ? path : error.message, folder));
		free(path);
	}
	ck_assert_int_eq(psg_ocr_find(folder, (psg_ocr_file)COUNT(names), &path, &error),
			 PSG_INVALID);
	ck_assert_ptr_null(path);
	remove_folder(folder);
}
END_TEST

START_TEST(models_swapped)
{
	static const struct {
		const char *file, *as;
	} cases[] = {
		{ T_DET, T_CLS }, { T_REC, T_DET }, { T_CLS, T_REC }, { T_DET, "ppocr_keys_v1.txt" }
	};

	for (size_t i = 0; i < COUNT(cases); i++) {
		char folder[] = "test_engine.XXXXXX";

		make_folder(folder, cases[i].file, cases[i].as);
		refuses(folder, PSG_FORMAT, cases[i].file, "", "");
		remove_folder(folder);
	}
}
END_TEST

START_TEST(short_dictionary)
{
	char folder[] = "test_engine.XXXXXX", path[1024];
	FILE *file;

	make_folder(folder, "ppocr_keys_v1.txt", NULL);
	(void)snprintf(path, sizeof(path), "%s/ppocr_keys_v1.txt", folder);
	file = fopen(path, "wb");
	ck_assert_ptr_nonnull(file);
	(void)fputs("a\nb\nc\n", file);
	ck_assert_int_eq(fclose(file), 0);
	refuses(folder, PSG_INVALID, "ppocr_keys_v1.txt", "6625", "5");
	remove_folder(folder);
}
END_TEST

static Suite *suite(void)
{
	Suite *s = suite_create("engine");
	TCase *pages = tcase_create("pages"), *own = tcase_create("own workers");

	tcase_add_checked_fixture(pages, set_up, tear_down);
	tcase_set_timeout(pages, 600);
	tcase_add_test(pages, one_page);
	tcase_add_test(pages, blank_page);
	tcase_add_test(pages, upside_down);
	tcase_add_test(pages, bad_pages);
	tcase_add_test(pages, refused_at_once);
	tcase_add_test(pages, not_a_page);
	tcase_add_test(pages, bad_options);
	tcase_add_test(pages, missing_models);
	tcase_add_test(pages, find_files);
	tcase_add_test(pages, models_swapped);
	tcase_add_test(pages, short_dictionary);
	suite_add_tcase(s, pages);
	tcase_set_timeout(own, 600);
	tcase_add_test(own, many_threads);
	tcase_add_loop_test(own, full_lanes, 0, 2);
	tcase_add_test(own, one_worker_down);
	suite_add_tcase(s, own);
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
