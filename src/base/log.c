/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "base/base.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

struct sink {
	psg_log_fn fn;
	void *user;
	psg_log_level level;
	struct sink *previous;
};

/*
 * One pointer, so that a reader never sees the function of one call with the
 * user of another.  Old sinks stay linked: a thread may still be inside one,
 * and a process sets its log a handful of times.
 */
static _Atomic(struct sink *) current;

void psg_log_set(psg_log_fn fn, void *user, psg_log_level level)
{
	struct sink *sink = malloc(sizeof(*sink));

	if (sink == NULL)
		return; /* the old log goes on: losing it would be worse */
	*sink = (struct sink){ fn, user, level, NULL };
	/* Release: the fields above are visible to whoever loads the pointer. */
	sink->previous = atomic_load_explicit(&current, memory_order_relaxed);
	while (!atomic_compare_exchange_weak_explicit(&current, &sink->previous, sink,
						      memory_order_release, memory_order_relaxed))
		;
}

bool psgi_log_enabled(psg_log_level level)
{
	const struct sink *sink = atomic_load_explicit(&current, memory_order_acquire);

	return sink != NULL && sink->fn != NULL && level <= sink->level;
}

void psgi_log(psg_log_level level, const char *format, ...)
{
	const struct sink *sink = atomic_load_explicit(&current, memory_order_acquire);
	char message[PSG_ERROR_MESSAGE_SIZE];
	va_list args;

	if (sink == NULL || sink->fn == NULL || level > sink->level)
		return;
	va_start(args, format);
	(void)vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	sink->fn(sink->user, level, message);
}
