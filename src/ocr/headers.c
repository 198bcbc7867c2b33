/* SPDX-License-Identifier: Apache-2.0 */
/* TIFF, WebP and GIF before Leptonica sees them: sides and structure, before it allocates. */
#include "config.h"

#include "ocr/decode.h"

#include <stdlib.h>
#include <string.h>

static uint32_t le(const uint8_t *p, size_t n)
{
	uint32_t value = 0;

	while (n-- > 0)
		value = value << 8 | p[n];
	return value;
}

/* Most samples of a pixel that is read: four inks, or red, green, blue and alpha. */
#define MAX_SAMPLES 4

/* Pages that Leptonica looks for in one file. */
#define MAX_TIFF_PAGES 3000

static psg_status check_tiff(const psgi_source *source, const psgi_tiff_page *page,
			     psg_error *error)
{
	psg_status status = psgi_check_sides(
		source, "TIFF", page->width > INT32_MAX ? INT32_MAX : (int64_t)page->width,
		page->height > INT32_MAX ? INT32_MAX : (int64_t)page->height, error);

	if (status != PSG_OK)
		return status;
	if (source->page >= MAX_TIFF_PAGES)
		return psgi_fail(error, PSG_UNSUPPORTED, "TIFF: page %d; the first %d can be read",
				 source->page, MAX_TIFF_PAGES);
	if (page->samples > MAX_SAMPLES)
		return psgi_fail(error, PSG_UNSUPPORTED, "TIFF: %u samples a pixel, at most %d",
				 (unsigned)page->samples, MAX_SAMPLES);
	/* A tile's buffer is allocated whole; real tiles are a few hundred pixels a side. */
	if (page->tile_width > PSGI_MAX_SIDE || page->tile_height > PSGI_MAX_SIDE ||
	    (int64_t)(page->tile_width * page->tile_height) > source->max_pixels)
		return psgi_fail(error, PSG_FORMAT, "TIFF: tiles of %ux%u pixels",
				 (unsigned)page->tile_width, (unsigned)page->tile_height);
	if (page->cut)
		return psgi_fail(error, PSG_FORMAT,
				 "TIFF: truncated: page %d has pixels past the end of %zu bytes",
				 source->page, source->size);
	return PSG_OK;
}

/*
 * Decodes as if the page were upright, and turns it after: what Leptonica does with the tag
 * depends on how the pixels are stored (1.82 turns RGB with orientation 8 as if it were 6).
 */
static psg_status decode_turned(const psgi_source *source, const psgi_tiff_page *page,
				psgi_image **out, psg_error *error)
{
	psgi_source upright = *source;
	uint8_t *copy = malloc(source->size);
	psg_status status;

	if (copy == NULL)
		return psgi_fail(error, PSG_NOMEM, "TIFF: no memory for %zu bytes", source->size);
	memcpy(copy, source->data, source->size);
	/* The number 1, whichever end comes first. */
	memset(copy + page->orientation_at, 0, page->orientation_size);
	copy[page->orientation_at + (copy[0] == 'M' ? page->orientation_size - 1 : 0)] = 1;
	upright.data = copy;
	status = psgi_decode_lept(&upright, "TIFF", -1, out, error);
	free(copy);
	if (status == PSG_OK)
		status = psgi_image_orient(out, page->orientation, error);
	return status;
}

psg_status psgi_decode_tiff(const psgi_source *source, psgi_image **out, psg_error *error)
{
	psgi_tiff_page page;
	int32_t pages = 0;
	psg_status status;

	*out = NULL;
	if (!psgi_tiff_directory(source->data, source->size, source->page, &page, NULL)) {
		if (psgi_tiff_directory(source->data, source->size, 0, &page, &pages) &&
		    source->page >= pages)
			return psgi_fail(error, PSG_INVALID, "TIFF: page %d of a file with %d",
					 source->page, pages);
		return psgi_fail(error, PSG_FORMAT,
				 "TIFF: the list of pages is broken or truncated");
	}
	status = check_tiff(source, &page, error);
	if (status != PSG_OK)
		return status;
	if (page.orientation == 1)
		status = psgi_decode_lept(source, "TIFF", -1, out, error);
	else
		status = decode_turned(source, &page, out, error);
	/* Leptonica does not say why; these it reads only in part. */
	if (status == PSG_FORMAT && (page.tile_width > 0 || page.planes || page.floats))
		status = psgi_fail(error, PSG_UNSUPPORTED,
				   "TIFF: stored as %s, which Leptonica does not read",
				   page.floats           ? "floating-point numbers"
				   : page.tile_width > 0 ? "tiles"
							 : "separate colour planes");
	return status;
}

