/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Passes over a graph, run once when a model is loaded.
 *
 * Each rewrites what it recognises and leaves a valid graph; removed nodes are
 * marked dead until psgi_graph_sweep drops them.
 */
#ifndef PSG_MODEL_PASSES_H
#define PSG_MODEL_PASSES_H

#include "model/graph.h"

/* Who makes and who uses each value; a pass that changes this keeps it true. */
typedef struct psgi_uses {
	size_t n;          /* values that there were; later ones are constants */
	int32_t *producer; /* node, or -1 */
	int32_t *uses;     /* by nodes and graph outputs */
} psgi_uses;

typedef struct psgi_editor {
	psgi_graph *graph;
	psgi_uses of;
} psgi_editor;

/* Evaluates nodes whose inputs are all constant. */
psg_status psgi_pass_fold(psgi_graph *graph, psg_error *error);

/* hardswish, SiLU, LayerNorm as exporters write them. */
psg_status psgi_pass_patterns(psgi_graph *graph, psg_error *error);

/* Scalar arithmetic to affine; BatchNorm, affine and constant addends into weights and biases. */
psg_status psgi_pass_affine(psgi_graph *graph, psg_error *error);

/* Drops dead nodes and those whose results nobody uses. */
psg_status psgi_graph_sweep(psgi_graph *graph, psg_error *error);

/* --- shared by the passes --- */

/* Takes room for new constants from what the file's size allows; false: there is not so much. */
bool psgi_take_room(psgi_graph *graph, int64_t elements);

psg_status psgi_editor_open(psgi_editor *editor, psgi_graph *graph, psg_error *error);
void psgi_editor_close(psgi_editor *editor);

/* `maker`, which alone uses what `node` reads, makes what `node` did; `node` is dead. */
void psgi_take_over(psgi_editor *editor, psgi_node *maker, psgi_node *node);

/* One use of a constant less; it is freed with the last. */
void psgi_drop_constant(psgi_editor *editor, int32_t value);

/* The live node of this kind that makes `value`, or NULL. */
psgi_node *psgi_made_by(const psgi_editor *editor, int32_t value, psg_op_kind kind);

/* As above, and nobody else uses the value. */
psgi_node *psgi_made_solely_by(const psgi_editor *editor, int32_t value, psg_op_kind kind);

/* Is the value a constant of one F32 element?  *rank (may be NULL) gets its rank. */
bool psgi_scalar(const psgi_graph *graph, int32_t value, float *scalar, int32_t *rank);

/* For a two-input node: the scalar constant and the other input; false if there is none. */
bool psgi_with_scalar(const psgi_graph *graph, const psgi_node *node, float *scalar, int32_t *other,
		      int32_t *rank);

/* Turns a node into another operator over one input. */
void psgi_become_unary(psgi_node *node, psg_op_kind kind, int32_t in, float alpha, float beta);

#endif
