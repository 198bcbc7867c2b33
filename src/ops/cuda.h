/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators as kernels of a CUDA device.
 *
 * The operands of a run are device memory, row-major; so are their valid
 * widths.  A kernel respects these itself: nobody needs to mask an input before
 * it.  What lies in columns past them is not defined afterwards, but for
 * zero_cols, and the digest and attention, which write zeros there.
 */
#ifndef PSG_OPS_CUDA_H
#define PSG_OPS_CUDA_H

#include "ops/blocked.h"
#include "ops/kernel.h"

/*
 * A kernel for `call`, whose shapes are known and whose views say along which axis there may be
 * valid widths (valid_axis), with `post` applied to its first output.  A run's inputs are those of
 * the call and then one for each ADD among the posts.  An input whose view has data is the same in
 * each run: what values could be wrong (an index, a divisor) is looked at now.  Where it is not, a
 * run waits for the device and may be INVALID as the reference path would be.  *done false, and
 * *out not set: there is no kernel for this operator or these shapes (psgi_cuda_hosts), and the
 * reference path is to be used.  May copy tables to the device; queues nothing else.
 */
psg_status psgi_cuda_kernel(psg_device *device, const psgi_call *call, const psgi_epilogue *post,
			    size_t n_post, psgi_kernel **out, bool *done, psg_error *error);

/* psgi_mix_kernel in row-major layout: block and gate_stride are not looked at. */
psg_status psgi_cuda_mix(psg_device *device, const psgi_mix_spec *spec, psgi_kernel **out,
			 psg_error *error);

/* Bytes of the device's memory that the kernel, which may be of any kind, keeps as long as it
 * lives: its tables, in blocks of the pool. */
size_t psgi_cuda_table_bytes(const psgi_kernel *kernel);

/*
 * What has no kernel, and why: all that operators `from` to `to` of the table do, or one form of
 * it.  psgi_cuda_host_of gives the row of a whole operator; NULL: there is a kernel, for most
 * forms.
 */
typedef struct psgi_cuda_host {
	psg_op_kind from, to;
	const char *form; /* NULL: all */
	const char *reason;
} psgi_cuda_host;

extern const psgi_cuda_host psgi_cuda_hosts[];
extern const size_t psgi_cuda_hosts_n;
const psgi_cuda_host *psgi_cuda_host_of(psg_op_kind kind);

#endif
