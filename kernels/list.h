/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every kernel once, X(name, family): family is the file kernels/FAMILY.c and
 * the module ptx/sm_XX/FAMILY.ptx.  A module is loaded when the first of its
 * kernels is used, so what is used together lies together.
 */
#ifndef PSG_KERNELS_LIST_H
#define PSG_KERNELS_LIST_H

#define PSGI_KERNEL_FAMILIES(X) X(element)

#define PSGI_KERNELS(X)                                                                            \
	X(unary, element)                                                                          \
	X(relu, element)                                                                           \
	X(silu, element)                                                                           \
	X(gelu, element)                                                                           \
	X(sigmoid, element)                                                                        \
	X(hardsigmoid, element)                                                                    \
	X(se_gate, element)                                                                        \
	X(add2, element)                                                                           \
	X(add_bias, element)                                                                       \
	X(scale_ch, element)

#endif
