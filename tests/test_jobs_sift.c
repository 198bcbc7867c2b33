/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs taken out of the middle of a worker's queue, by turns and by deadlines. */
#include "config.h"

#include "base/base.h"
#include "jobs/lanes.h"
#include "jobs/queue.h"
#include "jobs_util.h"

#include <string.h>

#define LANES 5
#define JOBS 400 /* below PSGI_SIFT_MOST */

static psgi_lane *lanes[LANES];
static psgi_queue queue;
static uint32_t state;

static uint32_t random_below(uint32_t n)
{
	state = state * 1664525 + 1013904223;
	return (state >> 8) % n;
}

static void set_up(void)
{
	static const psgi_lanes table = { .serial = 1, .generation = 1, .capacity = 2 * JOBS };

	for (uint32_t i = 0; i < LANES; i++) {
		lanes[i] = psgi_lane_create(&table, i);
		ck_assert_ptr_nonnull(lanes[i]);
	}
	memset(&queue, 0, sizeof(queue));
	state = 1;
}

static void tear_down(void)
{
	for (size_t i = 0; i < LANES; i++) {
		psgi_lane_leave(lanes[i]);
		psgi_lane_close(lanes[i]);
	}
}

/* The `k`-th job, known by its number of arguments, which nobody looks at. */
static psgi_job *push(size_t k, uint8_t rank, int64_t deadline_ns)
{
	psgi_job *job = psgi_lane_take(lanes[random_below(LANES)]);

	ck_assert_ptr_nonnull(job);
	job->rank = rank;
	job->kind = PSGI_JOB_MODEL;
	psgi_extra_of(job)->model.n_in = k;
	atomic_store(&job->future.deadline_ns, deadline_ns);
	atomic_store(&job->future.queued_ns, (int64_t)k);
	psgi_queue_push(
		&queue, job->lane,
		(psgi_entry){ .word = job->number | (uint64_t)rank << PSGI_ENTRY_RANK_BIT |
				      (deadline_ns != PSGI_NEVER ? PSGI_ENTRY_DEADLINE : 0) });
	return job;
}

/* `n` jobs, some with a deadline where the queue goes by that. */
static void push_some(size_t n)
{
	for (size_t k = 0; k < n; k++)
		(void)push(k, PSGI_NORMAL,
			   queue.by_deadline && random_below(3) != 0 ? 1 + random_below(50)
								     : PSGI_NEVER);
}

/* What a sift was shown, and takes. */
struct sifted {
	psgi_job *shown[JOBS], *taken[JOBS];
	size_t n_shown, n_taken, most;
	uint32_t one_of; /* is taken, by chance; 0: none */
};

static psgi_sifted note(void *user, psgi_job *job)
{
	struct sifted *sifted = user;

	if (sifted->n_shown == sifted->most)
		return PSGI_ENOUGH;
	sifted->shown[sifted->n_shown++] = job;
	if (sifted->one_of == 0 || random_below(sifted->one_of) != 0)
		return PSGI_LEAVE;
	psgi_extra_of(job)->next = job; /* it is ours */
	sifted->taken[sifted->n_taken++] = job;
	return PSGI_TAKE;
}

/* Pops them all, in this order. */
static void pops(psgi_job *const *order, size_t n)
{
	for (size_t i = 0; i < n; i++)
		ck_assert_ptr_eq(psgi_queue_pop(&queue), order[i]);
	ck_assert_ptr_null(psgi_queue_pop(&queue));
}

/* What is shown, and stays, is what will be popped. */
START_TEST(shows_in_order)
{
	struct sifted sifted = { .most = JOBS };

	queue.by_deadline = _i != 0;
	push_some(JOBS);
	for (int i = 0; i < 3; i++)
		ck_assert_ptr_nonnull(
			psgi_queue_pop(&queue)); /* somebody's turn is not the first */
	psgi_queue_sift(&queue, PSGI_NORMAL, note, &sifted);
	ck_assert_uint_eq(sifted.n_shown, JOBS - 3);
	pops(sifted.shown, sifted.n_shown);
}
END_TEST

static bool was_taken(const struct sifted *sifted, const psgi_job *job)
{
	for (size_t i = 0; i < sifted->n_taken; i++)
		if (sifted->taken[i] == job)
			return true;
	return false;
}

