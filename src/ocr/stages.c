/* SPDX-License-Identifier: Apache-2.0 */
/* What is done to a page between its jobs: pixels to inputs, outputs to boxes, turns and text. */
#include "config.h"

#include "ocr/direction.h"
#include "ocr/page.h"

#include <stdlib.h>
#include <string.h>

/* Widths that pieces are rounded up to.  A new width costs a plan (20 ms, measured), a wider piece
 * its padding: so steps are about a sixteenth of the width (chosen).  49 up to the widest piece. */
static int32_t bucket(int32_t width)
{
	int32_t step = width <= 320 ? 16 : width <= 640 ? 32 : width <= 1280 ? 64 : 128;

	return (width + step - 1) / step * step;
}

/* INVALID unless a job's output has this shape. */
static psg_status check_output(const psg_tensor *out, const psg_shape *want, psg_error *error)
{
	const psg_shape *got = psg_tensor_shape(out);
	bool right = psg_tensor_dtype(out) == PSG_F32 && got->rank == want->rank;

	for (int32_t i = 0; right && i < want->rank; i++)
		right = want->dim[i] < 0 || got->dim[i] == want->dim[i];
	if (right)
		return PSG_OK;
	return psgi_fail(error, PSG_INVALID,
			 "the model's output has %d dimensions, [%lld,%lld,...], want %d, "
			 "[%lld,%lld,...]: it is another kind of model",
			 (int)got->rank, got->rank > 0 ? (long long)got->dim[0] : 0,
			 got->rank > 1 ? (long long)got->dim[1] : 0, (int)want->rank,
			 (long long)want->dim[0], (long long)want->dim[1]);
}

/* --- detection --- */

static psg_status begin_detect(psgi_page *page, psg_error *error)
{
	const psg_ocr *ocr = page->ocr;
	psg_status status = psg_image_pages(page->data, page->size, &page->count, error);

	if (status == PSG_OK)
		status = psgi_image_decode(page->data, page->size, page->index, ocr->max_pixels,
					   &page->image, error);
	free(page->data);
	page->data = NULL;
	if (status != PSG_OK)
		return status;
	page->width = page->image->width;
	page->height = page->image->height;
	status = psgi_detect_plan_make(page->width, page->height, ocr->limit_side, &page->plan,
				       error);
	if (status != PSG_OK)
		return status;
	/* Sides are multiples of 32 and at most PSGI_MAX_SIDE long: no overflow. */
	page->map = calloc((size_t)page->plan.map_width * (size_t)page->plan.map_height,
			   sizeof(*page->map));
	if (page->map == NULL)
		return psgi_fail(error, PSG_NOMEM, "no memory for a map of %dx%d cells",
				 (int)page->plan.map_width, (int)page->plan.map_height);
	page->todo = (size_t)page->plan.n_windows;
	return PSG_OK;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): as make_piece */
static psg_status make_window(psgi_page *page, psg_tensor **out, psg_error *error)
{
	return psgi_detect_input(page->image, &page->plan, (int32_t)page->next_todo, out, error);
}

static psg_status take_window(psgi_page *page, const psgi_slot *slot, psg_error *error)
{
	psg_shape want = PSG_SHAPE(1, 1, page->plan.window_height, page->plan.window_width);
	psg_status status = check_output(slot->out, &want, error);

	if (status == PSG_OK)
		psgi_detect_stitch(&page->plan, (int32_t)slot->which,
				   psg_tensor_const_data(slot->out), page->map);
	return status;
}

/* --- boxes, crops, direction --- */

static psg_status cut_lines(psgi_page *page, const psgi_box *boxes, psg_error *error)
{
	psg_status status = PSG_OK;

	for (size_t i = 0; i < page->n_lines && status == PSG_OK; i++) {
		psgi_text_line *line = &page->lines[i];
		bool turned;

		line->box = boxes[i];
		status = psgi_crop(page->image, line->box.quad, &line->crop, &turned, error);
		if (status == PSG_OK && turned)
			psgi_quad_turn(line->box.quad, 1);
	}
	return status;
}

static psg_status begin_direct(psgi_page *page, psg_error *error)
{
	psgi_box *boxes = NULL;
	size_t n;
	psg_status status = psgi_find_boxes(page->map, page->plan.map_height, page->plan.map_width,
					    &page->ocr->box_options, page->width, page->height,
					    &boxes, &n, error);

	if (status == PSG_OK && n > 0) {
		page->lines = calloc(n, sizeof(*page->lines));
		if (page->lines == NULL)
			status = psgi_fail(error, PSG_NOMEM, "no memory for %zu lines", n);
		else
			page->n_lines = n;
	}
	if (status == PSG_OK)
		status = cut_lines(page, boxes, error);
	free(boxes);
	free(page->map);
	page->map = NULL;
	psgi_image_free(page->image);
	page->image = NULL;
	page->todo = page->ocr->models.direct != NULL ? page->n_lines : 0;
	return status;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): as make_piece */
static psg_status make_direction(psgi_page *page, psg_tensor **out, psg_error *error)
{
	const psgi_image *crop = page->lines[page->next_todo].crop;

	return psgi_direction_input(&crop, 1, out, error);
}

static psg_status take_direction(psgi_page *page, const psgi_slot *slot, psg_error *error)
{
	psg_shape want = PSG_SHAPE(1, 2); /* probabilities of 0 and of 180 degrees */
	const float *p;
	psg_status status = check_output(slot->out, &want, error);

	if (status != PSG_OK)
		return status;
	p = psg_tensor_const_data(slot->out);
	page->lines[slot->which].upside_down = p[1];
	return PSG_OK;
}

