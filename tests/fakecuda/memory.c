/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fake driver's memory: host memory of exactly the size that was asked for, so that
 * AddressSanitizer sees a kernel that goes past its end.
 */
#include "config.h"

#include "fake.h"

#include <stdlib.h>
#include <string.h>

struct block {
	struct block *next;
	char *address;
	size_t bytes;
	fake_device *device; /* NULL: pinned memory of the host */
};

static struct block *blocks;

static struct block *find(const void *address, size_t bytes, bool pinned)
{
	const char *at = address;

	for (struct block *block = blocks; block != NULL; block = block->next)
		if ((block->device == NULL) == pinned && at >= block->address &&
		    bytes <= block->bytes && (size_t)(at - block->address) <= block->bytes - bytes)
			return block;
	return NULL;
}

bool fake_is_device(const void *address, size_t bytes)
{
	return find(address, bytes, false) != NULL;
}

bool fake_is_pinned(const void *address, size_t bytes)
{
	return find(address, bytes, true) != NULL;
}

/* 256 bytes is what the real driver aligns to. */
static struct block *add(size_t bytes, fake_device *device)
{
	struct block *block = malloc(sizeof(*block));
	void *address;

	if (block == NULL || posix_memalign(&address, 256, bytes) != 0) {
		free(block);
		return NULL;
	}
	*block = (struct block){ blocks, address, bytes, device };
	blocks = block;
	return block;
}

static bool take(void *address, bool pinned, size_t *bytes)
{
	for (struct block **link = &blocks; *link != NULL; link = &(*link)->next) {
		struct block *block = *link;

		if (block->address != address || (block->device == NULL) != pinned)
			continue;
		*link = block->next;
		*bytes = block->bytes;
		free(block->address);
		free(block);
		return true;
	}
	return false;
}

CUresult cuMemAlloc_v2(CUdeviceptr *address, size_t bytes)
{
	fake_device *device;
	struct block *block;

	ENTER(cuMemAlloc_v2);
	device = fake_current();
	if (device == NULL)
		return fake_leave(CUDA_ERROR_INVALID_CONTEXT);
	if (bytes == 0)
		return fake_leave(CUDA_ERROR_INVALID_VALUE);
	if (bytes > fake_configured.memory - device->used)
		return fake_leave(CUDA_ERROR_OUT_OF_MEMORY);
	block = add(bytes, device);
	if (block == NULL)
		return fake_leave(CUDA_ERROR_OUT_OF_MEMORY);
	device->used += bytes;
	fake_counts.blocks++;
	fake_counts.allocs++;
	fake_counts.device_bytes += (int64_t)bytes;
	*address = (CUdeviceptr)(uintptr_t)block->address;
	return fake_leave(CUDA_SUCCESS);
}

CUresult cuMemFree_v2(CUdeviceptr address)
{
	CUresult fault = fake_enter_last("cuMemFree_v2");
	struct block *block = find((void *)(uintptr_t)address, 0, false);
	fake_device *device;
	size_t bytes;

	if (block == NULL)
		return fake_leave(CUDA_ERROR_INVALID_VALUE);
	device = block->device;
	fake_run_device(device); /* the real one waits for all work, too */
	if (!take((void *)(uintptr_t)address, false, &bytes))
		return fake_leave(CUDA_ERROR_INVALID_VALUE);
	device->used -= bytes;
	fake_counts.blocks--;
	fake_counts.device_bytes -= (int64_t)bytes;
	return fake_leave(fault != CUDA_SUCCESS ? fault : device->sticky);
}

CUresult cuMemHostAlloc(void **address, size_t bytes, unsigned int flags)
{
	struct block *block;

	(void)flags;
	ENTER(cuMemHostAlloc);
	if (fake_current() == NULL)
		return fake_leave(CUDA_ERROR_INVALID_CONTEXT);
	block = bytes == 0 ? NULL : add(bytes, NULL);
	if (block == NULL)
		return fake_leave(bytes == 0 ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_OUT_OF_MEMORY);
	fake_counts.pinned++;
	*address = block->address;
	return fake_leave(CUDA_SUCCESS);
}

CUresult cuMemFreeHost(void *address)
{
	CUresult fault = fake_enter_last("cuMemFreeHost");
	size_t bytes;

	if (!take(address, true, &bytes))
		return fake_leave(CUDA_ERROR_INVALID_VALUE);
	fake_counts.pinned--;
	return fake_leave(fault);
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream)
{
	fake_work work = { .kind = FAKE_COPY,
			   .to = (void *)(uintptr_t)to,
			   .from = from,
			   .bytes = bytes,
			   .to_device = true };

	ENTER(cuMemcpyHtoDAsync_v2);
	fake_log('U', fake_is_first(stream));
	if (!fake_is_device(work.to, bytes))
		return fake_leave(CUDA_ERROR_INVALID_VALUE);
	if (!fake_is_pinned(from, bytes)) {
		/* The real driver has read what is not pinned when this call returns. */
		work.owned = malloc(bytes + 1);
		if (work.owned == NULL)
			return fake_leave(CUDA_ERROR_OUT_OF_MEMORY);
		memcpy(work.owned, from, bytes);
		work.from = work.owned;
	}
	return fake_leave(fake_queue(stream, &work));
}

CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream)
{
	fake_work work = { .kind = FAKE_COPY,
			   .to = to,
			   .from = (const void *)(uintptr_t)from,
			   .bytes = bytes,
			   .from_device = true };

	ENTER(cuMemcpyDtoHAsync_v2);
	fake_log('D', fake_is_first(stream));
	if (!fake_is_device(work.from, bytes))
		return fake_leave(CUDA_ERROR_INVALID_VALUE);
	return fake_leave(fake_queue(stream, &work));
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream)
{
	fake_work work = { .kind = FAKE_COPY,
			   .to = (void *)(uintptr_t)to,
			   .from = (const void *)(uintptr_t)from,
			   .bytes = bytes,
			   .to_device = true,
			   .from_device = true };

	ENTER(cuMemcpyDtoDAsync_v2);
	if (!fake_is_device(work.to, bytes) || !fake_is_device(work.from, bytes))
		return fake_leave(CUDA_ERROR_INVALID_VALUE);
	return fake_leave(fake_queue(stream, &work));
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream)
{
	fake_work work = { .kind = FAKE_FILL,
			   .to = (void *)(uintptr_t)to,
			   .value = value,
			   .bytes = bytes,
			   .to_device = true };

	ENTER(cuMemsetD8Async);
	if (!fake_is_device(work.to, bytes))
		return fake_leave(CUDA_ERROR_INVALID_VALUE);
	return fake_leave(fake_queue(stream, &work));
}
