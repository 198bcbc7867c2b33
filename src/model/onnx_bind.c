/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters that ONNX gives as inputs: from tensors to descriptors. */
#include "config.h"

#include "model/onnx_internal.h"

#include "base/base.h"

#include <math.h>
#include <string.h>

/* The integers of a parameter of at most one dimension; n gets their number. */
static psg_status integers(const psg_tensor *tensor, const char *what, int64_t *values, size_t room,
			   size_t *n, psg_error *error)
{
	const psg_shape *shape;

	*n = 0;
	if (tensor == NULL)
		return psgi_fail(error, PSG_FORMAT, "%s is missing", what);
	shape = psg_tensor_shape(tensor);
	if (psg_tensor_dtype(tensor) != PSG_I64 || shape->rank > 1)
		return psgi_fail(error, PSG_FORMAT, "%s must be a list of integers", what);
	if (psg_shape_elements(shape) > (int64_t)room)
		return psgi_fail(error, PSG_UNSUPPORTED,
				 "%s has %lld entries, at most %zu are read", what,
				 (long long)psg_shape_elements(shape), room);
	*n = (size_t)psg_shape_elements(shape);
	memcpy(values, psg_tensor_const_data(tensor), *n * sizeof(int64_t));
	return PSG_OK;
}

static psg_status axes_of(const psg_tensor *tensor, int32_t *axes, int32_t *n, psg_error *error)
{
	int64_t values[PSG_MAX_RANK];
	size_t count;
	psg_status status = integers(tensor, "axes", values, PSG_MAX_RANK, &count, error);

	for (size_t i = 0; i < count && status == PSG_OK; i++) {
		if (values[i] < -PSG_MAX_RANK || values[i] > PSG_MAX_RANK)
			status = psgi_fail(error, PSG_FORMAT, "axis %lld is out of range",
					   (long long)values[i]);
		else
			axes[i] = (int32_t)values[i];
	}
	*n = (int32_t)count;
	return status;
}

static psg_status number(const psg_tensor *tensor, const char *what, double *value,
			 psg_error *error)
{
	if (psg_shape_elements(psg_tensor_shape(tensor)) != 1)
		return psgi_fail(error, PSG_FORMAT, "%s must be one number, it has %lld", what,
				 (long long)psg_shape_elements(psg_tensor_shape(tensor)));
	*value = psg_tensor_dtype(tensor) == PSG_F32
			 ? (double)*(const float *)psg_tensor_const_data(tensor)
			 : (double)*(const int64_t *)psg_tensor_const_data(tensor);
	return PSG_OK;
}

psg_status psgi_bind_clip(psgi_node *node, psg_tensor *const *param, const psg_shape *shape,
			  psg_error *error)
{
	double low = -INFINITY, high = INFINITY;
	psg_status status = PSG_OK;

	(void)shape;
	if (param[1] != NULL)
		status = number(param[1], "min", &low, error);
	if (status == PSG_OK && param[2] != NULL)
		status = number(param[2], "max", &high, error);
	node->params.unary = (psg_unary_params){ (float)low, (float)high };
	return status;
}

/* Reshape, Expand, Tile: a shape in input 1. */
psg_status psgi_bind_reshape(psgi_node *node, psg_tensor *const *param, const psg_shape *shape,
			     psg_error *error)
{
	psg_shape *to = &node->params.reshape.shape;
	size_t n;
	psg_status status = integers(param[1], "the shape", to->dim, PSG_MAX_RANK, &n, error);

	(void)shape;
	to->rank = (int32_t)n;
	return status;
}

psg_status psgi_bind_axes(psgi_node *node, psg_tensor *const *param, const psg_shape *shape,
			  psg_error *error)
{
	(void)shape;
	if (param[1] == NULL)
		return PSG_OK;
	return axes_of(param[1], node->params.axes.axes, &node->params.axes.n_axes, error);
}

psg_status psgi_bind_reduce(psgi_node *node, psg_tensor *const *param, const psg_shape *shape,
			    psg_error *error)
{
	(void)shape;
	if (param[1] == NULL)
		return PSG_OK;
	return axes_of(param[1], node->params.reduce.axes, &node->params.reduce.n_axes, error);
}

