/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A batcher as its submitters and the executor's thread see it.
 *
 * Its handle and each slot with a sample hold it, the slot until its last reference goes: so who
 * has a sample in its queue may look at the batcher, also when the sample has ended.
 */
#ifndef PSG_JOBS_BATCHER_H
#define PSG_JOBS_BATCHER_H

#include "jobs/choice.h"
#include "jobs/fit.h"
#include "jobs/patience.h"
#include "jobs/rows.h"
#include "jobs/worker.h"

#include <pagesift/batch.h>

struct psg_batcher {
	/* constant */
	psg_worker *worker; /* for submitting */
	psg_model *model;
	size_t most;          /* samples of a run */
	int64_t max_delay_ns; /* at least 0 */
	int64_t memory_bytes; /* 0: what there is */

	_Atomic uint32_t holders;

	/* The executor's thread's. */
	alignas(PSGI_CACHE_LINE) psgi_fit fit;
	psgi_pace pace;
	psgi_patience patience; /* with waits for more */
	double crowd;           /* samples of a run, lately */
	psgi_need need;
	uint32_t wary_runs; /* so many until need.room is looked at again */
	bool no_rows;       /* an output has no row for each sample: all run alone */
	psgi_rows rows;

	/* The executor's thread's, read by others. */
	_Atomic uint64_t samples, runs, empty, largest, splits, waits, waited_ns;
	_Atomic double base_ns, element_ns;
};

/* Elements of a sample: what is called its width elsewhere, to which they are proportional. */
static inline int64_t psgi_sample_elements(const psgi_job *job)
{
	return psg_shape_elements(&psgi_extra_of(job)->sample.shape);
}

/* On the executor's thread: `n` samples ran, as `size`, each as wide as the widest, and took so
 * long.  Before they end. */
void psgi_batcher_note(psg_batcher *batcher, size_t n, size_t size, int64_t width, int64_t ns);

void psgi_batcher_drop(psg_batcher *batcher);

#endif
