/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples that share a run: two wait behind a gate, and something happens to one of them, or to the
 * batcher, while the executor gathers, claims and runs them.  The model is not run,
 * but what is asked between its steps is asked.
 */
#include "tests/schedules/jobs.h"

#include "jobs/batcher.h"
#include "tests/onnx_text.h"

#include <pagesift/batch.h>
#include <pagesift/model.h>

static psg_batcher *batcher;

/*
 * --- made once, and kept for all runs ---
 *
 * With references to spare, which those mutants take that end a sample twice.
 */
#define SPARE 100

static psg_model *model(void)
{
	static psg_model *loaded;

	if (loaded == NULL) {
		size_t bytes;
		uint8_t *data = t_onnx("opset 13; in x ? 2; Relu x > y; out y", &bytes);

		T_EXPECT(psg_model_load_memory(data, bytes, "tiny", NULL, &loaded, NULL) == PSG_OK);
		(free)(data); /* the real one: it is not of the scenario's memory */
		for (int i = 0; i < SPARE; i++)
			(void)psg_model_ref(loaded);
	}
	return loaded;
}

static psg_tensor *sample(void)
{
	static psg_tensor *tensor;

	if (tensor == NULL) {
		T_EXPECT(psg_tensor_create(PSG_F32, &PSG_SHAPE(1, 2), &tensor, NULL) == PSG_OK);
		for (int i = 0; i < SPARE; i++)
			(void)psg_tensor_ref(tensor);
	}
	return tensor;
}

/* --- setting up and looking back --- */

static void put(intptr_t i, int64_t deadline_ns)
{
	psg_job_options options = t_options_of(i);

	options.deadline_ns = deadline_ns;
	T_EXPECT(psg_batcher_submit(batcher, sample(), &options, &t_state->futures[i], NULL) ==
		 PSG_OK);
}

static void begin_batch(int64_t deadline_ns)
{
	psg_worker_options options = { .lane_capacity = 3 };

	t_begin_state();
	T_EXPECT(psg_worker_open("reference", &options, &t_state->worker, NULL) == PSG_OK);
	T_EXPECT(psg_batcher_open(t_state->worker, model(), NULL, &batcher, NULL) == PSG_OK);
	t_submit_detached(t_gate, 1);
	put(0, 0);
	put(1, deadline_ns);
}

/* Sample `i` ended well or, if it is the one, as `status`. */
static void check(int i, int one, psg_status status)
{
	T_EXPECT(t_state->called[i] == 1);
	T_EXPECT(t_state->status[i] == PSG_OK || (i == one && t_state->status[i] == status));
}

static void end_batch(void)
{
	T_EXPECT(psg_worker_drain(t_state->worker, -1) == PSG_OK);
	psg_worker_close(t_state->worker);
	free(t_state);
}

/* --- one ends on its way --- */

static void cancelled(const void *which)
{
	psg_batcher_stats stats;
	int one = which != NULL;

	begin_batch(0);
	t_begin();
	(void)t_open_gate(NULL);
	(void)psg_future_cancel(t_state->futures[one]);
	t_end();
	for (intptr_t i = 0; i < 2; i++) {
		(void)t_wait_and_release((void *)i);
		check((int)i, one, PSG_CANCELLED);
	}
	psg_batcher_stats_get(batcher, &stats);
	T_EXPECT(t_state->status[one] != PSG_OK || (stats.runs == 1 && stats.largest == 2));
	psg_batcher_close(batcher);
	end_batch();
}

static void late(const void *unused)
{
	(void)unused;
	begin_batch(T_FIRST_NS + T_TICK_NS / 2);
	t_begin();
	(void)t_open_gate(NULL);
	t_end();
	for (intptr_t i = 0; i < 2; i++) {
		(void)t_wait_and_release((void *)i);
		check((int)i, 1, PSG_TIMED_OUT);
	}
	psg_batcher_close(batcher);
	end_batch();
}

/* --- who holds the batcher --- */

