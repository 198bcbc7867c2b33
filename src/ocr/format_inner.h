/* SPDX-License-Identifier: Apache-2.0 */
/* What each form of a page's text brings; the public functions of format.c put it together. */
#ifndef PSG_OCR_FORMAT_INNER_H
#define PSG_OCR_FORMAT_INNER_H

#include "base/base.h"
#include "base/utf8.h"
#include "ocr/strbuf.h"

#include <pagesift/ocr.h>

/* One page of a document; `number` counts them from 1. */
typedef struct psgi_page_place {
	const char *name; /* the file's, any bytes */
	int32_t index;    /* in the file, from 0; -1: the file has no pages that are known */
	size_t number;
} psgi_page_place;

/*
 * Each adds to the string, where running out of memory is found by who takes it.  NULL where a
 * form has nothing to say.
 */
typedef struct psgi_writer {
	psg_status (*head)(psgi_strbuf *s, const char *title, psg_error *error);
	psg_status (*page)(psgi_strbuf *s, const psg_page *page, psgi_page_place place,
			   psg_error *error);
	psg_status (*failure)(psgi_strbuf *s, const psg_error *failure, psgi_page_place place,
			      psg_error *error);
	psg_status (*tail)(psgi_strbuf *s, psg_error *error);
	const char *between; /* two pages, or NULL */
} psgi_writer;

extern const psgi_writer psgi_text_writer, psgi_json_writer, psgi_tsv_writer, psgi_hocr_writer;

#endif
