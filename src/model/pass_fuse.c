/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Passes for the fast kernels of the CPU and of GPUs: element-wise operators become epilogues of
 * the convolution or linear layer before them, and what lies between
 * convolutions becomes one pass over memory.
 */
#include "config.h"

#include "model/flow.h"
#include "model/plan.h"

#include "base/base.h"

#include <string.h>

/* --- epilogues --- */

/* What both oneDNN and the GPU's kernels can do to a result before it is stored. */
static bool is_epilogue(psg_op_kind kind)
{
	switch (kind) {
	case PSG_OP_ADD:
	case PSG_OP_AFFINE:
	case PSG_OP_CLIP:
	case PSG_OP_ELU:
	case PSG_OP_GELU:
	case PSG_OP_HARDSIGMOID:
	case PSG_OP_HARDSWISH:
	case PSG_OP_LEAKY_RELU:
	case PSG_OP_RELU:
	case PSG_OP_SE_GATE:
	case PSG_OP_SIGMOID:
	case PSG_OP_SILU:
	case PSG_OP_TANH:
		return true;
	default:
		return false;
	}
}

bool psgi_is_linear(const psgi_flow *flow, const psgi_fnode *node)
{
	const psg_matmul_params *p = &node->params.matmul;
	const psgi_fvalue *w = &flow->values[node->in[1]];

	if (p->trans_a || p->trans_b || (p->alpha != 0 && p->alpha != 1) ||
	    (p->beta != 0 && p->beta != 1) || w->constant == NULL || w->shape.rank != 2 ||
	    w->dtype != PSG_F32 || flow->values[node->in[0]].constant != NULL ||
	    flow->values[node->in[0]].shape.rank < 2 ||
	    psg_shape_elements(&flow->values[node->out[0]].shape) == 0 || w->shape.dim[0] == 0)
		return false;
	if (node->n_in < 3 || node->in[2] < 0)
		return true;
	return flow->values[node->in[2]].constant != NULL &&
	       flow->values[node->in[2]].shape.rank == 1 &&
	       flow->values[node->in[2]].shape.dim[0] == w->shape.dim[1];
}

static bool constant_weights(const psgi_flow *flow, const psgi_fnode *node)
{
	for (size_t k = 1; k < node->n_in; k++) {
		if (node->in[k] >= 0 && flow->values[node->in[k]].constant == NULL)
			return false;
	}
	return flow->values[node->in[0]].constant == NULL;
}

/* Can the node take an epilogue?  What the lowering makes of it must agree. */
static bool takes_epilogue(const psgi_flow *flow, const psgi_fnode *node)
{
	if (node->dead || node->n_post == PSGI_MAX_POST)
		return false;
	if (node->kind == PSG_OP_CONV || node->kind == PSG_OP_CONV_TRANSPOSE)
		return constant_weights(flow, node);
	return node->kind == PSG_OP_MATMUL && psgi_is_linear(flow, node);
}

/* The one live user of a value that has one use, or NULL. */
static psgi_fnode *sole_user(psgi_flow *flow, const psgi_fnode *after, int32_t value)
{
	psgi_fnode *node = flow->nodes + (after - flow->nodes) + 1;

	if (flow->values[value].uses != 1)
		return NULL;
	for (; node < flow->nodes + flow->n_nodes; node++) {
		if (node->dead)
			continue;
		for (size_t k = 0; k < node->n_in; k++) {
			if (node->in[k] == value)
				return node;
		}
	}
	return NULL; /* an output */
}

/* Is `value` there when `node` runs? */
static bool made_before(const psgi_flow *flow, int32_t value, const psgi_fnode *node)
{
	int32_t producer = flow->values[value].producer;

	return producer < 0 || producer < (int32_t)(node - flow->nodes);
}

static bool take_addend(psgi_flow *flow, psgi_fnode *node, const psgi_fnode *user, psgi_post *post)
{
	const psgi_fvalue *result = &flow->values[node->out[0]];
	int32_t other;

	if (user->n_in != 2)
		return false;
	other = user->in[0] == node->out[0] ? user->in[1] : user->in[0];
	if (other < 0 || other == node->out[0] || !made_before(flow, other, node) ||
	    flow->values[other].constant != NULL || flow->values[other].dtype != PSG_F32 ||
	    !psg_shape_equal(&flow->values[other].shape, &result->shape))
		return false;
	post->value = other;
	return true;
}

