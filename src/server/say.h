/* SPDX-License-Identifier: Apache-2.0 */
/* What the server tells on standard error, a line at a time, and text in JSON. */
#ifndef PSG_SERVER_SAY_H
#define PSG_SERVER_SAY_H

#include <pagesift/error.h>

#include <stdio.h>

/* As all commands: "pagesift-gpu: ..."; control characters are escaped. */
void srv_say(const char *format, ...) PSG_PRINTF(1, 2);

/* A request that has ended, for its line in the log. */
typedef struct srv_log_entry {
	const char *client, *method, *path; /* as they came */
	unsigned status;                    /* 0: libmicrohttpd refused it or the client left */
	size_t bytes, pages;
	double ms;
} srv_log_entry;

void srv_log_request(const srv_log_entry *entry, bool json);

/* A JSON string: what is not UTF-8 is written as U+FFFD, a byte at a time. */
void srv_json_string(FILE *to, const char *text);

#endif
