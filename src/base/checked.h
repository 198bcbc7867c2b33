/* SPDX-License-Identifier: Apache-2.0 */
/* Arithmetic on sizes from files and callers: true on success, false on overflow. */
#ifndef PSG_BASE_CHECKED_H
#define PSG_BASE_CHECKED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static inline bool psgi_mul_size(size_t a, size_t b, size_t *out)
{
	return !__builtin_mul_overflow(a, b, out);
}

static inline bool psgi_add_size(size_t a, size_t b, size_t *out)
{
	return !__builtin_add_overflow(a, b, out);
}

static inline bool psgi_mul_i64(int64_t a, int64_t b, int64_t *out)
{
	return !__builtin_mul_overflow(a, b, out);
}

static inline bool psgi_add_i64(int64_t a, int64_t b, int64_t *out)
{
	return !__builtin_add_overflow(a, b, out);
}

/* For sums that are only shown: what is too large ends at INT64_MAX.  Neither is negative. */
static inline int64_t psgi_mul_most(int64_t a, int64_t b)
{
	int64_t out;

	return psgi_mul_i64(a, b, &out) ? out : INT64_MAX;
}

static inline int64_t psgi_add_most(int64_t a, int64_t b)
{
	int64_t out;

	return psgi_add_i64(a, b, &out) ? out : INT64_MAX;
}

#endif
