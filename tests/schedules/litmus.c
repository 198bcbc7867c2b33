/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is the checker right?  Small programs whose number of orders is known, those by which processors
 * are told apart, and random ones, of which reduction must lose no outcome.
 */
#include "tests/instrumented.h"
#include "tests/schedules/scenarios.h"

#include <check.h>
#include <stdatomic.h>
#include <stdio.h>

#define THREADS 3
#define MOST_OPS 3

enum op {
	LOAD_X,
	LOAD_Y,
	STORE_X,
	STORE_Y,
	ADD_X,
	SWAP_X,
	SWAP_Y,
	FENCE,
	LOCKED,
	SLEEP,
	WAKE,
	OPS
};

struct program {
	int threads, ops;
	enum op op[THREADS][MOST_OPS];
};

/* One run's. */
static struct shared {
	_Atomic uint32_t x, y;
	pthread_mutex_t lock;
	uint32_t guarded; /* by it */
	uint32_t seen[THREADS][MOST_OPS];
} shared;

static const struct program *program;

/* Of all runs. */
static uint64_t outcomes[4096];
static size_t n_outcomes;

/* Stored values tell who stored them. */
static uint32_t make_op(enum op op, uint32_t own)
{
	const struct timespec soon = { .tv_sec = 1, .tv_nsec = PSG_SECOND / 2 };
	uint32_t value = 0;

	switch (op) {
	case LOAD_X:
		return atomic_load_explicit(&shared.x, memory_order_relaxed);
	case LOAD_Y:
		return atomic_load_explicit(&shared.y, memory_order_relaxed);
	case STORE_X:
		atomic_store_explicit(&shared.x, own, memory_order_relaxed);
		return 0;
	case STORE_Y:
		atomic_store_explicit(&shared.y, own, memory_order_relaxed);
		return 0;
	case ADD_X:
		return atomic_fetch_add(&shared.x, own);
	case SWAP_X:
		return atomic_compare_exchange_weak(&shared.x, &value, own) ? own : value;
	case SWAP_Y:
		return atomic_compare_exchange_strong(&shared.y, &value, own) ? own : value;
	case FENCE:
		psgi_full_fence();
		return 0;
	case LOCKED:
		(void)pthread_mutex_lock(&shared.lock);
		value = shared.guarded;
		shared.guarded = own;
		(void)pthread_mutex_unlock(&shared.lock);
		return value;
	case SLEEP:
		return psgi_futex_wait(&shared.x, 0, &soon);
	case WAKE:
		psgi_futex_wake(&shared.x);
		return 0;
	case OPS:
		break;
	}
	return 0;
}

static void *run_thread(void *number)
{
	uint32_t t = (uint32_t)(uintptr_t)number;

	for (int i = 0; i < program->ops; i++)
		shared.seen[t][i] = make_op(program->op[t][i], t * MOST_OPS + (uint32_t)i + 1);
	return NULL;
}

static void note_outcome(void)
{
	uint64_t hash = shared.x * UINT64_C(31) + shared.y;

	hash = hash * 31 + shared.guarded;
	for (int t = 0; t < THREADS; t++)
		for (int i = 0; i < MOST_OPS; i++)
			hash = (hash + shared.seen[t][i] + 1) * UINT64_C(0x9E3779B97F4A7C15) ^
			       hash >> 31;
	for (size_t i = 0; i < n_outcomes; i++)
		if (outcomes[i] == hash)
			return;
	T_EXPECT(n_outcomes < sizeof(outcomes) / sizeof(outcomes[0]));
	outcomes[n_outcomes++] = hash;
}

static void run_program(const void *arg)
{
	t_thread *threads[THREADS] = { NULL };

	program = arg;
	memset(&shared, 0, sizeof(shared));
	for (int t = 0; t < program->threads; t++)
		threads[t] = t_spawn("thread", run_thread, (void *)(uintptr_t)t);
	t_begin();
	for (int t = 0; t < program->threads; t++)
		t_join(threads[t]);
	t_end();
	note_outcome();
}

static t_result explore(const struct program *p, bool delayed, bool clock, bool whole)
{
	const t_scenario scenario = { .name = "program",
				      .run = run_program,
				      .arg = p,
				      .spurious = delayed ? 0 : 1,
				      .delayed_stores = delayed,
				      .clock = clock,
				      .whole = whole };
	t_result result;

	n_outcomes = 0;
	result = t_explore(&scenario, NULL);
	ck_assert(!result.failed);
	return result;
}

/* --- known ones --- */

struct known {
	struct program program;
	size_t outcomes, delayed; /* without and with delayed stores */
	uint64_t schedules;       /* without; 0: as many as outcomes */
};

