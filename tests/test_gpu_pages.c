/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pages on a GPU that fails: at each allocation, at each call of the driver, at each kernel.  A
 * page must come to its right text, on the CPU where the GPU could not, or, where the engine may
 * not do that, to the right error; the next page is read, and nothing stays behind on the card.
 */
#include "config.h"

#include "engine_util.h"
#include "fakecuda_util.h"
#include "tiny_models.h"

#include <pagesift/stats.h>

#include <pthread.h>
#include <stdlib.h>

#define COUNT(array) ((int)(sizeof(array) / sizeof((array)[0])))

/* Between one fault and the next; under a sanitizer a page takes ten times as long. */
#if defined(PSG_SANITIZED)
#define STRIDE 13 /* no divisor of what a stage does again and again */
#else
#define STRIDE 1
#endif

static char folder[] = "test_pages.XXXXXX";
static psg_ocr_options options;
static t_file file;
static char *expected; /* its text, as the CPU reads it */

/* --- engines --- */

#define MOST 2

struct engine {
	psg_worker *workers[MOST];
	size_t n;
	psg_ocr *ocr;
};

static struct engine opened(size_t n)
{
	static const char *const names[MOST] = { "cuda:0", "cuda:1" };
	struct engine e = { .n = n };

	for (size_t i = 0; i < n; i++) {
		psg_error error = PSG_ERROR_INIT;

		ck_assert_msg(psg_worker_open(names[i], NULL, &e.workers[i], &error) == PSG_OK,
			      "%s", error.message);
	}
	e.ocr = t_engine(e.workers, n, &options);
	return e;
}

static void closed(struct engine *e)
{
	psg_ocr_close(e->ocr);
	for (size_t i = 0; i < e->n; i++)
		psg_worker_close(e->workers[i]);
	t_gpu_expect_nothing_left();
}

static psg_ocr_stats stats_of(const struct engine *e)
{
	psg_ocr_stats stats;

	psg_ocr_stats_get(e->ocr, &stats);
	return stats;
}

/* --- pages --- */

/* What a page came to. */
struct outcome {
	psg_status status;
	psg_error error;
	bool right; /* its text */
	char device[32], fallback[PSG_ERROR_MESSAGE_SIZE];
};

static struct outcome read_page(const struct engine *e)
{
	psg_future *future = t_submit(e->ocr, file, NULL);
	struct outcome o = { .error = PSG_ERROR_INIT };
	const psg_page *page;

	(void)psg_future_wait(future);
	o.status = psg_ocr_page(future, &page, &o.error);
	if (o.status == PSG_OK) {
		char *text = t_text(future);

		o.right = strcmp(text, expected) == 0;
		free(text);
		(void)snprintf(o.device, sizeof(o.device), "%s", page->device);
		(void)snprintf(o.fallback, sizeof(o.fallback), "%s", page->fallback);
	}
	psg_future_release(future);
	return o;
}

static void expect(const struct outcome *o, const char *device, const char *words, const char *what)
{
	ck_assert_msg(o->status == PSG_OK, "%s: %s", what, o->error.message);
	ck_assert_msg(o->right, "%s: wrong text", what);
	if (device != NULL)
		ck_assert_msg(strcmp(o->device, device) == 0, "%s: %s", what, o->device);
	if (words[0] == '\0')
		ck_assert_msg(o->fallback[0] == '\0', "%s: %s", what, o->fallback);
	else
		ck_assert_msg(strstr(o->fallback, words) != NULL, "%s: '%s' has no '%s'", what,
			      o->fallback, words);
}

/* As ever, on the GPU. */
static void reads_well(const struct engine *e, const char *what)
{
	struct outcome o;

	t_gpu_fail("");
	o = read_page(e);
	expect(&o, "cuda:0", "", what);
}

static void set_up(void)
{
	psg_worker *worker = t_worker(0);
	psg_future *future;
	psg_ocr *ocr;

	ck_assert_int_eq(setenv("FAKECUDA_DEVICES", "2", 1), 0);
	t_tiny_models(folder);
	options = (psg_ocr_options){ .models_dir = folder, .unclip = T_TINY_UNCLIP };
	file.data = t_tiny_page(0, &file.size); /* with a line on its head */
	ocr = t_engine(&worker, 1, &options);
	future = t_submit(ocr, file, NULL);
	expected = t_text(future);
	ck_assert_uint_gt(strlen(expected), 0);
	psg_future_release(future);
	psg_ocr_close(ocr);
	psg_worker_close(worker);
	t_gpu_begin();
}

