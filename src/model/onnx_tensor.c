/* SPDX-License-Identifier: Apache-2.0 */
/* Tensors of an ONNX file, in all the ways it may store them. */
#include "config.h"

#include "model/onnx_internal.h"

#include "base/base.h"
#include "base/checked.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

/* Bytes from which on data is worth taking over; chosen: a page of memory. */
#define LARGE 4096

static const struct {
	const char *name;
	int bytes; /* of one element in raw_data */
	int dtype; /* psg_dtype, or -1 */
} types[] = {
	[0] = { "undefined", 0, -1 },  [1] = { "float32", 4, PSG_F32 },
	[2] = { "uint8", 1, -1 },      [3] = { "int8", 1, -1 },
	[4] = { "uint16", 2, -1 },     [5] = { "int16", 2, -1 },
	[6] = { "int32", 4, PSG_I64 }, [7] = { "int64", 8, PSG_I64 },
	[8] = { "string", 0, -1 },     [9] = { "bool", 1, PSG_I64 },
	[10] = { "float16", 2, -1 },   [11] = { "float64", 8, -1 },
	[12] = { "uint32", 4, -1 },    [13] = { "uint64", 8, -1 },
	[14] = { "complex64", 8, -1 }, [15] = { "complex128", 16, -1 },
	[16] = { "bfloat16", 2, -1 },
};

#define N_TYPES ((int32_t)(sizeof(types) / sizeof(types[0])))

bool psgi_onnx_dtype(int32_t elem_type, psg_dtype *dtype)
{
	if (elem_type < 0 || elem_type >= N_TYPES || types[elem_type].dtype < 0)
		return false;
	*dtype = (psg_dtype)types[elem_type].dtype;
	return true;
}

const char *psgi_onnx_type_name(int32_t elem_type)
{
	return elem_type < 0 || elem_type >= N_TYPES ? "unknown" : types[elem_type].name;
}

static psg_status read_shape(const Onnx__TensorProto *proto, const char *what, psg_shape *shape,
			     psg_error *error)
{
	psg_status status;

	if (proto->n_dims > PSG_MAX_RANK)
		return psgi_fail(error, PSG_UNSUPPORTED,
				 "%.80s: %zu dimensions, at most %d are read", what, proto->n_dims,
				 PSG_MAX_RANK);
	shape->rank = (int32_t)proto->n_dims;
	for (size_t i = 0; i < proto->n_dims; i++)
		shape->dim[i] = proto->dims[i];
	status = psgi_shape_check(shape, error);
	if (status == PSG_OK)
		return PSG_OK;
	psgi_error_prefix(error, "%.80s", what);
	if (error != NULL)
		error->code = PSG_FORMAT; /* the file's fault, not the caller's */
	return PSG_FORMAT;
}

/* Raw data is little-endian in the file; so is every machine this is built for. */
static void copy_raw(const uint8_t *from, int32_t type, int64_t n, void *to)
{
	int64_t *wide = to;

	if (type == 1 || type == 7) {
		memcpy(to, from, (size_t)n * (size_t)types[type].bytes);
		return;
	}
	for (int64_t i = 0; i < n; i++) {
		int32_t narrow;

		if (type == 9) {
			wide[i] = from[i] != 0;
			continue;
		}
		memcpy(&narrow, from + 4 * i, 4);
		wide[i] = narrow;
	}
}

/* Elements in the typed field for this element type. */
static size_t field_count(const Onnx__TensorProto *proto)
{
	switch (proto->data_type) {
	case 1:
		return proto->n_float_data;
	case 7:
		return proto->n_int64_data;
	default:
		return proto->n_int32_data;
	}
}

static void copy_field(const Onnx__TensorProto *proto, int64_t n, void *to)
{
	int64_t *wide = to;

	if (proto->data_type == 1) {
		memcpy(to, proto->float_data, (size_t)n * sizeof(float));
	} else if (proto->data_type == 7) {
		memcpy(to, proto->int64_data, (size_t)n * sizeof(int64_t));
	} else {
		for (int64_t i = 0; i < n; i++)
			wide[i] = proto->data_type == 9 ? proto->int32_data[i] != 0
							: proto->int32_data[i];
	}
}

/* What a tensor's message says, checked against the data that it has. */
struct content {
	psg_dtype dtype;
	psg_shape shape;
	int64_t n; /* elements */
	bool raw;
};

