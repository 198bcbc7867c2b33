/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How valid widths go through each family.  The question is always the same:
 * is the output of one sample, cut to its width, what the sample alone gives?
 * Where that cannot be said for sure, the answer is no.
 */
#include "config.h"

#include "ops/family.h"

/* The input that brings the widths, and their axis in it. */
typedef struct source {
	size_t index;
	const psg_shape *shape;
	int32_t axis;
} source;

static bool keep(psgi_width_map *map, int32_t axis, bool looks_sideways)
{
	map->axis = axis;
	map->looks_sideways = looks_sideways;
	return true;
}

/* Do the sample dimension and dimension `axis` of the source stay as they are? */
static bool intact(const psgi_call *call, const source *s)
{
	const psg_shape *out = &call->out[0].shape;

	return out->rank == s->shape->rank && out->dim[0] == s->shape->dim[0] &&
	       out->dim[s->axis] == s->shape->dim[s->axis];
}

/* Has no other input widths along another axis or of fewer samples? */
static bool agreed(const psgi_call *call, const source *s)
{
	for (size_t i = 0; i < call->n_in; i++)
		if (psgi_has_input(call, i) && call->in[i].valid_axis > 0 &&
		    (call->in[i].shape.rank != s->shape->rank ||
		     call->in[i].valid_axis != s->axis ||
		     call->in[i].shape.dim[0] != s->shape->dim[0]))
			return false;
	return true;
}

static bool window(const psgi_call *call, const source *s, psgi_width_map *map, psg_auto_pad pads)
{
	int32_t i = PSG_MAX_SPATIAL - (s->shape->rank - s->axis);
	psgi_geometry g;

	if (s->axis < 2 || s->index != 0 || psgi_geometry_of(call, &g, NULL) != PSG_OK ||
	    g.kernel[i] > INT32_MAX)
		return false;
	/* SAME padding depends on the width itself, except with stride 1. */
	if (pads >= PSG_PAD_SAME_UPPER && g.stride[i] != 1)
		return false;
	map->kernel = (int32_t)g.kernel[i];
	map->stride = (int32_t)g.stride[i];
	map->dilation = (int32_t)g.dilation[i];
	map->pad_begin = (int32_t)g.pad_begin[i];
	map->pad_end = (int32_t)g.pad_end[i];
	return keep(map, s->axis, map->kernel > 1 || map->pad_begin > 0 || map->pad_end > 0);
}

static bool conv(const psgi_call *call, const source *s, psgi_width_map *map)
{
	return window(call, s, map, call->params->conv.window.auto_pad);
}

static bool im2col(const psgi_call *call, const source *s, psgi_width_map *map)
{
	psgi_geometry g;

	if (!window(call, s, map, call->params->conv.window.auto_pad) ||
	    psgi_geometry_of(call, &g, NULL) != PSG_OK)
		return false;
	/* Columns of several rows lie behind each other. */
	map->axis = 2;
	return g.out[0] * g.out[1] * g.out[2] ==
	       g.out[PSG_MAX_SPATIAL - (s->shape->rank - s->axis)];
}

static bool pool(const psgi_call *call, const source *s, psgi_width_map *map)
{
	map->ceil_mode = call->params->pool.ceil_mode;
	/* The indices of the second output count the padding columns too. */
	return call->n_out < 2 && window(call, s, map, call->params->pool.window.auto_pad);
}

static bool conv_transpose(const psgi_call *call, const source *s, psgi_width_map *map)
{
	int32_t i = PSG_MAX_SPATIAL - (s->shape->rank - s->axis);
	psgi_geometry g;

	if (s->axis < 2 || s->index != 0 || psgi_geometry_of(call, &g, NULL) != PSG_OK)
		return false;
	map->repeat = (int32_t)g.stride[i];
	return g.kernel[i] == g.stride[i] && (g.dilation[i] == 1 || g.kernel[i] == 1) &&
	       g.pad_begin[i] == 0 && g.pad_end[i] == 0 && g.out[i] == g.in[i] * g.stride[i] &&
	       keep(map, s->axis, false);
}

