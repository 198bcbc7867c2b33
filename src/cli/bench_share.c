/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pagesift-gpu bench share: what engines of one process, and clients of one engine, do to each
 * other.
 *
 * One engine detects text on pages, one after the other, while another one recognises lines without
 * end; two of these divide the device by their weights; and clients who wait for their lines share
 * an engine with as many who give up before it is their turn.
 */
#include "config.h"

#include "cli/bench_share.h"
#include "cli/json.h"
#include "cli/options.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* How long a round measures each, chosen so that all rounds are below a minute and, on a CPU that
 * detects five pages a second, have some hundred batches each. */
#define ALONE_MS 500
#define BESIDE_MS 2000
#define WEIGHTS_MS 1500
#define CLIENTS_MS 1500

/* Of detections in a round, also where they take longer; chosen, for a median to be one. */
#define LEAST_PAGES 3

/* Of the time that a line waits, so much is too long for the impatient: well before its turn. */
#define PATIENCE (1.0 / 8)

struct values {
	const char *device, *models;
	int64_t repeat;
	bool json;
};

static const cli_option options[] = {
	CLI_BENCH_DEVICE(struct values, device),
	CLI_OPTION_MODELS(struct values, models),
	CLI_BENCH_REPEAT(struct values, repeat, "rounds that count; default: 5", 1000),
	CLI_OPTION_JSON(struct values, json),
};

static const cli_usage usage = {
	.command = "bench share",
	.operands = "",
	.about = "Shows how long a page's detection takes on an engine beside another one that "
		 "has\nlines of text to recognise without end, on the same device; how the "
		 "device's\n"
		 "time is divided between two of those by their weights, 3 to 1; and what clients\n"
		 "get done beside as many others who do not wait until it is their turn.",
	.options = options,
	.n_options = sizeof(options) / sizeof(options[0]),
	.notes = "What is run before the clock counts makes the plans for all sizes of batches.",
};

/* An engine with its own worker on the device that all share. */
struct engine {
	psg_worker *worker;
	psg_batcher *batcher;
};

enum { PAGES, FLOOD, HEAVY, LIGHT, CLIENTS, ENGINES };

struct bench {
	psg_shared_worker *shared;
	psg_model *detection, *recognition;
	psg_tensor *page; /* [1, 3, 640, 640] */
	psg_tensor *line; /* [1, 3, 48, 320] */
	struct engine engines[ENGINES];
};

static void sleep_ms(int64_t ms)
{
	struct timespec time = { .tv_sec = ms / 1000,
				 .tv_nsec = ms % 1000 * (long)PSG_MILLISECOND };

	while (nanosleep(&time, &time) != 0)
		;
}

/* --- a flood beside detection --- */

static psg_status run_model(psg_worker *worker, psg_model *model, psg_tensor *input, double *ms,
			    psg_error *error)
{
	int64_t begin = psg_now_ns();
	psg_future *future;
	psg_status status = psg_submit_model(worker, model, &input, 1, NULL, &future, error);

	if (status != PSG_OK)
		return status;
	status = cli_bench_finish(future, error);
	*ms = cli_ms_since(begin);
	return status;
}

/* One page after the other. */
static psg_status detect(const struct bench *bench, double for_ms, cli_growing *times,
			 psg_error *error)
{
	int64_t begin = psg_now_ns();
	psg_status status = PSG_OK;

	for (size_t n = 0; status == PSG_OK && (n < LEAST_PAGES || cli_ms_since(begin) < for_ms);
	     n++) {
		double ms;

		status = run_model(bench->engines[PAGES].worker, bench->detection, bench->page, &ms,
				   error);
		if (status == PSG_OK && !cli_growing_add(times, ms))
			status = cli_fail(error, PSG_NOMEM, "no memory for %zu times", times->n);
	}
	return status;
}

