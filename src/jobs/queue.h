/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The worker's own order of jobs: by class, round robin between lanes, first
 * in first out within a lane.  A worker that goes by deadlines takes those that
 * have one first in each class, whatever their lane.  Only the worker's thread
 * comes here.
 */
#ifndef PSG_JOBS_QUEUE_H
#define PSG_JOBS_QUEUE_H

#include "jobs/heap.h"
#include "jobs/lane.h"

typedef struct psgi_queue {
	psgi_lane *last_turn[PSGI_RANKS]; /* of a circle of lanes that have a job of this class */
	bool by_deadline;                 /* constant */
	psgi_job *earliest[PSGI_RANKS]; /* a heap of those with a deadline, where it goes by that */
} psgi_queue;

/* What came through the lane's ring. */
void psgi_queue_push(psgi_queue *queue, psgi_lane *lane, psgi_entry entry);

/* The next job; NULL when there is none. */
psgi_job *psgi_queue_pop(psgi_queue *queue);

/* The class of the next job; PSGI_RANKS when there is none. */
static inline int psgi_queue_rank(const psgi_queue *queue)
{
	int rank = 0;

	while (rank < PSGI_RANKS && queue->last_turn[rank] == NULL && queue->earliest[rank] == NULL)
		rank++;
	return rank;
}

#endif
