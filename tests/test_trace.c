/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Traces: what the file says, that it is a whole array whenever the process ends, and what becomes
 * of events that there is no room for.
 */
#include "config.h"

#include <check.h>
#include <stdlib.h>

#ifdef HAVE_JANSSON

#include "base/base.h"
#include "base/trace_ring.h"
#include "nomem.h"
#include "trace_util.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIMIT (UINT64_C(1) << 30)

static char path[64];

static void set_up(void)
{
	int fd;

	(void)snprintf(path, sizeof(path), "test_trace.XXXXXX");
	fd = mkstemp(path);
	ck_assert_int_ge(fd, 0);
	(void)close(fd);
}

static void tear_down(void)
{
	(void)unlink(path);
}

static void hold(uint64_t limit)
{
	psg_error error = PSG_ERROR_INIT;

	ck_assert_msg(psgi_trace_hold_file(path, limit, &error) == PSG_OK, "%s", error.message);
}

static off_t size_of(const char *name)
{
	struct stat info;

	ck_assert_int_eq(stat(name, &info), 0);
	return info.st_size;
}

/* `n` spans, numbered from `first`, of a microsecond each. */
static void record(const char *name, int64_t first, int64_t n)
{
	for (int64_t i = first; i < first + n; i++) {
		psgi_trace_arg arg = { "i", NULL, i };

		psgi_trace_span("test", name, 1000 * i, 1000 * i + 1000, &arg, 1);
	}
}

/* --- the log --- */

static struct {
	int n;
	char text[256];
} heard;

static void hear(void *user, psg_log_level level, const char *message)
{
	(void)user;
	if (level != PSG_LOG_WARNING)
		return;
	heard.n++;
	(void)snprintf(heard.text, sizeof(heard.text), "%s", message);
}

static void listen(void)
{
	heard.n = 0;
	psg_log_set(hear, NULL, PSG_LOG_DEBUG);
}

/* --- what it says --- */

#define TRACK 1000000007

static void record_each_kind(void)
{
	const psgi_trace_arg args[] = { { "node", "conv \"1\"\\\n\x01\x7f\xc3\xa9", 0 },
					{ "bytes", NULL, INT64_MAX },
					{ "least", NULL, INT64_MIN },
					{ "empty", "", 0 } };
	const psgi_trace_arg series[] = { { "queued", NULL, 3 }, { "running", NULL, 1 } };

	psgi_trace_span("kernel", "a \"name\"\t\xff\xe2\x82", 1234567, 1234567 + 89, args, 4);
	psgi_trace_arrow_begin(UINT64_C(0xfedcba9876543210), 1234570);
	psgi_trace_arrow_end(UINT64_C(0xfedcba9876543210), 1234580);
	psgi_trace_counter("jobs", 5000, series, 2);
	psgi_trace_track(TRACK, "card \"0\"");
	psgi_trace_span_on(TRACK, "card", "on it", 7000, 8000, NULL, 0);
	psgi_trace_span("test", "backwards", 9000, 8000, NULL, 0);
}

static void check_arrow(const json_t *events, const char *phase, int64_t at)
{
	const json_t *arrow = t_trace_only(events, phase, "arrow", "job");

	ck_assert_str_eq(t_trace_string(arrow, "id"), "0xfedcba9876543210");
	ck_assert_int_eq(t_trace_ns(arrow, "ts"), at);
	ck_assert_int_eq(t_trace_int(arrow, "tid"), gettid());
}

static void check_span(const json_t *events)
{
	const json_t *span = t_trace_only(events, "X", "kernel", NULL);

	/* What is no UTF-8 becomes a mark, byte by byte. */
	ck_assert_str_eq(t_trace_string(span, "name"),
			 "a \"name\"\t\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd");
	ck_assert_int_eq(t_trace_ns(span, "ts"), 1234567);
	ck_assert_int_eq(t_trace_ns(span, "dur"), 89);
	ck_assert_int_eq(t_trace_int(span, "pid"), getpid());
	ck_assert_int_eq(t_trace_int(span, "tid"), gettid());
	ck_assert_str_eq(t_trace_text(span, "node"), "conv \"1\"\\\n\x01\x7f\xc3\xa9");
	ck_assert(t_trace_number(span, "bytes") == INT64_MAX);
	ck_assert(t_trace_number(span, "least") == INT64_MIN);
	ck_assert_str_eq(t_trace_text(span, "empty"), "");
}

