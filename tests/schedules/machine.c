/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "machine.h"

#include "device/device.h"
#include "scenarios.h"
#include "steps.h"
#include "tests/fakecuda/fiber.h"

#include <pagesift/device.h>
#include <pagesift/error.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DELAYED 16 /* stores of one thread; more fail */
#define MUTEXES 16
#define BLOCKS 256              /* of memory in a run */
#define ARENA ((size_t)1 << 20) /* of a thread */
#define LOCALS 1024             /* bytes of thread-local variables */

/* Words that are no memory: footprints of things that only the machine has. */
#define WORD_CLOCK ((uintptr_t)1)
#define WORD_HEAVY ((uintptr_t)2)
#define WORD_DESCRIPTOR ((uintptr_t)3)
/* Who sleeps on a word is touched beside the word itself. */
#define SLEEPERS_OF(word) ((uintptr_t)(word) | (uintptr_t)1 << 62)

enum kind {
	START,
	LOAD,
	STORE,
	CHANGE,
	COMPARE,
	FENCE,
	HEAVY_FENCE,
	SETTLE,
	SLEEP,
	ASLEEP, /* not to be chosen */
	WOKEN,
	WAKE,
	SIGNAL,
	PAUSE,
	LOCK,
	UNLOCK,
	JOIN,
	TIME,
	READ_FD,
	WRITE_FD,
	FREE,
	QUIET,
	LAST,
};

static const char *const kind_names[] = {
	"starts",     "loads",      "stores",    "changes", "compares", "fences",
	"fences all", "waits for",  "sleeps at", "asleep",  "wakes up", "wakes",
	"signals",    "pauses",     "takes",     "gives",   "joins",    "reads the",
	"reads the",  "writes the", "",          "begins",  "ends",
};

/* A thread's next step. */
struct op {
	enum kind kind;
	t_site site;
	const volatile void *at;
	size_t size;
	uint64_t value;    /* to store, to add, expected by a sleeper */
	uint64_t expected; /* of a comparison */
	t_rmw how;
	bool weak, visible, forced, blind;
	uint32_t bits;
	int64_t deadline_ns;
	uint64_t result;
};

struct t_thread {
	int id;
	const char *name;
	fiber *fiber;
	void *(*run)(void *arg);
	void *arg;
	const void *key;
	bool held, ended;
	unsigned spurious; /* left */
	struct op op;
	struct delayed {
		const volatile void *at;
		size_t size;
		uint64_t value;
	} delayed[DELAYED];
	int n_delayed;
	struct op late; /* a mutant's */
	bool has_late;
	char locals[LOCALS];
	size_t used; /* of its memory */
};

struct block {
	char *from;
	size_t bytes;
	bool freed;
};

/* One run. */
static struct machine {
	const t_scenario *scenario;
	const t_mutant *mutant;
	bool text, between, over;
	t_thread threads[T_THREADS];
	int n_threads;
	t_thread *running; /* NULL: the explorer */
	int64_t now_ns;
	bool ticked;
	int pauses; /* in a row */
	uint64_t descriptor;
	struct {
		const void *at;
		const t_thread *owner; /* NULL: nobody */
	} mutexes[MUTEXES];
	int n_mutexes;
	struct block blocks[BLOCKS];
	int n_blocks;
	char failure[512];
} machine;

/* Kept from run to run. */
static char *arena;
static fiber *fibers[T_THREADS];
static void (*key_destructor)(void *value);
static psg_device *device, gpus[2];

extern char __start_t_fiber_local[], __stop_t_fiber_local[];
static char first_locals[LOCALS];

/* --- failing --- */

const char *t_machine_failure(void)
{
	return machine.failure[0] != '\0' ? machine.failure : NULL;
}

void t_machine_fail(const char *why)
{
	if (machine.failure[0] == '\0')
		(void)snprintf(machine.failure, sizeof(machine.failure), "%s", why);
}

static void pause_now(void)
{
	fiber_release(&machine);
	fiber_pause(machine.running->fiber);
	fiber_acquire(&machine);
}

/* The fiber is never resumed. */
_Noreturn static void stop(void)
{
	for (;;)
		pause_now();
}

void t_fail(const char *format, ...)
{
	char why[256];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(why, sizeof(why), format, args);
	va_end(args);
	t_machine_fail(why);
	stop();
}

/* --- memory --- */

