/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the operator tests, and sees that no row of the table is without one. */
#include "config.h"

#include "t_ops.h"
#include "t_suites.h"

#include <stdlib.h>
#include <string.h>

static const t_cases *const all[] = { &t_window, &t_matrix, &t_element, &t_reduce, &t_move };
#define N_ALL (sizeof(all) / sizeof(all[0]))

static size_t total(void)
{
	size_t n = 0;

	for (size_t i = 0; i < N_ALL; i++)
		n += all[i]->n;
	return n;
}

START_TEST(one_case)
{
	size_t at = (size_t)_i, set = 0;
	const t_case *c;

	while (at >= all[set]->n)
		at -= all[set++]->n;
	c = &all[set]->cases[at];
	c->run(c->kind);
	ck_assert_msg(t_runs[c->kind] > 0, "the case for %s never ran it", psg_op_name(c->kind));
}
END_TEST

START_TEST(every_kind_has_a_case)
{
	bool seen[PSG_OP_KINDS] = { false };

	for (size_t i = 0; i < N_ALL; i++)
		for (size_t k = 0; k < all[i]->n; k++)
			seen[all[i]->cases[k].kind] = true;
	for (size_t kind = 0; kind < PSG_OP_KINDS; kind++)
		ck_assert_msg(seen[kind], "%s has no test", psg_op_name((psg_op_kind)kind));
}
END_TEST

START_TEST(table_is_complete)
{
	for (size_t kind = 0; kind < PSG_OP_KINDS; kind++) {
		const psgi_rule *rule = psgi_rule_of((psg_op_kind)kind);

		ck_assert_ptr_nonnull(rule);
		ck_assert_str_eq(rule->name, psg_op_name((psg_op_kind)kind));
		ck_assert(rule->shape != NULL && rule->cost != NULL && rule->ref != NULL);
		ck_assert(rule->min_in <= rule->max_in && rule->max_in <= PSG_MAX_INPUTS);
		ck_assert(rule->min_out >= 1 && rule->min_out <= rule->max_out);
		ck_assert(rule->max_out <= PSG_MAX_OUTPUTS);
	}
	ck_assert_ptr_null(psgi_rule_of(PSG_OP_KINDS));
	ck_assert_ptr_null(psg_op_name((psg_op_kind)-1));
	ck_assert_str_eq(psg_op_name(PSG_OP_CONV), "conv");
	ck_assert_str_eq(psg_op_name(PSG_OP_CTC_DIGEST), "ctc_digest");
}
END_TEST

/* Too few and too many inputs, a missing one, and a kind outside the table. */
START_TEST(counts_are_checked)
{
	psg_error error = PSG_ERROR_INIT;
	psg_tensor *x = t_random(PSG_SHAPE(2)), *out = NULL;
	psg_op none = { .kind = PSG_OP_RELU };
	psg_op many = { .kind = PSG_OP_RELU, .in = { x, x }, .n_in = 2 };
	psg_op missing = { .kind = PSG_OP_SUB, .in = { x, NULL }, .n_in = 2 };
	psg_op outside = { .kind = PSG_OP_KINDS, .in = { x }, .n_in = 1 };

	t_refused(&none, PSG_INVALID, "relu", "0 inputs", "1 to 1");
	t_refused(&many, PSG_INVALID, "relu", "2 inputs", "1 to 1");
	t_refused(&missing, PSG_INVALID, "sub", "input 1 is missing");
	ck_assert_int_eq(psgi_reference_run(&outside, &out, 1, &error), PSG_INVALID);
	ck_assert_ptr_nonnull(strstr(error.message, "outside the table"));
	many.n_in = PSG_MAX_INPUTS + 5;
	many.kind = PSG_OP_ADD;
	t_refused(&many, PSG_INVALID, "21 inputs", "1 to 16");
	psg_tensor_unref(x);
}
END_TEST