START_TEST(each_kind_of_event)
{
	const json_t *event;
	json_t *events;

	ck_assert(!psgi_tracing());
	hold(LIMIT);
	ck_assert(psgi_tracing());
	ck_assert_int_eq(pthread_setname_np(pthread_self(), "t \"main\""), 0);
	record_each_kind();
	psgi_trace_release();
	ck_assert(!psgi_tracing());

	events = t_trace_load(path);
	check_span(events);
	check_arrow(events, "s", 1234570);
	check_arrow(events, "f", 1234580);
	ck_assert_str_eq(t_trace_string(t_trace_find(events, "f", NULL, NULL, 0), "bp"), "e");
	event = t_trace_only(events, "C", NULL, "jobs");
	ck_assert_int_eq(t_trace_number(event, "queued"), 3);
	ck_assert_int_eq(t_trace_number(event, "running"), 1);
	event = t_trace_only(events, "X", "card", "on it");
	ck_assert_int_eq(t_trace_int(event, "tid"), TRACK);
	ck_assert_int_eq(t_trace_int(t_trace_only(events, NULL, "test", NULL), "dur"), 0);
	ck_assert_str_eq(t_trace_thread_name(events, TRACK), "card \"0\"");
	ck_assert_str_eq(t_trace_thread_name(events, gettid()), "t \"main\"");
	event = t_trace_only(events, "M", NULL, "process_name");
	ck_assert_str_eq(t_trace_text(event, "name"), program_invocation_short_name);
	json_decref(events);
}
END_TEST

