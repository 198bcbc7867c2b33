/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Images to model inputs: sizes, resampling, normalisation, batches.
 *
 * Planes are in B, G, R order, because the models were trained on OpenCV's images.
 * Any thread; no shared state.
 */
#ifndef PSG_OCR_PREPARE_H
#define PSG_OCR_PREPARE_H

#include "ocr/image.h"

#include <pagesift/tensor.h>

/*
 * How detection looks at a page: as a map of map_width x map_height cells, both multiples of 32.
 *
 * A page is shrunk (never enlarged) until its longest side is limit_side, and seen at once:
 * one window, the whole map.  A strip, longer than limit_side and more than four times as long as
 * wide, would lose its text that way; it is shrunk until its short side is limit_side / 2 and
 * seen through several windows of equal size along its long side, an eighth of a window of overlap
 * between them; their maps are put together by psgi_detect_stitch.  So a window never has more than
 * limit_side^2 cells (+32 a side), and there are at most a hundred of them at limit_side 960.
 */
typedef struct psgi_detect_plan {
	int32_t map_width, map_height;
	int32_t window_width, window_height;
	int32_t n_windows;
} psgi_detect_plan;

/* `limit_side` 0 means 960.  INVALID: limit_side outside 32..8192. */
psg_status psgi_detect_plan_make(int32_t page_width, int32_t page_height, int32_t limit_side,
				 psgi_detect_plan *plan, psg_error *error);

/* Window `k`'s input, [1, 3, window_height, window_width].  The caller owns one reference.  NOMEM.
 */
psg_status psgi_detect_input(const psgi_image *page, const psgi_detect_plan *plan, int32_t k,
			     psg_tensor **out, psg_error *error);

/*
 * Puts window `k`'s detection map, `cells` = window_height x window_width floats, into `map`,
 * map_height x map_width floats of the caller.  Windows meet in the middle of their overlap.
 */
void psgi_detect_stitch(const psgi_detect_plan *plan, int32_t k, const float *cells, float *map);

/* Height of a line in the recognition and direction models. */
#define PSGI_LINE_HEIGHT 48

/* Widest piece of a line that is recognised at once: the model's attention costs the square. */
#define PSGI_PIECE_MAX_WIDTH 2400

/* Shared by neighbouring pieces: four line heights hold a few characters of any script. */
#define PSGI_PIECE_OVERLAP 192

/* Most pieces of a line; a line of more columns than they hold is narrowed to fit. */
#define PSGI_MAX_PIECES 20

/* Columns `offset` to `offset + width` of a line image resized to PSGI_LINE_HEIGHT. */
typedef struct psgi_piece {
	const psgi_image *line; /* borrowed */
	int32_t offset, width;  /* offset is a multiple of 8, the columns of one time step */
} psgi_piece;

/*
 * How a line is recognised: nearly always as one piece of width max(16, ceil(48 w / h)); a longer
 * one as overlapping pieces of nearly equal width whose digests psgi_ctc_join puts together.
 * Writes at most PSGI_MAX_PIECES into `pieces` and returns how many.
 */
size_t psgi_line_pieces(const psgi_image *line, psgi_piece *pieces);

/*
 * A batch for recognition, [n, 3, 48, width], with valid widths along axis 3; what is past
 * them is 0.  `width` (the bucket) is at least the widest piece.  The caller owns one reference.
 */
psg_status psgi_recognise_input(const psgi_piece *pieces, size_t n, int32_t width, psg_tensor **out,
				psg_error *error);

/* Width of the direction model's input. */
#define PSGI_DIRECTION_WIDTH 192

/*
 * A batch for the direction model, [n, 3, 48, 192]: each line at its own aspect, zeros after a
 * short one, the middle 192 columns of a long one.  No valid widths: the model was trained on such
 * padding.  PaddleOCR squeezes long lines into 192 columns instead; measured on eight rendered
 * pages, the model then took 12 of 104 upright lines for upside down (at 0.9) and missed 37 of 104
 * that were; with the middle 1 and 8, all but one on the noisy page.  So one line alone may still
 * be wrong: direction.h lets the lines of a page vote.
 */
psg_status psgi_direction_input(const psgi_image *const *lines, size_t n, psg_tensor **out,
				psg_error *error);

#endif
