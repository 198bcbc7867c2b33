/* SPDX-License-Identifier: Apache-2.0 */
/* Which samples share a run and how long to wait for more, on made-up queues. */
#include "config.h"

#include "base/base.h"
#include "jobs/choice.h"
#include "jobs_util.h"

#include <math.h>
#include <string.h>

#define MS PSG_MILLISECOND
#define NOW (1000 * PSG_SECOND)

/* A card: 3 ms a run and 0.1 ms for a line of 320 columns. */
static psgi_terms card(void)
{
	return (psgi_terms){ .base_ns = 3e6,
			     .column_ns = 312.5,
			     .most = PSGI_BATCH_MOST,
			     .may_wait = true,
			     .max_delay_ns = PSG_SECOND,
			     .now_ns = NOW };
}

static size_t fill(psgi_candidate *candidates, const int64_t *widths)
{
	size_t n = 0;

	for (; widths[n] != 0; n++)
		candidates[n] = (psgi_candidate){ .width = widths[n],
						  .queued_ns = NOW,
						  .deadline_ns = PSGI_NEVER };
	return n;
}

/* --- sizes and memory --- */

START_TEST(twelve_sizes)
{
	size_t different = 0, last = 0;

	for (size_t n = 1; n <= PSGI_BATCH_MOST; n++) {
		size_t size = psgi_batch_size(n);

		ck_assert_uint_ge(size, n);
		ck_assert_uint_le(size, n + n / 2);
		ck_assert_uint_le(psgi_batch_floor(n), n);
		ck_assert_uint_eq(psgi_batch_floor(size), size);
		different += size != last;
		last = size;
	}
	ck_assert_uint_eq(different, 12);
	ck_assert_uint_eq(psgi_batch_floor(1), 1);
	ck_assert_uint_eq(psgi_batch_floor(47), 32);
	ck_assert_uint_eq(psgi_batch_floor(64), 64);
}
END_TEST

static const struct {
	psgi_need need;
	int64_t width;
	size_t most;
} needs[] = {
	{ { 0, 0, 0 }, 1000, PSGI_BATCH_MOST },
	{ { 320, 1000, 10000 }, 320, 10 },
	{ { 320, 1000, 10000 }, 160, 20 },
	{ { 320, 1000, 10000 }, 640, 2 },
	{ { 320, 1000, 10000 }, 3200, 1 },
	{ { 320, 1000, 500 }, 320, 1 },
	{ { 320, 1000, 0 }, 320, 1 },
	{ { 320, 1, INT64_MAX }, 320, PSGI_BATCH_MOST },
	{ { 1, INT64_MAX, INT64_MAX }, INT64_MAX, 1 },
};

START_TEST(memory_bounds_the_samples)
{
	ck_assert_uint_eq(psgi_need_most(&needs[_i].need, needs[_i].width), needs[_i].most);
}
END_TEST

/* --- who runs together --- */

static const struct {
	const char *what;
	double base_ns, column_ns;
	size_t most;
	int64_t widths[12];
	const char *chosen; /* x: with the first */
} picks[] = {
	{ "alone", 3e6, 312.5, 64, { 320 }, "x" },
	{ "equal ones", 3e6, 312.5, 64, { 320, 320, 320 }, "xxx" },
	{ "five run as six", 3e6, 312.5, 64, { 320, 320, 320, 320, 320 }, "xxxxx" },
	{ "an empty one costs more than a run",
	  1e5,
	  312.5,
	  64,
	  { 640, 640, 640, 640, 640 },
	  "xxxx." },
	{ "not more than most", 3e6, 312.5, 2, { 320, 320, 320 }, "xx." },
	{ "three at most are two", 3e6, 312.5, 1, { 320, 320 }, "x." },
	{ "padding is cheaper than a run", 3e6, 312.5, 64, { 320, 1600 }, "xx" },
	{ "padding is dearer than a run", 1e6, 3125, 64, { 320, 1600, 336, 1600 }, "x.x." },
	{ "the first one is the wide one", 1e6, 3125, 64, { 1600, 320, 336, 1584 }, "x..x" },
	{ "nothing but columns", 0, 1e5, 64, { 320, 320 }, "x." },
	{ "a base that is noise", 1e5, 1e5, 64, { 320, 320 }, "x." },
	{ "a small base pays for two", 1e6, 1e5, 64, { 320, 320, 320, 320 }, "xx.." },
	{ "the oldest of equal ones", 3e6, 312.5, 2, { 320, 160, 160, 160, 320, 320 }, "xx...." },
	{ "the oldest as wide",
	  3e6,
	  31250,
	  2,
	  { 320, 160, 160, 160, 160, 320, 320, 320 },
	  "x....x.." },
};

