/* SPDX-License-Identifier: Apache-2.0 */
/* Pages, and documents of many pages, in the form that was asked for. */
#include "config.h"

#include "ocr/format_inner.h"

#include <stdlib.h>

static const psgi_writer *const writers[] = {
	[PSG_FORMAT_TEXT] = &psgi_text_writer,
	[PSG_FORMAT_JSON] = &psgi_json_writer,
	[PSG_FORMAT_TSV] = &psgi_tsv_writer,
	[PSG_FORMAT_HOCR] = &psgi_hocr_writer,
};

/* NULL, with an error, when there is none or an argument is missing: `given` is false then. */
static const psgi_writer *find(psg_format format, bool given, char **out, psg_error *error)
{
	if (out == NULL || !given) {
		(void)psgi_fail(error, PSG_INVALID, "page format: page, failure or out is NULL");
		return NULL;
	}
	*out = NULL;
	if ((size_t)format < sizeof(writers) / sizeof(writers[0]))
		return writers[format];
	(void)psgi_fail(error, PSG_INVALID, "page format: there is no format %d", (int)format);
	return NULL;
}

/* Hands the string over, or frees what there is of it. */
static psg_status end(psgi_strbuf *s, psg_status status, char **out, psg_error *error)
{
	psg_status taken;

	if (status == PSG_OK)
		return psgi_strbuf_take(s, out, error);
	taken = psgi_strbuf_take(s, out, NULL);
	if (taken == PSG_OK) {
		free(*out);
		*out = NULL;
	}
	return status;
}

static const char *or_empty(const char *name)
{
	return name != NULL ? name : "";
}

static void add_between(psgi_strbuf *s, const psgi_writer *writer, size_t number)
{
	if (writer->between != NULL && number > 1)
		psgi_strbuf_printf(s, "%s", writer->between);
}

psg_status psg_page_format(const psg_page *page, const char *name, psg_format format, char **out,
			   psg_error *error)
{
	psgi_strbuf s = { 0 };
	const psgi_writer *writer = find(format, page != NULL, out, error);
	psg_status status = PSG_OK;

	if (writer == NULL)
		return PSG_INVALID;
	name = or_empty(name);
	if (writer->head != NULL)
		status = writer->head(&s, name, error);
	if (status == PSG_OK)
		status = writer->page(
			&s, page, (psgi_page_place){ name, page->index, (size_t)page->index + 1 },
			error);
	if (status == PSG_OK && writer->tail != NULL)
		status = writer->tail(&s, error);
	return end(&s, status, out, error);
}

psg_status psg_document_begin(psg_format format, const char *title, char **out, psg_error *error)
{
	psgi_strbuf s = { 0 };
	const psgi_writer *writer = find(format, true, out, error);
	psg_status status = PSG_OK;

	if (writer == NULL)
		return PSG_INVALID;
	if (writer->head != NULL)
		status = writer->head(&s, or_empty(title), error);
	return end(&s, status, out, error);
}

psg_status psg_document_page(psg_format format, const psg_page *page, const char *name,
			     size_t number, char **out, psg_error *error)
{
	psgi_strbuf s = { 0 };
	const psgi_writer *writer = find(format, page != NULL, out, error);
	psg_status status = PSG_OK;

	if (writer == NULL)
		return PSG_INVALID;
	add_between(&s, writer, number);
	status = writer->page(&s, page, (psgi_page_place){ or_empty(name), page->index, number },
			      error);
	return end(&s, status, out, error);
}

psg_status psg_document_failure(psg_format format, const psg_error *failure, const char *name,
				int32_t index, size_t number, char **out, psg_error *error)
{
	psgi_strbuf s = { 0 };
	const psgi_writer *writer = find(format, failure != NULL, out, error);
	psg_status status = PSG_OK;

	if (writer == NULL)
		return PSG_INVALID;
	add_between(&s, writer, number);
	if (writer->failure != NULL)
		status = writer->failure(&s, failure,
					 (psgi_page_place){ or_empty(name), index, number }, error);
	return end(&s, status, out, error);
}

psg_status psg_document_end(psg_format format, char **out, psg_error *error)
{
	psgi_strbuf s = { 0 };
	const psgi_writer *writer = find(format, true, out, error);
	psg_status status = PSG_OK;

	if (writer == NULL)
		return PSG_INVALID;
	if (writer->tail != NULL)
		status = writer->tail(&s, error);
	return end(&s, status, out, error);
}
