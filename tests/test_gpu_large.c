/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators of more than 2^31 elements, whose offsets do not fit 32 bits.  Needs a real card with
 * 20 GB free and 30 GB of memory; skipped elsewhere.  Elements are small numbers that follow from
 * their place, so that each result is known without another that large.
 */
#include "config.h"

#include "device/cuda.h"
#include "ops/cuda.h"

#include "fakecuda_util.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CARD_BYTES (UINT64_C(20) << 30)
#define HOST_BYTES (INT64_C(30) << 30)
#define EVERY 61   /* results looked at: a prime, so that all places of a row have their turn */
#define SKIPPED 77 /* automake's */

static float element(int64_t i)
{
	return (float)(int32_t)(((uint64_t)i * 2654435761U >> 16) % 16) - 8;
}

/* --- what is right --- */

static float relu(const psg_shape *in, int64_t i)
{
	(void)in;
	return fmaxf(element(i), 0);
}

static float add(const psg_shape *in, int64_t i)
{
	return element(i) + element(i % in[1].dim[0]);
}

static float transposed(const psg_shape *in, int64_t i)
{
	return element(i % in[0].dim[0] * in[0].dim[1] + i / in[0].dim[0]);
}

static float reversed(const psg_shape *in, int64_t i)
{
	int64_t row = in[0].dim[1];

	return element((in[0].dim[0] - 1 - i / row) * row + i % row);
}

static float padded(const psg_shape *in, int64_t i)
{
	int64_t row = in[0].dim[1] + 2, x = i % row - 1;

	return x >= 0 && x < in[0].dim[1] ? element(i / row * in[0].dim[1] + x) : 0;
}

static float repeated(const psg_shape *in, int64_t i)
{
	int64_t row = 2 * in[0].dim[3];

	return element(i / row / 2 * in[0].dim[3] + i % row / 2);
}

static float sum(const psg_shape *in, int64_t i)
{
	float total = 0;

	for (int64_t j = 0; j < in[0].dim[1]; j++)
		total += element(i * in[0].dim[1] + j);
	return total;
}

static float share(const psg_shape *in, int64_t i)
{
	int64_t n = in[0].dim[1], first = i / n * n;
	float total = 0;

	for (int64_t j = first; j < first + n; j++)
		total += expf(element(j));
	return expf(element(i)) / total;
}

static float product(const psg_shape *in, int64_t i)
{
	int64_t depth = in[0].dim[1], n = in[1].dim[1];
	float total = 0;

	for (int64_t k = 0; k < depth; k++)
		total += element(i / n * depth + k) * element(k * n + i % n);
	return total;
}

/* Sum over channels of an image, each with its weight: a kernel of one element. */
static float convolved(const psg_shape *in, int64_t i)
{
	int64_t plane = in[0].dim[2] * in[0].dim[3], channels = in[0].dim[1];
	float total = 0;

	for (int64_t c = 0; c < channels; c++)
		total += element(i / plane * channels + c) * element(c * plane + i % plane);
	return total;
}

static float most_of_two(const psg_shape *in, int64_t i)
{
	int64_t row = in[0].dim[3] - 1, at = i / row * in[0].dim[3] + i % row;

	return fmaxf(element(at), element(at + 1));
}

/* --- cases --- */

#define WINDOW(w) .kernel = { 1, w }, .stride = { 1, 1 }, .dilation = { 1, 1 }

static const struct row {
	psg_op op; /* but for its inputs */
	psg_shape in[2];
	float (*right)(const psg_shape *in, int64_t i);
} rows[] = {
	{ { .kind = PSG_OP_RELU, .n_in = 1 }, { { 2, { 2, (1 << 30) + 77 } } }, relu },
	{ { .kind = PSG_OP_ADD, .n_in = 2 }, { { 2, { (1 << 28) + 77, 8 } }, { 1, { 8 } } }, add },
	{ { .kind = PSG_OP_TRANSPOSE, .n_in = 1, .params.transpose.perm = { 1, 0 } },
	  { { 2, { 32769, 65599 } } },
	  transposed },
	{ { .kind = PSG_OP_SLICE,
	    .n_in = 1,
	    .params.slice = { .start = { -1 }, .end = { -32770 }, .step = { -1 }, .n_axes = 1 } },
	  { { 2, { 32769, 65599 } } },
	  reversed },
	{ { .kind = PSG_OP_PAD_ALL,
	    .n_in = 1,
	    .params.pad = { .begin = { 0, 1 }, .end = { 0, 1 } } },
	  { { 2, { 32769, 65599 } } },
	  padded },
	{ { .kind = PSG_OP_INTERP_NEAREST,
	    .n_in = 1,
	    .params.resize = { .scale = { 1, 1, 2, 2 }, .coordinates = PSG_COORD_ASYMMETRIC } },
	  { { 4, { 1, 1, 16400, 32800 } } },
	  repeated },
	{ { .kind = PSG_OP_REDUCE_SUM, .n_in = 1, .params.reduce = { .axes = { 1 }, .n_axes = 1 } },
	  { { 2, { (1 << 28) + 77, 8 } } },
	  sum },
	{ { .kind = PSG_OP_SOFTMAX, .n_in = 1, .params.softmax.axis = 1 },
	  { { 2, { (1 << 28) + 77, 8 } } },
	  share },
	{ { .kind = PSG_OP_MATMUL, .n_in = 2 },
	  { { 2, { 32769, 8 } }, { 2, { 8, 65599 } } },
	  product },
	{ { .kind = PSG_OP_CONV,
	    .n_in = 2,
	    .params.conv = { .window = { WINDOW(0) }, .groups = 1 } },
	  { { 4, { 1, 8, 16400, 16400 } }, { 4, { 8, 8, 1, 1 } } },
	  convolved },
	{ { .kind = PSG_OP_POOL_MAX, .n_in = 1, .params.pool.window = { WINDOW(2) } },
	  { { 4, { 1, 8, 16400, 16400 } } },
	  most_of_two },
};

