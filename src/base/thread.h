/* SPDX-License-Identifier: Apache-2.0 */
/* Starting the library's own threads. */
#ifndef PSG_BASE_THREAD_H
#define PSG_BASE_THREAD_H

#include <pthread.h>
#include <stdbool.h>

/* A thread on which no signal of the program is handled.  False: there is none to be had. */
bool psgi_thread_start(pthread_t *thread, void *(*run)(void *argument), void *argument);

#endif