START_TEST(picks_by_the_fit)
{
	psgi_terms terms = card();
	psgi_candidate candidates[12];
	size_t n = fill(candidates, picks[_i].widths), chosen;
	char got[13] = "";

	terms.base_ns = picks[_i].base_ns;
	terms.column_ns = picks[_i].column_ns;
	terms.most = picks[_i].most;
	chosen = psgi_choice_pick(&terms, candidates, n);
	for (size_t i = 0; i < n; i++) {
		got[i] = candidates[i].chosen ? 'x' : '.';
		chosen -= candidates[i].chosen;
	}
	ck_assert_msg(strcmp(got, picks[_i].chosen) == 0, "%s: %s", picks[_i].what, got);
	ck_assert_uint_eq(chosen, 0);
}
END_TEST

/* What all of them take, chosen run after run. */
static double time_of_all(const psgi_terms *terms, psgi_candidate *candidates, size_t n)
{
	double total = 0;

	while (n > 0) {
		size_t chosen = psgi_choice_pick(terms, candidates, n), kept = 0;
		int64_t width = 0;

		ck_assert(candidates[0].chosen);
		for (size_t i = 0; i < n; i++) {
			if (!candidates[i].chosen)
				candidates[kept++] = candidates[i];
			else if (candidates[i].width > width)
				width = candidates[i].width;
		}
		ck_assert_uint_eq(kept + chosen, n);
		total += psgi_choice_ns(terms, chosen, width);
		n = kept;
	}
	return total;
}

static int by_width(const void *a, const void *b)
{
	const psgi_candidate *left = a, *right = b;

	return (left->width > right->width) - (left->width < right->width);
}

/* The best of all ways to cut them, bit i of `way` being a cut behind the i-th by width. */
static double best_time(const psgi_terms *terms, psgi_candidate *candidates, size_t n)
{
	double best = INFINITY;

	qsort(candidates, n, sizeof(*candidates), by_width);
	for (unsigned way = 0; way < 1U << (n - 1); way++) {
		double total = 0;
		size_t together = 0;

		for (size_t i = 0; i < n; i++) {
			together++;
			if (i < n - 1 && (way >> i & 1) == 0)
				continue;
			total += psgi_choice_ns(terms, together, candidates[i].width);
			together = 0;
		}
		best = total < best ? total : best;
	}
	return best;
}

START_TEST(no_other_cut_is_faster)
{
	uint32_t random = 1;

	for (int round = 0; round < 300; round++) {
		psgi_terms terms = card();
		psgi_candidate candidates[10] = { { 0 } }, same[10];
		int64_t widths[11] = { 0 };
		size_t n;

		terms.base_ns = 1e6 * (1 + round % 7);
		for (int i = 0; i < 1 + round % 10; i++) {
			random = random * 1664525 + 1013904223;
			widths[i] = 16 * (1 + (random >> 16) % 100);
		}
		n = fill(candidates, widths);
		memcpy(same, candidates, sizeof(same));
		ck_assert_double_le(time_of_all(&terms, candidates, n),
				    1.0000001 * best_time(&terms, same, n));
	}
}
END_TEST

/* Of more equal ones than a run may have, each run has as many as it may. */
START_TEST(runs_are_filled_up)
{
	psgi_terms terms = card();
	psgi_candidate candidates[PSGI_BATCH_MOST];

	for (size_t most = 1; most <= PSGI_BATCH_MOST; most++) {
		for (size_t i = 0; i < PSGI_BATCH_MOST; i++)
			candidates[i] = (psgi_candidate){ .width = 320, .deadline_ns = PSGI_NEVER };
		terms.most = most;
		ck_assert_uint_eq(psgi_choice_pick(&terms, candidates, PSGI_BATCH_MOST),
				  psgi_batch_floor(most));
	}
}
END_TEST

