/* SPDX-License-Identifier: Apache-2.0 */
/* Pools, columns of images, reductions. */
#include "config.h"

#include "t_gpu.h"

#include <stdio.h>

typedef struct shape_of_window {
	psg_shape x;
	int32_t kernel, stride, pad, dilation;
	bool ceil_mode, count_pads;
} shape_of_window;

static const shape_of_window windows[] = {
	{ { 4, { 2, 3, 9, 33 } }, 2, 2, 0, 1, false, false },
	{ { 4, { 2, 3, 9, 32 } }, 3, 2, 1, 1, true, false },
	{ { 4, { 1, 5, 7, 65 } }, 3, 1, 1, 1, false, true },
	{ { 4, { 3, 1, 8, 31 } }, 2, 3, 1, 1, true, true },
	{ { 4, { 1, 2, 11, 40 } }, 3, 2, 1, 2, true, true },
	{ { 3, { 2, 3, 1031 } }, 3, 2, 1, 1, false, false },
	{ { 4, { 1, 1, 1, 1 } }, 1, 1, 0, 1, false, false },
	{ { 4, { 1, 0, 4, 4 } }, 2, 2, 0, 1, false, false },
};

static t_gpu_case window_case(const shape_of_window *s, psg_op_kind kind)
{
	t_gpu_case c = { .kind = kind, .n_in = 1, .in = { s->x } };
	psg_window *w = kind == PSG_OP_IM2COL ? &c.params.conv.window : &c.params.pool.window;

	for (int i = 0; i < 2; i++) {
		w->kernel[i] = s->kernel;
		w->stride[i] = s->stride;
		w->dilation[i] = s->dilation;
		w->pad_begin[i] = w->pad_end[i] = s->pad;
	}
	if (kind != PSG_OP_IM2COL) {
		c.params.pool.ceil_mode = s->ceil_mode;
		c.params.pool.count_include_pad = s->count_pads;
	}
	return c;
}

static void widths_along(t_gpu_case *c, int32_t axis)
{
	int64_t dim = c->in[0].dim[axis];

	c->valid_axis = axis;
	for (int64_t n = 0; n < c->in[0].dim[0]; n++) {
		c->valid[n] = (int32_t)((dim + 1) / 2 + n);
		if (c->valid[n] > dim)
			c->valid[n] = (int32_t)dim;
	}
}

static void each_window(psg_op_kind kind, const char *name)
{
	char what[64];

	for (size_t i = 0; i < sizeof(windows) / sizeof(windows[0]); i++) {
		t_gpu_case c = window_case(&windows[i], kind);

		(void)snprintf(what, sizeof(what), "%s %zu", name, i);
		t_gpu_check(&c, what);
		c.specials = true;
		t_gpu_check(&c, what);
		c.specials = false;
		if (kind == PSG_OP_IM2COL)
			continue; /* its columns are no place where widths could be followed to */
		for (int32_t axis = 2; axis < c.in[0].rank; axis++) {
			widths_along(&c, axis);
			(void)snprintf(what, sizeof(what), "%s %zu, widths along %d", name, i,
				       (int)axis);
			t_gpu_check(&c, what);
		}
	}
}

START_TEST(pools)
{
	t_gpu_case c = window_case(&windows[0], PSG_OP_POOL_MAX);

	each_window(PSG_OP_POOL_MAX, "pool_max");
	each_window(PSG_OP_POOL_AVG, "pool_avg");
	c.n_out = 2;
	t_gpu_refuses(&c, "pool_max with places");
}
END_TEST

START_TEST(columns)
{
	each_window(PSG_OP_IM2COL, "im2col");
}
END_TEST

