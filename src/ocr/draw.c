/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The page with its boxes and their numbers drawn over it.
 *
 * Everything is made of strokes with round ends, coloured by each pixel's distance
 * from the stroke, so it is smooth at any size and digits need no font.
 */
#include "config.h"

#include "ocr/image.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#if HAVE_PNG

#include <png.h>

typedef struct colour {
	uint8_t r, g, b;
} colour;

/* Told apart also by the colour-blind: Okabe and Ito's palette without black, white and yellow. */
static const colour palette[] = {
	{ 0, 114, 178 }, { 213, 94, 0 }, { 0, 158, 115 }, { 204, 121, 167 }, { 86, 180, 233 },
};

static void mix(uint8_t *pixel, colour c, float alpha)
{
	pixel[0] = (uint8_t)((float)pixel[0] + ((float)c.r - (float)pixel[0]) * alpha + 0.5F);
	pixel[1] = (uint8_t)((float)pixel[1] + ((float)c.g - (float)pixel[1]) * alpha + 0.5F);
	pixel[2] = (uint8_t)((float)pixel[2] + ((float)c.b - (float)pixel[2]) * alpha + 0.5F);
}

static int32_t within(float v, int32_t last)
{
	return v < 0 ? 0 : v > (float)last ? last : (int32_t)v;
}

/* A stroke from a to b, `radius` to each side. */
static void stroke(psgi_image *image, psg_point a, psg_point b, float radius, colour c)
{
	float dx = b.x - a.x, dy = b.y - a.y, squared = dx * dx + dy * dy, reach = radius + 1;
	int32_t y1 = within(fmaxf(a.y, b.y) + reach, image->height - 1);

	for (int32_t y = within(fminf(a.y, b.y) - reach, image->height - 1); y <= y1; y++) {
		float lo = fminf(a.x, b.x), hi = fmaxf(a.x, b.x);
		int32_t x1;

		/* On a slope only the part of the row near the stroke. */
		if (fabsf(dy) > 1) {
			float at = a.x + dx * ((float)y - a.y) / dy;
			float spread = reach * sqrtf(squared) / fabsf(dy);

			lo = fmaxf(lo, at - spread);
			hi = fminf(hi, at + spread);
		}
		x1 = within(hi + reach, image->width - 1);
		for (int32_t x = within(lo - reach, image->width - 1); x <= x1; x++) {
			float px = (float)x - a.x, py = (float)y - a.y;
			float t = squared > 0 ? (px * dx + py * dy) / squared : 0;
			float far, cover;

			t = t < 0 ? 0 : t > 1 ? 1 : t;
			far = hypotf(px - t * dx, py - t * dy);
			cover = radius + 0.5F - far;
			if (cover > 0)
				mix(image->rgb + (size_t)y * image->stride + (size_t)x * 3, c,
				    cover < 1 ? cover : 1);
		}
	}
}

/* Digits as one stroke each, corners in twentieths of the digit's width and height. */
static const struct {
	int n;
	uint8_t at[16][2];
} digits[10] = {
	{ 9,
	  { { 4, 0 },
	    { 16, 0 },
	    { 20, 4 },
	    { 20, 16 },
	    { 16, 20 },
	    { 4, 20 },
	    { 0, 16 },
	    { 0, 4 },
	    { 4, 0 } } },
	{ 3, { { 3, 4 }, { 11, 0 }, { 11, 20 } } },
	{ 7, { { 0, 4 }, { 4, 0 }, { 16, 0 }, { 20, 4 }, { 20, 8 }, { 0, 20 }, { 20, 20 } } },
	{ 13,
	  { { 0, 2 },
	    { 4, 0 },
	    { 16, 0 },
	    { 20, 4 },
	    { 20, 7 },
	    { 15, 10 },
	    { 8, 10 },
	    { 15, 10 },
	    { 20, 12 },
	    { 20, 16 },
	    { 16, 20 },
	    { 4, 20 },
	    { 0, 18 } } },
	{ 4, { { 15, 20 }, { 15, 0 }, { 0, 14 }, { 20, 14 } } },
	{ 10,
	  { { 19, 0 },
	    { 2, 0 },
	    { 1, 9 },
	    { 5, 8 },
	    { 15, 8 },
	    { 20, 12 },
	    { 20, 16 },
	    { 16, 20 },
	    { 4, 20 },
	    { 0, 18 } } },
	{ 12,
	  { { 18, 2 },
	    { 15, 0 },
	    { 6, 0 },
	    { 0, 6 },
	    { 0, 16 },
	    { 4, 20 },
	    { 16, 20 },
	    { 20, 16 },
	    { 20, 12 },
	    { 16, 8 },
	    { 5, 8 },
	    { 0, 12 } } },
	{ 3, { { 0, 0 }, { 20, 0 }, { 8, 20 } } },
	{ 16,
	  { { 5, 9 },
	    { 1, 6 },
	    { 1, 3 },
	    { 5, 0 },
	    { 15, 0 },
	    { 19, 3 },
	    { 19, 6 },
	    { 15, 9 },
	    { 5, 9 },
	    { 0, 13 },
	    { 0, 17 },
	    { 4, 20 },
	    { 16, 20 },
	    { 20, 17 },
	    { 20, 13 },
	    { 15, 9 } } },
	{ 12,
	  { { 2, 18 },
	    { 5, 20 },
	    { 14, 20 },
	    { 20, 14 },
	    { 20, 4 },
	    { 16, 0 },
	    { 4, 0 },
	    { 0, 4 },
	    { 0, 8 },
	    { 4, 12 },
	    { 15, 12 },
	    { 20, 8 } } },
};

