/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs by deadline: a pairing heap whose links are the jobs' own, so that putting
 * one in cannot fail.  Of equal deadlines the one that was queued first comes
 * first.  Only the worker's thread comes here.
 */
#ifndef PSG_JOBS_HEAP_H
#define PSG_JOBS_HEAP_H

#include "jobs/lane.h"

/* `*heap` is the first job; NULL: there is none. */
void psgi_heap_push(psgi_job **heap, psgi_job *job);

/* Takes the first; there is one. */
psgi_job *psgi_heap_pop(psgi_job **heap);

#endif
