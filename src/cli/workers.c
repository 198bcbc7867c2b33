/* SPDX-License-Identifier: Apache-2.0 */
/* Workers on the device that --device names. */
#include "config.h"

#include "cli/workers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The number in "cpu:4" or "auto:4"; 0 when there is none. */
static int32_t cores_in_name(const char *device)
{
	const char *colon = strchr(device, ':');
	long cores = colon != NULL ? strtol(colon + 1, NULL, 10) : 0;

	return cores > 0 && cores <= 9999 ? (int32_t)cores : 0;
}

static bool shares_cores(const char *device)
{
	return strncmp(device, "cpu", 3) == 0 || strncmp(device, "auto", 4) == 0;
}

int32_t cli_device_cores(const char *device)
{
	int32_t cores = shares_cores(device) ? cores_in_name(device) : 0;

	return cores > 0 ? cores : psg_cpu_cores();
}

/* The name of the i-th of n workers: its share of the cores, at least one. */
static void name_of_share(const char *device, size_t i, size_t n, char *name, size_t size)
{
	size_t cores = (size_t)cli_device_cores(device), share = cores / n;

	if (i < cores % n)
		share++;
	if (n == 1 || !shares_cores(device))
		(void)snprintf(name, size, "%s", device);
	else
		(void)snprintf(name, size, "%.*s:%zu", (int)strcspn(device, ":"), device,
			       share > 0 ? share : 1);
}

psg_status cli_workers_open(const char *device, size_t wanted, cli_workers *out, psg_error *error)
{
	psg_status status = PSG_OK;

	out->n = 0;
	if (wanted > CLI_MAX_WORKERS)
		wanted = CLI_MAX_WORKERS;
	for (size_t i = 0; i < wanted; i++) {
		char name[64];

		name_of_share(device, i, wanted, name, sizeof(name));
		status = psg_worker_open(name, NULL, &out->at[i], error);
		if (status != PSG_OK)
			break;
		out->n++;
		if (psg_worker_device(out->at[i])->kind != PSG_DEVICE_CPU)
			break;
	}
	if (status != PSG_OK)
		cli_workers_close(out);
	return status;
}

void cli_workers_close(cli_workers *workers)
{
	while (workers->n > 0)
		psg_worker_close(workers->at[--workers->n]);
}
