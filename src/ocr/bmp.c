/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BMP: 1 to 32 bits, uncompressed or with bit fields.  Read here, because Leptonica swaps red and
 * blue of 32-bit files and does not know bit fields.
 */
#include "config.h"

#include "ocr/decode.h"

#include <stdlib.h>
#include <string.h>

enum { PLAIN = 0, FIELDS = 3, ALPHA_FIELDS = 6 };

typedef struct bitmap {
	const uint8_t *data;
	size_t size;
	int64_t width, height;
	bool top_down;
	uint32_t bits, compression;
	size_t pixels, row; /* where the first stored row starts; bytes of one */
	uint32_t mask[4];   /* red, green, blue, alpha, of 16 and 32 bits */
	uint8_t palette[256][3];
} bitmap;

static uint32_t le(const uint8_t *p, size_t n)
{
	uint32_t value = 0;

	while (n-- > 0)
		value = value << 8 | p[n];
	return value;
}

/* Colours after the header, four bytes each; what the file lacks is black. */
static void read_palette(bitmap *b, size_t at)
{
	uint32_t n = le(b->data + 46, 4);

	if (n == 0 || n > 1U << b->bits)
		n = 1U << b->bits;
	for (uint32_t i = 0; i < n && at + 4 <= b->pixels && at + 4 <= b->size; i++, at += 4)
		for (int c = 0; c < 3; c++)
			b->palette[i][c] = b->data[at + 2 - (size_t)c];
}

static void choose_masks(bitmap *b, size_t header)
{
	static const uint32_t five[3] = { 0x7c00, 0x3e0, 0x1f };
	static const uint32_t eight[3] = { 0xff0000, 0xff00, 0xff };

	memcpy(b->mask, b->bits == 16 ? five : eight, sizeof(five));
	if (b->compression == PLAIN)
		return;
	for (size_t c = 0; c < 3; c++)
		b->mask[c] = le(b->data + 54 + 4 * c, 4);
	/* Version 3 has alpha only when it says so; versions 4 and 5 always have a mask for it. */
	if (b->compression == ALPHA_FIELDS || header >= 56)
		b->mask[3] = le(b->data + 66, 4);
}

static psg_status read_header(const psgi_source *source, bitmap *b, psg_error *error)
{
	const uint8_t *p = source->data;
	uint32_t header = le(p + 14, 4);
	psg_status status;

	if (header < 40)
		return psgi_fail(error, PSG_UNSUPPORTED,
				 "BMP: a header of %u bytes, as before Windows 3", header);
	if (source->size < 70)
		return psgi_fail(error, PSG_FORMAT, "BMP: truncated in its header (%zu bytes)",
				 source->size);
	*b = (bitmap){ .data = p,
		       .size = source->size,
		       .width = (int32_t)le(p + 18, 4),
		       .height = (int32_t)le(p + 22, 4),
		       .bits = le(p + 28, 2),
		       .compression = le(p + 30, 4),
		       .pixels = le(p + 10, 4) };
	b->top_down = b->height < 0;
	b->height = b->top_down ? -b->height : b->height;
	status = psgi_check_sides(source, "BMP", b->width, b->height, error);
	if (status != PSG_OK)
		return status;
	if (!(b->compression == PLAIN &&
	      (b->bits == 1 || b->bits == 2 || b->bits == 4 || b->bits == 8 || b->bits == 24)) &&
	    !((b->compression == PLAIN || b->compression == FIELDS ||
	       b->compression == ALPHA_FIELDS) &&
	      (b->bits == 16 || b->bits == 32)))
		return psgi_fail(error, PSG_UNSUPPORTED, "BMP: %u bits a pixel with compression %u",
				 b->bits, b->compression);
	b->row = ((size_t)b->width * b->bits + 31) / 32 * 4;
	if (b->pixels > b->size || (b->size - b->pixels) / b->row < (size_t)b->height)
		return psgi_fail(error, PSG_FORMAT, "BMP: truncated: %zu bytes, %zu are needed",
				 b->size, b->pixels + b->row * (size_t)b->height);
	if (b->bits <= 8)
		read_palette(b, (size_t)14 + header);
	else
		choose_masks(b, header);
	return PSG_OK;
}

/* The bits of a mask as a level; a mask without bits is 0. */
static uint32_t level(uint32_t pixel, uint32_t mask)
{
	uint32_t most, shift;

	if (mask == 0)
		return 0;
	shift = (uint32_t)__builtin_ctz(mask);
	most = mask >> shift;
	return (uint32_t)(((uint64_t)((pixel & mask) >> shift) * 255 + most / 2) / most);
}

static const uint8_t *stored_row(const bitmap *b, int32_t y)
{
	size_t i = b->top_down ? (size_t)y : (size_t)(b->height - 1 - y);

	return b->data + b->pixels + i * b->row;
}

static void indexed_row(const bitmap *b, const uint8_t *in, uint8_t *out)
{
	uint32_t per_byte = 8 / b->bits, most = (1U << b->bits) - 1;

	for (uint32_t x = 0; x < (uint32_t)b->width; x++, out += 3) {
		uint32_t shift = 8 - b->bits * (x % per_byte + 1);

		memcpy(out, b->palette[(uint32_t)in[x / per_byte] >> shift & most], 3);
	}
}

static void masked_row(const bitmap *b, const uint8_t *in, bool alpha, uint8_t *out)
{
	size_t bytes = b->bits / 8;

	for (int64_t x = 0; x < b->width; x++, in += bytes, out += 3) {
		uint32_t pixel = le(in, bytes), a = alpha ? level(pixel, b->mask[3]) : 255;

		for (int c = 0; c < 3; c++)
			out[c] = (uint8_t)((level(pixel, b->mask[c]) * a + (255 - a) * 255 + 127) /
					   255);
	}
}

/* Many writers leave the alpha of a visible picture at 0 throughout: then it means nothing. */
static bool has_alpha(const bitmap *b)
{
	size_t bytes = b->bits / 8;

	for (int32_t y = 0; b->mask[3] != 0 && y < b->height; y++) {
		const uint8_t *in = stored_row(b, y);

		for (int64_t x = 0; x < b->width; x++, in += bytes)
			if (le(in, bytes) & b->mask[3])
				return true;
	}
	return false;
}

psg_status psgi_decode_bmp(const psgi_source *source, psgi_image **out, psg_error *error)
{
	bitmap b = { 0 };
	bool alpha;
	psg_status status = read_header(source, &b, error);

	*out = NULL;
	if (status == PSG_OK)
		status = psgi_image_create((int32_t)b.width, (int32_t)b.height, out, error);
	if (status != PSG_OK)
		return status;
	alpha = b.bits > 8 && has_alpha(&b);
	for (int32_t y = 0; y < b.height; y++) {
		uint8_t *row = (*out)->rgb + (size_t)y * (*out)->stride;

		if (b.bits <= 8)
			indexed_row(&b, stored_row(&b, y), row);
		else
			masked_row(&b, stored_row(&b, y), alpha, row);
	}
	return PSG_OK;
}