/*
 * Counted by hand: n additions of one thread and m of another have (n + m)! / (n! m!) orders; who
 * stores and loads the other's word sees 01, 10, 11 and, where stores are delayed, 00, unless both
 * fence; of two stores and two loads in the other order, three outcomes are left on x86.
 */
static const struct known known[] = {
	{ { 2, 2, { { ADD_X, ADD_X }, { ADD_X, ADD_X } } }, 6, 6, 0 },
	{ { 2, 3, { { ADD_X, ADD_X, ADD_X }, { ADD_X, ADD_X, ADD_X } } }, 20, 20, 0 },
	{ { 3, 1, { { ADD_X }, { ADD_X }, { ADD_X } } }, 6, 6, 0 },
	{ { 3, 1, { { STORE_X }, { LOAD_X }, { LOAD_X } } }, 4, 4, 0 },
	{ { 2, 1, { { STORE_X }, { LOAD_Y } } }, 1, 1, 0 },
	{ { 2, 2, { { STORE_X, LOAD_Y }, { STORE_Y, LOAD_X } } }, 3, 4, 0 },
	{ { 2, 3, { { STORE_X, FENCE, LOAD_Y }, { STORE_Y, FENCE, LOAD_X } } }, 3, 3, 0 },
	{ { 2, 2, { { STORE_X, STORE_Y }, { LOAD_Y, LOAD_X } } }, 3, 3, 0 },
	{ { 3, 1, { { LOCKED }, { LOCKED }, { LOCKED } } }, 6, 6, 0 },
};

static void check_known(void)
{
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		const struct known *row = &known[i];
		t_result result = explore(&row->program, false, false, false);

		ck_assert_msg(n_outcomes == row->outcomes, "row %zu: %zu outcomes", i, n_outcomes);
		ck_assert_msg(result.schedules == row->outcomes, "row %zu: %llu schedules", i,
			      (unsigned long long)result.schedules);
		(void)explore(&row->program, true, false, false);
		ck_assert_msg(n_outcomes == row->delayed, "row %zu: %zu with delayed stores", i,
			      n_outcomes);
	}
}

/* --- random ones --- */

/* Of each kind.  Chosen: some seconds. */
#define RANDOM (T_INSTRUMENTED ? 4 : 20)

static void make_program(struct program *p, uint32_t *random, int threads, int ops)
{
	*p = (struct program){ .threads = threads, .ops = ops };
	for (int t = 0; t < threads; t++) {
		for (int i = 0; i < ops; i++) {
			*random = *random * 1664525 + 1013904223;
			p->op[t][i] = (enum op)((*random >> 8) % OPS);
		}
	}
}

/* For people: the operations of each thread. */
static void print_program(const struct program *p, bool delayed, bool clock)
{
	static const char *const names[] = { "load x", "load y", "x=",     "y=",    "x+=", "swap x",
					     "swap y", "fence",  "locked", "sleep", "wake" };

	for (int t = 0; t < p->threads; t++) {
		for (int i = 0; i < p->ops; i++)
			(void)printf("%s; ", names[p->op[t][i]]);
		(void)printf("\n");
	}
	(void)printf("delayed stores %d, clock %d\n", delayed, clock);
	(void)fflush(stdout);
}

static void compare(const struct program *p, bool delayed, bool clock, t_result *sum)
{
	uint64_t all[sizeof(outcomes) / sizeof(outcomes[0])];
	size_t n;
	t_result result = explore(p, delayed, clock, true);

	sum->pruned += result.schedules;
	n = n_outcomes;
	memcpy(all, outcomes, n * sizeof(all[0]));
	result = explore(p, delayed, clock, false);
	sum->schedules += result.schedules;
	if (n_outcomes != n)
		print_program(p, delayed, clock);
	ck_assert_msg(n_outcomes == n, "reduction lost %zu of %zu outcomes", n - n_outcomes, n);
	for (size_t i = 0; i < n; i++) {
		size_t j = 0;

		while (j < n && outcomes[j] != all[i])
			j++;
		ck_assert_uint_lt(j, n);
	}
}

void t_check_checker(void)
{
	t_result sum = { .schedules = 0 };
	uint32_t random = 1;
	struct program p;

	check_known();
	for (int i = 0; i < RANDOM; i++) {
		make_program(&p, &random, 2, 3);
		compare(&p, true, false, &sum);
		make_program(&p, &random, 3, 2);
		compare(&p, false, i % 4 == 0, &sum);
	}
	(void)printf("random programs: %llu schedules with reduction, %llu without\n",
		     (unsigned long long)sum.schedules, (unsigned long long)sum.pruned);
}
