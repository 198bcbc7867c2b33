/* SPDX-License-Identifier: Apache-2.0 */
/* Operators that exporters write as several: hardswish, SiLU, LayerNorm. */
#include "config.h"

#include "model/passes.h"

#include <math.h>
#include <string.h>

static bool near(float value, double want)
{
	return fabs((double)value - want) <= 1e-6 * (1 + fabs(want));
}

/* The bounds of a Clip, from its attributes or its constant inputs. */
static bool clip_bounds(const psgi_graph *graph, const psgi_node *clip, float *low, float *high)
{
	psg_tensor *param[PSG_MAX_INPUTS] = { NULL };
	psg_shape shape[PSG_MAX_INPUTS];
	psgi_node bound = *clip;

	for (size_t i = 0; i < PSG_MAX_INPUTS; i++)
		shape[i].rank = -1;
	for (size_t i = 1; i < clip->n_in; i++) {
		if (clip->in[i] < 0)
			continue;
		param[i] = graph->values[clip->in[i]].constant;
		if (param[i] == NULL)
			return false;
	}
	if (clip->bind != NULL && clip->bind(&bound, param, shape, NULL) != PSG_OK)
		return false;
	*low = bound.params.unary.alpha;
	*high = bound.params.unary.beta;
	return true;
}

/* Is `value` clip(x + 3, 0, 6)? */
static bool is_shifted_clip(const psgi_editor *e, int32_t value, int32_t x)
{
	const psgi_node *clip = psgi_made_by(e, value, PSG_OP_CLIP), *add;
	float low, high, three;
	int32_t other;

	if (clip == NULL || !clip_bounds(e->graph, clip, &low, &high) || low != 0 || high != 6)
		return false;
	add = psgi_made_by(e, clip->in[0], PSG_OP_ADD);
	return add != NULL && psgi_with_scalar(e->graph, add, &three, &other, NULL) && three == 3 &&
	       other == x;
}

/* x * clip(x + 3, 0, 6) / 6, the division also as a product with 1/6. */
static bool match_hardswish(psgi_editor *e, psgi_node *node)
{
	const psgi_node *mul;
	float scale;
	int32_t product;

	if (node->kind == PSG_OP_DIV) {
		product = node->in[0];
		if (!psgi_scalar(e->graph, node->in[1], &scale, NULL) || scale != 6)
			return false;
	} else if (node->kind != PSG_OP_MUL ||
		   !psgi_with_scalar(e->graph, node, &scale, &product, NULL) ||
		   !near(scale, 1.0 / 6)) {
		return false;
	}
	mul = psgi_made_by(e, product, PSG_OP_MUL);
	if (mul == NULL || mul->n_in != 2)
		return false;
	for (size_t i = 0; i < 2; i++) {
		if (is_shifted_clip(e, mul->in[1 - i], mul->in[i])) {
			psgi_become_unary(node, PSG_OP_HARDSWISH, mul->in[i], 0, 0);
			return true;
		}
	}
	return false;
}

/* x * sigmoid(x), also as x * sigmoid(1 * x). */
static bool match_silu(psgi_editor *e, psgi_node *node)
{
	if (node->kind != PSG_OP_MUL || node->n_in != 2)
		return false;
	for (size_t i = 0; i < 2; i++) {
		const psgi_node *sigmoid = psgi_made_by(e, node->in[1 - i], PSG_OP_SIGMOID), *mul;
		int32_t x = node->in[i], other;
		float one;

		if (sigmoid == NULL)
			continue;
		mul = psgi_made_by(e, sigmoid->in[0], PSG_OP_MUL);
		if (sigmoid->in[0] == x ||
		    (mul != NULL && psgi_with_scalar(e->graph, mul, &one, &other, NULL) &&
		     one == 1 && other == x)) {
			psgi_become_unary(node, PSG_OP_SILU, x, 0, 0);
			return true;
		}
	}
	return false;
}

/* A mean over the last dimension only, which stays as 1. */
static bool is_last_mean(const psgi_node *node, int32_t x)
{
	return node != NULL && node->in[0] == x && node->params.reduce.n_axes == 1 &&
	       node->params.reduce.axes[0] == -1 && !node->params.reduce.drop_dims &&
	       node->param_inputs == 0;
}

