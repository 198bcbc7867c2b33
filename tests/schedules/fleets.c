/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two devices of a fleet.  The first one is lost when the gate opens, by a job without a counter,
 * or does not answer until then: job 0, which waits behind that, goes on to the other one, whatever
 * happens to it on its way.
 */
#include "tests/schedules/jobs.h"

#include "jobs/fleet.h"

static psg_fleet *fleet;

/* --- setting up and looking back --- */

static psg_worker *worker_of(int i)
{
	return fleet->members[i].worker;
}

static void open_fleet(int64_t limit_ns)
{
	static const char *const devices[] = { "gpu0", "gpu1" };
	psg_fleet_options options = { .worker = { .lane_capacity = 2,
						  .stall_limit_ns = limit_ns } };

	t_begin_state();
	T_EXPECT(psg_fleet_open(devices, 2, &options, &fleet, NULL) == PSG_OK);
}

static void submit_losing(void)
{
	T_EXPECT(psg_submit_function(worker_of(0), t_lose, NULL, NULL, NULL, NULL) == PSG_OK);
}

static void begin_fleet(int64_t deadline_ns)
{
	open_fleet(-1);
	submit_losing();
	T_EXPECT(t_submit_to(worker_of(0), t_run_job, 0, deadline_ns) == PSG_OK);
}

/* Each member has let go of what it had. */
static void check_counts(void)
{
	for (size_t i = 0; i < 2; i++) {
		const psgi_member *member = &fleet->members[i];

		T_EXPECT(atomic_load(&member->entered) == atomic_load(&member->ended));
		T_EXPECT(atomic_load(&member->backlog_ns) == 0);
	}
}

static void end_fleet(void)
{
	T_EXPECT(psg_fleet_drain(fleet, -1) == PSG_OK);
	t_check_job(0);
	check_counts();
	psg_fleet_close(fleet);
	free(t_state);
}

/* --- on the way --- */

static void moving(const void *deadline)
{
	begin_fleet(deadline != NULL ? T_FIRST_NS + T_TICK_NS / 2 : 0);
	t_begin();
	(void)t_open_gate(NULL);
	t_end();
	T_EXPECT(psg_fleet_drain(fleet, -1) == PSG_OK);
	T_EXPECT(t_state->status[0] == PSG_OK ||
		 (deadline != NULL && t_state->status[0] == PSG_TIMED_OUT));
	T_EXPECT(deadline != NULL || psg_fleet_where(fleet, t_state->futures[0]) == 1);
	(void)t_release(NULL);
	end_fleet();
}

static void cancelled(const void *unused)
{
	psg_cancel_result result;

	(void)unused;
	begin_fleet(0);
	t_begin();
	(void)t_open_gate(NULL);
	result = psg_future_cancel(t_state->futures[0]);
	t_end();
	T_EXPECT(psg_fleet_drain(fleet, -1) == PSG_OK);
	T_EXPECT(t_state->status[0] == PSG_CANCELLED ||
		 (t_state->status[0] == PSG_OK && result != PSG_CANCEL_REMOVED));
	(void)t_release(NULL);
	end_fleet();
}

static void let_go(const void *unused)
{
	(void)unused;
	begin_fleet(0);
	t_begin();
	(void)t_open_gate(NULL);
	(void)t_release(NULL);
	t_end();
	end_fleet();
}

/* --- the fleet goes meanwhile --- */

/* The member that it leaves, or the one to which it goes. */
static void aborted(const void *target)
{
	begin_fleet(0);
	t_begin();
	(void)t_open_gate(NULL);
	psg_worker_abort(worker_of(target != NULL));
	t_end();
	T_EXPECT(psg_fleet_drain(fleet, -1) == PSG_OK);
	T_EXPECT(t_state->status[0] == PSG_OK || t_state->status[0] == PSG_SHUTDOWN);
	(void)t_release(NULL);
	end_fleet();
}

/*
 * Closing, of which all else is the end of a worker: the member to which it goes may have left
 * before it comes.
 */
