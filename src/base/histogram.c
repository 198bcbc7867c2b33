/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "base/histogram.h"

/* A bucket's width is 1/8 of the power of two that it begins in. */
#define BITS 3
#define PER_POWER ((size_t)1 << BITS)

size_t psgi_histogram_bucket(uint64_t value)
{
	unsigned shift;

	if (value < 2 * PER_POWER)
		return (size_t)value;
	shift = 63 - (unsigned)__builtin_clzll(value) - BITS;
	/* The highest bit of what is left is that of the power. */
	return shift * PER_POWER + (size_t)(value >> shift);
}

uint64_t psg_histogram_least(size_t bucket)
{
	size_t shift;

	if (bucket < 2 * PER_POWER || bucket >= PSG_HISTOGRAM_BUCKETS)
		return bucket < PSG_HISTOGRAM_BUCKETS ? bucket : 0;
	shift = bucket / PER_POWER - 1;
	return (uint64_t)(bucket - shift * PER_POWER) << shift;
}

uint64_t psg_histogram_greatest(size_t bucket)
{
	if (bucket >= PSG_HISTOGRAM_BUCKETS)
		return 0;
	/* Past the last one nothing is least: 0 - 1 is UINT64_MAX. */
	return psg_histogram_least(bucket + 1) - 1;
}

/* Relaxed: no other thread writes. */
static uint64_t own(const _Atomic uint64_t *word)
{
	return atomic_load_explicit(word, memory_order_relaxed);
}

static void raise(_Atomic uint64_t *word, uint64_t value)
{
	if (own(word) < value)
		atomic_store_explicit(word, value, memory_order_relaxed);
}

static uint64_t add(uint64_t a, uint64_t b)
{
	uint64_t sum;

	return __builtin_add_overflow(a, b, &sum) ? UINT64_MAX : sum;
}

static uint64_t times(uint64_t value, uint32_t n)
{
	uint64_t product;

	return __builtin_mul_overflow(value, n, &product) ? UINT64_MAX : product;
}

void psgi_histogram_note(psgi_histogram *histogram, uint64_t value)
{
	psgi_histogram_note_all(histogram, value, 1);
}

void psgi_histogram_note_all(psgi_histogram *histogram, uint64_t value, uint32_t n)
{
	_Atomic uint64_t *bucket = &histogram->bucket[psgi_histogram_bucket(value)];

	raise(&histogram->max, value);
	raise(&histogram->below, UINT64_MAX - value);
	atomic_store_explicit(&histogram->sum, add(own(&histogram->sum), times(value, n)),
			      memory_order_relaxed);
	/* Release: who sees the count sees the rest. */
	atomic_store_explicit(bucket, own(bucket) + n, memory_order_release);
}

void psgi_histogram_get(const psgi_histogram *histogram, psg_histogram *out)
{
	out->count = 0;
	for (size_t i = 0; i < PSG_HISTOGRAM_BUCKETS; i++) {
		out->bucket[i] = atomic_load_explicit(&histogram->bucket[i], memory_order_acquire);
		out->count += out->bucket[i];
	}
	if (out->count == 0) {
		out->sum = out->min = out->max = 0;
		return;
	}
	out->sum = atomic_load_explicit(&histogram->sum, memory_order_relaxed);
	out->max = atomic_load_explicit(&histogram->max, memory_order_relaxed);
	out->min = UINT64_MAX - atomic_load_explicit(&histogram->below, memory_order_relaxed);
}

/* The bucket's middle is off by half its width, which is 1/16 of its least value. */
static uint64_t middle(const psg_histogram *histogram, size_t bucket)
{
	uint64_t least = psg_histogram_least(bucket);
	uint64_t value = least + (psg_histogram_greatest(bucket) - least) / 2;

	if (value < histogram->min)
		return histogram->min;
	return value < histogram->max ? value : histogram->max;
}

/* ceil(q * count) within 1..count; `count` is not 0. */
static uint64_t place_of(double q, uint64_t count)
{
	double exact;
	uint64_t place;

	if (!(q > 0)) /* also what is no number */
		return 1;
	if (q >= 1)
		return count;
	exact = q * (double)count;
	if (exact >= (double)count) /* rounded up from just below it */
		return count;
	place = (uint64_t)exact;
	if ((double)place < exact)
		place++;
	return place > 0 ? place : 1;
}

uint64_t psg_histogram_quantile(const psg_histogram *histogram, double q)
{
	uint64_t place, seen = 0;

	if (histogram->count == 0)
		return 0;
	place = place_of(q, histogram->count);
	if (place <= 1)
		return histogram->min;
	for (size_t i = 0; i < PSG_HISTOGRAM_BUCKETS && place < histogram->count; i++) {
		seen += histogram->bucket[i];
		if (seen >= place)
			return middle(histogram, i);
	}
	return histogram->max;
}

void psg_histogram_add(psg_histogram *to, const psg_histogram *from)
{
	if (from->count == 0)
		return;
	if (to->count == 0 || from->min < to->min)
		to->min = from->min;
	if (from->max > to->max)
		to->max = from->max;
	to->count += from->count;
	to->sum = add(to->sum, from->sum);
	for (size_t i = 0; i < PSG_HISTOGRAM_BUCKETS; i++)
		to->bucket[i] += from->bucket[i];
}
