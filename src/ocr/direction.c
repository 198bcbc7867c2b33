/* SPDX-License-Identifier: Apache-2.0 */
/* The vote on which lines stand on their heads: log odds, added up. */
#include "config.h"

#include "ocr/direction.h"

#include <math.h>

/* Odds that a line is upright before anything is seen of it: PaddleOCR turns above 0.9. */
#define UPRIGHT_ODDS 9.0

/* The others together are at most this sure (chosen above the 0.94 that was seen to be wrong). */
#define OTHERS_ODDS 99.0

/* One line is at most this sure, or one mistake would outweigh a page (chosen). */
#define SUREST 1e-4

/* Lines whose directions differ by less run the same way; 45 leaves no doubt which quarter. */
#define ALIKE 45.0F

/* Log odds of being upside down. */
static double log_odds(const psgi_posture *line)
{
	double p = fmin(fmax((double)line->upside_down, SUREST), 1 - SUREST);

	return log(p / (1 - p));
}

/* 1: both run the same way; -1: opposite ways; 0: one runs across the other. */
static int compare(const psgi_posture *a, const psgi_posture *b)
{
	float between = fabsf(a->angle - b->angle);

	if (between > 180)
		between = 360 - between;
	return between < ALIKE ? 1 : between > 180 - ALIKE ? -1 : 0;
}

void psgi_postures_judge(psgi_posture *lines, size_t n)
{
	const double most = log(OTHERS_ODDS);

	for (size_t i = 0; i < n; i++) {
		double others = -log(UPRIGHT_ODDS);

		for (size_t j = 0; j < n; j++) {
			int alike = j == i ? 0 : compare(&lines[i], &lines[j]);

			if (alike != 0)
				others += alike * log_odds(&lines[j]);
		}
		others = fmin(fmax(others, -most), most);
		lines[i].turn = log_odds(&lines[i]) + others > 0;
	}
}
