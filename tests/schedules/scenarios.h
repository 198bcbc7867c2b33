/* SPDX-License-Identifier: Apache-2.0 */
/* What is explored, and what is made wrong to see that it is found. */
#ifndef T_SCENARIOS_H
#define T_SCENARIOS_H

#include "tests/schedules/explore.h"

#define T_MUTANTS 10

/* A scenario whose every schedule is right, and mutants of the room that it finds. */
typedef struct t_row {
	t_scenario scenario;
	t_mutant mutants[T_MUTANTS]; /* up to one without a function */
	bool large;                  /* takes seconds: left out where each step is checked */
	bool leaves; /* its mutants leave memory of other rooms behind: they are left out there */
} t_row;

typedef struct t_table {
	const t_row *rows;
	size_t n;
} t_table;

extern const t_table t_futures, t_lanes, t_workers, t_stalls, t_fleets, t_shared, t_batches;

/* The checker itself: fails where reduction loses an outcome, or an order is missing. */
void t_check_checker(void);

/* Before each run: what the room keeps from one to the next. */
void t_places_reset(void);
void t_table_reset(void);

#endif
