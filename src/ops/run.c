/* SPDX-License-Identifier: Apache-2.0 */
/* One operator on its own, without a model. */
#include "config.h"

#include "ops/kernel.h"

#include "base/base.h"
#include "ops/cuda_run.h"
#ifdef HAVE_DNNL
#include "ops/dnnl.h"
#include "ops/rows.h"
#endif

#include <string.h>

#ifdef HAVE_DNNL

/* A convolution on row-major images; weights are packed for this one call. */
static psg_status conv_kernel(const psg_op *op, const psgi_call *call, psgi_pack_cache *packs,
			      psgi_kernel **out, psg_error *error)
{
	psgi_conv_spec spec = { .transpose = op->kind == PSG_OP_CONV_TRANSPOSE,
				.params = op->params.conv,
				.in = call->in[0].shape,
				.out = call->out[0].shape,
				.weights = op->in[1],
				.bias = op->n_in > 2 ? op->in[2] : NULL,
				.in_block = 1,
				.out_block = 1 };
	psg_status status = psgi_dnnl_conv(&spec, packs, out, error);

	if (status == PSG_OK && (spec.in_block != 1 || spec.out_block != 1)) {
		psgi_kernel_destroy(*out);
		*out = NULL;
	}
	return status == PSG_UNSUPPORTED ? PSG_OK : status;
}

static psg_status linear_kernel(const psg_op *op, const psgi_call *call, psgi_pack_cache *packs,
				psgi_kernel **out, psg_error *error)
{
	const psg_matmul_params *p = &op->params.matmul;
	const psg_shape *w = &call->in[1].shape;
	psgi_linear_spec spec = { .weights = op->in[1], .bias = op->n_in > 2 ? op->in[2] : NULL };
	psg_status status;

	if (p->trans_a || p->trans_b || (p->alpha != 0 && p->alpha != 1) ||
	    (p->beta != 0 && p->beta != 1) || w->rank != 2 || call->in[0].shape.rank < 2 ||
	    psg_shape_elements(w) == 0 || psg_shape_elements(&call->out[0].shape) == 0 ||
	    (spec.bias != NULL &&
	     (call->in[2].shape.rank != 1 || call->in[2].shape.dim[0] != w->dim[1])))
		return PSG_OK;
	spec.k = w->dim[0];
	spec.n = w->dim[1];
	spec.rows = psg_shape_elements(&call->out[0].shape) / spec.n;
	status = psgi_dnnl_linear(&spec, packs, out, error);
	return status == PSG_UNSUPPORTED ? PSG_OK : status;
}

static psg_status rows_kernel(const psg_op *op, const psgi_call *call, psgi_kernel **out,
			      psg_error *error)
{
	const psg_shape *in = &call->in[0].shape;
	int64_t columns = in->rank > 0 ? in->dim[in->rank - 1] : 0;
	int64_t rows = columns > 0 ? psg_shape_elements(in) / columns : 0;
	int32_t axis = op->kind == PSG_OP_SOFTMAX      ? op->params.softmax.axis
		       : op->kind == PSG_OP_LAYER_NORM ? op->params.norm.axis
						       : -1;

	if (rows == 0 || (axis != -1 && axis != in->rank - 1))
		return PSG_OK;
	switch (op->kind) {
	case PSG_OP_SOFTMAX:
		return psgi_softmax_kernel(rows, columns, out, error);
	case PSG_OP_LAYER_NORM:
		return psgi_layer_norm_kernel(rows, columns, op->params.norm.epsilon,
					      op->n_in > 2 && op->in[2] != NULL, out, error);
	case PSG_OP_CTC_DIGEST:
		return psgi_digest_kernel(rows, columns, out, error);
	case PSG_OP_ATTENTION:
		return psgi_attention_kernel(in, op->params.attention.heads,
					     op->params.attention.scale, out, error);
	default:
		return PSG_OK;
	}
}

