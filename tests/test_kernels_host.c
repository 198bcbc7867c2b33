/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a GPU leaves to the host is on the list of src/ops/cuda_host.c, and only
 * that: every operator of the table, with each element type that its rule takes.
 */
#include "config.h"

#include "t_gpu.h"

#include "device/cuda.h"

#include <string.h>

/* One descriptor for a kind, or for the kinds of a family that have no row of their own. */
struct example {
	const char *name; /* of the kind or family */
	psg_op_params params;
	size_t n_in;
	psg_shape in[5];
	const char *types; /* an input each: x the type that is tried, i whole numbers */
};

#define IMAGE T_S(2, 4, 6, 6)

static const struct example examples[] = {
	{ "conv", { 0 }, 2, { IMAGE, T_S(8, 4, 3, 3) }, "xx" },
	{ "conv_transpose", { 0 }, 2, { IMAGE, T_S(4, 8, 3, 3) }, "xx" },
	{ "im2col", { .conv.window.kernel = { 3, 3 } }, 1, { IMAGE }, "x" },
	{ "pool", { .pool.window.kernel = { 2, 2 } }, 1, { IMAGE }, "x" },
	{ "global_pool", { 0 }, 1, { IMAGE }, "x" },
	{ "matmul", { 0 }, 2, { T_S(5, 7), T_S(7, 3) }, "xx" },
	{ "unary", { .unary = { 0.5F, 1 } }, 1, { T_S(3, 5) }, "x" },
	{ "binary", { 0 }, 2, { T_S(3, 5), T_S(5) }, "xx" },
	{ "select", { 0 }, 3, { T_S(3, 5), T_S(5), T_S(3, 1) }, "ixx" },
	{ "channel", { 0 }, 2, { IMAGE, T_S(2, 4) }, "xx" },
	{ "add_bias", { 0 }, 2, { IMAGE, T_S(4) }, "xx" },
	{ "reduce", { .reduce = { { 1 }, 1, false, false } }, 1, { T_S(3, 5) }, "x" },
	{ "arg", { .arg.axis = 1 }, 1, { T_S(3, 5) }, "x" },
	{ "batch_norm", { 0 }, 5, { IMAGE, T_S(4), T_S(4), T_S(4), T_S(4) }, "xxxxx" },
	{ "instance_norm", { 0 }, 3, { IMAGE, T_S(4), T_S(4) }, "xxx" },
	{ "layer_norm", { .norm = { 1e-5F, 1 } }, 3, { T_S(3, 5), T_S(5), T_S(5) }, "xxx" },
	{ "softmax", { .softmax.axis = 1 }, 1, { T_S(3, 5) }, "x" },
	{ "transpose", { .transpose = { { 1, 0 } } }, 1, { T_S(3, 5) }, "x" },
	{ "reshape", { .reshape.shape = { 2, { 5, 3 } } }, 1, { T_S(3, 5) }, "x" },
	{ "flatten", { .axes = { { 1 }, 1 } }, 1, { T_S(3, 5) }, "x" },
	{ "squeeze", { .axes = { { 1 }, 1 } }, 1, { T_S(3, 1) }, "x" },
	{ "unsqueeze", { .axes = { { 1 }, 1 } }, 1, { T_S(3, 5) }, "x" },
	{ "slice", { .slice = { { 1 }, { 1 }, { 3 }, { 1 }, 1 } }, 1, { T_S(3, 5) }, "x" },
	{ "crop_cols", { .slice = { .start = { 1 }, .end = { 3 } } }, 1, { T_S(3, 5) }, "x" },
	{ "concat", { .concat.axis = 1 }, 2, { T_S(3, 5), T_S(3, 2) }, "xx" },
	{ "split", { .split = { .axis = 1, .n = 1 } }, 1, { T_S(3, 5) }, "x" },
	{ "pad", { .pad.end = { 1, 1 } }, 1, { IMAGE }, "x" },
	{ "expand", { .reshape.shape = { 2, { 3, 5 } } }, 1, { T_S(3, 5) }, "x" },
	{ "gather", { .concat.axis = 0 }, 2, { T_S(3, 5), T_S(7) }, "xi" },
	{ "depth", { .depth.block = 2 }, 1, { IMAGE }, "x" },
	{ "resize", { .resize.scale = { 1, 1, 2, 2 } }, 1, { IMAGE }, "x" },
	{ "shape", { 0 }, 1, { T_S(3, 5) }, "x" },
	{ "cast", { .cast.to = PSG_I64 }, 1, { T_S(3, 5) }, "x" },
	{ "fill", { .fill = { .shape = { 1, { 3 } }, .limit = 3, .step = 1 } }, 0, { { 0 } }, "" },
	{ "chw_to_seq", { 0 }, 1, { IMAGE }, "x" },
	{ "seq_to_chw", { .sequence.height = 2 }, 1, { T_S(3, 6, 5) }, "x" },
	{ "attention", { .attention.heads = 2 }, 1, { T_S(3, 5, 24) }, "x" },
	{ "attn_softmax", { 0 }, 1, { T_S(2, 3, 5, 5) }, "x" },
	{ "attn_merge", { 0 }, 1, { T_S(2, 3, 5, 7) }, "x" },
	{ "ctc", { 0 }, 1, { T_S(2, 5, 7) }, "x" },
};

