/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Included before the sources of the jobs room when they are compiled for the model checker: what
 * they ask of the processor and the system becomes steps (steps.h).
 *
 * Headers come first that are to be as they are: what they do inline is no step.  Three of the
 * room's own are replaced, by defining their guards: the event count and the futex, which are
 * system calls and inline assembly, and the fences, one of which is.
 */
#ifndef T_SHADOW_H
#define T_SHADOW_H

#include "config.h"

#include "base/base.h"
#include "base/fork.h"
#include "base/phase.h"
#include "base/recent.h"
#include "base/thread.h"
#include "base/trace.h"
#include "device/device.h"
#include "model/start.h"
#include "tests/schedules/steps.h"

#include <ck_pr.h>
#include <pagesift/job.h>

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* --- atomics --- */

#undef atomic_load
#undef atomic_load_explicit
#undef atomic_store
#undef atomic_store_explicit
#undef atomic_exchange
#undef atomic_exchange_explicit
#undef atomic_fetch_add
#undef atomic_fetch_add_explicit
#undef atomic_fetch_sub
#undef atomic_fetch_sub_explicit
#undef atomic_fetch_or
#undef atomic_fetch_or_explicit
#undef atomic_fetch_and
#undef atomic_fetch_and_explicit
#undef atomic_compare_exchange_weak
#undef atomic_compare_exchange_weak_explicit
#undef atomic_compare_exchange_strong
#undef atomic_compare_exchange_strong_explicit