/* Its handle goes, and the samples' slots go home: the last one frees it. */
static void let_go(const void *cancels)
{
	begin_batch(0);
	if (cancels == NULL)
		(void)t_release((void *)0);
	t_begin();
	(void)t_open_gate(NULL);
	psg_batcher_close(batcher);
	(void)t_release((void *)1);
	if (cancels != NULL)
		(void)t_release((void *)0);
	t_end();
	T_EXPECT(psg_worker_drain(t_state->worker, -1) == PSG_OK);
	for (int i = 0; i < 2; i++)
		T_EXPECT(t_state->called[i] == 1);
	end_batch();
}

static void aborted(const void *unused)
{
	(void)unused;
	begin_batch(0);
	t_begin();
	(void)t_open_gate(NULL);
	psg_worker_abort(t_state->worker);
	t_end();
	for (intptr_t i = 0; i < 2; i++) {
		(void)t_wait_and_release((void *)i);
		check((int)i, (int)i, PSG_SHUTDOWN);
	}
	psg_batcher_close(batcher);
	end_batch();
}

/* --- waiting for more; one order --- */

/* A GPU's batcher of two that has learned that others come soon, and that a run costs more. */
static void begin_waiting(void)
{
	psg_worker_options options = { .lane_capacity = 3, .stall_limit_ns = -1 };
	psg_batcher_options two = { .max_batch = 2 };

	t_begin_state();
	T_EXPECT(psg_worker_open("gpu0", &options, &t_state->worker, NULL) == PSG_OK);
	T_EXPECT(psg_batcher_open(t_state->worker, model(), &two, &batcher, NULL) == PSG_OK);
	batcher->fit = (psgi_fit){ .known = true, .base_ns = 1000.0 * T_TICK_NS, .column_ns = 1 };
	batcher->need.width = INT64_MAX; /* whose memory is known */
	for (unsigned i = 0; i < PSGI_PACE_GAPS; i++)
		batcher->pace.gap_ns[i] = T_TICK_NS;
	batcher->pace.n = PSGI_PACE_GAPS;
}

/* The one whose turn it is gives up while it waits for others; then these come, and share a run. */
static void first_gives_up(const void *unused)
{
	psg_batcher_stats stats;

	(void)unused;
	begin_waiting();
	put(0, 0);
	t_begin();
	t_end();
	T_EXPECT(psg_future_cancel(t_state->futures[0]) == PSG_CANCEL_REMOVED);
	put(1, 0);
	put(2, 0);
	for (intptr_t i = 0; i < 3; i++) {
		(void)t_wait_and_release((void *)i);
		T_EXPECT(t_state->status[i] == (i == 0 ? PSG_CANCELLED : PSG_OK));
	}
	psg_batcher_stats_get(batcher, &stats);
	T_EXPECT(stats.waits == 1 && stats.runs == 1 && stats.largest == 2);
	psg_batcher_close(batcher);
	end_batch();
}

static const t_row rows[] = {
	{ .scenario = { .name = "batch-cancelled", .run = cancelled, .arg = "" },
	  .mutants = { { "psgi_future_claim", "&future->word", T_SPLIT } },
	  .leaves = true },
	{ .scenario = { .name = "batch-first-cancelled", .run = cancelled } },
	{ .scenario = { .name = "batch-late", .run = late, .clock = true } },
	{ .scenario = { .name = "batch-let-go", .run = let_go },
	  .mutants = { { "psgi_batch_run", "&batch.batcher->holders", T_SKIPPED },
		       { "psgi_batcher_drop", "&batcher->holders", T_SPLIT } },
	  .leaves = true },
	{ .scenario = { .name = "batch-all-let-go", .run = let_go, .arg = "" } },
	{ .scenario = { .name = "batch-aborted", .run = aborted } },
	{ .scenario = { .name = "batch-waits", .run = first_gives_up, .patient = true } },
};

const t_table t_batches = { rows, T_COUNT(rows) };
