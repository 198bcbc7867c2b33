/* SPDX-License-Identifier: Apache-2.0 */
/* Functions of one element, arithmetic with broadcasting, channels, mixes. */
#include "config.h"

#include "t_gpu.h"

#include <stdio.h>

static const psg_op_kind functions[] = {
	PSG_OP_RELU,    PSG_OP_LEAKY_RELU, PSG_OP_ELU,
	PSG_OP_CELU,    PSG_OP_SELU,       PSG_OP_CLIP,
	PSG_OP_AFFINE,  PSG_OP_SIGMOID,    PSG_OP_HARDSIGMOID,
	PSG_OP_SE_GATE, PSG_OP_SILU,       PSG_OP_HARDSWISH,
	PSG_OP_GELU,    PSG_OP_ERF,        PSG_OP_SOFTPLUS,
	PSG_OP_TANH,    PSG_OP_SOFTSIGN,   PSG_OP_EXP,
	PSG_OP_LOG,     PSG_OP_SQRT,       PSG_OP_ABS,
	PSG_OP_NEG,     PSG_OP_FLOOR,      PSG_OP_CEIL,
	PSG_OP_ROUND,   PSG_OP_SIGN,       PSG_OP_SINH,
	PSG_OP_COSH,    PSG_OP_ASINH,      PSG_OP_ACOSH,
	PSG_OP_ATANH,   PSG_OP_RECIPROCAL, PSG_OP_THRESHOLDED_RELU,
};

/* Values near 0, where functions bend, and where exponentials end; with and without specials. */
START_TEST(of_one)
{
	static const float scale[] = { 1e-3F, 1, 10, 120 };
	static const int64_t size[] = { 0, 1, 7, 63, 65, 1031 };
	char what[64];

	for (size_t k = 0; k < sizeof(functions) / sizeof(functions[0]); k++) {
		for (size_t i = 0; i < 4 * 6; i++) {
			t_gpu_case c = { .kind = functions[k],
					 .n_in = 1,
					 .params = { .unary = { 0.6F, 0.9F } },
					 .in = { T_S(size[i / 4]) },
					 .scale = scale[i % 4],
					 .specials = i % 2 != 0 };

			(void)snprintf(what, sizeof(what), "%s of %d within %g",
				       psg_op_name(functions[k]), (int)size[i / 4],
				       (double)scale[i % 4]);
			t_gpu_check(&c, what);
		}
	}
}
END_TEST

/* As posts of an operator whose kernel takes some of them, and of one whose kernel takes none. */
START_TEST(as_posts)
{
	char what[64];

	for (size_t k = 0; k < sizeof(functions) / sizeof(functions[0]); k++) {
		t_gpu_case c = { .kind = PSG_OP_MATMUL,
				 .n_in = 2,
				 .in = { T_S(7, 3), T_S(3, 5) },
				 .n_post = 4,
				 .specials = true,
				 .post = { { PSG_OP_ADD, 0, 0 },
					   { functions[k], 0.6F, 0.9F },
					   { PSG_OP_ADD, 0, 0 },
					   { PSG_OP_RELU, 0, 0 } } };

		(void)snprintf(what, sizeof(what), "%s after a product", psg_op_name(functions[k]));
		t_gpu_check(&c, what);
		c.kind = PSG_OP_SUB;
		c.in[0] = c.in[1];
		(void)snprintf(what, sizeof(what), "%s after a difference",
			       psg_op_name(functions[k]));
		t_gpu_check(&c, what);
	}
}
END_TEST

START_TEST(defaults)
{
	t_gpu_case c = { .kind = PSG_OP_HARDSIGMOID, .n_in = 1, .in = { T_S(65) }, .scale = 5 };

	t_gpu_check(&c, "hardsigmoid without parameters");
	c.n_post = 1;
	c.post[0] = (psgi_epilogue){ PSG_OP_HARDSIGMOID, 0, 0 };
	c.kind = PSG_OP_EXP;
	t_gpu_check(&c, "the same as a post");
	c = (t_gpu_case){ .kind = PSG_OP_SIN, .n_in = 1, .in = { T_S(65) } };
	t_gpu_refuses(&c, "sin");
}
END_TEST

