/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "jobs/run.h"

#include "base/base.h"
#include "base/probe.h"
#include "device/device.h"
#include "jobs/look.h"
#include "jobs/observe.h"

/* --- the device --- */

void psgi_run_open_device(psgi_executor *executor)
{
	executor->open_status =
		psg_device_open(executor->device_name, &executor->device, &executor->error);
	if (executor->open_status != PSG_OK)
		return;
	executor->info = *psg_device_info_get(executor->device);
	executor->open_status = psgi_device_enter(executor->device, &executor->error);
	if (executor->open_status != PSG_OK) {
		psg_device_close(executor->device);
		executor->device = NULL;
	}
}

void psgi_run_close_device(psgi_executor *executor)
{
	psg_device_close(executor->host);
	if (executor->device == NULL)
		return;
	psgi_device_leave(executor->device);
	psg_device_close(executor->device);
}

/* The device counts on this thread; others read the copies. */
static void publish_memory(psgi_executor *executor)
{
	psgi_device_memory memory;

	if (executor->info.kind == PSG_DEVICE_CPU)
		return;
	psgi_device_memory_get(executor->device, &memory);
	atomic_store_explicit(&executor->memory_used, memory.used, memory_order_relaxed);
	atomic_store_explicit(&executor->memory_held, memory.held, memory_order_relaxed);
	atomic_store_explicit(&executor->memory_high, memory.high, memory_order_relaxed);
}

/* Before the job that met it has ended, so that who is told of that job knows. */
static void note_loss(psgi_executor *executor)
{
	if (executor->device->lost.code == PSG_OK ||
	    atomic_load_explicit(&executor->is_lost, memory_order_relaxed))
		return;
	executor->lost = executor->device->lost;
	atomic_store_explicit(&executor->is_lost, true, memory_order_release);
	PSGI_PROBE2(device__lost, executor->name, executor->lost.message);
	psgi_log(PSG_LOG_ERROR, "%s: the device is lost to this process: %s", executor->name,
		 executor->lost.message);
}

void psgi_run_trim(psgi_executor *executor)
{
	psgi_device_trim(executor->device);
	if (executor->host != NULL)
		psgi_device_trim(executor->host);
	note_loss(executor);
	publish_memory(executor);
	executor->now_ns = psg_now_ns();
}

/* --- a job --- */

static void end_job(psg_worker *worker, psgi_job *job, psgi_outcome outcome, psg_status status,
		    int64_t now_ns)
{
	psgi_lane *lane = job->lane; /* the worker holds it */

	psgi_observe_done(job, status);
	psgi_job_drop_inputs(job);
	psgi_count(&worker->outcome[outcome]); /* before a waiter can ask */
	psgi_future_settle(&job->future, status, now_ns);
	psgi_future_publish(&job->future, PSGI_HOLD);
	psgi_count(&lane->served);
	psgi_count(&worker->ended); /* after: who sees it knows that nothing of the job is left */
}

/* An eighth is the newest: chosen, to follow a change of load within a few jobs. */
static void note_duration(psg_worker *worker, int64_t ns)
{
	int64_t mean = atomic_load_explicit(&worker->mean_ns, memory_order_relaxed);

	atomic_store_explicit(&worker->mean_ns, mean == 0 ? ns : mean + (ns - mean) / 8,
			      memory_order_relaxed);
}

static void run(psgi_executor *executor, psg_worker *worker, psgi_job *job)
{
	psg_future *future = &job->future;
	int64_t queued = atomic_load_explicit(&future->queued_ns, memory_order_relaxed);
	/* A job may have come after the clock was read last. */
	int64_t started = executor->now_ns > queued ? executor->now_ns : queued;
	psgi_outcome outcome;
	psg_status status;
	int64_t took;

	atomic_store_explicit(&future->started_ns, started, memory_order_relaxed);
	executor->error.code = PSG_OK;
	executor->error.message[0] = '\0';
	psgi_observe_start(worker, job);
	executor->device->account = worker->account;
	status = psgi_job_run(job, worker, &outcome, &executor->error);
	executor->device->account = NULL;
	note_loss(executor);
	publish_memory(executor);
	psgi_future_note(future, executor->error.message);
	if (status == PSG_OK && executor->error.message[0] != '\0' && future->message == NULL)
		future->message = "the GPU failed";
	executor->now_ns = psg_now_ns();
	took = executor->now_ns - started;
	note_duration(worker, took);
	psgi_turns_pay(&worker->turn, took);
	psgi_count_more(&worker->busy_ns, (uint64_t)took);
	psgi_observe_ran(worker, job, outcome, status, executor->now_ns);
	end_job(worker, job, outcome, status, executor->now_ns);
}

void psgi_run(psgi_executor *executor, psg_worker *worker, psgi_job *job)
{
	psg_future *future = &job->future;
	bool calls_back = future->done != NULL;

	if (!psgi_future_claim(future, 0)) {
		psgi_future_drop(future, PSGI_HOLD); /* it ended while it waited */
		return;
	}
	if (atomic_load_explicit(&worker->dropping, memory_order_relaxed)) {
		future->message = psgi_unstarted_message;
		end_job(worker, job, PSGI_FAILED, PSG_SHUTDOWN, executor->now_ns);
	} else if (atomic_load_explicit(&future->deadline_ns, memory_order_relaxed) <=
		   executor->now_ns) {
		future->message = "its deadline passed before it started";
		end_job(worker, job, PSGI_EXPIRED, PSG_TIMED_OUT, executor->now_ns);
	} else {
		run(executor, worker, job);
	}
	if (calls_back)
		executor->now_ns = psg_now_ns();
}

void psgi_run_rest(psg_worker *worker)
{
	int64_t now = psg_now_ns();
	psgi_job *job;

	for (psgi_look(worker, now); (job = psgi_queue_pop(&worker->queue)) != NULL;
	     psgi_look(worker, now)) {
		if (!psgi_future_claim(&job->future, 0)) {
			psgi_future_drop(&job->future, PSGI_HOLD);
			continue;
		}
		job->future.message = psgi_unstarted_message;
		end_job(worker, job, PSGI_FAILED, PSG_SHUTDOWN, now);
	}
}
