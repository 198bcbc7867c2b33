/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lanes without a worker: a thread of the scenario is the producer, others return slots, as the
 * last handles of futures do, or are the worker's side.
 */
#include "tests/schedules/scenarios.h"

#include "jobs/lane.h"
#include "jobs/lanes.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define MOST 4 /* slots of a lane */

static psgi_lane *lane;
static psgi_job *jobs[MOST];
static atomic_bool refusing;

/* The calling thread's, with its slots taken. */
static void make_lane(uint32_t slots)
{
	static psgi_lanes table;

	table.capacity = slots;
	lane = psgi_lane_create(&table, 0);
	atomic_store_explicit(&lane->flags, PSGI_LANE_ATTACHED, memory_order_relaxed);
	atomic_store_explicit(&lane->owner, psgi_thread_name(), memory_order_relaxed);
	atomic_store_explicit(&refusing, false, memory_order_relaxed);
	for (uint32_t i = 0; i < slots; i++) {
		jobs[i] = psgi_lane_take(lane);
		T_EXPECT(jobs[i] != NULL);
	}
	T_EXPECT(psgi_lane_take(lane) == NULL);
}

/* All slots are home, each once; nobody else has the lane. */
static void end_lane(uint32_t slots)
{
	bool seen[MOST] = { false };

	for (uint32_t i = 0; i < slots; i++) {
		psgi_job *job = psgi_lane_take(lane);

		T_EXPECT(job != NULL && job->number < slots && !seen[job->number]);
		seen[job->number] = true;
		jobs[i] = job;
	}
	T_EXPECT(psgi_lane_take(lane) == NULL);
	for (uint32_t i = 0; i < slots; i++)
		psgi_lane_untake(lane, jobs[i]);
	psgi_lane_leave(lane);
	psgi_lane_close(lane);
}

static void *return_job(void *job)
{
	psgi_lane_return(lane, job);
	return NULL;
}

/* --- waiting for room --- */

static psgi_job *take_or_wait(void)
{
	psgi_job *job;

	while ((job = psgi_lane_take(lane)) == NULL)
		T_EXPECT(psgi_lane_wait(lane, &refusing, 0, PSGI_NEVER));
	return job;
}

static void slots_return(const void *arg)
{
	uint32_t slots = (uint32_t)(uintptr_t)arg;
	t_thread *threads[MOST];

	make_lane(slots);
	for (uint32_t i = 0; i < slots; i++)
		threads[i] = t_spawn("returner", return_job, jobs[i]);
	t_begin();
	for (uint32_t i = 0; i < slots; i++)
		jobs[i] = take_or_wait();
	for (uint32_t i = 0; i < slots; i++)
		t_join(threads[i]);
	t_end();
	for (uint32_t i = 0; i < slots; i++)
		psgi_lane_return(lane, jobs[i]); /* the short way */
	end_lane(slots);
}

#define BYTES 100

/* As a job that ends, whose future is kept. */
static void *drop_bytes(void *unused)
{
	(void)unused;
	psgi_lane_drop_bytes(lane, BYTES);
	return NULL;
}

/* There is a slot, or one comes home, but no room for what its job reads until another has let go
 * of its own. */
static void bytes_are_dropped(const void *returns)
{
	t_thread *dropper, *returner = NULL;
	uint64_t goal;

	make_lane(2);
	if (returns == NULL)
		psgi_lane_untake(lane, jobs[1]);
	else
		returner = t_spawn("returner", return_job, jobs[1]);
	lane->bytes = BYTES;
	dropper = t_spawn("dropper", drop_bytes, NULL);
	t_begin();
	while ((goal = psgi_lane_goal(lane, BYTES, BYTES)) != 0)
		T_EXPECT(psgi_lane_wait(lane, &refusing, goal, PSGI_NEVER));
	T_EXPECT(psgi_lane_bytes(lane) == 0);
	t_join(dropper);
	if (returner != NULL)
		t_join(returner);
	t_end();
	psgi_lane_untake(lane, jobs[0]);
	end_lane(2);
}

static psg_status nothing(psg_device *device, void *arg, psg_error *error)
{
	(void)device, (void)arg, (void)error;
	return PSG_OK;
}

static void put_plain(uintptr_t number)
{
	lane->room--;
	psgi_lane_put(lane, (psgi_entry){ .fn = nothing, .arg = (void *)number });
}

/* The worker's side, of `n` detached jobs that are there. */
static void *end_plain(void *n)
{
	for (uintptr_t i = 0; i < (uintptr_t)n; i++) {
		T_EXPECT(psgi_lane_waiting(lane) > 0);
		T_EXPECT((uintptr_t)psgi_lane_get(lane).arg == i);
		psgi_lane_end_plain(lane);
	}
	return NULL;
}

