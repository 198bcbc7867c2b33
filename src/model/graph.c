/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "model/graph.h"

#include <stdlib.h>

static void free_ports(psg_port *ports, size_t n)
{
	for (size_t i = 0; ports != NULL && i < n; i++) {
		free((char *)ports[i].name);
		for (size_t k = 0; k < PSG_MAX_RANK; k++)
			free((char *)ports[i].symbol[k]);
	}
	free(ports);
}

void psgi_graph_free(psgi_graph *graph)
{
	if (graph == NULL)
		return;
	for (size_t i = 0; i < graph->n_values; i++) {
		free(graph->values[i].name);
		psg_tensor_unref(graph->values[i].constant);
	}
	for (size_t i = 0; i < graph->n_nodes; i++)
		free(graph->nodes[i].name);
	for (size_t i = 0; i < graph->n_counts; i++)
		free(graph->counts[i].op_type);
	free_ports(graph->input_ports, graph->n_inputs);
	free_ports(graph->output_ports, graph->n_outputs);
	free(graph->values);
	free(graph->nodes);
	free(graph->counts);
	free(graph->inputs);
	free(graph->outputs);
	free(graph->name);
	free(graph);
}

/* Room for one more of `size` bytes; false when memory is short. */
static bool grow(void **items, size_t n, size_t *cap, size_t size)
{
	size_t want = *cap * 2 + 64;
	void *grown;

	if (n < *cap)
		return true;
	grown = reallocarray(*items, want, size);
	if (grown == NULL)
		return false;
	*items = grown;
	*cap = want;
	return true;
}

int32_t psgi_graph_add_value(psgi_graph *graph, psgi_value value)
{
	void *items = graph->values;

	if (!grow(&items, graph->n_values, &graph->cap_values, sizeof(value))) {
		free(value.name);
		psg_tensor_unref(value.constant);
		return -1;
	}
	graph->values = items;
	graph->values[graph->n_values] = value;
	return (int32_t)graph->n_values++;
}

int32_t psgi_graph_add_node(psgi_graph *graph, psgi_node node)
{
	void *items = graph->nodes;

	if (!grow(&items, graph->n_nodes, &graph->cap_nodes, sizeof(node))) {
		free(node.name);
		return -1;
	}
	graph->nodes = items;
	graph->nodes[graph->n_nodes] = node;
	return (int32_t)graph->n_nodes++;
}
