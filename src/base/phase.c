/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "base/phase.h"

#include <stddef.h>

static _Thread_local psgi_phase *watched;

void psgi_phase_watch(psgi_phase *where)
{
	watched = where;
}

const char *psgi_phase_begin(const char *what)
{
	const char *outer;

	if (watched == NULL)
		return NULL;
	outer = atomic_load_explicit(watched, memory_order_relaxed);
	atomic_store_explicit(watched, what, memory_order_relaxed);
	return outer;
}

void psgi_phase_end(const char *outer)
{
	if (watched != NULL)
		atomic_store_explicit(watched, outer, memory_order_relaxed);
}
