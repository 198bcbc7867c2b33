/* SPDX-License-Identifier: Apache-2.0 */
/* The list of connections, and the thread that watches them. */
#include "config.h"

#include "server/connection.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#define LOOK_MS 500                    /* how late a time limit may be noticed (chosen) */
#define EVENTS 64                      /* that are taken at a time (chosen) */
#define LINGER_NS (2 * PSG_SECOND)     /* chosen: a reply's way, several times */
#define MOST_LINGERING 64              /* chosen; beyond, connections are closed at once */
#define LINGER_BIT (UINT64_C(1) << 63) /* in an event: it is of a lingering one */
#define DROPPED_BYTES 65536            /* read at a time (chosen) */

struct srv_connection {
	uint64_t serial; /* from 1: an event may be of one that is no more */
	int fd;
	srv_phase phase;
	int64_t since_ns;
	bool watched, ended, linger; /* in the epoll set; ended by us; see linger() */
	srv_cancel_fn cancel;        /* NULL: called, or not waiting */
	void *user;
	srv_connection *next, **link;
};

/* A descriptor of our own of a connection that libmicrohttpd has closed. */
struct srv_lingering {
	uint64_t serial;
	int fd;
	int64_t until_ns;
	srv_lingering *next;
};

/* --- by libmicrohttpd's thread --- */

srv_connection *srv_connection_begin(srv_connections *connections, int fd)
{
	srv_connection *connection = calloc(1, sizeof(*connection));

	if (connection == NULL)
		return NULL;
	connection->fd = fd;
	connection->phase = SRV_READING;
	connection->since_ns = psg_now_ns();
	(void)pthread_mutex_lock(&connections->lock);
	connection->serial = ++connections->serials;
	connection->next = connections->all;
	connection->link = &connections->all;
	if (connection->next != NULL)
		connection->next->link = &connection->next;
	connections->all = connection;
	(void)pthread_mutex_unlock(&connections->lock);
	atomic_fetch_add(&connections->open, 1);
	atomic_fetch_add(&connections->total, 1);
	return connection;
}

static void unwatch(srv_connections *connections, srv_connection *connection)
{
	if (connection->watched)
		(void)epoll_ctl(connections->events, EPOLL_CTL_DEL, connection->fd, NULL);
	connection->watched = false;
	connection->cancel = NULL;
}

/* The lock is held.  Without a descriptor or memory it is closed as any other. */
static void linger(srv_connections *connections, int fd)
{
	srv_lingering *lingering;
	struct epoll_event event = { .events = EPOLLIN };

	if (connections->n_lingering >= MOST_LINGERING)
		return;
	lingering = calloc(1, sizeof(*lingering));
	if (lingering == NULL)
		return;
	lingering->fd = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	lingering->serial = ++connections->serials;
	lingering->until_ns = psg_now_ns() + LINGER_NS;
	event.data.u64 = lingering->serial | LINGER_BIT;
	if (lingering->fd < 0 ||
	    epoll_ctl(connections->events, EPOLL_CTL_ADD, lingering->fd, &event) != 0) {
		if (lingering->fd >= 0)
			(void)close(lingering->fd);
		free(lingering);
		return;
	}
	(void)shutdown(lingering->fd, SHUT_WR);
	lingering->next = connections->lingering;
	connections->lingering = lingering;
	connections->n_lingering++;
}

void srv_connection_end(srv_connections *connections, srv_connection *connection)
{
	(void)pthread_mutex_lock(&connections->lock);
	unwatch(connections, connection);
	if ((connection->linger || connection->phase == SRV_READING) && !connection->ended)
		linger(connections, connection->fd);
	*connection->link = connection->next;
	if (connection->next != NULL)
		connection->next->link = connection->link;
	(void)pthread_mutex_unlock(&connections->lock);
	atomic_fetch_sub(&connections->open, 1);
	free(connection);
}

void srv_connection_enter(srv_connections *connections, srv_connection *connection, srv_phase phase)
{
	(void)pthread_mutex_lock(&connections->lock);
	unwatch(connections, connection);
	connection->phase = phase;
	connection->since_ns = psg_now_ns();
	(void)pthread_mutex_unlock(&connections->lock);
}

void srv_connection_linger(srv_connection *connection)
{
	connection->linger = true;
}

/* Where it cannot be watched, the request goes on to its end. */
void srv_connection_wait(srv_connections *connections, srv_connection *connection,
			 srv_cancel_fn cancel, void *user)
{
	struct epoll_event event = { .events = EPOLLRDHUP, .data.u64 = 0 };

	(void)pthread_mutex_lock(&connections->lock);
	connection->phase = SRV_WAITING;
	connection->cancel = cancel;
	connection->user = user;
	event.data.u64 = connection->serial;
	connection->watched =
		epoll_ctl(connections->events, EPOLL_CTL_ADD, connection->fd, &event) == 0;
	(void)pthread_mutex_unlock(&connections->lock);
}

