/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Completion queues as those see them who submit and complete.
 *
 * A job that is submitted with a queue has one handle more, the queue's, and
 * is one of the queue's holders until it has been put there.
 */
#ifndef PSG_JOBS_COMPLETION_H
#define PSG_JOBS_COMPLETION_H

#include "jobs/future.h"

/* FORKED: the queue is of the parent process.  NULL is no queue. */
psg_status psgi_completion_check(const psg_completion_queue *queue, psg_error *error);

/* A job is being submitted that will be put. */
void psgi_completion_expect(psg_completion_queue *queue);

/* Once for each that was expected, when it is DONE; takes the queue's handle.  Takes no lock. */
void psgi_completion_put(psg_completion_queue *queue, psg_future *future);

#endif
