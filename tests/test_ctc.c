/* SPDX-License-Identifier: Apache-2.0 */
/* Dictionaries, CTC decoding, and the digests of a line's pieces put together. */
#include "config.h"

#include "ocr/text.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BYTES(text) text, sizeof(text) - 1

START_TEST(dictionaries)
{
	static const struct {
		const char *data;
		size_t size;
		int64_t classes; /* that the model has */
		psg_status status;
		const char *says;
	} rows[] = {
		{ BYTES("a\nb\n"), 4, PSG_OK, "" },
		{ BYTES("a\nb"), 4, PSG_OK, "" },
		{ BYTES("a\r\nb\r\n"), 4, PSG_OK, "" },
		{ BYTES("a\r\nb"), 0, PSG_OK, "" },
		{ BYTES("\xef\xbb\xbf"
			"a\nb\n"),
		  4, PSG_OK, "" },
		{ BYTES("a\nb\nc\n"), 4, PSG_INVALID,
		  "dict: 3 characters, with blank and space 5 classes, but the model has 4" },
		{ BYTES(""), 4, PSG_INVALID, "0 characters" },
		{ BYTES("a\n\nb\n"), 0, PSG_FORMAT, "line 2 is empty" },
		{ BYTES("a\n\xff\n"), 0, PSG_FORMAT, "line 2 is not UTF-8" },
		{ BYTES("a\n\xc0\x80\n"), 0, PSG_FORMAT, "line 2 is not UTF-8" },
		{ BYTES("\xed\xa0\x80\n"), 0, PSG_FORMAT, "line 1 is not UTF-8" },
		{ BYTES("\xe4\xb8"), 0, PSG_FORMAT, "line 1 is not UTF-8" },
		{ BYTES("a\0b\n"), 0, PSG_FORMAT, "line 1 is not UTF-8" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char *copy = malloc(rows[i].size + (rows[i].size == 0));
		psg_error error = PSG_ERROR_INIT;
		psgi_dictionary *d;
		psg_status status;

		ck_assert_ptr_nonnull(copy);
		memcpy(copy, rows[i].data, rows[i].size);
		status = psgi_dictionary_parse("dict", copy, rows[i].size, rows[i].classes, &d,
					       &error);
		free(copy);
		ck_assert_msg(status == rows[i].status && strstr(error.message, rows[i].says),
			      "row %zu: %s %s", i, psg_status_name(status), error.message);
		if (status == PSG_OK) {
			static const char *const want[4] = { "", "a", "b", " " };

			ck_assert_int_eq(psgi_dictionary_classes(d), 4);
			for (int k = 0; k < 4; k++)
				ck_assert_str_eq(psgi_dictionary_text(d, k), want[k]);
			ck_assert_ptr_null(psgi_dictionary_text(d, 4));
			ck_assert_ptr_null(psgi_dictionary_text(d, -1));
		} else {
			ck_assert_ptr_null(d);
		}
		psgi_dictionary_free(d);
	}
}
END_TEST

START_TEST(dictionary_files)
{
	char path[] = "test_ctc.XXXXXX";
	int fd = mkstemp(path);
	psg_error error = PSG_ERROR_INIT;
	psgi_dictionary *d;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, "x\n\xe6\xbc\xa2\n", 6), 6);
	ck_assert_int_eq(close(fd), 0);
	ck_assert_msg(psgi_dictionary_load(path, 4, &d, &error) == PSG_OK, "%s", error.message);
	ck_assert_str_eq(psgi_dictionary_text(d, 2), "\xe6\xbc\xa2");
	psgi_dictionary_free(d);
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(psgi_dictionary_load(path, 4, &d, &error), PSG_INVALID);
	ck_assert_msg(strstr(error.message, path) && strstr(error.message, "No such file"), "%s",
		      error.message);
	/* A folder opens, but does not read. */
	ck_assert_int_eq(psgi_dictionary_load(".", 4, &d, &error), PSG_INVALID);
	ck_assert_ptr_null(d);
}
END_TEST

static psgi_dictionary *letters(void)
{
	psgi_dictionary *d;

	ck_assert_int_eq(psgi_dictionary_parse("letters", BYTES("a\nb\nc\n\xe6\xbc\xa2\nxyz\n"), 7,
					       &d, NULL),
			 PSG_OK);
	return d;
}

