/* SPDX-License-Identifier: Apache-2.0 */
/* One operator on its own on the host's cores: oneDNN and vector loops, else the reference path. */
#include "config.h"

#include "ops/host_run.h"

#include "base/base.h"
#include "base/memory.h"
#include "ops/kernel.h"
#ifdef HAVE_DNNL
#include "ops/dnnl.h"
#include "ops/rows.h"
#endif

#include <stdlib.h>

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
	psgi_linear_spec spec = { .weights = op->in[1],
				  .bias = op->n_in > 2 ? op->in[2] : NULL,
				  .k = call->in[1].shape.dim[0],
				  .n = call->in[1].shape.dim[1] };
	psg_status status;

	spec.rows = psg_shape_elements(&call->out[0].shape) / spec.n;
	status = psgi_dnnl_linear(&spec, packs, out, error);
	return status == PSG_UNSUPPORTED ? PSG_OK : status;
}

static psg_status rows_kernel(const psgi_call *call, psgi_kernel **out, psg_error *error)
{
	const psg_shape *in = &call->in[0].shape;
	int64_t columns = in->dim[in->rank - 1], rows = psg_shape_elements(in) / columns;

	switch (call->kind) {
	case PSG_OP_SOFTMAX:
		return psgi_softmax_kernel(rows, columns, out, error);
	case PSG_OP_LAYER_NORM:
		return psgi_layer_norm_kernel(rows, columns, call->params->norm.epsilon,
					      psgi_has_input(call, 2), out, error);
	case PSG_OP_CTC_DIGEST:
		return psgi_digest_kernel(rows, columns, out, error);
	default:
		return psgi_attention_kernel(in, call->params->attention.heads,
					     call->params->attention.scale, out, error);
	}
}

/* The fast kernel for one call, or NULL where the reference path does it. */
static psg_status fast_kernel(const psg_op *op, const psgi_call *call, psgi_pack_cache *packs,
			      psgi_kernel **out, psg_error *error)
{
	*out = NULL;
	switch (psgi_host_work(call)) {
	case PSGI_WORK_CONV:
	case PSGI_WORK_DEPTHWISE:
		return conv_kernel(op, call, packs, out, error);
	case PSGI_WORK_PRODUCT:
		return linear_kernel(op, call, packs, out, error);
	case PSGI_WORK_ROWS:
		return rows_kernel(call, out, error);
	default:
		return PSG_OK;
	}
}

/* A GPU's memory is nothing that the host could use. */
static void *take_scratch(psg_device *device, size_t bytes)
{
	return device->info.kind == PSG_DEVICE_CPU ? psgi_device_alloc(device, bytes)
						   : psgi_memory_alloc(bytes);
}

static void give_scratch(psg_device *device, void *scratch)
{
	if (device->info.kind == PSG_DEVICE_CPU)
		psgi_device_free(device, scratch);
	else
		free(scratch);
}

static psg_status run_kernel(psg_device *device, const psg_op *op, psgi_kernel *kernel,
			     const psgi_call *call, psg_tensor **out, psg_error *error)
{
	psgi_operand in[PSG_MAX_INPUTS] = { { NULL, NULL } }, result = { NULL, NULL };
	void *scratch = take_scratch(device, kernel->scratch_bytes + 1);
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
	give_scratch(device, scratch);
	if (status != PSG_OK) {
		psg_tensor_unref(*out);
		*out = NULL;
	}
	return status;
}

/* *done says whether there was a kernel that ran. */
static psg_status run_fast(psg_device *device, const psg_op *op, const psgi_call *call,
			   psg_tensor **out, bool *done, psg_error *error)
{
	psgi_pack_cache *packs = NULL;
	psgi_kernel *kernel = NULL;
	psg_status status = psgi_pack_cache_create(&packs, error);

	if (status == PSG_OK)
		status = fast_kernel(op, call, packs, &kernel, error);
	if (status == PSG_OK && kernel != NULL) {
		status = run_kernel(device, op, kernel, call, out, error);
		*done = true;
	}
	psgi_kernel_destroy(kernel);
	psgi_pack_cache_destroy(packs);
	return status;
}

#endif

/* --- what kind of work it is --- */

#ifdef HAVE_DNNL

/* What oneDNN and the vector loops take at all. */
static bool is_plain_float(const psgi_call *call)
{
	for (size_t i = 0; i < call->n_in; i++)
		if (call->in[i].dtype != PSG_F32 || call->in[i].valid != NULL)
			return false;
	return call->n_out == 1;
}

