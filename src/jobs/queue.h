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
	psgi_job plain; /* the detached one that was shown last, without a slot of its own */
} psgi_queue;

/* What came through the lane's ring. */
void psgi_queue_push(psgi_queue *queue, psgi_lane *lane, psgi_entry entry);

/* The next job; NULL when there is none.  A detached one is there until the next is popped or
 * sifted. */
psgi_job *psgi_queue_pop(psgi_queue *queue);

/* One more detached job of the lane whose one was popped last, before the others have their turn;
 * NULL: it has none, or others go before it. */
psgi_job *psgi_queue_pop_more(psgi_queue *queue);

typedef enum psgi_sifted { PSGI_LEAVE, PSGI_TAKE, PSGI_ENOUGH } psgi_sifted;

/*
 * Shows jobs of one class to `look`, in about the order in which they would be popped (each lane
 * its next one, and so on), which says what becomes of each: it stays, is taken out, or it and all
 * that follow stay.  At most PSGI_SIFT_MOST are shown.
 */
void psgi_queue_sift(psgi_queue *queue, int rank, psgi_sifted (*look)(void *user, psgi_job *job),
		     void *user);

/* Chosen: some times what is sought, so that jobs of another kind are looked past, in some 10 us.
 */
#define PSGI_SIFT_MOST 512

/* The class of the next job; PSGI_RANKS when there is none. */
static inline int psgi_queue_rank(const psgi_queue *queue)
{
	int rank = 0;

	while (rank < PSGI_RANKS && queue->last_turn[rank] == NULL && queue->earliest[rank] == NULL)
		rank++;
	return rank;
}

#endif
