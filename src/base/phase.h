/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a thread is in that may take long or never end, such as a call of a driver, for others to
 * tell.  Costs a few stores where somebody watches, and a look where nobody does.
 */
#ifndef PSG_BASE_PHASE_H
#define PSG_BASE_PHASE_H

#include <stdatomic.h>
#include <stdint.h>

typedef struct psgi_phase {
	const char *_Atomic what; /* a literal; NULL: nothing of the kind */
	_Atomic uint32_t begun;   /* so far: who sees no other has seen no other phase */
} psgi_phase;

/* From now on the calling thread's phases are stored there; NULL: nowhere. */
void psgi_phase_watch(psgi_phase *where);

/* Begins a phase; gives the one around it, which is what psgi_phase_end takes. */
const char *psgi_phase_begin(const char *what);
void psgi_phase_end(const char *outer);

#endif
