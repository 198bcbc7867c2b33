/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Passes that need shapes: attention, sequences to images and back, and the
 * digest of a final softmax.
 */
#include "config.h"

#include "model/flow.h"

#include "base/base.h"

#include <math.h>
#include <string.h>

static psgi_fnode *maker(psgi_flow *flow, int32_t value)
{
	int32_t producer = value < 0 ? -1 : flow->values[value].producer;

	return producer < 0 || flow->nodes[producer].dead ? NULL : &flow->nodes[producer];
}

static psgi_fnode *maker_of(psgi_flow *flow, int32_t value, psg_op_kind kind)
{
	psgi_fnode *node = maker(flow, value);

	return node != NULL && node->kind == kind ? node : NULL;
}

/* Follows squeezes and reshapes upwards. */
static int32_t through_renames(psgi_flow *flow, int32_t value)
{
	const psgi_fnode *node = maker(flow, value);

	while (node != NULL && (node->kind == PSG_OP_RESHAPE || node->kind == PSG_OP_SQUEEZE ||
				node->kind == PSG_OP_UNSQUEEZE || node->kind == PSG_OP_FLATTEN)) {
		value = node->in[0];
		node = maker(flow, value);
	}
	return value;
}

static bool is_perm(const psgi_fnode *node, int32_t n, const int32_t *perm)
{
	return node != NULL && node->kind == PSG_OP_TRANSPOSE &&
	       memcmp(node->params.transpose.perm, perm, (size_t)n * sizeof(int32_t)) == 0;
}

/* --- attention --- */

/* Is `value` part `index` of qkv [3,N,h,T,d]: a slice of its first dimension, squeezed?  qkv, or
 * -1. */
static int32_t part_of(psgi_flow *flow, int32_t value, int64_t index)
{
	const psgi_fnode *squeeze = maker_of(flow, value, PSG_OP_SQUEEZE), *slice;
	const psg_slice_params *p;

	slice = squeeze == NULL ? NULL : maker_of(flow, squeeze->in[0], PSG_OP_SLICE);
	if (slice == NULL)
		return -1;
	p = &slice->params.slice;
	if (p->n_axes != 1 || p->axes[0] != 0 || p->start[0] != index || p->end[0] != index + 1 ||
	    p->step[0] > 1 || flow->values[slice->in[0]].shape.dim[0] != 3)
		return -1;
	return slice->in[0];
}

/* q with its scale: a product with a scalar, before or folded into an affine. */
static int32_t unscaled(psgi_flow *flow, int32_t value, float *scale)
{
	const psgi_fnode *node = maker(flow, value);

	*scale = 1;
	if (node == NULL || node->kind != PSG_OP_AFFINE || node->params.unary.beta != 0)
		return value;
	*scale = node->params.unary.alpha;
	return node->in[0];
}

/* softmax(q k^T) v, where all three are parts of one qkv; the softmax's scores and the value of
 * qkv. */
static int32_t attention_core(psgi_flow *flow, const psgi_fnode *product, float *scale)
{
	static const int32_t last_two[] = { 0, 1, 3, 2 };
	const psgi_fnode *softmax, *scores, *turn;
	int32_t q, qkv;

	softmax = maker_of(flow, product->in[0], PSG_OP_SOFTMAX);
	if (softmax == NULL ||
	    (softmax->params.softmax.axis != 3 && softmax->params.softmax.axis != -1))
		return -1;
	scores = maker_of(flow, softmax->in[0], PSG_OP_MATMUL);
	turn = scores == NULL ? NULL : maker(flow, scores->in[1]);
	if (!is_perm(turn, 4, last_two))
		return -1;
	q = unscaled(flow, scores->in[0], scale);
	qkv = part_of(flow, q, 0);
	if (qkv < 0 || part_of(flow, turn->in[0], 1) != qkv ||
	    part_of(flow, product->in[1], 2) != qkv)
		return -1;
	return qkv;
}

