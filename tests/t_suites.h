/* SPDX-License-Identifier: Apache-2.0 */
/* Test cases that test_ops.c puts together. */
#ifndef PSG_TESTS_T_SUITES_H
#define PSG_TESTS_T_SUITES_H

#include <check.h>

TCase *t_width_cases(void);
TCase *t_refusal_cases(void);

#endif