/* Longer texts and more arguments than are kept. */
START_TEST(too_much_is_cut)
{
	char text[3 * PSGI_TRACE_TEXT_BYTES];
	psgi_trace_arg args[PSGI_TRACE_ARGS + 1];
	const json_t *span;
	json_t *events;

	memset(text, '\x02', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	for (size_t i = 0; i <= PSGI_TRACE_ARGS; i++) {
		static const char *const keys[] = { "a", "b", "c", "d", "e", "f", "g", "h", "i" };

		args[i] = (psgi_trace_arg){ keys[i], text, 0 };
	}
	hold(LIMIT);
	psgi_trace_span("test", text, 0, 1, args, PSGI_TRACE_ARGS + 1);
	psgi_trace_release();
	events = t_trace_load(path);
	span = t_trace_only(events, "X", NULL, NULL);
	ck_assert_uint_eq(strlen(t_trace_string(span, "name")), PSGI_TRACE_TEXT_BYTES);
	ck_assert_uint_eq(json_object_size(json_object_get(span, "args")), PSGI_TRACE_ARGS);
	ck_assert_uint_eq(strlen(t_trace_text(span, "h")), PSGI_TRACE_TEXT_BYTES);
	json_decref(events);
}
END_TEST

/* The trace of `n` spans, each once, in their order. */
static void check_spans(const json_t *events, const char *name, int64_t n)
{
	int64_t next = 0;

	for (size_t i = 0; i < json_array_size(events); i++) {
		const json_t *event = json_array_get(events, i);

		if (!t_trace_is(event, "X", NULL, name))
			continue;
		ck_assert_int_eq(t_trace_number(event, "i"), next);
		ck_assert_int_eq(t_trace_ns(event, "ts"), 1000 * next);
		next++;
	}
	ck_assert_int_eq(next, n);
}

/* It can be read while it goes on, and after it ended and began again. */
START_TEST(whole_after_each_flush)
{
	for (int64_t i = 0; i < 40; i++) {
		json_t *events;

		if (i % 10 == 0)
			hold(LIMIT);
		record("step", 100 * i, 100);
		if (i % 10 == 9)
			psgi_trace_release();
		else
			psgi_trace_flush();
		events = t_trace_load(path);
		check_spans(events, "step", 100 * (i + 1));
		ck_assert_uint_eq(t_trace_count(events, "M", NULL, "thread_name"), 1);
		json_decref(events);
	}
}
END_TEST

/* --- how the process ends --- */

enum ending { EXITS, KILLED, ENDINGS };

static _Noreturn void end_so(int ending)
{
	if (psgi_trace_hold_file(path, LIMIT, NULL) != PSG_OK)
		_exit(2);
	record("before", 0, 1000);
	if (ending == KILLED)
		psgi_trace_flush();
	record("after", 0, 10);
	if (ending == KILLED)
		(void)raise(SIGKILL);
	exit(0); /* without releasing */
}

START_TEST(the_process_ends)
{
	json_t *events;
	pid_t child = fork();
	int how;

	if (child == 0)
		end_so(_i);
	ck_assert_int_eq(waitpid(child, &how, 0), child);
	ck_assert(_i == KILLED ? WIFSIGNALED(how) : WIFEXITED(how) && WEXITSTATUS(how) == 0);
	events = t_trace_load(path);
	check_spans(events, "before", 1000);
	if (_i == EXITS)
		check_spans(events, "after", 10);
	json_decref(events);
}
END_TEST

static _Noreturn void trace_in_child(void)
{
	char name[sizeof(path) + 16];
	bool on = psgi_tracing();

	(void)snprintf(name, sizeof(name), "%s.child", path);
	psgi_trace_hold();
	on = on || psgi_tracing() || psgi_trace_hold_file(name, LIMIT, NULL) != PSG_OK;
	on = on || psgi_tracing() || unlink(name) == 0;
	record("child", 0, 10);
	psgi_trace_flush();
	psgi_trace_release();
	psgi_trace_release();
	exit(on ? 1 : 0);
}

START_TEST(a_forked_child_traces_nothing)
{
	json_t *events;
	pid_t child;
	int how;

	hold(LIMIT);
	record("parent", 0, 10);
	child = fork();
	if (child == 0)
		trace_in_child();
	ck_assert_int_eq(waitpid(child, &how, 0), child);
	ck_assert(WIFEXITED(how));
	ck_assert_int_eq(WEXITSTATUS(how), 0);
	record("parent", 10, 10);
	psgi_trace_release();
	events = t_trace_load(path);
	check_spans(events, "parent", 20);
	ck_assert_uint_eq(t_trace_count(events, NULL, NULL, "child"), 0);
	ck_assert_uint_eq(t_trace_count(events, "M", NULL, "process_name"), 1);
	json_decref(events);
}
END_TEST

/* --- too many events --- */

/* Without a writer a ring holds what it holds, and the rest is counted. */
START_TEST(what_is_dropped_is_counted)
{
	const int64_t n = 20000;
	const json_t *note;
	json_t *events;
	int64_t kept;

	hold(LIMIT);
	record("first", 0, 1);
	psgi_trace_release();
	record("many", 0, n);
	hold(LIMIT);
	record("last", 0, 1);
	psgi_trace_release();
	events = t_trace_load(path);
	kept = (int64_t)t_trace_count(events, "X", NULL, "many");
	ck_assert_int_gt(kept, 1000);
	ck_assert_int_lt(kept, n);
	check_spans(events, "many", kept);
	note = t_trace_only(events, "M", NULL, "dropped_events");
	ck_assert_int_eq(t_trace_number(note, "count") + kept + 1 +
				 (int64_t)t_trace_count(events, "X", NULL, "last"),
			 n + 2);
	ck_assert_int_eq(t_trace_int(note, "tid"), gettid());
	json_decref(events);
}
END_TEST

#define THREADS 8
#define EACH 20000

static void *record_many(void *index)
{
	char name[16];

	(void)snprintf(name, sizeof(name), "t%d", *(int *)index);
	(void)pthread_setname_np(pthread_self(), name);
	record(name, 0, EACH);
	return NULL;
}

/* All that is not counted as dropped is in the file, in each thread's order. */
static int64_t check_thread(const json_t *events, const char *name, int64_t *thread)
{
	int64_t before = -1, n = 0;

	for (size_t i = 0; i < json_array_size(events); i++) {
		const json_t *event = json_array_get(events, i);

		if (!t_trace_is(event, "X", NULL, name))
			continue;
		ck_assert_int_gt(t_trace_number(event, "i"), before);
		before = t_trace_number(event, "i");
		*thread = t_trace_int(event, "tid");
		n++;
	}
	return n;
}

START_TEST(many_threads)
{
	static int index[THREADS];
	pthread_t threads[THREADS];
	const json_t *note;
	json_t *events;
	int64_t n = 0, dropped = 0;

	hold(LIMIT);
	for (int i = 0; i < THREADS; i++) {
		index[i] = i;
		ck_assert_int_eq(pthread_create(&threads[i], NULL, record_many, &index[i]), 0);
	}
	psgi_trace_flush();
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_join(threads[i], NULL), 0);
	psgi_trace_release();
	events = t_trace_load(path);
	for (int i = 0; i < THREADS; i++) {
		char name[16];
		int64_t thread = 0, last = 0;

		(void)snprintf(name, sizeof(name), "t%d", i);
		n += check_thread(events, name, &thread);
		ck_assert_str_eq(t_trace_thread_name(events, thread), name);
		for (size_t k = 0;
		     (note = t_trace_find(events, "M", NULL, "dropped_events", k)) != NULL; k++)
			if (t_trace_int(note, "tid") == thread)
				last = t_trace_number(note, "count");
		dropped += last;
	}
	ck_assert_int_eq(n + dropped, THREADS * EACH);
	json_decref(events);
}
END_TEST

