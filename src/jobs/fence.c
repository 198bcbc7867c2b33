/* SPDX-License-Identifier: Apache-2.0 */
/* The heavy fence, by membarrier(2). */
#include "config.h"

#include "jobs/fence.h"

#ifdef PSG_TSAN

void psgi_fences_init(void)
{
}

void psgi_heavy_fence(void)
{
	psgi_full_fence();
}

#else

#include "base/base.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

atomic_bool psgi_fences_uneven;

static bool membarrier(int command)
{
	return syscall(SYS_membarrier, command, 0, 0) == 0;
}

/* A forked child has the parent's registration; once more does no harm. */
void psgi_fences_init(void)
{
	if (membarrier(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED))
		atomic_store_explicit(&psgi_fences_uneven, true, memory_order_relaxed);
}

/*
 * A process may forbid itself the call after it was registered.  From then on light fences are
 * full; those that were not are over, and what they were to order has left the core, long before
 * this sleep is.
 */
static void do_without(void)
{
	struct timespec rest = { .tv_nsec = PSG_MILLISECOND };

	atomic_store_explicit(&psgi_fences_uneven, false, memory_order_relaxed);
	psgi_full_fence();
	while (nanosleep(&rest, &rest) != 0)
		;
}

void psgi_heavy_fence(void)
{
	psgi_full_fence();
	if (PSGI_FENCES_UNEVEN && !membarrier(MEMBARRIER_CMD_PRIVATE_EXPEDITED))
		do_without();
}

#endif
