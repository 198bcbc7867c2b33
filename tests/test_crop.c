/* SPDX-License-Identifier: Apache-2.0 */
/* Crops and model inputs against slow and simple computations of the same. */
#include "config.h"

#include "ocr/prepare.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A smooth picture: waves of different lengths in the three colours. */
static psgi_image *waves(int32_t width, int32_t height)
{
	psgi_image *image;

	ck_assert_int_eq(psgi_image_create(width, height, &image, NULL), PSG_OK);
	for (int32_t y = 0; y < height; y++)
		for (int32_t x = 0; x < width; x++) {
			uint8_t *p = image->rgb + (size_t)y * image->stride + (size_t)x * 3;

			p[0] = (uint8_t)lrint(127 + 100 * sin(x * 0.21) * cos(y * 0.13));
			p[1] = (uint8_t)((x * 5 + y * 3) & 255);
			p[2] = (uint8_t)lrint(127 + 120 * cos(x * 0.07 + y * 0.3));
		}
	return image;
}

static uint8_t pixel(const psgi_image *image, int32_t x, int32_t y, int c)
{
	x = x < 0 ? 0 : x >= image->width ? image->width - 1 : x;
	y = y < 0 ? 0 : y >= image->height ? image->height - 1 : y;
	return psgi_row(image, y)[x * 3 + c];
}

/* Keys' cubic with a = -0.75, by its definition. */
static double keys(double t)
{
	const double a = -0.75;

	t = fabs(t);
	if (t <= 1)
		return ((a + 2) * t - (a + 3)) * t * t + 1;
	return t < 2 ? ((a * t - 5 * a) * t + 8 * a) * t - 4 * a : 0;
}

static double cubic(const psgi_image *image, double x, double y, int c)
{
	double sum = 0;
	/* Positions in 1/32 pixel, as the crop has them. */
	x = rint(x * 32) / 32;
	y = rint(y * 32) / 32;
	for (int32_t j = (int32_t)floor(y) - 1; j <= floor(y) + 2; j++)
		for (int32_t i = (int32_t)floor(x) - 1; i <= floor(x) + 2; i++)
			sum += pixel(image, i, j, c) * keys(x - i) * keys(y - j);
	return fmin(fmax(sum, 0), 255);
}

/* Solves a (8 x 8 and right-hand side) by elimination. */
static void solve(double a[8][9])
{
	for (int k = 0; k < 8; k++) {
		int pivot = k;

		for (int i = k + 1; i < 8; i++)
			if (fabs(a[i][k]) > fabs(a[pivot][k]))
				pivot = i;
		for (int j = 0; j < 9; j++) {
			double t = a[k][j];

			a[k][j] = a[pivot][j];
			a[pivot][j] = t;
		}
		for (int i = 0; i < 8; i++) {
			double f = a[i][k] / a[k][k];

			for (int j = k; i != k && j < 9; j++)
				a[i][j] -= f * a[k][j];
		}
	}
	for (int k = 0; k < 8; k++)
		a[k][8] /= a[k][k];
}

/* The projection of a w x h rectangle onto a quad, from its eight equations. */
static void projection(const psg_point q[4], double w, double h, double p[8])
{
	const double u[4] = { 0, w, w, 0 }, v[4] = { 0, 0, h, h };
	double a[8][9];

	for (int i = 0; i < 4; i++) {
		double x = (double)q[i].x, y = (double)q[i].y;
		const double rows[2][9] = {
			{ u[i], v[i], 1, 0, 0, 0, -u[i] * x, -v[i] * x, x },
			{ 0, 0, 0, u[i], v[i], 1, -u[i] * y, -v[i] * y, y },
		};

		memcpy(a[2 * i], rows, sizeof(rows));
	}
	solve(a);
	for (int i = 0; i < 8; i++)
		p[i] = a[i][8];
}

