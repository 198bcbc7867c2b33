/* SPDX-License-Identifier: Apache-2.0 */
/* Vector kernels of ours for sequences: one row is one time step. */
#ifndef PSG_OPS_ROWS_H
#define PSG_OPS_ROWS_H

#include "ops/kernel.h"

/* Over the last dimension of `rows` rows. */
psg_status psgi_layer_norm_kernel(int64_t rows, int64_t columns, float epsilon, bool has_beta,
				  psgi_kernel **out, psg_error *error);
psg_status psgi_softmax_kernel(int64_t rows, int64_t columns, psgi_kernel **out, psg_error *error);
psg_status psgi_digest_kernel(int64_t rows, int64_t columns, psgi_kernel **out, psg_error *error);

/* qkv [N,T,3 h d] to [N,T,h d]; keys past the valid width are left out. */
psg_status psgi_attention_kernel(const psg_shape *qkv, int32_t heads, float scale,
				 psgi_kernel **out, psg_error *error);

#endif
