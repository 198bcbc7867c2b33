/* SPDX-License-Identifier: Apache-2.0 */
/* The host pool: a list of tasks and an alarm under a lock, and a few threads. */
#include "config.h"

#include "jobs/jobs.h"

#include "base/base.h"
#include "base/thread.h"
#include "jobs/futex.h"

#include <stdio.h>
#include <stdlib.h>

struct psgi_pool {
	pthread_mutex_t lock; /* all below but what is constant */
	pthread_cond_t more;  /* on the clock of psg_now_ns */
	psgi_task *first, *last;
	psgi_task *alarm;
	int64_t alarm_ns; /* PSGI_NEVER: none is set */
	bool closing;
	char name[16]; /* constant; the kernel keeps 15 bytes */
	int32_t n;     /* threads started */
	pthread_t threads[];
};

/* The next thing to do now, if there is one; under the lock. */
static psgi_task *next(psgi_pool *pool)
{
	psgi_task *task = pool->first;

	if (pool->alarm_ns != PSGI_NEVER && pool->alarm_ns <= psg_now_ns()) {
		pool->alarm_ns = PSGI_NEVER;
		return pool->alarm;
	}
	if (task != NULL)
		pool->first = task->next;
	return task;
}

/* NULL: the pool closes and has nothing left. */
static psgi_task *take(psgi_pool *pool)
{
	psgi_task *task;

	(void)pthread_mutex_lock(&pool->lock);
	while ((task = next(pool)) == NULL && !pool->closing) {
		const struct timespec alarm = psgi_timespec(pool->alarm_ns);

		(void)pthread_cond_timedwait(&pool->more, &pool->lock, &alarm);
	}
	(void)pthread_mutex_unlock(&pool->lock);
	return task;
}

static void *work(void *argument)
{
	psgi_pool *pool = argument;
	psgi_task *task;

	(void)pthread_setname_np(pthread_self(), pool->name);
	while ((task = take(pool)) != NULL)
		task->run(task);
	return NULL;
}

static void close_started(psgi_pool *pool)
{
	(void)pthread_mutex_lock(&pool->lock);
	pool->closing = true;
	(void)pthread_cond_broadcast(&pool->more);
	(void)pthread_mutex_unlock(&pool->lock);
	for (int32_t i = 0; i < pool->n; i++)
		(void)pthread_join(pool->threads[i], NULL);
	(void)pthread_cond_destroy(&pool->more);
	(void)pthread_mutex_destroy(&pool->lock);
	free(pool);
}

static bool start(psgi_pool *pool, int32_t threads)
{
	while (pool->n < threads && psgi_thread_start(&pool->threads[pool->n], work, pool))
		pool->n++;
	return pool->n == threads;
}

static bool init_lock(psgi_pool *pool)
{
	pthread_condattr_t clock;
	bool made;

	if (pthread_mutex_init(&pool->lock, NULL) != 0)
		return false;
	(void)pthread_condattr_init(&clock);
	(void)pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	made = pthread_cond_init(&pool->more, &clock) == 0;
	(void)pthread_condattr_destroy(&clock);
	if (!made)
		(void)pthread_mutex_destroy(&pool->lock);
	return made;
}

psg_status psgi_pool_open(int32_t threads, const char *name, psgi_pool **out, psg_error *error)
{
	psgi_pool *pool;

	*out = NULL;
	if (threads < 1)
		return psgi_fail(error, PSG_INVALID, "a pool of %d threads: at least 1",
				 (int)threads);
	pool = calloc(1, sizeof(*pool) + (size_t)threads * sizeof(pool->threads[0]));
	if (pool == NULL)
		return psgi_fail(error, PSG_NOMEM, "no memory for a pool of %d threads",
				 (int)threads);
	(void)snprintf(pool->name, sizeof(pool->name), "%.15s", name != NULL ? name : "psg-host");
	pool->alarm_ns = PSGI_NEVER;
	if (!init_lock(pool)) {
		free(pool);
		return psgi_fail(error, PSG_NOMEM, "no memory for a lock");
	}
	if (!start(pool, threads)) {
		int32_t started = pool->n;

		close_started(pool);
		return psgi_fail(error, PSG_NOMEM, "only %d of %d threads could be started",
				 (int)started, (int)threads);
	}
	*out = pool;
	return PSG_OK;
}

void psgi_pool_post(psgi_pool *pool, psgi_task *task)
{
	task->next = NULL;
	(void)pthread_mutex_lock(&pool->lock);
	if (pool->first == NULL)
		pool->first = task;
	else
		pool->last->next = task;
	pool->last = task;
	(void)pthread_cond_signal(&pool->more);
	(void)pthread_mutex_unlock(&pool->lock);
}

/* All threads that wait are told: any one of them may be given a task before the time comes. */
void psgi_pool_alarm(psgi_pool *pool, psgi_task *task, int64_t at_ns)
{
	(void)pthread_mutex_lock(&pool->lock);
	if (at_ns < pool->alarm_ns) {
		pool->alarm = task;
		pool->alarm_ns = at_ns;
		(void)pthread_cond_broadcast(&pool->more);
	}
	(void)pthread_mutex_unlock(&pool->lock);
}

void psgi_pool_close(psgi_pool *pool)
{
	if (pool != NULL)
		close_started(pool);
}
