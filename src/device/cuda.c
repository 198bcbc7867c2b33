/* SPDX-License-Identifier: Apache-2.0 */
/* The CUDA device: its context, which it shares with all of the process, and its life. */
#include "config.h"

#include "device/cuda_internal.h"
#include "device/cuda_trace.h"

#include "base/base.h"
#include "base/phase.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef _OPENMP
#include <omp.h>
#endif

/* --- errors and the context --- */

psg_status psgi_gpu_fail(psgi_gpu *gpu, CUresult result, const char *call, psg_error *error)
{
	psg_error reason = PSG_ERROR_INIT;
	psg_status status = psgi_cuda_fail(gpu->cuda, result, call, &reason);

	psgi_error_prefix(&reason, "%s", gpu->device.info.name);
	if (status == PSG_DEVICE_LOST && gpu->device.lost.code == PSG_OK)
		gpu->device.lost = reason;
	if (error != NULL)
		*error = reason;
	return status;
}

psg_status psgi_gpu_enter(psgi_gpu *gpu, psg_error *error)
{
	CUresult result;

	if (psgi_cuda_forked())
		return psgi_cuda_fail_forked(error);
	if (!pthread_equal(gpu->owner, pthread_self()))
		return psgi_fail(error, PSG_INVALID,
				 "%s belongs to the thread that opened it, and this is another",
				 gpu->device.info.name);
	if (gpu->device.lost.code != PSG_OK) {
		if (error != NULL)
			*error = gpu->device.lost;
		return gpu->device.lost.code;
	}
	if (gpu->entered == 0) {
		result = gpu->cuda->context_push(gpu->context);
		if (result != CUDA_SUCCESS)
			return psgi_gpu_fail(gpu, result, "cuCtxPushCurrent_v2", error);
	}
	gpu->entered++;
	return PSG_OK;
}

void psgi_gpu_leave(psgi_gpu *gpu)
{
	CUcontext context;

	gpu->entered--;
	if (gpu->entered == 0 && !psgi_cuda_forked())
		(void)gpu->cuda->context_pop(&context);
}

static psg_status enter(psg_device *device, psg_error *error)
{
	return psgi_gpu_enter(psgi_gpu_of(device), error);
}

static void leave(psg_device *device)
{
	psgi_gpu_leave(psgi_gpu_of(device));
}

/* --- closing --- */

/* All that needs the context, whatever of it was made. */
static void free_in_context(psgi_gpu *gpu)
{
	CUcontext context;
	bool pushed = gpu->cuda->context_push(gpu->context) == CUDA_SUCCESS;

	/* A lost context refuses most of this; what it holds ends with the process. */
	if (gpu->compute.stream != NULL && gpu->copy.stream != NULL)
		psgi_gpu_settle(gpu);
	for (size_t i = 0; i < PSGI_FAMILIES; i++)
		if (gpu->modules[i] != NULL)
			(void)gpu->cuda->module_unload(gpu->modules[i]);
	psgi_gpu_marks_free(gpu, gpu->marks);
	psgi_lane_free(gpu, &gpu->compute);
	psgi_lane_free(gpu, &gpu->copy);
	if (gpu->ahead_event != NULL)
		(void)gpu->cuda->event_destroy(gpu->ahead_event);
	if (gpu->compute_event != NULL)
		(void)gpu->cuda->event_destroy(gpu->compute_event);
	for (size_t i = 0; i < PSGI_GPU_POINTS; i++)
		if (gpu->points[i].event != NULL)
			(void)gpu->cuda->event_destroy(gpu->points[i].event);
	psgi_gpu_free_pool(gpu);
	if (pushed)
		(void)gpu->cuda->context_pop(&context);
	(void)gpu->cuda->context_release(gpu->handle);
}

static void close_device(psg_device *device)
{
	psgi_gpu *gpu = psgi_gpu_of(device);

	if (psgi_cuda_forked())
		psgi_gpu_free_pool(gpu); /* the account only: the rest is the parent's */
	else if (gpu->context != NULL)
		free_in_context(gpu);
	for (int family = 0; family < PSGI_FAMILIES; family++)
		free(gpu->refused[family]);
	free(gpu);
}

static void memory(const psg_device *device, psgi_device_memory *out)
{
	const psgi_gpu_pool *pool = &((const psgi_gpu *)device)->pool;

	*out = (psgi_device_memory){ pool->used, pool->held, pool->high, pool->limit };
}

