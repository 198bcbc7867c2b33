/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/schedules/jobs.h"

#include "jobs/futex.h"

t_state_of_jobs *t_state;

void t_begin_state(void)
{
	t_state = calloc(1, sizeof(*t_state));
}

/* --- counting --- */

void t_wait_for(_Atomic uint32_t *count, uint32_t least)
{
	struct timespec never = psgi_timespec(PSGI_NEVER);
	uint32_t now;

	while ((now = atomic_load(count)) < least)
		(void)psgi_futex_wait(count, now, &never);
}

void t_count_one(_Atomic uint32_t *count)
{
	atomic_fetch_add(count, 1);
	psgi_futex_wake(count);
}

void *t_open_gate(void *unused)
{
	(void)unused;
	t_count_one(&t_state->open);
	return NULL;
}

/* --- jobs --- */

psg_status t_run_job(psg_device *device, void *arg, psg_error *error)
{
	(void)device;
	(void)error;
	t_state->ran[(intptr_t)arg]++;
	return PSG_OK;
}

psg_status t_gate(psg_device *device, void *number, psg_error *error)
{
	(void)device;
	(void)error;
	t_wait_for(&t_state->open, (uint32_t)(uintptr_t)number);
	return PSG_OK;
}

psg_status t_nothing(psg_device *device, void *arg, psg_error *error)
{
	(void)device;
	(void)arg;
	(void)error;
	return PSG_OK;
}

psg_status t_pass(psg_device *device, void *arg, psg_error *error)
{
	(void)device;
	(void)arg;
	(void)error;
	t_count_one(&t_state->passed);
	return PSG_OK;
}

psg_status t_hang(psg_device *device, void *arg, psg_error *error)
{
	const char *outer = psgi_phase_begin("a call");
	uint32_t gate = t_state->hangs_until;

	(void)device;
	(void)error;
	t_count_one(&t_state->passed);
	t_wait_for(&t_state->open, gate != 0 ? gate : 1);
	t_state->ran[(intptr_t)arg]++;
	psgi_phase_end(outer);
	return PSG_OK;
}

psg_status t_lose(psg_device *device, void *arg, psg_error *error)
{
	(void)arg;
	t_wait_for(&t_state->open, 1);
	device->lost.code = PSG_DEVICE_LOST;
	return psgi_fail(error, PSG_DEVICE_LOST, "lost");
}

/* --- submitting --- */

static void call_back(psg_future *future, void *user)
{
	intptr_t i = (intptr_t)user;
	psg_future_times times;

	t_state->status[i] = psg_future_error(future, NULL);
	psg_future_times_get(future, &times);
	T_EXPECT(times.queued_ns > 0 && times.finished_ns >= times.queued_ns);
	t_state->called[i]++;
}

psg_job_options t_options_of(intptr_t i)
{
	return (psg_job_options){ .done = call_back, .user = (void *)i };
}

psg_status t_submit_to(psg_worker *worker, psg_job_fn fn, intptr_t i, int64_t deadline_ns)
{
	psg_job_options options = t_options_of(i);

	options.deadline_ns = deadline_ns;
	return psg_submit_function(worker, fn, (void *)i, &options, &t_state->futures[i], NULL);
}

psg_status t_submit(intptr_t i, int64_t deadline_ns, int64_t room_ns)
{
	psg_job_options options = t_options_of(i);

	options.deadline_ns = deadline_ns;
	options.room_timeout_ns = room_ns;
	return psg_submit_function(t_state->worker, t_run_job, (void *)i, &options,
				   &t_state->futures[i], NULL);
}

void t_submit_detached(psg_job_fn fn, uintptr_t arg)
{
	T_EXPECT(psg_submit_function(t_state->worker, fn, (void *)arg, NULL, NULL, NULL) == PSG_OK);
}

/* --- what is done to them --- */

void *t_wait_and_release(void *arg)
{
	psg_future *future = t_state->futures[(intptr_t)arg];

	T_EXPECT(psg_future_wait(future) == t_state->status[(intptr_t)arg]);
	T_EXPECT(t_state->called[(intptr_t)arg] == 1);
	psg_future_release(future);
	return NULL;
}

void *t_release(void *arg)
{
	psg_future_release(t_state->futures[(intptr_t)arg]);
	return NULL;
}

void *t_cancel_and_release(void *arg)
{
	psg_future *future = t_state->futures[(intptr_t)arg];

	if (psg_future_cancel(future) == PSG_CANCEL_REMOVED)
		T_EXPECT(psg_future_wait(future) == PSG_CANCELLED);
	psg_future_release(future);
	return NULL;
}

void *t_abort_worker(void *unused)
{
	(void)unused;
	psg_worker_abort(t_state->worker);
	return NULL;
}

/* --- looking back --- */

void t_check_job(int i)
{
	T_EXPECT(t_state->called[i] == 1);
	T_EXPECT(t_state->ran[i] == (t_state->status[i] == PSG_OK));
}
