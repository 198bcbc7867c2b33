/* SPDX-License-Identifier: Apache-2.0 */
/* Sliding windows: descriptors of convolutions and pools made plain and checked. */
#include "config.h"

#include "ops/family.h"

#include <inttypes.h>

static int64_t or_one(int32_t value)
{
	return value == 0 ? 1 : value;
}

/* Takes one dimension of the descriptor over, with defaults, and checks its signs. */
static psg_status take(const psgi_call *call, const psg_window *window, int32_t from, int32_t to,
		       psgi_geometry *g, psg_error *error)
{
	bool explicit_pads = window->auto_pad == PSG_PAD_EXPLICIT;

	g->stride[to] = or_one(window->stride[from]);
	g->dilation[to] = or_one(window->dilation[from]);
	g->pad_begin[to] = explicit_pads ? window->pad_begin[from] : 0;
	g->pad_end[to] = explicit_pads ? window->pad_end[from] : 0;
	if (g->kernel[to] < 1 || g->stride[to] < 1 || g->dilation[to] < 1 || g->pad_begin[to] < 0 ||
	    g->pad_end[to] < 0)
		return psgi_fail(error, PSG_INVALID,
				 "%s: spatial dimension %" PRId32 " has kernel %" PRId64
				 ", stride %" PRId64 ", dilation %" PRId64 ", pads %" PRId64
				 " and %" PRId64 "; none may be negative",
				 psgi_call_name(call), from, g->kernel[to], g->stride[to],
				 g->dilation[to], g->pad_begin[to], g->pad_end[to]);
	return PSG_OK;
}

/* Columns that a kernel spans.  The product is checked: a kernel comes from a file's weights. */
static psg_status span_of(const psgi_call *call, const psgi_geometry *g, int32_t i, int64_t *span,
			  psg_error *error)
{
	if (psgi_mul_i64(g->kernel[i] - 1, g->dilation[i], span) && *span < PSG_MAX_ELEMENTS) {
		++*span;
		return PSG_OK;
	}
	return psgi_fail(error, PSG_INVALID,
			 "%s: a kernel of %" PRId64 " with dilation %" PRId64 " spans too much",
			 psgi_call_name(call), g->kernel[i], g->dilation[i]);
}

/* ONNX's SAME: as many outputs as strides fit, the odd padding column at the named side. */
static void pad_same(psgi_geometry *g, int32_t i, int64_t total, psg_auto_pad mode)
{
	int64_t less = total / 2;

	g->pad_begin[i] = mode == PSG_PAD_SAME_UPPER ? less : total - less;
	g->pad_end[i] = total - g->pad_begin[i];
}

static bool is_same(psg_auto_pad mode)
{
	return mode == PSG_PAD_SAME_UPPER || mode == PSG_PAD_SAME_LOWER;
}

static psg_status forward(const psgi_call *call, psgi_geometry *g, int32_t i, psg_auto_pad mode,
			  bool ceil_mode, psg_error *error)
{
	int64_t span, room;
	psg_status status = span_of(call, g, i, &span, error);

	if (status != PSG_OK)
		return status;
	if (is_same(mode)) {
		g->out[i] = g->in[i] / g->stride[i] + (g->in[i] % g->stride[i] != 0);
		room = g->out[i] == 0 ? 0 : (g->out[i] - 1) * g->stride[i] + span - g->in[i];
		pad_same(g, i, room > 0 ? room : 0, mode);
		return PSG_OK;
	}
	room = g->in[i] + g->pad_begin[i] + g->pad_end[i] - span;
	if (room < 0)
		return psgi_fail(
			error, PSG_INVALID,
			"%s: a kernel that spans %" PRId64 " is larger than the input of %" PRId64
			" with pads %" PRId64 " and %" PRId64,
			psgi_call_name(call), span, g->in[i], g->pad_begin[i], g->pad_end[i]);
	g->out[i] = room / g->stride[i] + 1;
	/* A last window counts only when it starts on the input or the padding before it. */
	if (ceil_mode && room % g->stride[i] != 0 &&
	    g->out[i] * g->stride[i] < g->in[i] + g->pad_begin[i])
		g->out[i]++;
	return PSG_OK;
}

