/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "jobs/look.h"

/* Jobs until the next look, when none is due before; more where those that share a reading of the
 * clock may be so short that looking at many lanes takes longer.  Chosen. */
#define LOOK_JOBS 64
#define LOOK_UNORDERED_JOBS 512

/* A lane found empty this often in a row is not polled any more, until it marks itself. */
#define IDLE_LOOKS 16

/*
 * Where so many jobs are found at once, more will come: their producer need not fence any more, and
 * the worker does it with all force when it stops to poll.  As that takes up to 10 us, it goes on
 * looking for about as long.  Chosen, the second by the cost of looking at a lane that is empty.
 */
#define BURST_JOBS 8
#define IDLE_LOOKS_AFTER_BURST 1024

static bool pull(psg_worker *worker, psgi_lane *lane)
{
	uint32_t n = psgi_lane_waiting(lane);

	for (uint32_t i = 0; i < n; i++)
		psgi_queue_push(&worker->queue, lane, psgi_lane_get(lane));
	if (n >= BURST_JOBS && !lane->bursts) {
		lane->bursts = true;
		atomic_store_explicit(&lane->unfenced, true, memory_order_relaxed);
	}
	return n > 0;
}

static void start_polling(void *user, psgi_lane *lane)
{
	psg_worker *worker = user;

	lane->idle_looks = 0;
	if (lane->polled)
		return;
	lane->polled = true;
	lane->polled_next = worker->polled;
	worker->polled = lane;
}

static void stop_polling(psgi_lane **link)
{
	psgi_lane *lane = *link;

	*link = lane->polled_next;
	lane->polled = false;
}

/* Tells the lane's producer to mark itself, and to fence before it looks whether it must.  True: it
 * has not fenced until now. */
static bool begin_rest(psgi_lane *lane)
{
	bool bursts = lane->bursts;

	atomic_store_explicit(&lane->noticed, false, memory_order_relaxed);
	if (bursts) {
		lane->bursts = false;
		atomic_store_explicit(&lane->unfenced, false, memory_order_relaxed);
	}
	return bursts;
}

/*
 * Between begin_rest and may_rest.  A producer that had read `unfenced` before is fenced by the
 * heavy one wherever it is: before its job is put, then it sees `noticed`, or behind it, then the
 * job is seen here.
 */
static void fence(bool heavy)
{
	if (heavy)
		psgi_heavy_fence();
	else
		psgi_full_fence();
}

/*
 * May the worker stop looking at this lane?  The producer has been told, by
 * `noticed` before a fence, to mark itself; it enqueues, fences, and looks
 * at `noticed`.  So either it marks itself or its job is seen here.
 */
static bool may_rest(psgi_lane *lane)
{
	if (psgi_lane_waiting(lane) == 0)
		return true;
	atomic_store_explicit(&lane->noticed, true, memory_order_relaxed);
	return false;
}

static bool is_idle(const psgi_lane *lane)
{
	return lane->idle_looks >= (lane->bursts ? IDLE_LOOKS_AFTER_BURST : IDLE_LOOKS);
}

static void look_at_polled(psg_worker *worker)
{
	psgi_lane **link = &worker->polled;

	while (*link != NULL) {
		psgi_lane *lane = *link;

		lane->idle_looks = pull(worker, lane) ? 0 : lane->idle_looks + 1;
		if (is_idle(lane)) {
			fence(begin_rest(lane));
			if (may_rest(lane)) {
				stop_polling(link);
				continue;
			}
		}
		link = &lane->polled_next;
	}
}

void psgi_look(psg_worker *worker, int64_t now_ns)
{
	worker->until_look = worker->queue.by_deadline ? LOOK_JOBS : LOOK_UNORDERED_JOBS;
	worker->looked_ns = now_ns;
	if (atomic_load_explicit(&worker->urgent, memory_order_relaxed)) {
		/* Cleared before the rings are read: see commit in submit.c. */
		atomic_store_explicit(&worker->urgent, false, memory_order_relaxed);
		psgi_full_fence();
	}
	if (psgi_lanes_marked(&worker->lanes))
		psgi_lanes_take_marked(&worker->lanes, start_polling, worker);
	look_at_polled(worker);
}

bool psgi_look_finds(const psg_worker *worker)
{
	for (const psgi_lane *lane = worker->polled; lane != NULL; lane = lane->polled_next)
		if (psgi_lane_waiting(lane) > 0)
			return true;
	return psgi_lanes_marked(&worker->lanes);
}

bool psgi_look_rest(psg_worker *worker)
{
	psgi_lane **link = &worker->polled;
	bool heavy = false;

	if (*link == NULL)
		return true;
	for (psgi_lane *lane = *link; lane != NULL; lane = lane->polled_next)
		heavy |= begin_rest(lane);
	fence(heavy);
	while (*link != NULL) {
		if (may_rest(*link))
			stop_polling(link);
		else
			link = &(*link)->polled_next;
	}
	return worker->polled == NULL;
}
