/* SPDX-License-Identifier: Apache-2.0 */
/* Windows: waiting for jobs that count themselves. */
#include "config.h"

#include "cli/bench_jobs_window.h"

cli_window *cli_windows_create(size_t n)
{
	cli_window *windows = aligned_alloc(CLI_APART, n * sizeof(*windows));

	if (windows == NULL)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		windows[i] = (cli_window){ .sent = 0 };
		(void)sem_init(&windows[i].woken, 0, 0); /* 0 fits: it cannot fail */
	}
	return windows;
}

void cli_windows_free(cli_window *windows, size_t n)
{
	for (size_t i = 0; windows != NULL && i < n; i++)
		(void)sem_destroy(&windows[i].woken);
	free(windows);
}

/* A job may post for a number that was reached before this wait: what counts is the number. */
void cli_window_await(cli_window *window, uint32_t in_flight)
{
	uint32_t target = window->sent - in_flight;

	atomic_store(&window->wanted, target);
	while ((int32_t)((window->known = atomic_load(&window->ended)) - target) < 0)
		(void)sem_wait(&window->woken);
}

void cli_request_run(cli_request *request)
{
	cli_window *window = atomic_load_explicit(&request->window, memory_order_acquire);
	int64_t *ended_ns = request->ended_ns;

	free(request);
	if (ended_ns != NULL)
		*ended_ns = psg_now_ns();
	cli_window_end(window);
}
