/* SPDX-License-Identifier: Apache-2.0 */
/* Which reader an image file needs, and the limits that hold for all of them. */
#include "config.h"

#include "ocr/decode.h"

#include <inttypes.h>
#include <string.h>

typedef enum format {
	UNKNOWN,
	PNG,
	JPEG,
	TIFF,
	WEBP,
	BMP,
	PNM,
	GIF,
} format;

static bool starts(const psgi_source *s, size_t at, const char *magic, size_t n)
{
	return s->size >= at + n && memcmp(s->data + at, magic, n) == 0;
}

static format sniff(const psgi_source *s)
{
	if (starts(s, 0, "\x89PNG\r\n\x1a\n", 8))
		return PNG;
	if (starts(s, 0, "\xff\xd8\xff", 3))
		return JPEG;
	if (starts(s, 0, "II*\0", 4) || starts(s, 0, "MM\0*", 4) || starts(s, 0, "II+\0", 4) ||
	    starts(s, 0, "MM\0+", 4))
		return TIFF;
	if (starts(s, 0, "RIFF", 4) && starts(s, 8, "WEBP", 4))
		return WEBP;
	if (starts(s, 0, "GIF87a", 6) || starts(s, 0, "GIF89a", 6))
		return GIF;
	if (starts(s, 0, "BM", 2) && s->size >= 26)
		return BMP;
	if (s->size >= 3 && s->data[0] == 'P' && s->data[1] >= '1' && s->data[1] <= '6' &&
	    (strchr(" \t\r\n#", s->data[2]) != NULL && s->data[2] != '\0'))
		return PNM;
	return UNKNOWN;
}

/* What the first bytes look like, for a person who sent the wrong file. */
static psg_status not_an_image(const psgi_source *s, psg_error *error)
{
	char head[3 * 8 + 1] = "";
	bool printable = true;

	if (s->size == 0)
		return psgi_fail(error, PSG_FORMAT, "the image is empty (0 bytes)");
	if (starts(s, 0, "%PDF-", 5))
		return psgi_fail(error, PSG_FORMAT,
				 "not an image but a PDF: make images of its pages first, as "
				 "pdftoppm -r 300 -png does");
	for (size_t i = 0; i < s->size && i < 64; i++) {
		uint8_t c = s->data[i];

		printable &= (c >= 0x20 && c != 0x7f) || (c >= '\t' && c <= '\r');
	}
	if (printable)
		return psgi_fail(error, PSG_FORMAT,
				 "not an image: this is text; PNG, JPEG, TIFF, WebP, BMP, PNM and "
				 "GIF can be read");
	for (size_t i = 0; i < s->size && i < 8; i++) {
		static const char hex[] = "0123456789abcdef";

		head[3 * i] = ' ';
		head[3 * i + 1] = hex[s->data[i] >> 4];
		head[3 * i + 2] = hex[s->data[i] & 15];
		head[3 * i + 3] = '\0';
	}
	return psgi_fail(error, PSG_FORMAT,
			 "not an image: it starts with%s; PNG, JPEG, TIFF, WebP, BMP, PNM and GIF "
			 "can be read",
			 head);
}

psg_status psgi_check_sides(const psgi_source *source, const char *name, int64_t width,
			    int64_t height, psg_error *error)
{
	if (width < 1 || height < 1)
		return psgi_fail(error, PSG_FORMAT,
				 "%s: the image claims %" PRId64 "x%" PRId64 " pixels", name, width,
				 height);
	if (width > PSGI_MAX_SIDE || height > PSGI_MAX_SIDE)
		return psgi_fail(error, PSG_FORMAT,
				 "%s: the image claims %" PRId64 "x%" PRId64
				 " pixels, a side may have at most %d",
				 name, width, height, PSGI_MAX_SIDE);
	if (width * height > source->max_pixels)
		return psgi_fail(error, PSG_FORMAT,
				 "%s: the image claims %" PRId64 "x%" PRId64 " = %" PRId64
				 " pixels, at most %" PRId64 " are allowed",
				 name, width, height, width * height, source->max_pixels);
	return PSG_OK;
}

psg_status psgi_image_decode(const void *data, size_t size, int32_t page, int64_t max_pixels,
			     psgi_image **out, psg_error *error)
{
	psgi_source source = { .data = data,
			       .size = data == NULL ? 0 : size,
			       .page = page,
			       .max_pixels = max_pixels > 0 ? max_pixels : PSGI_MAX_PIXELS };
	format kind = sniff(&source);
	int32_t orientation = 1;
	psg_status status;

	*out = NULL;
	if (kind == UNKNOWN)
		return not_an_image(&source, error);
	if (page < 0 || (page > 0 && kind != TIFF))
		return psgi_fail(error, PSG_INVALID, "page %d of an image that has 1 (page 0)",
				 page);
	switch (kind) {
	case PNG:
		status = psgi_decode_png(&source, out, error);
		break;
	case JPEG:
		status = psgi_decode_jpeg(&source, out, &orientation, error);
		break;
	case TIFF:
		status = psgi_decode_tiff(&source, out, error);
		break;
	case WEBP:
		status = psgi_decode_webp(&source, out, error);
		break;
	case BMP:
		status = psgi_decode_bmp(&source, out, error);
		break;
	case GIF:
		status = psgi_decode_gif(&source, out, error);
		break;
	default:
		status = psgi_decode_pnm(&source, out, error);
		break;
	}
	if (status == PSG_OK)
		status = psgi_image_orient(out, orientation, error);
	if (status != PSG_OK) {
		psgi_image_free(*out);
		*out = NULL;
	}
	return status;
}

psg_status psg_image_pages(const void *data, size_t size, int32_t *pages, psg_error *error)
{
	psgi_source source = { .data = data, .size = data == NULL ? 0 : size };
	psgi_tiff_page first;
	format kind;

	if (pages == NULL)
		return psgi_fail(error, PSG_INVALID, "image pages: no place for the answer");
	*pages = 0;
	kind = sniff(&source);
	if (kind == UNKNOWN)
		return not_an_image(&source, error);
	if (kind != TIFF)
		*pages = 1;
	else if (!psgi_tiff_directory(source.data, source.size, 0, &first, pages))
		return psgi_fail(error, PSG_FORMAT,
				 "TIFF: the list of pages is broken or truncated");
	return PSG_OK;
}
