/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that only move elements, on a CUDA device. */
#include "config.h"

#include "ops/cuda_internal.h"

#include <stdlib.h>
#include <string.h>

/* An operand of a copy. */
typedef struct end {
	psgi_slot_kind kind;
	size_t index;
	const psgi_view *view;
} end;

static end input(const psgi_call *call, size_t index)
{
	return (end){ PSGI_SLOT_IN, index, &call->in[index] };
}

static end output(const psgi_call *call, size_t index)
{
	return (end){ PSGI_SLOT_OUT, index, &call->out[index] };
}

/* A copy along a walk (operand 0: to, operand 1: from). */
static bool copy_walk(psgi_cuda *cuda, psgi_gpu_kernel kernel, psgi_walk *walk, end to, end from)
{
	int64_t words = psgi_cuda_words(to.view);
	psgi_cuda_launch *l = psgi_cuda_add(cuda, kernel, 0, PSGI_CUDA_THREADS, sizeof(copy_args));
	copy_args *a = &l->args.copy;
	int64_t n = 1;

	PSGI_SLOT(l, from.kind, from.index, copy_args, x);
	PSGI_SLOT(l, to.kind, to.index, copy_args, y);
	if (!psgi_walk_start(walk))
		return true;
	if (walk->rank + 1 + (words > 1) > GPU_MAX_DIMS)
		return false;
	a->x_start = walk->at[1] * words;
	a->y_start = walk->at[0] * words;
	for (int32_t i = 0; i <= walk->rank; i++) {
		bool last = i == walk->rank;

		a->dim[i] = last ? walk->run : walk->dim[i];
		a->x_step[i] = (last ? walk->run_step[1] : walk->step[1][i]) * words;
		a->y_step[i] = (last ? walk->run_step[0] : walk->step[0][i]) * words;
		n *= a->dim[i];
	}
	a->rank = walk->rank + 1;
	if (words > 1) {
		a->dim[a->rank] = words;
		a->x_step[a->rank] = a->y_step[a->rank] = 1;
		a->rank++;
		n *= words;
	}
	a->n = n;
	l->blocks = (n + PSGI_CUDA_THREADS - 1) / PSGI_CUDA_THREADS;
	return l->blocks <= (int64_t)PSGI_GPU_MAX_GRID_X;
}

/* All of `part` to or from place `at` of `whole` along `axis`. */
static bool exchange(psgi_cuda *cuda, end whole, end part, int32_t axis, int64_t at, bool into)
{
	psgi_walk walk = { .rank = whole.view->shape.rank, .operands = 2 };
	int32_t w = into ? 0 : 1;

	psgi_strides(&whole.view->shape, walk.step[w]);
	psgi_strides(&part.view->shape, walk.step[1 - w]);
	for (int32_t i = 0; i < walk.rank; i++)
		walk.dim[i] = part.view->shape.dim[i];
	walk.at[w] = walk.rank > 0 ? at * walk.step[w][axis] : 0;
	return copy_walk(cuda, PSGI_GPU_copy_part, &walk, into ? whole : part, into ? part : whole);
}

static int32_t axis_of(int32_t axis, const psg_shape *shape)
{
	return axis < 0 ? axis + shape->rank : axis;
}

static bool concat(psgi_cuda *cuda, const psgi_call *call)
{
	int32_t axis = axis_of(call->params->concat.axis, &call->out[0].shape);
	int64_t at = 0;
	bool good = true;

	if (call->kind == PSG_OP_COPY_PART)
		return exchange(cuda, output(call, 0), input(call, 0), axis, 0, true) &&
		       exchange(cuda, output(call, 0), input(call, 1), axis,
				call->params->concat.offset, true);
	for (size_t i = 0; i < call->n_in && good; i++) {
		good = exchange(cuda, output(call, 0), input(call, i), axis, at, true);
		at += call->in[i].shape.dim[axis];
	}
	return good;
}

static bool split(psgi_cuda *cuda, const psgi_call *call)
{
	int32_t axis = axis_of(call->params->split.axis, &call->in[0].shape);
	int64_t at = 0;
	bool good = true;

	for (size_t i = 0; i < call->n_out && good; i++) {
		good = exchange(cuda, input(call, 0), output(call, i), axis, at, false);
		at += call->out[i].shape.dim[axis];
	}
	return good;
}

static bool transpose(psgi_cuda *cuda, const psgi_call *call)
{
	psgi_walk walk;

	psgi_permute_walk(call->in[0].shape.rank, call->in[0].shape.dim,
			  call->params->transpose.perm, &walk);
	return copy_walk(cuda, PSGI_GPU_copy_strided, &walk, output(call, 0), input(call, 0));
}

