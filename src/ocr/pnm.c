/* SPDX-License-Identifier: Apache-2.0 */
/* PBM, PGM and PPM, plain and raw (P1 to P6): the format that needs no library. */
#include "config.h"

#include "ocr/decode.h"

#include <string.h>

typedef struct scanner {
	const uint8_t *at, *end;
} scanner;

static bool space(uint8_t c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

/* Skips white space and comments, which run to the end of their line. */
static void skip(scanner *s)
{
	while (s->at < s->end && (space(*s->at) || *s->at == '#')) {
		if (*s->at == '#')
			while (s->at < s->end && *s->at != '\n')
				s->at++;
		else
			s->at++;
	}
}

/* The next decimal number, at most 9 digits. */
static bool decimal(scanner *s, int32_t *out)
{
	int32_t value = 0;
	int digits = 0;

	skip(s);
	for (; s->at < s->end && *s->at >= '0' && *s->at <= '9' && digits < 9; s->at++, digits++)
		value = value * 10 + (*s->at - '0');
	*out = value;
	return digits > 0;
}

/* A sample of a plain file; P1's need no space between them. */
static bool plain_sample(scanner *s, bool bitmap, int32_t *out)
{
	if (!bitmap)
		return decimal(s, out);
	skip(s);
	if (s->at == s->end || (*s->at != '0' && *s->at != '1'))
		return false;
	*out = *s->at++ - '0';
	return true;
}

static uint8_t scaled(int32_t value, int32_t max)
{
	if (value > max)
		value = max;
	return (uint8_t)((value * INT64_C(255) + max / 2) / max);
}

static bool plain_rows(scanner *s, int kind, int32_t max, psgi_image *image)
{
	int channels = kind == 3 ? 3 : 1;

	for (int32_t y = 0; y < image->height; y++) {
		uint8_t *row = image->rgb + (size_t)y * image->stride;

		for (int32_t x = 0; x < image->width; x++, row += 3) {
			for (int c = 0; c < channels; c++) {
				int32_t v;

				if (!plain_sample(s, kind == 1, &v))
					return false;
				row[c] = kind == 1 ? (uint8_t)(v ? 0 : 255) : scaled(v, max);
			}
			if (channels == 1)
				row[1] = row[2] = row[0];
		}
	}
	return true;
}

/* One raw row of samples to RGB; `table` scales an 8-bit sample. */
static void raw_row(const uint8_t *in, int kind, int32_t max, const uint8_t table[256],
		    int32_t width, uint8_t *out)
{
	int32_t n = kind == 6 ? width * 3 : width;

	for (int32_t i = 0; i < n; i++) {
		uint8_t v;

		if (kind == 4)
			v = in[i >> 3] >> (7 - (i & 7)) & 1 ? 0 : 255;
		else if (max < 256)
			v = table[in[i]];
		else
			v = scaled(in[2 * i] << 8 | in[2 * i + 1], max);
		if (kind == 6)
			*out++ = v;
		else
			out[0] = out[1] = out[2] = v, out += 3;
	}
}

static void raw_rows(const uint8_t *in, size_t row_bytes, int kind, int32_t max, psgi_image *image)
{
	uint8_t table[256];

	for (int32_t i = 0; i < 256; i++)
		table[i] = scaled(i, max);
	for (int32_t y = 0; y < image->height; y++, in += row_bytes) {
		uint8_t *out = image->rgb + (size_t)y * image->stride;

		if (kind == 6 && max == 255)
			memcpy(out, in, row_bytes);
		else
			raw_row(in, kind, max, table, image->width, out);
	}
}

/* Bytes of one row of a raw file. */
static size_t raw_row_bytes(int kind, int32_t max, int32_t width)
{
	size_t samples = (size_t)width * (kind == 6 ? 3 : 1);

	if (kind == 4)
		return ((size_t)width + 7) / 8;
	return max < 256 ? samples : samples * 2;
}

psg_status psgi_decode_pnm(const psgi_source *source, psgi_image **out, psg_error *error)
{
	scanner s = { source->data + 2, source->data + source->size };
	int kind = source->data[1] - '0';
	int32_t width, height, max = 1;
	size_t row_bytes, left;
	psg_status status;

	*out = NULL;
	if (!decimal(&s, &width) || !decimal(&s, &height) ||
	    (kind != 1 && kind != 4 && !decimal(&s, &max)) || max < 1 || max > 65535)
		return psgi_fail(error, PSG_FORMAT, "PNM: the header of a P%d file is broken",
				 kind);
	status = psgi_check_sides(source, "PNM", width, height, error);
	if (status != PSG_OK)
		return status;
	if (kind >= 4) {
		/* Exactly one white-space byte ends the header. */
		left = s.at < s.end && space(*s.at) ? (size_t)(s.end - s.at - 1) : 0;
		row_bytes = raw_row_bytes(kind, max, width);
		if (left / row_bytes < (size_t)height)
			return psgi_fail(error, PSG_FORMAT,
					 "PNM: truncated: %zu bytes of pixels, %zu are needed",
					 left, row_bytes * (size_t)height);
	} else if ((int64_t)(s.end - s.at) < (int64_t)width * height) {
		return psgi_fail(error, PSG_FORMAT, "PNM: truncated");
	}
	status = psgi_image_create(width, height, out, error);
	if (status != PSG_OK)
		return status;
	if (kind >= 4)
		raw_rows(s.at + 1, row_bytes, kind, max, *out);
	else if (!plain_rows(&s, kind, max, *out))
		return psgi_fail(error, PSG_FORMAT, "PNM: truncated, or a sample is no number");
	return PSG_OK;
}
