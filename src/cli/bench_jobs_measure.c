/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measuring the systems of bench jobs: producers that start together, and rounds in which the
 * systems take turns, so that what else the machine does hits them all.
 */
#include "config.h"

#include "cli/bench_jobs.h"

#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>

/* Of one round; chosen so that the default takes less than half a minute. */
#define STREAM_NS (80 * PSG_MILLISECOND)
#define TIMED_NS (40 * PSG_MILLISECOND)
#define AWAKE_NS (20 * PSG_MILLISECOND)
#define IDLE_TRIPS 40

/* Before a round trip to an idle worker: far longer than any system looks on before it sleeps. */
#define PAUSE_NS PSG_MILLISECOND

/* Samples that are kept of all rounds together, so that memory does not grow with them. */
#define MOST_TRIPS 100000
#define MOST_TIMED 400000

static void pause_ns(int64_t ns)
{
	struct timespec rest = { .tv_sec = ns / PSG_SECOND, .tv_nsec = ns % PSG_SECOND };

	while (nanosleep(&rest, &rest) != 0)
		;
}

/* --- a crew: producers that start together --- */

struct member;
typedef psg_status (*body_fn)(struct member *member);

struct crew {
	const cli_job_system *system;
	const char *title;
	void *open;
	body_fn body;
	atomic_bool stop;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	/* under the lock */
	size_t ready;
	bool go, give_up;
	pthread_mutex_t turn; /* of who has the idle worker */
};

/* Each has a part of the samples; what it may use of it is its own until the crew has ended. */
struct member {
	struct crew *crew;
	size_t i;
	pthread_t thread;
	void *producer;
	int64_t begin_ns, end_ns;
	uint64_t jobs;
	cli_samples samples[CLI_TRIP_PARTS];
	psg_status status;
	psg_error error;
};

/* False: not all producers could start. */
static bool wait_for_start(struct crew *crew)
{
	bool go;

	(void)pthread_mutex_lock(&crew->lock);
	crew->ready++;
	(void)pthread_cond_broadcast(&crew->changed);
	while (!crew->go && !crew->give_up)
		(void)pthread_cond_wait(&crew->changed, &crew->lock);
	go = crew->go;
	(void)pthread_mutex_unlock(&crew->lock);
	return go;
}

static void *produce(void *argument)
{
	struct member *member = argument;
	struct crew *crew = member->crew;
	bool go;

	member->status =
		crew->system->enter(crew->open, member->i, &member->producer, &member->error);
	go = wait_for_start(crew);
	if (member->status != PSG_OK)
		return NULL;
	member->begin_ns = psg_now_ns();
	if (go)
		member->status = crew->body(member);
	member->end_ns = psg_now_ns();
	crew->system->leave(member->producer);
	return NULL;
}

/* Lets those who are there begin, or go. */
static void start(struct crew *crew, size_t n, bool go)
{
	(void)pthread_mutex_lock(&crew->lock);
	while (crew->ready < n)
		(void)pthread_cond_wait(&crew->changed, &crew->lock);
	crew->go = go;
	crew->give_up = !go;
	(void)pthread_cond_broadcast(&crew->changed);
	(void)pthread_mutex_unlock(&crew->lock);
}

/* Runs the body in n threads; tells it to stop after `ns`, if that is not 0. */
static psg_status run_crew(struct crew *crew, struct member *members, size_t n, int64_t ns,
			   psg_error *error)
{
	size_t started = 0;

	while (started < n &&
	       pthread_create(&members[started].thread, NULL, produce, &members[started]) == 0)
		started++;
	start(crew, started, started == n);
	if (started == n && ns > 0)
		pause_ns(ns);
	atomic_store(&crew->stop, true);
	for (size_t i = 0; i < started; i++)
		(void)pthread_join(members[i].thread, NULL);
	if (started < n)
		return cli_fail(error, PSG_NOMEM, "no thread for producer %zu of %zu", started + 1,
				n);
	for (size_t i = 0; i < n; i++)
		if (members[i].status != PSG_OK)
			return cli_fail(error, members[i].status, "%s: %.600s", crew->title,
					members[i].error.message);
	return PSG_OK;
}

/* --- what a crew does --- */

static psg_status stream(struct member *member)
{
	const struct crew *crew = member->crew;

	return crew->system->stream(member->producer, &crew->stop, &member->jobs, &member->error);
}

static psg_status timed(struct member *member)
{
	const struct crew *crew = member->crew;

	return crew->system->timed(member->producer, &crew->stop, member->samples, &member->error);
}

static void note(cli_samples *samples, const cli_trip *trip)
{
	if (samples->n == samples->room) /* all three have as many */
		return;
	samples[CLI_TRIP_TOTAL].at[samples[CLI_TRIP_TOTAL].n++] = (double)trip->total;
	samples[CLI_TRIP_SUBMIT].at[samples[CLI_TRIP_SUBMIT].n++] = (double)trip->submit;
	samples[CLI_TRIP_COMPLETION].at[samples[CLI_TRIP_COMPLETION].n++] =
		(double)trip->completion;
}

