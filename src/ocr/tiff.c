/* SPDX-License-Identifier: Apache-2.0 */
/*
 * TIFF directories (TIFF 6.0, BigTIFF, EXIF): read without a library, because page counts, sides
 * and orientation are wanted before anything is allocated, and EXIF is the same structure.
 */
#include "config.h"

#include "ocr/decode.h"

#include <string.h>

/* Pages of one file; libtiff's own directory numbers are 16 bits. */
#define MAX_PAGES 65535

enum {
	TAG_WIDTH = 256,
	TAG_HEIGHT = 257,
	TAG_BITS = 258,
	TAG_ORIENTATION = 274,
	TAG_SAMPLES = 277,
	TAG_TILE_WIDTH = 322,
	TAG_TILE_HEIGHT = 323,
};

typedef struct reader {
	const uint8_t *data;
	size_t size;
	bool big_endian, big_tiff;
} reader;

/* An unsigned number of `n` bytes; false past the end. */
static bool number(const reader *r, uint64_t at, size_t n, uint64_t *out)
{
	uint64_t value = 0;

	if (at > r->size || n > r->size - at)
		return false;
	for (size_t i = 0; i < n; i++)
		value = value << 8 | r->data[at + (r->big_endian ? i : n - 1 - i)];
	*out = value;
	return true;
}

static bool header(reader *r, uint64_t *first)
{
	uint64_t version;

	if (r->size < 8 || (memcmp(r->data, "II", 2) != 0 && memcmp(r->data, "MM", 2) != 0))
		return false;
	r->big_endian = r->data[0] == 'M';
	if (!number(r, 2, 2, &version) || (version != 42 && version != 43))
		return false;
	r->big_tiff = version == 43;
	return r->big_tiff ? number(r, 8, 8, first) : number(r, 4, 4, first);
}

/* A field's first value when it is a BYTE, SHORT, LONG or LONG8, wherever it lies. */
static bool field_value(const reader *r, uint64_t entry, uint64_t *value)
{
	size_t wide = r->big_tiff ? 8 : 4;
	uint64_t type, count, at = entry + 4 + wide;
	size_t bytes;

	if (!number(r, entry + 2, 2, &type) || !number(r, entry + 4, wide, &count) || count == 0)
		return false;
	bytes = type == 1 ? 1 : type == 3 ? 2 : type == 4 ? 4 : type == 16 ? 8 : 0;
	if (bytes == 0)
		return false;
	if ((count > wide / bytes) && !number(r, at, wide, &at))
		return false;
	return number(r, at, bytes, value);
}

static void keep(psgi_tiff_page *page, uint64_t tag, uint64_t value)
{
	switch (tag) {
	case TAG_WIDTH:
		page->width = value;
		break;
	case TAG_HEIGHT:
		page->height = value;
		break;
	case TAG_BITS:
		page->bits = value;
		break;
	case TAG_SAMPLES:
		page->samples = value;
		break;
	case TAG_TILE_WIDTH:
		page->tile_width = value;
		break;
	case TAG_TILE_HEIGHT:
		page->tile_height = value;
		break;
	case TAG_ORIENTATION:
		page->orientation = value >= 1 && value <= 8 ? (int32_t)value : 1;
		break;
	default:
		break;
	}
}

/* Reads the directory at `at` into `page` (or only skips it); `*next` is where the next one is. */
static bool directory(const reader *r, uint64_t at, psgi_tiff_page *page, uint64_t *next)
{
	size_t head = r->big_tiff ? 8 : 2, entry = r->big_tiff ? 20 : 12;
	uint64_t n, tag, value;

	if (!number(r, at, head, &n) || n == 0 || n > (r->size - at) / entry)
		return false;
	at += head;
	for (uint64_t i = 0; page != NULL && i < n; i++) {
		if (!number(r, at + i * entry, 2, &tag))
			return false;
		if (field_value(r, at + i * entry, &value))
			keep(page, tag, value);
	}
	return number(r, at + n * entry, r->big_tiff ? 8 : 4, next);
}

bool psgi_tiff_directory(const uint8_t *data, size_t size, int32_t page, psgi_tiff_page *out,
			 int32_t *pages)
{
	reader r = { .data = data, .size = size };
	uint64_t at;
	int32_t n = 0;

	*out = (psgi_tiff_page){ .samples = 1, .bits = 1, .orientation = 1 };
	if (!header(&r, &at))
		return false;
	/* A list that bites its tail ends at MAX_PAGES. */
	while (at != 0 && (pages != NULL || n <= page)) {
		if (n == MAX_PAGES || !directory(&r, at, n == page ? out : NULL, &at))
			return false;
		n++;
	}
	if (pages != NULL)
		*pages = n;
	return n > page;
}