START_TEST(memory_bounds_a_run)
{
	psgi_terms terms = card();
	psgi_candidate candidates[8];
	size_t n = fill(candidates, (int64_t[]){ 320, 320, 320, 320, 320, 320, 320, 0 });

	terms.need = (psgi_need){ 320, 1000, 4500 };
	ck_assert_uint_eq(psgi_choice_pick(&terms, candidates, n), 4);
	terms.need.room = 100;
	ck_assert_uint_eq(psgi_choice_pick(&terms, candidates, n), 1);
}
END_TEST

/* Eight take 3.8 ms, four 3.4, one 3.1. */
static const struct {
	int64_t deadline_ns; /* of the first, from now on */
	size_t chosen;
} deadlines[] = {
	{ 10 * MS, 8 }, { 3900000, 8 }, { 3700000, 6 },
	{ 3410000, 4 }, { 3150000, 1 }, { 3000000, 8 }, /* is missed in any case */
	{ -MS, 8 },
};

START_TEST(deadlines_bound_a_run)
{
	psgi_terms terms = card();
	psgi_candidate candidates[9];
	size_t n = fill(candidates, (int64_t[]){ 320, 320, 320, 320, 320, 320, 320, 320, 0 });

	candidates[0].deadline_ns = NOW + deadlines[_i].deadline_ns;
	ck_assert_uint_eq(psgi_choice_pick(&terms, candidates, n), deadlines[_i].chosen);
}
END_TEST

/* --- waiting --- */

#define US INT64_C(1000)

/* Gaps of a pattern that repeats, then one that lasts until now. */
static psgi_pace pace_of(const int64_t *gaps, int64_t passed_ns)
{
	psgi_pace pace = { 0 };
	int64_t at = 0, sum = 0;
	size_t n = 0;

	for (; gaps[n] != 0; n++)
		sum += gaps[n];
	at = NOW - passed_ns - 20 * sum;
	psgi_pace_note(&pace, at);
	for (size_t i = 0; i < 20 * n; i++) {
		at += gaps[i % n];
		psgi_pace_note(&pace, at);
	}
	return pace;
}

static const struct {
	const char *what;
	size_t waiting;
	int64_t gaps[7];   /* with a 0 behind them */
	int64_t passed_ns; /* since the last arrival */
	int64_t wait_ns;   /* from now on; 0: not at all */
	double crowd;
} waits[] = {
	{ "nobody ever came", 1, { 0 }, 0, 0, 0 },
	{ "one thread that waits for each", 1, { 4 * MS }, 0, 0, 0 },
	{ "one a second", 1, { PSG_SECOND }, 0, 0, 0 },
	{ "a stream", 1, { 10 * US }, 0, 10 * US, 0 },
	{ "a stream, on the way", 1, { 10 * US }, 4 * US, 6 * US, 0 },
	{ "a stream that has ended", 1, { 10 * US }, 11 * US, 0, 0 },
	{ "many of a stream", 40, { 10 * US }, 0, 10 * US, 0 },
	{ "a slower one", 1, { MS }, 0, MS, 0 },
	{ "a slower one, and three", 3, { MS }, 0, 0, 0 },
	{ "a slower one, and three of a crowd", 3, { MS }, 0, MS, 10 },
	{ "the last one of a crowd",
	  5,
	  { 5 * US, 5 * US, 5 * US, 5 * US, 600 * US, 9 * MS },
	  10 * US,
	  590 * US,
	  5 },
	{ "all of a crowd have come",
	  6,
	  { 5 * US, 5 * US, 5 * US, 5 * US, 600 * US, 9 * MS },
	  700 * US,
	  0,
	  6 },
	{ "a crowd that has gone", 1, { 9 * MS }, 0, 0, 1.5 },
	{ "pairs", 1, { 20 * US, 9 * MS }, 0, 20 * US, 0 },
	{ "pairs, and the second has come", 2, { 20 * US, 9 * MS }, 30 * US, 0, 0 },
	{ "bursts of six", 3, { 5 * US, 9 * US, 7 * US, 5 * US, 8 * US, 9 * MS }, 0, 9 * US, 0 },
	{ "all there may be", PSGI_BATCH_MOST, { 10 * US }, 0, 0, 0 },
};

