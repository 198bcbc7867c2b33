/* SPDX-License-Identifier: Apache-2.0 */
/* Whole files, read and written. */
#ifndef PSG_CLI_FILE_H
#define PSG_CLI_FILE_H

#include "cli/cli.h"

/* Bytes of an input at most; chosen: many pages in one TIFF fit, an endless stream ends. */
#define CLI_MAX_FILE ((size_t)1 << 31)

/*
 * Reads all of a file, or of standard input when `path` is "-", for the caller to free().
 * INVALID: it cannot be opened or read, is a folder, or has more than CLI_MAX_FILE bytes.  NOMEM.
 * CANCELLED: a signal came while it was read.
 */
psg_status cli_read_file(const char *path, void **data, size_t *size, psg_error *error);

/*
 * Opens a file to be written over, and leaves what is in it until cli_empty_output: a command that
 * ends before it has anything to write spoils nothing.  *created: there was none.  -1 and errno: it
 * cannot be opened.
 */
int cli_open_output(const char *path, bool *created);

/* False, with errno: it cannot be emptied.  What is no regular file has nothing to be emptied of.
 */
bool cli_empty_output(int fd);

/* Writes a file anew.  INVALID: it cannot be written; a file that was not there before is gone
 * again. */
psg_status cli_write_file(const char *path, const void *data, size_t size, psg_error *error);

#endif