static struct block *block_of(uintptr_t at)
{
	for (int i = 0; i < machine.n_blocks; i++) {
		struct block *block = &machine.blocks[i];

		if (at - (uintptr_t)block->from < block->bytes)
			return block;
	}
	return NULL;
}

static bool is_freed(const volatile void *at)
{
	uintptr_t offset = (uintptr_t)at - (uintptr_t)arena;

	return offset < T_THREADS * ARENA && block_of((uintptr_t)at) != NULL &&
	       block_of((uintptr_t)at)->freed;
}

static void check_alive(const t_thread *thread, const volatile void *at, const char *what)
{
	char why[256];

	if (!is_freed(at))
		return;
	(void)snprintf(why, sizeof(why), "%s: %s touches memory that was freed: %s", thread->name,
		       thread->op.site.function, what);
	t_machine_fail(why);
}

void *t_alloc(size_t bytes, size_t alignment, bool clear)
{
	t_thread *self = machine.running;
	char *base = arena + (size_t)self->id * ARENA;
	size_t at = (self->used + alignment - 1) / alignment * alignment;

	/* Something between blocks, so that ends do not meet beginnings. */
	if (at + bytes + 64 > ARENA || machine.n_blocks == BLOCKS)
		t_fail("the checker's memory is too small");
	self->used = at + bytes + 64;
	machine.blocks[machine.n_blocks++] = (struct block){ base + at, bytes, false };
	memset(base + at, clear ? 0 : 0xa5, bytes);
	return base + at;
}

char *t_duplicate(const char *text)
{
	size_t bytes = strlen(text) + 1;
	char *copy = t_alloc(bytes, 1, false);

	memcpy(copy, text, bytes);
	return copy;
}

static uint64_t get(const volatile void *at, size_t size)
{
	switch (size) {
	case 1:
		return *(const volatile uint8_t *)at;
	case 2:
		return *(const volatile uint16_t *)at;
	case 4:
		return *(const volatile uint32_t *)at;
	default:
		return *(const volatile uint64_t *)at;
	}
}

static void put(const volatile void *at, size_t size, uint64_t value)
{
	/* Through an integer: `at` is of who loads, too. */
	volatile void *to = (volatile void *)(uintptr_t)at;

	switch (size) {
	case 1:
		*(volatile uint8_t *)to = (uint8_t)value;
		break;
	case 2:
		*(volatile uint16_t *)to = (uint16_t)value;
		break;
	case 4:
		*(volatile uint32_t *)to = (uint32_t)value;
		break;
	default:
		*(volatile uint64_t *)to = value;
	}
}

static uint64_t cut(uint64_t value, size_t size)
{
	return size < 8 ? value & ((UINT64_C(1) << 8 * size) - 1) : value;
}

/* The newest own store to the word that others do not see yet. */
static const struct delayed *own_store(const t_thread *thread, const volatile void *at)
{
	for (int i = thread->n_delayed; i > 0; i--)
		if (thread->delayed[i - 1].at == at)
			return &thread->delayed[i - 1];
	return NULL;
}

/* --- a thread's side of a step --- */

/* `where` is "function" or "file.c:function". */
static bool is_in(const char *where, t_site site)
{
	const char *colon = strchr(where, ':');
	size_t n = colon != NULL ? (size_t)(colon - where) : 0, path = strlen(site.file);

	if (colon == NULL)
		return strcmp(where, site.function) == 0;
	return path > n && strncmp(site.file + path - n, where, n) == 0 &&
	       strcmp(colon + 1, site.function) == 0;
}

static bool is_mutant(t_site site, t_wrong wrong)
{
	const t_mutant *mutant = machine.mutant;

	return mutant != NULL && mutant->wrong == wrong && is_in(mutant->function, site) &&
	       strcmp(mutant->what, site.what) == 0;
}

/* Stands before it, until the machine has made it. */
static uint64_t make(struct op op)
{
	t_thread *self = machine.running;

	if (self == NULL) {
		(void)fprintf(stderr, "%s: a step outside of a scenario\n", op.site.function);
		abort();
	}
	self->op = op;
	pause_now();
	return self->op.result;
}

static uint64_t step(struct op op)
{
	t_thread *self = machine.running;
	uint64_t result = make(op);

	if (self->has_late) {
		self->has_late = false;
		(void)make(self->late);
	}
	return result;
}

uint64_t t_load(const volatile void *at, size_t size, t_site site)
{
	return step((struct op){ .kind = LOAD, .site = site, .at = at, .size = size });
}

