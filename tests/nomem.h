/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Allocations of the library, threads among them, that fail on demand.
 *
 * The program is linked with --wrap for each of the functions below, which
 * catches the calls of the library's own objects and of the test, but not those
 * inside shared libraries, whose failures are not ours to handle.
 */
#ifndef PSG_TESTS_NOMEM_H
#define PSG_TESTS_NOMEM_H

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Allocations to come before the one that fails; below 0: none does. */
static atomic_long t_nomem_left = -1;
static atomic_bool t_nomem_on;      /* all after it fail, too */
static atomic_long t_nomem_calls;   /* since t_nomem_arm */
static atomic_long t_nomem_refused; /* of them */

static inline void t_nomem_arm(long left, bool from_then_on)
{
	atomic_store(&t_nomem_calls, 0);
	atomic_store(&t_nomem_refused, 0);
	atomic_store(&t_nomem_on, from_then_on);
	atomic_store(&t_nomem_left, left);
}

static inline void t_nomem_disarm(void)
{
	atomic_store(&t_nomem_on, false);
	atomic_store(&t_nomem_left, -1);
}

static inline bool t_nomem_refuse(void)
{
	long left = atomic_fetch_sub(&t_nomem_left, 1);

	(void)atomic_fetch_add(&t_nomem_calls, 1);
	if (left != 0 && !(left < 0 && atomic_load(&t_nomem_on)))
		return false;
	(void)atomic_fetch_add(&t_nomem_refused, 1);
	errno = ENOMEM;
	return true;
}

#define T_NOMEM_WRAP(name, parameters, arguments)                                                  \
	void *__real_##name parameters;                                                            \
	void *__wrap_##name parameters;                                                            \
	void *__wrap_##name parameters                                                             \
	{                                                                                          \
		return t_nomem_refuse() ? NULL : __real_##name arguments;                          \
	}

T_NOMEM_WRAP(malloc, (size_t size), (size))
T_NOMEM_WRAP(calloc, (size_t n, size_t size), (n, size))
T_NOMEM_WRAP(realloc, (void *old, size_t size), (old, size))
T_NOMEM_WRAP(reallocarray, (void *old, size_t n, size_t size), (old, n, size))
T_NOMEM_WRAP(aligned_alloc, (size_t alignment, size_t size), (alignment, size))
T_NOMEM_WRAP(strdup, (const char *text), (text))

int __real_posix_memalign(void **memory, size_t alignment, size_t size);
int __wrap_posix_memalign(void **memory, size_t alignment, size_t size);
int __wrap_posix_memalign(void **memory, size_t alignment, size_t size)
{
	return t_nomem_refuse() ? ENOMEM : __real_posix_memalign(memory, alignment, size);
}

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
			  void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
			  void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*run)(void *),
			  void *argument)
{
	return t_nomem_refuse() ? EAGAIN : __real_pthread_create(thread, attributes, run, argument);
}

#endif
