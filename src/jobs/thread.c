/* SPDX-License-Identifier: Apache-2.0 */
/* Attaching lanes to threads, and the end of a thread. */
#include "config.h"

#include "jobs/thread.h"

#include "base/base.h"

#include <pthread.h>
#include <unistd.h>

_Thread_local struct psgi_thread psgi_thread_self;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key; /* only for its destructor: thread-local memory has none in C */
static int failure;

/* Gives back the lanes that `leave` says. */
static void leave_those(bool (*leave)(const psgi_lane *lane, uint64_t serial), uint64_t serial)
{
	psgi_lane **link = &psgi_thread_self.all;

	psgi_thread_self.last = NULL;
	while (*link != NULL) {
		psgi_lane *lane = *link;

		if (leave(lane, serial)) {
			*link = lane->thread_next;
			psgi_lane_leave(lane);
		} else {
			link = &lane->thread_next;
		}
	}
}

static bool any(const psgi_lane *lane, uint64_t serial)
{
	(void)lane;
	(void)serial;
	return true;
}

static bool of_worker(const psgi_lane *lane, uint64_t serial)
{
	return lane->serial == serial;
}

static bool closed(const psgi_lane *lane, uint64_t serial)
{
	(void)serial;
	return (atomic_load_explicit(&lane->flags, memory_order_relaxed) & PSGI_LANE_CLOSED) != 0;
}

/* Another destructor may submit after this one ran: then the key is set and this runs again. */
static void thread_ends(void *unused)
{
	(void)unused;
	leave_those(any, 0);
}

static void make_key(void)
{
	failure = pthread_key_create(&key, thread_ends);
}

/* When the library is unloaded before its threads end, their destructor must not be called. */
__attribute__((destructor)) static void forget_key(void)
{
	(void)pthread_once(&once, make_key);
	if (failure == 0)
		(void)pthread_key_delete(key);
	failure = 1;
}

psgi_lane *psgi_thread_find(uint64_t serial)
{
	for (psgi_lane *lane = psgi_thread_self.all; lane != NULL; lane = lane->thread_next) {
		if (lane->serial == serial) {
			psgi_thread_self.last = lane;
			return lane;
		}
	}
	return NULL;
}

psg_status psgi_thread_attach(psgi_lanes *lanes, psgi_lane **out, psg_error *error)
{
	psgi_lane *lane;
	psg_status status;

	/* A thread that outlives many workers must not keep all their lanes. */
	leave_those(closed, 0);
	(void)pthread_once(&once, make_key);
	if (failure != 0 || pthread_setspecific(key, &psgi_thread_self) != 0)
		return psgi_fail(error, PSG_NOMEM, "no thread-local key for this thread's lane");
	status = psgi_lanes_attach(lanes, &lane, error);
	if (status != PSG_OK)
		return status;
	atomic_store_explicit(&lane->owner, psgi_thread_name(), memory_order_relaxed);
	atomic_store_explicit(&lane->thread, (int32_t)gettid(), memory_order_relaxed);
	lane->thread_next = psgi_thread_self.all;
	psgi_thread_self.all = lane;
	psgi_thread_self.last = lane;
	*out = lane;
	return PSG_OK;
}

void psgi_thread_detach(uint64_t serial)
{
	leave_those(of_worker, serial);
}
