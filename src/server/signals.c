/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "server/signals.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

/* A handler has no argument to find its state by. */
static int wake_fd = -1; /* written before the handlers are set */
static volatile sig_atomic_t ends, reloads;

static void on_signal(int number)
{
	const uint64_t one = 1;
	int saved = errno;

	if (number == SIGHUP)
		reloads = 1;
	else
		ends = 1;
	if (write(wake_fd, &one, sizeof(one)) < 0)
		errno = saved; /* it is awake already */
	errno = saved;
}

void srv_signals_start(int wake)
{
	struct sigaction ours = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	struct sigaction ignored = { .sa_handler = SIG_IGN };

	wake_fd = wake;
	(void)sigemptyset(&ours.sa_mask);
	(void)sigaction(SIGHUP, &ours, NULL);
	ours.sa_flags |= (int)SA_RESETHAND;
	(void)sigaction(SIGTERM, &ours, NULL);
	(void)sigaction(SIGINT, &ours, NULL);
	(void)sigaction(SIGPIPE, &ignored, NULL);
}

bool srv_signals_end(void)
{
	return ends != 0;
}

bool srv_signals_reload(void)
{
	if (reloads == 0)
		return false;
	reloads = 0; /* before the models are read: one that comes meanwhile counts again */
	return true;
}
