/* SPDX-License-Identifier: Apache-2.0 */
/* A fleet from outside: opening, submitting, draining, closing, looking. */
#include "config.h"

#include "jobs/fleet.h"

#include <pagesift/shared.h>

#include "base/base.h"
#include "base/fork.h"
#include "jobs/jobs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool forked(const psg_fleet *fleet)
{
	return fleet->generation != psgi_fork_generation();
}

/* --- opening --- */

static psg_fleet *create(size_t most, const psg_fleet_options *options)
{
	static _Atomic uint32_t numbers;
	size_t bytes = sizeof(psg_fleet) + most * sizeof(psgi_member);
	psg_fleet *fleet = aligned_alloc(PSGI_CACHE_LINE, bytes);

	if (fleet == NULL)
		return NULL;
	memset(fleet, 0, bytes);
	fleet->number = atomic_fetch_add_explicit(&numbers, 1, memory_order_relaxed) + 1;
	fleet->generation = psgi_fork_generation();
	fleet->cpu_fallback = options->cpu_fallback;
	atomic_store_explicit(&fleet->holders, 1, memory_order_relaxed);
	psgi_event_init(&fleet->news);
	return fleet;
}

static psg_status join_shared(psgi_member *member, const char *device,
			      const psg_worker_options *options, psg_error *error)
{
	psg_shared_worker_options shared_options = { .open_timeout_ns = options->open_timeout_ns };
	psg_shared_worker *shared;
	psg_status status = psg_shared_worker_acquire(device, &shared_options, &shared, error);

	if (status != PSG_OK)
		return status;
	status = psgi_worker_join_shared(shared, options, member, &member->worker, error);
	psg_shared_worker_release(shared); /* the worker holds it, if there is one */
	return status;
}

static psg_status join_own(psgi_member *member, const char *device,
			   const psg_worker_options *options, psg_error *error)
{
	psgi_executor *executor;
	psg_status status = psgi_executor_open(device, options->name, options->open_timeout_ns,
					       &executor, error);

	if (status != PSG_OK)
		return status;
	status = psgi_worker_join(executor, options, member, &member->worker, error);
	psgi_executor_release(executor); /* as above */
	return status;
}

/* One member more; what could not be opened is one, too, whose worker is NULL. */
static psg_status add(psg_fleet *fleet, const char *device, const psg_fleet_options *options)
{
	psgi_member *member = &fleet->members[fleet->n];
	psg_error *problem = &member->problem;

	member->fleet = fleet;
	member->index = (uint32_t)fleet->n++;
	(void)snprintf(member->name, sizeof(member->name), "%s", device);
	if (options->shared)
		return join_shared(member, device, &options->worker, problem);
	return join_own(member, device, &options->worker, problem);
}

static psg_status open_named(psg_fleet *fleet, const char *const *devices, size_t n,
			     const psg_fleet_options *options, psg_error *error)
{
	for (size_t i = 0; i < n; i++) {
		psg_status status;

		if (devices[i] == NULL)
			return psgi_fail(error, PSG_INVALID, "device %zu has no name", i);
		status = add(fleet, devices[i], options);
		if (status == PSG_OK)
			continue;
		if (error != NULL)
			*error = fleet->members[i].problem;
		return status;
	}
	return PSG_OK;
}

/* All GPUs; where none can be used, a CPU that tells why. */
static psg_status open_all(psg_fleet *fleet, size_t gpus, const psg_fleet_options *options,
			   psg_error *error)
{
	size_t opened = 0;
	char name[24];
	psg_status status;

	for (size_t i = 0; i < gpus; i++) {
		(void)snprintf(name, sizeof(name), "cuda:%zu", i);
		status = add(fleet, name, options);
		opened += status == PSG_OK;
		if (status != PSG_OK && opened > 0)
			psgi_log(PSG_LOG_WARNING, "a fleet does without %s: %s", name,
				 fleet->members[i].problem.message);
	}
	if (opened > 0)
		return PSG_OK;
	fleet->n = 0;
	memset(fleet->members, 0, sizeof(fleet->members[0]));
	return open_named(fleet, (const char *const[]){ "auto" }, 1, options, error);
}

/* None is said where they cannot be counted: opening one then says why. */
static size_t count_gpus(void)
{
	int32_t n;

	if (psg_device_count(&n, NULL) != PSG_OK || n < 0)
		return 0;
	return n < PSG_FLEET_MOST ? (size_t)n : PSG_FLEET_MOST;
}

