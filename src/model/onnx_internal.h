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

/* The value of a Constant node. */
psg_status psgi_onnx_constant(const Onnx__NodeProto *proto, psg_tensor **out, psg_error *error);

/* The dtype that an element type of the file becomes; false when it is not read. */
bool psgi_onnx_dtype(int32_t elem_type, psg_dtype *dtype);

/* "float16" for 10; "type 77" is put into a message as "unknown". */
const char *psgi_onnx_type_name(int32_t elem_type);

/*
 * Turns operator, attributes and their defaults into the node's kind, params, param_inputs and
 * bind. Its inputs and outputs are filled already and may be shortened.  UNSUPPORTED, FORMAT.
 */
psg_status psgi_onnx_operator(const Onnx__NodeProto *proto, int64_t opset, psgi_node *node,
			      psg_error *error);

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
psg_status psgi_bind_transpose(psgi_node *, psg_tensor *const *, const psg_shape *, psg_error *);

#endif