/* One after the other without a pause. */
static psg_status trips_awake(struct member *member)
{
	const struct crew *crew = member->crew;
	psg_status status = PSG_OK;
	cli_trip trip;

	while (status == PSG_OK && !atomic_load_explicit(&crew->stop, memory_order_relaxed)) {
		status = crew->system->trip(member->producer, &trip, &member->error);
		if (status == PSG_OK)
			note(member->samples, &trip);
	}
	return status;
}

/* Producers take turns, and each pauses first: the worker sleeps whenever a job comes. */
static psg_status trips_idle(struct member *member)
{
	struct crew *crew = member->crew;
	psg_status status = PSG_OK;
	cli_trip trip;

	for (size_t n = member->samples->room; n > 0 && status == PSG_OK; n--) {
		(void)pthread_mutex_lock(&crew->turn);
		pause_ns(PAUSE_NS);
		status = crew->system->trip(member->producer, &trip, &member->error);
		(void)pthread_mutex_unlock(&crew->turn);
		if (status == PSG_OK)
			note(member->samples, &trip);
	}
	return status;
}

/* --- rounds --- */

/* All that one number of producers needs. */
struct bench {
	cli_jobs_result *result;
	void *const *open; /* the systems */
	size_t rounds;
	struct member *members;
	double *rates[CLI_JOB_SYSTEMS]; /* by round */
	cli_samples timed;
	cli_samples trips[CLI_WORKER_STATES][CLI_JOB_SYSTEMS][CLI_TRIP_PARTS];
};

/* Gives each producer its part of what is left, and no more than `most` of them together. */
static void hand_out(const struct bench *bench, const cli_samples *samples, size_t parts,
		     size_t most)
{
	size_t n = bench->result->producers, each = most / n > 0 ? most / n : 1;

	for (size_t part = 0; part < parts; part++) {
		const cli_samples *all = &samples[part];
		size_t left = (all->room - all->n) / n, room = each < left ? each : left;

		for (size_t i = 0; i < n; i++)
			bench->members[i].samples[part] =
				(cli_samples){ all->at + all->n + i * room, 0, room };
	}
}

/* Moves together what they noted. */
static void collect(const struct bench *bench, cli_samples *samples, size_t parts)
{
	for (size_t part = 0; part < parts; part++) {
		for (size_t i = 0; i < bench->result->producers; i++) {
			const cli_samples *own = &bench->members[i].samples[part];

			for (size_t k = 0; k < own->n; k++)
				samples[part].at[samples[part].n++] = own->at[k];
		}
	}
}

static psg_status run_body(struct bench *bench, size_t system, body_fn body, int64_t ns,
			   psg_error *error)
{
	struct crew crew = { .system = cli_job_columns[system].system,
			     .title = cli_job_columns[system].title,
			     .open = bench->open[system],
			     .body = body,
			     .lock = PTHREAD_MUTEX_INITIALIZER,
			     .changed = PTHREAD_COND_INITIALIZER,
			     .turn = PTHREAD_MUTEX_INITIALIZER };

	for (size_t i = 0; i < bench->result->producers; i++) {
		struct member *member = &bench->members[i];

		member->crew = &crew;
		member->i = i;
		member->jobs = 0;
		member->error = (psg_error)PSG_ERROR_INIT;
	}
	return run_crew(&crew, bench->members, bench->result->producers, ns, error);
}

/* From the first producer's start to the last one's end, by when all jobs have ended. */
static double rate_of(const struct bench *bench)
{
	int64_t begin = bench->members[0].begin_ns, end = bench->members[0].end_ns;
	uint64_t jobs = 0;

	for (size_t i = 0; i < bench->result->producers; i++) {
		const struct member *member = &bench->members[i];

		jobs += member->jobs;
		begin = member->begin_ns < begin ? member->begin_ns : begin;
		end = member->end_ns > end ? member->end_ns : end;
	}
	return (double)jobs * (double)PSG_SECOND / (double)(end - begin);
}

static psg_status measure_trips(struct bench *bench, size_t system, int state, psg_error *error)
{
	bool idle = state == CLI_WORKER_IDLE;
	cli_samples *samples = bench->trips[state][system];
	psg_status status;

	hand_out(bench, samples, CLI_TRIP_PARTS, idle ? IDLE_TRIPS : MOST_TRIPS / bench->rounds);
	status = run_body(bench, system, idle ? trips_idle : trips_awake, idle ? 0 : AWAKE_NS,
			  error);
	collect(bench, samples, CLI_TRIP_PARTS);
	return status;
}

/* One system's part of one round. */
static psg_status measure_system(struct bench *bench, size_t round, size_t system, psg_error *error)
{
	const cli_job_system *calls = cli_job_columns[system].system;
	psg_status status = run_body(bench, system, stream, STREAM_NS, error);

	bench->rates[system][round] = rate_of(bench);
	for (int state = 0; state < CLI_WORKER_STATES && status == PSG_OK; state++)
		if (calls->trip != NULL)
			status = measure_trips(bench, system, state, error);
	if (status == PSG_OK && calls->timed != NULL) {
		hand_out(bench, &bench->timed, 1, MOST_TIMED / bench->rounds);
		status = run_body(bench, system, timed, TIMED_NS, error);
		collect(bench, &bench->timed, 1);
	}
	return status;
}

