/* SPDX-License-Identifier: Apache-2.0 */
/* Replies. */
#include "config.h"

#include "server/request.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* libmicrohttpd frees the body with the response, which it holds until it has been sent. */
static struct MHD_Response *response_of(const srv_reply *reply)
{
	struct MHD_Response *response;

	if (reply->body == NULL)
		return NULL;
	response =
		MHD_create_response_from_buffer(reply->bytes, reply->body, MHD_RESPMEM_MUST_FREE);
	if (response == NULL)
		free(reply->body);
	return response;
}

/* Nothing is to be kept by caches, guessed by browsers or put into other sites' frames. */
static const char *const always[][2] = {
	{ MHD_HTTP_HEADER_CACHE_CONTROL, "no-store" },
	{ "X-Content-Type-Options", "nosniff" },
	{ "Cross-Origin-Resource-Policy", "same-origin" },
	{ "Referrer-Policy", "no-referrer" },
	/* Of hOCR, which is a page: text of images is no script. */
	{ "Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'" },
};

static bool given(const srv_reply *reply, const char *name)
{
	for (size_t i = 0; i < 3 && reply->header[i][0] != NULL; i++)
		if (strcmp(reply->header[i][0], name) == 0)
			return true;
	return false;
}

static bool add_headers(const srv_request *request, const srv_reply *reply,
			struct MHD_Response *response)
{
	bool good = MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, reply->type) ==
		    MHD_YES;

	for (size_t i = 0; i < 3 && reply->header[i][0] != NULL; i++)
		good = MHD_add_response_header(response, reply->header[i][0],
					       reply->header[i][1]) == MHD_YES &&
		       good;
	for (size_t i = 0; i < sizeof(always) / sizeof(always[0]); i++)
		if (!given(reply, always[i][0]))
			good = MHD_add_response_header(response, always[i][0], always[i][1]) ==
				       MHD_YES &&
			       good;
	if (atomic_load(&request->server->draining))
		good = MHD_add_response_header(response, MHD_HTTP_HEADER_CONNECTION, "close") ==
			       MHD_YES &&
		       good;
	return good;
}

enum MHD_Result srv_send(srv_request *request, const srv_reply *reply)
{
	struct MHD_Response *response = response_of(reply);
	enum MHD_Result result;

	if (response == NULL)
		return MHD_NO;
	request->status = reply->status;
	request->bytes = strcmp(request->method, "HEAD") == 0 ? 0 : reply->bytes;
	srv_connection_enter(&request->server->connections, request->client, SRV_WRITING);
	result = add_headers(request, reply, response)
			 ? MHD_queue_response(request->connection, reply->status, response)
			 : MHD_NO;
	MHD_destroy_response(response);
	return result;
}

enum MHD_Result srv_send_problem(srv_request *request, const srv_problem *problem)
{
	srv_reply reply = { .status = srv_problem_status(problem), .type = SRV_PROBLEM_TYPE };
	char seconds[16];

	reply.body = srv_problem_text(problem, &reply.bytes);
	if (problem->retry_after_s > 0) {
		(void)snprintf(seconds, sizeof(seconds), "%d", problem->retry_after_s);
		reply.header[0][0] = MHD_HTTP_HEADER_RETRY_AFTER;
		reply.header[0][1] = seconds;
	} else if (problem->kind == SRV_METHOD) {
		reply.header[0][0] = MHD_HTTP_HEADER_ALLOW;
		reply.header[0][1] = srv_route_allow(request->route);
	} else if (problem->kind == SRV_UNAUTHORIZED) {
		reply.header[0][0] = MHD_HTTP_HEADER_WWW_AUTHENTICATE;
		reply.header[0][1] = "Bearer realm=\"pagesift-gpu\"";
	}
	return srv_send(request, &reply);
}
