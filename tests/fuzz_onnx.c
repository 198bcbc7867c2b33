/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader, the passes and the plans of models against files that are nearly right.
 *
 * `make fuzz-onnx` builds this for libFuzzer and runs it for FUZZ_SECONDS.  `make check` runs the
 * same with a main of its own: seeds as text below, each changed in so many ways (an argument, 300
 * without one) by a generator that always gives the same ones.  `--seeds FOLDER` writes the seeds.
 *
 * Changes are made to the model's fields rather than to its bytes, nine times in ten: names,
 * counts, dimensions, types, attributes, whole nodes.
 */
#include "config.h"

#include "model/model.h"
#include "model/onnx.pb-c.h"
#include "model/plans.h"

#include "onnx_text.h"

#include <pagesift/gpu.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed);

/* --- one file --- */

/* What is run at most: a run's size is up to the file, and no fault of the library (chosen). */
#define MAX_ELEMENTS (1 << 14)
#define MAX_WORK (1 << 22)
#define MAX_BYTES (1 << 24)

static size_t seed_now, round_now; /* for the message */

static void must(bool holds, const char *what)
{
	if (holds)
		return;
	(void)fprintf(stderr, "fuzz_onnx: seed %zu, round %zu: %s\n", seed_now, round_now, what);
	abort();
}

/* A status that a call may end with, and the message that belongs to it. */
static bool ended_well(psg_status status, const psg_error *error, unsigned allowed)
{
	if (status == PSG_OK)
		return true;
	must((allowed >> status & 1U) != 0, error->message);
	must(error->code == status, "status and error differ");
	must(error->message[0] != '\0', "no message");
	return false;
}

#define MAY(status) (1U << PSG_##status)

/* Small shapes for the free dimensions; false: more than we want to run. */
static bool choose_shapes(const psg_model *model, psg_shape *shapes, uint32_t choice)
{
	int64_t all = 0;

	for (size_t i = 0; i < psg_model_inputs(model); i++) {
		int64_t n = 1;

		shapes[i] = psg_model_input(model, i)->shape;
		for (int32_t k = 0; k < shapes[i].rank; k++, choice = choice * 5 + 3) {
			if (shapes[i].dim[k] < 0)
				shapes[i].dim[k] = 1 + (choice >> 8) % 5;
			if (shapes[i].dim[k] > MAX_ELEMENTS)
				return false;
			n *= shapes[i].dim[k];
			if (n > MAX_ELEMENTS)
				return false;
		}
		all += n;
	}
	return all <= MAX_ELEMENTS;
}

/* Values between -1 and 6: they may be sizes, axes or indices. */
static psg_tensor *make_input(const psg_port *port, const psg_shape *shape, uint32_t choice)
{
	psg_tensor *tensor = NULL;

	if (psg_tensor_create(port->dtype, shape, &tensor, NULL) != PSG_OK)
		return NULL;
	for (int64_t i = 0; i < psg_shape_elements(shape); i++) {
		int value = (int)((choice = choice * 1664525U + 1013904223U) >> 29) - 1;

		if (port->dtype == PSG_F32)
			((float *)psg_tensor_data(tensor))[i] = (float)value * 0.75F;
		else
			((int64_t *)psg_tensor_data(tensor))[i] = value;
	}
	return tensor;
}

/* Gives the samples of a batch widths of their own, in every other file. */
static void narrow(psg_tensor *in, uint32_t choice)
{
	const psg_shape *shape = psg_tensor_shape(in);
	int32_t widths[64], axis = shape->rank == 3 ? 1 : shape->rank - 1;

	if ((choice >> 4) % 2 == 0 || shape->rank < 3 || shape->dim[0] > 64 || shape->dim[axis] < 1)
		return;
	for (int64_t i = 0; i < shape->dim[0]; i++) {
		choice = choice * 1664525U + 1013904223U;
		widths[i] = 1 + (int32_t)((choice >> 8) % (uint32_t)shape->dim[axis]);
	}
	must(psg_tensor_set_valid_widths(in, axis, widths, (size_t)shape->dim[0], NULL) == PSG_OK,
	     "no widths");
}