static void tear_down(void)
{
	free(file.data);
	free(expected);
	t_tiny_models_remove(folder);
}

/* --- without faults --- */

START_TEST(all_is_well)
{
	struct engine e = opened(1);

	for (int i = 0; i < 3; i++)
		reads_well(&e, "page");
	ck_assert_uint_eq(stats_of(&e).pages, 3);
	ck_assert_uint_eq(stats_of(&e).fallbacks, 0);
	ck_assert_uint_eq(stats_of(&e).moved_jobs, 0);
	closed(&e);
}
END_TEST

#define AT_ONCE 8

/* Pages at once have their lines in batches, as soon as some lines wait; each has its own text. */
START_TEST(lines_share_runs)
{
	struct engine e = opened(1);
	psg_stats stats = { .size = sizeof(stats) };
	uint64_t read = 0;

	while (stats.samples.max <= 4 && read < 200 * AT_ONCE) { /* more than a page's lines */
		psg_future *futures[AT_ONCE];

		for (size_t i = 0; i < AT_ONCE; i++)
			futures[i] = t_submit(e.ocr, file, NULL);
		for (size_t i = 0; i < AT_ONCE; i++) {
			char *text = t_text(futures[i]);

			ck_assert_str_eq(text, expected);
			free(text);
			psg_future_release(futures[i]);
		}
		read += AT_ONCE;
		ck_assert_int_eq(psg_stats_get(e.workers[0], &stats), PSG_OK);
	}
	ck_assert_uint_gt(stats.samples.max, 4);
	closed(&e);
}
END_TEST

/* --- a fault at each call --- */

static const struct sweep {
	const char *rule; /* with the number of the call */
	int code;
	bool cold; /* each page on a new device: what it loads may fail, too */
	bool no_fallback;
	int stride;
} sweeps[] = {
	{ "cuMemAlloc_v2:%d:%d", 2, true, false, 1 },
	{ "cuMemAlloc_v2:%d+:%d", 2, true, false, 1 },
	{ "cuMemAlloc_v2:%d:%d", 2, true, true, 1 },
	{ "cuMemAlloc_v2:%d+:%d", 2, true, true, 1 },
	{ "*:%d:%d", 999, true, false, 2 },
	{ "*:%d:%d", 2, true, false, 3 },
	{ "*:%d:%d", 700, true, false, 2 },
	{ "*:%d:%d", 1, false, false, 1 },
	{ "*:%d:%d", 2, false, false, 1 },
	{ "*:%d:%d", 999, false, true, 1 },
	{ "cuLaunchKernel:%d:%d", 701, false, false, 1 },
	{ "cuLaunchKernel:%d+:%d", 701, false, true, 1 },
	{ "cuModuleLoadDataEx:%d:%d", 2, true, false, 1 },
	{ "cuModuleLoadDataEx:%d+:%d", 218, true, false, 1 },
	{ "cuModuleGetFunction:%d:%d", 500, true, true, 1 },
	{ "cuMemHostAlloc:%d:%d", 2, true, false, 1 },
	{ "run:%d:%d", 719, true, false, 1 },
	{ "run:%d:%d", 719, true, true, 1 },
};

/* A code of the driver may end a page so. */
static bool may_end(const struct sweep *sweep, psg_status status)
{
	switch (sweep->code) {
	case 2:
		return status == PSG_OOM;
	case 218:
	case 500:
		return status == PSG_JIT;
	case 700:
	case 719:
		return status == PSG_DEVICE_LOST;
	default: /* a failed launch is one whatever the code */
		return status == PSG_LAUNCH || status == PSG_DRIVER || status == PSG_JIT;
	}
}

