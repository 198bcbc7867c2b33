/* SPDX-License-Identifier: Apache-2.0 */
/* Between who records events and who writes them. */
#ifndef PSG_BASE_TRACE_RING_H
#define PSG_BASE_TRACE_RING_H

#include "base/memory.h"
#include "base/trace.h"

#include <stdalign.h>

/* Chosen: some 2,500 events, of which a busy thread makes 10,000 in a second. */
#define PSGI_TRACE_RING_BYTES ((size_t)1 << 18)

/* Chosen: 64 MiB in all; of more threads at the same time nothing is recorded. */
#define PSGI_TRACE_RINGS 256

/* Of a name or text; a longer one is cut. */
#define PSGI_TRACE_TEXT_BYTES 200

typedef enum psgi_trace_phase {
	PSGI_TRACE_SKIP, /* the rest of the ring, up to its end */
	PSGI_TRACE_SPAN,
	PSGI_TRACE_ARROW_BEGIN,
	PSGI_TRACE_ARROW_END,
	PSGI_TRACE_COUNTER,
	PSGI_TRACE_TRACK,
} psgi_trace_phase;

/* Followed by the name and, for each argument, a head and its text; all of them begin at multiples
 * of 8 and end without a terminator. */
typedef struct psgi_trace_record {
	uint32_t bytes; /* with what follows */
	uint8_t phase, n_args;
	uint16_t name_bytes;
	const char *category;
	int64_t at_ns;
	uint64_t value; /* duration of a span, the number of an arrow */
	int32_t track;  /* 0: the thread's own */
} psgi_trace_record;

typedef struct psgi_trace_arg_head {
	const char *key;
	int64_t number;
	uint32_t text_bytes;
	bool is_text;
} psgi_trace_arg_head;

/* Where a record's part of `bytes` ends, and the next one begins. */
static inline size_t psgi_trace_padded(size_t bytes)
{
	return (bytes + 7) / 8 * 8;
}

/* Who has a ring. */
typedef enum psgi_trace_owner {
	PSGI_TRACE_OWNED, /* a thread */
	PSGI_TRACE_LEFT,  /* nobody, but the writer has yet to read what is in it */
	PSGI_TRACE_FREE,  /* nobody */
	PSGI_TRACE_TAKEN, /* a thread that is preparing it */
} psgi_trace_owner;

typedef struct psgi_trace_ring {
	/* the thread's */
	alignas(PSGI_ALIGNMENT) _Atomic uint64_t written; /* bytes since the ring was made */
	_Atomic uint64_t dropped;                         /* events */
	int32_t thread;                                   /* of whom, as the kernel counts */
	char name[16];

	/* the writer's */
	alignas(PSGI_ALIGNMENT) _Atomic uint64_t read; /* bytes */
	uint64_t dropped_told;                         /* to the file */
	uint32_t told_in; /* the file that has the thread's name; 0: none */

	_Atomic int owner;
	struct psgi_trace_ring *next; /* constant */

	alignas(PSGI_ALIGNMENT) unsigned char data[PSGI_TRACE_RING_BYTES];
} psgi_trace_ring;

/* All that were ever made: they stay. */
extern psgi_trace_ring *_Atomic psgi_trace_rings;

/* Events of threads that got no ring. */
extern _Atomic uint64_t psgi_trace_lost;

/* A ring is half full, or something else is to be done: wakes the writer.  Never blocks. */
void psgi_trace_wake(void);

/* --- text --- */

/* Room that is enough for one event. */
#define PSGI_TRACE_EVENT_BYTES ((size_t)16 << 10)

/* A string of text that never runs over. */
typedef struct psgi_trace_text {
	char *data;
	size_t bytes, room;
} psgi_trace_text;

/* Each adds one event, led by a comma. */
void psgi_trace_put_record(psgi_trace_text *text, const psgi_trace_record *record, int32_t process,
			   int32_t thread);
void psgi_trace_put_name(psgi_trace_text *text, const char *what, const char *name, int32_t process,
			 int32_t thread);
void psgi_trace_put_note(psgi_trace_text *text, const char *what, const char *key, int64_t number,
			 int32_t process, int32_t thread);

#endif
