/* SPDX-License-Identifier: Apache-2.0 */
/* Normalisations, softmax, attention, the digest. */
#include "config.h"

#include "t_gpu.h"

#include <stdio.h>

/* Each case without widths, with specials, and with widths along each axis that has them. */
static void check(t_gpu_case c, uint32_t axes, const char *name)
{
	char what[64];

	t_gpu_check(&c, name);
	c.specials = true;
	(void)snprintf(what, sizeof(what), "%s, specials", name);
	t_gpu_check(&c, what);
	c.specials = false;
	for (int32_t axis = 1; axis < c.in[0].rank; axis++) {
		if ((axes >> axis & 1) == 0)
			continue;
		c.valid_axis = axis;
		for (int64_t n = 0; n < c.in[0].dim[0]; n++) {
			c.valid[n] = (int32_t)((c.in[0].dim[axis] + 1) / 2 + n);
			if (c.valid[n] > c.in[0].dim[axis])
				c.valid[n] = (int32_t)c.in[0].dim[axis];
		}
		(void)snprintf(what, sizeof(what), "%s, widths along %d", name, (int)axis);
		t_gpu_check(&c, what);
	}
}

START_TEST(softmaxes)
{
	static const psg_shape shape[] = {
		{ 3, { 2, 7, 63 } },   { 3, { 2, 13, 1031 } }, { 2, { 3, 1 } },
		{ 4, { 2, 3, 5, 7 } }, { 2, { 3, 0 } },
	};
	char what[64];

	for (size_t i = 0; i < sizeof(shape) / sizeof(shape[0]); i++) {
		for (int32_t axis = 0; axis < shape[i].rank; axis++) {
			for (int k = 0; k < (T_EVERY == 1 ? 4 : 1); k++) {
				t_gpu_case c = { .kind = k % 2 == 0 ? PSG_OP_SOFTMAX
								    : PSG_OP_LOG_SOFTMAX,
						 .n_in = 1,
						 .scale = 20,
						 .params = { .softmax = { axis, k / 2 != 0 } },
						 .in = { shape[i] } };

				(void)snprintf(what, sizeof(what), "softmax %zu, axis %d, %d", i,
					       (int)axis, k);
				check(c, axis == 0 ? 0 : 1U << (shape[i].rank - 1), what);
			}
		}
	}
}
END_TEST

START_TEST(layer_norms)
{
	static const psg_shape shape[] = {
		{ 3, { 2, 7, 120 } }, { 2, { 7, 63 } }, { 3, { 3, 1, 1031 } },
		{ 2, { 3, 1 } },      { 2, { 0, 5 } },
	};
	char what[64];

	for (size_t i = 0; i < sizeof(shape) / sizeof(shape[0]); i++) {
		int32_t last = shape[i].rank - 1;
		psg_shape row = T_S(shape[i].dim[last]);
		t_gpu_case c = { .kind = PSG_OP_LAYER_NORM,
				 .n_in = i % 2 == 0 ? 3 : 2,
				 .params = { .norm = { 1e-5F, -1 } },
				 .in = { shape[i], row, row } };

		(void)snprintf(what, sizeof(what), "layer_norm %zu", i);
		check(c, 1U << last | 2, what);
	}
	check((t_gpu_case){ .kind = PSG_OP_LAYER_NORM,
			    .n_in = 3,
			    .params = { .norm = { 1e-5F, 1 } },
			    .in = { T_S(2, 7, 9), T_S(7, 9), T_S(7, 9) } },
	      0, "layer_norm over two dimensions");
}
END_TEST

START_TEST(instance_norms)
{
	check((t_gpu_case){ .kind = PSG_OP_INSTANCE_NORM,
			    .n_in = 3,
			    .params = { .norm = { .epsilon = 1e-5F } },
			    .in = { T_S(2, 3, 7, 33), T_S(3), T_S(3) } },
	      12, "instance_norm");
}
END_TEST

