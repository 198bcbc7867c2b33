/* SPDX-License-Identifier: Apache-2.0 */
/* Geometry against analytic truth, boxes against maps with known rectangles, reading order. */
#include "config.h"

#include "ocr/boxes.h"
#include "ocr/image.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PI 3.14159265358979323846

static uint32_t t_random(uint32_t *state)
{
	*state = *state * 1664525 + 1013904223;
	return *state >> 8;
}

static int by_row(const void *a, const void *b)
{
	const psgi_vec *p = a, *q = b;

	if (p->y != q->y)
		return p->y < q->y ? -1 : 1;
	return p->x < q->x ? -1 : p->x > q->x;
}

/* How far p is to the left of the line from a to b, times the line's length. */
static double side(psgi_vec a, psgi_vec b, psgi_vec p)
{
	return (b.x - a.x) * (p.y - a.y) - (b.y - a.y) * (p.x - a.x);
}

/* Random clouds: every point is inside the hull, every hull corner is strictly convex. */
START_TEST(hull_of_random_points)
{
	uint32_t seed = (uint32_t)_i * 77 + 5;

	for (int round = 0; round < 200; round++) {
		psgi_vec points[40], hull[41];
		size_t n = 1 + t_random(&seed) % 40, corners;
		uint32_t spread = 1 + t_random(&seed) % 30;

		for (size_t i = 0; i < n; i++)
			points[i] =
				(psgi_vec){ t_random(&seed) % spread, t_random(&seed) % spread };
		qsort(points, n, sizeof(points[0]), by_row);
		corners = psgi_convex_hull(points, n, hull);
		ck_assert_uint_ge(corners, 1);
		if (corners < 3) /* all on one line, or all the same */
			for (size_t i = 0; i < n; i++)
				ck_assert(side(hull[0], hull[corners - 1], points[i]) == 0);
		for (size_t c = 0; corners >= 3 && c < corners; c++) {
			psgi_vec a = hull[c], b = hull[(c + 1) % corners];

			ck_assert(side(a, b, hull[(c + 2) % corners]) < 0);
			for (size_t i = 0; i < n; i++)
				ck_assert(side(a, b, points[i]) <= 0);
		}
	}
}
END_TEST

/* The area of the rectangle around points along direction (x, y). */
static double area_along(const psgi_vec *p, size_t n, double x, double y)
{
	double u0 = INFINITY, u1 = -INFINITY, v0 = INFINITY, v1 = -INFINITY;

	for (size_t i = 0; i < n; i++) {
		double u = p[i].x * x + p[i].y * y, v = p[i].y * x - p[i].x * y;

		u0 = fmin(u0, u);
		u1 = fmax(u1, u);
		v0 = fmin(v0, v);
		v1 = fmax(v1, v);
	}
	return (u1 - u0) * (v1 - v0) / (x * x + y * y);
}

/* As small as the best of a try along each edge, and around every point. */
START_TEST(rect_is_smallest)
{
	uint32_t seed = (uint32_t)_i * 13 + 1;

	for (int round = 0; round < 200; round++) {
		psgi_vec points[30], hull[31];
		size_t n = 3 + t_random(&seed) % 28, corners;
		double least = INFINITY;
		psgi_rect r;

		for (size_t i = 0; i < n; i++)
			points[i] = (psgi_vec){ t_random(&seed) % 100, t_random(&seed) % 60 };
		qsort(points, n, sizeof(points[0]), by_row);
		corners = psgi_convex_hull(points, n, hull);
		r = psgi_min_rect(hull, corners);
		for (size_t c = 0; c < corners; c++) {
			double x = hull[(c + 1) % corners].x - hull[c].x;
			double y = hull[(c + 1) % corners].y - hull[c].y;

			least = fmin(least, area_along(points, n, x, y));
		}
		if (corners >= 3)
			ck_assert_double_eq_tol(4 * r.half_along * r.half_across, least, 1e-6);
		for (size_t i = 0; i < n; i++) {
			double x = points[i].x - r.centre.x, y = points[i].y - r.centre.y;

			ck_assert_double_le(fabs(x * r.along.x + y * r.along.y),
					    r.half_along + 1e-6);
			ck_assert_double_le(fabs(y * r.along.x - x * r.along.y),
					    r.half_across + 1e-6);
		}
	}
}
END_TEST

START_TEST(polygon_measures)
{
	static const psgi_vec l_shape[6] = { { 0, 0 }, { 4, 0 }, { 4, 1 },
					     { 1, 1 }, { 1, 3 }, { 0, 3 } };

	ck_assert_double_eq_tol(psgi_polygon_area(l_shape, 6), 6, 1e-12);
	ck_assert_double_eq_tol(psgi_polygon_length(l_shape, 6), 14, 1e-12);
}
END_TEST

