/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ONNX reader against files that are wrong in every way we could think of:
 * each is refused with the right code and a message that names what is wrong.
 */
#include "config.h"

#include "model/onnx.pb-c.h"

#include "onnx_text.h"

#include <check.h>
#include <pagesift/gpu.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- a small model, built field by field: y = conv(x, w), z = relu(y) --- */

#define MAX_LIST 24

struct small {
	Onnx__ModelProto model;
	Onnx__GraphProto graph;
	Onnx__OperatorSetIdProto opset;
	Onnx__OperatorSetIdProto *opsets[1];
	Onnx__NodeProto nodes[2];
	Onnx__NodeProto *node_list[2];
	Onnx__AttributeProto attribute;
	Onnx__AttributeProto *attributes[1];
	Onnx__TensorProto weight;
	Onnx__TensorProto *weights[1];
	int64_t weight_dims[4];
	float weight_data[4 * 3 * 3 * 3];
	Onnx__ValueInfoProto values[2]; /* x and z */
	Onnx__TypeProto types[2];
	Onnx__TypeProto__Tensor tensors[2];
	Onnx__TensorShapeProto shapes[2];
	Onnx__TensorShapeProto__Dimension dims[2][4];
	Onnx__TensorShapeProto__Dimension *dim_list[2][4];
	Onnx__ValueInfoProto *inputs[1], *outputs[1];
	char *names[2][MAX_LIST], *out_names[2][MAX_LIST];
};

static void set_port(struct small *s, int i, char *name, const int64_t *dims)
{
	onnx__value_info_proto__init(&s->values[i]);
	onnx__type_proto__init(&s->types[i]);
	onnx__type_proto__tensor__init(&s->tensors[i]);
	onnx__tensor_shape_proto__init(&s->shapes[i]);
	s->values[i].name = name;
	s->values[i].type = &s->types[i];
	s->types[i].value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
	s->types[i].tensor_type = &s->tensors[i];
	s->tensors[i].has_elem_type = 1;
	s->tensors[i].elem_type = 1;
	s->tensors[i].shape = &s->shapes[i];
	s->shapes[i].n_dim = 4;
	s->shapes[i].dim = s->dim_list[i];
	for (int k = 0; k < 4; k++) {
		onnx__tensor_shape_proto__dimension__init(&s->dims[i][k]);
		s->dims[i][k].value_case = ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE;
		s->dims[i][k].dim_value = dims[k];
		s->dim_list[i][k] = &s->dims[i][k];
	}
}

static void set_node(struct small *s, int i, char *type, char *in0, char *in1, char *out)
{
	onnx__node_proto__init(&s->nodes[i]);
	s->nodes[i].op_type = type;
	s->nodes[i].n_input = in1 == NULL ? 1 : 2;
	s->names[i][0] = in0;
	s->names[i][1] = in1;
	s->nodes[i].input = s->names[i];
	s->nodes[i].n_output = 1;
	s->out_names[i][0] = out;
	s->nodes[i].output = s->out_names[i];
	s->node_list[i] = &s->nodes[i];
}

static void set_weight(struct small *s)
{
	onnx__tensor_proto__init(&s->weight);
	memcpy(s->weight_dims, (int64_t[]){ 4, 3, 3, 3 }, sizeof(s->weight_dims));
	s->weight.name = "w";
	s->weight.has_data_type = 1;
	s->weight.data_type = 1;
	s->weight.n_dims = 4;
	s->weight.dims = s->weight_dims;
	s->weight.n_float_data = 4 * 3 * 3 * 3;
	s->weight.float_data = s->weight_data;
	s->weights[0] = &s->weight;
	for (size_t i = 0; i < s->weight.n_float_data; i++)
		s->weight_data[i] = 0.01F * (float)i;
}

static struct small *new_small(void)
{
	struct small *s = calloc(1, sizeof(*s));

