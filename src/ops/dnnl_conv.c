/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Convolutions through oneDNN.
 *
 * Images keep their channels in blocks between convolutions, which is what its
 * generated code wants; weights are put into its own form once and shared by
 * all plans.
 */
#include "config.h"

#include "ops/dnnl_internal.h"

#include "base/base.h"

#include <stdlib.h>
#include <string.h>

/* Everything oneDNN wants to know of one convolution, in its own types. */
struct problem {
	int spatial;
	dnnl_dims_t in, out, weights;
	int weight_dims;
	dnnl_dims_t stride, dilation, begin, end;
	bool grouped;
};

static int64_t or_one(int32_t value)
{
	return value == 0 ? 1 : value;
}

/* Padding of one dimension, as given or as ONNX's auto_pad says. */
static void find_padding(const psgi_conv_spec *spec, struct problem *p, int i, int64_t kernel)
{
	const psg_window *window = &spec->params.window;
	int64_t span = (kernel - 1) * or_one(window->dilation[i]) + 1;
	int64_t in = p->in[2 + i], out = p->out[2 + i], total;

	p->begin[i] = window->pad_begin[i];
	if (spec->transpose) {
		/* out = (in - 1) * stride + span - begin - end: output padding is less end padding
		 */
		total = (in - 1) * p->stride[i] + span - out;
		if (window->auto_pad == PSG_PAD_VALID)
			p->begin[i] = 0;
		else if (window->auto_pad != PSG_PAD_EXPLICIT || spec->params.output_size[i] > 0)
			p->begin[i] = window->auto_pad == PSG_PAD_SAME_UPPER ? total / 2
									     : total - total / 2;
	} else {
		total = (out - 1) * p->stride[i] + span - in;
		if (window->auto_pad == PSG_PAD_VALID)
			p->begin[i] = 0;
		else if (window->auto_pad == PSG_PAD_SAME_UPPER)
			p->begin[i] = (total > 0 ? total : 0) / 2;
		else if (window->auto_pad == PSG_PAD_SAME_LOWER)
			p->begin[i] = ((total > 0 ? total : 0) + 1) / 2;
	}
	/* What is read at the end follows from the output; columns nobody reads are no padding. */
	p->end[i] = total - p->begin[i];
}

static void translate(const psgi_conv_spec *spec, struct problem *p)
{
	const psg_shape *w = psg_tensor_shape(spec->weights);
	int64_t groups = or_one(spec->params.groups);
	int d = 0;

	memset(p, 0, sizeof(*p));
	p->spatial = spec->in.rank - 2;
	p->grouped = groups > 1;
	for (int i = 0; i < spec->in.rank; i++) {
		p->in[i] = spec->in.dim[i];
		p->out[i] = spec->out.dim[i];
	}
	if (p->grouped) {
		p->weights[d++] = groups;
		p->weights[d++] = w->dim[0] / groups;
	} else {
		p->weights[d++] = w->dim[0];
	}
	for (int i = 1; i < w->rank; i++)
		p->weights[d++] = w->dim[i];
	p->weight_dims = d;
	if (spec->transpose) { /* [g, C/g, M/g, ..] to oneDNN's [g, M/g, C/g, ..] */
		int o = p->grouped ? 1 : 0;
		dnnl_dim_t c = p->weights[o];

		p->weights[o] = p->weights[o + 1];
		p->weights[o + 1] = c;
	}
	for (int i = 0; i < p->spatial; i++) {
		p->stride[i] = or_one(spec->params.window.stride[i]);
		p->dilation[i] =
			or_one(spec->params.window.dilation[i]) - 1; /* oneDNN counts gaps */
		find_padding(spec, p, i, w->dim[2 + i]);
	}
}

/* --- layouts --- */

static dnnl_format_tag_t tag_of(int spatial, int32_t block)
{
	static const dnnl_format_tag_t tags[PSG_MAX_SPATIAL][3] = {
		{ dnnl_abc, dnnl_aBc8b, dnnl_aBc16b },
		{ dnnl_abcd, dnnl_aBcd8b, dnnl_aBcd16b },
		{ dnnl_abcde, dnnl_aBcde8b, dnnl_aBcde16b },
	};

	if (block == 0)
		return dnnl_format_tag_any;
	return tags[spatial - 1][block == 16 ? 2 : block == 8 ? 1 : 0];
}

static dnnl_status_t image_desc(dnnl_memory_desc_t *desc, int spatial, const dnnl_dims_t dims,
				int32_t block)
{
	return dnnl_memory_desc_init_by_tag(desc, spatial + 2, dims, dnnl_f32,
					    tag_of(spatial, block));
}