static psg_device *device;

static psg_tensor *filled(const psg_shape *shape)
{
	int64_t n = psg_shape_elements(shape);
	psg_tensor *tensor;
	float *data;

	ck_assert_int_eq(psg_tensor_create(PSG_F32, shape, &tensor, NULL), PSG_OK);
	data = psg_tensor_data(tensor);
	for (int64_t i = 0; i < n; i++)
		data[i] = element(i);
	return tensor;
}

static void compare(const struct row *row, const psg_tensor *out)
{
	int64_t n = psg_shape_elements(psg_tensor_shape(out));
	const float *y = psg_tensor_const_data(out);

	for (int64_t i = 0; i < n; i = i + EVERY < n || i == n - 1 ? i + EVERY : n - 1) {
		float right = row->right(row->in, i);

		if (!(fabsf(y[i] - right) <= 1e-4F * (1 + fabsf(right))))
			ck_abort_msg("%s: element %lld of %lld is %g and should be %g",
				     psg_op_name(row->op.kind), (long long)i, (long long)n,
				     (double)y[i], (double)right);
	}
}

static uint64_t launches(void)
{
	uint64_t n = 0;

	for (int k = 0; k < PSGI_GPU_KERNELS; k++)
		n += psgi_gpu_launches(device, (psgi_gpu_kernel)k);
	return n;
}

START_TEST(large)
{
	const struct row *row = &rows[_i];
	psg_tensor *out[PSG_MAX_OUTPUTS];
	psg_error error = PSG_ERROR_INIT;
	uint64_t before = launches();
	psg_op op = row->op;
	size_t n = 1;

	for (size_t i = 0; i < op.n_in; i++)
		op.in[i] = filled(&row->in[i]);
	ck_assert_msg(psg_op_run(device, &op, out, &n, &error) == PSG_OK, "%s", error.message);
	ck_assert_uint_gt(launches(), before); /* not on the host */
	for (size_t i = 0; i < op.n_in; i++)
		psg_tensor_unref(op.in[i]);
	compare(row, out[0]);
	psg_tensor_unref(out[0]);
}
END_TEST

/* NULL: it is; else why it is not. */
static const char *is_large_machine(void)
{
	psg_gpu_info info;

	if (!t_gpu_real())
		return "not a real GPU";
	if ((int64_t)sysconf(_SC_AVPHYS_PAGES) * sysconf(_SC_PAGESIZE) < HOST_BYTES)
		return "less than 30 GB of memory are free";
	if (setenv("PAGESIFT_OPERATORS", "gpu", 1) != 0 ||
	    psg_gpu_probe(0, &info, NULL) != PSG_OK ||
	    psg_device_open("cuda:0", &device, NULL) != PSG_OK)
		return "the GPU cannot be used";
	return info.free_bytes < CARD_BYTES ? "less than 20 GB of the card are free" : NULL;
}

int main(void)
{
	const char *why = is_large_machine();
	Suite *suite = suite_create("large operators");
	TCase *tests = tcase_create("all");
	SRunner *runner = srunner_create(suite);
	int failed;

	if (why != NULL)
		printf("skipped: %s\n", why);
	suite_add_tcase(suite, tests);
	if (why == NULL)
		tcase_add_loop_test(tests, large, 0, sizeof(rows) / sizeof(rows[0]));
	srunner_set_fork_status(runner, CK_NOFORK);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	psg_device_close(device);
	return why != NULL ? SKIPPED : failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
