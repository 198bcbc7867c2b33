/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From the bytes of an ONNX file to a graph.  The file may be hostile: its
 * size, depth, counts and every index are checked before they are used.
 */
#include "config.h"

#include "model/onnx_internal.h"

#include "base/base.h"

#include <search.h>
#include <stdlib.h>
#include <string.h>

#define OLDEST_OPSET 1
#define NEWEST_OPSET 17
#define MAX_NODES 100000 /* chosen: a hundred times the largest model here */

/* --- unpacking within limits --- */

/* Nested messages are unpacked by recursion: enough for any real model, and safe on a small thread.
 */
#define MAX_STACK_BYTES (128 * 1024)

/* Unpacked messages are larger than packed ones, but not by more than this (chosen). */
#define MAX_GROWTH 64

struct limits {
	ProtobufCAllocator allocator;
	uintptr_t stack;
	size_t left;
	const char *passed; /* the first limit that was, or NULL */
	bool no_memory;     /* rather than beyond the limits */
};

/* The frame's address: that of a local variable is on no stack at all where AddressSanitizer moved
 * it to the heap. */
static inline uintptr_t stack_here(void)
{
	return (uintptr_t)__builtin_frame_address(0);
}

static void *limited_alloc(void *data, size_t size)
{
	struct limits *limits = data;
	uintptr_t depth = limits->stack - stack_here();
	void *memory;

	/* NULL fails the unpacking in an orderly way. */
	if (limits->passed == NULL && depth > MAX_STACK_BYTES)
		limits->passed = "graphs within graphs, too deep";
	else if (limits->passed == NULL && size > limits->left)
		limits->passed = "it would take over 64 times the file's size in memory";
	if (limits->passed != NULL)
		return NULL;
	limits->left -= size;
	memory = psgi_onnx_alloc(size);
	limits->no_memory = limits->no_memory || memory == NULL;
	return memory;
}

static void limited_free(void *data, void *memory)
{
	(void)data;
	free(memory);
}

/* --- building --- */

struct builder {
	psgi_graph *graph;
	const Onnx__GraphProto *proto;
	int64_t opset;
	void *names; /* a tree of struct name */
	bool *made;  /* by value: an input, a constant or some node's output */
	size_t cap_made;
	psg_error *error;
};

struct name {
	const char *text; /* of the file; "" never gets here */
	int32_t value;
};

static int by_text(const void *a, const void *b)
{
	return strcmp(((const struct name *)a)->text, ((const struct name *)b)->text);
}

static psg_status no_memory(psg_error *error)
{
	return psgi_fail(error, PSG_NOMEM, "no memory for the model");
}

/* The value called `text`, new if it is not there yet; -1 when memory is short. */
static int32_t value_named(struct builder *b, const char *text)
{
	struct name *name = malloc(sizeof(*name)), **found;
	char *copy;

	if (name == NULL)
		return -1;
	*name = (struct name){ text, -1 };
	found = tsearch(name, &b->names, by_text);
	if (found == NULL || *found != name) {
		free(name);
		return found == NULL ? -1 : (*found)->value;
	}
	copy = strdup(text);
	if (copy != NULL)
		name->value = psgi_graph_add_value(b->graph, (psgi_value){ copy, PSG_F32, NULL });
	return name->value;
}

static psg_status mark_made(struct builder *b, int32_t value)
{
	if ((size_t)value >= b->cap_made) {
		size_t cap = (size_t)value * 2 + 256;
		bool *grown = realloc(b->made, cap);

		if (grown == NULL)
			return no_memory(b->error);
		memset(grown + b->cap_made, 0, cap - b->cap_made);
		b->made = grown;
		b->cap_made = cap;
	}
	if (b->made[value])
		/* NOLINTNEXTLINE(clang-analyzer-core.NullDereference): a value has a place */
		return psgi_fail(b->error, PSG_FORMAT, "value '%.80s' is made twice",
				 b->graph->values[value].name);
	b->made[value] = true;
	return PSG_OK;
}

static bool is_made(const struct builder *b, int32_t value)
{
	return (size_t)value < b->cap_made && b->made[value];
}