static const struct example *example_named(const char *name)
{
	for (size_t i = 0; i < sizeof(examples) / sizeof(examples[0]); i++)
		if (strcmp(examples[i].name, name) == 0)
			return &examples[i];
	return NULL;
}

static bool has_kernel(const psgi_call *call, const char *name)
{
	psg_error error = PSG_ERROR_INIT;
	psgi_kernel *kernel = NULL;
	bool done;

	ck_assert_msg(psgi_cuda_kernel(t_gpu(), call, NULL, 0, &kernel, &done, &error) == PSG_OK,
		      "%s: %s", name, error.message);
	psgi_kernel_destroy(done ? kernel : NULL);
	return done;
}

/* False: the rule refuses this type. */
static bool try_type(psg_op_kind kind, const struct example *e, psg_dtype dtype)
{
	const psgi_cuda_host *host = psgi_cuda_host_of(kind);
	const char *name = psg_op_name(kind), *type = dtype == PSG_F32 ? "F32" : "I64";
	psgi_call call = { .kind = kind, .params = &e->params, .n_in = e->n_in, .n_out = 1 };

	for (size_t i = 0; i < e->n_in; i++) {
		call.in[i].shape = e->in[i];
		call.in[i].dtype = e->types[i] == 'i' ? PSG_I64 : dtype;
	}
	if (psgi_infer(&call, NULL) != PSG_OK)
		return false;
	if (has_kernel(&call, name))
		ck_assert_msg(host == NULL,
			      "%s of %s has a kernel: take it off the list of src/ops/cuda_host.c",
			      name, type);
	else
		ck_assert_msg(host != NULL,
			      "%s of %s has no kernel: write one, or say why not in "
			      "src/ops/cuda_host.c",
			      name, type);
	return true;
}

START_TEST(each_has_a_kernel_or_a_reason)
{
	static const char *const family[] = {
#define FAMILY(KIND, name, family, ...) [PSG_OP_##KIND] = #family,
		PSG_OP_MAP(FAMILY)
#undef FAMILY
	};
	int tried = 0;

	for (psg_op_kind kind = 0; kind < PSG_OP_KINDS; kind++) {
		const struct example *e = example_named(psg_op_name(kind));
		bool floats, integers;

		if (e == NULL)
			e = example_named(family[kind]);
		ck_assert_msg(e != NULL, "%s: there is no example in " __FILE__, psg_op_name(kind));
		floats = try_type(kind, e, PSG_F32);
		integers = try_type(kind, e, PSG_I64);
		ck_assert_msg(floats || integers, "%s: its rule refuses the example of " __FILE__,
			      psg_op_name(kind));
		tried += floats + integers;
	}
	ck_assert_int_gt(tried, 140); /* of 109 kinds a third takes both types */
}
END_TEST

