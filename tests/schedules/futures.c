/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Futures, and what waits for them: promises, whose owner is a thread of the scenario, so that
 * there is nothing but the state machine.
 */
#include "tests/schedules/scenarios.h"

#include "jobs/future.h"
#include "jobs/jobs.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

#define SOON (psg_now_ns() + T_TICK_NS / 2)

/* One run's, all zeros at first. */
struct state {
	psg_future *futures[2];
	psg_completion_queue *queue;
	int called[2], hooks, freed;
	psg_status status[2]; /* what the callback saw */
	psg_error error;
};

static struct state *state;

/* --- what happens to them --- */

static void call_back(psg_future *future, void *user)
{
	int i = (int)(intptr_t)user;

	state->status[i] = psg_future_error(future, NULL);
	T_EXPECT(psg_future_poll(future) == PSG_FUTURE_DONE);
	state->called[i]++;
}

/* The result of a promise. */
static void free_result(void *result)
{
	T_EXPECT(result == &state->freed);
	state->freed++;
}

static void *complete_first(void *unused)
{
	(void)unused;
	psgi_promise_complete(state->futures[0], PSG_OK, NULL, &state->freed, free_result);
	return NULL;
}

static void *complete_second(void *unused)
{
	(void)unused;
	psgi_promise_complete(state->futures[1], PSG_OK, NULL, &state->freed, free_result);
	return NULL;
}

static void *start_and_complete(void *unused)
{
	(void)unused;
	psgi_promise_start(state->futures[0]);
	return complete_first(NULL);
}

static void hook(psg_future *future, void *owner)
{
	T_EXPECT(owner == state && future == state->futures[0]);
	state->hooks++;
}

static void completing_hook(psg_future *future, void *owner)
{
	hook(future, owner);
	psgi_promise_complete(future, PSG_CANCELLED, NULL, NULL, NULL);
}

/* --- setting up --- */

static void begin_state(void)
{
	state = calloc(1, sizeof(*state));
}

/* All that was promised has happened; `hooks` at most. */
static void end_state(int promises, int hooks)
{
	for (int i = 0; i < 2; i++)
		T_EXPECT(state->called[i] == (i < promises));
	T_EXPECT(state->hooks <= hooks);
	free(state);
}

static psg_future *promise(int i, void (*cancel)(psg_future *future, void *owner))
{
	psg_job_options options = { .done = call_back,
				    .user = (void *)(intptr_t)i,
				    .queue = state->queue };

	T_EXPECT(psgi_promise_create(&options, cancel, state, &state->futures[i], NULL) == PSG_OK);
	return state->futures[i];
}

/* --- waiting for one --- */

static void release_first(void)
{
	psg_future_release(state->futures[0]);
}

static void *wait_and_release(void *future)
{
	T_EXPECT(psg_future_wait(future) == PSG_OK);
	T_EXPECT(state->called[0] == 1 && state->status[0] == PSG_OK);
	T_EXPECT(psgi_promise_result(future, free_result) == &state->freed);
	psg_future_release(future);
	return NULL;
}

/* So many handles, each waited for by another thread, while the owner completes. */
static void waiting(const void *waiters)
{
	int n = (int)(intptr_t)waiters;
	t_thread *threads[3];

	begin_state();
	(void)promise(0, NULL);
	threads[0] = t_spawn("owner", n > 1 ? complete_first : start_and_complete, NULL);
	for (int i = 1; i < n; i++)
		threads[i] = t_spawn("waiter", wait_and_release, psg_future_ref(state->futures[0]));
	t_begin();
	(void)wait_and_release(state->futures[0]);
	for (int i = 0; i < n; i++)
		t_join(threads[i]);
	t_end();
	T_EXPECT(state->freed == 1);
	end_state(1, 0);
}

/* The deadline may pass. */
static void waiting_for_a_time(const void *unused)
{
	t_thread *owner;
	psg_status status;

	(void)unused;
	begin_state();
	(void)promise(0, NULL);
	owner = t_spawn("owner", start_and_complete, NULL);
	t_begin();
	status = psg_future_wait_for(state->futures[0], T_TICK_NS / 2);
	T_EXPECT(status == PSG_OK || status == PSG_TIMED_OUT);
	T_EXPECT(status != PSG_OK || state->called[0] == 1);
	release_first();
	t_join(owner);
	t_end();
	end_state(1, 0);
}