/* Detached jobs fill the lane; as many come after them, each when one has ended, and no earlier. */
static void detached_end(const void *arg)
{
	uint32_t slots = (uint32_t)(uintptr_t)arg;
	t_thread *server;

	make_lane(slots);
	for (uint32_t i = 0; i < slots; i++) {
		psgi_lane_untake(lane, jobs[i]);
		put_plain(i);
	}
	T_EXPECT(!psgi_lane_has_room(lane));
	server = t_spawn("worker", end_plain, (void *)(uintptr_t)slots);
	t_begin();
	for (uint32_t i = 0; i < slots; i++) {
		while (!psgi_lane_has_room(lane))
			T_EXPECT(psgi_lane_wait(lane, &refusing, 0, PSGI_NEVER));
		T_EXPECT(atomic_load_explicit(&lane->plain_ended, memory_order_relaxed) > i);
		put_plain(slots + i);
	}
	t_join(server);
	t_end();
	T_EXPECT(!psgi_lane_has_room(lane) && psgi_lane_waiting(lane) == slots);
	for (uint32_t i = 0; i < slots; i++) {
		T_EXPECT((uintptr_t)psgi_lane_get(lane).arg == slots + i);
		psgi_lane_end_plain(lane);
	}
	end_lane(slots);
}

/* One of each kind fills the lane, and both end: who waits gets the room of both. */
static void both_kinds_end(const void *unused)
{
	t_thread *server, *returner;

	(void)unused;
	make_lane(2);
	psgi_lane_untake(lane, jobs[1]);
	put_plain(0);
	server = t_spawn("worker", end_plain, (void *)(uintptr_t)1);
	returner = t_spawn("returner", return_job, jobs[0]);
	t_begin();
	for (int i = 0; i < 2; i++)
		jobs[i] = take_or_wait();
	t_join(server);
	t_join(returner);
	t_end();
	for (int i = 0; i < 2; i++)
		psgi_lane_untake(lane, jobs[i]);
	end_lane(2);
}

/* As a worker that is told to take no more. */
static void *refuse(void *unused)
{
	(void)unused;
	atomic_store_explicit(&refusing, true, memory_order_release);
	psgi_full_fence();
	psgi_lane_wake(lane);
	return NULL;
}

/* The producer is told, whether or not a slot comes home. */
static void refused(const void *returns)
{
	t_thread *refuser, *returner = NULL;
	psgi_job *job = NULL;

	make_lane(1);
	refuser = t_spawn("refuser", refuse, NULL);
	if (returns != NULL)
		returner = t_spawn("returner", return_job, jobs[0]);
	t_begin();
	while (job == NULL && !atomic_load_explicit(&refusing, memory_order_relaxed)) {
		T_EXPECT(psgi_lane_wait(lane, &refusing, 0, PSGI_NEVER));
		job = psgi_lane_take(lane);
	}
	t_join(refuser);
	if (returner != NULL)
		t_join(returner);
	t_end();
	if (job != NULL)
		psgi_lane_untake(lane, job);
	if (returner == NULL)
		psgi_lane_untake(lane, jobs[0]);
	end_lane(1);
}

/* A slot that comes in time is taken; what was waited for in vain leaves nothing behind. */
static void room_for_a_time(const void *unused)
{
	t_thread *returner;
	psgi_job *job = NULL;
	bool in_time = true;

	(void)unused;
	make_lane(1);
	returner = t_spawn("returner", return_job, jobs[0]);
	t_begin();
	while (job == NULL && in_time) {
		in_time = psgi_lane_wait(lane, &refusing, 0, psg_now_ns() + T_TICK_NS / 2);
		job = psgi_lane_take(lane);
	}
	t_join(returner);
	t_end();
	if (job != NULL)
		psgi_lane_untake(lane, job);
	end_lane(1);
}

/* --- jobs through the ring --- */

/* The next one, as it was put: a slot, then a job of no slot. */
static bool get(uint32_t *got)
{
	psgi_entry entry;

	if (psgi_lane_waiting(lane) == 0)
		return false;
	entry = psgi_lane_get(lane);
	if (*got == 0)
		T_EXPECT(entry.fn == NULL && entry.word == jobs[0]->number &&
			 jobs[0]->arg == &jobs[0]);
	else
		T_EXPECT(*got == 1 && entry.fn == nothing && entry.arg == &jobs[1]);
	(*got)++;
	return true;
}

static void *look_three_times(void *got)
{
	for (int i = 0; i < 3; i++)
		(void)get(got);
	return NULL;
}