/* Plain weights as the tensor holds them, under oneDNN's order of dimensions. */
static dnnl_status_t plain_weights(const psgi_conv_spec *spec, const struct problem *p,
				   dnnl_memory_desc_t *desc)
{
	dnnl_dims_t strides;
	dnnl_dim_t stride = 1;
	int o = p->grouped ? 1 : 0;

	for (int i = p->weight_dims - 1; i >= 0; i--) {
		strides[i] = stride;
		stride *= p->weights[i];
	}
	if (spec->transpose) { /* stored with input channels outermost */
		dnnl_dim_t inner = strides[o + 1];

		strides[o] = inner;
		strides[o + 1] = inner * p->weights[o];
	}
	return dnnl_memory_desc_init_by_strides(desc, p->weight_dims, p->weights, dnnl_f32,
						strides);
}

static int32_t block_of(const dnnl_memory_desc_t *desc, int spatial)
{
	static const int32_t blocks[] = { 1, 8, 16 };

	for (size_t i = 0; i < 3; i++) {
		dnnl_memory_desc_t other;

		if (image_desc(&other, spatial, desc->dims, blocks[i]) == dnnl_success &&
		    dnnl_memory_desc_equal(desc, &other))
			return blocks[i];
	}
	return 0; /* something else, such as channels last */
}

/* --- choosing --- */

static dnnl_status_t describe_conv(const psgi_conv_spec *spec, const struct problem *p,
				   int32_t in_block, int32_t out_block,
				   dnnl_convolution_desc_t *conv, dnnl_deconvolution_desc_t *deconv,
				   dnnl_memory_desc_t *dst)
{
	dnnl_memory_desc_t src, weights, bias;
	dnnl_dims_t channels = { p->out[1] };
	dnnl_status_t status = image_desc(&src, p->spatial, p->in, in_block);

	if (status == dnnl_success)
		status = image_desc(dst, p->spatial, p->out, out_block);
	if (status == dnnl_success)
		status = dnnl_memory_desc_init_by_tag(&weights, p->weight_dims, p->weights,
						      dnnl_f32, dnnl_format_tag_any);
	if (status == dnnl_success)
		status = dnnl_memory_desc_init_by_tag(&bias, 1, channels, dnnl_f32, dnnl_a);
	if (status != dnnl_success)
		return status;
	if (spec->transpose)
		return dnnl_dilated_deconvolution_forward_desc_init(
			deconv, dnnl_forward_inference, dnnl_deconvolution_direct, &src, &weights,
			spec->bias == NULL ? NULL : &bias, dst, p->stride, p->dilation, p->begin,
			p->end);
	return dnnl_dilated_convolution_forward_desc_init(
		conv, dnnl_forward_inference, dnnl_convolution_direct, &src, &weights,
		spec->bias == NULL ? NULL : &bias, dst, p->stride, p->dilation, p->begin, p->end);
}

/* One try: a primitive for these blocks (0: oneDNN's choice), or NULL. */
static dnnl_primitive_desc_t try_blocks(const psgi_conv_spec *spec, const struct problem *p,
					int32_t in_block, int32_t out_block)
{
	dnnl_convolution_desc_t conv;
	dnnl_deconvolution_desc_t deconv;
	dnnl_memory_desc_t dst;
	dnnl_primitive_attr_t attr = NULL;
	dnnl_primitive_desc_t pd = NULL;

	if (describe_conv(spec, p, in_block, out_block, &conv, &deconv, &dst) != dnnl_success ||
	    psgi_dnnl_attr(spec->post, spec->n_post, &dst, &attr, NULL) != PSG_OK)
		return NULL;
	if (dnnl_primitive_desc_create(
		    &pd, spec->transpose ? (const void *)&deconv : (const void *)&conv, attr,
		    psgi_dnnl_engine(), NULL) != dnnl_success)
		pd = NULL;
	(void)dnnl_primitive_attr_destroy(attr);
	return pd;
}

/* Generated code, as against oneDNN's plain loops? */
static bool is_fast(const_dnnl_primitive_desc_t pd)
{
	const char *name = NULL;

	return dnnl_primitive_desc_query(pd, dnnl_query_impl_info_str, 0, &name) == dnnl_success &&
	       (strstr(name, "jit") != NULL || strstr(name, "brg") != NULL);
}

/*
 * The wanted blocks if there is generated code for them, then the other layout on either side, and
 * plain on both as what always works.
 */
