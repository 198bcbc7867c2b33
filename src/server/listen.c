/* SPDX-License-Identifier: Apache-2.0 */
/* Opening sockets to listen on. */
#include "config.h"

#include "server/listen.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#define BACKLOG 1024      /* chosen; the kernel's own bound is lower where it matters */
#define FIRST_INHERITED 3 /* sd_listen_fds(3) */
#define SOCKET_MODE 0660  /* of a Unix socket: its folder says who else may (chosen) */

static psg_status fail(psg_error *error, const char *format, ...) PSG_PRINTF(2, 3);
static psg_status fail(psg_error *error, const char *format, ...)
{
	va_list args;

	error->code = PSG_INVALID;
	va_start(args, format);
	(void)vsnprintf(error->message, sizeof(error->message), format, args);
	va_end(args);
	return PSG_INVALID;
}

/* The name of an open socket, for people. */
static void name_of(int fd, char *name, size_t size)
{
	struct sockaddr_storage address = { 0 };
	socklen_t length = sizeof(address);
	char host[INET6_ADDRSTRLEN + 32], port[16];

	if (getsockname(fd, (struct sockaddr *)&address, &length) != 0)
		(void)snprintf(name, size, "?");
	else if (address.ss_family == AF_UNIX)
		(void)snprintf(name, size, "unix:%s",
			       ((const struct sockaddr_un *)(const void *)&address)->sun_path);
	else if (getnameinfo((struct sockaddr *)&address, length, host, sizeof(host), port,
			     sizeof(port), NI_NUMERICHOST | NI_NUMERICSERV) != 0)
		(void)snprintf(name, size, "?");
	else
		(void)snprintf(name, size, address.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s",
			       host, port);
}

/* Takes the socket over, also when it fails. */
static psg_status add(srv_listeners *listeners, int fd, char *path, psg_error *error)
{
	struct srv_listener *listener = &listeners->at[listeners->n];
	struct sockaddr_storage address = { 0 };
	socklen_t length = sizeof(address);

	if (listeners->n == SRV_LISTENERS) {
		(void)close(fd);
		free(path);
		return fail(error, "at most %d addresses can be listened on", SRV_LISTENERS);
	}
	(void)fcntl(fd, F_SETFD, FD_CLOEXEC);
	(void)fcntl(fd, F_SETFL, O_NONBLOCK);
	(void)getsockname(fd, (struct sockaddr *)&address, &length);
	*listener = (struct srv_listener){ .fd = fd, .path = path };
	listener->local = address.ss_family == AF_UNIX;
	name_of(fd, listener->name, sizeof(listener->name));
	listeners->n++;
	return PSG_OK;
}

/* --- TCP --- */

/* -1 and errno. */
static int bind_to(const struct addrinfo *where)
{
	int fd = socket(where->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1, saved;

	if (fd < 0)
		return -1;
	/* So that a restart need not wait for connections that have ended. */
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	if (where->ai_family == AF_INET6)
		(void)setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &one, sizeof(one));
	if (bind(fd, where->ai_addr, where->ai_addrlen) == 0 && listen(fd, BACKLOG) == 0)
		return fd;
	saved = errno;
	(void)close(fd);
	errno = saved;
	return -1;
}

/* "127.0.0.1:80", "[::1]:80", ":80" and "host:80" in two; false: it is none of them. */
static bool split(const char *address, char *host, size_t size, const char **port)
{
	const char *colon = strrchr(address, ':'), *end = colon;
	char *rest;
	unsigned long number;

	if (colon == NULL || colon[1] < '0' || colon[1] > '9')
		return false;
	number = strtoul(colon + 1, &rest, 10);
	if (*rest != '\0' || number > 65535)
		return false;
	if (address[0] == '[') {
		address++;
		if (--end <= address || *end != ']')
			return false;
	} else if (memchr(address, ':', (size_t)(colon - address)) != NULL) {
		return false;
	}
	if ((size_t)(end - address) >= size)
		return false;
	memcpy(host, address, (size_t)(end - address));
	host[end - address] = '\0';
	*port = colon + 1;
	return true;
}

