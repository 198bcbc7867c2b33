/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "jobs/run.h"

#include "base/base.h"
#include "base/probe.h"
#include "device/device.h"
#include "jobs/batch.h"
#include "jobs/batcher.h"
#include "jobs/fleet.h"
#include "jobs/flight.h"
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
	PSGI_PROBE2(device__lost, executor->info.name, executor->lost.message);
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

void psgi_run_end(psg_worker *worker, psgi_job *job, psgi_outcome outcome, psg_status status,
		  int64_t now_ns)
{
	psgi_lane *lane = job->lane; /* the worker holds it */

	if (lane->serial != worker->lanes.serial) { /* it was moved here */
		psgi_job_end_away(job, outcome, status, now_ns);
		return;
	}
	psgi_observe_done(job, status);
	if (lane->member != NULL)
		psgi_fleet_leave(job);
	psgi_job_drop_inputs(job);
	psgi_count(&worker->outcome[outcome]); /* before a waiter can ask */
	psgi_future_settle(&job->future, status, now_ns);
	psgi_future_publish(&job->future, PSGI_HOLD);
	psgi_count(&lane->served);
	psgi_count(&worker->ended); /* after: who sees it knows that nothing of the job is left */
}

/* A job may have come after the clock was read last: it has not started or ended before. */
static int64_t not_before_queued(const psgi_job *job, int64_t now_ns)
{
	int64_t queued = atomic_load_explicit(&job->future.queued_ns, memory_order_relaxed);

	return now_ns > queued ? now_ns : queued;
}

static void end_unstarted(psg_worker *worker, psgi_job *job, psgi_outcome outcome,
			  psg_status status, int64_t now_ns)
{
	job->future.message = outcome == PSGI_EXPIRED ? "its deadline passed before it started"
						      : psgi_unstarted_message;
	atomic_store_explicit(&job->future.started_ns, 0, memory_order_relaxed);
	psgi_run_end(worker, job, outcome, status, not_before_queued(job, now_ns));
}

/* To another device of the fleet, by its executor or from there on. */
static void move(psgi_executor *executor, psg_worker *worker, psgi_job *job)
{
	if (psgi_fleet_move(worker, job))
		return;
	job->future.message = "cancelled on the way to another device";
	psgi_run_end(worker, job, PSGI_CANCELLED, PSG_CANCELLED,
		     not_before_queued(job, executor->now_ns));
}

/* An eighth is the newest: chosen, to follow a change of load within a few jobs.  Not 0, which
 * says that none has run; the clock may stand still for shorter ones. */
static void note_duration(psg_worker *worker, int64_t ns)
{
	int64_t mean = atomic_load_explicit(&worker->mean_ns, memory_order_relaxed);

	mean = mean == 0 ? ns : mean + (ns - mean) / 8;
	atomic_store_explicit(&worker->mean_ns, mean > 0 ? mean : 1, memory_order_relaxed);
}

void psgi_run_account(psg_worker *worker, int64_t ns, uint32_t jobs)
{
	note_duration(worker, ns / jobs);
	psgi_turns_pay(&worker->turn, ns);
	psgi_count_more(&worker->busy_ns, (uint64_t)ns);
}

/* Not before what was read already, by another clock. */
static void read_clock(psgi_executor *executor)
{
	int64_t now = psgi_recent_ns(&executor->clock);

	if (now > executor->now_ns)
		executor->now_ns = now;
}

void psgi_run_pay(psgi_executor *executor)
{
	int64_t before = executor->now_ns;

	if (executor->unpaid == 0)
		return;
	read_clock(executor);
	psgi_run_account(executor->who_owes, executor->now_ns - before, executor->unpaid);
	psgi_observe_unseen(executor->who_owes, executor->now_ns - before, executor->unpaid);
	executor->unpaid = 0;
}

void psgi_run_begin_use(psgi_executor *executor, psg_worker *worker)
{
	executor->error.code = PSG_OK;
	executor->error.message[0] = '\0';
	executor->device->account = worker->account;
}

void psgi_run_note_use(psgi_executor *executor)
{
	note_loss(executor);
	publish_memory(executor);
}

void psgi_run_end_use(psgi_executor *executor)
{
	executor->device->account = NULL;
	psgi_run_note_use(executor);
}

static void note_sample(const psgi_job *job, int64_t ns)
{
	psgi_batcher_note(psgi_extra_of(job)->sample.batcher, 1, 1, psgi_sample_elements(job), ns);
}

/* Why it failed or, when it did not, why the CPU did it. */
static void note_message(const psg_worker *worker, psgi_job *job, psg_status status,
			 psg_error *error)
{
	if (status == PSG_OK && error->message[0] == '\0')
		psgi_fleet_tell_loss(worker, job, error);
	psgi_future_note(&job->future, error->message);
	if (status == PSG_OK && error->message[0] != '\0' && job->future.message == NULL)
		job->future.message = "the GPU failed";
}

