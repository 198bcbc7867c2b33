/* SPDX-License-Identifier: Apache-2.0 */
/* The fake driver's NVML: a library of its own, as the real one is.  See fakecuda.h for its
 * environment. */
#include "config.h"

#include "driver/nvml.h"

#include <stdio.h>
#include <stdlib.h>

#pragma GCC visibility push(default)
#define FAKE_DECLARE(name, symbol, since, needed, args) nvmlReturn_t symbol args;
PSGI_NVML_MAP(FAKE_DECLARE)
#undef FAKE_DECLARE
const char *nvmlErrorString(nvmlReturn_t code);
#pragma GCC visibility pop

static long number(const char *name, long otherwise)
{
	const char *text = getenv(name);

	return text != NULL ? strtol(text, NULL, 10) : otherwise;
}

nvmlReturn_t nvmlInit_v2(void)
{
	return (nvmlReturn_t)number("FAKECUDA_NVML", NVML_SUCCESS);
}

nvmlReturn_t nvmlSystemGetDriverVersion(char *text, unsigned int size)
{
	const char *version = getenv("FAKECUDA_DRIVER");

	(void)snprintf(text, size, "%s", version != NULL ? version : "550.54.14");
	return NVML_SUCCESS;
}

/* All cards: NVML does not look at CUDA_VISIBLE_DEVICES. */
nvmlReturn_t nvmlDeviceGetCount_v2(unsigned int *count)
{
	*count = (unsigned int)number("FAKECUDA_DEVICES", 1);
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetHandleByUUID(const char *uuid, nvmlDevice_t *device)
{
	(void)uuid;
	*device = NULL;
	return NVML_SUCCESS;
}

nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t device, nvmlMemory_t *memory)
{
	unsigned long long total = (unsigned long long)number("FAKECUDA_MEMORY", 1024) << 20;
	unsigned long long free = (unsigned long long)number("FAKECUDA_FREE", 1024) << 20;

	(void)device;
	*memory = (nvmlMemory_t){ total, free < total ? free : total, 0 };
	memory->used = total - memory->free;
	return NVML_SUCCESS;
}

const char *nvmlErrorString(nvmlReturn_t code)
{
	switch (code) {
	case NVML_SUCCESS:
		return "Success";
	case NVML_ERROR_NO_PERMISSION:
		return "Insufficient Permissions";
	case NVML_ERROR_DRIVER_NOT_LOADED:
		return "Driver Not Loaded";
	case NVML_ERROR_LIB_RM_VERSION_MISMATCH:
		return "Driver/library version mismatch";
	default:
		return "Unknown Error";
	}
}