static psg_status look_at(const Onnx__TensorProto *proto, const char *what, struct content *c,
			  psg_error *error)
{
	psg_status status;
	size_t have, want;

	if (!psgi_onnx_dtype(proto->data_type, &c->dtype))
		return psgi_fail(error, PSG_UNSUPPORTED, "%.80s: %s elements are not read", what,
				 psgi_onnx_type_name(proto->data_type));
	if (proto->n_external_data > 0 ||
	    (proto->has_data_location &&
	     proto->data_location != ONNX__TENSOR_PROTO__DATA_LOCATION__DEFAULT))
		return psgi_fail(error, PSG_UNSUPPORTED, "%.80s: keeps its weights in another file",
				 what);
	status = read_shape(proto, what, &c->shape, error);
	if (status != PSG_OK)
		return status;
	c->n = psg_shape_elements(&c->shape);
	c->raw = proto->has_raw_data && (proto->raw_data.len > 0 || field_count(proto) == 0);
	have = c->raw ? proto->raw_data.len : field_count(proto);
	want = (size_t)c->n * (c->raw ? (size_t)types[proto->data_type].bytes : 1);
	if (have != want)
		return psgi_fail(error, PSG_FORMAT,
				 "%.80s: its shape needs %zu %s, the file has %zu", what, want,
				 c->raw ? "bytes" : "elements", have);
	return PSG_OK;
}

static psg_status copy(const Onnx__TensorProto *proto, const struct content *c, psg_tensor **out,
		       psg_error *error)
{
	psg_status status = psg_tensor_create(c->dtype, &c->shape, out, error);

	if (status != PSG_OK || c->n == 0)
		return status; /* there may be no data at all to copy from */
	if (c->raw)
		copy_raw(proto->raw_data.data, proto->data_type, c->n, psg_tensor_data(*out));
	else
		copy_field(proto, c->n, psg_tensor_data(*out));
	return PSG_OK;
}

psg_status psgi_onnx_tensor(const Onnx__TensorProto *proto, const char *what, psg_tensor **out,
			    psg_error *error)
{
	struct content c;
	psg_status status = look_at(proto, what, &c, error);

	return status == PSG_OK ? copy(proto, &c, out, error) : status;
}

void *psgi_onnx_alloc(size_t size)
{
	if (size < LARGE)
		return malloc(size);
	return psgi_memory_alloc(size + PSGI_ALIGNMENT);
}

static void free_data(void *user, void *data)
{
	(void)user;
	free(data);
}

psg_status psgi_onnx_take_tensor(Onnx__TensorProto *proto, const char *what, psg_tensor **out,
				 psg_error *error)
{
	struct content c;
	psg_status status = look_at(proto, what, &c, error);

	if (status != PSG_OK)
		return status;
	if (!c.raw || proto->data_type != 1 || proto->raw_data.len < LARGE)
		return copy(proto, &c, out, error);
	status = psg_tensor_wrap(c.dtype, &c.shape, proto->raw_data.data, free_data, NULL, out,
				 error);
	if (status == PSG_OK)
		proto->raw_data = (ProtobufCBinaryData){ 0 };
	return status;
}

psg_status psgi_onnx_constant(const Onnx__NodeProto *proto, psg_tensor **out, psg_error *error)
{
	const Onnx__AttributeProto *a = proto->n_attribute == 1 ? proto->attribute[0] : NULL;
	psg_shape scalar = { 0 }, list = { .rank = 1 };

	if (a == NULL || a->name == NULL)
		return psgi_fail(error, PSG_FORMAT, "a Constant has one attribute, this one %zu",
				 proto->n_attribute);
	if (strcmp(a->name, "value") == 0 && a->t != NULL)
		return psgi_onnx_take_tensor(a->t, "value", out, error);
	if (strcmp(a->name, "value_float") == 0)
		return psg_tensor_create_from(PSG_F32, &scalar, &a->f, out, error);
	if (strcmp(a->name, "value_int") == 0)
		return psg_tensor_create_from(PSG_I64, &scalar, &a->i, out, error);
	if (strcmp(a->name, "value_floats") == 0) {
		list.dim[0] = (int64_t)a->n_floats;
		return psg_tensor_create_from(PSG_F32, &list, a->floats, out, error);
	}
	if (strcmp(a->name, "value_ints") == 0) {
		list.dim[0] = (int64_t)a->n_ints;
		return psg_tensor_create_from(PSG_I64, &list, a->ints, out, error);
	}
	return psgi_fail(error, PSG_UNSUPPORTED, "a Constant given as '%.40s' is not read",
			 a->name);
}
