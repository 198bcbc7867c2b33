/* SPDX-License-Identifier: Apache-2.0 */
/* Whole workers: the executor's thread, the keeper of deadlines, and who submits, cancels, closes.
 */
#include "tests/schedules/jobs.h"

/* --- setting up and looking back; one order --- */

static void begin_worker(size_t capacity)
{
	psg_worker_options options = { .lane_capacity = capacity };

	t_begin_state();
	T_EXPECT(psg_worker_open("reference", &options, &t_state->worker, NULL) == PSG_OK);
}

static void end_worker(uint64_t jobs)
{
	psg_worker_stats stats;

	T_EXPECT(psg_worker_drain(t_state->worker, -1) == PSG_OK);
	psg_worker_stats_get(t_state->worker, &stats);
	T_EXPECT(stats.submitted == jobs && stats.queued == 0);
	T_EXPECT(stats.completed + stats.failed + stats.cancelled + stats.expired == jobs);
	psg_worker_close(t_state->worker);
	free(t_state);
}

/* --- one after the other --- */

/* The worker is on its way to sleep when the next one comes; the only slot is free again. */
static void jobs_in_turn(const void *unused)
{
	(void)unused;
	begin_worker(1);
	t_begin();
	for (intptr_t i = 0; i < 2; i++) {
		T_EXPECT(t_submit(i, 0, 0) == PSG_OK);
		(void)t_wait_and_release((void *)i);
	}
	t_end();
	t_check_job(0);
	t_check_job(1);
	end_worker(2);
}

static void detached_in_turn(const void *unused)
{
	(void)unused;
	begin_worker(4);
	t_begin();
	for (uint32_t i = 1; i <= 2; i++) {
		t_submit_detached(t_pass, 0);
		t_wait_for(&t_state->passed, i);
	}
	t_end();
	end_worker(2);
}

/* Of two threads. */
static void *submit_one_detached(void *unused)
{
	(void)unused;
	t_submit_detached(t_pass, 0);
	return NULL;
}

static void detached_by_two(const void *unused)
{
	t_thread *other;

	(void)unused;
	begin_worker(2);
	other = t_spawn("other", submit_one_detached, NULL);
	t_begin();
	t_submit_detached(t_pass, 0);
	t_wait_for(&t_state->passed, 2);
	t_join(other);
	t_end();
	end_worker(2);
}

/*
 * Eight are found at once, then their producer does not fence: the last of them is held up, and
 * goes on while another comes.
 */
static void burst(const void *unused)
{
	(void)unused;
	begin_worker(16);
	t_submit_detached(t_gate, 1);
	for (int i = 0; i < 8; i++)
		t_submit_detached(i < 7 ? t_nothing : t_gate, 2);
	t_count_one(&t_state->open);
	t_begin();
	t_count_one(&t_state->open);
	t_submit_detached(t_pass, 0);
	t_wait_for(&t_state->passed, 1);
	t_end();
	end_worker(10);
}

/* --- ends that race with the start --- */

/* A job behind a t_gate that opens now; then two threads do this and that to it. */
static void behind_gate(void *(*own)(void *arg), void *(*other)(void *arg), int64_t deadline_ns)
{
	t_thread *thread = NULL;

	begin_worker(4);
	t_submit_detached(t_gate, 1);
	T_EXPECT(t_submit(0, deadline_ns, 0) == PSG_OK);
	if (other != NULL)
		thread = t_spawn("other", other, NULL);
	t_begin();
	t_count_one(&t_state->open);
	if (own != NULL)
		(void)own(NULL);
	if (thread != NULL)
		t_join(thread);
	t_end();
	T_EXPECT(psg_worker_drain(t_state->worker, -1) == PSG_OK);
	t_check_job(0);
}

static void cancelled(const void *unused)
{
	(void)unused;
	behind_gate(t_cancel_and_release, NULL, 0);
	T_EXPECT(t_state->status[0] == PSG_OK || t_state->status[0] == PSG_CANCELLED);
	end_worker(2);
}

static void aborted(const void *unused)
{
	(void)unused;
	behind_gate(t_wait_and_release, t_abort_worker, 0);
	T_EXPECT(t_state->status[0] == PSG_OK || t_state->status[0] == PSG_SHUTDOWN);
	end_worker(2);
}

static void cancelled_and_aborted(const void *unused)
{
	(void)unused;
	behind_gate(t_cancel_and_release, t_abort_worker, 0);
	end_worker(2);
}

/* The keeper wakes when it passes. */
static void late(const void *unused)
{
	(void)unused;
	behind_gate(NULL, NULL, T_FIRST_NS + T_TICK_NS / 2);
	T_EXPECT(t_state->status[0] == PSG_OK || t_state->status[0] == PSG_TIMED_OUT);
	(void)t_release(NULL);
	end_worker(2);
}