/* Transposed: `size` and `extra` are the descriptor's output_size and output_padding. */
static psg_status backward(const psgi_call *call, psgi_geometry *g, int32_t i, psg_auto_pad mode,
			   int64_t size, int64_t extra, psg_error *error)
{
	int64_t span, full;
	psg_status status = span_of(call, g, i, &span, error);

	if (status != PSG_OK)
		return status;
	if (size < 0 || extra < 0)
		return psgi_fail(error, PSG_INVALID,
				 "%s: output size %" PRId64 " and output padding %" PRId64
				 " may not be negative",
				 psgi_call_name(call), size, extra);
	if (!psgi_mul_i64(g->in[i], g->stride[i], &full) || full > PSG_MAX_ELEMENTS)
		return psgi_fail(error, PSG_INVALID,
				 "%s: an input of %" PRId64 " with stride %" PRId64 " is too large",
				 psgi_call_name(call), g->in[i], g->stride[i]);
	full += span + extra - g->stride[i];
	if (size == 0 && is_same(mode))
		size = g->in[i] * g->stride[i];
	if (size > 0) {
		pad_same(g, i, full > size ? full - size : 0, mode);
		g->out[i] = size;
	} else {
		g->out[i] = full - g->pad_begin[i] - g->pad_end[i];
	}
	if (g->out[i] < 0 || g->in[i] == 0)
		return psgi_fail(error, PSG_INVALID,
				 "%s: an input of %" PRId64 " with pads %" PRId64 " and %" PRId64
				 " leaves %" PRId64 " outputs",
				 psgi_call_name(call), g->in[i], g->pad_begin[i], g->pad_end[i],
				 g->out[i]);
	return PSG_OK;
}

/* A pool's window must touch its input, or it has no maximum and no mean. */
static psg_status check_pool_pads(const psgi_call *call, const psgi_geometry *g, psg_error *error)
{
	for (int32_t i = 0; i < PSG_MAX_SPATIAL; i++)
		if (call->params->pool.window.auto_pad == PSG_PAD_EXPLICIT &&
		    (g->pad_begin[i] >= g->kernel[i] || g->pad_end[i] >= g->kernel[i]))
			return psgi_fail(error, PSG_INVALID,
					 "%s: pads %" PRId64 " and %" PRId64
					 " must be smaller than the kernel of %" PRId64,
					 psgi_call_name(call), g->pad_begin[i], g->pad_end[i],
					 g->kernel[i]);
	return PSG_OK;
}

static bool is_pool(psg_op_kind kind)
{
	return kind == PSG_OP_POOL_MAX || kind == PSG_OP_POOL_AVG || kind == PSG_OP_POOL_LP;
}

/* The kernel of spatial dimension i: from the weights, else from the descriptor. */
static int64_t kernel_of(const psgi_call *call, const psg_window *window, int32_t i)
{
	if (call->kind == PSG_OP_CONV || call->kind == PSG_OP_CONV_TRANSPOSE)
		return call->in[1].shape.dim[i + 2];
	return or_one(window->kernel[i]);
}

psg_status psgi_geometry_of(const psgi_call *call, psgi_geometry *g, psg_error *error)
{
	bool pool = is_pool(call->kind);
	const psg_conv_params *conv = &call->params->conv;
	const psg_window *window = pool ? &call->params->pool.window : &conv->window;
	const psg_shape *x = &call->in[0].shape;
	int32_t first = PSG_MAX_SPATIAL - (x->rank - 2);
	psg_status status = PSG_OK;

	*g = (psgi_geometry){ .spatial = x->rank - 2 };
	for (int32_t i = 0; i < first; i++)
		g->in[i] = g->out[i] = g->kernel[i] = g->stride[i] = g->dilation[i] = 1;
	if (window->auto_pad > PSG_PAD_SAME_LOWER)
		return psgi_fail(error, PSG_INVALID, "%s: auto_pad %d is unknown",
				 psgi_call_name(call), (int)window->auto_pad);
	for (int32_t i = 0; i < g->spatial && status == PSG_OK; i++) {
		int32_t to = first + i;

		g->in[to] = x->dim[i + 2];
		g->kernel[to] = kernel_of(call, window, i);
		status = take(call, window, i, to, g, error);
		if (status == PSG_OK && call->kind == PSG_OP_CONV_TRANSPOSE)
			status = backward(call, g, to, window->auto_pad, conv->output_size[i],
					  conv->output_padding[i], error);
		else if (status == PSG_OK)
			status = forward(call, g, to, window->auto_pad,
					 pool && call->params->pool.ceil_mode, error);
	}
	return status == PSG_OK && pool ? check_pool_pads(call, g, error) : status;
}

psg_shape psgi_geometry_shape(const psgi_geometry *g, int64_t n, int64_t c)
{
	psg_shape shape = { .rank = g->spatial + 2, .dim = { n, c } };

	for (int32_t i = 0; i < g->spatial; i++)
		shape.dim[i + 2] = g->out[PSG_MAX_SPATIAL - g->spatial + i];
	return shape;
}

void psgi_geometry_limits(const psgi_geometry *g, const psgi_view *in, int64_t n, int64_t *limit)
{
	for (int32_t i = 0; i < PSG_MAX_SPATIAL; i++) {
		int32_t axis = i - (PSG_MAX_SPATIAL - g->spatial) + 2;

		limit[i] = axis < 2 ? 1 : psgi_extent(in, axis, n);
	}
}
