/* SPDX-License-Identifier: Apache-2.0 */
/* A string that grows; the first failed allocation sticks, so that only the end needs a check. */
#ifndef PSG_OCR_STRBUF_H
#define PSG_OCR_STRBUF_H

#include "base/base.h"

typedef struct psgi_strbuf {
	char *data; /* n bytes and a terminator; NULL before the first one and after a failure */
	size_t n, room;
	bool failed;
} psgi_strbuf;

void psgi_strbuf_add(psgi_strbuf *s, const char *text, size_t n);
void psgi_strbuf_printf(psgi_strbuf *s, const char *format, ...) PSG_PRINTF(2, 3);

/*
 * A number with `decimals` (0 to 6) digits after a point, whatever the locale's sign for it is;
 * `trim` drops zeros at the end.  What is not finite is written as 0.
 */
void psgi_strbuf_number(psgi_strbuf *s, double value, int decimals, bool trim);

/* Hands the string over to be free()d, "" when nothing was added.  NOMEM: also frees it. */
psg_status psgi_strbuf_take(psgi_strbuf *s, char **out, psg_error *error);

#endif
