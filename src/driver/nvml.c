/* SPDX-License-Identifier: Apache-2.0 */
/* Opening NVML, see nvml.h. */
#include "config.h"

#include "driver/nvml.h"

#include "base/base.h"
#include "base/fork.h"
#include "driver/library.h"

#include <pthread.h>
#include <stdio.h>

/* One answer for the process; constant once `once` has run. */
static struct {
	pthread_once_t once;
	psgi_nvml nvml;
	psg_status status;
	psg_error error;
	uint32_t process;
} state = { .once = PTHREAD_ONCE_INIT };

static const struct {
	nvmlReturn_t result;
	const char *advice;
} advices[] = {
	{ NVML_ERROR_NO_PERMISSION, "; this user may not open /dev/nvidiactl" },
	{ NVML_ERROR_DRIVER_NOT_LOADED,
	  "; the kernel's nvidia module is not loaded: load it (modprobe nvidia), or start the "
	  "container with the NVIDIA runtime" },
	{ NVML_ERROR_LIB_RM_VERSION_MISMATCH,
	  "; the driver was updated under the running kernel: restart, or reload the nvidia "
	  "modules" },
};

static psg_status fail(const psgi_nvml *nvml, nvmlReturn_t result, const char *call,
		       psg_error *error)
{
	const char *text = nvml->error_string != NULL ? nvml->error_string(result) : NULL;
	const char *advice = "";

	for (size_t i = 0; i < sizeof(advices) / sizeof(advices[0]); i++)
		if (advices[i].result == result)
			advice = advices[i].advice;
	return psgi_fail(error, PSG_DRIVER, "%s: code %d (%s)%s", call, (int)result,
			 text != NULL ? text : "no text", advice);
}

static psg_status initialise(psgi_nvml *nvml, psg_error *error)
{
	nvmlReturn_t result = nvml->init();

	if (result != NVML_SUCCESS)
		return fail(nvml, result, "nvmlInit_v2", error);
	result = nvml->driver_version(nvml->version, sizeof(nvml->version));
	if (result != NVML_SUCCESS)
		return fail(nvml, result, "nvmlSystemGetDriverVersion", error);
	return PSG_OK;
}

static psg_status find_symbols(void *library, psgi_nvml *nvml, psg_error *error)
{
	const psgi_symbol symbols[] = {
#define SYMBOL(name, symbol, since, needed, args) { #symbol, &nvml->name, since, needed },
		PSGI_NVML_MAP(SYMBOL)
#undef SYMBOL
			{ "nvmlErrorString", &nvml->error_string, 6000, false },
	};
	const psgi_symbol *missing =
		psgi_library_bind(library, symbols, sizeof(symbols) / sizeof(symbols[0]));

	if (missing == NULL)
		return PSG_OK;
	return psgi_fail(error, PSG_TOO_OLD, "%s has no %s: the NVIDIA driver is too old",
			 nvml->path, missing->name);
}

static void open_once(void)
{
	void *library = NULL;

	state.status = psgi_fork_watch(&state.error);
	state.process = psgi_fork_generation();
	if (state.status == PSG_OK)
		state.status =
			psgi_library_open("PAGESIFT_LIBNVML", "libnvidia-ml.so.1", &library,
					  state.nvml.path, sizeof(state.nvml.path), &state.error);
	if (state.status == PSG_OK)
		state.status = find_symbols(library, &state.nvml, &state.error);
	if (state.status == PSG_OK)
		state.status = initialise(&state.nvml, &state.error);
}

psg_status psgi_nvml_get(const psgi_nvml **out, psg_error *error)
{
	*out = NULL;
	(void)pthread_once(&state.once, open_once);
	if (state.status != PSG_OK) {
		if (error != NULL)
			*error = state.error;
		return state.status;
	}
	if (state.process != psgi_fork_generation())
		return psgi_fail(error, PSG_FORKED, "NVML was opened before this process forked");
	*out = &state.nvml;
	return PSG_OK;
}

bool psgi_nvml_free_memory(const char *uuid, size_t *bytes)
{
	const psgi_nvml *nvml;
	nvmlDevice_t device;
	nvmlMemory_t memory;

	if (psgi_nvml_get(&nvml, NULL) != PSG_OK || nvml->device_by_uuid == NULL ||
	    nvml->device_memory == NULL || nvml->device_by_uuid(uuid, &device) != NVML_SUCCESS ||
	    nvml->device_memory(device, &memory) != NVML_SUCCESS)
		return false;
	*bytes = (size_t)memory.free;
	return true;
}
