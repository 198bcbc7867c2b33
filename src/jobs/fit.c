/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "jobs/fit.h"

/* What a measurement keeps of its weight with each new one; chosen: some 32 count, which follows a
 * card that grows warm, and is not led by one page. */
#define KEPT (31.0 / 32.0)

/* Sizes must scatter so widely about their mean that what differs is told from noise; chosen, with
 * noise of some percent in mind. */
#define LEAST_SCATTER 0.05

static void add(psgi_fit *fit, double x, double y)
{
	double weight = 1 / (y * y);

	fit->weight = fit->weight * KEPT + weight;
	fit->x = fit->x * KEPT + weight * x;
	fit->y = fit->y * KEPT + weight * y;
	fit->xx = fit->xx * KEPT + weight * x * x;
	fit->xy = fit->xy * KEPT + weight * x * y;
}

/* Neither part can be negative; where the sums say so, the other one explains it all. */
static void solve(psgi_fit *fit, double mean_x, double mean_y, double variance)
{
	double slope = (fit->xy / fit->weight - mean_x * mean_y) / variance;
	double base = mean_y - slope * mean_x;
	/* Not 0: who divides by it asks how many samples make the base small. */
	double least = mean_y / mean_x / 1000;

	if (base < 0) {
		base = 0;
		slope = fit->xy / fit->xx;
	}
	if (slope < least) {
		slope = least;
		base = mean_y - slope * mean_x;
	}
	fit->base_ns = base;
	fit->column_ns = slope;
	fit->known = true;
}

/* One size only tells how large both are together. */
static void scale(psgi_fit *fit, double mean_x, double mean_y)
{
	double ratio = mean_y / (fit->base_ns + fit->column_ns * mean_x);

	fit->base_ns *= ratio;
	fit->column_ns *= ratio;
}

void psgi_fit_note(psgi_fit *fit, int64_t columns, int64_t ns)
{
	double mean_x, mean_y, variance, least;

	if (columns <= 0 || ns <= 0)
		return;
	add(fit, (double)columns, (double)ns);
	fit->n++;
	mean_x = fit->x / fit->weight;
	mean_y = fit->y / fit->weight;
	variance = fit->xx / fit->weight - mean_x * mean_x;
	least = LEAST_SCATTER * mean_x;
	if (variance > least * least)
		solve(fit, mean_x, mean_y, variance);
	else if (fit->known)
		scale(fit, mean_x, mean_y);
	else
		fit->column_ns = mean_y / mean_x;
}
