/* SPDX-License-Identifier: Apache-2.0 */
/* Which process is this?  A number that changes in a forked child, without a system call. */
#ifndef PSG_BASE_FORK_H
#define PSG_BASE_FORK_H

#include <pagesift/error.h>

#include <stdatomic.h>

extern _Atomic uint32_t psgi_fork_count;

/* Compare with the value kept at creation: threads of the parent do not exist in a child. */
static inline uint32_t psgi_fork_generation(void)
{
	return atomic_load_explicit(&psgi_fork_count, memory_order_relaxed);
}

/* Must have succeeded once before a generation is kept. */
psg_status psgi_fork_watch(psg_error *error);

#endif
