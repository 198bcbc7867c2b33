/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "jobs/flight.h"

#include "base/base.h"
#include "jobs/batch.h"
#include "jobs/fleet.h"
#include "jobs/run.h"

bool psgi_flight_may(const psgi_executor *executor, const psg_worker *worker)
{
	return executor->info.kind == PSG_DEVICE_CUDA && worker->flies;
}

bool psgi_flight_is_of(const psgi_executor *executor, const psg_worker *worker)
{
	return executor->pending != NULL && executor->pending->worker == worker;
}

int64_t psgi_flight_ns(const psgi_executor *executor, int64_t started_ns, int64_t now_ns)
{
	int64_t began = started_ns > executor->landed_ns ? started_ns : executor->landed_ns;

	return now_ns > began ? now_ns - began : 0;
}

/* --- starting --- */

void psgi_flight_clear(psgi_flight *flight, psg_worker *worker)
{
	flight->worker = worker;
	flight->batcher = NULL;
	flight->is_down = false;
	flight->outcome = PSGI_FAILED;
	flight->error.code = PSG_OK;
	flight->error.message[0] = '\0';
	flight->n_out = 0;
}

psgi_flight *psgi_flight_begin(psgi_executor *executor, psg_worker *worker)
{
	psgi_flight *flight = &executor->flights[executor->pending == &executor->flights[0]];

	psgi_flight_clear(flight, worker);
	executor->launching = flight;
	return flight;
}

/* So that others have their turn before it has ended. */
static void expect(const psgi_flight *flight)
{
	int64_t mean = atomic_load_explicit(&flight->worker->mean_ns, memory_order_relaxed);

	flight->worker->turn.ahead_ns = mean * (int64_t)flight->n;
}

static void end(psgi_executor *executor, psgi_flight *flight)
{
	const psgi_flight *next = executor->launching;

	flight->worker->turn.ahead_ns = 0;
	if (flight->batcher != NULL)
		psgi_batch_end(executor, flight);
	else
		psgi_run_end_flight(executor, flight);
	/* From here on the device is the next one's. */
	if (next != NULL && next != flight && next->batcher == NULL)
		psgi_fleet_started(next->worker, next->jobs[0], executor->now_ns);
}

void psgi_flight_launched(psgi_executor *executor, psgi_flight *flight)
{
	(void)psgi_flight_land(executor);
	executor->launching = NULL;
	if (flight->status == PSG_OK) {
		executor->pending = flight;
		expect(flight);
	} else {
		end(executor, flight);
	}
}

/* --- ending --- */

/* What its copies need of the device is its own worker's, and not of who is being started. */
static void take_down(psgi_executor *executor, psgi_flight *flight)
{
	psgi_memory_account *account = executor->device->account;

	executor->device->account = flight->worker->account;
	/* As its job's in a trace. */
	if (flight->run.begin_ns != 0 && flight->run.begin_ns < executor->landed_ns)
		flight->run.begin_ns = executor->landed_ns;
	if (flight->batcher != NULL)
		flight->status = psgi_batch_finish(flight);
	else
		flight->status = psgi_job_finish(flight->jobs[0], flight->worker, &flight->run,
						 &flight->outcome, &flight->error);
	executor->device->account = account;
	flight->is_down = true;
}

/* While another is being started. */
static void end_if_well(psgi_executor *executor, psgi_flight *flight)
{
	psgi_memory_account *account = executor->device->account;

	if (flight->status != PSG_OK)
		return;
	executor->pending = NULL;
	end(executor, flight);
	executor->device->account = account;
}

bool psgi_flight_settle(psgi_executor *executor)
{
	psgi_flight *flight = executor->pending;

	if (flight == NULL || flight->is_down)
		return false;
	take_down(executor, flight);
	end_if_well(executor, flight);
	return true;
}

void psgi_flight_poll(psgi_executor *executor)
{
	const psgi_flight *flight = executor->pending;

	if (flight != NULL && !flight->is_down && psgi_started_is_done(&flight->run))
		(void)psgi_flight_settle(executor);
}

bool psgi_flight_land(psgi_executor *executor)
{
	psgi_flight *flight = executor->pending;

	if (flight == NULL)
		return false;
	if (!flight->is_down)
		take_down(executor, flight);
	executor->pending = NULL;
	end(executor, flight);
	return true;
}
