/* SPDX-License-Identifier: Apache-2.0 */
/* libmicrohttpd: its daemons, one a listener, and what it calls. */
#include "config.h"

#include "server/http.h"

#include <netdb.h>
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

void srv_client_name(struct MHD_Connection *connection, char client[SRV_CLIENT_BYTES])
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
	const struct sockaddr *address = info != NULL ? info->client_addr : NULL;
	char host[NI_MAXHOST], port[NI_MAXSERV];
	bool six = address != NULL && address->sa_family == AF_INET6;
	socklen_t length = six ? sizeof(struct sockaddr_in6) : sizeof(struct sockaddr_in);

	(void)snprintf(client, SRV_CLIENT_BYTES, "unix");
	if (address == NULL || (!six && address->sa_family != AF_INET) ||
	    getnameinfo(address, length, host, sizeof(host), port, sizeof(port),
			NI_NUMERICHOST | NI_NUMERICSERV) != 0)
		return;
	(void)snprintf(client, SRV_CLIENT_BYTES, six ? "[%.46s]:%.5s" : "%.46s:%.5s", host, port);
}

/* --- what it calls, on its thread --- */

static void *first_line(void *user, const char *uri, struct MHD_Connection *connection)
{
	return srv_request_new(user, uri, connection);
}

static enum MHD_Result handle(void *user, struct MHD_Connection *connection, const char *url,
			      const char *method, const char *version, const char *data,
			      size_t *size, void **context)
{
	(void)user;
	(void)connection;
	return srv_request_handle(*context, url, method, version, data, size);
}

static void completed(void *user, struct MHD_Connection *connection, void **context,
		      enum MHD_RequestTerminationCode how)
{
	(void)user;
	(void)connection;
	if (*context != NULL)
		srv_request_end(*context, how == MHD_REQUEST_TERMINATED_COMPLETED_OK);
	*context = NULL;
}

static void connected(void *user, struct MHD_Connection *connection, void **context,
		      enum MHD_ConnectionNotificationCode what)
{
	srv_server *server = user;
	const union MHD_ConnectionInfo *info;

	if (what == MHD_CONNECTION_NOTIFY_STARTED) {
		info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
		*context = srv_connection_begin(&server->connections, info->connect_fd);
	} else if (*context != NULL) {
		srv_connection_end(&server->connections, *context);
	}
}

/*
 * Its words when a daemon does not start are kept.  Later ones are about single connections, come
 * on its threads, and are of no use: clients are told, and what matters is counted.
 */
static void message(void *user, const char *format, va_list args) PSG_PRINTF(2, 0);
static void message(void *user, const char *format, va_list args)
{
	srv_server *server = user;

	if (!pthread_equal(pthread_self(), server->starter))
		return;
	(void)vsnprintf(server->http_why, sizeof(server->http_why), format, args);
	server->http_why[strcspn(server->http_why, "\n")] = '\0';
}

/* --- daemons --- */

static struct MHD_Daemon *start(srv_server *server, const struct srv_listener *listener)
{
	const srv_options *o = server->options;
	const srv_limits *limits = &o->limits;
	unsigned flags = MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME |
			 MHD_USE_ERROR_LOG | (server->tls_cert != NULL ? MHD_USE_TLS : 0U);
	struct MHD_OptionItem tls[] = {
		{ MHD_OPTION_HTTPS_MEM_CERT, 0, server->tls_cert },
		{ MHD_OPTION_HTTPS_MEM_KEY, 0, server->tls_key },
		{ MHD_OPTION_END, 0, NULL },
	};
	struct MHD_OptionItem none[] = { { MHD_OPTION_END, 0, NULL } };

	return MHD_start_daemon(
		flags, 0, NULL, NULL, handle, server, MHD_OPTION_EXTERNAL_LOGGER, message, server,
		MHD_OPTION_LISTEN_SOCKET, listener->fd, MHD_OPTION_URI_LOG_CALLBACK, first_line,
		server, MHD_OPTION_NOTIFY_COMPLETED, completed, server,
		MHD_OPTION_NOTIFY_CONNECTION, connected, server, MHD_OPTION_CONNECTION_LIMIT,
		(unsigned)limits->connections, MHD_OPTION_PER_IP_CONNECTION_LIMIT,
		(unsigned)limits->per_address, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
		(size_t)limits->header_bytes, MHD_OPTION_CONNECTION_TIMEOUT,
		(unsigned)(limits->idle_s + 0.999), MHD_OPTION_STRICT_FOR_CLIENT, 1,
		MHD_OPTION_ARRAY, server->tls_cert != NULL ? tls : none, MHD_OPTION_END);
}

psg_status srv_http_start(srv_server *server, psg_error *error)
{
	server->starter = pthread_self();
	for (size_t i = 0; i < server->listeners.n; i++) {
		server->daemons[i] = start(server, &server->listeners.at[i]);
		if (server->daemons[i] != NULL)
			continue;
		error->code = PSG_INVALID;
		(void)snprintf(error->message, sizeof(error->message),
			       "%s: libmicrohttpd cannot serve it: %s",
			       server->listeners.at[i].name, server->http_why);
		return PSG_INVALID;
	}
	return PSG_OK;
}

/* The sockets are ours again and are closed with the listeners, which refuses whoever connects. */
void srv_http_quiesce(srv_server *server)
{
	for (size_t i = 0; i < server->listeners.n; i++)
		if (server->daemons[i] != NULL)
			(void)MHD_quiesce_daemon(server->daemons[i]);
	srv_listen_close(&server->listeners);
}

void srv_http_stop(srv_server *server)
{
	for (size_t i = 0; i < server->listeners.n; i++)
		if (server->daemons[i] != NULL)
			MHD_stop_daemon(server->daemons[i]);
}