START_TEST(corners_start_at_the_top_left)
{
	for (int degrees = -44; degrees <= 44; degrees += 4) {
		double a = degrees * PI / 180;
		psgi_rect r = { { 50, 40 }, { cos(a), sin(a) }, 30, 10 };
		psgi_vec c[4];

		psgi_rect_corners(&r, c);
		ck_assert_double_eq_tol(c[0].x, 50 - 30 * cos(a) + 10 * sin(a), 1e-9);
		ck_assert_double_eq_tol(c[0].y, 40 - 30 * sin(a) - 10 * cos(a), 1e-9);
		ck_assert_double_eq_tol(c[1].x, 50 + 30 * cos(a) + 10 * sin(a), 1e-9);
		ck_assert_double_eq_tol(c[2].y, 40 + 30 * sin(a) + 10 * cos(a), 1e-9);
	}
}
END_TEST

#define MAP_WIDTH 320
#define MAP_HEIGHT 192

static float map[MAP_WIDTH * MAP_HEIGHT];

/* Cells inside a rectangle get `value`. */
static void paint(psgi_rect r, float value)
{
	for (int y = 0; y < MAP_HEIGHT; y++)
		for (int x = 0; x < MAP_WIDTH; x++) {
			double dx = x - r.centre.x, dy = y - r.centre.y;

			if (fabs(dx * r.along.x + dy * r.along.y) <= r.half_along &&
			    fabs(dy * r.along.x - dx * r.along.y) <= r.half_across)
				map[y * MAP_WIDTH + x] = value;
		}
}

static psgi_rect turned(double x, double y, double half_along, double half_across, double degrees)
{
	double a = degrees * PI / 180;

	return (psgi_rect){ { x, y }, { cos(a), sin(a) }, half_along, half_across };
}

static size_t find(psgi_box **boxes, const psgi_box_options *options)
{
	psg_error error = PSG_ERROR_INIT;
	size_t n;

	ck_assert_msg(psgi_find_boxes(map, MAP_HEIGHT, MAP_WIDTH, options, 2 * MAP_WIDTH,
				      3 * MAP_HEIGHT, boxes, &n, &error) == PSG_OK,
		      "%s", error.message);
	return n;
}

static void start(void)
{
	memset(map, 0, sizeof(map));
}

/* A rectangle of the map comes back grown by area * 1.5 / perimeter, in page pixels. */
START_TEST(one_rectangle)
{
	static const double degrees[] = { 0, 3, -3, 12, -20, 35, 44, -44, 80 };
	psgi_rect r = turned(160, 96, 60, 9, degrees[_i]);
	double a = 120, b = 18, grow = a * b * 1.5 / (2 * (a + b));
	psgi_vec want[4];
	psgi_box *boxes;

	paint(r, 0.9F);
	ck_assert_uint_eq(find(&boxes, NULL), 1);
	ck_assert_float_gt(boxes[0].score, 0.8F);
	ck_assert_float_le(boxes[0].score, 0.9F + 1e-5F);
	r.half_along += grow;
	r.half_across += grow;
	psgi_rect_corners(&r, want);
	for (int k = 0; k < 4; k++) {
		/* A cell's raster, twice and three times as large on the page. */
		ck_assert_double_eq_tol((double)boxes[0].quad[k].x, want[k].x * 2, 2 * 1.6);
		ck_assert_double_eq_tol((double)boxes[0].quad[k].y, want[k].y * 3, 3 * 1.6);
	}
	free(boxes);
}
END_TEST

START_TEST(straight_rectangle_is_exact)
{
	psgi_rect r = turned(100, 50, 40, 6, 0);
	/* 80 x 12 between cell centres: grows by 80 * 12 * 1.5 / 184. */
	double grow = 80 * 12 * 1.5 / 184;
	psgi_box *boxes;

	paint(r, 0.75F);
	ck_assert_uint_eq(find(&boxes, NULL), 1);
	ck_assert_float_eq_tol(boxes[0].score, 0.75F, 1e-5F);
	ck_assert_double_eq((double)boxes[0].quad[0].x, rint((60 - grow) * 2));
	ck_assert_double_eq((double)boxes[0].quad[0].y, rint((44 - grow) * 3));
	ck_assert_double_eq((double)boxes[0].quad[2].x, rint((140 + grow) * 2));
	ck_assert_double_eq((double)boxes[0].quad[2].y, rint((56 + grow) * 3));
	free(boxes);
}
END_TEST

