/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client that sends what no decent client would.
 * usage: http_raw PORT STEP...
 *   s:TEXT     sends it; \r \n \t \0 \\ and \xNN are understood
 *   f:N:TEXT   sends it N times
 *   p:FILE     sends the file
 *   d:TEXT     sends a byte each 20 ms for as long as the server takes them, from the start again
 *              when it has ended
 *   h          ends its sending
 *   n          asks for a small receive buffer, for what comes from here on
 *   x:COMMAND  runs it by the shell, which has to succeed
 *   r          reads a reply, as its Content-Length says, and prints its status and body
 *   e          reads until the server ends the connection, and prints each status line's status in
 *              what comes, and "end", or "reset" where the server threw away what was sent
 * What cannot be sent because the server has closed is not told: what it answered is.
 */
#include "config.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define GIVE_UP_S 120 /* chosen: a server that neither answers nor ends is a failure */
#define MOST (16 << 20)

static int fd;
static char *taken; /* what has come and was not looked at */
static size_t n_taken;
static const char *how = "end"; /* the connection ended */

static void stop(const char *why)
{
	perror(why);
	exit(3);
}

static void connect_to(const char *port)
{
	struct sockaddr_in to = { .sin_family = AF_INET };
	struct timeval limit = { .tv_sec = GIVE_UP_S };

	to.sin_port = htons((uint16_t)strtoul(port, NULL, 10));
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	fd = socket(AF_INET, SOCK_STREAM, 0);
	if (fd < 0 || connect(fd, (struct sockaddr *)&to, sizeof(to)) != 0)
		stop("connect");
	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof(limit));
}

/* False: the server takes no more. */
static int put(const char *data, size_t n)
{
	while (n > 0) {
		ssize_t sent = send(fd, data, n, MSG_NOSIGNAL);

		if (sent <= 0) {
			how = "reset"; /* it is told once, here or when reading */
			return 0;
		}
		data += sent;
		n -= (size_t)sent;
	}
	return 1;
}

/* Bytes of `text` with its escapes, into `out`. */
static size_t unescape(const char *text, char *out)
{
	size_t n = 0;

	for (; *text != '\0'; text++) {
		if (*text != '\\') {
			out[n++] = *text;
			continue;
		}
		text++;
		if (*text == 'x') {
			char hex[3] = { text[1], text[2], '\0' };

			out[n++] = (char)strtoul(hex, NULL, 16);
			text += 2;
		} else {
			out[n++] = (char)(*text == 'r'   ? '\r'
					  : *text == 'n' ? '\n'
					  : *text == 't' ? '\t'
					  : *text == '0' ? '\0'
							 : *text);
		}
	}
	return n;
}

static void put_file(const char *path)
{
	FILE *file = fopen(path, "rb");
	char data[65536];
	size_t n;

	if (file == NULL)
		stop(path);
	while ((n = fread(data, 1, sizeof(data), file)) > 0 && put(data, n))
		;
	(void)fclose(file);
}

static void drip(const char *data, size_t n)
{
	size_t at = 0;

	while (put(data + at, 1)) {
		at = (at + 1) % n;
		(void)nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
	}
}

/* More of what the server sends; 0: it has ended. */
static size_t take(void)
{
	ssize_t n;

	if (n_taken == MOST)
		stop("too much came");
	n = recv(fd, taken + n_taken, MOST - n_taken, 0);
	if (n < 0 && errno != ECONNRESET)
		stop("recv");
	if (n < 0)
		how = "reset";
	if (n > 0)
		n_taken += (size_t)n;
	taken[n_taken] = '\0';
	return n > 0 ? (size_t)n : 0;
}

static void read_reply(void)
{
	const char *end, *length;
	size_t head, body = 0;

	while ((end = strstr(taken, "\r\n\r\n")) == NULL)
		if (take() == 0) {
			(void)puts(how);
			return;
		}
	head = (size_t)(end - taken) + 4;
	length = strcasestr(taken, "\r\nContent-Length:");
	if (length != NULL && length < end)
		body = strtoul(length + 17, NULL, 10);
	while (n_taken < head + body && take() > 0)
		;
	(void)printf("%.3s\n%.*s\n", taken + 9, (int)body, taken + head);
	n_taken -= head + body;
	memmove(taken, taken + head + body, n_taken);
	taken[n_taken] = '\0';
}

static void read_all(void)
{
	const char *at;

	while (take() > 0)
		;
	for (at = taken; (at = strstr(at, "HTTP/1.")) != NULL; at += 7)
		if (isdigit((unsigned char)at[9]))
			(void)printf("%.3s\n", at + 9);
	(void)puts(how);
}

static void repeat(const char *text, char *data)
{
	char *rest;
	unsigned long times = strtoul(text, &rest, 10);
	size_t n = unescape(rest + 1, data);

	while (times-- > 0 && put(data, n))
		;
}

static void step(const char *text, char *data)
{
	int small = 4096;

	switch (text[0]) {
	case 's':
		(void)put(data, unescape(text + 2, data));
		break;
	case 'f':
		repeat(text + 2, data);
		break;
	case 'p':
		put_file(text + 2);
		break;
	case 'd':
		drip(data, unescape(text + 2, data));
		break;
	case 'h':
		(void)shutdown(fd, SHUT_WR);
		break;
	case 'n':
		(void)setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
		break;
	case 'x':
		if (system(text + 2) != 0) /* NOLINT(cert-env33-c): what the test wrote */
			exit(4);
		break;
	case 'r':
		read_reply();
		break;
	default:
		read_all();
	}
}

int main(int argc, char **argv)
{
	(void)setvbuf(stdout, NULL, _IOLBF, 0); /* scripts look at what has come */
	taken = calloc(1, MOST + 1);
	if (argc < 3 || taken == NULL)
		return 2;
	connect_to(argv[1]);
	for (int i = 2; i < argc; i++) {
		char *data = malloc(strlen(argv[i]) + 1);

		if (data == NULL)
			return 2;
		step(argv[i], data);
		free(data);
	}
	(void)close(fd);
	free(taken);
	return 0;
}
