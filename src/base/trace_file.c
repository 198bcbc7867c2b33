/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file of a trace, and the thread that writes it.
 *
 * Each write ends with the array's bracket, and the next one begins in its place.  All writing is
 * done by that thread, where no signal is handled: a limit of the file's size is an error there,
 * not the program's end.
 */
#include "config.h"

#include "base/trace_ring.h"

#include "base/base.h"
#include "base/thread.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Chosen: what a browser still opens. */
#define LIMIT_BYTES (UINT64_C(1) << 30)

/* Chosen: what is lost when the process is killed, while a ring lasts as long in most cases. */
#define PERIOD_NS (250 * PSG_MILLISECOND)

/* Chosen: to leave the program when a file does not come to an end. */
#define EXIT_NS (2 * PSG_SECOND)

#define BUFFER_BYTES ((size_t)1 << 16)

static const char tail[] = "\n]\n";
#define TAIL_BYTES (sizeof(tail) - 1)

/* --- the file: the writer's while it runs, else of who holds `life` --- */

static struct {
	int fd;             /* -1: none */
	bool ended;         /* nothing more is written: it is full, or something failed */
	uint32_t number;    /* counts files */
	uint64_t at, limit; /* bytes; where the bracket is */
	uint64_t lost_told;
	char asked[4096]; /* as it was asked for */
	char name[4096 + 16];
	psgi_trace_text text; /* to be written at `at` */
} file = { .fd = -1 };

/* "%p" is the process. */
static bool expand(const char *path, char *out, size_t room)
{
	size_t n = 0;

	for (; *path != '\0' && n < room; path++) {
		if (path[0] == '%' && path[1] == 'p') {
			n += (size_t)snprintf(out + n, room - n, "%ld", (long)getpid());
			path++;
		} else {
			out[n++] = *path;
		}
	}
	if (n >= room)
		return false;
	out[n] = '\0';
	return true;
}

static psg_status fail_file(psg_error *error, const char *name, const char *why)
{
	return psgi_fail(error, PSG_INVALID, "nothing is traced: '%.200s': %s", name, why);
}

static void close_file(void)
{
	if (file.fd >= 0)
		(void)close(file.fd);
	file.fd = -1;
}

