/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts a program as systemd would: with a socket that listens, and one to notify.
 * usage: activate FILE PROGRAM ARGUMENT...
 * Writes "port N" into FILE, and each notification as a line.  Ends as the program does; SIGTERM is
 * passed on.
 */
#include "config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile pid_t child;

static void pass_on(int number)
{
	(void)kill(child, number);
}

static void need(int good, const char *what)
{
	if (good)
		return;
	perror(what);
	exit(3);
}

/* At descriptor 3, where systemd puts the first one; its port. */
static unsigned listen_at_3(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET };
	socklen_t length = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM, 0);

	at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	need(fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0 && listen(fd, 16) == 0 &&
		     getsockname(fd, (struct sockaddr *)&at, &length) == 0,
	     "listen");
	if (fd != 3) {
		need(dup2(fd, 3) == 3, "dup2");
		(void)close(fd);
	}
	return ntohs(at.sin_port);
}

static int notified_at(char *name, size_t size)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int fd;

	(void)snprintf(name, size, "@pagesift-test-%ld", (long)getpid());
	memcpy(at.sun_path + 1, name + 1, strlen(name) - 1);
	fd = fcntl(socket(AF_UNIX, SOCK_DGRAM, 0), F_DUPFD_CLOEXEC, 10);
	need(fd >= 0 &&
		     bind(fd, (struct sockaddr *)&at,
			  (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(name))) == 0,
	     "bind");
	return fd;
}

static void start(char **argv, const char *name)
{
	char pid[32];

	(void)snprintf(pid, sizeof(pid), "%ld", (long)getpid());
	(void)setenv("LISTEN_FDS", "1", 1);
	(void)setenv("LISTEN_PID", pid, 1);
	(void)setenv("NOTIFY_SOCKET", name, 1);
	(void)setenv("WATCHDOG_USEC", "100000", 1);
	(void)unsetenv("WATCHDOG_PID");
	(void)execv(argv[0], argv);
	need(0, argv[0]);
}

int main(int argc, char **argv)
{
	char name[64], text[256];
	unsigned port = listen_at_3();
	FILE *file = argc > 2 ? fopen(argv[1], "we") : NULL;
	int fd, status;

	need(file != NULL, "activate FILE PROGRAM ARGUMENT...");
	(void)fprintf(file, "port %u\n", port);
	(void)fflush(file);
	fd = notified_at(name, sizeof(name));
	child = fork();
	need(child >= 0, "fork");
	if (child == 0)
		start(argv + 2, name);
	(void)close(3);
	(void)signal(SIGTERM, pass_on);
	while (waitpid(child, &status, WNOHANG) == 0) {
		struct pollfd wait = { .fd = fd, .events = POLLIN };
		ssize_t n = poll(&wait, 1, 50) > 0 ? recv(fd, text, sizeof(text) - 1, 0) : 0;

		if (n > 0) {
			text[n] = '\0';
			(void)fprintf(file, "%s\n", text);
			(void)fflush(file);
		}
	}
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}
