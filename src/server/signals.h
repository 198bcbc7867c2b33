/* SPDX-License-Identifier: Apache-2.0 */
/* Signals, as the main thread hears of them. */
#ifndef PSG_SERVER_SIGNALS_H
#define PSG_SERVER_SIGNALS_H

#include <pagesift/error.h>

/* From now on SIGTERM, SIGINT and SIGHUP write to the eventfd `wake`; a second one of the first two
 * ends the process at once.  SIGPIPE is ignored. */
void srv_signals_start(int wake);

/* Has SIGTERM or SIGINT come? */
bool srv_signals_end(void);

/* Has SIGHUP come since this was last asked? */
bool srv_signals_reload(void);

#endif
