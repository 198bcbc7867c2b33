/* SPDX-License-Identifier: Apache-2.0 */
/* The vote on upside-down lines: alone, among others, across, and the other way round. */
#include "config.h"

#include "ocr/direction.h"

#include <check.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define MOST_LINES 12

/* `n` lines with `angle` and `upside_down`, then those listed; `turn` is what must come out. */
static const struct {
	psgi_posture others;
	size_t n;
	psgi_posture lines[2];
} cases[] = {
	/* One line: 0.9 decides. */
	{ { 0, 0, false }, 0, { { 0, 0.89F, false } } },
	{ { 0, 0, false }, 0, { { 0, 0.91F, true } } },
	/* Unsure lines follow the page, from either side. */
	{ { 0, 0.01F, false }, 10, { { 2, 0.94F, false }, { -2, 0.5F, false } } },
	{ { 0, 0.99F, true }, 10, { { 2, 0.06F, true }, { -2, 0.5F, true } } },
	/* Sure ones do not. */
	{ { 0, 0.01F, false }, 10, { { 0, 0.999F, true }, { 0, 0.001F, false } } },
	{ { 0, 0.99F, true }, 10, { { 0, 0.001F, false }, { 0, 0.999F, true } } },
	/* Many unsure ones are sure together; two are surer than one. */
	{ { 0, 0.7F, true }, 10, { { 0, 0.6F, true }, { 0, 0.3F, true } } },
	{ { 0, 0.8F, true }, 1, { { 0, 0.8F, true }, { 90, 0, false } } },
	/* Lines across the page have their own say. */
	{ { 90, 0.99F, true }, 10, { { 0, 0.89F, false }, { 0, 0.01F, false } } },
	{ { 60, 0.99F, true }, 10, { { 0, 0.89F, false }, { 60, 0.2F, true } } },
	/* What lies the other way round: upside down there is upright here. */
	{ { 0, 0.99F, true }, 10, { { 180, 0.5F, false }, { 170, 0.06F, false } } },
	{ { 3, 0.01F, false }, 10, { { -178, 0.5F, true }, { 178, 0.001F, false } } },
	{ { 94, 0.01F, false }, 10, { { -86, 0.9F, true }, { -84, 0.2F, true } } },
	/* A circle's ends meet. */
	{ { 179, 0.01F, false }, 10, { { -179, 0.94F, false }, { -1, 0.2F, true } } },
	/* Certainty itself is not infinite. */
	{ { 0, 1, true }, 3, { { 0, 0, false }, { 0, 1, true } } },
};

START_TEST(known)
{
	psgi_posture lines[MOST_LINES];
	size_t n = cases[_i].n;

	for (size_t i = 0; i < n; i++)
		lines[i] = cases[_i].others;
	lines[n] = cases[_i].lines[0];
	lines[n + 1] = cases[_i].lines[1];
	for (size_t i = 0; i < n + 2; i++)
		lines[i].turn = i % 2 == 0;
	psgi_postures_judge(lines, cases[_i].n == 0 ? 1 : n + 2);
	for (size_t i = 0; i < n; i++)
		ck_assert_msg(lines[i].turn == cases[_i].others.turn, "line %zu", i);
	ck_assert(lines[n].turn == cases[_i].lines[0].turn);
	if (n > 0)
		ck_assert(lines[n + 1].turn == cases[_i].lines[1].turn);
}
END_TEST

START_TEST(none)
{
	psgi_postures_judge(NULL, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("direction");
	TCase *vote = tcase_create("vote");
	SRunner *runner;
	int failed;

	tcase_add_loop_test(vote, known, 0, COUNT(cases));
	tcase_add_test(vote, none);
	suite_add_tcase(suite, vote);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? 0 : 1;
}
