/* SPDX-License-Identifier: Apache-2.0 */
/* Workers that come to one executor and leave it, while it serves others. */
#include "tests/schedules/jobs.h"

#include <pagesift/shared.h>

static psg_shared_worker *shared;
static psg_worker *other; /* beside t_state->worker */

/* --- setting up and looking back --- */

static psg_shared_worker *acquire(void)
{
	psg_shared_worker *acquired;

	T_EXPECT(psg_shared_worker_acquire("reference", NULL, &acquired, NULL) == PSG_OK);
	return acquired;
}

static psg_worker *open_engine(void)
{
	psg_worker_options options = { .lane_capacity = 2 };
	psg_worker *engine;

	T_EXPECT(psg_worker_open_shared(shared, &options, &engine, NULL) == PSG_OK);
	return engine;
}

/* One engine, which holds the shared worker. */
static void begin_shared(void)
{
	t_begin_state();
	shared = acquire();
	t_state->worker = open_engine();
}

static void end_engine(psg_worker *engine, uint64_t jobs)
{
	psg_worker_stats stats;

	psg_worker_stats_get(engine, &stats);
	T_EXPECT(stats.submitted == jobs && stats.queued == 0);
	psg_worker_close(engine);
}

/* --- joining --- */

static void *open_other(void *unused)
{
	(void)unused;
	other = open_engine();
	return NULL;
}

/* Two engines come to an executor that sleeps. */
static void joining(const void *unused)
{
	t_thread *opener;

	(void)unused;
	t_begin_state();
	shared = acquire();
	opener = t_spawn("opener", open_other, NULL);
	t_begin();
	t_state->worker = open_engine();
	t_join(opener);
	t_end();
	psg_shared_worker_release(shared);
	T_EXPECT(t_submit(0, 0, 0) == PSG_OK);
	T_EXPECT(t_submit_to(other, t_run_job, 1, 0) == PSG_OK);
	(void)t_wait_and_release((void *)0);
	(void)t_wait_and_release((void *)1);
	end_engine(other, 1);
	end_engine(t_state->worker, 1);
	free(t_state);
}

/* --- leaving, while the other one's job comes --- */

static void *close_other(void *unused)
{
	(void)unused;
	psg_worker_close(other);
	return NULL;
}

static void *drain_other(void *unused)
{
	(void)unused;
	T_EXPECT(psg_worker_drain(other, -1) == PSG_OK);
	return NULL;
}

static void *abort_other(void *unused)
{
	(void)unused;
	psg_worker_abort(other);
	return NULL;
}

/* A job of either waits behind a gate that opens now. */
static void beside(void *(*end)(void *arg), bool closes)
{
	begin_shared();
	other = open_engine();
	psg_shared_worker_release(shared);
	t_submit_detached(t_gate, 1);
	T_EXPECT(t_submit(0, 0, 0) == PSG_OK);
	T_EXPECT(t_submit_to(other, t_run_job, 1, 0) == PSG_OK);
	t_begin();
	(void)t_open_gate(NULL);
	(void)end(NULL);
	t_end();
	(void)t_wait_and_release((void *)0);
	T_EXPECT(t_state->status[0] == PSG_OK && t_state->ran[0] == 1);
	(void)t_wait_and_release((void *)1);
	t_check_job(1);
	if (!closes)
		end_engine(other, 1);
	end_engine(t_state->worker, 2);
	free(t_state);
}

static void drained(const void *unused)
{
	(void)unused;
	beside(drain_other, false);
}

static void aborted(const void *unused)
{
	(void)unused;
	beside(abort_other, false);
}

static void closed(const void *unused)
{
	(void)unused;
	beside(close_other, true);
}

static void *release_shared(void *unused)
{
	(void)unused;
	psg_shared_worker_release(shared);
	return NULL;
}

/* The handle goes while the engine is closed: whoever is last ends the thread. */
static void released(const void *unused)
{
	t_thread *releaser;

	(void)unused;
	begin_shared();
	releaser = t_spawn("releaser", release_shared, NULL);
	t_begin();
	psg_worker_close(t_state->worker);
	t_join(releaser);
	t_end();
	free(t_state);
}

/* --- the table --- */

static void *acquire_and_release(void *unused)
{
	(void)unused;
	psg_shared_worker_release(acquire());
	return NULL;
}

/* One opens the device, the other one waits for that, or opens its own after it. */
static void acquiring(const void *unused)
{
	t_thread *second;

	(void)unused;
	second = t_spawn("second", acquire_and_release, NULL);
	t_begin();
	(void)acquire_and_release(NULL);
	t_join(second);
	t_end();
}

static const t_row rows[] = {
	{ .scenario = { .name = "shared-joins", .run = joining },
	  .mutants = { { "take_joined", "&executor->joining", T_SPLIT },
		       { "psgi_executor_notify", "event", T_SKIPPED } } },
	{ .scenario = { .name = "shared-drained", .run = drained },
	  .mutants = { { "settle", "event", T_SKIPPED } } },
	{ .scenario = { .name = "shared-aborted", .run = aborted } },
	{ .scenario = { .name = "shared-closed", .run = closed },
	  .mutants = { { "leave", "event", T_SKIPPED }, { "wait_left", "event", T_BLIND } } },
	{ .scenario = { .name = "shared-released", .run = released },
	  .mutants = { { "psgi_executor_release", "event", T_SKIPPED } } },
	{ .scenario = { .name = "shared-acquired", .run = acquiring } },
};

const t_table t_shared = { rows, T_COUNT(rows) };