/* Is the plan small enough to run? */
static bool is_small(const psgi_plan *plan)
{
	int64_t macs = 0, bytes = (int64_t)(plan->arena_bytes + plan->scratch_bytes);

	for (size_t i = 0; i < plan->flow.n_nodes; i++) {
		psgi_call call;
		psg_cost cost = { 0, 0 };

		if (plan->flow.nodes[i].dead || plan->flow.nodes[i].mix.parts > 0)
			continue;
		psgi_flow_call(&plan->flow, &plan->flow.nodes[i], &call);
		psgi_rule_of(call.kind)->cost(&call, &cost);
		macs += cost.macs;
		bytes += cost.bytes;
		if (macs > MAX_WORK || bytes > MAX_BYTES)
			return false;
	}
	return macs <= MAX_WORK && bytes <= MAX_BYTES;
}

/* The sum of all elements but the padding: they must have been written, which valgrind and MSan
 * see. */
static float touch(const psg_tensor *tensor)
{
	const psg_shape *shape = psg_tensor_shape(tensor);
	int32_t axis = 0;
	const int32_t *valid = psg_tensor_valid_widths(tensor, &axis);
	int64_t n = psg_shape_elements(shape), inner = 1, sample = 1;
	const void *data = psg_tensor_const_data(tensor);
	float sum = 0;

	for (int32_t d = valid != NULL ? 1 : shape->rank; d < shape->rank; d++) {
		sample *= shape->dim[d];
		inner *= d > axis ? shape->dim[d] : 1;
	}
	for (int64_t k = 0; k < n; k++)
		if (valid == NULL || k / inner % shape->dim[axis] < valid[k / sample])
			sum += psg_tensor_dtype(tensor) == PSG_F32
				       ? ((const float *)data)[k]
				       : (float)((const int64_t *)data)[k];
	return sum;
}

static void run(psg_model *model, psg_device *device, psg_tensor **in, const psg_shape *shapes)
{
	const unsigned may = MAY(INVALID) | MAY(UNSUPPORTED) | MAY(FORMAT) | MAY(NOMEM);
	psg_tensor *out[PSG_MAX_OUTPUTS] = { NULL };
	psg_error error = PSG_ERROR_INIT;
	psg_model_stats stats;
	psgi_plan *plan;
	float sum = 0;

	(void)ended_well(
		psg_model_stats_get(model, device, shapes, psg_model_inputs(model), &stats, &error),
		&error, may);
	if (!ended_well(psgi_plan_for(model, device, shapes, in, &plan, &error), &error, may) ||
	    !is_small(plan))
		return;
	if (!ended_well(psg_model_run(model, device, in, psg_model_inputs(model), out,
				      psg_model_outputs(model), NULL, NULL, &error),
			&error, may))
		return;
	for (size_t i = 0; i < psg_model_outputs(model); i++) {
		must(out[i] != NULL, "an output is missing");
		sum += touch(out[i]);
		psg_tensor_unref(out[i]);
	}
	must(sum <= 0 || sum > 0 || sum != sum, "no number");
}

static void run_on(psg_model *model, const char *name, uint32_t choice)
{
	psg_shape shapes[PSG_MAX_INPUTS];
	psg_tensor *in[PSG_MAX_INPUTS] = { NULL };
	size_t n = psg_model_inputs(model);
	bool made = true;
	psg_device *device;

	if (!choose_shapes(model, shapes, choice) || psg_device_open(name, &device, NULL) != PSG_OK)
		return;
	for (size_t i = 0; i < n; i++) {
		in[i] = make_input(psg_model_input(model, i), &shapes[i], choice + (uint32_t)i);
		made = made && in[i] != NULL;
	}
	if (made && n > 0)
		narrow(in[0], choice);
	if (made)
		run(model, device, in, shapes);
	for (size_t i = 0; i < n; i++)
		psg_tensor_unref(in[i]);
	psg_device_close(device);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	psg_error error = PSG_ERROR_INIT;
	psg_model_options options = { .digest = size % 8 == 0 };
	uint32_t choice = (uint32_t)size;
	psg_model *model;
	psg_status status =
		psg_model_load_memory(data, size, "fuzz.onnx", &options, &model, &error);

	must((status == PSG_OK) == (model != NULL), "a model and an error");
	if (ended_well(status, &error, MAY(FORMAT) | MAY(UNSUPPORTED) | MAY(NOMEM))) {
		for (size_t i = 0; i < size; i += 7)
			choice = choice * 31 + data[i];
		run_on(model, "reference", choice);
		run_on(model, "cpu:1", choice);
		psg_model_unref(model);
	} else {
		for (const char *at = error.message; *at != '\0'; at++)
			must((unsigned char)*at >= 0x20 && *at != 0x7f, "a control byte");
	}
	return 0;
}

