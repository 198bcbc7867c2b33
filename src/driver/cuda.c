/* SPDX-License-Identifier: Apache-2.0 */
/* Opening the CUDA driver, and its errors. */
#include "config.h"

#include "driver/cuda.h"

#include "base/base.h"
#include "base/fork.h"
#include "base/phase.h"
#include "driver/library.h"

#include <pthread.h>
#include <stdio.h>

/* One answer for the process; constant once `once` has run. */
static struct {
	pthread_once_t once;
	psgi_cuda cuda;
	psg_status status;
	psg_error error;
	uint32_t process; /* that opened it, as psgi_fork_generation counts */
} state = { .once = PTHREAD_ONCE_INIT };

static psg_status find_symbols(void *library, psgi_cuda *cuda, psg_error *error)
{
	const psgi_symbol symbols[] = {
#define SYMBOL(name, symbol, since, needed, args) { #symbol, &cuda->name, since, needed },
		PSGI_CUDA_MAP(SYMBOL)
#undef SYMBOL
	};
	const psgi_symbol *missing =
		psgi_library_bind(library, symbols, sizeof(symbols) / sizeof(symbols[0]));

	if (missing == NULL)
		return PSG_OK;
	return psgi_fail(error, PSG_TOO_OLD,
			 "%s has no %s: the NVIDIA driver is too old, need one of CUDA %d.%d or "
			 "later",
			 cuda->path, missing->name, PSGI_CUDA_VERSION(missing->since));
}

/* What a code means to a caller, and what a person can do about it.  All others are DRIVER. */
static const struct meaning {
	CUresult result;
	psg_status status;
	const char *advice;
} meanings[] = {
	{ CUDA_ERROR_OUT_OF_MEMORY, PSG_OOM, NULL },
	{ CUDA_ERROR_NOT_INITIALIZED, PSG_DRIVER,
	  "the process forked after the driver was opened, or it is exiting" },
	{ CUDA_ERROR_NO_DEVICE, PSG_NO_DEVICE, NULL },
	{ CUDA_ERROR_INVALID_DEVICE, PSG_NO_DEVICE, NULL },
	{ CUDA_ERROR_STUB_LIBRARY, PSG_NO_DEVICE,
	  "this is a toolkit's stub library; the driver's own is missing" },
	{ CUDA_ERROR_DEVICE_UNAVAILABLE, PSG_DRIVER,
	  "another process has the card for itself (compute mode), or it is being reset" },
	{ CUDA_ERROR_SYSTEM_DRIVER_MISMATCH, PSG_DRIVER,
	  "the kernel's module and the library are of different versions: restart after a driver "
	  "update" },
	{ CUDA_ERROR_COMPAT_NOT_SUPPORTED_ON_DEVICE, PSG_TOO_OLD,
	  "the compatibility library does not serve this card: use the driver's own" },
	{ CUDA_ERROR_SYSTEM_NOT_READY, PSG_DRIVER, "a service of the driver is not up yet" },
	{ CUDA_ERROR_INVALID_IMAGE, PSG_JIT, NULL },
	{ CUDA_ERROR_NO_BINARY_FOR_GPU, PSG_JIT, NULL },
	{ CUDA_ERROR_INVALID_PTX, PSG_JIT, NULL },
	{ CUDA_ERROR_JIT_COMPILER_NOT_FOUND, PSG_JIT,
	  "libnvidia-ptxjitcompiler.so.1 is missing: it belongs to the driver" },
	{ CUDA_ERROR_UNSUPPORTED_PTX_VERSION, PSG_TOO_OLD, "the driver is older than the PTX" },
	{ CUDA_ERROR_JIT_COMPILATION_DISABLED, PSG_JIT, "CUDA_DISABLE_PTX_JIT is set" },
	{ CUDA_ERROR_NOT_FOUND, PSG_JIT, NULL },
	{ CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, PSG_LAUNCH, NULL },
	{ CUDA_ERROR_ECC_UNCORRECTABLE, PSG_DEVICE_LOST, NULL },
	{ CUDA_ERROR_NVLINK_UNCORRECTABLE, PSG_DEVICE_LOST, NULL },
	{ CUDA_ERROR_ILLEGAL_ADDRESS, PSG_DEVICE_LOST, NULL },
	{ CUDA_ERROR_LAUNCH_TIMEOUT, PSG_DEVICE_LOST,
	  "a kernel ran longer than the display's watchdog allows" },
	{ CUDA_ERROR_CONTEXT_IS_DESTROYED, PSG_DEVICE_LOST,
	  "something in this process reset the card" },
	{ CUDA_ERROR_ASSERT, PSG_DEVICE_LOST, NULL },
	{ CUDA_ERROR_HARDWARE_STACK_ERROR, PSG_DEVICE_LOST, NULL },
	{ CUDA_ERROR_ILLEGAL_INSTRUCTION, PSG_DEVICE_LOST, NULL },
	{ CUDA_ERROR_MISALIGNED_ADDRESS, PSG_DEVICE_LOST, NULL },
	{ CUDA_ERROR_INVALID_ADDRESS_SPACE, PSG_DEVICE_LOST, NULL },
	{ CUDA_ERROR_INVALID_PC, PSG_DEVICE_LOST, NULL },
	{ CUDA_ERROR_LAUNCH_FAILED, PSG_DEVICE_LOST, NULL },
	{ CUDA_ERROR_CONTAINED, PSG_DEVICE_LOST, NULL },
	{ CUDA_ERROR_UNKNOWN, PSG_DRIVER,
	  "is the nvidia_uvm module loaded, and may this user open /dev/nvidia*?" },
};

