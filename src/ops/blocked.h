/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Vector kernels of ours for images whose channels are stored in blocks
 * (nC..8c, nC..16c; block 1 is row-major), between the convolutions.
 */
#ifndef PSG_OPS_BLOCKED_H
#define PSG_OPS_BLOCKED_H

#include "ops/kernel.h"

/* Copies `bytes` bytes. */
psg_status psgi_copy_kernel(size_t bytes, psgi_kernel **out, psg_error *error);

/* From `from` channels a block to `to`, one of them 1; the last block is filled up with zeros. */
psg_status psgi_reorder_kernel(const psg_shape *shape, int32_t from, int32_t to, psgi_kernel **out,
			       psg_error *error);

/*
 * out[c + offset][y][x] = a[c][y / up_a][x / up_a] * (base + gate[c]) + b[c][y / up_b][x / up_b],
 * gate and b being optional: squeeze-and-excitation, residuals, nearest interpolation and
 * concatenation without a pass for each.  Inputs of a run: a, gate, b.
 */
typedef struct psgi_mix_spec {
	psg_shape out;    /* of the whole result; rank 4 */
	int64_t channels; /* of this part */
	int64_t offset;   /* where they start in the result: a multiple of 8, or 0 */
	int32_t block;    /* of a, b and the result; 8 or 16 */
	int32_t up_a, up_b;
	bool has_gate, has_b; /* not up_a > 1 and has_b together */
	float base;
	int64_t gate_stride; /* elements from one sample's gate to the next's */
} psgi_mix_spec;

psg_status psgi_mix_kernel(const psgi_mix_spec *spec, psgi_kernel **out, psg_error *error);

/* Mean over the valid part of each channel: [N,C,H,W] to [N,C,1,1], both in blocks. */
psg_status psgi_global_avg_kernel(const psg_shape *in, int32_t block, psgi_kernel **out,
				  psg_error *error);

/* Zeros past each sample's valid width, in place: input 0 is written. */
psg_status psgi_mask_kernel(const psg_shape *in, int32_t block, psgi_kernel **out,
			    psg_error *error);

/* pool_max and pool_avg over two dimensions, padding excluded, without dilation; in blocks. */
psg_status psgi_pool_kernel(const psgi_call *call, int32_t block, psgi_kernel **out,
			    psg_error *error);

/* [N,b*b,H,W] in blocks to [N,1,b*H,b*W]: channel i*b+j is pixel (i, j) of each b x b square. */
psg_status psgi_shuffle_kernel(const psg_shape *in, int32_t factor, int32_t block,
			       psgi_kernel **out, psg_error *error);

/* [N,C,H,W] in blocks to [N,H*W,C], and back. */
psg_status psgi_to_sequence_kernel(const psg_shape *image, int32_t block, psgi_kernel **out,
				   psg_error *error);
psg_status psgi_to_image_kernel(const psg_shape *image, int32_t block, psgi_kernel **out,
				psg_error *error);

#endif