/* --- changes --- */

static uint32_t state;

static size_t below(size_t n)
{
	state = state * 1664525U + 1013904223U;
	return n == 0 ? 0 : (state >> 8) % n;
}

static int64_t odd_number(void)
{
	static const int64_t numbers[] = { 0,
					   1,
					   -1,
					   2,
					   3,
					   -2,
					   4,
					   5,
					   6,
					   7,
					   8,
					   16,
					   17,
					   64,
					   255,
					   1000,
					   65536,
					   INT32_MAX,
					   INT32_MIN,
					   INT64_MAX,
					   INT64_MIN,
					   INT64_C(1) << 33,
					   INT64_C(1) << 62 };
	/* Mostly small ones. */
	return numbers[below(below(3) == 0 ? sizeof(numbers) / sizeof(numbers[0]) : 11)];
}

static float odd_float(void)
{
	static const float numbers[] = { 0, 1, -1, 0.5F, 2, 1e-30F, 1e30F, -1e38F };
	size_t i = below(10);

	return i < 8 ? numbers[i] : i == 8 ? numbers[6] * numbers[6] : numbers[0] / numbers[0];
}

static void set_text(char **text, const char *to)
{
	char *copy = strdup(to);

	if (copy == NULL)
		return;
	free(*text);
	*text = copy;
}

/* Some name that the graph has, or NULL. */
static const char *find_name(const Onnx__GraphProto *graph)
{
	size_t kind = below(8), i;

	if (kind < 2 && graph->n_input > 0)
		return graph->input[below(graph->n_input)]->name;
	if (kind < 3 && graph->n_initializer > 0)
		return graph->initializer[below(graph->n_initializer)]->name;
	if (kind < 7 && graph->n_node > 0) {
		i = below(graph->n_node);
		if (graph->node[i]->n_output > 0)
			return graph->node[i]->output[below(graph->node[i]->n_output)];
	}
	return NULL;
}

static const char *some_name(const Onnx__GraphProto *graph)
{
	const char *name = find_name(graph);

	return name == NULL ? "" : name;
}

static const char *const types[] = {
	"Conv",
	"ConvTranspose",
	"MaxPool",
	"AveragePool",
	"GlobalAveragePool",
	"MatMul",
	"Gemm",
	"Identity",
	"Relu",
	"Clip",
	"Sigmoid",
	"HardSwish",
	"Add",
	"Sub",
	"Mul",
	"Div",
	"Pow",
	"PRelu",
	"Where",
	"ReduceMean",
	"ReduceSum",
	"ArgMax",
	"Softmax",
	"Transpose",
	"Reshape",
	"Flatten",
	"Squeeze",
	"Slice",
	"Unsqueeze",
	"Concat",
	"Split",
	"Pad",
	"Expand",
	"Tile",
	"Gather",
	"Resize",
	"Upsample",
	"Shape",
	"Size",
	"Cast",
	"Range",
	"Hardmax",
	"LRN",
	"Dropout",
	"LayerNormalization",
	"LpPool",
	"Constant",
	"Less",
	"BatchNormalization",
	"InstanceNormalization",
	"MeanVarianceNormalization",
	"DepthToSpace",
	"SpaceToDepth",
	"ConstantOfShape",
};

static const char *const attributes[] = {
	"axis",   "axes",     "kernel_shape", "pads",      "strides",        "dilations",
	"group",  "keepdims", "perm",         "blocksize", "mode",           "to",
	"alpha",  "beta",     "value",        "ceil_mode", "output_padding", "output_shape",
	"starts", "ends",     "broadcast",    "shape",     "size",           "auto_pad",
};

#define SOME(list) ((list)[below(sizeof(list) / sizeof((list)[0]))])