/* In parts of a digit's height. */
#define DIGIT_WIDTH 0.5F
#define DIGIT_STEP 0.82F /* from one digit to the next */

/* Sizes that follow the page's and its lines'. */
typedef struct sizes {
	float line;  /* half the width of a box's edge */
	float digit; /* height of a digit */
} sizes;

/* The area inside a convex quad, tinted. */
static void tint(psgi_image *image, const psg_point q[4], colour c, float alpha)
{
	float top = INFINITY, bottom = -INFINITY;

	for (int i = 0; i < 4; i++) {
		top = fminf(top, q[i].y);
		bottom = fmaxf(bottom, q[i].y);
	}
	for (int32_t y = within(top, image->height - 1); y <= within(bottom, image->height - 1);
	     y++) {
		float lo = INFINITY, hi = -INFINITY;

		for (int i = 0; i < 4; i++) {
			psg_point a = q[i], b = q[(i + 1) & 3];
			float at;

			if (((float)y < a.y) == ((float)y < b.y))
				continue;
			at = a.x + (b.x - a.x) * ((float)y - a.y) / (b.y - a.y);
			lo = fminf(lo, at);
			hi = fmaxf(hi, at);
		}
		if (!(lo <= hi))
			continue;
		for (int32_t x = within(lo, image->width - 1); x <= within(hi, image->width - 1);
		     x++)
			mix(image->rgb + (size_t)y * image->stride + (size_t)x * 3, c, alpha);
	}
}

/* The digits of a number in white, the first with its top left corner at (x, y). */
static void write_number(psgi_image *image, const char *number, float x, float y, float h)
{
	static const colour white = { 255, 255, 255 };
	float w = h * DIGIT_WIDTH;

	for (; *number != '\0'; number++, x += h * DIGIT_STEP) {
		int d = *number - '0';

		for (int k = 0; k + 1 < digits[d].n; k++) {
			const uint8_t *a = digits[d].at[k], *b = digits[d].at[k + 1];
			psg_point from = { x + (float)a[0] * w / 20, y + (float)a[1] * h / 20 };
			psg_point to = { x + (float)b[0] * w / 20, y + (float)b[1] * h / 20 };

			stroke(image, from, to, h * 0.085F, white);
		}
	}
}

static float clamp(float v, float least, float most)
{
	return most < least ? (least + most) / 2 : fminf(fmaxf(v, least), most);
}

/* A number on a tag of the box's colour, before the edge where the text starts. */
static void label(psgi_image *image, const psg_point q[4], size_t number, sizes pen, colour c)
{
	char text[24];
	int n = snprintf(text, sizeof(text), "%zu", number);
	/* The tag is a stroke: `half` from its middle to the centres of its round ends. */
	float h = pen.digit, radius = h * 0.95F, half = h * DIGIT_STEP * (float)(n - 1) / 2;
	float dx = q[1].x - q[0].x, dy = q[1].y - q[0].y, length = hypotf(dx, dy);
	float ux = length > 0 ? dx / length : 1, uy = length > 0 ? dy / length : 0;
	float away = pen.line + radius + half * fabsf(ux);
	psg_point middle = { (q[0].x + q[3].x) / 2 - away * ux, (q[0].y + q[3].y) / 2 - away * uy };

	middle.x = clamp(middle.x, radius + half, (float)image->width - radius - half);
	middle.y = clamp(middle.y, radius, (float)image->height - radius);
	stroke(image, (psg_point){ middle.x - half, middle.y },
	       (psg_point){ middle.x + half, middle.y }, radius, c);
	write_number(image, text, middle.x - half - h * DIGIT_WIDTH / 2, middle.y - h / 2, h);
}

