/* SPDX-License-Identifier: Apache-2.0 */
/* Loading a model: the file, the passes, the handle. */
#include "config.h"

#include "model/model.h"

#include "base/base.h"
#include "model/flow.h"
#include "model/passes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEFAULT_PLANS 64

/* A file's limit: protobuf's own, which is 2 GiB. */
#define MAX_FILE_BYTES ((int64_t)INT32_MAX)

/* --- life --- */

void psgi_model_hold(psg_model *model)
{
	(void)atomic_fetch_add_explicit(&model->holders, 1, memory_order_relaxed);
}

void psgi_model_drop(psg_model *model)
{
	/* Release what this holder did with the model; acquire it all before freeing. */
	if (atomic_fetch_sub_explicit(&model->holders, 1, memory_order_acq_rel) != 1)
		return;
	psgi_graph_free(model->graph);
	psgi_pack_cache_destroy(model->packs);
	free(model);
}

bool psgi_model_closed(const psg_model *model)
{
	return atomic_load_explicit(&model->handles, memory_order_relaxed) == 0;
}

psg_model *psg_model_ref(psg_model *model)
{
	/* Relaxed: the caller already has a reference, which keeps the model alive. */
	(void)atomic_fetch_add_explicit(&model->handles, 1, memory_order_relaxed);
	return model;
}

void psg_model_unref(psg_model *model)
{
	if (model != NULL &&
	    atomic_fetch_sub_explicit(&model->handles, 1, memory_order_acq_rel) == 1)
		psgi_model_drop(model);
}

/* --- what plans depend on --- */

/* Marks the inputs whose values decide shapes: backwards from every parameter. */
static psg_status find_by_value(psg_model *model, psg_error *error)
{
	const psgi_graph *graph = model->graph;
	bool *needed = calloc(graph->n_values + 1, sizeof(*needed));

	if (needed == NULL)
		return psgi_fail(error, PSG_NOMEM, "no memory for the model");
	for (size_t i = graph->n_nodes; i-- > 0;) {
		const psgi_node *node = &graph->nodes[i];
		bool all = false;

		for (size_t k = 0; k < node->n_out; k++)
			all = all || (node->out[k] >= 0 && needed[node->out[k]]);
		if (node->kind == PSG_OP_SHAPE || node->kind == PSG_OP_SIZE)
			all = false;
		for (size_t k = 0; k < node->n_in; k++) {
			bool value = (node->shape_inputs >> k & 1U) == 0 &&
				     (all || (node->param_inputs >> k & 1U) != 0);

			if (node->in[k] >= 0 && value)
				needed[node->in[k]] = true;
		}
	}
	for (size_t i = 0; i < graph->n_inputs && i < 32; i++) {
		if (needed[graph->inputs[i]])
			model->by_value |= 1U << i;
	}
	free(needed);
	return PSG_OK;
}

/* --- loading --- */

/* A model whose inputs all have fixed shapes is checked through now, rather than at its first run.
 */
static psg_status check_fixed(const psg_model *model, psg_error *error)
{
	const psgi_graph *graph = model->graph;
	psg_shape shapes[PSG_MAX_INPUTS];
	psgi_flow flow;
	psg_status status;

	if (model->by_value != 0)
		return PSG_OK;
	for (size_t i = 0; i < graph->n_inputs; i++) {
		shapes[i] = graph->input_ports[i].shape;
		for (int32_t k = 0; k < shapes[i].rank; k++) {
			if (shapes[i].dim[k] < 0)
				return PSG_OK;
		}
	}
	status = psgi_specialise(graph, shapes, NULL, &flow, error);
	psgi_flow_free(&flow);
	return status;
}

/* Operators left when constants are folded (chosen: forty times the largest model here).  Planning
 * compares nodes with each other. */
#define MAX_OPERATORS 16384

static psg_status run_passes(psgi_graph *graph, psg_error *error)
{
	psg_status status = psgi_pass_fold(graph, error);

	if (status == PSG_OK)
		status = psgi_graph_sweep(graph, error);
	if (status == PSG_OK && graph->n_nodes > MAX_OPERATORS)
		status = psgi_fail(error, PSG_UNSUPPORTED,
				   "%zu operators after folding constants, at most %d are planned",
				   graph->n_nodes, MAX_OPERATORS);
	if (status == PSG_OK)
		status = psgi_pass_patterns(graph, error);
	if (status == PSG_OK)
		status = psgi_pass_affine(graph, error);
	return status;
}

