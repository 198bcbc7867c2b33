/* SPDX-License-Identifier: Apache-2.0 */
/* The models' inputs: detection's windows, batches of line pieces and of lines to tell up from
 * down. */
#include "config.h"

#include "ocr/prepare.h"
#include "ocr/resize.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DEFAULT_LIMIT 960
#define LEAST_LIMIT 32
#define MOST_LIMIT 8192

/* The detection model halves its input five times. */
#define CELL 32

/* A page this many times as long as wide is looked at in windows. */
#define STRIP 4

static int32_t to_cells(double side)
{
	double cells = rint(side / CELL);

	return cells < 1 ? CELL : (int32_t)cells * CELL;
}

static int32_t smaller(int32_t a, int32_t b)
{
	return a < b ? a : b;
}

/* Cells that neighbouring windows share along the strip. */
static int32_t overlap_of(int32_t window)
{
	return window / 8 / CELL * CELL;
}

psg_status psgi_detect_plan_make(int32_t page_width, int32_t page_height, int32_t limit_side,
				 psgi_detect_plan *plan, psg_error *error)
{
	int32_t limit = limit_side == 0 ? DEFAULT_LIMIT : limit_side;
	bool wide = page_width >= page_height, strip;
	int32_t length = wide ? page_width : page_height, width = wide ? page_height : page_width;
	int32_t map_length, map_width, window;
	double ratio;

	if (limit < LEAST_LIMIT || limit > MOST_LIMIT)
		return psgi_fail(error, PSG_INVALID, "detection: limit side %d is not in %d..%d",
				 limit_side, LEAST_LIMIT, MOST_LIMIT);
	if (width < 1 || length > PSGI_MAX_SIDE)
		return psgi_fail(error, PSG_INVALID, "detection: a page of %dx%d pixels",
				 page_width, page_height);
	strip = length > limit && length / STRIP > width;
	ratio = strip ? limit / 2.0 / width : (double)limit / length;
	ratio = ratio < 1 ? ratio : 1;
	map_length = to_cells(length * ratio);
	map_width = to_cells(width * ratio);
	window = strip ? smaller(map_length, to_cells(limit)) : map_length;
	plan->n_windows = 1;
	if (map_length > window)
		plan->n_windows += (map_length - window + window - overlap_of(window) - 1) /
				   (window - overlap_of(window));
	plan->map_width = wide ? map_length : map_width;
	plan->map_height = wide ? map_width : map_length;
	plan->window_width = wide ? window : map_width;
	plan->window_height = wide ? map_width : window;
	return PSG_OK;
}

/* Where window k starts along the strip: evenly spaced, the last one at the strip's end. */
static int32_t window_start(int32_t map, int32_t window, int32_t k)
{
	int32_t start = k * (window - overlap_of(window));

	return smaller(start, map - window);
}

/* Top left of window k. */
static void window_origin(const psgi_detect_plan *p, int32_t k, int32_t *x, int32_t *y)
{
	*x = p->map_width > p->window_width ? window_start(p->map_width, p->window_width, k) : 0;
	*y = p->map_height > p->window_height ? window_start(p->map_height, p->window_height, k)
					      : 0;
}

psg_status psgi_detect_input(const psgi_image *page, const psgi_detect_plan *plan, int32_t k,
			     psg_tensor **out, psg_error *error)
{
	/* ImageNet's figures for R, G, B, applied to B, G, R as PaddleOCR trains. */
	static const float mean[3] = { 0.485F, 0.456F, 0.406F };
	static const float deviation[3] = { 0.229F, 0.224F, 0.225F };
	psg_shape shape = PSG_SHAPE(1, 3, plan->window_height, plan->window_width);
	size_t row = (size_t)plan->window_width, plane = row * (size_t)plan->window_height;
	psgi_resize how = { .width = plan->map_width,
			    .height = plan->map_height,
			    .out_width = plan->window_width,
			    .out_height = plan->window_height };
	psg_status status = psg_tensor_create(PSG_F32, &shape, out, error);

	if (status != PSG_OK)
		return status;
	window_origin(plan, k, &how.x, &how.y);
	for (int c = 0; c < 3; c++) {
		how.scale[c] = 1 / (255 * deviation[c]);
		how.offset[c] = -mean[c] / deviation[c];
	}
	status = psgi_resize_planes(page, &how, psg_tensor_data(*out), row, plane, error);
	if (status != PSG_OK) {
		psg_tensor_unref(*out);
		*out = NULL;
	}
	return status;
}

void psgi_detect_stitch(const psgi_detect_plan *plan, int32_t k, const float *cells, float *map)
{
	int32_t x, y, next_x, next_y, before_x, before_y;
	int32_t left = 0, top = 0, right = plan->window_width, bottom = plan->window_height;

	window_origin(plan, k, &x, &y);
	if (k > 0) {
		window_origin(plan, k - 1, &before_x, &before_y);
		if (before_x != x)
			left = (before_x + plan->window_width - x) / 2;
		if (before_y != y)
			top = (before_y + plan->window_height - y) / 2;
	}
	if (k + 1 < plan->n_windows) {
		window_origin(plan, k + 1, &next_x, &next_y);
		if (next_x != x)
			right = next_x - x + (x + plan->window_width - next_x) / 2;
		if (next_y != y)
			bottom = next_y - y + (y + plan->window_height - next_y) / 2;
	}
	for (int32_t r = top; r < bottom; r++)
		memcpy(map + (size_t)(y + r) * (size_t)plan->map_width + x + left,
		       cells + (size_t)r * (size_t)plan->window_width + left,
		       (size_t)(right - left) * sizeof(*map));
}

