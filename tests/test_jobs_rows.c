/* SPDX-License-Identifier: Apache-2.0 */
/* Samples packed into a batch, and rows cut out of one. */
#include "config.h"

#include "jobs/rows.h"
#include "jobs_util.h"
#include "nomem.h"

#include <math.h>
#include <string.h>

/* Elements count up from `first`; in the padding they are NaN.  `axis` 0: no valid widths. */
static psg_tensor *sample(psg_shape shape, int32_t axis, int32_t valid, int first)
{
	int64_t inner = 1, n = psg_shape_elements(&shape);
	psg_tensor *tensor;
	float *x;

	ck_assert_int_eq(psg_tensor_create(PSG_F32, &shape, &tensor, NULL), PSG_OK);
	x = psg_tensor_data(tensor);
	for (int32_t i = axis + 1; i < shape.rank; i++)
		inner *= shape.dim[i];
	for (int64_t i = 0; i < n; i++)
		x[i] = axis != 0 && i / inner % shape.dim[axis] >= valid ? NAN : (float)(first + i);
	if (axis != 0)
		ck_assert_int_eq(psg_tensor_set_valid_widths(tensor, axis, &valid, 1, NULL),
				 PSG_OK);
	return tensor;
}

/* Equal in shape, widths and valid elements. */
static void same(psg_tensor *a, psg_tensor *b)
{
	const float *x = psg_tensor_const_data(a), *y = psg_tensor_const_data(b);
	int32_t axis = 0, other = 0;
	const int32_t *widths = psg_tensor_valid_widths(a, &axis);

	ck_assert(psg_shape_equal(psg_tensor_shape(a), psg_tensor_shape(b)));
	ck_assert((widths != NULL) == (psg_tensor_valid_widths(b, &other) != NULL));
	ck_assert_int_eq(axis, other);
	for (int64_t i = 0; i < psg_shape_elements(psg_tensor_shape(a)); i++)
		if (!(x[i] == y[i]))
			ck_abort_msg("element %lld is %g, not %g", (long long)i, (double)y[i],
				     (double)x[i]);
}

static const struct {
	psg_shape shape;
	int32_t axis, columns[3], valid[3];
} packs[] = {
	{ { 4, { 1, 3, 5, 0 } }, 3, { 16, 32, 24 }, { 16, 30, 17 } },
	{ { 4, { 1, 3, 5, 0 } }, 3, { 32, 32, 32 }, { 32, 32, 32 } },
	{ { 3, { 1, 0, 7 } }, 1, { 4, 2, 6 }, { 4, 1, 5 } },
	{ { 4, { 1, 2, 0, 3 } }, 2, { 1, 1, 2 }, { 1, 1, 2 } },
	{ { 3, { 1, 5, 7 } }, 0, { 0, 0, 0 }, { 0, 0, 0 } },
	{ { 1, { 1 } }, 0, { 0, 0, 0 }, { 0, 0, 0 } },
};

/* What is packed and cut is what it was, without its padding; empty rows are zero. */
START_TEST(there_and_back)
{
	psgi_rows rows = { 0 };
	psg_tensor *samples[3], *wants[3], *batch;

	for (int i = 0; i < 3; i++) {
		psg_shape shape = packs[_i].shape;
		int32_t axis = packs[_i].axis;

		if (axis != 0)
			shape.dim[axis] = packs[_i].columns[i];
		samples[i] = sample(shape, axis, packs[_i].valid[i], 1000 * i + 1);
		ck_assert(psgi_rows_fit(psg_tensor_shape(samples[0]), axis,
					psg_tensor_shape(samples[i]), axis));
		ck_assert_int_eq(psgi_rows_cut(samples[i], 0, &wants[i], NULL), PSG_OK);
	}
	for (int round = 0; round < 2; round++) { /* the second in the memory of the first */
		const float *x;
		int64_t row;

		ck_assert_int_eq(psgi_rows_pack(&rows, samples, 3, 4, &batch, NULL), PSG_OK);
		ck_assert_int_eq(psg_tensor_shape(batch)->dim[0], 4);
		row = psg_shape_elements(psg_tensor_shape(batch)) / 4;
		x = psg_tensor_const_data(batch);
		for (int64_t i = 0; i < row; i++)
			ck_assert_float_eq(x[3 * row + i], 0);
		for (size_t i = 0; i < 3; i++) {
			psg_tensor *cut;

			ck_assert_int_eq(psgi_rows_cut(batch, i, &cut, NULL), PSG_OK);
			same(wants[i], cut);
			psg_tensor_unref(cut);
		}
		psg_tensor_unref(batch);
		psgi_rows_done(&rows);
	}
	for (int i = 0; i < 3; i++) {
		psg_tensor_unref(samples[i]);
		psg_tensor_unref(wants[i]);
	}
	psgi_rows_free(&rows);
}
END_TEST

