/* SPDX-License-Identifier: Apache-2.0 */
/* The recognition model's classes as text, from a file with one character a line. */
#include "config.h"

#include "ocr/text.h"

#include "base/base.h"
#include "base/utf8.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Chosen: a hundred times the largest dictionary of the PaddleOCR family. */
#define MAX_BYTES ((size_t)16 << 20)
#define MAX_CLASSES INT64_C(1000000)

struct psgi_dictionary {
	int64_t classes;
	char *text;       /* every entry with its terminator */
	uint32_t *offset; /* of each class in `text` */
};

void psgi_dictionary_free(psgi_dictionary *dictionary)
{
	if (dictionary == NULL)
		return;
	free(dictionary->text);
	free(dictionary->offset);
	free(dictionary);
}

int64_t psgi_dictionary_classes(const psgi_dictionary *dictionary)
{
	return dictionary->classes;
}

const char *psgi_dictionary_text(const psgi_dictionary *dictionary, int64_t klass)
{
	if (klass < 0 || klass >= dictionary->classes)
		return NULL;
	return dictionary->text + dictionary->offset[klass];
}

/* Where line text ends: before LF, CRLF or the end of the data. */
static size_t line_end(const char *data, size_t size, size_t at, size_t *next)
{
	const char *lf = memchr(data + at, '\n', size - at);
	size_t end = lf != NULL ? (size_t)(lf - data) : size;

	*next = lf != NULL ? end + 1 : end;
	return end > at && data[end - 1] == '\r' ? end - 1 : end;
}

static psg_status check_line(const char *name, const char *line, size_t size, int64_t number,
			     psg_error *error)
{
	if (size == 0)
		return psgi_fail(error, PSG_FORMAT, "%s: line %" PRId64 " is empty", name, number);
	for (size_t i = 0; i < size;) {
		size_t n = psgi_utf8_length((const unsigned char *)line + i, size - i);

		if (n == 0 || line[i] == '\0')
			return psgi_fail(error, PSG_FORMAT,
					 "%s: line %" PRId64 " is not UTF-8 text", name, number);
		i += n;
	}
	return PSG_OK;
}

/* Lines of the data; -1 when there are too many. */
static int64_t count_lines(const char *data, size_t size)
{
	int64_t n = 0;

	for (size_t at = 0; at < size; n++)
		(void)line_end(data, size, at, &at);
	return n <= MAX_CLASSES - 2 ? n : -1;
}

/* Fills text and offsets, which are large enough. */
static psg_status fill(psgi_dictionary *d, const char *name, const char *data, size_t size,
		       psg_error *error)
{
	uint32_t n = 0;
	int64_t klass = 0;

	d->offset[klass++] = n;
	d->text[n++] = '\0'; /* the blank */
	for (size_t at = 0, next; at < size; at = next) {
		size_t length = line_end(data, size, at, &next) - at;
		psg_status status = check_line(name, data + at, length, klass, error);

		if (status != PSG_OK)
			return status;
		d->offset[klass++] = n;
		memcpy(d->text + n, data + at, length);
		n += (uint32_t)length;
		d->text[n++] = '\0';
	}
	d->offset[klass++] = n;
	memcpy(d->text + n, " ", 2);
	d->classes = klass;
	return PSG_OK;
}

psg_status psgi_dictionary_parse(const char *name, const void *data, size_t size, int64_t classes,
				 psgi_dictionary **out, psg_error *error)
{
	psgi_dictionary *d;
	int64_t lines;
	psg_status status;

	*out = NULL;
	/* A byte-order mark is not part of the first character. */
	if (size >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0) {
		data = (const char *)data + 3;
		size -= 3;
	}
	lines = size <= MAX_BYTES ? count_lines(data, size) : -1;
	if (lines < 0)
		return psgi_fail(error, PSG_FORMAT,
				 "%s: more than %zu bytes or %" PRId64 " characters", name,
				 MAX_BYTES, MAX_CLASSES - 2);
	if (classes > 0 && classes != lines + 2)
		return psgi_fail(error, PSG_INVALID,
				 "%s: %" PRId64 " characters, with blank and space %" PRId64
				 " classes, but the model has %" PRId64,
				 name, lines, lines + 2, classes);
	d = calloc(1, sizeof(*d));
	if (d != NULL) {
		d->offset = malloc((size_t)(lines + 2) * sizeof(*d->offset));
		d->text = malloc(size + (size_t)lines + 4);
	}
	if (d == NULL || d->offset == NULL || d->text == NULL)
		status = psgi_fail(error, PSG_NOMEM, "%s: no memory for %" PRId64 " characters",
				   name, lines);
	else
		status = fill(d, name, data, size, error);
	if (status == PSG_OK)
		*out = d;
	else
		psgi_dictionary_free(d);
	return status;
}

psg_status psgi_dictionary_load(const char *path, int64_t classes, psgi_dictionary **out,
				psg_error *error)
{
	FILE *file = fopen(path, "rbe");
	char *data = NULL;
	size_t size = 0;
	psg_status status;

	*out = NULL;
	if (file == NULL)
		return psgi_fail(error, PSG_INVALID, "%s: %s", path, strerror(errno));
	data = malloc(MAX_BYTES + 1);
	if (data == NULL)
		status = psgi_fail(error, PSG_NOMEM, "%s: no memory to read it", path);
	else if (size = fread(data, 1, MAX_BYTES + 1, file), ferror(file))
		status = psgi_fail(error, PSG_INVALID, "%s: %s", path, strerror(errno));
	else
		status = psgi_dictionary_parse(path, data, size, classes, out, error);
	free(data);
	(void)fclose(file);
	return status;
}
