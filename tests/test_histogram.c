/* SPDX-License-Identifier: Apache-2.0 */
/* Histograms: their buckets, their error, and reading one that another thread counts. */
#include "config.h"

#include "base/histogram.h"

#include <check.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

/* The buckets cover all values without gaps, and the bounds are those of the counting. */
START_TEST(buckets_meet)
{
	ck_assert_uint_eq(psg_histogram_least(0), 0);
	for (size_t i = 0; i < PSG_HISTOGRAM_BUCKETS; i++) {
		uint64_t least = psg_histogram_least(i), greatest = psg_histogram_greatest(i);

		ck_assert_uint_le(least, greatest);
		ck_assert_uint_eq(psgi_histogram_bucket(least), i);
		ck_assert_uint_eq(psgi_histogram_bucket(greatest), i);
		if (i > 0)
			ck_assert_uint_eq(psg_histogram_greatest(i - 1) + 1, least);
		ck_assert_uint_le(greatest - least, least / 8);
	}
	ck_assert(psg_histogram_greatest(PSG_HISTOGRAM_BUCKETS - 1) == UINT64_MAX);
	ck_assert_uint_eq(psg_histogram_least(PSG_HISTOGRAM_BUCKETS), 0);
	ck_assert_uint_eq(psg_histogram_greatest(PSG_HISTOGRAM_BUCKETS), 0);
	ck_assert_uint_eq(psg_histogram_greatest(SIZE_MAX), 0);
}
END_TEST

START_TEST(nothing)
{
	static psgi_histogram counted;
	psg_histogram histogram, other;

	psgi_histogram_get(&counted, &histogram);
	ck_assert_uint_eq(histogram.count, 0);
	ck_assert_uint_eq(histogram.min, 0);
	ck_assert_uint_eq(histogram.max, 0);
	ck_assert_uint_eq(psg_histogram_quantile(&histogram, 0.5), 0);
	/* Adding nothing, and adding to nothing. */
	psgi_histogram_note(&counted, 7);
	psgi_histogram_get(&counted, &other);
	psg_histogram_add(&other, &histogram);
	ck_assert_uint_eq(other.min, 7);
	psg_histogram_add(&histogram, &other);
	ck_assert_uint_eq(histogram.count, 1);
	ck_assert_uint_eq(histogram.min, 7);
	ck_assert_uint_eq(histogram.max, 7);
}
END_TEST

START_TEST(the_ends_of_the_range)
{
	static psgi_histogram counted;
	psg_histogram histogram;

	psgi_histogram_note(&counted, UINT64_MAX);
	psgi_histogram_note(&counted, 0);
	psgi_histogram_note(&counted, 5);
	psgi_histogram_get(&counted, &histogram);
	ck_assert_uint_eq(histogram.count, 3);
	ck_assert_uint_eq(histogram.min, 0);
	ck_assert(histogram.max == UINT64_MAX);
	ck_assert_uint_eq(psg_histogram_quantile(&histogram, 0.5), 5);
	ck_assert(histogram.sum == UINT64_MAX);
	psg_histogram_add(&histogram, &histogram);
	ck_assert(histogram.sum == UINT64_MAX);
	ck_assert_uint_eq(histogram.count, 6);
}
END_TEST

/* --- quantiles beside sorted values --- */

#define SAMPLES 5000

static uint64_t state;

static uint64_t next_random(void)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407); /* Knuth */
	return state >> 11;
}

static double unit(void)
{
	return (double)next_random() / (double)(UINT64_C(1) << 53);
}

static uint64_t small(void)
{
	return next_random() % 40;
}

static uint64_t even(void)
{
	return next_random() % 1000000;
}

/* As times are: most are short, some take a thousand times as long. */
static uint64_t skewed(void)
{
	return (uint64_t)(1000 * exp(-7 * log(unit() + 1e-9)));
}

