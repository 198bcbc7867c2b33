/* SPDX-License-Identifier: Apache-2.0 */
/* Convolutions on a CUDA device: depthwise, as a product of a point, of an image, transposed. */
#include "config.h"

#include "ops/cuda_internal.h"

#include <stdlib.h>

bool psgi_cuda_window_of(const psgi_call *call, gpu_window *w, psg_error *error)
{
	psgi_geometry g;
	int64_t most = 0;

	if (psgi_geometry_of(call, &g, error) != PSG_OK || g.spatial > 2)
		return false;
	for (int i = 1; i < PSG_MAX_SPATIAL; i++) {
		const int64_t each[] = { g.in[i],       g.out[i],       g.kernel[i], g.stride[i],
					 g.dilation[i], g.pad_begin[i], g.pad_end[i] };

		for (size_t k = 0; k < sizeof(each) / sizeof(each[0]); k++)
			most = each[k] > most ? each[k] : most;
	}
	/* Sums of a few products of these stay within 32 bits. */
	if (most >= INT64_C(1) << 28 || g.out[1] * g.out[2] >= INT32_MAX ||
	    g.kernel[1] * g.dilation[1] >= INT64_C(1) << 28 ||
	    g.kernel[2] * g.dilation[2] >= INT64_C(1) << 28 ||
	    g.out[1] * g.stride[1] >= INT64_C(1) << 30 ||
	    g.out[2] * g.stride[2] >= INT64_C(1) << 30)
		return false;
	*w = (gpu_window){ .in_h = (int32_t)g.in[1],
			   .in_w = (int32_t)g.in[2],
			   .out_h = (int32_t)g.out[1],
			   .out_w = (int32_t)g.out[2],
			   .kernel_h = (int32_t)g.kernel[1],
			   .kernel_w = (int32_t)g.kernel[2],
			   .stride_h = (int32_t)g.stride[1],
			   .stride_w = (int32_t)g.stride[2],
			   .dilation_h = (int32_t)g.dilation[1],
			   .dilation_w = (int32_t)g.dilation[2],
			   .pad_h = (int32_t)g.pad_begin[1],
			   .pad_w = (int32_t)g.pad_begin[2],
			   .pad_end_h = (int32_t)g.pad_end[1],
			   .pad_end_w = (int32_t)g.pad_end[2],
			   .valid_rows = call->in[0].valid_axis == 2 && g.spatial == 2 };
	return true;
}

void psgi_cuda_valid(psgi_cuda_launch *l, const psgi_call *call, size_t offset)
{
	if (call->in[0].valid_axis >= 2)
		psgi_cuda_slot(l, PSGI_SLOT_VALID, 0, offset + offsetof(gpu_window, valid));
}

static int64_t groups_of(const psgi_call *call)
{
	return call->params->conv.groups == 0 ? 1 : call->params->conv.groups;
}

static bool is_point(const gpu_window *w)
{
	return w->kernel_h == 1 && w->kernel_w == 1 && w->stride_h == 1 && w->stride_w == 1 &&
	       w->pad_h == 0 && w->pad_w == 0 && w->pad_end_h == 0 && w->pad_end_w == 0;
}

static bool depthwise(psgi_cuda *cuda, const psgi_call *call, const gpu_window *w,
		      psgi_cuda_post_list *posts)
{
	int64_t n = psg_shape_elements(&call->out[0].shape);
	psgi_cuda_launch *l = psgi_cuda_each(cuda, PSGI_GPU_depthwise, n, sizeof(depthwise_args));

	l->args.depthwise = (depthwise_args){ .n = n,
					      .channels = call->out[0].shape.dim[1],
					      .multiplier = call->out[0].shape.dim[1] /
							    call->in[0].shape.dim[1],
					      .window = *w };
	PSGI_SLOT(l, PSGI_SLOT_IN, 0, depthwise_args, x);
	PSGI_SLOT(l, PSGI_SLOT_IN, 1, depthwise_args, w);
	if (psgi_has_input(call, 2))
		PSGI_SLOT(l, PSGI_SLOT_IN, 2, depthwise_args, bias);
	PSGI_SLOT(l, PSGI_SLOT_OUT, 0, depthwise_args, y);
	psgi_cuda_valid(l, call, offsetof(depthwise_args, window));
	psgi_cuda_posts(l, offsetof(depthwise_args, posts), posts);
	return true;
}