static psg_status start_flood(const struct bench *bench, const struct engine *engine,
			      cli_flood *flood, cli_crowd *crowd, psg_error *error)
{
	*flood = (cli_flood){ engine->batcher, bench->line };
	return cli_crowd_start(crowd, CLI_FLOOD_CLIENTS, cli_flood_member, flood, error);
}

static psg_status stop(cli_crowd *crowd, psg_status status, psg_error *error)
{
	psg_error theirs = PSG_ERROR_INIT;
	psg_status failure;

	cli_crowd_tell(crowd);
	failure = cli_crowd_join(crowd, &theirs);
	if (status != PSG_OK || failure == PSG_OK)
		return status;
	*error = theirs;
	return failure;
}

/* Until it has run so many lines; or has failed. */
static void await(const psg_worker *worker, uint64_t more)
{
	psg_worker_stats stats;
	uint64_t before;

	psg_worker_stats_get(worker, &stats);
	before = stats.completed + stats.failed;
	do {
		sleep_ms(1);
		psg_worker_stats_get(worker, &stats);
	} while (stats.completed + stats.failed < before + more);
}

/* Of the flood's engine: batches, and their time. */
struct batches {
	psg_worker_stats worker;
	psg_batcher_stats batcher;
};

static void look(const struct engine *engine, struct batches *batches)
{
	psg_worker_stats_get(engine->worker, &batches->worker);
	psg_batcher_stats_get(engine->batcher, &batches->batcher);
}

static void add(cli_share_times *times, const struct batches *before, const struct batches *after)
{
	times->busy_ms +=
		(double)(after->worker.busy_ns - before->worker.busy_ns) / (double)PSG_MILLISECOND;
	times->runs += after->batcher.runs - before->batcher.runs;
	times->lines += after->batcher.samples - before->batcher.samples;
}

static psg_status run_beside(const struct bench *bench, cli_share_times *times, psg_error *error)
{
	const struct engine *engine = &bench->engines[FLOOD];
	struct batches before, after;
	cli_flood flood;
	cli_crowd crowd;
	psg_status status = start_flood(bench, engine, &flood, &crowd, error);

	if (status == PSG_OK) {
		await(engine->worker, 1);
		look(engine, &before);
		status = detect(bench, BESIDE_MS, &times->detection_ms[CLI_SHARE_BESIDE], error);
		look(engine, &after);
		add(times, &before, &after);
	}
	return stop(&crowd, status, error);
}

static void note_longest(const struct bench *bench, cli_share_times *times)
{
	psg_stats stats = { .size = sizeof(stats) };

	if (psg_stats_get(bench->engines[FLOOD].worker, &stats) == PSG_OK)
		times->longest_ms = (double)stats.run_ns.max / (double)PSG_MILLISECOND;
}

/* --- weights --- */

static uint64_t busy_ns(const struct engine *engine)
{
	psg_worker_stats stats;

	psg_worker_stats_get(engine->worker, &stats);
	return stats.busy_ns;
}

/* From the end of one of the light one's batches to the end of another: between these are whole
 * rounds of turns. */
static void divide(const struct bench *bench, size_t round, cli_share_times *times)
{
	const struct engine *heavy = &bench->engines[HEAVY], *light = &bench->engines[LIGHT];
	uint64_t more, less;

	await(light->worker, 1);
	more = busy_ns(heavy);
	less = busy_ns(light);
	sleep_ms(WEIGHTS_MS);
	await(light->worker, 1);
	more = busy_ns(heavy) - more;
	less = busy_ns(light) - less;
	times->weights[round] = less > 0 ? (double)more / (double)less : 0;
	times->heavy_ms += (double)more / (double)PSG_MILLISECOND;
	times->light_ms += (double)less / (double)PSG_MILLISECOND;
}

