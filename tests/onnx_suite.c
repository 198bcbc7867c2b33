/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs ONNX's own test data (Debian's libonnx-testdata) through psg_model_run.
 *
 *     onnx_suite [--device cpu|reference] [--verbose] [FOLDER]
 *
 * Every case must give the right values (rtol 1e-3, atol 1e-7, ONNX's own
 * tolerances) or be refused when it is loaded.  Cases of the operators in
 * `required` on float32 must not be refused.  Each case runs in a process of
 * its own, so that a crash or a hang is one wrong case.
 */
#include "config.h"

#include "model/onnx_internal.h"

#include <dirent.h>
#include <math.h>
#include <pagesift/gpu.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define RTOL 1e-3
#define ATOL 1e-7
#define CASE_SECONDS 120 /* chosen: the slowest takes a second on the reference loops */

enum outcome { PASSED, REFUSED, WRONG, OUTCOMES };

static const char *const required[] = {
	"Conv",
	"ConvTranspose",
	"BatchNormalization",
	"MatMul",
	"Softmax",
	"LogSoftmax",
	"MaxPool",
	"AveragePool",
	"LpPool",
	"GlobalMaxPool",
	"GlobalAveragePool",
	"Relu",
	"LeakyRelu",
	"Elu",
	"Celu",
	"Selu",
	"Sigmoid",
	"HardSigmoid",
	"HardSwish",
	"Tanh",
	"Softplus",
	"Softsign",
	"ThresholdedRelu",
	"PRelu",
	"Clip",
	"Add",
	"Sub",
	"Mul",
	"Div",
	"Pow",
	"Sum",
	"Mean",
	"Max",
	"Min",
	"Abs",
	"Neg",
	"Sqrt",
	"Exp",
	"Log",
	"Reciprocal",
	"Floor",
	"Ceil",
	"Round",
	"Erf",
	"ReduceSum",
	"ReduceMean",
	"ReduceMax",
	"ReduceMin",
	"ReduceProd",
	"ReduceL1",
	"ReduceL2",
	"ReduceLogSum",
	"ReduceLogSumExp",
	"ReduceSumSquare",
	"Transpose",
	"Slice",
	"Concat",
	"Reshape",
	"Squeeze",
	"Unsqueeze",
	"Flatten",
	"Resize",
	"Constant",
	"Identity",
	"Gemm",
	"InstanceNormalization",
	"LayerNormalization",
	"MeanVarianceNormalization",
	"LRN",
	"Hardmax",
	"Shrink",
	"Pad",
	"Split",
	"Gather",
	"Expand",
	"Tile",
	"Where",
	"Upsample",
	"DepthToSpace",
	"SpaceToDepth",
	"Sign",
	"Sin",
	"Cos",
	"Tan",
	"Asin",
	"Acos",
	"Atan",
	"Sinh",
	"Cosh",
	"Asinh",
	"Acosh",
	"Atanh",
};

/* What refused cases say, names left out, and how often; operators that are not done by name. */
struct tally {
	char text[200];
	size_t count;
};

#define MAX_REASONS 256 /* the suite gives some thirty, and seventy operators */

static struct tally reasons[MAX_REASONS], operators[MAX_REASONS];

static const char *device_name = "cpu";
static bool verbose;

/* --- files --- */

static void *read_file(const char *path, size_t *size)
{
	FILE *file = fopen(path, "rb");
	char *data = NULL;
	long end;

	if (file == NULL)
		return NULL;
	if (fseek(file, 0, SEEK_END) == 0 && (end = ftell(file)) >= 0) {
		rewind(file);
		data = malloc((size_t)end + 1);
		*size = data == NULL ? 0 : fread(data, 1, (size_t)end, file);
	}
	(void)fclose(file);
	return data;
}

/* A TensorProto file as a tensor; NULL if it is not one that is read. */
static psg_tensor *read_tensor(const char *path)
{
	size_t size;
	void *data = read_file(path, &size);
	Onnx__TensorProto *proto =
		data == NULL ? NULL : onnx__tensor_proto__unpack(NULL, size, data);
	psg_tensor *tensor = NULL;

	if (proto != NULL && psgi_onnx_tensor(proto, path, &tensor, NULL) != PSG_OK)
		tensor = NULL;
	if (proto != NULL)
		onnx__tensor_proto__free_unpacked(proto, NULL);
	free(data);
	return tensor;
}

