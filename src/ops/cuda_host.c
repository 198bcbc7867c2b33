/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of the table a GPU leaves to the host, and why: a plan copies the
 * operands there and back.  An operator that is neither here nor has a kernel
 * fails tests/test_kernels_host.c, and so does one that is both.  Whatever the
 * operator, so is what a launch cannot count: 2^31 blocks, windows over 2^28.
 */
#include "config.h"

#include "ops/cuda.h"

#define ONE(KIND) PSG_OP_##KIND, PSG_OP_##KIND
#define WINDOWS "three spatial dimensions"
#define NOT_PLANES "pages and lines are planes: nothing that reads them has volumes"

const psgi_cuda_host psgi_cuda_hosts[] = {
	/* whole operators */
	{ ONE(SHAPE), NULL, "looks at no element: it is done when a plan is made" },
	{ ONE(SIZE), NULL, "looks at no element: it is done when a plan is made" },
	{ ONE(RANGE), NULL, "has no inputs: it is done when a plan is made" },
	{ ONE(CONSTANT_OF_SHAPE), NULL, "has no inputs: it is done when a plan is made" },
	{ PSG_OP_SIN, PSG_OP_ATAN, NULL,
	  "large angles need many digits of pi, and no model that reads text has angles" },
	{ ONE(POOL_LP), NULL, "no model that reads text has it" },
	{ ONE(REDUCE_LOG_SUM_EXP), NULL,
	  "no model that reads text has it; log_softmax has a kernel" },
	/* forms of operators that have a kernel for others */
	{ PSG_OP_CONV, PSG_OP_POOL_AVG, WINDOWS, NOT_PLANES },
	{ ONE(POOL_MAX), "the places of the maxima", "only unpooling wants them" },
	{ ONE(MATMUL), "batches that broadcast in turns",
	  "the product's kernels step through two dimensions of batches" },
	{ ONE(MATMUL), "a factor of c, or c that repeats otherwise than by row or column",
	  "the product's kernels add a vector, or what is as large as the result" },
	{ ONE(POW), "whole numbers to the power of floats",
	  "truncating needs a power that is exact where it is whole" },
	{ PSG_OP_REDUCE_SUM, PSG_OP_REDUCE_SUM_SQUARE, "axes with others between",
	  "the kernel has one step from element to element" },
	{ PSG_OP_REDUCE_SUM, PSG_OP_REDUCE_SUM_SQUARE, "over samples of different widths",
	  "a group has the widths of one sample" },
	{ PSG_OP_REDUCE_SUM, PSG_OP_REDUCE_SUM_SQUARE, "columns of whole numbers, with widths",
	  "what has columns is floats: nothing that reads text sums whole numbers along them" },
	{ PSG_OP_REDUCE_SUM, PSG_OP_REDUCE_SUM_SQUARE, "no axis at all",
	  "an exporter leaves it out" },
	{ ONE(REDUCE_MEAN), "whole numbers of which there are none", "is an error" },
	{ PSG_OP_SOFTMAX, PSG_OP_LOG_SOFTMAX, "over samples of different widths",
	  "a group has the widths of one sample" },
	{ ONE(LAYER_NORM), "over samples of different widths",
	  "a group has the widths of one sample" },
	{ ONE(LAYER_NORM), "gamma or beta that repeat", "the kernel reads them beside the row" },
	{ ONE(TILE), "many dimensions, each repeated",
	  "a copy's kernel walks along eight, of which the halves of a whole number are one" },
	{ ONE(ATTENTION), "heads of more than 64",
	  "what a thread keeps of a head would not fit its registers" },
};

const size_t psgi_cuda_hosts_n = sizeof(psgi_cuda_hosts) / sizeof(psgi_cuda_hosts[0]);

const psgi_cuda_host *psgi_cuda_host_of(psg_op_kind kind)
{
	for (size_t i = 0; i < psgi_cuda_hosts_n; i++)
		if (psgi_cuda_hosts[i].form == NULL && kind >= psgi_cuda_hosts[i].from &&
		    kind <= psgi_cuda_hosts[i].to)
			return &psgi_cuda_hosts[i];
	return NULL;
}
