/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs the kernels of kernels/ on the host, as a card would.
 *
 * Blocks are spread over FAKECUDA_THREADS threads (the machine's cores, at most
 * 4, when that is not set), so that ThreadSanitizer sees races between blocks.
 * Threads of a block run one after another; where they meet in barriers each is
 * a fiber, and ThreadSanitizer sees races between them too.
 */
#ifndef FAKECUDA_RUN_H
#define FAKECUDA_RUN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Is there such a kernel, and how large is its parameter? */
bool fakecuda_find(const char *kernel, size_t *args_bytes);

/*
 * Runs all blocks and returns.  A kernel that no GPU would run either (an
 * unknown name, more than one dimension, threads of a block that do not all
 * reach a barrier) ends the program with a message.  Any thread; `args` is read
 * before the call returns only.
 */
void fakecuda_run(const char *kernel, const uint32_t grid[3], const uint32_t block[3],
		  uint32_t shared_bytes, const void *args);

#endif