static psg_status turn_over(psgi_text_line *line, psg_error *error)
{
	psgi_image *turned;
	psg_status status = psgi_image_turn(line->crop, 2, &turned, error);

	if (status != PSG_OK)
		return status;
	psgi_image_free(line->crop);
	line->crop = turned;
	psgi_quad_turn(line->box.quad, 2);
	return PSG_OK;
}

/* Turns the lines that stand on their heads, now that all have been looked at. */
static psg_status turn_lines(psgi_page *page, psg_error *error)
{
	psgi_posture *postures;
	psg_status status = PSG_OK;

	if (page->n_lines == 0 || page->ocr->models.direct == NULL)
		return PSG_OK;
	postures = malloc(page->n_lines * sizeof(*postures));
	if (postures == NULL)
		return psgi_fail(error, PSG_NOMEM, "no memory for %zu lines", page->n_lines);
	for (size_t i = 0; i < page->n_lines; i++)
		postures[i] = (psgi_posture){ psgi_quad_angle(page->lines[i].box.quad),
					      page->lines[i].upside_down, false };
	psgi_postures_judge(postures, page->n_lines);
	for (size_t i = 0; i < page->n_lines && status == PSG_OK; i++)
		if (postures[i].turn)
			status = turn_over(&page->lines[i], error);
	free(postures);
	return status;
}

/* --- recognition --- */

/* qsort has no argument for the pieces, so widths travel with the indices. */
struct by_width {
	int32_t width;
	size_t piece;
};

static int compare_widths(const void *a, const void *b)
{
	const struct by_width *x = a, *y = b;

	if (x->width != y->width)
		return x->width < y->width ? -1 : 1;
	return x->piece < y->piece ? -1 : x->piece > y->piece;
}

static psg_status sort_pieces(psgi_page *page, psg_error *error)
{
	struct by_width *sorted = calloc(page->n_pieces, sizeof(*sorted));

	if (sorted == NULL)
		return psgi_fail(error, PSG_NOMEM, "no memory for %zu pieces", page->n_pieces);
	for (size_t i = 0; i < page->n_pieces; i++)
		sorted[i] = (struct by_width){ page->pieces[i].width, i };
	qsort(sorted, page->n_pieces, sizeof(*sorted), compare_widths);
	for (size_t i = 0; i < page->n_pieces; i++)
		page->by_width[i] = sorted[i].piece;
	free(sorted);
	return PSG_OK;
}

static psg_status begin_recognise(psgi_page *page, psg_error *error)
{
	psgi_piece pieces[PSGI_MAX_PIECES];
	size_t n = 0;
	psg_status status = turn_lines(page, error);

	if (status != PSG_OK || page->n_lines == 0)
		return status;
	for (size_t i = 0; i < page->n_lines; i++) {
		psgi_text_line *line = &page->lines[i];

		line->first_piece = n;
		line->n_pieces = psgi_line_pieces(line->crop, pieces);
		line->unmade = line->n_pieces;
		n += line->n_pieces;
	}
	page->pieces = calloc(n, sizeof(*page->pieces));
	page->readings = calloc(n, sizeof(*page->readings));
	page->by_width = calloc(n, sizeof(*page->by_width));
	if (page->pieces == NULL || page->readings == NULL || page->by_width == NULL)
		return psgi_fail(error, PSG_NOMEM, "no memory for %zu pieces", n);
	page->n_pieces = n;
	for (size_t i = 0; i < page->n_lines; i++) {
		const psgi_text_line *line = &page->lines[i];

		(void)psgi_line_pieces(line->crop, page->pieces + line->first_piece);
		for (size_t k = 0; k < line->n_pieces; k++)
			page->readings[line->first_piece + k].line = i;
	}
	page->todo = n;
	return sort_pieces(page, error);
}

/* A crop whose pieces are all made is not needed any more. */
static psg_status make_piece(psgi_page *page, psg_tensor **out, psg_error *error)
{
	size_t next = page->by_width[page->next_todo];
	const psgi_piece *piece = &page->pieces[next];
	psgi_text_line *line = &page->lines[page->readings[next].line];
	psg_status status = psgi_recognise_input(piece, 1, bucket(piece->width), out, error);

	if (status == PSG_OK && --line->unmade == 0) {
		psgi_image_free(line->crop);
		line->crop = NULL;
	}
	return status;
}

static psg_status take_piece(psgi_page *page, const psgi_slot *slot, psg_error *error)
{
	psg_shape want = PSG_SHAPE(1, -1, 2); /* steps of class and probability */
	psg_status status = check_output(slot->out, &want, error);

	if (status == PSG_OK)
		page->readings[page->by_width[slot->which]].digest = psg_tensor_ref(slot->out);
	return status;
}

/* --- all stages --- */

const psgi_stage psgi_stages[PSGI_STAGES] = {
	{ "decoding", "detection", begin_detect, make_window, take_window },
	{ "boxes", "direction", begin_direct, make_direction, take_direction },
	{ "lines", "recognition", begin_recognise, make_piece, take_piece },
	{ "text", "text", psgi_result_make, NULL, NULL },
};

void psgi_stages_free(psgi_page *page)
{
	free(page->data);
	page->data = NULL;
	psgi_image_free(page->image);
	page->image = NULL;
	free(page->map);
	page->map = NULL;
	for (size_t i = 0; i < page->n_lines; i++)
		psgi_image_free(page->lines[i].crop);
	page->n_lines = 0;
	free(page->lines);
	page->lines = NULL;
	for (size_t i = 0; i < page->n_pieces; i++)
		psg_tensor_unref(page->readings[i].digest);
	page->n_pieces = 0;
	free(page->pieces);
	free(page->readings);
	free(page->by_width);
	page->pieces = NULL;
	page->readings = NULL;
	page->by_width = NULL;
	psg_tensor_unref(page->input);
	page->input = NULL;
}
