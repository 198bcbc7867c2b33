/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Page and line images in host memory: upright, 8-bit RGB.
 *
 * Everything here is pure host work: any thread, no shared state, blocks only
 * for its own arithmetic.  An image is written by its creator and immutable after.
 */
#ifndef PSG_OCR_IMAGE_H
#define PSG_OCR_IMAGE_H

#include "base/base.h"

#include <pagesift/ocr.h>

/* Longest side of an image: JPEG's limit, which its readers enforce; other formats go higher. */
#define PSGI_MAX_SIDE 65500

/* psg_ocr_options.max_pixels when it is 0. */
#define PSGI_MAX_PIXELS INT64_C(178956970)

typedef struct psgi_image {
	int32_t width, height; /* at least 1, at most PSGI_MAX_SIDE */
	size_t stride;         /* bytes from one row to the next */
	uint8_t *rgb;          /* owned; lies in the same allocation */
} psgi_image;

/* A new image, pixels undefined.  The caller frees it.  INVALID: sides out of range.  NOMEM. */
psg_status psgi_image_create(int32_t width, int32_t height, psgi_image **out, psg_error *error);

/* NULL is allowed. */
void psgi_image_free(psgi_image *image);

static inline const uint8_t *psgi_row(const psgi_image *image, int32_t y)
{
	return image->rgb + (size_t)y * image->stride;
}

/* A copy turned clockwise by `quarters` quarter turns (0 to 3).  NOMEM. */
psg_status psgi_image_turn(const psgi_image *image, int32_t quarters, psgi_image **out,
			   psg_error *error);

/*
 * An EXIF/TIFF orientation (1 to 8) made upright.  Takes over `*image`, which it may free
 * and replace.  Other values leave it alone.
 */
psg_status psgi_image_orient(psgi_image **image, int32_t orientation, psg_error *error);

/*
 * Decodes one page (from 0) of an image file held in memory, turned upright as its
 * orientation tag says, alpha laid over white, 16 bits cut to 8.
 *
 * The sides are read from the header and held against PSGI_MAX_SIDE and `max_pixels`
 * (0: PSGI_MAX_PIXELS) before any pixel is decoded or a buffer for it allocated.
 * FORMAT: empty, not an image, truncated, corrupt, too large.  INVALID: no such page.
 * UNSUPPORTED: an image of a kind that this build does not read.  NOMEM.
 */
psg_status psgi_image_decode(const void *data, size_t size, int32_t page, int64_t max_pixels,
			     psgi_image **out, psg_error *error);

/*
 * Cuts a line out of the page: a perspective view of `quad` (clockwise from its top left),
 * as wide and high as its longer edges, cubic, border pixels repeated.  A crop at least 1.5 times
 * as high as wide is turned counter-clockwise by a quarter, because text in it runs down;
 * `*turned` says so, and psgi_quad_turn(quad, 1) makes the quad match.
 * The caller frees `*out`.  INVALID: a quad that is no rectangle seen in perspective (not finite,
 * not convex, far larger than the page).  NOMEM.
 */
psg_status psgi_crop(const psgi_image *page, const psg_point quad[4], psgi_image **out,
		     bool *turned, psg_error *error);

/*
 * Renames a quad's corners so that it starts at the top left of text that runs `quarters` quarter
 * turns clockwise of what it said: 1 after psgi_crop turned, 2 when direction says upside down.
 */
void psgi_quad_turn(psg_point quad[4], int32_t quarters);

/* Degrees clockwise, from -180 (excluded) to 180, that the text of a quad runs: psg_line.angle. */
float psgi_quad_angle(const psg_point quad[4]);

#endif
