/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A model between the file and the plan: values and nodes in topological order.
 *
 * Every node is one operator of the table.  Some inputs are parameters (the
 * shape of a Reshape, the bounds of a Slice or a Clip, the scales of a Resize):
 * their values must be known when a plan is made, so that a plan has fixed
 * shapes.  `bind` turns their values into the operator's descriptor.
 */
#ifndef PSG_MODEL_GRAPH_H
#define PSG_MODEL_GRAPH_H

#include "ops/ops.h"

#include <pagesift/model.h>

typedef struct psgi_value {
	char *name;           /* as in the file; owned */
	psg_dtype dtype;      /* of inputs and constants; F32 until known */
	psg_tensor *constant; /* owned reference; NULL unless the value is known at load */
} psgi_value;

typedef struct psgi_node psgi_node;

/*
 * Completes node->params.  `param[i]` is the tensor of input i where it is a
 * parameter and present, else NULL; `shape[i]` the shape of every other present
 * input (rank -1 when absent or a parameter).  Called on a copy of the node for each plan.
 */
typedef psg_status (*psgi_bind_fn)(psgi_node *node, psg_tensor *const *param,
				   const psg_shape *shape, psg_error *error);

struct psgi_node {
	char *name;          /* the file's, or its first output's; owned */
	const char *op_type; /* ONNX's name; static */
	psg_op_kind kind;
	psg_op_params params;
	uint32_t param_inputs; /* bit i: input i is a parameter */
	uint32_t shape_inputs; /* bit i: bind wants the shape of input i, the operator nothing */
	psgi_bind_fn bind;     /* NULL: params are complete */
	uint8_t spatial;       /* dimensions that a window's attributes name; 0: none */
	size_t n_in, n_out;
	int32_t in[PSG_MAX_INPUTS];   /* indices of values; -1: absent */
	int32_t out[PSG_MAX_OUTPUTS]; /* -1: nobody wants it */
	bool dead;                    /* removed by a pass */
};

/* Uses of an ONNX operator in the file, for the `model` command. */
typedef struct psgi_op_count {
	char *op_type; /* owned */
	size_t count;
} psgi_op_count;

typedef struct psgi_graph {
	char *name; /* the file's; for messages; owned */
	psgi_value *values;
	size_t n_values, cap_values;
	psgi_node *nodes;
	size_t n_nodes, cap_nodes;
	int32_t *inputs, *outputs;            /* values; owned */
	psg_port *input_ports, *output_ports; /* names and symbols owned by the graph */
	size_t n_inputs, n_outputs;
	psgi_op_count *counts; /* sorted by name */
	size_t n_counts;
	size_t file_nodes;  /* nodes in the file, constants included */
	int64_t fold_room;  /* elements that passes may still add as constants */
	int64_t fold_work;  /* multiply-adds and elements that folding may still cost */
	int64_t parameters; /* float elements of weights in the file */
} psgi_graph;

/* Reads ONNX (src/model/onnx.c): errors as psg_model_load_memory.  `name` may be NULL. */
psg_status psgi_onnx_read(const void *data, size_t size, const char *name, psgi_graph **out,
			  psg_error *error);

void psgi_graph_free(psgi_graph *graph); /* NULL is allowed */

/* Appends; the graph takes over what the value or node owns, also on failure.  Index or -1 (NOMEM).
 */
int32_t psgi_graph_add_value(psgi_graph *graph, psgi_value value);
int32_t psgi_graph_add_node(psgi_graph *graph, psgi_node node);

/*
 * Puts the nodes into an order in which each comes after what it reads, and otherwise in the order
 * they have; O(nodes + inputs).  Each value has at most one maker.  FORMAT: a cycle, with the names
 * of its nodes; NOMEM.
 */
psg_status psgi_graph_sort(psgi_graph *graph, psg_error *error);

#endif