/* Takes over the tensor. */
static psg_status add_constant(struct builder *b, const char *text, psg_tensor *tensor)
{
	int32_t value = value_named(b, text);
	psg_status status = value < 0 ? no_memory(b->error) : mark_made(b, value);

	if (status != PSG_OK) {
		psg_tensor_unref(tensor);
		return status;
	}
	b->graph->values[value].constant = tensor;
	b->graph->values[value].dtype = psg_tensor_dtype(tensor);
	if (psg_tensor_dtype(tensor) == PSG_F32)
		b->graph->parameters += psg_shape_elements(psg_tensor_shape(tensor));
	return PSG_OK;
}

static psg_status add_initializers(struct builder *b)
{
	if (b->proto->n_sparse_initializer > 0)
		return psgi_fail(b->error, PSG_UNSUPPORTED, "sparse weights are not read");
	for (size_t i = 0; i < b->proto->n_initializer; i++) {
		Onnx__TensorProto *proto = b->proto->initializer[i];
		psg_tensor *tensor = NULL;
		psg_status status;

		if (proto->name == NULL || *proto->name == '\0')
			return psgi_fail(b->error, PSG_FORMAT, "weight %zu has no name", i);
		status = psgi_onnx_take_tensor(proto, proto->name, &tensor, b->error);
		if (status == PSG_OK)
			status = add_constant(b, proto->name, tensor);
		if (status != PSG_OK)
			return status;
	}
	return PSG_OK;
}

/* --- ports --- */

static psg_status read_port(const Onnx__ValueInfoProto *proto, bool output, psg_port *port,
			    psg_error *error)
{
	const Onnx__TypeProto__Tensor *type;
	const char *side = output ? "output" : "input";

	port->name = strdup(proto->name);
	if (port->name == NULL)
		return no_memory(error);
	if (proto->type == NULL || proto->type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE)
		return psgi_fail(error, PSG_UNSUPPORTED, "%s '%.80s' is not a tensor", side,
				 port->name);
	type = proto->type->tensor_type;
	if (!psgi_onnx_dtype(type->elem_type, &port->dtype))
		return psgi_fail(
			error, PSG_UNSUPPORTED,
			"%s '%.80s' has %s elements; float32, int64, int32 and bool are done", side,
			port->name, psgi_onnx_type_name(type->elem_type));
	if (type->shape == NULL) { /* any rank: only outputs, whose shape follows from the run */
		port->shape.rank = -1;
		return output ? PSG_OK
			      : psgi_fail(error, PSG_UNSUPPORTED, "input '%.80s' has no shape",
					  port->name);
	}
	if (type->shape->n_dim > PSG_MAX_RANK)
		return psgi_fail(error, PSG_UNSUPPORTED,
				 "%s '%.80s' has %zu dimensions, at most %d are done", side,
				 port->name, type->shape->n_dim, PSG_MAX_RANK);
	port->shape.rank = (int32_t)type->shape->n_dim;
	for (size_t i = 0; i < type->shape->n_dim; i++) {
		const Onnx__TensorShapeProto__Dimension *dim = type->shape->dim[i];

		port->shape.dim[i] = -1;
		if (dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE &&
		    dim->dim_value >= 0)
			port->shape.dim[i] = dim->dim_value;
		else if (dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM)
			port->symbol[i] = strdup(dim->dim_param);
	}
	return PSG_OK;
}

static psg_status add_inputs(struct builder *b)
{
	psgi_graph *graph = b->graph;

	graph->inputs = calloc(b->proto->n_input + 1, sizeof(*graph->inputs));
	graph->input_ports = calloc(b->proto->n_input + 1, sizeof(*graph->input_ports));
	if (graph->inputs == NULL || graph->input_ports == NULL)
		return no_memory(b->error);
	for (size_t i = 0; i < b->proto->n_input; i++) {
		const Onnx__ValueInfoProto *proto = b->proto->input[i];
		psg_status status;
		int32_t value;

		if (proto->name == NULL || *proto->name == '\0')
			return psgi_fail(b->error, PSG_FORMAT, "input %zu has no name", i);
		value = value_named(b, proto->name);
		if (value < 0)
			return no_memory(b->error);
		/* Before ONNX's IR 4 every weight was also listed as an input. */
		if (graph->values[value].constant != NULL)
			continue;
		status = mark_made(b, value);
		if (status != PSG_OK)
			return status;
		graph->inputs[graph->n_inputs] = value;
		status = read_port(proto, false, &graph->input_ports[graph->n_inputs++], b->error);
		if (status != PSG_OK)
			return status;
		graph->values[value].dtype = graph->input_ports[graph->n_inputs - 1].dtype;
	}
	return PSG_OK;
}

