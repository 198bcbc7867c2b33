/* SPDX-License-Identifier: Apache-2.0 */
/* Lowering to oneDNN and to our own vector kernels. */
#include "config.h"

#include "model/plan.h"

#include "base/base.h"
#include "ops/blocked.h"
#include "ops/dnnl.h"
#include "ops/rows.h"

#include <string.h>

/* What lowering one node needs at hand. */
struct lowering {
	psgi_plan *plan;
	psgi_pack_cache *packs;
	const psgi_fnode *node;
	psgi_step step;
};

static const psg_shape *shape_of(const struct lowering *l, int32_t value)
{
	return &l->plan->flow.values[value].shape;
}

static psg_status finish(struct lowering *l, int32_t block, psg_error *error)
{
	l->step.n_out = 1;
	l->step.out[0] = psgi_plan_add(l->plan, l->node->out[0], block);
	if (l->step.out[0] < 0) {
		psgi_kernel_destroy(l->step.kernel);
		return psgi_fail(error, PSG_NOMEM, "no memory for a plan");
	}
	return psgi_plan_step(l->plan, &l->step, error);
}

static psg_status use_plain(struct lowering *l, int32_t value, psg_error *error)
{
	return psgi_plan_plain(l->plan, value, &l->step.in[l->step.n_in++], error);
}

static psg_status use(struct lowering *l, int32_t value, int32_t block, psg_error *error)
{
	if (block == 1)
		return use_plain(l, value, error);
	return psgi_plan_blocked(l->plan, value, block, &l->step.in[l->step.n_in++], error);
}

static void copy_posts(const psgi_fnode *node, psgi_epilogue *post)
{
	for (size_t i = 0; i < node->n_post; i++)
		post[i] = (psgi_epilogue){ node->post[i].kind, node->post[i].alpha,
					   node->post[i].beta };
}

/* Operands of the epilogue's sums, in the layout of the result. */
static psg_status use_addends(struct lowering *l, int32_t block, psg_error *error)
{
	psg_status status = PSG_OK;

	for (size_t i = 0; i < l->node->n_post && status == PSG_OK; i++) {
		if (l->node->post[i].value >= 0)
			status = use(l, l->node->post[i].value, block, error);
	}
	return status;
}

/* Zeros in the padding columns before a kernel that reads neighbours; a graph input has them
 * already. */
static psg_status mask(struct lowering *l, int32_t value, psg_error *error)
{
	const psgi_pvalue *pvalue = &l->plan->values[value];
	psgi_step step = { .name = l->node->name, .kind = PSG_OP_ZERO_COLS, .n_in = 1 };
	psg_status status;

	if (!l->node->looks_sideways || pvalue->width < 0 || pvalue->home == PSGI_HOME_INPUT)
		return PSG_OK;
	step.in[0] = value;
	status = psgi_mask_kernel(shape_of(l, pvalue->flow_value), pvalue->block, &step.kernel,
				  error);
	return status == PSG_OK ? psgi_plan_step(l->plan, &step, error) : status;
}

/* --- convolutions and linear layers --- */

/* First layers read few channels from plain images; blocks of mostly padding would cost more. */
#define FEW_CHANNELS 4

static psg_status lower_conv(struct lowering *l, bool *done, psg_error *error)
{
	const psgi_fnode *node = l->node;
	const psgi_flow *flow = &l->plan->flow;
	psgi_conv_spec spec = { .transpose = node->kind == PSG_OP_CONV_TRANSPOSE,
				.params = node->params.conv,
				.in = *shape_of(l, node->in[0]),
				.out = *shape_of(l, node->out[0]),
				.weights = flow->values[node->in[1]].constant,
				.n_post = node->n_post };
	psg_status status;

	if (spec.weights == NULL || flow->values[node->in[0]].constant != NULL)
		return PSG_OK;
	if (node->n_in > 2 && node->in[2] >= 0) {
		spec.bias = flow->values[node->in[2]].constant;
		if (spec.bias == NULL)
			return PSG_OK;
	}
	copy_posts(node, spec.post);
	spec.in_block = spec.in.dim[1] <= FEW_CHANNELS ? 1 : psgi_dnnl_block();
	spec.out_block = spec.out.dim[1] == 1 ? 1 : psgi_dnnl_block();
	status = psgi_dnnl_conv(&spec, l->packs, &l->step.kernel, error);
	if (status == PSG_UNSUPPORTED)
		return PSG_OK;
	if (status != PSG_OK)
		return status;
	*done = true;
	status = use(l, node->in[0], spec.in_block, error);
	if (status == PSG_OK)
		status = mask(l, l->step.in[0], error);
	if (status == PSG_OK)
		status = use_addends(l, spec.out_block, error);
	if (status != PSG_OK) {
		psgi_kernel_destroy(l->step.kernel);
		return status;
	}
	return finish(l, spec.out_block, error);
}