psg_status psg_fleet_open(const char *const *devices, size_t n, const psg_fleet_options *options,
			  psg_fleet **out, psg_error *error)
{
	static const psg_fleet_options defaults;
	size_t gpus = n == 0 ? count_gpus() : 0, most = n + gpus > 0 ? n + gpus : 1;
	psg_status status = psgi_fork_watch(error);
	psg_fleet *fleet;

	*out = NULL;
	if (status != PSG_OK)
		return status;
	if (n > PSG_FLEET_MOST)
		return psgi_fail(error, PSG_INVALID, "a fleet of %zu devices: at most %d", n,
				 PSG_FLEET_MOST);
	if (options == NULL)
		options = &defaults;
	fleet = create(most, options);
	if (fleet == NULL)
		return psgi_fail(error, PSG_NOMEM, "no memory for a fleet of %zu devices", most);
	status = n > 0 ? open_named(fleet, devices, n, options, error)
		       : open_all(fleet, gpus, options, error);
	if (status != PSG_OK) {
		psg_fleet_close(fleet);
		return status;
	}
	*out = fleet;
	return PSG_OK;
}

/* --- submitting --- */

struct request {
	psgi_job_kind kind;
	uint64_t route_kind;
	const psg_op *op;
	psg_model *model;
	psg_tensor *const *in;
	size_t n_in;
	psg_job_fn fn;
	void *arg;
};

static psg_status submit_to(const psgi_member *member, const struct request *request,
			    const psg_job_options *options, psg_future **out, psg_error *error)
{
	psg_worker *worker = member->worker;

	if (request->kind == PSGI_JOB_OP)
		return psg_submit(worker, request->op, options, out, error);
	if (request->kind == PSGI_JOB_MODEL)
		return psg_submit_model(worker, request->model, request->in, request->n_in, options,
					out, error);
	return psg_submit_function(worker, request->fn, request->arg, options, out, error);
}

/* As a worker's, by what is expected of the best device. */
static psg_status check_late(psg_fleet *fleet, const psg_job_options *options, int64_t expected_ns,
			     psg_error *error)
{
	int64_t now = psg_now_ns();

	if (!options->refuse_late || options->deadline_ns == 0 ||
	    (options->deadline_ns > now && expected_ns < options->deadline_ns - now))
		return PSG_OK;
	atomic_fetch_add_explicit(&fleet->refused_late, 1, memory_order_relaxed);
	return psgi_fail(error, PSG_TIMED_OUT,
			 "would miss its deadline, in %.3g ms: the best device is expected to need "
			 "%.3g ms",
			 ((double)options->deadline_ns - (double)now) / (double)PSG_MILLISECOND,
			 (double)expected_ns / (double)PSG_MILLISECOND);
}

/* To each that has a slot left, the best one first; then, if it may, waits at the best one. */
static psg_status submit_to_some(psg_fleet *fleet, const struct request *request, psgi_member *best,
				 const psg_job_options *options, psg_future **out, psg_error *error)
{
	psg_job_options now = *options;
	uint64_t tried = 0;
	psg_status status = PSG_FULL;
	int64_t expected;

	now.room_timeout_ns = 0;
	for (psgi_member *member = best; member != NULL && status == PSG_FULL;
	     member = psgi_route_choose(fleet, request->route_kind, tried, &expected)) {
		status = submit_to(member, request, &now, out, error);
		tried |= UINT64_C(1) << member->index;
	}
	if (status == PSG_FULL && best != NULL && options->room_timeout_ns > 0)
		status = submit_to(best, request, options, out, error);
	if (status == PSG_FULL)
		atomic_fetch_add_explicit(&fleet->refused_full, 1, memory_order_relaxed);
	return status;
}

static psg_status submit(psg_fleet *fleet, const struct request *request,
			 const psg_job_options *options, psg_future **out, psg_error *error)
{
	psg_job_options own = { 0 };
	psgi_member *best;
	int64_t expected = 0;
	psg_status status;

	if (options != NULL)
		own = *options;
	if (out != NULL)
		*out = NULL;
	if (forked(fleet))
		return psgi_fail(error, PSG_FORKED,
				 "the fleet lives in the parent process: open one here");
	best = psgi_route_choose(fleet, request->route_kind, 0, &expected);
	status = check_late(fleet, &own, expected, error);
	if (status != PSG_OK)
		return status;
	own.cpu_fallback = own.cpu_fallback || fleet->cpu_fallback;
	own.refuse_late = false;
	return submit_to_some(fleet, request, best, &own, out, error);
}

psg_status psg_fleet_submit(psg_fleet *fleet, const psg_op *op, const psg_job_options *options,
			    psg_future **out, psg_error *error)
{
	/* What is wrong with the inputs is for psg_submit to say. */
	size_t n_in = op->n_in <= PSG_MAX_INPUTS ? op->n_in : 0;
	struct request request = { .kind = PSGI_JOB_OP,
				   .route_kind = psgi_route_kind(PSGI_JOB_OP, (uint64_t)op->kind,
								 op->in, n_in),
				   .op = op };

	return submit(fleet, &request, options, out, error);
}