static bool is_linear(const psgi_call *call)
{
	const psg_matmul_params *p = &call->params->matmul;
	const psg_shape *w = &call->in[1].shape;

	return !p->trans_a && !p->trans_b && (p->alpha == 0 || p->alpha == 1) &&
	       (p->beta == 0 || p->beta == 1) && w->rank == 2 && call->in[0].shape.rank >= 2 &&
	       psg_shape_elements(w) > 0 && psg_shape_elements(&call->out[0].shape) > 0 &&
	       (!psgi_has_input(call, 2) ||
		(call->in[2].shape.rank == 1 && call->in[2].shape.dim[0] == w->dim[1]));
}

static bool is_rows(const psgi_call *call)
{
	const psg_shape *in = &call->in[0].shape;
	int32_t axis = -1;

	if (call->kind == PSG_OP_SOFTMAX)
		axis = call->params->softmax.axis;
	else if (call->kind == PSG_OP_LAYER_NORM)
		axis = call->params->norm.axis;
	else if (call->kind != PSG_OP_CTC_DIGEST && call->kind != PSG_OP_ATTENTION)
		return false;
	return in->rank > 0 && psg_shape_elements(in) > 0 && (axis == -1 || axis == in->rank - 1);
}

/* As many groups as channels: a sum has few members, and memory is what it waits for. */
static bool is_depthwise(const psgi_call *call)
{
	return call->params->conv.groups > 1 &&
	       call->params->conv.groups == call->in[0].shape.dim[1];
}

static psgi_work fast_work(const psgi_call *call)
{
	if (!is_plain_float(call))
		return PSGI_WORKS;
	if (call->kind == PSG_OP_CONV || call->kind == PSG_OP_CONV_TRANSPOSE)
		return is_depthwise(call) ? PSGI_WORK_DEPTHWISE : PSGI_WORK_CONV;
	if (call->kind == PSG_OP_MATMUL && is_linear(call))
		return PSGI_WORK_PRODUCT;
	return is_rows(call) ? PSGI_WORK_ROWS : PSGI_WORKS;
}

#else

static psgi_work fast_work(const psgi_call *call)
{
	(void)call;
	return PSGI_WORKS;
}

#endif

/* Of what the reference path does without multiply-adds: more than a few instructions an element?
 */
static bool is_function(psg_op_kind kind)
{
	switch (kind) {
	case PSG_OP_IM2COL:
	case PSG_OP_POOL_MAX:
	case PSG_OP_POOL_AVG:
	case PSG_OP_POOL_LP:
	case PSG_OP_ELU:
	case PSG_OP_CELU:
	case PSG_OP_SELU:
	case PSG_OP_SIGMOID:
	case PSG_OP_SILU:
	case PSG_OP_GELU:
	case PSG_OP_ERF:
	case PSG_OP_SOFTPLUS:
	case PSG_OP_TANH:
	case PSG_OP_EXP:
	case PSG_OP_LOG:
	case PSG_OP_POW:
	case PSG_OP_REDUCE_LOG_SUM_EXP:
	case PSG_OP_INSTANCE_NORM:
	case PSG_OP_LAYER_NORM:
	case PSG_OP_SOFTMAX:
	case PSG_OP_LOG_SOFTMAX:
	case PSG_OP_ATTN_SOFTMAX:
	case PSG_OP_CTC_DIGEST:
		return true;
	default:
		return kind >= PSG_OP_SIN && kind <= PSG_OP_ATANH;
	}
}

psgi_work psgi_host_work(const psgi_call *call)
{
	psgi_work fast = fast_work(call);
	psg_cost cost;

	if (fast != PSGI_WORKS)
		return fast;
	psgi_rule_of(call->kind)->cost(call, &cost);
	if (cost.macs > 0)
		return PSGI_WORK_SUMS;
	return is_function(call->kind) ? PSGI_WORK_FUNCTION : PSGI_WORK_PLAIN;
}

/* --- running --- */

psg_status psgi_host_run(psg_device *device, const psg_op *op, const psgi_call *call,
			 psg_tensor **out, psg_error *error)
{
#ifdef HAVE_DNNL
	if (!device->reference) {
		bool done = false;
		psg_status status = run_fast(device, op, call, out, &done, error);

		if (status != PSG_OK || done)
			return status;
	}
#else
	(void)device;
#endif
	return psgi_reference_run(op, out, call->n_out, error);
}