START_TEST(what_is_dropped)
{
	psgi_box *boxes;

	/* Below the threshold; above it with a low mean; too thin; single cells. */
	paint(turned(60, 30, 30, 5, 0), 0.29F);
	paint(turned(60, 70, 30, 5, 0), 0.55F);
	paint(turned(60, 110, 30, 1, 0), 0.9F);
	map[150 * MAP_WIDTH + 10] = 1;
	map[150 * MAP_WIDTH + 20] = NAN;
	ck_assert_uint_eq(find(&boxes, NULL), 0);
	ck_assert_ptr_null(boxes);
	/* The caller's numbers. */
	ck_assert_uint_eq(find(&boxes, &(psgi_box_options){ .least_score = 0.5F }), 1);
	free(boxes);
	ck_assert_uint_eq(
		find(&boxes, &(psgi_box_options){ .threshold = 0.2F, .least_score = 0.2F }), 2);
	free(boxes);
}
END_TEST

START_TEST(boxes_stay_on_the_page)
{
	psgi_box *boxes;

	paint(turned(0, 0, 40, 12, 0), 1);
	paint(turned(MAP_WIDTH - 1, MAP_HEIGHT - 1, 40, 12, 10), 1);
	ck_assert_uint_eq(find(&boxes, NULL), 2);
	for (int i = 0; i < 2; i++)
		for (int k = 0; k < 4; k++) {
			psg_point p = boxes[i].quad[k];

			ck_assert(p.x >= 0 && p.x <= 2 * MAP_WIDTH && p.y >= 0 &&
				  p.y <= 3 * MAP_HEIGHT);
		}
	free(boxes);
}
END_TEST

/* Cells that touch by a corner are one component; a hole in a frame is looked at as well. */
START_TEST(components)
{
	psgi_box *boxes;

	paint(turned(50, 50, 20, 5, 0), 1);
	paint(turned(91, 61, 20, 5, 0), 1); /* starts at 71,56: diagonal to 70,55 */
	ck_assert_uint_eq(find(&boxes, &(psgi_box_options){ .least_score = 0.3F }), 1);
	free(boxes);
	start();
	paint(turned(160, 96, 60, 30, 0), 1);
	paint(turned(160, 96, 40, 10, 0), 0.25F);
	ck_assert_uint_eq(find(&boxes, &(psgi_box_options){ .least_score = 0.3F }), 2);
	/* The frame's own box first, then the hole's, around the cells that line it: 40 + 1. */
	ck_assert_double_lt((double)boxes[0].quad[0].x, (double)boxes[1].quad[0].x);
	ck_assert_float_lt(boxes[1].score, 0.5F);
	free(boxes);
}
END_TEST

START_TEST(many_components)
{
	psgi_box *boxes;
	size_t n;

	/* 2480 specks of 4 x 4 cells, and a line: of a thousand, the largest stay. */
	for (int y = 0; y < MAP_HEIGHT - 32; y += 5)
		for (int x = 0; x < MAP_WIDTH; x += 5)
			paint(turned(x + 1.5, y + 1.5, 1.6, 1.6, 0), 1);
	paint(turned(160, 180, 100, 6, 0), 1);
	n = find(&boxes, NULL);
	ck_assert_uint_eq(n, 1000);
	ck_assert_double_gt((double)(boxes[n - 1].quad[1].x - boxes[n - 1].quad[0].x), 300);
	free(boxes);
}
END_TEST

START_TEST(bad_arguments)
{
	static const psgi_box_options bad[] = {
		{ .threshold = -1 }, { .threshold = NAN }, { .least_score = 2 }, { .unclip = 11 }
	};
	psg_error error = PSG_ERROR_INIT;
	psgi_box *boxes;
	size_t n;

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		ck_assert_int_eq(psgi_find_boxes(map, 8, 8, &bad[i], 8, 8, &boxes, &n, &error),
				 PSG_INVALID);
	ck_assert_int_eq(psgi_find_boxes(map, 0, 8, NULL, 8, 8, &boxes, &n, &error), PSG_INVALID);
	ck_assert_int_eq(psgi_find_boxes(map, 8, 8, NULL, 8, 0, &boxes, &n, &error), PSG_INVALID);
}
END_TEST

/* A box of a page that is turned by `degrees` around (500, 500); its score is its number. */
static psgi_box line_at(double x, double y, double w, double h, double degrees, int number)
{
	double a = degrees * PI / 180;
	const double dx[4] = { 0, w, w, 0 }, dy[4] = { 0, 0, h, h };
	psgi_box b = { .score = (float)number };

	for (int k = 0; k < 4; k++) {
		double px = x + dx[k] - 500, py = y + dy[k] - 500;

		b.quad[k].x = (float)rint(500 + px * cos(a) - py * sin(a));
		b.quad[k].y = (float)rint(500 + px * sin(a) + py * cos(a));
	}
	return b;
}