static psg_status add_outputs(struct builder *b)
{
	psgi_graph *graph = b->graph;

	if (b->proto->n_output == 0)
		return psgi_fail(b->error, PSG_FORMAT, "the graph has no output");
	graph->outputs = calloc(b->proto->n_output, sizeof(*graph->outputs));
	graph->output_ports = calloc(b->proto->n_output, sizeof(*graph->output_ports));
	if (graph->outputs == NULL || graph->output_ports == NULL)
		return no_memory(b->error);
	for (size_t i = 0; i < b->proto->n_output; i++) {
		const Onnx__ValueInfoProto *proto = b->proto->output[i];
		psg_status status;
		int32_t value;

		if (proto->name == NULL || *proto->name == '\0')
			return psgi_fail(b->error, PSG_FORMAT, "output %zu has no name", i);
		value = value_named(b, proto->name);
		if (value < 0)
			return no_memory(b->error);
		if (!is_made(b, value))
			return psgi_fail(b->error, PSG_FORMAT, "output '%.80s' is made by no node",
					 proto->name);
		graph->outputs[graph->n_outputs] = value;
		status = read_port(proto, true, &graph->output_ports[graph->n_outputs++], b->error);
		if (status != PSG_OK)
			return status;
	}
	return PSG_OK;
}

/* --- nodes --- */

const char *psgi_onnx_node_name(const Onnx__NodeProto *proto)
{
	if (proto->name != NULL && *proto->name != '\0')
		return proto->name;
	return proto->n_output > 0 && proto->output[0] != NULL ? proto->output[0] : "";
}

static psg_status in_node(const Onnx__NodeProto *proto, psg_status status, psg_error *error)
{
	psgi_error_prefix(error, "node '%.80s' (%.40s)", psgi_onnx_node_name(proto),
			  proto->op_type);
	return status;
}

static psg_status add_values(struct builder *b, char **texts, size_t n, size_t room,
			     int32_t *values, size_t *count, psg_error *error)
{
	while (n > 0 && (texts[n - 1] == NULL || *texts[n - 1] == '\0'))
		n--; /* trailing absent ones */
	if (n > room)
		return psgi_fail(error, PSG_UNSUPPORTED,
				 "%zu inputs or outputs, at most %zu are done", n, room);
	for (size_t i = 0; i < n; i++) {
		values[i] = -1;
		if (texts[i] == NULL || *texts[i] == '\0')
			continue;
		values[i] = value_named(b, texts[i]);
		if (values[i] < 0)
			return no_memory(error);
	}
	*count = n;
	return PSG_OK;
}

static psg_status add_node(struct builder *b, const Onnx__NodeProto *proto)
{
	psgi_node node = { 0 };
	psg_status status = add_values(b, proto->input, proto->n_input, PSG_MAX_INPUTS, node.in,
				       &node.n_in, b->error);

	if (status == PSG_OK)
		status = add_values(b, proto->output, proto->n_output, PSG_MAX_OUTPUTS, node.out,
				    &node.n_out, b->error);
	for (size_t i = 0; status == PSG_OK && i < node.n_out; i++) {
		if (node.out[i] >= 0)
			status = mark_made(b, node.out[i]);
	}
	if (status == PSG_OK)
		status = psgi_onnx_operator(proto, b->opset, b->graph, &node, b->error);
	if (status != PSG_OK)
		return in_node(proto, status, b->error);
	node.name = strdup(psgi_onnx_node_name(proto));
	if (node.name == NULL || psgi_graph_add_node(b->graph, node) < 0)
		return no_memory(b->error);
	return PSG_OK;
}

static psg_status add_constant_node(struct builder *b, const Onnx__NodeProto *proto)
{
	psg_tensor *tensor = NULL;
	psg_status status;

	if (proto->n_output != 1 || proto->output[0] == NULL || *proto->output[0] == '\0')
		return in_node(proto,
			       psgi_fail(b->error, PSG_FORMAT, "it has %zu outputs, 1 is right",
					 proto->n_output),
			       b->error);
	status = psgi_onnx_constant(proto, &tensor, b->error);
	if (status == PSG_OK)
		status = add_constant(b, proto->output[0], tensor);
	return status == PSG_OK ? PSG_OK : in_node(proto, status, b->error);
}

