/* SPDX-License-Identifier: Apache-2.0 */
/* What GPUs there are and why one cannot be used, without using it. */
#include "config.h"

#include "device/cuda_internal.h"

#include "base/base.h"
#include "driver/nvml.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

psg_status psgi_gpu_driver(const psgi_cuda **cuda, psg_error *error)
{
	const char *wish = getenv("PAGESIFT_GPU");

	*cuda = NULL;
	if (wish != NULL && strcasecmp(wish, "off") == 0)
		return psgi_fail(error, PSG_DISABLED, "GPU disabled by PAGESIFT_GPU=off");
	return psgi_cuda_get(cuda, error);
}

static psg_status count_devices(const psgi_cuda *cuda, int32_t *out, psg_error *error)
{
	int count = 0;
	CUresult result = cuda->device_count(&count);

	if (result != CUDA_SUCCESS)
		return psgi_cuda_fail(cuda, result, "cuDeviceGetCount", error);
	*out = count;
	return PSG_OK;
}

psg_status psg_device_count(int32_t *out, psg_error *error)
{
	const psgi_cuda *cuda;
	psg_error reason = PSG_ERROR_INIT;
	psg_status status = psgi_cuda_get(&cuda, &reason);

	*out = 0;
	if (status == PSG_NO_DEVICE)
		return PSG_OK;
	if (status == PSG_OK)
		return count_devices(cuda, out, error);
	if (error != NULL)
		*error = reason;
	return status;
}

/* --- of one card --- */

/* A part of a card has an identity of its own, which only the newer call knows. */
static void describe_uuid(const psgi_cuda *cuda, CUdevice device, psg_gpu_info *info)
{
	CUuuid card, part;
	const unsigned char *b = card.bytes;
	bool is_part;

	if (cuda->device_uuid == NULL || cuda->device_uuid(&card, device) != CUDA_SUCCESS)
		return;
	is_part = cuda->device_uuid_mig != NULL &&
		  cuda->device_uuid_mig(&part, device) == CUDA_SUCCESS &&
		  memcmp(&part, &card, sizeof(card)) != 0;
	if (is_part)
		card = part;
	(void)snprintf(info->uuid, sizeof(info->uuid),
		       "%s-%02x%02x%02x%02x-%02x%02x-%02x%02x-%02x%02x-%02x%02x%02x%02x%02x%02x",
		       is_part ? "MIG" : "GPU", b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7],
		       b[8], b[9], b[10], b[11], b[12], b[13], b[14], b[15]);
}

struct attribute {
	CUdevice_attribute which;
	int value;
};

static psg_status describe_attributes(const psgi_cuda *cuda, CUdevice device, psg_gpu_info *info,
				      psg_error *error)
{
	struct attribute of[] = {
		{ CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, 0 },
		{ CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, 0 },
		{ CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, 0 },
	};

	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		CUresult result = cuda->device_attribute(&of[i].value, of[i].which, device);

		if (result != CUDA_SUCCESS)
			return psgi_cuda_fail(cuda, result, "cuDeviceGetAttribute", error);
	}
	info->capability = 10 * of[0].value + of[1].value;
	info->multiprocessors = of[2].value;
	info->ptx = psgi_ptx_target(info->capability);
	return PSG_OK;
}

static psg_status describe_card(const psgi_cuda *cuda, CUdevice device, psg_gpu_info *info,
				psg_error *error)
{
	const psgi_nvml *nvml;
	size_t total = 0;
	CUresult result = cuda->device_name(info->name, sizeof(info->name), device);

	if (result != CUDA_SUCCESS)
		return psgi_cuda_fail(cuda, result, "cuDeviceGetName", error);
	result = cuda->device_memory(&total, device);
	if (result != CUDA_SUCCESS)
		return psgi_cuda_fail(cuda, result, "cuDeviceTotalMem_v2", error);
	info->total_bytes = total;
	if (cuda->device_pci(info->pci, sizeof(info->pci), device) != CUDA_SUCCESS)
		info->pci[0] = '\0';
	describe_uuid(cuda, device, info);
	info->cuda = cuda->version;
	if (psgi_nvml_get(&nvml, NULL) == PSG_OK)
		(void)snprintf(info->driver, sizeof(info->driver), "%s", nvml->version);
	return describe_attributes(cuda, device, info, error);
}

