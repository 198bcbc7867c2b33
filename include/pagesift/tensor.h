/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tensors: reference-counted, dense, row-major arrays of up to six dimensions.
 *
 * A tensor may carry one valid width for each sample: columns at and past it
 * are padding, hold anything, and never influence a result (docs/design.md,
 * "From a file to a run").  A tensor is filled by its creator and immutable once shared;
 * reference counting is thread-safe, writing the data is not.
 */
#ifndef PAGESIFT_TENSOR_H
#define PAGESIFT_TENSOR_H

#include <pagesift/error.h>

#ifdef __cplusplus
extern "C" {
#endif

#define PSG_MAX_RANK 6

/* Elements of one tensor: 2^33, chosen so that byte counts never overflow. */
#define PSG_MAX_ELEMENTS (INT64_C(1) << 33)

typedef enum psg_dtype {
	PSG_F32, /* data */
	PSG_I64, /* shapes, axes, indices; ONNX's int32 and bool are widened to it */
} psg_dtype;

typedef struct psg_shape {
	int32_t rank; /* 0 (scalar) to PSG_MAX_RANK */
	int64_t dim[PSG_MAX_RANK];
} psg_shape;

/* psg_shape s = PSG_SHAPE(1, 3, 48, 320); */
#define PSG_SHAPE(...)                                                                             \
	((psg_shape){ (int32_t)(sizeof((int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t)),             \
		      { __VA_ARGS__ } })

typedef struct psg_tensor psg_tensor;

/* Bytes of one element. */
PSG_API size_t psg_dtype_size(psg_dtype dtype);

/* Product of the dimensions; 1 for rank 0; the shape must be valid. */
PSG_API int64_t psg_shape_elements(const psg_shape *shape);

PSG_API bool psg_shape_equal(const psg_shape *a, const psg_shape *b);

/*
 * Creates a host tensor, 64-byte aligned, its elements zero.  The caller owns
 * one reference.  INVALID: rank or dimensions out of range.  NOMEM.
 */
PSG_API psg_status psg_tensor_create(psg_dtype dtype, const psg_shape *shape, psg_tensor **out,
				     psg_error *error);

/* As psg_tensor_create, filled from `data`, which is copied. */
PSG_API psg_status psg_tensor_create_from(psg_dtype dtype, const psg_shape *shape, const void *data,
					  psg_tensor **out, psg_error *error);

/*
 * Wraps `data` without a copy.  On success the tensor owns it and calls
 * release(user, data) once, on whichever thread drops the last reference; a
 * NULL `release` borrows data that must outlive the tensor.
 */
PSG_API psg_status psg_tensor_wrap(psg_dtype dtype, const psg_shape *shape, void *data,
				   void (*release)(void *user, void *data), void *user,
				   psg_tensor **out, psg_error *error);

/* Returns `tensor` with one more reference. */
PSG_API psg_tensor *psg_tensor_ref(psg_tensor *tensor);

/* Drops one reference and frees the tensor with the last one.  NULL is allowed. */
PSG_API void psg_tensor_unref(psg_tensor *tensor);

PSG_API psg_dtype psg_tensor_dtype(const psg_tensor *tensor);
PSG_API const psg_shape *psg_tensor_shape(const psg_tensor *tensor);

/* The elements, row-major; borrowed from the tensor. */
PSG_API void *psg_tensor_data(psg_tensor *tensor);
PSG_API const void *psg_tensor_const_data(const psg_tensor *tensor);

/*
 * Gives each of the dim[0] samples its valid width along dimension `axis`
 * (the last one of an image, 1 of a sequence [N, T, C]).  Copies `widths`.
 * Only before the tensor is shared.  INVALID: n is not dim[0], axis out of
 * range or 0, a width outside 1..dim[axis].
 */
PSG_API psg_status psg_tensor_set_valid_widths(psg_tensor *tensor, int32_t axis,
					       const int32_t *widths, size_t n, psg_error *error);

/* dim[0] widths borrowed from the tensor, and their axis (may be NULL); NULL when all columns are
 * valid. */
PSG_API const int32_t *psg_tensor_valid_widths(const psg_tensor *tensor, int32_t *axis);

#ifdef __cplusplus
}
#endif
#endif