/* An old file's content goes when it is certain that nobody else writes it. */
static psg_status claim_file(psg_error *error)
{
	struct stat info;

	if (fstat(file.fd, &info) != 0)
		return fail_file(error, file.name, strerror(errno));
	if (!S_ISREG(info.st_mode) && !S_ISCHR(info.st_mode))
		return fail_file(error, file.name, "not a file");
	if (flock(file.fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
		return fail_file(error, file.name,
				 "another process writes it: with %p in its name each has its own");
	if (S_ISREG(info.st_mode) && ftruncate(file.fd, 0) != 0)
		return fail_file(error, file.name, strerror(errno));
	return PSG_OK;
}

static psg_status open_file(psg_error *error)
{
	psg_status status;

	if (!expand(file.asked, file.name, sizeof(file.name)))
		return fail_file(error, file.asked, "too long a name");
	/* Not waiting for who reads a pipe. */
	file.fd = open(file.name, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0666);
	if (file.fd < 0)
		return fail_file(error, file.name, strerror(errno));
	status = claim_file(error);
	if (status != PSG_OK) {
		close_file();
		return status;
	}
	file.number++;
	file.at = 0;
	file.ended = false;
	file.text.bytes = 0;
	file.lost_told = 0;
	return PSG_OK;
}

/* It may have been moved or removed since the last trace of this process. */
static bool still_there(void)
{
	struct stat open_one, named;

	return file.fd >= 0 && fstat(file.fd, &open_one) == 0 && stat(file.name, &named) == 0 &&
	       open_one.st_dev == named.st_dev && open_one.st_ino == named.st_ino;
}

/* --- writing --- */

static bool write_at(const char *from, size_t bytes, uint64_t at)
{
	while (bytes > 0) {
		ssize_t n = pwrite(file.fd, from, bytes, (off_t)at);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0) {
			errno = n < 0 ? errno : EIO;
			return false;
		}
		from += n;
		bytes -= (size_t)n;
		at += (uint64_t)n;
	}
	return true;
}

static void end_file(const char *why)
{
	file.ended = true;
	atomic_store_explicit(&psgi_trace_on, false, memory_order_relaxed);
	psgi_log(PSG_LOG_WARNING, "PAGESIFT_TRACE: '%.200s' ends: %s", file.name, why);
}

/* After a write that failed: the array as it was before, whose place is there already. */
static void restore(int code)
{
	char why[160];
	bool whole = file.at == 0 || write_at(tail, TAIL_BYTES, file.at);

	if (ftruncate(file.fd, (off_t)(file.at + (file.at > 0 ? TAIL_BYTES : 0))) != 0)
		whole = false;
	(void)snprintf(why, sizeof(why), "%s%s", strerror(code), whole ? "" : "; it is cut off");
	end_file(why);
}

/* What is in `text`, and the bracket behind it. */
static void write_out(void)
{
	psgi_trace_text *text = &file.text;

	if (text->bytes == 0 || file.ended)
		return;
	memcpy(text->data + text->bytes, tail, TAIL_BYTES);
	if (write_at(text->data, text->bytes + TAIL_BYTES, file.at)) {
		file.at += text->bytes;
		text->bytes = 0;
		return;
	}
	text->bytes = 0;
	restore(errno);
}

/* Where one event can be put, within the limit. */
static psgi_trace_text *room(void)
{
	psgi_trace_text *text = &file.text;
	char why[64];

	if (text->room - text->bytes < PSGI_TRACE_EVENT_BYTES)
		write_out();
	if (!file.ended && file.at + text->bytes + 2 * PSGI_TRACE_EVENT_BYTES > file.limit) {
		psgi_trace_put_note(text, "trace_ends", "limit_bytes", (int64_t)file.limit,
				    (int32_t)getpid(), 0);
		write_out();
		if (!file.ended) {
			(void)snprintf(why, sizeof(why), "it may have %llu bytes",
				       (unsigned long long)file.limit);
			end_file(why);
		}
	}
	return text;
}

/* Seconds since 1970 at time 0 of the trace are such a number of microseconds. */
static int64_t epoch_us(void)
{
	struct timespec now = { 0 };

	(void)clock_gettime(CLOCK_REALTIME, &now);
	return ((int64_t)now.tv_sec * PSG_SECOND + now.tv_nsec - psg_now_ns()) / 1000;
}

static void begin_file(void)
{
	int32_t process = (int32_t)getpid();

	psgi_trace_put_name(room(), "process_name", program_invocation_short_name, process, 0);
	if (file.at == 0)
		file.text.data[0] = '['; /* in place of the comma */
	psgi_trace_put_note(room(), "pagesift_clock", "unix_us_at_0", epoch_us(), process, 0);
}

/* --- reading the rings --- */

/* Up to what is there now.  Acquire: the records are whole. */
static void drain_events(psgi_trace_ring *ring, int32_t process)
{
	uint64_t written = atomic_load_explicit(&ring->written, memory_order_acquire);
	uint64_t read = atomic_load_explicit(&ring->read, memory_order_relaxed);

	if (read != written && ring->told_in != file.number && !file.ended) {
		psgi_trace_put_name(room(), "thread_name", ring->name, process, ring->thread);
		ring->told_in = file.number;
	}
	while (read != written) {
		const psgi_trace_record *record =
			(const psgi_trace_record *)(const void *)(ring->data +
								  read % PSGI_TRACE_RING_BYTES);

		if (record->phase != PSGI_TRACE_SKIP && !file.ended)
			psgi_trace_put_record(room(), record, process, ring->thread);
		read += record->bytes;
		/* Release: the thread may write there. */
		atomic_store_explicit(&ring->read, read, memory_order_release);
	}
}

static void drain_ring(psgi_trace_ring *ring, int32_t process)
{
	int owner = atomic_load_explicit(&ring->owner, memory_order_acquire);
	uint64_t dropped;

	if (owner == PSGI_TRACE_FREE || owner == PSGI_TRACE_TAKEN)
		return;
	drain_events(ring, process);
	dropped = atomic_load_explicit(&ring->dropped, memory_order_relaxed);
	if (dropped != ring->dropped_told && !file.ended) {
		psgi_trace_put_note(room(), "dropped_events", "count", (int64_t)dropped, process,
				    ring->thread);
		ring->dropped_told = dropped;
	}
	if (owner == PSGI_TRACE_LEFT)
		atomic_store_explicit(&ring->owner, PSGI_TRACE_FREE, memory_order_release);
}

static void drain(void)
{
	int32_t process = (int32_t)getpid();
	uint64_t lost;

	if (file.at == 0 && !file.ended)
		begin_file();
	for (psgi_trace_ring *ring = atomic_load_explicit(&psgi_trace_rings, memory_order_acquire);
	     ring != NULL; ring = ring->next)
		drain_ring(ring, process);
	lost = atomic_load_explicit(&psgi_trace_lost, memory_order_relaxed);
	if (lost != file.lost_told && !file.ended) {
		psgi_trace_put_note(room(), "events_without_ring", "count", (int64_t)lost, process,
				    0);
		file.lost_told = lost;
	}
	write_out();
}

/* --- the writer's life --- */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static psg_status prepared;
static sem_t work;

/* Beginning, ending, holders.  A fork waits for both locks. */
static pthread_mutex_t life = PTHREAD_MUTEX_INITIALIZER;
static size_t holders;
static bool has_writer;
static bool forked;  /* from a process that has a trace, or had one */
static bool refused; /* what was asked for last */

/* What follows. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t served_more;
static pthread_t writer;
static bool running, stopping;  /* the writer */
static uint64_t wanted, served; /* flushes */

void psgi_trace_wake(void)
{
	(void)sem_post(&work);
}

static struct timespec after(int64_t ns)
{
	int64_t at = psg_now_ns() + ns;

	return (struct timespec){ .tv_sec = at / PSG_SECOND, .tv_nsec = at % PSG_SECOND };
}

static void await_work(void)
{
	struct timespec until = after(PERIOD_NS);

	while (sem_clockwait(&work, CLOCK_MONOTONIC, &until) != 0 && errno == EINTR)
		;
	while (sem_trywait(&work) == 0)
		;
}

static void *write_on(void *unused)
{
	bool stop = false;

	(void)pthread_setname_np(pthread_self(), "psg-trace");
	while (!stop) {
		uint64_t serving;

		await_work();
		(void)pthread_mutex_lock(&lock);
		serving = wanted;
		stop = stopping;
		(void)pthread_mutex_unlock(&lock);
		drain();
		(void)pthread_mutex_lock(&lock);
		served = serving;
		running = !stop;
		(void)pthread_cond_broadcast(&served_more);
		(void)pthread_mutex_unlock(&lock);
	}
	return unused;
}

/* False: there is no thread. */
static bool start_writer(void)
{
	bool started;

	(void)pthread_mutex_lock(&lock);
	stopping = false;
	running = true;
	started = psgi_thread_start(&writer, write_on, NULL);
	running = started;
	(void)pthread_mutex_unlock(&lock);
	return started;
}

static void stop_writer(void)
{
	(void)pthread_mutex_lock(&lock);
	stopping = true;
	(void)pthread_mutex_unlock(&lock);
	psgi_trace_wake();
	(void)pthread_join(writer, NULL);
}

/* Returns when the writer has been once around, or is no more, or at `until`. */
static void flush(const struct timespec *until)
{
	uint64_t mine;

	(void)pthread_mutex_lock(&lock);
	/* The writer itself may be here when it ends the program from the log's callback. */
	if (running && !pthread_equal(writer, pthread_self())) {
		mine = ++wanted;
		psgi_trace_wake();
		while (running && served < mine) {
			if (until == NULL)
				(void)pthread_cond_wait(&served_more, &lock);
			else if (pthread_cond_timedwait(&served_more, &lock, until) != 0)
				break;
		}
	}
	(void)pthread_mutex_unlock(&lock);
}

void psgi_trace_flush(void)
{
	flush(NULL);
}

/* --- forks --- */

static void before_fork(void)
{
	(void)pthread_mutex_lock(&life);
	(void)pthread_mutex_lock(&lock);
}

static void after_fork(void)
{
	(void)pthread_mutex_unlock(&lock);
	(void)pthread_mutex_unlock(&life);
}

/* The writer is the parent's, and so is the file.  A parent without a trace leaves nothing. */
static void in_child(void)
{
	forked = forked || file.fd >= 0;
	has_writer = running = false;
	atomic_store_explicit(&psgi_trace_on, false, memory_order_relaxed);
	close_file();
	holders = 0;
	after_fork();
}

/* --- holders --- */

static void prepare(void)
{
	pthread_condattr_t monotonic;

	prepared = PSG_NOMEM;
	if (sem_init(&work, 0, 0) != 0 || pthread_condattr_init(&monotonic) != 0)
		return;
	if (pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC) == 0 &&
	    pthread_cond_init(&served_more, &monotonic) == 0 &&
	    pthread_atfork(before_fork, after_fork, in_child) == 0)
		prepared = PSG_OK;
	(void)pthread_condattr_destroy(&monotonic);
}

