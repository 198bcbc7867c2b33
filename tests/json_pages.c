/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks the JSON of pages on standard input, one object a line: each key that is promised is
 * there, once, with the right type, and nothing else is.  Prints for each page
 *   FILE|PAGE|WIDTHxHEIGHT|LINES|ERROR|TEXT/TEXT...
 * with - for null, so that a script can compare what changes from page to page.
 */
#include "config.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int wrong;

static void check(int right, const char *what)
{
	if (right)
		return;
	(void)fprintf(stderr, "json_pages: %s\n", what);
	wrong = 1;
}

/* Every key of these and no other. */
static void check_keys(const json_t *object, const char *const *keys, size_t n)
{
	check(json_object_size(object) == n, "another number of keys");
	for (size_t i = 0; i < n; i++)
		check(json_object_get(object, keys[i]) != NULL, keys[i]);
}

static void check_line(const json_t *line)
{
	static const char *const keys[] = { "text", "confidence", "quad", "angle" };
	const json_t *quad = json_object_get(line, "quad"), *corner;
	double confidence = json_number_value(json_object_get(line, "confidence"));
	size_t i;

	check_keys(line, keys, 4);
	check(json_string_length(json_object_get(line, "text")) > 0, "a line without text");
	check(confidence > 0 && confidence <= 1, "a confidence outside 0 to 1");
	check(json_is_number(json_object_get(line, "angle")), "an angle that is no number");
	check(json_array_size(quad) == 4, "a quad that has not 4 corners");
	json_array_foreach(quad, i, corner)
		check(json_array_size(corner) == 2 && json_is_number(json_array_get(corner, 0)) &&
			      json_is_number(json_array_get(corner, 1)),
		      "a corner that is not two numbers");
}

static void check_page(const json_t *page)
{
	static const char *const times[] = { "decode",    "detect",    "boxes",
					     "direction", "recognise", "total" };
	const json_t *lines = json_object_get(page, "lines"), *line;
	size_t i;

	check(json_is_integer(json_object_get(page, "page")), "page is no number");
	check(json_integer_value(json_object_get(page, "width")) > 0, "no width");
	check(json_integer_value(json_object_get(page, "height")) > 0, "no height");
	check(json_string_length(json_object_get(page, "device")) > 0, "no device");
	check_keys(json_object_get(page, "timings_ms"), times, 6);
	json_array_foreach(lines, i, line) check_line(line);
}

static void check_failure(const json_t *page)
{
	static const char *const keys[] = { "code", "message" };
	static const char *const empty[] = { "width", "height", "device", "fallback",
					     "timings_ms" };

	check_keys(json_object_get(page, "error"), keys, 2);
	for (size_t i = 0; i < 5; i++)
		check(json_is_null(json_object_get(page, empty[i])), empty[i]);
	check(json_array_size(json_object_get(page, "lines")) == 0, "lines of a failed page");
}

static void print_number(const json_t *number, const char *after)
{
	if (json_is_null(number))
		(void)printf("-%s", after);
	else
		(void)printf("%d%s", (int)json_integer_value(number), after);
}

static void print_page(const json_t *page)
{
	const json_t *lines = json_object_get(page, "lines"), *line;
	const char *code =
		json_string_value(json_object_get(json_object_get(page, "error"), "code"));
	size_t i;

	(void)printf("%s|", json_string_value(json_object_get(page, "file")));
	print_number(json_object_get(page, "page"), "|");
	print_number(json_object_get(page, "width"), "x");
	print_number(json_object_get(page, "height"), "|");
	(void)printf("%zu|%s|", json_array_size(lines), code != NULL ? code : "-");
	json_array_foreach(lines, i, line)(void)
		printf("%s%s", i > 0 ? "/" : "", json_string_value(json_object_get(line, "text")));
	(void)putchar('\n');
}

static void read_line(const char *text)
{
	static const char *const keys[] = { "file",     "page",  "width",      "height", "device",
					    "fallback", "lines", "timings_ms", "error" };
	json_error_t error;
	json_t *page = json_loads(text, JSON_REJECT_DUPLICATES, &error);

	check(json_is_object(page), "not an object");
	if (!json_is_object(page)) {
		json_decref(page);
		return;
	}
	check_keys(page, keys, 9);
	check(json_is_string(json_object_get(page, "file")), "file is no string");
	check(json_is_array(json_object_get(page, "lines")), "lines is no array");
	if (json_is_null(json_object_get(page, "error")))
		check_page(page);
	else
		check_failure(page);
	print_page(page);
	json_decref(page);
}

int main(void)
{
	char *line = NULL;
	size_t room = 0;

	while (getline(&line, &room, stdin) > 0)
		read_line(line);
	free(line);
	return wrong;
}