/* Each comes out once, in order, and filled. */
static void putting(const void *unused)
{
	t_thread *getter;
	uint32_t got = 0;

	(void)unused;
	make_lane(2);
	psgi_lane_untake(lane, jobs[1]);
	getter = t_spawn("worker", look_three_times, &got);
	t_begin();
	jobs[0]->arg = &jobs[0];
	psgi_lane_put(lane, (psgi_entry){ .word = jobs[0]->number });
	put_plain((uintptr_t)&jobs[1]);
	t_join(getter);
	t_end();
	while (get(&got))
		;
	T_EXPECT(got == 2);
	psgi_lane_end_plain(lane);
	psgi_lane_untake(lane, jobs[0]);
	end_lane(2);
}

/* --- the end of a lane --- */

static void *close_lane(void *unused)
{
	(void)unused;
	psgi_lane_close(lane);
	return NULL;
}

/* Its thread ends, its worker is closed, and a job of it is let go: whoever is last frees it. */
static void sealing(const void *arg)
{
	uint32_t slots = (uint32_t)(uintptr_t)arg;
	t_thread *closer, *returners[MOST];

	make_lane(2);
	for (uint32_t i = slots; i < 2; i++)
		psgi_lane_untake(lane, jobs[i]);
	closer = t_spawn("closer", close_lane, NULL);
	for (uint32_t i = 0; i < slots; i++)
		returners[i] = t_spawn("returner", return_job, jobs[i]);
	t_begin();
	psgi_lane_leave(lane);
	t_join(closer);
	for (uint32_t i = 0; i < slots; i++)
		t_join(returners[i]);
	t_end();
}

/* --- another thread takes it over --- */

static void *adopt(void *adopted)
{
	*(bool *)adopted = psgi_lane_adopt(lane);
	return NULL;
}

/* A job of the former owner may still be about: then nobody gets it. */
static void adopting(const void *unused)
{
	bool adopted[2];
	t_thread *adopter, *returner;

	(void)unused;
	make_lane(1);
	psgi_lane_leave(lane);
	adopter = t_spawn("adopter", adopt, &adopted[0]);
	returner = t_spawn("returner", return_job, jobs[0]);
	t_begin();
	(void)adopt(&adopted[1]);
	t_join(adopter);
	t_join(returner);
	t_end();
	T_EXPECT(!(adopted[0] && adopted[1]));
	if (!adopted[0] && !adopted[1])
		T_EXPECT(psgi_lane_adopt(lane));
	end_lane(1);
}

/* --- the table --- */

static psgi_lanes *lanes;
static psgi_lane *attached[3];
static int found[3];

static void *attach_and_mark(void *i)
{
	psgi_lane **mine = &attached[(uintptr_t)i];

	T_EXPECT(psgi_lanes_attach(lanes, mine, NULL) == PSG_OK);
	psgi_lanes_mark(lanes, *mine);
	return NULL;
}

static void note_found(void *user, psgi_lane *marked)
{
	(void)user;
	found[marked->index]++;
}

static void begin_table(void)
{
	lanes = aligned_alloc(alignof(psgi_lanes), sizeof(*lanes));
	memset(lanes, 0, sizeof(*lanes));
	memset(found, 0, sizeof(found));
	T_EXPECT(psgi_lanes_init(lanes, 1, 0, 1, NULL) == PSG_OK);
}

static void end_table(int n)
{
	for (int i = 0; i < n; i++)
		psgi_lane_leave(attached[i]);
	psgi_lanes_destroy(lanes);
	free(lanes);
}

/* Two threads come; each has a lane of its own, and the worker gets each mark at last. */
static void attaching(const void *unused)
{
	t_thread *threads[2];

	(void)unused;
	begin_table();
	for (uintptr_t i = 0; i < 2; i++)
		threads[i] = t_spawn("producer", attach_and_mark, (void *)i);
	t_begin();
	if (psgi_lanes_marked(lanes))
		psgi_lanes_take_marked(lanes, note_found, NULL);
	t_join(threads[0]);
	t_join(threads[1]);
	t_end();
	T_EXPECT(attached[0] != attached[1]);
	if (psgi_lanes_marked(lanes))
		psgi_lanes_take_marked(lanes, note_found, NULL);
	T_EXPECT(found[0] == 1 && found[1] == 1);
	end_table(2);
}

static void *mark_attached(void *i)
{
	psgi_lanes_mark(lanes, attached[(uintptr_t)i]);
	return NULL;
}

/* Marks of two lanes of one chunk, while the worker takes what it finds. */
static void marking(const void *unused)
{
	t_thread *threads[2];

	(void)unused;
	begin_table();
	for (uintptr_t i = 0; i < 2; i++)
		T_EXPECT(psgi_lanes_attach(lanes, &attached[i], NULL) == PSG_OK);
	for (uintptr_t i = 0; i < 2; i++)
		threads[i] = t_spawn("producer", mark_attached, (void *)i);
	t_begin();
	for (int i = 0; i < 2; i++)
		if (psgi_lanes_marked(lanes))
			psgi_lanes_take_marked(lanes, note_found, NULL);
	t_join(threads[0]);
	t_join(threads[1]);
	t_end();
	if (psgi_lanes_marked(lanes))
		psgi_lanes_take_marked(lanes, note_found, NULL);
	T_EXPECT(found[0] == 1 && found[1] == 1);
	end_table(2);
}

