/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The jobs room in every order of a few threads' steps (schedules/explore.h): each scenario of the
 * tables, in all schedules; and mutants, steps that are left out or made wrong, each of which must
 * be found.  Instrumented builds leave out the largest scenarios.  PSG_SCENARIO names one to
 * explore alone; PSG_SCHEDULE, as a failure prints it, runs one schedule again and shows its steps.
 */
#include "tests/schedules/scenarios.h"

#include "tests/instrumented.h"

#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const t_table *const tables[] = { &t_futures, &t_lanes,  &t_workers, &t_stalls,
					 &t_fleets,  &t_shared, &t_batches };
#define TABLES (sizeof(tables) / sizeof(tables[0]))

static void explore_row(const t_row *row)
{
	t_result right = t_explore(&row->scenario, NULL);

	(void)printf("%-24s %9" PRIu64 " schedules, %9" PRIu64 " cut short, up to %d steps\n",
		     row->scenario.name, right.schedules, right.pruned, right.steps);
	(void)fflush(stdout);
	ck_assert_msg(!right.failed, "%s", row->scenario.name);
	if (row->leaves && T_INSTRUMENTED)
		return;
	for (const t_mutant *mutant = row->mutants; mutant->function != NULL; mutant++) {
		t_result wrong = t_explore(&row->scenario, mutant);

		(void)printf("  %s: %s: %s after %" PRIu64 "\n", mutant->function, mutant->what,
			     wrong.failed ? "found" : "NOT FOUND", wrong.schedules + wrong.pruned);
		(void)fflush(stdout);
		ck_assert_msg(wrong.failed, "%s does not find what is wrong in %s: %s",
			      row->scenario.name, mutant->function, mutant->what);
	}
}

static bool is_wanted(const char *name)
{
	const char *only = getenv("PSG_SCENARIO");

	return only == NULL || only[0] == '\0' || strcmp(only, name) == 0;
}

START_TEST(every_schedule)
{
	const t_table *table = tables[_i];

	for (size_t i = 0; i < table->n; i++)
		if (is_wanted(table->rows[i].scenario.name) &&
		    !(table->rows[i].large && T_INSTRUMENTED))
			explore_row(&table->rows[i]);
}
END_TEST

START_TEST(the_checker_itself)
{
	if (is_wanted("checker"))
		t_check_checker();
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("schedules");
	TCase *all = tcase_create("schedules");
	SRunner *runner;
	int failed;

	tcase_add_test(all, the_checker_itself);
	tcase_add_loop_test(all, every_schedule, 0, (int)TABLES);
	tcase_set_timeout(all, 600);
	suite_add_tcase(suite, all);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
