/* SPDX-License-Identifier: Apache-2.0 */
/* Character error rate: how far a text that was read is from the one that was written. */
#ifndef PSG_TESTS_ERROR_RATE_H
#define PSG_TESTS_ERROR_RATE_H

#include <stdbool.h>

/*
 * Levenshtein distance over Unicode code points, in percent of the truth's length (of 1 when it is
 * empty): so above 100 is possible.  Without `spaces` all white space is left out of both; with it,
 * a run of white space, line ends too, is one space, and none counts at either end.  A byte that is
 * not UTF-8 is a character of its own.  Time goes with the product of the lengths.  False: out of
 * memory.
 */
bool t_error_rate(const char *truth, const char *read, bool spaces, double *percent);

#endif
