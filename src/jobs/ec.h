/* SPDX-License-Identifier: Apache-2.0 */
/*
 * CK's event count with exact deadlines.
 *
 * A waiter takes the value, looks for work, and waits for the value to change;
 * a signaller publishes work and then signals.  So no wake-up is lost, and a
 * signal makes a system call only when somebody sleeps.
 */
#ifndef PSG_JOBS_EC_H
#define PSG_JOBS_EC_H

#include <ck_ec.h>

#include <stdbool.h>
#include <stdint.h>

typedef struct psgi_event {
	struct ck_ec32 count;
} psgi_event;

extern const struct ck_ec_ops psgi_event_ops;

static inline void psgi_event_init(psgi_event *event)
{
	ck_ec32_init(&event->count, 0);
}

/* Acquire: work published before a signal that this value counts is visible. */
static inline uint32_t psgi_event_value(const psgi_event *event)
{
	return ck_ec32_value(&event->count);
}

/* Any thread.  Several signallers: the increment is atomic, and a full barrier on x86. */
static inline void psgi_event_signal(psgi_event *event)
{
	const struct ck_ec_mode mode = { .ops = &psgi_event_ops, .single_producer = false };

	ck_ec32_inc(&event->count, &mode);
}

/* Waits for another value than `value`; false when `deadline_ns` (PSGI_NEVER: none) passed first.
 */
bool psgi_event_wait(psgi_event *event, uint32_t value, int64_t deadline_ns);

#endif
