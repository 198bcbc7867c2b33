/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transposed convolutions whose windows do not overlap become products.
 *
 * With kernel = stride = k every input pixel makes its own k x k output pixels:
 * a 1x1 convolution to k*k*M channels and a shuffle (depth to space).  Two such
 * in a row need one shuffle only: the second one is applied to all channels of
 * the first at once, each group of channels being a pixel of its own.
 */
#include "config.h"

#include "model/flow.h"
#include "model/plan.h"

#include "base/base.h"

#include <string.h>

/* The expanded second product wastes all but 1/b^2 of its arithmetic: only for few channels
 * (chosen). */
#define MAX_EXPANDED 64

static int64_t or_one(int32_t value)
{
	return value == 0 ? 1 : value;
}

/* k when the node is such a convolution with constant weights and element-wise posts; else 0. */
static int32_t factor_of(const psgi_flow *flow, const psgi_fnode *node)
{
	const psg_conv_params *p = &node->params.conv;
	const psgi_fvalue *w, *bias;

	if (node->dead || node->kind != PSG_OP_CONV_TRANSPOSE || node->mix.parts > 0)
		return 0;
	w = &flow->values[node->in[1]];
	bias = node->n_in > 2 && node->in[2] >= 0 ? &flow->values[node->in[2]] : NULL;
	if (w->constant == NULL || w->shape.rank != 4 || w->shape.dim[2] != w->shape.dim[3] ||
	    w->shape.dim[2] < 2 || w->shape.dim[2] > 4 || p->groups > 1 ||
	    (bias != NULL && bias->constant == NULL) || p->window.auto_pad != PSG_PAD_EXPLICIT)
		return 0;
	for (int i = 0; i < 2; i++) {
		if (or_one(p->window.stride[i]) != w->shape.dim[2] || p->window.dilation[i] > 1 ||
		    p->window.pad_begin[i] != 0 || p->window.pad_end[i] != 0 ||
		    p->output_padding[i] != 0 || p->output_size[i] != 0)
			return 0;
	}
	for (size_t i = 0; i < node->n_post; i++) {
		if (node->post[i].value >= 0)
			return 0;
	}
	return (int32_t)w->shape.dim[2];
}

static psg_status new_constant(psgi_flow *flow, const psg_shape *shape, int32_t *value,
			       float **data, psg_error *error)
{
	psg_tensor *tensor;
	psg_status status = psg_tensor_create(PSG_F32, shape, &tensor, error);

	if (status != PSG_OK)
		return status;
	*value = psgi_flow_add_value(flow, PSG_F32, shape);
	if (*value < 0) {
		psg_tensor_unref(tensor);
		return psgi_fail(error, PSG_NOMEM, "no memory for folded weights");
	}
	flow->values[*value].constant = tensor;
	*data = psg_tensor_data(tensor);
	return PSG_OK;
}

/* One weight of the transposed convolution [C, M, k, k]. */
static float weight_at(const float *w, int64_t M, int64_t k, int64_t c, int64_t m, int64_t i,
		       int64_t j)
{
	return w[((c * M + m) * k + i) * k + j];
}

/*
 * Weights of the product over an input whose channels are b x b groups of C, one a pixel (b = 1: an
 * ordinary image).  Output channel (I * B + J) * M + m with B = b * k is pixel (I, J) of the
 * shuffle.
 */
static psg_status product_weights(psgi_flow *flow, const psgi_fnode *node, int64_t b, int64_t k,
				  int32_t *weights, int32_t *bias, psg_error *error)
{
	const psgi_fvalue source = flow->values[node->in[1]];
	const float *w = psg_tensor_const_data(source.constant), *old = NULL;
	int64_t C = source.shape.dim[0], M = source.shape.dim[1], B = b * k;
	psg_shape shape = PSG_SHAPE(B * B * M, b * b * C, 1, 1), vector = PSG_SHAPE(B * B * M);
	float *to, *shift;
	psg_status status = new_constant(flow, &shape, weights, &to, error);

	if (node->n_in > 2 && node->in[2] >= 0)
		old = psg_tensor_const_data(flow->values[node->in[2]].constant);
	if (status == PSG_OK)
		status = new_constant(flow, &vector, bias, &shift, error);
	for (int64_t o = 0; status == PSG_OK && o < B * B * M; o++) {
		int64_t m = o % M, I = o / M / B, J = o / M % B;
		int64_t group = (I / k * b + J / k) * C;

		for (int64_t c = 0; c < C; c++)
			to[o * b * b * C + group + c] = weight_at(w, M, k, c, m, I % k, J % k);
		shift[o] = old == NULL ? 0 : old[m];
	}
	return status;
}

