/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs in flight: a GPU does one while the executor's thread starts the next.
 *
 * At most two, because the card needs no more: one that it does, and one behind it, which it begins
 * without a pause.  More would make each wait longer, and hold more memory.  So one is pending,
 * started and not ended; when the next has been started, it is ended, and that one is pending.
 * While it is being started, the pending one ends as soon as the card has done it.
 *
 * Only model runs and batches on a GPU are started ahead of time.  Before anything else is done,
 * and before the thread sleeps, the pending one is ended; so a lane's jobs end in their order.
 *
 * A run that failed is not ended while the next one is being started, because it may be done again,
 * and that wants the device's plans.
 */
#ifndef PSG_JOBS_FLIGHT_H
#define PSG_JOBS_FLIGHT_H

#include "jobs/choice.h"
#include "jobs/job.h"
#include "model/start.h"

/* As the comment above says. */
#define PSGI_FLIGHTS 2

struct psgi_executor;

/* Of the executor's thread. */
typedef struct psgi_flight {
	struct psg_worker *worker;
	struct psg_batcher *batcher;     /* which it holds; NULL: one job, by itself */
	psgi_job *jobs[PSGI_BATCH_MOST]; /* NULL: it has ended */
	size_t n, left;                  /* jobs; that have not ended */
	size_t size;                     /* of the batch, with empty samples */
	int64_t width;                   /* elements of each of them */
	int64_t started_ns;
	psgi_started run;
	bool is_down; /* it has been waited for: with this status, outcome and error */
	psg_status status;
	psgi_outcome outcome;
	psg_error error;
	psg_tensor *out[PSGI_SLOT_TENSORS]; /* of a batch that is down */
	size_t n_out;
} psgi_flight;

/* May runs of this worker be started ahead of time? */
bool psgi_flight_may(const struct psgi_executor *executor, const struct psg_worker *worker);

/* Is a run of this worker in flight? */
bool psgi_flight_is_of(const struct psgi_executor *executor, const struct psg_worker *worker);

/* All fields but the jobs and what the run fills in. */
void psgi_flight_clear(psgi_flight *flight, struct psg_worker *worker);

/* A cleared one, to be started: its jobs, `n`, `left` and `started_ns` are set before it runs. */
psgi_flight *psgi_flight_begin(struct psgi_executor *executor, struct psg_worker *worker);

/* It was started, or failed to be, as its status says: it is pending, or has ended.  The one before
 * it has ended. */
void psgi_flight_launched(struct psgi_executor *executor, psgi_flight *flight);

/* For who is being started: ends the pending run if that need not be waited for. */
void psgi_flight_poll(struct psgi_executor *executor);

/* The same, and waits; false: none was in flight. */
bool psgi_flight_settle(struct psgi_executor *executor);

/* Ends the pending run and, if it failed, does what is to be done then; false: there was none. */
bool psgi_flight_land(struct psgi_executor *executor);

/* For how long a run that was started then, and ends now, had the device: since the one before it
 * ended. */
int64_t psgi_flight_ns(const struct psgi_executor *executor, int64_t started_ns, int64_t now_ns);

#endif
