/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Linear arithmetic around convolutions and products goes into their weights.
 *
 * Only backwards, into the operator that makes the value: an affine before a
 * zero-padded convolution cannot be folded forward, because the padding would
 * have to become -b/a.  What is left over becomes an epilogue in the plan.
 */
#include "config.h"

#include "model/passes.h"

#include "base/base.h"

#include <math.h>
#include <string.h>

/* --- scalar arithmetic becomes `affine` --- */

/* Operators whose result has at least one dimension, so that a [1] constant broadcasts like a
 * scalar. */
static bool has_dimensions(const psgi_editor *e, int32_t value)
{
	static const psg_op_kind kinds[] = { PSG_OP_CONV,       PSG_OP_CONV_TRANSPOSE,
					     PSG_OP_BATCH_NORM, PSG_OP_HARDSWISH,
					     PSG_OP_AFFINE,     PSG_OP_RELU,
					     PSG_OP_SILU,       PSG_OP_POOL_MAX,
					     PSG_OP_POOL_AVG,   PSG_OP_GLOBAL_AVG };

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (psgi_made_by(e, value, kinds[i]) != NULL)
			return true;
	}
	return false;
}

static bool scalar_of(const psgi_editor *e, const psgi_node *node, float *scalar, int32_t *x)
{
	int32_t rank;

	return psgi_with_scalar(e->graph, node, scalar, x, &rank) &&
	       e->graph->values[*x].constant == NULL &&
	       (rank == 0 || (rank == 1 && has_dimensions(e, *x)));
}

static void match_scalar(psgi_editor *e, psgi_node *node)
{
	float scalar;
	int32_t x;

	if (!scalar_of(e, node, &scalar, &x))
		return;
	if (node->kind == PSG_OP_MUL)
		psgi_become_unary(node, PSG_OP_AFFINE, x, scalar, 0);
	else if (node->kind == PSG_OP_ADD)
		psgi_become_unary(node, PSG_OP_AFFINE, x, 1, scalar);
	else if (node->kind == PSG_OP_SUB && node->in[0] == x)
		psgi_become_unary(node, PSG_OP_AFFINE, x, 1, -scalar);
	else if (node->kind == PSG_OP_DIV && node->in[0] == x && scalar != 0)
		psgi_become_unary(node, PSG_OP_AFFINE, x, 1 / scalar, 0);
}

/* An affine of an affine is one. */
static void merge_affine(psgi_editor *e, psgi_node *node)
{
	psgi_node *inner = psgi_made_solely_by(e, node->in[0], PSG_OP_AFFINE);

	if (inner == NULL)
		return;
	node->params.unary.beta += node->params.unary.alpha * inner->params.unary.beta;
	node->params.unary.alpha *= inner->params.unary.alpha;
	node->in[0] = inner->in[0];
	inner->dead = true;
}

/* --- per-channel scale and shift go into the weights --- */

/* Where the output channels of a weight lie: `count` channels of `inner` elements, `outer` times.
 */
struct channels {
	int64_t outer, count, inner;
};

static bool weight_channels(const psgi_node *node, const psg_shape *shape, struct channels *c)
{
	c->outer = 1;
	c->inner = 1;
	if (shape->rank < 3)
		return false;
	if (node->kind == PSG_OP_CONV_TRANSPOSE) { /* [C, M/g, k..] */
		if (node->params.conv.groups > 1)
			return false;
		c->outer = shape->dim[0];
		c->count = shape->dim[1];
	} else { /* [M, C/g, k..] */
		c->count = shape->dim[0];
		c->inner = shape->dim[1];
	}
	for (int32_t i = 2; i < shape->rank; i++)
		c->inner *= shape->dim[i];
	return true;
}

static psg_tensor *constant_of(const psgi_graph *graph, int32_t value)
{
	psg_tensor *tensor = value < 0 ? NULL : graph->values[value].constant;

	return tensor != NULL && psg_tensor_dtype(tensor) == PSG_F32 ? tensor : NULL;
}

/* Puts `tensor`, whose reference it takes, into the graph as a new constant. */
static int32_t add_constant(psgi_graph *graph, psg_tensor *tensor)
{
	return psgi_graph_add_value(graph, (psgi_value){ NULL, PSG_F32, tensor });
}