void t_store(volatile void *at, size_t size, uint64_t value, bool visible, t_site site)
{
	struct op op = { .kind = STORE, .site = site, .at = at, .size = size, .value = value };

	op.visible = visible || !machine.scenario->delayed_stores || !machine.between;
	if (is_mutant(site, T_SKIPPED))
		return;
	if (is_mutant(site, T_LATE)) {
		machine.running->late = op;
		machine.running->has_late = true;
		return;
	}
	(void)step(op);
}

static uint64_t changed(t_rmw how, uint64_t old, uint64_t value)
{
	switch (how) {
	case T_EXCHANGE:
		return value;
	case T_ADD:
		return old + value;
	case T_SUB:
		return old - value;
	case T_OR:
		return old | value;
	case T_AND:
		return old & value;
	}
	return old;
}

uint64_t t_change(volatile void *at, size_t size, t_rmw how, uint64_t value, t_site site)
{
	if (is_mutant(site, T_SKIPPED))
		return t_load(at, size, site);
	if (is_mutant(site, T_SPLIT)) {
		uint64_t old = t_load(at, size, site);

		t_store(at, size, changed(how, old, value), true, site);
		return old;
	}
	return step((struct op){
		.kind = CHANGE, .site = site, .at = at, .size = size, .value = value, .how = how });
}

bool t_compare_exchange(volatile void *at, size_t size, void *expected, uint64_t value, bool weak,
			t_site site)
{
	struct op op = { .kind = COMPARE,
			 .site = site,
			 .at = at,
			 .size = size,
			 .value = value,
			 .weak = weak,
			 .expected = get(expected, size),
			 .forced = is_mutant(site, T_FORCED) };

	if (is_mutant(site, T_SPLIT)) {
		uint64_t old = t_load(at, size, site);

		if (old == op.expected)
			t_store(at, size, value, true, site);
		put(expected, size, old);
		return old == op.expected;
	}
	if (step(op) != 0)
		return true;
	put(expected, size, machine.running->op.expected);
	return false;
}

void t_fence(t_site site)
{
	if (machine.scenario->delayed_stores && !is_mutant(site, T_SKIPPED))
		(void)step((struct op){ .kind = FENCE, .site = site });
}

void t_heavy_fence(t_site site)
{
	if (machine.scenario->delayed_stores && !is_mutant(site, T_SKIPPED))
		(void)step((struct op){ .kind = HEAVY_FENCE, .site = site });
}

void t_settle(const volatile void *at, t_site site)
{
	if (own_store(machine.running, at) != NULL)
		(void)step((struct op){ .kind = SETTLE, .site = site, .at = at });
}

bool t_sleep(const volatile void *word, uint32_t expected, const struct timespec *deadline,
	     uint32_t bits, t_site site)
{
	int64_t deadline_ns = (int64_t)deadline->tv_sec * PSG_SECOND + deadline->tv_nsec;

	return step((struct op){ .kind = SLEEP,
				 .site = site,
				 .at = word,
				 .size = 4,
				 .value = expected,
				 .bits = bits,
				 .blind = is_mutant(site, T_BLIND),
				 .deadline_ns = deadline_ns }) != 0;
}

void t_wake(const volatile void *word, uint32_t bits, t_site site)
{
	if (!is_mutant(site, T_SKIPPED))
		(void)step((struct op){ .kind = WAKE, .site = site, .at = word, .bits = bits });
}

/* NOLINTNEXTLINE(readability-non-const-parameter): the step writes there */
void t_signal(uint32_t *count, t_site site)
{
	if (!is_mutant(site, T_SKIPPED))
		(void)step((struct op){
			.kind = SIGNAL, .site = site, .at = count, .size = 4, .bits = UINT32_MAX });
}

void t_pause(t_site site)
{
	(void)step((struct op){ .kind = PAUSE, .site = site });
}

bool t_patient(void)
{
	return machine.scenario->patient;
}

void t_lock(void *mutex, t_site site)
{
	(void)step((struct op){ .kind = LOCK, .site = site, .at = mutex, .size = 1 });
}

void t_unlock(void *mutex, t_site site)
{
	(void)step((struct op){ .kind = UNLOCK, .site = site, .at = mutex, .size = 1 });
}

/* The count goes up under the lock only, so that it may be read without a step. */
void t_cond_wait(const uint32_t *count, void *mutex, t_site site)
{
	const struct timespec never = { .tv_sec = INT64_MAX / PSG_SECOND };
	uint32_t value = *count;

	t_unlock(mutex, site);
	(void)t_sleep(count, value, &never, UINT32_MAX, site);
	t_lock(mutex, site);
}

