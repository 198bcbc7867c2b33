/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The caching pool of a GPU: which blocks it has, not where they come from.
 *
 * A block's size is one of 8 sizes per octave, so that at most 1/8 of it is not asked for (and less
 * than 256 bytes).  What lasts takes an idle block of its very size, or a new one.  What a run
 * takes for a while also takes the smallest idle block that is large enough, up to 8 times its
 * size; where there is none, the largest one that is smaller, by no more than that, goes back to
 * the driver as the new one comes.  So sizes that differ from run to run settle at about the
 * largest of them, at 1/8 of that for small requests, and so on: 1/7 more than the most that was in
 * use together.
 */
#ifndef PSG_DEVICE_CUDA_POOL_H
#define PSG_DEVICE_CUDA_POOL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Chosen: larger would let small requests keep large blocks from large ones. */
#define PSGI_POOL_RATIO 8

#define PSGI_POOL_ALIGNMENT 256 /* what the driver's own blocks have */
#define PSGI_POOL_BUCKETS 1024  /* of the table of blocks in use; chosen, longer chains work too */

typedef struct psgi_block {
	struct psgi_block *next;
	void *address;
	size_t bytes;
	uint64_t freed_at; /* of psgi_gpu.queued: work up to there may still use it */
	size_t *used_by;   /* bytes in use, of the account that has it; NULL: of none */
} psgi_block;

typedef struct psgi_gpu_pool {
	bool keeps; /* blocks that are given back; else every one goes to the driver at once */
	size_t limit, used, held, high; /* bytes */
	uint64_t allocs, driver_allocs, trims;
	psgi_block *in_use[PSGI_POOL_BUCKETS];
	psgi_block *idle; /* by rising size */
} psgi_gpu_pool;

/* The size of the block for a request; 0: there is none so large. */
size_t psgi_pool_size(size_t bytes);

/*
 * Takes an idle block out of this size, or of up to `ratio` times it; NULL: there is none.  The
 * smallest one that was freed at `done` or before, or else the smallest.
 */
psgi_block *psgi_pool_reuse(psgi_gpu_pool *pool, size_t size, size_t ratio, uint64_t done);

/* Takes out the idle block that a new one of `size` is to replace; NULL: none. */
psgi_block *psgi_pool_replaced(psgi_gpu_pool *pool, size_t size);

/* Takes out any idle block; NULL: none. */
psgi_block *psgi_pool_take_idle(psgi_gpu_pool *pool);

/* `used_by` counts the block, too, as long as it is in use; NULL: nobody does. */
void psgi_pool_add_used(psgi_gpu_pool *pool, psgi_block *block, size_t *used_by);
void psgi_pool_add_idle(psgi_gpu_pool *pool, psgi_block *block);

/* The block in use that begins at `address`, taken out or not; NULL: there is none. */
psgi_block *psgi_pool_take_used(psgi_gpu_pool *pool, const void *address);
const psgi_block *psgi_pool_find(const psgi_gpu_pool *pool, const void *address);

/* Takes out any block in use; NULL: none. */
psgi_block *psgi_pool_take_any(psgi_gpu_pool *pool);

/* "1000000", "512M", "50%" of `total`; false: it is none of these. */
bool psgi_pool_parse_limit(const char *text, size_t total, size_t *limit);

#endif
