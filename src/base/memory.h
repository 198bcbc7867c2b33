/* SPDX-License-Identifier: Apache-2.0 */
/* Memory for what is computed with: tensors, packed weights, the arena of a run. */
#ifndef PSG_BASE_MEMORY_H
#define PSG_BASE_MEMORY_H

#include <stddef.h>

/* A cache line, and the widest vector of today's CPUs. */
#define PSGI_ALIGNMENT 64

/* Aligned memory to be free()d, a multiple of the alignment long; NULL: there is none. */
void *psgi_memory_alloc(size_t bytes);

#endif
