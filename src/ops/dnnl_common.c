/* SPDX-License-Identifier: Apache-2.0 */
/* What the oneDNN kernels share. */
#include "config.h"

#include "ops/dnnl_internal.h"

#include "base/base.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static pthread_once_t once = PTHREAD_ONCE_INIT;
static dnnl_engine_t engine;
static dnnl_stream_t stream;

static void create_engine(void)
{
	if (dnnl_engine_create(&engine, dnnl_cpu, 0) != dnnl_success)
		engine = NULL;
	/* A CPU stream keeps no state between primitives, so that threads can share it. */
	if (engine != NULL &&
	    dnnl_stream_create(&stream, engine, dnnl_stream_default_flags) != dnnl_success)
		stream = NULL;
}

dnnl_engine_t psgi_dnnl_engine(void)
{
	(void)pthread_once(&once, create_engine);
	return engine;
}

dnnl_stream_t psgi_dnnl_stream(void)
{
	(void)pthread_once(&once, create_engine);
	return stream;
}

int32_t psgi_dnnl_block(void)
{
	dnnl_cpu_isa_t isa = dnnl_get_effective_cpu_isa();

	return (isa & dnnl_cpu_isa_avx512_mic) == dnnl_cpu_isa_avx512_mic ||
			       (isa & dnnl_cpu_isa_avx512_core) == dnnl_cpu_isa_avx512_core
		       ? 16
		       : 8;
}

psg_status psgi_dnnl_fail(psg_error *error, const char *call, dnnl_status_t status)
{
	if (status == dnnl_out_of_memory)
		return psgi_fail(error, PSG_NOMEM, "oneDNN: %s: out of memory", call);
	return psgi_fail(error, PSG_UNSUPPORTED, "oneDNN: %s: status %d", call, (int)status);
}

/* --- epilogues --- */

static const struct {
	psg_op_kind kind;
	dnnl_alg_kind_t alg;
	bool given; /* alpha and beta are the operator's */
	float alpha, beta;
} eltwise[] = {
	{ PSG_OP_RELU, dnnl_eltwise_relu, false, 0, 0 },
	{ PSG_OP_LEAKY_RELU, dnnl_eltwise_relu, true, 0, 0 },
	{ PSG_OP_ELU, dnnl_eltwise_elu, true, 0, 0 },
	{ PSG_OP_HARDSWISH, dnnl_eltwise_hardswish, false, 0, 0 },
	{ PSG_OP_SILU, dnnl_eltwise_swish, false, 1, 0 },
	{ PSG_OP_GELU, dnnl_eltwise_gelu_erf, false, 0, 0 },
	{ PSG_OP_SIGMOID, dnnl_eltwise_logistic, false, 0, 0 },
	{ PSG_OP_TANH, dnnl_eltwise_tanh, false, 0, 0 },
	{ PSG_OP_AFFINE, dnnl_eltwise_linear, true, 0, 0 },
	{ PSG_OP_CLIP, dnnl_eltwise_clip, true, 0, 0 },
	/* followed by a clip to 0..1, see append */
	{ PSG_OP_HARDSIGMOID, dnnl_eltwise_linear, true, 0, 0 },
	{ PSG_OP_SE_GATE, dnnl_eltwise_linear, false, 0.2F, 0.5F },
};

#define N_ELTWISE (sizeof(eltwise) / sizeof(eltwise[0]))

static dnnl_status_t append(dnnl_post_ops_t ops, const psgi_epilogue *post)
{
	for (size_t i = 0; i < N_ELTWISE; i++) {
		float alpha = eltwise[i].given ? post->alpha : eltwise[i].alpha;
		float beta = eltwise[i].given ? post->beta : eltwise[i].beta;
		dnnl_status_t status;

		if (eltwise[i].kind != post->kind)
			continue;
		if (post->kind == PSG_OP_HARDSIGMOID && alpha == 0 && beta == 0) {
			alpha = 1.0F / 6;
			beta = 0.5F;
		}
		status = dnnl_post_ops_append_eltwise(ops, 1, eltwise[i].alg, alpha, beta);
		if (status == dnnl_success &&
		    (post->kind == PSG_OP_HARDSIGMOID || post->kind == PSG_OP_SE_GATE))
			status = dnnl_post_ops_append_eltwise(ops, 1, dnnl_eltwise_clip, 0, 1);
		return status;
	}
	return dnnl_unimplemented;
}

