/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "base/phase.h"

#include <stddef.h>

static _Thread_local psgi_phase *watched;

void psgi_phase_watch(psgi_phase *where)
{
	watched = where;
}

/* Only this thread writes. */
static void count(void)
{
	uint32_t begun = atomic_load_explicit(&watched->begun, memory_order_relaxed);

	atomic_store_explicit(&watched->begun, begun + 1, memory_order_relaxed);
}

const char *psgi_phase_begin(const char *what)
{
	const char *outer;

	if (watched == NULL)
		return NULL;
	outer = atomic_load_explicit(&watched->what, memory_order_relaxed);
	count();
	/* Release: who sees the phase sees what came before it. */
	atomic_store_explicit(&watched->what, what, memory_order_release);
	return outer;
}

void psgi_phase_end(const char *outer)
{
	if (watched == NULL)
		return;
	count(); /* the one around it goes on only now */
	atomic_store_explicit(&watched->what, outer, memory_order_relaxed);
}