static psg_status insert_node(psgi_flow *flow, size_t index, const psgi_fnode *node,
			      psg_error *error)
{
	psgi_fnode copy = *node;

	if (psgi_flow_add_node(flow, &copy) < 0)
		return psgi_fail(error, PSG_NOMEM, "no memory for a plan");
	memmove(&flow->nodes[index + 1], &flow->nodes[index],
		(flow->n_nodes - 1 - index) * sizeof(*flow->nodes));
	flow->nodes[index] = copy;
	return PSG_OK;
}

/* Node `index` becomes the product, and a shuffle follows it. */
static psg_status become_product(psgi_flow *flow, size_t index, int32_t input, int64_t b, int64_t k,
				 psg_error *error)
{
	psgi_fnode *node = &flow->nodes[index];
	psgi_fnode shuffle = {
		.kind = PSG_OP_DEPTH_TO_SPACE, .name = node->name, .n_in = 1, .n_out = 1
	};
	int32_t weights = -1, bias = -1, wide;
	psg_shape shape;
	psg_status status = product_weights(flow, node, b, k, &weights, &bias, error);

	if (status != PSG_OK)
		return status;
	shape = flow->values[input].shape;
	shape.dim[1] = flow->values[bias].shape.dim[0];
	wide = psgi_flow_add_value(flow, PSG_F32, &shape);
	if (wide < 0)
		return psgi_fail(error, PSG_NOMEM, "no memory for a plan");
	flow->values[wide].width = flow->values[input].width;
	flow->values[wide].width_axis = flow->values[input].width_axis;
	shuffle.params.depth.block = (int32_t)(b * k);
	shuffle.in[0] = wide;
	shuffle.out[0] = node->out[0];
	node->kind = PSG_OP_CONV;
	memset(&node->params, 0, sizeof(node->params));
	node->in[0] = input;
	node->in[1] = weights;
	node->in[2] = bias;
	node->n_in = 3;
	node->out[0] = wide;
	node->looks_sideways = false;
	return insert_node(flow, index + 1, &shuffle, error);
}

/* The last of such convolutions, to one channel; the one before it comes along when it can. */
static psg_status shuffle_one(psgi_flow *flow, size_t index, psg_error *error)
{
	psgi_fnode *node = &flow->nodes[index];
	const psgi_fvalue *in = &flow->values[node->in[0]];
	int64_t k = factor_of(flow, node), b = 0;
	int32_t before = in->producer;
	psg_status status;

	if (k == 0 || flow->values[node->in[1]].shape.dim[1] != 1)
		return PSG_OK;
	if (before >= 0 && in->uses == 1)
		b = factor_of(flow, &flow->nodes[before]);
	if (b == 0 || b * k * b * k > MAX_EXPANDED)
		return become_product(flow, index, node->in[0], 1, k, error);
	status = become_product(flow, (size_t)before, flow->nodes[before].in[0], 1, b, error);
	if (status != PSG_OK)
		return status;
	/* The first shuffle, which follows the first product, is not needed. */
	flow->nodes[before + 1].dead = true;
	return become_product(flow, index + 1, flow->nodes[before].out[0], b, k, error);
}

psg_status psgi_pass_shuffle(psgi_flow *flow, psg_error *error)
{
	psg_status status = PSG_OK;

	for (size_t i = 0; i < flow->n_nodes && status == PSG_OK; i++) {
		if (flow->nodes[i].dead || flow->nodes[i].kind != PSG_OP_CONV_TRANSPOSE)
			continue;
		status = shuffle_one(flow, i, error);
		psgi_flow_sweep(flow);
	}
	return status;
}
