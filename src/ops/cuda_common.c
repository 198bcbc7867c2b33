/* SPDX-License-Identifier: Apache-2.0 */
/* Making and running an operator's launches; posts and functions of one element. */
#include "config.h"

#include "ops/cuda_internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

psgi_cuda_launch *psgi_cuda_add(psgi_cuda *cuda, psgi_gpu_kernel kernel, int64_t blocks,
				uint32_t threads, size_t args_bytes)
{
	psgi_cuda_launch *l;

	if (cuda->n_launches == PSGI_CUDA_LAUNCHES) {
		cuda->beyond = true;
		cuda->n_launches--;
	}
	l = &cuda->launch[cuda->n_launches++];
	memset(l, 0, sizeof(*l));
	l->kernel = kernel;
	l->blocks = blocks;
	l->threads = threads;
	l->args_bytes = args_bytes;
	cuda->beyond = cuda->beyond || blocks > (int64_t)PSGI_GPU_MAX_GRID_X;
	return l;
}

psgi_cuda_launch *psgi_cuda_each(psgi_cuda *cuda, psgi_gpu_kernel kernel, int64_t n,
				 size_t args_bytes)
{
	return psgi_cuda_add(cuda, kernel, (n + PSGI_CUDA_THREADS - 1) / PSGI_CUDA_THREADS,
			     PSGI_CUDA_THREADS, args_bytes);
}

void psgi_cuda_slot(psgi_cuda_launch *l, psgi_slot_kind kind, size_t index, size_t offset)
{
	l->slot[l->n_slots++] = (psgi_slot){ kind, index, offset };
}

uint32_t psgi_cuda_row_threads(int64_t n)
{
	uint32_t threads = 32;

	while (threads < 256 && (int64_t)threads * 2 <= n)
		threads *= 2;
	return threads;
}

/* It stays as long as its plan: a larger block taken for it would be missing in each run. */
psg_status psgi_cuda_table(psgi_cuda *cuda, const void *from, size_t bytes, psg_error *error)
{
	psg_status status = psgi_gpu_alloc_lasting(cuda->device, bytes, &cuda->table, error);

	if (status != PSG_OK)
		return status;
	cuda->table_bytes = psgi_gpu_block_bytes(cuda->device, bytes);
	return psgi_gpu_copy_in(cuda->device, cuda->table, from, bytes, error);
}

psg_status psgi_cuda_judge(psgi_cuda *cuda, psgi_cuda_verdict *verdict, psg_error *error)
{
	cuda->verdict = verdict;
	cuda->table_bytes = psgi_gpu_block_bytes(cuda->device, sizeof(int64_t));
	return psgi_gpu_alloc_lasting(cuda->device, sizeof(int64_t), &cuda->table, error);
}

bool psgi_cuda_may_have(const psgi_view *view, int64_t from, int64_t to)
{
	const int64_t *value = view->data;
	bool may = value == NULL;

	for (int64_t i = 0; value != NULL && i < psg_shape_elements(&view->shape); i++)
		may = may || (value[i] >= from && value[i] <= to);
	return may;
}

void psgi_cuda_pair(gpu_pair *p, const psg_shape *out, const psg_shape *a, const psg_shape *b)
{
	psgi_walk walk = { .rank = out->rank, .operands = 3 };

	p->n = psg_shape_elements(out);
	for (int32_t i = 0; i < walk.rank; i++)
		walk.dim[i] = out->dim[i];
	psgi_strides(out, walk.step[0]);
	psgi_broadcast_strides(a, out, walk.step[1]);
	psgi_broadcast_strides(b, out, walk.step[2]);
	if (!psgi_walk_start(&walk))
		return;
	for (int32_t i = 0; i < walk.rank; i++) {
		p->dim[i] = walk.dim[i];
		p->a_step[i] = walk.step[1][i];
		p->b_step[i] = walk.step[2][i];
	}
	p->dim[walk.rank] = walk.run;
	p->a_step[walk.rank] = walk.run_step[1];
	p->b_step[walk.rank] = walk.run_step[2];
	p->rank = walk.rank + 1;
}

/* --- posts --- */

