/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "explore.h"

#include "machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_STEPS 4096     /* of a schedule; a longer one is taken not to end */
#define MOST_DELAYED 16     /* as the machine */
#define MOST_SINGLE 1000000 /* steps where there is one order */

/* What is known to be before something: of each agent the steps up to that number. */
struct order {
	uint16_t upto[T_AGENTS];
};

/* One choice of the present path, and what it led to. */
struct node {
	int agent;
	unsigned way, ways; /* 0: not known yet */
	uint32_t enabled;   /* agents, as the following */
	uint32_t to_try;
	uint32_t asleep; /* tried, here or before, and nothing that matters to them has happened */
	t_step step;
	struct order before; /* what is, with the step itself */
};

static struct search {
	const t_scenario *scenario;
	const t_mutant *mutant;
	struct node path[MOST_STEPS];
	int planned; /* of `path`: choices that are made; the last of them is new */
	int n;       /* of `path`, in this run */
	struct order known[T_AGENTS];                 /* before the agent's next step */
	struct order stored[T_THREADS][MOST_DELAYED]; /* before each delayed store */
	int n_stored[T_THREADS];
	bool shows;
	t_result result;
} search;

/* --- what is before what --- */

static void join(struct order *to, const struct order *from)
{
	for (int i = 0; i < T_AGENTS; i++)
		if (from->upto[i] > to->upto[i])
			to->upto[i] = from->upto[i];
}

static bool is_before(int number, int agent, const struct order *order)
{
	return number < order->upto[agent];
}

/* Two steps whose order matters. */
static bool conflict(const t_footprint *a, const t_footprint *b)
{
	for (int i = 0; i < a->n; i++)
		for (int j = 0; j < b->n; j++)
			if (a->access[i].from < b->access[j].to &&
			    b->access[j].from < a->access[i].to &&
			    (a->access[i].write || b->access[j].write))
				return true;
	return false;
}

/*
 * A thread and its queue have no conflicts: what the thread loads is the same before and after its
 * own store becomes visible, and where it waits for that they have no choice.
 */
static bool are_one(int a, int b)
{
	return t_owner_of(a) == t_owner_of(b);
}

/* Before the agent's next step. */
static struct order known_to(int agent)
{
	struct order known = search.known[agent];

	if (agent >= T_THREADS && agent != T_CLOCK && search.n_stored[t_owner_of(agent)] > 0)
		join(&known, &search.stored[t_owner_of(agent)][0]);
	return known;
}

static void join_what_it_met(struct order *before, int agent, const t_step *step)
{
	for (int i = search.n - 1; i >= 0; i--) {
		const struct node *node = &search.path[i];

		if (!is_before(i, node->agent, before) && !are_one(agent, node->agent) &&
		    conflict(&node->step.touched, &step->touched))
			join(before, &node->before);
	}
	for (int i = 0; step->settled_all && i < T_THREADS; i++)
		join(before, &search.known[t_queue_of(i)]);
	if (step->joined >= 0) {
		join(before, &search.known[step->joined]);
		join(before, &search.known[t_queue_of(step->joined)]);
	}
	for (int i = 0; step->barrier && i < T_AGENTS; i++)
		join(before, &search.known[i]);
}

static void take_stored(int owner)
{
	search.n_stored[owner]--;
	memmove(&search.stored[owner][0], &search.stored[owner][1],
		(size_t)search.n_stored[owner] * sizeof(struct order));
}

/* What was before the agent's step whatever the other steps touch. */
static struct order known_before(int agent, const t_step *step)
{
	struct order known = known_to(agent);

	if (step->settled)
		join(&known, &search.known[t_queue_of(agent)]);
	return known;
}

/* The step of the last node was made, and what is before it is known. */
static void note_order(const struct node *node)
{
	int agent = node->agent;
	const t_step *step = &node->step;

	search.known[agent] = node->before;
	if (agent >= T_THREADS && agent != T_CLOCK)
		take_stored(t_owner_of(agent));
	if (step->delayed)
		search.stored[agent][search.n_stored[agent]++] = node->before;
	for (int i = 0; i < T_THREADS; i++)
		if ((step->woken & UINT32_C(1) << i) != 0)
			join(&search.known[i], &node->before);
	for (int i = 0; step->barrier && i < T_AGENTS; i++)
		search.known[i] = node->before;
}

/* --- what else must be tried --- */

static uint32_t bit(int agent)
{
	return UINT32_C(1) << agent;
}

