/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A page ended at each of its jobs, just before it is submitted and just after:
 * cancelled, let go of, too late, its engine closed, its worker shut down.  It
 * must end once, as what happened says, and leave an engine that reads.
 *
 * The linker's --wrap stops the page at its submissions.
 */
#include "config.h"

#include "engine_util.h"
#include "ocr/engine.h"
#include "tiny_models.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <time.h>

static char folder[] = "test_steps.XXXXXX";
static psg_worker *worker;
static psg_ocr *ocr;
static t_file file;
static char *expected;

/* --- stopping at a job --- */

static struct {
	int to_come; /* jobs before the one; below 0: it was, or there is none */
	bool after;
	void (*act)(void); /* on the host thread */
	psg_future *page;
} stop = { .to_come = -1 };

psg_status __real_psg_submit_model(psg_worker *to, psg_model *model, psg_tensor *const *in,
				   size_t n_in, const psg_job_options *options, psg_future **out,
				   psg_error *error);
psg_status __wrap_psg_submit_model(psg_worker *to, psg_model *model, psg_tensor *const *in,
				   size_t n_in, const psg_job_options *options, psg_future **out,
				   psg_error *error);
psg_status __wrap_psg_submit_model(psg_worker *to, psg_model *model, psg_tensor *const *in,
				   size_t n_in, const psg_job_options *options, psg_future **out,
				   psg_error *error)
{
	bool now = stop.to_come-- == 0;
	psg_status status;

	if (now && !stop.after)
		stop.act();
	status = __real_psg_submit_model(to, model, in, n_in, options, out, error);
	if (now && stop.after)
		stop.act();
	return status;
}

static void wait_a_little(void)
{
	const struct timespec step = { .tv_nsec = 100000 };

	(void)nanosleep(&step, NULL);
}

/* --- ways to end --- */

static int64_t deadline_ns, patience_ns = 20 * PSG_MILLISECOND;
static sem_t may_close;

static void cancel(void)
{
	ck_assert_int_ne(psg_future_cancel(stop.page), PSG_CANCEL_DONE);
}

static void let_go(void)
{
	psg_future_release(stop.page);
}

static void be_late(void)
{
	while (psg_now_ns() < deadline_ns)
		wait_a_little();
}

static void close_engine(void)
{
	(void)sem_post(&may_close);
	while (!atomic_load(&ocr->closing))
		wait_a_little();
}

static void abort_worker(void)
{
	psg_worker_abort(worker);
}

static const struct {
	void (*act)(void);
	psg_status status;
	bool lasting; /* engine and worker are as before */
} ways[] = {
	{ cancel, PSG_CANCELLED, true },       { let_go, PSG_CANCELLED, true },
	{ be_late, PSG_TIMED_OUT, true },      { close_engine, PSG_CANCELLED, false },
	{ abort_worker, PSG_SHUTDOWN, false },
};

/* --- pages --- */

static void open_all(void)
{
	psg_ocr_options options = { .models_dir = folder,
				    .unclip = T_TINY_UNCLIP,
				    .host_threads = 1 };

	worker = t_worker(0);
	ocr = t_engine(&worker, 1, &options);
}

static void close_all(void)
{
	psg_ocr_close(ocr);
	psg_worker_close(worker);
}

static char *read_file(void)
{
	psg_future *future = t_submit(ocr, file, NULL);
	char *text = t_text(future);

	psg_future_release(future);
	return text;
}

static void still_reads(void)
{
	char *text = read_file();

	ck_assert_str_eq(text, expected);
	free(text);
}

static void set_up(void)
{
	t_tiny_models(folder);
	file.data = t_tiny_page(1, &file.size); /* of four lines */
	(void)sem_init(&may_close, 0, 0);
	open_all();
	expected = read_file();
}

static void tear_down(void)
{
	close_all();
	free(file.data);
	free(expected);
	t_tiny_models_remove(folder);
}

struct end {
	atomic_int calls;
	psg_status status;
};

static void note_end(psg_future *future, void *user)
{
	struct end *end = user;

	end->status = psg_future_wait(future);
	(void)atomic_fetch_add(&end->calls, 1);
}

static void wait_for(struct end *end)
{
	while (atomic_load(&end->calls) == 0)
		wait_a_little();
}

/* Ends a page at that job; false: it has fewer. */
static bool end_at(int way, int job, bool after)
{
	struct end end = { .calls = 0 };
	psg_job_options options = { .done = note_end, .user = &end };
	bool reached;

	deadline_ns = psg_now_ns() + patience_ns;
	if (ways[way].act == be_late)
		options.deadline_ns = deadline_ns;
	stop.act = ways[way].act;
	stop.after = after;
	stop.to_come = job;
	/* The page cannot come to its jobs before stop.page is set. */
	ck_assert_int_eq(psg_ocr_submit(ocr, file.data, file.size, 0, &options, &stop.page, NULL),
			 PSG_OK);
	if (ways[way].act == close_engine) {
		while (sem_trywait(&may_close) != 0 && atomic_load(&end.calls) == 0)
			wait_a_little();
		psg_ocr_close(ocr);
		ocr = NULL;
		ck_assert_int_eq(atomic_load(&end.calls), 1);
	}
	wait_for(&end);
	reached = stop.to_come < 0;
	/* For pages that others read. */
	stop.to_come = -1;
	if (!reached && end.status == PSG_TIMED_OUT) { /* a slow machine */
		patience_ns *= 2;
		psg_future_release(stop.page);
		return end_at(way, job, after);
	}
	/* A worker may have done the last job before it was shut down. */
	if (!reached || (ways[way].act == abort_worker && end.status == PSG_OK))
		ck_assert_int_eq(end.status, PSG_OK);
	else
		ck_assert_int_eq(end.status, ways[way].status);
	if (!reached || ways[way].act != let_go)
		psg_future_release(stop.page);
	ck_assert_int_eq(atomic_load(&end.calls), 1);
	return reached;
}

START_TEST(ended_at_each_job)
{
	int way = _i / 2, job = 0;
	bool after = _i % 2 != 0;

	while (end_at(way, job, after)) {
		if (!ways[way].lasting) {
			close_all();
			open_all();
		}
		still_reads();
		job++;
	}
	ck_assert_int_eq(job, 1 + 4 + 4); /* detection; direction and recognition of each line */
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("steps of pages");
	TCase *all = tcase_create("steps");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(all, set_up, tear_down);
	tcase_add_loop_test(all, ended_at_each_job, 0, 2 * sizeof(ways) / sizeof(ways[0]));
	tcase_set_timeout(all, 60);
	suite_add_tcase(suite, all);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? 0 : 1;
}
