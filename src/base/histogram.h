/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A histogram while it is counted: by one thread, without locks, and read by any other meanwhile.
 * All zero is one without values.
 */
#ifndef PSG_BASE_HISTOGRAM_H
#define PSG_BASE_HISTOGRAM_H

#include <pagesift/histogram.h>

#include <stdatomic.h>

typedef struct psgi_histogram {
	_Atomic uint64_t sum, max;
	_Atomic uint64_t below; /* UINT64_MAX - min, so that all zero is none */
	_Atomic uint64_t bucket[PSG_HISTOGRAM_BUCKETS];
} psgi_histogram;

/* Which bucket counts `value`. */
size_t psgi_histogram_bucket(uint64_t value);

/* Counts `value`: only ever one thread at a time. */
void psgi_histogram_note(psgi_histogram *histogram, uint64_t value);

/* The same `n` times. */
void psgi_histogram_note_all(psgi_histogram *histogram, uint64_t value, uint32_t n);

/* A copy.  Of a value that is being counted it may have a part: its share of `sum`, `min` and `max`
 * without the count, never the count without those. */
void psgi_histogram_get(const psgi_histogram *histogram, psg_histogram *out);

#endif
