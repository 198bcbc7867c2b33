/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors: a reference count, a shape, aligned memory and perhaps valid widths. */
#include "config.h"

#include "base/base.h"
#include "base/checked.h"
#include "base/memory.h"
#include "ops/ops.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct psg_tensor {
	atomic_size_t references;
	psg_dtype dtype;
	psg_shape shape;
	void *data;
	void (*release)(void *user, void *data); /* NULL: borrowed */
	void *user;
	int32_t valid_axis; /* 0: all columns are valid */
	int32_t *valid;
};

size_t psg_dtype_size(psg_dtype dtype)
{
	return dtype == PSG_I64 ? sizeof(int64_t) : sizeof(float);
}

int64_t psg_shape_elements(const psg_shape *shape)
{
	int64_t n = 1;

	for (int32_t i = 0; i < shape->rank; i++)
		n *= shape->dim[i];
	return n;
}

bool psg_shape_equal(const psg_shape *a, const psg_shape *b)
{
	if (a->rank != b->rank)
		return false;
	for (int32_t i = 0; i < a->rank; i++)
		if (a->dim[i] != b->dim[i])
			return false;
	return true;
}

const char *psgi_shape_text(const psg_shape *shape, char *text)
{
	int32_t rank = shape->rank > PSG_MAX_RANK ? PSG_MAX_RANK : shape->rank;
	size_t at = 0;

	/* Each dimension takes at most 21 bytes with its comma. */
	text[at++] = '[';
	for (int32_t i = 0; i < rank; i++)
		at += (size_t)snprintf(text + at, PSGI_SHAPE_TEXT - at, "%s%" PRId64,
				       i == 0 ? "" : ",", shape->dim[i]);
	text[at++] = ']';
	text[at] = '\0';
	return text;
}

psg_status psgi_shape_check(const psg_shape *shape, psg_error *error)
{
	char text[PSGI_SHAPE_TEXT];
	int64_t n = 1;

	if (shape->rank < 0 || shape->rank > PSG_MAX_RANK)
		return psgi_fail(error, PSG_INVALID, "rank %" PRId32 " is not within 0..%d",
				 shape->rank, PSG_MAX_RANK);
	for (int32_t i = 0; i < shape->rank; i++) {
		if (shape->dim[i] < 0)
			return psgi_fail(error, PSG_INVALID,
					 "dimension %" PRId32 " of %s is negative", i,
					 psgi_shape_text(shape, text));
		/* A zero must not hide dimensions whose products overflow without it. */
		if (shape->dim[i] > 0 &&
		    (!psgi_mul_i64(n, shape->dim[i], &n) || n > PSG_MAX_ELEMENTS))
			return psgi_fail(error, PSG_INVALID,
					 "shape %s is over the limit of %" PRId64 " elements",
					 psgi_shape_text(shape, text), PSG_MAX_ELEMENTS);
	}
	return PSG_OK;
}

static psg_status check(psg_dtype dtype, const psg_shape *shape, psg_error *error)
{
	psg_status status;

	if (dtype != PSG_F32 && dtype != PSG_I64)
		return psgi_fail(error, PSG_INVALID, "tensor: %d is no element type", (int)dtype);
	status = psgi_shape_check(shape, error);
	if (status != PSG_OK)
		psgi_error_prefix(error, "tensor");
	return status;
}

static void release_memory(void *user, void *data)
{
	(void)user;
	free(data);
}

static psg_status make(psg_dtype dtype, const psg_shape *shape, void *data, psg_tensor **out,
		       psg_error *error)
{
	psg_tensor *tensor = calloc(1, sizeof(*tensor));

	if (tensor == NULL)
		return psgi_fail(error, PSG_NOMEM, "tensor: no memory for its header");
	atomic_init(&tensor->references, 1);
	tensor->dtype = dtype;
	tensor->shape = *shape;
	tensor->data = data;
	*out = tensor;
	return PSG_OK;
}

/* Room for the elements, a whole number of alignment units so that vector loads may run over. */
static psg_status allocate(psg_dtype dtype, const psg_shape *shape, void **out, size_t *bytes,
			   psg_error *error)
{
	char text[PSGI_SHAPE_TEXT];
	size_t room;

	*bytes = (size_t)psg_shape_elements(shape) * psg_dtype_size(dtype);
	room = (*bytes / PSGI_ALIGNMENT + 1) * PSGI_ALIGNMENT;
	*out = psgi_memory_alloc(room);
	if (*out == NULL)
		return psgi_fail(error, PSG_NOMEM, "tensor %s: no memory for %zu bytes",
				 psgi_shape_text(shape, text), room);
	return PSG_OK;
}

static psg_status create(psg_dtype dtype, const psg_shape *shape, const void *from,
			 psg_tensor **out, psg_error *error)
{
	psg_status status = check(dtype, shape, error);
	size_t bytes = 0;
	void *data = NULL;

	if (status == PSG_OK)
		status = allocate(dtype, shape, &data, &bytes, error);
	if (status != PSG_OK)
		return status;
	status = make(dtype, shape, data, out, error);
	if (status != PSG_OK) {
		free(data);
		return status;
	}
	(*out)->release = release_memory;
	if (from != NULL && bytes > 0)
		memcpy(data, from, bytes);
	return PSG_OK;
}

psg_status psgi_tensor_create_raw(psg_dtype dtype, const psg_shape *shape, psg_tensor **out,
				  psg_error *error)
{
	return create(dtype, shape, NULL, out, error);
}

