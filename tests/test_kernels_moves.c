/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that only move elements. */
#include "config.h"

#include "t_gpu.h"

#include <stdio.h>

static void check_all(const t_gpu_case *cases, size_t n, const char *name)
{
	char what[64];

	for (size_t i = 0; i < n; i++) {
		t_gpu_case c = cases[i];

		c.specials = true; /* a move changes no bit */
		(void)snprintf(what, sizeof(what), "%s %zu", name, i);
		t_gpu_check(&c, what);
	}
}
#define CHECK_ALL(cases, name) check_all(cases, sizeof(cases) / sizeof(cases[0]), name)

START_TEST(parts)
{
	const t_gpu_case cases[] = {
		{ .kind = PSG_OP_CONCAT,
		  .n_in = 3,
		  .params = { .concat = { .axis = 1 } },
		  .in = { T_S(2, 3, 5, 7), T_S(2, 1, 5, 7), T_S(2, 8, 5, 7) } },
		{ .kind = PSG_OP_CONCAT,
		  .n_in = 2,
		  .params = { .concat = { .axis = -1 } },
		  .in = { T_S(63, 7), T_S(63, 65) } },
		{ .kind = PSG_OP_CONCAT,
		  .n_in = 2,
		  .params = { .concat = { .axis = 0 } },
		  .in = { T_S(0, 7), T_S(3, 7) } },
		{ .kind = PSG_OP_COPY_PART,
		  .n_in = 2,
		  .params = { .concat = { .axis = 1, .offset = 2 } },
		  .in = { T_S(2, 9, 65), T_S(2, 3, 65) } },
		{ .kind = PSG_OP_SPLIT,
		  .n_in = 1,
		  .n_out = 3,
		  .params = { .split = { .axis = 1, .n = 3, .size = { 1, 0, 6 } } },
		  .in = { T_S(2, 7, 65) } },
		{ .kind = PSG_OP_SLICE,
		  .n_in = 1,
		  .params = { .slice = { { 1, 2 }, { 5, 1 }, { 0, 60 }, { -2, 3 }, 2 } },
		  .in = { T_S(2, 7, 65) } },
		{ .kind = PSG_OP_SLICE,
		  .n_in = 1,
		  .params = { .slice = { { 0 }, { 2 }, { 1 }, { 1 }, 1 } },
		  .in = { T_S(3, 5) } },
		{ .kind = PSG_OP_CROP_COLS,
		  .n_in = 1,
		  .params = { .slice = { .start = { 3 }, .end = { 60 } } },
		  .in = { T_S(2, 7, 65) } },
	};

	CHECK_ALL(cases, "parts");
}
END_TEST

START_TEST(orders)
{
	const t_gpu_case cases[] = {
		{ .kind = PSG_OP_TRANSPOSE,
		  .n_in = 1,
		  .params = { .transpose = { { 0, 2, 1 } } },
		  .in = { T_S(2, 63, 65) } },
		{ .kind = PSG_OP_TRANSPOSE,
		  .n_in = 1,
		  .params = { .transpose = { { 3, 1, 4, 0, 2 } } },
		  .in = { T_S(2, 3, 4, 5, 7) } },
		{ .kind = PSG_OP_CHW_TO_SEQ, .n_in = 1, .in = { T_S(2, 63, 1, 65) } },
		{ .kind = PSG_OP_CHW_TO_SEQ, .n_in = 1, .in = { T_S(2, 5, 7, 33) } },
		{ .kind = PSG_OP_CHW_TO_SEQ, .n_in = 1, .in = { T_S(1, 1, 1, 1031) } },
		{ .kind = PSG_OP_CHW_TO_SEQ, .n_in = 1, .in = { T_S(1, 0, 3, 3) } },
		{ .kind = PSG_OP_SEQ_TO_CHW,
		  .n_in = 1,
		  .params = { .sequence = { .height = 5 } },
		  .in = { T_S(2, 65, 31) } },
		{ .kind = PSG_OP_DEPTH_TO_SPACE,
		  .n_in = 1,
		  .params = { .depth = { .block = 2 } },
		  .in = { T_S(2, 12, 5, 7) } },
		{ .kind = PSG_OP_DEPTH_TO_SPACE,
		  .n_in = 1,
		  .params = { .depth = { .block = 2, .column_row_depth = true } },
		  .in = { T_S(2, 12, 5, 7) } },
		{ .kind = PSG_OP_SPACE_TO_DEPTH,
		  .n_in = 1,
		  .params = { .depth = { .block = 3 } },
		  .in = { T_S(2, 2, 6, 9) } },
		{ .kind = PSG_OP_RESHAPE,
		  .n_in = 1,
		  .params = { .reshape = { .shape = { 2, { 7, -1 } } } },
		  .in = { T_S(63, 7) } },
		{ .kind = PSG_OP_IDENTITY, .n_in = 1, .in = { { .rank = 0 } } },
		{ .kind = PSG_OP_EXPAND,
		  .n_in = 1,
		  .params = { .reshape = { .shape = { 3, { 2, 7, 65 } } } },
		  .in = { T_S(7, 1) } },
		{ .kind = PSG_OP_TILE,
		  .n_in = 1,
		  .params = { .reshape = { .shape = { 3, { 2, 1, 3 } } } },
		  .in = { T_S(3, 5, 7) } },
	};

	CHECK_ALL(cases, "orders");
}
END_TEST

