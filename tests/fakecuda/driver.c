/* SPDX-License-Identifier: Apache-2.0 */
/* The fake driver's cards and contexts. */
#include "config.h"

#include "fake.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_DEPTH 16

fake_config fake_configured;
fake_device fake_devices[FAKE_MAX_DEVICES];
bool fake_started;

/* Contexts that the calling thread pushed, the current one last. */
static _Thread_local fake_device *stack[MAX_DEPTH];
static _Thread_local size_t depth;

static long number(const char *name, long otherwise)
{
	const char *text = getenv(name);

	return text != NULL ? strtol(text, NULL, 10) : otherwise;
}

/* The ordinals in CUDA_VISIBLE_DEVICES up to the first that is none. */
static int visible(int machine, int *ordinals)
{
	const char *text = getenv("CUDA_VISIBLE_DEVICES");
	int n = 0;
	char *end;

	for (int i = 0; text == NULL && i < machine; i++)
		ordinals[n++] = i;
	while (text != NULL && n < machine) {
		long ordinal = strtol(text, &end, 10);

		if (end == text || ordinal < 0 || ordinal >= machine)
			break;
		ordinals[n++] = (int)ordinal;
		text = *end == ',' ? end + 1 : NULL;
	}
	return n;
}

void fake_configure(void)
{
	fake_config *config = &fake_configured;
	const char *capability = getenv("FAKECUDA_CAPABILITY"), *arithmetic;
	long machine = number("FAKECUDA_DEVICES", 1);
	char *end;

	config->devices = visible(machine > FAKE_MAX_DEVICES ? FAKE_MAX_DEVICES : (int)machine,
				  config->visible);
	config->memory = (size_t)number("FAKECUDA_MEMORY", 1024) << 20;
	config->major = (int)strtol(capability != NULL ? capability : "7.5", &end, 10);
	config->minor = *end == '.' ? (int)strtol(end + 1, NULL, 10) : 0;
	config->cuda = (int)number("FAKECUDA_CUDA", 12040);
	config->refuse = getenv("FAKECUDA_REFUSE");
	config->jit = getenv("FAKECUDA_JIT");
	config->skip = getenv("FAKECUDA_SKIP");
	config->report = getenv("FAKECUDA_BAD");
	config->compile_ms = number("FAKECUDA_COMPILE_MS", 0);
	config->launch_us = number("FAKECUDA_LAUNCH_US", 0);
	arithmetic = getenv("FAKECUDA_ARITHMETIC");
	config->arithmetic = arithmetic == NULL || strcmp(arithmetic, "off") != 0;
	config->eager = getenv("FAKECUDA_EAGER") != NULL;
	for (int i = 0; i < config->devices; i++)
		fake_devices[i].ordinal = config->visible[i];
}

CUresult cuInit(unsigned int flags)
{
	(void)flags;
	ENTER(cuInit);
	fake_started = true;
	return fake_leave(fake_configured.devices > 0 ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE);
}

CUresult cuDriverGetVersion(int *version)
{
	ENTER(cuDriverGetVersion);
	*version = fake_configured.cuda;
	return fake_leave(CUDA_SUCCESS);
}

static const struct {
	CUresult code;
	const char *name, *text;
} errors[] = {
#define ERROR(code, text)                                                                          \
	{                                                                                          \
		code, #code, text                                                                  \
	}
	ERROR(CUDA_SUCCESS, "no error"),
	ERROR(CUDA_ERROR_INVALID_VALUE, "invalid argument"),
	ERROR(CUDA_ERROR_OUT_OF_MEMORY, "out of memory"),
	ERROR(CUDA_ERROR_NOT_INITIALIZED, "initialization error"),
	ERROR(CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected"),
	ERROR(CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal"),
	ERROR(CUDA_ERROR_INVALID_CONTEXT, "invalid device context"),
	ERROR(CUDA_ERROR_NO_BINARY_FOR_GPU, "no kernel image is available for the device"),
	ERROR(CUDA_ERROR_INVALID_PTX, "a PTX JIT compilation failed"),
	ERROR(CUDA_ERROR_UNSUPPORTED_PTX_VERSION, "the provided PTX was compiled with an "
						  "unsupported toolchain"),
	ERROR(CUDA_ERROR_INVALID_HANDLE, "invalid resource handle"),
	ERROR(CUDA_ERROR_NOT_FOUND, "named symbol not found"),
	ERROR(CUDA_ERROR_NOT_READY, "device not ready"),
	ERROR(CUDA_ERROR_ILLEGAL_ADDRESS, "an illegal memory access was encountered"),
	ERROR(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "too many resources requested for launch"),
	ERROR(CUDA_ERROR_LAUNCH_FAILED, "unspecified launch failure"),
	ERROR(CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, "system has unsupported display driver / cuda "
						 "driver combination"),
	ERROR(CUDA_ERROR_UNKNOWN, "unknown error"),
#undef ERROR
};

/* Both as the real ones: they need no cuInit and do not fail for a known code. */
CUresult cuGetErrorName(CUresult code, const char **text)
{
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		if (errors[i].code == code) {
			*text = errors[i].name;
			return CUDA_SUCCESS;
		}
	}
	*text = NULL;
	return CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult code, const char **text)
{
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		if (errors[i].code == code) {
			*text = errors[i].text;
			return CUDA_SUCCESS;
		}
	}
	*text = NULL;
	return CUDA_ERROR_INVALID_VALUE;
}