static const psgi_device_ops gpu_ops = { psgi_gpu_take, psgi_gpu_give, close_device, enter,
					 leave,         psgi_gpu_trim, memory };

/* --- opening --- */

static psg_status read_limit(psgi_gpu *gpu, psg_error *error)
{
	const char *text = getenv("PAGESIFT_GPU_MEMORY"), *pool = getenv("PAGESIFT_GPU_POOL");
	size_t total = (size_t)gpu->device.info.gpu.total_bytes;

	gpu->pool.limit = total;
	gpu->pool.keeps = pool == NULL || strcmp(pool, "off") != 0;
	if (text == NULL || text[0] == '\0' || psgi_pool_parse_limit(text, total, &gpu->pool.limit))
		return PSG_OK;
	return psgi_fail(error, PSG_INVALID,
			 "PAGESIFT_GPU_MEMORY=%.40s: want bytes, with K, M or G behind them, or a "
			 "percentage such as 50%%",
			 text);
}

static psg_status read_operators(psgi_gpu *gpu, psg_error *error)
{
	static const struct {
		const char *name;
		psgi_operators wish;
	} wishes[] = { { "", PSGI_OPERATORS_AUTO },
		       { "auto", PSGI_OPERATORS_AUTO },
		       { "gpu", PSGI_OPERATORS_GPU },
		       { "cpu", PSGI_OPERATORS_CPU } };
	const char *text = getenv("PAGESIFT_OPERATORS");

	for (size_t i = 0; i < sizeof(wishes) / sizeof(wishes[0]); i++) {
		if (strcmp(text != NULL ? text : "", wishes[i].name) == 0) {
			gpu->device.operators = wishes[i].wish;
			return PSG_OK;
		}
	}
	return psgi_fail(error, PSG_INVALID, "PAGESIFT_OPERATORS=%.40s: want auto, gpu or cpu",
			 text);
}

static psg_status choose_ptx(psgi_gpu *gpu, psg_error *error)
{
	const char *text = getenv("PAGESIFT_PTX");
	int wanted = 0;
	char rest;

	gpu->ptx = gpu->device.info.gpu.ptx;
	if (text == NULL || text[0] == '\0')
		return PSG_OK;
	if (sscanf(text, "sm_%3d%c", &wanted, &rest) == 1 && wanted > 0 &&
	    psgi_ptx_target(wanted) == wanted) {
		gpu->ptx = wanted;
		gpu->device.info.gpu.ptx = wanted;
		gpu->ptx_forced = true;
		return PSG_OK;
	}
#define TARGET(target) " sm_" #target
	return psgi_fail(error, PSG_INVALID,
			 "PAGESIFT_PTX=%.40s: this build has" PSGI_PTX_TARGETS(TARGET), text);
#undef TARGET
}

static psg_status read_limits(psgi_gpu *gpu, psg_error *error)
{
	const psg_gpu_info *info = &gpu->device.info.gpu;
	int shared = 0;
	CUresult result = gpu->cuda->device_attribute(
		&shared, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, gpu->handle);

	if (result != CUDA_SUCCESS)
		return psgi_gpu_fail(gpu, result, "cuDeviceGetAttribute", error);
	gpu->limits = (psgi_gpu_limits){ info->capability, info->multiprocessors, (size_t)shared };
	return PSG_OK;
}

static CUresult make_streams(psgi_gpu *gpu, const char **call)
{
	const psgi_cuda *cuda = gpu->cuda;
	CUresult result;

	*call = "cuStreamCreate";
	result = cuda->stream_create(&gpu->compute.stream, CU_STREAM_NON_BLOCKING);
	if (result == CUDA_SUCCESS)
		result = cuda->stream_create(&gpu->copy.stream, CU_STREAM_NON_BLOCKING);
	if (result != CUDA_SUCCESS)
		return result;
	*call = "cuEventCreate";
	result = cuda->event_create(&gpu->ahead_event, CU_EVENT_DISABLE_TIMING);
	if (result == CUDA_SUCCESS)
		result = cuda->event_create(&gpu->compute_event, CU_EVENT_DISABLE_TIMING);
	return result;
}

