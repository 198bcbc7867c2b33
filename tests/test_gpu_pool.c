/* SPDX-License-Identifier: Apache-2.0 */
/* The GPU pool's arithmetic and order, without a GPU. */
#include "config.h"

#include "device/cuda_pool.h"

#include <check.h>
#include <stdlib.h>

START_TEST(sizes_waste_little)
{
	size_t last = 0;
	int in_octave = 0;

	for (size_t n = 0; n < (size_t)1 << 22; n += n < 70000 ? 1 : 257) {
		size_t size = psgi_pool_size(n), waste = size - n;

		ck_assert_uint_ge(size, n);
		ck_assert_uint_ge(size, last);
		ck_assert_uint_eq(size % PSGI_POOL_ALIGNMENT, 0);
		ck_assert_msg(waste <= n / 8 || waste <= PSGI_POOL_ALIGNMENT, "%zu for %zu", size,
			      n);
		ck_assert_uint_eq(psgi_pool_size(size), size);
		if (size != last && size > (size_t)1 << 20 && size <= (size_t)1 << 21)
			in_octave++;
		last = size;
	}
	ck_assert_int_eq(in_octave, 8);
}
END_TEST

START_TEST(sizes_without_end)
{
	ck_assert_uint_eq(psgi_pool_size(SIZE_MAX), 0);
	ck_assert_uint_eq(psgi_pool_size(((size_t)1 << 63) + 1), ((size_t)1 << 63) / 8 * 9);
}
END_TEST

static const struct limit {
	const char *text;
	bool good;
	size_t bytes;
} limits[] = {
	{ "1", true, 1 },
	{ "1000000", true, 1000000 },
	{ "3k", true, 3072 },
	{ "512M", true, (size_t)512 << 20 },
	{ "2G", true, (size_t)2 << 30 },
	{ "50%", true, 500000 },
	{ "100%", true, 1000000 },
	{ "0", false, 0 },
	{ "0%", false, 0 },
	{ "101%", false, 0 },
	{ "", false, 0 },
	{ "-1", false, 0 },
	{ " 1", false, 0 },
	{ "M", false, 0 },
	{ "5MB", false, 0 },
	{ "5T", false, 0 },
	{ "5%%", false, 0 },
	{ "18446744073709551616", false, 0 },
	{ "18446744073709551615G", false, 0 },
};

START_TEST(limit_is_read)
{
	const struct limit *row = &limits[_i];
	size_t bytes = 0;

	ck_assert_msg(psgi_pool_parse_limit(row->text, 1000000, &bytes) == row->good, "'%s'",
		      row->text);
	if (row->good)
		ck_assert_uint_eq(bytes, row->bytes);
}
END_TEST

#define MIB ((size_t)1 << 20)

/* Rather a larger one that no queued work uses than the smallest; else that. */
START_TEST(who_does_not_wait_goes_first)
{
	static psgi_gpu_pool pool;
	psgi_block blocks[] = {
		{ NULL, &blocks[0], MIB, 7, NULL },
		{ NULL, &blocks[1], 2 * MIB, 6, NULL },
		{ NULL, &blocks[2], 3 * MIB, 3, NULL },
		{ NULL, &blocks[3], 16 * MIB, 0, NULL },
	};

	for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++)
		psgi_pool_add_idle(&pool, &blocks[i]);
	ck_assert_ptr_eq(psgi_pool_reuse(&pool, MIB, 8, 5), &blocks[2]);
	ck_assert_ptr_eq(psgi_pool_reuse(&pool, MIB, 8, 5), &blocks[0]);
	ck_assert_ptr_eq(psgi_pool_reuse(&pool, MIB, 8, 5), &blocks[1]);
	ck_assert_ptr_null(psgi_pool_reuse(&pool, MIB, 8, 5)); /* too large */
}
END_TEST

