/* SPDX-License-Identifier: Apache-2.0 */
/* Plane geometry for boxes: convex hull, smallest rectangle, polygon measures, quads. */
#include "config.h"

#include "ocr/boxes.h"
#include "ocr/image.h"

#include <math.h>
#include <string.h>

static psgi_vec minus(psgi_vec a, psgi_vec b)
{
	return (psgi_vec){ a.x - b.x, a.y - b.y };
}

static double cross(psgi_vec a, psgi_vec b)
{
	return a.x * b.y - a.y * b.x;
}

static double dot(psgi_vec a, psgi_vec b)
{
	return a.x * b.x + a.y * b.y;
}

/* Andrew's monotone chain, swept along y: one side going down, the other coming back up. */
size_t psgi_convex_hull(const psgi_vec *points, size_t n, psgi_vec *hull)
{
	size_t count = 0, floor_count;

	for (size_t i = 0; i < n; i++) {
		while (count >= 2 && cross(minus(hull[count - 1], hull[count - 2]),
					   minus(points[i], hull[count - 1])) >= 0)
			count--;
		hull[count++] = points[i];
	}
	floor_count = count + 1;
	for (size_t i = n; i-- > 1;) {
		while (count >= floor_count && cross(minus(hull[count - 1], hull[count - 2]),
						     minus(points[i - 1], hull[count - 1])) >= 0)
			count--;
		hull[count++] = points[i - 1];
	}
	if (count > 1)
		count--; /* the start, met again */
	if (count == 2 && hull[0].x == hull[1].x && hull[0].y == hull[1].y)
		count = 1;
	return count;
}

/* The rectangle of a point or a segment: no extent across. */
static psgi_rect flat_rect(const psgi_vec *hull, size_t n)
{
	psgi_vec d = minus(hull[n - 1], hull[0]);
	double length = hypot(d.x, d.y);

	return (psgi_rect){
		.centre = { (hull[0].x + hull[n - 1].x) / 2, (hull[0].y + hull[n - 1].y) / 2 },
		.along = length > 0 ? (psgi_vec){ d.x / length, d.y / length } : (psgi_vec){ 1, 0 },
		.half_along = length / 2,
	};
}

/* How far corner i + 1 is past corner i in direction d. */
static double gain(const psgi_vec *hull, size_t n, size_t i, psgi_vec d)
{
	return dot(minus(hull[(i + 1) % n], hull[i % n]), d);
}

psgi_rect psgi_min_rect(const psgi_vec *hull, size_t n)
{
	psgi_rect best = { .half_along = 0 };
	double least = INFINITY;
	size_t far_right = 1, far_up = 1, far_left = 1;

	if (n < 3)
		return flat_rect(hull, n);
	/* One side lies on an edge of the hull; the other three touch at corners that only move
	 * forward as the edge does. */
	for (size_t i = 0; i < n; i++) {
		psgi_vec edge = minus(hull[(i + 1) % n], hull[i]);
		double length = hypot(edge.x, edge.y);
		psgi_vec u = { edge.x / length, edge.y / length };
		psgi_vec v = { u.y, -u.x }; /* to the inside: the hull turns right in (x, y) */
		psgi_vec back = { -u.x, -u.y };
		double right, left, up, area;
		psgi_vec base = hull[i];

		for (far_right = far_right < i + 1 ? i + 1 : far_right;
		     far_right < i + n && gain(hull, n, far_right, u) > 0;)
			far_right++;
		for (far_up = far_up < far_right ? far_right : far_up;
		     far_up < i + n && gain(hull, n, far_up, v) > 0;)
			far_up++;
		for (far_left = far_left < far_up ? far_up : far_left;
		     far_left < i + n && gain(hull, n, far_left, back) > 0;)
			far_left++;
		right = dot(minus(hull[far_right % n], base), u);
		left = dot(minus(hull[far_left % n], base), u);
		up = dot(minus(hull[far_up % n], base), v);
		area = (right - left) * up;
		if (area < least) {
			least = area;
			best.along = u;
			best.half_along = (right - left) / 2;
			best.half_across = up / 2;
			best.centre.x = base.x + u.x * (right + left) / 2 + v.x * up / 2;
			best.centre.y = base.y + u.y * (right + left) / 2 + v.y * up / 2;
		}
	}
	return best;
}

static void swap(psgi_vec *a, psgi_vec *b)
{
	psgi_vec t = *a;

	*a = *b;
	*b = t;
}

void psgi_rect_corners(const psgi_rect *rect, psgi_vec corners[4])
{
	psgi_vec a = { rect->along.x * rect->half_along, rect->along.y * rect->half_along };
	psgi_vec b = { -rect->along.y * rect->half_across, rect->along.x * rect->half_across };
	psgi_vec c = rect->centre;
	psgi_vec p[4] = { { c.x - a.x - b.x, c.y - a.y - b.y },
			  { c.x + a.x - b.x, c.y + a.y - b.y },
			  { c.x + a.x + b.x, c.y + a.y + b.y },
			  { c.x - a.x + b.x, c.y - a.y + b.y } };

	/* By x, stable; then the left two and the right two by y. */
	for (int i = 1; i < 4; i++)
		for (int j = i; j > 0 && p[j].x < p[j - 1].x; j--)
			swap(&p[j], &p[j - 1]);
	if (p[1].y < p[0].y)
		swap(&p[0], &p[1]);
	if (p[3].y < p[2].y)
		swap(&p[2], &p[3]);
	corners[0] = p[0];
	corners[1] = p[2];
	corners[2] = p[3];
	corners[3] = p[1];
}

double psgi_polygon_area(const psgi_vec *points, size_t n)
{
	double twice = 0;

	for (size_t i = 0; i < n; i++)
		twice += cross(points[i], points[(i + 1) % n]);
	return fabs(twice) / 2;
}

double psgi_polygon_length(const psgi_vec *points, size_t n)
{
	double length = 0;

	for (size_t i = 0; i < n; i++)
		length += hypot(points[(i + 1) % n].x - points[i].x,
				points[(i + 1) % n].y - points[i].y);
	return length;
}

void psgi_quad_turn(psg_point quad[4], int32_t quarters)
{
	psg_point old[4];

	memcpy(old, quad, sizeof(old));
	for (int32_t i = 0; i < 4; i++)
		quad[i] = old[(i + quarters) & 3];
}

float psgi_quad_angle(const psg_point quad[4])
{
	/* Top and bottom edge together, so that a crooked corner counts half. */
	double x = (double)quad[1].x - quad[0].x + quad[2].x - quad[3].x;
	double y = (double)quad[1].y - quad[0].y + quad[2].y - quad[3].y;
	double degrees = atan2(y, x) * (180 / 3.14159265358979323846);

	return degrees <= -180 ? 180.0F : (float)degrees;
}
