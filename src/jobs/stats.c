/* SPDX-License-Identifier: Apache-2.0 */
/* What is told of a worker in numbers. */
#include "config.h"

#include <pagesift/stats.h>

#include "jobs/worker.h"

#include <string.h>

/* Of the first version: later members come behind. */
#define FIRST_SIZE sizeof(psg_stats)

/* Chosen: what is larger was not set at all. */
#define MAX_SIZE (16 * sizeof(psg_stats))

psg_status psg_stats_get(const psg_worker *worker, psg_stats *stats)
{
	const psgi_job_stats *counted = &worker->stats;

	if (stats->size < FIRST_SIZE || stats->size > MAX_SIZE)
		return PSG_INVALID;
	memset((char *)stats + sizeof(*stats), 0, stats->size - sizeof(*stats));
	/* The jobs that ran first: what ended is counted after that. */
	psgi_histogram_get(&counted->run_ns, &stats->run_ns);
	psgi_histogram_get(&counted->wait_ns, &stats->wait_ns);
	psgi_histogram_get(&counted->samples, &stats->samples);
	psgi_histogram_get(&counted->bytes_in, &stats->bytes_in);
	psgi_histogram_get(&counted->bytes_out, &stats->bytes_out);
	stats->device_busy_ns =
		atomic_load_explicit(&worker->executor->busy_ns, memory_order_acquire);
	stats->device_jobs = atomic_load_explicit(&worker->executor->jobs, memory_order_acquire);
	psg_worker_stats_get(worker, &stats->worker);
	return PSG_OK;
}

struct visit {
	void (*fn)(void *user, const psg_lane_stats *lane);
	void *user;
};

static void tell_lane(void *user, psgi_lane *lane)
{
	const struct visit *visit = user;
	/* What has ended first: then what was accepted is never less. */
	uint64_t ended = atomic_load_explicit(&lane->ended, memory_order_acquire) +
			 atomic_load_explicit(&lane->served, memory_order_acquire) +
			 atomic_load_explicit(&lane->plain_ended, memory_order_acquire);
	psg_lane_stats stats = {
		.index = lane->index,
		.thread = atomic_load_explicit(&lane->thread, memory_order_relaxed),
		.capacity = lane->capacity,
		.submitted = atomic_load_explicit(&lane->accepted, memory_order_acquire),
		.refused_full = atomic_load_explicit(&lane->refused_full, memory_order_relaxed),
		.refused_late = atomic_load_explicit(&lane->refused_late, memory_order_relaxed),
	};

	stats.queued = stats.submitted - ended;
	visit->fn(visit->user, &stats);
}

void psg_stats_lanes(const psg_worker *worker,
		     void (*visit)(void *user, const psg_lane_stats *lane), void *user)
{
	struct visit with = { visit, user };

	psgi_lanes_visit(&worker->lanes, tell_lane, &with);
}
