/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Detection map to boxes: DB's post-processing with PaddleOCR's numbers.
 *
 * Each component of the cells above the threshold, and each hole in one, gives the smallest
 * rectangle around its border cells; it stays if the map's mean inside it is high, and grows by
 * area * unclip / perimeter, because the model was trained on shrunken text.
 */
#include "config.h"

#include "ocr/boxes.h"
#include "ocr/contour.h"

#include <math.h>
#include <stdlib.h>

/* PaddleOCR's least sides: of a component and of a grown box, in cells; of a box, in pixels. */
#define LEAST_CELLS 3
#define LEAST_GROWN 5
#define LEAST_PIXELS 3

/* Columns lo..hi of one row; empty when lo > hi. */
typedef struct span {
	int32_t lo, hi;
} span;

typedef struct finder {
	const float *map;
	int32_t height, width;
	psgi_box_options options;
	int32_t page_width, page_height;
	span *rows;       /* height + 2: one component's extent in each row from -1 to height */
	psgi_vec *points; /* 2 * (height + 2) */
	psgi_vec *hull;   /* one more */
	psgi_box *boxes;
	size_t n;
} finder;

static void widen(span *row, int32_t lo, int32_t hi)
{
	if (row->lo > row->hi) {
		*row = (span){ lo, hi };
		return;
	}
	if (lo < row->lo)
		row->lo = lo;
	if (hi > row->hi)
		row->hi = hi;
}

/*
 * The smallest rectangle around a component's cells; around the cells that line it, for a hole:
 * they are left and right of, above and below its own.
 */
static psgi_rect bounding(finder *f, const psgi_run *runs, size_t n, bool hole)
{
	int32_t top = runs[0].y - (hole ? 1 : 0), bottom = runs[n - 1].y + (hole ? 1 : 0);
	size_t n_points = 0, corners;

	for (int32_t y = top; y <= bottom; y++)
		f->rows[y + 1] = (span){ 0, -1 };
	for (size_t i = 0; i < n; i++) {
		int32_t y = runs[i].y, first = runs[i].first, last = runs[i].last;

		if (hole) {
			widen(&f->rows[y], first, last);
			widen(&f->rows[y + 1], first - 1, last + 1);
			widen(&f->rows[y + 2], first, last);
		} else {
			widen(&f->rows[y + 1], first, last);
		}
	}
	for (int32_t y = top; y <= bottom; y++) {
		span row = f->rows[y + 1];

		f->points[n_points++] = (psgi_vec){ row.lo, y };
		if (row.hi > row.lo)
			f->points[n_points++] = (psgi_vec){ row.hi, y };
	}
	corners = psgi_convex_hull(f->points, n_points, f->hull);
	return psgi_min_rect(f->hull, corners);
}

/* Widens the rows that a line of cells between two cells passes. */
static void trace(span *rows, int32_t top, int32_t x0, int32_t y0, int32_t x1, int32_t y1)
{
	int32_t dx = abs(x1 - x0), dy = abs(y1 - y0), steps = dx > dy ? dx : dy;

	for (int32_t i = 0; i <= steps; i++) {
		double t = steps == 0 ? 0 : (double)i / steps;
		int32_t x = (int32_t)lrint(x0 + (x1 - x0) * t);
		int32_t y = (int32_t)lrint(y0 + (y1 - y0) * t);

		widen(&rows[y - top], x, x);
	}
}

static int32_t clamp(int32_t v, int32_t lo, int32_t hi)
{
	return v < lo ? lo : v > hi ? hi : v;
}

/* The cell that a coordinate lies in; what should be whole but for rounding is taken as whole. */
static int32_t cell_of(double v)
{
	return (int32_t)floor(v + 1e-6);
}

/* Mean of the map in the cells that a quad covers, its edges included. */
static double mean_inside(finder *f, const psgi_vec quad[4])
{
	int32_t x[4], y[4], top = INT32_MAX, bottom = 0;
	double sum = 0;
	int64_t cells = 0;

	for (int i = 0; i < 4; i++) {
		x[i] = clamp(cell_of(quad[i].x), 0, f->width - 1);
		y[i] = clamp(cell_of(quad[i].y), 0, f->height - 1);
		top = y[i] < top ? y[i] : top;
		bottom = y[i] > bottom ? y[i] : bottom;
	}
	for (int32_t r = top; r <= bottom; r++)
		f->rows[r - top] = (span){ 0, -1 };
	for (int i = 0; i < 4; i++)
		trace(f->rows, top, x[i], y[i], x[(i + 1) & 3], y[(i + 1) & 3]);
	for (int32_t r = top; r <= bottom; r++) {
		span row = f->rows[r - top];
		const float *cell = f->map + (size_t)r * (size_t)f->width;
		float part = 0;

		for (int32_t c = row.lo; c <= row.hi; c++)
			part += cell[c];
		sum += (double)part;
		cells += row.hi - row.lo + 1;
	}
	return sum / (double)cells;
}

static float to_pixel(double cell, int32_t cells, int32_t pixels)
{
	double p = rint(cell / cells * pixels);

	return (float)(p < 0 ? 0 : p > pixels ? pixels : p);
}