/* Without a clock that may pass at any moment, all that is read between two barriers is the same.
 */
int64_t t_now(t_site site)
{
	if (!machine.scenario->clock)
		return machine.now_ns;
	return (int64_t)step((struct op){ .kind = TIME, .site = site });
}

int t_eventfd(void)
{
	machine.descriptor = 0;
	return 1000; /* none that the process has */
}

int t_close(int fd)
{
	return fd == 1000 ? 0 : -1;
}

long t_read_write(bool write, t_site site)
{
	return (long)step((struct op){ .kind = write ? WRITE_FD : READ_FD, .site = site });
}

uint64_t t_eventfd_value(void)
{
	return machine.descriptor;
}

void t_free(void *memory, t_site site)
{
	struct block *block = memory != NULL ? block_of((uintptr_t)memory) : NULL;

	if (memory == NULL)
		return;
	if (block == NULL || block->from != memory)
		t_fail("%s: what is freed was not allocated: %s", site.function, site.what);
	(void)step((struct op){ .kind = FREE, .site = site, .at = memory, .size = block->bytes });
}

/* --- threads --- */

static void body(void *user)
{
	t_thread *self = user;

	fiber_acquire(&machine);
	(void)self->run(self->arg);
	if (self->key != NULL && key_destructor != NULL)
		key_destructor((void *)(uintptr_t)self->key);
	self->ended = true;
	fiber_release(&machine);
}

/* Fibers last, their thread is of one run. */
static void body_of(void *user)
{
	body(&machine.threads[(uintptr_t)user]);
}

static t_thread *add_thread(const char *name, void *(*run)(void *arg), void *arg)
{
	int id = machine.n_threads;
	t_thread *thread = &machine.threads[id];

	if (id == T_THREADS) {
		(void)fprintf(stderr, "too many threads\n");
		abort();
	}
	machine.n_threads++;
	if (fibers[id] == NULL)
		fibers[id] = fiber_create(body_of, (void *)(uintptr_t)id);
	if (fibers[id] == NULL)
		abort();
	thread->id = id;
	thread->name = name;
	thread->fiber = fibers[id];
	thread->run = run;
	thread->arg = arg;
	thread->key = NULL;
	thread->held = thread->ended = thread->has_late = false;
	thread->spurious = machine.scenario->spurious;
	thread->op = (struct op){ .kind = START, .site = { "", name, "", 0 } };
	thread->n_delayed = 0;
	thread->used = 0;
	memcpy(thread->locals, first_locals, LOCALS);
	return thread;
}

t_thread *t_spawn(const char *name, void *(*run)(void *arg), void *arg)
{
	t_thread *thread = add_thread(name, run, arg);

	thread->held = true;
	return thread;
}

bool t_thread_start(void *thread, void *(*run)(void *arg), void *arg)
{
	const t_thread *started = add_thread("the library's", run, arg);

	memset(thread, 0, sizeof(pthread_t));
	memcpy(thread, &started, sizeof(started)); /* NOLINT(bugprone-sizeof-expression) */
	return true;
}

void t_join(t_thread *thread)
{
	(void)step((struct op){ .kind = JOIN,
				.site = { "", "t_join", thread->name, 0 },
				.value = (uint64_t)thread->id });
}

void t_thread_join(void *thread, t_site site)
{
	t_thread *target;

	(void)site;
	memcpy(&target, thread, sizeof(target)); /* NOLINT(bugprone-sizeof-expression) */
	t_join(target);
}

const void *t_self(void)
{
	return machine.running;
}

int t_key_create(void (*destructor)(void *value))
{
	key_destructor = destructor;
	return 0;
}

int t_key_set(const void *value)
{
	machine.running->key = value;
	return 0;
}

psg_device *t_device(const char *name)
{
	psg_device *gpu = &gpus[name[strlen(name) - 1] == '1'];

	if (strncmp(name, "gpu", 3) != 0)
		return device;
	*gpu = *device;
	gpu->info.kind = PSG_DEVICE_CUDA;
	(void)snprintf(gpu->info.name, sizeof(gpu->info.name), "%s", name);
	return gpu;
}

void t_begin(void)
{
	(void)step((struct op){ .kind = QUIET, .site = T_SITE("") });
}

