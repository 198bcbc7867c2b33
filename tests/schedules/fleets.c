/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two devices of a fleet, the first of which is lost when the gate opens, by a job without a
 * counter: then job 0, which waits behind that, goes on to the other one, whatever happens to it on
 * its way.
 */
#include "tests/schedules/jobs.h"

#include "jobs/fleet.h"

static psg_fleet *fleet;

/* --- setting up and looking back --- */

static void begin_fleet(int64_t deadline_ns)
{
	static const char *const devices[] = { "gpu0", "gpu1" };
	psg_fleet_options options = { .worker = { .lane_capacity = 2, .stall_limit_ns = -1 } };
	psg_worker *first;

	t_begin_state();
	T_EXPECT(psg_fleet_open(devices, 2, &options, &fleet, NULL) == PSG_OK);
	first = fleet->members[0].worker;
	T_EXPECT(psg_submit_function(first, t_lose, NULL, NULL, NULL, NULL) == PSG_OK);
	T_EXPECT(t_submit_to(first, t_run_job, 0, deadline_ns) == PSG_OK);
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
	psg_worker_abort(fleet->members[target != NULL].worker);
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
	second = fleet->members[1].worker;
	t_begin();
	(void)t_open_gate(NULL);
	psgi_worker_drop(second);
	psgi_worker_let_go(second);
	T_EXPECT(psgi_worker_await_left(second));
	t_end();
	psg_fleet_close(fleet);
	T_EXPECT(t_state->status[0] == PSG_OK || t_state->status[0] == PSG_SHUTDOWN);
	t_check_job(0);
	(void)t_release(NULL);
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
	  .mutants = { { "leave", "event", T_SKIPPED } } },
};

const t_table t_fleets = { rows, T_COUNT(rows) };
