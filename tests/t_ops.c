/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers of the operator tests. */
#include "config.h"

#include "t_ops.h"

#include <math.h>
#include <string.h>

size_t t_runs[PSG_OP_KINDS];

static psg_tensor *create(psg_dtype dtype, const psg_shape *shape)
{
	psg_error error = PSG_ERROR_INIT;
	psg_tensor *tensor = NULL;

	ck_assert_msg(psg_tensor_create(dtype, shape, &tensor, &error) == PSG_OK, "%s",
		      error.message);
	return tensor;
}

psg_tensor *t_random(psg_shape shape)
{
	static uint64_t state = 1;
	psg_tensor *tensor = create(PSG_F32, &shape);
	float *data = psg_tensor_data(tensor);

	/* Knuth's multiplier for a 64-bit linear congruential generator; its high bits are used. */
	for (int64_t i = 0; i < psg_shape_elements(&shape); i++) {
		state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		data[i] = (float)((double)(state >> 40) / (double)(1 << 23) - 1);
	}
	return tensor;
}

psg_tensor *t_iota(psg_dtype dtype, psg_shape shape)
{
	psg_tensor *tensor = create(dtype, &shape);

	for (int64_t i = 0; i < psg_shape_elements(&shape); i++) {
		if (dtype == PSG_I64)
			((int64_t *)psg_tensor_data(tensor))[i] = i;
		else
			((float *)psg_tensor_data(tensor))[i] = (float)i;
	}
	return tensor;
}

static psg_tensor *from(psg_dtype dtype, const psg_shape *shape, const void *values)
{
	psg_error error = PSG_ERROR_INIT;
	psg_tensor *tensor = NULL;

	ck_assert_msg(psg_tensor_create_from(dtype, shape, values, &tensor, &error) == PSG_OK, "%s",
		      error.message);
	return tensor;
}

psg_tensor *t_floats(psg_shape shape, const float *values)
{
	return from(PSG_F32, &shape, values);
}

psg_tensor *t_integers(psg_shape shape, const int64_t *values)
{
	return from(PSG_I64, &shape, values);
}

float *t_data(psg_tensor *tensor)
{
	T_TRUE(psg_tensor_dtype(tensor) == PSG_F32);
	return psg_tensor_data(tensor);
}

double t_get(const psg_tensor *tensor, int64_t flat)
{
	const void *data = psg_tensor_const_data(tensor);

	T_TRUE(flat >= 0 && flat < psg_shape_elements(psg_tensor_shape(tensor)));
	return psg_tensor_dtype(tensor) == PSG_I64 ? (double)((const int64_t *)data)[flat]
						   : (double)((const float *)data)[flat];
}

void t_unflatten(const psg_shape *shape, int64_t flat, int64_t *index)
{
	for (int32_t i = shape->rank - 1; i >= 0; i--) {
		index[i] = flat % shape->dim[i];
		flat /= shape->dim[i];
	}
}

int64_t t_flatten(const psg_shape *shape, const int64_t *index)
{
	int64_t flat = 0;

	for (int32_t i = 0; i < shape->rank; i++)
		flat = flat * shape->dim[i] + index[i];
	return flat;
}

double t_broadcast(const psg_tensor *tensor, int32_t rank, const int64_t *index)
{
	const psg_shape *shape = psg_tensor_shape(tensor);
	int64_t own[PSG_MAX_RANK];

	for (int32_t i = 0; i < shape->rank; i++)
		own[i] = shape->dim[i] == 1 ? 0 : index[i + rank - shape->rank];
	return t_get(tensor, t_flatten(shape, own));
}

void t_run(const psg_op *op, psg_tensor **out, size_t n_out)
{
	psg_error error = PSG_ERROR_INIT;
	psg_status status = psgi_reference_run(op, out, n_out, &error);

	ck_assert_msg(status == PSG_OK, "%s: %s %s", psg_op_name(op->kind), psg_status_name(status),
		      error.message);
	t_runs[op->kind]++;
}

psg_tensor *t_run1(const psg_op *op)
{
	psg_tensor *out = NULL;

	t_run(op, &out, 1);
	return out;
}

psg_tensor *t_run_free(psg_op *op)
{
	psg_tensor *out = t_run1(op);

	t_free(op);
	return out;
}

void t_free(psg_op *op)
{
	for (size_t i = 0; i < op->n_in; i++) {
		psg_tensor_unref(op->in[i]);
		op->in[i] = NULL;
	}
}

void t_expect_shape(const psg_tensor *tensor, psg_dtype dtype, psg_shape shape)
{
	char want[PSGI_SHAPE_TEXT], got[PSGI_SHAPE_TEXT];

	ck_assert_int_eq(psg_tensor_dtype(tensor), dtype);
	ck_assert_msg(psg_shape_equal(psg_tensor_shape(tensor), &shape), "shape %s, %s is right",
		      psgi_shape_text(psg_tensor_shape(tensor), got),
		      psgi_shape_text(&shape, want));
}

void t_expect_close(double got, double want, double tolerance, const char *what, int64_t at)
{
	bool same = isnan(want)   ? isnan(got)
		    : isinf(want) ? got == want
				  : fabs(got - want) <= tolerance * fmax(1, fabs(want));

	if (!same)
		ck_abort_msg("%s: element %lld is %.9g, %.9g is right", what, (long long)at, got,
			     want);
}

void t_expect_values(const psg_tensor *tensor, const double *want, double tolerance,
		     const char *what)
{
	for (int64_t i = 0; i < psg_shape_elements(psg_tensor_shape(tensor)); i++)
		t_expect_close(t_get(tensor, i), want[i], tolerance, what, i);
}

void t_refused_saying(const psg_op *op, psg_status code, const char *const *texts)
{
	psg_error error = PSG_ERROR_INIT;
	psg_tensor *out[PSG_MAX_OUTPUTS] = { NULL };
	psg_status status = psgi_reference_run(op, out, 0, &error);

	t_runs[op->kind]++;
	ck_assert_msg(status == code, "%s gave %s, %s is right (%s)", psg_op_name(op->kind),
		      psg_status_name(status), psg_status_name(code), error.message);
	ck_assert_int_eq(error.code, code);
	ck_assert_ptr_null(out[0]);
	for (size_t i = 0; texts[i] != NULL; i++)
		ck_assert_msg(strstr(error.message, texts[i]) != NULL, "\"%s\" does not say \"%s\"",
			      error.message, texts[i]);
}
