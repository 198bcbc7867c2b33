/* SPDX-License-Identifier: Apache-2.0 */
/* Matrix products: tiles and what hangs over them, turned operands, batches, biases, posts. */
#include "config.h"

#include "t_gpu.h"

#include <stdio.h>

static const psgi_epilogue all_posts[] = {
	{ PSG_OP_HARDSWISH, 0, 0 }, { PSG_OP_ADD, 0, 0 }, { PSG_OP_AFFINE, 1.5F, -0.25F },
	{ PSG_OP_GELU, 0, 0 },      { PSG_OP_ADD, 0, 0 }, { PSG_OP_RELU, 0, 0 },
};

static void posts_of(t_gpu_case *c, size_t n)
{
	c->n_post = n;
	for (size_t i = 0; i < n; i++)
		c->post[i] = all_posts[i];
}

/* Multiply-adds above which a case takes too long for a test that runs under sanitizers too. */
#define MOST_MACS 1100000

START_TEST(sizes)
{
	static const int64_t size[] = { 1, 7, 63, 65, 128, 1031 };
	char what[64];

	for (int i = 0; i < 6 * 6 * 6; i += T_EVERY) {
		int64_t m = size[i / 36], n = size[i / 6 % 6], k = size[i % 6];
		t_gpu_case c = { .kind = PSG_OP_MATMUL,
				 .n_in = 2,
				 .of_sums = true,
				 .in = { T_S(m, k), T_S(k, n) } };

		if (m * n * k > MOST_MACS)
			continue;
		posts_of(&c, (size_t)i % 7);
		(void)snprintf(what, sizeof(what), "matmul %d x %d x %d", (int)m, (int)n, (int)k);
		t_gpu_check(&c, what);
	}
}
END_TEST

START_TEST(turned)
{
	char what[64];

	for (int i = 0; i < 4; i++) {
		bool ta = i / 2 != 0, tb = i % 2 != 0;
		t_gpu_case c = { .kind = PSG_OP_MATMUL,
				 .n_in = 2,
				 .of_sums = true,
				 .params = { .matmul = { ta, tb, 0.5F, 0 } },
				 .in = { ta ? T_S(67, 35) : T_S(35, 67),
					 tb ? T_S(129, 67) : T_S(67, 129) } };

		(void)snprintf(what, sizeof(what), "matmul turned %d", i);
		t_gpu_check(&c, what);
		c.in[0] = ta ? T_S(3, 200, 65) : T_S(3, 65, 200);
		c.in[1] = tb ? T_S(3, 130, 200) : T_S(3, 200, 130);
		t_gpu_check(&c, what);
	}
}
END_TEST

START_TEST(batches)
{
	static const psg_shape shape[][3] = {
		{ { 3, { 2, 7, 9 } }, { 2, { 9, 33 } }, { 1, { 33 } } },
		{ { 3, { 2, 70, 64 } }, { 3, { 2, 64, 65 } }, { 3, { 2, 70, 65 } } },
		{ { 4, { 2, 3, 5, 8 } }, { 4, { 2, 3, 8, 12 } }, { 1, { 12 } } },
		{ { 4, { 2, 1, 5, 8 } }, { 4, { 1, 3, 8, 12 } }, { 4, { 2, 3, 5, 12 } } },
		{ { 2, { 5, 8 } }, { 2, { 8, 12 } }, { 2, { 5, 1 } } },
		{ { 2, { 5, 8 } }, { 2, { 8, 12 } }, { 2, { 1, 12 } } },
		{ { 1, { 8 } }, { 2, { 8, 12 } }, { 1, { 12 } } },
		{ { 2, { 5, 8 } }, { 1, { 8 } }, { 1, { 5 } } },
		{ { 3, { 2, 0, 8 } }, { 2, { 8, 3 } }, { 1, { 3 } } },
		{ { 2, { 4, 0 } }, { 2, { 0, 3 } }, { 1, { 3 } } },
	};
	char what[64];

	for (size_t i = 0; i < sizeof(shape) / sizeof(shape[0]); i++) {
		t_gpu_case c = { .kind = PSG_OP_MATMUL,
				 .n_in = 3,
				 .of_sums = true,
				 .in = { shape[i][0], shape[i][1], shape[i][2] } };

		(void)snprintf(what, sizeof(what), "matmul batch %zu", i);
		posts_of(&c, 2);
		t_gpu_check(&c, what);
		c.n_in = 2;
		c.specials = true;
		t_gpu_check(&c, what);
	}
}
END_TEST

