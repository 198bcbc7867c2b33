/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The time for who asks for it with each of many small jobs: psg_now_ns of at
 * most a microsecond ago.
 *
 * Reading the clock takes 26 ns on the machine where this was measured, and the
 * processor's counter of ticks, which tells whether that is due, 10.  Counters
 * that are not known to run evenly, also while a core sleeps, are not used.
 */
#ifndef PSG_BASE_RECENT_H
#define PSG_BASE_RECENT_H

#include <pagesift/error.h>

/* One thread's at a time. */
typedef struct psgi_recent {
	int64_t ns;
	uint64_t ticks, most; /* since when, and how long it may serve; 0: not at all */
} psgi_recent;

/* May serve; zeros are a clock that is read each time. */
void psgi_recent_init(psgi_recent *recent);

/* Never less than the last time. */
static inline int64_t psgi_recent_ns(psgi_recent *recent)
{
#if defined(__x86_64__)
	if (recent->most != 0) {
		uint64_t ticks = __builtin_ia32_rdtsc();

		if (ticks - recent->ticks < recent->most)
			return recent->ns;
		recent->ticks = ticks;
	}
#endif
	recent->ns = psg_now_ns();
	return recent->ns;
}

#endif
