/* SPDX-License-Identifier: Apache-2.0 */
/* pagesift-gpu model: what a model takes, gives, consists of and costs. */
#include "config.h"

#include "cli/cli.h"
#include "cli/json.h"
#include "cli/model.h"
#include "cli/options.h"
#include "cli/shapes.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct values {
	cli_shapes shapes;
	const char *device;
	bool json;
};

static const cli_option options[] = {
	{ .letter = 's',
	  .name = "shape",
	  .value = "NAME=SIZES",
	  .help = "sizes of an input, as in x=1x3x960x960; once for each input; NAME= may be left "
		  "out where there is one input",
	  .field = offsetof(struct values, shapes),
	  .parse = cli_parse_shape },
	CLI_OPTION_DEVICE(struct values, device),
	CLI_OPTION_JSON(struct values, json),
};

static const cli_usage usage = {
	.command = "model",
	.operands = "FILE",
	.about = "Shows an ONNX model's inputs and outputs, its operators in the file and as they\n"
		 "will run, and what one run costs.  Nothing is run.",
	.options = options,
	.n_options = sizeof(options) / sizeof(options[0]),
	.notes = "Free sizes for which no --shape is given are assumed: batches of 1, images of\n"
		 "960x960 where the output is an image too, else of 48x320; anything else 1.",
};

/* --- operators --- */

static void add_operator(void *user, const char *name, size_t count)
{
	cli_operators *operators = user;

	if (operators->n == operators->room) {
		size_t room = operators->room > 0 ? 2 * operators->room : 32;
		void *more = realloc(operators->at, room * sizeof(*operators->at));

		if (more == NULL) {
			operators->failed = true;
			return;
		}
		operators->at = more;
		operators->room = room;
	}
	operators->at[operators->n++] = (struct cli_operator){ name, count };
}

static int by_count(const void *a, const void *b)
{
	const struct cli_operator *x = a, *y = b;

	if (x->count != y->count)
		return x->count > y->count ? -1 : 1;
	return strcmp(x->name, y->name);
}

static psg_status list_operators(psg_model *model, psg_device *device, const psg_shape *shapes,
				 bool before, cli_operators *operators, psg_error *error)
{
	psg_status status = psg_model_operators(model, device, shapes, psg_model_inputs(model),
						before, add_operator, operators, error);

	if (status == PSG_OK && operators->failed)
		status = cli_fail(error, PSG_NOMEM, "no memory for the list of operators");
	if (operators->n > 0)
		qsort(operators->at, operators->n, sizeof(*operators->at), by_count);
	return status;
}

/* --- finding out --- */

/* What was asked for cannot be had. */
static cli_exit refuse(const char *file, const psg_error *error, cli_exit result)
{
	cli_error("%s: %s", file, error->message);
	return result;
}

static bool any(const bool *flags, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (flags[i])
			return true;
	return false;
}

/* `about` has all but its statistics and operators. */
static cli_exit examine(psg_model *model, psg_device *device, bool json, cli_about *about)
{
	psg_error error = PSG_ERROR_INIT;
	size_t n = psg_model_inputs(model);
	psg_status status =
		psg_model_stats_get(model, device, about->shapes, n, &about->stats, &error);

	about->planned = status == PSG_OK;
	if (!about->planned && !any(about->assumed, n))
		return refuse(about->file, &error, status == PSG_INVALID ? CLI_USAGE : CLI_FAILED);
	if (!about->planned) {
		/* The shapes were only assumed: what does not depend on them can still be told. */
		cli_note("%s: not for the assumed shape: %s", about->file, error.message);
		cli_note("give a --shape to see what a run costs");
		status = psg_model_stats_get(model, device, NULL, 0, &about->stats, &error);
	}
	if (status == PSG_OK)
		status = list_operators(model, device, NULL, true, &about->before, &error);
	if (status == PSG_OK)
		status = list_operators(model, device, about->planned ? about->shapes : NULL, false,
					&about->after, &error);
	if (status != PSG_OK)
		return refuse(about->file, &error, CLI_FAILED);
	return json ? cli_model_print_json(about) : cli_model_print_text(about);
}

static cli_exit with_shapes(psg_model *model, psg_device *device, const char *file,
			    const struct values *values)
{
	psg_error error = PSG_ERROR_INIT;
	size_t room = psg_model_inputs(model) + 1; /* calloc of nothing may be NULL */
	psg_shape *shapes = calloc(room, sizeof(*shapes));
	bool *assumed = calloc(room, sizeof(*assumed));
	cli_about about = { .file = file,
			    .model = model,
			    .device = psg_device_info_get(device),
			    .shapes = shapes,
			    .assumed = assumed };
	cli_exit result = CLI_FAILED;

	if (shapes == NULL || assumed == NULL)
		cli_error("no memory for %zu shapes", room);
	else if (cli_shapes_resolve(&values->shapes, model, shapes, assumed, &error) != PSG_OK)
		result = refuse(file, &error, CLI_USAGE);
	else
		result = examine(model, device, values->json, &about);
	free(about.before.at);
	free(about.after.at);
	free(assumed);
	free(shapes);
	return result;
}

cli_exit cli_model(int argc, char **argv)
{
	struct values values = { .device = "auto" };
	psg_error error = PSG_ERROR_INIT;
	psg_device *device = NULL;
	psg_model *model = NULL;
	cli_exit result;
	int n;

	if (!cli_options_read(&usage, argc, argv, &values, &n, &result))
		return result;
	if (n != 1)
		return cli_usage_error(&usage, n == 0 ? "which FILE?" : "one FILE at a time");
	if (values.json && !cli_json_available())
		return CLI_USAGE;
	if (psg_device_open(values.device, &device, &error) != PSG_OK) {
		cli_error("%s", error.message);
		return error.code == PSG_INVALID ? CLI_USAGE : CLI_FAILED;
	}
	if (psg_model_load_file(argv[1], NULL, &model, &error) == PSG_OK) {
		result = with_shapes(model, device, argv[1], &values);
	} else {
		cli_error("%s", error.message);
		result = CLI_FAILED;
	}
	psg_model_unref(model);
	psg_device_close(device);
	return result;
}
