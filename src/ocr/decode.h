/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of psgi_image_decode: one reader a format, and what they share. */
#ifndef PSG_OCR_DECODE_H
#define PSG_OCR_DECODE_H

#include "ocr/image.h"

/* What a reader gets. */
typedef struct psgi_source {
	const uint8_t *data;
	size_t size;
	int32_t page;       /* only TIFF has more than page 0 */
	int64_t max_pixels; /* above 0 */
} psgi_source;

/* FORMAT unless an image of these sides, read from its header, may be decoded. */
psg_status psgi_check_sides(const psgi_source *source, const char *format, int64_t width,
			    int64_t height, psg_error *error);

/* Readers: upright except for psgi_decode_jpeg, which reports the orientation it met. */
psg_status psgi_decode_jpeg(const psgi_source *source, psgi_image **out, int32_t *orientation,
			    psg_error *error);
psg_status psgi_decode_png(const psgi_source *source, psgi_image **out, psg_error *error);
psg_status psgi_decode_pnm(const psgi_source *source, psgi_image **out, psg_error *error);
psg_status psgi_decode_tiff(const psgi_source *source, psgi_image **out, psg_error *error);
psg_status psgi_decode_gif(const psgi_source *source, psgi_image **out, psg_error *error);
psg_status psgi_decode_bmp(const psgi_source *source, psgi_image **out, psg_error *error);
psg_status psgi_decode_webp(const psgi_source *source, psgi_image **out, psg_error *error);

/*
 * Leptonica on an image whose header has been checked.  `transparent` is the colour index to
 * show as white, or -1.
 */
psg_status psgi_decode_lept(const psgi_source *source, const char *format, int32_t transparent,
			    psgi_image **out, psg_error *error);

/* What one TIFF directory says; fields that it lacks have TIFF's defaults, sides 0. */
typedef struct psgi_tiff_page {
	uint64_t width, height, tile_width, tile_height, samples;
	int32_t orientation;
	size_t orientation_at, orientation_size; /* bytes that say so; size 0: none do */
	bool planes, floats; /* one plane a colour; samples that are not whole numbers */
	bool cut;            /* pixels or their description lie past the end of the data */
} psgi_tiff_page;

/*
 * Reads directory `page` of a TIFF structure (also EXIF's) and, when `pages` is not NULL, counts
 * them all.  False when the structure is broken or has no such page; every read is in bounds.
 */
bool psgi_tiff_directory(const uint8_t *data, size_t size, int32_t page, psgi_tiff_page *out,
			 int32_t *pages);

#endif
