/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The pages of a request: found, submitted a few at a time, and written down when all have ended.
 *
 * One clerk at a time has a work, and all of it but `word` and `cancelled`: who has news of it, a
 * page that ended or a client that left, counts them in `word`, and queues the work where it was 0.
 */
#ifndef PSG_SERVER_WORK_H
#define PSG_SERVER_WORK_H

#include "server/body.h"
#include "server/inner.h"
#include "server/problem.h"

typedef enum srv_format { SRV_JSON, SRV_TEXT, SRV_TSV, SRV_HOCR, SRV_N_FORMATS } srv_format;

typedef struct srv_page srv_page;

typedef struct srv_work {
	srv_task task;
	_Atomic uint64_t word; /* pages that ended, and above them other news, not yet seen */
	atomic_bool cancelled;

	srv_server *server;
	srv_body *body;
	srv_format format;
	int64_t deadline_ns;
	void (*done)(void *user);
	void *user;

	srv_engine *engine; /* NULL: it has not begun */
	srv_page *pages;
	size_t n, submitted, ended, read;
	bool told; /* that it is cancelled, to pages that were submitted */

	/* When it is done: the reply, or why there is none. */
	char *text;
	size_t bytes;
	srv_problem problem;
} srv_work;

/*
 * `done` is called once, on a clerk's thread, and may end the life of `work`, whose server, body,
 * format and deadline are set.  The body's images are freed as soon as they are not needed.
 */
void srv_work_start(srv_work *work, void (*done)(void *user), void *user);

/* The pages that have not ended are not wanted.  Any thread, before `done` is called. */
void srv_work_cancel(srv_work *work);

/* What `done` or nobody has: frees what is in it, not the work. */
void srv_work_clear(srv_work *work);

#endif