START_TEST(of_two)
{
	static const psg_op_kind kind[] = { PSG_OP_ADD, PSG_OP_SUB, PSG_OP_MUL,  PSG_OP_DIV,
					    PSG_OP_MIN, PSG_OP_MAX, PSG_OP_PRELU };
	static const psg_shape shape[][2] = {
		{ { 4, { 2, 3, 5, 65 } }, { 4, { 2, 3, 5, 65 } } },
		{ { 4, { 2, 3, 5, 65 } }, { 4, { 2, 3, 1, 1 } } },
		{ { 4, { 2, 3, 5, 65 } }, { 1, { 65 } } },
		{ { 4, { 2, 3, 5, 65 } }, { 0, { 0 } } },
		{ { 4, { 2, 3, 5, 7 } }, { 4, { 1, 3, 1, 7 } } },
		{ { 5, { 2, 3, 2, 3, 2 } }, { 5, { 1, 3, 1, 3, 1 } } },
		{ { 2, { 0, 3 } }, { 2, { 1, 3 } } },
		{ { 1, { 1 } }, { 1, { 1 } } },
	};
	char what[64];

	for (size_t k = 0; k < sizeof(kind) / sizeof(kind[0]); k++) {
		for (size_t i = 0; i < sizeof(shape) / sizeof(shape[0]); i++) {
			t_gpu_case c = { .kind = kind[k],
					 .n_in = 2,
					 .in = { shape[i][0], shape[i][1] } };

			(void)snprintf(what, sizeof(what), "%s %zu", psg_op_name(kind[k]), i);
			t_gpu_check(&c, what);
			c.specials = true;
			t_gpu_check(&c, what);
			if (kind[k] == PSG_OP_PRELU)
				continue;
			c.in[0] = shape[i][1];
			c.in[1] = shape[i][0];
			t_gpu_check(&c, what);
		}
	}
}
END_TEST

START_TEST(of_many)
{
	t_gpu_case c = { .kind = PSG_OP_ADD,
			 .n_in = 4,
			 .in = { T_S(3, 1), T_S(65), T_S(3, 65), T_S(1, 65) } };

	t_gpu_check(&c, "add of four");
	c.kind = PSG_OP_MAX;
	t_gpu_check(&c, "max of four");
}
END_TEST

START_TEST(channels)
{
	static const psg_shape shape[] = {
		{ 4, { 2, 3, 5, 65 } }, { 2, { 7, 5 } }, { 4, { 0, 3, 2, 2 } }, { 3, { 2, 63, 7 } }
	};

	for (size_t i = 0; i < sizeof(shape) / sizeof(shape[0]); i++) {
		t_gpu_case c = { .kind = PSG_OP_ADD_BIAS,
				 .n_in = 2,
				 .specials = true,
				 .in = { shape[i], T_S(shape[i].dim[1]) } };

		t_gpu_check(&c, "add_bias");
		c.kind = PSG_OP_SCALE_CH;
		c.in[1] = T_S(shape[i].dim[0], shape[i].dim[1], 1, 1);
		t_gpu_check(&c, "scale_ch");
	}
}
END_TEST

void t_gpu_elements(Suite *suite)
{
	TCase *tcase = tcase_create("elements");

	tcase_set_timeout(tcase, 600);
	tcase_add_checked_fixture(tcase, NULL, t_gpu_close);
	tcase_add_test(tcase, of_one);
	tcase_add_test(tcase, as_posts);
	tcase_add_test(tcase, defaults);
	tcase_add_test(tcase, of_two);
	tcase_add_test(tcase, of_many);
	tcase_add_test(tcase, channels);
	suite_add_tcase(suite, tcase);
}
