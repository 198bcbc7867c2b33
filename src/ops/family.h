/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of src/ops share: the families' functions, generated from the
 * table, and the few helpers that all shape rules and reference paths are made of.
 */
#ifndef PSG_OPS_FAMILY_H
#define PSG_OPS_FAMILY_H

#include "base/base.h"
#include "base/checked.h"
#include "ops/ops.h"

/*
 * The innermost loops of products.  ThreadSanitizer sees what their callers fill and read, and need
 * not look at every step: a page takes it a tenth of the time.
 */
#ifdef PSG_TSAN
#define PSGI_INNER_LOOP __attribute__((no_sanitize_thread))
#else
#define PSGI_INNER_LOOP
#endif

/* A family serves several rows, so these repeat; C allows equal declarations. */
#define PSGI_FAMILY_DECLARE(KIND, name, family, ...)                                               \
	psg_status psgi_##family##_shape(psgi_call *call, psg_error *error);                       \
	void psgi_##family##_cost(const psgi_call *call, psg_cost *cost);                          \
	psg_status psgi_##family##_ref(const psgi_call *call, psg_error *error);
PSG_OP_MAP(PSGI_FAMILY_DECLARE)
#undef PSGI_FAMILY_DECLARE

/* Views of the tensors of `op`, `n_out` outputs wanted (0: the least); then the shape rule. */
psg_status psgi_call_of_op(const psg_op *op, size_t n_out, psgi_call *call, psg_error *error);

/* Tensors for the outputs of an inferred call, with the valid widths that they get, and their
 * memory into the call's views.  What was made before a failure is the caller's to free. */
psg_status psgi_create_outputs(psgi_call *call, psg_tensor **out, psg_error *error);

/* The input whose valid widths the outputs take over: the first that has any, else 0. */
size_t psgi_width_carrier(const psgi_call *call);

/* The operator's name, for messages. */
const char *psgi_call_name(const psgi_call *call);

/* Bytes of all operands; no multiply-accumulates. */
void psgi_plain_cost(const psgi_call *call, psg_cost *cost);
#define PSGI_PLAIN_COST(family)                                                                    \
	void psgi_##family##_cost(const psgi_call *call, psg_cost *cost)                           \
	{                                                                                          \
		psgi_plain_cost(call, cost);                                                       \
	}

/* The checks that shape rules are made of; each fails with the operator's name and the numbers. */
psg_status psgi_need_dtype(const psgi_call *call, size_t index, psg_dtype dtype, psg_error *error);
psg_status psgi_need_rank(const psgi_call *call, size_t index, int32_t least, int32_t most,
			  psg_error *error);
/* Input `index` has exactly one dimension, of `n`? */
psg_status psgi_need_vector(const psgi_call *call, size_t index, int64_t n, psg_error *error);
/* -rank..rank-1 becomes 0..rank-1. */
psg_status psgi_axis(const psgi_call *call, int32_t axis, int32_t rank, int32_t *out,
		     psg_error *error);
/* Checks the limits and sets dtype and shape of output `index`. */
psg_status psgi_out(psgi_call *call, size_t index, psg_dtype dtype, const psg_shape *shape,
		    psg_error *error);
/* numpy's rule; `out` may be `a` or `b`. */
psg_status psgi_broadcast(const psgi_call *call, const psg_shape *a, const psg_shape *b,
			  psg_shape *out, psg_error *error);

/* ONNX leaves a float outside the integers' range open; here it becomes the nearest one, NaN 0. */
int64_t psgi_to_i64(double value);

/* Product of dimensions from..to-1. */
int64_t psgi_product(const psg_shape *shape, int32_t from, int32_t to);
/* Elements from one index to the next, for each dimension. */
void psgi_strides(const psg_shape *shape, int64_t *strides);
/* The same within a result of shape `out`: 0 where `shape` is repeated. */
void psgi_broadcast_strides(const psg_shape *shape, const psg_shape *out, int64_t *strides);

static inline bool psgi_masked(const psgi_view *view)
{
	return view->valid != NULL && view->valid_axis > 0;
}

/* The columns of sample `n` that count along dimension `axis`. */
static inline int64_t psgi_extent(const psgi_view *view, int32_t axis, int64_t n)
{
	return psgi_masked(view) && view->valid_axis == axis ? view->valid[n]
							     : view->shape.dim[axis];
}

/*
 * A walk over an index space, each operand with its own steps: all movement,
 * broadcasting and reducing is this.  Dimensions that lie behind each other in
 * every operand are merged, and the innermost one is left to the caller as a run.
 *
 *	if (psgi_walk_start(&walk))
 *		do
 *			run(a + walk.at[0], walk.run_step[0], walk.run);
 *		while (psgi_walk_next(&walk));
 */
