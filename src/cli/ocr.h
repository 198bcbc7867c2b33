/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside of `ocr`: ocr.c reads the command line, ocr_run.c moves pages through
 * the engine, ocr_emit.c writes what comes of them.
 */
#ifndef PSG_CLI_OCR_H
#define PSG_CLI_OCR_H

#include "cli/workers.h"

#include <stdatomic.h>
#include <stdio.h>

/* The command line. */
typedef struct cli_ocr_values {
	const char *device, *models, *output, *draw, *pages;
	int format; /* a psg_format */
	int64_t jobs;
	double timeout; /* seconds; 0: none */
	bool no_direction, no_fallback, verbose;
	int64_t limit_side, max_pixels;
	double box_threshold, box_score, unclip;
	char **names;
	size_t n_names;
} cli_ocr_values;

/* A file's bytes, shared by its pages. */
typedef struct cli_ocr_file {
	void *data;
	size_t size, users;
	int32_t pages;
} cli_ocr_file;

/* A page between its file and the output, or a file that gave none. */
typedef struct cli_ocr_item {
	const char *name;
	int32_t index;      /* -1: the whole file failed */
	size_t number;      /* of all items, from 1 */
	bool many;          /* its file has several pages */
	cli_ocr_file *file; /* NULL: not needed any more */
	psg_future *future; /* NULL: `error` says why */
	atomic_bool ended;  /* the future's callback has run: it is done, or will be at once */
	psg_error error;
} cli_ocr_item;

/* Where the output goes, and what has gone there. */
typedef struct cli_ocr_output {
	const cli_ocr_values *values;
	FILE *file;
	bool created;       /* the file was not there before */
	bool begun, broken; /* the document was begun; writing failed */
	bool many;          /* more than one page may come: drawings are numbered */
	bool gpu;           /* it was opened: a page that is not its work is told, once */
	bool told_fallback;
	size_t n_done, n_failed;
	size_t n_expected; /* pages, as far as is known: one for each file not yet read */
	int64_t begin_ns;
} cli_ocr_output;

/* Reads all files; what cannot be read is told and counted in `output`. */
cli_exit cli_ocr_run(const cli_ocr_values *values, cli_ocr_output *output);

/* A file keeps what is in it until the first page comes.  False: it cannot be written; told. */
bool cli_ocr_output_open(cli_ocr_output *output, const cli_ocr_values *values);

/* The item's future has ended, or is NULL. */
void cli_ocr_emit(cli_ocr_output *output, const cli_ocr_item *item);

/* How far it is, where there is more than one page. */
void cli_ocr_progress(const cli_ocr_output *output, const char *name);

/* Ends the document, unless `whole` is false, and the file, which is gone if it was made for pages
 * that did not come. */
void cli_ocr_output_close(cli_ocr_output *output, bool whole);

#endif