/* Enough tiles for every multiprocessor of a large card, so that larger ones are chosen too. */
START_TEST(large)
{
	static const int64_t size[][3] = { { 2062, 1031, 17 }, { 1031, 517, 35 }, { 515, 516, 8 } };
	char what[64];

	for (size_t i = 0; i < 3; i++) {
		t_gpu_case c = { .kind = PSG_OP_MATMUL,
				 .n_in = 3,
				 .of_sums = true,
				 .in = { T_S(size[i][0], size[i][2]), T_S(size[i][2], size[i][1]),
					 T_S(size[i][1]) } };

		(void)snprintf(what, sizeof(what), "large matmul %zu", i);
		posts_of(&c, 2);
		t_gpu_check(&c, what);
	}
}
END_TEST

typedef struct shape_of_conv {
	psg_shape x, w;
	int32_t stride, pad, dilation, groups;
} shape_of_conv;

/* Point, window, depthwise with a multiplier, groups, one pixel; one dimension; strides and pads.
 */
static const shape_of_conv convs[] = {
	{ { 4, { 2, 3, 9, 33 } }, { 4, { 16, 3, 3, 3 } }, 2, 1, 1, 1 },
	{ { 4, { 1, 16, 17, 70 } }, { 4, { 65, 16, 3, 3 } }, 1, 1, 1, 1 },
	{ { 4, { 3, 5, 8, 63 } }, { 4, { 7, 5, 5, 5 } }, 1, 2, 1, 1 },
	{ { 4, { 2, 130, 6, 31 } }, { 4, { 129, 130, 1, 1 } }, 1, 0, 1, 1 },
	{ { 4, { 2, 8, 4, 20 } }, { 4, { 8, 8, 1, 1 } }, 2, 0, 1, 1 },
	{ { 4, { 3, 24, 1, 1 } }, { 4, { 96, 24, 1, 1 } }, 1, 0, 1, 1 },
	{ { 4, { 2, 12, 7, 40 } }, { 4, { 12, 1, 3, 3 } }, 1, 1, 1, 12 },
	{ { 4, { 2, 6, 10, 45 } }, { 4, { 12, 1, 5, 5 } }, 2, 2, 1, 6 },
	{ { 4, { 1, 6, 9, 30 } }, { 4, { 6, 1, 3, 7 } }, 1, 3, 2, 6 },
	{ { 4, { 2, 12, 7, 40 } }, { 4, { 20, 3, 3, 3 } }, 1, 1, 1, 4 },
	{ { 4, { 2, 12, 5, 32 } }, { 4, { 20, 3, 1, 1 } }, 1, 0, 1, 4 },
	{ { 4, { 1, 4, 20, 50 } }, { 4, { 9, 4, 3, 3 } }, 1, 4, 4, 1 },
	{ { 3, { 2, 5, 65 } }, { 3, { 4, 5, 3 } }, 2, 1, 1, 1 },
	{ { 4, { 1, 1, 1, 1 } }, { 4, { 1, 1, 1, 1 } }, 1, 0, 1, 1 },
	{ { 4, { 2, 1, 1031, 7 } }, { 4, { 3, 1, 3, 3 } }, 1, 1, 1, 1 },
	{ { 4, { 0, 3, 8, 8 } }, { 4, { 4, 3, 3, 3 } }, 1, 1, 1, 1 },
	/* larger tiles */
	{ { 4, { 1, 2, 80, 131 } }, { 4, { 130, 2, 3, 3 } }, 1, 1, 1, 1 },
	{ { 4, { 2, 2, 40, 65 } }, { 4, { 70, 2, 3, 3 } }, 1, 1, 1, 1 },
};

static t_gpu_case conv_case(const shape_of_conv *s, bool bias, size_t posts)
{
	t_gpu_case c = { .kind = PSG_OP_CONV,
			 .n_in = bias ? 3 : 2,
			 .of_sums = true,
			 .in = { s->x, s->w, T_S(s->w.dim[0]) } };
	psg_window *w = &c.params.conv.window;

	for (int i = 0; i < 2; i++) {
		w->stride[i] = s->stride;
		w->dilation[i] = s->dilation;
		w->pad_begin[i] = w->pad_end[i] = s->pad;
	}
	c.params.conv.groups = s->groups;
	posts_of(&c, posts);
	return c;
}