psg_status psg_fleet_submit_model(psg_fleet *fleet, psg_model *model, psg_tensor *const *in,
				  size_t n_in, const psg_job_options *options, psg_future **out,
				  psg_error *error)
{
	struct request request = { .kind = PSGI_JOB_MODEL,
				   .route_kind = psgi_route_kind(
					   PSGI_JOB_MODEL, (uint64_t)(uintptr_t)model, in, n_in),
				   .model = model,
				   .in = in,
				   .n_in = n_in };

	return submit(fleet, &request, options, out, error);
}

psg_status psg_fleet_submit_function(psg_fleet *fleet, psg_job_fn fn, void *arg,
				     const psg_job_options *options, psg_future **out,
				     psg_error *error)
{
	struct request request = { .kind = PSGI_JOB_FUNCTION,
				   .route_kind = psgi_route_kind_of_fn(fn),
				   .fn = fn,
				   .arg = arg };

	return submit(fleet, &request, options, out, error);
}

/* --- ending --- */

/* For each that is open. */
static void visit(psg_fleet *fleet, void (*act)(psg_worker *worker))
{
	for (size_t i = 0; i < fleet->n; i++)
		if (fleet->members[i].worker != NULL)
			act(fleet->members[i].worker);
}

static uint64_t load(const psg_fleet *fleet)
{
	uint64_t n = 0;

	for (size_t i = 0; i < fleet->n; i++)
		if (fleet->members[i].worker != NULL)
			n += psgi_worker_load(fleet->members[i].worker);
	return n;
}

static void begin_drain(psg_worker *worker)
{
	psgi_worker_refuse(worker);
	psgi_executor_notify(worker->executor);
}

/* What ends away from its worker does not signal, so that the wait is in steps. */
#define STEP_NS PSG_MILLISECOND

psg_status psg_fleet_drain(psg_fleet *fleet, int64_t timeout_ns)
{
	int64_t deadline = psgi_deadline_after(timeout_ns);

	if (forked(fleet))
		return PSG_FORKED;
	if (psgi_this_serves(fleet->number))
		return PSG_INVALID; /* it would wait for itself */
	visit(fleet, begin_drain);
	for (;;) {
		uint32_t value = psgi_event_value(&fleet->news);
		int64_t now;

		if (load(fleet) == 0)
			break;
		now = psg_now_ns();
		if (now >= deadline)
			return PSG_TIMED_OUT;
		(void)psgi_event_wait(&fleet->news, value,
				      deadline - now > STEP_NS ? now + STEP_NS : deadline);
	}
	visit(fleet, psgi_worker_drop); /* what a submission under way still brings does not run */
	return PSG_OK;
}

/* All drop before the first job ends: none that is on its way to another starts there. */
void psg_fleet_abort(psg_fleet *fleet)
{
	if (forked(fleet))
		return;
	visit(fleet, psgi_worker_drop);
	visit(fleet, psgi_worker_end_queued);
}

/* As every last reference: release own use, acquire that of others. */
void psgi_fleet_drop(psg_fleet *fleet)
{
	if (atomic_fetch_sub_explicit(&fleet->holders, 1, memory_order_acq_rel) == 1)
		free(fleet);
}

/*
 * A worker whose device does not answer is no member any more, and holds the fleet.  Keepers look
 * at all members, and may just have sent a job to one that will not take it: so none goes before
 * all keepers have, and what waits ends once more.
 */
static void await_left(psg_fleet *fleet)
{
	bool has_left[PSG_FLEET_MOST];
	uint32_t left = 0;

	atomic_fetch_add_explicit(&fleet->holders, (uint32_t)fleet->n, memory_order_relaxed);
	for (size_t i = 0; i < fleet->n; i++)
		has_left[i] = fleet->members[i].worker == NULL ||
			      psgi_worker_await(fleet->members[i].worker);
	visit(fleet, psgi_worker_end_queued);
	for (size_t i = 0; i < fleet->n; i++) {
		if (has_left[i] || !psgi_worker_desert(fleet->members[i].worker))
			left++;
		else
			fleet->members[i].worker = NULL;
	}
	/* The closer holds it, too. */
	atomic_fetch_sub_explicit(&fleet->holders, left, memory_order_relaxed);
}

/* Others may submit in callbacks of jobs of any worker until these have ended. */
static bool end_rest(psg_fleet *fleet)
{
	bool all = true;

	for (size_t i = 0; i < fleet->n; i++)
		if (fleet->members[i].worker != NULL)
			all = psgi_worker_end_rest(fleet->members[i].worker) && all;
	return all;
}