	ck_assert_ptr_nonnull(s);
	onnx__model_proto__init(&s->model);
	onnx__graph_proto__init(&s->graph);
	onnx__operator_set_id_proto__init(&s->opset);
	s->opset.has_version = 1;
	s->opset.version = 13;
	s->opsets[0] = &s->opset;
	s->model.n_opset_import = 1;
	s->model.opset_import = s->opsets;
	s->model.graph = &s->graph;
	set_weight(s);
	s->graph.n_initializer = 1;
	s->graph.initializer = s->weights;
	set_node(s, 0, "Conv", "x", "w", "y");
	set_node(s, 1, "Relu", "y", NULL, "z");
	s->nodes[0].name = "first";
	s->graph.n_node = 2;
	s->graph.node = s->node_list;
	set_port(s, 0, "x", (int64_t[]){ 1, 3, 8, 8 });
	set_port(s, 1, "z", (int64_t[]){ 1, 4, 6, 6 });
	s->inputs[0] = &s->values[0];
	s->outputs[0] = &s->values[1];
	s->graph.n_input = 1;
	s->graph.input = s->inputs;
	s->graph.n_output = 1;
	s->graph.output = s->outputs;
	return s;
}

static uint8_t *pack(const struct small *s, size_t *size)
{
	uint8_t *data;

	*size = onnx__model_proto__get_packed_size(&s->model);
	data = malloc(*size + 1);
	ck_assert_ptr_nonnull(data);
	(void)onnx__model_proto__pack(&s->model, data);
	return data;
}

static psg_status load(const struct small *s, psg_model **model, psg_error *error)
{
	size_t size;
	uint8_t *data = pack(s, &size);
	psg_status status = psg_model_load_memory(data, size, "small.onnx", NULL, model, error);

	free(data);
	return status;
}

/* --- what is wrong with it --- */

static void wrong_operator(struct small *s)
{
	s->nodes[0].op_type = "LSTM";
}
static void wrong_domain(struct small *s)
{
	s->nodes[0].domain = "com.example";
}
static void opset_too_old(struct small *s)
{
	s->opset.version = -1;
}
static void opset_too_new(struct small *s)
{
	s->opset.version = 99;
}
static void no_opset(struct small *s)
{
	s->model.n_opset_import = 0;
}
static void no_graph(struct small *s)
{
	s->model.graph = NULL;
}
static void no_output(struct small *s)
{
	s->graph.n_output = 0;
}
static void unmade_output(struct small *s)
{
	s->values[1].name = "nobody";
}
static void missing_value(struct small *s)
{
	s->names[1][0] = "ghost";
}
static void cycle(struct small *s)
{
	s->names[0][0] = "z";
}
static void made_twice(struct small *s)
{
	s->out_names[1][0] = "y";
}
static void too_many_inputs(struct small *s)
{
	s->nodes[0].n_input = MAX_LIST;
	for (int i = 0; i < MAX_LIST; i++)
		s->names[0][i] = "x";
}
static void too_few_inputs(struct small *s)
{
	s->nodes[0].n_input = 1;
}
static void channels_contradict(struct small *s)
{
	s->dims[0][1].dim_value = 5;
}
static void kernel_too_large(struct small *s)
{
	s->dims[0][2].dim_value = 2;
}
static void weight_too_short(struct small *s)
{
	s->weight.n_float_data = 10;
}
static void weight_negative(struct small *s)
{
	s->weight_dims[0] = -4;
}
static void weight_overflows(struct small *s)
{
	s->weight_dims[0] = INT64_MAX / 2;
	s->weight_dims[1] = INT64_MAX / 2;
}
static void weight_float64(struct small *s)
{
	s->weight.data_type = 11;
}
static void weight_type_unknown(struct small *s)
{
	s->weight.data_type = -3;
}
static void weight_external(struct small *s)
{
	s->weight.has_data_location = 1;
	s->weight.data_location = ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
}
static void weight_unnamed(struct small *s)
{
	s->weight.name = "";
}
static void input_float16(struct small *s)
{
	s->tensors[0].elem_type = 10;
}
static void input_without_shape(struct small *s)
{
	s->tensors[0].shape = NULL;
}
static void unknown_attribute(struct small *s)
{
	onnx__attribute_proto__init(&s->attribute);
	s->attribute.name = "surprise";
	s->attributes[0] = &s->attribute;
	s->nodes[0].n_attribute = 1;
	s->nodes[0].attribute = s->attributes;
}

