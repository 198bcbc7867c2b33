/* SPDX-License-Identifier: Apache-2.0 */
/* Status codes, messages, the log, the clock and checked arithmetic. */
#include "config.h"

#include "base/base.h"
#include "base/checked.h"
#include "base/recent.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Values are ABI: a changed one breaks every caller that was compiled before. */
START_TEST(status_values)
{
	static const struct {
		psg_status status;
		int value;
		const char *name;
	} rows[] = {
		{ PSG_OK, 0, "OK" },
		{ PSG_INVALID, 1, "INVALID" },
		{ PSG_NOMEM, 2, "NOMEM" },
		{ PSG_OOM, 3, "OOM" },
		{ PSG_NO_DEVICE, 4, "NO_DEVICE" },
		{ PSG_DISABLED, 5, "DISABLED" },
		{ PSG_TOO_OLD, 6, "TOO_OLD" },
		{ PSG_DRIVER, 7, "DRIVER" },
		{ PSG_JIT, 8, "JIT" },
		{ PSG_LAUNCH, 9, "LAUNCH" },
		{ PSG_DEVICE_LOST, 10, "DEVICE_LOST" },
		{ PSG_TIMED_OUT, 11, "TIMED_OUT" },
		{ PSG_CANCELLED, 12, "CANCELLED" },
		{ PSG_FULL, 13, "FULL" },
		{ PSG_SHUTDOWN, 14, "SHUTDOWN" },
		{ PSG_FORMAT, 15, "FORMAT" },
		{ PSG_UNSUPPORTED, 16, "UNSUPPORTED" },
		{ PSG_FORKED, 17, "FORKED" },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		ck_assert_int_eq((int)rows[i].status, rows[i].value);
		ck_assert_str_eq(psg_status_name(rows[i].status), rows[i].name);
		ck_assert_uint_gt(strlen(psg_status_text(rows[i].status)), 5);
	}
	ck_assert_str_eq(psg_status_text(PSG_OK), "no error");
	ck_assert_str_eq(psg_status_name((psg_status)19), "UNKNOWN");
	ck_assert_str_eq(psg_status_name((psg_status)-1), "UNKNOWN");
	ck_assert_str_eq(psg_status_text((psg_status)99), "unknown status");
}
END_TEST

START_TEST(fail_fills)
{
	psg_error error = PSG_ERROR_INIT;
	char text[2 * PSG_ERROR_MESSAGE_SIZE];

	ck_assert_int_eq(psgi_fail(&error, PSG_FORMAT, "%s: %d", "page", 7), PSG_FORMAT);
	ck_assert_int_eq(error.code, PSG_FORMAT);
	ck_assert_str_eq(error.message, "page: 7");
	ck_assert_int_eq(psgi_fail(NULL, PSG_FULL, "nobody asks"), PSG_FULL);
	/* Too long a message is cut, never run over. */
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	ck_assert_int_eq(psgi_fail(&error, PSG_JIT, "%s", text), PSG_JIT);
	ck_assert_uint_eq(strlen(error.message), PSG_ERROR_MESSAGE_SIZE - 1);
}
END_TEST