START_TEST(convolutions)
{
	char what[64];

	for (size_t i = 0; i < sizeof(convs) / sizeof(convs[0]); i++) {
		t_gpu_case c = conv_case(&convs[i], i % 2 == 0, i % 7);

		(void)snprintf(what, sizeof(what), "conv %zu", i);
		t_gpu_check(&c, what);
		c = conv_case(&convs[i], i % 2 != 0, 0);
		t_gpu_check(&c, what);
	}
}
END_TEST

/* The last axis or, where there is one, the rows; the first sample is the narrowest. */
START_TEST(convolutions_of_widths)
{
	char what[64];

	for (size_t i = 0; i < sizeof(convs) / sizeof(convs[0]); i++) {
		for (int32_t axis = convs[i].x.rank - 1; axis >= 2; axis--) {
			t_gpu_case c = conv_case(&convs[i], true, 1);

			c.valid_axis = axis;
			for (int64_t n = 0; n < convs[i].x.dim[0]; n++)
				c.valid[n] = (int32_t)((convs[i].x.dim[axis] + 1) / 2 + n);
			for (int64_t n = 0; n < convs[i].x.dim[0]; n++)
				if (c.valid[n] > convs[i].x.dim[axis])
					c.valid[n] = (int32_t)convs[i].x.dim[axis];
			(void)snprintf(what, sizeof(what), "conv %zu, widths along %d", i,
				       (int)axis);
			t_gpu_check(&c, what);
		}
	}
}
END_TEST

START_TEST(convolutions_of_specials)
{
	char what[64];

	for (size_t i = 0; i < sizeof(convs) / sizeof(convs[0]); i++) {
		t_gpu_case c = conv_case(&convs[i], true, 1);

		c.specials = true;
		(void)snprintf(what, sizeof(what), "conv %zu, specials", i);
		t_gpu_check(&c, what);
	}
}
END_TEST

START_TEST(transposed)
{
	static const shape_of_conv shapes[] = {
		{ { 4, { 2, 6, 7, 20 } }, { 4, { 6, 4, 2, 2 } }, 2, 0, 1, 1 },
		{ { 4, { 2, 6, 7, 20 } }, { 4, { 6, 4, 3, 3 } }, 2, 1, 1, 1 },
		{ { 4, { 1, 6, 5, 11 } }, { 4, { 6, 2, 3, 3 } }, 1, 1, 2, 3 },
		{ { 3, { 2, 3, 17 } }, { 3, { 3, 5, 4 } }, 3, 1, 1, 1 },
	};
	char what[64];

	for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
		t_gpu_case c = conv_case(&shapes[i], true, i % 3);

		c.kind = PSG_OP_CONV_TRANSPOSE;
		c.in[2] = T_S(shapes[i].w.dim[1] * shapes[i].groups);
		(void)snprintf(what, sizeof(what), "conv_transpose %zu", i);
		t_gpu_check(&c, what);
	}
}
END_TEST

START_TEST(without_kernel)
{
	t_gpu_case c = { .kind = PSG_OP_CONV,
			 .n_in = 2,
			 .in = { T_S(1, 2, 3, 4, 5), T_S(2, 2, 1, 1, 1) } };

	t_gpu_refuses(&c, "conv of three dimensions");
	c = (t_gpu_case){ .kind = PSG_OP_MATMUL,
			  .n_in = 3,
			  .params = { .matmul = { .beta = 0.5F } },
			  .in = { T_S(2, 3), T_S(3, 4), T_S(4) } };
	t_gpu_refuses(&c, "matmul with beta");
}
END_TEST

void t_gpu_products(Suite *suite)
{
	TCase *tcase = tcase_create("products");

	tcase_set_timeout(tcase, 600);
	tcase_add_checked_fixture(tcase, NULL, t_gpu_close);
	tcase_add_test(tcase, sizes);
	tcase_add_test(tcase, large);
	tcase_add_test(tcase, turned);
	tcase_add_test(tcase, batches);
	tcase_add_test(tcase, convolutions);
	tcase_add_test(tcase, convolutions_of_widths);
	tcase_add_test(tcase, convolutions_of_specials);
	tcase_add_test(tcase, transposed);
	tcase_add_test(tcase, without_kernel);
	suite_add_tcase(suite, tcase);
}
