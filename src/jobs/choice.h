/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which samples share a run, and whether to wait for more: rules, without clocks or threads.
 *
 * A run of N samples, as wide as the widest of them, takes base + column * N * width.  Samples that
 * share one save its base and pay for padding; so all that wait are cut, by width, into the runs
 * that take the least time together, and the one with the first sample goes first.
 *
 * One sample more saves its base as well, if it comes before the run begins, and keeps `n` others
 * waiting until then.  How long that would be is told by the times between the last arrivals.  The
 * base is saved for all who come after that, too, which is as many as share runs lately: so waiting
 * costs the device's time, or that of more samples than these.
 */
#ifndef PSG_JOBS_CHOICE_H
#define PSG_JOBS_CHOICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Samples of a run; chosen: where one line gives a GPU a hundredth of the work that fills it. */
#define PSGI_BATCH_MOST 64

/* Gaps that the future is told from; chosen: some bursts of a few threads, one of many. */
#define PSGI_PACE_GAPS 32

/* The samples that a run of `n` has, with empty ones: one of twelve numbers, because each number
 * costs a plan for each width.  `n` is at most PSGI_BATCH_MOST. */
size_t psgi_batch_size(size_t n);

/* The largest of these numbers that is at most `n`, which is at least 1. */
size_t psgi_batch_floor(size_t n);

/* Memory: what a run of one sample takes, and what there is. */
typedef struct psgi_need {
	int64_t width, bytes; /* of the widest sample whose run was planned; bytes 0: no bound */
	int64_t room;         /* bytes that a run may take */
} psgi_need;

/* Samples of this width that fit; at least 1, which is then for the run to say. */
size_t psgi_need_most(const psgi_need *need, int64_t width);

typedef struct psgi_terms {
	double base_ns, column_ns; /* see fit.h; column_ns is above 0 */
	size_t most;               /* samples of a run */
	psgi_need need;
	bool may_wait;        /* the times are measured */
	double crowd;         /* samples that lately shared a run; below 1: as 1 */
	int64_t max_delay_ns; /* from a sample's arrival on */
	int64_t now_ns;
} psgi_terms;

/* A sample that waits. */
typedef struct psgi_candidate {
	int64_t width; /* columns that it takes, its own padding among them */
	int64_t queued_ns, deadline_ns;
	bool chosen;
} psgi_candidate;

/*
 * Chooses the first of `n` candidates, in the order in which they wait, and those that are to run
 * with it; returns how many.  A run is not made longer than a deadline in it allows that could be
 * met.  `n` is 1 to PSGI_BATCH_MOST.
 */
size_t psgi_choice_pick(const psgi_terms *terms, psgi_candidate *candidates, size_t n);

/* Samples of this width that a run may have, whoever waits. */
size_t psgi_choice_most(const psgi_terms *terms, int64_t width);

/* What a run of `n` samples is expected to take, the widest of which is so wide. */
double psgi_choice_ns(const psgi_terms *terms, size_t n, int64_t width);

/* When samples came. */
typedef struct psgi_pace {
	int64_t last_ns; /* 0: none has */
	int64_t gap_ns[PSGI_PACE_GAPS];
	unsigned n; /* that were noted */
} psgi_pace;

/* One came then; those that came before the last one are left out. */
void psgi_pace_note(psgi_pace *pace, int64_t queued_ns);

/*
 * All that waits are these `n`, which would run together: until when it is worth waiting for more;
 * at most now: not at all.
 */
int64_t psgi_choice_wait(const psgi_terms *terms, const psgi_pace *pace,
			 const psgi_candidate *candidates, size_t n);

#endif
