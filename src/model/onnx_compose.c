/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Operators of ONNX that are several of ours.  The node being read becomes the
 * last of them; those before it go into the graph, under its name.
 */
#include "config.h"

#include "model/onnx_internal.h"

#include "base/base.h"

#include <stdlib.h>
#include <string.h>

/* Puts `node`, whose only output is a new value, into the graph; that value, or -1. */
static int32_t emit(psgi_reader *r, psgi_node node)
{
	node.op_type = r->node->op_type;
	node.name = strdup(psgi_onnx_node_name(r->proto));
	node.n_out = 1;
	node.out[0] = psgi_graph_add_value(r->graph, (psgi_value){ NULL, PSG_F32, NULL });
	if (node.name == NULL || node.out[0] < 0) {
		free(node.name);
		node.out[0] = -1;
	} else if (psgi_graph_add_node(r->graph, node) < 0) {
		node.out[0] = -1;
	}
	if (node.out[0] < 0)
		psgi_reader_fail(r, PSG_NOMEM, "no memory for the %s", "model");
	return node.out[0];
}

/* --- before opset 7, the second operand was lined up with dimensions of the first --- */

/* Input 0 gets as many dimensions of 1 behind it as line it up with axis axes[0] of input 1. */
static psg_status bind_line_up(psgi_node *node, psg_tensor *const *param, const psg_shape *shape,
			       psg_error *error)
{
	psg_axes_params *p = &node->params.axes;
	int64_t axis = p->axes[0], behind;
	char small[PSGI_SHAPE_TEXT], large[PSGI_SHAPE_TEXT];

	(void)param;
	if (axis < 0)
		axis += shape[1].rank;
	behind = shape[1].rank - axis - shape[0].rank;
	if (behind < 0 && psg_shape_elements(&shape[0]) == 1)
		behind = 0;
	if (axis < 0 || behind < 0)
		return psgi_fail(error, PSG_FORMAT, "%s does not line up with %s from axis %d on",
				 psgi_shape_text(&shape[0], small),
				 psgi_shape_text(&shape[1], large), p->axes[0]);
	p->n_axes = (int32_t)behind;
	for (int32_t i = 0; i < p->n_axes; i++)
		p->axes[i] = shape[0].rank + i;
	return PSG_OK;
}

/* Lines input 1 of the node up with its input 0. */
static void line_up(psgi_reader *r, int32_t axis)
{
	psgi_node *node = r->node;
	psgi_node before = {
		.kind = PSG_OP_UNSQUEEZE,
		.shape_inputs = 0x2,
		.bind = bind_line_up,
		.n_in = 2,
		.in = { node->in[1], node->in[0] },
	};

	before.params.axes.axes[0] = axis;
	if (node->n_in == 2 && node->in[0] >= 0 && node->in[1] >= 0)
		node->in[1] = emit(r, before);
}

void psgi_read_line_up(psgi_reader *r)
{
	bool broadcast = psgi_attr_int(r, "broadcast", 0) != 0;
	int32_t axis = psgi_attr_int32(r, "axis", 0);

	/* Without an axis the last dimensions are meant, as ever after. */
	if (broadcast && psgi_attr_given(r, "axis"))
		line_up(r, axis);
}

void psgi_read_prelu_channels(psgi_reader *r)
{
	line_up(r, 1);
}
