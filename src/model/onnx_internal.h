/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of the ONNX reader share. */
#ifndef PSG_MODEL_ONNX_INTERNAL_H
#define PSG_MODEL_ONNX_INTERNAL_H

#include "model/graph.h"

#include "model/onnx.pb-c.h"

/* Reads a tensor of float32, int64, int32 or bool, the last three as I64.  `what` names it in
 * messages. */
psg_status psgi_onnx_tensor(const Onnx__TensorProto *proto, const char *what, psg_tensor **out,
			    psg_error *error);

/*
 * As psgi_onnx_tensor, for a message whose memory psgi_onnx_alloc gave: a large weight is taken out
 * of it rather than copied, and is not there to be read again.
 */
psg_status psgi_onnx_take_tensor(Onnx__TensorProto *proto, const char *what, psg_tensor **out,
				 psg_error *error);

/* Memory to be free()d; where it is large, aligned as a tensor's and with room behind it. */
void *psgi_onnx_alloc(size_t size);

/* The value of a Constant node, taken as by psgi_onnx_take_tensor. */
psg_status psgi_onnx_constant(const Onnx__NodeProto *proto, psg_tensor **out, psg_error *error);

/* The dtype that an element type of the file becomes; false when it is not read. */
bool psgi_onnx_dtype(int32_t elem_type, psg_dtype *dtype);

/* "float16" for 10; "type 77" is put into a message as "unknown". */
const char *psgi_onnx_type_name(int32_t elem_type);

/* A node's own name, or its first output's. */
const char *psgi_onnx_node_name(const Onnx__NodeProto *proto);

/*
 * Turns operator, attributes and their defaults into the node's kind, params, param_inputs,
 * shape_inputs and bind.  Its inputs and outputs are filled already; inputs may be added (constants
 * from attributes) or dropped.  An operator of ONNX that is several of ours puts the first ones
 * into the graph itself.  UNSUPPORTED, FORMAT, NOMEM.
 */
psg_status psgi_onnx_operator(const Onnx__NodeProto *proto, int64_t opset, psgi_graph *graph,
			      psgi_node *node, psg_error *error);

/* --- one node being read (onnx_attr.c, onnx_compose.c) --- */

typedef struct psgi_reader {
	const Onnx__NodeProto *proto;
	int64_t opset;
	psgi_graph *graph;
	psgi_node *node;
	psg_error *error;
	psg_status status; /* the first error stays */
} psgi_reader;

/* `message` has one %s, for `name`. */
void psgi_reader_fail(psgi_reader *r, psg_status status, const char *message, const char *name);

/* Every attribute of the node is a word of `known`, and given once. */
psg_status psgi_attr_check(const Onnx__NodeProto *proto, const char *known, psg_error *error);

bool psgi_attr_given(const psgi_reader *r, const char *name);

/* The attribute, or NULL: it is not there, or of another type, which fails. */
const Onnx__AttributeProto *psgi_attr(psgi_reader *r, const char *name,
				      Onnx__AttributeProto__AttributeType type);

int64_t psgi_attr_int(psgi_reader *r, const char *name, int64_t fallback);
/* An integer that the descriptor keeps in 32 bits. */
int32_t psgi_attr_int32(psgi_reader *r, const char *name, int32_t fallback);
float psgi_attr_float(psgi_reader *r, const char *name, float fallback);

/* Is the string attribute `name` (or its default) `want`? */
bool psgi_attr_is(psgi_reader *r, const char *name, const char *fallback, const char *want);

/* Copies a list of at most `room` integers; how many, 0 when it is not there. */
size_t psgi_attr_ints(psgi_reader *r, const char *name, int64_t *values, size_t room);
size_t psgi_attr_ints32(psgi_reader *r, const char *name, int32_t *values, size_t room);

/* --- operators that become several nodes (onnx_compose.c) --- */
void psgi_read_line_up(psgi_reader *r);
void psgi_read_prelu_channels(psgi_reader *r);
void psgi_read_xor(psgi_reader *r);
void psgi_read_is_nan(psgi_reader *r);
void psgi_read_is_inf(psgi_reader *r);
void psgi_read_shrink(psgi_reader *r);
void psgi_read_hardmax(psgi_reader *r);
void psgi_read_mean_variance(psgi_reader *r);
void psgi_read_lrn(psgi_reader *r);

/* These make a node's outputs after the first, and leave it the first. */
void psgi_read_dropout_mask(psgi_reader *r);
void psgi_read_layer_norm_moments(psgi_reader *r); /* params.norm is set */

/* --- bind functions (onnx_bind.c): parameters given as inputs --- */
psg_status psgi_bind_clip(psgi_node *, psg_tensor *const *, const psg_shape *, psg_error *);
psg_status psgi_bind_reshape(psgi_node *, psg_tensor *const *, const psg_shape *, psg_error *);
psg_status psgi_bind_axes(psgi_node *, psg_tensor *const *, const psg_shape *, psg_error *);
psg_status psgi_bind_reduce(psgi_node *, psg_tensor *const *, const psg_shape *, psg_error *);
psg_status psgi_bind_slice(psgi_node *, psg_tensor *const *, const psg_shape *, psg_error *);
psg_status psgi_bind_split(psgi_node *, psg_tensor *const *, const psg_shape *, psg_error *);
psg_status psgi_bind_pad(psgi_node *, psg_tensor *const *, const psg_shape *, psg_error *);
psg_status psgi_bind_upsample(psgi_node *, psg_tensor *const *, const psg_shape *, psg_error *);
psg_status psgi_bind_resize(psgi_node *, psg_tensor *const *, const psg_shape *, psg_error *);
psg_status psgi_bind_shape(psgi_node *, psg_tensor *const *, const psg_shape *, psg_error *);
psg_status psgi_bind_range(psgi_node *, psg_tensor *const *, const psg_shape *, psg_error *);
psg_status psgi_bind_dropout(psgi_node *, psg_tensor *const *, const psg_shape *, psg_error *);
psg_status psgi_bind_window(psgi_node *, psg_tensor *const *, const psg_shape *, psg_error *);
psg_status psgi_bind_tile_axis(psgi_node *, psg_tensor *const *, const psg_shape *, psg_error *);
psg_status psgi_bind_transpose(psgi_node *, psg_tensor *const *, const psg_shape *, psg_error *);

#endif
