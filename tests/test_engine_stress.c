/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pages of tiny models from more threads than cores, in rounds of random
 * engines: submitted, waited for, timed out, cancelled, released, handed to
 * other threads, followed by another page from their callback, and in the end
 * closed under.  Each accepted page must be called back once, and one that ends
 * well must have the text that it has alone.
 */
#include "config.h"

#include "engine_util.h"
#include "random_net.h"
#include "tiny_models.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#define ROUNDS 16 /* chosen, with the next two: some seconds on two cores */
#define CLIENTS 6
#define SUBMISSIONS 60 /* of a client in a round */
#define PAGES 32       /* different ones */
#define SHELF 8        /* futures that wait for any client to take them */

static char folder[] = "test_stress.XXXXXX";
static t_file pages[PAGES];
static char *texts[PAGES]; /* what each gives alone */

/* A page that was submitted. */
struct record {
	struct round *round;
	size_t page;
	atomic_int called;
	bool accepted;
	bool releases;       /* the callback, its handle */
	struct record *then; /* submitted by the callback; NULL: nothing is */
};

struct round {
	psg_ocr *ocr;
	psg_worker *workers[2];
	size_t n_workers;
	bool aborts; /* one of two workers, half-way */
	psg_future *_Atomic shelf[SHELF];
	pthread_barrier_t submitted;
	struct record records[CLIENTS][SUBMISSIONS][2];
};

struct client {
	struct round *round;
	size_t number;
	uint32_t seed;
};

/* How pages ended, in all rounds. */
static atomic_long ended[PSG_FORKED + 1];

/* --- the end of a page --- */

static void submit(struct record *record, const psg_job_options *options, psg_future **out,
		   psg_status *status);

static void check_text(psg_future *future, size_t page)
{
	const psg_page *read;
	char *text;

	ck_assert_int_eq(psg_ocr_page(future, &read, NULL), PSG_OK);
	ck_assert_int_eq(psg_page_format(read, "page", PSG_FORMAT_TEXT, &text, NULL), PSG_OK);
	ck_assert_str_eq(text, texts[page]);
	free(text);
}

static void call_back(psg_future *future, void *user)
{
	struct record *record = user;
	psg_status status = psg_future_wait(future);

	(void)atomic_fetch_add(&record->called, 1);
	(void)atomic_fetch_add(&ended[status], 1);
	if (status == PSG_OK)
		check_text(future, record->page);
	else
		ck_assert(status == PSG_CANCELLED || status == PSG_TIMED_OUT ||
			  status == PSG_SHUTDOWN);
	if (record->then != NULL) {
		psg_future *next = NULL;

		submit(record->then, &(psg_job_options){ 0 }, &next, &status);
		psg_future_release(next);
	}
	if (record->releases)
		psg_future_release(future);
}

static void submit(struct record *record, const psg_job_options *options, psg_future **out,
		   psg_status *status)
{
	psg_job_options own = *options;
	t_file page = pages[record->page];

	own.done = call_back;
	own.user = record;
	record->accepted = true; /* before it can be called back */
	*status = psg_ocr_submit(record->round->ocr, page.data, page.size, 0, &own, out, NULL);
	if (*status == PSG_OK)
		return;
	record->accepted = false;
	ck_assert(*status == PSG_FULL || *status == PSG_SHUTDOWN);
}

/* --- clients --- */

static void wait_and_release(psg_future *future)
{
	psg_status status = psg_future_wait(future);
	psg_error error = PSG_ERROR_INIT;

	ck_assert_int_eq(psg_future_error(future, &error), status);
	ck_assert_int_eq(psg_future_cancel(future), PSG_CANCEL_DONE);
	psg_future_release(future);
}

/* What the random number says; the handle is used up. */
static void treat(struct client *self, psg_future *future)
{
	uint32_t what = t_random(&self->seed, 10);

	if (what == 0) {
		psg_future_release(future);
	} else if (what < 3) {
		(void)psg_future_cancel(future);
		if (what == 1)
			psg_future_release(future);
		else
			wait_and_release(future);
	} else if (what < 5) {
		(void)psg_future_wait_for(future, t_random(&self->seed, 2000000));
		psg_future_release(future);
	} else if (what < 8) {
		wait_and_release(future);
	} else { /* to the shelf; what stood there is this client's now */
		future = atomic_exchange(&self->round->shelf[t_random(&self->seed, SHELF)], future);
		if (future != NULL)
			treat(self, future);
	}
}