static void check_outcome(const struct sweep *sweep, const struct outcome *o, const char *what)
{
	if (o->status == PSG_OK) {
		ck_assert_msg(o->right, "%s: wrong text", what);
		return;
	}
	ck_assert_msg(sweep->no_fallback, "%s: %s", what, o->error.message);
	ck_assert_msg(may_end(sweep, o->status), "%s: %s: %s", what, psg_status_name(o->status),
		      o->error.message);
	ck_assert_int_eq(o->error.code, o->status);
	if (o->status == PSG_OOM)
		ck_assert_msg(strncmp(o->error.message, PSG_OOM_TAG, strlen(PSG_OOM_TAG)) == 0,
			      "%s: %s", what, o->error.message);
}

/* What one more page on the same engine is: on the GPU, unless it is lost or has refused code,
 * which it is not given again. */
static void check_next(const struct sweep *sweep, struct engine *e, const char *what)
{
	psg_error why = PSG_ERROR_INIT;
	struct outcome o;

	if (sweep->code == 218) {
		o = read_page(e);
		expect(&o, NULL, o.fallback[0] != '\0' ? "CUDA_ERROR_INVALID_PTX" : "", what);
		return;
	}
	if (psg_worker_health(e->workers[0], &why) == PSG_OK) {
		reads_well(e, what);
		return;
	}
	o = read_page(e);
	if (sweep->no_fallback) {
		ck_assert_msg(o.status == PSG_DEVICE_LOST, "%s: %s", what, o.error.message);
		return;
	}
	expect(&o, "cpu", "CUDA_ERROR_", what);
}

START_TEST(each_call_fails)
{
	const struct sweep *sweep = &sweeps[_i];
	struct engine e = { .n = 0 };
	int failed = 0, fallen = 0, n = 1;
	int64_t faults;

	options.no_fallback = sweep->no_fallback;
	do {
		char rule[64];
		struct outcome o;

		if (e.n == 0)
			e = opened(1);
		if (!sweep->cold && n == 1)
			reads_well(&e, "first page");
		(void)snprintf(rule, sizeof(rule), sweep->rule, n, sweep->code);
		t_gpu_fail(rule);
		faults = t_gpu_counts().faults;
		o = read_page(&e);
		faults = t_gpu_counts().faults - faults;
		check_outcome(sweep, &o, rule);
		failed += o.status != PSG_OK;
		fallen += o.fallback[0] != '\0';
		check_next(sweep, &e, rule);
		if (sweep->cold || psg_worker_health(e.workers[0], NULL) != PSG_OK) {
			closed(&e);
			e.n = 0;
			t_gpu_fail(""); /* what no real card does: it is well again */
		}
		n += sweep->stride * STRIDE;
	} while (faults > 0);
	if (e.n > 0)
		closed(&e);
	ck_assert_int_gt(n, 1 + sweep->stride * STRIDE);
	/* Not every failure is one of the page; but if none is, nothing was tested. */
	(void)printf("%s, %d: %d calls, %d pages failed, %d fell back\n", sweep->rule, sweep->code,
		     n, failed, fallen);
}
END_TEST

/* --- a lost card --- */

/* Pages of many threads when the card is lost under them, and after it. */
enum { CLIENTS = 6, PAGES = 8 };

struct client {
	const struct engine *engine;
	pthread_t thread;
	struct outcome outcomes[PAGES];
};

static void *run_client(void *argument)
{
	struct client *client = argument;

	for (int i = 0; i < PAGES; i++)
		client->outcomes[i] = read_page(client->engine);
	return NULL;
}

/* All pages of all clients are right; how many fell back. */
static int run_clients(const struct engine *e, const char *words)
{
	static struct client clients[CLIENTS];
	int fallen = 0;

	for (int i = 0; i < CLIENTS; i++) {
		clients[i].engine = e;
		ck_assert_int_eq(pthread_create(&clients[i].thread, NULL, run_client, &clients[i]),
				 0);
	}
	for (int i = 0; i < CLIENTS; i++)
		ck_assert_int_eq(pthread_join(clients[i].thread, NULL), 0);
	for (int i = 0; i < CLIENTS; i++) {
		for (int k = 0; k < PAGES; k++) {
			const struct outcome *o = &clients[i].outcomes[k];
			bool fell = o->fallback[0] != '\0';

			expect(o, NULL, fell ? words : "", "a client's page");
			fallen += fell;
		}
	}
	return fallen;
}

