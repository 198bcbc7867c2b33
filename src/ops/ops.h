/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operator table as the rooms above see it.
 *
 * A call is one operator with views of its operands.  The three rules of a
 * family read the call; only the reference path touches data.
 */
#ifndef PSG_OPS_OPS_H
#define PSG_OPS_OPS_H

#include <pagesift/op.h>

/* One operand: host memory, dense, row-major. */
typedef struct psgi_view {
	psg_dtype dtype;
	psg_shape shape;
	void *data;           /* NULL while only shapes are known */
	const int32_t *valid; /* dim[0] valid widths along valid_axis; NULL: all columns count */
	int32_t valid_axis;   /* 0: none */
} psgi_view;

/* Bytes of its elements. */
static inline size_t psgi_view_bytes(const psgi_view *view)
{
	return (size_t)psg_shape_elements(&view->shape) * psg_dtype_size(view->dtype);
}

typedef struct psgi_call {
	psg_op_kind kind;
	const psg_op_params *params;
	size_t n_in, n_out;
	psgi_view in[PSG_MAX_INPUTS]; /* an absent optional input has rank -1 */
	psgi_view out[PSG_MAX_OUTPUTS];
} psgi_call;

typedef struct psgi_rule {
	const char *name;
	size_t min_in, max_in, min_out, max_out;
	/* Fills dtype and shape of out[0..n_out) from the inputs' dtypes and shapes, which have
	 * passed the table's counts.  INVALID with the numbers, UNSUPPORTED for a dtype. */
	psg_status (*shape)(psgi_call *call, psg_error *error);
	/* MACs and bytes of a call whose shapes are known. */
	void (*cost)(const psgi_call *call, psg_cost *cost);
	/* The reference path: plain loops, sums in double, valid widths respected; fills
	 * out[].data. Cannot fail but for NOMEM and values that only the data shows (a gather index
	 * out of range). */
	psg_status (*ref)(const psgi_call *call, psg_error *error);
} psgi_rule;

/* The row of `kind`; NULL outside the table. */
const psgi_rule *psgi_rule_of(psg_op_kind kind);

/* Runs the reference path, unless there is no element to write: an empty result may have dimensions
 * for which no path should take memory or time. */
psg_status psgi_run_reference(const psgi_call *call, psg_error *error);

/* Checks the counts, then runs the shape rule.  call->n_out must be set. */
psg_status psgi_infer(psgi_call *call, psg_error *error);

/* Is input `index` there? */
static inline bool psgi_has_input(const psgi_call *call, size_t index)
{
	return index < call->n_in && call->in[index].shape.rank >= 0;
}

/*
 * How valid widths along `in_axis` go to out[0], of a call whose shape rule has run.  They are
 * those of the first input whose view has a valid_axis, or of in[0] when none says so.  False: the
 * operator mixes columns in a way that valid widths cannot follow (a reshape that cuts through the
 * axis), and a batch of different widths must be run sample by sample.
 */
typedef struct psgi_width_map {
	int32_t axis; /* of the output; 0: the output has no columns any more */
	/* out = floor or ceil((in + pad - (kernel - 1) * dilation - 1) / stride) + 1 with pad_begin
	 * and pad_end, at most the output's dimension; then times `repeat` */
	int32_t kernel, stride, dilation, pad_begin, pad_end, repeat;
	bool ceil_mode;
	bool looks_sideways; /* reads neighbours: padding columns of the input must be masked */
} psgi_width_map;

bool psgi_width_rule(const psgi_call *call, int32_t in_axis, psgi_width_map *map);
/* 0: the sample is too narrow for the operator, which would refuse it alone too. */
int32_t psgi_width_apply(const psgi_width_map *map, int32_t width, int64_t limit);

/* "[1,3,48,320]" into `text` of at least PSGI_SHAPE_TEXT bytes; returns text. */
#define PSGI_SHAPE_TEXT 160
const char *psgi_shape_text(const psg_shape *shape, char *text);

/* A shape with valid rank, dimensions >= 0 and elements within PSG_MAX_ELEMENTS? */
psg_status psgi_shape_check(const psg_shape *shape, psg_error *error);

/* Of its elements. */
size_t psgi_tensor_bytes(const psg_tensor *tensor);

/* As psg_tensor_create, for a caller that writes every element: they are not set to zero. */
psg_status psgi_tensor_create_raw(psg_dtype dtype, const psg_shape *shape, psg_tensor **out,
				  psg_error *error);

/* True when the caller's reference is the only one, and so nobody else can come by another. */
bool psgi_tensor_is_last(const psg_tensor *tensor);

/* Views a tensor, with its valid widths. */
psgi_view psgi_view_of(psg_tensor *tensor);

/* Runs the reference path of `op` on host tensors: constant folding and the oracle of all tests. */
psg_status psgi_reference_run(const psg_op *op, psg_tensor **out, size_t n_out, psg_error *error);

#endif