static bool is_device(CUdevice device)
{
	return fake_started && device >= 0 && device < fake_configured.devices;
}

CUresult cuDeviceGetCount(int *count)
{
	ENTER(cuDeviceGetCount);
	*count = fake_configured.devices;
	return fake_leave(fake_started ? CUDA_SUCCESS : CUDA_ERROR_NOT_INITIALIZED);
}

CUresult cuDeviceGet(CUdevice *device, int index)
{
	ENTER(cuDeviceGet);
	*device = index;
	return fake_leave(is_device(index) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE);
}

CUresult cuDeviceGetName(char *name, int size, CUdevice device)
{
	ENTER(cuDeviceGetName);
	if (!is_device(device))
		return fake_leave(CUDA_ERROR_INVALID_DEVICE);
	(void)snprintf(name, (size_t)size, "Fake GPU %d", fake_devices[device].ordinal);
	return fake_leave(CUDA_SUCCESS);
}

static CUresult get_uuid(CUuuid *uuid, CUdevice device)
{
	if (!is_device(device))
		return CUDA_ERROR_INVALID_DEVICE;
	memset(uuid->bytes, 0xfa, sizeof(uuid->bytes));
	uuid->bytes[15] = (unsigned char)fake_devices[device].ordinal;
	return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid(CUuuid *uuid, CUdevice device)
{
	ENTER(cuDeviceGetUuid);
	return fake_leave(get_uuid(uuid, device));
}

CUresult cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device)
{
	ENTER(cuDeviceGetUuid_v2);
	return fake_leave(get_uuid(uuid, device));
}

CUresult cuDeviceGetPCIBusId(char *id, int size, CUdevice device)
{
	ENTER(cuDeviceGetPCIBusId);
	if (!is_device(device))
		return fake_leave(CUDA_ERROR_INVALID_DEVICE);
	(void)snprintf(id, (size_t)size, "0000:%02X:00.0", 0x3b + fake_devices[device].ordinal);
	return fake_leave(CUDA_SUCCESS);
}

CUresult cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
	ENTER(cuDeviceTotalMem_v2);
	if (!is_device(device))
		return fake_leave(CUDA_ERROR_INVALID_DEVICE);
	*bytes = fake_configured.memory;
	return fake_leave(CUDA_SUCCESS);
}

CUresult cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
	ENTER(cuDeviceGetAttribute);
	if (!is_device(device))
		return fake_leave(CUDA_ERROR_INVALID_DEVICE);
	switch (attribute) {
	case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK:
		*value = FAKE_SHARED;
		break;
	case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN:
		*value = FAKE_SHARED_OPTIN;
		break;
	case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
		*value = 4;
		break;
	case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
		*value = fake_configured.major;
		break;
	case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
		*value = fake_configured.minor;
		break;
	default:
		*value = 0;
	}
	return fake_leave(CUDA_SUCCESS);
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *context, CUdevice device)
{
	ENTER(cuDevicePrimaryCtxRetain);
	if (!is_device(device))
		return fake_leave(CUDA_ERROR_INVALID_DEVICE);
	*context = &fake_devices[device];
	if (fake_devices[device].sticky != CUDA_SUCCESS)
		return fake_leave(fake_devices[device].sticky);
	fake_devices[device].retained++;
	fake_counts.contexts++;
	return fake_leave(CUDA_SUCCESS);
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device)
{
	CUresult fault = fake_enter_last("cuDevicePrimaryCtxRelease_v2");

	if (!is_device(device) || fake_devices[device].retained == 0)
		return fake_leave(CUDA_ERROR_INVALID_CONTEXT);
	fake_devices[device].retained--;
	fake_counts.contexts--;
	return fake_leave(fault);
}

CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned int *flags, int *active)
{
	ENTER(cuDevicePrimaryCtxGetState);
	if (!is_device(device))
		return fake_leave(CUDA_ERROR_INVALID_DEVICE);
	*flags = 0;
	*active = fake_devices[device].retained > 0;
	return fake_leave(CUDA_SUCCESS);
}

fake_device *fake_current(void)
{
	return depth > 0 ? stack[depth - 1] : NULL;
}

CUresult cuCtxGetCurrent(CUcontext *context)
{
	ENTER(cuCtxGetCurrent);
	*context = fake_current();
	return fake_leave(CUDA_SUCCESS);
}

CUresult cuCtxPushCurrent_v2(CUcontext context)
{
	ENTER(cuCtxPushCurrent_v2);
	if (context == NULL || context->retained == 0 || depth == MAX_DEPTH)
		return fake_leave(CUDA_ERROR_INVALID_CONTEXT);
	stack[depth++] = context;
	return fake_leave(CUDA_SUCCESS);
}

CUresult cuCtxPopCurrent_v2(CUcontext *context)
{
	CUresult fault = fake_enter_last("cuCtxPopCurrent_v2");

	if (depth == 0)
		return fake_leave(CUDA_ERROR_INVALID_CONTEXT);
	*context = stack[--depth];
	return fake_leave(fault);
}

CUresult cuMemGetInfo_v2(size_t *available, size_t *total)
{
	const fake_device *device;

	ENTER(cuMemGetInfo_v2);
	device = fake_current();
	if (device == NULL)
		return fake_leave(CUDA_ERROR_INVALID_CONTEXT);
	*total = fake_configured.memory;
	*available = fake_configured.memory - device->used;
	return fake_leave(CUDA_SUCCESS);
}
