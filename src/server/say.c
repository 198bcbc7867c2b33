/* SPDX-License-Identifier: Apache-2.0 */
/* Lines on standard error. */
#include "config.h"

#include "server/say.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Bytes of the character that begins at `at`; 0: it is not UTF-8.  RFC 3629, table 3-7 of Unicode.
 */
static size_t character(const char *at)
{
	const unsigned char *c = (const unsigned char *)at;
	size_t n = c[0] < 0x80   ? 1
		   : c[0] < 0xc2 ? 0
		   : c[0] < 0xe0 ? 2
		   : c[0] < 0xf0 ? 3
		   : c[0] < 0xf5 ? 4
				 : 0;

	for (size_t i = 1; i < n; i++)
		if ((c[i] & 0xc0) != 0x80)
			return 0;
	if ((c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xed && c[1] > 0x9f) ||
	    (c[0] == 0xf0 && c[1] < 0x90) || (c[0] == 0xf4 && c[1] > 0x8f))
		return 0;
	return n;
}

void srv_json_string(FILE *to, const char *text)
{
	(void)putc('"', to);
	while (*text != '\0') {
		size_t n = character(text);

		if (n == 0)
			(void)fputs("\xef\xbf\xbd", to);
		else if (n > 1)
			(void)fwrite(text, 1, n, to);
		else if ((unsigned char)*text < 0x20 || *text == 0x7f)
			(void)fprintf(to, "\\u%04x", (unsigned)(unsigned char)*text);
		else if (*text == '"' || *text == '\\')
			(void)fprintf(to, "\\%c", *text);
		else
			(void)putc(*text, to);
		text += n == 0 ? 1 : n;
	}
	(void)putc('"', to);
}

/* What clients send comes from anywhere: control characters would speak to a terminal, and a
 * newline forge a line. */
static void put_clean(FILE *to, const char *text)
{
	for (; *text != '\0'; text++) {
		unsigned char byte = (unsigned char)*text;

		if (byte < 0x20 || byte == 0x7f || byte == '\\')
			(void)fprintf(to, "\\x%02x", byte);
		else
			(void)putc(byte, to);
	}
}

/* One write a line, so that those of several threads do not mix. */
static void put_line(char *line, size_t bytes)
{
	if (line != NULL)
		(void)fwrite(line, 1, bytes, stderr);
	free(line);
}

void srv_say(const char *format, ...)
{
	char text[PSG_ERROR_MESSAGE_SIZE + 256], *line = NULL;
	size_t bytes = 0;
	FILE *to = open_memstream(&line, &bytes);
	va_list args;

	if (to == NULL)
		return;
	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	(void)fputs(PACKAGE_NAME ": ", to);
	put_clean(to, text);
	(void)putc('\n', to);
	if (fclose(to) != 0)
		bytes = 0;
	put_line(line, bytes);
}

static void put_time(FILE *to)
{
	struct timespec now = { 0 };
	struct tm parts = { 0 };
	char text[32];

	(void)clock_gettime(CLOCK_REALTIME, &now);
	(void)gmtime_r(&now.tv_sec, &parts);
	(void)strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", &parts);
	(void)fprintf(to, "%s.%03ldZ", text, now.tv_nsec / 1000000);
}

static void put_json(FILE *to, const srv_log_entry *entry)
{
	const char *const names[] = { "client", "method", "path" };
	const char *const values[] = { entry->client, entry->method, entry->path };

	(void)fputs("{\"time\":\"", to);
	put_time(to);
	(void)putc('"', to);
	for (size_t i = 0; i < 3; i++) {
		(void)fprintf(to, ",\"%s\":", names[i]);
		srv_json_string(to, values[i]);
	}
	(void)fprintf(to, ",\"status\":%u,\"bytes\":%zu,\"ms\":%.1f,\"pages\":%zu}\n",
		      entry->status, entry->bytes, entry->ms, entry->pages);
}

static void put_text(FILE *to, const srv_log_entry *entry)
{
	put_time(to);
	(void)fprintf(to, " %s ", entry->client);
	put_clean(to, entry->method);
	(void)putc(' ', to);
	put_clean(to, entry->path);
	(void)fprintf(to, " %u %zu bytes %.1f ms %zu pages\n", entry->status, entry->bytes,
		      entry->ms, entry->pages);
}

void srv_log_request(const srv_log_entry *entry, bool json)
{
	char *line = NULL;
	size_t bytes = 0;
	FILE *to = open_memstream(&line, &bytes);

	if (to == NULL)
		return;
	if (json)
		put_json(to, entry);
	else
		put_text(to, entry);
	if (fclose(to) != 0)
		bytes = 0;
	put_line(line, bytes);
}
