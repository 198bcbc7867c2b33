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
	TAG_STRIP_OFFSETS = 273,
	TAG_ORIENTATION = 274,
	TAG_SAMPLES = 277,
	TAG_STRIP_BYTES = 279,
	TAG_PLANES = 284,
	TAG_COLOURS = 320,
	TAG_TILE_WIDTH = 322,
	TAG_TILE_HEIGHT = 323,
	TAG_TILE_OFFSETS = 324,
	TAG_TILE_BYTES = 325,
	TAG_SAMPLE_FORMAT = 339,
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

/* A field of a directory: `n` values of `bytes` bytes that start at `at`. */
typedef struct field {
	uint64_t tag, n, at;
	size_t bytes; /* 0: not a BYTE, SHORT, LONG or LONG8 */
} field;

/* False when the field itself cannot be read; its values may still lie past the end. */
static bool read_field(const reader *r, uint64_t entry, field *f)
{
	size_t wide = r->big_tiff ? 8 : 4;
	uint64_t type;

	if (!number(r, entry, 2, &f->tag) || !number(r, entry + 2, 2, &type) ||
	    !number(r, entry + 4, wide, &f->n))
		return false;
	f->at = entry + 4 + wide;
	f->bytes = type == 1 ? 1 : type == 3 ? 2 : type == 4 ? 4 : type == 16 ? 8 : 0;
	/* What does not fit into the entry lies elsewhere. */
	return f->bytes == 0 || f->n <= wide / f->bytes || number(r, f->at, wide, &f->at);
}

static bool inside(const reader *r, uint64_t at, uint64_t bytes)
{
	return at <= r->size && bytes <= r->size - at;
}

/* Whether each strip or tile, as two fields of the same length say, lies inside the data. */
static bool pixels_inside(const reader *r, const field *offsets, const field *counts)
{
	uint64_t n = offsets->n < counts->n ? offsets->n : counts->n;

	if (offsets->bytes == 0 || counts->bytes == 0)
		return true;
	for (uint64_t i = 0; i < n; i++) {
		uint64_t at, bytes;

		if (!number(r, offsets->at + i * offsets->bytes, offsets->bytes, &at) ||
		    !number(r, counts->at + i * counts->bytes, counts->bytes, &bytes) ||
		    !inside(r, at, bytes))
			return false;
	}
	return true;
}

static void keep_orientation(psgi_tiff_page *page, const field *f, uint64_t value)
{
	page->orientation = value >= 1 && value <= 8 ? (int32_t)value : 1;
	page->orientation_at = (size_t)f->at;
	page->orientation_size = f->bytes;
}

static void keep(psgi_tiff_page *page, const field *f, uint64_t value)
{
	switch (f->tag) {
	case TAG_WIDTH:
		page->width = value;
		break;
	case TAG_HEIGHT:
		page->height = value;
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
	case TAG_PLANES:
		page->planes = value == 2;
		break;
	case TAG_SAMPLE_FORMAT:
		page->floats = value == 3;
		break;
	case TAG_ORIENTATION:
		keep_orientation(page, f, value);
		break;
	default:
		break;
	}
}

/* The fields without which pixels cannot be made. */
static bool vital(uint64_t tag)
{
	return tag == TAG_STRIP_OFFSETS || tag == TAG_STRIP_BYTES || tag == TAG_TILE_OFFSETS ||
	       tag == TAG_TILE_BYTES || tag == TAG_COLOURS || tag == TAG_BITS;
}

/* Reads `n` fields from `at` on; false when one of them cannot be read. */
static bool read_fields(const reader *r, uint64_t at, uint64_t n, psgi_tiff_page *page)
{
	field offsets = { 0 }, counts = { 0 };

	for (uint64_t i = 0; i < n; i++) {
		field f;
		uint64_t value;

		if (!read_field(r, at + i * (r->big_tiff ? 20 : 12), &f))
			return false;
		if (f.bytes == 0 || f.n == 0)
			continue;
		if (f.n > r->size || !inside(r, f.at, f.n * f.bytes))
			page->cut |= vital(f.tag);
		else if (number(r, f.at, f.bytes, &value))
			keep(page, &f, value);
		if (f.tag == TAG_STRIP_OFFSETS || f.tag == TAG_TILE_OFFSETS)
			offsets = f;
		if (f.tag == TAG_STRIP_BYTES || f.tag == TAG_TILE_BYTES)
			counts = f;
	}
	page->cut = page->cut || !pixels_inside(r, &offsets, &counts);
	return true;
}

/* Reads the directory at `at` into `page` (or only skips it); `*next` is where the next one is. */
static bool directory(const reader *r, uint64_t at, psgi_tiff_page *page, uint64_t *next)
{
	size_t head = r->big_tiff ? 8 : 2, entry = r->big_tiff ? 20 : 12;
	uint64_t n;

	if (!number(r, at, head, &n) || n == 0 || n > (r->size - at) / entry)
		return false;
	at += head;
	if (page != NULL && !read_fields(r, at, n, page))
		return false;
	return number(r, at + n * entry, r->big_tiff ? 8 : 4, next);
}

bool psgi_tiff_directory(const uint8_t *data, size_t size, int32_t page, psgi_tiff_page *out,
			 int32_t *pages)
{
	reader r = { .data = data, .size = size };
	uint64_t at;
	int32_t n = 0;

	*out = (psgi_tiff_page){ .samples = 1, .orientation = 1 };
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
