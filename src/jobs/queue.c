/* SPDX-License-Identifier: Apache-2.0 */
/* Circles of lanes, one a priority class; each lane has a list of slots in each class. */
#include "config.h"

#include "jobs/queue.h"

#include "base/base.h"

static void join_circle(psgi_queue *queue, psgi_lane *lane, int rank)
{
	psgi_lane *last = queue->last_turn[rank];

	lane->waiting[rank].next_turn = last == NULL ? lane : last->waiting[rank].next_turn;
	if (last != NULL)
		last->waiting[rank].next_turn = lane;
	queue->last_turn[rank] = lane;
}

static void leave_circle(psgi_queue *queue, psgi_lane *first, int rank)
{
	psgi_lane *last = queue->last_turn[rank];

	if (first == last)
		queue->last_turn[rank] = NULL;
	else
		last->waiting[rank].next_turn = first->waiting[rank].next_turn;
}

/*
 * The slot itself is left alone but where it goes by deadline, because it comes
 * from another core.  It is asked for, to be there when its turn is: for writing
 * where the job has states, its second line, too.
 */
static void prefetch(const psgi_job *job, bool detached)
{
	if (detached) {
		__builtin_prefetch(job, 0);
	} else {
		__builtin_prefetch(job, 1);
		__builtin_prefetch((const char *)job + PSGI_CACHE_LINE, 1);
	}
}

void psgi_queue_push(psgi_queue *queue, psgi_lane *lane, psgi_entry entry)
{
	uint32_t number = entry.word & PSGI_ENTRY_NUMBER;
	int rank = (int)(entry.word >> PSGI_ENTRY_RANK_BIT & PSGI_ENTRY_RANK);

	if (queue->by_deadline && (entry.word & PSGI_ENTRY_DEADLINE) != 0) {
		psgi_heap_push(&queue->earliest[rank], &lane->slots[number]);
		return;
	}
	prefetch(&lane->slots[number], (entry.word & PSGI_ENTRY_DETACHED) != 0);
	if (lane->waiting[rank].n++ == 0) {
		lane->waiting[rank].first = number;
		join_circle(queue, lane, rank);
	} else {
		lane->behind[lane->waiting[rank].last] = number;
	}
	lane->waiting[rank].last = number;
}

psgi_job *psgi_queue_pop(psgi_queue *queue)
{
	int rank = psgi_queue_rank(queue);
	psgi_lane *lane;
	uint32_t number;

	if (rank == PSGI_RANKS)
		return NULL;
	if (queue->earliest[rank] != NULL)
		return psgi_heap_pop(&queue->earliest[rank]);
	lane = queue->last_turn[rank]->waiting[rank].next_turn;
	number = lane->waiting[rank].first;
	if (--lane->waiting[rank].n == 0) {
		leave_circle(queue, lane, rank);
	} else {
		lane->waiting[rank].first = lane->behind[number];
		queue->last_turn[rank] = lane; /* its turn is over: it is the last now */
	}
	return &lane->slots[number];
}
