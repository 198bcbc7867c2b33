/* SPDX-License-Identifier: Apache-2.0 */
/* Valid UTF-8, and text made so. */
#include "config.h"

#include "base/utf8.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

size_t psgi_utf8_length(const unsigned char *text, size_t size)
{
	/* By lead byte: length, and the range of the second byte (Unicode, table 3-7). */
	unsigned char lead, low = 0x80, high = 0xbf;
	size_t length;

	if (size == 0)
		return 0;
	lead = text[0];
	if (lead < 0x80)
		return 1;
	if (lead < 0xc2 || lead > 0xf4)
		return 0;
	length = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
	if (lead == 0xe0)
		low = 0xa0;
	else if (lead == 0xed)
		high = 0x9f;
	else if (lead == 0xf0)
		low = 0x90;
	else if (lead == 0xf4)
		high = 0x8f;
	if (size < length || text[1] < low || text[1] > high)
		return 0;
	for (size_t i = 2; i < length; i++)
		if ((text[i] & 0xc0) != 0x80)
			return 0;
	return length;
}

char *psgi_utf8_clean(const char *text)
{
	const unsigned char *in = (const unsigned char *)text;
	size_t size = strlen(text), n = 0;
	char *out;

	if (size > (SIZE_MAX - 1) / 3)
		return NULL;
	out = malloc(size * 3 + 1); /* U+FFFD is three bytes */
	if (out == NULL)
		return NULL;
	for (size_t i = 0; i < size;) {
		size_t length = psgi_utf8_length(in + i, size - i);

		memcpy(out + n, length > 0 ? text + i : "\xef\xbf\xbd", length > 0 ? length : 3);
		n += length > 0 ? length : 3;
		i += length > 0 ? length : 1;
	}
	out[n] = '\0';
	return out;
}