START_TEST(pads)
{
	const t_gpu_case cases[] = {
		{ .kind = PSG_OP_PAD_ALL,
		  .n_in = 1,
		  .params = { .pad = { PSG_PAD_CONSTANT, 0.5F, { 1, 0, 2 }, { 0, 3, 65 } } },
		  .in = { T_S(2, 7, 63) } },
		{ .kind = PSG_OP_PAD_ALL,
		  .n_in = 1,
		  .params = { .pad = { PSG_PAD_REFLECT, 0, { 0, 3 }, { 0, 6 } } },
		  .in = { T_S(5, 7) } },
		{ .kind = PSG_OP_PAD_ALL,
		  .n_in = 1,
		  .params = { .pad = { PSG_PAD_EDGE, 0, { 2, -3 }, { 0, 9 } } },
		  .in = { T_S(5, 7) } },
		{ .kind = PSG_OP_PAD_ALL,
		  .n_in = 1,
		  .params = { .pad = { PSG_PAD_CONSTANT, 1, { 0, 2 }, { 0, 1 } } },
		  .in = { T_S(3, 0) } },
		{ .kind = PSG_OP_PAD_RB,
		  .n_in = 1,
		  .params = { .pad = { .end = { 3, 5 } } },
		  .in = { T_S(2, 3, 7, 63) } },
	};

	CHECK_ALL(cases, "pads");
}
END_TEST

START_TEST(enlarged)
{
	const t_gpu_case cases[] = {
		{ .kind = PSG_OP_INTERP_NEAREST,
		  .n_in = 1,
		  .params = { .resize = { .scale = { 1, 1, 2, 2 } } },
		  .in = { T_S(2, 3, 7, 33) } },
		{ .kind = PSG_OP_INTERP_NEAREST,
		  .n_in = 1,
		  .params = { .resize = { .size = { 1, 2, 10, 63 },
					  .coordinates = PSG_COORD_HALF_PIXEL,
					  .nearest = PSG_NEAREST_ROUND_PREFER_FLOOR } },
		  .in = { T_S(1, 2, 7, 31) } },
		{ .kind = PSG_OP_INTERP_NEAREST,
		  .n_in = 1,
		  .params = { .resize = { .scale = { 1, 1, 0.4, 0.4 } } },
		  .in = { T_S(2, 3, 7, 33) } },
	};

	CHECK_ALL(cases, "enlarged");
}
END_TEST

/* NaN past the widths become zeros, along each axis that there may be columns on. */
START_TEST(columns)
{
	t_gpu_case c = { .kind = PSG_OP_ZERO_COLS, .n_in = 1, .in = { T_S(3, 5, 7, 65) } };

	t_gpu_check(&c, "zero_cols without widths");
	for (int32_t axis = 1; axis < 4; axis++) {
		c.valid_axis = axis;
		for (int32_t n = 0; n < 3; n++)
			c.valid[n] = (int32_t)c.in[0].dim[axis] - n;
		t_gpu_check(&c, "zero_cols");
	}
}
END_TEST

/* out = a * (base + gate) + b, a or b enlarged, as a part of more channels. */
START_TEST(mixes)
{
	static const struct {
		int32_t up_a, up_b;
		bool gate, b;
		float base;
		int64_t channels, all, offset;
	} mix[] = {
		{ 1, 1, true, false, 0, 6, 6, 0 }, { 1, 1, true, false, 1, 6, 20, 8 },
		{ 1, 2, true, true, 1, 6, 6, 0 },  { 4, 1, false, false, 1, 5, 24, 16 },
		{ 1, 1, false, true, 1, 3, 3, 0 },
	};

	for (size_t i = 0; i < sizeof(mix) / sizeof(mix[0]); i++)
		t_gpu_mix(&(psgi_mix_spec){ .out = T_S(2, mix[i].all, 8, 20),
					    .channels = mix[i].channels,
					    .offset = mix[i].offset,
					    .up_a = mix[i].up_a,
					    .up_b = mix[i].up_b,
					    .has_gate = mix[i].gate,
					    .has_b = mix[i].b,
					    .base = mix[i].base });
}
END_TEST

void t_gpu_moves(Suite *suite)
{
	TCase *tcase = tcase_create("moves");

	tcase_set_timeout(tcase, 600);
	tcase_add_checked_fixture(tcase, NULL, t_gpu_close);
	tcase_add_test(tcase, parts);
	tcase_add_test(tcase, orders);
	tcase_add_test(tcase, pads);
	tcase_add_test(tcase, enlarged);
	tcase_add_test(tcase, columns);
	tcase_add_test(tcase, mixes);
	suite_add_tcase(suite, tcase);
}
