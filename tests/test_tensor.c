/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors: shapes and their limits, ownership, references from many threads, valid widths. */
#include "config.h"

#include "ops/ops.h"

#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static const psg_shape scalar = { .rank = 0 };

START_TEST(sizes)
{
	ck_assert_uint_eq(psg_dtype_size(PSG_F32), 4);
	ck_assert_uint_eq(psg_dtype_size(PSG_I64), 8);
	ck_assert_int_eq(psg_shape_elements(&scalar), 1);
	ck_assert_int_eq(psg_shape_elements(&PSG_SHAPE(1, 3, 48, 320)), 46080);
	ck_assert_int_eq(psg_shape_elements(&PSG_SHAPE(5, 0, 7)), 0);
	ck_assert(psg_shape_equal(&PSG_SHAPE(2, 3), &PSG_SHAPE(2, 3)));
	ck_assert(!psg_shape_equal(&PSG_SHAPE(2, 3), &PSG_SHAPE(3, 2)));
	ck_assert(!psg_shape_equal(&PSG_SHAPE(2, 3), &PSG_SHAPE(2, 3, 1)));
	ck_assert(psg_shape_equal(&scalar, &scalar));
}
END_TEST

START_TEST(texts)
{
	char text[PSGI_SHAPE_TEXT];
	psg_shape longest = { .rank = PSG_MAX_RANK };

	ck_assert_str_eq(psgi_shape_text(&PSG_SHAPE(1, 3, 48, 320), text), "[1,3,48,320]");
	ck_assert_str_eq(psgi_shape_text(&scalar, text), "[]");
	for (int i = 0; i < PSG_MAX_RANK; i++)
		longest.dim[i] = INT64_MIN;
	ck_assert_uint_eq(strlen(psgi_shape_text(&longest, text)), 6 * 20 + 5 + 2);
}
END_TEST

/* A new tensor is zero, aligned, and has room for its elements. */
START_TEST(create)
{
	const psg_shape shapes[] = { scalar, PSG_SHAPE(7), PSG_SHAPE(0), PSG_SHAPE(3, 0, 5),
				     PSG_SHAPE(1, 2, 3, 1, 2, 63) };

	for (size_t i = 0; i < 2 * sizeof(shapes) / sizeof(shapes[0]); i++) {
		psg_dtype dtype = i % 2 == 0 ? PSG_F32 : PSG_I64;
		const psg_shape *shape = &shapes[i / 2];
		size_t bytes = (size_t)psg_shape_elements(shape) * psg_dtype_size(dtype);
		psg_error error = PSG_ERROR_INIT;
		psg_tensor *t = NULL;
		const char *data;

		ck_assert_int_eq(psg_tensor_create(dtype, shape, &t, &error), PSG_OK);
		ck_assert_int_eq(psg_tensor_dtype(t), dtype);
		ck_assert(psg_shape_equal(psg_tensor_shape(t), shape));
		data = psg_tensor_const_data(t);
		ck_assert_ptr_nonnull(data);
		ck_assert_ptr_eq(psg_tensor_data(t), data);
		ck_assert_uint_eq((uintptr_t)data % 64, 0);
		for (size_t k = 0; k < bytes; k++)
			if (data[k] != 0)
				ck_abort_msg("byte %zu is %d", k, data[k]);
		psg_tensor_unref(t);
	}
}
END_TEST

static const struct {
	psg_shape shape;
	const char *text;
} bad_shapes[] = {
	{ { -1, { 0 } }, "rank -1" },
	{ { 7, { 1, 1, 1, 1, 1, 1 } }, "rank 7" },
	{ { 2, { 3, -4 } }, "dimension 1 of [3,-4]" },
	{ { 1, { PSG_MAX_ELEMENTS + 1 } }, "8589934593" },
	{ { 2, { INT64_MAX, INT64_MAX } }, "9223372036854775807" },
	{ { 3, { 0, INT64_MAX, INT64_MAX } }, "limit of 8589934592" },
	{ { 6, { 64, 64, 64, 64, 64, 64 } }, "[64,64,64,64,64,64]" },
};

START_TEST(create_refuses)
{
	psg_error error = PSG_ERROR_INIT;
	psg_tensor *t = NULL;

	ck_assert_int_eq(psg_tensor_create(PSG_F32, &bad_shapes[_i].shape, &t, &error),
			 PSG_INVALID);
	ck_assert_int_eq(error.code, PSG_INVALID);
	ck_assert_msg(strstr(error.message, bad_shapes[_i].text) != NULL, "%s", error.message);
	ck_assert_ptr_null(t);
	ck_assert_int_eq(psg_tensor_create(PSG_F32, &bad_shapes[_i].shape, &t, NULL), PSG_INVALID);
}
END_TEST