/* What a cut leaves is told exactly. */
START_TEST(cut_is_exact)
{
	psg_tensor *tensor, *cut;
	float x[24];
	const float *y;

	for (int i = 0; i < 24; i++)
		x[i] = (float)i;
	ck_assert_int_eq(psg_tensor_create_from(PSG_F32, &PSG_SHAPE(2, 3, 4), x, &tensor, NULL),
			 PSG_OK);
	ck_assert_int_eq(psg_tensor_set_valid_widths(tensor, 2, (int32_t[]){ 4, 2 }, 2, NULL),
			 PSG_OK);
	ck_assert_int_eq(psgi_rows_cut(tensor, 1, &cut, NULL), PSG_OK);
	ck_assert(psg_shape_equal(psg_tensor_shape(cut), &PSG_SHAPE(1, 3, 2)));
	ck_assert_int_eq(psg_tensor_valid_widths(cut, NULL)[0], 2);
	y = psg_tensor_const_data(cut);
	for (int i = 0; i < 6; i++)
		ck_assert_float_eq(y[i], x[12 + i / 2 * 4 + i % 2]);
	psg_tensor_unref(cut);
	psg_tensor_unref(tensor);
}
END_TEST

START_TEST(integers_too)
{
	static const int64_t numbers[] = { INT64_MIN, 7 };
	psgi_rows rows = { 0 };
	psg_tensor *samples[2], *batch, *cut;

	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(psg_tensor_create_from(PSG_I64, &PSG_SHAPE(1, 1), &numbers[i],
							&samples[i], NULL),
				 PSG_OK);
	ck_assert_int_eq(psgi_rows_pack(&rows, samples, 2, 2, &batch, NULL), PSG_OK);
	ck_assert_int_eq(psg_tensor_dtype(batch), PSG_I64);
	for (size_t i = 0; i < 2; i++) {
		ck_assert_int_eq(psgi_rows_cut(batch, i, &cut, NULL), PSG_OK);
		ck_assert_int_eq(*(const int64_t *)psg_tensor_const_data(cut), numbers[i]);
		psg_tensor_unref(cut);
		psg_tensor_unref(samples[i]);
	}
	psg_tensor_unref(batch);
	psgi_rows_free(&rows);
}
END_TEST

static const struct {
	psg_shape a, b;
	int32_t axis_a, axis_b;
	bool fit;
} fits[] = {
	{ { 4, { 1, 3, 48, 320 } }, { 4, { 1, 3, 48, 320 } }, 0, 0, true },
	{ { 4, { 1, 3, 48, 320 } }, { 4, { 1, 3, 48, 320 } }, 3, 0, false },
	{ { 4, { 1, 3, 48, 320 } }, { 4, { 1, 3, 48, 160 } }, 0, 0, false },
	{ { 4, { 1, 3, 48, 320 } }, { 4, { 1, 3, 48, 160 } }, 3, 3, true },
	{ { 4, { 1, 3, 48, 320 } }, { 4, { 1, 3, 47, 320 } }, 3, 3, false },
	{ { 4, { 1, 3, 48, 320 } }, { 4, { 1, 3, 48, 320 } }, 3, 2, false },
	{ { 4, { 1, 3, 48, 320 } }, { 3, { 1, 3, 48 } }, 0, 0, false },
};

START_TEST(fits_by_shape)
{
	ck_assert_int_eq(psgi_rows_fit(&fits[_i].a, fits[_i].axis_a, &fits[_i].b, fits[_i].axis_b),
			 fits[_i].fit);
}
END_TEST

/* A batch may be more than a tensor may have; and memory may be short at each allocation. */
START_TEST(refuses)
{
	psgi_rows rows = { 0 };
	psg_error error = PSG_ERROR_INIT;
	psg_tensor *small = sample(PSG_SHAPE(1, 2, 8), 2, 5, 0), *batch, *cut, *large;
	static float nothing;

	ck_assert_int_eq(psg_tensor_wrap(PSG_F32, &PSG_SHAPE(1, PSG_MAX_ELEMENTS), &nothing, NULL,
					 NULL, &large, NULL),
			 PSG_OK);
	ck_assert_int_eq(psgi_rows_pack(&rows, &large, 1, 2, &batch, &error), PSG_INVALID);
	ck_assert_ptr_null(batch);
	ck_assert_ptr_nonnull(strstr(error.message, "over the limit"));
	psg_tensor_unref(large);
	for (long n = 0;; n++) {
		psg_status status;

		t_nomem_arm(n, false);
		status = psgi_rows_pack(&rows, &small, 1, 2, &batch, NULL);
		if (status == PSG_OK)
			status = psgi_rows_cut(batch, 0, &cut, NULL);
		t_nomem_disarm();
		if (status == PSG_OK)
			break;
		ck_assert_int_eq(status, PSG_NOMEM);
		psg_tensor_unref(batch);
		psgi_rows_free(&rows);
	}
	psg_tensor_unref(cut);
	psg_tensor_unref(batch);
	psg_tensor_unref(small);
	psgi_rows_free(&rows);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("rows");
	TCase *all = tcase_create("rows");
	SRunner *runner;
	int failed;

	tcase_add_loop_test(all, there_and_back, 0, (int)T_COUNT(packs));
	tcase_add_test(all, cut_is_exact);
	tcase_add_test(all, integers_too);
	tcase_add_loop_test(all, fits_by_shape, 0, (int)T_COUNT(fits));
	tcase_add_test(all, refuses);
	suite_add_tcase(suite, all);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
