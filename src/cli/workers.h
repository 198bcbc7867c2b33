/* SPDX-License-Identifier: Apache-2.0 */
/* Workers on the device that --device names. */
#ifndef PSG_CLI_WORKERS_H
#define PSG_CLI_WORKERS_H

#include "cli/cli.h"

#define CLI_MAX_WORKERS 256 /* chosen: more cores than one machine's pages keep busy */

typedef struct cli_workers {
	psg_worker *at[CLI_MAX_WORKERS];
	size_t n;
} cli_workers;

/* CPU cores that a device's name speaks of. */
int32_t cli_device_cores(const char *device);

/*
 * Opens `wanted` workers that share the device's cores evenly; a GPU gets one worker, which takes
 * the pages of all.  On failure nothing is left open.  Errors as psg_worker_open.
 */
psg_status cli_workers_open(const char *device, size_t wanted, cli_workers *out, psg_error *error);

void cli_workers_close(cli_workers *workers);

#endif