/* The executor may have read the clock before the job came that it finds, which is dropped. */
static void aborted_late(const void *unused)
{
	(void)unused;
	begin_worker(4);
	t_submit_detached(t_gate, 1);
	t_begin();
	t_count_one(&t_state->open);
	T_EXPECT(t_submit(0, 0, 0) == PSG_OK);
	psg_worker_abort(t_state->worker);
	(void)t_wait_and_release((void *)0);
	t_end();
	T_EXPECT(t_state->status[0] == PSG_OK || t_state->status[0] == PSG_SHUTDOWN);
	end_worker(2);
}

/* --- deadlines while the executor is held up: the keeper alone ends them --- */

static void expiring(const void *unused)
{
	(void)unused;
	begin_worker(4);
	t_submit_detached(t_gate, 1);
	t_begin();
	T_EXPECT(t_submit(0, psg_now_ns() + T_TICK_NS / 2, 0) == PSG_OK);
	(void)t_wait_and_release((void *)0);
	T_EXPECT(t_state->status[0] == PSG_TIMED_OUT);
	T_EXPECT(t_submit(1, psg_now_ns() + T_TICK_NS / 2, 0) == PSG_OK);
	(void)t_wait_and_release((void *)1);
	t_end();
	T_EXPECT(t_state->status[1] == PSG_TIMED_OUT);
	t_count_one(&t_state->open);
	end_worker(3);
}

/* Another comes while the keeper makes its round for the first. */
static void keeping(const void *later)
{
	(void)later;
	begin_worker(4);
	t_submit_detached(t_gate, 1);
	T_EXPECT(t_submit(0, T_FIRST_NS + T_TICK_NS / 2, 0) == PSG_OK);
	t_begin();
	T_EXPECT(t_submit(1, T_FIRST_NS + (later != NULL ? 3 : 1) * T_TICK_NS / 4, 0) == PSG_OK);
	(void)t_wait_and_release((void *)1);
	t_end();
	T_EXPECT(t_state->status[1] == PSG_TIMED_OUT);
	t_count_one(&t_state->open);
	(void)t_wait_and_release((void *)0);
	end_worker(3);
}

/* --- room --- */

/* The only slot is held by a future that another thread lets go. */
static void room(const void *aborts)
{
	t_thread *releaser, *aborter = NULL;
	psg_status status;

	begin_worker(1);
	T_EXPECT(t_submit(0, 0, 0) == PSG_OK);
	T_EXPECT(psg_future_wait(t_state->futures[0]) == PSG_OK);
	releaser = t_spawn("releaser", t_release, NULL);
	if (aborts != NULL)
		aborter = t_spawn("aborter", t_abort_worker, NULL);
	t_begin();
	status = t_submit(1, 0, PSGI_NEVER);
	T_EXPECT(status == PSG_OK || (aborts != NULL && status == PSG_SHUTDOWN));
	t_join(releaser);
	if (aborter != NULL)
		t_join(aborter);
	if (status == PSG_OK)
		(void)t_wait_and_release((void *)1);
	t_end();
	end_worker(status == PSG_OK ? 2 : 1);
}

/* The lane is full of detached jobs, and one more waits for room: these end now, or the worker is
 * aborted while they do not. */
static void detached_room(const void *aborts)
{
	const psg_job_options options = { .room_timeout_ns = PSGI_NEVER };
	t_thread *other;
	psg_status status;

	begin_worker(2);
	t_submit_detached(t_gate, 1);
	t_submit_detached(t_nothing, 0);
	other = t_spawn("other", aborts != NULL ? t_abort_worker : t_open_gate, NULL);
	t_begin();
	status = psg_submit_function(t_state->worker, t_pass, NULL, &options, NULL, NULL);
	T_EXPECT(status == (aborts != NULL ? PSG_SHUTDOWN : PSG_OK));
	t_join(other);
	t_end();
	if (aborts != NULL)
		t_count_one(&t_state->open);
	end_worker(status == PSG_OK ? 3 : 2);
}

/* --- draining and closing --- */

static void *submit_if_may(void *unused)
{
	psg_status status = t_submit(0, 0, 0);

	(void)unused;
	T_EXPECT(status == PSG_OK || status == PSG_SHUTDOWN);
	if (status == PSG_OK)
		(void)t_wait_and_release((void *)0);
	return NULL;
}

/* What was accepted ends; what ran before draining was over, well. */
static void drained(const void *unused)
{
	t_thread *submitter;

	(void)unused;
	begin_worker(1);
	submitter = t_spawn("submitter", submit_if_may, NULL);
	t_begin();
	T_EXPECT(psg_worker_drain(t_state->worker, -1) == PSG_OK);
	t_join(submitter);
	t_end();
	if (t_state->called[0] != 0)
		t_check_job(0);
	psg_worker_close(t_state->worker);
	free(t_state);
}

