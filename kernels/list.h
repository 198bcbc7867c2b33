/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every kernel once, X(name, family, parameter): a family is the file
 * kernels/FAMILY.c and the module ptx/FAMILY.ptx.  A module is loaded when the
 * first of its kernels is used, and compiled by the driver when this was never
 * so before: what is used together lies together, and what is much code alone.
 */
#ifndef PSG_KERNELS_LIST_H
#define PSG_KERNELS_LIST_H

#define PSGI_KERNEL_FAMILIES(X)                                                                    \
	X(gemm_128)                                                                                \
	X(gemm_64)                                                                                 \
	X(gemm_32)                                                                                 \
	X(gemm_any)                                                                                \
	X(gemm_dots)                                                                               \
	X(conv_128)                                                                                \
	X(conv_64)                                                                                 \
	X(conv_32)                                                                                 \
	X(depthwise)                                                                               \
	X(conv_transpose)                                                                          \
	X(pool)                                                                                    \
	X(plane)                                                                                   \
	X(element)                                                                                 \
	X(function)                                                                                \
	X(binary)                                                                                  \
	X(power)                                                                                   \
	X(integer)                                                                                 \
	X(mix)                                                                                     \
	X(copy)                                                                                    \
	X(move)                                                                                    \
	X(reduce)                                                                                  \
	X(pick)                                                                                    \
	X(row)                                                                                     \
	X(batch_norm)                                                                              \
	X(attention_16)                                                                            \
	X(attention_32)                                                                            \
	X(attention_64)

#define PSGI_KERNELS(X)                                                                            \
	X(sgemm, gemm_128, gemm_args)                                                              \
	X(sgemm_64, gemm_64, gemm_args)                                                            \
	X(sgemm_32, gemm_32, gemm_args)                                                            \
	X(gemm_any, gemm_any, gemm_args)                                                           \
	X(gemm_dots, gemm_dots, gemm_args)                                                         \
	X(conv_128, conv_128, conv_args)                                                           \
	X(conv_64, conv_64, conv_args)                                                             \
	X(conv_32, conv_32, conv_args)                                                             \
	X(depthwise, depthwise, depthwise_args)                                                    \
	X(conv_transpose, conv_transpose, conv_transpose_args)                                     \
	X(im2col, pool, im2col_args)                                                               \
	X(pool_max, pool, pool_args)                                                               \
	X(pool_avg, pool, pool_args)                                                               \
	X(global_avg, plane, global_pool_args)                                                     \
	X(global_max, plane, global_pool_args)                                                     \
	X(relu, element, unary_args)                                                               \
	X(silu, element, unary_args)                                                               \
	X(gelu, element, unary_args)                                                               \
	X(sigmoid, element, unary_args)                                                            \
	X(hardsigmoid, element, unary_args)                                                        \
	X(se_gate, element, unary_args)                                                            \
	X(add2, element, add2_args)                                                                \
	X(add_bias, element, channel_args)                                                         \
	X(scale_ch, element, channel_args)                                                         \
	X(unary, function, unary_args)                                                             \
	X(binary, binary, binary_args)                                                             \
	X(power, power, power_args)                                                                \
	X(integers, integer, integer_args)                                                         \
	X(compare, integer, compare_args)                                                          \
	X(cast, integer, cast_args)                                                                \
	X(reduce_integers, integer, reduce_integers_args)                                          \
	X(mix, mix, mix_args)                                                                      \
	X(copy_strided, copy, copy_args)                                                           \
	X(copy_part, copy, copy_args)                                                              \
	X(crop_cols, copy, copy_args)                                                              \
	X(attn_merge, copy, copy_args)                                                             \
	X(chw_to_seq, copy, swap_args)                                                             \
	X(attn_split, move, copy_args)                                                             \
	X(pad_all, move, pad_args)                                                                 \
	X(pad_rb, move, pad_args)                                                                  \
	X(zero_cols, move, zero_cols_args)                                                         \
	X(interp_nearest, move, interp_args)                                                       \
	X(reduce, reduce, reduce_args)                                                             \
	X(gather, pick, gather_args)                                                               \
	X(where, pick, where_args)                                                                 \
	X(arg, pick, arg_args)                                                                     \
	X(softmax, row, softmax_args)                                                              \
	X(attn_softmax, row, softmax_args)                                                         \
	X(layer_norm, row, norm_args)                                                              \
	X(ctc_digest, row, digest_args)                                                            \
	X(batch_norm, batch_norm, batch_norm_args)                                                 \
	X(attention_16, attention_16, attention_args)                                              \
	X(attention_32, attention_32, attention_args)                                              \
	X(attention_64, attention_64, attention_args)

#endif
