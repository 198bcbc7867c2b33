/* SPDX-License-Identifier: Apache-2.0 */
/* The fit of what batches take, on times that are made up. */
#include "config.h"

#include "jobs/fit.h"
#include "jobs_util.h"

/* Widths and numbers of samples as a page's lines have them. */
static int64_t columns_of(int i)
{
	static const int64_t widths[] = { 320, 160, 640, 96, 480, 1280, 320 };
	static const int64_t samples[] = { 1, 4, 2, 8, 1, 16, 64, 3 };

	return widths[i % 7] * samples[i % 8];
}

/* From -0.5 to 0.5, the same each time. */
static double noise(int i)
{
	return (double)((uint32_t)(i + 1) * 2654435761U) / 4294967296.0 - 0.5;
}

static int64_t took(double base_ns, double column_ns, int64_t columns)
{
	return (int64_t)(base_ns + column_ns * (double)columns);
}

static void near(double value, double want, double part)
{
	ck_assert_double_ge(value, want * (1 - part));
	ck_assert_double_le(value, want * (1 + part));
}

static const struct truth {
	double base_ns, column_ns, noise;
	double base_part, column_part; /* how near the fit must come */
} truths[] = {
	{ 3e6, 300, 0, 0.001, 0.001 }, { 3e6, 300, 0.2, 0.15, 0.15 }, { 0, 100e3, 0, 0, 0.001 },
	{ 20e3, 1, 0, 0.001, 0.001 },  { 5e9, 7e6, 0.1, 0.1, 0.1 },
};

START_TEST(finds_what_is_so)
{
	const struct truth *truth = &truths[_i];
	psgi_fit fit = { 0 };

	for (int i = 0; i < 200; i++) {
		int64_t columns = columns_of(i);
		double ns = truth->base_ns + truth->column_ns * (double)columns;

		psgi_fit_note(&fit, columns, (int64_t)(ns * (1 + truth->noise * noise(i))));
	}
	ck_assert(fit.known);
	ck_assert_uint_eq(fit.n, 200);
	near(fit.column_ns, truth->column_ns, truth->column_part);
	if (truth->base_ns > 0)
		near(fit.base_ns, truth->base_ns, truth->base_part);
	else
		ck_assert_double_le(fit.base_ns, 0.01 * truth->column_ns * 96);
}
END_TEST

START_TEST(nothing_is_known_at_first)
{
	psgi_fit fit = { 0 };

	ck_assert_double_eq(psgi_fit_ns(&fit, 1000), 0);
	psgi_fit_note(&fit, 0, 5);
	psgi_fit_note(&fit, 5, 0);
	psgi_fit_note(&fit, -1, -1);
	ck_assert_uint_eq(fit.n, 0);
	ck_assert(!fit.known);
}
END_TEST

/* One size does not tell the two parts apart, but their sum. */
START_TEST(one_size)
{
	psgi_fit fit = { 0 };

	for (int i = 0; i < 50; i++)
		psgi_fit_note(&fit, 320, i % 2 == 0 ? 1000000 : 1010000);
	ck_assert(!fit.known);
	near(psgi_fit_ns(&fit, 320), 1.005e6, 0.01);
	psgi_fit_note(&fit, 640, 1200000);
	ck_assert(fit.known);
	near(psgi_fit_ns(&fit, 320), 1.005e6, 0.02);
	near(psgi_fit_ns(&fit, 640), 1.2e6, 0.02);
}
END_TEST

/* What was known of the parts stays when one size alone comes; then both follow what it takes. */
START_TEST(one_size_after_many)
{
	psgi_fit fit = { 0 };

	for (int i = 0; i < 100; i++)
		psgi_fit_note(&fit, columns_of(i), took(2e6, 500, columns_of(i)));
	for (int i = 0; i < 1000; i++)
		psgi_fit_note(&fit, 320, took(2e6, 500, 320));
	ck_assert(fit.known);
	near(fit.base_ns, 2e6, 0.01);
	near(fit.column_ns, 500, 0.01);
	for (int i = 0; i < 1000; i++)
		psgi_fit_note(&fit, 320, 2 * took(2e6, 500, 320));
	near(fit.base_ns, 4e6, 0.01);
	near(fit.column_ns, 1000, 0.01);
}
END_TEST

/* A run that compiled first, or that somebody held up. */
START_TEST(what_is_held_up_counts_little)
{
	psgi_fit fit = { 0 };

	psgi_fit_note(&fit, 320, 20 * PSG_SECOND);
	for (int i = 0; i < 20; i++) {
		int64_t ns = took(2e6, 500, columns_of(i));

		psgi_fit_note(&fit, columns_of(i), i == 10 ? 50 * ns : ns);
	}
	near(fit.base_ns, 2e6, 0.05);
	near(fit.column_ns, 500, 0.05);
}
END_TEST

/* A card that becomes slower, or faster, is followed. */
START_TEST(follows_a_change)
{
	static const double factors[] = { 0.1, 0.5, 2, 10 };
	psgi_fit fit = { 0 };

	for (int i = 0; i < 100; i++)
		psgi_fit_note(&fit, columns_of(i), took(2e6, 500, columns_of(i)));
	for (int i = 0; i < 400; i++)
		psgi_fit_note(&fit, columns_of(i),
			      took(2e6 * factors[_i], 500 * factors[_i], columns_of(i)));
	near(fit.base_ns, 2e6 * factors[_i], 0.02);
	near(fit.column_ns, 500 * factors[_i], 0.02);
}
END_TEST

/* Times that no base or no column explains stay at what makes sense. */
START_TEST(stays_sensible)
{
	psgi_fit fit = { 0 };

	for (int i = 0; i < 100; i++) { /* as the square */
		double columns = (double)columns_of(i);

		psgi_fit_note(&fit, columns_of(i), (int64_t)(columns * columns));
		ck_assert_double_ge(fit.base_ns, 0);
		ck_assert_double_gt(fit.column_ns, 0);
	}
	ck_assert_double_eq(fit.base_ns, 0);
	fit = (psgi_fit){ 0 };
	for (int i = 0; i < 100; i++) { /* larger ones sooner */
		psgi_fit_note(&fit, columns_of(i), (int64_t)(1e12 / (double)columns_of(i)));
		ck_assert_double_ge(fit.base_ns, 0);
		ck_assert_double_gt(fit.column_ns, 0);
	}
	fit = (psgi_fit){ 0 };
	psgi_fit_note(&fit, INT64_MAX, 1);
	psgi_fit_note(&fit, 1, INT64_MAX);
	ck_assert_double_ge(psgi_fit_ns(&fit, INT64_MAX), 0);
	ck_assert_double_gt(fit.column_ns, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("fit");
	TCase *all = tcase_create("fit");
	SRunner *runner;
	int failed;

	tcase_add_loop_test(all, finds_what_is_so, 0, (int)T_COUNT(truths));
	tcase_add_test(all, nothing_is_known_at_first);
	tcase_add_test(all, one_size);
	tcase_add_test(all, one_size_after_many);
	tcase_add_test(all, what_is_held_up_counts_little);
	tcase_add_loop_test(all, follows_a_change, 0, 4);
	tcase_add_test(all, stays_sensible);
	suite_add_tcase(suite, all);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
