/* SPDX-License-Identifier: Apache-2.0 */
/* Whole files in memory, for test programs. */
#ifndef PSG_TESTS_READ_FILE_H
#define PSG_TESTS_READ_FILE_H

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

/* A file and a '\0' after it, to be free()d; NULL, with a message, when it cannot be read. */
static inline char *t_read_file(const char *path, size_t *size)
{
	FILE *file = fopen(path, "rb");
	char *data = NULL;
	size_t n = 0, room = 0;

	while (file != NULL && !feof(file) && !ferror(file)) {
		if (n + 1 >= room) {
			char *more = realloc(data, room = 2 * room + 65536);

			if (more == NULL)
				break;
			data = more;
		}
		n += fread(data + n, 1, room - 1 - n, file);
	}
	if (file == NULL || !feof(file)) {
		perror(path);
		free(data);
		data = NULL;
	}
	if (file != NULL)
		(void)fclose(file);
	if (data != NULL)
		data[n] = '\0';
	*size = n;
	return data;
}

#endif