/* A thread ends, its future is let go by another, and the worker is closed. */
static void closed(const void *unused)
{
	t_thread *releaser;

	(void)unused;
	begin_worker(2);
	t_submit_detached(t_gate, 1);
	T_EXPECT(t_submit(0, 0, 0) == PSG_OK);
	t_count_one(&t_state->open);
	releaser = t_spawn("releaser", t_release, NULL);
	t_begin();
	psg_worker_close(t_state->worker);
	t_join(releaser);
	t_end();
	free(t_state);
}

/* Its lane goes to the next thread that comes, if its slot is home, or the next one gets a new one.
 */
static void thread_ends(const void *unused)
{
	t_thread *first;

	(void)unused;
	begin_worker(1);
	first = t_spawn("first", submit_one_detached, NULL);
	t_begin();
	t_join(first);
	T_EXPECT(t_submit(0, 0, 0) == PSG_OK);
	(void)t_wait_and_release((void *)0);
	t_wait_for(&t_state->passed, 1);
	t_end();
	t_check_job(0);
	end_worker(2);
}

static const t_row rows[] = {
	{ .scenario = { .name = "jobs-in-turn", .run = jobs_in_turn }, .large = true },
	{ .scenario = { .name = "detached", .run = detached_in_turn, .delayed_stores = true },
	  .mutants = { { "submit.c:fence", "fence", T_SKIPPED },
		       { "look.c:fence", "fence", T_SKIPPED },
		       { "begin_rest", "&lane->noticed", T_LATE },
		       { "announce", "event", T_SKIPPED },
		       { "rest", "event", T_BLIND } } },
	{ .scenario = { .name = "detached-by-two", .run = detached_by_two, .delayed_stores = true },
	  .mutants = { { "psgi_lanes_mark", "&lanes->summary", T_SKIPPED } } },
	{ .scenario = { .name = "burst", .run = burst, .delayed_stores = true },
	  .mutants = { { "look.c:fence", "heavy fence", T_SKIPPED } } },
	{ .scenario = { .name = "job-cancelled", .run = cancelled, .delayed_stores = true },
	  .mutants = { { "psgi_future_claim", "&future->word", T_SPLIT } } },
	{ .scenario = { .name = "job-aborted", .run = aborted }, .large = true },
	{ .scenario = { .name = "job-cancelled-aborted", .run = cancelled_and_aborted },
	  .large = true },
	{ .scenario = { .name = "job-late", .run = late, .clock = true } },
	{ .scenario = { .name = "aborted-late", .run = aborted_late, .clock = true },
	  .large = true },
	{ .scenario = { .name = "expiring", .run = expiring, .delayed_stores = true },
	  .mutants = { { "psgi_keeper_set", "event", T_SKIPPED }, { "keep", "event", T_BLIND } } },
	{ .scenario = { .name = "nearer", .run = keeping, .delayed_stores = true, .clock = true },
	  .mutants = { { "psgi_keeper_set", "event", T_SKIPPED } } },
	{ .scenario = { .name = "later",
			.run = keeping,
			.arg = "",
			.delayed_stores = true,
			.clock = true },
	  .mutants = { { "make_round", "fence", T_SKIPPED },
		       { "submit.c:fence", "fence", T_SKIPPED } } },
	{ .scenario = { .name = "job-room", .run = room, .delayed_stores = true } },
	{ .scenario = { .name = "job-room-aborted",
			.run = room,
			.delayed_stores = true,
			.arg = "" },
	  .mutants = { { "psgi_lane_wake", "wake", T_SKIPPED } } },
	{ .scenario = { .name = "detached-room", .run = detached_room, .delayed_stores = true },
	  .mutants = { { "park", "heavy fence", T_SKIPPED },
		       { "psgi_lane_wake", "wake", T_SKIPPED } } },
	{ .scenario = { .name = "detached-room-aborted",
			.run = detached_room,
			.delayed_stores = true,
			.arg = "" },
	  .mutants = { { "park", "sleep", T_BLIND } } },
	{ .scenario = { .name = "drained", .run = drained, .delayed_stores = true },
	  .mutants = { { "settle", "event", T_SKIPPED },
		       { "psg_worker_drain", "event", T_BLIND } } },
	{ .scenario = { .name = "closed", .run = closed, .delayed_stores = true },
	  .mutants = { { "leave", "event", T_SKIPPED }, { "wait_left", "event", T_BLIND } } },
	{ .scenario = { .name = "thread-ends", .run = thread_ends, .delayed_stores = true } },
};

const t_table t_workers = { rows, T_COUNT(rows) };