/* out = w * scale[channel] */
static psg_status scaled_weights(psgi_graph *graph, int32_t value, const struct channels *c,
				 const float *scale, int32_t *out, psg_error *error)
{
	const psg_tensor *old = graph->values[value].constant;
	const float *from = psg_tensor_const_data(old);
	psg_tensor *new;
	psg_status status = psg_tensor_create(PSG_F32, psg_tensor_shape(old), &new, error);
	float *to;

	if (status != PSG_OK)
		return status;
	to = psg_tensor_data(new);
	for (int64_t o = 0; o < c->outer; o++) {
		for (int64_t m = 0; m < c->count; m++) {
			for (int64_t i = 0; i < c->inner; i++, from++, to++)
				*to = *from * scale[m];
		}
	}
	*out = add_constant(graph, new);
	return *out < 0 ? psgi_fail(error, PSG_NOMEM, "no memory for folded weights") : PSG_OK;
}

/* out = bias * scale + shift, the old bias being zero when there is none */
static psg_status shifted_bias(psgi_graph *graph, int32_t value, int64_t count, const float *scale,
			       const float *shift, int32_t *out, psg_error *error)
{
	const psg_tensor *old = constant_of(graph, value);
	psg_shape shape = PSG_SHAPE(count);
	psg_tensor *new;
	psg_status status = psg_tensor_create(PSG_F32, &shape, &new, error);
	float *to;

	if (status != PSG_OK)
		return status;
	to = psg_tensor_data(new);
	for (int64_t m = 0; m < count; m++)
		to[m] = (old == NULL ? 0
				     : ((const float *)psg_tensor_const_data(old))[m] * scale[m]) +
			shift[m];
	*out = add_constant(graph, new);
	return *out < 0 ? psgi_fail(error, PSG_NOMEM, "no memory for folded weights") : PSG_OK;
}

/* The convolution that alone makes `value`, if its weights can be changed. */
static psgi_node *foldable(const psgi_editor *e, int32_t value, struct channels *c)
{
	psgi_node *conv = psgi_made_solely_by(e, value, PSG_OP_CONV);
	psg_tensor *weights;

	if (conv == NULL)
		conv = psgi_made_solely_by(e, value, PSG_OP_CONV_TRANSPOSE);
	if (conv == NULL)
		return NULL;
	weights = constant_of(e->graph, conv->in[1]);
	if (weights == NULL || !weight_channels(conv, psg_tensor_shape(weights), c))
		return NULL;
	if (conv->n_in > 2 && conv->in[2] >= 0) {
		psg_tensor *bias = constant_of(e->graph, conv->in[2]);

		if (bias == NULL || psg_shape_elements(psg_tensor_shape(bias)) != c->count)
			return NULL;
	}
	return conv;
}

/* y = scale * conv + shift: `node` becomes the convolution with other weights. */
static psg_status fold_into(psgi_editor *e, psgi_node *node, psgi_node *conv,
			    const struct channels *c, const float *scale, const float *shift,
			    psg_error *error)
{
	int32_t weights, bias, old = conv->n_in > 2 ? conv->in[2] : -1;
	psg_status status;

	if (!psgi_take_room(e->graph, (c->outer * c->inner + 1) * c->count))
		return PSG_OK;
	status = scaled_weights(e->graph, conv->in[1], c, scale, &weights, error);
	if (status == PSG_OK)
		status = shifted_bias(e->graph, old, c->count, scale, shift, &bias, error);
	if (status != PSG_OK)
		return status;
	psgi_drop_constant(e, conv->in[1]);
	if (old >= 0)
		psgi_drop_constant(e, old);
	conv->in[1] = weights;
	conv->in[2] = bias;
	conv->n_in = 3;
	psgi_take_over(e, conv, node);
	return PSG_OK;
}

/* Channels of one fold on the stack (chosen; wider layers keep their BatchNorm). */
#define MAX_CHANNELS 8192

static bool batch_norm_factors(const psgi_graph *graph, const psgi_node *node, int64_t count,
			       float *scale, float *shift)
{
	const float *p[4]; /* scale, bias, mean, variance */

	for (size_t i = 0; i < 4; i++) {
		const psg_tensor *tensor = constant_of(graph, node->in[i + 1]);

		if (tensor == NULL || psg_shape_elements(psg_tensor_shape(tensor)) != count)
			return false;
		p[i] = psg_tensor_const_data(tensor);
	}
	for (int64_t m = 0; m < count; m++) {
		double factor = p[0][m] / sqrt((double)p[3][m] + (double)node->params.norm.epsilon);

		scale[m] = (float)factor;
		shift[m] = (float)(p[1][m] - p[2][m] * factor);
	}
	return true;
}

