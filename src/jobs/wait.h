/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sleeping until one of several futures ends.
 *
 * A waiter sleeps at one of 24 places and marks each future of its set with
 * that place, in the future's word.  Who completes a future takes the marks in
 * the swap that stores DONE and wakes at those places.  So waiting needs no
 * memory and no lock, a waiter that leaves has nothing to undo, and completing
 * costs nothing where nobody waits for several.  The price: waiters who share
 * a place may be woken for each other's futures, and look again.  Marks that
 * are left behind make a completion look at a place where nobody sleeps.
 */
#ifndef PSG_JOBS_WAIT_H
#define PSG_JOBS_WAIT_H

#include "jobs/future.h"

/* `word` is that of `future` before it became DONE; only the address is used. */
void psgi_places_wake(uint64_t word, const psg_future *future);

#endif