static void change_tensor(Onnx__TensorProto *tensor)
{
	switch (below(4)) {
	case 0:
		if (tensor->n_dims > 0)
			tensor->dims[below(tensor->n_dims)] = odd_number();
		break;
	case 1:
		tensor->has_data_type = 1;
		tensor->data_type = (int32_t)below(18);
		break;
	case 2:
		if (tensor->raw_data.len > 0)
			tensor->raw_data.len = below(tensor->raw_data.len);
		break;
	default: /* a number in it */
		if (tensor->data_type == 7 && tensor->raw_data.len >= 8) {
			int64_t number = odd_number();

			memcpy(tensor->raw_data.data + 8 * below(tensor->raw_data.len / 8), &number,
			       8);
		} else if (tensor->data_type == 1 && tensor->raw_data.len >= 4) {
			float number = odd_float();

			memcpy(tensor->raw_data.data + 4 * below(tensor->raw_data.len / 4), &number,
			       4);
		}
	}
}

static void change_attribute(Onnx__AttributeProto *attribute)
{
	switch (below(6)) {
	case 0:
		set_text(&attribute->name, SOME(attributes));
		break;
	case 1:
		attribute->has_type = 1;
		attribute->type = (Onnx__AttributeProto__AttributeType)below(9);
		break;
	case 2:
		if (attribute->n_ints > 0)
			attribute->n_ints = below(attribute->n_ints + 1);
		break;
	default:
		if (attribute->t != NULL)
			change_tensor(attribute->t);
		else if (attribute->n_ints > 0)
			attribute->ints[below(attribute->n_ints)] = odd_number();
		else if (attribute->n_floats > 0)
			attribute->floats[below(attribute->n_floats)] = odd_float();
		else if (attribute->has_f)
			attribute->f = odd_float();
		else if (attribute->has_i)
			attribute->i = odd_number();
	}
}

/* Lists of pointers grow by one; what they point to is freed with the model. */
static void *grown(void *list, size_t n)
{
	return realloc(list, (n + 1) * sizeof(void *));
}

static void add_attribute(Onnx__NodeProto *node)
{
	Onnx__AttributeProto *attribute = malloc(sizeof(*attribute));
	Onnx__AttributeProto **list = grown(node->attribute, node->n_attribute);

	if (list != NULL)
		node->attribute = list;
	if (attribute == NULL || list == NULL) {
		free(attribute);
		return;
	}
	onnx__attribute_proto__init(attribute);
	attribute->name = strdup(SOME(attributes));
	if (below(3) == 0) {
		attribute->has_i = 1;
		attribute->i = odd_number();
	} else {
		attribute->n_ints = 1 + below(4);
		attribute->ints = calloc(attribute->n_ints, sizeof(int64_t));
		if (attribute->ints == NULL)
			attribute->n_ints = 0;
		for (size_t i = 0; i < attribute->n_ints; i++)
			attribute->ints[i] = odd_number();
	}
	list[node->n_attribute++] = attribute;
}

static void change_node(const Onnx__GraphProto *graph, Onnx__NodeProto *node)
{
	char **list;

	switch (below(8)) {
	case 0:
		set_text(&node->op_type, SOME(types));
		break;
	case 1:
	case 2:
		if (node->n_input > 0)
			set_text(&node->input[below(node->n_input)], some_name(graph));
		break;
	case 3:
		if (node->n_input > 1)
			free(node->input[--node->n_input]);
		break;
	case 4:
		list = grown(node->input, node->n_input);
		if (list != NULL) {
			node->input = list;
			list[node->n_input++] = strdup(some_name(graph));
		}
		break;
	case 5:
		add_attribute(node);
		break;
	case 6:
		if (node->n_output > 0)
			set_text(&node->output[below(node->n_output)],
				 below(2) == 0 ? some_name(graph) : "new");
		break;
	default:
		if (node->n_attribute > 0)
			change_attribute(node->attribute[below(node->n_attribute)]);
	}
}

