/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Perspective crops with cubic sampling, as cv2.warpPerspective makes them: source
 * positions are rounded to 1/32 pixel, so the cubic weights come from a table of 32.
 */
#include "config.h"

#include "ocr/image.h"

#include <math.h>
#include <string.h>

/* OpenCV's: fractions of a pixel, and the sharpness of its cubic. */
#define FRACTIONS 32
#define SHARPNESS (-0.75F)

/* A crop this many times as high as wide holds text that runs down (PaddleOCR's number). */
#define TALL 1.5

/* A quad may cover its page several times over only by mistake. */
#define MOST_PAGES 4

/* Four channels at a time, the fourth unused. */
typedef float vec4 __attribute__((vector_size(16)));
typedef uint8_t bytes4 __attribute__((vector_size(4)));

/* From a point of the crop to one of the page: x = (a u + b v + c) / w and so on. */
typedef struct projection {
	double a, b, c, d, e, f, g, h; /* w = g u + h v + 1 */
} projection;

/* The projection of the rectangle 0,0 .. width,height onto the quad; false when there is none. */
static bool project(const psg_point q[4], double width, double height, projection *p)
{
	double x0 = (double)q[0].x, x1 = (double)q[1].x, x2 = (double)q[2].x, x3 = (double)q[3].x;
	double y0 = (double)q[0].y, y1 = (double)q[1].y, y2 = (double)q[2].y, y3 = (double)q[3].y;
	double dx1 = x1 - x2, dx2 = x3 - x2, sx = x0 - x1 + x2 - x3;
	double dy1 = y1 - y2, dy2 = y3 - y2, sy = y0 - y1 + y2 - y3;
	double den = dx1 * dy2 - dx2 * dy1;
	double g = (sx * dy2 - dx2 * sy) / den, h = (dx1 * sy - sx * dy1) / den;

	/* Seen from the front at every corner, else the quad is not convex. */
	if (!(fabs(den) > 0) || !isfinite(g) || !isfinite(h) || !(1 + g > 1e-6) ||
	    !(1 + h > 1e-6) || !(1 + g + h > 1e-6))
		return false;
	*p = (projection){ .a = (x1 - x0 + g * x1) / width,
			   .b = (x3 - x0 + h * x3) / height,
			   .c = x0,
			   .d = (y1 - y0 + g * y1) / width,
			   .e = (y3 - y0 + h * y3) / height,
			   .f = y0,
			   .g = g / width,
			   .h = h / height };
	return true;
}

static void make_weights(float weights[FRACTIONS][4])
{
	const float a = SHARPNESS;

	for (int i = 0; i < FRACTIONS; i++) {
		float t = (float)i / FRACTIONS, far = t + 1, back = 1 - t;

		weights[i][0] = ((a * far - 5 * a) * far + 8 * a) * far - 4 * a;
		weights[i][1] = ((a + 2) * t - (a + 3)) * t * t + 1;
		weights[i][2] = ((a + 2) * back - (a + 3)) * back * back + 1;
		weights[i][3] = 1 - weights[i][0] - weights[i][1] - weights[i][2];
	}
}

/* A pixel's three bytes and the one after, which is always there (psgi_image_create). */
static vec4 load(const uint8_t *p)
{
	bytes4 b;

	memcpy(&b, p, sizeof(b));
	return __builtin_convertvector(b, vec4);
}

static int32_t clamp(int32_t v, int32_t last)
{
	return v < 0 ? 0 : v > last ? last : v;
}

/* The cubic of the 4 x 4 pixels around (x, y); offsets repeat the page's border. */
static vec4 sample(const psgi_image *page, int32_t x, int32_t y, const float *wx, const float *wy)
{
	size_t column[4];
	vec4 sum = { 0 };

	if (x >= 1 && x + 2 < page->width)
		for (int i = 0; i < 4; i++)
			column[i] = (size_t)(x - 1 + i) * 3;
	else
		for (int i = 0; i < 4; i++)
			column[i] = (size_t)clamp(x - 1 + i, page->width - 1) * 3;
	for (int j = 0; j < 4; j++) {
		const uint8_t *row = psgi_row(page, clamp(y - 1 + j, page->height - 1));

		sum += wy[j] * (load(row + column[0]) * wx[0] + load(row + column[1]) * wx[1] +
				load(row + column[2]) * wx[2] + load(row + column[3]) * wx[3]);
	}
	return sum;
}