psg_status psgi_bind_slice(psgi_node *node, psg_tensor *const *param, const psg_shape *shape,
			   psg_error *error)
{
	psg_slice_params *p = &node->params.slice;
	size_t starts, ends, steps = 0;
	int32_t axes = 0;
	psg_status status = integers(param[1], "starts", p->start, PSG_MAX_RANK, &starts, error);

	(void)shape;
	if (status == PSG_OK)
		status = integers(param[2], "ends", p->end, PSG_MAX_RANK, &ends, error);
	if (status == PSG_OK && param[3] != NULL)
		status = axes_of(param[3], p->axes, &axes, error);
	if (status == PSG_OK && param[4] != NULL)
		status = integers(param[4], "steps", p->step, PSG_MAX_RANK, &steps, error);
	if (status != PSG_OK)
		return status;
	if (starts != ends || (param[3] != NULL && (size_t)axes != starts) ||
	    (param[4] != NULL && steps != starts))
		return psgi_fail(error, PSG_FORMAT,
				 "%zu starts, %zu ends, %d axes, %zu steps do not match", starts,
				 ends, axes, steps);
	p->n_axes = (int32_t)starts;
	for (size_t i = 0; i < starts; i++) {
		if (param[3] == NULL)
			p->axes[i] = (int32_t)i;
		if (param[4] == NULL)
			p->step[i] = 1;
		else if (p->step[i] == 0)
			return psgi_fail(error, PSG_FORMAT, "step %zu is 0", i);
	}
	return PSG_OK;
}

psg_status psgi_bind_split(psgi_node *node, psg_tensor *const *param, const psg_shape *shape,
			   psg_error *error)
{
	size_t n;
	psg_status status;

	(void)shape;
	if (param[1] == NULL)
		return PSG_OK;
	status = integers(param[1], "split", node->params.split.size, PSG_MAX_OUTPUTS, &n, error);
	if (status == PSG_OK && n != node->n_out)
		return psgi_fail(error, PSG_FORMAT, "%zu parts for %zu outputs", n, node->n_out);
	return status;
}

psg_status psgi_bind_pad(psgi_node *node, psg_tensor *const *param, const psg_shape *shape,
			 psg_error *error)
{
	int64_t pads[2 * PSG_MAX_RANK];
	psg_pad_params *p = &node->params.pad;
	size_t n, rank = (size_t)(shape[0].rank < 0 ? 0 : shape[0].rank);
	double value = 0;
	psg_status status = integers(param[1], "pads", pads, 2 * PSG_MAX_RANK, &n, error);

	if (status == PSG_OK && n != 2 * rank)
		return psgi_fail(error, PSG_FORMAT, "%zu pads for %zu dimensions", n, rank);
	if (status == PSG_OK && param[2] != NULL)
		status = number(param[2], "the padding value", &value, error);
	p->value = (float)value;
	for (size_t i = 0; i < rank && status == PSG_OK; i++) {
		p->begin[i] = pads[i];
		p->end[i] = pads[rank + i];
	}
	return status;
}

/* Scales of an Upsample or Resize: one for each dimension of the input. */
static psg_status scales_of(psgi_node *node, const psg_tensor *tensor, const psg_shape *in,
			    psg_error *error)
{
	const float *values;

	if (tensor == NULL || psg_tensor_dtype(tensor) != PSG_F32 ||
	    psg_tensor_shape(tensor)->rank != 1 || psg_tensor_shape(tensor)->dim[0] != in->rank)
		return psgi_fail(error, PSG_FORMAT,
				 "scales must be %d numbers, one for each dimension", in->rank);
	values = psg_tensor_const_data(tensor);
	for (int32_t i = 0; i < in->rank; i++)
		node->params.resize.scale[i] = (double)values[i];
	return PSG_OK;
}

psg_status psgi_bind_upsample(psgi_node *node, psg_tensor *const *param, const psg_shape *shape,
			      psg_error *error)
{
	return scales_of(node, param[1], &shape[0], error);
}

static bool is_empty(const psg_tensor *tensor)
{
	return tensor == NULL || psg_shape_elements(psg_tensor_shape(tensor)) == 0;
}

psg_status psgi_bind_resize(psgi_node *node, psg_tensor *const *param, const psg_shape *shape,
			    psg_error *error)
{
	size_t n;
	psg_status status;

	if (is_empty(param[3]))
		return scales_of(node, param[2], &shape[0], error);
	if (!is_empty(param[2]))
		return psgi_fail(error, PSG_FORMAT, "both scales and sizes are given");
	status = integers(param[3], "sizes", node->params.resize.size, PSG_MAX_RANK, &n, error);
	if (status == PSG_OK && n != (size_t)shape[0].rank)
		return psgi_fail(error, PSG_FORMAT, "%zu sizes for %d dimensions", n,
				 shape[0].rank);
	return status;
}

