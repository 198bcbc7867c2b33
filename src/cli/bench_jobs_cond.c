/* SPDX-License-Identifier: Apache-2.0 */
/* For bench jobs: the queue that anybody would write first, a list under a mutex with a condition
 * variable, and one thread that takes from it. */
#include "config.h"

#include "cli/bench_jobs_window.h"

#include <pthread.h>

struct queue {
	cli_window *windows;
	size_t n;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t filled;
	/* under the lock */
	cli_request *first, *last;
	bool closing;
};

struct producer {
	struct queue *queue;
	cli_window *window;
};

static cli_request *take(struct queue *queue)
{
	cli_request *request;

	(void)pthread_mutex_lock(&queue->lock);
	while (queue->first == NULL && !queue->closing)
		(void)pthread_cond_wait(&queue->filled, &queue->lock);
	request = queue->first;
	if (request != NULL)
		queue->first = request->next;
	(void)pthread_mutex_unlock(&queue->lock);
	return request;
}

static void *serve(void *argument)
{
	cli_request *request;

	while ((request = take(argument)) != NULL)
		cli_request_run(request);
	return NULL;
}

static psg_status open_queue(size_t n, void **out, psg_error *error)
{
	struct queue *queue = malloc(sizeof(*queue));
	cli_window *windows = cli_windows_create(n);

	if (queue == NULL || windows == NULL) {
		free(queue);
		cli_windows_free(windows, n);
		return cli_fail(error, PSG_NOMEM, "no memory for a queue");
	}
	*queue = (struct queue){ .windows = windows,
				 .n = n,
				 .lock = PTHREAD_MUTEX_INITIALIZER,
				 .filled = PTHREAD_COND_INITIALIZER };
	if (pthread_create(&queue->thread, NULL, serve, queue) != 0) {
		cli_windows_free(windows, n);
		free(queue);
		return cli_fail(error, PSG_NOMEM, "no thread for a queue");
	}
	*out = queue;
	return PSG_OK;
}

static void close_queue(void *system)
{
	struct queue *queue = system;

	(void)pthread_mutex_lock(&queue->lock);
	queue->closing = true;
	(void)pthread_cond_signal(&queue->filled);
	(void)pthread_mutex_unlock(&queue->lock);
	(void)pthread_join(queue->thread, NULL);
	cli_windows_free(queue->windows, queue->n);
	free(queue);
}

static psg_status enter(void *system, size_t i, void **out, psg_error *error)
{
	struct queue *queue = system;
	struct producer *producer = malloc(sizeof(*producer));

	if (producer == NULL)
		return cli_fail(error, PSG_NOMEM, "no memory for a producer");
	*producer = (struct producer){ queue, &queue->windows[i] };
	*out = producer;
	return PSG_OK;
}

static psg_status submit(void *producer, cli_request *request, psg_error *error)
{
	struct queue *queue = ((struct producer *)producer)->queue;

	(void)error;
	request->next = NULL;
	(void)pthread_mutex_lock(&queue->lock);
	if (queue->first == NULL)
		queue->first = request;
	else
		queue->last->next = request;
	queue->last = request;
	(void)pthread_mutex_unlock(&queue->lock);
	(void)pthread_cond_signal(&queue->filled);
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

const cli_job_system cli_jobs_mutex_cond = {
	.open = open_queue,
	.close = close_queue,
	.enter = enter,
	.leave = free,
	.stream = stream,
	.trip = trip,
};