static uint8_t level(float v)
{
	return (uint8_t)(v <= 0 ? 0 : v >= 255 ? 255 : v + 0.5F);
}

static void warp(const psgi_image *page, const projection *p, psgi_image *out)
{
	float weights[FRACTIONS][4];

	make_weights(weights);
	for (int32_t v = 0; v < out->height; v++) {
		uint8_t *to = out->rgb + (size_t)v * out->stride;
		double rx = p->b * v + p->c, ry = p->e * v + p->f, rw = p->h * v + 1;

		for (int32_t u = 0; u < out->width; u++, to += 3) {
			double scale = FRACTIONS / (p->g * u + rw);
			/* Inside the quad, so psgi_crop's checks bound it to a few million. */
			int32_t x = (int32_t)lrint((p->a * u + rx) * scale);
			int32_t y = (int32_t)lrint((p->d * u + ry) * scale);
			vec4 rgb = sample(page, x >> 5, y >> 5, weights[x & (FRACTIONS - 1)],
					  weights[y & (FRACTIONS - 1)]);

			to[0] = level(rgb[0]);
			to[1] = level(rgb[1]);
			to[2] = level(rgb[2]);
		}
	}
}

/*
 * Copies when the crop is a piece of the page as it lies, which most lines of a straight page are:
 * there the cubic would give each pixel back, forty times slower.
 */
static bool copy(const psgi_image *page, const projection *p, psgi_image *out)
{
	int32_t x = (int32_t)p->c, y = (int32_t)p->f;

	if (fabs(p->a - 1) > 1e-9 || fabs(p->e - 1) > 1e-9 || fabs(p->b) > 1e-9 ||
	    fabs(p->d) > 1e-9 || fabs(p->g) > 1e-12 || fabs(p->h) > 1e-12 || p->c < 0 || p->f < 0 ||
	    p->c > x || p->f > y || x + out->width > page->width || y + out->height > page->height)
		return false;
	for (int32_t v = 0; v < out->height; v++)
		memcpy(out->rgb + (size_t)v * out->stride, psgi_row(page, y + v) + (size_t)x * 3,
		       out->stride);
	return true;
}

static double edge(psg_point a, psg_point b)
{
	return hypot((double)a.x - (double)b.x, (double)a.y - (double)b.y);
}

/* Corners are finite and at most one page away from the page. */
static bool near_page(const psgi_image *page, const psg_point q[4])
{
	for (int i = 0; i < 4; i++) {
		float w = (float)page->width, h = (float)page->height;

		if (!(q[i].x >= -w && q[i].x <= 2 * w && q[i].y >= -h && q[i].y <= 2 * h))
			return false;
	}
	return true;
}

psg_status psgi_crop(const psgi_image *page, const psg_point quad[4], psgi_image **out,
		     bool *turned, psg_error *error)
{
	double width = floor(fmax(edge(quad[0], quad[1]), edge(quad[2], quad[3])));
	double height = floor(fmax(edge(quad[0], quad[3]), edge(quad[1], quad[2])));
	projection p;
	psgi_image *upright;
	psg_status status;

	*out = NULL;
	*turned = false;
	width = fmax(width, 1);
	height = fmax(height, 1);
	if (!near_page(page, quad) || !project(quad, width, height, &p) ||
	    !(width * height <= MOST_PAGES * ((double)page->width * page->height + 1)) ||
	    !(fmax(width, height) <= PSGI_MAX_SIDE))
		return psgi_fail(error, PSG_INVALID,
				 "crop: (%g,%g) (%g,%g) (%g,%g) (%g,%g) is not a rectangle seen on "
				 "a %dx%d page",
				 (double)quad[0].x, (double)quad[0].y, (double)quad[1].x,
				 (double)quad[1].y, (double)quad[2].x, (double)quad[2].y,
				 (double)quad[3].x, (double)quad[3].y, page->width, page->height);
	status = psgi_image_create((int32_t)width, (int32_t)height, out, error);
	if (status != PSG_OK)
		return status;
	if (!copy(page, &p, *out))
		warp(page, &p, *out);
	if (height / width < TALL)
		return PSG_OK;
	status = psgi_image_turn(*out, 3, &upright, error);
	psgi_image_free(*out);
	*out = status == PSG_OK ? upright : NULL;
	*turned = status == PSG_OK;
	return status;
}
