/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "run.h"

#include "fiber.h"
#include "kernels/kernel.h"
#include "kernels/list.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MAX_THREADS 4      /* of the host: the tests run beside each other */
#define BLOCK_THREADS 1024 /* the most that a card takes */

#define DECLARE(name, family, args) extern const struct host_kernel host_##name;
PSGI_KERNELS(DECLARE)
#undef DECLARE

static const struct host_kernel *const kernels[] = {
#define ROW(name, family, args) &host_##name,
	PSGI_KERNELS(ROW)
#undef ROW
};

/* One run, seen by all host threads. */
struct launch {
	const struct host_kernel *kernel;
	const void *args;
	int32_t blocks, threads;
	size_t shared_bytes;
	atomic_uint next; /* block to be taken */
};

/* One host thread's fibers and what they run.  Kept between launches. */
struct engine {
	struct engine *next;
	struct launch *launch;
	struct crew {
		struct engine *engine;
		fiber *fiber;
		place place;
		int32_t barriers; /* passed in this block */
	} crew[BLOCK_THREADS];
	char met[2]; /* only their addresses are used */
};

static struct engine *idle;
static pthread_mutex_t idle_lock = PTHREAD_MUTEX_INITIALIZER;

_Noreturn static void wrong(const char *kernel, const char *why)
{
	(void)fprintf(stderr, "fakecuda: %s: %s\n", kernel, why);
	abort();
}

static const struct host_kernel *find(const char *name)
{
	for (size_t i = 0; i < sizeof(kernels) / sizeof(kernels[0]); i++)
		if (strcmp(kernels[i]->name, name) == 0)
			return kernels[i];
	return NULL;
}

bool fakecuda_find(const char *kernel, size_t *args_bytes)
{
	const struct host_kernel *k = find(kernel);

	if (k != NULL)
		*args_bytes = k->args_bytes;
	return k != NULL;
}

/*
 * Threads that are not past a barrier yet must not be seen to have met those that already go on to
 * the next one: even and odd barriers are told apart.
 */
void host_barrier(const place *at)
{
	struct crew *c = at->fiber;
	char *met = &c->engine->met[c->barriers++ % 2];

	fiber_release(met);
	fiber_pause(c->fiber);
	fiber_acquire(met);
}

static void body(void *user)
{
	struct crew *c = user;

	fiber_acquire(c);
	c->barriers = 0;
	c->engine->launch->kernel->run(c->engine->launch->args, &c->place);
}

static void run_fibers(struct engine *e, int32_t block, void *shared)
{
	const struct launch *l = e->launch;
	int32_t ended = 0;

	for (int32_t t = 0; t < l->threads; t++) {
		e->crew[t].place = (place){ t, l->threads, block, l->blocks, shared, &e->crew[t] };
		fiber_release(&e->crew[t]);
	}
	while (ended == 0) {
		for (int32_t t = 0; t < l->threads; t++)
			ended += fiber_resume(e->crew[t].fiber);
		if (ended != 0 && ended != l->threads)
			wrong(l->kernel->name, "some threads of a block wait in a barrier that the "
					       "others never reach");
	}
}

static void run_blocks(struct engine *e)
{
	struct launch *l = e->launch;
	void *shared = l->shared_bytes > 0 ? malloc(l->shared_bytes) : NULL;
	unsigned block;

	if (l->shared_bytes > 0 && shared == NULL)
		wrong(l->kernel->name, "no memory for shared memory");
	while ((block = atomic_fetch_add_explicit(&l->next, 1, memory_order_relaxed)) <
	       (unsigned)l->blocks) {
		if (shared != NULL) /* NaN: what was not written must not be used */
			memset(shared, 0xff, l->shared_bytes);
		if (l->kernel->meets) {
			run_fibers(e, (int32_t)block, shared);
		} else {
			place at = { 0, l->threads, (int32_t)block, l->blocks, shared, NULL };

			l->kernel->run(l->args, &at);
		}
	}
	free(shared);
}

static struct engine *take_engine(struct launch *launch)
{
	struct engine *e;

	(void)pthread_mutex_lock(&idle_lock);
	e = idle;
	if (e != NULL)
		idle = e->next;
	(void)pthread_mutex_unlock(&idle_lock);
	if (e == NULL)
		e = calloc(1, sizeof(*e));
	if (e == NULL)
		wrong(launch->kernel->name, "no memory for its threads");
	e->launch = launch;
	for (int32_t t = 0; launch->kernel->meets && t < launch->threads; t++) {
		struct crew *c = &e->crew[t];

		c->engine = e;
		if (c->fiber == NULL)
			c->fiber = fiber_create(body, c);
		if (c->fiber == NULL)
			wrong(launch->kernel->name, "no memory for its threads");
	}
	return e;
}

static void *work(void *user)
{
	struct engine *e = take_engine(user);

	run_blocks(e);
	(void)pthread_mutex_lock(&idle_lock);
	e->next = idle;
	idle = e;
	(void)pthread_mutex_unlock(&idle_lock);
	return NULL;
}

__attribute__((destructor)) static void free_engines(void)
{
	while (idle != NULL) {
		struct engine *e = idle;

		idle = e->next;
		for (int32_t t = 0; t < BLOCK_THREADS; t++)
			fiber_destroy(e->crew[t].fiber);
		free(e);
	}
}

static int32_t host_threads(int32_t blocks)
{
	const char *text = getenv("FAKECUDA_THREADS");
	long n = text != NULL ? strtol(text, NULL, 10) : sysconf(_SC_NPROCESSORS_ONLN);

	n = n < 1 ? 1 : n > MAX_THREADS ? MAX_THREADS : n;
	return n < blocks ? (int32_t)n : blocks;
}

static void run_threads(struct launch *l)
{
	pthread_t thread[MAX_THREADS];
	int32_t n = host_threads(l->blocks), started = 1;

	while (started < n && pthread_create(&thread[started], NULL, work, l) == 0)
		started++;
	(void)work(l);
	while (--started > 0)
		(void)pthread_join(thread[started], NULL);
}

void fakecuda_run(const char *kernel, const uint32_t grid[3], const uint32_t block[3],
		  uint32_t shared_bytes, const void *args)
{
	struct launch l = { .kernel = find(kernel), .args = args };

	if (l.kernel == NULL)
		wrong(kernel, "no such kernel");
	if (grid[1] != 1 || grid[2] != 1 || block[1] != 1 || block[2] != 1)
		wrong(kernel, "grids and blocks have one dimension");
	if (grid[0] < 1 || grid[0] > INT32_MAX || block[0] < 1 || block[0] > BLOCK_THREADS)
		wrong(kernel, "a grid or block that no card takes");
	l.blocks = (int32_t)grid[0];
	l.threads = (int32_t)block[0];
	l.shared_bytes = l.kernel->shared_bytes + shared_bytes;
	run_threads(&l);
}