static const psg_point quads[][4] = {
	{ { 20, 10 }, { 120, 10 }, { 120, 40 }, { 20, 40 } },        /* straight */
	{ { 20.5F, 10.25F }, { 120, 12 }, { 119, 43 }, { 19, 40 } }, /* nearly */
	{ { 30, 60 }, { 110, 20 }, { 125, 48 }, { 44, 88 } },        /* turned */
	{ { 10, 10 }, { 150, 30 }, { 140, 70 }, { 20, 95 } },        /* seen from the side */
	{ { 0, 0 }, { 160, 0 }, { 160, 100 }, { 0, 100 } },          /* all of it */
	{ { -8, -5 }, { 50, -4 }, { 52, 20 }, { -6, 19 } },          /* past the border */
	{ { 130, 80 }, { 160, 80 }, { 160, 100 }, { 130, 100 } },    /* to the border */
};

START_TEST(crop_is_a_cubic_projection)
{
	psgi_image *page = waves(160, 100), *crop;
	const psg_point *q = quads[_i];
	psg_error error = PSG_ERROR_INIT;
	double p[8];
	bool turned;

	ck_assert_msg(psgi_crop(page, q, &crop, &turned, &error) == PSG_OK, "%s", error.message);
	ck_assert(!turned);
	projection(q, crop->width, crop->height, p);
	for (int32_t v = 0; v < crop->height; v++)
		for (int32_t u = 0; u < crop->width; u++) {
			double w = p[6] * u + p[7] * v + 1;
			double x = (p[0] * u + p[1] * v + p[2]) / w;
			double y = (p[3] * u + p[4] * v + p[5]) / w;
			/* Where rounding to 1/32 could go either way nothing is asked. */
			bool tie = fabs(fabs(remainder(x * 32, 1)) - 0.5) < 1e-6 ||
				   fabs(fabs(remainder(y * 32, 1)) - 0.5) < 1e-6;

			for (int c = 0; c < 3 && !tie; c++)
				ck_assert_double_eq_tol((double)pixel(crop, u, v, c),
							cubic(page, x, y, c), 0.51);
		}
	psgi_image_free(crop);
	psgi_image_free(page);
}
END_TEST

START_TEST(crop_sides)
{
	psgi_image *page = waves(160, 100), *crop;
	psg_error error = PSG_ERROR_INIT;
	bool turned;

	/* The longer of opposite edges, cut to whole pixels. */
	ck_assert_int_eq(psgi_crop(page, quads[3], &crop, &turned, &error), PSG_OK);
	ck_assert_int_eq(crop->width, (int32_t)hypot(140, 20));
	ck_assert_int_eq(crop->height, (int32_t)hypot(10, 85));
	psgi_image_free(crop);
	psgi_image_free(page);
}
END_TEST

START_TEST(tall_crops_turn)
{
	static const psg_point tall[4] = { { 20, 10 }, { 50, 10 }, { 50, 55 }, { 20, 55 } };
	static const psg_point less[4] = { { 20, 10 }, { 50, 10 }, { 50, 54 }, { 20, 54 } };
	psgi_image *page = waves(160, 100), *crop;
	psg_error error = PSG_ERROR_INIT;
	psg_point q[4];
	bool turned;

	ck_assert_int_eq(psgi_crop(page, less, &crop, &turned, &error), PSG_OK);
	ck_assert(!turned && crop->width == 30 && crop->height == 44);
	psgi_image_free(crop);
	ck_assert_int_eq(psgi_crop(page, tall, &crop, &turned, &error), PSG_OK);
	ck_assert(turned && crop->width == 45 && crop->height == 30);
	/* Counter-clockwise: the page's right column is the crop's top row. */
	for (int32_t u = 0; u < 45; u++)
		for (int c = 0; c < 3; c++)
			ck_assert_int_eq(pixel(crop, u, 0, c), pixel(page, 49, 10 + u, c));
	memcpy(q, tall, sizeof(q));
	psgi_quad_turn(q, 1);
	ck_assert(q[0].x == 50 && q[0].y == 10 && q[1].x == 50 && q[1].y == 55);
	ck_assert_float_eq_tol(psgi_quad_angle(q), 90, 1e-3F);
	psgi_image_free(crop);
	psgi_image_free(page);
}
END_TEST