psg_status psgi_dnnl_attr(const psgi_epilogue *post, size_t n_post, const dnnl_memory_desc_t *dst,
			  dnnl_primitive_attr_t *out, psg_error *error)
{
	dnnl_primitive_attr_t attr = NULL;
	dnnl_post_ops_t ops = NULL;
	dnnl_status_t status = dnnl_primitive_attr_create(&attr);

	if (status == dnnl_success)
		status = dnnl_primitive_attr_set_scratchpad_mode(attr, dnnl_scratchpad_mode_user);
	if (status == dnnl_success)
		status = dnnl_post_ops_create(&ops);
	for (size_t i = 0; i < n_post && status == dnnl_success; i++) {
		if (post[i].kind == PSG_OP_ADD)
			status = dnnl_post_ops_append_binary(ops, dnnl_binary_add, dst);
		else
			status = append(ops, &post[i]);
	}
	if (status == dnnl_success)
		status = dnnl_primitive_attr_set_post_ops(attr, ops);
	(void)dnnl_post_ops_destroy(ops);
	if (status != dnnl_success) {
		(void)dnnl_primitive_attr_destroy(attr);
		return psgi_dnnl_fail(error, "attributes", status);
	}
	*out = attr;
	return PSG_OK;
}

/* --- weights --- */

/* What distinguishes one form of a weight from another, without the padding bytes of oneDNN's
 * struct. */
struct form {
	int64_t dims[DNNL_MAX_NDIMS], padded[DNNL_MAX_NDIMS], strides[DNNL_MAX_NDIMS];
	int64_t inner_blocks[DNNL_MAX_NDIMS], inner_index[DNNL_MAX_NDIMS];
	int64_t ndims, kind, inner_count, flags;
};

static void describe(const dnnl_memory_desc_t *desc, struct form *form)
{
	const dnnl_blocking_desc_t *blocking = &desc->format_desc.blocking;

	memset(form, 0, sizeof(*form));
	form->ndims = desc->ndims;
	form->kind = desc->format_kind;
	form->inner_count = blocking->inner_nblks;
	form->flags = (int64_t)desc->extra.flags;
	for (int i = 0; i < desc->ndims; i++) {
		form->dims[i] = desc->dims[i];
		form->padded[i] = desc->padded_dims[i];
		form->strides[i] = blocking->strides[i];
	}
	for (int i = 0; i < blocking->inner_nblks; i++) {
		form->inner_blocks[i] = blocking->inner_blks[i];
		form->inner_index[i] = blocking->inner_idxs[i];
	}
}

struct repack {
	const dnnl_memory_desc_t *plain, *wanted;
	psg_tensor *tensor;
};

static psg_status fill(void *user, void *memory, psg_error *error)
{
	const struct repack *repack = user;
	dnnl_primitive_desc_t pd = NULL;
	dnnl_primitive_t reorder = NULL;
	dnnl_memory_t from = NULL, to = NULL;
	dnnl_engine_t cpu = psgi_dnnl_engine();
	dnnl_status_t status = dnnl_reorder_primitive_desc_create(&pd, repack->plain, cpu,
								  repack->wanted, cpu, NULL);

	if (status == dnnl_success)
		status = dnnl_primitive_create(&reorder, pd);
	if (status == dnnl_success)
		status = dnnl_memory_create(&from, repack->plain, cpu,
					    psg_tensor_data(repack->tensor));
	if (status == dnnl_success)
		status = dnnl_memory_create(&to, repack->wanted, cpu, memory);
	if (status == dnnl_success) {
		dnnl_exec_arg_t args[] = { { DNNL_ARG_FROM, from }, { DNNL_ARG_TO, to } };

		status = dnnl_primitive_execute(reorder, psgi_dnnl_stream(), 2, args);
	}
	if (status == dnnl_success)
		status = dnnl_stream_wait(psgi_dnnl_stream());
	(void)dnnl_memory_destroy(from);
	(void)dnnl_memory_destroy(to);
	(void)dnnl_primitive_destroy(reorder);
	(void)dnnl_primitive_desc_destroy(pd);
	return status == dnnl_success ? PSG_OK : psgi_dnnl_fail(error, "packing weights", status);
}

psg_status psgi_dnnl_weights(psgi_pack_cache *packs, psg_tensor *tensor,
			     const dnnl_memory_desc_t *plain, const dnnl_memory_desc_t *wanted,
			     void **out, psg_error *error)
{
	struct repack repack = { plain, wanted, tensor };
	struct form form;

	if (dnnl_memory_desc_equal(plain, wanted)) {
		*out = psg_tensor_data(tensor);
		return PSG_OK;
	}
	describe(wanted, &form);
	return psgi_pack(packs, tensor, &form, sizeof(form), dnnl_memory_desc_get_size(wanted),
			 fill, &repack, out, error);
}

