/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the main thread waits for: pages that ended, and signals that end the
 * program.  Both write a byte into a pipe, since a wait for a future is not
 * ended by signals.
 */
#ifndef PSG_CLI_EVENTS_H
#define PSG_CLI_EVENTS_H

#include "cli/cli.h"

#include <stdatomic.h>

/*
 * From now on SIGINT, SIGTERM and SIGHUP are only noted, the first of each; a second one ends the
 * program at once.  Those that were ignored stay so.
 */
psg_status cli_events_open(psg_error *error);

/* For psg_job_options.done; `ended` is an atomic_bool that becomes true and is not touched after.
 */
void cli_events_wake(psg_future *future, void *ended);

/* Waits until it is true; false: a signal came first.  The future is done soon after. */
bool cli_events_wait(const atomic_bool *ended);

/* Waits until there is something to read; false: a signal came first.  True before
 * cli_events_open, when a signal still ends the program. */
bool cli_events_readable(int fd);

/* The signal that came; 0: none. */
int cli_events_signal(void);

/* No future that wakes may be left.  Ends the program by the signal, if one came. */
void cli_events_close(void);

#endif
