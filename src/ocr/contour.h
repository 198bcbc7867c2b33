/* SPDX-License-Identifier: Apache-2.0 */
/* Connected components of a thresholded map, as runs of cells. */
#ifndef PSG_OCR_CONTOUR_H
#define PSG_OCR_CONTOUR_H

#include "base/base.h"

/* Cells first..last of one row, part of component `id`. */
typedef struct psgi_run {
	int32_t y, first, last;
	int32_t id;
} psgi_run;

typedef struct psgi_components {
	psgi_run *runs; /* component by component, in each by row, then column */
	size_t *start;  /* component c's runs are start[c] .. start[c + 1] - 1 */
	size_t n;       /* components, at most the `limit` asked for */
} psgi_components;

/*
 * Components of the cells above `threshold`, touching also by corners; or, with `holes`, of the
 * cells not above it, touching by sides only, without those that reach the map's border.
 * Of more than `limit` the largest stay.  The caller frees `*out` with psgi_components_free. NOMEM.
 */
psg_status psgi_components_find(const float *map, int32_t height, int32_t width, float threshold,
				bool holes, size_t limit, psgi_components *out, psg_error *error);

void psgi_components_free(psgi_components *components);

#endif