/* A heading beside two small lines, a table with cells of unlike heights, a paragraph. */
static size_t page_at(double degrees, psgi_box *b)
{
	size_t n = 0;

	b[n] = line_at(650, 80, 180, 20, degrees, (int)n), n++;
	b[n] = line_at(100, 80, 500, 60, degrees, (int)n), n++;
	b[n] = line_at(650, 120, 180, 20, degrees, (int)n), n++;
	for (int row = 0; row < 6; row++)
		for (int column = 0; column < 4; column++, n++)
			b[n] = line_at(100 + 220 * column, 200 + 34 * row + (column & 1 ? 4 : 0),
				       column == 0 ? 150 : 40, column & 1 ? 20 : 28, degrees,
				       (int)n);
	for (int row = 0; row < 10; row++, n++)
		b[n] = line_at(100, 450 + 30 * row, 780, 24, degrees, (int)n);
	return n;
}

START_TEST(reading_order)
{
	static const double degrees[] = { 0, 3, -3, 7, 90, 180, 270, 93, -177 };
	psgi_box boxes[64];
	size_t n = page_at(degrees[_i], boxes);
	uint32_t seed = 3;
	psg_error error = PSG_ERROR_INIT;

	ck_assert_uint_eq(n, 37);
	for (int round = 0; round < 50; round++) {
		/* However the boxes come. */
		for (size_t i = n; round > 0 && i > 1; i--) {
			size_t j = t_random(&seed) % i;
			psgi_box t = boxes[i - 1];

			boxes[i - 1] = boxes[j];
			boxes[j] = t;
		}
		ck_assert_int_eq(psgi_order_boxes(boxes, n, &error), PSG_OK);
		for (size_t i = 0; i < n; i++)
			ck_assert_msg((size_t)boxes[i].score == i,
				      "turned by %g: box %g is read as number %zu", degrees[_i],
				      (double)boxes[i].score, i);
	}
}
END_TEST

START_TEST(order_of_few)
{
	psgi_box b[2] = { line_at(10, 100, 50, 20, 0, 1), line_at(10, 10, 50, 20, 0, 0) };
	psg_error error = PSG_ERROR_INIT;
	size_t order[2] = { 7, 7 };

	ck_assert_int_eq(psgi_order_boxes(b, 0, &error), PSG_OK);
	ck_assert_int_eq(psgi_reading_order(b, 1, order, &error), PSG_OK);
	ck_assert_uint_eq(order[0], 0);
	ck_assert_int_eq(psgi_reading_order(b, 2, order, &error), PSG_OK);
	ck_assert_uint_eq(order[0], 1);
}
END_TEST

START_TEST(quad_angles)
{
	for (int degrees = -170; degrees <= 180; degrees += 10) {
		psgi_box b = line_at(300, 400, 400, 40, degrees, 0);
		float off = psgi_quad_angle(b.quad) - (float)degrees;

		ck_assert_float_le(fabsf(off), 0.3F);
		psgi_quad_turn(b.quad, 2);
		off = psgi_quad_angle(b.quad) - (float)degrees;
		ck_assert_float_eq_tol(fabsf(off), 180, 0.3F);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("boxes");
	TCase *geometry = tcase_create("geometry"), *boxes = tcase_create("boxes"),
	      *order = tcase_create("order");
	SRunner *runner;
	int failed;

	tcase_add_loop_test(geometry, hull_of_random_points, 0, 5);
	tcase_add_loop_test(geometry, rect_is_smallest, 0, 5);
	tcase_add_test(geometry, polygon_measures);
	tcase_add_test(geometry, corners_start_at_the_top_left);
	tcase_add_test(geometry, quad_angles);
	suite_add_tcase(suite, geometry);
	tcase_add_checked_fixture(boxes, start, NULL);
	tcase_add_loop_test(boxes, one_rectangle, 0, 9);
	tcase_add_test(boxes, straight_rectangle_is_exact);
	tcase_add_test(boxes, what_is_dropped);
	tcase_add_test(boxes, boxes_stay_on_the_page);
	tcase_add_test(boxes, components);
	tcase_add_test(boxes, many_components);
	tcase_add_test(boxes, bad_arguments);
	suite_add_tcase(suite, boxes);
	tcase_add_loop_test(order, reading_order, 0, 9);
	tcase_add_test(order, order_of_few);
	suite_add_tcase(suite, order);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