/* Idle blocks of these sizes; what is taken for a request, and what a new block replaces. */
START_TEST(larger_blocks_serve_smaller_requests)
{
	static psgi_gpu_pool pool;
	psgi_block blocks[] = {
		{ NULL, &blocks[0], 4 * MIB, 0, NULL },
		{ NULL, &blocks[1], 512, 0, NULL },
		{ NULL, &blocks[2], 9 * MIB, 0, NULL },
		{ NULL, &blocks[3], MIB / 32, 0, NULL },
	};

	for (size_t i = 0; i < sizeof(blocks) / sizeof(blocks[0]); i++)
		psgi_pool_add_idle(&pool, &blocks[i]);
	ck_assert_ptr_null(
		psgi_pool_reuse(&pool, MIB / 8, 8, UINT64_MAX)); /* the next is 32 times that */
	ck_assert_ptr_null(psgi_pool_reuse(&pool, 10 * MIB, 8, UINT64_MAX));
	ck_assert_ptr_null(
		psgi_pool_reuse(&pool, 3 * MIB, 1, UINT64_MAX)); /* what lasts wants its size */
	ck_assert_ptr_eq(psgi_pool_reuse(&pool, 512, 1, UINT64_MAX), &blocks[1]);
	ck_assert_ptr_eq(psgi_pool_reuse(&pool, 2 * MIB, 8, UINT64_MAX), &blocks[0]);
	ck_assert_ptr_eq(psgi_pool_reuse(&pool, 2 * MIB, 8, UINT64_MAX), &blocks[2]);
	psgi_pool_add_idle(&pool, &blocks[2]);
	psgi_pool_add_idle(&pool, &blocks[0]);
	ck_assert_ptr_null(psgi_pool_replaced(&pool, 2 * MIB));   /* all smaller are too small */
	ck_assert_ptr_null(psgi_pool_replaced(&pool, 400 * MIB)); /* and here */
	ck_assert_ptr_eq(psgi_pool_replaced(&pool, 10 * MIB), &blocks[2]);
	ck_assert_ptr_eq(psgi_pool_replaced(&pool, 10 * MIB), &blocks[0]);
	ck_assert_ptr_null(psgi_pool_replaced(&pool, 10 * MIB));
	ck_assert_ptr_eq(psgi_pool_take_idle(&pool), &blocks[3]);
	ck_assert_ptr_null(psgi_pool_take_idle(&pool));
}
END_TEST

START_TEST(blocks_in_use_are_found)
{
	static psgi_gpu_pool pool;
	static psgi_block blocks[5000]; /* more than buckets */
	static char memory[5000];

	for (size_t i = 0; i < 5000; i++) {
		blocks[i] = (psgi_block){ NULL, &memory[i], 256, 0, NULL };
		psgi_pool_add_used(&pool, &blocks[i], NULL);
	}
	ck_assert_uint_eq(pool.used, (size_t)5000 * 256);
	ck_assert_ptr_eq(psgi_pool_find(&pool, &memory[77]), &blocks[77]);
	ck_assert_ptr_eq(psgi_pool_take_used(&pool, &memory[77]), &blocks[77]);
	ck_assert_ptr_null(psgi_pool_take_used(&pool, &memory[77]));
	ck_assert_ptr_null(psgi_pool_find(&pool, &memory[77]));
	for (size_t i = 0; i < 4999; i++)
		ck_assert_ptr_nonnull(psgi_pool_take_any(&pool));
	ck_assert_ptr_null(psgi_pool_take_any(&pool));
	ck_assert_uint_eq(pool.used, 0);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("gpu pool");
	TCase *all = tcase_create("pool");
	SRunner *runner;
	int failed;

	tcase_set_timeout(all, 60); /* chosen: a busy machine; each size is looked at */
	tcase_add_test(all, sizes_waste_little);
	tcase_add_test(all, sizes_without_end);
	tcase_add_loop_test(all, limit_is_read, 0, (int)(sizeof(limits) / sizeof(limits[0])));
	tcase_add_test(all, who_does_not_wait_goes_first);
	tcase_add_test(all, larger_blocks_serve_smaller_requests);
	tcase_add_test(all, blocks_in_use_are_found);
	suite_add_tcase(suite, all);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