START_TEST(whole_planes)
{
	static const psg_shape shape[] = {
		{ 4, { 2, 3, 7, 63 } },   { 4, { 1, 1, 1, 1 } }, { 3, { 3, 5, 1031 } },
		{ 4, { 2, 7, 65, 130 } }, { 2, { 3, 5 } },       { 4, { 0, 3, 2, 2 } },
	};
	char what[64];

	for (size_t i = 0; i < sizeof(shape) / sizeof(shape[0]); i++) {
		for (int k = 0; k < 2; k++) {
			t_gpu_case c = { .kind = k == 0 ? PSG_OP_GLOBAL_AVG : PSG_OP_GLOBAL_MAX,
					 .n_in = 1,
					 .in = { shape[i] } };

			(void)snprintf(what, sizeof(what), "global %d, %zu", k, i);
			t_gpu_check(&c, what);
			c.specials = true;
			t_gpu_check(&c, what);
			c.specials = false;
			for (int32_t axis = 2; axis < shape[i].rank; axis++) {
				widths_along(&c, axis);
				t_gpu_check(&c, what);
			}
		}
	}
}
END_TEST

START_TEST(reductions)
{
	static const psg_op_kind kind[] = {
		PSG_OP_REDUCE_SUM,  PSG_OP_REDUCE_MEAN, PSG_OP_REDUCE_MAX, PSG_OP_REDUCE_MIN,
		PSG_OP_REDUCE_PROD, PSG_OP_REDUCE_L1,   PSG_OP_REDUCE_L2,  PSG_OP_REDUCE_SUM_SQUARE,
	};
	static const psg_reduce_params axes[] = {
		{ { 0 }, 0, false, false },  { { 0 }, 1, true, false },
		{ { -1 }, 1, false, false }, { { 1, 2 }, 2, true, false },
		{ { 1 }, 1, false, false },
	};
	char what[64];

	for (size_t k = 0; k < sizeof(kind) / sizeof(kind[0]); k++) {
		for (size_t i = 0; i < sizeof(axes) / sizeof(axes[0]); i++) {
			t_gpu_case c = { .kind = kind[k],
					 .n_in = 1,
					 .of_sums = true,
					 .params = { .reduce = axes[i] },
					 .in = { T_S(3, 7, 65) } };

			(void)snprintf(what, sizeof(what), "reduction %zu, axes %zu", k, i);
			t_gpu_check(&c, what);
			c.specials = true;
			t_gpu_check(&c, what);
		}
	}
}
END_TEST

/* What lies past the widths is in no sum, and not counted by a mean. */
START_TEST(reductions_of_columns)
{
	static const psg_op_kind kind[] = { PSG_OP_REDUCE_SUM, PSG_OP_REDUCE_MEAN,
					    PSG_OP_REDUCE_MIN, PSG_OP_REDUCE_L2 };
	static const psg_reduce_params axes[] = {
		{ { 2, 3 }, 2, false, false },    { { -1 }, 1, true, false },
		{ { 1, 2, 3 }, 3, false, false }, { { 1, 2 }, 2, false, false },
		{ { 2 }, 1, false, false },
	};
	char what[64];

	for (size_t k = 0; k < 4 * 5 * 2; k++) {
		t_gpu_case c = { .kind = kind[k % 4],
				 .n_in = 1,
				 .of_sums = true,
				 .params = { .reduce = axes[k / 4 % 5] },
				 .in = { T_S(3, 5, 7, 65) } };

		widths_along(&c, k < 20 ? 3 : 2);
		(void)snprintf(what, sizeof(what), "%s of columns %zu", psg_op_name(c.kind), k);
		t_gpu_check(&c, what);
	}
}
END_TEST

void t_gpu_windows(Suite *suite)
{
	TCase *tcase = tcase_create("windows");

	tcase_set_timeout(tcase, 600);
	tcase_add_checked_fixture(tcase, NULL, t_gpu_close);
	tcase_add_test(tcase, pools);
	tcase_add_test(tcase, columns);
	tcase_add_test(tcase, whole_planes);
	tcase_add_test(tcase, reductions);
	tcase_add_test(tcase, reductions_of_columns);
	suite_add_tcase(suite, tcase);
}
