/* SPDX-License-Identifier: Apache-2.0 */
/* Host images: their storage, quarter turns and the eight orientations. */
#include "config.h"

#include "ocr/image.h"

#include "base/checked.h"

#include <stdlib.h>
#include <string.h>

/* Bytes after the last pixel, so that a vector may load one pixel's 3 bytes as 4 (or four as 16).
 */
#define TAIL 16

psg_status psgi_image_create(int32_t width, int32_t height, psgi_image **out, psg_error *error)
{
	psgi_image *image;
	size_t stride, bytes;

	*out = NULL;
	if (width < 1 || height < 1 || width > PSGI_MAX_SIDE || height > PSGI_MAX_SIDE)
		return psgi_fail(error, PSG_INVALID,
				 "image: sides %dx%d are not within 1 to %d pixels", width, height,
				 PSGI_MAX_SIDE);
	stride = (size_t)width * 3;
	if (!psgi_mul_size(stride, (size_t)height, &bytes) ||
	    !psgi_add_size(bytes, sizeof(*image) + TAIL, &bytes))
		return psgi_fail(error, PSG_NOMEM, "image: %dx%d is too large", width, height);
	image = malloc(bytes);
	if (image == NULL)
		return psgi_fail(error, PSG_NOMEM, "image: no memory for %dx%d pixels", width,
				 height);
	image->width = width;
	image->height = height;
	image->stride = stride;
	image->rgb = (uint8_t *)(image + 1);
	memset(image->rgb + stride * (size_t)height, 0, TAIL);
	*out = image;
	return PSG_OK;
}

void psgi_image_free(psgi_image *image)
{
	free(image);
}

/*
 * Writes `in` into `out`, whose pixel (x, y) is in's pixel first + x * right + y * down (bytes).
 * In tiles, because a transposed walk over whole rows misses the cache at every pixel.
 */
static void rearrange(const psgi_image *in, psgi_image *out, ptrdiff_t first, ptrdiff_t right,
		      ptrdiff_t down)
{
	enum { TILE = 32 };

	for (int32_t ty = 0; ty < out->height; ty += TILE) {
		int32_t y_end = ty + TILE < out->height ? ty + TILE : out->height;

		for (int32_t tx = 0; tx < out->width; tx += TILE) {
			int32_t x_end = tx + TILE < out->width ? tx + TILE : out->width;

			for (int32_t y = ty; y < y_end; y++) {
				uint8_t *to = out->rgb + (size_t)y * out->stride + (size_t)tx * 3;
				ptrdiff_t at = first + tx * right + y * down;

				for (int32_t x = tx; x < x_end; x++, to += 3, at += right) {
					to[0] = in->rgb[at];
					to[1] = in->rgb[at + 1];
					to[2] = in->rgb[at + 2];
				}
			}
		}
	}
}

/* Makes `*out` from `in` as EXIF orientation `o` (1 to 8) asks. */
static psg_status oriented(const psgi_image *in, int32_t o, psgi_image **out, psg_error *error)
{
	ptrdiff_t px = 3, row = (ptrdiff_t)in->stride;
	ptrdiff_t last_x = (in->width - 1) * px, last_y = (in->height - 1) * row;
	const struct {
		ptrdiff_t first, right, down;
	} walk[9] = {
		[1] = { 0, px, row },
		[2] = { last_x, -px, row },
		[3] = { last_y + last_x, -px, -row },
		[4] = { last_y, px, -row },
		[5] = { 0, row, px },
		[6] = { last_y, -row, px },
		[7] = { last_y + last_x, -row, -px },
		[8] = { last_x, row, -px },
	};
	psg_status status = o >= 5 ? psgi_image_create(in->height, in->width, out, error)
				   : psgi_image_create(in->width, in->height, out, error);

	if (status == PSG_OK)
		rearrange(in, *out, walk[o].first, walk[o].right, walk[o].down);
	return status;
}

psg_status psgi_image_turn(const psgi_image *image, int32_t quarters, psgi_image **out,
			   psg_error *error)
{
	static const int32_t orientation[4] = { 1, 6, 3, 8 };

	return oriented(image, orientation[quarters & 3], out, error);
}

psg_status psgi_image_orient(psgi_image **image, int32_t orientation, psg_error *error)
{
	psgi_image *upright;
	psg_status status;

	if (orientation < 2 || orientation > 8)
		return PSG_OK;
	status = oriented(*image, orientation, &upright, error);
	if (status == PSG_OK) {
		psgi_image_free(*image);
		*image = upright;
	}
	return status;
}
