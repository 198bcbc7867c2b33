/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fences between two threads that each store, fence and load the other's word,
 * so that they cannot both miss.
 *
 * Data is handed over by C11 atomics everywhere in this room, which
 * ThreadSanitizer follows; a fence, which it does not know, only ever decides
 * who looks once more.
 */
#ifndef PSG_JOBS_FENCE_H
#define PSG_JOBS_FENCE_H

#include <stdatomic.h>
#include <stdbool.h>

#ifdef PSG_TSAN
#include <ck_pr.h>
#endif

/* What this thread stored before it is visible before it loads anything after it.  (gcc refuses C11
 * fences under TSan.) */
static inline void psgi_full_fence(void)
{
#ifdef PSG_TSAN
	ck_pr_fence_memory();
#else
	atomic_thread_fence(memory_order_seq_cst);
#endif
}

/*
 * An uneven pair: a thread that fences often does it lightly, which costs
 * nothing, and the one that does it seldom makes the kernel fence all threads of
 * the process where they are (membarrier(2)).  Measured on two virtual cores:
 * the heavy one takes 0.5 us, and 10 when another core has to be interrupted; a
 * full one for each job 20 ns, because it waits until the lines that it wrote
 * have come from the other core.
 */
#ifdef PSG_TSAN
#define PSGI_FENCES_UNEVEN false
#else
extern atomic_bool psgi_fences_uneven;
#define PSGI_FENCES_UNEVEN atomic_load_explicit(&psgi_fences_uneven, memory_order_relaxed)
#endif

/* Once before the others; where the kernel cannot do it, both are full fences. */
void psgi_fences_init(void);

static inline void psgi_light_fence(void)
{
	if (PSGI_FENCES_UNEVEN)
		atomic_signal_fence(memory_order_seq_cst); /* for the compiler */
	else
		psgi_full_fence();
}

void psgi_heavy_fence(void);

#endif
