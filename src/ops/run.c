/* SPDX-License-Identifier: Apache-2.0 */
/* One operator on its own, without a model. */
#include "config.h"

#include "ops/host_run.h"

#include "base/base.h"
#include "ops/cuda_run.h"
#include "ops/family.h"
#include "ops/place.h"

/* A GPU's operators run where it is predicted to be faster, or where there is a kernel. */
static psg_status run_placed(psg_device *device, const psg_op *op, const psgi_call *call,
			     psg_tensor **out, psg_error *error)
{
	bool done = false;
	psg_status status = PSG_OK;

	if (psgi_place_on_gpu(device, call))
		status = psgi_cuda_run(device, op, out, call->n_out, &done, error);
	if (status != PSG_OK || done) {
		device->ops_on_gpu += done;
		return status;
	}
	device->ops_on_cpu++;
	return psgi_host_run(device, op, call, out, error);
}

psg_status psg_op_run(psg_device *device, const psg_op *op, psg_tensor **out, size_t *n_out,
		      psg_error *error)
{
	psgi_call call;
	psg_status status;

	if (op->n_in > PSG_MAX_INPUTS || *n_out > PSG_MAX_OUTPUTS)
		return psgi_fail(error, PSG_INVALID,
				 "%zu inputs and %zu outputs, at most %d and %d", op->n_in, *n_out,
				 PSG_MAX_INPUTS, PSG_MAX_OUTPUTS);
	status = psgi_call_of_op(op, *n_out, &call, error);
	if (status != PSG_OK)
		return status;
	*n_out = call.n_out;
	if (device->info.kind == PSG_DEVICE_CPU) {
		device->ops_on_cpu++;
		return psgi_host_run(device, op, &call, out, error);
	}
	/* A lost card, or a parent's, is told of also where the host would do. */
	status = psgi_device_enter(device, error);
	if (status != PSG_OK)
		return status;
	status = run_placed(device, op, &call, out, error);
	psgi_device_leave(device);
	return status;
}