/* Is `value` sqrt(mean((d)^2) + eps)? */
static bool is_deviation(const psgi_editor *e, int32_t value, int32_t d, float *epsilon)
{
	const psgi_node *root = psgi_made_by(e, value, PSG_OP_SQRT), *add, *mean, *square;
	int32_t other;
	float two;

	add = root == NULL ? NULL : psgi_made_by(e, root->in[0], PSG_OP_ADD);
	if (add == NULL || !psgi_with_scalar(e->graph, add, epsilon, &other, NULL))
		return false;
	mean = psgi_made_by(e, other, PSG_OP_REDUCE_MEAN);
	if (mean == NULL || !is_last_mean(mean, mean->in[0]))
		return false;
	square = psgi_made_by(e, mean->in[0], PSG_OP_POW);
	if (square != NULL)
		return square->in[0] == d && psgi_scalar(e->graph, square->in[1], &two, NULL) &&
		       two == 2;
	square = psgi_made_by(e, mean->in[0], PSG_OP_MUL);
	return square != NULL && square->n_in == 2 && square->in[0] == d && square->in[1] == d;
}

/* The constant of one dimension among a node's two inputs, and the other input. */
static bool with_vector(const psgi_graph *graph, const psgi_node *node, int32_t *vector,
			int32_t *other)
{
	for (size_t i = 0; node != NULL && node->n_in == 2 && i < 2; i++) {
		const psg_tensor *tensor =
			node->in[i] < 0 ? NULL : graph->values[node->in[i]].constant;

		if (tensor != NULL && psg_tensor_shape(tensor)->rank == 1 &&
		    psg_tensor_shape(tensor)->dim[0] > 1) {
			*vector = node->in[i];
			*other = node->in[1 - i];
			return true;
		}
	}
	return false;
}

/* (x - mean) / sqrt(mean((x - mean)^2) + eps) * gamma + beta over the last dimension. */
static bool match_layer_norm(psgi_editor *e, psgi_node *node)
{
	const psgi_node *div, *sub;
	int32_t beta, gamma, product, quotient;
	float epsilon;

	if (node->kind != PSG_OP_ADD || !with_vector(e->graph, node, &beta, &product) ||
	    !with_vector(e->graph, psgi_made_by(e, product, PSG_OP_MUL), &gamma, &quotient))
		return false;
	div = psgi_made_by(e, quotient, PSG_OP_DIV);
	sub = div == NULL ? NULL : psgi_made_by(e, div->in[0], PSG_OP_SUB);
	if (sub == NULL ||
	    !is_last_mean(psgi_made_by(e, sub->in[1], PSG_OP_REDUCE_MEAN), sub->in[0]) ||
	    !is_deviation(e, div->in[1], div->in[0], &epsilon) ||
	    !psg_shape_equal(psg_tensor_shape(e->graph->values[gamma].constant),
			     psg_tensor_shape(e->graph->values[beta].constant)))
		return false;
	node->kind = PSG_OP_LAYER_NORM;
	memset(&node->params, 0, sizeof(node->params));
	node->params.norm = (psg_norm_params){ .epsilon = epsilon, .axis = -1 };
	node->in[0] = sub->in[0];
	node->in[1] = gamma;
	node->in[2] = beta;
	node->n_in = 3;
	return true;
}

psg_status psgi_pass_patterns(psgi_graph *graph, psg_error *error)
{
	psgi_editor editor;
	psg_status status = psgi_editor_open(&editor, graph, error);

	/* A match only looks upwards, and what it leaves unused is swept later. */
	for (size_t i = 0; status == PSG_OK && i < graph->n_nodes; i++) {
		psgi_node *node = &graph->nodes[i];

		if (node->dead)
			continue;
		(void)(match_hardswish(&editor, node) || match_silu(&editor, node) ||
		       match_layer_norm(&editor, node));
	}
	psgi_editor_close(&editor);
	return status == PSG_OK ? psgi_graph_sweep(graph, error) : status;
}
