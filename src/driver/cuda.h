/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CUDA driver, opened when the program runs.
 *
 * Its types and codes are declared here, by the names that NVIDIA's documentation of the driver
 * API gives them: nothing of CUDA is needed to build, and nothing of it is linked.
 */
#ifndef PSG_DRIVER_CUDA_H
#define PSG_DRIVER_CUDA_H

#include <pagesift/error.h>

/* Codes of the driver that we tell apart; all others are reported by name. */
typedef enum CUresult {
	CUDA_SUCCESS = 0,
	CUDA_ERROR_INVALID_VALUE = 1,
	CUDA_ERROR_OUT_OF_MEMORY = 2,
	CUDA_ERROR_NOT_INITIALIZED = 3,
	CUDA_ERROR_DEINITIALIZED = 4,
	CUDA_ERROR_STUB_LIBRARY = 34,
	CUDA_ERROR_DEVICE_UNAVAILABLE = 46,
	CUDA_ERROR_NO_DEVICE = 100,
	CUDA_ERROR_INVALID_DEVICE = 101,
	CUDA_ERROR_INVALID_IMAGE = 200,
	CUDA_ERROR_INVALID_CONTEXT = 201,
	CUDA_ERROR_NO_BINARY_FOR_GPU = 209,
	CUDA_ERROR_ECC_UNCORRECTABLE = 214,
	CUDA_ERROR_INVALID_PTX = 218,
	CUDA_ERROR_NVLINK_UNCORRECTABLE = 220,
	CUDA_ERROR_JIT_COMPILER_NOT_FOUND = 221,
	CUDA_ERROR_UNSUPPORTED_PTX_VERSION = 222,
	CUDA_ERROR_JIT_COMPILATION_DISABLED = 223,
	CUDA_ERROR_INVALID_HANDLE = 400,
	CUDA_ERROR_NOT_FOUND = 500,
	CUDA_ERROR_NOT_READY = 600,
	CUDA_ERROR_ILLEGAL_ADDRESS = 700,
	CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES = 701,
	CUDA_ERROR_LAUNCH_TIMEOUT = 702,
	CUDA_ERROR_CONTEXT_IS_DESTROYED = 709,
	CUDA_ERROR_ASSERT = 710,
	CUDA_ERROR_HARDWARE_STACK_ERROR = 714,
	CUDA_ERROR_ILLEGAL_INSTRUCTION = 715,
	CUDA_ERROR_MISALIGNED_ADDRESS = 716,
	CUDA_ERROR_INVALID_ADDRESS_SPACE = 717,
	CUDA_ERROR_INVALID_PC = 718,
	CUDA_ERROR_LAUNCH_FAILED = 719,
	CUDA_ERROR_CONTAINED = 721,
	CUDA_ERROR_NOT_PERMITTED = 800,
	CUDA_ERROR_SYSTEM_NOT_READY = 802,
	CUDA_ERROR_SYSTEM_DRIVER_MISMATCH = 803,
	CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE = 804,
	CUDA_ERROR_UNKNOWN = 999,
} CUresult;

typedef int CUdevice;
typedef unsigned long long CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUuuid {
	unsigned char bytes[16];
} CUuuid;

typedef enum CUdevice_attribute {
	CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK = 8,
	CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16,
	CU_DEVICE_ATTRIBUTE_COMPUTE_MODE = 20,
	CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75,
	CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76,
	CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97,
} CUdevice_attribute;

typedef enum CUfunction_attribute {
	CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8,
} CUfunction_attribute;

typedef enum CUjit_option {
	CU_JIT_INFO_LOG_BUFFER = 3,
	CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES = 4,
	CU_JIT_ERROR_LOG_BUFFER = 5,
	CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6,
} CUjit_option;

#define CU_STREAM_NON_BLOCKING 1U
#define CU_EVENT_BLOCKING_SYNC 1U
#define CU_EVENT_DISABLE_TIMING 2U

/*
 * Every function of the driver that is used, once:
 * X(name here, symbol, CUDA version of the driver that first had it, needed, arguments).  Symbols
 * end in _v2 where 64-bit sizes or addresses replaced the first form.  Without a needed one
 * the driver is too old; an optional one is NULL then.
 */