/*
 * Who may begin what comes when path[last] is made before path[number]: that is, all between the
 * two that is not after the latter, then the former.  An agent may if its first part in it is after
 * none of the others.
 */
static uint32_t beginners(int number, int last)
{
	int first[T_AGENTS]; /* step of each in what comes; -1: it has no part in it yet */
	const struct node *moved = &search.path[number];
	uint32_t agents = 0;

	for (int i = 0; i < T_AGENTS; i++)
		first[i] = -1;
	for (int i = number + 1; i <= last; i++) {
		const struct node *node = &search.path[i];
		bool begins = first[node->agent] < 0;

		if (i < last && is_before(number, moved->agent, &node->before))
			continue;
		for (int j = 0; begins && j < T_AGENTS; j++)
			begins = j == node->agent || first[j] < 0 ||
				 !is_before(first[j], j, &node->before);
		if (begins)
			agents |= bit(node->agent);
		if (first[node->agent] < 0)
			first[node->agent] = i;
	}
	return agents;
}

/* One of those who may begin must have its turn there, if none had. */
static void try_other_order(int number, int last)
{
	struct node *node = &search.path[number];
	uint32_t agents = beginners(number, last);

	if ((agents & (node->to_try | node->asleep)) != 0)
		return;
	agents &= node->enabled;
	if (agents != 0)
		node->to_try |= agents & -agents;
	else
		node->to_try |= node->enabled; /* it waited for something: whoever leads there */
}

/* Something that the new step races with is between. */
static bool is_between(int number, const int *met, int n_met)
{
	for (int i = 0; i < n_met; i++)
		if (is_before(number, search.path[number].agent, &search.path[met[i]].before))
			return true;
	return false;
}

/*
 * The steps that the new one, the last of the path, might have come before.  `known`: what was
 * before it apart from those.  Who takes a lock races with who took it, not with who gave it back.
 */
static void find_races(const struct order *known)
{
	static int met[MOST_STEPS];
	const struct node *new = &search.path[search.n];
	int n_met = 0;

	for (int i = search.n - 1; new->step.touched.n > 0 && i >= 0; i--) {
		const struct node *node = &search.path[i];

		if (is_before(i, node->agent, known) || are_one(node->agent, new->agent) ||
		    (new->step.touched.locks && node->step.touched.unlocks) ||
		    !conflict(&node->step.touched, &new->step.touched))
			continue;
		if (!is_between(i, met, n_met))
			try_other_order(i, search.n);
		met[n_met++] = i;
	}
}

static uint32_t still_asleep(void)
{
	const struct node *last = search.n > 0 ? &search.path[search.n - 1] : NULL;
	uint32_t asleep = 0;

	if (last == NULL || last->step.barrier)
		return 0;
	for (int agent = 0; agent < T_AGENTS; agent++) {
		t_footprint pending;

		if ((last->asleep & bit(agent)) == 0)
			continue;
		t_machine_pending(agent, &pending);
		if (are_one(agent, last->agent) || !conflict(&last->step.touched, &pending))
			asleep |= bit(agent);
	}
	return asleep;
}

/* --- a run --- */

/* Who moved last goes on. */
static int pick(uint32_t agents, int last)
{
	return (agents & bit(last)) != 0 ? last : __builtin_ctz(agents);
}

/* False: all that can go on was tried. */
static bool plan(struct node *node, uint32_t enabled, int last)
{
	node->enabled = enabled;
	node->asleep = search.scenario->whole ? 0 : still_asleep();
	if ((enabled & ~node->asleep) == 0)
		return false;
	node->agent = pick(enabled & ~node->asleep, last);
	node->to_try = search.scenario->whole ? enabled : bit(node->agent);
	node->way = node->ways = 0;
	return true;
}

static void show(const t_step *step)
{
	if (search.shows)
		(void)printf("%4d  %s\n", search.n, step->text);
}

/* A new one: a replayed one is before and after the same steps as it was. */
static void order_step(struct node *node)
{
	struct order known = known_before(node->agent, &node->step);

	node->before = known;
	join_what_it_met(&node->before, node->agent, &node->step);
	node->before.upto[node->agent] = (uint16_t)(search.n + 1);
	if (!search.scenario->whole)
		find_races(&known);
}

static void make_step(struct node *node)
{
	if (node->ways == 0)
		node->ways = t_machine_ways(node->agent);
	t_machine_step(node->agent, node->way, &node->step);
	if (search.n >= search.planned - 1)
		order_step(node);
	note_order(node);
	show(&node->step);
	search.n++;
	if (search.n > search.result.steps)
		search.result.steps = search.n;
}

