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
static psg_status add_object(psgi_strbuf *s, json_t *object, psg_error *error)
{
	char *text = object != NULL ? json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(DIGITS))
				    : NULL;

	json_decref(object);
	if (text == NULL)
		return psgi_fail(error, PSG_NOMEM, "JSON: out of memory");
	psgi_strbuf_add(s, text, strlen(text));
	psgi_strbuf_add(s, "\n", 1);
	free(text);
	return PSG_OK;
}

static psg_status add_page(psgi_strbuf *s, const psg_page *page, psgi_page_place place,
			   psg_error *error)
{
	return add_object(s,
			  json_pack("{s:o,s:i,s:i,s:i,s:o,s:o,s:o,s:o,s:n}", "file",
				    string(place.name), "page", (int)place.index, "width",
				    (int)page->width, "height", (int)page->height, "device",
				    string_or_null(page->device), "fallback",
				    string_or_null(page->fallback), "lines", lines_of(page),
				    "timings_ms", times_of(&page->times), "error"),
			  error);
}

/* The same keys, so that a reader of many lines finds each of them in all. */
static psg_status add_failure(psgi_strbuf *s, const psg_error *failure, psgi_page_place place,
			      psg_error *error)
{
	return add_object(s,
			  json_pack("{s:o,s:o,s:n,s:n,s:n,s:n,s:[],s:n,s:{s:s,s:o}}", "file",
				    string(place.name), "page",
				    place.index >= 0 ? json_integer(place.index) : json_null(),
				    "width", "height", "device", "fallback", "lines", "timings_ms",
				    "error", "code", psg_status_name(failure->code), "message",
				    string(failure->message)),
			  error);
}

const psgi_writer psgi_json_writer = { .page = add_page, .failure = add_failure };

#else

static psg_status without(psgi_strbuf *s, const char *title, psg_error *error)
{
	(void)s;
	(void)title;
	return psgi_fail(error, PSG_UNSUPPORTED, "JSON: this build has no jansson");
}

static psg_status page_without(psgi_strbuf *s, const psg_page *page, psgi_page_place place,
			       psg_error *error)
{
	(void)page;
	return without(s, place.name, error);
}

static psg_status failure_without(psgi_strbuf *s, const psg_error *failure, psgi_page_place place,
				  psg_error *error)
{
	(void)failure;
	return without(s, place.name, error);
}

const psgi_writer psgi_json_writer = { .head = without,
				       .page = page_without,
				       .failure = failure_without };

#endif