static psg_status lower_linear(struct lowering *l, bool *done, psg_error *error)
{
	const psgi_fnode *node = l->node;
	const psgi_flow *flow = &l->plan->flow;
	psgi_linear_spec spec = { .n_post = node->n_post };
	psg_status status;

	if (!psgi_is_linear(flow, node))
		return PSG_OK;
	spec.weights = flow->values[node->in[1]].constant;
	spec.bias = node->n_in > 2 && node->in[2] >= 0 ? flow->values[node->in[2]].constant : NULL;
	spec.k = shape_of(l, node->in[1])->dim[0];
	spec.n = shape_of(l, node->in[1])->dim[1];
	spec.rows = psg_shape_elements(shape_of(l, node->out[0])) / spec.n;
	copy_posts(node, spec.post);
	status = psgi_dnnl_linear(&spec, l->packs, &l->step.kernel, error);
	if (status == PSG_UNSUPPORTED)
		return PSG_OK;
	if (status != PSG_OK)
		return status;
	*done = true;
	status = use_plain(l, node->in[0], error);
	if (status == PSG_OK)
		status = use_addends(l, 1, error);
	if (status != PSG_OK) {
		psgi_kernel_destroy(l->step.kernel);
		return status;
	}
	return finish(l, 1, error);
}

/* --- between convolutions --- */

static psg_status lower_part(struct lowering *l, size_t i, int64_t offset, int32_t out,
			     psg_error *error)
{
	const psgi_mix *mix = &l->node->mix;
	int32_t block = psgi_dnnl_block(), image = l->node->in[2 * i],
		gate = l->node->in[2 * i + 1];
	psgi_mix_spec spec = { .out = *shape_of(l, l->node->out[0]),
			       .channels = shape_of(l, image)->dim[1],
			       .offset = offset,
			       .block = block,
			       .up_a = mix->up[i],
			       .up_b = mix->up_addend,
			       .has_gate = gate >= 0,
			       .has_b = mix->addend >= 0,
			       .base = mix->base[i] };
	psgi_step step = { .name = l->node->name, .kind = l->node->kind, .n_in = 3, .n_out = 1 };
	psg_status status = psgi_plan_blocked(l->plan, image, block, &step.in[0], error);

	spec.gate_stride = (spec.channels + block - 1) / block * block;
	step.in[1] = step.in[2] = -1;
	if (status == PSG_OK && spec.has_gate)
		status = psgi_plan_blocked(l->plan, gate, block, &step.in[1], error);
	if (status == PSG_OK && spec.has_b)
		status = psgi_plan_blocked(l->plan, mix->addend, block, &step.in[2], error);
	if (status == PSG_OK)
		status = psgi_mix_kernel(&spec, &step.kernel, error);
	step.out[0] = out;
	return status == PSG_OK ? psgi_plan_step(l->plan, &step, error) : status;
}

static psg_status lower_mix(struct lowering *l, bool *done, psg_error *error)
{
	const psgi_mix *mix = &l->node->mix;
	int32_t out = psgi_plan_add(l->plan, l->node->out[0], psgi_dnnl_block());
	int64_t offset = 0;
	psg_status status = out < 0 ? psgi_fail(error, PSG_NOMEM, "no memory for a plan") : PSG_OK;

	*done = true;
	for (size_t i = 0; i < mix->parts && status == PSG_OK; i++) {
		status = lower_part(l, i, offset, out, error);
		offset += shape_of(l, l->node->in[2 * i])->dim[1];
	}
	return status;
}

/* --- the rest: a kernel over one input in blocks or rows --- */

static bool is_float_image(const struct lowering *l, int32_t value)
{
	const psgi_fvalue *v = &l->plan->flow.values[value];

	return v->dtype == PSG_F32 && v->shape.rank == 4 && v->constant == NULL &&
	       psg_shape_elements(&v->shape) > 0;
}

static bool plain_pool(const struct lowering *l)
{
	const psg_pool_params *p = &l->node->params.pool;

	if (l->node->n_out != 1 || p->ceil_mode || p->window.auto_pad != PSG_PAD_EXPLICIT ||
	    !is_float_image(l, l->node->in[0]))
		return false;
	for (int i = 0; i < 2; i++) {
		if (p->window.dilation[i] > 1)
			return false;
		if (p->count_include_pad &&
		    (p->window.pad_begin[i] > 0 || p->window.pad_end[i] > 0))
			return false;
	}
	return true;
}

