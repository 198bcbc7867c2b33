/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "jobs/turns.h"

#include "base/base.h"

#include <stddef.h>

/*
 * Device time a round gives to weight 1.  Chosen: short beside a batch (5 ms and more), so that who
 * just came is not kept waiting; long beside the shortest jobs, which then run in a row.
 */
#define QUANTUM_NS PSG_MILLISECOND

static void forget(psgi_turns *turns)
{
	for (psgi_turn *turn = turns->first; turn != NULL; turn = turn->next)
		turn->balance_ns = 0;
}

void psgi_turns_add(psgi_turns *turns, psgi_turn *turn)
{
	turn->next = turns->first;
	turns->first = turn;
	forget(turns); /* of one alone nothing is kept */
}

void psgi_turns_remove(psgi_turns *turns, psgi_turn *turn)
{
	psgi_turn **link = &turns->first;

	while (*link != turn)
		link = &(*link)->next;
	*link = turn->next;
	if (turns->current == turn)
		turns->current = turn->next;
}

static int64_t balance(const psgi_turn *turn)
{
	return turn->balance_ns - turn->ahead_ns;
}

/* Rounds until the first of those who wait may start; 0: nobody waits. */
static int64_t rounds_needed(const psgi_turns *turns)
{
	int64_t least = 0;

	for (const psgi_turn *turn = turns->first; turn != NULL; turn = turn->next) {
		int64_t gain = QUANTUM_NS * turn->weight;
		/* Not positive here: one round lifts it above 0 from just below its gain. */
		int64_t rounds = -balance(turn) / gain + 1;

		if (turn->waits && (least == 0 || rounds < least))
			least = rounds;
	}
	return least;
}

static void give_rounds(psgi_turns *turns, int64_t rounds)
{
	for (psgi_turn *turn = turns->first; turn != NULL; turn = turn->next) {
		turn->balance_ns += rounds * QUANTUM_NS * turn->weight;
		if (!turn->waits && turn->balance_ns > 0)
			turn->balance_ns = 0;
	}
}

/* The first of the highest priority, round the circle from the current one on. */
static psgi_turn *choose(const psgi_turns *turns)
{
	psgi_turn *start = turns->current != NULL ? turns->current : turns->first;
	psgi_turn *turn = start, *best = NULL;

	do {
		if (turn->waits && balance(turn) > 0 &&
		    (best == NULL || turn->priority > best->priority))
			best = turn;
		turn = turn->next != NULL ? turn->next : turns->first;
	} while (turn != start);
	return best;
}

psgi_turn *psgi_turns_next(psgi_turns *turns)
{
	psgi_turn *best;

	if (turns->first == NULL)
		return NULL;
	if (turns->first->next == NULL)
		return turns->first->waits ? turns->first : NULL;
	for (psgi_turn *turn = turns->first; turn != NULL; turn = turn->next)
		if (!turn->waits && turn->balance_ns > 0)
			turn->balance_ns = 0;
	best = choose(turns);
	if (best == NULL) {
		int64_t rounds = rounds_needed(turns);

		if (rounds == 0) {
			forget(turns);
			return NULL;
		}
		give_rounds(turns, rounds);
		/* The round begins behind who ended the last one. */
		if (turns->current != NULL)
			turns->current = turns->current->next;
		best = choose(turns);
	}
	turns->current = best;
	return best;
}

void psgi_turns_pay(psgi_turn *turn, int64_t ns)
{
	turn->balance_ns -= ns;
}
