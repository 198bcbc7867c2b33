/* SPDX-License-Identifier: Apache-2.0 */
/* The reply to a request for text: its pages in their order, in the format that was asked for. */
#ifndef PSG_SERVER_DOCUMENT_H
#define PSG_SERVER_DOCUMENT_H

#include "server/work.h"

/* A page between its image and the reply. */
struct srv_page {
	srv_work *work;
	const srv_image *image;
	int32_t index;      /* in its file; -1: the whole file failed */
	psg_future *future; /* NULL: `error` says why */
	psg_error error;
};

/* All pages have ended: sets the work's text, or its problem where no page was read. */
void srv_document_write(srv_work *work);

/* "json" and so on; SRV_N_FORMATS: there is no such format. */
srv_format srv_format_of(const char *name);
/* The one that Accept prefers; SRV_N_FORMATS: none.  NULL: JSON. */
srv_format srv_format_accepted(const char *accept);
const char *srv_format_type(srv_format format); /* Content-Type */
const char *srv_format_name(srv_format format);

#endif
