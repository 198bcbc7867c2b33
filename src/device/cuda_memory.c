/* SPDX-License-Identifier: Apache-2.0 */
/* A GPU's memory: blocks of the pool, of the driver where the pool has none, and none at all. */
#include "config.h"

#include "device/cuda_internal.h"

#include "base/base.h"

#include <stdint.h>
#include <stdlib.h>

/* The driver's addresses are numbers. */
static void *to_pointer(CUdeviceptr address)
{
	return (void *)(uintptr_t)address; /* NOLINT(performance-no-int-to-ptr): as said */
}

static void release(psgi_gpu *gpu, psgi_block *block)
{
	gpu->pool.held -= block->bytes;
	if (!psgi_cuda_forked())
		(void)gpu->cuda->memory_free((CUdeviceptr)(uintptr_t)block->address);
	free(block);
}

bool psgi_gpu_trim_pool(psgi_gpu *gpu)
{
	psgi_block *block = psgi_pool_take_idle(&gpu->pool);

	if (block == NULL)
		return false;
	psgi_gpu_settle(gpu);
	gpu->pool.trims++;
	for (; block != NULL; block = psgi_pool_take_idle(&gpu->pool))
		release(gpu, block);
	return true;
}

static psg_status out_of_memory(psgi_gpu *gpu, size_t bytes, psg_error *error)
{
	const psgi_gpu_pool *pool = &gpu->pool;
	size_t available = 0, total = 0;

	(void)gpu->cuda->memory_info(&available, &total);
	return psgi_fail(error, PSG_OOM,
			 PSG_OOM_TAG ": %s: %zu bytes were asked for; this device uses %zu of the "
				     "%zu it may, and the card has %zu of %zu free",
			 gpu->device.info.name, bytes, pool->used, pool->limit, available, total);
}

/* What the account may not have would be refused with a free card, too. */
static psg_status check_account(const psgi_gpu *gpu, size_t bytes, size_t size, psg_error *error)
{
	psgi_memory_account *account = gpu->device.account;

	if (account == NULL || (size <= account->limit && account->used <= account->limit - size))
		return PSG_OK;
	account->refused = true;
	return psgi_fail(
		error, PSG_OOM,
		PSG_OOM_TAG ": %s: %zu bytes were asked for; '%s' uses %zu of the %zu that "
			    "its memory share lets it have",
		gpu->device.info.name, bytes, account->name, account->used, account->limit);
}

/* One try; `*result` says what the driver did. */
static void *ask(psgi_gpu *gpu, size_t size, CUresult *result)
{
	CUdeviceptr address = 0;

	*result = CUDA_ERROR_OUT_OF_MEMORY;
	if (size > gpu->pool.limit || gpu->pool.held > gpu->pool.limit - size)
		return NULL;
	*result = gpu->cuda->memory_alloc(&address, size);
	return *result == CUDA_SUCCESS ? to_pointer(address) : NULL;
}

/* The idle block whose place the new one takes. */
static void replace(psgi_gpu *gpu, size_t size)
{
	psgi_block *replaced = psgi_pool_replaced(&gpu->pool, size);

	if (replaced == NULL)
		return;
	psgi_gpu_settle(gpu);
	release(gpu, replaced);
}

/* A new block of the driver; before it says that there is none, idle blocks go back to it. */
static psg_status grow(psgi_gpu *gpu, size_t bytes, size_t size, psgi_block **out, psg_error *error)
{
	psgi_gpu_pool *pool = &gpu->pool;
	psgi_block *block;
	CUresult result;

	block = calloc(1, sizeof(*block));
	if (block == NULL)
		return psgi_fail(error, PSG_NOMEM, "no memory to keep account of GPU memory");
	block->address = ask(gpu, size, &result);
	if (result == CUDA_ERROR_OUT_OF_MEMORY && psgi_gpu_trim_pool(gpu))
		block->address = ask(gpu, size, &result);
	if (result != CUDA_SUCCESS) {
		free(block);
		return result == CUDA_ERROR_OUT_OF_MEMORY
			       ? out_of_memory(gpu, bytes, error)
			       : psgi_gpu_fail(gpu, result, "cuMemAlloc_v2", error);
	}
	block->bytes = size;
	pool->driver_allocs++;
	pool->held += size;
	if (pool->held > pool->high)
		pool->high = pool->held;
	*out = block;
	return PSG_OK;
}

