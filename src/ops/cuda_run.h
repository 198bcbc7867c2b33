/* SPDX-License-Identifier: Apache-2.0 */
/* One operator on its own on a CUDA device. */
#ifndef PSG_OPS_CUDA_RUN_H
#define PSG_OPS_CUDA_RUN_H

#include "device/device.h"
#include "ops/ops.h"

/*
 * Copies the operands of `op` to the device, runs it and copies its n_out results back, which the
 * caller owns.  *done false: the device has no kernel for it, and nothing was done.
 */
psg_status psgi_cuda_run(psg_device *device, const psg_op *op, psg_tensor **out, size_t n_out,
			 bool *done, psg_error *error);

#endif
