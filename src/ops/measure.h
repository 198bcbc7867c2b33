/* SPDX-License-Identifier: Apache-2.0 */
/* How long something takes. */
#ifndef PSG_OPS_MEASURE_H
#define PSG_OPS_MEASURE_H

#include <pagesift/error.h>

#define PSGI_MOST_SAMPLES 64

/* The median time of so many runs of `fn`, at most PSGI_MOST_SAMPLES, in ns; at least 1.  The first
 * error ends it. */
psg_status psgi_median_ns(psg_status (*fn)(void *user, psg_error *error), void *user,
			  size_t samples, int64_t *ns, psg_error *error);

#endif
