/* SPDX-License-Identifier: Apache-2.0 */
/* Does the processor's counter of ticks run evenly? */
#include "config.h"

#include "base/recent.h"

#if defined(__x86_64__)
#include <cpuid.h>

/* Counters that run evenly tick at 1 GHz or faster: no more than a microsecond. */
#define MOST_TICKS 1000

/* "Invariant TSC" of Intel's and AMD's manuals. */
static bool runs_evenly(void)
{
	unsigned eax, ebx, ecx, edx;

	return __get_cpuid(0x80000007, &eax, &ebx, &ecx, &edx) != 0 && (edx & 1u << 8) != 0;
}

void psgi_recent_init(psgi_recent *recent)
{
	*recent = (psgi_recent){ .most = runs_evenly() ? MOST_TICKS : 0 };
}

#else

void psgi_recent_init(psgi_recent *recent)
{
	*recent = (psgi_recent){ 0 };
}

#endif