/* The parts that need the context, which is left as it was. */
static psg_status open_in_context(psgi_gpu *gpu, psg_error *error)
{
	const char *call = "cuMemGetInfo_v2";
	size_t available = 0, total = 0;
	psg_status status = psgi_gpu_enter(gpu, error);
	CUresult result;

	if (status != PSG_OK)
		return status;
	result = gpu->cuda->memory_info(&available, &total);
	gpu->device.info.gpu.free_bytes = available;
	if (result == CUDA_SUCCESS)
		result = make_streams(gpu, &call);
	if (result != CUDA_SUCCESS)
		status = psgi_gpu_fail(gpu, result, call, error);
	psgi_gpu_leave(gpu);
	return status;
}

static void describe(psgi_gpu *gpu)
{
	psg_device_info *info = &gpu->device.info;

	(void)snprintf(info->detail, sizeof(info->detail), "%.60s, sm_%d, CUDA %d.%d%s%.20s",
		       info->gpu.name, gpu->ptx, PSGI_CUDA_VERSION(info->gpu.cuda),
		       info->gpu.driver[0] != '\0' ? ", driver " : "", info->gpu.driver);
}

static psg_status open_card(psgi_gpu *gpu, int32_t index, psg_error *error)
{
	psg_status status =
		psgi_gpu_describe(gpu->cuda, index, &gpu->handle, &gpu->device.info.gpu, error);
	const char *outer;
	CUresult result;

	if (status == PSG_OK)
		status = read_limit(gpu, error);
	if (status == PSG_OK)
		status = read_operators(gpu, error);
	if (status == PSG_OK)
		status = choose_ptx(gpu, error);
	if (status == PSG_OK)
		status = read_limits(gpu, error);
	if (status != PSG_OK)
		return status;
	outer = psgi_phase_begin("cuDevicePrimaryCtxRetain");
	result = gpu->cuda->context_retain(&gpu->context, gpu->handle);
	psgi_phase_end(outer);
	if (result != CUDA_SUCCESS) {
		gpu->context = NULL;
		return psgi_gpu_fail(gpu, result, "cuDevicePrimaryCtxRetain", error);
	}
	status = open_in_context(gpu, error);
	describe(gpu);
	return status;
}

psg_status psgi_gpu_open(int32_t index, psg_device **out, psg_error *error)
{
	int64_t begin = psg_now_ns();
	const psgi_cuda *cuda;
	psg_status status;
	psgi_gpu *gpu;

	*out = NULL;
	status = psgi_gpu_driver(&cuda, error);
	if (status != PSG_OK)
		return status;
	gpu = calloc(1, sizeof(*gpu));
	if (gpu == NULL)
		return psgi_fail(error, PSG_NOMEM, "no memory for a GPU device");
	gpu->cuda = cuda;
	gpu->owner = pthread_self();
	gpu->device.ops = &gpu_ops;
	gpu->device.info.kind = PSG_DEVICE_CUDA;
	gpu->device.info.threads = 1;
	(void)snprintf(gpu->device.info.name, sizeof(gpu->device.info.name), "cuda:%d", index);
	status = open_card(gpu, index, error);
	if (status != PSG_OK) {
		close_device(&gpu->device);
		return status;
	}
#ifdef _OPENMP
	/* Of the calling thread, which owns this device: what it does on the host takes one core,
	 * so that no threads spin beside a worker that mostly waits for its card. */
	omp_set_num_threads(1);
#endif
	psgi_log(PSG_LOG_INFO, "%s: %s, opened in %.1f ms", gpu->device.info.name,
		 gpu->device.info.detail, (double)(psg_now_ns() - begin) / 1e6);
	*out = &gpu->device;
	return PSG_OK;
}

/* --- telling --- */

int psgi_gpu_ptx(const psg_device *device)
{
	return ((const psgi_gpu *)device)->ptx;
}

const psgi_gpu_limits *psgi_gpu_limits_get(const psg_device *device)
{
	return &((const psgi_gpu *)device)->limits;
}

void psgi_gpu_stats_get(const psg_device *device, psgi_gpu_stats *out)
{
	const psgi_gpu *gpu = (const psgi_gpu *)device;
	const psgi_gpu_pool *pool = &gpu->pool;

	*out = (psgi_gpu_stats){
		.used_bytes = pool->used,
		.held_bytes = pool->held,
		.high_bytes = pool->high,
		.limit_bytes = pool->limit,
		.allocs = pool->allocs,
		.driver_allocs = pool->driver_allocs,
		.trims = pool->trims,
		.launches = gpu->launches,
		.copies = gpu->copies,
		.families = gpu->families,
		.load_ns = gpu->load_ns,
	};
}
