/* SPDX-License-Identifier: Apache-2.0 */
/* pagesift-gpu ocr: the command line. */
#include "config.h"

#include "cli/events.h"
#include "cli/ocr.h"
#include "cli/options.h"
#include "cli/pages.h"

#include <stddef.h>
#include <string.h>

static const char *const formats[] = {
	[PSG_FORMAT_TEXT] = "text",
	[PSG_FORMAT_JSON] = "json",
	[PSG_FORMAT_TSV] = "tsv",
	[PSG_FORMAT_HOCR] = "hocr",
	NULL,
};

#define FIELD(member) .field = offsetof(cli_ocr_values, member)

/* Bounds of numbers are the library's (psg_ocr_options). */
static const cli_option options[] = {
	{ 'f', "format", "FORMAT",
	  "text (default), json (one object a page, one a line), tsv or hocr", FIELD(format),
	  .parse = cli_parse_choice, .choices = formats },
	{ 'o', "output", "FILE", "write there instead of to standard output", FIELD(output),
	  .parse = cli_parse_text },
	{ 'd', "draw", "OUT.png",
	  "draw the boxes, numbered in reading order, over the page; with several pages, the first "
	  "goes to OUT-1.png and so on",
	  FIELD(draw), .parse = cli_parse_text },
	{ 'p', "pages", "LIST",
	  "read only these pages of each file, as 0,2-5,7-; the first page is 0, as in the output",
	  FIELD(pages), .parse = cli_parse_pages },
	{ 'j', "jobs", "N", "workers, which share the cores; default: one a core", FIELD(jobs),
	  .parse = cli_parse_int, .least = 1, .most = CLI_MAX_WORKERS },
	{ 't', "timeout", "SECONDS", "give a page up after this time", FIELD(timeout),
	  .parse = cli_parse_real, .least = 0.001, .most = 1e6 },
	CLI_OPTION_DEVICE(cli_ocr_values, device),
	CLI_OPTION_MODELS(cli_ocr_values, models),
	{ 0, "no-direction", NULL, "do not look for lines that stand on their head",
	  FIELD(no_direction) },
	{ 0, "no-fallback", NULL,
	  "when a GPU fails, give its pages up instead of reading them with the CPU",
	  FIELD(no_fallback) },
	{ 0, "limit-side", "PIXELS",
	  "shrink the page to this longest side to find lines; default: 960", FIELD(limit_side),
	  .parse = cli_parse_int, .least = 32, .most = 8192 },
	{ 0, "box-threshold", "SHARE",
	  "how probable a pixel must be text to count as such; default: 0.3", FIELD(box_threshold),
	  .parse = cli_parse_real, .least = 0.01, .most = 1 },
	{ 0, "box-score", "SHARE", "how probable text must be on average in a box; default: 0.6",
	  FIELD(box_score), .parse = cli_parse_real, .least = 0.01, .most = 1 },
	{ 0, "unclip", "RATIO", "how far a box grows around what was found; default: 1.5",
	  FIELD(unclip), .parse = cli_parse_real, .least = 0.1, .most = 10 },
	{ 0, "max-pixels", "N", "refuse larger pages; default: 178956970", FIELD(max_pixels),
	  .parse = cli_parse_int, .least = 1, .most = 1e12 },
	{ 'v', "verbose", NULL, "tell the device, and each page's lines and times",
	  FIELD(verbose) },
};

static const cli_usage usage = {
	.command = "ocr",
	.operands = "FILE...",
	.about = "Reads the text of images: PNG, JPEG, TIFF (all pages), WebP, BMP, PNM and GIF.\n"
		 "FILE may be -, standard input.  Output is in the order of the files.",
	.options = options,
	.n_options = sizeof(options) / sizeof(options[0]),
	.notes = "Exit status: 0 all pages were read, 1 some were not, 2 wrong usage, 3 no "
		 "models.\n\n"
		 "  " PACKAGE_NAME " ocr page.png\n"
		 "  " PACKAGE_NAME " ocr --format json scans/*.tif >pages.jsonl\n"
		 "  " PACKAGE_NAME " ocr --draw boxes.png page.jpg",
};

cli_exit cli_ocr(int argc, char **argv)
{
	cli_ocr_values values = { .device = "auto" };
	cli_ocr_output output;
	cli_exit result;
	int n;

	if (!cli_options_read(&usage, argc, argv, &values, &n, &result))
		return result;
	if (n == 0)
		return cli_usage_error(&usage, "which FILE? (- is standard input)");
	if (values.output != NULL && values.draw != NULL && strcmp(values.output, values.draw) == 0)
		return cli_usage_error(&usage, "--output and --draw are both %s", values.draw);
	values.names = argv + 1;
	values.n_names = (size_t)n;
	if (!cli_ocr_output_open(&output, &values))
		return CLI_FAILED;
	result = cli_ocr_run(&values, &output);
	cli_ocr_output_close(&output, result <= CLI_FAILED && cli_events_signal() == 0);
	if (result == CLI_OK && (output.n_failed > 0 || output.broken))
		result = CLI_FAILED;
	cli_events_close();
	return result;
}