START_TEST(quads_that_are_none)
{
	static const psg_point bad[][4] = {
		{ { 0, 0 }, { 0, 0 }, { 0, 0 }, { 0, 0 } },
		{ { 0, 0 }, { 50, 0 }, { 0, 50 }, { 50, 50 } }, /* crossed */
		{ { 0, 0 }, { 50, 0 }, { 10, 10 }, { 0, 50 } }, /* dented */
		{ { 0, 0 }, { NAN, 0 }, { 50, 50 }, { 0, 50 } },
		{ { 0, 0 }, { INFINITY, 0 }, { 50, 50 }, { 0, 50 } },
		{ { 0, 0 }, { 1e9F, 0 }, { 1e9F, 50 }, { 0, 50 } },
		{ { -150, -90 }, { 310, -90 }, { 310, 190 }, { -150, 190 } }, /* eight pages */
		{ { 0, 0 }, { 50, 0 }, { 100, 0 }, { 150, 0 } },
	};
	psgi_image *page = waves(160, 100), *crop;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		psg_error error = PSG_ERROR_INIT;
		bool turned;

		ck_assert_msg(psgi_crop(page, bad[i], &crop, &turned, &error) == PSG_INVALID,
			      "row %zu", i);
		ck_assert_ptr_null(crop);
		ck_assert_ptr_nonnull(strstr(error.message, "160x100"));
	}
	psgi_image_free(page);
}
END_TEST

/* Bilinear value at output (x, y) of w x h, by the definition; plane 0 is blue. */
static double bilinear(const psgi_image *image, int32_t x, int32_t y, int32_t w, int32_t h,
		       int plane)
{
	double sx = fmax((x + 0.5) * image->width / w - 0.5, 0);
	double sy = fmax((y + 0.5) * image->height / h - 0.5, 0);
	int32_t ix = (int32_t)sx, iy = (int32_t)sy;
	double fx = sx - ix, fy = sy - iy;
	int c = 2 - plane;

	return (pixel(image, ix, iy, c) * (1 - fx) + pixel(image, ix + 1, iy, c) * fx) * (1 - fy) +
	       (pixel(image, ix, iy + 1, c) * (1 - fx) + pixel(image, ix + 1, iy + 1, c) * fx) * fy;
}

START_TEST(detection_sizes)
{
	static const struct {
		int32_t width, height, limit, map_width, map_height, windows;
	} rows[] = {
		{ 800, 600, 0, 800, 608, 1 },     { 2480, 3508, 0, 672, 960, 1 },
		{ 556, 257, 0, 544, 256, 1 },     { 1, 1, 0, 32, 32, 1 },
		{ 960, 960, 0, 960, 960, 1 },     { 3840, 960, 0, 960, 256, 1 },
		{ 4000, 960, 0, 1984, 480, 3 },   { 20000, 40, 0, 20000, 32, 24 },
		{ 40, 20000, 0, 32, 20000, 24 },  { 960, 10, 0, 960, 32, 1 },
		{ 65500, 65500, 0, 960, 960, 1 }, { 65500, 1, 0, 65504, 32, 76 },
		{ 500, 400, 32, 32, 32, 1 },      { 3000, 2000, 8192, 3008, 1984, 1 },
		{ 5000, 7000, 0, 672, 960, 1 },   { 717, 51, 0, 704, 64, 1 },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		psgi_detect_plan p;

		ck_assert_int_eq(psgi_detect_plan_make(rows[i].width, rows[i].height, rows[i].limit,
						       &p, NULL),
				 PSG_OK);
		ck_assert_msg(p.map_width == rows[i].map_width &&
				      p.map_height == rows[i].map_height &&
				      p.n_windows == rows[i].windows,
			      "%dx%d: map %dx%d in %d windows", rows[i].width, rows[i].height,
			      p.map_width, p.map_height, p.n_windows);
		ck_assert(p.n_windows > 1 ||
			  (p.window_width == p.map_width && p.window_height == p.map_height));
	}
	ck_assert_int_eq(psgi_detect_plan_make(10, 10, 31, &(psgi_detect_plan){ 0 }, NULL),
			 PSG_INVALID);
	ck_assert_int_eq(psgi_detect_plan_make(10, 10, 8193, &(psgi_detect_plan){ 0 }, NULL),
			 PSG_INVALID);
}
END_TEST

