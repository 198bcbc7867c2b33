/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "ops/cuda_run.h"

#include "base/base.h"
#include "device/cuda.h"
#include "ops/cuda.h"
#include "ops/family.h"

#include <string.h>

/* What a call holds on the device. */
struct operands {
	psgi_operand in[PSG_MAX_INPUTS], out[PSG_MAX_OUTPUTS];
	void *valid[PSG_MAX_INPUTS];
};

static psg_status send(psg_device *device, const void *from, size_t bytes, void **to,
		       psg_error *error)
{
	psg_status status = psgi_gpu_alloc(device, bytes + 1, to, error);

	if (status == PSG_OK && from != NULL)
		status = psgi_gpu_copy_ahead(device, *to, from, bytes, error);
	return status;
}

static psg_status send_all(psg_device *device, const psgi_call *call, struct operands *o,
			   psg_error *error)
{
	psg_status status = PSG_OK;

	for (size_t i = 0; i < call->n_in && status == PSG_OK; i++) {
		const psgi_view *view = &call->in[i];

		if (!psgi_has_input(call, i))
			continue;
		status = send(device, view->data, psgi_view_bytes(view), &o->in[i].data, error);
		if (status == PSG_OK && view->valid != NULL)
			status = send(device, view->valid,
				      (size_t)view->shape.dim[0] * sizeof(int32_t), &o->valid[i],
				      error);
		o->in[i].valid = o->valid[i];
	}
	for (size_t i = 0; i < call->n_out && status == PSG_OK; i++)
		status = send(device, NULL, psgi_view_bytes(&call->out[i]), &o->out[i].data, error);
	return status;
}

static void free_all(psg_device *device, const struct operands *o)
{
	for (size_t i = 0; i < PSG_MAX_INPUTS; i++) {
		psgi_device_free(device, o->in[i].data);
		psgi_device_free(device, o->valid[i]);
	}
	for (size_t i = 0; i < PSG_MAX_OUTPUTS; i++)
		psgi_device_free(device, o->out[i].data);
}

static psg_status run(psg_device *device, psgi_kernel *kernel, const psgi_call *call,
		      struct operands *o, psg_tensor **out, psg_error *error)
{
	psg_status status = send_all(device, call, o, error);

	if (status == PSG_OK)
		status = kernel->run(kernel, o->in, o->out, NULL, error);
	for (size_t i = 0; i < call->n_out && status == PSG_OK; i++)
		status = psgi_gpu_copy_out(device, psg_tensor_data(out[i]), o->out[i].data,
					   psgi_view_bytes(&call->out[i]), error);
	return status;
}

psg_status psgi_cuda_run(psg_device *device, const psg_op *op, psg_tensor **out, size_t n_out,
			 bool *done, psg_error *error)
{
	struct operands operands;
	psgi_kernel *kernel = NULL;
	psgi_call call;
	psg_status status = psgi_call_of_op(op, n_out, &call, error);

	*done = false;
	if (status == PSG_OK)
		status = psgi_cuda_kernel(device, &call, NULL, 0, &kernel, done, error);
	if (status != PSG_OK || !*done)
		return status;
	for (size_t i = 0; i < call.n_out; i++)
		out[i] = NULL;
	status = psgi_create_outputs(&call, out, error);
	if (status == PSG_OK) {
		memset(&operands, 0, sizeof(operands));
		status = run(device, kernel, &call, &operands, out, error);
		free_all(device, &operands);
	}
	psgi_kernel_destroy(kernel);
	for (size_t i = 0; status != PSG_OK && i < call.n_out; i++) {
		psg_tensor_unref(out[i]);
		out[i] = NULL;
	}
	return status;
}
