/* SPDX-License-Identifier: Apache-2.0 */
/* Lowering to kernels of a CUDA device, where every image is row-major. */
#include "config.h"

#include "model/plan.h"

#include "base/base.h"
#include "ops/cuda.h"

/* One part of a mix; a part is a step of its own that writes its channels of the result. */
static psg_status lower_part(psgi_plan *plan, const psgi_fnode *node, size_t i, int64_t offset,
			     int32_t out, psg_error *error)
{
	const psgi_mix *mix = &node->mix;
	const psgi_fvalue *values = plan->flow.values;
	int32_t image = node->in[2 * i], gate = node->in[2 * i + 1];
	psgi_mix_spec spec = { .out = values[node->out[0]].shape,
			       .channels = values[image].shape.dim[1],
			       .offset = offset,
			       .up_a = mix->up[i],
			       .up_b = mix->up_addend,
			       .has_gate = gate >= 0,
			       .has_b = mix->addend >= 0,
			       .base = mix->base[i] };
	psgi_step step = { .name = node->name, .kind = node->kind, .n_in = 3, .n_out = 1 };
	psg_status status = psgi_plan_plain(plan, image, &step.in[0], error);

	step.in[1] = step.in[2] = -1;
	step.out[0] = out;
	if (status == PSG_OK && spec.has_gate)
		status = psgi_plan_plain(plan, gate, &step.in[1], error);
	if (status == PSG_OK && spec.has_b)
		status = psgi_plan_plain(plan, mix->addend, &step.in[2], error);
	if (status == PSG_OK)
		status = psgi_cuda_mix(plan->device, &spec, &step.kernel, error);
	return status == PSG_OK ? psgi_plan_step(plan, &step, error) : status;
}

static psg_status lower_mix(psgi_plan *plan, const psgi_fnode *node, psg_error *error)
{
	int32_t out = psgi_plan_add(plan, node->out[0], 1);
	int64_t offset = 0;
	psg_status status = out < 0 ? psgi_fail(error, PSG_NOMEM, "no memory for a plan") : PSG_OK;

	for (size_t i = 0; i < node->mix.parts && status == PSG_OK; i++) {
		status = lower_part(plan, node, i, offset, out, error);
		offset += plan->flow.values[node->in[2 * i]].shape.dim[1];
	}
	return status;
}

psg_status psgi_lower_cuda(psgi_plan *plan, const psgi_fnode *node, bool *done, psg_error *error)
{
	psgi_epilogue post[PSGI_MAX_POST];
	psgi_kernel *kernel = NULL;
	psgi_call call;
	psg_status status;

	*done = node->mix.parts > 0;
	if (*done)
		return lower_mix(plan, node, error);
	for (size_t i = 0; i < node->n_post; i++)
		post[i] = (psgi_epilogue){ node->post[i].kind, node->post[i].alpha,
					   node->post[i].beta };
	psgi_plan_call(plan, node, &call);
	status = psgi_cuda_kernel(plan->device, &call, post, node->n_post, &kernel, done, error);
	return status == PSG_OK && *done ? psgi_plan_node(plan, node, kernel, error) : status;
}
