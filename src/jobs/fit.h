/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a batch takes: base + column * columns, as the last ones did.
 *
 * Least squares of the relative error, in which what is older counts less with each new
 * measurement.  A relative error, because batches of one and of 64 samples tell as much; and
 * because a run that a compilation or another program held up then weighs little: one that took
 * a hundred times as long counts a ten thousandth.
 *
 * Plain data of one thread.
 */
#ifndef PSG_JOBS_FIT_H
#define PSG_JOBS_FIT_H

#include <stdbool.h>
#include <stdint.h>

/* All zero: nothing is known. */
typedef struct psgi_fit {
	double weight, x, y, xx, xy; /* sums over the measurements: x columns, y ns */
	double base_ns;              /* of a run, whatever is in it; at least 0 */
	double column_ns;            /* of one column of one sample; above 0 after the first */
	bool known; /* sizes differed enough, at some time, to tell the two apart */
	uint64_t n; /* measurements */
} psgi_fit;

/* A run of so many columns, all samples' together and padding with them, took so long. */
void psgi_fit_note(psgi_fit *fit, int64_t columns, int64_t ns);

/* What a run is expected to take; 0 before the first measurement. */
static inline double psgi_fit_ns(const psgi_fit *fit, int64_t columns)
{
	return fit->base_ns + fit->column_ns * (double)columns;
}

#endif
