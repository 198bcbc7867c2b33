/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels that move what lies on a CUDA device: within it, and to the host and back. */
#ifndef PSG_OPS_CUDA_TRANSFER_H
#define PSG_OPS_CUDA_TRANSFER_H

#include "ops/kernel.h"

/* Copies `bytes` bytes. */
psg_status psgi_cuda_copy(psg_device *device, size_t bytes, psgi_kernel **out, psg_error *error);

/*
 * Runs `inner`, a kernel of the host for `call`, on copies of its operands: for operators that have
 * no kernel on the device.  Waits for the device twice.  Takes over `inner`, also on failure.
 */
psg_status psgi_cuda_on_host(psg_device *device, const psgi_call *call, psgi_kernel *inner,
			     psgi_kernel **out, psg_error *error);

#endif
