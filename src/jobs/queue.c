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
static void prefetch(const psgi_job *job)
{
	__builtin_prefetch(job, 1);
	__builtin_prefetch((const char *)job + PSGI_CACHE_LINE, 1);
}

/* The last one of its lane and class. */
static void append(psgi_queue *queue, psgi_lane *lane, int rank, uint32_t number)
{
	if (lane->waiting[rank].n++ == 0) {
		lane->waiting[rank].first = number;
		join_circle(queue, lane, rank);
	} else {
		lane->behind[lane->waiting[rank].last] = number;
	}
	lane->waiting[rank].last = number;
}

/* Into the next place: they go in the order in which they came. */
static void push_plain(psgi_queue *queue, psgi_lane *lane, psgi_entry entry)
{
	uint32_t place = lane->plain_next++ & lane->mask;

	lane->plain[place] = (psgi_plain){ entry.fn, entry.arg, lane->got - 1 };
	append(queue, lane, PSGI_NORMAL, lane->capacity + place);
}

/* What the number stands for. */
static psgi_job *job_at(psgi_queue *queue, psgi_lane *lane, uint32_t number)
{
	const psgi_plain *plain;

	if (number < lane->capacity)
		return &lane->slots[number];
	plain = &lane->plain[number - lane->capacity];
	queue->plain.lane = lane;
	queue->plain.fn = plain->fn;
	queue->plain.arg = plain->arg;
	queue->plain.rank = PSGI_NORMAL;
	queue->plain.kind = PSGI_JOB_DETACHED;
	queue->plain.future.sequence = plain->sequence;
	return &queue->plain;
}

void psgi_queue_push(psgi_queue *queue, psgi_lane *lane, psgi_entry entry)
{
	uint32_t number;
	int rank;

	if (entry.fn != NULL) {
		push_plain(queue, lane, entry);
		return;
	}
	number = (uint32_t)(entry.word & PSGI_ENTRY_NUMBER);
	rank = (int)(entry.word >> PSGI_ENTRY_RANK_BIT & PSGI_ENTRY_RANK);
	if (queue->by_deadline && (entry.word & PSGI_ENTRY_DEADLINE) != 0) {
		psgi_heap_push(&queue->earliest[rank], &lane->slots[number]);
		return;
	}
	prefetch(&lane->slots[number]);
	append(queue, lane, rank, number);
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
		uint32_t next = lane->behind[number];

		lane->waiting[rank].first = next;
		queue->last_turn[rank] = lane; /* its turn is over: it is the last now */
		/* Many lanes hold more than a core's caches do: what was asked for is gone. */
		if (next < lane->capacity)
			prefetch(&lane->slots[next]);
	}
	return job_at(queue, lane, number);
}

/* Its turn is over, so it is the last one; only the first one can leave a circle. */
psgi_job *psgi_queue_pop_more(psgi_queue *queue)
{
	psgi_lane *lane = queue->plain.lane;
	uint32_t number;

	if (queue->last_turn[PSGI_NORMAL] != lane || psgi_queue_rank(queue) != PSGI_NORMAL ||
	    queue->earliest[PSGI_NORMAL] != NULL)
		return NULL;
	number = lane->waiting[PSGI_NORMAL].first;
	if (number < lane->capacity || lane->waiting[PSGI_NORMAL].n == 1)
		return NULL;
	lane->waiting[PSGI_NORMAL].n--;
	lane->waiting[PSGI_NORMAL].first = lane->behind[number];
	return job_at(queue, lane, number);
}

/* --- sifting --- */

struct sift {
	psgi_sifted (*look)(void *user, psgi_job *job);
	void *user;
	size_t left; /* jobs that may still be shown */
};

static psgi_sifted show(struct sift *sift, psgi_job *job)
{
	psgi_sifted sifted;

	if (sift->left == 0)
		return PSGI_ENOUGH;
	sifted = sift->look(sift->user, job);
	sift->left = sifted == PSGI_ENOUGH ? 0 : sift->left - 1;
	return sifted;
}

/* Each is popped, and goes back when it is to stay. */
static void sift_heap(psgi_job **heap, struct sift *sift)
{
	psgi_job *stay = NULL;

	while (*heap != NULL && sift->left > 0) {
		psgi_job *job = psgi_heap_pop(heap);

		if (show(sift, job) == PSGI_TAKE)
			continue;
		psgi_extra_of(job)->next = stay;
		stay = job;
	}
	while (stay != NULL) {
		psgi_job *next = psgi_extra_of(stay)->next;

		psgi_heap_push(heap, stay);
		stay = next;
	}
}

/* Unlinks the job that follows `before`, or is the first. */
static void unlink_one(psgi_lane *lane, int rank, uint32_t number)
{
	bool has_before = lane->waiting[rank].stay > 0;

	lane->waiting[rank].n--;
	if (lane->waiting[rank].unseen == 0) {
		if (has_before)
			lane->waiting[rank].last = lane->waiting[rank].before;
	} else if (has_before) {
		lane->behind[lane->waiting[rank].before] = lane->behind[number];
	} else {
		lane->waiting[rank].first = lane->behind[number];
	}
}

/* The lane's next one; false: it has no more. */
static bool sift_one(psgi_queue *queue, psgi_lane *lane, int rank, struct sift *sift)
{
	uint32_t number = lane->waiting[rank].first;

	if (lane->waiting[rank].unseen == 0)
		return false;
	if (lane->waiting[rank].stay > 0)
		number = lane->behind[lane->waiting[rank].before];
	lane->waiting[rank].unseen--;
	if (show(sift, job_at(queue, lane, number)) == PSGI_TAKE) {
		unlink_one(lane, rank, number);
		return true;
	}
	lane->waiting[rank].before = number;
	lane->waiting[rank].stay++;
	return true;
}

/* Turns of those that have a job left, in the order as it was. */
static void drop_empty(psgi_queue *queue, int rank)
{
	psgi_lane *lane = queue->last_turn[rank]->waiting[rank].next_turn;
	psgi_lane *end = queue->last_turn[rank], *next;

	queue->last_turn[rank] = NULL;
	for (;; lane = next) {
		next = lane->waiting[rank].next_turn;
		if (lane->waiting[rank].n > 0)
			join_circle(queue, lane, rank);
		if (lane == end)
			return;
	}
}

static void sift_lanes(psgi_queue *queue, int rank, struct sift *sift)
{
	psgi_lane *first = queue->last_turn[rank]->waiting[rank].next_turn, *lane = first;
	bool more;

	do {
		lane->waiting[rank].unseen = lane->waiting[rank].n;
		lane->waiting[rank].stay = 0;
	} while ((lane = lane->waiting[rank].next_turn) != first);
	do {
		more = false;
		do
			more = (sift->left > 0 && sift_one(queue, lane, rank, sift)) || more;
		while ((lane = lane->waiting[rank].next_turn) != first);
	} while (more);
	drop_empty(queue, rank);
}

void psgi_queue_sift(psgi_queue *queue, int rank, psgi_sifted (*look)(void *user, psgi_job *job),
		     void *user)
{
	struct sift sift = { look, user, PSGI_SIFT_MOST };

	sift_heap(&queue->earliest[rank], &sift);
	if (queue->last_turn[rank] != NULL && sift.left > 0)
		sift_lanes(queue, rank, &sift);
}