#define PSGI_WALK_DIMS (2 * PSG_MAX_RANK)       /* tile: a repeat beside each dimension */
#define PSGI_WALK_OPERANDS (PSG_MAX_INPUTS + 1) /* inputs and one output */

typedef struct psgi_walk {
	int32_t rank, operands;
	int64_t dim[PSGI_WALK_DIMS];
	int64_t step[PSGI_WALK_OPERANDS][PSGI_WALK_DIMS]; /* in elements */
	int64_t at[PSGI_WALK_OPERANDS];                   /* where the run starts */
	int64_t run, run_step[PSGI_WALK_OPERANDS];
	int64_t index[PSGI_WALK_DIMS];
} psgi_walk;

/* Set rank, operands, dim, step and at before.  False: there is nothing to walk. */
bool psgi_walk_start(psgi_walk *walk);
bool psgi_walk_next(psgi_walk *walk);

/* Copies elements of `size` bytes (4 or 8): operand 0 of the walk is `to`, operand 1 `from`. */
void psgi_walk_copy(psgi_walk *walk, void *to, const void *from, size_t size);

/* The walks of operators that only move elements: operand 0 is the output, operand 1 the input. */
void psgi_expand_walk(const psgi_call *call, psgi_walk *walk); /* expand, tile */
void psgi_depth_walk(const psgi_call *call, psgi_walk *walk);
psg_status psgi_slice_walk(const psgi_call *call, psgi_walk *walk, psg_error *error);
void psgi_permute_walk(int32_t rank, const int64_t *dims, const int32_t *perm, psgi_walk *walk);

/* The output is the input with its dimensions `shape` in the order of `perm`; any rank that a
 * walk takes. */
void psgi_permute(void *to, const void *from, size_t size, int32_t rank, const int64_t *dims,
		  const int32_t *perm);

/*
 * Copies by one table an axis: the element at (i, j, ..) of `to` comes from
 * (table[0][i], table[1][j], ..) of `from`, or from `fill` where an entry is -1.
 */
void psgi_table_copy(void *to, const psg_shape *shape, const void *from,
		     const psg_shape *from_shape, int64_t *const *table, size_t size,
		     const void *fill);

/* The general descriptor of pad_all, pad_rb or zero_cols. */
psg_status psgi_pad_params_of(const psgi_call *call, psg_pad_params *p, psg_error *error);

/* Tables for psgi_table_copy, one allocation; free() table[0].  NULL: no memory. */
bool psgi_tables(const psg_shape *shape, int64_t **table);

/* Which index of the input gives index o of the resized `axis`. */
int64_t psgi_resize_source(const psgi_call *call, int32_t axis, int64_t o);

/*
 * A window made plain: always three spatial dimensions (missing outer ones are
 * 1), defaults filled in, automatic padding computed.
 */
typedef struct psgi_geometry {
	int32_t spatial; /* dimensions that the tensor has */
	int64_t in[PSG_MAX_SPATIAL], out[PSG_MAX_SPATIAL], kernel[PSG_MAX_SPATIAL];
	int64_t stride[PSG_MAX_SPATIAL], dilation[PSG_MAX_SPATIAL];
	int64_t pad_begin[PSG_MAX_SPATIAL], pad_end[PSG_MAX_SPATIAL];
} psgi_geometry;

/* Of a call of conv, conv_transpose, im2col or a pool: also the shape rule's check. */
psg_status psgi_geometry_of(const psgi_call *call, psgi_geometry *geometry, psg_error *error);

/* The shape with `n`, `c` and the geometry's output. */
psg_shape psgi_geometry_shape(const psgi_geometry *geometry, int64_t n, int64_t c);

/* The columns of the geometry's input that count in sample n, for each of its three dimensions. */
void psgi_geometry_limits(const psgi_geometry *geometry, const psgi_view *in, int64_t n,
			  int64_t *limit);

/*
 * out[m * out_row + n] = start[m] + alpha * sum over k of a[m * a_row + k * a_step] * b(k, n).
 * `row` writes b(k, n0..n0+count) as doubles.  Sums are in double and in the order of k, whatever
 * m and n are, so that a column gives the same bits in every batch.
 */
#define PSGI_GEMM_COLUMNS 64
typedef struct psgi_gemm {
	int64_t m, n, k;
	const float *a;
	int64_t a_row, a_step;
	void (*row)(const void *user, int64_t k, int64_t n0, int64_t count, double *to);
	const void *user;
	const float *start; /* NULL: 0 */
	double alpha;
	float *out;
	int64_t out_row;
} psgi_gemm;

/* Only NOMEM. */
psg_status psgi_gemm_run(const psgi_gemm *gemm, psg_error *error);

#endif