/* The few forms that kernels apply without code of their own for each; false: it is none. */
static bool post_of(const psgi_epilogue *e, gpu_post *p)
{
	*p = (gpu_post){ .kind = GPU_POST_CLAMP, .alpha = 1, .low = -INFINITY, .high = INFINITY };
	switch (e->kind) {
	case PSG_OP_RELU:
		p->low = 0;
		return true;
	case PSG_OP_CLIP:
		p->low = e->alpha;
		p->high = e->beta;
		return true;
	case PSG_OP_AFFINE:
		p->alpha = e->alpha;
		p->beta = e->beta;
		return true;
	case PSG_OP_HARDSIGMOID:
	case PSG_OP_SE_GATE:
	case PSG_OP_HARDSWISH:
		p->alpha = e->kind == PSG_OP_SE_GATE ? 0.2F : 1.0F / 6;
		p->beta = 0.5F;
		if (e->kind == PSG_OP_HARDSIGMOID && (e->alpha != 0 || e->beta != 0)) {
			p->alpha = e->alpha;
			p->beta = e->beta;
		}
		p->low = 0;
		p->high = 1;
		if (e->kind == PSG_OP_HARDSWISH)
			p->kind = GPU_POST_GATE;
		return true;
	case PSG_OP_SIGMOID:
	case PSG_OP_SILU:
	case PSG_OP_LEAKY_RELU:
		p->kind = GPU_POST_FUNCTION;
		p->function = e->kind == PSG_OP_SIGMOID ? GPU_SIGMOID
			      : e->kind == PSG_OP_SILU  ? GPU_SILU
							: GPU_LEAKY_RELU;
		p->alpha = e->alpha;
		return true;
	default:
		return false;
	}
}

static gpu_posts *posts_at(psgi_cuda_launch *l, size_t offset)
{
	return (void *)((char *)&l->args + offset);
}

void psgi_cuda_post_add(psgi_cuda_launch *l, size_t offset, size_t index)
{
	gpu_posts *posts = posts_at(l, offset);
	size_t at = offset + offsetof(gpu_posts, at) + (size_t)posts->n * sizeof(gpu_post);

	psgi_cuda_slot(l, PSGI_SLOT_IN, index, at + offsetof(gpu_post, addend));
	posts->at[posts->n++] = (gpu_post){ .kind = GPU_POST_ADD };
}

void psgi_cuda_posts(psgi_cuda_launch *l, size_t offset, psgi_cuda_post_list *list)
{
	gpu_posts *posts = posts_at(l, offset);
	size_t next = list->first_in;

	for (; list->taken < list->n && posts->n < GPU_MAX_POST; list->taken++) {
		const psgi_epilogue *e = &list->post[list->taken];
		gpu_post p;

		if (e->kind == PSG_OP_ADD)
			psgi_cuda_post_add(l, offset, next++);
		else if (post_of(e, &p))
			posts->at[posts->n++] = p;
		else
			return;
	}
}

/* Launches of their own for what the operator's kernel did not take, on what it wrote. */
static bool append_posts(psgi_cuda *cuda, const psgi_call *call, const psgi_cuda_post_list *posts)
{
	int64_t n = psg_shape_elements(&call->out[0].shape);
	size_t next = posts->first_in;

	for (size_t i = 0; i < posts->n; i++) {
		const psgi_epilogue *e = &posts->post[i];
		bool adds = e->kind == PSG_OP_ADD;
		psgi_cuda_launch *l;

		next += adds;
		if (i < posts->taken)
			continue;
		if (adds) {
			l = psgi_cuda_each(cuda, PSGI_GPU_add2, n, sizeof(add2_args));
			l->args.add2.n = n;
			PSGI_SLOT(l, PSGI_SLOT_OUT, 0, add2_args, a);
			PSGI_SLOT(l, PSGI_SLOT_IN, next - 1, add2_args, b);
			PSGI_SLOT(l, PSGI_SLOT_OUT, 0, add2_args, y);
			continue;
		}
		l = psgi_cuda_unary(cuda, e->kind, (psg_unary_params){ e->alpha, e->beta }, n);
		if (l == NULL)
			return false;
		PSGI_SLOT(l, PSGI_SLOT_OUT, 0, unary_args, x);
		PSGI_SLOT(l, PSGI_SLOT_OUT, 0, unary_args, y);
	}
	return true;
}

/* --- the kernel --- */

static psg_status launch_all(psgi_cuda *cuda, const psgi_operand *in, const psgi_operand *out,
			     psg_error *error)
{
	for (size_t i = 0; i < cuda->n_launches; i++) {
		psgi_cuda_launch *l = &cuda->launch[i];
		psgi_launch launch = { .kernel = l->kernel,
				       .grid = { (uint32_t)l->blocks, 1, 1 },
				       .block = { l->threads, 1, 1 },
				       .args = &l->args,
				       .args_bytes = l->args_bytes };
		psg_status status;

		if (l->blocks <= 0)
			continue;
		for (size_t k = 0; k < l->n_slots; k++) {
			const psgi_slot *s = &l->slot[k];
			const void *p = s->kind == PSGI_SLOT_VALID ? in[s->index].valid
					: s->kind == PSGI_SLOT_IN  ? in[s->index].data
								   : out[s->index].data;

			memcpy((char *)&l->args + s->offset, &p, sizeof(p));
		}
		status = psgi_gpu_launch(cuda->device, &launch, error);
		if (status != PSG_OK)
			return status;
	}
	return PSG_OK;
}