START_TEST(prefixes)
{
	psg_error error = PSG_ERROR_INIT;
	char text[PSG_ERROR_MESSAGE_SIZE];

	psgi_fail(&error, PSG_INVALID, "rank %d", 7);
	psgi_error_prefix(&error, "input %d", 2);
	psgi_error_prefix(&error, "%s", "conv");
	ck_assert_str_eq(error.message, "conv: input 2: rank 7");
	ck_assert_int_eq(error.code, PSG_INVALID);
	psgi_error_prefix(NULL, "nothing");
	/* The tag of OOM stays in front. */
	(void)psgi_fail(&error, PSG_OOM, PSG_OOM_TAG ": 5 bytes");
	psgi_error_prefix(&error, "cuda:0");
	psgi_error_prefix(&error, "conv");
	ck_assert_str_eq(error.message, PSG_OOM_TAG ": conv: cuda:0: 5 bytes");
	/* A full message keeps its beginning, and its terminator. */
	memset(text, 'y', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	psgi_fail(&error, PSG_INVALID, "%s", text);
	psgi_error_prefix(&error, "here");
	ck_assert_uint_eq(strlen(error.message), PSG_ERROR_MESSAGE_SIZE - 1);
	ck_assert_int_eq(strncmp(error.message, "here: yyy", 9), 0);
	/* And a prefix that is too long is cut itself. */
	psgi_fail(&error, PSG_INVALID, "end");
	psgi_error_prefix(&error, "%s", text);
	ck_assert_uint_eq(strlen(error.message), 255 + strlen(": end"));
}
END_TEST

START_TEST(messages_are_printable)
{
	psg_error error = PSG_ERROR_INIT;

	/* An escape sequence, a line that is not ours, a control character of UTF-8; an accent
	 * stays. */
	psgi_fail(&error, PSG_FORMAT, "'%s'", "a\033[2Jb\x7f\nERROR:\tc\r\xc2\x9b\xc3\xa9\xc2\xa0");
	ck_assert_str_eq(error.message, "'a?[2Jb? ERROR: c ??\xc3\xa9\xc2\xa0'");
	psgi_fail(&error, PSG_FORMAT, "end");
	psgi_error_prefix(&error, "%s", "\001\002");
	ck_assert_str_eq(error.message, "??: end");
}
END_TEST

START_TEST(oom_is_told)
{
	psg_error error = PSG_ERROR_INIT;

	ck_assert(!psg_error_is_oom(NULL));
	ck_assert(!psg_error_is_oom(&error));
	psgi_fail(&error, PSG_NOMEM, "host");
	ck_assert(!psg_error_is_oom(&error));
	psgi_fail(&error, PSG_OOM, PSG_OOM_TAG ": 12 MiB wanted");
	ck_assert(psg_error_is_oom(&error));
	ck_assert_int_eq(strncmp(error.message, "out of GPU memory", 17), 0);
}
END_TEST

START_TEST(clock_runs_forward)
{
	int64_t before = psg_now_ns(), after = psg_now_ns();

	ck_assert_int_gt(before, 0);
	ck_assert_int_ge(after, before);
	ck_assert_int_eq(PSG_SECOND, 1000 * PSG_MILLISECOND);
}
END_TEST

/* Also across sleeps, where the processor's counter may have stood still. */
START_TEST(recent_time_is_recent)
{
	psgi_recent never = { 0 }, recent;
	int64_t last = 0;

	psgi_recent_init(&recent);
	for (int i = 0; i < 200000; i++) {
		int64_t before = psg_now_ns(), is = psgi_recent_ns(&recent);

		ck_assert_int_ge(is, before - PSG_SECOND / 1000000);
		ck_assert_int_le(is, psg_now_ns());
		ck_assert_int_ge(is, last);
		last = is;
		if (i % 1000 == 0)
			ck_assert_int_eq(usleep(100), 0);
	}
	last = psg_now_ns();
	ck_assert_int_ge(psgi_recent_ns(&never), last);
}
END_TEST

typedef struct heard {
	int n;
	psg_log_level level;
	char text[64];
} heard;

static void hear(void *user, psg_log_level level, const char *message)
{
	heard *h = user;

	h->n++;
	h->level = level;
	(void)snprintf(h->text, sizeof(h->text), "%s", message);
}

START_TEST(log_levels)
{
	heard first = { 0 }, second = { 0 };

	ck_assert(!psgi_log_enabled(PSG_LOG_ERROR)); /* silent by default */
	psgi_log(PSG_LOG_ERROR, "into the void");
	psg_log_set(hear, &first, PSG_LOG_INFO);
	ck_assert(psgi_log_enabled(PSG_LOG_INFO));
	ck_assert(!psgi_log_enabled(PSG_LOG_DEBUG));
	psgi_log(PSG_LOG_DEBUG, "too fine");
	ck_assert_int_eq(first.n, 0);
	psgi_log(PSG_LOG_WARNING, "line %d", 3);
	ck_assert_int_eq(first.n, 1);
	ck_assert_int_eq(first.level, PSG_LOG_WARNING);
	ck_assert_str_eq(first.text, "line 3");
	psg_log_set(hear, &second, PSG_LOG_ERROR);
	psgi_log(PSG_LOG_ERROR, "moved");
	ck_assert_int_eq(first.n, 1);
	ck_assert_int_eq(second.n, 1);
	psg_log_set(NULL, NULL, PSG_LOG_DEBUG);
	ck_assert(!psgi_log_enabled(PSG_LOG_ERROR));
	psgi_log(PSG_LOG_ERROR, "silence");
	ck_assert_int_eq(second.n, 1);
}
END_TEST

START_TEST(version)
{
	ck_assert_str_eq(psg_version(), PACKAGE_VERSION);
}
END_TEST

START_TEST(checked_arithmetic)
{
	size_t size = 0;
	int64_t wide = 0;

	ck_assert(psgi_mul_size(3, 5, &size) && size == 15);
	ck_assert(psgi_mul_size(SIZE_MAX, 1, &size) && size == SIZE_MAX);
	ck_assert(!psgi_mul_size(SIZE_MAX / 2 + 1, 2, &size));
	ck_assert(psgi_add_size(SIZE_MAX - 1, 1, &size) && size == SIZE_MAX);
	ck_assert(!psgi_add_size(SIZE_MAX, 1, &size));
	ck_assert(psgi_mul_i64(-3, 5, &wide) && wide == -15);
	ck_assert(!psgi_mul_i64(INT64_MIN, -1, &wide));
	ck_assert(!psgi_mul_i64(INT64_C(1) << 32, INT64_C(1) << 31, &wide));
	ck_assert_int_eq(psgi_mul_most(3, 5), 15);
	ck_assert(psgi_mul_most(INT64_C(1) << 32, INT64_C(1) << 31) == INT64_MAX);
	ck_assert_int_eq(psgi_add_most(3, 5), 8);
	ck_assert(psgi_add_most(INT64_MAX, 1) == INT64_MAX);
	ck_assert(psgi_add_i64(INT64_MAX, INT64_MIN, &wide) && wide == -1);
	ck_assert(!psgi_add_i64(INT64_MAX, 1, &wide));
	ck_assert(!psgi_add_i64(INT64_MIN, -1, &wide));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("base");
	TCase *cases = tcase_create("base");
	SRunner *runner;
	int failed;

	tcase_add_test(cases, status_values);
	tcase_add_test(cases, fail_fills);
	tcase_add_test(cases, prefixes);
	tcase_add_test(cases, messages_are_printable);
	tcase_add_test(cases, oom_is_told);
	tcase_add_test(cases, clock_runs_forward);
	tcase_add_test(cases, recent_time_is_recent);
	tcase_add_test(cases, log_levels);
	tcase_add_test(cases, version);
	tcase_add_test(cases, checked_arithmetic);
	suite_add_tcase(suite, cases);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
