/* SPDX-License-Identifier: Apache-2.0 */
/* What the oneDNN kernels share: the engine, descriptors, packed weights, running a primitive. */
#ifndef PSG_OPS_DNNL_INTERNAL_H
#define PSG_OPS_DNNL_INTERNAL_H

#include "ops/dnnl.h"

#include <oneapi/dnnl/dnnl.h>

/* The process's CPU engine and a stream on it; both live for ever.  NULL if oneDNN could not make
 * one. */
dnnl_engine_t psgi_dnnl_engine(void);
dnnl_stream_t psgi_dnnl_stream(void);

/* Names oneDNN's call and status in a message: NOMEM, or UNSUPPORTED for everything it does not do.
 */
psg_status psgi_dnnl_fail(psg_error *error, const char *call, dnnl_status_t status);

/* A kernel around one primitive: inputs x and ADD operands, one output, packed weights and bias. */
#define PSGI_DNNL_ARGS (4 + PSGI_MAX_EPILOGUE + 1)

typedef struct psgi_dnnl_kernel {
	psgi_kernel kernel;
	dnnl_primitive_t primitive;
	int n_args, n_in;
	dnnl_exec_arg_t args[PSGI_DNNL_ARGS];
	int in_arg[1 + PSGI_MAX_EPILOGUE]; /* index into args of each input */
	int out_arg, scratch_arg;          /* scratch_arg -1: none */
} psgi_dnnl_kernel;

psgi_dnnl_kernel *psgi_dnnl_kernel_new(const char *name);

/* Adds an argument without data yet; its index in args, or -1. */
int psgi_dnnl_arg(psgi_dnnl_kernel *kernel, int which, const dnnl_memory_desc_t *desc, void *data);

/* Makes the primitive of `pd`, with its scratchpad and the ADD operands of the epilogue. */
psg_status psgi_dnnl_finish(psgi_dnnl_kernel *kernel, const_dnnl_primitive_desc_t pd,
			    const psgi_epilogue *post, size_t n_post, psg_error *error);

/* Attributes for an epilogue whose results are described by `dst`. */
psg_status psgi_dnnl_attr(const psgi_epilogue *post, size_t n_post, const dnnl_memory_desc_t *dst,
			  dnnl_primitive_attr_t *out, psg_error *error);

/* `tensor`, described by `plain`, in the form `wanted`: packed once and shared. */
psg_status psgi_dnnl_weights(psgi_pack_cache *packs, psg_tensor *tensor,
			     const dnnl_memory_desc_t *plain, const dnnl_memory_desc_t *wanted,
			     void **out, psg_error *error);

#endif