/* Jobs come while others are taken out: each comes out once, a lane's in its order. */
START_TEST(takes_from_the_middle)
{
	bool out[JOBS] = { false };
	size_t last[LANES] = { 0 }, n_out = 0;

	for (uint32_t round = 0; round < 40; round++) {
		struct sifted sifted = { .most = 1 + random_below(50), .one_of = 1 + round % 4 };

		for (size_t k = round * 10; k < round * 10 + 10; k++)
			(void)push(k, PSGI_NORMAL, PSGI_NEVER);
		psgi_queue_sift(&queue, PSGI_NORMAL, note, &sifted);
		for (size_t i = 0; i < sifted.n_taken; i++) {
			ck_assert(!out[psgi_extra_of(sifted.taken[i])->model.n_in]);
			out[psgi_extra_of(sifted.taken[i])->model.n_in] = true;
			n_out++;
		}
	}
	for (psgi_job *job; (job = psgi_queue_pop(&queue)) != NULL; n_out++) {
		size_t k = psgi_extra_of(job)->model.n_in, *before = &last[job->lane->index];

		ck_assert(!out[k]);
		ck_assert_uint_ge(k + 1, *before);
		*before = k + 1;
		out[k] = true;
	}
	ck_assert_uint_eq(n_out, JOBS);
}
END_TEST

START_TEST(takes_by_deadline)
{
	struct sifted sifted = { .most = 100, .one_of = 3 };
	int64_t last = 0;
	size_t n = 0;

	queue.by_deadline = true;
	push_some(JOBS);
	psgi_queue_sift(&queue, PSGI_NORMAL, note, &sifted);
	ck_assert_uint_eq(sifted.n_shown, 100);
	ck_assert_uint_gt(sifted.n_taken, 10);
	for (psgi_job *job; (job = psgi_queue_pop(&queue)) != NULL; n++) {
		int64_t deadline = atomic_load(&job->future.deadline_ns);

		ck_assert(!was_taken(&sifted, job));
		ck_assert_int_ge(deadline, last);
		last = deadline;
	}
	ck_assert_uint_eq(n + sifted.n_taken, JOBS);
}
END_TEST

/* All of one lane go, then of all; what comes later finds its place. */
START_TEST(takes_the_last)
{
	struct sifted sifted = { .most = JOBS, .one_of = 1 };
	psgi_job *job;

	push_some(20);
	psgi_queue_sift(&queue, PSGI_NORMAL, note, &sifted);
	ck_assert_uint_eq(sifted.n_taken, 20);
	ck_assert_int_eq(psgi_queue_rank(&queue), PSGI_RANKS);
	psgi_queue_sift(&queue, PSGI_NORMAL, note, &sifted); /* of nothing */
	ck_assert_uint_eq(sifted.n_taken, 20);
	job = push(20, PSGI_NORMAL, PSGI_NEVER);
	pops(&job, 1);
}
END_TEST

START_TEST(other_classes_stay)
{
	struct sifted sifted = { .most = JOBS, .one_of = 1 };
	psgi_job *jobs[3];

	for (int rank = 0; rank < PSGI_RANKS; rank++)
		jobs[rank] = push((size_t)rank, (uint8_t)rank, PSGI_NEVER);
	psgi_queue_sift(&queue, PSGI_NORMAL, note, &sifted);
	ck_assert_uint_eq(sifted.n_taken, 1);
	ck_assert_ptr_eq(sifted.taken[0], jobs[PSGI_NORMAL]);
	jobs[PSGI_NORMAL] = jobs[PSGI_BACKGROUND];
	pops(jobs, 2);
}
END_TEST

static psgi_sifted count(void *user, psgi_job *job)
{
	(void)job;
	(*(size_t *)user)++;
	return PSGI_LEAVE;
}

START_TEST(looks_only_so_far)
{
	size_t n = 0;

	for (int i = 0; i < 2; i++)
		push_some(JOBS);
	psgi_queue_sift(&queue, PSGI_NORMAL, count, &n);
	ck_assert_uint_eq(n, PSGI_SIFT_MOST);
	for (n = 0; psgi_queue_pop(&queue) != NULL; n++)
		;
	ck_assert_uint_eq(n, 2 * JOBS);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("sift");
	TCase *all = tcase_create("sift");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(all, set_up, tear_down);
	tcase_add_loop_test(all, shows_in_order, 0, 2);
	tcase_add_test(all, takes_from_the_middle);
	tcase_add_test(all, takes_by_deadline);
	tcase_add_test(all, takes_the_last);
	tcase_add_test(all, other_classes_stay);
	tcase_add_test(all, looks_only_so_far);
	suite_add_tcase(suite, all);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