/* The fast kernel for one call, or NULL where the reference path does it. */
static psg_status fast_kernel(const psg_op *op, const psgi_call *call, psgi_pack_cache *packs,
			      psgi_kernel **out, psg_error *error)
{
	*out = NULL;
	for (size_t i = 0; i < call->n_in; i++) {
		if (call->in[i].dtype != PSG_F32 || call->in[i].valid != NULL)
			return PSG_OK;
	}
	if (op->kind == PSG_OP_CONV || op->kind == PSG_OP_CONV_TRANSPOSE)
		return conv_kernel(op, call, packs, out, error);
	if (op->kind == PSG_OP_MATMUL)
		return linear_kernel(op, call, packs, out, error);
	return rows_kernel(op, call, out, error);
}

static psg_status run_kernel(psg_device *device, const psg_op *op, psgi_kernel *kernel,
			     const psgi_call *call, psg_tensor **out, psg_error *error)
{
	psgi_operand in[PSG_MAX_INPUTS] = { { NULL, NULL } }, result = { NULL, NULL };
	void *scratch = psgi_device_alloc(device, kernel->scratch_bytes + 1);
	psg_status status;

	if (scratch == NULL)
		return psgi_fail(error, PSG_NOMEM, "no memory for an operator's scratch");
	status = psg_tensor_create(call->out[0].dtype, &call->out[0].shape, out, error);
	if (status == PSG_OK) {
		for (size_t i = 0; i < op->n_in; i++)
			in[i].data = op->in[i] == NULL ? NULL : psg_tensor_data(op->in[i]);
		result.data = psg_tensor_data(*out);
		status = kernel->run(kernel, in, &result, scratch, error);
	}
	psgi_device_free(device, scratch);
	if (status != PSG_OK) {
		psg_tensor_unref(*out);
		*out = NULL;
	}
	return status;
}

/* *done says whether there was a kernel that ran. */
static psg_status run_fast(psg_device *device, const psg_op *op, psg_tensor **out, bool *done,
			   psg_error *error)
{
	psgi_call call = { .kind = op->kind, .params = &op->params, .n_in = op->n_in, .n_out = 1 };
	psgi_pack_cache *packs = NULL;
	psgi_kernel *kernel = NULL;
	psg_status status;

	for (size_t i = 0; i < op->n_in; i++)
		call.in[i] = op->in[i] == NULL ? (psgi_view){ .shape.rank = -1 }
					       : psgi_view_of(op->in[i]);
	status = psgi_infer(&call, error);
	if (status == PSG_OK)
		status = psgi_pack_cache_create(&packs, error);
	if (status == PSG_OK)
		status = fast_kernel(op, &call, packs, &kernel, error);
	if (status == PSG_OK && kernel != NULL) {
		status = run_kernel(device, op, kernel, &call, out, error);
		*done = true;
	}
	psgi_kernel_destroy(kernel);
	psgi_pack_cache_destroy(packs);
	return status;
}

#endif

psg_status psg_op_run(psg_device *device, const psg_op *op, psg_tensor **out, size_t *n_out,
		      psg_error *error)
{
	psg_status status;

	if (op->n_in > PSG_MAX_INPUTS || *n_out > PSG_MAX_OUTPUTS)
		return psgi_fail(error, PSG_INVALID,
				 "%zu inputs and %zu outputs, at most %d and %d", op->n_in, *n_out,
				 PSG_MAX_INPUTS, PSG_MAX_OUTPUTS);
	if (*n_out == 0) {
		psg_shape shapes[PSG_MAX_OUTPUTS];
		psg_dtype dtypes[PSG_MAX_OUTPUTS];

		status = psg_op_infer(op, shapes, dtypes, n_out, error);
		if (status != PSG_OK)
			return status;
	}
	if (device->info.kind == PSG_DEVICE_CUDA) {
		bool done;

		status = psgi_cuda_run(device, op, out, *n_out, &done, error);
		return status != PSG_OK || done ? status
						: psgi_reference_run(op, out, *n_out, error);
	}
#ifdef HAVE_DNNL
	if (!device->reference && *n_out == 1) {
		bool done = false;

		status = run_fast(device, op, out, &done, error);
		if (status != PSG_OK || done)
			return status;
	}
#endif
	return psgi_reference_run(op, out, *n_out, error);
}
