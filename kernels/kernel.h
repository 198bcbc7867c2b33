/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The dialect that the files of kernels/ are written in.
 *
 * It is C11 and a handful of names, given twice: here for clang's nvptx64
 * target, and for the host, where tests/fakecuda runs the very same files.  A
 * kernel has one parameter, a struct passed by value and seen as `a`.  Blocks
 * and threads are counted along x only: x goes to 2^31 - 1, y and z do not.
 *
 *	KERNEL(name, struct x_args) { ... }             threads that never meet
 *	KERNEL_SHARED(name, struct x_args, struct x_shared) { ... }
 *			threads that share `struct x_shared SHARED *s = SHARED_OF(name)`
 *			(at most 48 KiB) and meet in BARRIER()
 *	GLOBAL, SHARED  address spaces of what a pointer points to
 *	THREAD, THREADS, BLOCK, BLOCKS  as int32_t
 *	BARRIER()       by all threads of the block or by none
 *	REPORT(to, v)   *to = v for a global 8 bytes that any thread may set and one wins
 *
 * A function that has a BARRIER takes `const place *at` and is called with `at`.
 */
#ifndef PSG_KERNELS_KERNEL_H
#define PSG_KERNELS_KERNEL_H

#include "args.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define INLINE static inline __attribute__((always_inline))
/* Four floats that are moved and computed together; 16-byte aligned. */
typedef float f4 __attribute__((vector_size(16)));

#ifdef __NVPTX__

#define SHARED __attribute__((address_space(3)))
typedef struct place place;
static const place *const at = 0;
#define KERNEL(name, args)                                                                         \
	__attribute__((nvptx_kernel)) void name(const args a);                                     \
	__attribute__((nvptx_kernel)) void name(const args a)
#define KERNEL_SHARED(name, args, memory)                                                          \
	static memory SHARED name##_memory;                                                        \
	KERNEL(name, args)
#define SHARED_OF(name) (&name##_memory)
#define THREAD ((int32_t)__nvvm_read_ptx_sreg_tid_x())
#define THREADS ((int32_t)__nvvm_read_ptx_sreg_ntid_x())
#define BLOCK ((int32_t)__nvvm_read_ptx_sreg_ctaid_x())
#define BLOCKS ((int32_t)__nvvm_read_ptx_sreg_nctaid_x())
#define BARRIER() ((void)at, __syncthreads())
#define REPORT(to, value) (*(to) = (value))
#define UNROLL _Pragma("unroll")
#define ROLLED _Pragma("nounroll")
#define OUT_OF_LINE static inline __attribute__((noinline))

#else /* the host */

#define SHARED
typedef struct place {
	int32_t thread, threads, block, blocks;
	void *shared; /* of this block */
	void *fiber;  /* what runs this thread; NULL in a plain loop */
} place;

/* What tests/fakecuda knows of a kernel. */
struct host_kernel {
	const char *name;
	size_t args_bytes, shared_bytes;
	bool meets; /* has barriers: each thread is a fiber */
	/* Without barriers all threads of a block, else the one of `at`. */
	void (*run)(const void *args, place *at);
};
void host_barrier(const place *at);

#define KERNEL(name, args)                                                                         \
	static void name##_thread(const args a, const place *at);                                  \
	static void name##_block(const void *memory, place *at)                                    \
	{                                                                                          \
		const args *a = memory;                                                            \
                                                                                                   \
		for (at->thread = 0; at->thread < at->threads; at->thread++)                       \
			name##_thread(*a, at);                                                     \
	}                                                                                          \
	extern const struct host_kernel host_##name;                                               \
	const struct host_kernel host_##name = { #name, sizeof(args), 0, false, name##_block };    \
	static void name##_thread(const args a, const place *at)
#define KERNEL_SHARED(name, args, memory)                                                          \
	typedef memory name##_memory;                                                              \
	static void name##_thread(const args a, const place *at);                                  \
	static void name##_one(const void *a, place *at)                                           \
	{                                                                                          \
		name##_thread(*(const args *)a, at);                                               \
	}                                                                                          \
	extern const struct host_kernel host_##name;                                               \
	const struct host_kernel host_##name = { #name, sizeof(args), sizeof(memory), true,        \
						 name##_one };                                     \
	static void name##_thread(const args a, const place *at)
#define SHARED_OF(name) ((name##_memory *)at->shared)
#define THREAD (at->thread)
#define THREADS (at->threads)
#define BLOCK (at->block)
#define BLOCKS (at->blocks)
#define BARRIER() host_barrier(at)
#define REPORT(to, value) __atomic_store_n(to, value, __ATOMIC_RELAXED)
#define UNROLL
#define ROLLED
#define OUT_OF_LINE static inline

#endif

/* The element or item of this thread when each has one. */
#define INDEX ((int64_t)BLOCK * THREADS + THREAD)

/* Quotient and rest of a block's number by a count of which there are no more than blocks, and so
 * fewer than 2^31: divisions of 64 bits are several times dearer, and much code. */
INLINE int32_t block_over(int32_t block, int64_t n)
{
	return (int32_t)((uint32_t)block / (uint32_t)n);
}

INLINE int32_t block_rest(int32_t block, int64_t n)
{
	return (int32_t)((uint32_t)block % (uint32_t)n);
}

#endif
