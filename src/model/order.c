/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The order of a graph's nodes.  ONNX demands that each comes after what it
 * reads; a file that does not keep to it is sorted, and only a true cycle is
 * refused.
 *
 * Nodes are visited in the file's order, each after the makers of what it
 * reads, so that a file in order stays as it is.  The path to the node being
 * visited is kept in memory of its own, not on the stack: it may be as long as
 * the graph.  A node on it that is met again closes a cycle, which is the rest
 * of the path.
 */
#include "config.h"

#include "model/graph.h"

#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum state { NEW, ON_PATH, PLACED };

struct order {
	psgi_graph *graph;
	int32_t *maker; /* by value: the node that makes it, or -1 */
	int32_t *path;
	size_t length;
	uint8_t *state;  /* by node */
	uint8_t *looked; /* by node: inputs that have been followed */
	psgi_node *sorted;
	size_t n;
};

/* How many nodes of a cycle a message names (chosen: they fit, with names of 40 characters). */
#define NAMED 8

/* The cycle: from `node`, which the last one on the path reads, to that last one. */
static psg_status refuse_cycle(const struct order *o, int32_t node, psg_error *error)
{
	char text[NAMED * 80] = "";
	size_t first = o->length - 1, used = 0, n;

	while (o->path[first] != node)
		first--;
	n = o->length - first;
	/* In the order of data: the path runs from readers to makers. */
	for (size_t i = 0; i < n && i < NAMED; i++) {
		const psgi_node *at = &o->graph->nodes[o->path[o->length - 1 - i]];

		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s'%.40s' (%.24s)",
					 i == 0 ? "" : " -> ", at->name, at->op_type);
	}
	return psgi_fail(error, PSG_FORMAT,
			 "a cycle of %zu node%s, each reads the one before: %s%s", n,
			 n == 1 ? "" : "s", text, n > NAMED ? " -> ..." : "");
}

/* The next maker of an input of `node` that is not placed yet; -1: there is none. */
static int32_t next_maker(struct order *o, int32_t node)
{
	const psgi_node *at = &o->graph->nodes[node];

	while (o->looked[node] < at->n_in) {
		int32_t value = at->in[o->looked[node]++];
		int32_t maker = value < 0 ? -1 : o->maker[value];

		if (maker >= 0 && o->state[maker] != PLACED)
			return maker;
	}
	return -1;
}

static psg_status place(struct order *o, int32_t start, psg_error *error)
{
	o->path[0] = start;
	o->length = 1;
	o->state[start] = ON_PATH;
	while (o->length > 0) {
		int32_t node = o->path[o->length - 1];
		int32_t maker = next_maker(o, node);

		if (maker < 0) {
			o->sorted[o->n++] = o->graph->nodes[node];
			o->state[node] = PLACED;
			o->length--;
		} else if (o->state[maker] == ON_PATH) {
			return refuse_cycle(o, maker, error);
		} else {
			o->state[maker] = ON_PATH;
			o->path[o->length++] = maker;
		}
	}
	return PSG_OK;
}

static void find_makers(struct order *o)
{
	const psgi_graph *graph = o->graph;

	memset(o->maker, 0xff, (graph->n_values + 1) * sizeof(*o->maker));
	for (size_t i = 0; i < graph->n_nodes; i++) {
		for (size_t k = 0; k < graph->nodes[i].n_out; k++) {
			if (graph->nodes[i].out[k] >= 0)
				o->maker[graph->nodes[i].out[k]] = (int32_t)i;
		}
	}
}

psg_status psgi_graph_sort(psgi_graph *graph, psg_error *error)
{
	size_t n = graph->n_nodes;
	struct order o = {
		.graph = graph,
		.maker = malloc((graph->n_values + 1) * sizeof(int32_t)),
		.path = malloc((n + 1) * sizeof(int32_t)),
		.state = calloc(n + 1, 1),
		.looked = calloc(n + 1, 1),
		.sorted = malloc((n + 1) * sizeof(psgi_node)),
	};
	psg_status status = PSG_OK;

	if (o.maker == NULL || o.path == NULL || o.state == NULL || o.looked == NULL ||
	    o.sorted == NULL) {
		status = psgi_fail(error, PSG_NOMEM, "no memory for the model");
	} else {
		find_makers(&o);
		for (size_t i = 0; i < n && status == PSG_OK; i++) {
			if (o.state[i] == NEW)
				status = place(&o, (int32_t)i, error);
		}
		if (status == PSG_OK && n > 0)
			memcpy(graph->nodes, o.sorted, n * sizeof(psgi_node));
	}
	free(o.maker);
	free(o.path);
	free(o.state);
	free(o.looked);
	free(o.sorted);
	return status;
}
