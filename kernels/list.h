/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every kernel once, X(name, family, parameter): family is the file
 * kernels/FAMILY.c and the module ptx/sm_XX/FAMILY.ptx.  A module is loaded when
 * the first of its kernels is used, so what is used together lies together.
 */
#ifndef PSG_KERNELS_LIST_H
#define PSG_KERNELS_LIST_H

#define PSGI_KERNEL_FAMILIES(X)                                                                    \
	X(gemm)                                                                                    \
	X(conv)                                                                                    \
	X(window)                                                                                  \
	X(element)                                                                                 \
	X(move)                                                                                    \
	X(reduce)                                                                                  \
	X(sequence)

#define PSGI_KERNELS(X)                                                                            \
	X(sgemm, gemm, gemm_args)								   \
	X(sgemm_64, gemm, gemm_args)								   \
	X(sgemm_32, gemm, gemm_args)								   \
	X(gemm_any, gemm, gemm_args)								   \
	X(gemm_dots, gemm, gemm_args)								   \
	X(conv_128, conv, conv_args)								   \
	X(conv_64, conv, conv_args)								   \
	X(conv_32, conv, conv_args)								   \
	X(depthwise, window, depthwise_args)							   \
	X(im2col, window, im2col_args)								   \
	X(conv_transpose, window, conv_transpose_args)						   \
	X(pool_max, window, pool_args)								   \
	X(pool_avg, window, pool_args)								   \
	X(unary, element, unary_args)								   \
	X(relu, element, unary_args)								   \
	X(silu, element, unary_args)								   \
	X(gelu, element, unary_args)								   \
	X(sigmoid, element, unary_args)								   \
	X(hardsigmoid, element, unary_args)							   \
	X(se_gate, element, unary_args)								   \
	X(add2, element, add2_args)								   \
	X(add_bias, element, channel_args)							   \
	X(scale_ch, element, channel_args)							   \
	X(binary, element, binary_args)								   \
	X(mix, element, mix_args)								   \
	X(copy_strided, move, copy_args)							   \
	X(copy_part, move, copy_args)								   \
	X(crop_cols, move, copy_args)								   \
	X(attn_merge, move, copy_args)								   \
	X(attn_split, move, copy_args)								   \
	X(pad_all, move, pad_args)								   \
	X(pad_rb, move, pad_args)								   \
	X(zero_cols, move, zero_cols_args)							   \
	X(interp_nearest, move, interp_args)							   \
	X(chw_to_seq, move, swap_args)								   \
	X(global_avg, reduce, global_pool_args)							   \
	X(global_max, reduce, global_pool_args)							   \
	X(reduce, reduce, reduce_args)								   \
	X(softmax, sequence, softmax_args)							   \
	X(attn_softmax, sequence, softmax_args)							   \
	X(layer_norm, sequence, norm_args)							   \
	X(attention_16, sequence, attention_args)						   \
	X(attention_32, sequence, attention_args)						   \
	X(attention_64, sequence, attention_args)						   \
	X(ctc_digest, sequence, digest_args)

#endif