static cli_spread spread_of(cli_samples *samples)
{
	const double *at = samples->at;
	size_t n = samples->n;
	double p50;

	if (n == 0)
		return (cli_spread){ NAN, NAN, NAN, NAN, 0 };
	p50 = cli_quantile(samples->at, n, 0.50); /* sorts */
	return (cli_spread){ p50, cli_quantile_sorted(at, n, 0.99),
			     cli_quantile_sorted(at, n, 0.999), cli_quantile_sorted(at, n, 1), n };
}

static void conclude(struct bench *bench)
{
	cli_jobs_result *result = bench->result;

	result->submit = spread_of(&bench->timed);
	for (size_t i = 0; i < CLI_JOB_SYSTEMS; i++) {
		result->rate[i] = cli_job_columns[i].system != NULL
					  ? cli_median(bench->rates[i], bench->rounds)
					  : NAN;
		for (int state = 0; state < CLI_WORKER_STATES; state++)
			for (int part = 0; part < CLI_TRIP_PARTS; part++)
				result->trip[state][i][part] =
					spread_of(&bench->trips[state][i][part]);
	}
}

static psg_status measure_rounds(struct bench *bench, psg_error *error)
{
	psg_status status = PSG_OK;

	for (size_t round = 0; round < bench->rounds; round++) {
		for (size_t k = 0; k < CLI_JOB_SYSTEMS && status == PSG_OK; k++) {
			size_t system = (round + k) % CLI_JOB_SYSTEMS; /* each is first once */

			if (cli_job_columns[system].system == NULL)
				continue;
			cli_progress("%zu producers, round %zu of %zu, %s",
				     bench->result->producers, round + 1, bench->rounds,
				     cli_job_columns[system].title);
			status = measure_system(bench, round, system, error);
		}
	}
	if (status == PSG_OK)
		conclude(bench);
	return status;
}

/* --- memory for the samples --- */

/* Idle trips of a round: one a producer is the least. */
static size_t idle_room(const struct bench *bench)
{
	size_t n = bench->result->producers;

	return bench->rounds * (n > IDLE_TRIPS ? n : IDLE_TRIPS);
}

/* A part of `*at`, which goes on behind it. */
static cli_samples cut(double **at, size_t room)
{
	cli_samples samples = { *at, 0, room };

	*at += room;
	return samples;
}

/* Untouched memory costs nothing: systems that are not there leave theirs so. */
static double *lay_out(struct bench *bench)
{
	size_t awake =
		MOST_TRIPS > bench->result->producers ? MOST_TRIPS : bench->result->producers;
	size_t a_system = bench->rounds + CLI_TRIP_PARTS * (idle_room(bench) + awake);
	double *all = malloc((CLI_JOB_SYSTEMS * a_system + MOST_TIMED) * sizeof(*all)), *at = all;

	if (all == NULL)
		return NULL;
	bench->timed = cut(&at, MOST_TIMED);
	for (size_t i = 0; i < CLI_JOB_SYSTEMS; i++) {
		bench->rates[i] = cut(&at, bench->rounds).at;
		for (int part = 0; part < CLI_TRIP_PARTS; part++) {
			bench->trips[CLI_WORKER_IDLE][i][part] = cut(&at, idle_room(bench));
			bench->trips[CLI_WORKER_AWAKE][i][part] = cut(&at, awake);
		}
	}
	return all;
}

static psg_status measure_one(cli_jobs_result *result, void *const *open, size_t rounds,
			      psg_error *error)
{
	struct bench bench = { .result = result, .open = open, .rounds = rounds };
	double *samples = lay_out(&bench);
	psg_status status = PSG_NOMEM;

	bench.members = calloc(result->producers, sizeof(*bench.members));
	if (samples == NULL || bench.members == NULL)
		cli_set_error(error, status, "no memory for the samples of %zu producers",
			      result->producers);
	else
		status = measure_rounds(&bench, error);
	free(bench.members);
	free(samples);
	return status;
}

psg_status cli_jobs_measure(cli_jobs_result *results, size_t n, size_t rounds, psg_error *error)
{
	void *open[CLI_JOB_SYSTEMS] = { NULL };
	size_t opened = 0;
	psg_status status = PSG_OK;

	for (; opened < CLI_JOB_SYSTEMS && status == PSG_OK; opened++)
		if (cli_job_columns[opened].system != NULL)
			status = cli_job_columns[opened].system->open(CLI_JOBS_PRODUCERS,
								      &open[opened], error);
	if (status != PSG_OK)
		opened--; /* the last one did not open */
	for (size_t i = 0; i < n && status == PSG_OK; i++)
		status = measure_one(&results[i], open, rounds, error);
	cli_progress_clear();
	while (opened-- > 0)
		if (cli_job_columns[opened].system != NULL)
			cli_job_columns[opened].system->close(open[opened]);
	return status;
}
