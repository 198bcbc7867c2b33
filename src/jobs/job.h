/* SPDX-License-Identifier: Apache-2.0 */
/* A job: a future in a slot of a lane, and what is to be run. */
#ifndef PSG_JOBS_JOB_H
#define PSG_JOBS_JOB_H

#include "jobs/future.h"

#include <stdalign.h>
#include <stddef.h>

struct psgi_lane;
struct psgi_started;
struct psg_worker;

/* Priority classes, the first is served first. */
enum { PSGI_URGENT, PSGI_NORMAL, PSGI_BACKGROUND, PSGI_RANKS };

/*
 * A detached one is a function that nobody can wait for, ask, cancel or be told
 * of, of normal rank and without a deadline: only its worker knows it.  So it needs
 * no states and no slot, but goes through the lane's ring as it is.
 */
typedef enum psgi_job_kind {
	PSGI_JOB_FUNCTION, /* numbered as base/probe.h tells */
	PSGI_JOB_OP,
	PSGI_JOB_MODEL,
	PSGI_JOB_DETACHED,
	PSGI_JOB_SAMPLE /* of a batcher; alone it is a model run of one input */
} psgi_job_kind;

/* How a job may end, for the counters. */
typedef enum psgi_outcome {
	PSGI_COMPLETED,
	PSGI_FAILED,
	PSGI_CANCELLED,
	PSGI_EXPIRED,
	PSGI_OUTCOMES,
	PSGI_MOVES = PSGI_OUTCOMES, /* it does not: it goes on to another device of its fleet */
} psgi_outcome;

/* Tensors that fit into the slot; a model with more takes memory for them. */
#define PSGI_SLOT_TENSORS 16

#define PSGI_CACHE_LINE 64

/*
 * A slot.  A function job without options touches the first cache line, and its
 * worker alone the second.
 */
typedef struct psgi_job {
	alignas(PSGI_CACHE_LINE) struct psgi_lane *lane;
	union {
		psg_job_fn fn;         /* of a function, as the next one */
		struct psgi_job *next; /* in the lane's stack of returned slots */
	};
	void *arg;
	uint32_t number; /* of the slot in its lane */
	uint8_t rank, kind;
	bool cpu_fallback;
	bool has_options; /* one of the future's fields for them is not as in a free slot */
	psg_future future;
} psgi_job;

_Static_assert(offsetof(psgi_job, future.started_ns) == PSGI_CACHE_LINE &&
		       sizeof(psgi_job) == 2 * PSGI_CACHE_LINE,
	       "the parts of a job lie in the cache lines that are meant");

/*
 * What a job has beside its slot when it is no function or goes by its deadline.
 * In an array of its own, so that slots of functions lie close together: with
 * many lanes it is pages that the processor must look up.
 */
typedef struct psgi_extra {
	union {
		psg_op op;
		struct {
			psg_model *model;
			psg_tensor **in; /* `few`, or allocated */
			size_t n_in;
			psg_tensor *few[PSGI_SLOT_TENSORS];
		} model;
		struct {
			struct psg_batcher *batcher; /* held until the slot goes home */
			psg_tensor *in;
			/* Of `in`, which goes when the job ends: who looks at those that wait does
			 * not know whether one has.  `axis`: of its valid width; 0: it has none. */
			psg_shape shape;
			int32_t axis;
		} sample;
	};
	uint64_t bytes;   /* of its inputs, as its lane counted them */
	psg_tensor **out; /* `few_out`, or allocated; set by the run */
	size_t n_out;
	psg_tensor *few_out[PSGI_SLOT_TENSORS];
	psgi_job *next, *child; /* in a heap (heap.h), or on the way to another worker (move.c) */
	/* Of a fleet's: the member that has it (others may ask while it moves), what it is expected
	 * to take there, and its kind (route.c). */
	struct psgi_member *_Atomic member;
	int64_t cost_ns;
	uint64_t route_kind;
} psgi_extra;

/* Makes the slot's options those of a free one: submissions write only what differs. */
void psgi_job_clear_options(psgi_job *job);

/* Its model and inputs; of a model run or a sample. */
struct psg_model *psgi_job_model(const psgi_job *job);
psg_tensor *const *psgi_job_inputs(const psgi_job *job, size_t *n);

/* Of such a one: the first dimension of its first input; 1 where it has none. */
int64_t psgi_job_samples(const psgi_job *job);

/* Of all of them; some may be NULL. */
uint64_t psgi_tensors_bytes(psg_tensor *const *tensors, size_t n);

/* Drops what the job reads: once, by whoever completes it. */
void psgi_job_drop_inputs(psgi_job *job);

/* Runs a claimed job; fills its outputs.  OK with a message in `error`: the CPU did it, and this is
 * why.  `*outcome` may be PSGI_MOVES. */
psg_status psgi_job_run(psgi_job *job, struct psg_worker *worker, psgi_outcome *outcome,
			psg_error *error);

/*
 * A model run or sample in two (model/start.h): what comes of it is then for psgi_job_judge, which
 * may send it to another device or do it on the CPU, as psgi_job_run does.  While it is being
 * started, the run before it may end.
 */
psg_status psgi_job_start(psgi_job *job, struct psg_worker *worker, struct psgi_started *started,
			  psgi_outcome *outcome, psg_error *error);
psg_status psgi_job_finish(psgi_job *job, struct psg_worker *worker, struct psgi_started *started,
			   psgi_outcome *outcome, psg_error *error);
psg_status psgi_job_judge(psgi_job *job, struct psg_worker *worker, psg_status status,
			  psgi_outcome *outcome, psg_error *error);

/* Must a claimed job stop while it runs, and why?  OK: it may go on. */
psg_status psgi_job_wants_stop(const psgi_job *job, const struct psg_worker *worker, int64_t now_ns,
			       psgi_outcome *outcome);

/* What is told of one that was stopped; returns `status`. */
psg_status psgi_job_stopped(psg_status status, psg_error *error);

/*
 * Ends a claimed job away from the worker of its lane, on any thread; drops one hold.  All of that
 * worker's memory that is touched is touched before the lane counts the end.
 */
void psgi_job_end_away(psgi_job *job, psgi_outcome outcome, psg_status status, int64_t now_ns);

/* The same of one that still runs, whose inputs are the executor's to drop. */
void psgi_job_end_taken(psgi_job *job, psgi_outcome outcome, psg_status status, int64_t now_ns);

/*
 * As psgi_job_end_away, of one that never ran, away from its worker, which may be
 * closing.  `message` is a literal.
 */
void psgi_job_end_unrun(psgi_job *job, psgi_outcome outcome, psg_status status,
			const char *message);

extern const psgi_future_class psgi_job_class;

/* Of a job that a shutdown ended. */
extern const char psgi_unstarted_message[];

static inline psgi_job *psgi_job_of(psg_future *future)
{
	return (psgi_job *)(void *)((char *)future - offsetof(psgi_job, future));
}

#endif
