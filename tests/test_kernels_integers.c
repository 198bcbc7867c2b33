/* SPDX-License-Identifier: Apache-2.0 */
/* Whole numbers, comparisons, conversions, powers, and what is taken by value. */
#include "config.h"

#include "t_gpu.h"

#include <stdio.h>

/* Sizes around those of blocks and warps, none, and all ways to broadcast. */
static const psg_shape pairs[][2] = {
	{ { 1, { 1 } }, { 1, { 1 } } },
	{ { 1, { 7 } }, { 1, { 7 } } },
	{ { 1, { 63 } }, { 0, { 0 } } },
	{ { 2, { 3, 65 } }, { 1, { 65 } } },
	{ { 1, { 1031 } }, { 1, { 1031 } } },
	{ { 2, { 7, 1 } }, { 2, { 1, 63 } } },
	{ { 4, { 2, 3, 5, 7 } }, { 4, { 1, 3, 1, 7 } } },
	{ { 2, { 0, 3 } }, { 2, { 1, 3 } } },
};
#define PAIRS (sizeof(pairs) / sizeof(pairs[0]))

static void check_pairs(const t_gpu_case *like)
{
	char what[64];

	for (size_t i = 0; i < PAIRS; i++) {
		t_gpu_case c = *like;

		c.n_in = 2;
		c.in[0] = pairs[i][0];
		c.in[1] = pairs[i][1];
		for (int k = 0; k < 4; k++) {
			c.specials = k / 2 != 0;
			c.known = k % 2 != 0;
			(void)snprintf(what, sizeof(what), "%s %zu %d", psg_op_name(c.kind), i, k);
			t_gpu_check(&c, what);
		}
	}
}

START_TEST(of_two)
{
	static const psg_op_kind kind[] = {
		PSG_OP_ADD,  PSG_OP_SUB,           PSG_OP_MUL,        PSG_OP_DIV,
		PSG_OP_POW,  PSG_OP_MIN,           PSG_OP_MAX,        PSG_OP_EQUAL,
		PSG_OP_LESS, PSG_OP_GREATER_EQUAL, PSG_OP_LESS_EQUAL, PSG_OP_GREATER
	};

	for (size_t k = 0; k < sizeof(kind) / sizeof(kind[0]); k++) {
		t_gpu_case c = { .kind = kind[k],
				 .dtype = { PSG_I64, PSG_I64 },
				 .no_zeros = kind[k] == PSG_OP_DIV || kind[k] == PSG_OP_POW };

		check_pairs(&c);
		c.most[0] = c.most[1] = 5; /* so that some are equal, and powers fit */
		check_pairs(&c);
	}
}
END_TEST

START_TEST(floats_compared)
{
	static const psg_op_kind kind[] = { PSG_OP_EQUAL, PSG_OP_LESS, PSG_OP_LESS_EQUAL,
					    PSG_OP_GREATER, PSG_OP_GREATER_EQUAL };

	for (size_t k = 0; k < sizeof(kind) / sizeof(kind[0]); k++) {
		t_gpu_case c = { .kind = kind[k], .n_in = 1 };

		check_pairs(&c);
		c.scale = 1e-45F; /* zeros, and the least numbers beside them */
		check_pairs(&c);
	}
}
END_TEST

/* Of small and large bases, whole and other exponents, and what C says of the rest. */
START_TEST(powers)
{
	t_gpu_case c = { .kind = PSG_OP_POW };

	check_pairs(&c);
	c.scale = 30;
	check_pairs(&c);
	c.dtype[1] = PSG_I64;
	c.most[1] = 9;
	check_pairs(&c);
	c.most[1] = 0;
	check_pairs(&c);
}
END_TEST

START_TEST(division_by_zero)
{
	t_gpu_case c = { .kind = PSG_OP_DIV,
			 .n_in = 2,
			 .in = { T_S(1031), T_S(1031) },
			 .dtype = { PSG_I64, PSG_I64 },
			 .most = { 0, 9 } };

	t_gpu_fails(&c, "div: division by zero in element ");
	c.known = true;
	t_gpu_fails(&c, "div: division by zero in element ");
	c.kind = PSG_OP_POW;
	c.most[0] = 9;
	t_gpu_fails(&c, "pow: division by zero in element ");
	c.known = false;
	t_gpu_fails(&c, "pow: division by zero in element ");
}
END_TEST

