/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Detection maps to boxes in reading order (DB post-processing), and the plane geometry for it.
 * Any thread; no shared state.
 */
#ifndef PSG_OCR_BOXES_H
#define PSG_OCR_BOXES_H

#include "base/base.h"

#include <pagesift/ocr.h>

/* Contours looked at in one map; PaddleOCR's limit, which keeps noise from costing minutes. */
#define PSGI_MAX_CONTOURS 1000

typedef struct psgi_box {
	psg_point quad[4]; /* whole pixels of the page, clockwise from the top left corner */
	float score;       /* mean of the map inside the box before it was grown */
} psgi_box;

typedef struct psgi_box_options {
	float threshold;   /* of the map; 0 means 0.3 */
	float least_score; /* 0 means 0.6 */
	float unclip;      /* 0 means 1.5 */
} psgi_box_options;

/*
 * Boxes of a detection map of `height` rows and `width` columns, for a page of page_width x
 * page_height pixels.  Not ordered.  The caller free()s `*out`, which is NULL when there are none.
 * INVALID: an empty map, or options that are not finite or below 0.  NOMEM.
 */
psg_status psgi_find_boxes(const float *map, int32_t height, int32_t width,
			   const psgi_box_options *options, int32_t page_width, int32_t page_height,
			   psgi_box **out, size_t *n, psg_error *error);

/*
 * Reading order: order[i] is the index of the i-th box to read.  Rows from top to bottom, in a row
 * from left to right, where quads start at their text's top left: so it is best asked when
 * directions are known and psgi_quad_turn has been applied, and then holds for pages that lie on
 * their side or head too.  Depends on the boxes only, not on how they are ordered.  `order` has
 * room for n.  NOMEM.
 */
psg_status psgi_reading_order(const psgi_box *boxes, size_t n, size_t *order, psg_error *error);

/* Sorts boxes into that order.  NOMEM. */
psg_status psgi_order_boxes(psgi_box *boxes, size_t n, psg_error *error);

typedef struct psgi_vec {
	double x, y;
} psgi_vec;

/* A rectangle: centre, half extents along and across, direction of the "along" side (unit). */
typedef struct psgi_rect {
	psgi_vec centre, along;
	double half_along, half_across;
} psgi_rect;

/*
 * Convex hull of `n` points sorted by y, then x: clockwise in a y-up world, no three on
 * a line.  `hull` has room for n + 1.  Returns the number of corners, 1 or 2 when degenerate.
 */
size_t psgi_convex_hull(const psgi_vec *points, size_t n, psgi_vec *hull);

/* The smallest rectangle around a convex polygon (n >= 1), by rotating calipers. */
psgi_rect psgi_min_rect(const psgi_vec *hull, size_t n);

/* The corners, clockwise on the page (y down) from the top left: of the two leftmost corners the
 * upper one. */
void psgi_rect_corners(const psgi_rect *rect, psgi_vec corners[4]);

/* Area of a simple polygon, always positive, and the length of its edge. */
double psgi_polygon_area(const psgi_vec *points, size_t n);
double psgi_polygon_length(const psgi_vec *points, size_t n);

#endif
