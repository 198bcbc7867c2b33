/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Devices that do not answer for a while: job 0 is in a call of a driver, which returns when the
 * gate opens.  A thread of the scenario makes the look of the keeper that finds it, in the place of
 * the worker's own, which sleeps; where a closer would have to join it, the keeper looks itself.
 */
#include "tests/schedules/jobs.h"

/* Of the worker: longer than any tick. */
#define LIMIT_NS (1000 * T_TICK_NS)

/* --- setting up and looking back --- */

/* Of the scenario: the one that hangs where it has no future. */
#define DETACHED 2

/* Job `i` hangs; the call is noticed. */
static void begin_hanging(size_t capacity, int64_t limit_ns, intptr_t i)
{
	psg_worker_options options = { .lane_capacity = capacity, .stall_limit_ns = limit_ns };

	t_begin_state();
	T_EXPECT(psg_worker_open("gpu0", &options, &t_state->worker, NULL) == PSG_OK);
	if (i == DETACHED)
		t_submit_detached(t_hang, DETACHED);
	else
		T_EXPECT(t_submit_to(t_state->worker, t_hang, i, 0) == PSG_OK);
	t_wait_for(&t_state->passed, 1);
	(void)psgi_stall_look(t_state->worker, T_FIRST_NS);
}

static void *notice(void *unused)
{
	(void)unused;
	(void)psgi_stall_look(t_state->worker, T_FIRST_NS + LIMIT_NS);
	return NULL;
}

/* It ran, or was ended while it did. */
static void check_hung(void)
{
	psg_status status = t_state->status[0];

	T_EXPECT(t_state->called[0] == 1 && t_state->ran[0] == 1);
	T_EXPECT(status == PSG_OK || status == PSG_STALLED);
}

/* The device answers again; so the keeper sees. */
static void end_hanging(uint64_t jobs)
{
	psg_worker_stats stats;

	T_EXPECT(psg_worker_drain(t_state->worker, -1) == PSG_OK);
	(void)psgi_stall_look(t_state->worker, T_FIRST_NS + 2 * LIMIT_NS);
	T_EXPECT(psg_worker_health(t_state->worker, NULL) == PSG_OK);
	psg_worker_stats_get(t_state->worker, &stats);
	T_EXPECT(stats.submitted == jobs && stats.queued == 0);
	T_EXPECT(stats.completed + stats.failed + stats.cancelled + stats.expired == jobs);
	psg_worker_close(t_state->worker);
	free(t_state);
}

/* --- the job that runs --- */

/* The call returns while it is noticed; whoever takes the mark ends the job. */
static void returning(void (*leave)(void))
{
	t_thread *noticer;

	begin_hanging(1, LIMIT_NS, 0);
	noticer = t_spawn("noticer", notice, NULL);
	t_begin();
	(void)t_open_gate(NULL);
	if (leave != NULL)
		leave();
	t_join(noticer);
	t_end();
	T_EXPECT(psg_worker_drain(t_state->worker, -1) == PSG_OK);
	check_hung();
}

static void return_alone(const void *unused)
{
	(void)unused;
	returning(NULL);
	(void)t_release(NULL);
	end_hanging(1);
}

static void cancel(void)
{
	psg_cancel_result result = psg_future_cancel(t_state->futures[0]);

	T_EXPECT(result == PSG_CANCEL_RUNNING || result == PSG_CANCEL_DONE);
}

static void return_cancelled(const void *unused)
{
	(void)unused;
	returning(cancel);
	(void)t_release(NULL);
	end_hanging(1);
}

static void let_go(void)
{
	(void)t_release(NULL);
}

static void return_let_go(const void *unused)
{
	(void)unused;
	returning(let_go);
	end_hanging(1);
}

/*
 * --- one behind it, which the executor finds when it is back ---
 *
 * Either that is meanwhile, or the job is cancelled.
 */
static void behind(const void *cancels)
{
	t_thread *noticer;

	begin_hanging(2, LIMIT_NS, DETACHED);
	T_EXPECT(t_submit(0, 0, 0) == PSG_OK);
	noticer = t_spawn("noticer", notice, NULL);
	t_begin();
	if (cancels != NULL)
		(void)psg_future_cancel(t_state->futures[0]);
	else
		(void)t_open_gate(NULL);
	t_join(noticer);
	t_end();
	if (cancels != NULL)
		(void)t_open_gate(NULL);
	T_EXPECT(psg_worker_drain(t_state->worker, -1) == PSG_OK);
	/* It may have been found running, too. */
	T_EXPECT(t_state->called[0] == 1);
	T_EXPECT(t_state->ran[0] == 1 || t_state->status[0] != PSG_OK);
	(void)t_release(NULL);
	end_hanging(2);
}

/* The only slot is that of the job that hangs. */
static void room(const void *unused)
{
	t_thread *noticer;

	(void)unused;
	begin_hanging(1, LIMIT_NS, 0);
	noticer = t_spawn("noticer", notice, NULL);
	t_begin();
	T_EXPECT(t_submit(1, 0, PSGI_NEVER) == PSG_STALLED);
	t_join(noticer);
	t_end();
	(void)t_open_gate(NULL);
	(void)t_wait_and_release(NULL);
	end_hanging(1);
}

/* --- closing --- */

/* The call returns while the worker is closed: whoever is last frees it. */
static void closing(const void *unused)
{
	t_thread *opener;

	(void)unused;
	begin_hanging(1, LIMIT_NS, 0);
	(void)notice(NULL);
	(void)t_release(NULL);
	opener = t_spawn("opener", t_open_gate, NULL);
	t_begin();
	psg_worker_close(t_state->worker);
	t_join(opener);
	t_end();
	check_hung();
	free(t_state);
}

/* The keeper notices it while the closer waits. */
static void closing_unnoticed(const void *unused)
{
	(void)unused;
	begin_hanging(1, T_TICK_NS / 2, 0);
	t_begin();
	psg_worker_close(t_state->worker);
	t_end();
	T_EXPECT(t_state->status[0] == PSG_STALLED);
	(void)t_release(NULL);
	(void)t_open_gate(NULL);
	t_end();
	check_hung();
	free(t_state);
}

static const t_row rows[] = {
	{ .scenario = { .name = "stall-returns", .run = return_alone },
	  .mutants = { { "psgi_stall_reclaim", "&job->future.word", T_SPLIT },
		       { "psgi_stall_reclaim", "&job->future.word", T_SKIPPED },
		       { "take", "&future->word", T_SPLIT },
		       { "take", "&future->word", T_FORCED } } },
	{ .scenario = { .name = "stall-cancelled", .run = return_cancelled } },
	{ .scenario = { .name = "stall-let-go", .run = return_let_go } },
	{ .scenario = { .name = "stall-queued", .run = behind },
	  .mutants = { { "psgi_future_claim", "&future->word", T_SPLIT } } },
	{ .scenario = { .name = "stall-queued-cancelled", .run = behind, .arg = "" } },
	{ .scenario = { .name = "stall-room", .run = room },
	  .mutants = { { "park", "sleep", T_BLIND } } },
	{ .scenario = { .name = "stall-closed", .run = closing },
	  .mutants = { { "psgi_worker_desert", "&worker->presence", T_SPLIT },
		       { "psgi_worker_desert", "&worker->presence", T_FORCED },
		       { "leave", "&worker->presence", T_SPLIT } } },
	{ .scenario = { .name = "stall-closed-unnoticed", .run = closing_unnoticed, .clock = true },
	  .mutants = { { "set_stalled", "event", T_SKIPPED } } },
};

const t_table t_stalls = { rows, T_COUNT(rows) };
