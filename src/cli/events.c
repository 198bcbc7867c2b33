/* SPDX-License-Identifier: Apache-2.0 */
/* A pipe that ended pages and signals write to. */
#include "config.h"

#include "cli/events.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

static const int signals[] = { SIGINT, SIGTERM, SIGHUP };

#define N_SIGNALS (sizeof(signals) / sizeof(signals[0]))

/* A handler has no argument to find its state by. */
static int ends[2] = { -1, -1 }; /* to read from, to write to; written before handlers are set */
static volatile sig_atomic_t caught;
static struct sigaction before[N_SIGNALS];

/* A full pipe wakes as well as one byte more. */
static void write_byte(void)
{
	ssize_t written = write(ends[1], "", 1);

	(void)written;
}

static void on_signal(int number)
{
	int saved = errno;

	caught = number;
	write_byte();
	errno = saved;
}

/* Without SA_RESTART, so that opening a pipe that nobody writes to ends too. */
static void set_handlers(void)
{
	struct sigaction ours = { .sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND };

	(void)sigemptyset(&ours.sa_mask);
	for (size_t i = 0; i < N_SIGNALS; i++)
		if (sigaction(signals[i], NULL, &before[i]) == 0 && before[i].sa_handler != SIG_IGN)
			(void)sigaction(signals[i], &ours, NULL);
}

psg_status cli_events_open(psg_error *error)
{
	if (pipe(ends) != 0)
		return cli_fail(error, PSG_NOMEM, "no pipe: %s", strerror(errno));
	(void)fcntl(ends[0], F_SETFD, FD_CLOEXEC);
	(void)fcntl(ends[1], F_SETFD, FD_CLOEXEC);
	(void)fcntl(ends[1], F_SETFL, O_NONBLOCK);
	set_handlers();
	return PSG_OK;
}

void cli_events_wake(psg_future *future, void *ended)
{
	(void)future;
	/* Before the byte, or the waiter could look too early and sleep on. */
	atomic_store((atomic_bool *)ended, true);
	write_byte();
}

/* Waits for bytes and takes them.  Whatever they told is in the state, which was set before. */
static void take_bytes(void)
{
	char bytes[256];
	ssize_t got = read(ends[0], bytes, sizeof(bytes));

	(void)got; /* interrupted or not */
}

bool cli_events_wait(const atomic_bool *ended)
{
	while (!atomic_load(ended)) {
		if (caught != 0)
			return false;
		take_bytes();
	}
	return caught == 0;
}

/* A signal between a look at `caught` and a read of the file would be slept over; a byte is not. */
bool cli_events_readable(int fd)
{
	struct pollfd waits[2] = { { .fd = fd, .events = POLLIN },
				   { .fd = ends[0], .events = POLLIN } };

	if (ends[0] < 0)
		return true;
	while (caught == 0) {
		if (poll(waits, 2, -1) < 0)
			continue;
		if (waits[1].revents != 0)
			take_bytes();
		else if (waits[0].revents != 0)
			return true;
	}
	return false;
}

int cli_events_signal(void)
{
	return caught;
}

void cli_events_close(void)
{
	if (ends[0] < 0)
		return;
	for (size_t i = 0; i < N_SIGNALS; i++)
		(void)sigaction(signals[i], &before[i], NULL);
	(void)close(ends[0]);
	(void)close(ends[1]);
	ends[0] = -1;
	/* So that whoever started the program sees what ended it. */
	if (caught != 0)
		(void)raise(caught);
}
