/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whose turn it is, of those who share one device: deficit round robin.
 *
 * Each round gives everybody who waits a quantum of device time times its
 * weight; who has some left may start, and pays what it took afterwards,
 * because nobody knows that before; until then what is expected counts.  So one may owe up to the
 * length of a job, and waits for as many rounds as that takes.  A debt outlives a moment without
 * jobs, or else who always has one job at a time would never pay; credit does
 * not.  When nobody waits, nobody was kept waiting: all debts are forgotten.
 *
 * Plain data of one thread.
 */
#ifndef PSG_JOBS_TURNS_H
#define PSG_JOBS_TURNS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct psgi_turn {
	int64_t balance_ns; /* device time that it may still take; below 0: it had too much */
	int64_t ahead_ns;   /* which what it has in flight is expected to take, and will pay */
	int32_t weight;     /* at least 1 */
	int32_t priority;   /* of those who may start the highest goes first */
	bool waits;         /* has something to run; kept by the caller */
	struct psgi_turn *next;
} psgi_turn;

typedef struct psgi_turns {
	psgi_turn *first;
	psgi_turn *current; /* who was chosen last; NULL: nobody yet */
} psgi_turns;

void psgi_turns_add(psgi_turns *turns, psgi_turn *turn);
void psgi_turns_remove(psgi_turns *turns, psgi_turn *turn);

/* Who is to run one job; NULL: nobody waits. */
psgi_turn *psgi_turns_next(psgi_turns *turns);

/* It took so long. */
void psgi_turns_pay(psgi_turn *turn, int64_t ns);

#endif
