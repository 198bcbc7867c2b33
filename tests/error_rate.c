/* SPDX-License-Identifier: Apache-2.0 */
/* Character error rate: decoding, white space, and the distance row by row. */
#include "error_rate.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct code_points {
	uint32_t *at;
	size_t n;
} code_points;

/* What stands for a byte that is not UTF-8: past the last code point. */
#define BAD_BYTE 0x110000U

/* One code point from a terminated string, which moves on. */
static uint32_t decode(const unsigned char **text)
{
	static const uint32_t least[] = { 0, 0x80, 0x800, 0x10000 };
	const unsigned char *p = *text;
	uint32_t value = *p;
	int more = value < 0x80 ? 0 : value < 0xe0 ? 1 : value < 0xf0 ? 2 : 3;

	(*text)++;
	if (more == 0)
		return value;
	if (value < 0xc2 || value > 0xf4)
		return BAD_BYTE + value;
	value &= 0x3fU >> more;
	for (int i = 1; i <= more; i++) {
		if ((p[i] & 0xc0U) != 0x80)
			return BAD_BYTE + *p;
		value = value << 6 | (p[i] & 0x3fU);
	}
	if (value < least[more] || value > 0x10ffff)
		return BAD_BYTE + *p;
	*text += more;
	return value;
}

static bool is_space(uint32_t c)
{
	return (c >= '\t' && c <= '\r') || c == ' ' || c == 0xa0 || c == 0x3000;
}

static bool decode_all(const char *text, bool spaces, code_points *out)
{
	const unsigned char *p = (const unsigned char *)text;
	bool space = false;

	out->n = 0;
	out->at = malloc((strlen(text) + 1) * sizeof(*out->at));
	if (out->at == NULL)
		return false;
	while (*p != '\0') {
		uint32_t c = decode(&p);

		if (is_space(c)) {
			space = spaces && out->n > 0;
			continue;
		}
		if (space)
			out->at[out->n++] = ' ';
		space = false;
		out->at[out->n++] = c;
	}
	return true;
}

/* `row` holds b->n + 1; entry j is the distance of what was seen of a to the first j of b. */
static size_t distance(const code_points *a, const code_points *b, size_t *row)
{
	for (size_t j = 0; j <= b->n; j++)
		row[j] = j;
	for (size_t i = 0; i < a->n; i++) {
		size_t diagonal = row[0];

		row[0] = i + 1;
		for (size_t j = 0; j < b->n; j++) {
			size_t best = diagonal + (a->at[i] != b->at[j] ? 1 : 0);

			diagonal = row[j + 1];
			if (diagonal + 1 < best)
				best = diagonal + 1;
			if (row[j] + 1 < best)
				best = row[j] + 1;
			row[j + 1] = best;
		}
	}
	return row[b->n];
}

bool t_error_rate(const char *truth, const char *read, bool spaces, double *percent)
{
	code_points a = { 0 }, b = { 0 };
	size_t *row = NULL;

	*percent = 0;
	if (decode_all(truth, spaces, &a) && decode_all(read, spaces, &b))
		row = malloc((b.n + 1) * sizeof(*row));
	if (row != NULL)
		*percent = 100.0 * (double)distance(&a, &b, row) / (double)(a.n > 0 ? a.n : 1);
	free(a.at);
	free(b.at);
	free(row);
	return row != NULL;
}