static size_t block_bytes(const psgi_gpu *gpu, size_t bytes)
{
	return gpu->pool.keeps ? psgi_pool_size(bytes) : bytes + (bytes == 0);
}

size_t psgi_gpu_block_bytes(const psg_device *device, size_t bytes)
{
	return block_bytes((const psgi_gpu *)device, bytes);
}

/* A ratio of 1 is for what lasts, which takes nobody's place either.  Work up to `done` keeps
 * nobody waiting. */
static psg_status alloc(psgi_gpu *gpu, size_t bytes, size_t ratio, uint64_t done, void **out,
			psg_error *error)
{
	size_t size = block_bytes(gpu, bytes);
	psgi_block *block = NULL;
	psg_status status = psgi_gpu_enter(gpu, error);

	*out = NULL;
	if (status != PSG_OK)
		return status;
	gpu->pool.allocs++;
	status = size == 0 ? out_of_memory(gpu, bytes, error)
			   : check_account(gpu, bytes, size, error);
	if (status == PSG_OK)
		block = psgi_pool_reuse(&gpu->pool, size, ratio, done);
	if (status == PSG_OK && block == NULL) {
		if (ratio > 1)
			replace(gpu, size);
		status = grow(gpu, bytes, size, &block, error);
	}
	psgi_gpu_leave(gpu);
	if (block == NULL)
		return status;
	psgi_pool_add_used(&gpu->pool, block,
			   gpu->device.account != NULL ? &gpu->device.account->used : NULL);
	*out = block->address;
	return PSG_OK;
}

psg_status psgi_gpu_alloc(psg_device *device, size_t bytes, void **out, psg_error *error)
{
	return alloc(psgi_gpu_of(device), bytes, PSGI_POOL_RATIO, UINT64_MAX, out, error);
}

psg_status psgi_gpu_alloc_ahead(psg_device *device, size_t bytes, void **out, psg_error *error)
{
	psgi_gpu *gpu = psgi_gpu_of(device);

	return alloc(gpu, bytes, PSGI_POOL_RATIO, gpu->done, out, error);
}

psg_status psgi_gpu_alloc_lasting(psg_device *device, size_t bytes, void **out, psg_error *error)
{
	return alloc(psgi_gpu_of(device), bytes, 1, UINT64_MAX, out, error);
}

void *psgi_gpu_take(psg_device *device, size_t bytes)
{
	void *memory;

	(void)psgi_gpu_alloc(device, bytes, &memory, NULL);
	return memory;
}

/* Work up to `freed_at` may still use it. */
static void give(psg_device *device, void *memory, uint64_t freed_at)
{
	psgi_gpu *gpu = psgi_gpu_of(device);
	psgi_block *block = psgi_pool_take_used(&gpu->pool, memory);

	if (block == NULL)
		return;
	block->freed_at = freed_at;
	psgi_pool_add_idle(&gpu->pool, block);
	if (!gpu->pool.keeps)
		psgi_gpu_trim(device);
}

void psgi_gpu_give(psg_device *device, void *memory)
{
	give(device, memory, psgi_gpu_of(device)->queued);
}

void psgi_gpu_free_at(psg_device *device, const psgi_gpu_point *point, void *memory)
{
	if (memory != NULL)
		give(device, memory, point->queued);
}

void psgi_gpu_trim(psg_device *device)
{
	psgi_gpu *gpu = psgi_gpu_of(device);

	if (psgi_gpu_enter(gpu, NULL) != PSG_OK)
		return; /* what is idle stays until the device is closed */
	(void)psgi_gpu_trim_pool(gpu);
	psgi_gpu_leave(gpu);
}

void psgi_gpu_free_pool(psgi_gpu *gpu)
{
	psgi_block *block;

	while ((block = psgi_pool_take_any(&gpu->pool)) != NULL)
		psgi_pool_add_idle(&gpu->pool, block);
	while ((block = psgi_pool_take_idle(&gpu->pool)) != NULL)
		release(gpu, block);
}
