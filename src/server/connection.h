/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clients' connections, and a thread that watches them for what libmicrohttpd does not see.
 *
 * While a request waits for its pages its connection is suspended, and nobody would notice that the
 * client hangs up: the thread does, and tells the request.  A client that sends its request, or
 * takes its reply, a byte at a time keeps libmicrohttpd's time limit, which is from byte to byte:
 * the thread ends what takes too long as a whole.  And where a request was answered before its body
 * had come, closing would make the client's kernel throw the answer away while it still sends: the
 * thread takes what comes, for a moment.
 */
#ifndef PSG_SERVER_CONNECTION_H
#define PSG_SERVER_CONNECTION_H

#include <pagesift/error.h>

#include <pthread.h>
#include <stdatomic.h>

typedef enum srv_phase {
	SRV_IDLE,    /* between two requests: libmicrohttpd's own limit ends it */
	SRV_READING, /* a request comes */
	SRV_WAITING, /* for pages */
	SRV_WRITING, /* a reply goes */
} srv_phase;

typedef struct srv_connection srv_connection;
typedef struct srv_lingering srv_lingering;

/* A request that waits is not wanted: its client `left`, or the server's time is over. */
typedef void (*srv_cancel_fn)(void *user, bool left);

typedef struct srv_connections {
	pthread_mutex_t lock;
	pthread_t thread;
	srv_connection *all;
	srv_lingering *lingering;
	size_t n_lingering;
	uint64_t serials;
	int events, stop; /* epoll; eventfd */
	bool started;
	int64_t read_ns, write_ns;
	_Atomic uint64_t open;                  /* now */
	_Atomic uint64_t total, too_slow, left; /* since the start */
} srv_connections;

psg_status srv_connections_start(srv_connections *connections, psg_error *error);
void srv_connections_stop(srv_connections *connections);

/* A connection begins (NULL: no memory) and ends; `fd` is libmicrohttpd's, open between them. */
srv_connection *srv_connection_begin(srv_connections *connections, int fd);
void srv_connection_end(srv_connections *connections, srv_connection *connection);

/* Another phase begins, but SRV_WAITING. */
void srv_connection_enter(srv_connections *connections, srv_connection *connection,
			  srv_phase phase);

/* Its request is answered before its end: what still comes is taken when it ends. */
void srv_connection_linger(srv_connection *connection);

/*
 * It waits: `cancel` may be called, once, under a lock that entering another phase takes, too.
 */
void srv_connection_wait(srv_connections *connections, srv_connection *connection,
			 srv_cancel_fn cancel, void *user);

/* Cancels all that wait. */
void srv_connections_cancel(srv_connections *connections);

#endif
