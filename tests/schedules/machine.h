/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the explorer moves: threads that stand before their next step, queues of delayed stores, and
 * a clock.  Each of them is an agent; so a store becomes visible by a step of its thread's queue.
 */
#ifndef T_MACHINE_H
#define T_MACHINE_H

#include "tests/schedules/explore.h"

#define T_CLOCK (2 * T_THREADS) /* behind the threads and their queues */
#define T_AGENTS (T_CLOCK + 1)

/* Threads and their queues. */
static inline int t_owner_of(int agent)
{
	return agent >= T_THREADS && agent != T_CLOCK ? agent - T_THREADS : agent;
}

static inline int t_queue_of(int thread)
{
	return T_THREADS + thread;
}

/* What a step touches. */
typedef struct t_access {
	uintptr_t from, to;
	bool write;
} t_access;

#define T_ACCESSES (T_THREADS + 2)

typedef struct t_footprint {
	int n;
	t_access access[T_ACCESSES];
	bool locks, unlocks; /* a lock: these two exclude each other anyway */
} t_footprint;

/* A step that was made. */
typedef struct t_step {
	t_footprint touched;
	bool barrier; /* comes when nothing else can: after all that was, before all that comes */
	bool delayed; /* a store was put into the thread's queue */
	bool settled; /* waited for its own queue to be empty */
	bool settled_all; /* for all queues */
	int joined;       /* the thread whose end it waited for; -1 */
	uint32_t woken;   /* threads */
	char text[160];
} t_step;

/* At the scenario's start.  `text`: steps describe themselves. */
void t_machine_start(const t_scenario *scenario, const t_mutant *mutant, bool text);

/* Agents that can go on; 0: it is over, or something failed. */
uint32_t t_machine_enabled(void);

/* What the agent's next step touches, or would; nothing: it has none, or touches nothing. */
void t_machine_pending(int agent, t_footprint *touched);

/* How many ways its next step has. */
unsigned t_machine_ways(int agent);

/* Makes the agent's step, and goes on up to its next one. */
void t_machine_step(int agent, unsigned way, t_step *step);

/* Enumeration has begun and not ended. */
bool t_machine_between(void);

const char *t_machine_failure(void);
void t_machine_fail(const char *why);

#endif
