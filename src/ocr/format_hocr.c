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

static void add_line(psgi_strbuf *s, const psg_page *page, size_t i)
{
	const psg_line *line = &page->lines[i];
	int p = page->index + 1;

	psgi_strbuf_printf(s, "   <span class=\"ocr_line\" id=\"line_%d_%zu\" title=\"", p, i + 1);
	add_bbox(s, line->quad);
	/* hOCR counts counter-clockwise. */
	if (fabsf(line->angle) >= 0.05F) {
		psgi_strbuf_printf(s, "; textangle ");
		psgi_strbuf_number(s, -(double)line->angle, 1, false);
	}
	psgi_strbuf_printf(s, "\">\n    <span class=\"ocrx_word\" id=\"word_%d_%zu\" title=\"", p,
			   i + 1);
	add_bbox(s, line->quad);
	psgi_strbuf_printf(s, "; x_wconf ");
	psgi_strbuf_number(s, (double)line->confidence * 100, 0, false);
	psgi_strbuf_printf(s, "\">");
	add_escaped(s, line->text);
	psgi_strbuf_printf(s, "</span>\n   </span>\n");
}

psg_status psgi_format_hocr(const psg_page *page, const char *name, char **out, psg_error *error)
{
	psgi_strbuf s = { 0 };

	psgi_strbuf_printf(&s, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
			       "<!DOCTYPE html PUBLIC \"-//W3C//DTD XHTML 1.0 Transitional//EN\" "
			       "\"http://www.w3.org/TR/xhtml1/DTD/xhtml1-transitional.dtd\">\n"
			       "<html xmlns=\"http://www.w3.org/1999/xhtml\">\n <head>\n  <title>");
	add_escaped(&s, name);
	psgi_strbuf_printf(
		&s,
		"</title>\n"
		"  <meta http-equiv=\"Content-Type\" content=\"text/html; charset=utf-8\" />\n"
		"  <meta name=\"ocr-system\" content=\"" PACKAGE_NAME " " PACKAGE_VERSION "\" />\n"
		"  <meta name=\"ocr-capabilities\" content=\"ocr_page ocr_line ocrx_word\" />\n"
		" </head>\n <body>\n"
		"  <div class=\"ocr_page\" id=\"page_%d\" title=\"image &quot;",
		page->index + 1);
	add_quoted(&s, name);
	psgi_strbuf_printf(&s, "&quot;; bbox 0 0 %d %d; ppageno %d\">\n", page->width, page->height,
			   page->index);
	for (size_t i = 0; i < page->n_lines; i++)
		add_line(&s, page, i);
	psgi_strbuf_printf(&s, "  </div>\n </body>\n</html>\n");
	return psgi_strbuf_take(&s, out, error);
}
