/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "ops/cuda_transfer.h"

#include "base/base.h"
#include "base/memory.h"
#include "device/cuda.h"

#include <stdlib.h>

/* --- within the device --- */

struct copy {
	psgi_kernel kernel;
	psg_device *device;
	size_t bytes;
};

static psg_status run_copy(psgi_kernel *kernel, const psgi_operand *in, const psgi_operand *out,
			   void *scratch, psg_error *error)
{
	const struct copy *copy = (const struct copy *)kernel;

	(void)scratch;
	return psgi_gpu_copy_within(copy->device, out[0].data, in[0].data, copy->bytes, error);
}

static void destroy_copy(psgi_kernel *kernel)
{
	free(kernel);
}

psg_status psgi_cuda_copy(psg_device *device, size_t bytes, psgi_kernel **out, psg_error *error)
{
	struct copy *copy = malloc(sizeof(*copy));

	if (copy == NULL)
		return psgi_fail(error, PSG_NOMEM, "no memory for a copy");
	*copy = (struct copy){ { "cuda copy", 0, run_copy, destroy_copy }, device, bytes };
	*out = &copy->kernel;
	return PSG_OK;
}

/* --- to the host and back --- */

struct on_host {
	psgi_kernel kernel;
	psg_device *device;
	psgi_kernel *inner;
	psgi_call call; /* its shapes */
};

/* What a run holds on the host. */
struct copies {
	psgi_operand in[PSG_MAX_INPUTS], out[PSG_MAX_OUTPUTS];
	void *valid[PSG_MAX_INPUTS];
	void *scratch;
};

static psg_status download(psg_device *device, const void *from, size_t bytes, void **to,
			   psg_error *error)
{
	*to = psgi_memory_alloc(bytes + 1);
	if (*to == NULL)
		return psgi_fail(error, PSG_NOMEM, "no memory for %zu bytes of an operand", bytes);
	return from == NULL ? PSG_OK : psgi_gpu_copy_out(device, *to, from, bytes, error);
}

static psg_status fetch(const struct on_host *self, const psgi_operand *in, struct copies *copies,
			psg_error *error)
{
	psg_status status = PSG_OK;

	for (size_t i = 0; i < self->call.n_in && status == PSG_OK; i++) {
		if (!psgi_has_input(&self->call, i) || in[i].data == NULL)
			continue;
		status = download(self->device, in[i].data, psgi_view_bytes(&self->call.in[i]),
				  &copies->in[i].data, error);
		if (status == PSG_OK && in[i].valid != NULL)
			status = download(self->device, in[i].valid,
					  (size_t)self->call.in[i].shape.dim[0] * sizeof(int32_t),
					  &copies->valid[i], error);
		copies->in[i].valid = copies->valid[i];
	}
	for (size_t i = 0; i < self->call.n_out && status == PSG_OK; i++)
		status = download(self->device, NULL, psgi_view_bytes(&self->call.out[i]),
				  &copies->out[i].data, error);
	if (status == PSG_OK && self->inner->scratch_bytes > 0)
		status = download(self->device, NULL, self->inner->scratch_bytes, &copies->scratch,
				  error);
	return status;
}

static psg_status run_on_host(psgi_kernel *kernel, const psgi_operand *in, const psgi_operand *out,
			      void *scratch, psg_error *error)
{
	const struct on_host *self = (const struct on_host *)kernel;
	struct copies copies = { .scratch = NULL };
	psg_status status = fetch(self, in, &copies, error);

	(void)scratch;
	if (status == PSG_OK)
		status =
			self->inner->run(self->inner, copies.in, copies.out, copies.scratch, error);
	for (size_t i = 0; i < self->call.n_out && status == PSG_OK; i++)
		status = psgi_gpu_copy_in(self->device, out[i].data, copies.out[i].data,
					  psgi_view_bytes(&self->call.out[i]), error);
	for (size_t i = 0; i < PSG_MAX_INPUTS; i++) {
		free(copies.in[i].data);
		free(copies.valid[i]);
	}
	for (size_t i = 0; i < PSG_MAX_OUTPUTS; i++)
		free(copies.out[i].data);
	free(copies.scratch);
	return status;
}

static void destroy_on_host(psgi_kernel *kernel)
{
	psgi_kernel_destroy(((struct on_host *)kernel)->inner);
	free(kernel);
}

psg_status psgi_cuda_on_host(psg_device *device, const psgi_call *call, psgi_kernel *inner,
			     psgi_kernel **out, psg_error *error)
{
	struct on_host *self = malloc(sizeof(*self));

	if (self == NULL) {
		psgi_kernel_destroy(inner);
		return psgi_fail(error, PSG_NOMEM, "no memory for an operator");
	}
	*self = (struct on_host){
		{ inner->name, 0, run_on_host, destroy_on_host }, device, inner, *call
	};
	*out = &self->kernel;
	return PSG_OK;
}