static psg_status add_nodes(struct builder *b)
{
	if (b->proto->n_node > MAX_NODES)
		return psgi_fail(b->error, PSG_UNSUPPORTED, "%zu nodes, at most %d are read",
				 b->proto->n_node, MAX_NODES);
	b->graph->file_nodes = b->proto->n_node;
	for (size_t i = 0; i < b->proto->n_node; i++) {
		const Onnx__NodeProto *proto = b->proto->node[i];
		psg_status status;

		if (proto->op_type == NULL)
			return psgi_fail(b->error, PSG_FORMAT, "node %zu has no operator", i);
		if (proto->domain != NULL && *proto->domain != '\0' &&
		    strcmp(proto->domain, "ai.onnx") != 0)
			return in_node(proto,
				       psgi_fail(b->error, PSG_UNSUPPORTED,
						 "operators of '%.60s' are not done here",
						 proto->domain),
				       b->error);
		status = strcmp(proto->op_type, "Constant") == 0 ? add_constant_node(b, proto)
								 : add_node(b, proto);
		if (status != PSG_OK)
			return status;
		/* Some operators of the file are several of ours. */
		if (b->graph->n_nodes > MAX_NODES)
			return psgi_fail(b->error, PSG_UNSUPPORTED,
					 "over %d operators, of %zu nodes", MAX_NODES,
					 b->proto->n_node);
	}
	return PSG_OK;
}

/* --- what nodes read --- */

/* Whether Dropout trains must be known now: it is the one parameter that decides if a model is done
 * at all. */
static psg_status check_training(const psgi_graph *graph, const psgi_node *node, psg_error *error)
{
	if (node->bind != psgi_bind_dropout || node->n_in < 3 || node->in[2] < 0 ||
	    graph->values[node->in[2]].constant != NULL)
		return PSG_OK;
	return psgi_fail(error, PSG_UNSUPPORTED, "node '%.80s' (%s): training is not done here",
			 node->name, node->op_type);
}

static psg_status check_reads(const struct builder *b)
{
	const psgi_graph *graph = b->graph;

	for (size_t i = 0; i < graph->n_nodes; i++) {
		const psgi_node *node = &graph->nodes[i];
		psg_status status = check_training(graph, node, b->error);

		if (status != PSG_OK)
			return status;
		for (size_t k = 0; k < node->n_in; k++) {
			/* Values without a name are the reader's own. */
			if (node->in[k] >= 0 && graph->values[node->in[k]].name != NULL &&
			    !is_made(b, node->in[k]))
				return psgi_fail(
					b->error, PSG_FORMAT,
					"node '%.80s' (%s) reads '%.80s', which nothing makes",
					node->name, node->op_type, graph->values[node->in[k]].name);
		}
	}
	return PSG_OK;
}

/* --- counts of operators, for the `model` command --- */

