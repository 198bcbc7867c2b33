/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples [1, ...] as the rows of one tensor, and rows of a result as tensors of their own.
 *
 * What leaves a batch has no trace of it: each row is cut to its valid columns, so that its shape
 * does not tell how wide the others were, and is a copy, so that it does not keep them.
 */
#ifndef PSG_JOBS_ROWS_H
#define PSG_JOBS_ROWS_H

#include <pagesift/tensor.h>

/* Memory for the rows of one batch after the other. */
typedef struct psgi_rows {
	void *memory;
	size_t bytes;
} psgi_rows;

/* Can these be rows of one tensor?  Shapes of rank >= 1, equal but for dimension `axis`; axis 0: in
 * all. */
bool psgi_rows_fit(const psg_shape *a, int32_t axis_a, const psg_shape *b, int32_t axis_b);

/*
 * `size` rows, the first `n` of which (at least 1) are the samples, which fit, padded with zeros
 * behind the widest one's columns; the others are zero.  They have valid widths if the samples do.
 * The tensor borrows the memory, which has one tensor at a time.  INVALID: larger than a tensor may
 * be; NOMEM.
 */
psg_status psgi_rows_pack(psgi_rows *rows, psg_tensor *const *samples, size_t n, size_t size,
			  psg_tensor **out, psg_error *error);

/* After the tensor has gone: memory that is much is freed. */
void psgi_rows_done(psgi_rows *rows);
void psgi_rows_free(psgi_rows *rows);

/* Is this result of one sample not as psgi_rows_cut would make it? */
bool psgi_rows_needs_cut(const psg_tensor *result);

/* Row `row`, cut to its valid columns, as a tensor of one row.  NOMEM. */
psg_status psgi_rows_cut(const psg_tensor *batch, size_t row, psg_tensor **out, psg_error *error);

#endif