/* Head sizes beside and between those that kernels are made for, and steps around a block's. */
START_TEST(attentions)
{
	static const int64_t size[] = { 1, 15, 16, 31, 33, 64 };
	static const int64_t steps[] = { 1, 7, 63, 65, 130 };
	char what[64];

	for (size_t i = 0; i < 30; i += T_EVERY) {
		int64_t d = size[i % 6], t = steps[i / 6];
		t_gpu_case c = { .kind = PSG_OP_ATTENTION,
				 .n_in = 1,
				 .scale = 3,
				 .of_sums = true,
				 .params = { .attention = { 3, i % 2 == 0 ? 0 : 0.7F } },
				 .in = { T_S(2, t, 9 * d) } };

		(void)snprintf(what, sizeof(what), "attention of %d steps, heads of %d", (int)t,
			       (int)d);
		check(c, 2, what);
	}
	t_gpu_refuses(
		&(t_gpu_case){ .kind = PSG_OP_ATTENTION, .n_in = 1, .in = { T_S(1, 3, 3 * 65) } },
		"heads of 65");
}
END_TEST

START_TEST(attention_in_steps)
{
	t_gpu_case c = { .kind = PSG_OP_ATTN_SPLIT,
			 .n_in = 1,
			 .params = { .attention = { 4, 0.25F } },
			 .in = { T_S(2, 7, 3 * 60) } };

	t_gpu_check(&c, "attn_split");
	c.params.attention.scale = 0;
	t_gpu_check(&c, "attn_split without a factor");
	c = (t_gpu_case){ .kind = PSG_OP_ATTN_MERGE, .n_in = 1, .in = { T_S(2, 4, 7, 15) } };
	t_gpu_check(&c, "attn_merge");
	check((t_gpu_case){ .kind = PSG_OP_ATTN_SOFTMAX,
			    .n_in = 1,
			    .scale = 5,
			    .in = { T_S(2, 3, 65, 65) } },
	      12, "attn_softmax");
}
END_TEST

START_TEST(digests)
{
	static const int64_t classes[] = { 1, 7, 63, 65, 6625 };
	char what[64];

	for (size_t i = 0; i < 5; i++) {
		(void)snprintf(what, sizeof(what), "ctc_digest of %d classes", (int)classes[i]);
		check((t_gpu_case){ .kind = PSG_OP_CTC_DIGEST,
				    .n_in = 1,
				    .scale = 8,
				    .in = { T_S(3, 7, classes[i]) } },
		      2, what);
	}
}
END_TEST

START_TEST(batch_norms)
{
	static const psg_shape shape[] = { { 4, { 2, 3, 7, 33 } }, { 2, { 7, 5 } },
					   { 4, { 0, 3, 2, 2 } },  { 4, { 2, 3, 0, 5 } },
					   { 3, { 2, 1, 65 } },    { 4, { 1, 65, 1, 1 } } };

	for (size_t i = 0; i < 2 * sizeof(shape) / sizeof(shape[0]); i++) {
		int64_t channels = shape[i / 2].dim[1];
		t_gpu_case c = { .kind = PSG_OP_BATCH_NORM,
				 .n_in = 5,
				 .params = { .norm = { .epsilon = i % 2 != 0 ? 1e-5F : 0 } },
				 .in = { shape[i / 2], T_S(channels), T_S(channels), T_S(channels),
					 T_S(channels) } };

		t_gpu_check(&c, "batch_norm");
		c.specials = true;
		t_gpu_check(&c, "batch_norm of specials");
		if (i / 2 != 0)
			continue;
		c.valid_axis = 3;
		c.valid[0] = 33;
		c.valid[1] = 7;
		t_gpu_check(&c, "batch_norm of widths");
	}
}
END_TEST

void t_gpu_sequences(Suite *suite)
{
	TCase *tcase = tcase_create("sequences");

	tcase_set_timeout(tcase, 600);
	tcase_add_checked_fixture(tcase, NULL, t_gpu_close);
	tcase_add_test(tcase, softmaxes);
	tcase_add_test(tcase, layer_norms);
	tcase_add_test(tcase, instance_norms);
	tcase_add_test(tcase, attentions);
	tcase_add_test(tcase, attention_in_steps);
	tcase_add_test(tcase, digests);
	tcase_add_test(tcase, batch_norms);
	suite_add_tcase(suite, tcase);
}
