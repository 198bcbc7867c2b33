/* SPDX-License-Identifier: Apache-2.0 */
/* Linear layers through oneDNN's inner product, which keeps weights in its own form. */
#include "config.h"

#include "ops/dnnl_internal.h"

#include "base/base.h"

static dnnl_status_t describe(const psgi_linear_spec *spec, dnnl_inner_product_desc_t *desc,
			      dnnl_memory_desc_t *dst)
{
	dnnl_dims_t in = { spec->rows, spec->k }, out = { spec->rows, spec->n },
		    weights = { spec->n, spec->k }, channels = { spec->n };
	dnnl_memory_desc_t src, w, bias;
	dnnl_status_t status = dnnl_memory_desc_init_by_tag(&src, 2, in, dnnl_f32, dnnl_ab);

	if (status == dnnl_success)
		status = dnnl_memory_desc_init_by_tag(dst, 2, out, dnnl_f32, dnnl_ab);
	if (status == dnnl_success)
		status =
			dnnl_memory_desc_init_by_tag(&w, 2, weights, dnnl_f32, dnnl_format_tag_any);
	if (status == dnnl_success)
		status = dnnl_memory_desc_init_by_tag(&bias, 1, channels, dnnl_f32, dnnl_a);
	if (status == dnnl_success)
		status = dnnl_inner_product_forward_desc_init(desc, dnnl_forward_inference, &src,
							      &w, spec->bias == NULL ? NULL : &bias,
							      dst);
	return status;
}

static psg_status build(psgi_dnnl_kernel *kernel, const psgi_linear_spec *spec,
			const_dnnl_primitive_desc_t pd, psgi_pack_cache *packs, psg_error *error)
{
	const dnnl_memory_desc_t *wanted =
		dnnl_primitive_desc_query_md(pd, dnnl_query_weights_md, 0);
	dnnl_dims_t weights = { spec->n, spec->k }, strides = { 1, spec->n }; /* stored [k, n] */
	dnnl_memory_desc_t plain;
	void *packed;
	psg_status status;

	if (dnnl_memory_desc_init_by_strides(&plain, 2, weights, dnnl_f32, strides) != dnnl_success)
		return psgi_dnnl_fail(error, "weights", dnnl_invalid_arguments);
	status = psgi_dnnl_weights(packs, spec->weights, &plain, wanted, &packed, error);
	if (status != PSG_OK)
		return status;
	kernel->in_arg[0] = psgi_dnnl_arg(kernel, DNNL_ARG_SRC,
					  dnnl_primitive_desc_query_md(pd, dnnl_query_src_md, 0),
					  DNNL_MEMORY_NONE);
	kernel->out_arg = psgi_dnnl_arg(kernel, DNNL_ARG_DST,
					dnnl_primitive_desc_query_md(pd, dnnl_query_dst_md, 0),
					DNNL_MEMORY_NONE);
	kernel->n_in = 1;
	if (kernel->in_arg[0] < 0 || kernel->out_arg < 0 ||
	    psgi_dnnl_arg(kernel, DNNL_ARG_WEIGHTS, wanted, packed) < 0 ||
	    (spec->bias != NULL &&
	     psgi_dnnl_arg(kernel, DNNL_ARG_BIAS,
			   dnnl_primitive_desc_query_md(pd, dnnl_query_weights_md, 1),
			   psg_tensor_data(spec->bias)) < 0))
		return psgi_dnnl_fail(error, "linear layer", dnnl_out_of_memory);
	return psgi_dnnl_finish(kernel, pd, spec->post, spec->n_post, error);
}

psg_status psgi_dnnl_linear(const psgi_linear_spec *spec, psgi_pack_cache *packs, psgi_kernel **out,
			    psg_error *error)
{
	dnnl_inner_product_desc_t desc;
	dnnl_memory_desc_t dst;
	dnnl_primitive_attr_t attr = NULL;
	dnnl_primitive_desc_t pd = NULL;
	psgi_dnnl_kernel *kernel;
	dnnl_status_t made = describe(spec, &desc, &dst);
	psg_status status;

	if (psgi_dnnl_stream() == NULL || made != dnnl_success)
		return psgi_dnnl_fail(error, "linear layer", dnnl_unimplemented);
	status = psgi_dnnl_attr(spec->post, spec->n_post, &dst, &attr, error);
	if (status != PSG_OK)
		return status;
	made = dnnl_primitive_desc_create(&pd, &desc, attr, psgi_dnnl_engine(), NULL);
	(void)dnnl_primitive_attr_destroy(attr);
	if (made != dnnl_success)
		return psgi_dnnl_fail(error, "linear layer", made);
	kernel = psgi_dnnl_kernel_new("dnnl linear");
	status = kernel == NULL ? psgi_dnnl_fail(error, "linear layer", dnnl_out_of_memory)
				: build(kernel, spec, pd, packs, error);
	(void)dnnl_primitive_desc_destroy(pd);
	if (status != PSG_OK) {
		if (kernel != NULL)
			psgi_kernel_destroy(&kernel->kernel);
		return status;
	}
	*out = &kernel->kernel;
	return PSG_OK;
}