static bool take_one(psgi_flow *flow, psgi_fnode *node)
{
	psgi_fnode *user = sole_user(flow, node, node->out[0]);
	psgi_post post = { .value = -1 };

	if (user == NULL || user->n_out != 1 || !is_epilogue(user->kind) || user->n_post > 0)
		return false;
	post.kind = user->kind;
	if (user->kind == PSG_OP_ADD) {
		if (!take_addend(flow, node, user, &post))
			return false;
	} else {
		post.alpha = user->params.unary.alpha;
		post.beta = user->params.unary.beta;
	}
	node->post[node->n_post++] = post;
	flow->values[node->out[0]].producer = -1;
	node->out[0] = user->out[0];
	flow->values[node->out[0]].producer = (int32_t)(node - flow->nodes);
	user->dead = true;
	return true;
}

static void fuse_epilogues(psgi_flow *flow)
{
	for (size_t i = 0; i < flow->n_nodes; i++) {
		while (takes_epilogue(flow, &flow->nodes[i]) && take_one(flow, &flow->nodes[i]))
			;
	}
	psgi_flow_sweep(flow);
}

/* --- mixes --- */

static bool is_image(const psgi_flow *flow, int32_t value)
{
	const psgi_fvalue *v = &flow->values[value];

	return v->dtype == PSG_F32 && v->shape.rank == 4 && v->constant == NULL &&
	       psg_shape_elements(&v->shape) > 0;
}

/* One factor a channel and sample of `image`? */
static bool is_gate(const psgi_flow *flow, int32_t value, const psg_shape *image)
{
	const psg_shape *shape = &flow->values[value].shape;

	return is_image(flow, value) && shape->dim[0] == image->dim[0] &&
	       shape->dim[1] == image->dim[1] && shape->dim[2] == 1 && shape->dim[3] == 1 &&
	       image->dim[2] * image->dim[3] > 1;
}

static void become_mix(psgi_fnode *node, int32_t image, int32_t gate, float base)
{
	memset(&node->params, 0, sizeof(node->params));
	node->in[0] = image;
	node->in[1] = gate;
	node->n_in = 2;
	node->mix = (psgi_mix){
		.parts = 1, .up = { 1 }, .base = { base }, .addend = -1, .up_addend = 1
	};
}

/* The integer by which a nearest interpolation enlarges, as y[i] = x[i / s]; 0 if it is something
 * else. */
static int32_t repeat_of(const psgi_flow *flow, const psgi_fnode *node)
{
	const psg_shape *in = &flow->values[node->in[0]].shape,
			*out = &flow->values[node->out[0]].shape;
	const psg_resize_params *p = &node->params.resize;
	int64_t s;

	if (!is_image(flow, node->in[0]) || in->dim[0] != out->dim[0] ||
	    in->dim[1] != out->dim[1] || p->coordinates != PSG_COORD_ASYMMETRIC ||
	    p->nearest != PSG_NEAREST_FLOOR)
		return 0;
	s = out->dim[2] / in->dim[2];
	return s >= 1 && s <= 64 && out->dim[2] == s * in->dim[2] && out->dim[3] == s * in->dim[3]
		       ? (int32_t)s
		       : 0;
}

static void match_gate(psgi_flow *flow, psgi_fnode *node)
{
	for (size_t i = 0; i < 2; i++) {
		int32_t image = node->in[i], gate = node->in[1 - i];

		if (is_image(flow, image) && is_gate(flow, gate, &flow->values[image].shape)) {
			become_mix(node, image, gate, 0);
			return;
		}
	}
}

/* A mix of one part without addend, for this user only. */
static psgi_fnode *simple_mix(psgi_flow *flow, int32_t value)
{
	int32_t producer = flow->values[value].producer;
	psgi_fnode *node = producer < 0 ? NULL : &flow->nodes[producer];

	return node != NULL && !node->dead && node->mix.parts == 1 && node->mix.addend < 0 &&
			       flow->values[value].uses == 1
		       ? node
		       : NULL;
}

/* x + x * gate */
static bool match_gated_residual(psgi_flow *flow, psgi_fnode *node)
{
	for (size_t i = 0; i < 2; i++) {
		psgi_fnode *mix = simple_mix(flow, node->in[1 - i]);

		if (mix != NULL && mix->in[0] == node->in[i] && mix->in[1] >= 0 &&
		    mix->mix.up[0] == 1) {
			become_mix(node, mix->in[0], mix->in[1], mix->mix.base[0] + 1);
			mix->dead = true;
			return true;
		}
	}
	return false;
}

