/* SPDX-License-Identifier: Apache-2.0 */
/* CK's event count over a futex, made to keep its deadlines. */
#include "config.h"

#include "jobs/ec.h"

#include "jobs/futex.h"

static int now(const struct ck_ec_ops *ops, struct timespec *out)
{
	(void)ops;
	return clock_gettime(CLOCK_MONOTONIC, out);
}

static void wait32(const struct ck_ec_wait_state *state, const uint32_t *word, uint32_t expected,
		   const struct timespec *deadline)
{
	(void)state;
	(void)psgi_futex_wait(word, expected, deadline);
}

static void wake32(const struct ck_ec_ops *ops, const uint32_t *word)
{
	(void)ops;
	psgi_futex_wake(word);
}

const struct ck_ec_ops psgi_event_ops = {
	.gettime = now,
	.wait32 = wait32,
	.wake32 = wake32,
	/* Spins of CK's own, two times this: the worker has done its spinning (worker.c). */
	.busy_loop_iter = 1,
};

/*
 * CK sleeps in growing steps, 2 ms, 16 ms and so on, whatever the deadline is: asked for 20 ms it
 * takes 128.  The steps exist for the single-signaller mode, whose plain increment can lose the
 * waiter's flag; the atomic increment used here cannot, so each step may last to the deadline.
 */
static int one_step(const struct ck_ec_wait_state *state, struct timespec *step)
{
	*step = *(const struct timespec *)state->data;
	return 0;
}

bool psgi_event_wait(psgi_event *event, uint32_t value, int64_t deadline_ns)
{
	const struct ck_ec_mode mode = { .ops = &psgi_event_ops, .single_producer = false };
	struct timespec deadline = psgi_timespec(deadline_ns);

	return ck_ec32_wait_pred(&event->count, &mode, value, one_step, &deadline, &deadline) == 0;
}
