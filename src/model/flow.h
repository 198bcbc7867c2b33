/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A flow: a graph for one set of input shapes.
 *
 * Everything that only depends on shapes is gone (evaluated on the host), every
 * node is an operator of the table with a complete descriptor, every value has
 * its shape.  Passes rewrite a flow; a plan lowers it to kernels of a device.
 */
#ifndef PSG_MODEL_FLOW_H
#define PSG_MODEL_FLOW_H

#include "model/graph.h"

#define PSGI_MAX_POST 6 /* chosen: a convolution here has at most hardswish, affine, add, relu */

/* An operation on the elements of a node's result, before they are stored. */
typedef struct psgi_post {
	psg_op_kind kind; /* a unary operator, or ADD of a value of the same shape */
	float alpha, beta;
	int32_t value; /* ADD: the other operand; else -1 */
} psgi_post;

typedef struct psgi_fvalue {
	psg_dtype dtype;
	psg_shape shape;
	psg_tensor *constant; /* an owned reference; NULL: computed by a run */
	int32_t producer;     /* index of a node; -1: an input, a constant or unused */
	int32_t uses;         /* by nodes, posts and outputs */
	int32_t width;        /* index into widths; -1: no valid widths */
	int32_t width_axis;
} psgi_fvalue;

/* Parts of a mix: gates, residuals, interpolation and concatenation in one pass (ops/blocked.h). */
#define PSGI_MAX_PARTS 5

typedef struct psgi_mix {
	size_t parts; /* 0: the node is not a mix; else in[2i] is part i and in[2i + 1] its gate, or
			 -1 */
	int32_t up[PSGI_MAX_PARTS];
	float base[PSGI_MAX_PARTS]; /* the factor is base + gate */
	int32_t addend, up_addend;  /* a value added to the only part, or -1 */
} psgi_mix;

typedef struct psgi_fnode {
	psg_op_kind kind;
	psg_op_params params;
	const char *name; /* borrowed from the graph */
	size_t n_in, n_out, n_post;
	int32_t in[PSG_MAX_INPUTS]; /* -1: absent */
	int32_t out[PSG_MAX_OUTPUTS];
	psgi_post post[PSGI_MAX_POST];
	psgi_mix mix;
	bool dead;           /* removed by a pass */
	bool looks_sideways; /* its padding columns must be masked */
} psgi_fnode;

/* Valid widths at one place of the flow, as a function of those at another. */
typedef struct psgi_width {
	int32_t parent; /* -1: the input's own */
	psgi_width_map map;
	int64_t limit; /* columns there */
} psgi_width;

typedef struct psgi_flow {
	const psgi_graph *graph;
	psgi_fvalue *values;
	size_t n_values, cap_values;
	psgi_fnode *nodes;
	size_t n_nodes, cap_nodes;
	const int32_t *inputs, *outputs; /* the graph's; the same indices are used here */
	psgi_width *widths;
	size_t n_widths;
	const char *
		mixer; /* the first node that valid widths cannot be followed through; NULL: none */
} psgi_flow;

/*
 * Makes the flow of `graph` for these inputs.  Where known[i] is not NULL the values of input i are
 * known too, and what depends on them alone is evaluated.  INVALID names the node and the numbers.
 */
psg_status psgi_specialise(const psgi_graph *graph, const psg_shape *shapes,
			   psg_tensor *const *known, psgi_flow *flow, psg_error *error);

void psgi_flow_free(psgi_flow *flow);

/* Appends a value or node; -1 when memory is short. */
int32_t psgi_flow_add_value(psgi_flow *flow, psg_dtype dtype, const psg_shape *shape);
int32_t psgi_flow_add_node(psgi_flow *flow, const psgi_fnode *node);

/* Recounts producers and uses, and drops nodes whose results nobody uses. */
void psgi_flow_sweep(psgi_flow *flow);

/* Follows valid widths from input 0; sets widths and mixer. */
psg_status psgi_flow_widths(psgi_flow *flow, psg_error *error);

/* Is `value` made by one live node of this kind, for one user only?  The node, or NULL. */
psgi_fnode *psgi_flow_sole(psgi_flow *flow, int32_t value, psg_op_kind kind);

/* Views of a node's operands without data, for the table's rules. */
void psgi_flow_call(const psgi_flow *flow, const psgi_fnode *node, psgi_call *call);

/* Passes over a flow; each leaves it valid. */
psg_status psgi_pass_attention(psgi_flow *flow, psg_error *error);
psg_status psgi_pass_sequence(psgi_flow *flow, psg_error *error);
psg_status psgi_pass_digest(psgi_flow *flow, psg_error *error);

#endif