START_TEST(dtype_is_checked)
{
	psg_error error = PSG_ERROR_INIT;
	psg_tensor *t = NULL;

	ck_assert_int_eq(psg_tensor_create((psg_dtype)2, &scalar, &t, &error), PSG_INVALID);
	ck_assert_ptr_nonnull(strstr(error.message, "2 is no element type"));
}
END_TEST

START_TEST(create_from_copies)
{
	float values[] = { 1, 2, 3, 4, 5, 6 };
	psg_error error = PSG_ERROR_INIT;
	psg_tensor *t = NULL;

	ck_assert_int_eq(psg_tensor_create_from(PSG_F32, &PSG_SHAPE(2, 3), values, &t, &error),
			 PSG_OK);
	values[0] = 9;
	for (int i = 0; i < 6; i++)
		ck_assert_float_eq(((const float *)psg_tensor_const_data(t))[i], (float)(i + 1));
	psg_tensor_unref(t);
	ck_assert_int_eq(psg_tensor_create_from(PSG_F32, &PSG_SHAPE(2), NULL, &t, &error),
			 PSG_INVALID);
	ck_assert_int_eq(psg_tensor_create_from(PSG_F32, &PSG_SHAPE(2, 0), NULL, &t, &error),
			 PSG_OK);
	psg_tensor_unref(t);
}
END_TEST

typedef struct released {
	int calls;
	void *data;
} released;

static void count_release(void *user, void *data)
{
	released *r = user;

	r->calls++;
	r->data = data;
}

/* The wrapped memory is used as it is, and released once, with the last reference. */
START_TEST(wrap_owns)
{
	int64_t values[] = { 1, 2, 3 };
	released r = { 0, NULL };
	psg_error error = PSG_ERROR_INIT;
	psg_tensor *t = NULL;

	ck_assert_int_eq(
		psg_tensor_wrap(PSG_I64, &PSG_SHAPE(3), values, count_release, &r, &t, &error),
		PSG_OK);
	ck_assert_ptr_eq(psg_tensor_data(t), values);
	ck_assert_ptr_eq(psg_tensor_ref(t), t);
	psg_tensor_unref(t);
	ck_assert_int_eq(r.calls, 0);
	psg_tensor_unref(t);
	ck_assert_int_eq(r.calls, 1);
	ck_assert_ptr_eq(r.data, values);
	psg_tensor_unref(NULL);
}
END_TEST

START_TEST(wrap_borrows_and_refuses)
{
	int64_t values[] = { 1, 2, 3 };
	released r = { 0, NULL };
	psg_error error = PSG_ERROR_INIT;
	psg_tensor *t = NULL;

	ck_assert_int_eq(psg_tensor_wrap(PSG_I64, &PSG_SHAPE(3), values, NULL, NULL, &t, &error),
			 PSG_OK);
	psg_tensor_unref(t);
	ck_assert_int_eq(values[2], 3);
	/* After a failure the memory is still the caller's. */
	ck_assert_int_eq(
		psg_tensor_wrap(PSG_I64, &PSG_SHAPE(-3), values, count_release, &r, &t, &error),
		PSG_INVALID);
	ck_assert_int_eq(
		psg_tensor_wrap(PSG_I64, &PSG_SHAPE(3), NULL, count_release, &r, &t, &error),
		PSG_INVALID);
	ck_assert_int_eq(r.calls, 0);
}
END_TEST

#define THREADS 4
#define ROUNDS 2000

static atomic_int releases;

static void count_atomically(void *user, void *data)
{
	(void)user;
	free(data);
	atomic_fetch_add(&releases, 1);
}

/* Each thread owns one reference, takes and drops others, reads the data, and drops its own. */
static void *churn(void *argument)
{
	psg_tensor *t = argument;
	int64_t sum = 0;

	for (int i = 0; i < ROUNDS; i++) {
		psg_tensor *more = psg_tensor_ref(t);

		sum += *(const int64_t *)psg_tensor_const_data(more);
		psg_tensor_unref(more);
	}
	psg_tensor_unref(t);
	/* Asserted by the main thread: Check's assertions are for one thread. */
	return sum == 42 * ROUNDS ? argument : NULL;
}