static void check_window(const psgi_image *page, const psgi_detect_plan *p, int32_t x0, int32_t y0,
			 const float *got)
{
	static const double mean[3] = { 0.485, 0.456, 0.406 };
	static const double deviation[3] = { 0.229, 0.224, 0.225 };

	for (int c = 0; c < 3; c++)
		for (int32_t y = 0; y < p->window_height; y++)
			for (int32_t x = 0; x < p->window_width; x++, got++) {
				double want = bilinear(page, x0 + x, y0 + y, p->map_width,
						       p->map_height, c);
				/* Back to levels, of which the input has whole ones. */
				double level = (*got * deviation[c] + mean[c]) * 255;

				ck_assert_double_eq_tol(level, want, 0.501);
				ck_assert_double_eq_tol(level, rint(level), 1e-3);
			}
}

START_TEST(detection_input)
{
	psgi_image *page = waves(331, 205);
	psgi_detect_plan p;
	psg_tensor *t;

	ck_assert_int_eq(psgi_detect_plan_make(331, 205, 160, &p, NULL), PSG_OK);
	ck_assert_int_eq(p.map_width, 160);
	ck_assert_int_eq(p.map_height, 96);
	ck_assert_int_eq(psgi_detect_input(page, &p, 0, &t, NULL), PSG_OK);
	ck_assert(psg_shape_equal(psg_tensor_shape(t), &PSG_SHAPE(1, 3, 96, 160)));
	check_window(page, &p, 0, 0, psg_tensor_const_data(t));
	psg_tensor_unref(t);
	psgi_image_free(page);
}
END_TEST

/* Windows cover the strip, and their maps put together are the map of the whole. */
START_TEST(strips_in_windows)
{
	int32_t width = _i == 0 ? 5000 : 64, height = _i == 0 ? 64 : 5000;
	psgi_image *page = waves(width, height);
	psgi_detect_plan p;
	float *whole;
	size_t cells;

	ck_assert_int_eq(psgi_detect_plan_make(width, height, 960, &p, NULL), PSG_OK);
	cells = (size_t)p.map_width * (size_t)p.map_height;
	whole = malloc(cells * sizeof(*whole));
	ck_assert_ptr_nonnull(whole);
	for (size_t i = 0; i < cells; i++)
		whole[i] = NAN;
	ck_assert_int_gt(p.n_windows, 4);
	for (int32_t k = 0; k < p.n_windows; k++) {
		psg_tensor *t;
		const float *blue;

		ck_assert_int_eq(psgi_detect_input(page, &p, k, &t, NULL), PSG_OK);
		blue = psg_tensor_const_data(t); /* stands for the window's map */
		psgi_detect_stitch(&p, k, blue, whole);
		psg_tensor_unref(t);
	}
	for (int32_t y = 0; y < p.map_height; y++)
		for (int32_t x = 0; x < p.map_width; x++) {
			double level = (whole[y * p.map_width + x] * 0.229 + 0.485) * 255;

			ck_assert_double_eq_tol(
				level, bilinear(page, x, y, p.map_width, p.map_height, 0), 0.501);
		}
	free(whole);
	psgi_image_free(page);
}
END_TEST

static void check_line(const psgi_image *line, int32_t full, int32_t offset, int32_t width,
		       const float *got, int32_t batch_width)
{
	for (int c = 0; c < 3; c++)
		for (int32_t y = 0; y < 48; y++)
			for (int32_t x = 0; x < batch_width; x++, got++) {
				double level = (*got + 1) * 127.5;

				if (x < width)
					ck_assert_double_eq_tol(
						level, bilinear(line, offset + x, y, full, 48, c),
						0.501);
				else
					ck_assert(*got == 0);
			}
}

