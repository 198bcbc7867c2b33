/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "server/notify.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

void srv_notify(const char *state)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	const char *path = getenv("NOTIFY_SOCKET");
	size_t length = path != NULL ? strlen(path) : 0;
	int fd;

	if (length < 2 || length >= sizeof(address.sun_path) || (path[0] != '/' && path[0] != '@'))
		return;
	memcpy(address.sun_path, path, length);
	if (path[0] == '@') /* an abstract name */
		address.sun_path[0] = '\0';
	fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	/* A supervisor that does not listen is no reason to end. */
	if (sendto(fd, state, strlen(state), MSG_NOSIGNAL, (const struct sockaddr *)&address,
		   (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length)) < 0) {
		(void)close(fd);
		return;
	}
	(void)close(fd);
}

int srv_notify_interval_ms(void)
{
	const char *limit = getenv("WATCHDOG_USEC"), *pid = getenv("WATCHDOG_PID");
	long long us = limit != NULL ? strtoll(limit, NULL, 10) : 0;

	if (us <= 0 || us > 3600000000LL || (pid != NULL && strtoll(pid, NULL, 10) != getpid()))
		return -1;
	return us < 2000 ? 1 : (int)(us / 2000);
}