START_TEST(of_one_and_many)
{
	static const psg_op_kind one[] = { PSG_OP_NEG, PSG_OP_ABS, PSG_OP_SIGN, PSG_OP_NOT };
	static const int64_t size[] = { 0, 1, 7, 63, 65, 1031 };
	static const psg_op_kind many[] = { PSG_OP_ADD, PSG_OP_MIN, PSG_OP_MAX, PSG_OP_MEAN };

	for (size_t k = 0; k < 4; k++) {
		for (size_t i = 0; i < 6; i++) {
			t_gpu_case c = { .kind = one[k],
					 .n_in = 1,
					 .in = { T_S(size[i]) },
					 .dtype = { PSG_I64 },
					 .specials = true };

			t_gpu_check(&c, psg_op_name(c.kind));
		}
	}
	for (size_t k = 0; k < 4; k++) {
		t_gpu_case c = { .kind = many[k],
				 .n_in = 4,
				 .in = { T_S(3, 1), T_S(65), T_S(3, 65), T_S(1, 65) } };

		t_gpu_check(&c, psg_op_name(c.kind));
		c.n_in = 1;
		t_gpu_check(&c, psg_op_name(c.kind));
		c.n_in = 4;
		for (size_t i = 0; i < 4; i++)
			c.dtype[i] = PSG_I64;
		if (many[k] != PSG_OP_MEAN)
			t_gpu_check(&c, psg_op_name(c.kind));
	}
}
END_TEST

/* Each conversion, of values within and beyond what the other type has. */
START_TEST(casts)
{
	static const float scale[] = { 1, 300, 3e9F, 1e19F };
	char what[64];

	for (int k = 0; k < 12 * 4 * 3; k++) {
		psg_dtype from = k % 2 != 0 ? PSG_I64 : PSG_F32, to = k / 2 % 2 ? PSG_I64 : PSG_F32;
		t_gpu_case c = { .kind = PSG_OP_CAST,
				 .n_in = 1,
				 .in = { T_S(k / 48 == 0   ? 1031
					     : k / 48 == 1 ? 7
							   : 0) },
				 .dtype = { from },
				 .params = { .cast = { to, k / 4 % 3 == 1, k / 4 % 3 == 2 } },
				 .most = { k / 12 % 2 ? 3 : 0 },
				 .scale = scale[k / 12 % 4],
				 .specials = true };

		(void)snprintf(what, sizeof(what), "cast %d", k);
		t_gpu_check(&c, what);
	}
}
END_TEST

START_TEST(gathers)
{
	static const psg_shape index[] = {
		{ 0, { 0 } }, { 1, { 1 } }, { 1, { 65 } }, { 2, { 3, 7 } }, { 1, { 0 } }
	};
	static const psg_shape x[] = { { 1, { 7 } }, { 3, { 3, 5, 63 } }, { 3, { 1, 1031, 1 } } };
	char what[64];

	for (int k = 0; k < 5 * 3 * 3 * 4; k++) {
		t_gpu_case c = { .kind = PSG_OP_GATHER,
				 .n_in = 2,
				 .in = { x[k / 5 % 3], index[k % 5] },
				 .dtype = { k / 45 % 2 ? PSG_I64 : PSG_F32, PSG_I64 },
				 .known = k / 90 != 0,
				 .specials = true };

		c.params.concat.axis = k / 15 % 3 - 2;
		if (c.params.concat.axis < -c.in[0].rank || c.params.concat.axis >= c.in[0].rank)
			continue;
		c.most[1] = c.in[0].dim[(c.params.concat.axis + c.in[0].rank) % c.in[0].rank];
		(void)snprintf(what, sizeof(what), "gather %d", k);
		t_gpu_check(&c, what);
	}
}
END_TEST

START_TEST(indices_outside)
{
	t_gpu_case c = { .kind = PSG_OP_GATHER,
			 .n_in = 2,
			 .in = { T_S(7, 65), T_S(1031) },
			 .dtype = { PSG_F32, PSG_I64 },
			 .most = { 0, 9 } };

	t_gpu_fails(&c, "gather: index ");
	c.known = true;
	t_gpu_fails(&c, "gather: index ");
	c.most[1] = 0; /* far from any memory */
	t_gpu_fails(&c, "gather: index ");
}
END_TEST

/* Nothing is picked, and so no index is wrong. */
START_TEST(indices_of_nothing)
{
	t_gpu_case c = { .kind = PSG_OP_GATHER,
			 .n_in = 2,
			 .in = { T_S(0, 5), T_S(7) },
			 .params.concat.axis = 1,
			 .dtype = { PSG_F32, PSG_I64 },
			 .most = { 0, 99 } };

	t_gpu_check(&c, "no rows");
	c.in[0] = T_S(5, 0);
	c.params.concat.axis = 0;
	t_gpu_check(&c, "no columns");
}
END_TEST

START_TEST(choices)
{
	static const psg_shape in[][3] = {
		{ { 1, { 1031 } }, { 1, { 1031 } }, { 1, { 1031 } } },
		{ { 2, { 7, 1 } }, { 1, { 63 } }, { 0, { 0 } } },
		{ { 3, { 1, 1, 65 } }, { 3, { 3, 1, 1 } }, { 3, { 1, 5, 1 } } },
		{ { 0, { 0 } }, { 0, { 0 } }, { 0, { 0 } } },
		{ { 2, { 0, 3 } }, { 1, { 3 } }, { 1, { 1 } } },
	};

	for (size_t i = 0; i < 10; i++) {
		psg_dtype dtype = i % 2 ? PSG_I64 : PSG_F32;
		t_gpu_case c = { .kind = PSG_OP_WHERE,
				 .n_in = 3,
				 .in = { in[i / 2][0], in[i / 2][1], in[i / 2][2] },
				 .dtype = { PSG_I64, dtype, dtype },
				 .most = { 1 } };

		t_gpu_check(&c, "where");
	}
}
END_TEST

