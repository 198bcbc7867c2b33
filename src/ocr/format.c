/* SPDX-License-Identifier: Apache-2.0 */
/* A page as plain text or as a table; the other formats have files of their own. */
#include "config.h"

#include "ocr/format_inner.h"
#include "ocr/strbuf.h"

#include <string.h>

/* One recognised line a line; a page without text is an empty string. */
static psg_status format_text(const psg_page *page, char **out, psg_error *error)
{
	psgi_strbuf s = { 0 };

	for (size_t i = 0; i < page->n_lines; i++)
		psgi_strbuf_printf(&s, "%s\n", page->lines[i].text);
	return psgi_strbuf_take(&s, out, error);
}

/* Text of one field: what would end it is written \t, \n, \r, and the backslash \\. */
static void add_field(psgi_strbuf *s, const char *text)
{
	for (const char *at = text; *at != '\0';) {
		size_t plain = strcspn(at, "\t\n\r\\");

		psgi_strbuf_add(s, at, plain);
		at += plain;
		if (*at == '\0')
			return;
		psgi_strbuf_add(s,
				*at == '\t'   ? "\\t"
				: *at == '\n' ? "\\n"
				: *at == '\r' ? "\\r"
					      : "\\\\",
				2);
		at++;
	}
}

/*
 * Columns: file, page (from 0), line (from 0), confidence, angle, x and y of the four corners
 * clockwise from the text's top left, text.  No header line, so that pages can be put together.
 */
static psg_status format_tsv(const psg_page *page, const char *name, char **out, psg_error *error)
{
	psgi_strbuf s = { 0 };

	for (size_t i = 0; i < page->n_lines; i++) {
		const psg_line *line = &page->lines[i];

		add_field(&s, name);
		psgi_strbuf_printf(&s, "\t%d\t%zu\t", page->index, i);
		psgi_strbuf_number(&s, (double)line->confidence, 4, false);
		psgi_strbuf_add(&s, "\t", 1);
		psgi_strbuf_number(&s, (double)line->angle, 1, false);
		for (int k = 0; k < 4; k++) {
			psgi_strbuf_add(&s, "\t", 1);
			psgi_strbuf_number(&s, (double)line->quad[k].x, 2, true);
			psgi_strbuf_add(&s, "\t", 1);
			psgi_strbuf_number(&s, (double)line->quad[k].y, 2, true);
		}
		psgi_strbuf_add(&s, "\t", 1);
		add_field(&s, line->text);
		psgi_strbuf_add(&s, "\n", 1);
	}
	return psgi_strbuf_take(&s, out, error);
}

psg_status psg_page_format(const psg_page *page, const char *name, psg_format format, char **out,
			   psg_error *error)
{
	if (page == NULL || out == NULL)
		return psgi_fail(error, PSG_INVALID, "page format: page or out is NULL");
	*out = NULL;
	if (name == NULL)
		name = "";
	switch (format) {
	case PSG_FORMAT_TEXT:
		return format_text(page, out, error);
	case PSG_FORMAT_JSON:
		return psgi_format_json(page, name, out, error);
	case PSG_FORMAT_TSV:
		return format_tsv(page, name, out, error);
	case PSG_FORMAT_HOCR:
		return psgi_format_hocr(page, name, out, error);
	default:
		return psgi_fail(error, PSG_INVALID, "page format: there is no format %d",
				 (int)format);
	}
}
