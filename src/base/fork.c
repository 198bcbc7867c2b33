/* SPDX-License-Identifier: Apache-2.0 */
/* Counts forks, in the child. */
#include "config.h"

#include "base/fork.h"

#include "base/base.h"

#include <pthread.h>

_Atomic uint32_t psgi_fork_count;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int failure;

/* Relaxed: a child has one thread. */
static void in_child(void)
{
	atomic_fetch_add_explicit(&psgi_fork_count, 1, memory_order_relaxed);
}

static void watch(void)
{
	failure = pthread_atfork(NULL, NULL, in_child);
}

psg_status psgi_fork_watch(psg_error *error)
{
	(void)pthread_once(&once, watch);
	return failure == 0 ? PSG_OK : psgi_fail(error, PSG_NOMEM, "no memory to watch for forks");
}