static void *record_one(void *unused)
{
	record("one", 0, 1);
	return unused;
}

/* Rings of threads that ended are used again; more at a time than there are rings lose theirs. */
START_TEST(threads_come_and_go)
{
	const json_t *note;
	json_t *events;
	pthread_t thread;

	hold(LIMIT);
	record("main", 0, 1); /* this thread has a ring, too */
	for (int i = 0; i < 2 * PSGI_TRACE_RINGS; i++) {
		if (i % 50 == 0)
			psgi_trace_flush();
		ck_assert_int_eq(pthread_create(&thread, NULL, record_one, NULL), 0);
		ck_assert_int_eq(pthread_join(thread, NULL), 0);
	}
	psgi_trace_release();
	events = t_trace_load(path);
	ck_assert_uint_eq(t_trace_count(events, "X", NULL, "one"), 2 * PSGI_TRACE_RINGS);
	ck_assert_uint_eq(t_trace_count(events, "M", NULL, "events_without_ring"), 0);
	json_decref(events);
	/* Nobody empties them now. */
	for (int i = 0; i < PSGI_TRACE_RINGS + 10; i++) {
		ck_assert_int_eq(pthread_create(&thread, NULL, record_one, NULL), 0);
		ck_assert_int_eq(pthread_join(thread, NULL), 0);
	}
	hold(LIMIT);
	psgi_trace_release();
	events = t_trace_load(path);
	ck_assert_uint_eq(t_trace_count(events, "X", NULL, "one"), 3 * PSGI_TRACE_RINGS - 1);
	note = t_trace_only(events, "M", NULL, "events_without_ring");
	ck_assert_int_eq(t_trace_number(note, "count"), 11);
	json_decref(events);
}
END_TEST

/* --- files that end, and files that cannot be --- */

START_TEST(a_limit_is_kept)
{
	const uint64_t limit = 100000;
	json_t *events;

	listen();
	hold(limit);
	for (int i = 0; psgi_tracing(); i++) {
		record("step", 100 * i, 100);
		psgi_trace_flush();
	}
	ck_assert_int_eq(heard.n, 1);
	ck_assert_ptr_nonnull(strstr(heard.text, "100000 bytes"));
	record("after", 0, 10);
	psgi_trace_release();
	ck_assert_int_le(size_of(path), (off_t)limit);
	ck_assert_int_ge(size_of(path), (off_t)limit / 2);
	events = t_trace_load(path);
	ck_assert_uint_eq(t_trace_count(events, NULL, NULL, "after"), 0);
	ck_assert_int_eq(
		t_trace_number(t_trace_only(events, "M", NULL, "trace_ends"), "limit_bytes"),
		(int64_t)limit);
	json_decref(events);
	/* It does not begin again. */
	hold(limit);
	ck_assert(!psgi_tracing());
	psgi_trace_release();
	ck_assert_int_eq(heard.n, 1);
}
END_TEST

