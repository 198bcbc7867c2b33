/* SPDX-License-Identifier: Apache-2.0 */
/* pagesift-gpu ocr: pages in, text out. */
#include "config.h"

#include "cli/cli.h"
#include "cli/file.h"
#include "cli/options.h"
#include "cli/workers.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct values {
	const char *device, *models;
	int format;
};

static const char *const formats[] = { "text", "json", "tsv", "hocr", NULL };

static const cli_option options[] = {
	{ 'f', "format", "FORMAT", "text (default), json, tsv or hocr",
	  offsetof(struct values, format), cli_parse_choice, .choices = formats },
	CLI_OPTION_DEVICE(struct values, device),
	CLI_OPTION_MODELS(struct values, models),
};

static const cli_usage usage = {
	.command = "ocr",
	.operands = "FILE...",
	.about = "Reads the text of images: PNG, JPEG, TIFF (all pages), WebP, BMP, PNM, GIF.\n"
		 "FILE may be -, standard input.",
	.options = options,
	.n_options = sizeof(options) / sizeof(options[0]),
};

static psg_status read_page(psg_ocr *ocr, const void *data, size_t size, int32_t index,
			    const char *name, psg_format format, psg_error *error)
{
	psg_future *future = NULL;
	const psg_page *page;
	char *text = NULL;
	psg_status status = psg_ocr_submit(ocr, data, size, index, NULL, &future, error);

	if (status != PSG_OK)
		return status;
	(void)psg_future_wait(future);
	status = psg_ocr_page(future, &page, error);
	if (status == PSG_OK)
		status = psg_page_format(page, name, format, &text, error);
	if (status == PSG_OK)
		(void)fputs(text, stdout);
	free(text);
	psg_future_release(future);
	return status;
}

static bool read_file(psg_ocr *ocr, const char *name, psg_format format)
{
	psg_error error = PSG_ERROR_INIT;
	void *data;
	size_t size;
	int32_t pages = 0;
	psg_status status = cli_read_file(name, &data, &size, &error);

	if (status == PSG_OK)
		status = psg_image_pages(data, size, &pages, &error);
	for (int32_t i = 0; status == PSG_OK && i < pages; i++)
		status = read_page(ocr, data, size, i, name, format, &error);
	free(data);
	if (status != PSG_OK)
		cli_error("%s: %s", name, error.message);
	return status == PSG_OK;
}

static cli_exit read_files(psg_ocr *ocr, char **names, int n, psg_format format)
{
	cli_exit result = CLI_OK;

	for (int i = 0; i < n; i++)
		if (!read_file(ocr, names[i], format))
			result = CLI_FAILED;
	return cli_finish_output(result);
}

cli_exit cli_ocr(int argc, char **argv)
{
	struct values values = { .device = "auto" };
	psg_error error = PSG_ERROR_INIT;
	cli_workers workers;
	psg_ocr *ocr = NULL;
	cli_exit result;
	int n;

	if (!cli_options_read(&usage, argc, argv, &values, &n, &result))
		return result;
	if (n == 0)
		return cli_usage_error(&usage, "which FILE? (- is standard input)");
	if (cli_workers_open(values.device, 1, &workers, &error) != PSG_OK) {
		cli_error("%s", error.message);
		return error.code == PSG_INVALID ? CLI_USAGE : CLI_FAILED;
	}
	if (psg_ocr_open(workers.at, workers.n, &(psg_ocr_options){ .models_dir = values.models },
			 &ocr, &error) == PSG_OK) {
		result = read_files(ocr, argv + 1, n, (psg_format)values.format);
	} else {
		cli_error("%s", error.message);
		result = CLI_NO_MODELS;
	}
	psg_ocr_close(ocr);
	cli_workers_close(&workers);
	return result;
}