static const struct wrong {
	void (*spoil)(struct small *s);
	psg_status status;
	const char *words[3]; /* that the message holds */
} wrongs[] = {
	{ wrong_operator, PSG_UNSUPPORTED, { "small.onnx", "first", "LSTM" } },
	{ wrong_domain, PSG_UNSUPPORTED, { "first", "com.example" } },
	{ opset_too_old, PSG_UNSUPPORTED, { "opset -1", "1 to 17" } },
	{ opset_too_new, PSG_UNSUPPORTED, { "opset 99", "1 to 17" } },
	{ no_opset, PSG_FORMAT, { "opset" } },
	{ no_graph, PSG_FORMAT, { "no graph" } },
	{ no_output, PSG_FORMAT, { "no output" } },
	{ unmade_output, PSG_FORMAT, { "nobody" } },
	{ missing_value, PSG_FORMAT, { "Relu", "ghost", "nothing makes" } },
	{ cycle, PSG_FORMAT, { "cycle of 2 nodes", "'z' (Relu)", "'first' (Conv)" } },
	{ made_twice, PSG_FORMAT, { "'y'", "twice" } },
	{ too_many_inputs, PSG_UNSUPPORTED, { "first", "24", "16" } },
	{ too_few_inputs, PSG_FORMAT, { "first", "1 inputs" } },
	{ channels_contradict, PSG_FORMAT, { "first", "[1,5,8,8]", "[4,3,3,3]" } },
	{ kernel_too_large, PSG_FORMAT, { "first", "Conv" } },
	{ weight_too_short, PSG_FORMAT, { "w", "108", "10" } },
	{ weight_negative, PSG_FORMAT, { "w", "-4" } },
	{ weight_overflows, PSG_FORMAT, { "w" } },
	{ weight_float64, PSG_UNSUPPORTED, { "w", "float64" } },
	{ weight_type_unknown, PSG_UNSUPPORTED, { "w", "unknown" } },
	{ weight_external, PSG_UNSUPPORTED, { "w", "another file" } },
	{ weight_unnamed, PSG_FORMAT, { "no name" } },
	{ input_float16, PSG_UNSUPPORTED, { "'x'", "float16" } },
	{ input_without_shape, PSG_UNSUPPORTED, { "'x'", "shape" } },
	{ unknown_attribute, PSG_UNSUPPORTED, { "first", "surprise" } },
};

#define N_WRONGS ((int)(sizeof(wrongs) / sizeof(wrongs[0])))

START_TEST(is_refused)
{
	const struct wrong *wrong = &wrongs[_i];
	struct small *s = new_small();
	psg_error error = PSG_ERROR_INIT;
	psg_model *model;

	wrong->spoil(s);
	ck_assert_msg(load(s, &model, &error) == wrong->status, "case %d: %s: %s", _i,
		      psg_status_name(error.code), error.message);
	ck_assert_ptr_null(model);
	ck_assert_int_eq(error.code, wrong->status);
	for (int i = 0; i < 3 && wrong->words[i] != NULL; i++)
		ck_assert_msg(strstr(error.message, wrong->words[i]) != NULL,
			      "case %d: '%s' has no '%s'", _i, error.message, wrong->words[i]);
	free(s);
}
END_TEST

/* --- and what is wrong with others, as text --- */

