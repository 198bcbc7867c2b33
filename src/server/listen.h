/* SPDX-License-Identifier: Apache-2.0 */
/* The sockets that are listened on: TCP, Unix, and those that systemd gives. */
#ifndef PSG_SERVER_LISTEN_H
#define PSG_SERVER_LISTEN_H

#include "server/server.h"

typedef struct srv_listeners {
	size_t n;
	struct srv_listener {
		int fd; /* -1: closed */
		bool local;
		char name[160]; /* "127.0.0.1:8080", "unix:/run/x" */
		char *path;     /* of a socket that we made, to be removed; NULL */
	} at[SRV_LISTENERS];
} srv_listeners;

/* "ADDRESS:PORT", "[V6]:PORT" (port 0: any that is free) or "unix:PATH".  INVALID: it is no
 * address, or cannot be listened on; the message names it. */
psg_status srv_listen(srv_listeners *listeners, const char *address, psg_error *error);

/* systemd's sockets (sd_listen_fds(3)), if it gave some. */
psg_status srv_listen_inherited(srv_listeners *listeners, psg_error *error);

/* Closes what is open and removes our Unix sockets. */
void srv_listen_close(srv_listeners *listeners);

#endif