START_TEST(a_full_disk)
{
	listen();
	ck_assert_int_eq(setenv("PAGESIFT_TRACE", "/dev/full", 1), 0);
	psgi_trace_hold();
	record("step", 0, 100);
	psgi_trace_flush();
	ck_assert(!psgi_tracing());
	record("step", 0, 100);
	psgi_trace_release();
	ck_assert_int_eq(heard.n, 1);
	ck_assert_ptr_nonnull(strstr(heard.text, "No space left"));
	psgi_trace_hold();
	psgi_trace_release();
	ck_assert_int_eq(heard.n, 1);
	ck_assert_int_eq(unsetenv("PAGESIFT_TRACE"), 0);
}
END_TEST

/* The kernel's limit, whose signal would end the program. */
static _Noreturn void reach_limit(void)
{
	struct rlimit limit = { 100000, 100000 };

	listen();
	if (setrlimit(RLIMIT_FSIZE, &limit) != 0 ||
	    psgi_trace_hold_file(path, LIMIT, NULL) != PSG_OK)
		_exit(2);
	for (int i = 0; psgi_tracing(); i++) {
		record("step", 100 * i, 100);
		psgi_trace_flush();
	}
	psgi_trace_release();
	_exit(heard.n == 1 && strstr(heard.text, "too large") != NULL ? 0 : 1);
}

START_TEST(a_file_that_grows_no_more)
{
	json_t *events;
	pid_t child = fork();
	int how;

	if (child == 0)
		reach_limit();
	ck_assert_int_eq(waitpid(child, &how, 0), child);
	ck_assert_msg(WIFEXITED(how) && WEXITSTATUS(how) == 0, "%x", how);
	events = t_trace_load(path);
	ck_assert_uint_gt(t_trace_count(events, "X", NULL, "step"), 100);
	json_decref(events);
}
END_TEST

/* Told once, and everything goes on. */
START_TEST(no_such_folder)
{
	listen();
	ck_assert_int_eq(setenv("PAGESIFT_TRACE", "/nonexistent/trace.json", 1), 0);
	for (int i = 0; i < 3; i++) {
		psgi_trace_hold();
		ck_assert(!psgi_tracing());
		ck_assert_int_eq(heard.n, 1);
	}
	ck_assert_ptr_nonnull(strstr(heard.text, "/nonexistent/trace.json"));
	ck_assert_ptr_nonnull(strstr(heard.text, "No such file"));
	/* Another name is another try. */
	ck_assert_int_eq(setenv("PAGESIFT_TRACE", path, 1), 0);
	psgi_trace_hold();
	ck_assert(psgi_tracing());
	for (int i = 0; i < 4; i++)
		psgi_trace_release();
	ck_assert(!psgi_tracing());
	ck_assert_int_eq(unsetenv("PAGESIFT_TRACE"), 0);
}
END_TEST

static void expect_refused(const char *name, const char *why)
{
	psg_error error = PSG_ERROR_INIT;

	ck_assert_int_eq(psgi_trace_hold_file(name, LIMIT, &error), PSG_INVALID);
	ck_assert_msg(strstr(error.message, why) != NULL, "%s", error.message);
	ck_assert(!psgi_tracing());
	psgi_trace_release();
}

START_TEST(what_is_no_file_of_ours)
{
	char *longer = malloc(10001);
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	ck_assert_ptr_nonnull(longer);
	memset(longer, 'x', 10000);
	longer[10000] = '\0';
	expect_refused(longer, "too long");
	longer[4000] = '\0';
	for (int i = 0; i < 4000; i += 2)
		memcpy(longer + i, "%p", 2);
	expect_refused(longer, "too long");
	free(longer);
	expect_refused(".", "Is a directory");
	/* Another process has it, which keeps its content. */
	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, "mine", 4), 4);
	ck_assert_int_eq(flock(fd, LOCK_EX), 0);
	expect_refused(path, "another process");
	ck_assert_int_eq(size_of(path), 4);
	(void)close(fd);
	/* A pipe that nobody reads, and one that is read. */
	ck_assert_int_eq(unlink(path), 0);
	ck_assert_int_eq(mkfifo(path, 0600), 0);
	expect_refused(".", "Is a directory"); /* what was refused last is not tried again */
	expect_refused(path, "No such device");
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	ck_assert_int_ge(fd, 0);
	expect_refused(".", "Is a directory");
	expect_refused(path, "not a file");
	(void)close(fd);
}
END_TEST

