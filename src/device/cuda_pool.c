/* SPDX-License-Identifier: Apache-2.0 */
/* A GPU's caching pool, see cuda_pool.h. */
#include "config.h"

#include "device/cuda_pool.h"

#include "base/checked.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define OCTAVE_SIZES 8

size_t psgi_pool_size(size_t bytes)
{
	size_t step, size;

	if (bytes <= PSGI_POOL_ALIGNMENT)
		return PSGI_POOL_ALIGNMENT;
	/* The octave of sizes (2^k, 2^(k+1)] has steps of 2^k / 8. */
	step = ((size_t)1 << (63 - __builtin_clzl(bytes - 1))) / OCTAVE_SIZES;
	if (step < PSGI_POOL_ALIGNMENT)
		step = PSGI_POOL_ALIGNMENT;
	return psgi_add_size(bytes, step - 1, &size) ? size & ~(step - 1) : 0;
}

/* --- idle blocks --- */

psgi_block *psgi_pool_reuse(psgi_gpu_pool *pool, size_t size, size_t ratio, uint64_t done)
{
	psgi_block **found = NULL, *block;

	for (psgi_block **link = &pool->idle; *link != NULL; link = &(*link)->next) {
		block = *link;
		if (block->bytes < size)
			continue;
		if (block->bytes > size && block->bytes / ratio >= size)
			break;
		if (found == NULL || block->freed_at <= done)
			found = link;
		if (block->freed_at <= done)
			break;
	}
	if (found == NULL)
		return NULL;
	block = *found;
	*found = block->next;
	return block;
}

psgi_block *psgi_pool_replaced(psgi_gpu_pool *pool, size_t size)
{
	psgi_block **found = NULL, *block;

	for (psgi_block **link = &pool->idle; *link != NULL && (*link)->bytes < size;
	     link = &(*link)->next)
		if ((*link)->bytes >= size / PSGI_POOL_RATIO)
			found = link;
	if (found == NULL)
		return NULL;
	block = *found;
	*found = block->next;
	return block;
}

psgi_block *psgi_pool_take_idle(psgi_gpu_pool *pool)
{
	psgi_block *block = pool->idle;

	if (block != NULL)
		pool->idle = block->next;
	return block;
}

void psgi_pool_add_idle(psgi_gpu_pool *pool, psgi_block *block)
{
	psgi_block **link = &pool->idle;

	while (*link != NULL && (*link)->bytes < block->bytes)
		link = &(*link)->next;
	block->next = *link;
	*link = block;
}

/* --- blocks in use --- */

/* The driver's addresses are multiples of 256. */
static size_t bucket(const void *address)
{
	return (size_t)((uintptr_t)address / PSGI_POOL_ALIGNMENT * UINT64_C(0x9e3779b97f4a7c15) >>
			40) %
	       PSGI_POOL_BUCKETS;
}

void psgi_pool_add_used(psgi_gpu_pool *pool, psgi_block *block, size_t *used_by)
{
	psgi_block **head = &pool->in_use[bucket(block->address)];

	block->next = *head;
	*head = block;
	pool->used += block->bytes;
	block->used_by = used_by;
	if (used_by != NULL)
		*used_by += block->bytes;
}

psgi_block *psgi_pool_take_used(psgi_gpu_pool *pool, const void *address)
{
	for (psgi_block **link = &pool->in_use[bucket(address)]; *link != NULL;
	     link = &(*link)->next) {
		psgi_block *block = *link;

		if (block->address != address)
			continue;
		*link = block->next;
		pool->used -= block->bytes;
		if (block->used_by != NULL)
			*block->used_by -= block->bytes;
		return block;
	}
	return NULL;
}

const psgi_block *psgi_pool_find(const psgi_gpu_pool *pool, const void *address)
{
	const psgi_block *block = pool->in_use[bucket(address)];

	while (block != NULL && block->address != address)
		block = block->next;
	return block;
}

psgi_block *psgi_pool_take_any(psgi_gpu_pool *pool)
{
	for (size_t i = 0; i < PSGI_POOL_BUCKETS; i++)
		if (pool->in_use[i] != NULL)
			return psgi_pool_take_used(pool, pool->in_use[i]->address);
	return NULL;
}

/* --- the limit --- */

static bool times(unsigned long long number, const char *suffix, size_t *bytes)
{
	static const char letters[] = "KMG";
	const char *letter;
	size_t unit = 1;

	if (*suffix == '\0') {
		*bytes = number;
		return true;
	}
	letter = strchr(letters, *suffix >= 'a' ? *suffix - 'a' + 'A' : *suffix);
	if (letter == NULL || suffix[1] != '\0')
		return false;
	unit <<= 10 * (letter - letters + 1);
	return psgi_mul_size(number, unit, bytes);
}

bool psgi_pool_parse_limit(const char *text, size_t total, size_t *limit)
{
	unsigned long long number;
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	number = strtoull(text, &end, 10);
	if (errno != 0)
		return false;
	if (strcmp(end, "%") != 0)
		return times(number, end, limit) && *limit > 0;
	*limit = total / 100 * (size_t)number;
	return number >= 1 && number <= 100;
}
