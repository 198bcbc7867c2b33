/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Kernels: an operator made ready for fixed shapes and layouts of one device.
 *
 * A plan's step names one.  Making a kernel may be slow (code is generated,
 * weights are reordered); running it allocates nothing.  A kernel is used by
 * the thread that owns its device only.
 */
#ifndef PSG_OPS_KERNEL_H
#define PSG_OPS_KERNEL_H

#include "device/device.h"
#include "ops/ops.h"

/* An operand of a run: where it lies, and the valid widths of its samples (NULL: all columns). */
typedef struct psgi_operand {
	void *data;
	const int32_t *valid;
} psgi_operand;

typedef struct psgi_kernel psgi_kernel;

struct psgi_kernel {
	const char *name;     /* of the implementation: "reference", "dnnl conv" */
	size_t scratch_bytes; /* of memory that it needs during a run */
	psg_status (*run)(psgi_kernel *kernel, const psgi_operand *in, const psgi_operand *out,
			  void *scratch, psg_error *error);
	void (*destroy)(psgi_kernel *kernel);
};

/* An operation on the result before it is stored; `operand` is the input that an ADD reads. */
typedef struct psgi_epilogue {
	psg_op_kind kind;
	float alpha, beta;
} psgi_epilogue;

#define PSGI_MAX_EPILOGUE 6

void psgi_kernel_destroy(psgi_kernel *kernel); /* NULL is allowed */

/* The reference path of a call whose shapes are known. */
psg_status psgi_reference_kernel(const psgi_call *call, psgi_kernel **out, psg_error *error);

#endif
