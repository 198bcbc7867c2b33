/* SPDX-License-Identifier: Apache-2.0 */
/* Text from files and callers as valid UTF-8. */
#ifndef PSG_BASE_UTF8_H
#define PSG_BASE_UTF8_H

#include <stddef.h>

/*
 * `text` as valid UTF-8: each byte that is not part of a valid sequence becomes U+FFFD.
 * For the caller to free(); NULL when memory is out.
 */
char *psgi_utf8_clean(const char *text);

/*
 * Length in bytes of the valid UTF-8 sequence at `text` (of `size` bytes), 0 when there is none.
 * Refuses overlong forms, surrogates and what is past U+10FFFF.
 */
size_t psgi_utf8_length(const unsigned char *text, size_t size);

#endif
