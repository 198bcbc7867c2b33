/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether to look on for a while before sleeping.
 *
 * Being woken takes as long as many short jobs.  But what is waited for may take
 * long, or be a thread that needs this very core.  So looking on is tried, and
 * left out twice as often each time that it was in vain.
 *
 * Nobody yields the core meanwhile: some kernels make a thread that does so wait
 * for as long as others may run at a time, milliseconds.
 */
#ifndef PSG_JOBS_PATIENCE_H
#define PSG_JOBS_PATIENCE_H

#include <stdbool.h>
#include <stdint.h>

/* How long.  Chosen: about what sleeping and being woken takes on virtual cores, so that even a
 * worker which must be woken may answer in time, once; the next job then finds it awake. */
#define PSGI_PATIENCE_NS 25000

/* In vain at most once in so many times: chosen, less than a microsecond each. */
#define PSGI_MOST_SKIPPED 63

/* One thread's; all zeros at first. */
typedef struct psgi_patience {
	uint32_t skip;    /* so many more times */
	uint32_t skipped; /* the last time */
} psgi_patience;

static inline bool psgi_patience_lasts(psgi_patience *patience)
{
	if (patience->skip == 0)
		return true;
	patience->skip--;
	return false;
}

/* It was looked on. */
static inline void psgi_patience_note(psgi_patience *patience, bool in_vain)
{
	uint32_t more = 2 * patience->skipped + 1;

	if (!in_vain)
		more = 0;
	else if (more > PSGI_MOST_SKIPPED)
		more = PSGI_MOST_SKIPPED;
	patience->skip = patience->skipped = more;
}

#endif
