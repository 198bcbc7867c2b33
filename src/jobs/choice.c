/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "jobs/choice.h"

#include "base/base.h"

#include <math.h>

/* --- sizes --- */

static const uint8_t sizes[] = { 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, PSGI_BATCH_MOST };
#define SIZES (sizeof(sizes) / sizeof(sizes[0]))

/* The first size that is at least `n`. */
static size_t size_index(size_t n)
{
	size_t i = 0;

	while (i < SIZES - 1 && sizes[i] < n)
		i++;
	return i;
}

size_t psgi_batch_size(size_t n)
{
	return sizes[size_index(n)];
}

size_t psgi_batch_floor(size_t n)
{
	size_t i = size_index(n);

	return sizes[i] <= n ? sizes[i] : sizes[i - 1];
}

/* --- memory --- */

/* Between widths it goes with the width; beyond the widest, attention may grow with its square. */
size_t psgi_need_most(const psgi_need *need, int64_t width)
{
	double wider, bytes;

	if (need->bytes <= 0)
		return PSGI_BATCH_MOST;
	wider = (double)width / (double)need->width;
	bytes = (double)need->bytes * wider * (wider > 1 ? wider : 1);
	if (bytes * PSGI_BATCH_MOST <= (double)need->room)
		return PSGI_BATCH_MOST;
	return bytes * 2 <= (double)need->room ? (size_t)((double)need->room / bytes) : 1;
}

/* --- who runs together --- */

/*
 * A larger run is not worth it where the base was less than this part of the next smaller one:
 * its samples would only wait for each other.  Chosen: less than measuring tells.
 */
#define WORTHWHILE 0.02

double psgi_choice_ns(const psgi_terms *terms, size_t n, int64_t width)
{
	return terms->base_ns + terms->column_ns * (double)psgi_batch_size(n) * (double)width;
}

/* The most samples that a run of this width may have. */
static size_t most_of(const psgi_terms *terms, int64_t width, double cap_ns)
{
	size_t most = psgi_need_most(&terms->need, width), index = 0;

	if (most > terms->most)
		most = terms->most;
	while (index + 1 < SIZES && sizes[index + 1] <= most &&
	       terms->base_ns > WORTHWHILE * terms->column_ns * sizes[index] * (double)width &&
	       psgi_choice_ns(terms, sizes[index + 1], width) <= cap_ns)
		index++;
	return sizes[index];
}

size_t psgi_choice_most(const psgi_terms *terms, int64_t width)
{
	return most_of(terms, width, INFINITY);
}

/* The candidates by width, of equal ones as they wait. */
static void sort(const psgi_candidate *candidates, size_t n, uint8_t *order)
{
	for (size_t i = 0; i < n; i++) {
		size_t k = i;

		for (; k > 0 && candidates[order[k - 1]].width > candidates[i].width; k--)
			order[k] = order[k - 1];
		order[k] = (uint8_t)i;
	}
}

/* For each number of the narrowest candidates, how many of the widest of them share a run when
 * all take the least time together. */
static void cut(const psgi_terms *terms, double cap_ns, const psgi_candidate *candidates,
		const uint8_t *order, size_t n, uint8_t *together)
{
	double total[PSGI_BATCH_MOST + 1] = { 0 };

	for (size_t i = 1; i <= n; i++) {
		int64_t width = candidates[order[i - 1]].width;
		size_t most = most_of(terms, width, cap_ns);

		total[i] = INFINITY;
		for (size_t k = 1; k <= i && k <= most; k++) {
			double ns = total[i - k] + psgi_choice_ns(terms, k, width);

			if (ns < total[i]) {
				total[i] = ns;
				together[i] = (uint8_t)k;
			}
		}
	}
}

/* As wide as the widest, so that they cost no padding, up to the next numbers without any empty
 * sample: the cut knows only those that wait in sight, and more may follow. */
static size_t fill_up(const psgi_terms *terms, double cap_ns, psgi_candidate *candidates, size_t n,
		      size_t chosen, int64_t width)
{
	size_t equal = 0, most = most_of(terms, width, cap_ns), want;

	for (size_t i = 0; i < n; i++)
		equal += !candidates[i].chosen && candidates[i].width == width;
	want = chosen + equal < most ? chosen + equal : most;
	want = want > 0 ? psgi_batch_floor(want) : 0;
	for (size_t i = 0; i < n && chosen < want; i++)
		if (!candidates[i].chosen && candidates[i].width == width) {
			candidates[i].chosen = true;
			chosen++;
		}
	return chosen;
}

/* Of equally wide ones those that wait longest. */
static void prefer_oldest(psgi_candidate *candidates, size_t n)
{
	for (size_t last = n - 1; last > 0; last--)
		for (size_t i = 1; candidates[last].chosen && i < last; i++)
			if (!candidates[i].chosen &&
			    candidates[i].width == candidates[last].width) {
				candidates[i].chosen = true;
				candidates[last].chosen = false;
			}
}