static void *look_and_release(void *future)
{
	psg_status status = psg_future_error(future, NULL);
	bool done = psg_future_poll(future) == PSG_FUTURE_DONE;

	T_EXPECT(status == PSG_OK || status == PSG_INVALID);
	T_EXPECT(status == PSG_INVALID || done);
	T_EXPECT(!done || psg_future_error(future, NULL) == PSG_OK);
	psg_future_release(future);
	return NULL;
}

/* Nobody waits; whoever is last lets the memory go. */
static void looking(const void *unused)
{
	t_thread *owner, *looker;

	(void)unused;
	begin_state();
	(void)promise(0, NULL);
	owner = t_spawn("owner", complete_first, NULL);
	looker = t_spawn("looker", look_and_release, psg_future_ref(state->futures[0]));
	t_begin();
	release_first();
	t_join(owner);
	t_join(looker);
	t_end();
	T_EXPECT(state->freed == 1);
	end_state(1, 0);
}

/* --- cancelling --- */

/* The owner does not care.  The last handle goes, with or without asking before. */
static void cancelling(const void *asks)
{
	psg_future *future;
	t_thread *owner;

	begin_state();
	future = promise(0, hook);
	owner = t_spawn("owner", start_and_complete, NULL);
	t_begin();
	if (asks != NULL) {
		psg_cancel_result result = psg_future_cancel(future);

		/* It ended well, if it did: it was not removed. */
		T_EXPECT(result == PSG_CANCEL_DONE || result == PSG_CANCEL_RUNNING);
		T_EXPECT(result == PSG_CANCEL_RUNNING ||
			 psg_future_poll(future) == PSG_FUTURE_DONE);
	}
	psg_future_release(future);
	t_join(owner);
	t_end();
	T_EXPECT(state->freed == 1);
	end_state(1, 1);
}

static void *cancel_one(void *removed)
{
	psg_cancel_result result = psg_future_cancel(state->futures[0]);

	T_EXPECT(result == PSG_CANCEL_DONE || result == PSG_CANCEL_RUNNING ||
		 result == PSG_CANCEL_REMOVED);
	*(int *)removed = result == PSG_CANCEL_REMOVED;
	release_first();
	return NULL;
}

/* The hook completes: one of the two cancellers has removed it. */
static void cancelling_twice(const void *unused)
{
	int removed[2];
	t_thread *canceller;

	(void)unused;
	begin_state();
	(void)psg_future_ref(promise(0, completing_hook));
	canceller = t_spawn("canceller", cancel_one, &removed[0]);
	t_begin();
	(void)cancel_one(&removed[1]);
	t_join(canceller);
	t_end();
	T_EXPECT(removed[0] + removed[1] == 1 && state->hooks == 1);
	T_EXPECT(state->status[0] == PSG_CANCELLED);
	end_state(1, 1);
}

/* What the hook uses goes when the promise has been completed. */
static _Atomic int *used;

static void using_hook(psg_future *future, void *owner)
{
	hook(future, owner);
	(void)atomic_load(used);
}

static void *complete_and_free(void *unused)
{
	(void)complete_first(unused);
	free(used);
	return NULL;
}

static void owner_goes(const void *unused)
{
	t_thread *owner;

	(void)unused;
	begin_state();
	used = calloc(1, sizeof(*used));
	(void)promise(0, using_hook);
	owner = t_spawn("owner", complete_and_free, NULL);
	t_begin();
	(void)psg_future_cancel(state->futures[0]);
	release_first();
	t_join(owner);
	t_end();
	end_state(1, 1);
}

/* --- waiting for several --- */

struct any {
	size_t n;     /* futures */
	bool in_time; /* there is no deadline */
};

static void *wait_any(void *arg)
{
	const struct any *any = arg;
	size_t which = 7;
	psg_status status = psg_future_wait_any(state->futures, any->n,
						any->in_time ? PSGI_NEVER : SOON, &which);

	T_EXPECT(status == PSG_OK || (status == PSG_TIMED_OUT && !any->in_time));
	if (status == PSG_OK)
		T_EXPECT(which < 2 && state->called[which] == 1);
	return NULL;
}