static double distance(psg_point a, psg_point b)
{
	return hypot((double)a.x - (double)b.x, (double)a.y - (double)b.y);
}

/* True when the corners turn the same way at each: what a crop needs. */
static bool convex(const psg_point q[4])
{
	for (int i = 0; i < 4; i++) {
		psg_point a = q[i], b = q[(i + 1) & 3], c = q[(i + 2) & 3];

		if ((b.x - a.x) * (c.y - b.y) - (b.y - a.y) * (c.x - b.x) <= 0)
			return false;
	}
	return true;
}

/* Grows a rectangle as DB asks and puts it into page pixels; false when too little is left. */
static bool grow(const finder *f, psgi_rect rect, psg_point quad[4])
{
	psgi_vec corners[4];
	double a = rect.half_along * 2, b = rect.half_across * 2;
	double by = a * b * (double)f->options.unclip / (2 * (a + b));

	rect.half_along += by;
	rect.half_across += by;
	if (fmin(rect.half_along, rect.half_across) * 2 < LEAST_GROWN)
		return false;
	psgi_rect_corners(&rect, corners);
	for (int i = 0; i < 4; i++) {
		quad[i].x = to_pixel(corners[i].x, f->width, f->page_width);
		quad[i].y = to_pixel(corners[i].y, f->height, f->page_height);
	}
	return distance(quad[0], quad[1]) > LEAST_PIXELS &&
	       distance(quad[0], quad[3]) > LEAST_PIXELS && convex(quad);
}

static void consider(finder *f, const psgi_run *runs, size_t n, bool hole)
{
	psgi_rect rect = bounding(f, runs, n, hole);
	psgi_box *box = &f->boxes[f->n];
	psgi_vec corners[4];
	double score;

	if (fmin(rect.half_along, rect.half_across) * 2 < LEAST_CELLS)
		return;
	psgi_rect_corners(&rect, corners);
	score = mean_inside(f, corners);
	if (!(score >= (double)f->options.least_score) || !isfinite(score))
		return;
	if (!grow(f, rect, box->quad))
		return;
	box->score = (float)score;
	f->n++;
}

static psg_status check(finder *f, const psgi_box_options *options, psg_error *error)
{
	psgi_box_options o = options != NULL ? *options : (psgi_box_options){ 0 };

	if (f->map == NULL || f->height < 1 || f->width < 1 || f->page_width < 1 ||
	    f->page_height < 1)
		return psgi_fail(error, PSG_INVALID, "boxes: a map of %dx%d for a page of %dx%d",
				 f->width, f->height, f->page_width, f->page_height);
	if (!(o.threshold >= 0) || !(o.least_score >= 0) || !(o.unclip >= 0) ||
	    !(o.threshold <= 1) || !(o.least_score <= 1) || !(o.unclip <= 10))
		return psgi_fail(error, PSG_INVALID,
				 "boxes: threshold %g and score %g must be from 0 to 1, unclip %g "
				 "from 0 to 10",
				 (double)o.threshold, (double)o.least_score, (double)o.unclip);
	f->options.threshold = o.threshold > 0 ? o.threshold : 0.3F;
	f->options.least_score = o.least_score > 0 ? o.least_score : 0.6F;
	f->options.unclip = o.unclip > 0 ? o.unclip : 1.5F;
	return PSG_OK;
}

static bool make_room(finder *f)
{
	size_t rows = (size_t)f->height + 2;

	f->rows = malloc(rows * sizeof(*f->rows));
	f->points = malloc(rows * 2 * sizeof(*f->points));
	f->hull = malloc((rows * 2 + 1) * sizeof(*f->hull));
	f->boxes = malloc(2 * PSGI_MAX_CONTOURS * sizeof(*f->boxes));
	return f->rows != NULL && f->points != NULL && f->hull != NULL && f->boxes != NULL;
}

static psg_status search(finder *f, bool holes, psg_error *error)
{
	psgi_components c;
	psg_status status = psgi_components_find(f->map, f->height, f->width, f->options.threshold,
						 holes, PSGI_MAX_CONTOURS, &c, error);

	if (status != PSG_OK)
		return status;
	for (size_t i = 0; i < c.n; i++)
		consider(f, c.runs + c.start[i], c.start[i + 1] - c.start[i], holes);
	psgi_components_free(&c);
	return PSG_OK;
}

psg_status psgi_find_boxes(const float *map, int32_t height, int32_t width,
			   const psgi_box_options *options, int32_t page_width, int32_t page_height,
			   psgi_box **out, size_t *n, psg_error *error)
{
	finder f = { .map = map,
		     .height = height,
		     .width = width,
		     .page_width = page_width,
		     .page_height = page_height };
	psg_status status = check(&f, options, error);

	*out = NULL;
	*n = 0;
	if (status != PSG_OK)
		return status;
	if (!make_room(&f))
		status = psgi_fail(error, PSG_NOMEM, "boxes: no memory for %d rows", height);
	if (status == PSG_OK)
		status = search(&f, false, error);
	if (status == PSG_OK)
		status = search(&f, true, error);
	free(f.rows);
	free(f.points);
	free(f.hull);
	if (status == PSG_OK && f.n > 0) {
		*out = f.boxes;
		*n = f.n;
	} else {
		free(f.boxes);
	}
	return status;
}
