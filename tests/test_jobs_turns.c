/* SPDX-License-Identifier: Apache-2.0 */
/* Deficit round robin: shares of device time, debts, priorities; on a clock of our own. */
#include "config.h"

#include "jobs/turns.h"

#include <check.h>
#include <stdlib.h>

#include <pagesift/error.h>

#define MS PSG_MILLISECOND

/* One who always has a job, unless it comes back only after a pause. */
struct player {
	psgi_turn turn;
	int64_t job_ns, pause_ns;
	int64_t back_ns; /* when it has a job again */
	int64_t had_ns, longest_wait_ns;
};

static struct player *player_of(psgi_turn *turn)
{
	return (struct player *)(void *)turn; /* its first member */
}

/* Runs the device for a time. */
static void play(psgi_turns *turns, struct player *players, size_t n, int64_t until)
{
	int64_t now = 0;

	while (now < until) {
		psgi_turn *turn;
		struct player *player;

		for (size_t i = 0; i < n; i++)
			players[i].turn.waits = players[i].back_ns <= now;
		turn = psgi_turns_next(turns);
		if (turn == NULL) {
			now += MS / 10;
			continue;
		}
		player = player_of(turn);
		if (!turn->waits)
			ck_abort_msg("who does not wait is chosen");
		if (now - player->back_ns > player->longest_wait_ns)
			player->longest_wait_ns = now - player->back_ns;
		now += player->job_ns;
		player->had_ns += player->job_ns;
		player->back_ns = now + player->pause_ns;
		psgi_turns_pay(turn, player->job_ns);
	}
}

struct share_case {
	int32_t weights[3];
	int64_t job_ns[3];
	int32_t priorities[3];
};

/* Whoever has the longer jobs, and whoever goes first: everybody waits always. */
static const struct share_case share_cases[] = {
	{ { 1, 1, 1 }, { MS, MS, MS }, { 0, 0, 0 } },
	{ { 3, 1, 1 }, { 5 * MS, 5 * MS, 5 * MS }, { 0, 0, 0 } },
	{ { 3, 1, 2 }, { 50 * MS, MS / 100, 7 * MS }, { 0, 0, 0 } },
	{ { 1, 3, 10 }, { MS / 1000, 40 * MS, MS }, { 5, 0, -5 } },
	{ { 1000, 1, 1 }, { MS, 20 * MS, 20 * MS }, { 0, 1, 2 } },
};

START_TEST(time_goes_by_weight)
{
	const struct share_case *c = &share_cases[_i];
	struct player players[3] = { 0 };
	psgi_turns turns = { 0 };
	double sum = 0, total = 0;

	for (size_t i = 0; i < 3; i++) {
		players[i].turn.weight = c->weights[i];
		players[i].turn.priority = c->priorities[i];
		players[i].job_ns = c->job_ns[i];
		sum += c->weights[i];
		psgi_turns_add(&turns, &players[i].turn);
	}
	play(&turns, players, 3, 20 * PSG_SECOND);
	for (size_t i = 0; i < 3; i++)
		total += (double)players[i].had_ns;
	for (size_t i = 0; i < 3; i++) {
		double want = c->weights[i] / sum, got = (double)players[i].had_ns / total;

		ck_assert_msg(got > 0.98 * want - 0.001 && got < 1.02 * want + 0.001,
			      "%zu has %.4f of the time, not %.4f", i, got, want);
	}
}
END_TEST

/* It has one job at a time, and comes back with the next as soon as that has ended. */
START_TEST(debts_outlive_a_moment_without_jobs)
{
	struct player players[2] = {
		{ .turn = { .weight = 1 }, .job_ns = 2 * MS },
		{ .turn = { .weight = 1 }, .job_ns = 30 * MS, .pause_ns = 1 },
	};
	psgi_turns turns = { 0 };
	double share;

	psgi_turns_add(&turns, &players[0].turn);
	psgi_turns_add(&turns, &players[1].turn);
	play(&turns, players, 2, 100 * PSG_SECOND);
	share = (double)players[0].had_ns / (double)players[1].had_ns;
	ck_assert_msg(share > 0.95, "the flood has %.3f of the other's time", share);
	/* Own time, a job of the flood, and a quantum. */
	ck_assert_int_le(players[1].longest_wait_ns, 30 * MS + 2 * MS + MS);
}
END_TEST

/* Who asks for less than its share goes first as soon as the running job has ended. */
START_TEST(who_is_within_its_share_waits_for_one_job)
{
	struct player players[2] = {
		{ .turn = { .weight = 1 }, .job_ns = 5 * MS },
		{ .turn = { .weight = 1 }, .job_ns = 10 * MS, .pause_ns = 50 * MS },
	};
	psgi_turns turns = { 0 };

	psgi_turns_add(&turns, &players[0].turn);
	psgi_turns_add(&turns, &players[1].turn);
	play(&turns, players, 2, 20 * PSG_SECOND);
	ck_assert_int_le(players[1].longest_wait_ns, 5 * MS + MS);
	ck_assert_int_gt(players[1].had_ns, 3 * PSG_SECOND - 100 * MS);
}
END_TEST

START_TEST(one_alone_has_every_turn)
{
	struct player late = { .turn = { .weight = 1 }, .job_ns = MS };
	struct player alone = { .turn = { .weight = 1 }, .job_ns = MS };
	struct player both[2];
	psgi_turns turns = { 0 };

	ck_assert_ptr_null(psgi_turns_next(&turns));
	psgi_turns_add(&turns, &alone.turn);
	play(&turns, &alone, 1, 10 * PSG_SECOND);
	ck_assert_int_ge(alone.had_ns, 10 * PSG_SECOND - MS);
	/* Then a second one comes, to whom it owes nothing. */
	psgi_turns_remove(&turns, &alone.turn);
	ck_assert_ptr_null(turns.first);
	both[0] = alone;
	both[1] = late;
	both[0].had_ns = both[0].back_ns = 0;
	psgi_turns_add(&turns, &both[0].turn);
	psgi_turns_add(&turns, &both[1].turn);
	play(&turns, both, 2, PSG_SECOND);
	ck_assert_int_le(llabs(both[0].had_ns - both[1].had_ns), 3 * MS);
}
END_TEST

START_TEST(the_current_one_may_leave)
{
	struct player players[3] = { 0 };
	psgi_turns turns = { 0 };

	for (size_t i = 0; i < 3; i++) {
		players[i].turn.weight = 1;
		players[i].turn.waits = true;
		psgi_turns_add(&turns, &players[i].turn);
	}
	for (size_t left = 3; left > 0; left--) {
		psgi_turn *turn = psgi_turns_next(&turns);

		ck_assert_ptr_nonnull(turn);
		psgi_turns_remove(&turns, turn);
	}
	ck_assert_ptr_null(psgi_turns_next(&turns));
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("turns");
	TCase *all = tcase_create("turns");
	SRunner *runner;
	int failed;

	tcase_add_loop_test(all, time_goes_by_weight, 0,
			    (int)(sizeof(share_cases) / sizeof(share_cases[0])));
	tcase_add_test(all, debts_outlive_a_moment_without_jobs);
	tcase_add_test(all, who_is_within_its_share_waits_for_one_job);
	tcase_add_test(all, one_alone_has_every_turn);
	tcase_add_test(all, the_current_one_may_leave);
	suite_add_tcase(suite, all);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