START_TEST(lost_under_many_pages)
{
	struct engine e = opened(1);
	struct outcome o;
	int fallen;

	reads_well(&e, "first page");
	t_gpu_fail("run:100:719");
	fallen = run_clients(&e, "CUDA_ERROR_LAUNCH_FAILED (719");
	ck_assert_int_gt(fallen, 1);
	ck_assert_int_lt(fallen, CLIENTS * PAGES);
	o = read_page(&e);
	expect(&o, "cpu", "cuda:0: ", "a later page");
	ck_assert_uint_eq(stats_of(&e).fallbacks, (uint64_t)fallen + 1);
	ck_assert_uint_eq(stats_of(&e).pages, CLIENTS * PAGES + 2);
	ck_assert_uint_eq(stats_of(&e).failed, 0);
	closed(&e);
}
END_TEST

/* Once it is known that the card is lost, no job is sent there. */
START_TEST(lost_card_gets_no_jobs)
{
	struct engine e = opened(1);
	psg_worker_stats before, after;
	int64_t calls;

	t_gpu_fail("run:1:719");
	(void)read_page(&e);
	psg_worker_stats_get(e.workers[0], &before);
	calls = t_gpu_counts().calls;
	for (int i = 0; i < 3; i++) {
		struct outcome o = read_page(&e);

		expect(&o, "cpu", "CUDA_ERROR_LAUNCH_FAILED", "page");
	}
	psg_worker_stats_get(e.workers[0], &after);
	ck_assert_uint_eq(after.submitted, before.submitted);
	ck_assert_int_eq(t_gpu_counts().calls, calls);
	closed(&e);
}
END_TEST

/* A failure now and then among pages of many threads. */
START_TEST(failures_among_many_pages)
{
	struct engine e = opened(1);
	int fallen;

	reads_well(&e, "first page");
	/* Twelve.  One that meets a batch of lines costs no page: they run again, one by one. */
	t_gpu_fail("cuLaunchKernel:5:701,cuLaunchKernel:60:701,cuLaunchKernel:61:701,"
		   "cuMemAlloc_v2:1:2,cuLaunchKernel:200:2,cuEventRecord:90:999,"
		   "cuMemcpyDtoHAsync_v2:40:999,cuMemcpyHtoDAsync_v2:70:1,"
		   "cuLaunchKernel:80:701,cuLaunchKernel:100:701,cuLaunchKernel:120:701,"
		   "cuLaunchKernel:140:701");
	fallen = run_clients(&e, "CUDA_ERROR_");
	ck_assert_int_ge(fallen, 3);
	ck_assert_int_le(fallen, 12);
	ck_assert_uint_ge(stats_of(&e).moved_jobs, (uint64_t)fallen);
	ck_assert_uint_eq(stats_of(&e).fallbacks, (uint64_t)fallen);
	reads_well(&e, "last page");
	closed(&e);
}
END_TEST

/* --- two cards --- */

START_TEST(second_card_takes_over)
{
	struct engine e = opened(2);
	struct outcome o;

	t_gpu_fail("run:1:719");
	for (int i = 0; i < 5; i++) {
		o = read_page(&e);
		expect(&o, NULL, "", "one card is lost");
		ck_assert_int_eq(strncmp(o.device, "cuda:", 5), 0);
	}
	ck_assert_uint_eq(stats_of(&e).moved_jobs, 1);
	ck_assert_uint_eq(stats_of(&e).fallbacks, 0);
	t_gpu_fail("run:1:719"); /* it heals the first one, which nobody asks any more */
	o = read_page(&e);
	expect(&o, NULL, "CUDA_ERROR_LAUNCH_FAILED", "both are lost");
	o = read_page(&e);
	expect(&o, "cpu", "CUDA_ERROR_LAUNCH_FAILED", "both are lost");
	ck_assert_uint_eq(stats_of(&e).moved_jobs, 2);
	closed(&e);
}
END_TEST

/* What the second card cannot do either is the CPU's. */
START_TEST(both_cards_fail)
{
	struct engine e = opened(2);
	struct outcome o;

	t_gpu_fail("cuLaunchKernel:1+:701");
	o = read_page(&e);
	expect(&o, "cpu", "detection: ", "no launches");
	reads_well(&e, "launches again");
	closed(&e);
}
END_TEST

/* --- kernels that are not as they should be --- */