static void change_port(const Onnx__GraphProto *graph, Onnx__ValueInfoProto *port)
{
	Onnx__TypeProto__Tensor *type;

	if (below(4) == 0)
		set_text(&port->name, some_name(graph));
	if (port->type == NULL || port->type->value_case != ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE)
		return;
	type = port->type->tensor_type;
	if (below(4) == 0) {
		type->elem_type = (int32_t)below(18);
	} else if (type->shape != NULL && type->shape->n_dim > 0) {
		Onnx__TensorShapeProto__Dimension *dim =
			type->shape->dim[below(type->shape->n_dim)];

		if (dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE)
			dim->dim_value = odd_number();
	}
}

static void drop_node(Onnx__GraphProto *graph)
{
	size_t i = below(graph->n_node);

	onnx__node_proto__free_unpacked(graph->node[i], NULL);
	for (graph->n_node--; i < graph->n_node; i++)
		graph->node[i] = graph->node[i + 1];
}

static void swap_nodes(Onnx__GraphProto *graph)
{
	size_t a = below(graph->n_node), b = below(graph->n_node);
	Onnx__NodeProto *node = graph->node[a];

	graph->node[a] = graph->node[b];
	graph->node[b] = node;
}

static void change_model(Onnx__ModelProto *model)
{
	Onnx__GraphProto *graph = model->graph;
	size_t kind = below(16);

	if (graph == NULL)
		return;
	if (kind == 0 && model->n_opset_import > 0)
		model->opset_import[0]->version = (int64_t)below(19);
	else if (kind == 1 && graph->n_node > 1)
		drop_node(graph);
	else if (kind == 2 && graph->n_node > 1)
		swap_nodes(graph);
	else if (kind < 5 && graph->n_input > 0)
		change_port(graph, graph->input[below(graph->n_input)]);
	else if (kind == 5 && graph->n_output > 0)
		change_port(graph, graph->output[below(graph->n_output)]);
	else if (kind < 8 && graph->n_initializer > 0)
		change_tensor(graph->initializer[below(graph->n_initializer)]);
	else if (graph->n_node > 0)
		change_node(graph, graph->node[below(graph->n_node)]);
}

#ifdef PSG_LIBFUZZER

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max_size);

static size_t change_bytes(uint8_t *data, size_t size, size_t max_size)
{
	return LLVMFuzzerMutate(data, size, max_size);
}

#else

static size_t change_bytes(uint8_t *data, size_t size, size_t max_size)
{
	(void)max_size;
	if (size > 0 && below(4) == 0)
		return below(size);
	if (size > 0)
		data[below(size)] ^= (uint8_t)(1U << below(8));
	return size;
}

#endif

/* Changes the file in place; its new size, at most `max_size`. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed)
{
	Onnx__ModelProto *model;
	size_t packed = 0;

	state = seed;
	model = below(10) == 0 ? NULL : onnx__model_proto__unpack(NULL, size, data);
	if (model == NULL)
		return change_bytes(data, size, max_size);
	for (size_t i = 1 + below(4) / 3; i > 0; i--)
		change_model(model);
	packed = onnx__model_proto__get_packed_size(model);
	if (packed <= max_size)
		(void)onnx__model_proto__pack(model, data);
	onnx__model_proto__free_unpacked(model, NULL);
	return packed <= max_size ? packed : change_bytes(data, size, max_size);
}

/* --- seeds, and a main without libFuzzer --- */

#ifndef PSG_LIBFUZZER