/* [batches, rows, columns] turned, tile by tile. */
static bool swap(psgi_cuda *cuda, const psgi_call *call)
{
	const psg_shape *x = &call->in[0].shape;
	swap_args a = { .batches = x->dim[0],
			.rows = x->dim[1],
			.columns = psgi_product(x, 2, x->rank) };
	psgi_cuda_launch *l;

	if (call->in[0].dtype != PSG_F32) {
		static const int32_t perm[] = { 0, 2, 1 };
		const int64_t dims[] = { a.batches, a.rows, a.columns };
		psgi_walk walk;

		psgi_permute_walk(3, dims, perm, &walk);
		return copy_walk(cuda, PSGI_GPU_copy_strided, &walk, output(call, 0),
				 input(call, 0));
	}
	a.tiles_rows = (a.rows + 31) / 32;
	a.tiles_columns = (a.columns + 31) / 32;
	l = psgi_cuda_add(cuda, PSGI_GPU_chw_to_seq, a.batches * a.tiles_rows * a.tiles_columns,
			  PSGI_CUDA_THREADS, sizeof(a));
	l->args.swap = a;
	PSGI_SLOT(l, PSGI_SLOT_IN, 0, swap_args, x);
	PSGI_SLOT(l, PSGI_SLOT_OUT, 0, swap_args, y);
	return true;
}

/* What is put where nothing lies, in words of an element: one twice, or the two of an integer. */
static void pad_value(pad_args *a, psg_dtype dtype, float value)
{
	int64_t integer = psgi_to_i64((double)value);

	if (dtype == PSG_I64) {
		memcpy(a->value, &integer, sizeof(integer));
		return;
	}
	memcpy(&a->value[0], &value, sizeof(value));
	a->value[1] = a->value[0];
}

static bool pad(psgi_cuda *cuda, const psgi_call *call)
{
	const psg_shape *x = &call->in[0].shape, *out = &call->out[0].shape;
	int64_t words = psgi_cuda_words(&call->in[0]), n = psg_shape_elements(out) * words;
	psg_pad_params p;
	psgi_cuda_launch *l = psgi_cuda_each(
		cuda, call->kind == PSG_OP_PAD_RB ? PSGI_GPU_pad_rb : PSGI_GPU_pad_all, n,
		sizeof(pad_args));
	pad_args *a = &l->args.pad;

	if (psgi_pad_params_of(call, &p, NULL) != PSG_OK)
		return false;
	*a = (pad_args){ .n = n,
			 .rank = x->rank + (words > 1),
			 .mode = p.mode == PSG_PAD_REFLECT ? GPU_PAD_REFLECT
				 : p.mode == PSG_PAD_EDGE  ? GPU_PAD_EDGE
							   : GPU_PAD_CONSTANT };
	pad_value(a, call->in[0].dtype, p.value);
	a->in[x->rank] = a->out[x->rank] = words;
	for (int32_t i = 0; i < x->rank; i++) {
		a->in[i] = x->dim[i];
		a->out[i] = out->dim[i];
		a->begin[i] = p.begin[i];
	}
	PSGI_SLOT(l, PSGI_SLOT_IN, 0, pad_args, x);
	PSGI_SLOT(l, PSGI_SLOT_OUT, 0, pad_args, y);
	return true;
}

bool psgi_cuda_copy_all(psgi_cuda *cuda, const psgi_call *call)
{
	psgi_walk walk = { .rank = 1, .operands = 2, .step = { { 1 }, { 1 } } };

	walk.dim[0] = psg_shape_elements(&call->out[0].shape);
	return copy_walk(cuda, PSGI_GPU_copy_strided, &walk, output(call, 0), input(call, 0));
}

static bool zero_cols(psgi_cuda *cuda, const psgi_call *call)
{
	const psg_shape *x = &call->in[0].shape;
	int32_t axis = call->in[0].valid_axis;
	int64_t words = psgi_cuda_words(&call->in[0]), n = psg_shape_elements(x) * words;
	psgi_cuda_launch *l;

	if (axis <= 0)
		return psgi_cuda_copy_all(cuda, call);
	l = psgi_cuda_each(cuda, PSGI_GPU_zero_cols, n, sizeof(zero_cols_args));
	l->args.zero_cols = (zero_cols_args){ .n = n,
					      .columns = x->dim[axis],
					      .inner = psgi_product(x, axis + 1, x->rank) * words,
					      .sample = psgi_product(x, 1, x->rank) * words };
	PSGI_SLOT(l, PSGI_SLOT_IN, 0, zero_cols_args, x);
	PSGI_SLOT(l, PSGI_SLOT_OUT, 0, zero_cols_args, y);
	PSGI_SLOT(l, PSGI_SLOT_VALID, 0, zero_cols_args, valid);
	return true;
}