static void closed(const void *unused)
{
	psg_worker *second;

	(void)unused;
	begin_fleet(0);
	second = worker_of(1);
	t_begin();
	(void)t_open_gate(NULL);
	psgi_worker_drop(second);
	psgi_worker_let_go(second);
	T_EXPECT(psgi_worker_await(second));
	t_end();
	psg_fleet_close(fleet);
	T_EXPECT(t_state->status[0] == PSG_OK || t_state->status[0] == PSG_SHUTDOWN);
	t_check_job(0);
	(void)t_release(NULL);
	free(t_state);
}

/* --- devices that do not answer --- */

/* As in stalls.c. */
#define LIMIT_NS (1000 * T_TICK_NS)

/* So many hang in a job of their own; the last one until the first gate. */
static void begin_stalled(int n)
{
	open_fleet(LIMIT_NS);
	for (int i = 0; i < n; i++) {
		t_state->hangs_until = (uint32_t)(n - i);
		T_EXPECT(t_submit_to(worker_of(i), t_hang, i + 1, 0) == PSG_OK);
		t_wait_for(&t_state->passed, (uint32_t)i + 1);
		(void)psgi_stall_look(worker_of(i), T_FIRST_NS);
	}
	T_EXPECT(t_submit_to(worker_of(0), t_run_job, 0, 0) == PSG_OK);
}

static void *notice(void *member)
{
	(void)psgi_stall_look(worker_of((int)(intptr_t)member), T_FIRST_NS + LIMIT_NS);
	return NULL;
}

/* The gates open, and `n` that were hanging answer again. */
static void end_stalled(int n)
{
	for (int i = 0; i < n; i++)
		(void)t_open_gate(NULL);
	t_end();
	for (intptr_t i = 1; i <= n; i++)
		(void)t_release((void *)i);
	T_EXPECT(psg_fleet_drain(fleet, -1) == PSG_OK);
	for (int i = 0; i < 2; i++) {
		(void)psgi_stall_look(worker_of(i), T_FIRST_NS + 2 * LIMIT_NS);
		T_EXPECT(psg_worker_health(worker_of(i), NULL) == PSG_OK);
	}
	T_EXPECT(t_state->called[0] == 1 && t_state->ran[0] <= 1);
	check_counts();
	psg_fleet_close(fleet);
	free(t_state);
}

/* The first one answers while it is noticed: one of the two runs the job. */
static void stalled(const void *unused)
{
	t_thread *noticer;

	(void)unused;
	begin_stalled(1);
	noticer = t_spawn("noticer", notice, (void *)0);
	t_begin();
	(void)t_open_gate(NULL);
	t_join(noticer);
	t_end();
	T_EXPECT(psg_future_wait(t_state->futures[0]) == t_state->status[0]);
	T_EXPECT(t_state->ran[0] == 1);
	/* Where it was found running it ends. */
	T_EXPECT(t_state->status[0] == PSG_OK || psg_fleet_where(fleet, t_state->futures[0]) == 0);
	(void)t_release((void *)0);
	end_stalled(1);
}

/* It does not answer, and the job is cancelled or let go on its way. */
static void leave_stalled(void (*leave)(void))
{
	t_thread *noticer;

	begin_stalled(1);
	noticer = t_spawn("noticer", notice, (void *)0);
	t_begin();
	leave();
	t_join(noticer);
	t_end();
	t_check_job(0);
	T_EXPECT(t_state->status[0] == PSG_OK || t_state->status[0] == PSG_CANCELLED);
}

static void cancel(void)
{
	(void)psg_future_cancel(t_state->futures[0]);
}

static void stalled_cancelled(const void *unused)
{
	(void)unused;
	leave_stalled(cancel);
	(void)t_release((void *)0);
	end_stalled(1);
}

static void release(void)
{
	(void)t_release((void *)0);
}

static void stalled_let_go(const void *unused)
{
	(void)unused;
	leave_stalled(release);
	end_stalled(1);
}

/* The second one has not been answering either, which is noticed when it does, or never did, or
 * when the job is cancelled. */
static void again(void (*other)(void))
{
	t_thread *noticer;

	begin_stalled(2);
	(void)notice((void *)0);
	noticer = t_spawn("noticer", notice, (void *)1);
	t_begin();
	if (other != NULL)
		other();
	t_join(noticer);
	t_end();
	T_EXPECT(t_state->called[0] == 1);
	T_EXPECT(t_state->status[0] != PSG_OK || t_state->ran[0] == 1);
}

