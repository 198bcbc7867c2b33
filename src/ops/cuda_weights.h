/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Weights on a CUDA device: each tensor is there once, however many plans use
 * it, and those that no plan uses go when memory is short.
 *
 * The key is the tensor itself, to which the device holds a reference, so that
 * no other can take its place.  The owner of the device calls all of this.
 */
#ifndef PSG_OPS_CUDA_WEIGHTS_H
#define PSG_OPS_CUDA_WEIGHTS_H

#include "device/device.h"
#include "ops/ops.h"

/* Where the tensor's elements lie on the device, for one user more.  OOM, NOMEM, DEVICE_LOST. */
psg_status psgi_weight_use(psg_device *device, psg_tensor *tensor, void **data, psg_error *error);

/* What psgi_weight_use takes of the device's memory for a tensor that is not there yet. */
size_t psgi_weight_bytes(const psg_device *device, const psg_tensor *tensor);

/* One user less.  What nobody else holds goes at once; the rest stays for the next plan. */
void psgi_weight_drop(psg_device *device, const psg_tensor *tensor);

/* Gives the memory of weights without users back; false: there were none. */
bool psgi_weights_evict(psg_device *device);

#endif
