/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every kernel against the reference path.
 *
 * Sizes are odd and around those of tiles and blocks; what lies in padding
 * columns is NaN, so that a kernel that reads it shows.
 */
#include "config.h"

#include "t_gpu.h"

#include <stdlib.h>

int main(void)
{
	Suite *suite = suite_create("kernels");
	SRunner *runner = srunner_create(suite);
	int failed;

	t_gpu_products(suite);
	t_gpu_windows(suite);
	t_gpu_elements(suite);
	t_gpu_moves(suite);
	t_gpu_sequences(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