static const struct bad_code {
	const char *variable, *value, *words;
} bad_codes[] = {
	{ "FAKECUDA_JIT", "Unknown symbol 'nonsense'", "Unknown symbol 'nonsense'" },
	{ "FAKECUDA_FAIL", "cuModuleGetFunction:1+:500", "CUDA_ERROR_NOT_FOUND (500" },
	{ "FAKECUDA_CUDA", "9000", "Unsupported .version" },
};

START_TEST(bad_code)
{
	const struct bad_code *row = &bad_codes[_i];
	struct engine e;
	struct outcome o;

	ck_assert_int_eq(setenv(row->variable, row->value, 1), 0);
	e = opened(1);
	for (int i = 0; i < 2; i++) {
		o = read_page(&e);
		expect(&o, "cpu", row->words, row->variable);
	}
	closed(&e);
	options.no_fallback = true;
	e = opened(1);
	o = read_page(&e);
	ck_assert_msg(o.status == PSG_JIT || o.status == PSG_TOO_OLD, "%s", o.error.message);
	ck_assert_msg(strstr(o.error.message, row->words) != NULL, "%s", o.error.message);
	closed(&e);
}
END_TEST

/* --- ends of pages whose jobs go on --- */

/* Every worker of the caller is told to take no more: so does the engine. */
START_TEST(shutdown_is_no_failure)
{
	struct engine e = opened(1);
	struct outcome o;

	t_gpu_fail("run:1:719");
	o = read_page(&e);
	expect(&o, "cpu", "719", "lost");
	psg_worker_abort(e.workers[0]);
	o = read_page(&e);
	ck_assert_msg(o.status == PSG_SHUTDOWN, "%s", psg_status_name(o.status));
	closed(&e);
}
END_TEST

/* Pages that are cancelled, late or closed under while all launches fail. */
START_TEST(ends_while_going_on)
{
	psg_future *futures[12];
	struct engine e = opened(1);

	t_gpu_fail("cuLaunchKernel:1+:701");
	for (int round = 0; round < 20; round++) {
		for (int i = 0; i < 12; i++) {
			psg_job_options job = {
				.deadline_ns = i % 3 == 0 ? psg_now_ns() + round * 100000 : 0
			};

			futures[i] = t_submit(e.ocr, file, &job);
		}
		for (int i = 1; i < 12; i += 3)
			(void)psg_future_cancel(futures[i]);
		for (int i = 0; i < 12; i++) {
			psg_status status = psg_future_wait(futures[i]);

			ck_assert_msg(status == PSG_OK || (i % 3 == 0 && status == PSG_TIMED_OUT) ||
					      (i % 3 == 1 && status == PSG_CANCELLED),
				      "%s", psg_status_name(status));
			psg_future_release(futures[i]);
		}
	}
	for (int i = 0; i < 12; i++)
		futures[i] = t_submit(e.ocr, file, NULL);
	closed(&e);
	for (int i = 0; i < 12; i++) {
		psg_status status = psg_future_wait(futures[i]);

		ck_assert(status == PSG_OK || status == PSG_CANCELLED);
		psg_future_release(futures[i]);
	}
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("gpu pages");
	TCase *fake = tcase_create("fake GPU");
	SRunner *runner;
	int failed;

	if (t_gpu_real())
		return 77; /* the faults are the fake driver's */
	tcase_add_checked_fixture(fake, set_up, tear_down);
	tcase_set_timeout(fake, 120);
	tcase_add_test(fake, all_is_well);
	tcase_add_test(fake, lines_share_runs);
	tcase_add_loop_test(fake, each_call_fails, 0, COUNT(sweeps));
	tcase_add_test(fake, lost_under_many_pages);
	tcase_add_test(fake, lost_card_gets_no_jobs);
	tcase_add_test(fake, failures_among_many_pages);
	tcase_add_test(fake, second_card_takes_over);
	tcase_add_test(fake, both_cards_fail);
	tcase_add_loop_test(fake, bad_code, 0, COUNT(bad_codes));
	tcase_add_test(fake, shutdown_is_no_failure);
	tcase_add_test(fake, ends_while_going_on);
	suite_add_tcase(suite, fake);
	runner = srunner_create(suite);
	srunner_set_fork_status(runner, CK_FORK); /* a process opens one driver */
	srunner_run_all(runner, CK_NORMAL);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
