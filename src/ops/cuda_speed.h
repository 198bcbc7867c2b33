/* SPDX-License-Identifier: Apache-2.0 */
/* Measurements of a GPU, of which reports and predictions are made. */
#ifndef PSG_OPS_CUDA_SPEED_H
#define PSG_OPS_CUDA_SPEED_H

#include "device/device.h"
#include "ops/ops.h"

/*
 * Multiply-adds a second of a product of square matrices on the card.  The side grows up to
 * `most_side`, but not to where one run is expected to take more than `enough_ns`.
 */
psg_status psgi_cuda_product_speed(psg_device *device, int64_t most_side, int64_t enough_ns,
				   int64_t *side, double *macs, psg_error *error);

/* Bytes a second from the host's memory to the card and back, in copies of `bytes`. */
psg_status psgi_cuda_copy_speed(psg_device *device, size_t bytes, double *in, double *out,
				psg_error *error);

/* From the launch of an empty kernel until its end is known. */
psg_status psgi_cuda_launch_speed(psg_device *device, int64_t *ns, psg_error *error);

#endif
