/* SPDX-License-Identifier: Apache-2.0 */
/* Recording events: each thread's ring. */
#include "config.h"

#include "base/trace_ring.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

atomic_bool psgi_trace_on;
psgi_trace_ring *_Atomic psgi_trace_rings;
_Atomic uint64_t psgi_trace_lost;

/* --- a thread's ring --- */

static _Thread_local psgi_trace_ring *mine;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key; /* only for its destructor */
static int failure;

/* Release: the writer reads what the thread wrote, and then others have the ring. */
static void thread_ends(void *ring)
{
	mine = NULL;
	atomic_store_explicit(&((psgi_trace_ring *)ring)->owner, PSGI_TRACE_LEFT,
			      memory_order_release);
}

static void make_key(void)
{
	failure = pthread_key_create(&key, thread_ends);
}

/* When the library is unloaded before its threads end, their destructor must not be called. */
__attribute__((destructor)) static void forget_key(void)
{
	(void)pthread_once(&once, make_key);
	if (failure == 0)
		(void)pthread_key_delete(key);
	failure = 1;
}

/* One whose thread has ended.  Acquire: the writer is done with it. */
static psgi_trace_ring *take_free(psgi_trace_ring *rings)
{
	for (psgi_trace_ring *ring = rings; ring != NULL; ring = ring->next) {
		int owner = PSGI_TRACE_FREE;

		if (atomic_compare_exchange_strong_explicit(&ring->owner, &owner, PSGI_TRACE_TAKEN,
							    memory_order_acquire,
							    memory_order_relaxed))
			return ring;
	}
	return NULL;
}

static psgi_trace_ring *make_ring(void)
{
	static _Atomic uint32_t made;
	psgi_trace_ring *ring = NULL;

	if (atomic_fetch_add_explicit(&made, 1, memory_order_relaxed) < PSGI_TRACE_RINGS)
		ring = psgi_memory_alloc(sizeof(*ring));
	if (ring == NULL) {
		atomic_fetch_sub_explicit(&made, 1, memory_order_relaxed);
		return NULL;
	}
	memset(ring, 0, offsetof(psgi_trace_ring, data));
	return ring;
}

/* Release: the writer finds a whole ring. */
static void publish(psgi_trace_ring *ring)
{
	ring->next = atomic_load_explicit(&psgi_trace_rings, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(&psgi_trace_rings, &ring->next, ring,
						      memory_order_release, memory_order_relaxed))
		;
}

/* The calling thread's ring, from its first event on; NULL: there is none to be had. */
static psgi_trace_ring *attach(void)
{
	psgi_trace_ring *ring;
	bool fresh;

	(void)pthread_once(&once, make_key);
	if (failure != 0)
		return NULL;
	ring = take_free(atomic_load_explicit(&psgi_trace_rings, memory_order_acquire));
	fresh = ring == NULL;
	if (fresh)
		ring = make_ring();
	if (ring == NULL)
		return NULL;
	ring->thread = (int32_t)gettid();
	ring->told_in = 0;
	ring->dropped_told = 0;
	atomic_store_explicit(&ring->dropped, 0, memory_order_relaxed);
	if (pthread_getname_np(pthread_self(), ring->name, sizeof(ring->name)) != 0)
		ring->name[0] = '\0';
	/* Release: the writer, who looks at none that is being taken, sees all this. */
	atomic_store_explicit(&ring->owner, PSGI_TRACE_OWNED, memory_order_release);
	if (fresh)
		publish(ring);
	if (pthread_setspecific(key, ring) != 0) { /* it could not be given back */
		atomic_store_explicit(&ring->owner, PSGI_TRACE_FREE, memory_order_release);
		return NULL;
	}
	mine = ring;
	return ring;
}

/* --- records --- */

static void drop(psgi_trace_ring *ring)
{
	uint64_t dropped = atomic_load_explicit(&ring->dropped, memory_order_relaxed);

	atomic_store_explicit(&ring->dropped, dropped + 1, memory_order_relaxed);
}

static psgi_trace_record *at(psgi_trace_ring *ring, uint64_t position)
{
	return (psgi_trace_record *)(void *)(ring->data + position % PSGI_TRACE_RING_BYTES);
}

/*
 * Room for a record in one piece: `*position` is where the ring is written up to with it.  Acquire:
 * the writer has read what lay there.
 */
static psgi_trace_record *reserve(psgi_trace_ring *ring, size_t bytes, uint64_t *position)
{
	uint64_t written = atomic_load_explicit(&ring->written, memory_order_relaxed);
	uint64_t read = atomic_load_explicit(&ring->read, memory_order_acquire);
	size_t to_end = PSGI_TRACE_RING_BYTES - written % PSGI_TRACE_RING_BYTES;
	size_t skipped = bytes <= to_end ? 0 : to_end;
	psgi_trace_record *record;

	if (written + skipped + bytes - read > PSGI_TRACE_RING_BYTES) {
		drop(ring);
		return NULL;
	}
	if (skipped > 0) {
		record = at(ring, written);
		record->bytes = (uint32_t)skipped;
		record->phase = PSGI_TRACE_SKIP;
	}
	*position = written + skipped + bytes;
	return at(ring, written + skipped);
}