static uint64_t any_size(void)
{
	return next_random() << 11 >> next_random() % 64;
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

static uint64_t exact_quantile(const uint64_t *sorted, size_t n, double q)
{
	double place = ceil(q * (double)n);

	return sorted[place < 1 ? 0 : place > (double)n ? n - 1 : (size_t)place - 1];
}

static void compare(const psg_histogram *histogram, const uint64_t *sorted, size_t n)
{
	static const double qs[] = {
		0, 1e-6, 0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 1
	};

	for (size_t i = 0; i < sizeof(qs) / sizeof(qs[0]); i++) {
		uint64_t right = exact_quantile(sorted, n, qs[i]);
		uint64_t is = psg_histogram_quantile(histogram, qs[i]);
		uint64_t off = is > right ? is - right : right - is;

		ck_assert_msg(off <= right / 16, "quantile %g of %zu: %llu, not %llu", qs[i], n,
			      (unsigned long long)is, (unsigned long long)right);
	}
	ck_assert_uint_eq(psg_histogram_quantile(histogram, -1), sorted[0]);
	ck_assert_uint_eq(psg_histogram_quantile(histogram, NAN), sorted[0]);
	ck_assert_uint_eq(psg_histogram_quantile(histogram, 2), sorted[n - 1]);
}

static uint64_t (*const kinds[])(void) = { small, even, skewed, any_size };

START_TEST(quantiles_are_near)
{
	static const size_t sizes[] = { 1, 2, 3, 10, 101, SAMPLES };
	static uint64_t values[SAMPLES];

	for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
		psgi_histogram *counted = calloc(1, sizeof(*counted));
		psg_histogram histogram;
		uint64_t sum = 0;
		size_t n = sizes[s];

		ck_assert_ptr_nonnull(counted);
		state = n;
		for (size_t i = 0; i < n; i++) {
			values[i] = kinds[_i]();
			sum = sum > UINT64_MAX - values[i] ? UINT64_MAX : sum + values[i];
			psgi_histogram_note(counted, values[i]);
		}
		psgi_histogram_get(counted, &histogram);
		ck_assert_uint_eq(histogram.count, n);
		ck_assert(histogram.sum == sum);
		qsort(values, n, sizeof(values[0]), by_value);
		ck_assert(histogram.min == values[0] && histogram.max == values[n - 1]);
		compare(&histogram, values, n);
		free(counted);
	}
}
END_TEST

/* Halves that are added are the same as the whole. */
START_TEST(adding)
{
	static psgi_histogram half[2], whole;
	psg_histogram sum, other, both;

	state = 1;
	for (size_t i = 0; i < SAMPLES; i++) {
		uint64_t value = skewed();

		psgi_histogram_note(&half[i % 3 == 0], value);
		psgi_histogram_note(&whole, value);
	}
	psgi_histogram_get(&half[0], &sum);
	psgi_histogram_get(&half[1], &other);
	psgi_histogram_get(&whole, &both);
	psg_histogram_add(&sum, &other);
	ck_assert_int_eq(memcmp(&sum, &both, sizeof(sum)), 0);
}
END_TEST

/* --- one that is being counted --- */

#define NOTED 200000

static psgi_histogram shared;

static void *note_many(void *unused)
{
	for (uint64_t i = 0; i < NOTED; i++)
		psgi_histogram_note(&shared, 1000 - i % 1000);
	return unused;
}

/* What a reader has counted lies between min and max, and in the sum. */
START_TEST(reading_meanwhile)
{
	pthread_t writer;
	psg_histogram histogram;
	uint64_t before = 0;

	ck_assert_int_eq(pthread_create(&writer, NULL, note_many, NULL), 0);
	do {
		uint64_t least = 0;

		psgi_histogram_get(&shared, &histogram);
		ck_assert_uint_ge(histogram.count, before);
		before = histogram.count;
		for (size_t i = 0; i < PSG_HISTOGRAM_BUCKETS; i++) {
			least += histogram.bucket[i] * psg_histogram_least(i);
			if (histogram.bucket[i] == 0)
				continue;
			ck_assert_uint_le(histogram.min, psg_histogram_greatest(i));
			ck_assert_uint_ge(histogram.max, psg_histogram_least(i));
		}
		ck_assert_uint_ge(histogram.sum, least);
	} while (histogram.count < NOTED);
	ck_assert_int_eq(pthread_join(writer, NULL), 0);
	ck_assert_uint_eq(histogram.count, NOTED);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("histogram");
	TCase *cases = tcase_create("histogram");
	SRunner *runner;
	int failed;

	tcase_add_test(cases, buckets_meet);
	tcase_add_test(cases, nothing);
	tcase_add_test(cases, the_ends_of_the_range);
	tcase_add_loop_test(cases, quantiles_are_near, 0, sizeof(kinds) / sizeof(kinds[0]));
	tcase_add_test(cases, adding);
	tcase_add_test(cases, reading_meanwhile);
	tcase_set_timeout(cases, 60);
	suite_add_tcase(suite, cases);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