static const struct {
	const char *text;
	psg_status status;
	const char *words[3];
} wrong_texts[] = {
	/* names: twice, nowhere, nobody's */
	{ "in x 2; in x 2; Relu x > y; out y", PSG_FORMAT, { "'x'", "twice" } },
	{ "in x 2; w k 2 = 1 2; w k 2 = 1 2; Add x k > y; out y", PSG_FORMAT, { "'k'", "twice" } },
	{ "in x 2; c k 2 = 1 2; w k 2 = 1 2; Add x k > y; out y", PSG_FORMAT, { "'k'", "twice" } },
	{ "in x 2; Relu x > x; out x", PSG_FORMAT, { "'x'", "twice" } },
	{ "in x 2; Split x > y y axis=0; out y", PSG_FORMAT, { "'y'", "twice" } },
	{ "in x 2; Add x nobody > y; out y",
	  PSG_FORMAT,
	  { "'y' (Add)", "'nobody'", "nothing makes" } },
	{ "in x 2; Relu > y; out y", PSG_FORMAT, { "'y' (Relu)", "0 inputs of data, 1" } },
	{ "in x 2; Relu x > -; Neg x > y; out y", PSG_FORMAT, { "Relu", "no output" } },
	{ "in x 2; Relu x > y", PSG_FORMAT, { "no output" } },
	/* names that would clear a terminal or forge a line of a log */
	{ "in x 2; Add x \033[2J\007 > y\x9b\177; out y\x9b\177", PSG_FORMAT, { "'?[2J?'" } },
	{ "in x 2; Evil\033[31m x > y; out y", PSG_UNSUPPORTED, { "(Evil?[31m)" } },
	/* sizes: of weights, of ports, of both together */
	{ "in x 2; w k 2 = 1; Add x k > y; out y", PSG_FORMAT, { "k: ", "8 bytes", "has 4" } },
	{ "in x 2; w k 2 = 1 2 3; Add x k > y; out y", PSG_FORMAT, { "k: ", "8 bytes", "has 12" } },
	{ "in x 2; w k -2 = 1 2; Add x k > y; out y", PSG_FORMAT, { "k: ", "[-2]", "negative" } },
	{ "in x 2; w k 0 -2 = ; Add x k > y; out y", PSG_FORMAT, { "k: ", "[0,-2]", "negative" } },
	{ "in x 2; w k 4294967296 4294967296 = 1; Add x k > y; out y",
	  PSG_FORMAT,
	  { "k: ", "[4294967296,4294967296]", "limit" } },
	{ "in x 2; w k 0 4294967296 4294967296 = ; Add x k > y; out y",
	  PSG_FORMAT,
	  { "k: ", "limit" } },
	{ "in x 2; w k 1 1 1 1 1 1 1 = 1; Add x k > y; out y",
	  PSG_UNSUPPORTED,
	  { "k: ", "7", "at most 6" } },
	{ "in x 9223372036854775807 4; Relu x > y; out y", PSG_FORMAT, { "limit" } },
	{ "in x 1 1 1 1 1 1 1; Relu x > y; out y", PSG_UNSUPPORTED, { "'x'", "7", "at most 6" } },
	{ "in x 2 3; in z 2 4; Add x z > y; out y", PSG_FORMAT, { "'y' (Add)", "[2,3]", "[2,4]" } },
	{ "in x 2 3; c s i64 2 = 4 4; Reshape x s > y; out y",
	  PSG_FORMAT,
	  { "'y' (Reshape)", "[2,3]", "[4,4]" } },
	{ "in x 1 2 4; w k 1 2 2 = 1 1 1 1; w b 2 = 1 1; Conv x k b > y; out y",
	  PSG_FORMAT,
	  { "'y' (Conv)", "[2]", "1" } },
	/* both operands known at load: folded, and wrong then already */
	{ "in x 2; c a 2 = 1 2; c b 3 = 1 2 3; Add a b > d; Add x d > y; out y",
	  PSG_FORMAT,
	  { "'d' (Add)", "[2]", "[3]" } },
	{ "c a i64 1 = 1; c b i64 1 = 0; Div a b > y; out y i64",
	  PSG_FORMAT,
	  { "'y' (Div)", "division by zero" } },
	/* element types */
	{ "in x f64 2; Relu x > y; out y", PSG_UNSUPPORTED, { "'x'", "float64" } },
	{ "in x 2; w k f64 2 = 1 2; Add x k > y; out y", PSG_UNSUPPORTED, { "k: ", "float64" } },
	{ "in x i64 2; Sigmoid x > y; out y", PSG_UNSUPPORTED, { "'y' (Sigmoid)", "I64" } },
	{ "in x 2; w k i64 2 = 1 2; Add x k > y; out y", PSG_FORMAT, { "'y' (Add)", "types" } },
	{ "in x 2; Shape x > y; out y", PSG_FORMAT, { "'y'", "integers", "declares float32" } },
	{ "in x 2; Relu x > y; out y i64", PSG_FORMAT, { "'y'", "float32", "declares integers" } },
};