static void submit_one(struct client *self, size_t i)
{
	struct record *records = self->round->records[self->number][i];
	psg_job_options options = { .priority = (int32_t)t_random(&self->seed, 3) - 1 };
	psg_future *future;
	psg_status status;

	for (size_t k = 0; k < 2; k++) {
		records[k].round = self->round;
		records[k].page = t_random(&self->seed, PAGES);
	}
	if (t_random(&self->seed, 4) == 0)
		records[0].then = &records[1];
	if (t_random(&self->seed, 4) == 0)
		options.deadline_ns = psg_now_ns() + t_random(&self->seed, 4000000);
	records[0].releases = t_random(&self->seed, 4) == 0;
	submit(&records[0], &options, &future, &status);
	if (status == PSG_FULL)
		(void)sched_yield();
	else if (status == PSG_OK && !records[0].releases)
		treat(self, future);
}

static void *run_client(void *argument)
{
	struct client *self = argument;

	for (size_t i = 0; i < SUBMISSIONS; i++) {
		if (self->round->aborts && self->number == 0 && i == SUBMISSIONS / 2)
			psg_worker_abort(self->round->workers[1]);
		submit_one(self, i);
	}
	(void)pthread_barrier_wait(&self->round->submitted);
	/* Now the engine is being closed. */
	for (size_t i = 0; i < SHELF; i++) {
		psg_future *future = atomic_exchange(&self->round->shelf[i], NULL);

		if (future != NULL && t_random(&self->seed, 2) == 0)
			(void)psg_future_cancel(future);
		if (future != NULL)
			wait_and_release(future);
	}
	return NULL;
}

/* --- rounds --- */

static void open_round(struct round *round, uint32_t *seed)
{
	static const size_t capacities[] = { 1, 2, 3, 0 }, most[] = { 3, 8, 64 };
	psg_ocr_options options = { .models_dir = folder,
				    .unclip = T_TINY_UNCLIP,
				    .max_pages = most[t_random(seed, 3)],
				    .host_threads = 1 + (int32_t)t_random(seed, 3) };
	size_t capacity = capacities[t_random(seed, 4)];

	round->n_workers = 1 + t_random(seed, 2);
	round->aborts = round->n_workers == 2 && t_random(seed, 2) == 0;
	for (size_t i = 0; i < round->n_workers; i++)
		round->workers[i] = t_worker(capacity);
	round->ocr = t_engine(round->workers, round->n_workers, &options);
	ck_assert_int_eq(pthread_barrier_init(&round->submitted, NULL, CLIENTS + 1), 0);
}

static void close_round(struct round *round)
{
	psg_ocr_close(round->ocr);
	for (size_t i = 0; i < round->n_workers; i++) {
		psg_worker_stats stats;

		ck_assert_int_eq(psg_worker_drain(round->workers[i], -1), PSG_OK);
		psg_worker_stats_get(round->workers[i], &stats);
		ck_assert_uint_eq(stats.queued, 0);
		psg_worker_close(round->workers[i]);
	}
}

static void check_records(const struct round *round)
{
	for (size_t c = 0; c < CLIENTS; c++)
		for (size_t i = 0; i < SUBMISSIONS; i++)
			for (size_t k = 0; k < 2; k++) {
				const struct record *record = &round->records[c][i][k];

				ck_assert_int_eq(atomic_load(&record->called), record->accepted);
			}
}

static void run_round(uint32_t seed)
{
	struct round *round = calloc(1, sizeof(*round));
	struct client clients[CLIENTS];
	pthread_t threads[CLIENTS];

	ck_assert_ptr_nonnull(round);
	open_round(round, &seed);
	for (size_t i = 0; i < CLIENTS; i++) {
		clients[i] = (struct client){ round, i, seed + (uint32_t)i * 7919 };
		ck_assert_int_eq(pthread_create(&threads[i], NULL, run_client, &clients[i]), 0);
	}
	(void)pthread_barrier_wait(&round->submitted);
	close_round(round);
	for (size_t i = 0; i < CLIENTS; i++)
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
	(void)pthread_barrier_destroy(&round->submitted);
	for (size_t i = 0; i < SHELF; i++)
		psg_future_release(atomic_exchange(&round->shelf[i], NULL));
	check_records(round);
	free(round);
}