#define PSGI_CUDA_MAP(X)                                                                           \
	X(init, cuInit, 2000, true, (unsigned int flags))                                          \
	X(driver_version, cuDriverGetVersion, 2020, true, (int *version))                          \
	X(error_name, cuGetErrorName, 6000, true, (CUresult code, const char **text))              \
	X(error_string, cuGetErrorString, 6000, true, (CUresult code, const char **text))          \
	X(device_count, cuDeviceGetCount, 2000, true, (int *count))                                \
	X(device_get, cuDeviceGet, 2000, true, (CUdevice * device, int index))                     \
	X(device_name, cuDeviceGetName, 2000, true, (char *name, int size, CUdevice device))       \
	X(device_uuid, cuDeviceGetUuid, 9020, false, (CUuuid * uuid, CUdevice device))             \
	X(device_uuid_mig, cuDeviceGetUuid_v2, 11040, false, (CUuuid * uuid, CUdevice device))     \
	X(device_pci, cuDeviceGetPCIBusId, 4010, true, (char *id, int size, CUdevice device))      \
	X(device_memory, cuDeviceTotalMem_v2, 3020, true, (size_t * bytes, CUdevice device))       \
	X(device_attribute, cuDeviceGetAttribute, 2000, true,                                      \
	  (int *value, CUdevice_attribute attribute, CUdevice device))                             \
	X(context_retain, cuDevicePrimaryCtxRetain, 7000, true,                                    \
	  (CUcontext * context, CUdevice device))                                                  \
	X(context_release, cuDevicePrimaryCtxRelease_v2, 11000, true, (CUdevice device))           \
	X(context_state, cuDevicePrimaryCtxGetState, 7000, true,                                   \
	  (CUdevice device, unsigned int *flags, int *active))                                     \
	X(context_push, cuCtxPushCurrent_v2, 4000, true, (CUcontext context))                      \
	X(context_pop, cuCtxPopCurrent_v2, 4000, true, (CUcontext * context))                      \
	X(context_current, cuCtxGetCurrent, 4000, true, (CUcontext * context))                     \
	X(memory_info, cuMemGetInfo_v2, 3020, true, (size_t * free, size_t * total))               \
	X(module_load, cuModuleLoadDataEx, 2010, true,                                             \
	  (CUmodule * module, const void *image, unsigned int n, CUjit_option *options,            \
	   void **values))                                                                         \
	X(module_unload, cuModuleUnload, 2000, true, (CUmodule module))                            \
	X(module_function, cuModuleGetFunction, 2000, true,                                        \
	  (CUfunction * function, CUmodule module, const char *name))                              \
	X(function_set, cuFuncSetAttribute, 9000, true,                                            \
	  (CUfunction function, CUfunction_attribute attribute, int value))                        \
	X(memory_alloc, cuMemAlloc_v2, 3020, true, (CUdeviceptr * address, size_t bytes))          \
	X(memory_free, cuMemFree_v2, 3020, true, (CUdeviceptr address))                            \
	X(host_alloc, cuMemHostAlloc, 2020, true,                                                  \
	  (void **address, size_t bytes, unsigned int flags))                                      \
	X(host_free, cuMemFreeHost, 2000, true, (void *address))                                   \
	X(copy_in, cuMemcpyHtoDAsync_v2, 3020, true,                                               \
	  (CUdeviceptr to, const void *from, size_t bytes, CUstream stream))                       \
	X(copy_out, cuMemcpyDtoHAsync_v2, 3020, true,                                              \
	  (void *to, CUdeviceptr from, size_t bytes, CUstream stream))                             \
	X(copy_within, cuMemcpyDtoDAsync_v2, 3020, true,                                           \
	  (CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream))                       \
	X(fill, cuMemsetD8Async, 3020, true,                                                       \
	  (CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream))                    \
	X(stream_create, cuStreamCreate, 2000, true, (CUstream * stream, unsigned int flags))      \
	X(stream_destroy, cuStreamDestroy_v2, 4000, true, (CUstream stream))                       \
	X(stream_sync, cuStreamSynchronize, 2000, true, (CUstream stream))                         \
	X(stream_wait, cuStreamWaitEvent, 3020, true,                                              \
	  (CUstream stream, CUevent event, unsigned int flags))                                    \
	X(event_create, cuEventCreate, 2000, true, (CUevent * event, unsigned int flags))          \
	X(event_destroy, cuEventDestroy_v2, 4000, true, (CUevent event))                           \
	X(event_record, cuEventRecord, 2000, true, (CUevent event, CUstream stream))               \
	X(event_query, cuEventQuery, 2000, true, (CUevent event))                                  \
	X(event_sync, cuEventSynchronize, 2000, true, (CUevent event))                             \
	X(event_elapsed, cuEventElapsedTime, 2000, false,                                          \
	  (float *milliseconds, CUevent from, CUevent to))                                         \
	X(launch, cuLaunchKernel, 4000, true,                                                      \
	  (CUfunction function, unsigned int grid_x, unsigned int grid_y, unsigned int grid_z,     \
	   unsigned int block_x, unsigned int block_y, unsigned int block_z,                       \
	   unsigned int shared_bytes, CUstream stream, void **arguments, void **extra))

typedef struct psgi_cuda {
#define PSGI_CUDA_MEMBER(name, symbol, since, needed, args) CUresult(*name) args;
	PSGI_CUDA_MAP(PSGI_CUDA_MEMBER)
#undef PSGI_CUDA_MEMBER
	int version;    /* CUDA version of the driver: 13000 is 13.0 */
	char path[256]; /* where it was found */
} psgi_cuda;

/*
 * The driver, opened and initialised by the first call of the process; later calls give the same
 * answer.  NO_DEVICE: no driver library, or no card; TOO_OLD; DRIVER: anything else, with what to
 * do about it; FORKED: it was started before this process forked from its parent, which is said
 * only where it could be started.  Any thread.  PAGESIFT_LIBCUDA names the library where the linker
 * does not find it.
 */
psg_status psgi_cuda_get(const psgi_cuda **out, psg_error *error);

/* What is known of the library and its CUDA version also where psgi_cuda_get fails; empty, 0. */
void psgi_cuda_found(char *path, size_t size, int32_t *version);

/* Records that `call` failed: its name, the driver's name of the code and its text. */
psg_status psgi_cuda_fail(const psgi_cuda *cuda, CUresult result, const char *call,
			  psg_error *error);

/* Was the driver opened by another process, from which this one forked?  Its handles are dead here;
 * a load, no call.  The second one says so. */
bool psgi_cuda_forked(void);
psg_status psgi_cuda_fail_forked(psg_error *error);

/* Does this code mean that the process has lost the device for good? */
bool psgi_cuda_is_lost(CUresult result);

/* Version 12040 as "12.4". */
#define PSGI_CUDA_VERSION(version) (version) / 1000, (version) % 1000 / 10

#endif