/* When it was started. */
static int64_t begin(psgi_executor *executor, psg_worker *worker, psgi_job *job)
{
	int64_t started = not_before_queued(job, executor->now_ns);

	executor->now_ns = started;
	atomic_store_explicit(&job->future.started_ns, started, memory_order_relaxed);
	psgi_observe_start(worker, job);
	if (executor->pending == NULL)
		psgi_fleet_started(worker, job, started);
	psgi_stall_mark(worker, job);
	psgi_run_begin_use(executor, worker);
	return started;
}

/* What came of it. */
struct result {
	psgi_outcome outcome;
	psg_status status;
	psg_error *error;
};

/* It has run. */
static void end_run(psgi_executor *executor, psg_worker *worker, psgi_job *job, int64_t started,
		    struct result result)
{
	psg_status status = result.status;
	bool is_ours = psgi_stall_reclaim(worker, job);
	int64_t ns;

	if (is_ours && result.outcome != PSGI_MOVES)
		note_message(worker, job, status, result.error);
	read_clock(executor);
	ns = psgi_flight_ns(executor, started, executor->now_ns);
	executor->landed_ns = executor->now_ns;
	psgi_run_account(worker, ns, 1);
	psgi_fleet_ran(worker, job, is_ours ? status : PSG_STALLED, ns);
	if (!is_ours) {
		psgi_stall_drop(job);
		return;
	}
	psgi_observe_ran(worker, job, result.outcome != PSGI_MOVES ? result.outcome : PSGI_FAILED,
			 status, ns, executor->now_ns);
	/* A message: the CPU did it. */
	if (job->kind == PSGI_JOB_SAMPLE && status == PSG_OK && result.error->message[0] == '\0')
		note_sample(job, ns);
	if (result.outcome == PSGI_MOVES)
		move(executor, worker, job);
	else
		psgi_run_end(worker, job, result.outcome, status, executor->now_ns);
}

void psgi_run_claimed(psgi_executor *executor, psg_worker *worker, psgi_job *job)
{
	struct result result = { .error = &executor->error };
	int64_t started = begin(executor, worker, job);

	result.status = psgi_job_run(job, worker, &result.outcome, result.error);
	psgi_run_end_use(executor);
	end_run(executor, worker, job, started, result);
}

/* --- in flight --- */

static void launch(psgi_executor *executor, psg_worker *worker, psgi_job *job)
{
	psgi_flight *flight = psgi_flight_begin(executor, worker);

	flight->jobs[0] = job;
	flight->n = flight->left = 1;
	flight->started_ns = begin(executor, worker, job);
	flight->status =
		psgi_job_start(job, worker, &flight->run, &flight->outcome, &flight->error);
	psgi_run_end_use(executor);
	psgi_flight_launched(executor, flight);
}

void psgi_run_or_launch(psgi_executor *executor, psg_worker *worker, psgi_job *job)
{
	if (psgi_flight_may(executor, worker))
		launch(executor, worker, job);
	else
		psgi_run_claimed(executor, worker, job);
}

/* Memory may be short at the end, too: a run that is not in two makes room and tries again. */
static bool wants_another_run(const psgi_flight *flight)
{
	return flight->is_down && flight->status == PSG_OOM;
}

void psgi_run_end_flight(psgi_executor *executor, psgi_flight *flight)
{
	psg_worker *worker = flight->worker;
	psgi_job *job = flight->jobs[0];
	struct result result = { flight->outcome, flight->status, &flight->error };

	psgi_run_begin_use(executor, worker);
	if (wants_another_run(flight))
		result.status = psgi_job_run(job, worker, &result.outcome, result.error);
	else
		result.status =
			psgi_job_judge(job, worker, result.status, &result.outcome, result.error);
	psgi_run_end_use(executor);
	end_run(executor, worker, job, flight->started_ns, result);
}

/*
 * Detached jobs as short as this share a reading of the clock, so many of them or as many as take
 * so long together, where the worker has the device to itself.  So whether it is time for another
 * look, and for others' deadlines, is known so much too late; when one of them takes long for once,
 * that one more.  Chosen: the reading would take longer than such a job.
 */
#define SHORT_NS 1000
#define SHORT_TOGETHER_NS 4000
#define SHORT_JOBS 32

static bool may_owe(const psgi_executor *executor, const psg_worker *worker)
{
	int64_t mean = atomic_load_explicit(&worker->mean_ns, memory_order_relaxed);

	return executor->unpaid < SHORT_JOBS && mean > 0 && mean < SHORT_NS &&
	       mean * executor->unpaid < SHORT_TOGETHER_NS && executor->turns.first->next == NULL;
}

static void end_detached(psg_worker *worker, const psgi_job *job, psg_status status)
{
	psgi_lane *lane = job->lane;

	psgi_observe_done(job, status);
	psgi_count(&worker->outcome[status == PSG_OK ? PSGI_COMPLETED : PSGI_FAILED]);
	psgi_lane_end_plain(lane);
	psgi_count(&worker->ended); /* after, as in psgi_run_end */
}