void srv_connections_cancel(srv_connections *connections)
{
	(void)pthread_mutex_lock(&connections->lock);
	for (srv_connection *c = connections->all; c != NULL; c = c->next) {
		srv_cancel_fn cancel = c->cancel;

		unwatch(connections, c);
		if (cancel != NULL)
			cancel(c->user, false);
	}
	(void)pthread_mutex_unlock(&connections->lock);
}

/* --- by the thread that watches --- */

/*
 * The client has closed its side: nobody waits for the reply.  (One that only ends its sending is
 * taken for that, too, as by nginx.)
 */
static void tell_left(srv_connections *connections, uint64_t serial)
{
	srv_connection *c = connections->all;
	srv_cancel_fn cancel;

	while (c != NULL && c->serial != serial)
		c = c->next;
	if (c == NULL || !c->watched)
		return;
	cancel = c->cancel;
	unwatch(connections, c);
	atomic_fetch_add(&connections->left, 1);
	if (cancel != NULL)
		cancel(c->user, true);
}

static void end_lingering(srv_connections *connections, srv_lingering **at)
{
	srv_lingering *lingering = *at;

	*at = lingering->next;
	connections->n_lingering--;
	(void)close(lingering->fd);
	free(lingering);
}

/* Takes what has come, of which nothing is wanted, until the client closes. */
static void drop_bytes(srv_connections *connections, uint64_t serial)
{
	static char dropped[DROPPED_BYTES]; /* one thread's */
	srv_lingering **at = &connections->lingering;

	while (*at != NULL && (*at)->serial != serial)
		at = &(*at)->next;
	if (*at != NULL && recv((*at)->fd, dropped, sizeof(dropped), MSG_DONTWAIT) <= 0)
		end_lingering(connections, at);
}

/* libmicrohttpd sees the end, and closes it. */
static void end_slow(srv_connections *connections, int64_t now)
{
	for (srv_connection *c = connections->all; c != NULL; c = c->next) {
		int64_t most =
			c->phase == SRV_READING ? connections->read_ns : connections->write_ns;

		if (c->phase == SRV_IDLE || c->phase == SRV_WAITING || c->ended ||
		    now - c->since_ns < most)
			continue;
		c->ended = true;
		atomic_fetch_add(&connections->too_slow, 1);
		(void)shutdown(c->fd, SHUT_RDWR);
	}
	for (srv_lingering **at = &connections->lingering; *at != NULL;) {
		if (now >= (*at)->until_ns)
			end_lingering(connections, at);
		else
			at = &(*at)->next;
	}
}

/* False: the server stops. */
static bool take_event(srv_connections *connections, uint64_t what)
{
	if (what == 0)
		return false;
	(void)pthread_mutex_lock(&connections->lock);
	if ((what & LINGER_BIT) != 0)
		drop_bytes(connections, what & ~LINGER_BIT);
	else
		tell_left(connections, what);
	(void)pthread_mutex_unlock(&connections->lock);
	return true;
}

static void *watch(void *user)
{
	srv_connections *connections = user;
	struct epoll_event event[EVENTS];
	int64_t looked = psg_now_ns();

	for (;;) {
		int n = epoll_wait(connections->events, event, EVENTS, LOOK_MS);

		for (int i = 0; i < n; i++)
			if (!take_event(connections, event[i].data.u64))
				return NULL;
		if (psg_now_ns() - looked < LOOK_MS * PSG_MILLISECOND)
			continue;
		looked = psg_now_ns();
		(void)pthread_mutex_lock(&connections->lock);
		end_slow(connections, looked);
		(void)pthread_mutex_unlock(&connections->lock);
	}
}

psg_status srv_connections_start(srv_connections *connections, psg_error *error)
{
	struct epoll_event event = { .events = EPOLLIN, .data.u64 = 0 };

	(void)pthread_mutex_init(&connections->lock, NULL);
	connections->events = epoll_create1(EPOLL_CLOEXEC);
	connections->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (connections->events >= 0 && connections->stop >= 0 &&
	    epoll_ctl(connections->events, EPOLL_CTL_ADD, connections->stop, &event) == 0 &&
	    pthread_create(&connections->thread, NULL, watch, connections) == 0) {
		connections->started = true;
		return PSG_OK;
	}
	*error = (psg_error){ PSG_NOMEM, "no descriptor or thread to watch connections with" };
	srv_connections_stop(connections);
	return PSG_NOMEM;
}

void srv_connections_stop(srv_connections *connections)
{
	const uint64_t one = 1;

	if (connections->started && write(connections->stop, &one, sizeof(one)) == sizeof(one))
		(void)pthread_join(connections->thread, NULL);
	connections->started = false;
	while (connections->lingering != NULL)
		end_lingering(connections, &connections->lingering);
	if (connections->events >= 0)
		(void)close(connections->events);
	if (connections->stop >= 0)
		(void)close(connections->stop);
	(void)pthread_mutex_destroy(&connections->lock);
}