static const char *const seeds[] = {
	"in x 1 3 6 6; w k 4 3 3 3 = ; Conv x k > a pads=[1,1,1,1] strides=[2,1]; Relu a > b; "
	"GlobalAveragePool b > g; Mul b g > y; out y",
	"in x 1 8 ? ?; w k 8 1 3 3 = ; w s 8 = ; w v 8 = 1 1 1 1 1 1 1 1; "
	"Conv x k > a group=8 pads=[1,1,1,1]; BatchNormalization a s s s v > b; "
	"c three = 3; c six = 6; c zero = 0; Add b three > d; Clip d zero six > e; Mul b e > f; "
	"Div f six > y; out y",
	"in x 1 4 4 4; w k 4 2 2 2 = ; ConvTranspose x k > a strides=[2,2]; w b 2 1 1 = 1 2; "
	"Add a b > y; out y",
	"in x 2 5 12; w k 12 36 = ; w b 36 = ; MatMul x k > a; Add a b > q; c s i64 5 = 0 -1 3 2 "
	"6; "
	"Reshape q s > r; Transpose r > t perm=[2,0,3,1,4]; Split t > u v w axis=0; "
	"c o i64 1 = 0; Squeeze u o > u1; Squeeze v o > v1; Squeeze w o > w1; "
	"Transpose v1 > v2 perm=[0,1,3,2]; MatMul u1 v2 > m; Softmax m > n axis=-1; "
	"MatMul n w1 > z; Transpose z > z1 perm=[0,2,1,3]; c f i64 3 = 0 -1 12; Reshape z1 f > y; "
	"out y",
	"in x 2 ? 12; w k 12 36 = ; w b 36 = ; MatMul x k > a; Add a b > q; c s i64 5 = 0 0 3 2 6; "
	"Reshape q s > r; Transpose r > t perm=[2,0,3,1,4]; c zero i64 1 = 0; c one i64 1 = 1; "
	"c two i64 1 = 2; c three i64 1 = 3; c scale = 0.4; Slice t zero one zero > u; "
	"Slice t one two zero > v; Slice t two three zero > w; Squeeze u zero > u1; "
	"Mul u1 scale > u2; Squeeze v zero > v1; Squeeze w zero > w1; "
	"Transpose v1 > v2 perm=[0,1,3,2]; MatMul u2 v2 > m; Softmax m > n axis=3; "
	"MatMul n w1 > z; Transpose z > z1 perm=[0,2,1,3]; c f i64 3 = 0 0 12; Reshape z1 f > o; "
	"Transpose o > o1 perm=[0,2,1]; c g i64 4 = 0 12 1 -1; Reshape o1 g > y; out y",
	"in x 1 16 2 4; w k 16 16 2 2 = ; w l 16 1 2 2 = ; w b 16 = ; "
	"ConvTranspose x k b > a strides=[2,2]; Relu a > d; ConvTranspose d l > e strides=[2,2]; "
	"Sigmoid e > y; out y",
	"in x 2 32 1 ?; c p i64 1 = 2; Squeeze x p > s; Transpose s > t perm=[0,2,1]; w k 32 40 = "
	"; "
	"w b 40 = ; MatMul t k > m; Add m b > a; Softmax a > y axis=2; out y",
	"in x 1 3 ? ?; Shape x > s; c a i64 1 = 2; c b i64 1 = 4; Slice s a b > h; "
	"c two i64 1 = 2; Mul h two > g; c one i64 2 = 1 3; Concat one g > t axis=0; "
	"Resize x - - t > y mode=nearest coordinate_transformation_mode=asymmetric "
	"nearest_mode=floor; out y",
	"in x 2 3 4; ReduceMean x > m axes=[-1]; Sub x m > d; c two = 2; Pow d two > p; "
	"ReduceMean p > v axes=[-1]; c e = 0.00001; Add v e > w; Sqrt w > s; Div d s > n; "
	"w g 4 = 1 1 1 1; Mul n g > o; Add o g > y; out y",
	"in x 4 6; in n i64 2; Reshape x n > a; ArgMax a > i axis=0; Cast i > f to=1; "
	"Softmax a > y axis=1; out y; out f",
	"in x 1 2 5 5; MaxPool x > p i kernel_shape=[2,2] ceil_mode=1; "
	"AveragePool x > q kernel_shape=[2,2] strides=[2,2] auto_pad=SAME_UPPER; "
	"GlobalMaxPool q > r; LpPool x > t kernel_shape=[3,3]; Concat q q > u axis=1; "
	"Upsample u > y scales=[1.0,1.0,2.0,2.0]; opset 7; out y; out i i64; out t",
	"in x 2 3; c p i64 4 = 1 0 0 2; Pad x p > a mode=reflect; c e i64 3 = 2 1 1; Expand a e > "
	"b; "
	"c t i64 3 = 1 2 1; Tile b t > d; c i i64 2 = 0 1; Gather d i > g axis=-1; "
	"Where l g g > y; Less g g > l; out y",
	"opset 6; in x 1 2 3 3; w s 2 = 1 2; PRelu x s > a; Add a s > b broadcast=1 axis=1; "
	"Dropout b > d m is_test=1; Reshape d r > y; c r i64 2 = 0 -1; out y",
	"c n i64 2 = 2 3; ConstantOfShape n > z; c a = 1; c b = 4; Range a b a > r; Add z r > y; "
	"out y",
	"in x 1 4 3 3; LRN x > a size=3; Hardmax a > b axis=1; MeanVarianceNormalization b > d; "
	"DepthToSpace d > e blocksize=2; SpaceToDepth e > f blocksize=2; w g 3 = 1 1 1; "
	"LayerNormalization f g > y m i; out y; out m; out i",
	"in x 1 16 8 8; w k 16 16 1 1 = ; w b 16 = ; Conv x k b > a; Sigmoid a > s; Mul a s > d; "
	"GlobalAveragePool d > g; Conv g k b > h; HardSigmoid h > i alpha=0.2; Mul d i > j; "
	"Add x j > l; Conv l k b > m; Concat l m d j > y axis=1; out y",
};