psg_status psgi_gpu_describe(const psgi_cuda *cuda, int32_t index, CUdevice *handle,
			     psg_gpu_info *info, psg_error *error)
{
	int32_t count = 0;
	psg_status status = count_devices(cuda, &count, error);
	CUresult result;

	memset(info, 0, sizeof(*info));
	info->index = index;
	if (status != PSG_OK)
		return status;
	if (count == 0)
		return psgi_fail(error, PSG_NO_DEVICE, "no NVIDIA GPU found");
	if (index < 0 || index >= count)
		return psgi_fail(error, PSG_NO_DEVICE, "no GPU %d: this machine has %d", index,
				 count);
	result = cuda->device_get(handle, index);
	if (result != CUDA_SUCCESS)
		return psgi_cuda_fail(cuda, result, "cuDeviceGet", error);
	status = describe_card(cuda, *handle, info, error);
	if (status != PSG_OK || info->ptx != 0)
		return status;
	return psgi_fail(error, PSG_TOO_OLD,
			 "GPU compute capability %d.%d is too old, need at least 6.1 (Pascal)",
			 info->capability / 10, info->capability % 10);
}

/* --- probe --- */

static psg_status free_in_context(const psgi_cuda *cuda, CUdevice device, size_t *bytes,
				  psg_error *error)
{
	CUcontext context;
	size_t total;
	CUresult result = cuda->context_retain(&context, device);

	if (result != CUDA_SUCCESS)
		return psgi_cuda_fail(cuda, result, "cuDevicePrimaryCtxRetain", error);
	result = cuda->context_push(context);
	if (result == CUDA_SUCCESS) {
		result = cuda->memory_info(bytes, &total);
		(void)cuda->context_pop(&context);
	}
	(void)cuda->context_release(device);
	return result == CUDA_SUCCESS ? PSG_OK
				      : psgi_cuda_fail(cuda, result, "cuMemGetInfo_v2", error);
}

/* A context takes hundreds of MiB and 0.1 s (measured): NVML is asked first. */
psg_status psg_gpu_probe(int32_t index, psg_gpu_info *out, psg_error *error)
{
	const psgi_cuda *cuda;
	CUdevice device = 0;
	size_t available = 0;
	psg_status status;

	memset(out, 0, sizeof(*out));
	status = psgi_gpu_driver(&cuda, error);
	if (status == PSG_OK)
		status = psgi_gpu_describe(cuda, index, &device, out, error);
	if (status != PSG_OK)
		return status;
	if (!psgi_nvml_free_memory(out->uuid, &available))
		status = free_in_context(cuda, device, &available, error);
	out->free_bytes = available;
	return status;
}

/* --- the driver --- */

/* "NVRM version: NVIDIA UNIX x86_64 Kernel Module  580.65.06  ...": the kernel's half. */
static void read_kernel_version(char *out, size_t size)
{
	FILE *file = fopen("/proc/driver/nvidia/version", "re");
	char line[256], word[64] = "";
	const char *at;

	if (file == NULL)
		return;
	if (fgets(line, sizeof(line), file) != NULL &&
	    (at = strstr(line, "Kernel Module")) != NULL &&
	    sscanf(at, "Kernel Module%*[^0-9]%63[0-9.]", word) == 1)
		(void)snprintf(out, size, "%s", word);
	(void)fclose(file);
}

psg_status psg_gpu_driver_get(psg_gpu_driver *out, psg_error *error)
{
	const psgi_cuda *cuda;
	const psgi_nvml *nvml;
	psg_error reason = PSG_ERROR_INIT;
	unsigned int cards;
	psg_status status;

	memset(out, 0, sizeof(*out));
	out->nvml_cards = -1;
	status = psgi_nvml_get(&nvml, &reason);
	if (status == PSG_OK) {
		(void)snprintf(out->version, sizeof(out->version), "%s", nvml->version);
		(void)snprintf(out->nvml_library, sizeof(out->nvml_library), "%s", nvml->path);
		if (nvml->device_count != NULL && nvml->device_count(&cards) == NVML_SUCCESS)
			out->nvml_cards = (int32_t)cards;
	} else {
		(void)snprintf(out->nvml_problem, sizeof(out->nvml_problem), "%.511s",
			       reason.message);
		read_kernel_version(out->version, sizeof(out->version));
	}
	psgi_cuda_found(out->library, sizeof(out->library), &out->cuda);
	return psgi_cuda_get(&cuda, error);
}
