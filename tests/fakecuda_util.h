/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tests of the GPU: on the fake driver, or, with PAGESIFT_TEST_GPU=real in the environment, on the
 * machine's own.  Call t_gpu_begin before anything else of the library.
 */
#ifndef T_FAKECUDA_UTIL_H
#define T_FAKECUDA_UTIL_H

#include "fakecuda/fakecuda.h"

#include <stdbool.h>

bool t_gpu_real(void);

/* Makes the library use the fake driver, unless the tests are for the real one; operators go to the
 * GPU, unless PAGESIFT_OPERATORS is set before. */
void t_gpu_begin(void);

/* Of the fake driver; all zero for the real one. */
fakecuda_counts t_gpu_counts(void);
void t_gpu_fail(const char *rules); /* see FAKECUDA_FAIL */

/* Since the last t_gpu_fail, see fakecuda_log; the caller frees it.  Not for the real one. */
char *t_gpu_log(void);

/* A function of the driver that the tests use, fake or real. */
void t_gpu_symbol(const char *name, void *function);

/* Fails the test unless nothing is alive on the fake driver. */
void t_gpu_expect_nothing_left(void);

#endif
