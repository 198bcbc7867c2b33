/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "jobs/observe.h"

#include "base/probe.h"
#include "base/trace.h"
#include "jobs/jobs.h"
#include "jobs/worker.h"
#include "model/model.h"

#include <inttypes.h>
#include <stdio.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* The worker's number in the process. */
static uint32_t worker_of(const psgi_job *job)
{
	return (uint32_t)job->lane->serial;
}

/* What it runs, for people. */
static const char *name_of(const psgi_job *job)
{
	switch ((psgi_job_kind)job->kind) {
	case PSGI_JOB_FUNCTION:
	case PSGI_JOB_DETACHED:
		return "function";
	case PSGI_JOB_OP:
		return psg_op_name(psgi_extra_of(job)->op.kind);
	case PSGI_JOB_MODEL:
	case PSGI_JOB_SAMPLE:
		return psgi_model_name(psgi_job_model(job));
	}
	return "";
}

static const char *const kind_names[] = { [PSGI_JOB_FUNCTION] = "function",
					  [PSGI_JOB_DETACHED] = "function",
					  [PSGI_JOB_OP] = "operator",
					  [PSGI_JOB_MODEL] = "model",
					  [PSGI_JOB_SAMPLE] = "sample" };

static const char *kind_of(const psgi_job *job)
{
	return kind_names[job->kind];
}

static bool runs_model(const psgi_job *job)
{
	return job->kind == PSGI_JOB_MODEL || job->kind == PSGI_JOB_SAMPLE;
}

/* The same on both sides; 12 bits of the worker, 20 of the lane, 32 of the job. */
static uint64_t arrow_of(const psgi_job *job)
{
	return (uint64_t)worker_of(job) << 52 | (uint64_t)(job->lane->index & 0xfffff) << 32 |
	       job->future.sequence;
}

/* --- submitting --- */

/* The arrow needs a span to begin in, which has some length. */
static void trace_submit(const psg_worker *worker, const psgi_job *job)
{
	const psgi_trace_arg args[] = { { "kind", kind_of(job), 0 },
					{ "worker", worker->name, 0 },
					{ "lane", NULL, job->lane->index },
					{ "job", NULL, job->future.sequence } };
	int64_t begin = atomic_load_explicit(&job->future.queued_ns, memory_order_relaxed);
	int64_t end = psg_now_ns();
	char name[96];

	if (begin == 0) /* the trace began just now */
		begin = end;
	(void)snprintf(name, sizeof(name), "submit %s", name_of(job));
	psgi_trace_span("submit", name, begin, end > begin ? end : begin + 1, args, COUNT(args));
	psgi_trace_arrow_begin(arrow_of(job), begin);
}

/* The newest job's number: it was counted before. */
static uint32_t newest(const psgi_lane *lane)
{
	return (uint32_t)atomic_load_explicit(&lane->accepted, memory_order_relaxed) - 1;
}

void psgi_observe_submit(const psg_worker *worker, psgi_job *job)
{
	const psgi_lane *lane = job->lane;

	job->future.sequence = newest(lane);
	PSGI_PROBE4(job__submit, worker_of(job), lane->index, job->future.sequence, job->kind);
	if (psgi_tracing())
		trace_submit(worker, job);
}

void psgi_observe_submit_detached(const psgi_lane *lane)
{
	PSGI_PROBE4(job__submit, (uint32_t)lane->serial, lane->index, newest(lane),
		    PSGI_JOB_DETACHED);
}

/* --- running --- */

void psgi_observe_start_together(const psgi_job *job)
{
	PSGI_PROBE4(job__start, worker_of(job), job->lane->index, job->future.sequence, job->kind);
}

void psgi_observe_start(const psg_worker *worker, const psgi_job *job)
{
	psgi_observe_start_together(job);
	if (runs_model(job))
		PSGI_PROBE3(batch__run, (uint32_t)worker->lanes.serial,
			    psgi_model_name(psgi_job_model(job)), psgi_job_samples(job));
}

static void note_tensors(psgi_job_stats *stats, const psgi_job *job)
{
	psg_tensor *const *in = psgi_extra_of(job)->op.in;
	size_t n = psgi_extra_of(job)->op.n_in;

	if (job->kind != PSGI_JOB_OP)
		in = psgi_job_inputs(job, &n);
	psgi_histogram_note(&stats->bytes_in, psgi_tensors_bytes(in, n));
	psgi_histogram_note(&stats->bytes_out,
			    psgi_tensors_bytes(psgi_extra_of(job)->out, psgi_extra_of(job)->n_out));
}

/* At most so often, because looking at a worker's load costs a look at each lane; chosen. */
#define COUNTER_NS PSG_MILLISECOND

static void trace_counters(psg_worker *worker, int64_t now_ns)
{
	const psgi_executor *executor = worker->executor;
	psgi_trace_arg jobs[] = { { "queued", NULL, 0 } };
	psgi_trace_arg memory[] = { { "used", NULL, 0 }, { "held", NULL, 0 } };
	char name[128];

	if (now_ns - worker->stats.counted_ns < COUNTER_NS)
		return;
	worker->stats.counted_ns = now_ns;
	jobs[0].number = (int64_t)psgi_worker_load(worker);
	(void)snprintf(name, sizeof(name), "jobs of %.15s (%" PRIu32 ")", worker->name,
		       (uint32_t)worker->lanes.serial);
	psgi_trace_counter(name, now_ns, jobs, COUNT(jobs));
	if (executor->info.kind == PSG_DEVICE_CPU)
		return;
	memory[0].number =
		(int64_t)atomic_load_explicit(&executor->memory_used, memory_order_relaxed);
	memory[1].number =
		(int64_t)atomic_load_explicit(&executor->memory_held, memory_order_relaxed) -
		memory[0].number;
	(void)snprintf(name, sizeof(name), "memory of %s", executor->info.name);
	psgi_trace_counter(name, now_ns, memory, COUNT(memory));
}