START_TEST(waits_by_what_came)
{
	psgi_terms terms = card();
	psgi_candidate candidates[PSGI_BATCH_MOST];
	psgi_pace pace = pace_of(waits[_i].gaps, waits[_i].passed_ns);
	int64_t until;

	terms.crowd = waits[_i].crowd;
	for (size_t i = 0; i < waits[_i].waiting; i++)
		candidates[i] = (psgi_candidate){ .width = 320,
						  .queued_ns = NOW - waits[_i].passed_ns,
						  .deadline_ns = PSGI_NEVER };
	until = psgi_choice_wait(&terms, &pace, candidates, waits[_i].waiting);
	ck_assert_msg((until > NOW ? until - NOW : 0) == waits[_i].wait_ns, "%s: %lld ns",
		      waits[_i].what, (long long)(until - NOW));
	terms.may_wait = false;
	ck_assert_int_le(psgi_choice_wait(&terms, &pace, candidates, waits[_i].waiting), NOW);
}
END_TEST

/* Where a run costs nothing but its columns, nobody waits for others. */
START_TEST(no_wait_without_gain)
{
	psgi_terms terms = card();
	psgi_candidate candidates[2];
	psgi_pace pace = pace_of((int64_t[]){ 10 * US, 0 }, 0);
	size_t n = fill(candidates, (int64_t[]){ 320, 0 });

	ck_assert_int_gt(psgi_choice_wait(&terms, &pace, candidates, n), NOW);
	terms.base_ns = 1000;
	ck_assert_int_le(psgi_choice_wait(&terms, &pace, candidates, n), NOW);
}
END_TEST

START_TEST(waits_are_bounded)
{
	psgi_terms terms = card();
	psgi_candidate candidates[3];
	psgi_pace pace = pace_of((int64_t[]){ MS, 0 }, 0);
	size_t n = fill(candidates, (int64_t[]){ 320, 320, 0 });

	ck_assert_int_eq(psgi_choice_wait(&terms, &pace, candidates, n), NOW + MS);
	candidates[0].queued_ns = NOW - 700 * US;
	terms.max_delay_ns = MS;
	ck_assert_int_eq(psgi_choice_wait(&terms, &pace, candidates, n), NOW + 300 * US);
	terms.max_delay_ns = 0;
	ck_assert_int_le(psgi_choice_wait(&terms, &pace, candidates, n), NOW);
	terms.max_delay_ns = PSG_SECOND;
	candidates[1].deadline_ns = NOW + 3600 * US; /* two take 3.2 ms */
	ck_assert_int_eq(psgi_choice_wait(&terms, &pace, candidates, n), NOW + 400 * US);
	candidates[1].deadline_ns = NOW + 2 * MS;
	ck_assert_int_le(psgi_choice_wait(&terms, &pace, candidates, n), NOW);
	candidates[1].deadline_ns = PSGI_NEVER;
	terms.most = 2;
	ck_assert_int_le(psgi_choice_wait(&terms, &pace, candidates, n), NOW);
}
END_TEST

/* Stamps come out of order where several threads submit. */
START_TEST(late_stamps_are_left_out)
{
	psgi_pace pace = { 0 };

	psgi_pace_note(&pace, 1000);
	psgi_pace_note(&pace, 1100);
	psgi_pace_note(&pace, 1050);
	psgi_pace_note(&pace, 1100);
	psgi_pace_note(&pace, 1300);
	ck_assert_uint_eq(pace.n, 2);
	ck_assert_int_eq(pace.gap_ns[0], 100);
	ck_assert_int_eq(pace.gap_ns[1], 200);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("choice");
	TCase *all = tcase_create("choice");
	SRunner *runner;
	int failed;

	tcase_add_test(all, twelve_sizes);
	tcase_add_loop_test(all, memory_bounds_the_samples, 0, (int)T_COUNT(needs));
	tcase_add_loop_test(all, picks_by_the_fit, 0, (int)T_COUNT(picks));
	tcase_add_test(all, no_other_cut_is_faster);
	tcase_add_test(all, runs_are_filled_up);
	tcase_add_test(all, memory_bounds_a_run);
	tcase_add_loop_test(all, deadlines_bound_a_run, 0, (int)T_COUNT(deadlines));
	tcase_add_loop_test(all, waits_by_what_came, 0, (int)T_COUNT(waits));
	tcase_add_test(all, no_wait_without_gain);
	tcase_add_test(all, waits_are_bounded);
	tcase_add_test(all, late_stamps_are_left_out);
	suite_add_tcase(suite, all);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