static bool global_pool(const psgi_call *call, const source *s, psgi_width_map *map)
{
	(void)call;
	return s->axis >= 2 && keep(map, 0, true);
}

static bool matmul(const psgi_call *call, const source *s, psgi_width_map *map)
{
	const psg_shape *a = &call->in[0].shape, *b = &call->in[1].shape,
			*out = &call->out[0].shape;
	bool trans = call->params->matmul.trans_a;
	int32_t rows = a->rank - (trans ? 1 : 2), batch = out->rank - (b->rank > 1 ? 2 : 1);

	if (s->index != 0 || a->rank < 3 || batch != a->rank - 2 || out->dim[0] != a->dim[0] ||
	    call->in[1].valid_axis > 0)
		return false;
	if (s->axis == rows)
		map->axis = batch;
	else if (s->axis < batch && out->dim[s->axis] == a->dim[s->axis])
		map->axis = s->axis;
	else
		return false;
	return !psgi_has_input(call, 2) || call->in[2].valid_axis == 0 ||
	       (call->in[2].valid_axis == map->axis && call->in[2].shape.rank == out->rank &&
		call->in[2].shape.dim[0] == out->dim[0]);
}

static bool unary(const psgi_call *call, const source *s, psgi_width_map *map)
{
	(void)call;
	return keep(map, s->axis, false);
}

static bool cast(const psgi_call *call, const source *s, psgi_width_map *map)
{
	return unary(call, s, map);
}

/* A division by zero past a width would be told as an error that the sample alone does not have. */
static bool divides_padding(const psgi_call *call)
{
	if (call->in[0].dtype != PSG_I64 || call->in[1].dtype != PSG_I64)
		return false;
	for (size_t i = call->kind == PSG_OP_POW ? 0 : 1; i < call->n_in; i++)
		if (call->in[i].valid_axis > 0)
			return call->kind == PSG_OP_DIV || call->kind == PSG_OP_POW;
	return false;
}

static bool binary(const psgi_call *call, const source *s, psgi_width_map *map)
{
	return intact(call, s) && agreed(call, s) && !divides_padding(call) &&
	       keep(map, s->axis, false);
}

static bool select(const psgi_call *call, const source *s, psgi_width_map *map)
{
	return intact(call, s) && agreed(call, s) && keep(map, s->axis, false);
}

static bool channel(const psgi_call *call, const source *s, psgi_width_map *map)
{
	(void)call;
	return s->index == 0 && s->axis >= 2 && keep(map, s->axis, false);
}

static bool reduce(const psgi_call *call, const source *s, psgi_width_map *map)
{
	const psg_reduce_params *p = &call->params->reduce;
	bool reduced[PSG_MAX_RANK] = { false };
	int32_t dropped = 0;

	for (int32_t i = 0; i < p->n_axes; i++)
		reduced[p->axes[i] < 0 ? p->axes[i] + s->shape->rank : p->axes[i]] = true;
	if (reduced[0] || (p->n_axes == 0 && !p->noop_empty))
		return false;
	if (reduced[s->axis])
		return keep(map, 0, true);
	for (int32_t i = 0; i < s->axis && p->drop_dims; i++)
		dropped += reduced[i];
	return keep(map, s->axis - dropped, false);
}

static bool arg(const psgi_call *call, const source *s, psgi_width_map *map)
{
	const psg_arg_params *p = &call->params->arg;
	int32_t axis = p->axis < 0 ? p->axis + s->shape->rank : p->axis;

	if (axis == 0)
		return false;
	if (axis == s->axis)
		return keep(map, 0, true);
	return keep(map, s->axis - (p->drop_dims && axis < s->axis), false);
}

static bool norm(const psgi_call *call, const source *s, psgi_width_map *map)
{
	int32_t axis = call->params->norm.axis;

	if (s->index != 0)
		return false;
	if (call->kind != PSG_OP_LAYER_NORM)
		return s->axis >= 2 && keep(map, s->axis, call->kind == PSG_OP_INSTANCE_NORM);
	axis = axis < 0 ? axis + s->shape->rank : axis;
	return axis > 0 && keep(map, s->axis, s->axis >= axis);
}

