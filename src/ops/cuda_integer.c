/* SPDX-License-Identifier: Apache-2.0 */
/* Whole numbers on a CUDA device, and what makes them: comparisons and conversions. */
#include "config.h"

#include "ops/cuda_internal.h"

#include <inttypes.h>

static int32_t integer_of(psg_op_kind kind)
{
	switch (kind) {
#define SAME(KIND, NAME)                                                                           \
	case PSG_OP_##KIND:                                                                        \
		return GPU_INTEGER_##NAME;
		SAME(ADD, SUM)
		SAME(SUB, DIFFERENCE)
		SAME(MUL, PRODUCT)
		SAME(DIV, QUOTIENT)
		SAME(POW, POWER)
		SAME(MIN, LEAST)
		SAME(MAX, MOST)
		SAME(EQUAL, EQUAL)
		SAME(LESS, LESS)
		SAME(LESS_EQUAL, LESS_EQUAL)
		SAME(GREATER, GREATER)
		SAME(GREATER_EQUAL, GREATER_EQUAL)
		SAME(NOT, NOT)
		SAME(NEG, NEG)
		SAME(ABS, ABS)
		SAME(SIGN, SIGN)
#undef SAME
	default:
		return -1;
	}
}

static bool compares(int32_t function)
{
	return function >= GPU_INTEGER_EQUAL && function <= GPU_INTEGER_GREATER_EQUAL;
}

/* --- errors that only the values show --- */

static psg_status divided_by_zero(const psgi_cuda *cuda, int64_t bad, const psgi_operand *in,
				  psg_error *error)
{
	(void)in;
	return psgi_fail(error, PSG_INVALID, "%s: division by zero in element %" PRId64,
			 psg_op_name(cuda->kind), bad);
}

/* A negative power is a quotient. */
static bool may_divide_by_zero(const psgi_call *call)
{
	const psgi_view *a = &call->in[0], *b = &call->in[1];

	if (call->kind == PSG_OP_POW)
		return psgi_cuda_may_have(b, INT64_MIN, -1) && psgi_cuda_may_have(a, 0, 0);
	return call->kind == PSG_OP_DIV && psgi_cuda_may_have(b, 0, 0);
}

/* --- launches --- */

/* One step of a chain: the result so far (of the first step input 0) with input `index`. */
static void step(psgi_cuda *cuda, const psgi_call *call, size_t index)
{
	const psg_shape *out = &call->out[0].shape;
	bool first = index <= 1;
	psgi_cuda_launch *l = psgi_cuda_each(cuda, PSGI_GPU_integers, psg_shape_elements(out),
					     sizeof(integer_args));

	psgi_cuda_pair(&l->args.integer.pair, out, first ? &call->in[0].shape : out,
		       &call->in[index].shape);
	l->args.integer.pair.function = integer_of(call->kind);
	l->args.integer.bad = cuda->table;
	PSGI_SLOT(l, first ? PSGI_SLOT_IN : PSGI_SLOT_OUT, 0, integer_args, a);
	PSGI_SLOT(l, PSGI_SLOT_IN, index, integer_args, b);
	PSGI_SLOT(l, PSGI_SLOT_OUT, 0, integer_args, y);
}

static psg_status integers(psgi_cuda *cuda, const psgi_call *call, bool *done, psg_error *error)
{
	psg_status status = PSG_OK;

	for (size_t i = 0; i < call->n_in; i++)
		if (call->in[i].dtype != PSG_I64)
			return PSG_OK;
	if (integer_of(call->kind) >= GPU_INTEGER_NOT) {
		step(cuda, call, 0); /* its own second operand */
	} else if (call->n_in < 2) {
		return PSG_OK;
	} else if (may_divide_by_zero(call)) {
		status = psgi_cuda_judge(cuda, divided_by_zero, error);
	}
	for (size_t i = 1; i < call->n_in; i++)
		step(cuda, call, i);
	*done = status == PSG_OK;
	return status;
}

static bool compare(psgi_cuda *cuda, const psgi_call *call)
{
	const psg_shape *out = &call->out[0].shape;
	psgi_cuda_launch *l = psgi_cuda_each(cuda, PSGI_GPU_compare, psg_shape_elements(out),
					     sizeof(compare_args));

	psgi_cuda_pair(&l->args.compare.pair, out, &call->in[0].shape, &call->in[1].shape);
	l->args.compare.pair.function = integer_of(call->kind);
	PSGI_SLOT(l, PSGI_SLOT_IN, 0, compare_args, a);
	PSGI_SLOT(l, PSGI_SLOT_IN, 1, compare_args, b);
	PSGI_SLOT(l, PSGI_SLOT_OUT, 0, compare_args, y);
	return true;
}

/* -1: the elements stay as they are. */
static int32_t cast_of(const psg_cast_params *p, psg_dtype from)
{
	if (from == PSG_F32 && p->to == PSG_F32)
		return p->to_bool ? GPU_CAST_TRUTH : -1;
	if (from == PSG_F32)
		return p->to_bool    ? GPU_CAST_FLOAT_TO_BOOL
		       : p->to_int32 ? GPU_CAST_FLOAT_TO_INT32
				     : GPU_CAST_FLOAT_TO_INTEGER;
	if (p->to == PSG_F32)
		return GPU_CAST_INTEGER_TO_FLOAT;
	return p->to_bool ? GPU_CAST_INTEGER_TO_BOOL : p->to_int32 ? GPU_CAST_INTEGER_TO_INT32 : -1;
}

static bool cast(psgi_cuda *cuda, const psgi_call *call)
{
	int64_t n = psg_shape_elements(&call->out[0].shape);
	int32_t kind = cast_of(&call->params->cast, call->in[0].dtype);
	psgi_cuda_launch *l;

	if (kind < 0)
		return psgi_cuda_copy_all(cuda, call);
	l = psgi_cuda_each(cuda, PSGI_GPU_cast, n, sizeof(cast_args));
	l->args.cast = (cast_args){ .n = n, .kind = kind };
	PSGI_SLOT(l, PSGI_SLOT_IN, 0, cast_args, x);
	PSGI_SLOT(l, PSGI_SLOT_OUT, 0, cast_args, y);
	return true;
}

psg_status psgi_cuda_integer(psgi_cuda *cuda, const psgi_call *call, psgi_cuda_post_list *posts,
			     bool *done, psg_error *error)
{
	int32_t function = integer_of(call->kind);

	(void)posts;
	if (call->kind == PSG_OP_CAST)
		*done = cast(cuda, call);
	else if (compares(function) && call->in[0].dtype == PSG_F32)
		*done = compare(cuda, call);
	else if (function >= 0)
		return integers(cuda, call, done, error);
	return PSG_OK;
}