/* Corners kept near the page, so that sizes of nobody's making cost no time. */
static void bounded(const psgi_image *image, const psg_point in[4], psg_point out[4])
{
	float w = (float)image->width, h = (float)image->height;

	for (int i = 0; i < 4; i++) {
		out[i].x = in[i].x > 0 ? fminf(in[i].x, w) : 0;
		out[i].y = in[i].y > 0 ? fminf(in[i].y, h) : 0;
	}
}

static void draw_lines(psgi_image *image, const psg_page *page)
{
	float side = (float)(image->width > image->height ? image->width : image->height);

	/* Boxes first: no tag is hidden under a neighbour's. */
	for (int pass = 0; pass < 2; pass++) {
		for (size_t i = 0; i < page->n_lines; i++) {
			colour c = palette[i % (sizeof(palette) / sizeof(palette[0]))];
			psg_point q[4];
			float height;
			sizes pen;

			bounded(image, page->lines[i].quad, q);
			height = hypotf(q[3].x - q[0].x, q[3].y - q[0].y);
			/* A tag as high as two thirds of its line, legible when the page fills a
			 * screen. */
			pen.digit = fmaxf(fmaxf(height * 0.32F, side / 210), 7);
			pen.line = fmaxf(side / 2400, 0.6F);
			if (pass == 0) {
				tint(image, q, c, 0.16F);
				for (int k = 0; k < 4; k++)
					stroke(image, q[k], q[(k + 1) & 3], pen.line, c);
			} else {
				label(image, q, i + 1, pen, c);
			}
		}
	}
}

static psg_status encode(const psgi_image *image, void **out, size_t *out_size, psg_error *error)
{
	png_image png = { .version = PNG_IMAGE_VERSION,
			  .width = (png_uint_32)image->width,
			  .height = (png_uint_32)image->height,
			  .format = PNG_FORMAT_RGB };
	/* libpng's macro counts in size_t; sides are at most PSGI_MAX_SIDE, so it cannot overflow.
	 */
	png_alloc_size_t size = (png_alloc_size_t)image->stride * (png_alloc_size_t)image->height;
	void *bytes;

	size += size / 1000 + (png_alloc_size_t)image->height * 8 + 4096;
	bytes = malloc(size);
	if (bytes == NULL)
		return psgi_fail(error, PSG_NOMEM, "draw: no memory for %zu bytes", (size_t)size);
	png.flags |= PNG_IMAGE_FLAG_FAST;
	if (!png_image_write_to_memory(&png, bytes, &size, 0, image->rgb, (png_int_32)image->stride,
				       NULL)) {
		free(bytes);
		return psgi_fail(error, PSG_NOMEM, "draw: %s", png.message);
	}
	*out_size = size;
	*out = realloc(bytes, size);
	if (*out == NULL) /* it would not shrink: as it was, it serves too */
		*out = bytes;
	return PSG_OK;
}

psg_status psg_page_draw(const psg_page *page, const void *data, size_t size, void **png,
			 size_t *png_size, psg_error *error)
{
	psgi_image *image;
	psg_status status;

	if (page == NULL || png == NULL || png_size == NULL)
		return psgi_fail(error, PSG_INVALID, "draw: page, png or png_size is NULL");
	*png = NULL;
	*png_size = 0;
	/* The engine may have allowed more pixels than the default; the page says how many. */
	status = psgi_image_decode(data, size, page->index,
				   (int64_t)page->width * (int64_t)page->height, &image, error);
	if (status != PSG_OK)
		return status;
	if (image->width != page->width || image->height != page->height) {
		status = psgi_fail(error, PSG_INVALID,
				   "draw: the image has %dx%d pixels, the page %dx%d: not the one "
				   "that was read",
				   image->width, image->height, page->width, page->height);
	} else {
		draw_lines(image, page);
		status = encode(image, png, png_size, error);
	}
	psgi_image_free(image);
	return status;
}

#else

psg_status psg_page_draw(const psg_page *page, const void *data, size_t size, void **png,
			 size_t *png_size, psg_error *error)
{
	(void)page;
	(void)data;
	(void)size;
	(void)png;
	(void)png_size;
	return psgi_fail(error, PSG_UNSUPPORTED, "draw: this build has no libpng");
}

#endif