void t_end(void)
{
	(void)step((struct op){ .kind = LAST, .site = T_SITE("") });
}

/* --- what can go on --- */

static bool is_finite(int64_t deadline_ns)
{
	return deadline_ns < INT64_MAX / 2;
}

static bool sleeps_for_a_time(const t_thread *thread)
{
	return !thread->ended && thread->op.kind == ASLEEP && is_finite(thread->op.deadline_ns);
}

static int mutex_number(const volatile void *at)
{
	for (int i = 0; i < machine.n_mutexes; i++)
		if (machine.mutexes[i].at == at)
			return i;
	if (machine.n_mutexes == MUTEXES)
		abort();
	machine.mutexes[machine.n_mutexes].at = (const void *)(uintptr_t)at;
	machine.mutexes[machine.n_mutexes].owner = NULL;
	return machine.n_mutexes++;
}

/* Does it wait until its own stores are visible? */
static bool settles(const struct op *op)
{
	switch (op->kind) {
	case STORE:
		return op->visible;
	case LOAD:
	case TIME:
	case PAUSE:
	case JOIN:
	case WOKEN:
	case START:
		return false;
	default:
		return true;
	}
}

static bool is_enabled(const t_thread *thread)
{
	const struct op *op = &thread->op;

	if (thread->ended || (thread->held && !machine.between))
		return false;
	if (settles(op) && thread->n_delayed > 0)
		return false;
	switch (op->kind) {
	case ASLEEP:
	case PAUSE: /* see below, as the next two */
	case QUIET:
	case LAST:
		return false;
	case HEAVY_FENCE:
		for (int i = 0; i < machine.n_threads; i++)
			if (machine.threads[i].n_delayed > 0)
				return false;
		return true;
	case LOCK:
		return machine.mutexes[mutex_number(op->at)].owner == NULL;
	case JOIN:
		return machine.threads[op->value].ended &&
		       machine.threads[op->value].n_delayed == 0;
	default:
		return true;
	}
}

static bool may_tick(void)
{
	return machine.between && machine.scenario->clock && !machine.ticked;
}

static uint32_t first_that(enum kind kind)
{
	for (int i = 0; i < machine.n_threads; i++)
		if (!machine.threads[i].ended && machine.threads[i].op.kind == kind)
			return UINT32_C(1) << i;
	return 0;
}

/* When no other can. */
static uint32_t last_resort(void)
{
	uint32_t agents = machine.pauses < 2 * T_THREADS ? first_that(PAUSE) : 0;

	if (agents == 0)
		agents = first_that(QUIET) | first_that(LAST);
	for (int i = 0; agents == 0 && i < machine.n_threads; i++)
		if (sleeps_for_a_time(&machine.threads[i]))
			agents = UINT32_C(1) << T_CLOCK;
	return agents;
}

static void fail_asleep(void)
{
	char why[512] = "nobody can go on:", *at = why + strlen(why);

	for (int i = 0; i < machine.n_threads; i++) {
		const t_thread *thread = &machine.threads[i];

		if (!thread->ended)
			at += snprintf(at, (size_t)(why + sizeof(why) - at), " %s %s %s in %s;",
				       thread->name, kind_names[thread->op.kind],
				       thread->op.site.what, thread->op.site.function);
	}
	t_machine_fail(why);
}

static bool all_ended(void)
{
	for (int i = 0; i < machine.n_threads; i++)
		if (!machine.threads[i].ended)
			return false;
	return true;
}

uint32_t t_machine_enabled(void)
{
	uint32_t agents = 0;

	if (t_machine_failure() != NULL)
		return 0;
	for (int i = 0; i < machine.n_threads; i++) {
		if (is_enabled(&machine.threads[i]))
			agents |= UINT32_C(1) << i;
		if (machine.threads[i].n_delayed > 0)
			agents |= UINT32_C(1) << t_queue_of(i);
	}
	if (may_tick())
		agents |= UINT32_C(1) << T_CLOCK;
	if (agents == 0)
		agents = last_resort();
	if (agents == 0 && !all_ended())
		fail_asleep();
	return agents;
}

/* --- what a step touches --- */

static void touch(t_footprint *to, uintptr_t from, size_t bytes, bool write)
{
	to->access[to->n++] = (t_access){ from, from + bytes, write };
}