/*
 * Executors send jobs to each other until they have left all workers; then a
 * round in which none is left, and another one for what the callbacks of the
 * first had under way.
 */
void psg_fleet_close(psg_fleet *fleet)
{
	if (fleet == NULL || forked(fleet)) /* the child's copy is left as it is */
		return;
	psg_fleet_abort(fleet);
	visit(fleet, psgi_worker_let_go);
	await_left(fleet);
	for (int clean = 0; clean < 2;) {
		clean = end_rest(fleet) ? clean + 1 : 0;
		if (clean == 0)
			psgi_worker_pause();
	}
	visit(fleet, psgi_worker_free);
	psgi_fleet_drop(fleet);
}

void psg_fleet_trim(psg_fleet *fleet)
{
	visit(fleet, psg_worker_trim);
}

/* --- looking --- */

static psg_status health_of(const psgi_member *member, psg_error *error)
{
	if (member->worker != NULL)
		return psg_worker_health(member->worker, error);
	if (error != NULL)
		*error = member->problem;
	return member->problem.code;
}

psg_status psg_fleet_health(const psg_fleet *fleet, psg_error *error)
{
	for (size_t i = 0; i < fleet->n; i++)
		if (psgi_member_well(&fleet->members[i]))
			return PSG_OK;
	return health_of(&fleet->members[0], error);
}

size_t psg_fleet_devices(const psg_fleet *fleet)
{
	return fleet->n;
}

static uint64_t read_count(const _Atomic uint64_t *count)
{
	return atomic_load_explicit(count, memory_order_relaxed);
}

/* Chosen: a larger structure was not set at all. */
#define LARGEST(type) (16 * sizeof(type))

psg_status psg_fleet_device_get(const psg_fleet *fleet, size_t index, psg_fleet_device *out)
{
	size_t size = out->size;
	const psgi_member *member;
	uint64_t ended;

	if (index >= fleet->n || size < sizeof(*out) || size > LARGEST(*out))
		return PSG_INVALID;
	member = &fleet->members[index];
	memset(out, 0, size);
	out->size = size;
	memcpy(out->name, member->name, sizeof(out->name));
	out->worker = member->worker;
	out->info = member->worker != NULL ? psg_worker_device(member->worker) : NULL;
	out->health = (psg_error)PSG_ERROR_INIT;
	(void)health_of(member, &out->health);
	/* What has ended first, as ever. */
	ended = atomic_load_explicit(&member->ended, memory_order_acquire);
	out->queued = read_count(&member->entered) - ended;
	out->expected_ns = psgi_route_backlog(member, psg_now_ns());
	out->moved_in = read_count(&member->moved_in);
	out->moved_out = read_count(&member->moved_out);
	out->routed = read_count(&member->entered) - out->moved_in;
	return PSG_OK;
}

int32_t psg_fleet_where(const psg_fleet *fleet, const psg_future *future)
{
	const psgi_job *job =
		(const psgi_job *)(const void *)((const char *)future - offsetof(psgi_job, future));
	const psgi_member *member;

	if (future->class != &psgi_job_class || job->lane->fleet != fleet->number ||
	    !psgi_future_ended(future))
		return -1;
	member = atomic_load_explicit(&psgi_extra_of(job)->member, memory_order_relaxed);
	return (int32_t)member->index;
}

static void add_worker(psg_fleet_stats *sum, const psg_worker *worker)
{
	psg_worker_stats stats;

	psg_worker_stats_get(worker, &stats);
	sum->submitted += stats.submitted;
	sum->completed += stats.completed;
	sum->failed += stats.failed;
	sum->cancelled += stats.cancelled;
	sum->expired += stats.expired;
	sum->recomputed += stats.recomputed;
	sum->queued += stats.queued;
	sum->lost += atomic_load_explicit(&worker->executor->is_lost, memory_order_relaxed);
}

psg_status psg_fleet_stats_get(const psg_fleet *fleet, psg_fleet_stats *stats)
{
	size_t size = stats->size;

	if (size < sizeof(*stats) || size > LARGEST(*stats))
		return PSG_INVALID;
	memset(stats, 0, size);
	stats->size = size;
	for (size_t i = 0; i < fleet->n; i++) {
		if (fleet->members[i].worker != NULL)
			add_worker(stats, fleet->members[i].worker);
		stats->moved += read_count(&fleet->members[i].moved_in);
	}
	stats->refused_full = read_count(&fleet->refused_full);
	stats->refused_late = read_count(&fleet->refused_late);
	return PSG_OK;
}
