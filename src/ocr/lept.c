/* SPDX-License-Identifier: Apache-2.0 */
/* TIFF, WebP and GIF through Leptonica, from memory, after their headers were checked. */
#include "config.h"

#include "ocr/decode.h"

#include <stdlib.h>
#include <string.h>

#if HAVE_LEPT

#include <leptonica/allheaders.h>
#include <pthread.h>

static pthread_once_t quiet = PTHREAD_ONCE_INIT;

static void discard(const char *message)
{
	(void)message;
}

/* Leptonica prints by default, and its settings are process-wide, so they are made once. */
static void silence(void)
{
	setMsgSeverity(L_SEVERITY_NONE);
	leptSetStderrHandler(discard);
}

/* RGB of each value that a pixel of up to 8 bits may have; transparent ones are white. */
static void palette(PIX *pix, int32_t depth, int32_t transparent, uint8_t table[256][3])
{
	PIXCMAP *map = pixGetColormap(pix);
	int32_t last = (1 << depth) - 1, colours = map != NULL ? pixcmapGetCount(map) : 0;

	for (int32_t i = 0; i < 256; i++) {
		/* One bit without a palette: 1 is black. */
		l_int32 r = depth == 1 ? (i ? 0 : 255) : (i > last ? 255 : i * 255 / last);
		l_int32 g = r, b = r, a = 255;

		if (map != NULL && i < colours)
			(void)pixcmapGetRGBA(map, i, &r, &g, &b, &a);
		else if (map != NULL)
			r = g = b = 0;
		if (a == 0 || i == transparent)
			r = g = b = 255;
		table[i][0] = (uint8_t)r;
		table[i][1] = (uint8_t)g;
		table[i][2] = (uint8_t)b;
	}
}

static uint32_t sample(const l_uint32 *line, int32_t x, int32_t depth)
{
	int32_t per_word = 32 / depth;
	uint32_t word = line[x / per_word];

	return word >> (32 - depth * (x % per_word + 1)) & (uint32_t)((1 << depth) - 1);
}

/* Samples of up to 16 bits sit in 32-bit words, first pixel in the top bits. */
static void narrow_rows(PIX *pix, int32_t depth, int32_t transparent, psgi_image *image)
{
	const l_uint32 *data = pixGetData(pix);
	size_t words = (size_t)pixGetWpl(pix);
	uint8_t table[256][3];

	palette(pix, depth > 8 ? 8 : depth, transparent, table);
	for (int32_t y = 0; y < image->height; y++) {
		const l_uint32 *line = data + (size_t)y * words;
		uint8_t *out = image->rgb + (size_t)y * image->stride;

		for (int32_t x = 0; x < image->width; x++, out += 3) {
			uint32_t v = sample(line, x, depth);
			const uint8_t *colour = table[depth > 8 ? v >> 8 : v];

			out[0] = colour[0];
			out[1] = colour[1];
			out[2] = colour[2];
		}
	}
}

static void rgba_rows(PIX *pix, psgi_image *image)
{
	const l_uint32 *data = pixGetData(pix);
	size_t words = (size_t)pixGetWpl(pix);
	bool alpha = pixGetSpp(pix) == 4;

	for (int32_t y = 0; y < image->height; y++) {
		const l_uint32 *line = data + (size_t)y * words;
		uint8_t *out = image->rgb + (size_t)y * image->stride;

		for (int32_t x = 0; x < image->width; x++, out += 3) {
			uint32_t v = line[x], a = alpha ? v & 255 : 255;
			/* Over white; (n + 127) / 255 rounds to nearest. */
			uint32_t rest = (255 - a) * 255 + 127;

			out[0] = (uint8_t)(((v >> 24) * a + rest) / 255);
			out[1] = (uint8_t)(((v >> 16 & 255) * a + rest) / 255);
			out[2] = (uint8_t)(((v >> 8 & 255) * a + rest) / 255);
		}
	}
}

static psg_status convert(PIX *pix, const psgi_source *source, const char *format,
			  int32_t transparent, psgi_image **out, psg_error *error)
{
	l_int32 width, height, depth;
	psg_status status;

	(void)pixGetDimensions(pix, &width, &height, &depth);
	status = psgi_check_sides(source, format, width, height, error);
	if (status == PSG_OK)
		status = psgi_image_create(width, height, out, error);
	if (status != PSG_OK)
		return status;
	switch (depth) {
	case 1:
	case 2:
	case 4:
	case 8:
	case 16:
		narrow_rows(pix, depth, transparent, *out);
		return PSG_OK;
	case 32:
		rgba_rows(pix, *out);
		return PSG_OK;
	default:
		return psgi_fail(error, PSG_UNSUPPORTED, "%s: %d bits a pixel", format, depth);
	}
}

psg_status psgi_decode_lept(const psgi_source *source, const char *format, int32_t transparent,
			    psgi_image **out, psg_error *error)
{
	psg_status status;
	PIX *pix;

	*out = NULL;
	(void)pthread_once(&quiet, silence);
	if (format[0] == 'T')
		pix = pixReadMemTiff(source->data, source->size, source->page);
	else
		pix = pixReadMem(source->data, source->size);
	if (pix == NULL)
		return psgi_fail(error, PSG_FORMAT,
				 "%s: truncated, corrupt, or of a kind that Leptonica does not "
				 "read",
				 format);
	status = convert(pix, source, format, transparent, out, error);
	pixDestroy(&pix);
	return status;
}

#else

psg_status psgi_decode_lept(const psgi_source *source, const char *format, int32_t transparent,
			    psgi_image **out, psg_error *error)
{
	(void)source;
	(void)transparent;
	*out = NULL;
	return psgi_fail(error, PSG_UNSUPPORTED, "%s: this build has no Leptonica", format);
}

#endif
