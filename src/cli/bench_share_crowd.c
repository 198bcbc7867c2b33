/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of bench share: a flood, clients that wait, and clients that do not. */
#include "config.h"

#include "cli/bench_share.h"

/* --- many at once --- */

static void *run_member(void *argument)
{
	cli_crowd *crowd = argument;
	psg_error error = PSG_ERROR_INIT;
	psg_status status = crowd->member(crowd, crowd->user, &error);

	if (status == PSG_OK)
		return NULL;
	(void)pthread_mutex_lock(&crowd->lock);
	if (crowd->status == PSG_OK) {
		crowd->status = status;
		crowd->error = error;
	}
	(void)pthread_mutex_unlock(&crowd->lock);
	return NULL;
}

psg_status cli_crowd_start(cli_crowd *crowd, size_t n, cli_crowd_fn member, void *user,
			   psg_error *error)
{
	*crowd = (cli_crowd){ .member = member, .user = user, .lock = PTHREAD_MUTEX_INITIALIZER };
	while (crowd->n < n &&
	       pthread_create(&crowd->threads[crowd->n], NULL, run_member, crowd) == 0)
		crowd->n++;
	return crowd->n == n ? PSG_OK
			     : cli_fail(error, PSG_NOMEM, "no thread for client %zu of %zu",
					crowd->n + 1, n);
}

/* Relaxed: nothing else depends on it. */
bool cli_crowd_stops(const cli_crowd *crowd)
{
	return atomic_load_explicit(&crowd->stop, memory_order_relaxed);
}

void cli_crowd_tell(cli_crowd *crowd)
{
	atomic_store_explicit(&crowd->stop, true, memory_order_relaxed);
}

psg_status cli_crowd_join(cli_crowd *crowd, psg_error *error)
{
	for (size_t i = 0; i < crowd->n; i++)
		(void)pthread_join(crowd->threads[i], NULL);
	crowd->n = 0;
	if (crowd->status != PSG_OK)
		*error = crowd->error;
	return crowd->status;
}

/* --- a flood --- */

/* In the end those that still wait are dropped, and do not run. */
psg_status cli_flood_member(cli_crowd *crowd, void *user, psg_error *error)
{
	const cli_flood *flood = user;
	psg_future *lines[CLI_FLOOD_LINES] = { NULL };
	psg_status status = PSG_OK;

	for (size_t i = 0; status == PSG_OK && !cli_crowd_stops(crowd);
	     i = (i + 1) % CLI_FLOOD_LINES) {
		psg_future *oldest = lines[i];

		lines[i] = NULL;
		if (oldest != NULL)
			status = cli_bench_finish(oldest, error);
		if (status == PSG_OK)
			status = psg_batcher_submit(flood->batcher, flood->line, NULL, &lines[i],
						    error);
	}
	for (size_t i = 0; i < CLI_FLOOD_LINES; i++)
		psg_future_release(lines[i]);
	return status;
}

/* --- those who wait --- */

static void count(atomic_uint_fast64_t *lines)
{
	atomic_fetch_add_explicit(lines, 1, memory_order_relaxed);
}

psg_status cli_patient_member(cli_crowd *crowd, void *user, psg_error *error)
{
	cli_office *office = user;
	psg_status status = PSG_OK;

	while (status == PSG_OK && !cli_crowd_stops(crowd)) {
		psg_future *future;

		status = psg_batcher_submit(office->batcher, office->line, NULL, &future, error);
		if (status == PSG_OK)
			status = cli_bench_finish(future, error);
		if (status != PSG_OK)
			break;
		count(&office->served);
		if (office->invites)
			(void)sem_post(&office->invited);
	}
	return status;
}

/* --- those who do not --- */

/* Leaves when the patience ends; was the line still in the queue?  Else it was too soon for that:
 * it ran, or runs. */
static bool leave(psg_future *future, int64_t patience_ns)
{
	return psg_future_wait_for(future, patience_ns) == PSG_TIMED_OUT &&
	       psg_future_cancel(future) == PSG_CANCEL_REMOVED;
}

/* As above, of a line whose deadline ends it. */
static bool expires(psg_future *future)
{
	psg_future_times times;
	psg_status status = psg_future_wait(future);

	psg_future_times_get(future, &times);
	return status == PSG_TIMED_OUT && times.started_ns == 0;
}

static psg_status come(cli_office *office, bool has_deadline, psg_error *error)
{
	psg_job_options options = { .deadline_ns =
					    has_deadline ? psg_now_ns() + office->patience_ns : 0 };
	psg_future *future;
	psg_status status =
		psg_batcher_submit(office->batcher, office->line, &options, &future, error);
	bool left;

	if (status != PSG_OK)
		return status;
	left = has_deadline ? expires(future) : leave(future, office->patience_ns);
	count(left ? &office->abandoned : &office->too_soon);
	if (psg_future_poll(future) == PSG_FUTURE_DONE)
		status = psg_future_error(future, error);
	psg_future_release(future);
	return status == PSG_CANCELLED || status == PSG_TIMED_OUT ? PSG_OK : status;
}

psg_status cli_impatient_member(cli_crowd *crowd, void *user, psg_error *error)
{
	cli_office *office = user;
	bool has_deadline =
		atomic_fetch_add_explicit(&office->comers, 1, memory_order_relaxed) % 2 != 0;
	psg_status status = PSG_OK;

	while (status == PSG_OK) {
		while (sem_wait(&office->invited) != 0)
			; /* a signal */
		if (cli_crowd_stops(crowd))
			break;
		status = come(office, has_deadline, error);
	}
	return status;
}