/* The file of that name: a new one, or the one that this process had before. */
static psg_status take_file(const char *path, psg_error *error)
{
	bool same = strcmp(path, file.asked) == 0;

	if (file.text.data == NULL) {
		file.text.data = malloc(BUFFER_BYTES);
		file.text.room = BUFFER_BYTES - TAIL_BYTES;
	}
	if (file.text.data == NULL)
		return psgi_fail(error, PSG_NOMEM, "nothing is traced: no memory");
	if (same && still_there())
		return PSG_OK;
	close_file();
	(void)snprintf(file.asked, sizeof(file.asked), "%s", path);
	if (strlen(path) >= sizeof(file.asked))
		return fail_file(error, path, "too long a name");
	return open_file(error);
}

/* What failed once is not tried again, and not told. */
static psg_status start(const char *path, uint64_t limit, psg_error *error)
{
	psg_status status;

	if (refused && strncmp(path, file.asked, sizeof(file.asked) - 1) == 0)
		return PSG_OK;
	status = take_file(path, error);
	file.limit = limit;
	if (status == PSG_OK && !file.ended) {
		has_writer = start_writer();
		atomic_store_explicit(&psgi_trace_on, has_writer, memory_order_relaxed);
		if (!has_writer)
			status = psgi_fail(error, PSG_NOMEM, "nothing is traced: no thread");
	}
	refused = status != PSG_OK;
	return status;
}