START_TEST(infer_gives_all_outputs)
{
	psg_tensor *x = t_random(PSG_SHAPE(1, 2, 4, 6));
	psg_op pool = { .kind = PSG_OP_POOL_MAX,
			.params.pool.window = { .kernel = { 2, 2 }, .stride = { 2, 2 } },
			.in = { x },
			.n_in = 1 };
	psg_op split = {
		.kind = PSG_OP_SPLIT, .params.split = { .axis = 3, .n = 3 }, .in = { x }, .n_in = 1
	};
	psg_shape shapes[PSG_MAX_OUTPUTS];
	psg_dtype dtypes[PSG_MAX_OUTPUTS];
	psg_error error = PSG_ERROR_INIT;
	size_t n = 0;

	ck_assert_int_eq(psg_op_infer(&pool, shapes, dtypes, &n, &error), PSG_OK);
	ck_assert_uint_eq(n, 2);
	ck_assert_int_eq(dtypes[0], PSG_F32);
	ck_assert_int_eq(dtypes[1], PSG_I64);
	ck_assert(psg_shape_equal(&shapes[1], &PSG_SHAPE(1, 2, 2, 3)));
	ck_assert_int_eq(psg_op_infer(&split, shapes, dtypes, &n, &error), PSG_OK);
	ck_assert_uint_eq(n, 3);
	ck_assert(psg_shape_equal(&shapes[2], &PSG_SHAPE(1, 2, 4, 2)));
	psg_tensor_unref(x);
}
END_TEST

START_TEST(costs)
{
	psg_tensor *x = t_random(PSG_SHAPE(1, 4, 5, 6)), *w = t_random(PSG_SHAPE(8, 2, 3, 3));
	psg_tensor *wt = t_random(PSG_SHAPE(4, 3, 2, 2)), *a = t_random(PSG_SHAPE(2, 5, 7));
	psg_tensor *b = t_random(PSG_SHAPE(7, 3)), *qkv = t_random(PSG_SHAPE(1, 10, 12));
	const struct {
		psg_op op;
		int64_t macs, bytes;
	} rows[] = {
		{ { .kind = PSG_OP_CONV, .params.conv.groups = 2, .in = { x, w }, .n_in = 2 },
		  8 * 3 * 4 * 2 * 9,
		  4 * (120 + 144 + 96) },
		{ { .kind = PSG_OP_CONV_TRANSPOSE, .in = { x, wt }, .n_in = 2 },
		  120 * 3 * 4,
		  4 * (120 + 48 + 3 * 6 * 7) },
		{ { .kind = PSG_OP_MATMUL, .in = { a, b }, .n_in = 2 },
		  2 * 5 * 3 * 7,
		  4 * (70 + 21 + 30) },
		{ { .kind = PSG_OP_ATTENTION,
		    .params.attention.heads = 2,
		    .in = { qkv },
		    .n_in = 1 },
		  2 * 10 * 10 * 4,
		  4 * (120 + 40) },
		{ { .kind = PSG_OP_RELU, .in = { x }, .n_in = 1 }, 0, 4 * 240 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		psg_cost cost = { -1, -1 };
		psg_error error = PSG_ERROR_INIT;

		ck_assert_msg(psg_op_cost(&rows[i].op, &cost, &error) == PSG_OK, "%s",
			      error.message);
		ck_assert_int_eq(cost.macs, rows[i].macs);
		ck_assert_int_eq(cost.bytes, rows[i].bytes);
	}
	psg_tensor_unref(x);
	psg_tensor_unref(w);
	psg_tensor_unref(wt);
	psg_tensor_unref(a);
	psg_tensor_unref(b);
	psg_tensor_unref(qkv);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("ops");
	TCase *cases = tcase_create("cases"), *table = tcase_create("table");
	SRunner *runner;
	int failed;

	tcase_set_timeout(cases, 120); /* sanitizers and valgrind are slow */
	tcase_add_loop_test(cases, one_case, 0, (int)total());
	tcase_add_test(table, every_kind_has_a_case);
	tcase_add_test(table, table_is_complete);
	tcase_add_test(table, counts_are_checked);
	tcase_add_test(table, infer_gives_all_outputs);
	tcase_add_test(table, costs);
	suite_add_tcase(suite, cases);
	suite_add_tcase(suite, table);
	suite_add_tcase(suite, t_width_cases());
	suite_add_tcase(suite, t_refusal_cases());
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
