/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels: loading a family at its first use, and launching. */
#include "config.h"

#include "device/cuda_internal.h"

#include "base/base.h"
#include "base/phase.h"
#include "device/cuda_trace.h"
#include "kernels/args.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define JIT_LOG_SIZE 4096 /* chosen: more than a message takes */

/* Dynamic shared memory that every kernel may have without asking, from CUDA's programming guide.
 */
#define SHARED_FREELY 49152

static const struct {
	const char *name;
	psgi_gpu_family family;
	size_t args_bytes;
} kernels[] = {
#define KERNEL_ROW(name, family, args) { #name, PSGI_FAMILY_##family, sizeof(args) },
	PSGI_KERNELS(KERNEL_ROW)
#undef KERNEL_ROW
};

/* --- families --- */

/* What came of giving code to the driver. */
struct attempt {
	CUresult result;
	int cuda; /* the release that first read its version of PTX, as the driver's version */
	char log[JIT_LOG_SIZE];
};

/* The release of CUDA whose drivers first read a version of PTX (6.3 is 63): from the release
 * notes of the PTX manual. */
static int cuda_of_ptx(int version)
{
	int major = version / 10, minor = version % 10;

	if (major < 7)
		return minor < 3 ? 9000 + 10 * minor : 10000 + 10 * (minor - 3);
	if (major == 8 && minor > 5) /* 12.6 had none of its own */
		minor++;
	return 1000 * (major + 4) + 10 * minor;
}

static int version_of(const char *text)
{
	const char *line = strstr(text, "\n.version ");
	int major = 0, minor = 0;

	return line != NULL && sscanf(line, "\n.version %2d.%1d", &major, &minor) == 2
		       ? 10 * major + minor
		       : 0;
}

/* Fails only where there is no text; else `attempt` tells. */
static psg_status load_text(psgi_gpu *gpu, psgi_gpu_family family, struct attempt *attempt,
			    psg_error *error)
{
	CUjit_option options[] = { CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES };
	void *values[] = { attempt->log, NULL };
	uintptr_t size = JIT_LOG_SIZE;
	char *text = NULL;
	const char *outer;
	psg_status status = psgi_ptx_text(family, gpu->ptx, &text, error);

	if (status != PSG_OK)
		return status;
	memcpy(&values[1], &size, sizeof(size)); /* a number where a pointer fits */
	attempt->log[0] = '\0';
	attempt->cuda = cuda_of_ptx(version_of(text));
	outer = psgi_phase_begin(psgi_family_phase(family));
	attempt->result = gpu->cuda->module_load(&gpu->modules[family], text, 2, options, values);
	psgi_phase_end(outer);
	free(text);
	if (attempt->result != CUDA_SUCCESS)
		gpu->modules[family] = NULL;
	return PSG_OK;
}

/* Is it about the code, so that older code may do? */
static bool is_refusal(CUresult result)
{
	switch (result) {
	case CUDA_ERROR_INVALID_IMAGE:
	case CUDA_ERROR_NO_BINARY_FOR_GPU:
	case CUDA_ERROR_INVALID_PTX:
	case CUDA_ERROR_UNSUPPORTED_PTX_VERSION:
		return true;
	default:
		return false;
	}
}

static psg_status load_failed(psgi_gpu *gpu, psgi_gpu_family family, const struct attempt *attempt,
			      psg_error *error)
{
	psg_error reason = PSG_ERROR_INIT;
	psg_status status = psgi_gpu_fail(gpu, attempt->result, "cuModuleLoadDataEx", &reason);
	char age[80] = "";

	if (status == PSG_DRIVER)
		status = PSG_JIT;
	if (attempt->result == CUDA_ERROR_UNSUPPORTED_PTX_VERSION)
		(void)snprintf(age, sizeof(age), "; it is one of CUDA %d.%d, %d.%d is needed",
			       PSGI_CUDA_VERSION(gpu->cuda->version),
			       PSGI_CUDA_VERSION(attempt->cuda));
	return psgi_fail(error, status, "%s%s; kernels '%s' for sm_%d%s%s", reason.message, age,
			 psgi_family_name(family), gpu->ptx, attempt->log[0] != '\0' ? ": " : "",
			 attempt->log);
}

/* Code that the driver has refused, it refuses again, and may need seconds to say so.  Without
 * memory for the reason it is asked again. */
static psg_status keep_refusal(psgi_gpu *gpu, psgi_gpu_family family, const struct attempt *attempt,
			       psg_error *error)
{
	psg_error reason = PSG_ERROR_INIT;
	psg_status status = load_failed(gpu, family, attempt, &reason);

	if (is_refusal(attempt->result)) {
		gpu->refused[family] = malloc(sizeof(reason));
		if (gpu->refused[family] != NULL)
			*gpu->refused[family] = reason;
	}
	if (error != NULL)
		*error = reason;
	return status;
}