START_TEST(recognition_batch)
{
	static const int32_t sides[3][3] = { { 200, 31, 310 }, { 5, 40, 16 }, { 97, 60, 78 } };
	psgi_image *lines[3];
	psgi_piece pieces[3];
	psg_error error = PSG_ERROR_INIT;
	const int32_t *widths;
	const float *data;
	psg_tensor *t;
	int32_t axis;

	for (int i = 0; i < 3; i++) {
		psgi_piece room[PSGI_MAX_PIECES];

		lines[i] = waves(sides[i][0], sides[i][1]);
		ck_assert_uint_eq(psgi_line_pieces(lines[i], room), 1);
		pieces[i] = room[0];
	}
	ck_assert_int_eq(psgi_recognise_input(pieces, 3, 309, &t, &error), PSG_INVALID);
	ck_assert_msg(psgi_recognise_input(pieces, 3, 320, &t, &error) == PSG_OK, "%s",
		      error.message);
	ck_assert(psg_shape_equal(psg_tensor_shape(t), &PSG_SHAPE(3, 3, 48, 320)));
	widths = psg_tensor_valid_widths(t, &axis);
	ck_assert_int_eq(axis, 3);
	data = psg_tensor_const_data(t);
	for (int i = 0; i < 3; i++) {
		ck_assert_int_eq(widths[i], sides[i][2]);
		check_line(lines[i], sides[i][2], 0, sides[i][2], data + i * 3 * 48 * 320, 320);
		psgi_image_free(lines[i]);
	}
	psg_tensor_unref(t);
}
END_TEST

START_TEST(long_lines_in_pieces)
{
	static const int32_t widths[] = { 2400, 2401, 5000, 20000, 44160, 60000 };
	psgi_piece p[PSGI_MAX_PIECES];
	psg_tensor *t;

	for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++) {
		psgi_image *line = waves(widths[i], 48);
		int32_t total = widths[i] < 44160 ? widths[i] : 44160;
		size_t n = psgi_line_pieces(line, p);

		ck_assert_uint_le(n, PSGI_MAX_PIECES);
		ck_assert((n == 1) == (total <= PSGI_PIECE_MAX_WIDTH));
		ck_assert_int_eq(p[0].offset, 0);
		ck_assert_int_eq(p[n - 1].offset + p[n - 1].width, total);
		for (size_t k = 0; k < n; k++) {
			ck_assert_int_eq(p[k].offset % 8, 0);
			ck_assert(p[k].width >= 16 && p[k].width <= PSGI_PIECE_MAX_WIDTH);
			if (k > 0)
				ck_assert_int_eq(p[k - 1].offset + p[k - 1].width - p[k].offset,
						 PSGI_PIECE_OVERLAP);
		}
		ck_assert_int_eq(psgi_recognise_input(p + n - 1, 1, p[n - 1].width, &t, NULL),
				 PSG_OK);
		check_line(line, total, p[n - 1].offset, p[n - 1].width, psg_tensor_const_data(t),
			   p[n - 1].width);
		psg_tensor_unref(t);
		psgi_image_free(line);
	}
}
END_TEST

START_TEST(direction_batch)
{
	psgi_image *lines[2] = { waves(400, 30), waves(50, 41) };
	psg_tensor *t;
	const float *data;

	ck_assert_int_eq(psgi_direction_input((const psgi_image *const *)lines, 2, &t, NULL),
			 PSG_OK);
	ck_assert(psg_shape_equal(psg_tensor_shape(t), &PSG_SHAPE(2, 3, 48, 192)));
	ck_assert_ptr_null(psg_tensor_valid_widths(t, NULL));
	data = psg_tensor_const_data(t);
	/* 400x30 is 640 columns at height 48: the middle of it. */
	check_line(lines[0], 640, 224, 192, data, 192);
	check_line(lines[1], 59, 0, 59, data + 3 * 48 * 192, 192);
	psg_tensor_unref(t);
	psgi_image_free(lines[0]);
	psgi_image_free(lines[1]);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("crop");
	TCase *crops = tcase_create("crops"), *inputs = tcase_create("inputs");
	SRunner *runner;
	int failed;

	tcase_set_timeout(inputs, 60);
	tcase_add_loop_test(crops, crop_is_a_cubic_projection, 0,
			    (int)(sizeof(quads) / sizeof(quads[0])));
	tcase_add_test(crops, crop_sides);
	tcase_add_test(crops, tall_crops_turn);
	tcase_add_test(crops, quads_that_are_none);
	suite_add_tcase(suite, crops);
	tcase_add_test(inputs, detection_sizes);
	tcase_add_test(inputs, detection_input);
	tcase_add_loop_test(inputs, strips_in_windows, 0, 2);
	tcase_add_test(inputs, recognition_batch);
	tcase_add_test(inputs, long_lines_in_pieces);
	tcase_add_test(inputs, direction_batch);
	suite_add_tcase(suite, inputs);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
