/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "base/base.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct {
	const char *name, *text;
} statuses[] = {
#define STATUS_ROW(name, value, text) [value] = { #name, text },
	PSG_STATUS_MAP(STATUS_ROW)
#undef STATUS_ROW
};

static bool known(psg_status status)
{
	return (size_t)status < sizeof(statuses) / sizeof(statuses[0]);
}

const char *psg_status_name(psg_status status)
{
	return known(status) ? statuses[status].name : "UNKNOWN";
}

const char *psg_status_text(psg_status status)
{
	return known(status) ? statuses[status].text : "unknown status";
}

bool psg_error_is_oom(const psg_error *error)
{
	return error != NULL && error->code == PSG_OOM;
}

const char *psg_version(void)
{
	return PACKAGE_VERSION;
}

/* Names from files end up in messages, and messages on terminals and in logs: what would move a
 * cursor or begin a line becomes harmless.  UTF-8 has control characters of two bytes too. */
static void make_printable(char *message)
{
	for (unsigned char *at = (unsigned char *)message; *at != '\0'; at++) {
		if (*at == '\n' || *at == '\t' || *at == '\r')
			*at = ' ';
		else if (*at < 0x20 || *at == 0x7f)
			*at = '?';
		else if (*at == 0xc2 && at[1] >= 0x80 && at[1] <= 0x9f)
			at[0] = at[1] = '?';
	}
}

psg_status psgi_fail(psg_error *error, psg_status code, const char *format, ...)
{
	va_list args;

	if (error == NULL)
		return code;
	error->code = code;
	va_start(args, format);
	(void)vsnprintf(error->message, sizeof(error->message), format, args);
	va_end(args);
	make_printable(error->message);
	return code;
}

void psgi_error_prefix(psg_error *error, const char *format, ...)
{
	static const char tag[] = PSG_OOM_TAG ": ";
	char head[256], *at;
	size_t n, room;
	va_list args;

	if (error == NULL)
		return;
	at = error->message; /* the tag stays in front */
	if (error->code == PSG_OOM && strncmp(at, tag, sizeof(tag) - 1) == 0)
		at += sizeof(tag) - 1;
	va_start(args, format);
	(void)vsnprintf(head, sizeof(head), format, args);
	va_end(args);
	n = strlen(head);
	room = sizeof(error->message) - (size_t)(at - error->message) - n - 2; /* ": " */
	memmove(at + n + 2, at, room);
	error->message[sizeof(error->message) - 1] = '\0';
	memcpy(at, head, n);
	memcpy(at + n, ": ", 2);
	make_printable(error->message);
}
