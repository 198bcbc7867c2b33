/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of nodes: files in order stay as they are, others are sorted however far they are out
 * of it, and true cycles are refused with the names of the nodes in them.
 */
#include "config.h"

#include "model/graph.h"

#include "onnx_text.h"

#include <check.h>
#include <pagesift/gpu.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- texts of any length --- */

struct text {
	char *data;
	size_t n, cap;
};

static void add(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(struct text *text, const char *format, ...)
{
	va_list args;

	if (text->cap - text->n < 256) {
		text->cap = text->cap * 2 + 1024;
		text->data = realloc(text->data, text->cap);
		ck_assert_ptr_nonnull(text->data);
	}
	va_start(args, format);
	text->n += (size_t)vsnprintf(text->data + text->n, text->cap - text->n, format, args);
	va_end(args);
}

static psg_status read_text(const char *text, psgi_graph **graph, psg_error *error)
{
	size_t size;
	uint8_t *data = t_onnx(text, &size);
	psg_status status = psgi_onnx_read(data, size, "order.onnx", graph, error);

	free(data);
	return status;
}

/* --- orders --- */

#define LONG 100000 /* the most nodes that are read */

START_TEST(reversed_chain)
{
	struct text text = { 0 };
	psg_error error = PSG_ERROR_INIT;
	psgi_graph *graph;

	add(&text, "in v0 1\nout v%d\n", LONG);
	for (int i = LONG; i > 0; i--)
		add(&text, "Relu v%d > v%d\n", i - 1, i);
	ck_assert_msg(read_text(text.data, &graph, &error) == PSG_OK, "%s", error.message);
	ck_assert_uint_eq(graph->n_nodes, LONG);
	for (int i = 0; i < LONG; i++) {
		char want[16];

		(void)snprintf(want, sizeof(want), "v%d", i + 1);
		if (strcmp(graph->nodes[i].name, want) != 0)
			ck_abort_msg("node %d is %s, should be %s", i, graph->nodes[i].name, want);
	}
	psgi_graph_free(graph);
	free(text.data);
}
END_TEST

/* The names of the sorted nodes, in one line. */
static void check_order(const char *text, const char *want)
{
	psg_error error = PSG_ERROR_INIT;
	psgi_graph *graph;
	char have[256] = "";

	ck_assert_msg(read_text(text, &graph, &error) == PSG_OK, "%s", error.message);
	for (size_t i = 0; i < graph->n_nodes; i++) {
		(void)strncat(have, i == 0 ? "" : " ", sizeof(have) - strlen(have) - 1);
		(void)strncat(have, graph->nodes[i].name, sizeof(have) - strlen(have) - 1);
	}
	ck_assert_str_eq(have, want);
	psgi_graph_free(graph);
}

START_TEST(order_is_kept)
{
	/* Two chains interleaved, as the file has them. */
	check_order("in x 4; Relu x > a; Relu x > b; Relu b > d; Relu a > c; Add c d > e; out e",
		    "a b d c e");
	/* One node too early: it waits for what it reads, and the rest stays. */
	check_order("in x 4; Relu x > a; Add a b > c; Relu a > d; Relu a > b; Add c d > e; out e",
		    "a b c d e");
	/* One value read twice. */
	check_order("in x 4; Add a a > b; Relu x > a; out b", "a b");
	/* What no output needs is in the graph still; constants are no nodes. */
	check_order("in x 4; Relu y > z; Add x k > y; c k = 2.0; Neg x > unused; out z",
		    "y z unused");
}
END_TEST

/* --- cycles --- */

static void check_cycle(const char *text, size_t nodes, const char *path)
{
	psg_error error = PSG_ERROR_INIT;
	psgi_graph *graph;
	char count[64];

	ck_assert_int_eq(read_text(text, &graph, &error), PSG_FORMAT);
	ck_assert_ptr_null(graph);
	(void)snprintf(count, sizeof(count), "a cycle of %zu node%s", nodes, nodes == 1 ? "" : "s");
	ck_assert_msg(strstr(error.message, count) != NULL, "'%s' has no '%s'", error.message,
		      count);
	ck_assert_msg(strstr(error.message, path) != NULL, "'%s' has no '%s'", error.message, path);
}

START_TEST(cycles)
{
	check_cycle("in x 4; Add x b > a; Relu a > b; out b", 2, "'b' (Relu) -> 'a' (Add)");
	check_cycle("in x 4; Add x a > a; out a", 1, ": 'a' (Add)");
	/* Neither what leads to a cycle nor what follows it is named. */
	check_cycle("in x 4; Relu x > p; Add p c > a; Neg a > b; Abs b > c; Relu c > q; out q", 3,
		    "one before: 'b' (Neg) -> 'c' (Abs) -> 'a' (Add)");
	/* Nobody needs it, but the file is wrong all the same. */
	check_cycle("in x 4; Relu x > y; Add y b > a; Relu a > b; out y", 2, "'b' (Relu)");
}
END_TEST

START_TEST(cycle_in_a_long_graph)
{
	struct text text = { 0 };

	add(&text, "in v0 1\nout v20000\n");
	for (int i = 20000; i > 0; i--) {
		if (i == 7001)
			add(&text, "Add v7000 v7003 > v7001\n");
		else
			add(&text, "Relu v%d > v%d\n", i - 1, i);
	}
	check_cycle(text.data, 3, ": 'v7001' (Add) -> 'v7002' (Relu) -> 'v7003' (Relu)");
	free(text.data);
}
END_TEST

START_TEST(long_cycle)
{
	struct text text = { 0 };

	add(&text, "in x 1\nAdd x v1000 > v1\nout v1\n");
	for (int i = 2; i <= 1000; i++)
		add(&text, "Relu v%d > v%d\n", i - 1, i);
	check_cycle(text.data, 1000, "'v9' (Relu) -> ...");
	free(text.data);
}
END_TEST

/* --- graphs without nodes, or without inputs --- */

/* Loads and runs a model of no inputs and compares its output, of as many elements as wanted. */
static void check_run(const char *text, const psg_tensor *in, const float *want, int64_t n)
{
	psg_error error = PSG_ERROR_INIT;
	psg_model *model;
	psg_device *device;
	size_t size, n_in = in == NULL ? 0 : 1;
	uint8_t *data = t_onnx(text, &size);
	psg_tensor *ins[1] = { (psg_tensor *)in }, *out = NULL;

	ck_assert_msg(psg_model_load_memory(data, size, NULL, NULL, &model, &error) == PSG_OK,
		      "%s: %s", text, error.message);
	for (int i = 0; i < 2; i++) {
		ck_assert_int_eq(psg_device_open(i == 0 ? "cpu" : "reference", &device, &error),
				 PSG_OK);
		ck_assert_msg(psg_model_run(model, device, ins, n_in, &out, 1, NULL, NULL,
					    &error) == PSG_OK,
			      "%s: %s", text, error.message);
		ck_assert_int_eq(psg_shape_elements(psg_tensor_shape(out)), n);
		for (int64_t k = 0; k < n; k++)
			ck_assert_float_eq(((const float *)psg_tensor_const_data(out))[k], want[k]);
		psg_tensor_unref(out);
		psg_device_close(device);
	}
	psg_model_unref(model);
	free(data);
}

START_TEST(without_inputs)
{
	psg_error error = PSG_ERROR_INIT;
	psg_shape shape = PSG_SHAPE(3);
	psg_tensor *in;

	ck_assert_int_eq(psg_tensor_create_from(PSG_F32, &shape, (float[]){ 4, 5, 6 }, &in, &error),
			 PSG_OK);
	check_run("c k 3 = 1 2 3; out k", NULL, (float[]){ 1, 2, 3 }, 3);
	check_run("w k 3 = 1 2 3; out k", NULL, (float[]){ 1, 2, 3 }, 3);
	check_run("c k 3 = 1 2 3; Neg k > y; out y", NULL, (float[]){ -1, -2, -3 }, 3);
	check_run("c k i64 1 = 3; ConstantOfShape k > z; Exp z > y; out y", NULL,
		  (float[]){ 1, 1, 1 }, 3);
	check_run("in x 3; out x", in, (float[]){ 4, 5, 6 }, 3);
	check_run("in x 3; c k 2 = 1 2; out k", in, (float[]){ 1, 2 }, 2);
	psg_tensor_unref(in);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("onnx_order");
	TCase *tests = tcase_create("order");
	SRunner *runner;
	int failed;

	tcase_set_timeout(tests, 120);
	tcase_add_test(tests, reversed_chain);
	tcase_add_test(tests, order_is_kept);
	tcase_add_test(tests, cycles);
	tcase_add_test(tests, cycle_in_a_long_graph);
	tcase_add_test(tests, long_cycle);
	tcase_add_test(tests, without_inputs);
	suite_add_tcase(suite, tests);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? 0 : 1;
}
