/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels through oneDNN.  Only there when configured with it. */
#ifndef PSG_OPS_DNNL_H
#define PSG_OPS_DNNL_H

#include "ops/kernel.h"
#include "ops/pack.h"

/*
 * A convolution (or transposed one) with constant weights.  The run's inputs are x and then one
 * operand for each ADD in the epilogue, in the layout of the result.
 */
typedef struct psgi_conv_spec {
	bool transpose;
	psg_conv_params params;
	psg_shape in, out;
	psg_tensor *weights, *bias; /* bias may be NULL */
	psgi_epilogue post[PSGI_MAX_EPILOGUE];
	size_t n_post;
	int32_t in_block,
		out_block; /* channels a block that are tried first; set to what is used */
} psgi_conv_spec;

/* UNSUPPORTED when oneDNN has nothing for it. */
psg_status psgi_dnnl_conv(psgi_conv_spec *spec, psgi_pack_cache *packs, psgi_kernel **out,
			  psg_error *error);

/* x [rows, k] times constant weights [k, n] plus bias; operands of ADDs as above, plain. */
typedef struct psgi_linear_spec {
	int64_t rows, k, n;
	psg_tensor *weights, *bias;
	psgi_epilogue post[PSGI_MAX_EPILOGUE];
	size_t n_post;
} psgi_linear_spec;

psg_status psgi_dnnl_linear(const psgi_linear_spec *spec, psgi_pack_cache *packs, psgi_kernel **out,
			    psg_error *error);

/* Channels a block that this processor's convolutions want: 16 or 8. */
int32_t psgi_dnnl_block(void);

#endif