START_TEST(text_is_refused)
{
	psg_error error = PSG_ERROR_INIT;
	psg_model *model;
	size_t size;
	uint8_t *data = t_onnx(wrong_texts[_i].text, &size);

	ck_assert_msg(psg_model_load_memory(data, size, "text.onnx", NULL, &model, &error) ==
			      wrong_texts[_i].status,
		      "%s: %s: %s", wrong_texts[_i].text, psg_status_name(error.code),
		      error.message);
	ck_assert_ptr_null(model);
	for (int i = 0; i < 3 && wrong_texts[_i].words[i] != NULL; i++)
		ck_assert_msg(strstr(error.message, wrong_texts[_i].words[i]) != NULL,
			      "%s: '%s' has no '%s'", wrong_texts[_i].text, error.message,
			      wrong_texts[_i].words[i]);
	for (const char *at = error.message; *at != '\0'; at++)
		ck_assert_int_ge((unsigned char)*at, ' ');
	free(data);
}
END_TEST

/* A weight that names another file: refused without opening it, which here would never return. */
START_TEST(external_data_is_not_opened)
{
	char folder[] = "/tmp/pagesift-onnx-XXXXXX", path[64];
	struct small *s = new_small();
	Onnx__StringStringEntryProto entry = ONNX__STRING_STRING_ENTRY_PROTO__INIT, *entries[1];
	psg_error error = PSG_ERROR_INIT;
	psg_model *model;

	ck_assert_ptr_nonnull(mkdtemp(folder));
	(void)snprintf(path, sizeof(path), "%s/weights", folder);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	entry.key = "location";
	entry.value = path;
	entries[0] = &entry;
	s->weight.n_external_data = 1;
	s->weight.external_data = entries;
	for (int round = 0; round < 2; round++) {
		ck_assert_int_eq(load(s, &model, &error), PSG_UNSUPPORTED);
		ck_assert_ptr_nonnull(
			strstr(error.message, "w: keeps its weights in another file"));
		weight_external(s);
		s->weight.n_float_data = 0;
	}
	(void)unlink(path);
	(void)rmdir(folder);
	free(s);
}
END_TEST

START_TEST(good_one_runs)
{
	struct small *s = new_small();
	psg_error error = PSG_ERROR_INIT;
	psg_model *model;
	psg_device *device;
	psg_shape shape = PSG_SHAPE(1, 3, 8, 8);
	psg_tensor *in, *out = NULL;
	double want = 0;

	ck_assert_msg(load(s, &model, &error) == PSG_OK, "%s", error.message);
	ck_assert_uint_eq(psg_model_inputs(model), 1);
	ck_assert_str_eq(psg_model_input(model, 0)->name, "x");
	ck_assert_ptr_null(psg_model_input(model, 1));
	ck_assert_int_eq(psg_device_open(_i == 0 ? "cpu" : "reference", &device, &error), PSG_OK);
	ck_assert_int_eq(psg_tensor_create(PSG_F32, &shape, &in, &error), PSG_OK);
	for (int i = 0; i < 192; i++)
		((float *)psg_tensor_data(in))[i] = 1;
	ck_assert_msg(psg_model_run(model, device, &in, 1, &out, 1, NULL, NULL, &error) == PSG_OK,
		      "%s", error.message);
	for (int i = 27; i < 54; i++)
		want += 0.01 * i; /* channel 1's weights */
	ck_assert_double_eq_tol((double)((const float *)psg_tensor_const_data(out))[36 + 7], want,
				1e-4);
	psg_tensor_unref(in);
	psg_tensor_unref(out);
	psg_device_close(device);
	psg_model_unref(model);
	free(s);
}
END_TEST

START_TEST(wrong_shapes_at_run)
{
	struct small *s = new_small();
	psg_error error = PSG_ERROR_INIT;
	psg_model *model;
	psg_device *device;
	psg_shape shape = PSG_SHAPE(1, 3, 8, 9);
	psg_tensor *in, *out = NULL;

	ck_assert_int_eq(load(s, &model, &error), PSG_OK);
	ck_assert_int_eq(psg_device_open("cpu", &device, &error), PSG_OK);
	ck_assert_int_eq(psg_tensor_create(PSG_F32, &shape, &in, &error), PSG_OK);
	ck_assert_int_eq(psg_model_run(model, device, &in, 1, &out, 1, NULL, NULL, &error),
			 PSG_INVALID);
	ck_assert_ptr_nonnull(strstr(error.message, "[1,3,8,9]"));
	ck_assert_ptr_null(out);
	ck_assert_int_eq(psg_model_run(model, device, &in, 1, NULL, 0, NULL, NULL, &error),
			 PSG_INVALID);
	psg_tensor_unref(in);
	psg_device_close(device);
	psg_model_unref(model);
	free(s);
}
END_TEST