/* --- what must not be refused --- */

static bool is_required_operator(const Onnx__NodeProto *node)
{
	const char *type = node->op_type;
	bool found = false;

	for (size_t i = 0; i < sizeof(required) / sizeof(required[0]); i++)
		found = found || strcmp(required[i], type) == 0;
	for (size_t i = 0; i < node->n_attribute; i++) {
		const Onnx__AttributeProto *a = node->attribute[i];
		bool nearest = a->s.len == 7 && memcmp(a->s.data, "nearest", 7) == 0;

		if (strcmp(type, "Resize") == 0 && strcmp(a->name, "mode") == 0 && !nearest)
			return false;
		if (strcmp(a->name, "training_mode") == 0 && a->i != 0)
			return false;
	}
	return found;
}

static int elem_type(const Onnx__ValueInfoProto *value)
{
	return value->type != NULL && value->type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE
		       ? value->type->tensor_type->elem_type
		       : -1;
}

/* Only required operators, and float32 data (int64 only to say shapes or as indices of a pool)? */
static bool is_required(const char *path)
{
	size_t size;
	void *data = read_file(path, &size);
	Onnx__ModelProto *model = data == NULL ? NULL : onnx__model_proto__unpack(NULL, size, data);
	bool yes = model != NULL && model->graph != NULL && model->n_opset_import == 1 &&
		   model->opset_import[0]->version >= 1 && model->opset_import[0]->version <= 17;

	for (size_t i = 0; yes && i < model->graph->n_node; i++)
		yes = is_required_operator(model->graph->node[i]);
	for (size_t i = 0; yes && i < model->graph->n_input; i++)
		yes = elem_type(model->graph->input[i]) == 1 ||
		      (i > 0 && elem_type(model->graph->input[i]) == 7);
	for (size_t i = 0; yes && i < model->graph->n_output; i++)
		yes = elem_type(model->graph->output[i]) == 1 ||
		      (i > 0 && elem_type(model->graph->output[i]) == 7);
	if (model != NULL)
		onnx__model_proto__free_unpacked(model, NULL);
	free(data);
	return yes;
}

/* --- one case, in the child --- */

