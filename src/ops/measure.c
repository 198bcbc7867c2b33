/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "ops/measure.h"

#include <stdlib.h>

static int compare(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

psg_status psgi_median_ns(psg_status (*fn)(void *user, psg_error *error), void *user,
			  size_t samples, int64_t *ns, psg_error *error)
{
	int64_t each[PSGI_MOST_SAMPLES];

	samples = samples > PSGI_MOST_SAMPLES ? PSGI_MOST_SAMPLES : samples;
	for (size_t i = 0; i < samples; i++) {
		int64_t begin = psg_now_ns();
		psg_status status = fn(user, error);

		if (status != PSG_OK)
			return status;
		each[i] = psg_now_ns() - begin;
	}
	qsort(each, samples, sizeof(each[0]), compare);
	*ns = each[samples / 2] > 0 ? each[samples / 2] : 1;
	return PSG_OK;
}