static dnnl_primitive_desc_t choose(psgi_conv_spec *spec, const struct problem *p)
{
	int32_t block = psgi_dnnl_block();
	const int32_t tries[][2] = { { spec->in_block, spec->out_block },
				     { block, block },
				     { 1, block },
				     { block, 1 },
				     { 1, 1 } };
	size_t n = sizeof(tries) / sizeof(tries[0]);

	for (size_t i = 0; i < n; i++) {
		dnnl_primitive_desc_t pd = try_blocks(spec, p, tries[i][0], tries[i][1]);

		if (pd != NULL && (i == n - 1 || is_fast(pd))) {
			spec->in_block = block_of(
				dnnl_primitive_desc_query_md(pd, dnnl_query_src_md, 0), p->spatial);
			spec->out_block = block_of(
				dnnl_primitive_desc_query_md(pd, dnnl_query_dst_md, 0), p->spatial);
			return pd;
		}
		(void)dnnl_primitive_desc_destroy(pd);
	}
	return NULL;
}

static psg_status add_weights(psgi_dnnl_kernel *kernel, const psgi_conv_spec *spec,
			      const struct problem *p, const_dnnl_primitive_desc_t pd,
			      psgi_pack_cache *packs, psg_error *error)
{
	const dnnl_memory_desc_t *wanted =
		dnnl_primitive_desc_query_md(pd, dnnl_query_weights_md, 0);
	const dnnl_memory_desc_t *bias = dnnl_primitive_desc_query_md(pd, dnnl_query_weights_md, 1);
	dnnl_memory_desc_t plain;
	void *packed = NULL;
	psg_status status;

	if (plain_weights(spec, p, &plain) != dnnl_success)
		return psgi_dnnl_fail(error, "weights", dnnl_invalid_arguments);
	status = psgi_dnnl_weights(packs, spec->weights, &plain, wanted, &packed, error);
	if (status != PSG_OK)
		return status;
	if (psgi_dnnl_arg(kernel, DNNL_ARG_WEIGHTS, wanted, packed) < 0 ||
	    (spec->bias != NULL &&
	     psgi_dnnl_arg(kernel, DNNL_ARG_BIAS, bias, psg_tensor_data(spec->bias)) < 0))
		return psgi_dnnl_fail(error, "weights", dnnl_out_of_memory);
	return PSG_OK;
}

psg_status psgi_dnnl_conv(psgi_conv_spec *spec, psgi_pack_cache *packs, psgi_kernel **out,
			  psg_error *error)
{
	struct problem p;
	psgi_dnnl_kernel *kernel;
	dnnl_primitive_desc_t pd;
	psg_status status;

	if (psgi_dnnl_stream() == NULL || psg_shape_elements(&spec->out) == 0 ||
	    psg_shape_elements(&spec->in) == 0)
		return psgi_dnnl_fail(error, "convolution", dnnl_unimplemented);
	translate(spec, &p);
	pd = choose(spec, &p);
	if (pd == NULL)
		return psgi_dnnl_fail(error, "convolution", dnnl_unimplemented);
	kernel = psgi_dnnl_kernel_new(spec->transpose ? "dnnl deconvolution" : "dnnl convolution");
	if (kernel == NULL) {
		(void)dnnl_primitive_desc_destroy(pd);
		return psgi_dnnl_fail(error, "convolution", dnnl_out_of_memory);
	}
	kernel->in_arg[0] = psgi_dnnl_arg(kernel, DNNL_ARG_SRC,
					  dnnl_primitive_desc_query_md(pd, dnnl_query_src_md, 0),
					  DNNL_MEMORY_NONE);
	kernel->out_arg = psgi_dnnl_arg(kernel, DNNL_ARG_DST,
					dnnl_primitive_desc_query_md(pd, dnnl_query_dst_md, 0),
					DNNL_MEMORY_NONE);
	kernel->n_in = 1;
	status = kernel->in_arg[0] < 0 || kernel->out_arg < 0
			 ? psgi_dnnl_fail(error, "convolution", dnnl_out_of_memory)
			 : add_weights(kernel, spec, &p, pd, packs, error);
	if (status == PSG_OK)
		status = psgi_dnnl_finish(kernel, pd, spec->post, spec->n_post, error);
	(void)dnnl_primitive_desc_destroy(pd);
	if (status != PSG_OK) {
		psgi_kernel_destroy(&kernel->kernel);
		return status;
	}
	*out = &kernel->kernel;
	return PSG_OK;
}