/* Tables of the last dimension first, as the kernel walks: the words of an element, and so on. */
static int64_t *interp_tables(const psgi_call *call, int64_t words, int64_t *entries)
{
	const psg_shape *out = &call->out[0].shape;
	int64_t at = 0, stride[PSG_MAX_RANK], *table;

	*entries = words; /* one that is not used where an element is a word */
	psgi_strides(&call->in[0].shape, stride);
	for (int32_t i = 0; i < out->rank; i++)
		*entries += out->dim[i];
	table = calloc((size_t)*entries, sizeof(*table));
	if (table == NULL)
		return NULL;
	for (; words > 1 && at < words; at++)
		table[at] = at;
	for (int32_t i = out->rank - 1; i >= 0; i--)
		for (int64_t o = 0; o < out->dim[i]; o++)
			table[at++] = psgi_resize_source(call, i, o) * stride[i] * words;
	return table;
}

static psg_status interpolate(psgi_cuda *cuda, const psgi_call *call, bool *done, psg_error *error)
{
	const psg_shape *out = &call->out[0].shape;
	int64_t words = psgi_cuda_words(&call->in[0]), n = psg_shape_elements(out) * words;
	int64_t entries, *table;
	psgi_cuda_launch *l;
	psg_status status;

	*done = true;
	if (n == 0)
		return PSG_OK;
	table = interp_tables(call, words, &entries);
	if (table == NULL)
		return psgi_fail(error, PSG_NOMEM, "interp_nearest: no memory for its tables");
	status = psgi_cuda_table(cuda, table, (size_t)entries * sizeof(*table), error);
	free(table);
	l = psgi_cuda_each(cuda, PSGI_GPU_interp_nearest, n, sizeof(interp_args));
	l->args.interp =
		(interp_args){ .table = cuda->table, .n = n, .rank = out->rank + (words > 1) };
	for (int32_t i = 0; i < out->rank; i++)
		l->args.interp.dim[i] = out->dim[i];
	l->args.interp.dim[out->rank] = words;
	PSGI_SLOT(l, PSGI_SLOT_IN, 0, interp_args, x);
	PSGI_SLOT(l, PSGI_SLOT_OUT, 0, interp_args, y);
	return status;
}

psg_status psgi_cuda_move(psgi_cuda *cuda, const psgi_call *call, psgi_cuda_post_list *posts,
			  bool *done, psg_error *error)
{
	psg_status status = PSG_OK;
	psgi_walk walk;

	(void)posts;
	switch (call->kind) {
	case PSG_OP_IDENTITY:
	case PSG_OP_RESHAPE:
	case PSG_OP_FLATTEN:
	case PSG_OP_SQUEEZE:
	case PSG_OP_UNSQUEEZE:
		*done = psgi_cuda_copy_all(cuda, call);
		break;
	case PSG_OP_ADD:
	case PSG_OP_MIN:
	case PSG_OP_MAX:
	case PSG_OP_MEAN: /* of one input; the other families have those of more */
		*done = call->n_in == 1 && psgi_cuda_copy_all(cuda, call);
		break;
	case PSG_OP_CONCAT:
	case PSG_OP_COPY_PART:
		*done = concat(cuda, call);
		break;
	case PSG_OP_SPLIT:
		*done = split(cuda, call);
		break;
	case PSG_OP_TRANSPOSE:
		*done = transpose(cuda, call);
		break;
	case PSG_OP_CHW_TO_SEQ:
	case PSG_OP_SEQ_TO_CHW:
		*done = swap(cuda, call);
		break;
	case PSG_OP_PAD_ALL:
	case PSG_OP_PAD_RB:
		*done = pad(cuda, call);
		break;
	case PSG_OP_ZERO_COLS:
		*done = zero_cols(cuda, call);
		break;
	case PSG_OP_INTERP_NEAREST:
		status = interpolate(cuda, call, done, error);
		break;
	case PSG_OP_EXPAND:
	case PSG_OP_TILE:
		psgi_expand_walk(call, &walk);
		*done = copy_walk(cuda, PSGI_GPU_copy_strided, &walk, output(call, 0),
				  input(call, 0));
		break;
	case PSG_OP_DEPTH_TO_SPACE:
	case PSG_OP_SPACE_TO_DEPTH:
		psgi_depth_walk(call, &walk);
		*done = copy_walk(cuda, PSGI_GPU_copy_strided, &walk, output(call, 0),
				  input(call, 0));
		break;
	case PSG_OP_SLICE:
	case PSG_OP_CROP_COLS:
		status = psgi_slice_walk(call, &walk, error);
		if (status == PSG_OK)
			*done = copy_walk(cuda,
					  call->kind == PSG_OP_SLICE ? PSGI_GPU_copy_strided
								     : PSGI_GPU_crop_cols,
					  &walk, output(call, 0), input(call, 0));
		break;
	default:
		break;
	}
	return status;
}
