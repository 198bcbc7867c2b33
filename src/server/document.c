/* SPDX-License-Identifier: Apache-2.0 */
/* Formats, and writing the pages of a request. */
#include "config.h"

#include "server/document.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const struct {
	const char *name, *type, *sent; /* sent: the type with its charset */
	psg_format format;
} formats[SRV_N_FORMATS] = {
#define TEXT_TYPE(type) type, type "; charset=utf-8"
	[SRV_JSON] = { "json", "application/json", "application/json", PSG_FORMAT_JSON },
	[SRV_TEXT] = { "text", TEXT_TYPE("text/plain"), PSG_FORMAT_TEXT },
	[SRV_TSV] = { "tsv", TEXT_TYPE("text/tab-separated-values"), PSG_FORMAT_TSV },
	[SRV_HOCR] = { "hocr", TEXT_TYPE("text/html"), PSG_FORMAT_HOCR },
#undef TEXT_TYPE
};

srv_format srv_format_of(const char *name)
{
	size_t i = 0;

	while (i < SRV_N_FORMATS && strcmp(name, formats[i].name) != 0)
		i++;
	return (srv_format)i;
}

const char *srv_format_type(srv_format format)
{
	return formats[format].sent;
}

const char *srv_format_name(srv_format format)
{
	return formats[format].name;
}

/* --- Accept --- */

/* The share after ";q=" of a range of `n` bytes; 1 without one (RFC 9110, 12.4.2). */
static double quality(const char *range, size_t n)
{
	for (size_t i = 0; i + 2 < n; i++)
		if (range[i] == ';') {
			size_t k = i + 1 + strspn(range + i + 1, " \t");

			if (k + 1 < n && (range[k] == 'q' || range[k] == 'Q') &&
			    range[k + 1] == '=')
				return strtod(range + k + 2, NULL);
		}
	return 1;
}

/* How well a range of `n` bytes names the type: 3 itself, 2 its kind, 1 anything, 0 not at all. */
static int fits(const char *range, size_t n, const char *type)
{
	size_t slash = strcspn(type, "/") + 1;

	if (n == strlen(type) && strncasecmp(range, type, n) == 0)
		return 3;
	if (n == slash + 1 && range[slash] == '*' && strncasecmp(range, type, slash) == 0)
		return 2;
	return n == 3 && memcmp(range, "*/*", 3) == 0;
}

/* What Accept gives the type, by its range that fits best. */
static double wish(const char *accept, const char *type)
{
	double value = 0;
	int best = 0;

	while (*accept != '\0') {
		size_t n, name;
		int fit;

		accept += strspn(accept, ", \t");
		n = strcspn(accept, ",");
		name = strcspn(accept, "; \t,");
		fit = fits(accept, name < n ? name : n, type);
		if (fit > best) {
			best = fit;
			value = quality(accept, n);
		}
		accept += n;
	}
	return value;
}

/* Equal wishes: the first of the table.  A browser's own Accept wants a page to look at. */
srv_format srv_format_accepted(const char *accept)
{
	srv_format found = SRV_N_FORMATS;
	double best = 0;

	if (accept == NULL)
		return SRV_JSON;
	for (size_t i = 0; i < SRV_N_FORMATS; i++) {
		double value = wish(accept, formats[i].type);

		if (value > best) {
			best = value;
			found = (srv_format)i;
		}
	}
	return found;
}

/* --- writing --- */

static const psg_page *result_of(const srv_page *page, psg_error *error)
{
	const psg_page *result = NULL;

	*error = page->error;
	/* Its callback has run, which is a moment before it is done for others. */
	if (page->future != NULL)
		(void)psg_future_wait(page->future);
	if (page->future != NULL && psg_ocr_page(page->future, &result, error) != PSG_OK)
		result = NULL;
	return result;
}

static psg_status page_text(const srv_page *page, psg_format format, size_t number, char **out,
			    psg_error *error)
{
	psg_error failure = PSG_ERROR_INIT;
	const psg_page *result = result_of(page, &failure);
	const char *name = srv_image_name(page->image);

	if (result != NULL)
		return psg_document_page(format, result, name, number, out, error);
	return psg_document_failure(format, &failure, name, page->index, number, out, error);
}

/* JSON is an array here, of the library's objects, one a line. */
static void put_page(FILE *to, psg_format format, size_t i, char *text)
{
	size_t length = strlen(text);

	if (format == PSG_FORMAT_JSON && length > 0 && text[length - 1] == '\n')
		length--;
	if (format == PSG_FORMAT_JSON && i > 0)
		(void)fputs(",\n", to);
	(void)fwrite(text, 1, length, to);
	free(text);
}

static psg_status put_edge(FILE *to, const srv_work *work, bool begins, psg_error *error)
{
	psg_format format = formats[work->format].format;
	char *text = NULL;
	psg_status status;

	if (format == PSG_FORMAT_JSON) {
		(void)fputs(begins ? "{\"pages\":[\n" : "\n]}\n", to);
		return PSG_OK;
	}
	status = begins ? psg_document_begin(format, srv_image_name(work->pages[0].image), &text,
					     error)
			: psg_document_end(format, &text, error);
	if (status == PSG_OK)
		(void)fputs(text, to);
	free(text);
	return status;
}

static psg_status put_all(FILE *to, const srv_work *work, psg_error *error)
{
	psg_format format = formats[work->format].format;
	psg_status status = put_edge(to, work, true, error);
	char *text;

	for (size_t i = 0; i < work->n && status == PSG_OK; i++) {
		status = page_text(&work->pages[i], format, i + 1, &text, error);
		if (status == PSG_OK)
			put_page(to, format, i, text);
	}
	return status == PSG_OK ? put_edge(to, work, false, error) : status;
}

/* Counts; the first failure, when nothing was read. */
static bool count_read(srv_work *work, psg_error *first)
{
	psg_error error = PSG_ERROR_INIT;

	for (size_t i = 0; i < work->n; i++) {
		if (result_of(&work->pages[i], &error) != NULL)
			work->read++;
		else if (first->code == PSG_OK)
			*first = error;
	}
	return work->read > 0;
}

void srv_document_write(srv_work *work)
{
	psg_error error = PSG_ERROR_INIT;
	psg_status status;
	FILE *to;
	bool failed;

	if (!count_read(work, &error)) {
		srv_problem_of(&error, &work->problem);
		return;
	}
	error = (psg_error)PSG_ERROR_INIT;
	to = open_memstream(&work->text, &work->bytes);
	status = to != NULL ? put_all(to, work, &error) : PSG_NOMEM;
	failed = to == NULL || ferror(to) != 0;
	failed = (to != NULL && fclose(to) != 0) || failed;
	if (status == PSG_OK && !failed)
		return;
	free(work->text);
	work->text = NULL;
	if (status == PSG_UNSUPPORTED)
		srv_problem_set(&work->problem, SRV_NOT_ACCEPTABLE, "%s", error.message);
	else
		srv_problem_set(&work->problem, SRV_NO_MEMORY, "no memory for the reply");
}