/* Release: the record is whole. */
static void commit(psgi_trace_ring *ring, uint64_t position)
{
	uint64_t before = atomic_load_explicit(&ring->written, memory_order_relaxed);
	uint64_t read = atomic_load_explicit(&ring->read, memory_order_relaxed);

	atomic_store_explicit(&ring->written, position, memory_order_release);
	if (before - read < PSGI_TRACE_RING_BYTES / 2 &&
	    position - read >= PSGI_TRACE_RING_BYTES / 2)
		psgi_trace_wake();
}

static size_t length(const char *text)
{
	return strnlen(text, PSGI_TRACE_TEXT_BYTES);
}

/* How much of each text is taken. */
typedef struct text_lengths {
	size_t name, text[PSGI_TRACE_ARGS];
} text_lengths;

static size_t measure(const char *name, const psgi_trace_arg *args, size_t n_args,
		      text_lengths *out)
{
	size_t bytes = sizeof(psgi_trace_record);

	out->name = length(name);
	bytes += psgi_trace_padded(out->name);
	for (size_t i = 0; i < n_args; i++) {
		out->text[i] = args[i].text != NULL ? length(args[i].text) : 0;
		bytes += sizeof(psgi_trace_arg_head) + psgi_trace_padded(out->text[i]);
	}
	return bytes;
}

static void put_args(unsigned char *to, const psgi_trace_arg *args, size_t n_args,
		     const text_lengths *lengths)
{
	for (size_t i = 0; i < n_args; i++) {
		psgi_trace_arg_head *head = (psgi_trace_arg_head *)(void *)to;

		*head = (psgi_trace_arg_head){ args[i].key, args[i].number,
					       (uint32_t)lengths->text[i], args[i].text != NULL };
		to += sizeof(*head);
		if (args[i].text != NULL)
			memcpy(to, args[i].text, lengths->text[i]);
		to += psgi_trace_padded(lengths->text[i]);
	}
}

/* `event` is all but the name and arguments. */
static void record(psgi_trace_record event, const char *name, const psgi_trace_arg *args,
		   size_t n_args)
{
	psgi_trace_ring *ring = mine != NULL ? mine : attach();
	psgi_trace_record *to;
	text_lengths lengths;
	uint64_t position;

	if (ring == NULL) {
		atomic_fetch_add_explicit(&psgi_trace_lost, 1, memory_order_relaxed);
		return;
	}
	if (n_args > PSGI_TRACE_ARGS)
		n_args = PSGI_TRACE_ARGS;
	event.bytes = (uint32_t)measure(name, args, n_args, &lengths);
	event.n_args = (uint8_t)n_args;
	event.name_bytes = (uint16_t)lengths.name;
	to = reserve(ring, event.bytes, &position);
	if (to == NULL)
		return;
	*to = event;
	memcpy(to + 1, name, lengths.name);
	put_args((unsigned char *)(to + 1) + psgi_trace_padded(lengths.name), args, n_args,
		 &lengths);
	commit(ring, position);
}

void psgi_trace_span_on(int32_t track, const char *category, const char *name, int64_t begin_ns,
			int64_t end_ns, const psgi_trace_arg *args, size_t n_args)
{
	record((psgi_trace_record){ .phase = PSGI_TRACE_SPAN,
				    .category = category,
				    .at_ns = begin_ns,
				    .value = end_ns > begin_ns ? (uint64_t)(end_ns - begin_ns) : 0,
				    .track = track },
	       name, args, n_args);
}

void psgi_trace_span(const char *category, const char *name, int64_t begin_ns, int64_t end_ns,
		     const psgi_trace_arg *args, size_t n_args)
{
	psgi_trace_span_on(0, category, name, begin_ns, end_ns, args, n_args);
}

static void arrow(psgi_trace_phase phase, uint64_t id, int64_t at_ns)
{
	record(
		(psgi_trace_record){
			.phase = (uint8_t)phase, .category = "arrow", .at_ns = at_ns, .value = id },
		"job", NULL, 0);
}

void psgi_trace_arrow_begin(uint64_t id, int64_t at_ns)
{
	arrow(PSGI_TRACE_ARROW_BEGIN, id, at_ns);
}

void psgi_trace_arrow_end(uint64_t id, int64_t at_ns)
{
	arrow(PSGI_TRACE_ARROW_END, id, at_ns);
}

void psgi_trace_counter(const char *name, int64_t at_ns, const psgi_trace_arg *series,
			size_t n_series)
{
	record((psgi_trace_record){ .phase = PSGI_TRACE_COUNTER,
				    .category = "counter",
				    .at_ns = at_ns },
	       name, series, n_series);
}

void psgi_trace_track(int32_t track, const char *name)
{
	record((psgi_trace_record){ .phase = PSGI_TRACE_TRACK, .category = "", .track = track },
	       name, NULL, 0);
}