static void note_loaded(psgi_gpu *gpu, psgi_gpu_family family, int64_t ns)
{
	psg_gpu_module *module = &gpu->loaded[gpu->families++];

	(void)snprintf(module->name, sizeof(module->name), "%s", psgi_family_name(family));
	module->ptx = gpu->ptx;
	module->load_ns = ns;
	gpu->load_ns += ns;
}

psg_status psgi_gpu_load_family(psgi_gpu *gpu, psgi_gpu_family family, psg_error *error)
{
	int64_t begin = psg_now_ns(), ns;
	struct attempt attempt;

	if (gpu->modules[family] != NULL)
		return PSG_OK;
	if (gpu->refused[family] != NULL) {
		if (error != NULL)
			*error = *gpu->refused[family];
		return gpu->refused[family]->code;
	}
	for (;;) {
		int lower = psgi_ptx_target(gpu->ptx - 1);
		psg_status status = load_text(gpu, family, &attempt, error);

		if (status != PSG_OK)
			return status;
		if (attempt.result == CUDA_SUCCESS)
			break;
		if (attempt.result == CUDA_ERROR_OUT_OF_MEMORY && psgi_gpu_trim_pool(gpu))
			continue;
		if (!is_refusal(attempt.result) || gpu->ptx_forced || lower == 0)
			return keep_refusal(gpu, family, &attempt, error);
		psgi_log(PSG_LOG_WARNING, "%s: the driver refuses '%s' for sm_%d, trying sm_%d: %s",
			 gpu->device.info.name, psgi_family_name(family), gpu->ptx, lower,
			 attempt.log);
		gpu->ptx = lower;
	}
	ns = psg_now_ns() - begin;
	note_loaded(gpu, family, ns);
	if (psgi_tracing())
		psgi_trace_span("load", psgi_family_name(family), begin, begin + ns, NULL, 0);
	psgi_log(PSG_LOG_INFO, "%s: loaded '%s' for sm_%d in %.1f ms", gpu->device.info.name,
		 psgi_family_name(family), gpu->ptx, (double)ns / 1e6);
	return PSG_OK;
}

size_t psg_gpu_modules(const psg_device *device, psg_gpu_module *out, size_t room)
{
	const psgi_gpu *gpu = (const psgi_gpu *)device;

	if (device->info.kind != PSG_DEVICE_CUDA)
		return 0;
	for (size_t i = 0; i < gpu->families && i < room; i++)
		out[i] = gpu->loaded[i];
	return (size_t)gpu->families;
}

/* --- kernels --- */

const char *psgi_gpu_kernel_name(psgi_gpu_kernel kernel)
{
	return kernels[kernel].name;
}

uint64_t psgi_gpu_launches(const psg_device *device, psgi_gpu_kernel kernel)
{
	return ((const psgi_gpu *)device)->functions[kernel].launches;
}

static psg_status find_function(psgi_gpu *gpu, psgi_gpu_kernel kernel, psgi_function **out,
				psg_error *error)
{
	psgi_function *function = &gpu->functions[kernel];
	psgi_gpu_family family = kernels[kernel].family;
	psg_status status;
	CUresult result;

	*out = function;
	if (function->function != NULL)
		return PSG_OK;
	status = psgi_gpu_load_family(gpu, family, error);
	if (status != PSG_OK)
		return status;
	result = gpu->cuda->module_function(&function->function, gpu->modules[family],
					    kernels[kernel].name);
	if (result == CUDA_SUCCESS) {
		function->shared_most = SHARED_FREELY;
		return PSG_OK;
	}
	function->function = NULL;
	status = psgi_gpu_fail(gpu, result, "cuModuleGetFunction", error);
	psgi_error_prefix(error, "kernel '%s' of '%s'", kernels[kernel].name,
			  psgi_family_name(family));
	return status;
}

psg_status psgi_gpu_load(psg_device *device, psgi_gpu_kernel kernel, psg_error *error)
{
	psgi_gpu *gpu = psgi_gpu_of(device);
	psgi_function *function;
	psg_status status = psgi_gpu_enter(gpu, error);

	if (status != PSG_OK)
		return status;
	status = find_function(gpu, kernel, &function, error);
	psgi_gpu_leave(gpu);
	return status;
}

/* --- launches --- */

