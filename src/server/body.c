/* SPDX-License-Identifier: Apache-2.0 */
/* Taking a body in. */
#include "config.h"

#include "server/body.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define FORM_BUFFER 4096 /* bytes of a part's head: more is no form that we read (chosen) */
#define FIELD_BYTES 64   /* of a field that is no file: longer than what means something */
#define FIRST_ROOM 65536 /* bytes, where the length is not known before (chosen) */

static bool refuse(srv_body *body, srv_problem_kind kind, const char *detail)
{
	if (!body->refused)
		srv_problem_set(&body->problem, kind, "%s", detail);
	body->refused = true;
	return false;
}

static bool refuse_size(srv_body *body)
{
	char detail[80];

	(void)snprintf(detail, sizeof(detail), "a body has at most %lld bytes here",
		       (long long)body->server->options->limits.body_bytes);
	return refuse(body, SRV_TOO_LARGE, detail);
}

/* --- memory --- */

bool srv_body_count(srv_body *body, int64_t bytes)
{
	int64_t most = body->server->options->limits.bodies_bytes;

	body->counted += bytes;
	if (atomic_fetch_add(&body->server->bodies_bytes, bytes) + bytes <= most)
		return true;
	if (!body->refused) {
		srv_problem_set(&body->problem, SRV_UNAVAILABLE,
				"the images of all requests together have at most %lld bytes here",
				(long long)most);
		body->problem.retry_after_s = 1;
	}
	body->refused = true;
	return false;
}

/* Makes room, which counts for all requests together. */
static bool reserve(srv_body *body, srv_image *image, size_t room)
{
	uint8_t *data;

	if (!srv_body_count(body, (int64_t)(room - image->room)))
		return false;
	data = realloc(image->data, room);
	if (data == NULL)
		return refuse(body, SRV_NO_MEMORY, "no memory for the body");
	image->data = data;
	image->room = room;
	return true;
}

/* Twice as much each time, so that who announces much and sends little holds little. */
static bool append(srv_body *body, srv_image *image, const char *data, size_t size)
{
	size_t room = image->room;

	if (size == 0)
		return true;
	if (image->size + size > room) {
		room = room < FIRST_ROOM ? FIRST_ROOM : 2 * room;
		if (body->expected > 0 && room > (size_t)body->expected)
			room = (size_t)body->expected;
		if (room < image->size + size)
			room = image->size + size;
		if (!reserve(body, image, room))
			return false;
	}
	memcpy(image->data + image->size, data, size);
	image->size += size;
	return true;
}

static srv_image *new_image(srv_body *body, const char *name)
{
	int64_t most = body->server->options->limits.pages;
	char detail[120];
	srv_image *images;

	if ((int64_t)body->n >= most) {
		(void)snprintf(
			detail, sizeof(detail),
			"a request has at most %lld pages here, and the form has more images",
			(long long)most);
		(void)refuse(body, SRV_TOO_LARGE, detail);
		return NULL;
	}
	images = realloc(body->images, (body->n + 1) * sizeof(*images));
	if (images == NULL) {
		(void)refuse(body, SRV_NO_MEMORY, "no memory for the body");
		return NULL;
	}
	body->images = images;
	images[body->n] = (srv_image){ .name = name != NULL ? strdup(name) : NULL };
	return &images[body->n++];
}

/* --- forms --- */

/* A field that is no file: a part of it may come at a time. */
static bool take_field(srv_body *body, const char *key, const char *data, uint64_t off, size_t size)
{
	char **field = strcmp(key, "format") == 0    ? &body->format
		       : strcmp(key, "timeout") == 0 ? &body->timeout
						     : NULL;

	if (field == NULL)
		return refuse(body, SRV_BAD_REQUEST,
			      "the form's fields are files, 'format' and 'timeout'");
	if (off + size >= FIELD_BYTES)
		return refuse(body, SRV_BAD_REQUEST, "the value of a form's field is too long");
	if (*field == NULL)
		*field = calloc(1, FIELD_BYTES);
	if (*field == NULL)
		return refuse(body, SRV_NO_MEMORY, "no memory for the form");
	memcpy(*field + off, data, size);
	(*field)[off + size] = '\0';
	return true;
}

