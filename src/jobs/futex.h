/* SPDX-License-Identifier: Apache-2.0 */
/* Sleeping on a word until it changes, with absolute deadlines of psg_now_ns. */
#ifndef PSG_JOBS_FUTEX_H
#define PSG_JOBS_FUTEX_H

#include "base/base.h"

#include <errno.h>
#include <limits.h>
#include <linux/futex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static inline struct timespec psgi_timespec(int64_t ns)
{
	return (struct timespec){ .tv_sec = ns / 1000000000, .tv_nsec = ns % 1000000000 };
}

/*
 * Sleeps while *word is `expected`, at most until `deadline`; false when that
 * passed.  May return early for any reason: a signal, a stale wake-up.
 * FUTEX_WAIT_BITSET is the form whose deadline is absolute and monotonic, and
 * whose sleepers are woken only by who has one of their bits.
 */
static inline bool psgi_futex_wait_some(const void *word, uint32_t expected,
					const struct timespec *deadline, uint32_t bits)
{
	return syscall(SYS_futex, word, FUTEX_WAIT_BITSET_PRIVATE, expected, deadline, NULL,
		       bits) == 0 ||
	       errno != ETIMEDOUT;
}

static inline bool psgi_futex_wait(const void *word, uint32_t expected,
				   const struct timespec *deadline)
{
	return psgi_futex_wait_some(word, expected, deadline, FUTEX_BITSET_MATCH_ANY);
}

/* Wakes who sleeps on `word`, whose memory may already be somebody else's: they look again. */
static inline void psgi_futex_wake_some(const void *word, uint32_t bits)
{
	(void)syscall(SYS_futex, word, FUTEX_WAKE_BITSET_PRIVATE, INT_MAX, NULL, NULL, bits);
}

static inline void psgi_futex_wake(const void *word)
{
	(void)syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
}

#endif