psg_status psg_tensor_create(psg_dtype dtype, const psg_shape *shape, psg_tensor **out,
			     psg_error *error)
{
	psg_status status = create(dtype, shape, NULL, out, error);

	if (status == PSG_OK)
		memset((*out)->data, 0, (size_t)psg_shape_elements(shape) * psg_dtype_size(dtype));
	return status;
}

psg_status psg_tensor_create_from(psg_dtype dtype, const psg_shape *shape, const void *data,
				  psg_tensor **out, psg_error *error)
{
	psg_status status = check(dtype, shape, error);

	if (status == PSG_OK && data == NULL && psg_shape_elements(shape) > 0)
		status = psgi_fail(error, PSG_INVALID, "tensor: no data to copy");
	return status == PSG_OK ? create(dtype, shape, data, out, error) : status;
}

psg_status psg_tensor_wrap(psg_dtype dtype, const psg_shape *shape, void *data,
			   void (*release)(void *user, void *data), void *user, psg_tensor **out,
			   psg_error *error)
{
	psg_status status = check(dtype, shape, error);

	if (status == PSG_OK && data == NULL && psg_shape_elements(shape) > 0)
		status = psgi_fail(error, PSG_INVALID, "tensor: no data to wrap");
	if (status == PSG_OK)
		status = make(dtype, shape, data, out, error);
	if (status != PSG_OK)
		return status;
	(*out)->release = release;
	(*out)->user = user;
	return PSG_OK;
}

psg_tensor *psg_tensor_ref(psg_tensor *tensor)
{
	/* Relaxed: whoever adds a reference already has one, and orders nothing by it. */
	atomic_fetch_add_explicit(&tensor->references, 1, memory_order_relaxed);
	return tensor;
}

bool psgi_tensor_is_last(const psg_tensor *tensor)
{
	/* Acquire: what the others did with it, before they let go, is over. */
	return atomic_load_explicit(&tensor->references, memory_order_acquire) == 1;
}

void psg_tensor_unref(psg_tensor *tensor)
{
	if (tensor == NULL)
		return;
	/* Release: this thread's uses of the tensor come before the drop of its reference. */
	if (atomic_fetch_sub_explicit(&tensor->references, 1, memory_order_release) != 1)
		return;
	/*
	 * Acquire, by the last one only: the uses of all threads that dropped
	 * their references before are over when the memory goes.  A load of the
	 * counter and not a fence, because ThreadSanitizer does not model fences.
	 */
	(void)atomic_load_explicit(&tensor->references, memory_order_acquire);
	if (tensor->release != NULL)
		tensor->release(tensor->user, tensor->data);
	free(tensor->valid);
	free(tensor);
}

psg_dtype psg_tensor_dtype(const psg_tensor *tensor)
{
	return tensor->dtype;
}

const psg_shape *psg_tensor_shape(const psg_tensor *tensor)
{
	return &tensor->shape;
}

void *psg_tensor_data(psg_tensor *tensor)
{
	return tensor->data;
}

const void *psg_tensor_const_data(const psg_tensor *tensor)
{
	return tensor->data;
}

psg_status psg_tensor_set_valid_widths(psg_tensor *tensor, int32_t axis, const int32_t *widths,
				       size_t n, psg_error *error)
{
	const psg_shape *shape = &tensor->shape;
	char text[PSGI_SHAPE_TEXT];
	int32_t *copy;

	psgi_shape_text(shape, text);
	if (axis < 1 || axis >= shape->rank)
		return psgi_fail(error, PSG_INVALID,
				 "valid widths: axis %" PRId32 " of %s is not within 1..%" PRId32,
				 axis, text, shape->rank - 1);
	if ((int64_t)n != shape->dim[0])
		return psgi_fail(error, PSG_INVALID,
				 "valid widths: %zu widths for the %" PRId64 " samples of %s", n,
				 shape->dim[0], text);
	for (size_t i = 0; i < n; i++)
		if (widths[i] < 1 || widths[i] > shape->dim[axis])
			return psgi_fail(error, PSG_INVALID,
					 "valid widths: width %" PRId32
					 " of sample %zu is not within 1..%" PRId64 " of %s",
					 widths[i], i, shape->dim[axis], text);
	copy = malloc(n > 0 ? n * sizeof(*copy) : 1);
	if (copy == NULL)
		return psgi_fail(error, PSG_NOMEM, "valid widths: no memory for %zu", n);
	if (n > 0)
		memcpy(copy, widths, n * sizeof(*copy));
	free(tensor->valid);
	tensor->valid = copy;
	tensor->valid_axis = axis;
	return PSG_OK;
}

const int32_t *psg_tensor_valid_widths(const psg_tensor *tensor, int32_t *axis)
{
	if (tensor->valid != NULL && axis != NULL)
		*axis = tensor->valid_axis;
	return tensor->valid;
}

size_t psgi_tensor_bytes(const psg_tensor *tensor)
{
	return (size_t)psg_shape_elements(&tensor->shape) * psg_dtype_size(tensor->dtype);
}

psgi_view psgi_view_of(psg_tensor *tensor)
{
	return (psgi_view){
		.dtype = tensor->dtype,
		.shape = tensor->shape,
		.data = tensor->data,
		.valid = tensor->valid,
		.valid_axis = tensor->valid_axis,
	};
}
