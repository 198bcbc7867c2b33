/* SPDX-License-Identifier: Apache-2.0 */
/* The growing string of the page formats. */
#include "config.h"

#include "ocr/strbuf.h"

#include "base/checked.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Room for n more bytes and the terminator. */
static bool reserve(psgi_strbuf *s, size_t n)
{
	size_t need, room = s->room == 0 ? 256 : s->room;
	char *grown;

	if (s->failed || !psgi_add_size(s->n, n, &need) || !psgi_add_size(need, 1, &need) ||
	    need > SIZE_MAX / 2)
		goto failed;
	if (need <= s->room)
		return true;
	while (room < need)
		room *= 2;
	grown = realloc(s->data, room);
	if (grown == NULL)
		goto failed;
	s->data = grown;
	s->room = room;
	return true;
failed:
	free(s->data);
	*s = (psgi_strbuf){ .failed = true };
	return false;
}

void psgi_strbuf_add(psgi_strbuf *s, const char *text, size_t n)
{
	if (!reserve(s, n))
		return;
	memcpy(s->data + s->n, text, n);
	s->n += n;
	s->data[s->n] = '\0';
}

void psgi_strbuf_printf(psgi_strbuf *s, const char *format, ...)
{
	va_list args, again;
	int n;

	va_start(args, format);
	va_copy(again, args);
	n = vsnprintf(NULL, 0, format, args);
	if (n >= 0 && reserve(s, (size_t)n)) {
		(void)vsnprintf(s->data + s->n, (size_t)n + 1, format, again);
		s->n += (size_t)n;
	}
	va_end(again);
	va_end(args);
}

void psgi_strbuf_number(psgi_strbuf *s, double value, int decimals, bool trim)
{
	int64_t scale = 1, parts;

	for (int i = 0; i < decimals; i++)
		scale *= 10;
	/* Numbers here are pixels, degrees and shares; the bound only keeps the cast defined. */
	parts = isfinite(value) && fabs(value) < 1e12 ? llrint(value * (double)scale) : 0;
	if (parts < 0)
		psgi_strbuf_add(s, "-", 1);
	parts = parts < 0 ? -parts : parts;
	for (; trim && decimals > 0 && parts % 10 == 0; decimals--) {
		parts /= 10;
		scale /= 10;
	}
	psgi_strbuf_printf(s, "%" PRId64, parts / scale);
	if (decimals > 0)
		psgi_strbuf_printf(s, ".%0*" PRId64, decimals, parts % scale);
}

psg_status psgi_strbuf_take(psgi_strbuf *s, char **out, psg_error *error)
{
	psgi_strbuf_add(s, "", 0);
	*out = s->data;
	if (s->failed)
		return psgi_fail(error, PSG_NOMEM, "output: no memory for the text");
	*s = (psgi_strbuf){ 0 };
	return PSG_OK;
}
