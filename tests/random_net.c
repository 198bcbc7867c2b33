/* SPDX-License-Identifier: Apache-2.0 */
/* Random networks, see random_net.h. */
#include "config.h"

#include "random_net.h"

#include "model/onnx.pb-c.h"

#include <check.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NODES 128
#define MAX_IMAGES 64
#define MAX_ARRAYS 2048
#define OPSET 13

uint32_t t_random(uint32_t *state, uint32_t n)
{
	*state ^= *state << 13;
	*state ^= *state >> 17;
	*state ^= *state << 5;
	return *state % n;
}

float t_random_float(uint32_t *state)
{
	return (float)t_random(state, 2001) / 1000 - 1;
}

/* An image of the network; its size is that of an input of 32 x 32, times 32. */
struct image {
	char *name;
	int64_t channels;
	int scale; /* halvings of the input's size */
	bool odd;  /* its size is not the input's divided by a power of two */
};

struct net {
	uint32_t seed;
	Onnx__GraphProto graph;
	Onnx__NodeProto *nodes[MAX_NODES];
	Onnx__TensorProto *weights[MAX_NODES * 2];
	struct image images[MAX_IMAGES];
	size_t n_images;
	void *arrays[MAX_ARRAYS]; /* all that is to be freed */
	size_t n_arrays;
	int names;
};

static void *take(struct net *net, size_t size)
{
	void *array = calloc(1, size);

	ck_assert(array != NULL && net->n_arrays < MAX_ARRAYS);
	net->arrays[net->n_arrays++] = array;
	return array;
}

static char *new_name(struct net *net)
{
	char *name = take(net, 16);

	(void)snprintf(name, 16, "v%d", net->names++);
	return name;
}

/* --- nodes --- */

static Onnx__NodeProto *add_node(struct net *net, char *type, char *out, int n_in, ...)
{
	Onnx__NodeProto *node = take(net, sizeof(*node));
	va_list names;

	ck_assert_uint_lt(net->graph.n_node, MAX_NODES);
	onnx__node_proto__init(node);
	node->op_type = type;
	node->n_input = (size_t)n_in;
	node->input = take(net, (size_t)n_in * sizeof(void *));
	va_start(names, n_in);
	for (int i = 0; i < n_in; i++)
		node->input[i] = va_arg(names, char *);
	va_end(names);
	node->n_output = 1;
	node->output = take(net, sizeof(void *));
	node->output[0] = out;
	node->attribute = take(net, 8 * sizeof(void *));
	net->nodes[net->graph.n_node++] = node;
	return node;
}

static Onnx__AttributeProto *add_attribute(struct net *net, Onnx__NodeProto *node, char *name,
					   Onnx__AttributeProto__AttributeType type)
{
	Onnx__AttributeProto *attribute = take(net, sizeof(*attribute));

	onnx__attribute_proto__init(attribute);
	attribute->name = name;
	attribute->has_type = 1;
	attribute->type = type;
	node->attribute[node->n_attribute++] = attribute;
	return attribute;
}

static void set_int(struct net *net, Onnx__NodeProto *node, char *name, int64_t value)
{
	Onnx__AttributeProto *a =
		add_attribute(net, node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT);

	a->has_i = 1;
	a->i = value;
}

static void set_ints(struct net *net, Onnx__NodeProto *node, char *name, size_t n,
		     const int64_t *values)
{
	Onnx__AttributeProto *a =
		add_attribute(net, node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INTS);

	a->n_ints = n;
	a->ints = take(net, n * sizeof(int64_t));
	memcpy(a->ints, values, n * sizeof(int64_t));
}

static void set_string(struct net *net, Onnx__NodeProto *node, char *name, char *value)
{
	Onnx__AttributeProto *a =
		add_attribute(net, node, name, ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__STRING);

	a->has_s = 1;
	a->s = (ProtobufCBinaryData){ strlen(value), (uint8_t *)value };
}

/* --- constants --- */

static Onnx__TensorProto *add_constant(struct net *net, int32_t type, size_t rank,
				       const int64_t *dims)
{
	Onnx__TensorProto *tensor = take(net, sizeof(*tensor));

	ck_assert_uint_lt(net->graph.n_initializer, MAX_NODES * 2);
	onnx__tensor_proto__init(tensor);
	tensor->name = new_name(net);
	tensor->has_data_type = 1;
	tensor->data_type = type;
	tensor->n_dims = rank;
	tensor->dims = take(net, rank * sizeof(int64_t) + 1);
	if (rank > 0)
		memcpy(tensor->dims, dims, rank * sizeof(int64_t));
	net->weights[net->graph.n_initializer++] = tensor;
	return tensor;
}