/* A constant that adds one value to each channel of [N,C,H,W]: [1,C,1,1] or [C,1,1]. */
static bool channel_addend(const psgi_graph *graph, const psgi_node *node, const psg_shape *weights,
			   int64_t count, float *shift, int32_t *x)
{
	for (size_t i = 0; node->n_in == 2 && i < 2; i++) {
		const psg_tensor *tensor = constant_of(graph, node->in[i]);
		const psg_shape *shape;
		int32_t channel;

		if (tensor == NULL)
			continue;
		shape = psg_tensor_shape(tensor);
		channel = shape->rank - weights->rank + 1;
		if (shape->rank > weights->rank || channel < 0 || shape->dim[channel] != count ||
		    psg_shape_elements(shape) != count)
			return false;
		memcpy(shift, psg_tensor_const_data(tensor), (size_t)count * sizeof(float));
		*x = node->in[1 - i];
		return true;
	}
	return false;
}

static psg_status fold_linear(psgi_editor *e, psgi_node *node, psg_error *error)
{
	float scale[MAX_CHANNELS], shift[MAX_CHANNELS];
	struct channels c;
	int32_t x = node->in[0];
	psgi_node *conv;

	if (node->kind == PSG_OP_ADD && node->n_in == 2 &&
	    constant_of(e->graph, node->in[0]) != NULL)
		x = node->in[1];
	conv = foldable(e, x, &c);
	if (conv == NULL || c.count > MAX_CHANNELS)
		return PSG_OK;
	for (int64_t m = 0; m < c.count; m++)
		scale[m] = 1;
	if (node->kind == PSG_OP_BATCH_NORM) {
		if (!batch_norm_factors(e->graph, node, c.count, scale, shift))
			return PSG_OK;
	} else if (node->kind == PSG_OP_AFFINE) {
		for (int64_t m = 0; m < c.count; m++) {
			scale[m] = node->params.unary.alpha;
			shift[m] = node->params.unary.beta;
		}
	} else if (!channel_addend(e->graph, node,
				   psg_tensor_shape(e->graph->values[conv->in[1]].constant),
				   c.count, shift, &x)) {
		return PSG_OK;
	}
	return fold_into(e, node, conv, &c, scale, shift, error);
}

/* matmul(x, W) + bias of one dimension: the product's third input. */
static void match_linear_bias(psgi_editor *e, psgi_node *node)
{
	for (size_t i = 0; node->n_in == 2 && i < 2; i++) {
		psgi_node *product = psgi_made_solely_by(e, node->in[i], PSG_OP_MATMUL);
		psg_tensor *bias = constant_of(e->graph, node->in[1 - i]), *weights;

		if (product == NULL || bias == NULL || product->n_in != 2)
			continue;
		weights = constant_of(e->graph, product->in[1]);
		if (weights == NULL || psg_tensor_shape(weights)->rank != 2 ||
		    product->params.matmul.trans_b || psg_tensor_shape(bias)->rank != 1 ||
		    psg_tensor_shape(bias)->dim[0] != psg_tensor_shape(weights)->dim[1])
			continue;
		product->in[2] = node->in[1 - i];
		product->n_in = 3;
		psgi_take_over(e, product, node);
		return;
	}
}

psg_status psgi_pass_affine(psgi_graph *graph, psg_error *error)
{
	psgi_editor editor;
	psg_status status = psgi_editor_open(&editor, graph, error);

	for (size_t i = 0; status == PSG_OK && i < graph->n_nodes; i++) {
		if (!graph->nodes[i].dead)
			match_scalar(&editor, &graph->nodes[i]);
	}
	/* Each folds into what comes before it, so that once through is enough. */
	for (size_t i = 0; status == PSG_OK && i < graph->n_nodes; i++) {
		psgi_node *node = &graph->nodes[i];

		if (node->dead)
			continue;
		if (node->kind == PSG_OP_AFFINE)
			merge_affine(&editor, node);
		if (node->kind == PSG_OP_BATCH_NORM || node->kind == PSG_OP_AFFINE ||
		    node->kind == PSG_OP_ADD)
			status = fold_linear(&editor, node, error);
		if (status == PSG_OK && !node->dead && node->kind == PSG_OP_ADD)
			match_linear_bias(&editor, node);
	}
	psgi_editor_close(&editor);
	return status == PSG_OK ? psgi_graph_sweep(graph, error) : status;
}
