/* SPDX-License-Identifier: Apache-2.0 */
/* A queue of tasks, and the threads that take them. */
#include "config.h"

#include "server/clerk.h"

#include <stddef.h>

void srv_clerks_post(srv_clerks *clerks, srv_task *task)
{
	task->next = NULL;
	(void)pthread_mutex_lock(&clerks->lock);
	*clerks->last = task;
	clerks->last = &task->next;
	(void)pthread_cond_signal(&clerks->some);
	(void)pthread_mutex_unlock(&clerks->lock);
}

/* The next task; NULL: there will be none. */
static srv_task *take(srv_clerks *clerks)
{
	srv_task *task;

	(void)pthread_mutex_lock(&clerks->lock);
	while (clerks->first == NULL && !clerks->stopping)
		(void)pthread_cond_wait(&clerks->some, &clerks->lock);
	task = clerks->first;
	if (task != NULL) {
		clerks->first = task->next;
		if (clerks->first == NULL)
			clerks->last = &clerks->first;
	}
	(void)pthread_mutex_unlock(&clerks->lock);
	return task;
}

static void *work(void *user)
{
	srv_clerks *clerks = user;
	srv_task *task;

	while ((task = take(clerks)) != NULL)
		task->run(task);
	return NULL;
}

psg_status srv_clerks_start(srv_clerks *clerks, psg_error *error)
{
	(void)pthread_mutex_init(&clerks->lock, NULL);
	(void)pthread_cond_init(&clerks->some, NULL);
	clerks->first = NULL;
	clerks->last = &clerks->first;
	clerks->stopping = false;
	for (clerks->n = 0; clerks->n < SRV_CLERKS; clerks->n++)
		if (pthread_create(&clerks->threads[clerks->n], NULL, work, clerks) != 0)
			break;
	if (clerks->n == SRV_CLERKS)
		return PSG_OK;
	*error = (psg_error){ PSG_NOMEM, "no thread to do requests' work" };
	srv_clerks_stop(clerks);
	return PSG_NOMEM;
}

void srv_clerks_stop(srv_clerks *clerks)
{
	(void)pthread_mutex_lock(&clerks->lock);
	clerks->stopping = true;
	(void)pthread_cond_broadcast(&clerks->some);
	(void)pthread_mutex_unlock(&clerks->lock);
	while (clerks->n > 0)
		(void)pthread_join(clerks->threads[--clerks->n], NULL);
	(void)pthread_cond_destroy(&clerks->some);
	(void)pthread_mutex_destroy(&clerks->lock);
}