/* Random numbers around `middle`, so that sums of a filter's products stay near 1. */
static char *weight(struct net *net, size_t rank, const int64_t *dims, float middle, float spread)
{
	Onnx__TensorProto *tensor =
		add_constant(net, ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT, rank, dims);

	tensor->n_float_data = 1;
	for (size_t i = 0; i < rank; i++)
		tensor->n_float_data *= (size_t)dims[i];
	tensor->float_data = take(net, tensor->n_float_data * sizeof(float));
	for (size_t i = 0; i < tensor->n_float_data; i++)
		tensor->float_data[i] = middle + spread * t_random_float(&net->seed);
	return tensor->name;
}

static char *filter(struct net *net, int64_t out, int64_t in, int64_t height, int64_t width)
{
	float fan = (float)(in * height * width);

	return weight(net, 4, (int64_t[]){ out, in, height, width }, 0, 2 / sqrtf(fan));
}

static char *vector(struct net *net, int64_t n, float middle)
{
	return weight(net, 1, &n, middle, 0.4F);
}

/* --- images --- */

static struct image *add_image(struct net *net, int64_t channels, const struct image *like)
{
	struct image *image = &net->images[net->n_images++];

	ck_assert_uint_lt(net->n_images, MAX_IMAGES);
	*image = (struct image){ new_name(net), channels, like->scale, like->odd };
	return image;
}

/* Mostly one of the last few, so that networks grow deep. */
static struct image pick(struct net *net)
{
	uint32_t n = (uint32_t)net->n_images, back = t_random(&net->seed, 4) == 0 ? n
						     : n < 3                      ? n
										  : 3;

	return net->images[n - 1 - t_random(&net->seed, back)];
}

static int64_t some_channels(struct net *net)
{
	static const int64_t counts[] = { 8, 16, 24, 12, 7, 32, 3 };

	return counts[t_random(&net->seed, sizeof(counts) / sizeof(counts[0]))];
}

/* Another image of the same size, or `image` itself. */
static struct image pick_like(struct net *net, const struct image *image, bool same_channels)
{
	size_t n = net->n_images, first = t_random(&net->seed, (uint32_t)n);

	for (size_t i = 0; i < n; i++) {
		const struct image *other = &net->images[(first + i) % n];

		if (other->name != image->name && !other->odd && !image->odd &&
		    other->scale == image->scale &&
		    (!same_channels || other->channels == image->channels))
			return *other;
	}
	return *image;
}

/* --- what a network is put together from --- */

static void convolution(struct net *net)
{
	struct image in = pick(net), *out;
	int64_t kernel = 1 + 2 * (int64_t)t_random(&net->seed, 3), half = kernel / 2;
	bool deep = t_random(&net->seed, 3) == 0,
	     halve = in.scale < 3 && t_random(&net->seed, 4) == 0;
	int64_t channels = deep ? in.channels : some_channels(net);
	char *w = filter(net, channels, deep ? 1 : in.channels, kernel, kernel);
	char *bias = t_random(&net->seed, 2) == 0 ? vector(net, channels, 0) : "";
	Onnx__NodeProto *node;

	out = add_image(net, channels, &in);
	node = add_node(net, "Conv", out->name, bias[0] == '\0' ? 2 : 3, in.name, w, bias);
	set_ints(net, node, "pads", 4, (int64_t[]){ half, half, half, half });
	set_ints(net, node, "strides", 2, halve ? (int64_t[]){ 2, 2 } : (int64_t[]){ 1, 1 });
	set_int(net, node, "group", deep ? in.channels : 1);
	out->scale += halve ? 1 : 0;
}

static void activation(struct net *net)
{
	static char *const types[] = { "Relu", "Sigmoid", "HardSigmoid", "Tanh" };
	struct image in = pick(net), *out = add_image(net, in.channels, &in);
	uint32_t which = t_random(&net->seed, 6);
	char *middle;

	if (which < 4) {
		(void)add_node(net, types[which], out->name, 1, in.name);
		return;
	}
	/* Hardswish or SiLU, spelled out, with its factors either way round. */
	middle = new_name(net);
	(void)add_node(net, which == 4 ? "HardSigmoid" : "Sigmoid", middle, 1, in.name);
	if (t_random(&net->seed, 2) == 0)
		(void)add_node(net, "Mul", out->name, 2, in.name, middle);
	else
		(void)add_node(net, "Mul", out->name, 2, middle, in.name);
}

static void scalar_affine(struct net *net)
{
	struct image in = pick(net), *out = add_image(net, in.channels, &in);
	bool times = t_random(&net->seed, 2) == 0;

	(void)add_node(net, times ? "Mul" : "Add", out->name, 2, in.name,
		       weight(net, 0, NULL, times ? 1 : 0, 0.5F));
}

static void batch_norm(struct net *net)
{
	struct image in = pick(net), *out = add_image(net, in.channels, &in);

	(void)add_node(net, "BatchNormalization", out->name, 5, in.name,
		       vector(net, in.channels, 1), vector(net, in.channels, 0),
		       vector(net, in.channels, 0), vector(net, in.channels, 1));
}