psg_status psgi_trace_hold_file(const char *path, uint64_t limit, psg_error *error)
{
	psg_status status = PSG_OK;

	(void)pthread_once(&once, prepare);
	if (prepared != PSG_OK)
		return psgi_fail(error, prepared, "nothing is traced: no memory");
	(void)pthread_mutex_lock(&life);
	if (!forked) {
		holders++;
		if (!has_writer && path != NULL && path[0] != '\0')
			status = start(path, limit, error);
	}
	(void)pthread_mutex_unlock(&life);
	return status;
}

void psgi_trace_hold(void)
{
	psg_error error = PSG_ERROR_INIT;

	if (psgi_trace_hold_file(secure_getenv("PAGESIFT_TRACE"), LIMIT_BYTES, &error) != PSG_OK)
		psgi_log(PSG_LOG_WARNING, "PAGESIFT_TRACE: %s", error.message);
}

void psgi_trace_release(void)
{
	if (prepared != PSG_OK)
		return;
	(void)pthread_mutex_lock(&life);
	if (holders > 0 && --holders == 0 && has_writer) {
		atomic_store_explicit(&psgi_trace_on, false, memory_order_relaxed);
		stop_writer();
		has_writer = false;
	}
	(void)pthread_mutex_unlock(&life);
}

/* The program's end, or the library's. */
__attribute__((destructor)) static void write_rest(void)
{
	struct timespec until = after(EXIT_NS);

	if (prepared == PSG_OK && !forked)
		flush(&until);
}