static int by_pointer(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static psg_status count_operators(struct builder *b)
{
	size_t n = b->proto->n_node;
	char **types = malloc((n + 1) * sizeof(*types));

	b->graph->counts = calloc(n + 1, sizeof(*b->graph->counts));
	if (types == NULL || b->graph->counts == NULL) {
		free(types);
		return no_memory(b->error);
	}
	for (size_t i = 0; i < n; i++)
		types[i] = b->proto->node[i]->op_type;
	qsort(types, n, sizeof(*types), by_pointer);
	for (size_t i = 0; i < n; i++) {
		psgi_op_count *counts = b->graph->counts;

		if (i > 0 && strcmp(types[i - 1], types[i]) == 0) {
			counts[b->graph->n_counts - 1].count++;
			continue;
		}
		counts[b->graph->n_counts] = (psgi_op_count){ strdup(types[i]), 1 };
		if (counts[b->graph->n_counts].op_type == NULL) {
			free(types);
			return no_memory(b->error);
		}
		b->graph->n_counts++;
	}
	free(types);
	return PSG_OK;
}

/* --- the whole --- */

/*
 * A short file can ask for constants of any size and any work in making them (a product of two
 * ConstantOfShape).  What goes beyond these is left for the run, which can be stopped and whose
 * cost can be asked for (chosen: some constants made of nothing, in well below a second, and
 * several copies of the weights, as transposed or with a BatchNorm in them).
 */
#define FREE_ELEMENTS (INT64_C(1) << 22)
#define COPIES 4
#define FREE_WORK (INT64_C(1) << 28)

static void allow_folding(psgi_graph *graph)
{
	int64_t elements = 0;

	for (size_t i = 0; i < graph->n_values; i++) {
		if (graph->values[i].constant != NULL)
			elements += psg_shape_elements(psg_tensor_shape(graph->values[i].constant));
	}
	graph->fold_room = FREE_ELEMENTS + COPIES * elements;
	graph->fold_work = FREE_WORK + 4 * COPIES * elements;
}

static psg_status find_opset(const Onnx__ModelProto *model, int64_t *opset, psg_error *error)
{
	*opset = 0;
	for (size_t i = 0; i < model->n_opset_import; i++) {
		const char *domain = model->opset_import[i]->domain;

		if (domain == NULL || *domain == '\0' || strcmp(domain, "ai.onnx") == 0)
			*opset = model->opset_import[i]->version;
	}
	if (*opset == 0)
		return psgi_fail(error, PSG_FORMAT,
				 "the file names no opset: it is not ONNX, or truncated");
	if (*opset < OLDEST_OPSET || *opset > NEWEST_OPSET)
		return psgi_fail(error, PSG_UNSUPPORTED, "opset %lld; %d to %d are read",
				 (long long)*opset, OLDEST_OPSET, NEWEST_OPSET);
	return PSG_OK;
}

static void free_names(void *tree)
{
	tdestroy(tree, free);
}

static psg_status build(const Onnx__ModelProto *model, psgi_graph *graph, psg_error *error)
{
	struct builder b = { .graph = graph, .proto = model->graph, .error = error };
	psg_status status;

	if (model->graph == NULL)
		return psgi_fail(error, PSG_FORMAT,
				 "the file has no graph: it is not ONNX, or truncated");
	status = find_opset(model, &b.opset, error);
	if (status == PSG_OK)
		status = add_initializers(&b);
	if (status == PSG_OK)
		status = add_inputs(&b);
	if (status == PSG_OK)
		status = add_nodes(&b);
	if (status == PSG_OK)
		status = add_outputs(&b);
	if (status == PSG_OK)
		status = check_reads(&b);
	if (status == PSG_OK)
		status = psgi_graph_sort(graph, error);
	if (status == PSG_OK)
		status = count_operators(&b);
	allow_folding(graph);
	free_names(b.names);
	free(b.made);
	return status;
}

psg_status psgi_onnx_read(const void *data, size_t size, const char *name, psgi_graph **out,
			  psg_error *error)
{
	struct limits limits = { .allocator = { limited_alloc, limited_free, &limits },
				 .stack = stack_here() };
	Onnx__ModelProto *model;
	psgi_graph *graph;
	psg_status status;

	*out = NULL;
	if (size == 0)
		return psgi_fail(error, PSG_FORMAT, "%.160s: the file is empty",
				 name == NULL ? "model" : name);
	if (__builtin_mul_overflow(size, (size_t)MAX_GROWTH, &limits.left))
		limits.left = SIZE_MAX;
	graph = calloc(1, sizeof(*graph));
	if (graph == NULL)
		return no_memory(error);
	graph->name = strdup(name == NULL ? "model" : name);
	model = onnx__model_proto__unpack(&limits.allocator, size, data);
	if (graph->name == NULL || limits.no_memory)
		status = no_memory(error);
	else if (model == NULL)
		status = psgi_fail(error, PSG_FORMAT, "%s",
				   limits.passed == NULL ? "not an ONNX model, or truncated"
							 : limits.passed);
	else
		status = build(model, graph, error);
	if (model != NULL)
		onnx__model_proto__free_unpacked(model, &limits.allocator);
	if (status != PSG_OK) {
		psgi_error_prefix(error, "%.160s", name == NULL ? "model" : name);
		psgi_graph_free(graph);
		return status;
	}
	*out = graph;
	return PSG_OK;
}