static void again_and_end(void (*other)(void), psg_status or_else)
{
	again(other);
	T_EXPECT(t_state->status[0] == PSG_STALLED || t_state->status[0] == or_else);
	(void)t_release((void *)0);
	end_stalled(2);
}

static void stalled_twice(const void *unused)
{
	(void)unused;
	again_and_end(NULL, PSG_STALLED);
}

static void stalled_twice_cancelled(const void *unused)
{
	(void)unused;
	again_and_end(cancel, PSG_CANCELLED);
}

static void open_gate(void)
{
	(void)t_open_gate(NULL);
}

static void stalled_twice_returns(const void *unused)
{
	(void)unused;
	again_and_end(open_gate, PSG_OK);
}

/* A job that came from a lost device hangs on the other one, and nobody waits for it. */
static void moved_hangs(const void *unused)
{
	t_thread *noticer;

	(void)unused;
	open_fleet(LIMIT_NS);
	t_state->hangs_until = 2;
	submit_losing();
	T_EXPECT(t_submit_to(worker_of(0), t_hang, 0, 0) == PSG_OK);
	(void)t_open_gate(NULL);
	t_wait_for(&t_state->passed, 1);
	(void)psgi_stall_look(worker_of(1), T_FIRST_NS);
	(void)t_release((void *)0);
	noticer = t_spawn("noticer", notice, (void *)1);
	t_begin();
	(void)t_open_gate(NULL);
	t_join(noticer);
	t_end();
	T_EXPECT(psg_fleet_drain(fleet, -1) == PSG_OK);
	T_EXPECT(t_state->called[0] == 1 && t_state->ran[0] == 1);
	T_EXPECT(t_state->status[0] == PSG_OK || t_state->status[0] == PSG_STALLED);
	check_counts();
	psg_fleet_close(fleet);
	free(t_state);
}

static const t_row rows[] = {
	{ .scenario = { .name = "fleet-moves", .run = moving },
	  .mutants = { { "psgi_executor_notify", "event", T_SKIPPED } } },
	{ .scenario = { .name = "fleet-late", .run = moving, .arg = "", .clock = true } },
	{ .scenario = { .name = "fleet-cancelled", .run = cancelled } },
	{ .scenario = { .name = "fleet-let-go", .run = let_go },
	  .mutants = { { "unclaim", "&future->word", T_SPLIT },
		       { "psgi_future_drop", "&future->word", T_SPLIT } } },
	{ .scenario = { .name = "fleet-origin-aborted", .run = aborted } },
	{ .scenario = { .name = "fleet-target-aborted", .run = aborted, .arg = "" } },
	{ .scenario = { .name = "fleet-closed", .run = closed },
	  .mutants = { { "leave", "event", T_SKIPPED } },
	  .large = true },
	{ .scenario = { .name = "stall-moves", .run = stalled },
	  .mutants = { { "psgi_future_claim_unmoved", "&future->word", T_SPLIT },
		       { "psgi_future_claim_unmoved", "&future->word", T_FORCED } },
	  .large = true },
	{ .scenario = { .name = "stall-moves-cancelled", .run = stalled_cancelled } },
	{ .scenario = { .name = "stall-moves-let-go", .run = stalled_let_go },
	  .mutants = { { "unclaim", "&future->word", T_SPLIT } } },
	{ .scenario = { .name = "stall-again", .run = stalled_twice } },
	{ .scenario = { .name = "stall-again-cancelled", .run = stalled_twice_cancelled } },
	{ .scenario = { .name = "stall-again-returns", .run = stalled_twice_returns },
	  .mutants = { { "psgi_future_claim", "&future->word", T_SPLIT } },
	  .large = true },
	{ .scenario = { .name = "stall-moved", .run = moved_hangs },
	  .mutants = { { "psgi_stall_reclaim", "&worker->runs_moved[i]", T_SPLIT },
		       { "end_running_moved", "&worker->runs_moved[i]", T_SPLIT } } },
};

const t_table t_fleets = { rows, T_COUNT(rows) };