/* Of many equal ones the first or the last; a NaN before all; only columns that there are. */
START_TEST(places)
{
	char what[64];

	for (int k = 0; k < 2 * 2 * 2 * 3 * 2; k++) {
		t_gpu_case c = { .kind = k % 2 ? PSG_OP_ARG_MAX : PSG_OP_ARG_MIN,
				 .n_in = 1,
				 .in = { T_S(3, 65, 7) },
				 .dtype = { k / 2 % 2 ? PSG_I64 : PSG_F32 },
				 .specials = k / 24 != 0,
				 .most = { 3 } };

		c.params.arg = (psg_arg_params){ k / 8 % 3, k / 8 % 3 != 1, k / 4 % 2 };
		(void)snprintf(what, sizeof(what), "place %d", k);
		t_gpu_check(&c, what);
		c.in[0] = T_S(2, 1031, 1);
		t_gpu_check(&c, what);
		if (c.params.arg.axis != 1)
			continue;
		c.valid_axis = 1;
		c.valid[0] = 7;
		c.valid[1] = 1000;
		t_gpu_check(&c, what);
	}
}
END_TEST

START_TEST(reductions)
{
	static const psg_op_kind kind[] = { PSG_OP_REDUCE_SUM, PSG_OP_REDUCE_MEAN,
					    PSG_OP_REDUCE_MAX, PSG_OP_REDUCE_MIN,
					    PSG_OP_REDUCE_PROD };
	static const psg_shape in[] = { { 1, { 1 } }, { 3, { 3, 65, 7 } }, { 2, { 1031, 2 } } };

	for (size_t k = 0; k < 5 * 3; k++) {
		t_gpu_case c = { .kind = kind[k % 5],
				 .n_in = 1,
				 .in = { in[k / 5] },
				 .dtype = { PSG_I64 },
				 .specials = k % 2 != 0 };

		t_gpu_check(&c, "all of them");
		c.params.reduce = (psg_reduce_params){ .axes = { 0 }, .n_axes = 1 };
		t_gpu_check(&c, "the first axis");
		c.params.reduce.axes[0] = -1;
		t_gpu_check(&c, "the last axis");
		c.in[0] = T_S(3, 0);
		if (c.kind != PSG_OP_REDUCE_MEAN)
			t_gpu_check(&c, "of none");
	}
}
END_TEST

/* What moves floats moves whole numbers. */
START_TEST(moves)
{
	const t_gpu_case cases[] = {
		{ .kind = PSG_OP_PAD_ALL,
		  .params = { .pad = { PSG_PAD_CONSTANT, -3.7F, { 1, 0, 2 }, { 0, 3, 65 } } },
		  .in = { T_S(2, 7, 63) } },
		{ .kind = PSG_OP_PAD_ALL,
		  .params = { .pad = { PSG_PAD_REFLECT, 0, { 0, 3 }, { 0, 6 } } },
		  .in = { T_S(5, 7) } },
		{ .kind = PSG_OP_PAD_RB,
		  .params = { .pad = { .end = { 3, 5 } } },
		  .in = { T_S(2, 3, 7, 63) } },
		{ .kind = PSG_OP_INTERP_NEAREST,
		  .params = { .resize = { .scale = { 1, 1, 2, 0.4 } } },
		  .in = { T_S(2, 3, 7, 33) } },
		{ .kind = PSG_OP_ZERO_COLS,
		  .valid_axis = 2,
		  .valid = { 7, 3 },
		  .in = { T_S(2, 3, 7, 65) } },
		{ .kind = PSG_OP_TRANSPOSE,
		  .params = { .transpose = { { 1, 0 } } },
		  .in = { T_S(7, 65) } },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		t_gpu_case c = cases[i];

		c.n_in = 1;
		c.dtype[0] = PSG_I64;
		t_gpu_check(&c, psg_op_name(c.kind));
	}
}
END_TEST

void t_gpu_integers(Suite *suite)
{
	TCase *tcase = tcase_create("integers");

	tcase_set_timeout(tcase, 600);
	tcase_add_checked_fixture(tcase, NULL, t_gpu_close);
	tcase_add_test(tcase, of_two);
	tcase_add_test(tcase, floats_compared);
	tcase_add_test(tcase, powers);
	tcase_add_test(tcase, division_by_zero);
	tcase_add_test(tcase, of_one_and_many);
	tcase_add_test(tcase, casts);
	tcase_add_test(tcase, gathers);
	tcase_add_test(tcase, indices_outside);
	tcase_add_test(tcase, indices_of_nothing);
	tcase_add_test(tcase, choices);
	tcase_add_test(tcase, places);
	tcase_add_test(tcase, reductions);
	tcase_add_test(tcase, moves);
	suite_add_tcase(suite, tcase);
}