START_TEST(ctc)
{
	static const struct {
		float digest[8][2];
		size_t steps;
		const char *text;
		double confidence;
	} rows[] = {
		{ { { 0, 1 } }, 0, "", 0 },
		{ { { 0, 0.9F }, { 0, 0.9F } }, 2, "", 0 },
		{ { { 1, 0.5F }, { 1, 0.9F }, { 2, 1 } }, 3, "ab", 0.75 },
		/* A blank between makes it two. */
		{ { { 1, 1 }, { 0, 0.1F }, { 1, 0.5F }, { 1, 0 } }, 4, "aa", 0.75 },
		{ { { 0, 1 }, { 4, 1 }, { 6, 1 }, { 5, 1 }, { 3, 0 } },
		  5,
		  "\xe6\xbc\xa2 xyzc",
		  0.75 },
		{ { { 6, 0.25F }, { 0, 1 }, { 6, 0.25F } }, 3, "  ", 0.25 },
	};
	psgi_dictionary *d = letters();

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		psg_error error = PSG_ERROR_INIT;
		float confidence;
		char *text;

		ck_assert_msg(psgi_ctc_text(rows[i].digest[0], rows[i].steps, d, &text, &confidence,
					    &error) == PSG_OK,
			      "%s", error.message);
		ck_assert_str_eq(text, rows[i].text);
		ck_assert_double_eq_tol((double)confidence, rows[i].confidence, 1e-6);
		free(text);
	}
	psgi_dictionary_free(d);
}
END_TEST

START_TEST(ctc_refuses)
{
	static const float bad[][2] = { { 7, 1 }, { -1, 1 }, { NAN, 1 }, { 1, NAN }, { 1e30F, 1 } };
	psgi_dictionary *d = letters();

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		psg_error error = PSG_ERROR_INIT;
		float confidence;
		char *text;

		ck_assert_int_eq(psgi_ctc_text(bad[i], 1, d, &text, &confidence, &error),
				 PSG_INVALID);
		ck_assert_ptr_null(text);
		ck_assert_ptr_nonnull(strstr(error.message, "7 classes"));
	}
	psgi_dictionary_free(d);
}
END_TEST

/* What a whole line of `steps` steps says at step t: a letter every five steps, for two of them. */
static float spoken(size_t t)
{
	return t % 5 < 2 ? (float)(1 + t / 5 % 3) : 0;
}

/*
 * A line cut in pieces whose digests are as the whole's, but for rubbish within `border` steps of
 * each cut, where a character is seen by half.
 */
START_TEST(pieces_join)
{
	static const int32_t offsets[] = { 0, 400, 800 };
	static const size_t steps[] = { 74, 74, 50 };
	const size_t border = (size_t)_i, total = 150;
	psgi_piece pieces[3];
	psgi_digest digests[3];
	float data[3][80][2], *joined, confidence;
	psgi_dictionary *d = letters();
	size_t n;
	char *text, want[64] = "";

	for (size_t i = 0; i < 3; i++) {
		size_t start = (size_t)offsets[i] / 8;

		pieces[i] = (psgi_piece){ NULL, offsets[i], (int32_t)steps[i] * 8 };
		digests[i] = (psgi_digest){ data[i][0], steps[i] };
		for (size_t t = 0; t < steps[i]; t++) {
			bool rubbish = (i > 0 && t < border) || (i < 2 && t + border >= steps[i]);

			data[i][t][0] = rubbish ? 5 : spoken(start + t);
			data[i][t][1] = 1;
		}
	}
	for (size_t t = 0; t < total; t += 5)
		want[t / 5] = (char)('a' + t / 5 % 3);
	ck_assert_int_eq(psgi_ctc_join(pieces, digests, 3, &joined, &n, NULL), PSG_OK);
	ck_assert_uint_eq(n, total);
	ck_assert_int_eq(psgi_ctc_text(joined, n, d, &text, &confidence, NULL), PSG_OK);
	ck_assert_str_eq(text, want);
	free(text);
	free(joined);
	psgi_dictionary_free(d);
}
END_TEST

START_TEST(join_of_one_and_none)
{
	const float data[2][2] = { { 1, 0.5F }, { 0, 1 } };
	psgi_piece piece = { NULL, 0, 16 };
	psgi_digest digest = { data[0], 2 };
	float *joined;
	size_t n;

	ck_assert_int_eq(psgi_ctc_join(&piece, &digest, 1, &joined, &n, NULL), PSG_OK);
	ck_assert_uint_eq(n, 2);
	ck_assert_mem_eq(joined, data, sizeof(data));
	free(joined);
	ck_assert_int_eq(psgi_ctc_join(NULL, NULL, 0, &joined, &n, NULL), PSG_OK);
	ck_assert_uint_eq(n, 0);
	free(joined);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ctc");
	TCase *all = tcase_create("all");
	SRunner *runner;
	int failed;

	tcase_add_test(all, dictionaries);
	tcase_add_test(all, dictionary_files);
	tcase_add_test(all, ctc);
	tcase_add_test(all, ctc_refuses);
	tcase_add_loop_test(all, pieces_join, 0, 9);
	tcase_add_test(all, join_of_one_and_none);
	suite_add_tcase(suite, all);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