static bool softmax(const psgi_call *call, const source *s, psgi_width_map *map)
{
	const psg_softmax_params *p = &call->params->softmax;
	int32_t axis = p->axis < 0 ? p->axis + s->shape->rank : p->axis;

	return axis > 0 && keep(map, s->axis, p->flatten ? s->axis >= axis : s->axis == axis);
}

static bool transpose(const psgi_call *call, const source *s, psgi_width_map *map)
{
	const int32_t *perm = call->params->transpose.perm;

	if (perm[0] != 0)
		return false;
	for (int32_t i = 1; i < s->shape->rank; i++)
		if (perm[i] == s->axis)
			return keep(map, i, false);
	return false;
}

/* The axis survives where an output dimension of its size has as many elements before it. */
static bool reshape(const psgi_call *call, const source *s, psgi_width_map *map)
{
	const psg_shape *out = &call->out[0].shape;
	int64_t before = psgi_product(s->shape, 0, s->axis), at = 1;

	if (psg_shape_elements(out) == 0 || out->rank < 2 || out->dim[0] != s->shape->dim[0])
		return false;
	for (int32_t i = 0; i < out->rank; i++) {
		if (i > 0 && at == before && out->dim[i] == s->shape->dim[s->axis])
			return keep(map, i, false);
		at *= out->dim[i];
	}
	return false;
}

static bool slice(const psgi_call *call, const source *s, psgi_width_map *map)
{
	const psg_slice_params *p = &call->params->slice;

	if (!intact(call, s))
		return false;
	/* All of a dimension, backwards. */
	for (int32_t i = 0; call->kind == PSG_OP_SLICE && i < p->n_axes; i++) {
		int32_t axis = p->axes[i] < 0 ? p->axes[i] + s->shape->rank : p->axes[i];

		if ((axis == 0 || axis == s->axis) && p->step[i] < 0)
			return false;
	}
	return keep(map, s->axis, false);
}

static bool concat(const psgi_call *call, const source *s, psgi_width_map *map)
{
	int32_t axis = call->params->concat.axis;

	axis = axis < 0 ? axis + s->shape->rank : axis;
	return axis != 0 && axis != s->axis && agreed(call, s) && keep(map, s->axis, false);
}

static bool split(const psgi_call *call, const source *s, psgi_width_map *map)
{
	int32_t axis = call->params->split.axis;

	axis = axis < 0 ? axis + s->shape->rank : axis;
	return axis != 0 && axis != s->axis && keep(map, s->axis, false);
}

static bool pad(const psgi_call *call, const source *s, psgi_width_map *map)
{
	const psg_pad_params *p = &call->params->pad;

	/* A crop and a pad may give the same size. */
	if (call->kind == PSG_OP_PAD_ALL &&
	    (p->begin[0] != 0 || p->end[0] != 0 || p->begin[s->axis] != 0 || p->end[s->axis] != 0))
		return false;
	return intact(call, s) && keep(map, s->axis, false);
}

static bool expand(const psgi_call *call, const source *s, psgi_width_map *map)
{
	return intact(call, s) && keep(map, s->axis, false);
}

static bool gather(const psgi_call *call, const source *s, psgi_width_map *map)
{
	int32_t axis = call->params->concat.axis;

	axis = axis < 0 ? axis + s->shape->rank : axis;
	if (s->index != 0 || axis == 0 || axis == s->axis || call->in[1].valid_axis > 0)
		return false;
	return keep(map, s->axis < axis ? s->axis : s->axis + call->in[1].shape.rank - 1, false);
}

static bool depth(const psgi_call *call, const source *s, psgi_width_map *map)
{
	if (s->axis < 2 || call->kind != PSG_OP_DEPTH_TO_SPACE)
		return false;
	map->repeat = call->params->depth.block;
	return keep(map, s->axis, false);
}