static void read_all(void)
{
	psg_worker *worker = t_worker(0);
	psg_ocr *ocr = t_engine(
		&worker, 1, &(psg_ocr_options){ .models_dir = folder, .unclip = T_TINY_UNCLIP });

	for (uint32_t k = 0; k < PAGES; k++) {
		psg_future *future;

		pages[k].data = t_tiny_page(k, &pages[k].size);
		future = t_submit(ocr, pages[k], NULL);
		texts[k] = t_text(future);
		ck_assert_uint_gt(strlen(texts[k]), 1);
		psg_future_release(future);
	}
	psg_ocr_close(ocr);
	psg_worker_close(worker);
}

START_TEST(everything_at_once)
{
	read_all();
	for (uint32_t i = 1; i <= ROUNDS; i++)
		run_round(i * 1000003);
	(void)printf("%ld pages read, %ld cancelled, %ld too late, %ld refused\n",
		     atomic_load(&ended[PSG_OK]), atomic_load(&ended[PSG_CANCELLED]),
		     atomic_load(&ended[PSG_TIMED_OUT]), atomic_load(&ended[PSG_SHUTDOWN]));
	/* Else the test has lost its point. */
	ck_assert_int_gt(atomic_load(&ended[PSG_OK]), 100);
	ck_assert_int_gt(atomic_load(&ended[PSG_CANCELLED]), 100);
	ck_assert_int_gt(atomic_load(&ended[PSG_TIMED_OUT]), 10);
	for (size_t k = 0; k < PAGES; k++) {
		free(pages[k].data);
		free(texts[k]);
	}
}
END_TEST

#define QUEUED 12 /* pages of each kind */

static psg_future *pop(psg_completion_queue *queue)
{
	psg_future *future;

	ck_assert_int_eq(psg_completion_queue_wait(queue, T_FOREVER, &future), PSG_OK);
	return future;
}

/* Submitted without a future, or with one, to be cancelled; each comes out once. */
START_TEST(through_a_queue)
{
	psg_worker *worker = t_worker(0);
	psg_ocr *ocr = t_engine(
		&worker, 1, &(psg_ocr_options){ .models_dir = folder, .unclip = T_TINY_UNCLIP });
	psg_completion_queue *queue;
	psg_job_options options = { .priority = 0 };
	int seen[2] = { 0, 0 };
	t_file file;
	char *text;

	file.data = t_tiny_page(1, &file.size);
	options.user = t_submit(ocr, file, NULL);
	text = t_text(options.user);
	psg_future_release(options.user);
	ck_assert_int_eq(psg_completion_queue_create(&queue, NULL), PSG_OK);
	options.queue = queue;
	for (int i = 0; i < QUEUED; i++) {
		psg_future *future;

		options.user = &seen[0];
		ck_assert_int_eq(psg_ocr_submit(ocr, file.data, file.size, 0, &options, NULL, NULL),
				 PSG_OK);
		options.user = &seen[1];
		future = t_submit(ocr, file, &options);
		(void)psg_future_cancel(future);
		psg_future_release(future);
	}
	for (int i = 0; i < 2 * QUEUED; i++) {
		psg_future *future = pop(queue);
		int *counter = psg_future_user(future);

		if (counter == &seen[0] || psg_future_error(future, NULL) == PSG_OK) {
			char *read = t_text(future);

			ck_assert_str_eq(read, text);
			free(read);
		}
		(*counter)++;
		psg_future_release(future);
	}
	ck_assert_int_eq(seen[0], QUEUED);
	ck_assert_int_eq(seen[1], QUEUED);
	/* Destroyed under a page that nobody else has a handle of. */
	ck_assert_int_eq(psg_ocr_submit(ocr, file.data, file.size, 0, &options, NULL, NULL),
			 PSG_OK);
	psg_completion_queue_destroy(queue);
	psg_ocr_close(ocr);
	psg_worker_close(worker);
	free(file.data);
	free(text);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("engine stress");
	TCase *all = tcase_create("all");
	SRunner *runner;
	int failed;

	t_tiny_models(folder);
	tcase_add_test(all, everything_at_once);
	tcase_add_test(all, through_a_queue);
	tcase_set_timeout(all, 300);
	suite_add_tcase(suite, all);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	t_tiny_models_remove(folder);
	return failed == 0 ? 0 : 1;
}
