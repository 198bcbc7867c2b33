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

#ifdef PSG_TSAN
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

#endif
