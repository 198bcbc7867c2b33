/* SPDX-License-Identifier: Apache-2.0 */
/* The steps that shadow.h makes of atomics, futexes, locks and memory. */
#ifndef T_STEPS_H
#define T_STEPS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

/* Where a step stands in the source. */
typedef struct t_site {
	const char *file, *function, *what;
	int line;
} t_site;

#define T_SITE(what) ((t_site){ __FILE__, __func__, what, __LINE__ })

/* --- atomics of 1, 2, 4 or 8 bytes --- */

typedef enum t_rmw { T_EXCHANGE, T_ADD, T_SUB, T_OR, T_AND } t_rmw;

uint64_t t_load(const volatile void *at, size_t size, t_site site);
/* `visible`: at once; else it may be delayed. */
void t_store(volatile void *at, size_t size, uint64_t value, bool visible, t_site site);
uint64_t t_change(volatile void *at, size_t size, t_rmw how, uint64_t value, t_site site);
bool t_compare_exchange(volatile void *at, size_t size, void *expected, uint64_t value, bool weak,
			t_site site);

/* Waits until own stores are visible; the heavy one, until everybody's are. */
void t_fence(t_site site);
void t_heavy_fence(t_site site);

/* Waits until own stores to this word are visible, which is read as a plain variable. */
void t_settle(const volatile void *at, t_site site);

/* --- sleeping --- */

/* False when the deadline passed.  `bits`: only who has one of them wakes it. */
bool t_sleep(const volatile void *word, uint32_t expected, const struct timespec *deadline,
	     uint32_t bits, t_site site);
void t_wake(const volatile void *word, uint32_t bits, t_site site);

/* CK's event count: counting and waking are one step, looking and falling asleep another. */
void t_signal(uint32_t *count, t_site site);

/* Lets others go on until none of them can. */
void t_pause(t_site site);

/* Does the scenario have threads look on before they sleep? */
bool t_patient(void);

/* --- locks, threads, time, descriptors --- */

void t_lock(void *mutex, t_site site);
void t_unlock(void *mutex, t_site site);
void t_cond_wait(const uint32_t *count, void *mutex, t_site site);

bool t_thread_start(void *thread, void *(*run)(void *arg), void *arg);
void t_thread_join(void *thread, t_site site);
const void *t_self(void);
int t_key_create(void (*destructor)(void *value));
int t_key_set(const void *value);

int64_t t_now(t_site site);

int t_eventfd(void);
int t_close(int fd);
long t_read_write(bool write, t_site site);
uint64_t t_eventfd_value(void);

/* One that is open: "gpu0" and "gpu1" are, to those who ask, GPUs, new in each run. */
struct psg_device *t_device(const char *name);

/* --- memory, anew in each run; NULL never comes --- */

void *t_alloc(size_t bytes, size_t alignment, bool clear);
void t_free(void *memory, t_site site);
char *t_duplicate(const char *text);

#endif
