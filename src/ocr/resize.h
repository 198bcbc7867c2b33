/* SPDX-License-Identifier: Apache-2.0 */
/* Bilinear resampling of an image, or of a window of the result, into normalised planes. */
#ifndef PSG_OCR_RESIZE_H
#define PSG_OCR_RESIZE_H

#include "ocr/image.h"

typedef struct psgi_resize {
	int32_t width, height;               /* the whole image is resized to this, ... */
	int32_t x, y, out_width, out_height; /* ... of which this window is wanted */
	float scale[3], offset[3];           /* of planes B, G, R: value * scale + offset */
} psgi_resize;

/*
 * Samples as cv2.resize does with INTER_LINEAR: pixel centres at halves, borders repeated, values
 * rounded to whole levels.  Rows of `out` are row_stride floats apart, planes plane_stride.  NOMEM.
 */
psg_status psgi_resize_planes(const psgi_image *image, const psgi_resize *how, float *out,
			      size_t row_stride, size_t plane_stride, psg_error *error);

#endif
