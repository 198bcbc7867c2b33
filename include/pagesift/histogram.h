/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Histograms on a logarithmic scale: how often values of each size came.
 *
 * Values below 16 have a bucket each; above, each power of two is cut into 8 buckets, so that any
 * value of 64 bits is known by one part in 8.  Plain data: what the library fills in is a copy,
 * which nobody changes any more.  All functions here are for any thread and never block.
 */
#ifndef PAGESIFT_HISTOGRAM_H
#define PAGESIFT_HISTOGRAM_H

#include <pagesift/error.h>

#ifdef __cplusplus
extern "C" {
#endif

/* 16 for the values below 16, and 8 for each of the 60 powers of two from there on. */
#define PSG_HISTOGRAM_BUCKETS 496

typedef struct psg_histogram {
	uint64_t count;    /* values: the sum of the buckets */
	uint64_t sum;      /* of the values; what is too large ends at UINT64_MAX */
	uint64_t min, max; /* exact; 0 where there are no values */
	uint64_t bucket[PSG_HISTOGRAM_BUCKETS];
} psg_histogram;

/*
 * The value that the fraction `q` of the values does not exceed: of the values in order the one at
 * place ceil(q * count), the first where `q` is 0 or less, or no number, the last from 1 on.  Off
 * by at most 1/16 of it; the first and the last exactly.  0 where there are no values.
 */
PSG_API uint64_t psg_histogram_quantile(const psg_histogram *histogram, double q);

/* The least and the greatest value that bucket `bucket` counts, for who exports buckets; 0 past the
 * last one. */
PSG_API uint64_t psg_histogram_least(size_t bucket);
PSG_API uint64_t psg_histogram_greatest(size_t bucket);

/* Adds the values of `from` to those of `to`, as of several workers. */
PSG_API void psg_histogram_add(psg_histogram *to, const psg_histogram *from);

#ifdef __cplusplus
}
#endif
#endif
