/* SPDX-License-Identifier: Apache-2.0 */
/* Inside of psg_page_format: what the other rooms need of it. */
#ifndef PSG_OCR_FORMAT_H
#define PSG_OCR_FORMAT_H

#include "base/base.h"

#include <pagesift/ocr.h>

/*
 * The JSON object of a page that could not be read: `file`, `page` (from 0), `error` =
 * {"code": "FORMAT", "message": ...}; one line with its newline, for the caller to free().
 * UNSUPPORTED: built without jansson.  NOMEM.
 */
psg_status psgi_page_error_json(const char *name, int32_t page, psg_status code,
				const char *message, char **out, psg_error *error);

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
