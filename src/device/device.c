/* SPDX-License-Identifier: Apache-2.0 */
/* From a device's name to the device. */
#include "config.h"

#include "device/device.h"

#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Parses the number after "cpu:" or "cuda:"; false if it is not one in 0..9999. */
static bool parse_number(const char *text, int32_t *number)
{
	char *end;
	long value;

	if (*text < '0' || *text > '9')
		return false;
	value = strtol(text, &end, 10);
	if (*end != '\0' || value > 9999)
		return false;
	*number = (int32_t)value;
	return true;
}

static psg_status bad_name(const char *name, psg_error *error)
{
	return psgi_fail(
		error, PSG_INVALID,
		"'%.40s' is not a device: use auto, auto:CORES, cpu, cpu:CORES, reference, cuda or "
		"cuda:N",
		name);
}

/* The CUDA device is a build of its own; this one says so instead of guessing about the machine. */
static const char no_cuda[] = "this build has no CUDA device";

psg_status psg_device_open(const char *name, psg_device **out, psg_error *error)
{
	int32_t number = 0;
	psg_status status;

	*out = NULL;
	if (strcmp(name, "cpu") == 0)
		return psgi_cpu_open(psg_cpu_cores(), false, out, error);
	if (strcmp(name, "reference") == 0)
		return psgi_cpu_open(1, true, out, error);
	if (strncmp(name, "cpu:", 4) == 0) {
		if (!parse_number(name + 4, &number) || number < 1)
			return bad_name(name, error);
		return psgi_cpu_open(number, false, out, error);
	}
	if (strcmp(name, "auto") == 0 || strncmp(name, "auto:", 5) == 0) {
		number = psg_cpu_cores();
		if (name[4] == ':' && (!parse_number(name + 5, &number) || number < 1))
			return bad_name(name, error);
		status = psgi_cpu_open(number, false, out, error);
		if (status == PSG_OK)
			(void)snprintf((*out)->info.fallback, sizeof((*out)->info.fallback), "%s",
				       no_cuda);
		return status;
	}
	if (strcmp(name, "cuda") == 0 ||
	    (strncmp(name, "cuda:", 5) == 0 && parse_number(name + 5, &number)))
		return psgi_fail(error, PSG_NO_DEVICE, "%s: %s", name, no_cuda);
	return bad_name(name, error);
}

void psg_device_close(psg_device *device)
{
	if (device == NULL)
		return;
	if (device->plans != NULL)
		device->free_plans(device->plans);
	device->ops->close(device);
}

const psg_device_info *psg_device_info_get(const psg_device *device)
{
	return &device->info;
}

void *psgi_device_alloc(psg_device *device, size_t bytes)
{
	return device->ops->alloc(device, bytes);
}

void psgi_device_free(psg_device *device, void *memory)
{
	if (memory != NULL)
		device->ops->free(device, memory);
}