/* Columns of a line at the models' height, at least 1. */
static int64_t natural_width(const psgi_image *line)
{
	return (INT64_C(1) * PSGI_LINE_HEIGHT * line->width + line->height - 1) / line->height;
}

/* PaddleOCR's least width: two time steps. */
#define LEAST_WIDTH 16

/* Columns of one time step. */
#define STEP 8

/* Columns that a line is recognised at, all pieces together. */
static int32_t line_width(const psgi_image *line)
{
	const int64_t most =
		INT64_C(1) * PSGI_MAX_PIECES * (PSGI_PIECE_MAX_WIDTH - PSGI_PIECE_OVERLAP);
	int64_t width = natural_width(line);

	return (int32_t)(width < LEAST_WIDTH ? LEAST_WIDTH : width > most ? most : width);
}

size_t psgi_line_pieces(const psgi_image *line, psgi_piece *pieces)
{
	int32_t total = line_width(line), n, width;

	if (total <= PSGI_PIECE_MAX_WIDTH) {
		pieces[0] = (psgi_piece){ line, 0, total };
		return 1;
	}
	n = (total - PSGI_PIECE_OVERLAP + PSGI_PIECE_MAX_WIDTH - PSGI_PIECE_OVERLAP - 1) /
	    (PSGI_PIECE_MAX_WIDTH - PSGI_PIECE_OVERLAP);
	width = (total + (n - 1) * PSGI_PIECE_OVERLAP + n - 1) / n;
	width = (width + STEP - 1) / STEP * STEP;
	for (int32_t i = 0; i < n; i++) {
		int32_t offset = i * (width - PSGI_PIECE_OVERLAP);

		pieces[i] = (psgi_piece){ line, offset, smaller(width, total - offset) };
	}
	return (size_t)n;
}

/* A whole line, or columns of it, into sample `i` of a batch: (value / 255 - 0.5) / 0.5. */
static psg_status put_line(const psgi_image *line, int32_t full, int32_t offset, int32_t width,
			   float *batch, size_t i, int32_t batch_width, psg_error *error)
{
	size_t row = (size_t)batch_width, plane = row * PSGI_LINE_HEIGHT;
	psgi_resize how = { .width = full,
			    .height = PSGI_LINE_HEIGHT,
			    .x = offset,
			    .out_width = width,
			    .out_height = PSGI_LINE_HEIGHT,
			    .scale = { 2 / 255.0F, 2 / 255.0F, 2 / 255.0F },
			    .offset = { -1, -1, -1 } };

	return psgi_resize_planes(line, &how, batch + i * 3 * plane, row, plane, error);
}

psg_status psgi_recognise_input(const psgi_piece *pieces, size_t n, int32_t width, psg_tensor **out,
				psg_error *error)
{
	psg_shape shape = PSG_SHAPE((int64_t)n, 3, PSGI_LINE_HEIGHT, width);
	int32_t *widths;
	psg_status status;

	*out = NULL;
	for (size_t i = 0; i < n; i++)
		if (pieces[i].width > width)
			return psgi_fail(error, PSG_INVALID,
					 "recognition: piece %zu is %d columns wide, its batch %d",
					 i, pieces[i].width, width);
	widths = malloc((n + 1) * sizeof(*widths));
	if (widths == NULL)
		return psgi_fail(error, PSG_NOMEM, "recognition: no memory for %zu widths", n);
	status = psg_tensor_create(PSG_F32, &shape, out, error);
	for (size_t i = 0; status == PSG_OK && i < n; i++) {
		widths[i] = pieces[i].width;
		status = put_line(pieces[i].line, line_width(pieces[i].line), pieces[i].offset,
				  pieces[i].width, psg_tensor_data(*out), i, width, error);
	}
	if (status == PSG_OK)
		status = psg_tensor_set_valid_widths(*out, 3, widths, n, error);
	free(widths);
	if (status != PSG_OK) {
		psg_tensor_unref(*out);
		*out = NULL;
	}
	return status;
}

psg_status psgi_direction_input(const psgi_image *const *lines, size_t n, psg_tensor **out,
				psg_error *error)
{
	psg_shape shape = PSG_SHAPE((int64_t)n, 3, PSGI_LINE_HEIGHT, PSGI_DIRECTION_WIDTH);
	psg_status status = psg_tensor_create(PSG_F32, &shape, out, error);

	for (size_t i = 0; status == PSG_OK && i < n; i++) {
		int64_t natural = natural_width(lines[i]);
		bool fits = natural <= PSGI_DIRECTION_WIDTH;
		int32_t full = fits ? (int32_t)natural : line_width(lines[i]);
		int32_t width = smaller(full, PSGI_DIRECTION_WIDTH);

		status = put_line(lines[i], full, (full - width) / 2, width, psg_tensor_data(*out),
				  i, PSGI_DIRECTION_WIDTH, error);
	}
	if (status != PSG_OK) {
		psg_tensor_unref(*out);
		*out = NULL;
	}
	return status;
}
