/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of the kernels share: one case, run on the GPU device and by the reference. */
#ifndef PSG_TESTS_T_GPU_H
#define PSG_TESTS_T_GPU_H

#include "ops/cuda.h"

#include <check.h>

#define T_MOST_SAMPLES 8

/* ThreadSanitizer's clocks make a barrier of many fibers slow: of long lists it sees a part, which
 * has no factor in common with what the lists repeat. */
#ifdef __SANITIZE_THREAD__
#define T_EVERY 11
#else
#define T_EVERY 1
#endif

typedef struct t_gpu_case {
	psg_op_kind kind;
	psg_op_params params;
	size_t n_in, n_out; /* n_out 0: one */
	psg_shape in[PSG_MAX_INPUTS];
	/* Whole numbers are random in -most..most-1 by input, 0: of all 64 bits. */
	psg_dtype dtype[PSG_MAX_INPUTS];
	int64_t most[PSG_MAX_INPUTS];
	bool no_zeros;      /* a whole 0 becomes -1, by which the least number has no quotient */
	bool known;         /* the kernel is made for these values: they are a constant's */
	int32_t valid_axis; /* of input 0; its padding is NaN for the kernel */
	int32_t valid[T_MOST_SAMPLES];
	psgi_epilogue post[PSGI_MAX_EPILOGUE];
	size_t n_post;
	bool specials; /* NaN and infinities among the inputs, or the ends of whole numbers */
	float scale;   /* of the inputs, which are random in -1..1; 0: 1 */
	bool of_sums;  /* compared with the largest result: products and convolutions */
} t_gpu_case;

/* The device that all cases of a process run on; opened at the first use. */
psg_device *t_gpu(void);
/* At the end of each test: nothing may be left on the fake driver. */
void t_gpu_close(void);

/* Runs the case and fails the test where results differ; `what` is for the message. */
void t_gpu_check(const t_gpu_case *c, const char *what);
/* Both run and are INVALID; the kernel's message starts with `message`, and names what has no
 * result in operand 1 along axis 0.  The same kernel does well between with ones there. */
void t_gpu_fails(const t_gpu_case *c, const char *message);
/* There is no kernel for it. */
void t_gpu_refuses(const t_gpu_case *c, const char *what);

/* A mix of random values, against the formula. */
void t_gpu_mix(const psgi_mix_spec *spec);

#define T_S(...) PSG_SHAPE(__VA_ARGS__)

void t_gpu_products(Suite *suite);
void t_gpu_windows(Suite *suite);
void t_gpu_elements(Suite *suite);
void t_gpu_moves(Suite *suite);
void t_gpu_sequences(Suite *suite);
void t_gpu_integers(Suite *suite);
void t_gpu_host(Suite *suite);

#endif