static psg_status run(psgi_kernel *kernel, const psgi_operand *in, const psgi_operand *out,
		      void *scratch, psg_error *error)
{
	psgi_cuda *cuda = (psgi_cuda *)kernel;
	int64_t bad = -1;
	psg_status status = PSG_OK;

	(void)scratch;
	if (cuda->verdict != NULL)
		status = psgi_gpu_fill(cuda->device, cuda->table, 0xff, sizeof(bad), error);
	if (status == PSG_OK)
		status = launch_all(cuda, in, out, error);
	if (status == PSG_OK && cuda->verdict != NULL)
		status = psgi_gpu_copy_out(cuda->device, &bad, cuda->table, sizeof(bad), error);
	return status == PSG_OK && bad >= 0 ? cuda->verdict(cuda, bad, in, error) : status;
}

static void destroy(psgi_kernel *kernel)
{
	psgi_cuda *cuda = (psgi_cuda *)kernel;

	psgi_device_free(cuda->device, cuda->table);
	free(cuda);
}

size_t psgi_cuda_table_bytes(const psgi_kernel *kernel)
{
	return kernel->run == run ? ((const psgi_cuda *)kernel)->table_bytes : 0;
}

static psg_status create(psg_device *device, psgi_cuda **out, psg_error *error)
{
	psgi_cuda *cuda = calloc(1, sizeof(*cuda) + PSGI_CUDA_LAUNCHES * sizeof(cuda->launch[0]));

	if (cuda == NULL)
		return psgi_fail(error, PSG_NOMEM, "no memory for an operator");
	cuda->kernel = (psgi_kernel){ "cuda", 0, run, destroy };
	cuda->device = device;
	*out = cuda;
	return PSG_OK;
}

/* Most operators are one launch: what was taken for more is given back. */
static psgi_kernel *shrink(psgi_cuda *cuda)
{
	psgi_cuda *smaller =
		realloc(cuda, sizeof(*cuda) + cuda->n_launches * sizeof(cuda->launch[0]));

	return smaller != NULL ? &smaller->kernel : &cuda->kernel;
}

static psgi_cuda_family *const families[] = { psgi_cuda_conv,    psgi_cuda_matmul,
					      psgi_cuda_window,  psgi_cuda_element,
					      psgi_cuda_integer, psgi_cuda_pick,
					      psgi_cuda_move,    psgi_cuda_sequence };

static psg_status choose(psgi_cuda *cuda, const psgi_call *call, psgi_cuda_post_list *posts,
			 bool *done, psg_error *error)
{
	psg_status status = PSG_OK;

	for (size_t i = 0; i < sizeof(families) / sizeof(families[0]) && !*done; i++) {
		cuda->n_launches = 0; /* one that could not may have begun */
		cuda->beyond = false;
		posts->taken = 0;
		status = families[i](cuda, call, posts, done, error);
		if (status != PSG_OK)
			return status;
	}
	if (posts->n > 0 && call->out[0].dtype != PSG_F32)
		*done = false; /* their kernels know floats only */
	*done = *done && append_posts(cuda, call, posts) && !cuda->beyond;
	return PSG_OK;
}

psg_status psgi_cuda_kernel(psg_device *device, const psgi_call *call, const psgi_epilogue *post,
			    size_t n_post, psgi_kernel **out, bool *done, psg_error *error)
{
	psgi_cuda_post_list posts = { .post = post, .n = n_post, .first_in = call->n_in };
	psgi_cuda *cuda = NULL;
	psg_status status = create(device, &cuda, error);

	*done = false;
	if (status != PSG_OK)
		return status;
	cuda->kind = call->kind;
	status = choose(cuda, call, &posts, done, error);
	if (status != PSG_OK || !*done) {
		*done = false;
		destroy(&cuda->kernel);
		return status;
	}
	*out = shrink(cuda);
	return PSG_OK;
}

psg_status psgi_cuda_mix(psg_device *device, const psgi_mix_spec *spec, psgi_kernel **out,
			 psg_error *error)
{
	const int64_t *dim = spec->out.dim;
	int64_t n = dim[0] * spec->channels * dim[2] * dim[3];
	psgi_cuda_launch *l;
	psgi_cuda *cuda = NULL;
	psg_status status = create(device, &cuda, error);

	if (status != PSG_OK)
		return status;
	l = psgi_cuda_each(cuda, PSGI_GPU_mix, n, sizeof(mix_args));
	l->args.mix = (mix_args){ .samples = dim[0],
				  .channels = spec->channels,
				  .all = dim[1],
				  .offset = spec->offset,
				  .height = dim[2],
				  .width = dim[3],
				  .up_a = spec->up_a,
				  .up_b = spec->up_b,
				  .base = spec->base };
	PSGI_SLOT(l, PSGI_SLOT_IN, 0, mix_args, a);
	if (spec->has_gate)
		PSGI_SLOT(l, PSGI_SLOT_IN, 1, mix_args, gate);
	if (spec->has_b)
		PSGI_SLOT(l, PSGI_SLOT_IN, 2, mix_args, b);
	PSGI_SLOT(l, PSGI_SLOT_OUT, 0, mix_args, y);
	*out = shrink(cuda);
	return PSG_OK;
}
