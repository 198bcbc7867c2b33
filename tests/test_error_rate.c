/* SPDX-License-Identifier: Apache-2.0 */
/* The error rate of texts whose distance is known. */
#include "config.h"

#include "error_rate.h"

#include <check.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct {
	const char *truth, *read;
	double without, with; /* percent, spaces ignored and counted */
} cases[] = {
	{ "", "", 0, 0 },
	{ "abcd", "abcd", 0, 0 },
	{ "abcd", "", 100, 100 },
	{ "", "abc", 300, 300 },
	{ "abcd", "abxd", 25, 25 },
	{ "abcd", "acd", 25, 25 },
	{ "abcd", "abxcd", 25, 25 },
	{ "abcd", "badc", 75, 75 },      /* drop b, keep a, put b, swap the rest for one */
	{ "kitten", "sitting", 50, 50 }, /* the textbook's 3 */
	{ "ab cd", "abcd", 0, 20 },
	{ "ab cd", "ab\n\tcd\n", 0, 0 },
	{ " ab ", "ab", 0, 0 },
	{ "a b", "b a", 100, 200.0 / 3 },
	{ "first line\nsecond line", "second line\nfirst line", 1200.0 / 19, 1200.0 / 22 },
	{ "\xe5\xad\x97\xe5\xad\x97", "\xe5\xad\x97x", 50, 50 }, /* code points, not bytes */
	{ "\xe5\xad\x97\xe3\x80\x80x", "\xe5\xad\x97 x", 0, 0 }, /* the wide space too */
	{ "ab", "a\xff", 50, 50 },
	{ "a\xc3\xa9", "a\xc3", 50, 50 },
	{ "\xf0\x9f\x98\x80", "\xf0\x9f\x98\x81", 100, 100 },
};

START_TEST(known)
{
	double without, with;

	ck_assert(t_error_rate(cases[_i].truth, cases[_i].read, false, &without));
	ck_assert(t_error_rate(cases[_i].truth, cases[_i].read, true, &with));
	ck_assert_double_eq_tol(without, cases[_i].without, 1e-9);
	ck_assert_double_eq_tol(with, cases[_i].with, 1e-9);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("error rate");
	TCase *all = tcase_create("known distances");
	SRunner *runner;
	int failed;

	tcase_add_loop_test(all, known, 0, COUNT(cases));
	suite_add_tcase(suite, all);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? 0 : 1;
}