/* A run with the first candidate that takes at most `cap_ns`, unless it is alone. */
static size_t pick_within(const psgi_terms *terms, double cap_ns, psgi_candidate *candidates,
			  size_t n)
{
	uint8_t order[PSGI_BATCH_MOST], together[PSGI_BATCH_MOST + 1];
	size_t place = 0, end = n, chosen;

	sort(candidates, n, order);
	cut(terms, cap_ns, candidates, order, n, together);
	while (order[place] != 0)
		place++;
	while (end - together[end] > place)
		end -= together[end];
	for (size_t i = 0; i < n; i++)
		candidates[order[i]].chosen = i < end && i >= end - together[end];
	chosen = fill_up(terms, cap_ns, candidates, n, together[end],
			 candidates[order[end - 1]].width);
	if (chosen < n)
		prefer_oldest(candidates, n);
	return chosen;
}

static int64_t widest(const psgi_candidate *candidates, size_t n)
{
	int64_t width = 0;

	for (size_t i = 0; i < n; i++)
		if (candidates[i].chosen && candidates[i].width > width)
			width = candidates[i].width;
	return width;
}

/* Until the earliest deadline of those chosen that one could meet by running alone. */
static double slack(const psgi_terms *terms, const psgi_candidate *candidates, size_t n)
{
	double least = INFINITY;

	for (size_t i = 0; i < n; i++) {
		double left = (double)candidates[i].deadline_ns - (double)terms->now_ns;

		if (candidates[i].chosen && candidates[i].deadline_ns != PSGI_NEVER &&
		    left < least && left >= psgi_choice_ns(terms, 1, candidates[i].width))
			least = left;
	}
	return least;
}

size_t psgi_choice_pick(const psgi_terms *terms, psgi_candidate *candidates, size_t n)
{
	double cap_ns = INFINITY;

	/* Each round has a lower bound than the last, or ends; more than a few never pay. */
	for (int round = 0; round < 4; round++) {
		size_t chosen = pick_within(terms, cap_ns, candidates, n);
		double least = slack(terms, candidates, n);

		if (chosen == 1 || psgi_choice_ns(terms, chosen, widest(candidates, n)) <= least)
			return chosen;
		cap_ns = least;
	}
	return pick_within(terms, 0, candidates, n);
}

/* --- waiting --- */

void psgi_pace_note(psgi_pace *pace, int64_t queued_ns)
{
	if (queued_ns <= pace->last_ns)
		return;
	if (pace->last_ns != 0)
		pace->gap_ns[pace->n++ % PSGI_PACE_GAPS] = queued_ns - pace->last_ns;
	pace->last_ns = queued_ns;
}

/*
 * The wait that gains most, from the last arrival on, when `passed_ns` of it are over: of the gaps
 * that were longer, as many end within `wait` as there are shorter ones, and each saves the base;
 * the wait, or what there was of it, is lost `n` times.  0: no wait gains.
 */
static int64_t best_wait(const psgi_pace *pace, int64_t passed_ns, double base_ns, double n)
{
	unsigned gaps = pace->n < PSGI_PACE_GAPS ? pace->n : PSGI_PACE_GAPS;
	double best = 0;
	int64_t wait = 0;

	for (unsigned i = 0; i < gaps; i++) {
		double ended = 0, lost = 0;

		if (pace->gap_ns[i] <= passed_ns)
			continue;
		for (unsigned k = 0; k < gaps; k++) {
			int64_t gap = pace->gap_ns[k];

			if (gap <= passed_ns)
				continue;
			ended += gap <= pace->gap_ns[i];
			lost += (double)((gap < pace->gap_ns[i] ? gap : pace->gap_ns[i]) -
					 passed_ns);
		}
		if (ended * base_ns - n * lost > best) {
			best = ended * base_ns - n * lost;
			wait = pace->gap_ns[i];
		}
	}
	return wait;
}

/* The latest start that neither keeps a sample too long nor makes one miss its deadline. */
static int64_t latest_start(const psgi_terms *terms, const psgi_candidate *candidates, size_t n,
			    int64_t run_ns)
{
	int64_t latest = PSGI_NEVER;

	for (size_t i = 0; i < n; i++) {
		int64_t kept = candidates[i].queued_ns + terms->max_delay_ns;
		int64_t deadline = candidates[i].deadline_ns;

		if (kept < latest)
			latest = kept;
		if (deadline != PSGI_NEVER && deadline - run_ns < latest)
			latest = deadline - run_ns;
	}
	return latest;
}

int64_t psgi_choice_wait(const psgi_terms *terms, const psgi_pace *pace,
			 const psgi_candidate *candidates, size_t n)
{
	int64_t width = 0, wait, until, latest;

	for (size_t i = 0; i < n; i++)
		if (candidates[i].width > width)
			width = candidates[i].width;
	if (!terms->may_wait || n >= most_of(terms, width, INFINITY))
		return terms->now_ns;
	wait = best_wait(pace, terms->now_ns - pace->last_ns, terms->base_ns,
			 fmax((double)n / fmax(terms->crowd, 1), 1));
	if (wait == 0)
		return terms->now_ns;
	until = pace->last_ns + wait;
	latest = latest_start(terms, candidates, n, (int64_t)psgi_choice_ns(terms, n, width));
	return until < latest ? until : latest;
}