/* Two floods. */
static psg_status run_weights(const struct bench *bench, size_t round, cli_share_times *times,
			      psg_error *error)
{
	const struct engine *engines = bench->engines;
	cli_flood floods[2];
	cli_crowd crowds[2];
	psg_status status = start_flood(bench, &engines[HEAVY], &floods[0], &crowds[0], error);

	if (status != PSG_OK)
		return stop(&crowds[0], status, error);
	status = start_flood(bench, &engines[LIGHT], &floods[1], &crowds[1], error);
	if (status == PSG_OK)
		divide(bench, round, times);
	return stop(&crowds[0], stop(&crowds[1], status, error), error);
}

/* --- clients who give up --- */

static uint64_t read_count(const atomic_uint_fast64_t *lines)
{
	return atomic_load_explicit(lines, memory_order_relaxed);
}

/* Lines a second of the patient, and which part of the time the device was busy: where it is not
 * all, the clients are what is measured. */
struct pace {
	double rate, busy;
};

static struct pace get_pace(const struct bench *bench, const cli_office *office)
{
	const struct engine *engine = &bench->engines[CLIENTS];
	uint64_t lines, busy;
	int64_t begin;
	double ms;

	await(engine->worker, CLI_SHARE_CLIENTS);
	lines = read_count(&office->served);
	busy = busy_ns(engine);
	begin = psg_now_ns();
	sleep_ms(CLIENTS_MS);
	lines = read_count(&office->served) - lines;
	busy = busy_ns(engine) - busy;
	ms = cli_ms_since(begin);
	return (struct pace){ (double)lines * 1000 / ms,
			      (double)busy / (ms * (double)PSG_MILLISECOND) };
}

/* The impatient wait for their invitation. */
static psg_status stop_impatient(cli_crowd *crowd, cli_office *office, psg_status status,
				 psg_error *error)
{
	cli_crowd_tell(crowd);
	for (size_t i = 0; i < crowd->n; i++)
		(void)sem_post(&office->invited);
	return stop(crowd, status, error);
}

static psg_status run_office(const struct bench *bench, cli_office *office, struct pace *pace,
			     psg_error *error)
{
	cli_crowd patient, impatient;
	psg_status status = PSG_OK;

	if (office->invites)
		status = cli_crowd_start(&impatient, CLI_SHARE_CLIENTS, cli_impatient_member,
					 office, error);
	if (status == PSG_OK) {
		status = cli_crowd_start(&patient, CLI_SHARE_CLIENTS, cli_patient_member, office,
					 error);
		if (status == PSG_OK)
			*pace = get_pace(bench, office);
		status = stop(&patient, status, error);
	}
	return office->invites ? stop_impatient(&impatient, office, status, error) : status;
}

/* `patience_ns` 0: without the impatient. */
static psg_status run_clients(const struct bench *bench, int64_t patience_ns, struct pace *pace,
			      cli_share_times *times, psg_error *error)
{
	cli_office office = { .batcher = bench->engines[CLIENTS].batcher,
			      .line = bench->line,
			      .invites = patience_ns > 0,
			      .patience_ns = patience_ns };
	psg_status status;

	(void)sem_init(&office.invited, 0, 0);
	status = run_office(bench, &office, pace, error);
	(void)sem_destroy(&office.invited);
	if (patience_ns > 0) {
		times->served += read_count(&office.served);
		times->abandoned += read_count(&office.abandoned);
		times->too_soon += read_count(&office.too_soon);
	}
	return status;
}

/* With and without, which of them first changing; what a line waits is known from the warm-up. */
static psg_status run_both(const struct bench *bench, int64_t patience_ns, size_t round,
			   cli_share_times *times, psg_error *error)
{
	psg_status status = PSG_OK;

	for (size_t i = 0; i < CLI_SHARE_CASES && status == PSG_OK; i++) {
		size_t which = (i + round) % CLI_SHARE_CASES;
		struct pace pace = { 0 };

		status = run_clients(bench, which == CLI_SHARE_BESIDE ? patience_ns : 0, &pace,
				     times, error);
		times->rates[which][round] = pace.rate;
		times->busy[which][round] = pace.busy;
	}
	if (status == PSG_OK && times->rates[CLI_SHARE_ALONE][round] > 0)
		times->parts[round] = times->rates[CLI_SHARE_BESIDE][round] /
				      times->rates[CLI_SHARE_ALONE][round];
	return status;
}

