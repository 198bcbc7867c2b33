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

/* The first GPU that opens; the reason why the first one does not, where none does. */
static psg_status open_any_gpu(psg_device **out, psg_error *error)
{
	int32_t count = 0;
	psg_status status = psgi_gpu_open(0, out, error);

	if (status == PSG_OK || status == PSG_DISABLED || psg_device_count(&count, NULL) != PSG_OK)
		return status;
	for (int32_t i = 1; i < count; i++)
		if (psgi_gpu_open(i, out, NULL) == PSG_OK)
			return PSG_OK;
	return status;
}

static psg_status open_auto(int32_t cores, psg_device **out, psg_error *error)
{
	psg_error reason = PSG_ERROR_INIT;
	psg_status status;

	if (open_any_gpu(out, &reason) == PSG_OK)
		return PSG_OK;
	status = psgi_cpu_open(cores, false, out, error);
	if (status != PSG_OK)
		return status;
	(void)snprintf((*out)->info.fallback, sizeof((*out)->info.fallback), "%.255s",
		       reason.message);
	(*out)->info.fallback_code = reason.code;
	return PSG_OK;
}

psg_status psg_device_open(const char *name, psg_device **out, psg_error *error)
{
	int32_t number = 0;

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
		return open_auto(number, out, error);
	}
	if (strcmp(name, "cuda") == 0 ||
	    (strncmp(name, "cuda:", 5) == 0 && parse_number(name + 5, &number)))
		return psgi_gpu_open(number, out, error);
	return bad_name(name, error);
}

void psg_device_close(psg_device *device)
{
	if (device == NULL)
		return;
	if (device->plans != NULL)
		device->free_plans(device->plans);
	if (device->weights != NULL)
		device->free_weights(device);
	free(device->rates);
	device->ops->close(device);
}

const psg_device_info *psg_device_info_get(const psg_device *device)
{
	return &device->info;
}

bool psgi_device_failed(psg_status status)
{
	switch (status) {
	case PSG_OOM:
	case PSG_NO_DEVICE:
	case PSG_TOO_OLD:
	case PSG_DRIVER:
	case PSG_JIT:
	case PSG_LAUNCH:
	case PSG_DEVICE_LOST:
	case PSG_STALLED:
		return true;
	default:
		return false;
	}
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

void psgi_device_trim(psg_device *device)
{
	device->ops->trim(device);
}

void psgi_device_memory_get(const psg_device *device, psgi_device_memory *out)
{
	*out = (psgi_device_memory){ 0, 0, 0, 0 };
	if (device->ops->memory != NULL)
		device->ops->memory(device, out);
}

psg_status psgi_device_enter(psg_device *device, psg_error *error)
{
	return device->ops->enter == NULL ? PSG_OK : device->ops->enter(device, error);
}

void psgi_device_leave(psg_device *device)
{
	if (device->ops->leave != NULL)
		device->ops->leave(device);
}
