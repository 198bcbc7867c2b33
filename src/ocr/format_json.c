/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A page, or the reason why there is none, as one JSON object on one line.
 *
 * JSON is Unicode and a file name may be any bytes: each byte that is not valid
 * UTF-8 is written as U+FFFD.
 */
#include "config.h"

#include "ocr/format_inner.h"

#if HAVE_JANSSON

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Enough for a pixel's hundredth on the longest side and a microsecond of a ten-second page. */
#define DIGITS 8

/* All json_* below take NULL for "out of memory" and pass it on, so that only the end checks. */
static json_t *string(const char *text)
{
	char *clean = psgi_utf8_clean(text);
	json_t *s = clean != NULL ? json_string_nocheck(clean) : NULL;

	free(clean);
	return s;
}

/* A number rounded to 1 / `parts`; whole ones without a point.  JSON has no infinity: 0. */
static json_t *number(double value, double parts)
{
	double rounded = isfinite(value) ? rint(value * parts) / parts : 0;

	if (rounded == rint(rounded) && fabs(rounded) < 1e15)
		return json_integer((json_int_t)rounded);
	return json_real(rounded);
}

/* A string, or null when it is empty or absent. */
static json_t *string_or_null(const char *text)
{
	return text != NULL && text[0] != '\0' ? string(text) : json_null();
}

static json_t *quad_of(const psg_line *line)
{
	json_t *quad = json_array();

	for (int i = 0; i < 4; i++) {
		json_t *point = json_pack("[o,o]", number((double)line->quad[i].x, 100),
					  number((double)line->quad[i].y, 100));

		if (json_array_append_new(quad, point) != 0) {
			json_decref(quad);
			return NULL;
		}
	}
	return quad;
}

static json_t *lines_of(const psg_page *page)
{
	json_t *lines = json_array();

	for (size_t i = 0; i < page->n_lines; i++) {
		const psg_line *l = &page->lines[i];
		json_t *line = json_pack("{s:o,s:o,s:o,s:o}", "text", string(l->text), "confidence",
					 number((double)l->confidence, 1e4), "quad", quad_of(l),
					 "angle", number((double)l->angle, 10));

		if (json_array_append_new(lines, line) != 0) {
			json_decref(lines);
			return NULL;
		}
	}
	return lines;
}

static json_t *times_of(const psg_page_times *t)
{
	return json_pack("{s:o,s:o,s:o,s:o,s:o,s:o}", "decode", number(t->decode_ms, 1e3), "detect",
			 number(t->detect_ms, 1e3), "boxes", number(t->boxes_ms, 1e3), "direction",
			 number(t->direction_ms, 1e3), "recognise", number(t->recognise_ms, 1e3),
			 "total", number(t->total_ms, 1e3));
}

/* The object as a line; takes the reference. */
static psg_status dump(json_t *object, char **out, psg_error *error)
{
	char *text = object != NULL ? json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(DIGITS))
				    : NULL;
	size_t n = text != NULL ? strlen(text) : 0;
	char *line = text != NULL ? malloc(n + 2) : NULL;

	if (line != NULL) {
		memcpy(line, text, n);
		memcpy(line + n, "\n", 2);
	}
	free(text);
	json_decref(object);
	*out = line;
	return line != NULL ? PSG_OK : psgi_fail(error, PSG_NOMEM, "JSON: out of memory");
}

psg_status psgi_format_json(const psg_page *page, const char *name, char **out, psg_error *error)
{
	json_t *object = json_pack("{s:o,s:i,s:i,s:i,s:o,s:o,s:o,s:o,s:n}", "file", string(name),
				   "page", (int)page->index, "width", (int)page->width, "height",
				   (int)page->height, "device", string_or_null(page->device),
				   "fallback", string_or_null(page->fallback), "lines",
				   lines_of(page), "timings_ms", times_of(&page->times), "error");

	return dump(object, out, error);
}

psg_status psgi_page_error_json(const char *name, int32_t page, psg_status code,
				const char *message, char **out, psg_error *error)
{
	json_t *object =
		json_pack("{s:o,s:i,s:{s:s,s:o}}", "file", string(name), "page", (int)page, "error",
			  "code", psg_status_name(code), "message", string(message));

	return dump(object, out, error);
}

#else

static psg_status without(char **out, psg_error *error)
{
	*out = NULL;
	return psgi_fail(error, PSG_UNSUPPORTED, "JSON: this build has no jansson");
}

psg_status psgi_format_json(const psg_page *page, const char *name, char **out, psg_error *error)
{
	(void)page;
	(void)name;
	return without(out, error);
}

psg_status psgi_page_error_json(const char *name, int32_t page, psg_status code,
				const char *message, char **out, psg_error *error)
{
	(void)name;
	(void)page;
	(void)code;
	(void)message;
	return without(out, error);
}

#endif