START_TEST(references_from_threads)
{
	pthread_t threads[THREADS];
	void *results[THREADS];
	psg_error error = PSG_ERROR_INIT;
	psg_tensor *t = NULL;
	int64_t *data = malloc(sizeof(*data));

	ck_assert_ptr_nonnull(data);
	*data = 42;
	ck_assert_int_eq(
		psg_tensor_wrap(PSG_I64, &scalar, data, count_atomically, NULL, &t, &error),
		PSG_OK);
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, churn, psg_tensor_ref(t)), 0);
	psg_tensor_unref(t);
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_join(threads[i], &results[i]), 0);
	for (int i = 0; i < THREADS; i++)
		ck_assert_ptr_nonnull(results[i]);
	ck_assert_int_eq(atomic_load(&releases), 1);
}
END_TEST

START_TEST(valid_widths)
{
	int32_t widths[] = { 5, 1, 7 }, axis = -5;
	psg_error error = PSG_ERROR_INIT;
	psg_tensor *t = NULL;
	psgi_view view;

	ck_assert_int_eq(psg_tensor_create(PSG_F32, &PSG_SHAPE(3, 2, 7), &t, &error), PSG_OK);
	ck_assert_ptr_null(psg_tensor_valid_widths(t, &axis));
	ck_assert_int_eq(psg_tensor_set_valid_widths(t, 2, widths, 3, &error), PSG_OK);
	widths[0] = 99;
	ck_assert_int_eq(psg_tensor_valid_widths(t, &axis)[0], 5);
	ck_assert_int_eq(axis, 2);
	ck_assert_int_eq(psg_tensor_valid_widths(t, NULL)[2], 7);
	view = psgi_view_of(t);
	ck_assert_int_eq(view.valid[1], 1);
	ck_assert_int_eq(view.valid_axis, 2);
	ck_assert_int_eq(view.dtype, PSG_F32);
	ck_assert_ptr_eq(view.data, psg_tensor_data(t));
	/* Set again: the new ones hold. */
	widths[0] = 2;
	widths[2] = 1;
	ck_assert_int_eq(psg_tensor_set_valid_widths(t, 1, widths, 3, &error), PSG_OK);
	ck_assert_int_eq(psg_tensor_valid_widths(t, &axis)[0], 2);
	ck_assert_int_eq(axis, 1);
	psg_tensor_unref(t);
}
END_TEST

static const struct {
	int32_t axis, widths[3];
	size_t n;
	const char *text;
} bad_widths[] = {
	{ 0, { 1, 1, 1 }, 3, "axis 0 of [3,2,7]" },
	{ 3, { 1, 1, 1 }, 3, "1..2" },
	{ -1, { 1, 1, 1 }, 3, "axis -1" },
	{ 2, { 1, 1, 1 }, 2, "2 widths for the 3" },
	{ 2, { 1, 0, 1 }, 3, "width 0 of sample 1" },
	{ 2, { 1, 1, 8 }, 3, "width 8 of sample 2" },
	{ 2, { 1, -1, 1 }, 3, "1..7" },
};

START_TEST(valid_widths_refuse)
{
	psg_error error = PSG_ERROR_INIT;
	psg_tensor *t = NULL;

	ck_assert_int_eq(psg_tensor_create(PSG_F32, &PSG_SHAPE(3, 2, 7), &t, &error), PSG_OK);
	ck_assert_int_eq(psg_tensor_set_valid_widths(t, bad_widths[_i].axis, bad_widths[_i].widths,
						     bad_widths[_i].n, &error),
			 PSG_INVALID);
	ck_assert_msg(strstr(error.message, bad_widths[_i].text) != NULL, "%s", error.message);
	ck_assert_ptr_null(psg_tensor_valid_widths(t, NULL));
	psg_tensor_unref(t);
}
END_TEST

#define COUNT(table) ((int)(sizeof(table) / sizeof((table)[0])))

int main(void)
{
	Suite *suite = suite_create("tensor");
	TCase *cases = tcase_create("tensor");
	SRunner *runner;
	int failed;

	tcase_set_timeout(cases, 60);
	tcase_add_test(cases, sizes);
	tcase_add_test(cases, texts);
	tcase_add_test(cases, create);
	tcase_add_loop_test(cases, create_refuses, 0, COUNT(bad_shapes));
	tcase_add_test(cases, dtype_is_checked);
	tcase_add_test(cases, create_from_copies);
	tcase_add_test(cases, wrap_owns);
	tcase_add_test(cases, wrap_borrows_and_refuses);
	tcase_add_test(cases, references_from_threads);
	tcase_add_test(cases, valid_widths);
	tcase_add_loop_test(cases, valid_widths_refuse, 0, COUNT(bad_widths));
	suite_add_tcase(suite, cases);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
