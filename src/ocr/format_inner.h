/* SPDX-License-Identifier: Apache-2.0 */
/* One writer a format; psg_page_format chooses.  Each returns a string to free(). */
#ifndef PSG_OCR_FORMAT_INNER_H
#define PSG_OCR_FORMAT_INNER_H

#include "ocr/format.h"

psg_status psgi_format_json(const psg_page *page, const char *name, char **out, psg_error *error);
psg_status psgi_format_hocr(const psg_page *page, const char *name, char **out, psg_error *error);

#endif