static void say(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void say(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	(void)vfprintf(stdout, format, args);
	va_end(args);
	(void)fflush(stdout);
}

static bool close_enough(double got, double want)
{
	if (isnan(got) || isnan(want))
		return isnan(got) && isnan(want);
	if (isinf(got) || isinf(want))
		return got == want;
	return fabs(got - want) <= ATOL + RTOL * fabs(want);
}

static bool same(const psg_tensor *got, const psg_tensor *want, size_t index)
{
	const psg_shape *shape = psg_tensor_shape(want);

	if (!psg_shape_equal(psg_tensor_shape(got), shape) ||
	    psg_tensor_dtype(got) != psg_tensor_dtype(want)) {
		char a[PSGI_SHAPE_TEXT], b[PSGI_SHAPE_TEXT];

		say("output %zu is %s, should be %s", index,
		    psgi_shape_text(psg_tensor_shape(got), a), psgi_shape_text(shape, b));
		return false;
	}
	for (int64_t i = 0; i < psg_shape_elements(shape); i++) {
		bool f32 = psg_tensor_dtype(want) == PSG_F32;
		const void *g = psg_tensor_const_data(got), *w = psg_tensor_const_data(want);
		double a = f32 ? (double)((const float *)g)[i] : (double)((const int64_t *)g)[i];
		double b = f32 ? (double)((const float *)w)[i] : (double)((const int64_t *)w)[i];

		if (!close_enough(a, b)) {
			say("output %zu, element %lld is %g, should be %g", index, (long long)i, a,
			    b);
			return false;
		}
	}
	return true;
}

static enum outcome run_set(psg_model *model, psg_device *device, const char *folder)
{
	psg_tensor *in[PSG_MAX_INPUTS] = { NULL }, *out[PSG_MAX_OUTPUTS] = { NULL };
	size_t n_in = psg_model_inputs(model), n_out = psg_model_outputs(model);
	psg_error error = PSG_ERROR_INIT;
	enum outcome outcome = PASSED;
	char path[4200];

	for (size_t i = 0; i < n_in; i++) {
		(void)snprintf(path, sizeof(path), "%s/input_%zu.pb", folder, i);
		in[i] = read_tensor(path);
		if (in[i] == NULL) {
			say("%s is not read", path);
			return WRONG;
		}
	}
	if (psg_model_run(model, device, in, n_in, out, n_out, NULL, NULL, &error) != PSG_OK) {
		say("%s: %s", psg_status_name(error.code), error.message);
		outcome = WRONG;
	}
	for (size_t i = 0; i < n_out && outcome == PASSED; i++) {
		psg_tensor *want;

		(void)snprintf(path, sizeof(path), "%s/output_%zu.pb", folder, i);
		want = read_tensor(path);
		if (want == NULL || !same(out[i], want, i))
			outcome = WRONG;
		psg_tensor_unref(want);
	}
	for (size_t i = 0; i < n_in; i++)
		psg_tensor_unref(in[i]);
	for (size_t i = 0; i < n_out; i++)
		psg_tensor_unref(out[i]);
	return outcome;
}

static enum outcome run_case(const char *folder)
{
	psg_error error = PSG_ERROR_INIT;
	psg_model *model = NULL;
	psg_device *device = NULL;
	enum outcome outcome = PASSED;
	char path[4096];

	(void)snprintf(path, sizeof(path), "%s/model.onnx", folder);
	if (psg_model_load_file(path, NULL, &model, &error) != PSG_OK) {
		const char *reason = strstr(error.message, "model.onnx: ");

		say("%s: %s", psg_status_name(error.code),
		    reason == NULL ? error.message : reason + 12);
		return error.code == PSG_UNSUPPORTED || error.code == PSG_FORMAT ? REFUSED : WRONG;
	}
	if (psg_device_open(device_name, &device, &error) != PSG_OK) {
		say("%s", error.message);
		return WRONG;
	}
	for (int set = 0; outcome == PASSED; set++) {
		(void)snprintf(path, sizeof(path), "%s/test_data_set_%d", folder, set);
		if (access(path, R_OK) != 0)
			break;
		outcome = run_set(model, device, path);
	}
	psg_device_close(device);
	psg_model_unref(model);
	return outcome;
}

/* --- why cases are refused --- */

static void count(struct tally *tallies, const char *text, size_t n)
{
	for (size_t i = 0; i < MAX_REASONS; i++) {
		struct tally *tally = &tallies[i];

		if (tally->count == 0)
			(void)snprintf(tally->text, sizeof(tally->text), "%.*s", (int)n, text);
		if (tally->count == 0 ||
		    (strncmp(tally->text, text, n) == 0 && tally->text[n] == '\0')) {
			tally->count++;
			return;
		}
	}
}

/* Of "UNSUPPORTED: node 'a' (Op): attribute 'b' is wrong" what is not a name: "attribute '..' is
 * wrong"; Op is counted by itself when it is the whole reason. */
static void count_reason(const char *text)
{
	const char *rest = strstr(text, ": "), *type = NULL;
	char reason[160];
	size_t n = 0;
	bool quoted = false;

	rest = rest == NULL ? text : rest + 2;
	if (strncmp(rest, "node '", 6) == 0 && strstr(rest, "): ") != NULL) {
		type = strstr(rest, "' (");
		rest = strstr(rest, "): ") + 3;
	}
	for (; *rest != '\0' && n < sizeof(reason) - 8; rest++) {
		if (*rest == '\'') {
			n += (size_t)sprintf(reason + n, "%s", quoted ? "..'" : "'");
			quoted = !quoted;
		} else if (!quoted) {
			reason[n++] = *rest;
		}
	}
	reason[n] = '\0';
	count(reasons, reason, n);
	if (type != NULL && strcmp(reason, "this operator is not done here") == 0)
		count(operators, type + 3, strcspn(type + 3, ")"));
}

static int by_count(const void *a, const void *b)
{
	const struct tally *x = a, *y = b;

	return x->count != y->count ? (x->count < y->count ? 1 : -1) : strcmp(x->text, y->text);
}

static void print_reasons(void)
{
	qsort(reasons, MAX_REASONS, sizeof(reasons[0]), by_count);
	qsort(operators, MAX_REASONS, sizeof(operators[0]), by_count);
	(void)printf("refused, by reason:\n");
	for (size_t i = 0; i < MAX_REASONS && reasons[i].count > 0; i++)
		(void)printf("%6zu  %s\n", reasons[i].count, reasons[i].text);
	(void)printf("operators that are not done:");
	for (size_t i = 0; i < MAX_REASONS && operators[i].count > 0; i++)
		(void)printf("%s%s %zu", i == 0 ? " " : ", ", operators[i].text,
			     operators[i].count);
	(void)printf("\n");
}

/* --- all cases --- */

static enum outcome run_child(const char *folder, char *text, size_t size)
{
	int fd[2], status = 0;
	ssize_t n, have = 0;
	pid_t child;

	text[0] = '\0';
	if (pipe(fd) != 0)
		return WRONG;
	(void)fflush(stdout); /* or the child would print it again */
	child = fork();
	if (child == 0) {
		(void)dup2(fd[1], STDOUT_FILENO);
		(void)close(fd[0]);
		(void)alarm(CASE_SECONDS);
		_exit((int)run_case(folder));
	}
	(void)close(fd[1]);
	while (have < (ssize_t)size - 1 &&
	       (n = read(fd[0], text + have, size - 1 - (size_t)have)) > 0)
		have += n;
	text[have] = '\0';
	(void)close(fd[0]);
	if (child < 0 || waitpid(child, &status, 0) != child)
		return WRONG;
	if (WIFSIGNALED(status)) {
		(void)snprintf(text, size, "ended by signal %d", WTERMSIG(status));
		return WRONG;
	}
	return WEXITSTATUS(status) < OUTCOMES ? (enum outcome)WEXITSTATUS(status) : WRONG;
}

static int is_test(const struct dirent *entry)
{
	return strncmp(entry->d_name, "test_", 5) == 0;
}

static void run_group(const char *root, const char *group, size_t *counts, size_t *missing)
{
	static const char *const words[] = { "passed", "refused", "WRONG" };
	struct dirent **names;
	char folder[2048], model[4096], text[1200];
	int n;

	(void)snprintf(folder, sizeof(folder), "%s/%s", root, group);
	n = scandir(folder, &names, is_test, alphasort);
	for (int i = 0; i < n; i++) {
		enum outcome outcome;
		bool lacks;

		(void)snprintf(folder, sizeof(folder), "%s/%s/%s", root, group, names[i]->d_name);
		outcome = run_child(folder, text, sizeof(text));
		counts[outcome]++;
		if (outcome == REFUSED)
			count_reason(text);
		(void)snprintf(model, sizeof(model), "%s/model.onnx", folder);
		lacks = outcome == REFUSED && is_required(model);
		*missing += lacks;
		if (outcome == WRONG || lacks || verbose)
			(void)printf("%s%s %s/%s: %s\n", words[outcome],
				     lacks ? " but required" : "", group, names[i]->d_name, text);
		free(names[i]);
	}
	if (n >= 0)
		free(names);
}

int main(int argc, char **argv)
{
	static const char *const groups[] = { "node", "pytorch-converted", "pytorch-operator",
					      "simple" };
	const char *root = "/usr/share/libonnx-testdata/data";
	size_t counts[OUTCOMES] = { 0 }, missing = 0;

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--verbose") == 0)
			verbose = true;
		else if (strcmp(argv[i], "--device") == 0 && i + 1 < argc)
			device_name = argv[++i];
		else
			root = argv[i];
	}
	if (access(root, R_OK) != 0) {
		(void)printf("skipped: no ONNX test data in %s (package libonnx-testdata)\n", root);
		return 77;
	}
	for (size_t i = 0; i < sizeof(groups) / sizeof(groups[0]); i++)
		run_group(root, groups[i], counts, &missing);
	print_reasons();
	(void)printf("ONNX test data on %s: %zu passed, %zu refused at load (%zu of them "
		     "required), %zu wrong\n",
		     device_name, counts[PASSED], counts[REFUSED], missing, counts[WRONG]);
	(void)printf("%zu passed, %zu failed, %zu skipped\n", counts[PASSED],
		     counts[WRONG] + missing, counts[REFUSED] - missing);
	return counts[WRONG] + missing == 0 ? 0 : 1;
}