/* ConstantOfShape: the shape in input 0. */
psg_status psgi_bind_shape(psgi_node *node, psg_tensor *const *param, const psg_shape *shape,
			   psg_error *error)
{
	psg_shape *to = &node->params.fill.shape;
	size_t n;
	psg_status status = integers(param[0], "the shape", to->dim, PSG_MAX_RANK, &n, error);

	(void)shape;
	to->rank = (int32_t)n;
	return status;
}

psg_status psgi_bind_range(psgi_node *node, psg_tensor *const *param, const psg_shape *shape,
			   psg_error *error)
{
	psg_fill_params *p = &node->params.fill;
	psg_status status;

	(void)shape;
	for (size_t i = 0; i < 3; i++) {
		if (param[i] == NULL || psg_tensor_dtype(param[i]) != psg_tensor_dtype(param[0]))
			return psgi_fail(error, PSG_FORMAT,
					 "start, limit and step must be of one type");
	}
	p->dtype = psg_tensor_dtype(param[0]);
	status = number(param[0], "start", &p->start, error);
	if (status == PSG_OK)
		status = number(param[1], "limit", &p->limit, error);
	if (status == PSG_OK)
		status = number(param[2], "step", &p->step, error);
	return status;
}

psg_status psgi_bind_dropout(psgi_node *node, psg_tensor *const *param, const psg_shape *shape,
			     psg_error *error)
{
	double training = 0;
	psg_status status = PSG_OK;

	(void)node;
	(void)shape;
	if (param[2] != NULL)
		status = number(param[2], "training_mode", &training, error);
	if (status == PSG_OK && training != 0)
		return psgi_fail(error, PSG_UNSUPPORTED, "training is not done here");
	return status;
}

/* Without perm the dimensions are reversed, as many as there are. */
psg_status psgi_bind_transpose(psgi_node *node, psg_tensor *const *param, const psg_shape *shape,
			       psg_error *error)
{
	(void)param;
	(void)error;
	for (int32_t i = 0; i < shape[0].rank; i++)
		node->params.transpose.perm[i] = shape[0].rank - 1 - i;
	return PSG_OK;
}

/* Windows: lists that the file gives must have an entry for each spatial dimension, and the kernel
 * must be that of the weights. */
psg_status psgi_bind_window(psgi_node *node, psg_tensor *const *param, const psg_shape *shape,
			    psg_error *error)
{
	bool conv = node->kind == PSG_OP_CONV || node->kind == PSG_OP_CONV_TRANSPOSE;
	const int32_t *kernel = node->params.conv.window.kernel;
	char text[PSGI_SHAPE_TEXT];

	(void)param;
	if (node->spatial > 0 && shape[0].rank != node->spatial + 2)
		return psgi_fail(error, PSG_FORMAT,
				 "attributes for %d spatial dimensions, the input is %s",
				 node->spatial, psgi_shape_text(&shape[0], text));
	for (int32_t i = 0; conv && i < node->spatial && i + 2 < shape[1].rank; i++) {
		if (kernel[i] != 0 && kernel[i] != shape[1].dim[i + 2])
			return psgi_fail(error, PSG_FORMAT,
					 "kernel_shape says %d for spatial dimension %d, the "
					 "weights are %s",
					 kernel[i], i, psgi_shape_text(&shape[1], text));
	}
	return PSG_OK;
}

/* Tile before opset 6: how often, and along which dimension. */
psg_status psgi_bind_tile_axis(psgi_node *node, psg_tensor *const *param, const psg_shape *shape,
			       psg_error *error)
{
	psg_shape *repeats = &node->params.reshape.shape;
	double tiles, axis;
	psg_status status;

	if (param[1] == NULL || param[2] == NULL)
		return psgi_fail(error, PSG_FORMAT, "it needs tiles and axis");
	status = number(param[1], "tiles", &tiles, error);
	if (status == PSG_OK)
		status = number(param[2], "axis", &axis, error);
	if (status != PSG_OK)
		return status;
	if (!(axis >= 0 && axis < shape[0].rank && tiles >= 0 && tiles <= INT32_MAX))
		return psgi_fail(error, PSG_FORMAT, "%g tiles along axis %g of %d dimensions",
				 tiles, axis, shape[0].rank);
	repeats->rank = shape[0].rank;
	for (int32_t i = 0; i < repeats->rank; i++)
		repeats->dim[i] = 1;
	repeats->dim[(int32_t)axis] = (int64_t)tiles;
	return PSG_OK;
}
