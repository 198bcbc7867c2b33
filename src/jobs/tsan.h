/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What ThreadSanitizer cannot see by itself.
 *
 * CK's atomics are inline assembly, so a correct ring looks like a race.  The
 * wrappers of ring calls release before they put and acquire after they got;
 * tests/lint/tsan.supp covers the ring's own accesses.  The check keeps its
 * teeth: without one of these annotations the report on psgi_job comes back.
 */
#ifndef PSG_JOBS_TSAN_H
#define PSG_JOBS_TSAN_H

#include <stdatomic.h>

#ifdef PSG_TSAN
#include <ck_pr.h>
#include <sanitizer/tsan_interface.h>
#endif

static inline void psgi_tsan_release(void *object)
{
#ifdef PSG_TSAN
	__tsan_release(object);
#else
	(void)object;
#endif
}

static inline void psgi_tsan_acquire(void *object)
{
#ifdef PSG_TSAN
	__tsan_acquire(object);
#else
	(void)object;
#endif
}

/*
 * A full fence: what this thread stored before it is visible before it loads
 * anything after it.  Two threads that each store, fence and load the other's
 * word cannot both miss.  (gcc refuses C11 fences under TSan, which does not
 * know them; no data is handed over by a fence here, so it loses nothing.)
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