/* node = reshape(transpose(softmax(q k^T) v)) becomes attention over the linear layer's result. */
static void match_attention(psgi_flow *flow, psgi_fnode *node)
{
	static const int32_t heads_in[] = { 2, 0, 3, 1, 4 }, heads_out[] = { 0, 2, 1, 3 };
	const psgi_fnode *merge, *product, *split, *reshape;
	const psg_shape *five, *in;
	float scale;
	int32_t qkv;

	if (node->kind != PSG_OP_RESHAPE)
		return;
	merge = maker(flow, node->in[0]);
	if (!is_perm(merge, 4, heads_out))
		return;
	product = maker_of(flow, merge->in[0], PSG_OP_MATMUL);
	if (product == NULL || product->n_in != 2)
		return;
	qkv = attention_core(flow, product, &scale);
	split = maker(flow, qkv);
	if (qkv < 0 || flow->values[qkv].shape.rank != 5 || !is_perm(split, 5, heads_in))
		return;
	reshape = maker_of(flow, split->in[0], PSG_OP_RESHAPE);
	if (reshape == NULL)
		return;
	five = &flow->values[split->in[0]].shape; /* [N, T, 3, h, d] */
	in = &flow->values[reshape->in[0]].shape; /* [N, T, 3 h d] */
	if (in->rank != 3 || in->dim[0] != five->dim[0] || in->dim[1] != five->dim[1] ||
	    flow->values[node->out[0]].shape.rank != 3 || five->dim[3] > INT32_MAX ||
	    flow->values[node->out[0]].shape.dim[1] != in->dim[1])
		return;
	node->kind = PSG_OP_ATTENTION;
	node->in[0] = reshape->in[0];
	node->n_in = 1;
	memset(&node->params, 0, sizeof(node->params));
	node->params.attention = (psg_attention_params){ (int32_t)five->dim[3], scale };
}

psg_status psgi_pass_attention(psgi_flow *flow, psg_error *error)
{
	(void)error;
	for (size_t i = 0; i < flow->n_nodes; i++) {
		if (!flow->nodes[i].dead)
			match_attention(flow, &flow->nodes[i]);
	}
	psgi_flow_sweep(flow);
	return PSG_OK;
}

/* --- images of one row and sequences --- */

/* [N,C,1,T] or a rename of it, transposed to [N,T,C]. */
static bool match_to_sequence(psgi_flow *flow, psgi_fnode *node)
{
	static const int32_t perm[] = { 0, 2, 1 };
	const psg_shape *image, *out;
	int32_t source;

	if (flow->values[node->out[0]].shape.rank != 3 || !is_perm(node, 3, perm))
		return false;
	source = through_renames(flow, node->in[0]);
	image = &flow->values[source].shape;
	out = &flow->values[node->out[0]].shape;
	if (image->rank != 4 || image->dim[0] != out->dim[0] || image->dim[1] != out->dim[2] ||
	    image->dim[2] * image->dim[3] != out->dim[1])
		return false;
	node->kind = PSG_OP_CHW_TO_SEQ;
	node->in[0] = source;
	memset(&node->params, 0, sizeof(node->params));
	return true;
}

/* [N,T,C] as [N,h,T/h,C], transposed to [N,C,h,T/h]. */
static void match_to_image(psgi_flow *flow, psgi_fnode *node)
{
	static const int32_t perm[] = { 0, 3, 1, 2 };
	const psg_shape *sequence, *out;
	int32_t source;

	if (flow->values[node->out[0]].shape.rank != 4 || !is_perm(node, 4, perm))
		return;
	source = through_renames(flow, node->in[0]);
	sequence = &flow->values[source].shape;
	out = &flow->values[node->out[0]].shape;
	if (sequence->rank != 3 || sequence->dim[0] != out->dim[0] ||
	    sequence->dim[2] != out->dim[1] || out->dim[2] > INT32_MAX)
		return;
	node->kind = PSG_OP_SEQ_TO_CHW;
	node->in[0] = source;
	memset(&node->params, 0, sizeof(node->params));
	node->params.sequence.height = (int32_t)out->dim[2];
}

psg_status psgi_pass_sequence(psgi_flow *flow, psg_error *error)
{
	(void)error;
	for (size_t i = 0; i < flow->n_nodes; i++) {
		psgi_fnode *node = &flow->nodes[i];

		if (!node->dead && node->kind == PSG_OP_TRANSPOSE && !match_to_sequence(flow, node))
			match_to_image(flow, node);
	}
	psgi_flow_sweep(flow);
	return PSG_OK;
}

/* --- the digest --- */

psg_status psgi_pass_digest(psgi_flow *flow, psg_error *error)
{
	int32_t output = flow->outputs[0];
	psgi_fnode *node = maker_of(flow, output, PSG_OP_SOFTMAX);
	const psg_shape *shape = &flow->values[output].shape;

	if (node == NULL || shape->rank != 3 || flow->values[output].uses != 1 ||
	    (node->params.softmax.axis != 2 && node->params.softmax.axis != -1))
		return psgi_fail(error, PSG_UNSUPPORTED,
				 "a digest needs a model that ends in a softmax over the last of "
				 "three dimensions");
	node->kind = PSG_OP_CTC_DIGEST;
	memset(&node->params, 0, sizeof(node->params));
	flow->values[output].shape.dim[2] = 2;
	return PSG_OK;
}
