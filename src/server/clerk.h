/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads for what takes longer than libmicrohttpd's thread may: finding the pages of a file,
 * copying them into the engine, writing a reply.  Tasks are taken in their order.
 */
#ifndef PSG_SERVER_CLERK_H
#define PSG_SERVER_CLERK_H

#include <pagesift/error.h>

#include <pthread.h>

/* Chosen: so that a large file, of which a copy takes some ms, does not hold up all others. */
#define SRV_CLERKS 2

typedef struct srv_task srv_task;
struct srv_task {
	void (*run)(srv_task *task);
	srv_task *next;
};

typedef struct srv_clerks {
	pthread_mutex_t lock;
	pthread_cond_t some;
	srv_task *first, **last;
	bool stopping;
	size_t n;
	pthread_t threads[SRV_CLERKS];
} srv_clerks;

psg_status srv_clerks_start(srv_clerks *clerks, psg_error *error);

/* Any thread; the task is not queued already.  It may be freed in its run. */
void srv_clerks_post(srv_clerks *clerks, srv_task *task);

/* What is queued is still done.  Nothing is posted meanwhile. */
void srv_clerks_stop(srv_clerks *clerks);

#endif
