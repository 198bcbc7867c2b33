/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every kernel against the reference path.
 *
 * Sizes are odd and around those of tiles and blocks; what lies in padding
 * columns is NaN, so that a kernel that reads it shows.
 */
#include "config.h"

#include "t_gpu.h"

#include <stdio.h>
#include <stdlib.h>

/* More than 65,535 samples, rows or planes: what a card takes along x only. */
#define MANY 65539

START_TEST(many)
{
	const t_gpu_case cases[] = {
		{ .kind = PSG_OP_MATMUL, .n_in = 2, .in = { T_S(MANY, 1, 2), T_S(MANY, 2, 1) } },
		{ .kind = PSG_OP_MATMUL, .n_in = 2, .in = { T_S(MANY, 2), T_S(2, 3) } },
		{ .kind = PSG_OP_MATMUL, .n_in = 2, .in = { T_S(1, 2), T_S(2, MANY) } },
		{ .kind = PSG_OP_CONV, .n_in = 2, .in = { T_S(MANY, 1, 1, 3), T_S(1, 1, 1, 2) } },
		{ .kind = PSG_OP_CONV, .n_in = 2, .in = { T_S(MANY, 2, 1, 3), T_S(1, 2, 1, 2) } },
		{ .kind = PSG_OP_CONV, .n_in = 2, .in = { T_S(1, 1, 1, 3), T_S(MANY, 1, 1, 2) } },
		{ .kind = PSG_OP_POOL_MAX,
		  .n_in = 1,
		  .in = { T_S(MANY, 1, 2, 2) },
		  .params = { .pool.window = { .kernel = { 2, 2 } } } },
		{ .kind = PSG_OP_GLOBAL_AVG, .n_in = 1, .in = { T_S(1, MANY, 1, 3) } },
		{ .kind = PSG_OP_SOFTMAX,
		  .n_in = 1,
		  .in = { T_S(MANY, 3) },
		  .params = { .softmax = { .axis = 1 } } },
		{ .kind = PSG_OP_CHW_TO_SEQ, .n_in = 1, .in = { T_S(MANY, 2, 1, 3) } },
		{ .kind = PSG_OP_ATTENTION,
		  .n_in = 1,
		  .in = { T_S(MANY / 16, 1, 3 * 16) },
		  .params = { .attention = { .heads = 16 } } },
		{ .kind = PSG_OP_CTC_DIGEST, .n_in = 1, .in = { T_S(MANY, 1, 3) } },
		{ .kind = PSG_OP_ADD, .n_in = 2, .in = { T_S(2, MANY, 1, 2), T_S(MANY, 1, 1) } },
		{ .kind = PSG_OP_PAD_RB,
		  .n_in = 1,
		  .in = { T_S(MANY, 1, 1) },
		  .params = { .pad = { .end = { 1, 1 } } } },
	};
	char what[64];

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i += T_EVERY) {
		t_gpu_case c = cases[i];

		c.of_sums = true;
		(void)snprintf(what, sizeof(what), "many %zu", i);
		t_gpu_check(&c, what);
	}
}
END_TEST

int main(void)
{
	TCase *tcase = tcase_create("many");
	Suite *suite = suite_create("kernels");
	SRunner *runner = srunner_create(suite);
	int failed;

	tcase_set_timeout(tcase, 600);
	tcase_add_checked_fixture(tcase, NULL, t_gpu_close);
	tcase_add_test(tcase, many);
	suite_add_tcase(suite, tcase);
	t_gpu_products(suite);
	t_gpu_windows(suite);
	t_gpu_elements(suite);
	t_gpu_moves(suite);
	t_gpu_sequences(suite);
	t_gpu_integers(suite);
	t_gpu_host(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
