/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What happened when, for people to look at: PAGESIFT_TRACE=file.json.
 *
 * The file is Chrome's trace event format, an array, which Perfetto and chrome://tracing open.
 * "%p" in its name is the process's number.  A thread puts events into a ring of its own, without a
 * lock or a system call; one thread of the process writes them.  What does not fit into a ring is
 * dropped and counted in the file.  After each write the file is a whole array, so that it can be
 * read whenever the process ends.
 *
 * Callers ask psgi_tracing first, and read the clock only then.  Categories and keys are literals;
 * names and texts are copied, of long ones the beginning.
 */
#ifndef PSG_BASE_TRACE_H
#define PSG_BASE_TRACE_H

#include <pagesift/error.h>

#include <stdatomic.h>

extern atomic_bool psgi_trace_on;

/* Relaxed: whoever misses the change loses an event, or makes one that nobody writes. */
static inline bool psgi_tracing(void)
{
	return __builtin_expect(atomic_load_explicit(&psgi_trace_on, memory_order_relaxed), 0);
}

/* When a span begins; 0: there is no trace. */
static inline int64_t psgi_trace_begin(void)
{
	return psgi_tracing() ? psg_now_ns() : 0;
}

typedef struct psgi_trace_arg {
	const char *key;
	const char *text; /* NULL: `number` */
	int64_t number;
} psgi_trace_arg;

/* More are left out. */
#define PSGI_TRACE_ARGS 8

/* Times are of psg_now_ns.  The calling thread did this. */
void psgi_trace_span(const char *category, const char *name, int64_t begin_ns, int64_t end_ns,
		     const psgi_trace_arg *args, size_t n_args);

/* An arrow from one span to another, of two threads: `id` tells both ends.  Each is recorded after
 * the span that it is in, at a time within it. */
void psgi_trace_arrow_begin(uint64_t id, int64_t at_ns);
void psgi_trace_arrow_end(uint64_t id, int64_t at_ns);

/* Numbers that change with time, drawn over each other. */
void psgi_trace_counter(const char *name, int64_t at_ns, const psgi_trace_arg *series,
			size_t n_series);

/*
 * A track that is no thread, such as a card: its events are recorded by the thread that knows of
 * them.  `track` is positive.
 */
void psgi_trace_track(int32_t track, const char *name);
void psgi_trace_span_on(int32_t track, const char *category, const char *name, int64_t begin_ns,
			int64_t end_ns, const psgi_trace_arg *args, size_t n_args);

/*
 * Who may cause events holds the trace.  The first hold that finds PAGESIFT_TRACE in the
 * environment (never in a program with more rights than its caller) begins it; with the last one
 * all is written.  What goes wrong is told to the log, once.  In a process that was forked from one
 * with a trace, nothing is traced.  Never fails; blocks as opening and writing a file do.
 */
void psgi_trace_hold(void);
void psgi_trace_release(void);

/* Returns when all that was recorded before has been written, if there is a trace. */
void psgi_trace_flush(void);

/* As psgi_trace_hold, with a file of at most so many bytes, which are at least 64 KiB; OK where a
 * trace is on, or was refused before. */
psg_status psgi_trace_hold_file(const char *path, uint64_t limit, psg_error *error);

#endif