static bool at_once(void *user)
{
	(void)user;
	return true;
}

START_TEST(stop_ends_a_run)
{
	struct small *s = new_small();
	psg_error error = PSG_ERROR_INIT;
	psg_model *model;
	psg_device *device;
	psg_shape shape = PSG_SHAPE(1, 3, 8, 8);
	psg_tensor *in, *out = NULL;

	ck_assert_int_eq(load(s, &model, &error), PSG_OK);
	ck_assert_int_eq(psg_device_open("cpu", &device, &error), PSG_OK);
	ck_assert_int_eq(psg_tensor_create(PSG_F32, &shape, &in, &error), PSG_OK);
	ck_assert_int_eq(psg_model_run(model, device, &in, 1, &out, 1, at_once, NULL, &error),
			 PSG_CANCELLED);
	ck_assert_ptr_null(out);
	psg_tensor_unref(in);
	psg_device_close(device);
	psg_model_unref(model);
	free(s);
}
END_TEST

/* The opset comes last in the file, so that no beginning of it is a model. */
START_TEST(truncated_anywhere)
{
	struct small *s = new_small();
	size_t size;
	uint8_t *data = pack(s, &size);

	for (size_t n = 0; n < size; n++) {
		psg_error error = PSG_ERROR_INIT;
		psg_model *model;
		uint8_t *part =
			malloc(n + 1); /* its own block, so that ASan sees a read past the end */

		ck_assert_ptr_nonnull(part);
		memcpy(part, data, n);
		ck_assert_msg(psg_model_load_memory(part, n, NULL, NULL, &model, &error) ==
				      PSG_FORMAT,
			      "%zu of %zu bytes: %s", n, size, error.message);
		free(part);
	}
	free(data);
	free(s);
}
END_TEST

/* Whatever bytes are changed, loading ends in an orderly way. */
START_TEST(flipped_bits)
{
	struct small *s = new_small();
	size_t size;
	uint8_t *data = pack(s, &size);
	uint32_t random = 1;

	for (int round = 0; round < 4000; round++) {
		psg_error error = PSG_ERROR_INIT;
		psg_model *model;
		size_t at;
		uint8_t old;

		random = random * 1664525U + 1013904223U;
		at = (random >> 8) % size;
		old = data[at];
		data[at] = (uint8_t)(old ^ (1U << (random >> 29)));
		if (psg_model_load_memory(data, size, NULL, NULL, &model, &error) != PSG_OK)
			ck_assert_str_ne(error.message, "");
		psg_model_unref(model);
		data[at] = old;
	}
	free(data);
	free(s);
}
END_TEST

/* Graphs in attributes in graphs: refused before the stack is. */
START_TEST(nested_without_end)
{
	enum { DEPTH = 200000 };
	/* From outside: model.graph (7), then over and over graph.node (1), node.attribute (5) and
	 * attribute.g (6). */
	static const uint8_t tags[] = { 0x0a, 0x2a, 0x32 };
	size_t room = (size_t)DEPTH * 8, at = room, length = 0;
	uint8_t *data = malloc(room);
	psg_error error = PSG_ERROR_INIT;
	psg_model *model;

	ck_assert_ptr_nonnull(data);
	for (int level = 0; level < DEPTH; level++) {
		uint8_t varint[10];
		size_t n = 0;

		for (size_t rest = length;; rest >>= 7) {
			varint[n++] = (uint8_t)((rest & 0x7f) | (rest > 0x7f ? 0x80 : 0));
			if (rest <= 0x7f)
				break;
		}
		at -= n;
		memcpy(data + at, varint, n);
		data[--at] = level == DEPTH - 1 ? 0x3a : tags[(DEPTH - 2 - level) % 3];
		length += n + 1;
	}
	ck_assert_int_eq(psg_model_load_memory(data + at, length, NULL, NULL, &model, &error),
			 PSG_FORMAT);
	ck_assert_msg(strstr(error.message, "too deep") != NULL, "%s", error.message);
	free(data);
}
END_TEST