static void residual(struct net *net)
{
	struct image a = pick(net), b = pick_like(net, &a, true),
		     *out = add_image(net, a.channels, &a);

	(void)add_node(net, "Add", out->name, 2, a.name, b.name);
}

static void gate(struct net *net)
{
	struct image in = pick(net), *out = add_image(net, in.channels, &in);
	char *mean = new_name(net), *few = new_name(net), *some = new_name(net),
	     *all = new_name(net);
	char *factor = new_name(net);

	(void)add_node(net, "GlobalAveragePool", mean, 1, in.name);
	(void)add_node(net, "Conv", few, 3, mean, filter(net, 4, in.channels, 1, 1),
		       vector(net, 4, 0));
	(void)add_node(net, "Relu", some, 1, few);
	(void)add_node(net, "Conv", all, 3, some, filter(net, in.channels, 4, 1, 1),
		       vector(net, in.channels, 0));
	(void)add_node(net, "HardSigmoid", factor, 1, all);
	(void)add_node(net, "Mul", out->name, 2, in.name, factor);
	if (t_random(&net->seed, 2) == 0) {
		struct image *sum = add_image(net, in.channels, &in);

		(void)add_node(net, "Add", sum->name, 2, in.name, out->name);
	}
}

static void enlarge(struct net *net)
{
	struct image in = pick(net), *out;
	Onnx__TensorProto *scales;
	Onnx__NodeProto *node;

	if (in.scale == 0)
		return;
	out = add_image(net, in.channels, &in);
	out->scale--;
	scales = add_constant(net, ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT, 1, (int64_t[]){ 4 });
	scales->n_float_data = 4;
	scales->float_data = take(net, 4 * sizeof(float));
	memcpy(scales->float_data, (float[]){ 1, 1, 2, 2 }, 4 * sizeof(float));
	node = add_node(net, "Resize", out->name, 3, in.name, "", scales->name);
	set_string(net, node, "mode", "nearest");
	set_string(net, node, "coordinate_transformation_mode", "asymmetric");
	set_string(net, node, "nearest_mode", "floor");
}

static void concatenation(struct net *net)
{
	struct image a = pick(net), b = pick_like(net, &a, false), c = pick_like(net, &a, false),
		     *out;
	bool three = t_random(&net->seed, 2) == 0;
	int64_t channels = a.channels + b.channels + (three ? c.channels : 0);

	if (channels > 64)
		return;
	out = add_image(net, channels, &a);
	set_int(net, add_node(net, "Concat", out->name, three ? 3 : 2, a.name, b.name, c.name),
		"axis", 1);
}

static void pooling(struct net *net)
{
	struct image in = pick(net), *out;
	bool halve = in.scale < 3 && t_random(&net->seed, 2) == 0;
	int64_t size = halve ? 2 : 3, pad = halve ? 0 : 1;
	Onnx__NodeProto *node;

	out = add_image(net, in.channels, &in);
	node = add_node(net, t_random(&net->seed, 2) == 0 ? "MaxPool" : "AveragePool", out->name, 1,
			in.name);
	set_ints(net, node, "kernel_shape", 2, (int64_t[]){ size, size });
	set_ints(net, node, "strides", 2, halve ? (int64_t[]){ 2, 2 } : (int64_t[]){ 1, 1 });
	set_ints(net, node, "pads", 4, (int64_t[]){ pad, pad, pad, pad });
	out->scale += halve ? 1 : 0;
}

static void transposed(struct net *net)
{
	struct image in = pick(net), *out;
	int64_t channels = some_channels(net);
	char *w = filter(net, in.channels, channels, 2, 2);

	if (in.scale == 0)
		return;
	out = add_image(net, channels, &in);
	out->scale--;
	set_ints(net,
		 add_node(net, "ConvTranspose", out->name, 3, in.name, w, vector(net, channels, 0)),
		 "strides", 2, (int64_t[]){ 2, 2 });
}

/* A window of no padding: its sizes fit no other image's. */
static void narrow(struct net *net)
{
	struct image in = pick(net), *out;
	int64_t channels = some_channels(net);
	char *w = filter(net, channels, in.channels, 3, 2);

	if (in.scale > 1)
		return;
	out = add_image(net, channels, &in);
	out->odd = true;
	(void)add_node(net, "Conv", out->name, 2, in.name, w);
}

