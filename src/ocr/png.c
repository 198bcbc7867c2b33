/* SPDX-License-Identifier: Apache-2.0 */
/*
 * PNG through libpng's simplified interface, which never prints (libpng's own default
 * handlers, in force below Leptonica, write to stderr).
 */
#include "config.h"

#include "ocr/decode.h"

#if HAVE_PNG

#include <png.h>
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

psg_status psgi_decode_png(const psgi_source *source, psgi_image **out, psg_error *error)
{
	static const png_color white = { 255, 255, 255 };
	png_image png = { .version = PNG_IMAGE_VERSION };
	psg_status status;

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
	png.format = PNG_FORMAT_RGB;
	png.flags |= PNG_IMAGE_FLAG_16BIT_sRGB; /* as 8-bit files are taken */
	status = psgi_image_create((int32_t)png.width, (int32_t)png.height, out, error);
	if (status == PSG_OK &&
	    !png_image_finish_read(&png, &white, (*out)->rgb, (png_int_32)(*out)->stride, NULL))
		status = psgi_fail(error, PSG_FORMAT, "PNG: %s", png.message);
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