static void touch_clock(t_footprint *to)
{
	touch(to, WORD_CLOCK, 1, true);
	for (int i = 0; i < machine.n_threads; i++)
		if (sleeps_for_a_time(&machine.threads[i]))
			touch(to, SLEEPERS_OF(machine.threads[i].op.at), 1, true);
}

static void touch_op(t_footprint *to, const struct op *op)
{
	uintptr_t at = (uintptr_t)op->at;

	switch (op->kind) {
	case LOAD:
		touch(to, at, op->size, false);
		break;
	case STORE:
		if (op->visible)
			touch(to, at, op->size, true);
		else
			touch(to, WORD_HEAVY, 1, false);
		break;
	case CHANGE:
	case COMPARE:
	case FREE:
		touch(to, at, op->size, true);
		break;
	case HEAVY_FENCE:
		touch(to, WORD_HEAVY, 1, true);
		break;
	case SLEEP:
		touch(to, at, op->size, false);
		touch(to, SLEEPERS_OF(at), 1, false);
		if (is_finite(op->deadline_ns) && machine.scenario->clock)
			touch(to, WORD_CLOCK, 1, false);
		break;
	case SIGNAL:
		touch(to, at, op->size, true);
		touch(to, SLEEPERS_OF(at), 1, true);
		break;
	case WAKE:
		touch(to, SLEEPERS_OF(at), 1, true);
		break;
	case LOCK:
	case UNLOCK:
		touch(to, at, op->size, true);
		to->locks = op->kind == LOCK;
		to->unlocks = op->kind == UNLOCK;
		break;
	case TIME:
		touch(to, WORD_CLOCK, 1, false);
		break;
	case READ_FD:
	case WRITE_FD:
		touch(to, WORD_DESCRIPTOR, 1, true);
		break;
	default:
		break;
	}
}

void t_machine_pending(int agent, t_footprint *touched)
{
	int owner = t_owner_of(agent);

	touched->n = 0;
	touched->locks = touched->unlocks = false;
	if (agent == T_CLOCK) {
		if (may_tick())
			touch_clock(touched);
	} else if (owner < machine.n_threads) {
		const t_thread *thread = &machine.threads[owner];

		if (agent != owner && thread->n_delayed > 0)
			touch(touched, (uintptr_t)thread->delayed[0].at, thread->delayed[0].size,
			      true);
		else if (agent == owner && !thread->ended)
			touch_op(touched, &thread->op);
	}
}

static bool would_succeed(const struct op *op)
{
	return get(op->at, op->size) == op->expected || op->forced;
}

static bool would_sleep(const struct op *op)
{
	return (get(op->at, op->size) == op->value || op->blind) &&
	       op->deadline_ns > machine.now_ns;
}

unsigned t_machine_ways(int agent)
{
	const t_thread *thread = agent < T_THREADS ? &machine.threads[agent] : NULL;
	const struct op *op;

	if (thread == NULL || thread->spurious == 0 || !machine.between || is_freed(thread->op.at))
		return 1;
	op = &thread->op;
	if (op->kind == COMPARE)
		return op->weak && would_succeed(op) ? 2 : 1;
	return op->kind == SLEEP && would_sleep(op) ? 2 : 1;
}

/* --- making a step --- */

static void wake(const volatile void *at, uint32_t bits, t_step *step)
{
	for (int i = 0; i < machine.n_threads; i++) {
		struct op *op = &machine.threads[i].op;

		if (machine.threads[i].ended || op->kind != ASLEEP || op->at != at ||
		    (op->bits & bits) == 0)
			continue;
		op->kind = WOKEN;
		op->result = 1;
		step->woken |= UINT32_C(1) << i;
	}
}

static void time_out(t_step *step)
{
	for (int i = 0; i < machine.n_threads; i++) {
		struct op *op = &machine.threads[i].op;

		if (!sleeps_for_a_time(&machine.threads[i]) || op->deadline_ns > machine.now_ns)
			continue;
		op->kind = WOKEN;
		op->result = 0;
		step->woken |= UINT32_C(1) << i;
	}
}

/* Of all that sleep the first. */
static int64_t earliest_deadline(void)
{
	int64_t earliest = INT64_MAX;

	for (int i = 0; i < machine.n_threads; i++)
		if (sleeps_for_a_time(&machine.threads[i]) &&
		    machine.threads[i].op.deadline_ns < earliest)
			earliest = machine.threads[i].op.deadline_ns;
	return earliest;
}

