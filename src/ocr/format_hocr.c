/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A page as hOCR 1.2, in XHTML: one ocr_line a line of text, with one ocrx_word in it because the
 * models do not say where words begin.
 */
#include "config.h"

#include "ocr/format_inner.h"
#include "ocr/strbuf.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* XML has no way to write most control characters, nor U+FFFE and U+FFFF. */
static bool forbidden(const char *at, size_t length)
{
	unsigned char c = (unsigned char)*at;

	return (length == 1 && c < 0x20 && c != '\t' && c != '\n' && c != '\r') ||
	       (length == 3 &&
		(memcmp(at, "\xef\xbf\xbe", 3) == 0 || memcmp(at, "\xef\xbf\xbf", 3) == 0));
}

/* Text for an element or an attribute; what XML cannot hold becomes U+FFFD. */
static void add_escaped(psgi_strbuf *s, const char *text)
{
	size_t size = strlen(text);

	for (size_t i = 0; i < size;) {
		size_t n = psgi_utf8_length((const unsigned char *)text + i, size - i);
		const char *as = NULL;

		if (n == 0 || forbidden(text + i, n))
			as = "\xef\xbf\xbd";
		else if (text[i] == '&')
			as = "&amp;";
		else if (text[i] == '<')
			as = "&lt;";
		else if (text[i] == '>')
			as = "&gt;";
		else if (text[i] == '"')
			as = "&quot;";
		else if (text[i] == '\'')
			as = "&#39;";
		else if (text[i] == '\n') /* which an attribute would have as a blank */
			as = "&#10;";
		psgi_strbuf_add(s, as != NULL ? as : text + i, as != NULL ? strlen(as) : n);
		i += n > 0 ? n : 1;
	}
}

/* A file name inside a property's quotes, which a backslash keeps from ending. */
static void add_quoted(psgi_strbuf *s, const char *text)
{
	psgi_strbuf inner = { 0 };

	for (const char *c = text; *c != '\0'; c++) {
		if (*c == '"' || *c == '\\')
			psgi_strbuf_add(&inner, "\\", 1);
		psgi_strbuf_add(&inner, c, 1);
	}
	s->failed |= inner.failed;
	if (inner.data != NULL)
		add_escaped(s, inner.data);
	free(inner.data);
}

/* The smallest upright rectangle of whole pixels around a quad. */
static void add_bbox(psgi_strbuf *s, const psg_point quad[4])
{
	float x0 = quad[0].x, x1 = x0, y0 = quad[0].y, y1 = y0;

	for (int k = 1; k < 4; k++) {
		x0 = fminf(x0, quad[k].x);
		x1 = fmaxf(x1, quad[k].x);
		y0 = fminf(y0, quad[k].y);
		y1 = fmaxf(y1, quad[k].y);
	}
	psgi_strbuf_printf(s, "bbox ");
	psgi_strbuf_number(s, (double)floorf(x0), 0, false);
	psgi_strbuf_add(s, " ", 1);
	psgi_strbuf_number(s, (double)floorf(y0), 0, false);
	psgi_strbuf_add(s, " ", 1);
	psgi_strbuf_number(s, (double)ceilf(x1), 0, false);
	psgi_strbuf_add(s, " ", 1);
	psgi_strbuf_number(s, (double)ceilf(y1), 0, false);
}

static void add_line(psgi_strbuf *s, const psg_line *line, size_t number, size_t i)
{
	psgi_strbuf_printf(s, "   <span class=\"ocr_line\" id=\"line_%zu_%zu\" title=\"", number,
			   i + 1);
	add_bbox(s, line->quad);
	/* hOCR counts counter-clockwise. */
	if (fabsf(line->angle) >= 0.05F) {
		psgi_strbuf_printf(s, "; textangle ");
		psgi_strbuf_number(s, -(double)line->angle, 1, false);
	}
	psgi_strbuf_printf(s, "\">\n    <span class=\"ocrx_word\" id=\"word_%zu_%zu\" title=\"",
			   number, i + 1);
	add_bbox(s, line->quad);
	psgi_strbuf_printf(s, "; x_wconf ");
	psgi_strbuf_number(s, (double)line->confidence * 100, 0, false);
	psgi_strbuf_printf(s, "\">");
	add_escaped(s, line->text);
	psgi_strbuf_printf(s, "</span>\n   </span>\n");
}

static psg_status add_head(psgi_strbuf *s, const char *title, psg_error *error)
{
	(void)error;
	psgi_strbuf_printf(s, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
			      "<!DOCTYPE html PUBLIC \"-//W3C//DTD XHTML 1.0 Transitional//EN\" "
			      "\"http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd\">\n"
			      "<html xmlns=\"http://www.w3.org/1999/xhtml\">\n <head>\n  <title>");
	add_escaped(s, title);
	psgi_strbuf_printf(
		s,
		"</title>\n"
		"  <meta http-equiv=\"Content-Type\" content=\"text/html; charset=utf-8\" />\n"
		"  <meta name=\"ocr-system\" content=\"" PACKAGE_NAME " " PACKAGE_VERSION "\" />\n"
		"  <meta name=\"ocr-capabilities\" content=\"ocr_page ocr_line ocrx_word\" />\n"
		" </head>\n <body>\n");
	return PSG_OK;
}

/* `page` is NULL for one that could not be read, whose size nobody knows. */
static void add_page_start(psgi_strbuf *s, const psg_page *page, psgi_page_place place)
{
	psgi_strbuf_printf(s, "  <div class=\"ocr_page\" id=\"page_%zu\" title=\"image &quot;",
			   place.number);
	add_quoted(s, place.name);
	psgi_strbuf_printf(s, "&quot;");
	if (page != NULL)
		psgi_strbuf_printf(s, "; bbox 0 0 %d %d", page->width, page->height);
	if (place.index >= 0)
		psgi_strbuf_printf(s, "; ppageno %d", (int)place.index);
	psgi_strbuf_printf(s, "\">\n");
}

static psg_status add_page(psgi_strbuf *s, const psg_page *page, psgi_page_place place,
			   psg_error *error)
{
	(void)error;
	add_page_start(s, page, place);
	for (size_t i = 0; i < page->n_lines; i++)
		add_line(s, &page->lines[i], place.number, i);
	psgi_strbuf_printf(s, "  </div>\n");
	return PSG_OK;
}

/* An empty page, so that pages can be counted; a comment says why. */
static psg_status add_failure(psgi_strbuf *s, const psg_error *failure, psgi_page_place place,
			      psg_error *error)
{
	char message[PSG_ERROR_MESSAGE_SIZE];
	size_t n = strnlen(failure->message, sizeof(message) - 1);

	(void)error;
	/* Two hyphens would end the comment. */
	for (size_t i = 0; i < n; i++)
		message[i] = failure->message[i] == '-' ? '_' : failure->message[i];
	message[n] = '\0';
	add_page_start(s, NULL, place);
	psgi_strbuf_printf(s, "   <!-- %s: ", psg_status_name(failure->code));
	add_escaped(s, message);
	psgi_strbuf_printf(s, " -->\n  </div>\n");
	return PSG_OK;
}

static psg_status add_tail(psgi_strbuf *s, psg_error *error)
{
	(void)error;
	psgi_strbuf_printf(s, " </body>\n</html>\n");
	return PSG_OK;
}

const psgi_writer psgi_hocr_writer = {
	.head = add_head, .page = add_page, .failure = add_failure, .tail = add_tail
};
