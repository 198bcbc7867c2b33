/* SPDX-License-Identifier: Apache-2.0 */
/* Which known word an unknown one may have been meant to be. */
#include "config.h"

#include "cli/options.h"

#include <stdint.h>
#include <string.h>

#define LONGEST 32 /* chosen: no name of ours is longer */

static size_t least(size_t a, size_t b)
{
	return a < b ? a : b;
}

/* Letters to change, add or drop to make one word of the other (Levenshtein). */
static size_t distance(const char *a, const char *b)
{
	size_t n = strlen(b), row[LONGEST + 1];

	for (size_t j = 0; j <= n; j++)
		row[j] = j;
	for (size_t i = 0; a[i] != '\0'; i++) {
		size_t corner = row[0];

		row[0] = i + 1;
		for (size_t j = 0; j < n; j++) {
			size_t changed = corner + (a[i] != b[j]);

			corner = row[j + 1];
			row[j + 1] = least(changed, least(corner, row[j]) + 1);
		}
	}
	return row[n];
}

const char *cli_nearest(const char *word, const char *const *names, size_t n)
{
	const char *best = NULL;
	/* A third of the word may be wrong, at least two letters: a swap is two. */
	size_t best_distance = least(strlen(word) / 3, 3) + 1;

	if (strlen(word) > LONGEST)
		return NULL;
	if (best_distance < 3)
		best_distance = 3;
	for (size_t i = 0; i < n; i++) {
		size_t far = strlen(names[i]) <= LONGEST ? distance(word, names[i]) : SIZE_MAX;

		if (far < best_distance && far < strlen(names[i])) {
			best = names[i];
			best_distance = far;
		}
	}
	return best;
}