static void tick(t_step *step)
{
	step->barrier = !may_tick();
	if (step->barrier) {
		machine.now_ns = earliest_deadline();
	} else {
		touch_clock(&step->touched);
		machine.now_ns += T_TICK_NS;
		machine.ticked = true;
	}
	time_out(step);
	if (machine.text)
		(void)snprintf(step->text, sizeof(step->text), "time passes");
}

static void flush(t_thread *thread, t_step *step)
{
	struct delayed first = thread->delayed[0];

	check_alive(thread, first.at, "a delayed store");
	touch(&step->touched, (uintptr_t)first.at, first.size, true);
	put(first.at, first.size, first.value);
	thread->n_delayed--;
	memmove(thread->delayed, thread->delayed + 1,
		(size_t)thread->n_delayed * sizeof(thread->delayed[0]));
	if (machine.text)
		(void)snprintf(step->text, sizeof(step->text), "%s's store of %llu to %p is seen",
			       thread->name, (unsigned long long)first.value,
			       (void *)(uintptr_t)first.at);
}

static void load(t_thread *thread, struct op *op)
{
	const struct delayed *own = own_store(thread, op->at);

	op->result = own != NULL ? own->value : get(op->at, op->size);
}

static void store(t_thread *thread, const struct op *op, t_step *step)
{
	if (op->visible) {
		put(op->at, op->size, op->value);
	} else if (thread->n_delayed == DELAYED) {
		t_machine_fail("too many delayed stores");
	} else {
		thread->delayed[thread->n_delayed++] =
			(struct delayed){ op->at, op->size, cut(op->value, op->size) };
		step->delayed = true;
	}
}

static void compare(t_thread *thread, struct op *op, unsigned way, t_step *step)
{
	bool equal = would_succeed(op);

	if (way > 0)
		thread->spurious--;
	op->result = equal && way == 0;
	if (op->result != 0)
		put(op->at, op->size, op->value);
	else
		op->expected = get(op->at, op->size);
	step->touched.access[0].write = op->result != 0;
}

static void fall_asleep(t_thread *thread, struct op *op, unsigned way)
{
	op->result = op->deadline_ns > machine.now_ns || get(op->at, op->size) != op->value;
	if (way > 0)
		thread->spurious--;
	else if (would_sleep(op))
		op->kind = ASLEEP;
}

static void lock(const t_thread *thread, const struct op *op, bool take)
{
	int number = mutex_number(op->at);

	if (!take && machine.mutexes[number].owner != thread)
		t_machine_fail("a lock is given back that was not taken");
	machine.mutexes[number].owner = take ? thread : NULL;
}

static void release_block(const struct op *op)
{
	struct block *block = block_of((uintptr_t)op->at);

	block->freed = true;
	memset(block->from, 0xdd, block->bytes);
}

static void perform(t_thread *thread, unsigned way, t_step *step)
{
	struct op *op = &thread->op;

	switch (op->kind) {
	case LOAD:
		load(thread, op);
		break;
	case STORE:
		store(thread, op, step);
		break;
	case CHANGE:
		op->result = get(op->at, op->size);
		put(op->at, op->size, changed(op->how, op->result, op->value));
		break;
	case COMPARE:
		compare(thread, op, way, step);
		break;
	case HEAVY_FENCE:
		step->settled_all = true;
		break;
	case SLEEP:
		fall_asleep(thread, op, way);
		break;
	case SIGNAL:
		put(op->at, op->size, get(op->at, op->size) + 1);
		wake(op->at, op->bits, step);
		break;
	case WAKE:
		wake(op->at, op->bits, step);
		break;
	case PAUSE:
		step->barrier = true;
		break;
	case LOCK:
	case UNLOCK:
		lock(thread, op, op->kind == LOCK);
		break;
	case JOIN:
		step->joined = (int)op->value;
		break;
	case TIME:
		op->result = (uint64_t)machine.now_ns;
		break;
	case READ_FD:
		op->result = machine.descriptor > 0 ? 8 : UINT64_MAX;
		machine.descriptor -= machine.descriptor > 0;
		break;
	case WRITE_FD:
		machine.descriptor++;
		op->result = 8;
		break;
	case FREE:
		release_block(op);
		break;
	case QUIET:
		machine.between = true;
		break;
	case LAST:
		machine.between = false;
		step->barrier = true;
		break;
	default:
		break;
	}
}

static bool touches_memory(enum kind kind)
{
	return kind == LOAD || kind == STORE || kind == CHANGE || kind == COMPARE ||
	       kind == SLEEP || kind == SIGNAL || kind == LOCK || kind == UNLOCK || kind == FREE;
}

