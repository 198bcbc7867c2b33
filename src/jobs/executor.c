/* SPDX-License-Identifier: Apache-2.0 */
/* An executor from outside: starting its thread, its holders, its end. */
#include "config.h"

#include "jobs/executor.h"

#include "base/base.h"
#include "base/fork.h"
#include "base/thread.h"
#include "base/trace.h"
#include "jobs/futex.h"
#include "jobs/worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Chosen: a first start that compiles takes some seconds, one of eight cards that sleep some ten.
 */
#define DEFAULT_OPEN_NS (120 * PSG_SECOND)

/* --- opening --- */

/* Until opening has ended, or `deadline_ns` has passed. */
static void wait_opened(psgi_executor *executor, int64_t deadline_ns)
{
	while (atomic_load_explicit(&executor->opening, memory_order_acquire) == PSGI_OPENING &&
	       psg_now_ns() < deadline_ns) {
		uint32_t value = psgi_event_value(&executor->news);

		if (atomic_load_explicit(&executor->opening, memory_order_acquire) == PSGI_OPENING)
			(void)psgi_event_wait(&executor->news, value, deadline_ns);
	}
}

/* Leaves the executor to its thread; false: opening has ended after all. */
static bool abandon(psgi_executor *executor, int64_t timeout_ns, psg_error *error)
{
	pthread_t thread = executor->thread;
	const char *phase = atomic_load_explicit(&executor->phase.what, memory_order_relaxed);
	char name[sizeof(executor->info.name)];
	int state = PSGI_OPENING;

	(void)snprintf(name, sizeof(name), "%s", executor->device_name);
	if (!atomic_compare_exchange_strong_explicit(&executor->opening, &state, PSGI_ABANDONED,
						     memory_order_acq_rel, memory_order_acquire))
		return false;
	(void)pthread_detach(thread);
	(void)psgi_fail(
		error, PSG_TIMED_OUT,
		"%s is not open after %.3g s, at '%s': the driver hangs, or needs more time "
		"(open_timeout_ns); PAGESIFT_GPU=off does without it",
		name, (double)timeout_ns / (double)PSG_SECOND, phase != NULL ? phase : "opening");
	return true;
}

void psgi_executor_free(psgi_executor *executor)
{
	while (executor->accounts != NULL) {
		psgi_memory_account *account = executor->accounts;

		executor->accounts = account->next;
		free(account);
	}
	free(executor->device_name);
	free(executor);
	psgi_trace_release();
}

static psgi_executor *create(const char *device, const char *thread_name)
{
	static _Atomic uint32_t numbers;
	psgi_executor *executor = aligned_alloc(PSGI_CACHE_LINE, sizeof(*executor));

	if (executor == NULL)
		return NULL;
	memset(executor, 0, sizeof(*executor));
	psgi_trace_hold();
	psgi_event_init(&executor->work);
	psgi_event_init(&executor->news);
	atomic_store_explicit(&executor->holders, 1, memory_order_relaxed);
	executor->number = atomic_fetch_add_explicit(&numbers, 1, memory_order_relaxed) + 1;
	executor->generation = psgi_fork_generation();
	if (thread_name != NULL)
		(void)snprintf(executor->name, sizeof(executor->name), "%.15s", thread_name);
	else
		(void)snprintf(executor->name, sizeof(executor->name), "psg-%.11s", device);
	executor->device_name = strdup(device);
	if (executor->device_name == NULL) {
		psgi_executor_free(executor);
		return NULL;
	}
	return executor;
}

psg_status psgi_executor_open(const char *device, const char *thread_name, int64_t timeout_ns,
			      psgi_executor **out, psg_error *error)
{
	psgi_executor *executor = create(device, thread_name);
	psg_status status;

	*out = NULL;
	if (executor == NULL)
		return psgi_fail(error, PSG_NOMEM, "no memory for a worker");
	psgi_fences_init();
	if (timeout_ns == 0)
		timeout_ns = DEFAULT_OPEN_NS;
	if (!psgi_thread_start(&executor->thread, psgi_executor_main, executor)) {
		psgi_executor_free(executor);
		return psgi_fail(error, PSG_NOMEM, "no thread for the worker");
	}
	wait_opened(executor, psgi_deadline_after(timeout_ns));
	if (abandon(executor, timeout_ns, error))
		return PSG_TIMED_OUT;
	status = executor->open_status;
	if (status == PSG_OK) {
		*out = executor;
		return PSG_OK;
	}
	(void)pthread_join(executor->thread, NULL);
	if (error != NULL)
		*error = executor->error;
	psgi_executor_free(executor);
	return status;
}

/* --- holders --- */

/* Relaxed: who makes one more has one, or the lock of who drops the last. */
void psgi_executor_hold(psgi_executor *executor)
{
	atomic_fetch_add_explicit(&executor->holders, 1, memory_order_relaxed);
}

/* As every last reference: release own use, acquire that of others. */
void psgi_executor_release(psgi_executor *executor)
{
	if (atomic_fetch_sub_explicit(&executor->holders, 1, memory_order_acq_rel) != 1)
		return;
	atomic_store_explicit(&executor->ending, true, memory_order_release);
	psgi_event_signal(&executor->work);
	if (psgi_executor_is_self(executor)) {
		executor->is_alone = true;
		(void)pthread_detach(executor->thread);
		return;
	}
	(void)pthread_join(executor->thread, NULL);
	psgi_executor_free(executor);
}

bool psgi_executor_is_self(const psgi_executor *executor)
{
	return psgi_this_executor == executor->number;
}

/* --- telling the thread --- */

/* Release: what the thread is to find.  Stored before the signal: it sees it, or does not sleep. */
void psgi_executor_notify(psgi_executor *executor)
{
	atomic_store_explicit(&executor->attention, true, memory_order_release);
	psgi_event_signal(&executor->work);
}

/* The thread takes the stack whole, so that the swap meets no older entry in a new place. */
void psgi_executor_join(psgi_executor *executor, psg_worker *worker)
{
	psg_worker *head = atomic_load_explicit(&executor->joining, memory_order_relaxed);

	psgi_executor_hold(executor);
	do
		worker->joining_next = head;
	while (!atomic_compare_exchange_weak_explicit(&executor->joining, &head, worker,
						      memory_order_release, memory_order_relaxed));
	psgi_executor_notify(executor);
}
