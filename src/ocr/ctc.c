/* SPDX-License-Identifier: Apache-2.0 */
/* CTC decoding of a digest (best class and its probability at each time step). */
#include "config.h"

#include "ocr/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Columns of a line image that one time step stands for. */
#define STEP_COLUMNS 8

/* Calls for each character: adds the length to `*bytes`, the text to `out` when there is one. */
static psg_status walk(const float *digest, size_t steps, const psgi_dictionary *dictionary,
		       char *out, size_t *bytes, float *confidence, psg_error *error)
{
	double sum = 0;
	size_t n = 0;
	float before = 0;

	*bytes = 0;
	for (size_t t = 0; t < steps; t++, before = digest[2 * (t - 1)]) {
		float klass = digest[2 * t], probability = digest[2 * t + 1];
		const char *text;
		size_t length;

		text = klass >= 0 && klass < (float)psgi_dictionary_classes(dictionary)
			       ? psgi_dictionary_text(dictionary, (int64_t)klass)
			       : NULL;
		if (text == NULL || !isfinite(probability))
			return psgi_fail(error, PSG_INVALID,
					 "text: step %zu has class %g with probability %g, the "
					 "dictionary %lld classes",
					 t, (double)klass, (double)probability,
					 (long long)psgi_dictionary_classes(dictionary));
		if (klass < 1 || klass == before)
			continue;
		length = strlen(text);
		if (out != NULL)
			memcpy(out + *bytes, text, length);
		*bytes += length;
		sum += (double)probability;
		n++;
	}
	*confidence = n > 0 ? (float)(sum / (double)n) : 0;
	return PSG_OK;
}

psg_status psgi_ctc_text(const float *digest, size_t steps, const psgi_dictionary *dictionary,
			 char **text, float *confidence, psg_error *error)
{
	size_t bytes;
	psg_status status;

	*text = NULL;
	*confidence = 0;
	status = walk(digest, steps, dictionary, NULL, &bytes, confidence, error);
	if (status != PSG_OK)
		return status;
	*text = malloc(bytes + 1);
	if (*text == NULL)
		return psgi_fail(error, PSG_NOMEM, "text: no memory for %zu bytes", bytes);
	status = walk(digest, steps, dictionary, *text, &bytes, confidence, error);
	(*text)[bytes] = '\0';
	return status;
}

/* Whether digest `d` has a step `t` (of the whole line) and what class it has there. */
static bool class_at(const psgi_digest *d, size_t start, size_t t, float *klass)
{
	if (t < start || t - start >= d->steps)
		return false;
	*klass = d->data[2 * (t - start)];
	return true;
}

/*
 * The step at which to go over from `a`, which starts at step a_start, to `b`: nearest to the
 * middle of what they share, where both read a blank; else where they read the same; else the
 * middle.
 */
static size_t seam(const psgi_digest *a, size_t a_start, const psgi_digest *b, size_t b_start)
{
	size_t end = a_start + a->steps, middle, best, best_cost = SIZE_MAX;

	if (end <= b_start)
		return b_start;
	middle = b_start + (end - b_start) / 2;
	best = middle;
	for (size_t t = b_start; t < end; t++) {
		float x, y;
		size_t away = t > middle ? t - middle : middle - t, cost;

		if (!class_at(a, a_start, t, &x) || !class_at(b, b_start, t, &y))
			continue;
		/* Any agreement on blank beats any on a character. */
		cost = x < 1 && y < 1 ? away : x == y ? away + a->steps : SIZE_MAX;
		if (cost < best_cost) {
			best_cost = cost;
			best = t;
		}
	}
	return best;
}

psg_status psgi_ctc_join(const psgi_piece *pieces, const psgi_digest *digests, size_t n,
			 float **out, size_t *steps, psg_error *error)
{
	size_t total = 0, from = 0;

	*out = NULL;
	*steps = 0;
	for (size_t i = 0; i < n; i++)
		total += digests[i].steps;
	*out = malloc((total + 1) * 2 * sizeof(**out));
	if (*out == NULL)
		return psgi_fail(error, PSG_NOMEM, "text: no memory for %zu steps", total);
	for (size_t i = 0; i < n; i++) {
		const psgi_digest *d = &digests[i];
		size_t start = (size_t)pieces[i].offset / STEP_COLUMNS;
		size_t end = start + d->steps;

		if (i + 1 < n)
			end = seam(d, start, d + 1, (size_t)pieces[i + 1].offset / STEP_COLUMNS);
		if (end > start + d->steps)
			end = start + d->steps;
		from = from < start ? start : from;
		if (end > from) {
			memcpy(*out + 2 * *steps, d->data + 2 * (from - start),
			       (end - from) * 2 * sizeof(**out));
			*steps += end - from;
			from = end;
		}
	}
	return PSG_OK;
}