/* --- rounds --- */

/* The plans, on whichever engine: they are the device's. */
static psg_status make_plans(const struct bench *bench, psg_error *error)
{
	static const uint8_t sizes[] = { 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64 };
	psg_worker *worker = bench->engines[PAGES].worker;
	double ms;
	psg_status status = run_model(worker, bench->detection, bench->page, &ms, error);

	for (size_t i = 0; i < sizeof(sizes) && status == PSG_OK; i++) {
		psg_tensor *some;

		status = psg_tensor_create(PSG_F32, &PSG_SHAPE(sizes[i], 3, 48, 320), &some, error);
		if (status == PSG_OK)
			status = run_model(worker, bench->recognition, some, &ms, error);
		psg_tensor_unref(some);
	}
	if (status == PSG_OK)
		status = run_model(worker, bench->detection, bench->page, &ms, error);
	return status;
}

/* Also what the batcher of the clients learns, and how patient the impatient are. */
static psg_status warm_up(const struct bench *bench, int64_t *patience_ns, cli_share_times *times,
			  psg_error *error)
{
	struct pace pace = { 0 };
	psg_status status;

	cli_progress("warming up");
	status = make_plans(bench, error);
	if (status == PSG_OK)
		status = run_clients(bench, 0, &pace, times, error);
	/* Each of the clients has one line there. */
	if (pace.rate > 0)
		*patience_ns =
			(int64_t)(CLI_SHARE_CLIENTS / pace.rate * PATIENCE * (double)PSG_SECOND);
	if (*patience_ns < 1)
		*patience_ns = 1;
	return status;
}

static psg_status run_round(const struct bench *bench, int64_t patience_ns, size_t round,
			    cli_share_times *times, psg_error *error)
{
	psg_status status = detect(bench, ALONE_MS, &times->detection_ms[CLI_SHARE_ALONE], error);

	if (status == PSG_OK)
		status = run_beside(bench, times, error);
	if (status == PSG_OK)
		status = run_weights(bench, round, times, error);
	if (status == PSG_OK)
		status = run_both(bench, patience_ns, round, times, error);
	return status;
}

static psg_status measure(const struct bench *bench, cli_share_times *times, psg_error *error)
{
	int64_t patience_ns = 0;
	psg_status status = warm_up(bench, &patience_ns, times, error);

	for (size_t i = 0; i < times->rounds && status == PSG_OK; i++) {
		cli_progress("round %zu of %zu", i + 1, times->rounds);
		status = run_round(bench, patience_ns, i, times, error);
	}
	cli_progress_clear();
	note_longest(bench, times);
	return status;
}

/* --- what is measured with --- */

static psg_status open_models(struct bench *bench, const char *folder, psg_error *error)
{
	psg_status status = cli_bench_model(folder, PSG_OCR_DETECTION, &bench->detection, error);

	if (status == PSG_OK)
		status = cli_bench_model(folder, PSG_OCR_RECOGNITION, &bench->recognition, error);
	return status;
}

static psg_status open_engines(struct bench *bench, psg_error *error)
{
	psg_status status = PSG_OK;

	for (size_t i = 0; i < ENGINES && status == PSG_OK; i++) {
		const psg_worker_options worker = { .weight = i == HEAVY ? CLI_SHARE_HEAVY : 1 };
		const psg_batcher_options batcher = { .max_batch =
							      i == CLIENTS ? CLI_SHARE_BATCH : 0 };
		struct engine *engine = &bench->engines[i];

		status = psg_worker_open_shared(bench->shared, &worker, &engine->worker, error);
		if (status == PSG_OK)
			status = psg_batcher_open(engine->worker, bench->recognition, &batcher,
						  &engine->batcher, error);
	}
	return status;
}

