/* SPDX-License-Identifier: Apache-2.0 */
/* What comes of a page: text in the output, a drawing, a message, a step of the progress line. */
#include "config.h"

#include "cli/file.h"
#include "cli/ocr.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- the output --- */

static bool same_file(const struct stat *a, const struct stat *b)
{
	return S_ISREG(a->st_mode) && a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Is there such a file, and is it one of those to be read? */
static bool is_input(const cli_ocr_values *values, const char *path)
{
	struct stat target, input;

	if (stat(path, &target) != 0)
		return false;
	for (size_t i = 0; i < values->n_names; i++)
		if (stat(values->names[i], &input) == 0 && same_file(&target, &input))
			return true;
	return false;
}

/* Is it where the text goes? */
static bool is_output(const cli_ocr_output *output, const char *path)
{
	struct stat target, file;

	return stat(path, &target) == 0 && fstat(fileno(output->file), &file) == 0 &&
	       same_file(&target, &file);
}

bool cli_ocr_output_open(cli_ocr_output *output, const cli_ocr_values *values)
{
	const char *path = values->output;
	int fd;

	*output = (cli_ocr_output){ .values = values,
				    .file = stdout,
				    .many = values->n_names > 1,
				    .begin_ns = psg_now_ns() };
	if (path == NULL)
		return true;
	if (is_input(values, path)) {
		cli_error("%s: is a file to be read; it was not written over", path);
		return false;
	}
	fd = cli_open_output(path, &output->created);
	output->file = fd >= 0 ? fdopen(fd, "w") : NULL;
	if (output->file != NULL)
		return true;
	cli_error("%s: %s", path, strerror(errno));
	if (fd >= 0)
		(void)close(fd);
	if (output->created)
		(void)remove(path);
	return false;
}

/* Told once.  A reader that left wants no more, and no word about it. */
static void broken(cli_ocr_output *output)
{
	const char *path = output->values->output;

	if (!output->broken && errno != EPIPE)
		cli_error("%s: %s", path != NULL ? path : "standard output", strerror(errno));
	output->broken = true;
}

/* At once, so that who reads the pages gets each when it is done.  Frees the text. */
static void write_text(cli_ocr_output *output, char *text)
{
	if (isatty(fileno(output->file)))
		cli_progress_clear();
	if (!output->broken && (fputs(text, output->file) < 0 || fflush(output->file) != 0))
		broken(output);
	free(text);
}

static psg_status begin(cli_ocr_output *output, psg_error *error)
{
	const cli_ocr_values *values = output->values;
	char *text;
	psg_status status;

	if (output->begun)
		return PSG_OK;
	status = psg_document_begin((psg_format)values->format,
				    values->n_names == 1 ? values->names[0] : PACKAGE_NAME, &text,
				    error);
	if (status != PSG_OK)
		return status;
	output->begun = true;
	if (output->file != stdout && !cli_empty_output(fileno(output->file)))
		broken(output);
	write_text(output, text);
	return PSG_OK;
}

void cli_ocr_output_close(cli_ocr_output *output, bool whole)
{
	psg_error error = PSG_ERROR_INIT;
	char *text;

	cli_progress_clear();
	if (whole && output->begun) {
		if (psg_document_end((psg_format)output->values->format, &text, &error) == PSG_OK)
			write_text(output, text);
		else
			output->broken = true;
	}
	if (output->file != stdout && fclose(output->file) != 0)
		broken(output);
	if (output->created && !output->begun)
		(void)remove(output->values->output);
}

/* --- drawings --- */

/* OUT.png, or OUT-N.png for the N-th of several pages; to free().  NULL: no memory. */
static char *drawing_path(const cli_ocr_output *output, size_t number)
{
	const char *path = output->values->draw;
	const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
	const char *dot = strrchr(name, '.');
	size_t stem = dot != NULL && dot != name ? (size_t)(dot - path) : strlen(path);
	size_t size = strlen(path) + 32;
	char *made = malloc(size);

	if (made != NULL && output->many)
		(void)snprintf(made, size, "%.*s-%zu%s", (int)stem, path, number, path + stem);
	else if (made != NULL)
		(void)snprintf(made, size, "%s", path);
	return made;
}

static psg_status draw(const cli_ocr_output *output, const cli_ocr_item *item, const psg_page *page,
		       psg_error *error)
{
	char *path = drawing_path(output, item->number);
	void *png = NULL;
	size_t size;
	psg_error why = PSG_ERROR_INIT;
	psg_status status;

	if (path == NULL)
		return cli_fail(error, PSG_NOMEM, "no memory for a file name");
	if (is_input(output->values, path))
		status = cli_fail(&why, PSG_INVALID,
				  "is a file to be read; it was not written over");
	else if (is_output(output, path))
		status = cli_fail(&why, PSG_INVALID, "is where the text goes");
	else
		status = psg_page_draw(page, item->file->data, item->file->size, &png, &size, &why);
	if (status == PSG_OK)
		status = cli_write_file(path, png, size, &why);
	if (status != PSG_OK)
		cli_set_error(error, status, "drawing %.600s: %.400s", path, why.message);
	free(png);
	free(path);
	return status;
}

/* --- a page --- */

/* The page that the item has become; NULL: `error` says why there is none. */
static const psg_page *page_of(const cli_ocr_item *item, psg_error *error)
{
	const psg_page *page;

	*error = item->error;
	if (item->future == NULL)
		return NULL;
	(void)psg_future_wait(item->future);
	return psg_ocr_page(item->future, &page, error) == PSG_OK ? page : NULL;
}

/* The library speaks of deadlines, which the caller here has not set. */
static void name_timeout(const cli_ocr_values *values, psg_error *error)
{
	psg_error inner = *error;

	if (error->code == PSG_TIMED_OUT)
		cli_set_error(error, PSG_TIMED_OUT, "not read in %g s (%.900s)", values->timeout,
			      inner.message);
}

/* Tells of an item: its file, its page where there are several, and the text. */
static void tell(void (*how)(const char *, ...), const cli_ocr_item *item, const char *text)
{
	const char *name = strcmp(item->name, "-") == 0 ? "standard input" : item->name;

	if (item->index >= 0 && item->many)
		how("%s, page %d: %s", name, (int)item->index, text);
	else
		how("%s: %s", name, text);
}

static void tell_times(const cli_ocr_item *item, const psg_page *page)
{
	const psg_page_times *t = &page->times;
	char text[256];

	(void)snprintf(text, sizeof(text),
		       "%dx%d, %zu line%s, %.0f ms (decode %.0f, detect %.0f, boxes %.0f, "
		       "direction %.0f, recognise %.0f)",
		       (int)page->width, (int)page->height, page->n_lines,
		       page->n_lines == 1 ? "" : "s", t->total_ms, t->decode_ms, t->detect_ms,
		       t->boxes_ms, t->direction_ms, t->recognise_ms);
	tell(cli_note, item, text);
}

/* The first page that the GPU which was opened did not read.  Others say so in JSON. */
static void tell_fallback(cli_ocr_output *output, const psg_page *page)
{
	if (!output->gpu || output->told_fallback || page->fallback[0] == '\0')
		return;
	output->told_fallback = true;
	cli_note("the GPU failed, and the CPU goes on: %s", page->fallback);
}

/* The page in the form that was asked for. */
static psg_status emit_text(cli_ocr_output *output, const cli_ocr_item *item, const psg_page *page,
			    psg_error *error)
{
	char *text;
	psg_status status = psg_document_page((psg_format)output->values->format, page, item->name,
					      item->number, &text, error);

	if (status != PSG_OK)
		return status;
	tell_fallback(output, page);
	write_text(output, text);
	if (output->values->verbose)
		tell_times(item, page);
	return PSG_OK;
}

static void emit_failure(cli_ocr_output *output, const cli_ocr_item *item, const psg_error *failure)
{
	char *text;

	if (psg_document_failure((psg_format)output->values->format, failure, item->name,
				 item->index, item->number, &text, NULL) == PSG_OK)
		write_text(output, text);
}

void cli_ocr_progress(const cli_ocr_output *output, const char *name)
{
	double seconds = (double)(psg_now_ns() - output->begin_ns) / (double)PSG_SECOND;
	char failed[48] = "", speed[48] = "";

	if (output->n_expected < 2)
		return;
	if (output->n_failed > 0)
		(void)snprintf(failed, sizeof(failed), ", %zu failed", output->n_failed);
	if (output->n_done > 0)
		(void)snprintf(speed, sizeof(speed), ", %.1f a second",
			       (double)output->n_done / seconds);
	cli_progress("%zu of %zu pages%s%s: %s", output->n_done, output->n_expected, failed, speed,
		     name);
}

void cli_ocr_emit(cli_ocr_output *output, const cli_ocr_item *item)
{
	psg_error error = PSG_ERROR_INIT;
	const psg_page *page;
	psg_status status = begin(output, &error);

	if (status != PSG_OK) {
		cli_error("%s", error.message);
		output->broken = true;
		return;
	}
	page = page_of(item, &error);
	status = page != NULL ? emit_text(output, item, page, &error) : error.code;
	if (status != PSG_OK) {
		name_timeout(output->values, &error);
		emit_failure(output, item, &error);
	} else if (output->values->draw != NULL && !output->broken) {
		status = draw(output, item, page, &error);
	}
	if (status != PSG_OK)
		tell(cli_error, item, error.message);
	output->n_failed += status != PSG_OK;
	output->n_done++;
	cli_ocr_progress(output, item->name);
}
