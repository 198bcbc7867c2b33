/* SPDX-License-Identifier: Apache-2.0 */
/* Between libmicrohttpd's calls (http.c) and requests (route.c). */
#ifndef PSG_SERVER_HTTP_H
#define PSG_SERVER_HTTP_H

#include "server/request.h"
#include "server/say.h"

#define SRV_CLIENT_BYTES 64 /* an address with its port */

void *srv_request_new(srv_server *server, const char *uri, struct MHD_Connection *connection);
enum MHD_Result srv_request_handle(srv_request *request, const char *url, const char *method,
				   const char *version, const char *data, size_t *size);
/* The reply was `sent`, or the connection has ended before. */
void srv_request_end(srv_request *request, bool sent);

/* "127.0.0.1:4242", "unix" */
void srv_client_name(struct MHD_Connection *connection, char client[SRV_CLIENT_BYTES]);

#endif
