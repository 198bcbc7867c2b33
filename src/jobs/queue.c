/* SPDX-License-Identifier: Apache-2.0 */
/* Circles of lanes, one a priority class; each lane has a list of jobs in each class. */
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

void psgi_queue_push(psgi_queue *queue, psgi_job *job)
{
	psgi_lane *lane = job->lane;
	int rank = job->rank;

	if (queue->by_deadline &&
	    atomic_load_explicit(&job->future.deadline_ns, memory_order_relaxed) != PSGI_NEVER) {
		psgi_heap_push(&queue->earliest[rank], job);
		return;
	}
	job->next = NULL;
	if (lane->waiting[rank].first == NULL) {
		lane->waiting[rank].first = job;
		join_circle(queue, lane, rank);
	} else {
		lane->waiting[rank].last->next = job;
	}
	lane->waiting[rank].last = job;
}

psgi_job *psgi_queue_pop(psgi_queue *queue)
{
	int rank = psgi_queue_rank(queue);
	psgi_lane *lane;
	psgi_job *job;

	if (rank == PSGI_RANKS)
		return NULL;
	if (queue->earliest[rank] != NULL)
		return psgi_heap_pop(&queue->earliest[rank]);
	lane = queue->last_turn[rank]->waiting[rank].next_turn;
	job = lane->waiting[rank].first;
	lane->waiting[rank].first = job->next;
	if (job->next == NULL)
		leave_circle(queue, lane, rank);
	else
		queue->last_turn[rank] = lane; /* its turn is over: it is the last now */
	return job;
}