/* Empty nodes of two bytes each, which are a hundred times larger in memory. */
START_TEST(larger_in_memory)
{
	enum { NODES = 60000 };
	uint8_t *data = calloc(1, NODES * 2 + 4);
	psg_error error = PSG_ERROR_INIT;
	psg_model *model;

	ck_assert_ptr_nonnull(data);
	/* model.graph, with its length in three groups of seven bits */
	memcpy(data, (uint8_t[]){ 0x3a, 0xc0, 0xa9, 0x07 }, 4);
	ck_assert_int_eq(0x40 + (0x29 << 7) + (0x07 << 14), NODES * 2);
	for (int i = 0; i < NODES; i++)
		data[4 + 2 * i] = 0x0a;
	ck_assert_int_eq(psg_model_load_memory(data, NODES * 2 + 4, NULL, NULL, &model, &error),
			 PSG_FORMAT);
	ck_assert_msg(strstr(error.message, "over 64 times") != NULL, "%s", error.message);
	free(data);
}
END_TEST

START_TEST(not_a_model)
{
	static const char *const texts[] = { "", "hello, world\n", "\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
					     "\xff\xff\xff\xff" };
	static const size_t sizes[] = { 0, 13, 16, 4 };

	for (size_t i = 0; i < 4; i++) {
		psg_error error = PSG_ERROR_INIT;
		psg_model *model;

		ck_assert_int_eq(
			psg_model_load_memory(texts[i], sizes[i], NULL, NULL, &model, &error),
			PSG_FORMAT);
	}
}
END_TEST

START_TEST(files)
{
	psg_error error = PSG_ERROR_INIT;
	psg_model *model;

	ck_assert_int_eq(psg_model_load_file("/nonexistent/a.onnx", NULL, &model, &error),
			 PSG_INVALID);
	ck_assert_ptr_nonnull(strstr(error.message, "/nonexistent/a.onnx"));
	ck_assert_int_eq(psg_model_load_file("/", NULL, &model, &error), PSG_INVALID);
	ck_assert_int_eq(psg_model_load_file("/dev/null", NULL, &model, &error), PSG_INVALID);
}
END_TEST

START_TEST(digest_needs_a_softmax)
{
	struct small *s = new_small();
	psg_model_options options = { .digest = true };
	psg_error error = PSG_ERROR_INIT;
	psg_model *model;
	psg_device *device;
	psg_shape shape = PSG_SHAPE(1, 3, 8, 8);
	psg_tensor *in, *out = NULL;
	size_t size;
	uint8_t *data = pack(s, &size);

	ck_assert_int_eq(psg_model_load_memory(data, size, NULL, &options, &model, &error), PSG_OK);
	ck_assert_int_eq(psg_device_open("cpu", &device, &error), PSG_OK);
	ck_assert_int_eq(psg_tensor_create(PSG_F32, &shape, &in, &error), PSG_OK);
	ck_assert_int_eq(psg_model_run(model, device, &in, 1, &out, 1, NULL, NULL, &error),
			 PSG_UNSUPPORTED);
	ck_assert_ptr_nonnull(strstr(error.message, "softmax"));
	psg_tensor_unref(in);
	psg_device_close(device);
	psg_model_unref(model);
	free(data);
	free(s);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("onnx");
	TCase *tests = tcase_create("files");
	SRunner *runner;
	int failed;

	tcase_set_timeout(tests, 120);
	tcase_add_loop_test(tests, is_refused, 0, N_WRONGS);
	tcase_add_loop_test(tests, text_is_refused, 0,
			    (int)(sizeof(wrong_texts) / sizeof(wrong_texts[0])));
	tcase_add_test(tests, external_data_is_not_opened);
	tcase_add_loop_test(tests, good_one_runs, 0, 2);
	tcase_add_test(tests, wrong_shapes_at_run);
	tcase_add_test(tests, stop_ends_a_run);
	tcase_add_test(tests, truncated_anywhere);
	tcase_add_test(tests, flipped_bits);
	tcase_add_test(tests, nested_without_end);
	tcase_add_test(tests, larger_in_memory);
	tcase_add_test(tests, not_a_model);
	tcase_add_test(tests, files);
	tcase_add_test(tests, digest_needs_a_softmax);
	suite_add_tcase(suite, tests);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? 0 : 1;
}
