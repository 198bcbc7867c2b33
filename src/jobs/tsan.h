/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fences, which ThreadSanitizer does not know.
 *
 * Data is handed over by C11 atomics everywhere in this room, which it does
 * follow; a fence only ever decides who looks once more.
 */
#ifndef PSG_JOBS_TSAN_H
#define PSG_JOBS_TSAN_H

#include <stdatomic.h>

#ifdef PSG_TSAN
#include <ck_pr.h>
#endif

/*
 * A full fence: what this thread stored before it is visible before it loads
 * anything after it.  Two threads that each store, fence and load the other's
 * word cannot both miss.  (gcc refuses C11 fences under TSan.)
 */
static inline void psgi_full_fence(void)
{
#ifdef PSG_TSAN
	ck_pr_fence_memory();
#else
	atomic_thread_fence(memory_order_seq_cst);
#endif
}

#endif
