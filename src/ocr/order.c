/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reading order.
 *
 * The direction that most of the text runs in, a quarter turn and a small slope, gives the axes:
 * u along the text, v from line to line.  Boxes whose centres differ in v by less than half the
 * smaller one's height share a row; rows go by v, boxes in a row by u.  So the cells of a table
 * row go left to right, and columns of running text, too, are read across.
 */
#include "config.h"

#include "ocr/boxes.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PI 3.14159265358979323846

/* A box's slope counts when it is this many times as long as high: corners are whole pixels. */
#define LONG_BOX 2.0

typedef struct item {
	double u, v, height; /* centre and extent across, in the text's axes */
	size_t index;
} item;

typedef struct slope {
	double angle, weight;
} slope;

static psgi_vec edge(const psgi_box *b, int from, int to)
{
	return (psgi_vec){ (double)b->quad[to].x - (double)b->quad[from].x,
			   (double)b->quad[to].y - (double)b->quad[from].y };
}

/* The text's direction: top and bottom edge together. */
static psgi_vec run_of(const psgi_box *b)
{
	psgi_vec top = edge(b, 0, 1), bottom = edge(b, 3, 2);

	return (psgi_vec){ (top.x + bottom.x) / 2, (top.y + bottom.y) / 2 };
}

static psgi_vec drop_of(const psgi_box *b)
{
	psgi_vec left = edge(b, 0, 3), right = edge(b, 1, 2);

	return (psgi_vec){ (left.x + right.x) / 2, (left.y + right.y) / 2 };
}

static int by_angle(const void *a, const void *b)
{
	const slope *x = a, *y = b;

	if (x->angle != y->angle)
		return x->angle < y->angle ? -1 : 1;
	return x->weight < y->weight ? -1 : x->weight > y->weight;
}

/* The quarter turn (0 to 3) that the most length of text has. */
static int main_quarter(const psgi_box *boxes, size_t n)
{
	double length[4] = { 0 };
	int best = 0;

	for (size_t i = 0; i < n; i++) {
		psgi_vec r = run_of(&boxes[i]);

		length[(int)lrint(atan2(r.y, r.x) / (PI / 2)) & 3] += hypot(r.x, r.y);
	}
	/* Ahead by more than rounding, so that summing in another order changes nothing. */
	for (int q = 1; q < 4; q++)
		if (length[q] > length[best] * (1 + 1e-9))
			best = q;
	return best;
}

/* Median slope of the long boxes of quarter `q`, by length; `room` holds n. */
static double main_slope(const psgi_box *boxes, size_t n, int q, slope *room)
{
	double total = 0, half = 0;
	size_t m = 0;

	for (size_t i = 0; i < n; i++) {
		psgi_vec r = run_of(&boxes[i]), d = drop_of(&boxes[i]);
		double angle = remainder(atan2(r.y, r.x) - q * (PI / 2), 2 * PI);
		double length = hypot(r.x, r.y);

		if (fabs(angle) > PI / 4 || length < LONG_BOX * hypot(d.x, d.y))
			continue;
		room[m++] = (slope){ angle, length };
	}
	qsort(room, m, sizeof(*room), by_angle);
	for (size_t i = 0; i < m; i++)
		total += room[i].weight;
	for (size_t i = 0; i < m; i++) {
		half += room[i].weight;
		if (half * 2 >= total)
			return room[i].angle;
	}
	return 0;
}

static item measure(const psgi_box *b, size_t index, psgi_vec u)
{
	psgi_vec v = { -u.y, u.x }, r = run_of(b), d = drop_of(b);
	double x = 0, y = 0;

	for (int i = 0; i < 4; i++) {
		x += (double)b->quad[i].x / 4;
		y += (double)b->quad[i].y / 4;
	}
	return (item){
		.u = x * u.x + y * u.y,
		.v = x * v.x + y * v.y,
		/* What the box measures across the page's text, also when its own runs otherwise.
		 */
		.height = fmax(fabs(d.x * v.x + d.y * v.y), fabs(r.x * v.x + r.y * v.y)),
		.index = index,
	};
}

static int compare(double a, double b)
{
	return a < b ? -1 : a > b;
}

static int down(const void *a, const void *b)
{
	const item *x = a, *y = b;
	int c = compare(x->v, y->v);

	c = c != 0 ? c : compare(x->u, y->u);
	return c != 0 ? c : compare(x->height, y->height);
}

static int across(const void *a, const void *b)
{
	const item *x = a, *y = b;
	int c = compare(x->u, y->u);

	return c != 0 ? c : down(a, b);
}

/* Whether `it` stands in the row that the `n` items from `row` on make. */
static bool in_row(const item *row, size_t n, const item *it)
{
	double sum = 0, least = it->height;

	for (size_t i = 0; i < n; i++) {
		sum += row[i].v;
		/* The smallest decides, so that a tall box does not bridge the lines beside it. */
		least = fmin(least, row[i].height);
	}
	return it->v - sum / (double)n < 0.5 * least;
}

psg_status psgi_reading_order(const psgi_box *boxes, size_t n, size_t *order, psg_error *error)
{
	slope *slopes = malloc((n + 1) * sizeof(*slopes));
	item *items = malloc((n + 1) * sizeof(*items));
	psg_status status = PSG_OK;

	if (slopes == NULL || items == NULL) {
		status = psgi_fail(error, PSG_NOMEM, "reading order: no memory for %zu boxes", n);
	} else {
		int quarter = main_quarter(boxes, n);
		double angle = quarter * (PI / 2) + main_slope(boxes, n, quarter, slopes);
		psgi_vec u = { cos(angle), sin(angle) };

		for (size_t i = 0; i < n; i++)
			items[i] = measure(&boxes[i], i, u);
		qsort(items, n, sizeof(*items), down);
		for (size_t start = 0, i = 1; start < n; start = i++) {
			while (i < n && in_row(items + start, i - start, &items[i]))
				i++;
			qsort(items + start, i - start, sizeof(*items), across);
		}
		for (size_t i = 0; i < n; i++)
			order[i] = items[i].index;
	}
	free(slopes);
	free(items);
	return status;
}

psg_status psgi_order_boxes(psgi_box *boxes, size_t n, psg_error *error)
{
	size_t *order = malloc((n + 1) * sizeof(*order));
	psgi_box *sorted = malloc((n + 1) * sizeof(*sorted));
	psg_status status = PSG_NOMEM;

	if (order == NULL || sorted == NULL)
		(void)psgi_fail(error, status, "reading order: no memory for %zu boxes", n);
	else
		status = psgi_reading_order(boxes, n, order, error);
	if (status == PSG_OK) {
		for (size_t i = 0; i < n; i++)
			sorted[i] = boxes[order[i]];
		memcpy(boxes, sorted, n * sizeof(*boxes));
	}
	free(order);
	free(sorted);
	return status;
}
