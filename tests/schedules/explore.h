/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A model checker for a few threads: runs a scenario in every order of their steps that matters.
 *
 * Threads are fibers of one thread (machine.h).  Before each step on shared memory a fiber pauses,
 * and the explorer says whose step is next.  When the scenario is over it is run again from its
 * start, with another choice at the last place where there is one left to be tried: a depth-first
 * search that keeps nothing but its present path.  Which choices must be tried is decided by
 * partial order reduction with source sets and sleep sets (Abdulla, Aronis, Jonsson and Sagonas,
 * "Optimal dynamic partial order reduction", POPL 2014, algorithm 1): two orders that differ only
 * in neighbouring steps that touch different words, or that both only read, give the same result,
 * and one of them is run.  What a step touches is seen when it is made, so nothing is assumed about
 * it.
 *
 * What is enumerated, without a bound on the number of switches: the order of steps; sleepers that
 * wake for no reason, and weak compare-and-swaps that fail for none, as often as the scenario
 * allows each thread; the passing of a deadline, at any moment where the scenario has a clock, else
 * when nothing else can go on; and, where the scenario delays stores, the moment at which each
 * becomes visible, as on x86: stores wait in a queue of their thread until a fence or an atomic
 * read-modify-write.
 *
 * What is not: weaker orders.  But for those delayed stores memory is sequentially consistent here;
 * ThreadSanitizer and the comments in the code answer for acquire and release.  Steps are those of
 * the jobs room; what the rooms below do, and accesses to plain variables, is no step, and taken to
 * be ordered by those that are.  CK's event count is its contract (shadow.h).  Before t_begin and
 * after t_end there is one order only.
 */
#ifndef T_EXPLORE_H
#define T_EXPLORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define T_THREADS 6 /* with the scenario's own */

typedef struct t_scenario {
	const char *name;
	void (*run)(const void *arg);
	const void *arg;
	unsigned spurious; /* wake-ups and failures without reason, for each thread */
	bool delayed_stores;
	bool clock;   /* between t_begin and t_end T_TICK_NS may pass at any one moment */
	bool patient; /* who waits looks on before it sleeps */
	bool whole;   /* without reduction: each order, also of steps that do not matter */
} t_scenario;

/* The clock in the beginning, and how much passes. */
#define T_FIRST_NS INT64_C(1000000000)
#define T_TICK_NS INT64_C(1000000000)

/* --- within a scenario, which is itself a thread --- */

typedef struct t_thread t_thread;

/* Before t_begin, where it starts. */
t_thread *t_spawn(const char *name, void *(*run)(void *arg), void *arg);
void t_join(t_thread *thread);

/* From here on all orders; waits until each other thread sleeps or has ended. */
void t_begin(void);
/* From here on one order; waits as t_begin, and for the clock. */
void t_end(void);

/* The schedule is wrong. */
_Noreturn void t_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

#define T_EXPECT(condition)                                                                        \
	do {                                                                                       \
		if (!(condition))                                                                  \
			t_fail("%s:%d: %s", __func__, __LINE__, #condition);                       \
	} while (0)

/* --- mutants: a step that is made wrong, to see that the checker finds it --- */

typedef enum t_wrong {
	T_SKIPPED, /* not made: a store, a wake-up, a fence, a read-modify-write */
	T_SPLIT,   /* a read-modify-write in two steps */
	T_LATE,    /* a store comes after the thread's next step */
	T_BLIND,   /* falls asleep without comparing */
	T_FORCED,  /* a compare-and-swap that does not compare */
} t_wrong;

typedef struct t_mutant {
	const char *function; /* where the step is: "function", or "file.c:function" */
	const char *what;     /* its expression */
	t_wrong wrong;
} t_mutant;

/* --- exploring --- */

typedef struct t_result {
	uint64_t schedules; /* run to their end */
	uint64_t pruned;    /* found to be one that had been tried, on their way */
	int steps;          /* of the longest */
	bool failed;
} t_result;

/*
 * Runs all schedules, up to the first that is wrong.  `mutant`: NULL, or what is made wrong.  A
 * failure without one is printed, a line for each step, and what to put into PSG_SCHEDULE so that
 * it alone is run, with its steps printed.
 */
t_result t_explore(const t_scenario *scenario, const t_mutant *mutant);

#endif