static void must_be_enabled(const struct node *node, uint32_t enabled)
{
	if ((enabled & bit(node->agent)) != 0)
		return;
	(void)fprintf(stderr, "%s: another run had another state after the same steps\n",
		      search.scenario->name);
	abort();
}

/* Where there is one order. */
static int single_step(uint32_t enabled, int last)
{
	t_step step;

	last = pick(enabled, last);
	t_machine_step(last, 0, &step);
	return last;
}

/* True: to its end, and not only because it had been tried. */
static bool run(void)
{
	bool whole = true;
	uint32_t enabled;
	int last = 0, singles = 0;

	t_machine_start(search.scenario, search.mutant, search.shows);
	memset(search.known, 0, sizeof(search.known));
	memset(search.n_stored, 0, sizeof(search.n_stored));
	search.n = 0;
	while ((enabled = t_machine_enabled()) != 0) {
		struct node *node = &search.path[search.n];

		if (!whole || !t_machine_between()) {
			if (++singles == MOST_SINGLE)
				t_machine_fail("this does not end");
			last = single_step(enabled, last);
		} else if (search.n == MOST_STEPS - 1) {
			t_machine_fail("this schedule does not end");
		} else if (search.n < search.planned || plan(node, enabled, last)) {
			must_be_enabled(node, enabled);
			last = node->agent;
			make_step(node);
		} else {
			whole = false;
		}
	}
	return whole;
}

/* --- the search --- */

static bool next_path(void)
{
	while (search.n > 0) {
		struct node *node = &search.path[search.n - 1];
		uint32_t agents;

		search.planned = search.n;
		if (node->way + 1 < node->ways) {
			node->way++;
			return true;
		}
		node->asleep |= bit(node->agent);
		agents = node->to_try & ~node->asleep;
		if (agents != 0) {
			node->agent = __builtin_ctz(agents);
			node->way = node->ways = 0;
			return true;
		}
		search.n--;
	}
	return false;
}

static void print_path(void)
{
	(void)printf("PSG_SCHEDULE='%s:", search.scenario->name);
	for (int i = 0; i < search.n; i++)
		(void)printf(search.path[i].way != 0 ? "%s%d.%u" : "%s%d", i > 0 ? "," : "",
			     search.path[i].agent, search.path[i].way);
	(void)printf("'\n");
}

/* The path that is planned, aloud. */
static void show_path(void)
{
	search.shows = true;
	(void)run();
	search.shows = false;
}

static void tell_failure(void)
{
	char why[512];

	(void)snprintf(why, sizeof(why), "%s", t_machine_failure());
	(void)printf("\n%s: %s\n", search.scenario->name, why);
	search.planned = search.n;
	show_path();
	(void)printf("%s\n", why);
	print_path();
	(void)fflush(stdout);
}

/* "NAME:agent.way,agent,..."; false: the environment names no schedule. */
static bool run_named(void)
{
	const char *text = getenv("PSG_SCHEDULE");
	size_t name = strlen(search.scenario->name);
	char *end;

	if (text == NULL || text[0] == '\0')
		return false;
	if (strncmp(text, search.scenario->name, name) != 0 || text[name] != ':')
		return true;
	for (text += name + 1; *text != '\0' && search.planned < MOST_STEPS; text = end) {
		struct node *node = &search.path[search.planned++];

		*node = (struct node){ .agent = (int)strtol(text, &end, 10) };
		if (*end == '.')
			node->way = (unsigned)strtoul(end + 1, &end, 10);
		end += *end == ',';
	}
	show_path();
	search.result.failed = t_machine_failure() != NULL;
	(void)printf("%s\n", search.result.failed ? t_machine_failure() : "nothing is wrong");
	return true;
}

t_result t_explore(const t_scenario *scenario, const t_mutant *mutant)
{
	search.scenario = scenario;
	search.mutant = mutant;
	search.planned = 0;
	search.result = (t_result){ .schedules = 0 };
	if (mutant == NULL && run_named())
		return search.result;
	do {
		bool whole = run();

		search.result.schedules += whole;
		search.result.pruned += !whole;
		search.result.failed = t_machine_failure() != NULL;
	} while (!search.result.failed && next_path());
	if (search.result.failed && mutant == NULL)
		tell_failure();
	return search.result;
}