static psg_status finish_load(psg_model *model, psg_error *error)
{
	psg_status status;

	if (model->graph->n_inputs > PSG_MAX_INPUTS || model->graph->n_outputs > PSG_MAX_OUTPUTS)
		return psgi_fail(error, PSG_UNSUPPORTED,
				 "%zu inputs and %zu outputs are more than %d and %d",
				 model->graph->n_inputs, model->graph->n_outputs, PSG_MAX_INPUTS,
				 PSG_MAX_OUTPUTS);
	status = psgi_pack_cache_create(&model->packs, error);
	if (status == PSG_OK)
		status = run_passes(model->graph, error);
	if (status == PSG_OK)
		status = find_by_value(model, error);
	if (status == PSG_OK)
		status = check_fixed(model, error);
	model->nodes_after_passes = model->graph->n_nodes;
	if (status == PSG_INVALID && error != NULL)
		error->code =
			PSG_FORMAT; /* what does not fit is the file's fault, not the caller's */
	return status == PSG_INVALID ? PSG_FORMAT : status;
}

psg_status psg_model_load_memory(const void *data, size_t size, const char *name,
				 const psg_model_options *options, psg_model **out,
				 psg_error *error)
{
	psg_model *model = calloc(1, sizeof(*model));
	psg_status status;

	*out = NULL;
	if (model == NULL)
		return psgi_fail(error, PSG_NOMEM, "no memory for a model");
	if (options != NULL)
		model->options = *options;
	if (model->options.max_plans == 0)
		model->options.max_plans = DEFAULT_PLANS;
	atomic_init(&model->handles, 1);
	atomic_init(&model->holders, 1);
	status = psgi_onnx_read(data, size, name, &model->graph, error);
	if (status == PSG_OK) {
		status = finish_load(model, error);
		if (status != PSG_OK && name != NULL)
			psgi_error_prefix(error, "%.160s", name);
	}
	if (status != PSG_OK) {
		psg_model_unref(model);
		return status;
	}
	*out = model;
	return PSG_OK;
}

/* Reads an open file whole. */
static psg_status read_all(int fd, const char *path, char **data, size_t *size, psg_error *error)
{
	struct stat info;
	size_t have = 0;

	if (fstat(fd, &info) != 0)
		return psgi_fail(error, PSG_INVALID, "%.200s: %s", path, strerror(errno));
	if (!S_ISREG(info.st_mode))
		return psgi_fail(error, PSG_INVALID, "%.200s: not a file", path);
	if (info.st_size > MAX_FILE_BYTES)
		return psgi_fail(error, PSG_FORMAT, "%.200s: %lld bytes, a model has at most %lld",
				 path, (long long)info.st_size, (long long)MAX_FILE_BYTES);
	*size = (size_t)info.st_size;
	*data = malloc(*size + 1);
	if (*data == NULL)
		return psgi_fail(error, PSG_NOMEM, "%.200s: no memory for %zu bytes", path, *size);
	while (have < *size) {
		ssize_t n = read(fd, *data + have, *size - have);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			free(*data);
			*data = NULL;
			return psgi_fail(error, PSG_FORMAT, "%.200s: read %zu of %zu bytes: %s",
					 path, have, *size,
					 n < 0 ? strerror(errno) : "end of file");
		}
		have += (size_t)n;
	}
	return PSG_OK;
}

psg_status psg_model_load_file(const char *path, const psg_model_options *options, psg_model **out,
			       psg_error *error)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *data = NULL;
	size_t size = 0;
	psg_status status;

	*out = NULL;
	if (fd < 0)
		return psgi_fail(error, PSG_INVALID, "%.200s: %s", path, strerror(errno));
	status = read_all(fd, path, &data, &size, error);
	(void)close(fd);
	if (status == PSG_OK)
		status = psg_model_load_memory(data, size, path, options, out, error);
	free(data);
	return status;
}

/* --- description --- */

const char *psgi_model_name(const psg_model *model)
{
	const char *name = model->graph->name, *slash = name != NULL ? strrchr(name, '/') : NULL;

	return slash != NULL ? slash + 1 : name != NULL ? name : "model";
}

size_t psg_model_inputs(const psg_model *model)
{
	return model->graph->n_inputs;
}

size_t psg_model_outputs(const psg_model *model)
{
	return model->graph->n_outputs;
}

const psg_port *psg_model_input(const psg_model *model, size_t index)
{
	return index < model->graph->n_inputs ? &model->graph->input_ports[index] : NULL;
}

const psg_port *psg_model_output(const psg_model *model, size_t index)
{
	return index < model->graph->n_outputs ? &model->graph->output_ports[index] : NULL;
}
