/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What `pagesift-gpu bench jobs` compares: systems that take jobs from many threads and run them
 * on one, seen through one table of calls each.
 *
 * All run the same job, which does nothing but what lets its producer keep the same number of them
 * in flight: count itself, where the system does not do that.  So a difference is the system's own.
 */
#ifndef PSG_CLI_BENCH_JOBS_H
#define PSG_CLI_BENCH_JOBS_H

#include "cli/bench.h"

#include <stdatomic.h>

/*
 * Jobs that a producer may have in flight.  One that reaches it waits until half of them have
 * ended, so that each system wakes it once in so many jobs.  Chosen: far more than any of them
 * needs to stay busy.
 */
#define CLI_JOBS_WINDOW 256

/* Producers at once.  Chosen: a loop of libuv takes four of the 1,024 files that a process has by
 * default. */
#define CLI_JOBS_PRODUCERS 128

/* A round trip's nanoseconds. */
typedef struct cli_trip {
	int64_t submit;     /* until the submission returned */
	int64_t completion; /* from the end of the job until its producer knew */
	int64_t total;      /* from the submission until its producer knew */
} cli_trip;

typedef struct cli_samples {
	double *at; /* borrowed */
	size_t n, room;
} cli_samples;

/* A producer is one thread; `enter` to `leave` are called by it, and its jobs have ended between
 * any two of these calls. */
typedef struct cli_job_system {
	/* For producers 0 to n - 1. */
	psg_status (*open)(size_t n, void **out, psg_error *error);
	void (*close)(void *system);
	psg_status (*enter)(void *system, size_t i, void **producer, psg_error *error);
	void (*leave)(void *producer);
	/* Submits until told to stop; says how many jobs, also when it fails. */
	psg_status (*stream)(void *producer, const atomic_bool *stop, uint64_t *jobs,
			     psg_error *error);
	/* Submits one and waits for it; NULL: there is nothing to wait for. */
	psg_status (*trip)(void *producer, cli_trip *trip, psg_error *error);
	/* As `stream`, but notes the nanoseconds of one submission in CLI_JOBS_STRIDE; NULL: of
	 * ours only. */
	psg_status (*timed)(void *producer, const atomic_bool *stop, cli_samples *ns,
			    psg_error *error);
} cli_job_system;

/* Chosen: reading the clock then hardly changes the stream that it is to show. */
#define CLI_JOBS_STRIDE 8

extern const cli_job_system cli_jobs_ours, cli_jobs_ours_detached, cli_jobs_gthreadpool,
	cli_jobs_uv, cli_jobs_mutex_cond;

/* --- results --- */

/* The columns, as the systems above. */
enum { CLI_OURS, CLI_OURS_DETACHED, CLI_GTHREADPOOL, CLI_UV, CLI_MUTEX_COND, CLI_JOB_SYSTEMS };

typedef struct cli_spread {
	double p50, p99, p99_9, most; /* NAN: nothing was measured */
	size_t n;
} cli_spread;

enum { CLI_WORKER_IDLE, CLI_WORKER_AWAKE, CLI_WORKER_STATES };
enum { CLI_TRIP_TOTAL, CLI_TRIP_SUBMIT, CLI_TRIP_COMPLETION, CLI_TRIP_PARTS };

/* All that was measured with one number of producers. */
typedef struct cli_jobs_result {
	size_t producers;
	double rate[CLI_JOB_SYSTEMS]; /* jobs a second; NAN: this build has not that system */
	cli_spread submit;            /* of ours, nanoseconds */
	cli_spread trip[CLI_WORKER_STATES][CLI_JOB_SYSTEMS][CLI_TRIP_PARTS]; /* nanoseconds */
} cli_jobs_result;

typedef struct cli_job_column {
	const char *key, *title;      /* in JSON, in tables */
	const cli_job_system *system; /* NULL: this build has it not */
	bool trips;                   /* one can wait for its jobs */
} cli_job_column;

extern const cli_job_column cli_job_columns[CLI_JOB_SYSTEMS];

/* Fills in the results, whose `producers` are set, in so many rounds. */
psg_status cli_jobs_measure(cli_jobs_result *results, size_t n, size_t rounds, psg_error *error);

cli_exit cli_bench_jobs_print(const cli_jobs_result *results, size_t n, size_t rounds, bool json);

#endif
