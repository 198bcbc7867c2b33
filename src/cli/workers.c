/* SPDX-License-Identifier: Apache-2.0 */
/* Workers on the device that --device names. */
#include "config.h"

#include "cli/workers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_CORES 9999 /* in a device's name, as psg_device_open takes it */

/*
 * Cores that the workers share, where the name is of a device that they can share: "cpu", "cpu:4",
 * "auto", "auto:4".  0: it is another one, or none at all, which opening it will tell.
 */
static int32_t shared_cores(const char *device)
{
	const char *number = strncmp(device, "cpu", 3) == 0    ? device + 3
			     : strncmp(device, "auto", 4) == 0 ? device + 4
							       : "?";
	char *end;
	long cores;

	if (*number == '\0')
		return psg_cpu_cores();
	if (number[0] != ':' || number[1] < '0' || number[1] > '9')
		return 0;
	cores = strtol(number + 1, &end, 10);
	if (*end != '\0' || cores > MAX_CORES)
		return 0;
	return cores < psg_cpu_cores() ? (int32_t)cores : psg_cpu_cores();
}

int32_t cli_device_cores(const char *device)
{
	int32_t cores = shared_cores(device);

	return cores > 0 ? cores : psg_cpu_cores();
}

/* The name of the i-th of n workers: its share of the cores, at least one. */
static void name_of_share(const char *device, size_t i, size_t n, char *name, size_t size)
{
	size_t cores = (size_t)shared_cores(device), share = cores / n;

	if (i < cores % n)
		share++;
	if (n == 1 || cores == 0)
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