static void *wait_all(void *arg)
{
	(void)arg;
	T_EXPECT(psg_future_wait_all(state->futures, 2, PSGI_NEVER) == PSG_OK);
	T_EXPECT(state->called[0] == 1 && state->called[1] == 1);
	return NULL;
}

struct several {
	void *(*wait)(void *arg);
	struct any any;
	int waiters, owners; /* threads; the scenario's waits, too, and one owner completes one */
};

static void waiting_for_several(const void *arg)
{
	const struct several *several = arg;
	t_thread *threads[4];
	int n = 0;

	begin_state();
	(void)promise(0, NULL);
	(void)promise(1, NULL);
	for (int i = 0; i < several->waiters; i++)
		threads[n++] = t_spawn("waiter", several->wait, (void *)(uintptr_t)&several->any);
	threads[n++] = t_spawn("first", complete_first, NULL);
	if (several->owners == 2)
		threads[n++] = t_spawn("second", complete_second, NULL);
	t_begin();
	(void)several->wait((void *)(uintptr_t)&several->any);
	while (n > 0)
		t_join(threads[--n]);
	t_end();
	if (several->owners == 1)
		(void)complete_second(NULL);
	psg_future_release(state->futures[0]);
	psg_future_release(state->futures[1]);
	end_state(2, 0);
}

/* --- completion queues --- */

static void *pop_one(void *popped)
{
	psg_future *future;

	T_EXPECT(psg_completion_queue_wait(state->queue, PSGI_NEVER, &future) == PSG_OK);
	T_EXPECT(psg_future_error(future, NULL) == PSG_OK);
	*(psg_future **)popped = future;
	psg_future_release(future);
	return NULL;
}

static void *complete_both(void *unused)
{
	(void)complete_first(unused);
	return complete_second(unused);
}

static void queue_two(void)
{
	begin_state();
	T_EXPECT(psg_completion_queue_create(&state->queue, NULL) == PSG_OK);
	psg_future_release(promise(0, NULL));
	psg_future_release(promise(1, NULL));
}

/* Each comes out once, and then the descriptor is as empty as the queue. */
static void popping(const void *poppers)
{
	psg_future *popped[2] = { NULL };
	t_thread *threads[3];
	int n = 0;

	queue_two();
	if ((intptr_t)poppers == 1) {
		threads[n++] = t_spawn("first", complete_first, NULL);
		threads[n++] = t_spawn("second", complete_second, NULL);
	} else {
		threads[n++] = t_spawn("owner", complete_both, NULL);
		threads[n++] = t_spawn("popper", pop_one, &popped[0]);
	}
	t_begin();
	if ((intptr_t)poppers == 1)
		(void)pop_one(&popped[0]);
	(void)pop_one(&popped[1]);
	while (n > 0)
		t_join(threads[--n]);
	t_end();
	T_EXPECT(popped[0] != popped[1]);
	T_EXPECT(psg_completion_queue_pop(state->queue) == NULL);
	T_EXPECT(t_eventfd_value() == 0);
	psg_completion_queue_destroy(state->queue);
	T_EXPECT(state->freed == 2);
	end_state(2, 0);
}

/* An event loop: what is readable is popped; what is not is not there. */
static void reading(const void *unused)
{
	t_thread *owner;
	int popped = 0;

	(void)unused;
	queue_two();
	owner = t_spawn("owner", complete_both, NULL);
	t_begin();
	for (int i = 0; i < 2; i++) {
		psg_future *future = psg_completion_queue_pop(state->queue);

		popped += future != NULL;
		psg_future_release(future);
	}
	t_join(owner);
	T_EXPECT(popped == 2 || t_eventfd_value() > 0);
	t_end();
	for (psg_future *future; (future = psg_completion_queue_pop(state->queue)) != NULL;) {
		psg_future_release(future);
		popped++;
	}
	T_EXPECT(popped == 2 && t_eventfd_value() == 0);
	psg_completion_queue_destroy(state->queue);
	end_state(2, 0);
}