/* Its local variables are where the code looks for them while it runs. */
static void resume(t_thread *thread)
{
	size_t bytes = (size_t)(__stop_t_fiber_local - __start_t_fiber_local);

	memcpy(__start_t_fiber_local, thread->locals, bytes);
	machine.running = thread;
	fiber_release(&machine);
	(void)fiber_resume(thread->fiber);
	fiber_acquire(&machine);
	machine.running = NULL;
	memcpy(thread->locals, __start_t_fiber_local, bytes);
}

static void describe(const t_thread *thread, const struct op *before, t_step *step)
{
	const struct op *after = &thread->op;
	unsigned long long value =
		before->kind == STORE || before->kind == SLEEP ? before->value : after->result;

	(void)snprintf(step->text, sizeof(step->text), "%-8s %s:%d %s %s (%llx)%s", thread->name,
		       before->site.function, before->site.line, kind_names[before->kind],
		       before->site.what, value, after->kind == ASLEEP ? ", asleep" : "");
}

static void step_thread(int agent, unsigned way, t_step *step)
{
	t_thread *thread = &machine.threads[agent];
	struct op before = thread->op;

	t_machine_pending(agent, &step->touched);
	step->settled = settles(&before);
	if (touches_memory(before.kind))
		check_alive(thread, before.at, before.site.what);
	machine.pauses = before.kind == PAUSE ? machine.pauses + 1 : 0;
	if (t_machine_failure() == NULL)
		perform(thread, way, step);
	if (machine.text)
		describe(thread, &before, step);
	if (t_machine_failure() == NULL && thread->op.kind != ASLEEP)
		resume(thread);
}

void t_machine_step(int agent, unsigned way, t_step *step)
{
	/* Field by field: this is where the time goes. */
	step->touched.n = 0;
	step->touched.locks = step->touched.unlocks = false;
	step->barrier = step->delayed = step->settled = step->settled_all = false;
	step->joined = -1;
	step->woken = 0;
	step->text[0] = '\0';
	if (agent == T_CLOCK)
		tick(step);
	else if (agent >= T_THREADS)
		flush(&machine.threads[t_owner_of(agent)], step);
	else
		step_thread(agent, way, step);
}

bool t_machine_between(void)
{
	return machine.between;
}

/* --- a run --- */

static void *run_scenario(void *arg)
{
	const t_scenario *scenario = arg;

	scenario->run(scenario->arg);
	for (int i = 0; i < machine.n_blocks; i++)
		if (!machine.blocks[i].freed)
			t_fail("%zu bytes were never freed", machine.blocks[i].bytes);
	return NULL;
}

static void prepare_once(void)
{
	if (arena != NULL)
		return;
	arena = aligned_alloc(4096, T_THREADS * ARENA);
	if (arena == NULL || psg_device_open("reference", &device, NULL) != PSG_OK ||
	    __stop_t_fiber_local - __start_t_fiber_local > LOCALS) {
		(void)fprintf(stderr, "the checker cannot start\n");
		abort();
	}
	memcpy(first_locals, __start_t_fiber_local,
	       (size_t)(__stop_t_fiber_local - __start_t_fiber_local));
}

/* Fibers of a run that failed stay where they are; they are kept so that nobody takes them for
 * lost.
 */
static void leave_fibers(void)
{
	static fiber *left[1024];
	static size_t n;

	for (int i = 0; i < machine.n_threads; i++) {
		if (machine.threads[i].ended)
			continue;
		left[n++ % (sizeof(left) / sizeof(left[0]))] = fibers[i];
		fibers[i] = NULL;
	}
}

void t_machine_start(const t_scenario *scenario, const t_mutant *mutant, bool text)
{
	prepare_once();
	leave_fibers();
	memcpy(__start_t_fiber_local, first_locals,
	       (size_t)(__stop_t_fiber_local - __start_t_fiber_local));
	machine.scenario = scenario;
	machine.mutant = mutant;
	machine.text = text;
	machine.between = machine.ticked = false;
	machine.n_threads = machine.n_mutexes = machine.n_blocks = machine.pauses = 0;
	machine.now_ns = T_FIRST_NS;
	machine.running = NULL;
	machine.failure[0] = '\0';
	t_places_reset();
	t_table_reset();
	(void)add_thread("main", run_scenario, (void *)(uintptr_t)scenario);
}