/* From the end of the one before, where it was started beside that: spans of one thread may lie in
 * each other, but not overlap. */
static void trace_ran(psg_worker *worker, const psgi_job *job, psgi_outcome outcome,
		      psg_status status, int64_t started, int64_t ns, int64_t now_ns)
{
	static const char *const outcomes[] = { [PSGI_COMPLETED] = "completed",
						[PSGI_FAILED] = "failed",
						[PSGI_CANCELLED] = "cancelled",
						[PSGI_EXPIRED] = "expired" };
	int64_t queued = atomic_load_explicit(&job->future.queued_ns, memory_order_relaxed);
	psgi_trace_arg args[] = { { "kind", kind_of(job), 0 },
				  { "worker", worker->name, 0 },
				  { "lane", NULL, job->lane->index },
				  { "job", NULL, job->future.sequence },
				  { "wait_ns", NULL, queued != 0 ? started - queued : 0 },
				  { "outcome", outcomes[outcome], 0 },
				  { "status", psg_status_name(status), 0 },
				  { "samples", NULL, 0 } };
	bool is_model = runs_model(job);

	args[COUNT(args) - 1].number = is_model ? psgi_job_samples(job) : 0;
	psgi_trace_span("job", name_of(job), now_ns - ns, now_ns, args,
			is_model ? COUNT(args) : COUNT(args) - 1);
	psgi_trace_arrow_end(arrow_of(job), now_ns - ns);
	trace_counters(worker, now_ns);
}

static void count_device(psg_worker *worker, int64_t ns, uint32_t jobs)
{
	psgi_count_more(&worker->executor->jobs, jobs);
	psgi_count_more(&worker->executor->busy_ns, (uint64_t)ns);
}

void psgi_observe_unseen(psg_worker *worker, int64_t ns, uint32_t jobs)
{
	psgi_histogram_note_all(&worker->stats.run_ns, (uint64_t)ns / jobs, jobs);
	count_device(worker, ns, jobs);
}

/* What is each job's own. */
static void note_job(psgi_job_stats *stats, const psgi_job *job, int64_t started, int64_t ns)
{
	int64_t queued = atomic_load_explicit(&job->future.queued_ns, memory_order_relaxed);

	if (queued != 0)
		psgi_histogram_note(&stats->wait_ns, (uint64_t)(started - queued));
	psgi_histogram_note(&stats->run_ns, (uint64_t)ns);
	if (job->kind != PSGI_JOB_FUNCTION)
		note_tensors(stats, job);
}

void psgi_observe_ran(psg_worker *worker, const psgi_job *job, psgi_outcome outcome,
		      psg_status status, int64_t ns, int64_t now_ns)
{
	psgi_job_stats *stats = &worker->stats;
	int64_t started = atomic_load_explicit(&job->future.started_ns, memory_order_relaxed);

	note_job(stats, job, started, ns);
	if (runs_model(job))
		psgi_histogram_note(&stats->samples, (uint64_t)psgi_job_samples(job));
	count_device(worker, ns, 1);
	if (psgi_tracing())
		trace_ran(worker, job, outcome, status, started, ns, now_ns);
}

/* --- running together --- */

void psgi_observe_batch_start(const psg_worker *worker, const psgi_observed_batch *batch)
{
	PSGI_PROBE3(batch__run, (uint32_t)worker->lanes.serial, psgi_model_name(batch->model),
		    batch->samples);
}

static void trace_batch(psg_worker *worker, const psgi_observed_batch *batch, psg_status status,
			int64_t ns, int64_t now_ns)
{
	const psgi_trace_arg args[] = { { "kind", kind_names[PSGI_JOB_SAMPLE], 0 },
					{ "worker", worker->name, 0 },
					{ "samples", NULL, (int64_t)batch->samples },
					{ "empty", NULL, (int64_t)(batch->size - batch->samples) },
					{ "elements", NULL, batch->elements },
					{ "status", psg_status_name(status), 0 } };

	psgi_trace_span("job", psgi_model_name(batch->model), now_ns - ns, now_ns, args,
			COUNT(args));
	trace_counters(worker, now_ns);
}

void psgi_observe_batch(psg_worker *worker, const psgi_observed_batch *batch, psg_status status,
			int64_t ns, int64_t now_ns)
{
	psgi_histogram_note(&worker->stats.samples, batch->samples);
	count_device(worker, ns, 0);
	if (psgi_tracing())
		trace_batch(worker, batch, status, ns, now_ns);
}

/* In a trace its arrow leads to the batch. */
void psgi_observe_ran_together(psg_worker *worker, const psgi_job *job, int64_t ns, int64_t now_ns)
{
	int64_t started = atomic_load_explicit(&job->future.started_ns, memory_order_relaxed);

	note_job(&worker->stats, job, started, ns);
	count_device(worker, 0, 1);
	if (psgi_tracing())
		psgi_trace_arrow_end(arrow_of(job), started > now_ns - ns ? started : now_ns - ns);
}

/* --- ending --- */

void psgi_observe_done(const psgi_job *job, psg_status status)
{
	PSGI_PROBE4(job__done, worker_of(job), job->lane->index, job->future.sequence, (int)status);
}
