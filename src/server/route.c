/* SPDX-License-Identifier: Apache-2.0 */
/* Routes, and the life of a request: libmicrohttpd's calls for it. */
#include "config.h"

#include "server/http.h"
#include "server/request.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct srv_route {
	const char *path, *method;
	bool open;
	enum MHD_Result (*answer)(srv_request *request);
};

static const srv_route routes[] = {
#define ROUTE_ROW(name, path, method, open, answer) { path, method, open, answer },
	SRV_ROUTES(ROUTE_ROW)
#undef ROUTE_ROW
};

const srv_route *srv_route_find(const char *path)
{
	for (size_t i = 0; i < SRV_ROUTE_OTHER; i++)
		if (strcmp(routes[i].path, path) == 0)
			return &routes[i];
	return NULL;
}

srv_route_name srv_route_name_of(const srv_route *route)
{
	return route != NULL ? (srv_route_name)(route - routes) : SRV_ROUTE_OTHER;
}

const char *srv_route_path(srv_route_name name)
{
	return name < SRV_ROUTE_OTHER ? routes[name].path : "other";
}

const char *srv_route_allow(const srv_route *route)
{
	return strcmp(route->method, "GET") == 0 ? "GET, HEAD" : route->method;
}

bool srv_route_allows(const srv_route *route, const char *method)
{
	return strcmp(route->method, method) == 0 ||
	       (strcmp(route->method, "GET") == 0 && strcmp(method, "HEAD") == 0);
}

bool srv_route_open(const srv_route *route)
{
	return route->open;
}

/* --- requests --- */

const char *srv_request_header(const srv_request *request, const char *name)
{
	return MHD_lookup_connection_value(request->connection, MHD_HEADER_KIND, name);
}

bool srv_refuse(srv_request *request, srv_problem_kind kind, const char *format, ...)
{
	char detail[PSG_ERROR_MESSAGE_SIZE];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(detail, sizeof(detail), format, args);
	va_end(args);
	srv_problem_set(&request->problem, kind, "%s", detail);
	request->refused = true;
	return false;
}

/* The first line has come.  The connection is begun, or had no memory for it. */
void *srv_request_new(srv_server *server, const char *uri, struct MHD_Connection *connection)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_SOCKET_CONTEXT);
	srv_request *request = calloc(1, sizeof(*request));

	if (request == NULL || info == NULL || info->socket_context == NULL) {
		free(request);
		return NULL;
	}
	request->server = server;
	request->connection = connection;
	request->client = info->socket_context;
	request->began_ns = psg_now_ns();
	(void)snprintf(request->path, sizeof(request->path), "%.*s", (int)strcspn(uri, "?"), uri);
	srv_connection_enter(&server->connections, request->client, SRV_READING);
	return request;
}

#define ROUTE_WORD(name, path, method, open, answer) " " path

/* False: refused. */
static bool check_head(srv_request *request, const char *url, const char *method,
		       const char *version)
{
	const srv_tokens *tokens = &request->server->tokens;

	request->route = srv_route_find(url);
	if (!srv_check_framing(request, version))
		return false;
	if (request->route == NULL)
		return srv_refuse(request, SRV_NOT_FOUND, "what there is:" SRV_ROUTES(ROUTE_WORD));
	if (!srv_route_allows(request->route, method))
		return srv_refuse(request, SRV_METHOD, "%s is for %s", request->route->path,
				  srv_route_allow(request->route));
	if (tokens->n > 0 && !request->route->open &&
	    !srv_tokens_allow(tokens, srv_request_header(request, MHD_HTTP_HEADER_AUTHORIZATION)))
		return srv_refuse(request, SRV_UNAUTHORIZED,
				  "send the header Authorization: Bearer TOKEN");
	return srv_route_name_of(request->route) != SRV_ROUTE_OCR || srv_ocr_begin(request);
}

/*
 * The head has come.  Where a body is not wanted the answer goes at once, and the connection ends
 * with it; else libmicrohttpd asks again, and the connection can stay.
 */
static enum MHD_Result begin(srv_request *request, const char *url, const char *method,
			     const char *version)
{
	bool wanted;

	request->begun = true;
	(void)snprintf(request->method, sizeof(request->method), "%s", method);
	wanted = check_head(request, url, method, version) &&
		 srv_route_name_of(request->route) == SRV_ROUTE_OCR;
	if (wanted || !request->has_body)
		return MHD_YES;
	srv_connection_linger(request->client);
	return request->refused ? srv_send_problem(request, &request->problem)
				: request->route->answer(request);
}

/* libmicrohttpd's: called for the head, for each piece of the body, and at the end; and again
 * when a suspended connection is resumed. */
enum MHD_Result srv_request_handle(srv_request *request, const char *url, const char *method,
				   const char *version, const char *data, size_t *size)
{
	size_t came = *size;

	if (request == NULL)
		return MHD_NO;
	if (!request->begun)
		return begin(request, url, method, version);
	if (came > 0) {
		*size = 0;
		return srv_body_add(&request->body, data, came) ? MHD_YES : MHD_NO;
	}
	if (request->refused)
		return srv_send_problem(request, &request->problem);
	return request->route->answer(request);
}

static void tell(const srv_request *request, const char *client)
{
	const srv_log_entry entry = {
		.client = client,
		.method = request->begun ? request->method : "-",
		.path = request->path,
		.status = request->status,
		.bytes = request->bytes,
		.pages = request->work.n,
		.ms = (double)(psg_now_ns() - request->began_ns) / (double)PSG_MILLISECOND,
	};

	srv_log_request(&entry, request->server->options->log_json);
}

void srv_request_end(srv_request *request, bool sent)
{
	srv_server *server = request->server;
	srv_metrics *metrics = &server->metrics;
	char client[SRV_CLIENT_BYTES];

	if (!sent && atomic_load(&request->left))
		request->status = 499; /* as nginx calls it: nobody was there to be told */
	srv_metrics_request(metrics, srv_route_name_of(request->route), request->status,
			    psg_now_ns() - request->began_ns);
	if (sent)
		atomic_fetch_add(&metrics->bytes_out, request->bytes);
	if (server->options->log_requests) {
		srv_client_name(request->connection, client);
		tell(request, client);
	}
	if (request->in_flight)
		atomic_fetch_sub(&metrics->in_flight, 1);
	if (!request->begun) /* libmicrohttpd has refused its head */
		srv_connection_linger(request->client);
	srv_connection_enter(&server->connections, request->client, SRV_IDLE);
	srv_work_clear(&request->work);
	srv_body_free(&request->body);
	free(request);
}