/* The rows of the list that are a form: here by their beginning. */
static const struct form {
	const char *form;
	t_gpu_case c;
} forms[] = {
	{ "three spatial",
	  { .kind = PSG_OP_CONV, .n_in = 2, .in = { T_S(1, 2, 3, 4, 5), T_S(2, 2, 1, 1, 1) } } },
	{ "three spatial",
	  { .kind = PSG_OP_POOL_AVG,
	    .n_in = 1,
	    .in = { T_S(1, 2, 3, 4, 5) },
	    .params = { .pool.window.kernel = { 1, 2, 2 } } } },
	{ "the places",
	  { .kind = PSG_OP_POOL_MAX,
	    .n_in = 1,
	    .n_out = 2,
	    .in = { T_S(1, 2, 4, 5) },
	    .params = { .pool.window.kernel = { 2, 2 } } } },
	{ "batches",
	  { .kind = PSG_OP_MATMUL, .n_in = 2, .in = { T_S(2, 1, 2, 3, 4), T_S(1, 3, 1, 4, 5) } } },
	{ "a factor",
	  { .kind = PSG_OP_MATMUL,
	    .n_in = 3,
	    .in = { T_S(3, 4), T_S(4, 5), T_S(5) },
	    .params = { .matmul.beta = 2 } } },
	{ "whole numbers to",
	  { .kind = PSG_OP_POW,
	    .n_in = 2,
	    .in = { T_S(3), T_S(3) },
	    .dtype = { PSG_I64, PSG_F32 } } },
	{ "axes with",
	  { .kind = PSG_OP_REDUCE_MAX,
	    .n_in = 1,
	    .in = { T_S(3, 4, 5) },
	    .params = { .reduce = { { 0, 2 }, 2, false, false } } } },
	{ "over samples",
	  { .kind = PSG_OP_REDUCE_SUM,
	    .n_in = 1,
	    .in = { T_S(3, 4) },
	    .valid_axis = 1,
	    .valid = { 4, 3, 2 } } },
	{ "columns",
	  { .kind = PSG_OP_REDUCE_SUM,
	    .n_in = 1,
	    .in = { T_S(3, 4, 5) },
	    .dtype = { PSG_I64 },
	    .valid_axis = 2,
	    .valid = { 5, 4, 3 },
	    .params = { .reduce = { { 2 }, 1, false, false } } } },
	{ "many",
	  { .kind = PSG_OP_TILE,
	    .n_in = 1,
	    .in = { T_S(2, 2, 2, 2) },
	    .dtype = { PSG_I64 },
	    .params = { .reshape.shape = { 4, { 2, 2, 2, 2 } } } } },
	{ "many",
	  { .kind = PSG_OP_TILE,
	    .n_in = 1,
	    .in = { T_S(2, 2, 2, 2, 2) },
	    .params = { .reshape.shape = { 5, { 2, 2, 2, 2, 2 } } } } },
	{ "no axis",
	  { .kind = PSG_OP_REDUCE_L1,
	    .n_in = 1,
	    .in = { T_S(3, 4) },
	    .params = { .reduce.noop_empty = true } } },
	{ "whole numbers of",
	  { .kind = PSG_OP_REDUCE_MEAN,
	    .n_in = 1,
	    .in = { T_S(3, 0) },
	    .dtype = { PSG_I64 },
	    .params = { .reduce = { { 1 }, 1, false, false } } } },
	{ "over samples",
	  { .kind = PSG_OP_SOFTMAX,
	    .n_in = 1,
	    .in = { T_S(3, 4) },
	    .valid_axis = 1,
	    .valid = { 4, 3, 2 },
	    .params = { .softmax = { 0, true } } } },
	{ "over samples",
	  { .kind = PSG_OP_LAYER_NORM,
	    .n_in = 2,
	    .in = { T_S(3, 4), T_S(3, 4) },
	    .valid_axis = 1,
	    .valid = { 4, 3, 2 } } },
	{ "gamma",
	  { .kind = PSG_OP_LAYER_NORM,
	    .n_in = 2,
	    .in = { T_S(3, 4), T_S(1) },
	    .params = { .norm.axis = 1 } } },
	{ "heads",
	  { .kind = PSG_OP_ATTENTION,
	    .n_in = 1,
	    .in = { T_S(1, 2, 3 * 65) },
	    .params = { .attention.heads = 1 } } },
};

START_TEST(each_form_is_refused)
{
	bool known[64] = { false };

	ck_assert_uint_le(psgi_cuda_hosts_n, 64);
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		const struct form *f = &forms[i];
		size_t row = 0;

		for (; row < psgi_cuda_hosts_n; row++)
			if (psgi_cuda_hosts[row].form != NULL &&
			    f->c.kind >= psgi_cuda_hosts[row].from &&
			    f->c.kind <= psgi_cuda_hosts[row].to &&
			    strstr(psgi_cuda_hosts[row].form, f->form) == psgi_cuda_hosts[row].form)
				break;
		ck_assert_msg(row < psgi_cuda_hosts_n, "%s of '%s' is not on the list",
			      psg_op_name(f->c.kind), f->form);
		known[row] = true;
		t_gpu_refuses(&f->c, f->form);
	}
	for (size_t row = 0; row < psgi_cuda_hosts_n; row++)
		ck_assert_msg(known[row] || psgi_cuda_hosts[row].form == NULL,
			      "no case for the form '%s'", psgi_cuda_hosts[row].form);
}
END_TEST

/* As many dimensions as a copy's kernel has. */
START_TEST(copies_of_many_dimensions)
{
	t_gpu_case c = { .kind = PSG_OP_TILE,
			 .n_in = 1,
			 .in = { T_S(2, 3, 2, 3) },
			 .params = { .reshape.shape = { 4, { 2, 3, 3, 2 } } } };

	t_gpu_check(&c, "eight");
	c.dtype[0] = PSG_I64;
	c.in[0] = T_S(2, 3, 2);
	c.params.reshape.shape = T_S(2, 3, 3);
	t_gpu_check(&c, "six and the halves");
}
END_TEST

void t_gpu_host(Suite *suite)
{
	TCase *tcase = tcase_create("host");

	tcase_set_timeout(tcase, 60);
	tcase_add_checked_fixture(tcase, NULL, t_gpu_close);
	tcase_add_test(tcase, each_has_a_kernel_or_a_reason);
	tcase_add_test(tcase, each_form_is_refused);
	tcase_add_test(tcase, copies_of_many_dimensions);
	suite_add_tcase(suite, tcase);
}
