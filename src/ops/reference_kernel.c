/* SPDX-License-Identifier: Apache-2.0 */
/* The table's reference path as a kernel. */
#include "config.h"

#include "ops/kernel.h"

#include "base/base.h"

#include <stdlib.h>

struct reference_kernel {
	psgi_kernel kernel;
	psgi_call call;
	psg_op_params params;
};

static psg_status run(psgi_kernel *kernel, const psgi_operand *in, const psgi_operand *out,
		      void *scratch, psg_error *error)
{
	struct reference_kernel *self = (struct reference_kernel *)kernel;

	(void)scratch;
	for (size_t i = 0; i < self->call.n_in; i++) {
		self->call.in[i].data = in[i].data;
		self->call.in[i].valid = in[i].valid;
	}
	for (size_t i = 0; i < self->call.n_out; i++)
		self->call.out[i].data = out[i].data;
	return psgi_run_reference(&self->call, error);
}

static void destroy(psgi_kernel *kernel)
{
	free(kernel);
}

psg_status psgi_reference_kernel(const psgi_call *call, psgi_kernel **out, psg_error *error)
{
	struct reference_kernel *self = calloc(1, sizeof(*self));

	if (self == NULL)
		return psgi_fail(error, PSG_NOMEM, "no memory for an operator");
	self->kernel = (psgi_kernel){ "reference", 0, run, destroy };
	self->call = *call;
	self->params = *call->params;
	self->call.params = &self->params;
	*out = &self->kernel;
	return PSG_OK;
}

void psgi_kernel_destroy(psgi_kernel *kernel)
{
	if (kernel != NULL)
		kernel->destroy(kernel);
}