static psg_status lower_image(struct lowering *l, bool *done, psg_error *error)
{
	const psgi_fnode *node = l->node;
	int32_t block = psgi_dnnl_block(), out_block = block;
	psgi_call call;
	psg_status status;

	psgi_flow_call(&l->plan->flow, node, &call);
	if (node->kind == PSG_OP_SEQ_TO_CHW) {
		if (call.in[0].dtype != PSG_F32 || psg_shape_elements(&call.in[0].shape) == 0)
			return PSG_OK;
		status = psgi_to_image_kernel(&call.out[0].shape, block, &l->step.kernel, error);
	} else if (!is_float_image(l, node->in[0])) {
		return PSG_OK;
	} else if (node->kind == PSG_OP_GLOBAL_AVG) {
		status = psgi_global_avg_kernel(&call.in[0].shape, block, &l->step.kernel, error);
	} else if (node->kind == PSG_OP_DEPTH_TO_SPACE) {
		if (call.out[0].shape.dim[1] != 1)
			return PSG_OK;
		out_block = 1;
		status = psgi_shuffle_kernel(&call.in[0].shape, node->params.depth.block, block,
					     &l->step.kernel, error);
	} else if (node->kind == PSG_OP_CHW_TO_SEQ) {
		out_block = 1;
		status = psgi_to_sequence_kernel(&call.in[0].shape, block, &l->step.kernel, error);
	} else if (plain_pool(l)) {
		status = psgi_pool_kernel(&call, block, &l->step.kernel, error);
	} else {
		return PSG_OK;
	}
	if (status != PSG_OK)
		return status;
	*done = true;
	status = use(l, node->in[0], node->kind == PSG_OP_SEQ_TO_CHW ? 1 : block, error);
	if (status != PSG_OK) {
		psgi_kernel_destroy(l->step.kernel);
		return status;
	}
	return finish(l, out_block, error);
}

/* Does the operator work along the last dimension, whose rows then are independent? */
static bool along_rows(const struct lowering *l, int32_t axis)
{
	const psgi_fvalue *in = &l->plan->flow.values[l->node->in[0]];

	return in->dtype == PSG_F32 && in->constant == NULL && in->shape.rank > 0 &&
	       (axis == -1 || axis == in->shape.rank - 1) && in->width_axis != in->shape.rank - 1 &&
	       psg_shape_elements(&in->shape) > 0;
}

static psg_status lower_rows(struct lowering *l, bool *done, psg_error *error)
{
	const psgi_fnode *node = l->node;
	const psg_shape *in = shape_of(l, node->in[0]);
	int64_t columns = in->rank > 0 ? in->dim[in->rank - 1] : 1;
	int64_t rows = columns > 0 ? psg_shape_elements(in) / columns : 0;
	size_t n_in = 1;
	psg_status status;

	if (node->kind == PSG_OP_SOFTMAX && along_rows(l, node->params.softmax.axis))
		status = psgi_softmax_kernel(rows, columns, &l->step.kernel, error);
	else if (node->kind == PSG_OP_CTC_DIGEST && along_rows(l, -1))
		status = psgi_digest_kernel(rows, columns, &l->step.kernel, error);
	else if (node->kind == PSG_OP_ATTENTION && along_rows(l, -1))
		status =
			psgi_attention_kernel(in, node->params.attention.heads,
					      node->params.attention.scale, &l->step.kernel, error);
	else if (node->kind == PSG_OP_LAYER_NORM && along_rows(l, node->params.norm.axis))
		status = psgi_layer_norm_kernel(rows, columns, node->params.norm.epsilon,
						(n_in = node->n_in) > 2, &l->step.kernel, error);
	else
		return PSG_OK;
	if (status != PSG_OK)
		return status;
	*done = true;
	for (size_t i = 0; i < n_in && status == PSG_OK; i++)
		status = use_plain(l, node->in[i], error);
	if (status != PSG_OK) {
		psgi_kernel_destroy(l->step.kernel);
		return status;
	}
	return finish(l, 1, error);
}

psg_status psgi_lower_fast(psgi_plan *plan, psgi_pack_cache *packs, const psgi_fnode *node,
			   bool *done, psg_error *error)
{
	struct lowering l = { plan, packs, node, { .name = node->name, .kind = node->kind } };

	if (node->mix.parts > 0)
		return lower_mix(&l, done, error);
	switch (node->kind) {
	case PSG_OP_CONV:
	case PSG_OP_CONV_TRANSPOSE:
		return lower_conv(&l, done, error);
	case PSG_OP_MATMUL:
		return lower_linear(&l, done, error);
	case PSG_OP_GLOBAL_AVG:
	case PSG_OP_POOL_MAX:
	case PSG_OP_POOL_AVG:
	case PSG_OP_DEPTH_TO_SPACE:
	case PSG_OP_CHW_TO_SEQ:
	case PSG_OP_SEQ_TO_CHW:
		return lower_image(&l, done, error);
	case PSG_OP_SOFTMAX:
	case PSG_OP_CTC_DIGEST:
	case PSG_OP_ATTENTION:
	case PSG_OP_LAYER_NORM:
		return lower_rows(&l, done, error);
	default:
		return PSG_OK;
	}
}