/* What point and window convolutions have in common: sample and group are the matrices. */
static gemm_args product_of(const psgi_call *call, int64_t pixels_in, int64_t pixels)
{
	const psg_shape *x = &call->in[0].shape, *w = &call->in[1].shape;
	int64_t groups = groups_of(call), m = w->dim[0] / groups, k = psgi_product(w, 1, w->rank);

	return (gemm_args){ .m = m,
			    .n = pixels,
			    .k = k,
			    .a_row = k,
			    .a_step = 1,
			    .b_row = pixels,
			    .b_step = 1,
			    .c_row = pixels,
			    .batches = x->dim[0] * groups,
			    .inner = groups,
			    .a_inner = m * k,
			    .b_outer = x->dim[1] * pixels_in,
			    .b_inner = w->dim[1] * pixels_in,
			    .c_outer = w->dim[0] * pixels,
			    .c_inner = m * pixels,
			    .bias_inner = m,
			    .alpha = 1,
			    .bias_kind = psgi_has_input(call, 2) ? GPU_ROW_BIAS : GPU_NO_BIAS,
			    .fours_a = k % 4 == 0,
			    .fours_b = pixels % 4 == 0,
			    .fours_c = pixels % 4 == 0 };
}

static void product_slots(psgi_cuda_launch *l, const psgi_call *call)
{
	PSGI_SLOT(l, PSGI_SLOT_IN, 1, gemm_args, a);
	PSGI_SLOT(l, PSGI_SLOT_IN, 0, gemm_args, b);
	if (psgi_has_input(call, 2))
		PSGI_SLOT(l, PSGI_SLOT_IN, 2, gemm_args, bias);
	PSGI_SLOT(l, PSGI_SLOT_OUT, 0, gemm_args, c);
}

/* One pixel a sample, as squeeze-and-excitation has it: dot products of x and weights. */
static bool single(psgi_cuda *cuda, const psgi_call *call, psgi_cuda_post_list *posts)
{
	const psg_shape *x = &call->in[0].shape, *w = &call->in[1].shape;
	int64_t results = x->dim[0] * w->dim[0];
	psgi_cuda_launch *l =
		psgi_cuda_add(cuda, PSGI_GPU_gemm_dots, (results + 3) / 4, 128, sizeof(gemm_args));

	l->args.gemm =
		(gemm_args){ .m = x->dim[0],
			     .n = w->dim[0],
			     .k = x->dim[1],
			     .a_row = x->dim[1],
			     .a_step = 1,
			     .b_row = 1,
			     .b_step = x->dim[1],
			     .c_row = w->dim[0],
			     .alpha = 1,
			     .bias_kind = psgi_has_input(call, 2) ? GPU_COLUMN_BIAS : GPU_NO_BIAS };
	PSGI_SLOT(l, PSGI_SLOT_IN, 0, gemm_args, a);
	PSGI_SLOT(l, PSGI_SLOT_IN, 1, gemm_args, b);
	if (psgi_has_input(call, 2))
		PSGI_SLOT(l, PSGI_SLOT_IN, 2, gemm_args, bias);
	PSGI_SLOT(l, PSGI_SLOT_OUT, 0, gemm_args, c);
	psgi_cuda_posts(l, offsetof(gemm_args, posts), posts);
	return true;
}

static bool point(psgi_cuda *cuda, const psgi_call *call, const gpu_window *w,
		  psgi_cuda_post_list *posts)
{
	static const psgi_cuda_tiles tiles = { { PSGI_GPU_sgemm, PSGI_GPU_sgemm_64,
						 PSGI_GPU_sgemm_32 } };
	int64_t pixels = (int64_t)w->out_h * w->out_w;
	psgi_cuda_launch *l;

	if (pixels == 1 && groups_of(call) == 1)
		return single(cuda, call, posts);
	l = psgi_cuda_add(cuda, PSGI_GPU_sgemm, 0, 0, sizeof(gemm_args));
	l->args.gemm = product_of(call, pixels, pixels);
	product_slots(l, call);
	psgi_cuda_tile(cuda, l, &l->args.gemm, &tiles);
	psgi_cuda_posts(l, offsetof(gemm_args, posts), posts);
	return l->blocks >= 0;
}