static void run_one_detached(psgi_executor *executor, psg_worker *worker, const psgi_job *job)
{
	psg_status status;

	if (atomic_load_explicit(&worker->dropping, memory_order_relaxed)) {
		end_detached(worker, job, PSG_SHUTDOWN);
		return;
	}
	executor->error.code = PSG_OK;
	executor->error.message[0] = '\0';
	psgi_observe_start(worker, job);
	status = job->fn(executor->device, job->arg, &executor->error);
	note_loss(executor);
	publish_memory(executor);
	executor->unpaid++;
	executor->who_owes = worker;
	if (!may_owe(executor, worker))
		psgi_run_pay(executor);
	end_detached(worker, job, status);
}

/* The clock has not been read since, and nothing has come that is to be looked at before the next
 * job. */
static bool may_go_on(const psgi_executor *executor, psg_worker *worker)
{
	if (executor->unpaid == 0 || executor->unsettled || worker->until_look < 2 ||
	    atomic_load_explicit(&worker->urgent, memory_order_relaxed) ||
	    atomic_load_explicit(&executor->attention, memory_order_relaxed))
		return false;
	worker->until_look--;
	return true;
}

/* In its turn a lane has as many of these as share a reading of the clock: what is looked up of it
 * then serves for all of them. */
static void run_detached(psgi_executor *executor, psg_worker *worker, const psgi_job *job)
{
	do
		run_one_detached(executor, worker, job);
	while (may_go_on(executor, worker) && (job = psgi_queue_pop_more(&worker->queue)) != NULL);
}

/* Only this thread notes a loss.  A sample is its batcher's, and that is of this worker. */
static bool must_move(const psgi_executor *executor, const psg_worker *worker, const psgi_job *job)
{
	return atomic_load_explicit(&executor->is_lost, memory_order_relaxed) &&
	       worker->lanes.member != NULL && job->kind != PSGI_JOB_SAMPLE &&
	       psgi_fleet_has_other(worker->lanes.member, job);
}

/* What was moved away while this thread hung is still in its queue. */
static bool claim(const psg_worker *worker, psgi_job *job)
{
	if (worker->lanes.member != NULL && job->lane->serial == worker->lanes.serial)
		return psgi_future_claim_unmoved(&job->future, 0);
	return psgi_future_claim(&job->future, 0);
}

bool psgi_run_claim(psgi_executor *executor, psg_worker *worker, psgi_job *job)
{
	psg_future *future = &job->future;

	if (!claim(worker, job)) {
		psgi_future_drop(future, PSGI_HOLD); /* it ended while it waited, or moved */
		return false;
	}
	if (atomic_load_explicit(&worker->dropping, memory_order_relaxed)) {
		end_unstarted(worker, job, PSGI_FAILED, PSG_SHUTDOWN, executor->now_ns);
		return false;
	}
	if (atomic_load_explicit(&future->deadline_ns, memory_order_relaxed) <= executor->now_ns) {
		end_unstarted(worker, job, PSGI_EXPIRED, PSG_TIMED_OUT, executor->now_ns);
		return false;
	}
	if (must_move(executor, worker, job)) {
		move(executor, worker, job);
		return false;
	}
	return true;
}

void psgi_run(psgi_executor *executor, psg_worker *worker, psgi_job *job)
{
	bool calls_back;

	if (job->kind == PSGI_JOB_DETACHED) {
		(void)psgi_flight_land(executor);
		run_detached(executor, worker, job);
		return;
	}
	psgi_run_pay(executor);
	if (job->kind == PSGI_JOB_SAMPLE) {
		psgi_batch_run(executor, worker, job);
		return;
	}
	calls_back = job->future.done != NULL;
	if (job->kind == PSGI_JOB_MODEL && psgi_flight_may(executor, worker))
		read_clock(executor); /* the one before may have been started long ago */
	else
		(void)psgi_flight_land(executor);
	if (psgi_run_claim(executor, worker, job)) {
		if (job->kind == PSGI_JOB_MODEL)
			psgi_run_or_launch(executor, worker, job);
		else
			psgi_run_claimed(executor, worker, job);
	}
	if (calls_back)
		read_clock(executor);
}

/* The next one that came after the executor had left. */
static psgi_job *next_left(psg_worker *worker, int64_t now_ns)
{
	if (psgi_queue_rank(&worker->queue) == PSGI_RANKS)
		psgi_look(worker, now_ns);
	return psgi_queue_pop(&worker->queue);
}

void psgi_run_rest(psg_worker *worker)
{
	int64_t now = psg_now_ns();
	psgi_job *job;

	psgi_fleet_take(worker);
	while ((job = next_left(worker, now)) != NULL) {
		if (job->kind == PSGI_JOB_DETACHED)
			end_detached(worker, job, PSG_SHUTDOWN);
		else if (!psgi_future_claim(&job->future, 0))
			psgi_future_drop(&job->future, PSGI_HOLD);
		else
			end_unstarted(worker, job, PSGI_FAILED, PSG_SHUTDOWN, now);
	}
}
