/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pagesift-gpu bench cpu: the models as users run them, through a worker.
 *
 * Inputs are the same numbers everywhere (fill_input), so that another runtime can be given the
 * same, and the output's root mean square shows that both did the same work.
 */
#include "config.h"

#include "cli/bench.h"
#include "cli/json.h"
#include "cli/options.h"
#include "cli/shapes.h"

#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Runs before the clock counts: the first makes the plan, the second warms the caches. */
#define WARM_UP 2

struct values {
	const char *models;
	cli_numbers threads;
	int64_t repeat;
	bool json;
};

/* What pages need of the models: a page's detection, lines short and long, alone and together. */
static const struct benchmark {
	const char *name;
	psg_ocr_file file;
	psg_shape shape;
} benchmarks[] = {
	{ "detection", PSG_OCR_DETECTION, { 4, { 1, 3, 960, 960 } } },
	{ "recognition", PSG_OCR_RECOGNITION, { 4, { 1, 3, 48, 320 } } },
	{ "recognition", PSG_OCR_RECOGNITION, { 4, { 1, 3, 48, 640 } } },
	{ "recognition", PSG_OCR_RECOGNITION, { 4, { 8, 3, 48, 320 } } },
	{ "direction", PSG_OCR_DIRECTION, { 4, { 1, 3, 48, 192 } } },
};

#define N_BENCHMARKS (sizeof(benchmarks) / sizeof(benchmarks[0]))

static const cli_option options[] = {
	CLI_OPTION_MODELS(struct values, models),
	{ .name = "threads",
	  .value = "LIST",
	  .help = "cores of the worker, one table for each; default: 1,2",
	  .field = offsetof(struct values, threads),
	  .parse = cli_parse_numbers,
	  .least = 1,
	  .most = 256 },
	CLI_BENCH_REPEAT(struct values, repeat, "runs that count; default: 12", 100000),
	CLI_OPTION_JSON(struct values, json),
};

static const cli_usage usage = {
	.command = "bench cpu",
	.operands = "",
	.about = "Runs each model through a worker on the CPU and shows the median, the least and\n"
		 "the most milliseconds from submission to result, after two runs that do not "
		 "count.",
	.options = options,
	.n_options = sizeof(options) / sizeof(options[0]),
};

/* --- one run --- */

/* -1 to 1, by the generator of Numerical Recipes; exact in float32, so any language gets the same.
 */
static void fill_input(psg_tensor *tensor)
{
	float *data = psg_tensor_data(tensor);
	int64_t n = psg_shape_elements(psg_tensor_shape(tensor));
	uint32_t state = 1;

	for (int64_t i = 0; i < n; i++) {
		state = state * UINT32_C(1664525) + UINT32_C(1013904223);
		data[i] = (float)(state >> 8) / 8388608.0F - 1.0F;
	}
}

static double root_mean_square(const psg_tensor *tensor)
{
	const float *data = psg_tensor_const_data(tensor);
	int64_t n = psg_shape_elements(psg_tensor_shape(tensor));
	double sum = 0;

	for (int64_t i = 0; i < n; i++)
		sum += (double)data[i] * (double)data[i];
	return n > 0 ? sqrt(sum / (double)n) : 0;
}

/* Milliseconds from submission to result; `rms` may be NULL. */
static psg_status run_once(psg_worker *worker, psg_model *model, psg_tensor *input, double *ms,
			   double *rms, psg_error *error)
{
	psg_tensor *const *outputs;
	psg_future *future = NULL;
	size_t n;
	int64_t begin = psg_now_ns();
	psg_status status = psg_submit_model(worker, model, &input, 1, NULL, &future, error);

	if (status != PSG_OK)
		return status;
	(void)psg_future_wait(future);
	*ms = cli_ms_since(begin);
	status = psg_future_tensors(future, &outputs, &n, error);
	if (status == PSG_OK && rms != NULL)
		*rms = root_mean_square(outputs[0]);
	psg_future_release(future);
	return status;
}

/* --- all runs --- */

