/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How a producer keeps a number of jobs in flight where the system itself does not tell it when
 * one has ended: jobs count themselves, and the one that it waits for wakes it.
 *
 * A window outlives its jobs' threads, because the last job may still look at it when the producer
 * knows already.
 */
#ifndef PSG_CLI_BENCH_JOBS_WINDOW_H
#define PSG_CLI_BENCH_JOBS_WINDOW_H

#include "cli/bench_jobs.h"

#include <semaphore.h>
#include <stdalign.h>
#include <stdlib.h>

/* Two cache lines, because processors fetch them in pairs. */
#define CLI_APART 128

typedef struct cli_window {
	/* the producer's */
	alignas(CLI_APART) uint32_t sent, known; /* jobs so far; of them known to have ended */
	/* both sides' */
	alignas(CLI_APART) _Atomic uint32_t ended;
	_Atomic uint32_t wanted; /* the number of ended jobs that the producer waits for */
	sem_t woken;
} cli_window;

/* So many of them, for cli_windows_free; NULL without memory. */
cli_window *cli_windows_create(size_t n);
void cli_windows_free(cli_window *windows, size_t n);

/* Waits until all but `in_flight` jobs have ended. */
void cli_window_await(cli_window *window, uint32_t in_flight);

/* Waits, if it must, until one more job may be sent, and counts it. */
static inline void cli_window_send(cli_window *window)
{
	if (window->sent - window->known >= CLI_JOBS_WINDOW) {
		window->known = atomic_load_explicit(&window->ended, memory_order_acquire);
		if (window->sent - window->known >= CLI_JOBS_WINDOW)
			cli_window_await(window, CLI_JOBS_WINDOW / 2);
	}
	window->sent++;
}

/* A job's last step.  Sequentially consistent, as cli_window_await: of "counts, sees what is
 * wanted" and "wants, sees the count" one sees the other. */
static inline void cli_window_end(cli_window *window)
{
	if (atomic_fetch_add(&window->ended, 1) + 1 == atomic_load(&window->wanted))
		(void)sem_post(&window->woken);
}

/* --- requests: what a peer's user allocates for each job, and frees when it has ended --- */

typedef struct cli_request {
	/* Atomic for ThreadSanitizer, which does not know the locks of the peers' libraries:
	 * release before the request is handed over, acquire in the job. */
	cli_window *_Atomic window;
	int64_t *ended_ns; /* where to note the end; NULL: nowhere */
	struct cli_request *next;
} cli_request;

/* Submits one request; when it fails, the request stays the caller's. */
typedef psg_status (*cli_submit_fn)(void *producer, cli_request *request, psg_error *error);

/* The job: notes its end, frees the request and counts. */
void cli_request_run(cli_request *request);

/* One more job; `submit` is a constant, so that the compiler sees which. */
static inline psg_status cli_window_submit(cli_window *window, void *producer, cli_submit_fn submit,
					   int64_t *ended_ns, psg_error *error)
{
	cli_request *request = malloc(sizeof(*request));
	psg_status status;

	if (request == NULL)
		return cli_fail(error, PSG_NOMEM, "no memory for a request");
	request->ended_ns = ended_ns;
	atomic_store_explicit(&request->window, window, memory_order_release);
	cli_window_send(window);
	status = submit(producer, request, error);
	if (status != PSG_OK) {
		window->sent--;
		free(request);
	}
	return status;
}

/* cli_job_system.stream and .trip of a peer. */
static inline psg_status cli_window_stream(cli_window *window, void *producer, cli_submit_fn submit,
					   const atomic_bool *stop, uint64_t *jobs,
					   psg_error *error)
{
	psg_status status = PSG_OK;

	*jobs = 0;
	while (status == PSG_OK && !atomic_load_explicit(stop, memory_order_relaxed)) {
		status = cli_window_submit(window, producer, submit, NULL, error);
		*jobs += status == PSG_OK;
	}
	cli_window_await(window, 0);
	return status;
}

static inline psg_status cli_window_trip(cli_window *window, void *producer, cli_submit_fn submit,
					 cli_trip *trip, psg_error *error)
{
	int64_t begin = psg_now_ns(), submitted, ended = 0, known;
	psg_status status = cli_window_submit(window, producer, submit, &ended, error);

	submitted = psg_now_ns();
	cli_window_await(window, 0);
	known = psg_now_ns();
	*trip = (cli_trip){ submitted - begin, known - ended, known - begin };
	return status;
}

#endif