/* Only where each column is repeated a whole number of times, whatever the width. */
static bool resize(const psgi_call *call, const source *s, psgi_width_map *map)
{
	const psg_resize_params *p = &call->params->resize;
	int64_t in = s->shape->dim[s->axis], out = call->out[0].shape.dim[s->axis], factor;

	if (in == 0 || out % in != 0 || call->out[0].shape.dim[0] != s->shape->dim[0])
		return false;
	factor = out / in;
	if (factor < 1 || factor > INT32_MAX ||
	    (p->scale[s->axis] > 0 && p->scale[s->axis] != (double)factor))
		return false;
	for (int64_t i = 0; i < s->shape->dim[0]; i++)
		if (psgi_resize_source(call, 0, i) != i)
			return false;
	for (int64_t o = 0; o < out; o++)
		if (psgi_resize_source(call, s->axis, o) != o / factor)
			return false;
	map->repeat = (int32_t)factor;
	return keep(map, s->axis, false);
}

/* The shape itself is the batch's, not the sample's. */
static bool shape(const psgi_call *call, const source *s, psgi_width_map *map)
{
	(void)call;
	(void)s;
	(void)map;
	return false;
}

static bool fill(const psgi_call *call, const source *s, psgi_width_map *map)
{
	return shape(call, s, map);
}

static bool sequence(const psgi_call *call, const source *s, psgi_width_map *map)
{
	const int64_t *x = s->shape->dim;

	if (call->kind == PSG_OP_CHW_TO_SEQ)
		return s->axis == 3 && x[2] == 1 && keep(map, 1, false);
	return s->axis == 1 && call->out[0].shape.dim[2] == 1 && keep(map, 3, false);
}

static bool attention(const psgi_call *call, const source *s, psgi_width_map *map)
{
	switch (call->kind) {
	case PSG_OP_ATTENTION:
		return s->axis == 1 && keep(map, 1, true);
	case PSG_OP_ATTN_SOFTMAX:
		return s->axis >= 2 && keep(map, s->axis, true);
	case PSG_OP_ATTN_MERGE:
		return s->axis == 2 && keep(map, 1, false);
	default:
		/* attn_split's first dimension is q, k and v, so its samples have no widths. */
		return false;
	}
}

static bool ctc(const psgi_call *call, const source *s, psgi_width_map *map)
{
	(void)call;
	return s->axis == 1 && keep(map, 1, false);
}

/* Generated like the operator table, so that no family can be forgotten. */
static bool (*const families[])(const psgi_call *call, const source *s, psgi_width_map *map) = {
#define FAMILY(KIND, name, family, ...) [PSG_OP_##KIND] = family,
	PSG_OP_MAP(FAMILY)
#undef FAMILY
};

size_t psgi_width_carrier(const psgi_call *call)
{
	for (size_t i = 0; i < call->n_in; i++)
		if (psgi_has_input(call, i) && call->in[i].valid_axis > 0)
			return i;
	return 0;
}

bool psgi_width_rule(const psgi_call *call, int32_t in_axis, psgi_width_map *map)
{
	source s = { .index = psgi_width_carrier(call), .axis = in_axis };

	if ((size_t)call->kind >= PSG_OP_KINDS || !psgi_has_input(call, s.index))
		return false;
	s.shape = &call->in[s.index].shape;
	if (in_axis < 1 || in_axis >= s.shape->rank)
		return false;
	*map = (psgi_width_map){ .kernel = 1, .stride = 1, .dilation = 1, .repeat = 1 };
	return families[call->kind](call, &s, map);
}

int32_t psgi_width_apply(const psgi_width_map *map, int32_t width, int64_t limit)
{
	int64_t room = (int64_t)width + map->pad_begin + map->pad_end -
		       ((int64_t)(map->kernel - 1) * map->dilation + 1);
	int64_t out;

	if (room < 0)
		return 0;
	out = room / map->stride + 1;
	/* As in the shape rule: a last window must start on the input or the padding before it. */
	if (map->ceil_mode && room % map->stride != 0 &&
	    out * map->stride < (int64_t)width + map->pad_begin)
		out++;
	out *= map->repeat;
	out = out < limit ? out : limit;
	return out < INT32_MAX ? (int32_t)out : INT32_MAX;
}
