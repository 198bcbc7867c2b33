/* SPDX-License-Identifier: Apache-2.0 */
/* A job: a future in a slot of a lane, and what is to be run. */
#ifndef PSG_JOBS_JOB_H
#define PSG_JOBS_JOB_H

#include "jobs/future.h"

struct psgi_lane;

/* Priority classes, the first is served first. */
enum { PSGI_URGENT, PSGI_NORMAL, PSGI_BACKGROUND, PSGI_RANKS };

typedef enum psgi_job_kind { PSGI_JOB_FUNCTION, PSGI_JOB_OP, PSGI_JOB_MODEL } psgi_job_kind;

/* How a job may end, for the counters. */
typedef enum psgi_outcome {
	PSGI_COMPLETED,
	PSGI_FAILED,
	PSGI_CANCELLED,
	PSGI_EXPIRED,
	PSGI_OUTCOMES,
} psgi_outcome;

/* Tensors that fit into the slot; a model with more takes memory for them. */
#define PSGI_SLOT_TENSORS 16

/* A function job touches only what is before the union and its two words in it. */
typedef struct psgi_job {
	psg_future future; /* first: a future of the slot class is its job */
	struct psgi_lane *lane;
	struct psgi_job *next; /* in the one list that the slot is in */
	uint8_t rank, kind;
	bool cpu_fallback;
	uint32_t number; /* of the lane's jobs, from 0; for who observes */
	union {
		struct {
			psg_job_fn fn;
			void *arg;
		} function;
		psg_op op;
		struct {
			psg_model *model;
			psg_tensor **in; /* `few`, or allocated */
			size_t n_in;
			psg_tensor *few[PSGI_SLOT_TENSORS];
		} model;
	};
	psg_tensor **out; /* `few_out`, or allocated; set by the run */
	size_t n_out;
	psg_tensor *few_out[PSGI_SLOT_TENSORS];
	struct psgi_job *child; /* in a heap (heap.h) */
} psgi_job;

/* Of a model run: the first dimension of its first input; 1 where it has none. */
int64_t psgi_job_samples(const psgi_job *job);

/* Drops what the job reads: once, by whoever completes it. */
void psgi_job_drop_inputs(psgi_job *job);

/* Runs a claimed job; fills its outputs.  OK with a message in `error`: the CPU did it, and this is
 * why. */
struct psg_worker;
psg_status psgi_job_run(psgi_job *job, struct psg_worker *worker, psgi_outcome *outcome,
			psg_error *error);

/*
 * Ends a claimed job that never ran, away from its worker, whose memory it does
 * not touch: the worker may be closing.  `message` is a literal.  Drops one hold.
 */
void psgi_job_end_unrun(psgi_job *job, psgi_outcome outcome, psg_status status,
			const char *message);

extern const psgi_future_class psgi_job_class;

/* Of a job that a shutdown ended. */
extern const char psgi_unstarted_message[];

static inline psgi_job *psgi_job_of(psg_future *future)
{
	return (psgi_job *)future;
}

#endif
