/* SPDX-License-Identifier: Apache-2.0 */
/* The server, as its files share it. */
#ifndef PSG_SERVER_INNER_H
#define PSG_SERVER_INNER_H

#include "server/clerk.h"
#include "server/connection.h"
#include "server/listen.h"
#include "server/metrics.h"
#include "server/server.h"
#include "server/token.h"

#include <pthread.h>
#include <stdatomic.h>

/* Pages of one request that the engine has at a time (chosen): so that a file of many pages does
 * not keep others waiting for long. */
#define SRV_PAGES_AT_A_TIME 4

typedef struct srv_engine srv_engine;

typedef struct server {
	const srv_options *options;
	psg_worker *const *workers;
	size_t n_workers;
	int64_t started_ns;

	srv_listeners listeners;
	struct MHD_Daemon *daemons[SRV_LISTENERS]; /* one for each listener */
	pthread_t starter;                         /* of the daemons */
	char http_why[512];                        /* why not, in libmicrohttpd's words */
	char *tls_cert, *tls_key;                  /* PEM */
	srv_tokens tokens;

	pthread_mutex_t engine_lock;
	srv_engine *engine; /* who is given new requests; NULL: not yet, or no more */
	srv_engine *idle;   /* to be closed: their last request has ended */
	int wake;           /* eventfd of the main thread */

	srv_clerks clerks;
	srv_connections connections;
	srv_metrics metrics;
	atomic_bool draining;
	_Atomic int64_t bodies_bytes; /* in memory */
} srv_server;

/* --- engine.c --- */

struct srv_engine {
	psg_ocr *ocr;
	int64_t opened_ns;
	unsigned users; /* under engine_lock; the server is one of its newest */
	srv_engine *next;
};

/* Reads the models and a page to warm up.  Blocks. */
psg_status srv_engine_open(srv_server *server, srv_engine **out, psg_error *error);
/* The newest one, held; NULL: there is none yet, or the server ends. */
srv_engine *srv_engine_hold(srv_server *server);
void srv_engine_drop(srv_server *server, srv_engine *engine);
/* `engine` (may be NULL) gets the new requests; the one before it ends with its last one. */
void srv_engine_swap(srv_server *server, srv_engine *engine);
/* Closes those that nobody uses any more.  Blocks: the main thread's. */
void srv_engines_reap(srv_server *server);

/* --- http.c: libmicrohttpd's daemons --- */

psg_status srv_http_start(srv_server *server, psg_error *error);
/* No new connections. */
void srv_http_quiesce(srv_server *server);
/* They were quiesced, or else would close our sockets; no request is in flight. */
void srv_http_stop(srv_server *server);

/* --- health.c --- */

/* May a request for text be accepted?  OK, or why not. */
psg_status srv_ready(srv_server *server, psg_error *error);

#endif
