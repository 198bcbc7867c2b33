/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "base/thread.h"

#include <signal.h>

/* A new thread has the signal mask of its creator. */
bool psgi_thread_start(pthread_t *thread, void *(*run)(void *argument), void *argument)
{
	sigset_t all, before;
	bool started;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &before);
	started = pthread_create(thread, NULL, run, argument) == 0;
	(void)pthread_sigmask(SIG_SETMASK, &before, NULL);
	return started;
}
