/* SPDX-License-Identifier: Apache-2.0 */
/* Messages and the progress line, on standard error. */
#include "config.h"

#include "cli/cli.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* A message holds at most a file's name (4096 bytes on Linux) and an error of the library. */
#define MESSAGE_SIZE (4096 + PSG_ERROR_MESSAGE_SIZE + 256)

static bool progress_shown;

static bool set(const char *variable)
{
	const char *value = getenv(variable);

	return value != NULL && value[0] != '\0';
}

/* A terminal that understands more than characters. */
static bool capable_terminal(void)
{
	const char *term = getenv("TERM");

	return isatty(STDERR_FILENO) && term != NULL && strcmp(term, "dumb") != 0;
}

/* File names come from anywhere: control characters would speak to the terminal. */
static void put_clean(const char *text)
{
	for (const char *c = text; *c != '\0'; c++) {
		unsigned char byte = (unsigned char)*c;

		if (byte < 0x20 || byte == 0x7f)
			(void)fprintf(stderr, "\\x%02x", byte);
		else
			(void)fputc(*c, stderr);
	}
}

static void put_line(const char *colour, const char *format, va_list args)
{
	char text[MESSAGE_SIZE];
	bool coloured = colour != NULL && !set("NO_COLOR") && capable_terminal();

	(void)vsnprintf(text, sizeof(text), format, args);
	cli_progress_clear();
	(void)fprintf(stderr, "%s" PACKAGE_NAME ":%s ", coloured ? colour : "",
		      coloured ? "\033[0m" : "");
	put_clean(text);
	(void)fputc('\n', stderr);
}

void cli_error(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	put_line("\033[1;31m", format, args);
	va_end(args);
}

void cli_note(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	put_line(NULL, format, args);
	va_end(args);
}

/* Columns of the terminal; 80 where it does not say. */
static size_t columns(void)
{
	struct winsize size = { 0 };

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
		return 80;
	return size.ws_col;
}

/* Cuts a text before the byte where a character would start past the last column but one.  Wide
 * characters count for one: a line that is too long by them wraps, which is ugly and no more. */
static void cut(char *text, size_t width)
{
	size_t shown = 0;

	for (char *c = text; *c != '\0'; c++) {
		if (((unsigned char)*c & 0xc0) != 0x80 && ++shown >= width) {
			*c = '\0';
			return;
		}
	}
}

void cli_progress(const char *format, ...)
{
	char text[MESSAGE_SIZE];
	va_list args;

	if (!capable_terminal())
		return;
	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	cut(text, columns());
	(void)fputs("\r\033[K", stderr);
	put_clean(text);
	(void)fflush(stderr);
	progress_shown = true;
}

void cli_progress_clear(void)
{
	if (!progress_shown)
		return;
	(void)fputs("\r\033[K", stderr);
	(void)fflush(stderr);
	progress_shown = false;
}

void cli_set_error(psg_error *error, psg_status code, const char *format, ...)
{
	va_list args;

	if (error == NULL)
		return;
	error->code = code;
	va_start(args, format);
	(void)vsnprintf(error->message, sizeof(error->message), format, args);
	va_end(args);
}

cli_exit cli_finish_output(cli_exit result)
{
	if (fflush(stdout) == 0 && !ferror(stdout))
		return result;
	if (errno != EPIPE)
		cli_error("standard output: %s", strerror(errno));
	return result == CLI_OK ? CLI_FAILED : result;
}