static psg_status open_rest(struct bench *bench, const char *device, psg_error *error)
{
	psg_status status = psg_shared_worker_acquire(device, NULL, &bench->shared, error);

	if (status == PSG_OK)
		status = open_engines(bench, error);
	if (status == PSG_OK)
		status =
			psg_tensor_create(PSG_F32, &PSG_SHAPE(1, 3, 640, 640), &bench->page, error);
	if (status == PSG_OK)
		status = psg_tensor_create(PSG_F32, &PSG_SHAPE(1, 3, 48, 320), &bench->line, error);
	if (status != PSG_OK)
		return status;
	cli_bench_fill(bench->page);
	cli_bench_fill(bench->line);
	return PSG_OK;
}

static void close_all(struct bench *bench)
{
	psg_tensor_unref(bench->line);
	psg_tensor_unref(bench->page);
	for (size_t i = 0; i < ENGINES; i++) {
		psg_batcher_close(bench->engines[i].batcher);
		psg_worker_close(bench->engines[i].worker);
	}
	psg_shared_worker_release(bench->shared);
	psg_model_unref(bench->recognition);
	psg_model_unref(bench->detection);
}

static cli_exit run(const struct values *values, cli_share_times *times)
{
	struct bench bench = { .shared = NULL };
	psg_error error = PSG_ERROR_INIT;
	cli_exit result = CLI_NO_MODELS;
	psg_status status = open_models(&bench, values->models, &error);

	if (status == PSG_OK) {
		status = open_rest(&bench, cli_bench_device(values->device), &error);
		result = status == PSG_INVALID ? CLI_USAGE : CLI_FAILED;
	}
	if (status == PSG_OK) {
		(void)snprintf(times->device, sizeof(times->device), "%s",
			       psg_shared_worker_device(bench.shared)->name);
		status = measure(&bench, times, &error);
	}
	close_all(&bench);
	if (status == PSG_OK)
		return cli_bench_share_print(times, values->json);
	cli_error("%s", error.message);
	return result;
}

bool cli_growing_add(cli_growing *values, double value)
{
	if (values->n == values->room) {
		size_t room = values->room == 0 ? 1024 : 2 * values->room;
		double *at = reallocarray(values->at, room, sizeof(*at));

		if (at == NULL)
			return false;
		values->at = at;
		values->room = room;
	}
	values->at[values->n++] = value;
	return true;
}

static bool have_room(cli_share_times *times)
{
	bool all;

	times->weights = calloc(times->rounds, sizeof(double));
	times->parts = calloc(times->rounds, sizeof(double));
	all = times->weights != NULL && times->parts != NULL;
	for (size_t i = 0; i < CLI_SHARE_CASES; i++) {
		times->rates[i] = calloc(times->rounds, sizeof(double));
		times->busy[i] = calloc(times->rounds, sizeof(double));
		all = all && times->rates[i] != NULL && times->busy[i] != NULL;
	}
	return all;
}

static void free_times(cli_share_times *times)
{
	free(times->weights);
	free(times->parts);
	for (size_t i = 0; i < CLI_SHARE_CASES; i++) {
		free(times->rates[i]);
		free(times->busy[i]);
		free(times->detection_ms[i].at);
	}
}

cli_exit cli_bench_share(int argc, char **argv)
{
	struct values values = { .repeat = 5 };
	cli_share_times times = { .rounds = 0 };
	cli_exit result;
	int operands;

	if (!cli_options_read(&usage, argc, argv, &values, &operands, &result))
		return result;
	if (operands > 0)
		return cli_usage_error(&usage, "'%.100s' is too much", argv[1]);
	if (values.json && !cli_json_available())
		return CLI_USAGE;
	times.rounds = (size_t)values.repeat;
	if (have_room(&times)) {
		result = run(&values, &times);
	} else {
		cli_error("no memory for the times of %zu rounds", times.rounds);
		result = CLI_FAILED;
	}
	free_times(&times);
	return result;
}