/* A comma gives a value, whose type is not atomic any more. */
#define T_TYPE(at) __typeof__(((void)0, *(at)))
#define T_BITS(value) ((uint64_t)(uintptr_t)(value))
/* In braces, so that nobody minds when the value is not used. */
#define T_CHANGE(at, how, value)                                                                   \
	__extension__(                                                                             \
		{ (T_TYPE(at)) t_change(at, sizeof(*(at)), how, T_BITS(value), T_SITE(#at)); })
#define T_COMPARE(at, expected, value, weak)                                                       \
	t_compare_exchange(at, sizeof(*(at)), expected, T_BITS(value), weak, T_SITE(#at))

#define atomic_load_explicit(at, order) ((T_TYPE(at))t_load(at, sizeof(*(at)), T_SITE(#at)))
#define atomic_load(at) atomic_load_explicit(at, 0)
#define atomic_store_explicit(at, value, order)                                                    \
	t_store(at, sizeof(*(at)), T_BITS(value), (order) == memory_order_seq_cst, T_SITE(#at))
#define atomic_store(at, value) atomic_store_explicit(at, value, memory_order_seq_cst)
#define atomic_exchange_explicit(at, value, order) T_CHANGE(at, T_EXCHANGE, value)
#define atomic_exchange(at, value) T_CHANGE(at, T_EXCHANGE, value)
#define atomic_fetch_add_explicit(at, value, order) T_CHANGE(at, T_ADD, value)
#define atomic_fetch_add(at, value) T_CHANGE(at, T_ADD, value)
#define atomic_fetch_sub_explicit(at, value, order) T_CHANGE(at, T_SUB, value)
#define atomic_fetch_sub(at, value) T_CHANGE(at, T_SUB, value)
#define atomic_fetch_or_explicit(at, value, order) T_CHANGE(at, T_OR, value)
#define atomic_fetch_or(at, value) T_CHANGE(at, T_OR, value)
#define atomic_fetch_and_explicit(at, value, order) T_CHANGE(at, T_AND, value)
#define atomic_fetch_and(at, value) T_CHANGE(at, T_AND, value)
#define atomic_compare_exchange_weak_explicit(at, expected, value, order, failure)                 \
	T_COMPARE(at, expected, value, true)
#define atomic_compare_exchange_weak(at, expected, value) T_COMPARE(at, expected, value, true)
#define atomic_compare_exchange_strong_explicit(at, expected, value, order, failure)               \
	T_COMPARE(at, expected, value, false)
#define atomic_compare_exchange_strong(at, expected, value) T_COMPARE(at, expected, value, false)

#define PSG_JOBS_FENCE_H
#define psgi_full_fence() t_fence(T_SITE("fence"))
#define psgi_light_fence() ((void)0)
#define psgi_heavy_fence() t_heavy_fence(T_SITE("heavy fence"))
#define psgi_fences_init() ((void)0)

/*
 * CK's own ring, whose loads and stores of its two ends are steps.  The producer's end is stored as
 * others are; its owner reads it as a plain variable, before which there is none of them under way.
 * The consumer's end, which only tells that there is room, is seen at once.
 */
static inline uint64_t t_load_end(const volatile unsigned *end, const volatile unsigned *c_head,
				  const volatile unsigned *p_tail, t_site site)
{
	if (end == c_head)
		t_settle(p_tail, site);
	return t_load(end, sizeof(*end), site);
}
#undef ck_pr_load_uint
#undef ck_pr_store_uint
#define ck_pr_load_uint(at) ((unsigned)t_load_end(at, &ring->c_head, &ring->p_tail, T_SITE(#at)))
#define ck_pr_store_uint(at, value)                                                                \
	t_store(at, sizeof(*(at)), value, (at) == &ring->c_head, T_SITE(#at))
#include <ck_ring.h>

/* --- sleeping --- */

#define PSG_JOBS_FUTEX_H

static inline struct timespec psgi_timespec(int64_t ns)
{
	return (struct timespec){ .tv_sec = ns / PSG_SECOND, .tv_nsec = ns % PSG_SECOND };
}

/* Macros, so that a step names the function that makes it. */
#define psgi_futex_wait_some(word, expected, deadline, bits)                                       \
	t_sleep(word, expected, deadline, bits, T_SITE("sleep"))
#define psgi_futex_wait(word, expected, deadline)                                                  \
	t_sleep(word, expected, deadline, UINT32_MAX, T_SITE("sleep"))
#define psgi_futex_wake_some(word, bits) t_wake(word, bits, T_SITE("wake"))
#define psgi_futex_wake(word) t_wake(word, UINT32_MAX, T_SITE("wake"))

#define PSG_JOBS_EC_H

typedef struct psgi_event {
	uint32_t count;
} psgi_event;

static inline bool t_event_wait(psgi_event *event, uint32_t value, int64_t deadline_ns, t_site site)
{
	struct timespec deadline = psgi_timespec(deadline_ns);

	return t_sleep(&event->count, value, &deadline, UINT32_MAX, site);
}

#define psgi_event_init(event) ((void)((event)->count = 0))
#define psgi_event_value(event)                                                                    \
	((uint32_t)t_load(&(event)->count, sizeof((event)->count), T_SITE("event")))
#define psgi_event_signal(event) t_signal(&(event)->count, T_SITE("event"))
#define psgi_event_wait(event, value, deadline_ns)                                                 \
	t_event_wait(event, value, deadline_ns, T_SITE("event"))

#define nanosleep(time, rest) ((void)(time), t_pause(T_SITE("nanosleep")), 0)

/* --- time: always the newest --- */

#define psg_now_ns() t_now(T_SITE("clock"))
#define psgi_recent_init(recent) (*(recent) = (psgi_recent){ 0 })
#define psgi_recent_ns(recent) ((recent)->ns = psg_now_ns())

/* Who looks on does it once, sixteen loads: that is no time at all. */
#include "jobs/patience.h"
#undef PSGI_PATIENCE_NS
#define PSGI_PATIENCE_NS 0
#define psgi_patience_lasts(patience) (t_patient() && psgi_patience_lasts(patience))

/* --- memory, locks, threads, descriptors --- */

#define malloc(bytes) t_alloc(bytes, 16, false)
#define calloc(n, bytes) t_alloc((n) * (bytes), 16, true)
#define aligned_alloc(alignment, bytes) t_alloc(bytes, alignment, false)
#define free(memory) t_free(memory, T_SITE("free(" #memory ")"))
#undef strdup
#define strdup(text) t_duplicate(text)

#define pthread_mutex_init(mutex, attributes) ((void)(mutex), 0)
#define pthread_mutex_destroy(mutex) ((void)(mutex), 0)
#define pthread_mutex_lock(mutex) (t_lock(mutex, T_SITE("lock " #mutex)), 0)
#define pthread_mutex_unlock(mutex) (t_unlock(mutex, T_SITE("unlock " #mutex)), 0)
/* A count that goes up with each broadcast, in the condition's own memory. */
#define pthread_cond_init(cond, attributes) (memset(cond, 0, sizeof(*(cond))), 0)
#define pthread_cond_destroy(cond) ((void)(cond), 0)
#define pthread_cond_wait(cond, mutex) (t_cond_wait((uint32_t *)(cond), mutex, T_SITE("wait")), 0)
#define pthread_cond_broadcast(cond) (t_signal((uint32_t *)(cond), T_SITE("broadcast")), 0)
#define pthread_key_create(key, destructor) (*(key) = 0, t_key_create(destructor))
#define pthread_key_delete(key) ((void)(key), 0)
#define pthread_setspecific(key, value) ((void)(key), t_key_set(value))
#define pthread_join(thread, result) (t_thread_join(&(thread), T_SITE("join")), 0)
#define pthread_detach(thread) ((void)(thread), 0)
#define pthread_setname_np(thread, name) ((void)(name), 0)
#define psgi_thread_start(thread, run, arg) t_thread_start(thread, run, arg)

#define eventfd(value, flags) t_eventfd()
#define close(fd) t_close(fd)
#define syscall(number, fd, buffer, bytes)                                                         \
	((void)(fd), (void)(buffer), t_read_write((number) == SYS_write, T_SITE("descriptor")))

/* No job here computes on its device. */
#define psg_device_open(name, out, error) (*(out) = t_device(name), PSG_OK)
#define psg_device_close(device) ((void)(device))
#define psgi_device_enter(device, error) ((void)(device), PSG_OK)
#define psgi_device_leave(device) ((void)(device))
#define psgi_device_trim(device) ((void)(device))

/* What runs a model asks whether to stop, once, and has no outputs. */
#define psg_model_outputs(model) ((void)(model), (size_t)0)
#define psg_model_run(model, device, in, n_in, out, n_out, stop, user, error)                      \
	((void)(model), (void)(device), (void)(in), (void)(n_in), (void)(out), (void)(n_out),      \
	 (void)(error), (stop)(user) ? PSG_CANCELLED : PSG_OK)
#define psgi_model_start(model, device, in, n_in, n_out, hooks, started, error)                    \
	((void)(model), (void)(device), (void)(in), (void)(n_in), (void)(n_out), (void)(started),  \
	 (void)(error), (hooks)->stop((hooks)->user) ? PSG_CANCELLED : PSG_OK)
#define psgi_started_is_done(started) ((void)(started), true)
#define psgi_started_finish(started, out, error)                                                   \
	((void)(started), (void)(out), (void)(error), PSG_OK)
#define psgi_started_drop(started) ((void)(started))

/* Variables of a thread: the explorer exchanges this section when it changes fibers. */
#define _Thread_local __attribute__((section("t_fiber_local")))

/* Fibers are one thread for the system: another thing names them. */
#define psgi_thread_name psgi_thread_name_of_all
#include "jobs/thread.h"
#undef psgi_thread_name
#define psgi_thread_name() ((uintptr_t)t_self())

#endif
