/* SPDX-License-Identifier: Apache-2.0 */
/* Whole files, read and written. */
#include "config.h"

#include "cli/file.h"

#include "cli/events.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What a read of something without a size starts with. */
#define FIRST_ROOM ((size_t)1 << 16)

static psg_status refuse(int number, psg_error *error)
{
	return cli_fail(error, number == EINTR ? PSG_CANCELLED : PSG_INVALID, "%s",
			number == EINTR ? "interrupted" : strerror(number));
}

/* Bytes to make room for: one more than the file has, so that the end is seen without growing. */
static psg_status first_room(int fd, size_t *room, psg_error *error)
{
	struct stat about;

	*room = FIRST_ROOM;
	if (fstat(fd, &about) != 0)
		return refuse(errno, error);
	if (S_ISDIR(about.st_mode))
		return cli_fail(error, PSG_INVALID, "is a folder, not a file");
	if (!S_ISREG(about.st_mode))
		return PSG_OK;
	if ((uintmax_t)about.st_size > CLI_MAX_FILE)
		return cli_fail(error, PSG_INVALID,
				"has %jd bytes, at most %zu can be read at once",
				(intmax_t)about.st_size, CLI_MAX_FILE);
	*room = (size_t)about.st_size + 1;
	return PSG_OK;
}

/* Reads on until the end into *data, which grows. */
static psg_status read_all(int fd, size_t room, unsigned char **data, size_t *size,
			   psg_error *error)
{
	for (;;) {
		unsigned char *more = *data;
		ssize_t got;

		if (more == NULL || *size == room) {
			room = more == NULL ? room : 2 * room;
			more = realloc(*data, room);
			if (more == NULL)
				return cli_fail(error, PSG_NOMEM, "no memory for %zu bytes", room);
			*data = more;
		}
		if (!cli_events_readable(fd))
			return refuse(EINTR, error);
		got = read(fd, more + *size, room - *size);
		if (got < 0)
			return refuse(errno, error);
		if (got == 0)
			return PSG_OK;
		*size += (size_t)got;
		if (*size > CLI_MAX_FILE)
			return cli_fail(
				error, PSG_INVALID,
				"has more than %zu bytes, the most that can be read at once",
				CLI_MAX_FILE);
	}
}

psg_status cli_read_file(const char *path, void **data, size_t *size, psg_error *error)
{
	bool input = strcmp(path, "-") == 0;
	int fd = input ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
	unsigned char *bytes = NULL;
	size_t room = 0;
	psg_status status;

	*data = NULL;
	*size = 0;
	if (fd < 0)
		return refuse(errno, error);
	status = first_room(fd, &room, error);
	if (status == PSG_OK)
		status = read_all(fd, room, &bytes, size, error);
	if (!input)
		(void)close(fd);
	if (status != PSG_OK) {
		free(bytes);
		bytes = NULL;
		*size = 0;
	}
	*data = bytes;
	return status;
}

int cli_open_output(const char *path, bool *created)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);

	*created = fd >= 0;
	/* A link that leads nowhere exists as well, and then its target is made. */
	return fd >= 0 || errno != EEXIST ? fd : open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
}

bool cli_empty_output(int fd)
{
	struct stat about;

	return fstat(fd, &about) == 0 && (!S_ISREG(about.st_mode) || ftruncate(fd, 0) == 0);
}

psg_status cli_write_file(const char *path, const void *data, size_t size, psg_error *error)
{
	bool created, written = false;
	int fd = cli_open_output(path, &created);
	FILE *file = fd >= 0 && cli_empty_output(fd) ? fdopen(fd, "wb") : NULL;

	if (file != NULL)
		written = fwrite(data, 1, size, file) == size;
	/* Both, in this order: closing tells of a full disk. */
	if (file != NULL && fclose(file) == 0 && written)
		return PSG_OK;
	(void)refuse(errno, error);
	if (file == NULL && fd >= 0)
		(void)close(fd);
	if (created)
		(void)remove(path);
	return PSG_INVALID;
}