#define N_SEEDS (sizeof(seeds) / sizeof(seeds[0]))
#define ROOM 16384

/* "= ;" stands for as many small numbers as the weight has elements. */
static char *filled(const char *seed)
{
	char *text = calloc(1, 65536), *to = text;
	const char *at = seed;

	must(text != NULL, "no memory");
	while (*at != '\0') {
		const char *end = strchr(at, ';');
		size_t n = end == NULL ? strlen(at) : (size_t)(end - at);
		int64_t elements = 1;

		memcpy(to, at, n);
		to += n;
		if (n > 2 && at[n - 1] == ' ' && at[n - 2] == '=') {
			const char *dims = strstr(at, "w ") + 2;

			dims += strcspn(dims, " ");
			for (char *next; dims < at + n - 2; dims = next) {
				int64_t dim = strtoll(dims, &next, 10);

				if (next == dims)
					break;
				elements *= dim;
			}
			for (int64_t i = 0; i < elements; i++)
				to += sprintf(to, "%d.5 ", (int)(i % 5) - 2);
		}
		*to++ = ';';
		at += n + (end != NULL);
	}
	return text;
}

static uint8_t *seed_bytes(size_t index, size_t *size)
{
	char *text = filled(seeds[index]);
	uint8_t *data = t_onnx(text, size);

	free(text);
	return data;
}

static int write_seeds(const char *folder)
{
	for (size_t i = 0; i < N_SEEDS; i++) {
		char path[4096];
		size_t size;
		uint8_t *data = seed_bytes(i, &size);
		FILE *file;
		bool written;

		(void)snprintf(path, sizeof(path), "%s/seed%zu.onnx", folder, i);
		file = fopen(path, "wb");
		written = file != NULL && fwrite(data, 1, size, file) == size;
		if (file != NULL && fclose(file) != 0)
			written = false;
		free(data);
		if (!written) {
			perror(path);
			return 1;
		}
	}
	return 0;
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 1 ? strtoul(argv[argc - 1], NULL, 10) : 300;
	uint8_t room[ROOM];

	if (argc == 3 && strcmp(argv[1], "--seeds") == 0)
		return write_seeds(argv[2]);
	for (size_t i = 0; i < N_SEEDS; i++) {
		psg_error error = PSG_ERROR_INIT;
		psg_model *model;
		size_t size, kept = 0;
		uint8_t *data = seed_bytes(i, &size);

		must(size <= ROOM, "a seed is too large");
		/* A seed that is not read would test nothing. */
		if (psg_model_load_memory(data, size, NULL, NULL, &model, &error) != PSG_OK) {
			(void)fprintf(stderr, "seed %zu: %s\n", i, error.message);
			return 1;
		}
		psg_model_unref(model);
		(void)LLVMFuzzerTestOneInput(data, size);
		seed_now = i;
		for (unsigned long round = 0; round < rounds; round++) {
			round_now = round;
			/* Sometimes what has been changed is changed again. */
			if (round % 3 == 0 || kept == 0) {
				memcpy(room, data, size);
				kept = size;
			}
			kept = LLVMFuzzerCustomMutator(room, kept, ROOM,
						       (unsigned)(i * 1000003 + round));
			(void)LLVMFuzzerTestOneInput(room, kept);
		}
		free(data);
	}
	(void)printf("%zu seeds, each changed in %lu ways\n", N_SEEDS, rounds);
	return 0;
}

#endif
