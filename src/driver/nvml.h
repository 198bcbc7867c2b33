/* SPDX-License-Identifier: Apache-2.0 */
/*
 * NVML, the driver's library for management: it comes with the driver but is not needed.  It knows
 * the driver's version, and free memory without starting a card.
 */
#ifndef PSG_DRIVER_NVML_H
#define PSG_DRIVER_NVML_H

#include <pagesift/error.h>

typedef enum nvmlReturn_t {
	NVML_SUCCESS = 0,
	NVML_ERROR_NO_PERMISSION = 4,
	NVML_ERROR_NOT_FOUND = 6,
	NVML_ERROR_DRIVER_NOT_LOADED = 9,
	NVML_ERROR_LIB_RM_VERSION_MISMATCH = 18,
} nvmlReturn_t;

typedef struct nvmlDevice_st *nvmlDevice_t;

typedef struct nvmlMemory_t {
	unsigned long long total, free, used; /* bytes */
} nvmlMemory_t;

/* As PSGI_CUDA_MAP; versions are those of the CUDA release that the driver came with. */
#define PSGI_NVML_MAP(X)                                                                           \
	X(init, nvmlInit_v2, 6000, true, (void))                                                   \
	X(driver_version, nvmlSystemGetDriverVersion, 6000, true, (char *text, unsigned int size)) \
	X(device_count, nvmlDeviceGetCount_v2, 6000, false, (unsigned int *count))                 \
	X(device_by_uuid, nvmlDeviceGetHandleByUUID, 6000, false,                                  \
	  (const char *uuid, nvmlDevice_t *device))                                                \
	X(device_memory, nvmlDeviceGetMemoryInfo, 6000, false,                                     \
	  (nvmlDevice_t device, nvmlMemory_t * memory))

typedef struct psgi_nvml {
#define PSGI_NVML_MEMBER(name, symbol, since, needed, args) nvmlReturn_t(*name) args;
	PSGI_NVML_MAP(PSGI_NVML_MEMBER)
#undef PSGI_NVML_MEMBER
	const char *(*error_string)(nvmlReturn_t code); /* may be NULL */
	char version[80];                               /* of the driver: "580.65.06" */
	char path[256];                                 /* where it was found */
} psgi_nvml;

/*
 * NVML, opened and initialised by the first call of the process.  NO_DEVICE: it is not installed;
 * DRIVER: it reports a problem of the driver, with what to do about it; FORKED.  Any thread.
 * PAGESIFT_LIBNVML names the library where the linker does not find it.
 */
psg_status psgi_nvml_get(const psgi_nvml **out, psg_error *error);

/* Free memory of the card or MIG instance with this UUID; false: not known. */
bool psgi_nvml_free_memory(const char *uuid, size_t *bytes);

#endif
