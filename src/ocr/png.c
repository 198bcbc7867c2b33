/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PNG through libpng's simplified interface, which never prints (libpng's own default
 * handlers, in force below Leptonica, write to stderr).
 */
#include "config.h"

#include "ocr/decode.h"

#if HAVE_PNG

#include <png.h>
#include <stdlib.h>
#include <string.h>

static uint32_t be32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/*
 * True when the chunks lead to IEND.  libpng stops reading after the last row, and would not
 * miss what comes after it.
 */
static bool complete(const psgi_source *s)
{
	for (size_t at = 8; s->size - at >= 12;) {
		size_t length = be32(s->data + at);

		if (length > s->size - at - 12)
			return false;
		if (memcmp(s->data + at + 4, "IEND", 4) == 0)
			return true;
		at += 12 + length;
	}
	return false;
}

/*
 * Red, green, blue and alpha to colours over white.  libpng would mix in linear light, which makes
 * the edges of text thinner than any other program shows them.
 */
static void over_white(const uint8_t *rgba, psgi_image *image)
{
	for (int32_t y = 0; y < image->height; y++) {
		uint8_t *out = image->rgb + (size_t)y * image->stride;

		for (int32_t x = 0; x < image->width; x++, rgba += 4, out += 3) {
			uint32_t a = rgba[3], rest = (255 - a) * 255 + 127;

			out[0] = (uint8_t)((rgba[0] * a + rest) / 255);
			out[1] = (uint8_t)((rgba[1] * a + rest) / 255);
			out[2] = (uint8_t)((rgba[2] * a + rest) / 255);
		}
	}
}

static psg_status read_pixels(png_image *png, psgi_image *image, psg_error *error)
{
	bool alpha = (png->format & PNG_FORMAT_FLAG_ALPHA) != 0;
	size_t stride = (size_t)image->width * 4;
	uint8_t *rgba = alpha ? malloc(stride * (size_t)image->height) : NULL;
	psg_status status = PSG_OK;

	if (alpha && rgba == NULL)
		return psgi_fail(error, PSG_NOMEM, "PNG: no memory for %dx%d pixels with alpha",
				 image->width, image->height);
	png->format = alpha ? PNG_FORMAT_RGBA : PNG_FORMAT_RGB;
	png->flags |= PNG_IMAGE_FLAG_16BIT_sRGB; /* as 8-bit files are taken */
	if (!png_image_finish_read(png, NULL, alpha ? rgba : image->rgb,
				   (png_int_32)(alpha ? stride : image->stride), NULL))
		status = psgi_fail(error, PSG_FORMAT, "PNG: %s", png->message);
	else if (alpha)
		over_white(rgba, image);
	free(rgba);
	return status;
}

psg_status psgi_decode_png(const psgi_source *source, psgi_image **out, psg_error *error)
{
	png_image png = { .version = PNG_IMAGE_VERSION };
	psg_status status;

	*out = NULL;
	/* The first chunk is IHDR: sides at 16 and 20.  Checked before libpng sees the file. */
	if (source->size < 33 || memcmp(source->data + 12, "IHDR", 4) != 0)
		return psgi_fail(error, PSG_FORMAT, "PNG: truncated in its header (%zu bytes)",
				 source->size);
	status = psgi_check_sides(source, "PNG", be32(source->data + 16), be32(source->data + 20),
				  error);
	if (status != PSG_OK)
		return status;
	if (!complete(source))
		return psgi_fail(error, PSG_FORMAT,
				 "PNG: truncated: %zu bytes do not reach the image's end",
				 source->size);
	if (!png_image_begin_read_from_memory(&png, source->data, source->size))
		return psgi_fail(error, PSG_FORMAT, "PNG: %s", png.message);
	status = psgi_image_create((int32_t)png.width, (int32_t)png.height, out, error);
	if (status == PSG_OK)
		status = read_pixels(&png, *out, error);
	png_image_free(&png);
	return status;
}

#else

psg_status psgi_decode_png(const psgi_source *source, psgi_image **out, psg_error *error)
{
	(void)source;
	*out = NULL;
	return psgi_fail(error, PSG_UNSUPPORTED, "PNG: this build has no libpng");
}

#endif