static psg_status listen_tcp(srv_listeners *listeners, const char *address, psg_error *error)
{
	const struct addrinfo hints = { .ai_flags = AI_PASSIVE, .ai_socktype = SOCK_STREAM };
	struct addrinfo *found = NULL;
	const char *port;
	char host[256];
	int fd = -1, code;

	if (!split(address, host, sizeof(host), &port))
		return fail(error,
			    "'%s' is not an address to listen on: ADDRESS:PORT, "
			    "[IPV6]:PORT or unix:PATH",
			    address);
	code = getaddrinfo(host[0] != '\0' ? host : NULL, port, &hints, &found);
	if (code != 0)
		return fail(error, "%s: %s", address, gai_strerror(code));
	for (const struct addrinfo *at = found; at != NULL && fd < 0; at = at->ai_next)
		fd = bind_to(at);
	code = errno;
	freeaddrinfo(found);
	if (fd < 0)
		return fail(error, "%s: %s", address, strerror(code));
	return add(listeners, fd, NULL, error);
}

/* --- Unix --- */

/* Does somebody listen there? */
static bool answers(const struct sockaddr_un *address)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	bool yes;

	if (fd < 0)
		return true; /* it cannot be known, and what is there stays */
	/* EAGAIN: its backlog is full. */
	yes = connect(fd, (const struct sockaddr *)address, sizeof(*address)) == 0 ||
	      errno != ECONNREFUSED;
	(void)close(fd);
	return yes;
}

/* Whoever was killed leaves its socket behind. */
static void remove_stale(const struct sockaddr_un *address)
{
	struct stat found;

	if (lstat(address->sun_path, &found) == 0 && S_ISSOCK(found.st_mode) && !answers(address))
		(void)unlink(address->sun_path);
}

static psg_status listen_unix(srv_listeners *listeners, const char *path, psg_error *error)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	char *kept;
	int fd;

	if (path[0] == '\0' || strlen(path) >= sizeof(address.sun_path))
		return fail(error, "unix:%s: a path has 1 to %zu bytes", path,
			    sizeof(address.sun_path) - 1);
	memcpy(address.sun_path, path, strlen(path));
	remove_stale(&address);
	kept = strdup(path);
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (kept == NULL || fd < 0 ||
	    bind(fd, (const struct sockaddr *)&address, sizeof(address)) != 0) {
		(void)fail(error, "unix:%s: %s", path, strerror(errno));
		free(kept);
		if (fd >= 0)
			(void)close(fd);
		return PSG_INVALID;
	}
	if (chmod(path, SOCKET_MODE) != 0 || listen(fd, BACKLOG) != 0) {
		(void)fail(error, "unix:%s: %s", path, strerror(errno));
		(void)unlink(path);
		(void)close(fd);
		free(kept);
		return PSG_INVALID;
	}
	return add(listeners, fd, kept, error);
}

psg_status srv_listen(srv_listeners *listeners, const char *address, psg_error *error)
{
	if (strncmp(address, "unix:", 5) == 0)
		return listen_unix(listeners, address + 5, error);
	return listen_tcp(listeners, address, error);
}

/* --- systemd's --- */

static long number_in(const char *variable)
{
	const char *text = getenv(variable);

	return text != NULL ? strtol(text, NULL, 10) : 0;
}

psg_status srv_listen_inherited(srv_listeners *listeners, psg_error *error)
{
	long n = number_in("LISTEN_FDS");
	psg_status status = PSG_OK;

	if (n <= 0 || number_in("LISTEN_PID") != (long)getpid())
		return PSG_OK;
	if (n > SRV_LISTENERS)
		return fail(error, "systemd gives %ld sockets, and at most %d can be listened on",
			    n, SRV_LISTENERS);
	for (int fd = FIRST_INHERITED; fd < FIRST_INHERITED + n && status == PSG_OK; fd++) {
		int listens = 0;
		socklen_t size = sizeof(listens);

		if (getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &size) != 0 || !listens)
			return fail(error,
				    "descriptor %d of LISTEN_FDS does not listen: the socket "
				    "unit needs ListenStream= and Accept=no",
				    fd);
		status = add(listeners, fd, NULL, error);
	}
	return status;
}

void srv_listen_close(srv_listeners *listeners)
{
	for (size_t i = 0; i < listeners->n; i++) {
		struct srv_listener *listener = &listeners->at[i];

		if (listener->fd >= 0)
			(void)close(listener->fd);
		listener->fd = -1;
		if (listener->path != NULL)
			(void)unlink(listener->path);
		free(listener->path);
		listener->path = NULL;
	}
}