/* a + b, where b may be enlarged and a gated. */
static void match_sum(psgi_flow *flow, psgi_fnode *node)
{
	const psg_shape *out = &flow->values[node->out[0]].shape;
	int32_t a = node->in[0], b = node->in[1];
	psgi_fnode *mix;

	if (!is_image(flow, a) || !is_image(flow, b))
		return;
	mix = simple_mix(flow, a);
	if (mix != NULL && mix->mix.up[0] > 1 && mix->in[1] < 0) { /* the enlarged one second */
		a = node->in[1];
		b = node->in[0];
	}
	if (!psg_shape_equal(&flow->values[a].shape, out) ||
	    !psg_shape_equal(&flow->values[b].shape, out))
		return;
	become_mix(node, a, -1, 1);
	mix = simple_mix(flow, b);
	if (mix != NULL && mix->in[1] < 0) {
		node->mix.up_addend = mix->mix.up[0];
		b = mix->in[0];
		mix->dead = true;
	}
	node->mix.addend = b;
	mix = simple_mix(flow, a);
	if (mix != NULL && mix->mix.up[0] == 1) {
		node->in[0] = mix->in[0];
		node->in[1] = mix->in[1];
		node->mix.base[0] = mix->mix.base[0];
		mix->dead = true;
	}
}

/* Enlarging commutes with the gate before it. */
static void match_enlarge(psgi_flow *flow, psgi_fnode *node)
{
	int32_t up = repeat_of(flow, node);
	psgi_fnode *mix;

	if (up == 0)
		return;
	mix = simple_mix(flow, node->in[0]);
	become_mix(node, node->in[0], -1, 1);
	node->mix.up[0] = up;
	if (mix != NULL) {
		node->in[0] = mix->in[0];
		node->in[1] = mix->in[1];
		node->mix.base[0] = mix->mix.base[0];
		node->mix.up[0] *= mix->mix.up[0];
		mix->dead = true;
	}
}

/* Channels next to each other; parts begin at multiples of 8 so that they are moved in vectors. */
static void match_concat(psgi_flow *flow, psgi_fnode *node)
{
	psgi_mix all = { .parts = node->n_in, .addend = -1, .up_addend = 1 };
	int32_t in[2 * PSGI_MAX_PARTS];

	if (node->n_in > PSGI_MAX_PARTS || !is_image(flow, node->out[0]) ||
	    (node->params.concat.axis != 1 && node->params.concat.axis != -3))
		return;
	for (size_t i = 0; i < node->n_in; i++) {
		if (!is_image(flow, node->in[i]) ||
		    (i + 1 < node->n_in && flow->values[node->in[i]].shape.dim[1] % 8 != 0))
			return;
	}
	for (size_t i = 0; i < node->n_in; i++) {
		psgi_fnode *mix = simple_mix(flow, node->in[i]);

		in[2 * i] = mix == NULL ? node->in[i] : mix->in[0];
		in[2 * i + 1] = mix == NULL ? -1 : mix->in[1];
		all.up[i] = mix == NULL ? 1 : mix->mix.up[0];
		all.base[i] = mix == NULL ? 1 : mix->mix.base[0];
		if (mix != NULL)
			mix->dead = true;
	}
	memcpy(node->in, in, sizeof(in[0]) * 2 * node->n_in);
	node->n_in *= 2;
	node->mix = all;
}

static void match_mix(psgi_flow *flow, psgi_fnode *node)
{
	if (node->n_post > 0 || node->mix.parts > 0)
		return;
	if ((node->kind == PSG_OP_MUL || node->kind == PSG_OP_SCALE_CH) && node->n_in == 2)
		match_gate(flow, node);
	else if (node->kind == PSG_OP_ADD && node->n_in == 2 && !match_gated_residual(flow, node))
		match_sum(flow, node);
	else if (node->kind == PSG_OP_INTERP_NEAREST)
		match_enlarge(flow, node);
	else if (node->kind == PSG_OP_CONCAT)
		match_concat(flow, node);
}

psg_status psgi_pass_fuse(psgi_flow *flow, psg_error *error)
{
	psg_status status;

	fuse_epilogues(flow);
	status = psgi_pass_shuffle(flow, error);
	for (size_t i = 0; status == PSG_OK && i < flow->n_nodes; i++) {
		if (flow->nodes[i].dead)
			continue;
		match_mix(flow, &flow->nodes[i]);
		if (flow->nodes[i].mix.parts > 0)
			psgi_flow_sweep(flow); /* uses and producers have changed */
	}
	return status;
}