/* Where each weight of a group finds its input. */
static psg_status copy_taps(psgi_cuda *cuda, const gpu_window *w, int64_t k, psg_error *error)
{
	int64_t plane = (int64_t)w->in_h * w->in_w;
	int32_t each = w->kernel_h * w->kernel_w;
	gpu_tap *taps = malloc(((size_t)k + 1) * sizeof(*taps));
	psg_status status;

	if (taps == NULL)
		return psgi_fail(error, PSG_NOMEM, "conv: no memory for a table of %lld weights",
				 (long long)k);
	for (int64_t i = 0; i < k; i++) {
		int32_t tap = (int32_t)(i % each), row = tap / w->kernel_w * w->dilation_h;
		int32_t column = tap % w->kernel_w * w->dilation_w;

		taps[i] = (gpu_tap){ i / each * plane + (int64_t)row * w->in_w + column, row,
				     column };
	}
	status = psgi_cuda_table(cuda, taps, ((size_t)k + 1) * sizeof(*taps), error);
	free(taps);
	return status;
}

static psg_status image(psgi_cuda *cuda, const psgi_call *call, const gpu_window *w,
			psgi_cuda_post_list *posts, bool *done, psg_error *error)
{
	static const psgi_cuda_tiles tiles = { { PSGI_GPU_conv_128, PSGI_GPU_conv_64,
						 PSGI_GPU_conv_32 } };
	psgi_cuda_launch *l = psgi_cuda_add(cuda, PSGI_GPU_conv_128, 0, 0, sizeof(conv_args));
	conv_args *a = &l->args.conv;
	psg_status status;

	a->gemm = product_of(call, (int64_t)w->in_h * w->in_w, (int64_t)w->out_h * w->out_w);
	a->window = *w;
	product_slots(l, call);
	psgi_cuda_valid(l, call, offsetof(conv_args, window));
	psgi_cuda_tile(cuda, l, &a->gemm, &tiles);
	if (l->blocks < 0)
		return PSG_OK;
	psgi_cuda_posts(l, offsetof(conv_args, gemm.posts), posts);
	status = copy_taps(cuda, w, a->gemm.k, error);
	a->taps = cuda->table;
	*done = status == PSG_OK;
	return status;
}

static bool transposed(psgi_cuda *cuda, const psgi_call *call, const gpu_window *w,
		       psgi_cuda_post_list *posts)
{
	int64_t n = psg_shape_elements(&call->out[0].shape);
	psgi_cuda_launch *l =
		psgi_cuda_each(cuda, PSGI_GPU_conv_transpose, n, sizeof(conv_transpose_args));

	l->args.conv_transpose = (conv_transpose_args){ .n = n,
							.channels = call->in[0].shape.dim[1],
							.outputs = call->out[0].shape.dim[1],
							.groups = groups_of(call),
							.window = *w };
	PSGI_SLOT(l, PSGI_SLOT_IN, 0, conv_transpose_args, x);
	PSGI_SLOT(l, PSGI_SLOT_IN, 1, conv_transpose_args, w);
	if (psgi_has_input(call, 2))
		PSGI_SLOT(l, PSGI_SLOT_IN, 2, conv_transpose_args, bias);
	PSGI_SLOT(l, PSGI_SLOT_OUT, 0, conv_transpose_args, y);
	psgi_cuda_valid(l, call, offsetof(conv_transpose_args, window));
	psgi_cuda_posts(l, offsetof(conv_transpose_args, posts), posts);
	return true;
}

psg_status psgi_cuda_conv(psgi_cuda *cuda, const psgi_call *call, psgi_cuda_post_list *posts,
			  bool *done, psg_error *error)
{
	gpu_window w;

	if ((call->kind != PSG_OP_CONV && call->kind != PSG_OP_CONV_TRANSPOSE) ||
	    !psgi_cuda_window_of(call, &w, NULL))
		return PSG_OK;
	if (psg_shape_elements(&call->out[0].shape) == 0) {
		*done = true; /* nothing to write, whatever the other sizes are */
		return PSG_OK;
	}
	if (call->kind == PSG_OP_CONV_TRANSPOSE)
		*done = transposed(cuda, call, &w, posts);
	else if (groups_of(call) == call->in[0].shape.dim[1] && call->in[1].shape.dim[1] == 1)
		*done = depthwise(cuda, call, &w, posts);
	else if (is_point(&w))
		*done = point(cuda, call, &w, posts);
	else
		return image(cuda, call, &w, posts, done, error);
	return PSG_OK;
}
