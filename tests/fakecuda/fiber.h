/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fibers: stacks that one thread goes back and forth between.
 *
 * A fiber runs `body` again and again; each call of fiber_resume runs it up to
 * its next fiber_pause or its end.  Told to the sanitizers: what a fiber does
 * happens before what another does only where fiber_release and fiber_acquire
 * say so.
 */
#ifndef FAKECUDA_FIBER_H
#define FAKECUDA_FIBER_H

#include <stdbool.h>
#include <stddef.h>

typedef struct fiber fiber;

/* NULL: no memory. */
fiber *fiber_create(void (*body)(void *user), void *user);
void fiber_destroy(fiber *f); /* not one that is paused within its body; NULL is allowed */

/* True when the body has ended, and the next call starts it anew. */
bool fiber_resume(fiber *f);
/* Within the body: back to where fiber_resume was called. */
void fiber_pause(fiber *f);

/* Everything before a release of `at` happens before what follows an acquire of it. */
void fiber_release(void *at);
void fiber_acquire(void *at);

#endif
