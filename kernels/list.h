/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every kernel once, X(name, family): family is the file kernels/FAMILY.c and
 * the module ptx/sm_XX/FAMILY.ptx.  A module is loaded when the first of its
 * kernels is used, so what is used together lies together.
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
	X(sgemm, gemm)                                                                             \
	X(sgemm_64, gemm)                                                                          \
	X(sgemm_32, gemm)                                                                          \
	X(gemm_any, gemm)                                                                          \
	X(gemm_dots, gemm)                                                                         \
	X(conv_128, conv)                                                                          \
	X(conv_64, conv)                                                                           \
	X(conv_32, conv)                                                                           \
	X(depthwise, window)                                                                       \
	X(im2col, window)                                                                          \
	X(conv_transpose, window)                                                                  \
	X(pool_max, window)                                                                        \
	X(pool_avg, window)                                                                        \
	X(unary, element)                                                                          \
	X(relu, element)                                                                           \
	X(silu, element)                                                                           \
	X(gelu, element)                                                                           \
	X(sigmoid, element)                                                                        \
	X(hardsigmoid, element)                                                                    \
	X(se_gate, element)                                                                        \
	X(add2, element)                                                                           \
	X(add_bias, element)                                                                       \
	X(scale_ch, element)                                                                       \
	X(binary, element)                                                                         \
	X(mix, element)                                                                            \
	X(copy_strided, move)                                                                      \
	X(copy_part, move)                                                                         \
	X(crop_cols, move)                                                                         \
	X(attn_merge, move)                                                                        \
	X(attn_split, move)                                                                        \
	X(pad_all, move)                                                                           \
	X(pad_rb, move)                                                                            \
	X(zero_cols, move)                                                                         \
	X(interp_nearest, move)                                                                    \
	X(chw_to_seq, move)                                                                        \
	X(global_avg, reduce)                                                                      \
	X(global_max, reduce)                                                                      \
	X(reduce, reduce)                                                                          \
	X(softmax, sequence)                                                                       \
	X(attn_softmax, sequence)                                                                  \
	X(layer_norm, sequence)                                                                    \
	X(attention_16, sequence)                                                                  \
	X(attention_32, sequence)                                                                  \
	X(attention_64, sequence)                                                                  \
	X(ctc_digest, sequence)

#endif