/* --- kernels --- */

static void destroy(psgi_kernel *kernel)
{
	psgi_dnnl_kernel *self = (psgi_dnnl_kernel *)kernel;

	for (int i = 0; i < self->n_args; i++)
		(void)dnnl_memory_destroy(self->args[i].memory);
	(void)dnnl_primitive_destroy(self->primitive);
	free(self);
}

static psg_status run(psgi_kernel *kernel, const psgi_operand *in, const psgi_operand *out,
		      void *scratch, psg_error *error)
{
	psgi_dnnl_kernel *self = (psgi_dnnl_kernel *)kernel;
	dnnl_status_t status = dnnl_success;

	for (int i = 0; i < self->n_in && status == dnnl_success; i++)
		status =
			dnnl_memory_set_data_handle(self->args[self->in_arg[i]].memory, in[i].data);
	if (status == dnnl_success)
		status = dnnl_memory_set_data_handle(self->args[self->out_arg].memory, out[0].data);
	if (status == dnnl_success && self->scratch_arg >= 0)
		status = dnnl_memory_set_data_handle(self->args[self->scratch_arg].memory, scratch);
	if (status == dnnl_success)
		status = dnnl_primitive_execute(self->primitive, psgi_dnnl_stream(), self->n_args,
						self->args);
	if (status == dnnl_success)
		status = dnnl_stream_wait(psgi_dnnl_stream());
	return status == dnnl_success ? PSG_OK : psgi_dnnl_fail(error, "running", status);
}

psgi_dnnl_kernel *psgi_dnnl_kernel_new(const char *name)
{
	psgi_dnnl_kernel *kernel = calloc(1, sizeof(*kernel));

	if (kernel != NULL) {
		kernel->kernel = (psgi_kernel){ name, 0, run, destroy };
		kernel->scratch_arg = -1;
	}
	return kernel;
}

int psgi_dnnl_arg(psgi_dnnl_kernel *kernel, int which, const dnnl_memory_desc_t *desc, void *data)
{
	dnnl_exec_arg_t *arg = &kernel->args[kernel->n_args];

	arg->arg = which;
	if (kernel->n_args == PSGI_DNNL_ARGS ||
	    dnnl_memory_create(&arg->memory, desc, psgi_dnnl_engine(), data) != dnnl_success)
		return -1;
	return kernel->n_args++;
}

psg_status psgi_dnnl_finish(psgi_dnnl_kernel *kernel, const_dnnl_primitive_desc_t pd,
			    const psgi_epilogue *post, size_t n_post, psg_error *error)
{
	const dnnl_memory_desc_t *scratch =
		dnnl_primitive_desc_query_md(pd, dnnl_query_scratchpad_md, 0);
	const dnnl_memory_desc_t *dst = dnnl_primitive_desc_query_md(pd, dnnl_query_dst_md, 0);
	dnnl_status_t status = dnnl_primitive_create(&kernel->primitive, pd);
	int position = 0; /* of a post-op in oneDNN's list: some of ours are two of theirs */

	if (status != dnnl_success)
		return psgi_dnnl_fail(error, "creating a primitive", status);
	kernel->kernel.scratch_bytes = dnnl_memory_desc_get_size(scratch);
	if (kernel->kernel.scratch_bytes > 0) {
		kernel->scratch_arg =
			psgi_dnnl_arg(kernel, DNNL_ARG_SCRATCHPAD, scratch, DNNL_MEMORY_NONE);
		if (kernel->scratch_arg < 0)
			return psgi_dnnl_fail(error, "scratchpad", dnnl_out_of_memory);
	}
	for (size_t i = 0; i < n_post; i++, position++) {
		int arg;

		if (post[i].kind == PSG_OP_HARDSIGMOID || post[i].kind == PSG_OP_SE_GATE)
			position++;
		if (post[i].kind != PSG_OP_ADD)
			continue;
		arg = psgi_dnnl_arg(kernel,
				    DNNL_ARG_ATTR_MULTIPLE_POST_OP(position) | DNNL_ARG_SRC_1, dst,
				    DNNL_MEMORY_NONE);
		if (arg < 0)
			return psgi_dnnl_fail(error, "operand", dnnl_out_of_memory);
		kernel->in_arg[kernel->n_in++] = arg;
	}
	return PSG_OK;
}