/* `time` has its name, shape and threads, and room for n runs. */
static psg_status measure(psg_worker *worker, psg_model *model, cli_model_time *time,
			  psg_error *error)
{
	psg_tensor *input;
	psg_status status = psg_tensor_create(PSG_F32, &time->shape, &input, error);
	double unused;

	if (status != PSG_OK)
		return status;
	fill_input(input);
	for (int i = 0; i < WARM_UP && status == PSG_OK; i++)
		status = run_once(worker, model, input, &unused, &time->rms, error);
	for (size_t i = 0; i < time->n && status == PSG_OK; i++)
		status = run_once(worker, model, input, &time->ms[i], NULL, error);
	psg_tensor_unref(input);
	if (status != PSG_OK)
		return status;
	time->median = cli_median(time->ms, time->n);
	time->least = cli_quantile(time->ms, time->n, 0);
	time->most = cli_quantile(time->ms, time->n, 1);
	return PSG_OK;
}

/* All benchmarks on one worker, into `times`; `detail` says what the device is. */
static psg_status measure_all(psg_model *const *models, int32_t threads, cli_model_time *times,
			      char *detail, size_t size, psg_error *error)
{
	char device[32];
	psg_worker *worker;
	psg_status status;

	(void)snprintf(device, sizeof(device), "cpu:%d", (int)threads);
	status = psg_worker_open(device, NULL, &worker, error);
	if (status != PSG_OK)
		return status;
	(void)snprintf(detail, size, "%s", psg_worker_device(worker)->detail);
	for (size_t i = 0; i < N_BENCHMARKS && status == PSG_OK; i++) {
		char shape[CLI_SHAPE_TEXT];

		times[i].name = benchmarks[i].name;
		times[i].shape = benchmarks[i].shape;
		times[i].threads = threads;
		cli_shape_text(&times[i].shape, shape, sizeof(shape));
		cli_progress("%s %s on %d", times[i].name, shape, (int)threads);
		status = measure(worker, models[benchmarks[i].file], &times[i], error);
	}
	cli_progress_clear();
	psg_worker_close(worker);
	return status;
}

static psg_status load_models(const char *folder, psg_model **models, psg_error *error)
{
	psg_status status = PSG_OK;

	for (size_t i = 0; i < PSG_OCR_DICTIONARY && status == PSG_OK; i++) {
		char *path;

		status = psg_ocr_find(folder, (psg_ocr_file)i, &path, error);
		if (status != PSG_OK)
			return status;
		status = psg_model_load_file(path, NULL, &models[i], error);
		free(path);
	}
	return status;
}

/* `times` has room for all benchmarks at each number of threads. */
static cli_exit run(const struct values *values, cli_model_time *times, size_t n)
{
	psg_model *models[PSG_OCR_DICTIONARY] = { NULL };
	psg_error error = PSG_ERROR_INIT;
	char detail[128] = "";
	cli_exit result = CLI_NO_MODELS;
	psg_status status = load_models(values->models, models, &error);

	if (status == PSG_OK)
		result = CLI_FAILED;
	for (size_t i = 0; i < values->threads.n && status == PSG_OK; i++)
		status = measure_all(models, values->threads.at[i], times + i * N_BENCHMARKS,
				     detail, sizeof(detail), &error);
	for (size_t i = 0; i < PSG_OCR_DICTIONARY; i++)
		psg_model_unref(models[i]);
	if (status == PSG_OK)
		return cli_bench_cpu_print(times, n, detail, values->json);
	cli_error("%s", error.message);
	return result;
}

cli_exit cli_bench_cpu(int argc, char **argv)
{
	struct values values = { .threads = { { 1, 2 }, 2 }, .repeat = 12 };
	size_t n, repeat;
	cli_model_time *times;
	double *ms;
	cli_exit result;
	int operands;

	if (!cli_options_read(&usage, argc, argv, &values, &operands, &result))
		return result;
	if (operands > 0)
		return cli_usage_error(&usage, "'%.100s' is too much", argv[1]);
	if (values.json && !cli_json_available())
		return CLI_USAGE;
	n = values.threads.n * N_BENCHMARKS;
	repeat = (size_t)values.repeat;
	times = calloc(n, sizeof(*times));
	ms = calloc(n * repeat, sizeof(*ms)); /* at most 16 * 5 * 100000 */
	if (times == NULL || ms == NULL) {
		cli_error("no memory for %zu times", n * repeat);
		result = CLI_FAILED;
	} else {
		for (size_t i = 0; i < n; i++) {
			times[i].ms = ms + i * repeat;
			times[i].n = repeat;
		}
		result = run(&values, times, n);
	}
	free(ms);
	free(times);
	return result;
}
