/* SPDX-License-Identifier: Apache-2.0 */
/* A page as plain text or as a table. */
#include "config.h"

#include "ocr/format_inner.h"

#include <string.h>

/* One recognised line a line; a page without text is an empty string. */
static psg_status add_text(psgi_strbuf *s, const psg_page *page, psgi_page_place place,
			   psg_error *error)
{
	(void)place;
	(void)error;
	for (size_t i = 0; i < page->n_lines; i++)
		psgi_strbuf_printf(s, "%s\n", page->lines[i].text);
	return PSG_OK;
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
static psg_status add_table(psgi_strbuf *s, const psg_page *page, psgi_page_place place,
			    psg_error *error)
{
	(void)error;
	for (size_t i = 0; i < page->n_lines; i++) {
		const psg_line *line = &page->lines[i];

		add_field(s, place.name);
		psgi_strbuf_printf(s, "\t%d\t%zu\t", place.index, i);
		psgi_strbuf_number(s, (double)line->confidence, 4, false);
		psgi_strbuf_add(s, "\t", 1);
		psgi_strbuf_number(s, (double)line->angle, 1, false);
		for (int k = 0; k < 4; k++) {
			psgi_strbuf_add(s, "\t", 1);
			psgi_strbuf_number(s, (double)line->quad[k].x, 2, true);
			psgi_strbuf_add(s, "\t", 1);
			psgi_strbuf_number(s, (double)line->quad[k].y, 2, true);
		}
		psgi_strbuf_add(s, "\t", 1);
		add_field(s, line->text);
		psgi_strbuf_add(s, "\n", 1);
	}
	return PSG_OK;
}

/* No line is empty, so an empty one is between two pages, also when they are. */
const psgi_writer psgi_text_writer = { .page = add_text, .between = "\n" };

const psgi_writer psgi_tsv_writer = { .page = add_table };
