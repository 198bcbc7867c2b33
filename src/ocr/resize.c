/* SPDX-License-Identifier: Apache-2.0 */
/* Bilinear resampling: each source row is stretched once, two stretched rows make an output row. */
#include "config.h"

#include "ocr/resize.h"

#include "base/checked.h"

#include <math.h>
#include <stdlib.h>

/* Where an output column (or row) looks: at two neighbours, the second weighing `weight`. */
typedef struct tap {
	int32_t first, second;
	float weight;
} tap;

static tap tap_at(int32_t at, int32_t in_size, int32_t out_size)
{
	double s = (at + 0.5) * ((double)in_size / out_size) - 0.5;
	int32_t first = (int32_t)floor(s);

	if (first < 0)
		return (tap){ 0, 0, 0 };
	if (first >= in_size - 1)
		return (tap){ in_size - 1, in_size - 1, 0 };
	return (tap){ first, first + 1, (float)(s - first) };
}

/* One source row, stretched to n columns, as planes B, G, R. */
static void stretch(const uint8_t *row, const tap *taps, size_t n, float *out)
{
	float *restrict blue = out, *restrict green = out + n, *restrict red = out + 2 * n;

	for (size_t i = 0; i < n; i++) {
		const uint8_t *a = row + (size_t)taps[i].first * 3;
		const uint8_t *b = row + (size_t)taps[i].second * 3;
		float w = taps[i].weight;

		red[i] = (float)a[0] + (float)(b[0] - a[0]) * w;
		green[i] = (float)a[1] + (float)(b[1] - a[1]) * w;
		blue[i] = (float)a[2] + (float)(b[2] - a[2]) * w;
	}
}

static void blend(const float *restrict a, const float *restrict b, float weight, size_t n,
		  float scale, float offset, float *restrict out)
{
	for (size_t i = 0; i < n; i++) {
		float level = (float)(int32_t)(a[i] + (b[i] - a[i]) * weight + 0.5F);

		out[i] = level * scale + offset;
	}
}

/* Stretched rows that the last output row used, by source row; -1: none. */
typedef struct row_cache {
	float *data[2];
	int32_t row[2];
} row_cache;

/* The slot that holds a source row, stretched into it when it is not there; `keep` must stay. */
static int fetch(row_cache *cache, const psgi_image *image, int32_t row, int keep, const tap *taps,
		 size_t n)
{
	int slot;

	for (slot = 0; slot < 2; slot++)
		if (cache->row[slot] == row)
			return slot;
	/* Rows only go up, so the older one is the lower number. */
	slot = keep >= 0 ? 1 - keep : cache->row[0] <= cache->row[1] ? 0 : 1;
	stretch(psgi_row(image, row), taps, n, cache->data[slot]);
	cache->row[slot] = row;
	return slot;
}

psg_status psgi_resize_planes(const psgi_image *image, const psgi_resize *how, float *out,
			      size_t row_stride, size_t plane_stride, psg_error *error)
{
	size_t n = (size_t)how->out_width;
	tap *columns = malloc(n * sizeof(*columns));
	float *rows = malloc(n * 6 * sizeof(*rows));
	row_cache cache = { { rows, rows == NULL ? NULL : rows + n * 3 }, { -1, -1 } };

	if (columns == NULL || rows == NULL) {
		free(columns);
		free(rows);
		return psgi_fail(error, PSG_NOMEM, "resize: no memory for %zu columns", n);
	}
	for (size_t i = 0; i < n; i++)
		columns[i] = tap_at(how->x + (int32_t)i, image->width, how->width);
	for (int32_t y = 0; y < how->out_height; y++) {
		tap t = tap_at(how->y + y, image->height, how->height);
		int a = fetch(&cache, image, t.first, -1, columns, n);
		int b = fetch(&cache, image, t.second, a, columns, n);

		for (size_t p = 0; p < 3; p++)
			blend(cache.data[a] + p * n, cache.data[b] + p * n, t.weight, n,
			      how->scale[p], how->offset[p],
			      out + p * plane_stride + (size_t)y * row_stride);
	}
	free(columns);
	free(rows);
	return PSG_OK;
}