static psg_status check(const psgi_gpu *gpu, const psgi_launch *launch, psg_error *error)
{
	const uint32_t *grid = launch->grid, *block = launch->block;
	uint64_t threads = (uint64_t)block[0] * block[1];

	if ((unsigned)launch->kernel >= PSGI_GPU_KERNELS)
		return psgi_fail(error, PSG_INVALID, "there is no kernel %d", (int)launch->kernel);
	if (grid[0] > PSGI_GPU_MAX_GRID_X || grid[1] > PSGI_GPU_MAX_GRID_YZ ||
	    grid[2] > PSGI_GPU_MAX_GRID_YZ)
		return psgi_fail(error, PSG_INVALID,
				 "kernel '%s': a grid of %ux%ux%u, there may be %ux%ux%u",
				 kernels[launch->kernel].name, grid[0], grid[1], grid[2],
				 PSGI_GPU_MAX_GRID_X, PSGI_GPU_MAX_GRID_YZ, PSGI_GPU_MAX_GRID_YZ);
	if (threads == 0 || block[2] == 0 || threads > PSGI_GPU_MAX_THREADS ||
	    threads * block[2] > PSGI_GPU_MAX_THREADS)
		return psgi_fail(error, PSG_INVALID,
				 "kernel '%s': a block of %ux%ux%u threads, there may be 1 to %u",
				 kernels[launch->kernel].name, block[0], block[1], block[2],
				 PSGI_GPU_MAX_THREADS);
	if (launch->shared_bytes > gpu->limits.shared_bytes)
		return psgi_fail(error, PSG_INVALID,
				 "kernel '%s': %u bytes of shared memory, %s has %zu",
				 kernels[launch->kernel].name, launch->shared_bytes,
				 gpu->device.info.name, gpu->limits.shared_bytes);
	if (launch->args_bytes != kernels[launch->kernel].args_bytes)
		return psgi_fail(error, PSG_INVALID,
				 "kernel '%s': a parameter of %zu bytes, it takes %zu",
				 kernels[launch->kernel].name, launch->args_bytes,
				 kernels[launch->kernel].args_bytes);
	return PSG_OK;
}

/* More shared memory than a kernel has freely must be asked for, once. */
static CUresult allow_shared(const psgi_gpu *gpu, psgi_function *function, uint32_t bytes)
{
	CUresult result;

	if (bytes <= function->shared_most)
		return CUDA_SUCCESS;
	result = gpu->cuda->function_set(
		function->function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, (int)bytes);
	if (result == CUDA_SUCCESS)
		function->shared_most = bytes;
	return result;
}

static psg_status launch_failed(psgi_gpu *gpu, const psgi_launch *launch, CUresult result,
				const char *call, psg_error *error)
{
	psg_status status = psgi_gpu_fail(gpu, result, call, error);

	if (status == PSG_DRIVER) {
		status = PSG_LAUNCH;
		if (error != NULL)
			error->code = status;
	}
	psgi_error_prefix(error, "kernel '%s'", kernels[launch->kernel].name);
	return status;
}

static psg_status launch_now(psgi_gpu *gpu, const psgi_launch *launch, psg_error *error)
{
	const uint32_t *grid = launch->grid, *block = launch->block;
	void *arguments[1];
	const char *outer;
	psgi_function *function;
	psg_status status = find_function(gpu, launch->kernel, &function, error);
	CUresult result;

	if (status == PSG_OK)
		status = psgi_gpu_begin(gpu, error);
	if (status != PSG_OK)
		return status;
	result = allow_shared(gpu, function, launch->shared_bytes);
	if (result != CUDA_SUCCESS)
		return launch_failed(gpu, launch, result, "cuFuncSetAttribute", error);
	/* The driver reads the parameter before it returns, and does not write it. */
	memcpy(arguments, &launch->args, sizeof(arguments));
	if (psgi_tracing())
		psgi_gpu_mark_begin(gpu);
	outer = psgi_phase_begin("launching a kernel"); /* it waits where too many are queued */
	result = gpu->cuda->launch(function->function, grid[0], grid[1], grid[2], block[0],
				   block[1], block[2], launch->shared_bytes, gpu->compute.stream,
				   arguments, NULL);
	psgi_phase_end(outer);
	if (result != CUDA_SUCCESS)
		return launch_failed(gpu, launch, result, "cuLaunchKernel", error);
	if (psgi_tracing())
		psgi_gpu_mark_end(gpu, kernels[launch->kernel].name);
	gpu->launches++;
	function->launches++;
	return PSG_OK;
}

psg_status psgi_gpu_launch(psg_device *device, const psgi_launch *launch, psg_error *error)
{
	psgi_gpu *gpu = psgi_gpu_of(device);
	psg_status status = check(gpu, launch, error);

	if (status != PSG_OK)
		return status;
	if (launch->grid[0] == 0 || launch->grid[1] == 0 || launch->grid[2] == 0)
		return PSG_OK;
	status = psgi_gpu_enter(gpu, error);
	if (status != PSG_OK)
		return status;
	if (psgi_tracing())
		psgi_gpu_marks_tie(gpu);
	status = launch_now(gpu, launch, error);
	psgi_gpu_leave(gpu);
	return status;
}