psg_status psgi_decode_webp(const psgi_source *source, psgi_image **out, psg_error *error)
{
	const uint8_t *p = source->data;
	int64_t width, height;
	psg_status status;

	*out = NULL;
	if (source->size < 30)
		return psgi_fail(error, PSG_FORMAT, "WebP: truncated in its header (%zu bytes)",
				 source->size);
	if (memcmp(p + 12, "VP8X", 4) == 0) {
		if (p[20] & 2)
			return psgi_fail(error, PSG_UNSUPPORTED, "WebP: an animation");
		width = le(p + 24, 3) + INT64_C(1);
		height = le(p + 27, 3) + INT64_C(1);
	} else if (memcmp(p + 12, "VP8L", 4) == 0) {
		width = (le(p + 21, 4) & 0x3fff) + INT64_C(1);
		height = (le(p + 21, 4) >> 14 & 0x3fff) + INT64_C(1);
	} else {
		width = le(p + 26, 2) & 0x3fff;
		height = le(p + 28, 2) & 0x3fff;
	}
	status = psgi_check_sides(source, "WebP", width, height, error);
	if (status != PSG_OK)
		return status;
	return psgi_decode_lept(source, "WebP", -1, out, error);
}

/* Where a chain of GIF sub-blocks that starts at `at` ends; 0 when the file ends before. */
static size_t gif_blocks_end(const psgi_source *s, size_t at)
{
	while (at < s->size) {
		size_t n = s->data[at];

		at += n + 1;
		if (n == 0)
			return at <= s->size ? at : 0;
	}
	return 0;
}

/*
 * Finds the first picture of a GIF: where it ends, and its transparent colour (-1: none).
 * What follows is not decoded: an animation's frames would all be allocated.
 */
static psg_status gif_first_picture(const psgi_source *s, size_t *end, int32_t *transparent,
				    psg_error *error)
{
	const uint8_t *p = s->data;
	size_t at = 13;
	psg_status status;

	if (s->size < 13)
		goto truncated;
	at += p[10] & 0x80 ? (size_t)3 << ((p[10] & 7) + 1) : 0;
	while (at < s->size && p[at] == 0x21) { /* extensions; 0xf9 is graphic control */
		if (s->size - at < 8)
			goto truncated;
		if (p[at + 1] == 0xf9 && p[at + 2] == 4)
			*transparent = p[at + 3] & 1 ? p[at + 6] : -1;
		at = gif_blocks_end(s, at + 2);
		if (at == 0)
			goto truncated;
	}
	if (at >= s->size || s->size - at < 11)
		goto truncated;
	if (p[at] != 0x2c)
		return psgi_fail(error, PSG_FORMAT, "GIF: no picture in it");
	status = psgi_check_sides(s, "GIF", le(p + at + 5, 2), le(p + at + 7, 2), error);
	if (status != PSG_OK)
		return status;
	at += 10 + (p[at + 9] & 0x80 ? (size_t)3 << ((p[at + 9] & 7) + 1) : 0);
	*end = gif_blocks_end(s, at + 1); /* after the code size */
	if (*end != 0)
		return PSG_OK;
truncated:
	return psgi_fail(error, PSG_FORMAT, "GIF: truncated (%zu bytes)", s->size);
}

psg_status psgi_decode_gif(const psgi_source *source, psgi_image **out, psg_error *error)
{
	psgi_source first = *source;
	int32_t transparent = -1;
	uint8_t *copy;
	size_t end;
	psg_status status;

	*out = NULL;
	status = gif_first_picture(source, &end, &transparent, error);
	if (status == PSG_OK)
		status = psgi_check_sides(source, "GIF", le(source->data + 6, 2),
					  le(source->data + 8, 2), error);
	if (status != PSG_OK)
		return status;
	copy = malloc(end + 1);
	if (copy == NULL)
		return psgi_fail(error, PSG_NOMEM, "GIF: no memory for %zu bytes", end + 1);
	memcpy(copy, source->data, end);
	copy[end] = 0x3b; /* the trailer */
	first.data = copy;
	first.size = end + 1;
	status = psgi_decode_lept(&first, "GIF", transparent, out, error);
	free(copy);
	return status;
}