/* The columns as a sequence, classified: what recognition ends with. */
static char *sequence(struct net *net, const struct image *in)
{
	char *squeezed = new_name(net), *moved = new_name(net), *dense = new_name(net);
	char *sum = new_name(net), *out = new_name(net), *flat = new_name(net);
	Onnx__NodeProto *node = add_node(net, "ReduceMean", flat, 1, in->name);
	Onnx__TensorProto *axes =
		add_constant(net, ONNX__TENSOR_PROTO__DATA_TYPE__INT64, 1, (int64_t[]){ 1 });

	set_ints(net, node, "axes", 1, (int64_t[]){ 2 });
	axes->n_int64_data = 1;
	axes->int64_data = take(net, sizeof(int64_t));
	axes->int64_data[0] = 2;
	(void)add_node(net, "Squeeze", squeezed, 2, flat, axes->name);
	set_ints(net, add_node(net, "Transpose", moved, 1, squeezed), "perm", 3,
		 (int64_t[]){ 0, 2, 1 });
	(void)add_node(net, "MatMul", dense, 2, moved,
		       weight(net, 2, (int64_t[]){ in->channels, 10 }, 0, 1));
	(void)add_node(net, "Add", sum, 2, dense, vector(net, 10, 0));
	set_int(net, add_node(net, "Softmax", out, 1, sum), "axis", 2);
	return out;
}

/* --- the file --- */

static Onnx__ValueInfoProto *port(struct net *net, char *name, size_t rank, int64_t channels)
{
	Onnx__ValueInfoProto *value = take(net, sizeof(*value));
	Onnx__TypeProto *type = take(net, sizeof(*type));
	Onnx__TypeProto__Tensor *tensor = take(net, sizeof(*tensor));
	Onnx__TensorShapeProto *shape = take(net, sizeof(*shape));
	static char *const symbols[] = { "n", "c", "h", "w" };

	onnx__value_info_proto__init(value);
	onnx__type_proto__init(type);
	onnx__type_proto__tensor__init(tensor);
	onnx__tensor_shape_proto__init(shape);
	value->name = name;
	value->type = type;
	type->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
	type->tensor_type = tensor;
	tensor->has_elem_type = 1;
	tensor->elem_type = ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT;
	tensor->shape = rank == 0 ? NULL : shape;
	shape->dim = take(net, (rank + 1) * sizeof(void *));
	for (; shape->n_dim < rank; shape->n_dim++) {
		Onnx__TensorShapeProto__Dimension *dim = take(net, sizeof(*dim));

		onnx__tensor_shape_proto__dimension__init(dim);
		dim->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM;
		dim->dim_param = symbols[shape->n_dim];
		if (shape->n_dim == 1) {
			dim->value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
			dim->dim_value = channels;
		}
		shape->dim[shape->n_dim] = dim;
	}
	return value;
}

static void *pack(struct net *net, size_t *size)
{
	Onnx__ModelProto model = ONNX__MODEL_PROTO__INIT;
	Onnx__OperatorSetIdProto opset = ONNX__OPERATOR_SET_ID_PROTO__INIT, *opsets = &opset;
	uint8_t *data;

	opset.has_version = 1;
	opset.version = OPSET;
	model.n_opset_import = 1;
	model.opset_import = &opsets;
	model.graph = &net->graph;
	*size = onnx__model_proto__get_packed_size(&model);
	data = malloc(*size);
	ck_assert_ptr_nonnull(data);
	(void)onnx__model_proto__pack(&model, data);
	return data;
}

void *t_random_net(uint32_t seed, int64_t channels, size_t *size)
{
	static void (*const parts[])(struct net *) = {
		convolution,   convolution, convolution, activation, activation, scalar_affine,
		batch_norm,    residual,    residual,    gate,       enlarge,    enlarge,
		concatenation, pooling,     transposed,  narrow,
	};
	struct net *net = calloc(1, sizeof(*net));
	Onnx__ValueInfoProto *in, *out[2];
	uint32_t length;
	void *data;

	ck_assert_ptr_nonnull(net);
	net->seed = seed * 2654435761U + 1; /* Knuth's multiplicative hash; never 0 */
	onnx__graph_proto__init(&net->graph);
	net->graph.node = net->nodes;
	net->graph.initializer = net->weights;
	net->images[net->n_images++] = (struct image){ "x", channels, 0, false };
	length = 3 + t_random(&net->seed, 12);
	while (length-- > 0 || net->n_images < 2)
		parts[t_random(&net->seed, sizeof(parts) / sizeof(parts[0]))](net);
	in = port(net, "x", 4, channels);
	out[0] = port(net, net->images[net->n_images - 1].name, 0, 0);
	out[1] = port(net,
		      sequence(net, &net->images[t_random(&net->seed, (uint32_t)net->n_images)]), 0,
		      0);
	net->graph.n_input = 1;
	net->graph.input = &in;
	net->graph.n_output = 1 + t_random(&net->seed, 2);
	net->graph.output = out;
	data = pack(net, size);
	while (net->n_arrays > 0)
		free(net->arrays[--net->n_arrays]);
	free(net);
	return data;
}
