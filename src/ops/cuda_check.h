/* SPDX-License-Identifier: Apache-2.0 */
/* The cases of a GPU's self-test: a table of operators on small operands. */
#ifndef PSG_OPS_CUDA_CHECK_H
#define PSG_OPS_CUDA_CHECK_H

#include "ops/kernel.h"

#define PSGI_CHECK_INPUTS 5
#define PSGI_CHECK_SAMPLES 8 /* at most, where there are valid widths */

typedef struct psgi_check_case {
	psg_op_kind kind;
	psg_op_params params;
	size_t n_in, n_out; /* n_out 0: one */
	/* A dimension of -K is K for each multiprocessor and one more: which kernel does a product
	 * depends on whether its tiles keep all of them busy. */
	psg_shape in[PSGI_CHECK_INPUTS];
	psg_dtype dtype[PSGI_CHECK_INPUTS];
	int64_t least, most; /* of whole numbers; both 0: -9 and 9 */
	int32_t valid_axis;  /* of input 0, where the samples get different widths; 0: none */
	psgi_epilogue post[PSGI_MAX_EPILOGUE];
	size_t n_post;
	float scale;   /* the inputs are in -scale..scale; 0: 1 */
	bool positive; /* in 0..scale */
	bool whole;    /* rounded, so that some are equal */
	bool sums;     /* of products: errors are relative to the largest result */
} psgi_check_case;

extern const psgi_check_case psgi_check_cases[];
extern const size_t psgi_check_n;

#endif