/* A file for each process, and the old content goes. */
START_TEST(the_process_in_the_name)
{
	char wish[sizeof(path) + 16], name[sizeof(path) + 16];
	json_t *events;
	FILE *file;

	(void)snprintf(wish, sizeof(wish), "%s.%%p.%%d", path);
	(void)snprintf(name, sizeof(name), "%s.%ld.%%d", path, (long)getpid());
	file = fopen(name, "w");
	ck_assert_ptr_nonnull(file);
	for (int i = 0; i < 1000; i++)
		(void)fputs("old content\n", file);
	ck_assert_int_eq(fclose(file), 0);
	ck_assert_int_eq(psgi_trace_hold_file(wish, LIMIT, NULL), PSG_OK);
	record("step", 0, 10);
	psgi_trace_release();
	events = t_trace_load(name);
	check_spans(events, "step", 10);
	json_decref(events);
	/* One that was removed meanwhile is made anew. */
	ck_assert_int_eq(unlink(name), 0);
	ck_assert_int_eq(psgi_trace_hold_file(wish, LIMIT, NULL), PSG_OK);
	record("again", 0, 10);
	psgi_trace_release();
	events = t_trace_load(name);
	check_spans(events, "again", 10);
	ck_assert_uint_eq(t_trace_count(events, NULL, NULL, "step"), 0);
	ck_assert_ptr_nonnull(t_trace_thread_name(events, gettid()));
	json_decref(events);
	ck_assert_int_eq(unlink(name), 0);
}
END_TEST

/* The buffer, the writer's thread and a ring; where tests share a process, they are there. */
START_TEST(without_memory)
{
	psg_error error = PSG_ERROR_INIT;
	psg_status status;
	json_t *events;
	size_t kept;
	long refused;

	t_nomem_arm(_i, false);
	status = psgi_trace_hold_file(path, LIMIT, &error);
	if (status == PSG_OK)
		record("first", 0, 1);
	t_nomem_disarm();
	refused = atomic_load(&t_nomem_refused);
	ck_assert(refused <= 1 && (refused == 1 || status == PSG_OK));
	if (status != PSG_OK) {
		ck_assert_int_eq(status, PSG_NOMEM);
		ck_assert_ptr_nonnull(strstr(error.message, "nothing is traced: no "));
		ck_assert(!psgi_tracing());
		psgi_trace_release();
		return;
	}
	record("second", 0, 1);
	psgi_trace_release();
	events = t_trace_load(path);
	ck_assert_uint_eq(t_trace_count(events, "X", NULL, "second"), 1);
	kept = t_trace_count(events, "X", NULL, "first");
	if (refused == 1)
		ck_assert_uint_ge(t_trace_count(events, "M", NULL, "events_without_ring"), 1);
	ck_assert_uint_eq(kept, refused == 0);
	json_decref(events);
}
END_TEST

int main(void)
{
	Suite *suite = suite_create("trace");
	TCase *cases = tcase_create("trace");
	SRunner *runner;
	int failed;

	tcase_add_checked_fixture(cases, set_up, tear_down);
	/* Children of a process that has a trace have none: first where all tests share a process.
	 */
	tcase_add_loop_test(cases, the_process_ends, 0, ENDINGS);
	tcase_add_test(cases, a_file_that_grows_no_more);
	tcase_add_test(cases, each_kind_of_event);
	tcase_add_test(cases, too_much_is_cut);
	tcase_add_test(cases, whole_after_each_flush);
	tcase_add_test(cases, what_is_dropped_is_counted);
	tcase_add_test(cases, many_threads);
	tcase_add_test(cases, threads_come_and_go);
	tcase_add_test(cases, a_limit_is_kept);
	tcase_add_test(cases, a_full_disk);
	tcase_add_test(cases, no_such_folder);
	tcase_add_test(cases, what_is_no_file_of_ours);
	tcase_add_test(cases, the_process_in_the_name);
	tcase_add_loop_test(cases, without_memory, 0, 4);
	tcase_add_test(cases, a_forked_child_traces_nothing);
	tcase_set_timeout(cases, 60);
	suite_add_tcase(suite, cases);
	runner = srunner_create(suite);
	srunner_run_all(runner, CK_ENV);
	failed = srunner_ntests_failed(runner);
	srunner_free(runner);
	return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

#else

int main(void)
{
	return 77; /* nothing here reads JSON */
}

#endif