/* libmicrohttpd's: a piece of a part. */
static enum MHD_Result take_part(void *user, enum MHD_ValueKind kind, const char *key,
				 const char *filename, const char *type, const char *encoding,
				 const char *data, uint64_t off, size_t size)
{
	srv_body *body = user;
	srv_image *image;

	(void)kind;
	(void)type;
	(void)encoding;
	if (body->refused)
		return MHD_NO;
	if (filename == NULL)
		return take_field(body, key, data, off, size) ? MHD_YES : MHD_NO;
	image = off == 0 || body->n == 0 ? new_image(body, filename) : &body->images[body->n - 1];
	return image != NULL && append(body, image, data, size) ? MHD_YES : MHD_NO;
}

static bool is_form(const char *type)
{
	return type != NULL && strncasecmp(type, "multipart/form-data", 19) == 0;
}

/* Types that browsers and programs give to images and to bytes of which they know nothing; what the
 * bytes are is looked at, not what is said. */
static bool may_be_image(const char *type)
{
	return type == NULL || strncasecmp(type, "image/", 6) == 0 ||
	       strncasecmp(type, "application/octet-stream", 24) == 0 ||
	       /* what curl --data-binary says */
	       strncasecmp(type, "application/x-www-form-urlencoded", 33) == 0;
}

/* --- */

static const char *header(struct MHD_Connection *connection, const char *name)
{
	return MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
}

bool srv_body_begin(srv_body *body, srv_server *server, struct MHD_Connection *connection)
{
	const char *type = header(connection, MHD_HTTP_HEADER_CONTENT_TYPE);
	const char *length = header(connection, MHD_HTTP_HEADER_CONTENT_LENGTH);

	*body = (srv_body){ .server = server };
	if (length != NULL) {
		errno = 0;
		body->expected = strtoll(length, NULL, 10);
		if (errno != 0 || body->expected > server->options->limits.body_bytes)
			return refuse_size(body);
	}
	if (is_form(type)) {
		body->form = MHD_create_post_processor(connection, FORM_BUFFER, take_part, body);
		return body->form != NULL ||
		       refuse(body, SRV_BAD_REQUEST, "the form's Content-Type has no boundary");
	}
	if (!may_be_image(type))
		return refuse(body, SRV_NOT_AN_IMAGE,
			      "the body is an image (Content-Type: image/... or "
			      "application/octet-stream) or a form of them (multipart/form-data)");
	return new_image(body, NULL) != NULL;
}

/* The reply comes when all has come, which is waited for no longer than for twice the limit. */
bool srv_body_add(srv_body *body, const char *data, size_t size)
{
	int64_t most = body->server->options->limits.body_bytes;

	body->came += (int64_t)size;
	atomic_fetch_add(&body->server->metrics.bytes_in, size);
	if (body->came > most)
		(void)refuse_size(body);
	if (body->refused)
		return body->came / 2 <= most;
	if (body->form == NULL)
		(void)append(body, &body->images[0], data, size);
	else if (MHD_post_process(body->form, data, size) != MHD_YES)
		(void)refuse(body, SRV_BAD_REQUEST, "the form is not multipart/form-data");
	return true;
}

bool srv_body_end(srv_body *body)
{
	if (body->form != NULL) {
		if (MHD_destroy_post_processor(body->form) != MHD_YES)
			(void)refuse(body, SRV_BAD_REQUEST, "the form ends too early");
		body->form = NULL;
	}
	if (!body->refused && (body->n == 0 || (body->n == 1 && body->images[0].size == 0)))
		(void)refuse(body, SRV_BAD_REQUEST, "there is no image in the body");
	return !body->refused;
}

void srv_body_drop_images(srv_body *body)
{
	for (size_t i = 0; i < body->n; i++) {
		free(body->images[i].data);
		body->images[i].data = NULL;
	}
}

void srv_body_free(srv_body *body)
{
	if (body->form != NULL)
		(void)MHD_destroy_post_processor(body->form);
	srv_body_drop_images(body);
	for (size_t i = 0; i < body->n; i++)
		free(body->images[i].name);
	free(body->images);
	free(body->format);
	free(body->timeout);
	if (body->server != NULL)
		atomic_fetch_sub(&body->server->bodies_bytes, body->counted);
	*body = (srv_body){ 0 };
}

const char *srv_image_name(const srv_image *image)
{
	return image->name != NULL ? image->name : "image";
}
