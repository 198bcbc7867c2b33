/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request's body: one image, or a form (multipart/form-data) of several, in memory, within the
 * limits of one request and of all together.
 */
#ifndef PSG_SERVER_BODY_H
#define PSG_SERVER_BODY_H

#include "server/inner.h"
#include "server/problem.h"

#include <microhttpd.h>

typedef struct srv_image {
	uint8_t *data;
	size_t size, room; /* room: allocated */
	char *name;        /* as the client calls it; NULL: it does not */
} srv_image;

typedef struct srv_body {
	srv_server *server;
	struct MHD_PostProcessor *form; /* NULL: the body is the image */
	srv_image *images;
	size_t n;
	int64_t expected; /* bytes of the body, as its head says; 0: it does not */
	int64_t came;     /* so far */
	int64_t counted;  /* bytes in server->bodies_bytes */
	bool refused;     /* what comes on is dropped */
	srv_problem problem;
	/* What a form's fields without a file say; NULL: nothing. */
	char *format, *timeout;
} srv_body;

/* From the head of a request; false: the problem is set, and nothing of the body is wanted. */
bool srv_body_begin(srv_body *body, srv_server *server, struct MHD_Connection *connection);

/* False: more came than anybody could mean well with, and the connection is to be closed. */
bool srv_body_add(srv_body *body, const char *data, size_t size);

/* All has come; false: the problem is set. */
bool srv_body_end(srv_body *body);

/* Counts bytes of memory for as long as the body lives; false: there are too many, and the problem
 * is set. */
bool srv_body_count(srv_body *body, int64_t bytes);

/* Frees the images' bytes, not their names. */
void srv_body_drop_images(srv_body *body);
void srv_body_free(srv_body *body);

const char *srv_image_name(const srv_image *image);

#endif