static const struct meaning *meaning_of(CUresult result)
{
	static const struct meaning other = { CUDA_SUCCESS, PSG_DRIVER, NULL };

	for (size_t i = 0; i < sizeof(meanings) / sizeof(meanings[0]); i++)
		if (meanings[i].result == result)
			return &meanings[i];
	return &other;
}

psg_status psgi_cuda_fail(const psgi_cuda *cuda, CUresult result, const char *call,
			  psg_error *error)
{
	const struct meaning *meaning = meaning_of(result);
	const char *name = NULL, *text = NULL;

	if (cuda->error_name(result, &name) != CUDA_SUCCESS || name == NULL)
		name = "an unknown code";
	if (cuda->error_string(result, &text) != CUDA_SUCCESS || text == NULL)
		text = "no text";
	return psgi_fail(error, meaning->status, "%s%s: %s (%d: %s)%s%s",
			 meaning->status == PSG_OOM ? PSG_OOM_TAG ": " : "", call, name,
			 (int)result, text, meaning->advice != NULL ? "; " : "",
			 meaning->advice != NULL ? meaning->advice : "");
}

bool psgi_cuda_is_lost(CUresult result)
{
	return meaning_of(result)->status == PSG_DEVICE_LOST;
}

/* The version first: it is there to be told when nothing else works. */
static psg_status initialise(psgi_cuda *cuda, psg_error *error)
{
	CUresult result = cuda->driver_version(&cuda->version);
	const char *outer;

	if (result != CUDA_SUCCESS)
		return psgi_cuda_fail(cuda, result, "cuDriverGetVersion", error);
	outer = psgi_phase_begin("cuInit");
	result = cuda->init(0);
	psgi_phase_end(outer);
	if (result == CUDA_ERROR_NO_DEVICE)
		return psgi_fail(error, PSG_NO_DEVICE, "no NVIDIA GPU found");
	return result == CUDA_SUCCESS ? PSG_OK : psgi_cuda_fail(cuda, result, "cuInit", error);
}

static void open_once(void)
{
	void *library = NULL;

	state.status = psgi_fork_watch(&state.error);
	state.process = psgi_fork_generation();
	if (state.status == PSG_OK)
		state.status =
			psgi_library_open("PAGESIFT_LIBCUDA", "libcuda.so.1", &library,
					  state.cuda.path, sizeof(state.cuda.path), &state.error);
	if (state.status == PSG_NO_DEVICE)
		(void)psgi_fail(&state.error, PSG_NO_DEVICE, "no NVIDIA GPU found");
	if (state.status == PSG_OK)
		state.status = find_symbols(library, &state.cuda, &state.error);
	if (state.status == PSG_OK)
		state.status = initialise(&state.cuda, &state.error);
}

bool psgi_cuda_forked(void)
{
	return state.process != psgi_fork_generation();
}

psg_status psgi_cuda_fail_forked(psg_error *error)
{
	return psgi_fail(error, PSG_FORKED,
			 "the GPU driver was opened before this process forked from its parent: "
			 "open devices after fork, or start the child with exec");
}

void psgi_cuda_found(char *path, size_t size, int32_t *version)
{
	(void)pthread_once(&state.once, open_once);
	(void)snprintf(path, size, "%s", state.cuda.path);
	*version = state.cuda.version;
}

psg_status psgi_cuda_get(const psgi_cuda **out, psg_error *error)
{
	/* Which another thread may be at, so that this one waits. */
	const char *outer = psgi_phase_begin("starting the NVIDIA driver");

	*out = NULL;
	(void)pthread_once(&state.once, open_once);
	psgi_phase_end(outer);
	if (state.status != PSG_OK) { /* nothing that a fork could have spoilt */
		if (error != NULL)
			*error = state.error;
		return state.status;
	}
	if (psgi_cuda_forked())
		return psgi_cuda_fail_forked(error);
	*out = &state.cuda;
	return PSG_OK;
}