#define ONE ((const void *)(uintptr_t)1)
#define TWO ((const void *)(uintptr_t)2)
#define FOUR ((const void *)(uintptr_t)4)

static const t_row rows[] = {
	{ .scenario = { .name = "room", .run = slots_return, .arg = ONE, .spurious = 2 },
	  .mutants = { { "park", "sleep", T_BLIND },
		       { "psgi_lane_return", "wake", T_SKIPPED },
		       { "psgi_lane_return", "&lane->returned", T_FORCED } } },
	{ .scenario = { .name = "room-for-two", .run = slots_return, .arg = TWO },
	  .mutants = { { "psgi_lane_return", "&lane->returned", T_SPLIT },
		       { "gather", "&lane->returned", T_SPLIT } } },
	{ .scenario = { .name = "ended",
			.run = detached_end,
			.arg = ONE,
			.spurious = 1,
			.delayed_stores = true },
	  .mutants = { { "park", "heavy fence", T_SKIPPED },
		       { "psgi_lane_end_plain", "&lane->plain_ended", T_LATE },
		       { "psgi_lane_wake", "wake", T_SKIPPED },
		       { "park", "sleep", T_BLIND } } },
	{ .scenario = { .name = "two-ended",
			.run = detached_end,
			.arg = TWO,
			.delayed_stores = true } },
	{ .scenario = { .name = "four-ended",
			.run = detached_end,
			.arg = FOUR,
			.delayed_stores = true },
	  .large = true },
	{ .scenario = { .name = "ended-patiently",
			.run = detached_end,
			.arg = TWO,
			.patient = true,
			.delayed_stores = true } },
	{ .scenario = { .name = "both-kinds", .run = both_kinds_end, .delayed_stores = true },
	  .mutants = { { "park", "heavy fence", T_SKIPPED } } },
	{ .scenario = { .name = "bytes",
			.run = bytes_are_dropped,
			.spurious = 1,
			.delayed_stores = true },
	  .mutants = { { "psgi_lane_wake", "wake", T_SKIPPED }, { "park", "sleep", T_BLIND } } },
	{ .scenario = { .name = "bytes-and-a-slot",
			.run = bytes_are_dropped,
			.arg = ONE,
			.patient = true,
			.delayed_stores = true } },
	{ .scenario = { .name = "refused", .run = refused },
	  .mutants = { { "refuse", "&refusing", T_LATE },
		       { "psgi_lane_wake", "wake", T_SKIPPED },
		       { "park", "sleep", T_BLIND } } },
	{ .scenario = { .name = "refused-or-not",
			.run = refused,
			.delayed_stores = true,
			.spurious = 1,
			.arg = "" },
	  .mutants = { { "park", "&lane->returned", T_FORCED },
		       { "psgi_lane_wake", "&lane->returned", T_SPLIT } } },
	{ .scenario = { .name = "room-for-a-time",
			.run = room_for_a_time,
			.delayed_stores = true,
			.spurious = 1,
			.clock = true } },
	{ .scenario = { .name = "put", .run = putting, .delayed_stores = true },
	  .mutants = { { "_ck_ring_enqueue_sp", "&ring->p_tail", T_SKIPPED } } },
	{ .scenario = { .name = "seal",
			.run = sealing,
			.delayed_stores = true,
			.spurious = 1,
			.arg = ONE },
	  .mutants = { { "drop", "&lane->holders", T_SPLIT },
		       { "seal", "&lane->holders", T_SKIPPED },
		       { "psgi_lane_leave", "&lane->flags", T_SPLIT },
		       { "psgi_lane_close", "&lane->flags", T_SPLIT },
		       { "psgi_lane_return", "&lane->returned", T_SPLIT } } },
	{ .scenario = { .name = "seal-two",
			.run = sealing,
			.delayed_stores = true,
			.spurious = 1,
			.arg = TWO } },
	{ .scenario = { .name = "adopt", .run = adopting, .delayed_stores = true, .spurious = 1 },
	  .mutants = { { "psgi_lane_adopt", "&lane->flags", T_SPLIT } } },
	{ .scenario = { .name = "attach", .run = attaching, .delayed_stores = true, .spurious = 1 },
	  .mutants = { { "psgi_lanes_mark", "&lanes->summary", T_SKIPPED } } },
	{ .scenario = { .name = "mark", .run = marking, .delayed_stores = true, .spurious = 1 },
	  .mutants = { { "psgi_lanes_mark", "&chunk_at(lanes, chunk)->active", T_SPLIT } } },
};

const t_table t_lanes = { rows, COUNT(rows) };
