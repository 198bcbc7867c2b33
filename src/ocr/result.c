/* SPDX-License-Identifier: Apache-2.0 */
/* A page's readings become its result: text, order, and one block of memory for all. */
#include "config.h"

#include "ocr/page.h"

#include <stdlib.h>
#include <string.h>

/* Lines read with less confidence are noise more often than text: PaddleOCR's drop_score. */
#define DROP_SCORE 0.5F

/* A line that was read. */
struct read_line {
	char *text; /* owned */
	float confidence;
	const psgi_text_line *line;
};

/* The steps of a reading that are the piece's own, not its padding. */
static psgi_digest digest_of(const psgi_reading *reading)
{
	const psg_shape *shape = psg_tensor_shape(reading->digest);
	int32_t axis;
	const int32_t *widths = psg_tensor_valid_widths(reading->digest, &axis);
	size_t steps = (size_t)shape->dim[1], valid = steps;

	if (widths != NULL && axis == 1)
		valid = (size_t)widths[0];
	return (psgi_digest){ psg_tensor_const_data(reading->digest),
			      valid < steps ? valid : steps };
}

static psg_status read_text(const psgi_page *page, const psgi_text_line *line,
			    struct read_line *out, psg_error *error)
{
	const psgi_dictionary *dictionary = page->ocr->models.dictionary;
	psgi_digest digests[PSGI_MAX_PIECES] = { { 0 } };
	float *joined = NULL;
	psg_status status = PSG_OK;

	out->text = NULL;
	for (size_t i = 0; i < line->n_pieces; i++)
		digests[i] = digest_of(&page->readings[line->first_piece + i]);
	if (line->n_pieces > 1) {
		size_t steps;

		status = psgi_ctc_join(page->pieces + line->first_piece, digests, line->n_pieces,
				       &joined, &steps, error);
		digests[0] = (psgi_digest){ joined, steps };
	}
	if (status == PSG_OK)
		status = psgi_ctc_text(digests[0].data, digests[0].steps, dictionary, &out->text,
				       &out->confidence, error);
	free(joined);
	out->line = line;
	return status;
}

/* Reads all lines and keeps those with text: *n of them, to be freed also on failure. */
static psg_status read_lines(const psgi_page *page, struct read_line *lines, size_t *n,
			     psg_error *error)
{
	*n = 0;
	for (size_t i = 0; i < page->n_lines; i++) {
		struct read_line *line = &lines[*n];
		psg_status status = read_text(page, &page->lines[i], line, error);

		if (status == PSG_OK && line->text[0] != '\0' && line->confidence >= DROP_SCORE)
			(*n)++;
		else
			free(line->text);
		if (status != PSG_OK)
			return status;
	}
	return PSG_OK;
}

/* The order to read them in, for the caller to free(); boxes that gave no text have no say in it.
 */
static psg_status order_lines(const struct read_line *lines, size_t n, size_t **out,
			      psg_error *error)
{
	psgi_box *boxes = calloc(n + 1, sizeof(*boxes));
	psg_status status = PSG_OK;

	*out = calloc(n + 1, sizeof(**out));
	if (boxes == NULL || *out == NULL)
		status = psgi_fail(error, PSG_NOMEM, "no memory for %zu lines", n);
	for (size_t i = 0; status == PSG_OK && i < n; i++)
		boxes[i] = lines[i].line->box;
	if (status == PSG_OK)
		status = psgi_reading_order(boxes, n, *out, error);
	free(boxes);
	if (status != PSG_OK) {
		free(*out);
		*out = NULL;
	}
	return status;
}

/* Copies a string to *at, which moves on, and returns the copy. */
static const char *put(char **at, const char *text)
{
	size_t size = strlen(text) + 1;
	char *copy = memcpy(*at, text, size);

	*at += size;
	return copy;
}

static void fill(const psgi_page *page, psg_page *result)
{
	int64_t now = psg_now_ns();

	result->width = page->width;
	result->height = page->height;
	result->index = page->index;
	result->count = page->count;
	result->times = (psg_page_times){
		.decode_ms = page->host_ms[PSGI_DETECT],
		.detect_ms = page->jobs_ms[PSGI_DETECT],
		.boxes_ms = page->host_ms[PSGI_DIRECT],
		.direction_ms = page->jobs_ms[PSGI_DIRECT],
		.recognise_ms = page->host_ms[PSGI_RECOGNISE] + page->jobs_ms[PSGI_RECOGNISE],
		.total_ms = (double)(now - page->submitted_ns) / (double)PSG_MILLISECOND,
	};
}

/* The page, its lines and its strings in one block. */
static psg_status build(psgi_page *page, const struct read_line *lines, size_t n,
			const size_t *order, psg_error *error)
{
	const psg_device_info *info = psg_worker_device(page->detected_by);
	const char *fallback = page->fallback[0] != '\0' ? page->fallback : info->fallback;
	size_t bytes =
		sizeof(psg_page) + n * sizeof(psg_line) + strlen(info->name) + strlen(fallback) + 2;
	psg_line *made;
	char *at;

	for (size_t i = 0; i < n; i++)
		bytes += strlen(lines[i].text) + 1;
	page->result = calloc(1, bytes);
	if (page->result == NULL)
		return psgi_fail(error, PSG_NOMEM, "no memory for a result of %zu bytes", bytes);
	made = (psg_line *)(void *)(page->result + 1);
	at = (char *)(made + n);
	page->result->device = put(&at, info->name);
	page->result->fallback = put(&at, fallback);
	page->result->n_lines = n;
	page->result->lines = made;
	for (size_t i = 0; i < n; i++) {
		const struct read_line *line = &lines[order[i]];

		made[i].text = put(&at, line->text);
		made[i].confidence = line->confidence;
		made[i].box_score = line->line->box.score;
		made[i].angle = psgi_quad_angle(line->line->box.quad);
		memcpy(made[i].quad, line->line->box.quad, sizeof(made[i].quad));
	}
	fill(page, page->result);
	return PSG_OK;
}

_Static_assert(sizeof(psg_page) % _Alignof(psg_line) == 0, "lines lie behind the page");

psg_status psgi_result_make(psgi_page *page, psg_error *error)
{
	struct read_line *lines = calloc(page->n_lines + 1, sizeof(*lines));
	size_t *order = NULL, n = 0;
	psg_status status;

	if (lines == NULL)
		return psgi_fail(error, PSG_NOMEM, "no memory for %zu lines", page->n_lines);
	status = read_lines(page, lines, &n, error);
	if (status == PSG_OK)
		status = order_lines(lines, n, &order, error);
	if (status == PSG_OK)
		status = build(page, lines, n, order, error);
	for (size_t i = 0; i < n; i++)
		free(lines[i].text);
	free(lines);
	free(order);
	return status;
}

void psgi_result_free(void *result)
{
	free(result);
}

psg_status psg_ocr_page(psg_future *future, const psg_page **page, psg_error *error)
{
	psg_status status;

	*page = psgi_promise_result(future, psgi_result_free);
	if (*page != NULL)
		return PSG_OK;
	status = psg_future_error(future, error);
	return status != PSG_OK ? status
				: psgi_fail(error, PSG_INVALID, "the future is not a page's");
}