/* The queue goes while both are put. */
static void queue_goes(const void *unused)
{
	t_thread *first, *second;

	(void)unused;
	queue_two();
	first = t_spawn("first", complete_first, NULL);
	second = t_spawn("second", complete_second, NULL);
	t_begin();
	psg_completion_queue_destroy(state->queue);
	t_join(first);
	t_join(second);
	t_end();
	T_EXPECT(state->freed == 2);
	end_state(2, 0);
}

static const struct several any_of_two = { wait_any, { 2, true }, 0, 2 };
static const struct several any_of_one = { wait_any, { 1, true }, 1, 1 };
static const struct several any_for_a_time = { wait_any, { 2, false }, 0, 1 };
static const struct several all_of_two = { wait_all, { 2, true }, 0, 2 };

/*
 * A swap that is split or left out, a wake-up that is forgotten, a sleeper that does not compare.
 */
static const t_row rows[] = {
	{ .scenario = { .name = "wait", .run = waiting, .arg = (void *)1, .spurious = 1 },
	  .mutants = { { "announce", "&future->word", T_SPLIT },
		       { "psgi_future_publish", "wake", T_SKIPPED },
		       { "psgi_future_publish", "&future->word", T_SPLIT },
		       { "psgi_future_await", "sleep", T_BLIND } } },
	{ .scenario = { .name = "wait-by-two", .run = waiting, .arg = (void *)2 },
	  .mutants = { { "psg_future_release", "&future->word", T_SPLIT } },
	  .large = true },
	{ .scenario = { .name = "wait-patiently",
			.run = waiting,
			.arg = (void *)1,
			.patient = true } },
	{ .scenario = { .name = "wait-for", .run = waiting_for_a_time, .clock = true } },
	{ .scenario = { .name = "look", .run = looking } },
	{ .scenario = { .name = "cancel", .run = cancelling, .arg = "", .spurious = 1 },
	  .mutants = { { "ask_stop", "&future->word", T_SPLIT } } },
	{ .scenario = { .name = "abandon", .run = cancelling, .spurious = 1 },
	  .mutants = { { "psgi_future_drop", "&future->word", T_SPLIT } } },
	{ .scenario = { .name = "cancel-by-two", .run = cancelling_twice },
	  .mutants = { { "ask_stop", "&future->word", T_SPLIT } } },
	{ .scenario = { .name = "owner-goes", .run = owner_goes },
	  .mutants = { { "end_hooks", "&future->word", T_SKIPPED },
		       { "psgi_future_wake", "wake", T_SKIPPED },
		       { "psgi_future_sleep", "sleep", T_BLIND },
		       { "call_hook", "&future->word", T_SPLIT } } },
	{ .scenario = { .name = "any", .run = waiting_for_several, .arg = &any_of_two },
	  .mutants = { { "psgi_places_wake", "wake", T_SKIPPED },
		       { "sleep_at", "&place->sleepers", T_SKIPPED },
		       { "sleep_at", "sleep", T_BLIND },
		       { "psgi_places_wake", "&place->value", T_SKIPPED },
		       { "mark", "&future->word", T_SPLIT } },
	  .large = true },
	{ .scenario = { .name = "any-by-two", .run = waiting_for_several, .arg = &any_of_one },
	  .large = true },
	{ .scenario = { .name = "any-for",
			.run = waiting_for_several,
			.arg = &any_for_a_time,
			.clock = true } },
	{ .scenario = { .name = "all", .run = waiting_for_several, .arg = &all_of_two } },
	{ .scenario = { .name = "pop", .run = popping, .arg = (void *)1 },
	  .mutants = { { "psgi_completion_put", "event", T_SKIPPED },
		       { "psg_completion_queue_wait", "event", T_BLIND },
		       { "psgi_completion_put", "&queue->arrived", T_SPLIT } } },
	{ .scenario = { .name = "pop-by-two", .run = popping, .arg = (void *)2 } },
	{ .scenario = { .name = "read", .run = reading } },
	{ .scenario = { .name = "queue-goes", .run = queue_goes },
	  .mutants = { { "psg_completion_queue_destroy", "&queue->arrived", T_SPLIT },
		       { "drop", "&queue->holders", T_SPLIT } } },
};

const t_table t_futures = { rows, COUNT(rows) };
