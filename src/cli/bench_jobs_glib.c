/* SPDX-License-Identifier: Apache-2.0 */
/* For bench jobs: GLib's GThreadPool of one thread that is its own. */
#include "config.h"

#include "cli/bench_jobs_window.h"

#include <glib.h>

struct pool {
	cli_window *windows;
	size_t n;
	GThreadPool *threads;
	atomic_bool over;
};

struct producer {
	struct pool *pool;
	cli_window *window;
};

/* What is asked last is asked with the pool itself. */
static void serve(gpointer request, gpointer user)
{
	struct pool *pool = user;

	if (request != user)
		cli_request_run(request);
	else
		atomic_store_explicit(&pool->over, true, memory_order_release);
}

/* Takes the reason out of GLib's hands. */
static psg_status refuse(GError *reason, psg_error *error)
{
	cli_set_error(error, PSG_NOMEM, "GThreadPool: %.300s",
		      reason != NULL ? reason->message : "no reason given");
	g_clear_error(&reason);
	return PSG_NOMEM;
}

static psg_status open_pool(size_t n, void **out, psg_error *error)
{
	GError *reason = NULL;
	struct pool *pool = calloc(1, sizeof(*pool));
	cli_window *windows = cli_windows_create(n);

	if (pool == NULL || windows == NULL) {
		free(pool);
		cli_windows_free(windows, n);
		return cli_fail(error, PSG_NOMEM, "no memory for a pool");
	}
	pool->windows = windows;
	pool->n = n;
	pool->threads = g_thread_pool_new(serve, pool, 1, TRUE, &reason);
	if (pool->threads == NULL || reason != NULL) {
		if (pool->threads != NULL)
			g_thread_pool_free(pool->threads, TRUE, TRUE);
		cli_windows_free(windows, n);
		free(pool);
		return refuse(reason, error);
	}
	*out = pool;
	return PSG_OK;
}

/*
 * GLib waits for its thread.  ThreadSanitizer does not see how, as GLib's locks are calls of the
 * kernel: for it the thread's last word is acquired here.
 */
static void close_pool(void *system)
{
	struct pool *pool = system;

	(void)g_thread_pool_push(pool->threads, pool, NULL);
	g_thread_pool_free(pool->threads, FALSE, TRUE);
	(void)atomic_load_explicit(&pool->over, memory_order_acquire);
	cli_windows_free(pool->windows, pool->n);
	free(pool);
}

static psg_status enter(void *system, size_t i, void **out, psg_error *error)
{
	struct pool *pool = system;
	struct producer *producer = malloc(sizeof(*producer));

	if (producer == NULL)
		return cli_fail(error, PSG_NOMEM, "no memory for a producer");
	*producer = (struct producer){ pool, &pool->windows[i] };
	*out = producer;
	return PSG_OK;
}

/* Fails only for want of a thread, which is there: then GLib has the request nevertheless. */
static psg_status submit(void *producer, cli_request *request, psg_error *error)
{
	(void)error;
	(void)g_thread_pool_push(((struct producer *)producer)->pool->threads, request, NULL);
	return PSG_OK;
}

static psg_status stream(void *producer, const atomic_bool *stop, uint64_t *jobs, psg_error *error)
{
	cli_window *window = ((struct producer *)producer)->window;

	return cli_window_stream(window, producer, submit, stop, jobs, error);
}

static psg_status trip(void *producer, cli_trip *out, psg_error *error)
{
	cli_window *window = ((struct producer *)producer)->window;

	return cli_window_trip(window, producer, submit, out, error);
}

const cli_job_system cli_jobs_gthreadpool = {
	.open = open_pool,
	.close = close_pool,
	.enter = enter,
	.leave = free,
	.stream = stream,
	.trip = trip,
};
