/* SPDX-License-Identifier: Apache-2.0 */
/* A worker's counters, and what is known from them. */
#include "config.h"

#include "jobs/jobs.h"
#include "jobs/worker.h"

struct sum {
	psg_worker_stats stats;
	uint64_t ended;
};

static void add_ended(void *user, psgi_lane *lane)
{
	struct sum *sum = user;

	sum->ended += atomic_load_explicit(&lane->ended, memory_order_acquire);
}

static void add_accepted(void *user, psgi_lane *lane)
{
	struct sum *sum = user;

	sum->stats.submitted += atomic_load_explicit(&lane->accepted, memory_order_acquire);
}

/* What has ended first: then what was accepted is never less. */
static void add_load(const psg_worker *worker, struct sum *sum)
{
	sum->ended = atomic_load_explicit(&worker->ended, memory_order_acquire);
	psgi_lanes_visit(&worker->lanes, add_ended, sum);
	psgi_lanes_visit(&worker->lanes, add_accepted, sum);
	sum->stats.queued = sum->stats.submitted - sum->ended;
}

uint64_t psgi_worker_load(const psg_worker *worker)
{
	struct sum sum = { .ended = 0 };

	add_load(worker, &sum);
	return sum.stats.queued;
}

int64_t psg_worker_retry_after_ns(const psg_worker *worker)
{
	int64_t mean = atomic_load_explicit(&worker->mean_ns, memory_order_relaxed);
	uint64_t load = psgi_worker_load(worker);

	return mean > 0 && load > (uint64_t)(PSGI_NEVER / mean) ? PSGI_NEVER : mean * (int64_t)load;
}

bool psgi_worker_refuses(const psg_worker *worker)
{
	return atomic_load_explicit(&worker->refusing, memory_order_relaxed);
}

static uint64_t outcome_of(const _Atomic uint64_t *outcome, psgi_outcome which)
{
	return atomic_load_explicit(&outcome[which], memory_order_relaxed);
}

static void add_outcomes(psg_worker_stats *stats, const _Atomic uint64_t *outcome)
{
	stats->completed += outcome_of(outcome, PSGI_COMPLETED);
	stats->failed += outcome_of(outcome, PSGI_FAILED);
	stats->cancelled += outcome_of(outcome, PSGI_CANCELLED);
	stats->expired += outcome_of(outcome, PSGI_EXPIRED);
}

static void add_lane(void *user, psgi_lane *lane)
{
	psg_worker_stats *stats = user;

	add_outcomes(stats, lane->outcome);
	stats->refused_full += atomic_load_explicit(&lane->refused_full, memory_order_relaxed);
	stats->refused_late += atomic_load_explicit(&lane->refused_late, memory_order_relaxed);
	stats->lanes +=
		atomic_load_explicit(&lane->flags, memory_order_relaxed) == PSGI_LANE_ATTACHED;
}

void psg_worker_stats_get(const psg_worker *worker, psg_worker_stats *stats)
{
	struct sum sum = { .ended = 0 };
	const char *phase;

	add_load(worker, &sum);
	*stats = sum.stats;
	add_outcomes(stats, worker->outcome);
	phase = atomic_load_explicit(&worker->executor->phase.what, memory_order_relaxed);
	stats->phase = phase != NULL ? phase : "";
	stats->stalls = atomic_load_explicit(&worker->stall.times, memory_order_relaxed);
	stats->busy_ns = atomic_load_explicit(&worker->busy_ns, memory_order_relaxed);
	stats->recomputed = atomic_load_explicit(&worker->recomputed, memory_order_relaxed);
	stats->ops_on_gpu = atomic_load_explicit(&worker->ops_on_gpu, memory_order_relaxed);
	stats->ops_on_cpu = atomic_load_explicit(&worker->ops_on_cpu, memory_order_relaxed);
	stats->memory_used =
		atomic_load_explicit(&worker->executor->memory_used, memory_order_relaxed);
	stats->memory_held =
		atomic_load_explicit(&worker->executor->memory_held, memory_order_relaxed);
	stats->memory_peak =
		atomic_load_explicit(&worker->executor->memory_high, memory_order_relaxed);
	psgi_lanes_visit(&worker->lanes, add_lane, stats);
}
