/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "jobs/rows.h"

#include "base/base.h"
#include "base/memory.h"
#include "ops/ops.h"

#include <stdlib.h>
#include <string.h>

/* Kept for the next batch, whose pages need not be faulted in again; chosen: 64 lines of common
 * length have less. */
#define KEPT_BYTES ((size_t)32 << 20)

bool psgi_rows_fit(const psg_shape *a, int32_t axis_a, const psg_shape *b, int32_t axis_b)
{
	if (a->rank != b->rank || axis_a != axis_b)
		return false;
	for (int32_t i = 0; i < a->rank; i++)
		if (a->dim[i] != b->dim[i] && (i == 0 || i != axis_a))
			return false;
	return true;
}

/* A row as planes of columns: the dimensions before the axis, along it, and behind it. */
struct planes {
	size_t n, columns, bytes; /* bytes of a column */
};

static struct planes planes_of(const psg_tensor *tensor, int32_t axis)
{
	const psg_shape *shape = psg_tensor_shape(tensor);
	struct planes planes = { 1, 1, psg_dtype_size(psg_tensor_dtype(tensor)) };

	for (int32_t i = 1; i < shape->rank; i++) {
		size_t *part = i < axis ? &planes.n : i == axis ? &planes.columns : &planes.bytes;

		*part *= (size_t)shape->dim[i];
	}
	return planes;
}

/* Planes of `from.columns` into wider ones, with zeros behind them. */
static void widen(char *to, size_t columns, const char *from, struct planes planes)
{
	size_t bytes = planes.columns * planes.bytes, all = columns * planes.bytes;

	if (bytes == all) {
		memcpy(to, from, planes.n * all);
		return;
	}
	if (bytes == 0) {
		memset(to, 0, planes.n * all);
		return;
	}
	for (size_t i = 0; i < planes.n; i++, to += all, from += bytes) {
		memcpy(to, from, bytes);
		memset(to + bytes, 0, all - bytes);
	}
}

/* --- packing --- */

static psg_status reserve(psgi_rows *rows, size_t bytes, psg_error *error)
{
	if (bytes <= rows->bytes)
		return PSG_OK;
	psgi_rows_free(rows);
	rows->memory = psgi_memory_alloc(bytes);
	if (rows->memory == NULL)
		return psgi_fail(error, PSG_NOMEM, "no memory for a batch of %zu bytes", bytes);
	rows->bytes = bytes;
	return PSG_OK;
}

/* The shape of all, and along which dimension they may differ; 0: none. */
static psg_shape shape_of(psg_tensor *const *samples, size_t n, size_t size, int32_t *axis)
{
	psg_shape shape = *psg_tensor_shape(samples[0]);

	*axis = 0;
	(void)psg_tensor_valid_widths(samples[0], axis);
	shape.dim[0] = (int64_t)size;
	for (size_t i = 1; i < n && *axis != 0; i++) {
		int64_t width = psg_tensor_shape(samples[i])->dim[*axis];

		if (width > shape.dim[*axis])
			shape.dim[*axis] = width;
	}
	return shape;
}

/* An empty row is as wide as the batch: no model finds it too narrow. */
static psg_status set_widths(psg_tensor *batch, int32_t axis, psg_tensor *const *samples, size_t n,
			     psg_error *error)
{
	const psg_shape *shape = psg_tensor_shape(batch);
	size_t size = (size_t)shape->dim[0];
	int32_t *widths = malloc(size * sizeof(*widths));
	psg_status status;

	if (widths == NULL)
		return psgi_fail(error, PSG_NOMEM, "no memory for %zu widths", size);
	for (size_t i = 0; i < size; i++)
		widths[i] = i < n ? psg_tensor_valid_widths(samples[i], NULL)[0]
				  : (int32_t)shape->dim[axis];
	status = psg_tensor_set_valid_widths(batch, axis, widths, size, error);
	free(widths);
	return status;
}

psg_status psgi_rows_pack(psgi_rows *rows, psg_tensor *const *samples, size_t n, size_t size,
			  psg_tensor **out, psg_error *error)
{
	psg_dtype dtype = psg_tensor_dtype(samples[0]);
	int32_t axis;
	psg_shape shape = shape_of(samples, n, size, &axis);
	psg_status status = psgi_shape_check(&shape, error);
	size_t bytes, row;

	*out = NULL;
	if (status != PSG_OK)
		return status;
	bytes = (size_t)psg_shape_elements(&shape) * psg_dtype_size(dtype);
	row = bytes / size;
	/* Vector loads may run over the end, as they may in a tensor's own memory. */
	status = reserve(rows, bytes + PSGI_ALIGNMENT, error);
	if (status == PSG_OK)
		status = psg_tensor_wrap(dtype, &shape, rows->memory, NULL, NULL, out, error);
	if (status == PSG_OK && axis != 0)
		status = set_widths(*out, axis, samples, n, error);
	if (status != PSG_OK) {
		psg_tensor_unref(*out);
		*out = NULL;
		return status;
	}
	for (size_t i = 0; i < n; i++)
		widen((char *)rows->memory + i * row, axis != 0 ? (size_t)shape.dim[axis] : 1,
		      psg_tensor_const_data(samples[i]), planes_of(samples[i], axis));
	memset((char *)rows->memory + n * row, 0, (size - n) * row);
	return PSG_OK;
}

void psgi_rows_done(psgi_rows *rows)
{
	if (rows->bytes > KEPT_BYTES)
		psgi_rows_free(rows);
}

void psgi_rows_free(psgi_rows *rows)
{
	free(rows->memory);
	rows->memory = NULL;
	rows->bytes = 0;
}

/* --- cutting --- */

bool psgi_rows_needs_cut(const psg_tensor *result)
{
	int32_t axis = 0;
	const int32_t *widths = psg_tensor_valid_widths(result, &axis);

	return widths != NULL && widths[0] != psg_tensor_shape(result)->dim[axis];
}

psg_status psgi_rows_cut(const psg_tensor *batch, size_t row, psg_tensor **out, psg_error *error)
{
	psg_shape shape = *psg_tensor_shape(batch);
	int32_t axis = 0;
	const int32_t *widths = psg_tensor_valid_widths(batch, &axis);
	struct planes planes = planes_of(batch, axis);
	size_t all = planes.columns * planes.bytes, bytes = all;
	const char *from;
	psg_status status;
	char *to;

	*out = NULL;
	if (widths != NULL) {
		shape.dim[axis] = widths[row];
		bytes = (size_t)widths[row] * planes.bytes;
	}
	shape.dim[0] = 1;
	status = psgi_tensor_create_raw(psg_tensor_dtype(batch), &shape, out, error);
	if (status == PSG_OK && widths != NULL)
		status = psg_tensor_set_valid_widths(*out, axis, &widths[row], 1, error);
	if (status != PSG_OK) {
		psg_tensor_unref(*out);
		*out = NULL;
		return status;
	}
	to = psg_tensor_data(*out);
	from = (const char *)psg_tensor_const_data(batch) + row * planes.n * all;
	for (size_t i = 0; i < planes.n; i++, to += bytes, from += all)
		memcpy(to, from, bytes);
	return PSG_OK;
}
