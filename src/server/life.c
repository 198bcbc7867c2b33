/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The server's life, on the caller's thread: it listens, so that readiness can be asked for, reads
 * the models, serves, reads them again when it is told to, and drains.
 */
#include "config.h"

#include "server/inner.h"
#include "server/notify.h"
#include "server/say.h"
#include "server/signals.h"

#include <errno.h>
#include <microhttpd.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define DRAIN_LOOK_MS 20 /* between two looks at what is in flight (chosen) */
/* After the drain's time: for what was cancelled to end (chosen: longer than a layer of a model).
 */
#define CANCEL_NS (10 * PSG_SECOND)
#define MOST_PEM 1048576 /* bytes of a certificate chain or key (chosen) */

/* --- starting --- */

/* A whole file as text, for the caller to free(); NULL: `error` says why. */
static char *read_pem(const char *path, psg_error *error)
{
	char *text = calloc(1, MOST_PEM + 1);
	FILE *file = fopen(path, "re");
	size_t n = text != NULL && file != NULL ? fread(text, 1, MOST_PEM, file) : 0;

	if (n == 0) {
		error->code = PSG_INVALID;
		(void)snprintf(error->message, sizeof(error->message), "%s: %s", path,
			       file == NULL ? strerror(errno) : "cannot be read, or is empty");
		free(text);
		text = NULL;
	}
	if (file != NULL)
		(void)fclose(file);
	return text;
}

static psg_status read_secrets(srv_server *server, psg_error *error)
{
	const srv_options *o = server->options;

	if (o->token_file != NULL &&
	    srv_tokens_read(&server->tokens, o->token_file, error) != PSG_OK)
		return error->code;
	if (o->tls_cert == NULL)
		return PSG_OK;
	if (MHD_is_feature_supported(MHD_FEATURE_TLS) != MHD_YES) {
		*error = (psg_error){ PSG_UNSUPPORTED, "this libmicrohttpd has no TLS" };
		return PSG_UNSUPPORTED;
	}
	server->tls_cert = read_pem(o->tls_cert, error);
	server->tls_key = server->tls_cert != NULL ? read_pem(o->tls_key, error) : NULL;
	return server->tls_key != NULL ? PSG_OK : error->code;
}

static psg_status open_listeners(srv_server *server, psg_error *error)
{
	const srv_options *o = server->options;
	psg_status status = srv_listen_inherited(&server->listeners, error);

	for (size_t i = 0; i < o->n_listen && status == PSG_OK; i++)
		status = srv_listen(&server->listeners, o->listen[i], error);
	if (status == PSG_OK && server->listeners.n == 0)
		status = srv_listen(&server->listeners, SRV_LISTEN_DEFAULT, error);
	return status;
}

static psg_status start_threads(srv_server *server, psg_error *error)
{
	psg_status status = srv_clerks_start(&server->clerks, error);

	if (status != PSG_OK)
		return status;
	status = srv_connections_start(&server->connections, error);
	if (status != PSG_OK)
		srv_clerks_stop(&server->clerks);
	return status;
}

static void stop_threads(srv_server *server)
{
	srv_clerks_stop(&server->clerks);
	srv_connections_stop(&server->connections);
}

/* --- serving --- */

static void tell_addresses(const srv_server *server)
{
	const char *scheme = server->tls_cert != NULL ? "https" : "http";

	for (size_t i = 0; i < server->listeners.n; i++) {
		const struct srv_listener *l = &server->listeners.at[i];

		if (l->local)
			srv_say("listening on %s", l->name);
		else
			srv_say("listening on %s://%s", scheme, l->name);
	}
}

static void reload(srv_server *server)
{
	psg_error error = PSG_ERROR_INIT;
	srv_engine *engine = NULL;

	srv_notify("RELOADING=1");
	if (srv_engine_open(server, &engine, &error) == PSG_OK) {
		srv_engine_swap(server, engine);
		atomic_fetch_add(&server->metrics.reloads, 1);
		srv_say("the models were read again");
	} else {
		atomic_fetch_add(&server->metrics.failed_reloads, 1);
		srv_say("the models cannot be read, and those before stay: %s", error.message);
	}
	srv_notify("READY=1");
}

/* Until something wakes us, or `timeout_ms` (-1: without end) have passed. */
static void sleep_for(const srv_server *server, int timeout_ms)
{
	struct pollfd wait = { .fd = server->wake, .events = POLLIN };
	uint64_t count;

	if (poll(&wait, 1, timeout_ms) > 0 && read(server->wake, &count, sizeof(count)) < 0)
		return;
}

static void serve(srv_server *server)
{
	int interval_ms = srv_notify_interval_ms();

	while (!srv_signals_end()) {
		srv_notify("WATCHDOG=1");
		if (srv_signals_reload())
			reload(server);
		srv_engines_reap(server);
		sleep_for(server, interval_ms);
	}
}

/* --- ending --- */

/* Until no request is in flight; false: the time is over first. */
static bool wait_for_requests(const srv_server *server, int64_t until_ns)
{
	while (atomic_load(&server->metrics.in_flight) > 0) {
		if (psg_now_ns() >= until_ns)
			return false;
		(void)poll(NULL, 0, DRAIN_LOOK_MS);
		srv_notify("WATCHDOG=1");
	}
	return true;
}

/* Requests that still come on open connections are refused.  False: some are left. */
static bool drain(srv_server *server)
{
	int64_t limit_ns = (int64_t)(server->options->limits.drain_s * 1e9);
	long long left = (long long)atomic_load(&server->metrics.in_flight);

	atomic_store(&server->draining, true);
	srv_notify("STOPPING=1");
	srv_http_quiesce(server);
	if (left > 0)
		srv_say("ending: %lld request%s in flight", left, left == 1 ? " is" : "s are");
	if (wait_for_requests(server, psg_now_ns() + limit_ns))
		return true;
	srv_say("ending: %lld still are in flight, and are cancelled",
		(long long)atomic_load(&server->metrics.in_flight));
	srv_connections_cancel(&server->connections);
	return wait_for_requests(server, psg_now_ns() + CANCEL_NS);
}

/* The daemons may be stopped only when no connection is suspended. */
static void end(srv_server *server)
{
	srv_http_stop(server);
	stop_threads(server);
	srv_engine_swap(server, NULL);
	srv_engines_reap(server);
}

static psg_status live(srv_server *server, bool *no_models, psg_error *error)
{
	srv_engine *engine = NULL;
	psg_status status = srv_http_start(server, error);

	if (status == PSG_OK) {
		status = srv_engine_open(server, &engine, error);
		/* What psg_ocr_open says of them; a page may fail for other reasons. */
		*no_models =
			status == PSG_INVALID || status == PSG_FORMAT || status == PSG_UNSUPPORTED;
	}
	if (status == PSG_OK) {
		srv_engine_swap(server, engine);
		tell_addresses(server);
		srv_notify("READY=1");
		serve(server);
		/* What does not end, as a card that does not answer, ends with the process. */
		if (!drain(server)) {
			srv_say("ending without them");
			_exit(0);
		}
	} else {
		srv_http_quiesce(server);
	}
	end(server);
	return status;
}

psg_status srv_run(const srv_options *options, psg_worker *const *workers, size_t n,
		   bool *no_models, psg_error *error)
{
	srv_server *server = calloc(1, sizeof(*server));
	psg_status status = PSG_NOMEM;

	*no_models = false;
	*error = (psg_error){ PSG_NOMEM, "no memory or descriptor for the server" };
	if (server == NULL)
		return PSG_NOMEM;
	server->options = options;
	server->workers = workers;
	server->n_workers = n;
	server->started_ns = psg_now_ns();
	server->connections.read_ns = (int64_t)(options->limits.read_s * 1e9);
	server->connections.write_ns = (int64_t)(options->limits.write_s * 1e9);
	(void)pthread_mutex_init(&server->engine_lock, NULL);
	server->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (server->wake >= 0) {
		srv_signals_start(server->wake);
		status = read_secrets(server, error);
		if (status == PSG_OK)
			status = open_listeners(server, error);
		if (status == PSG_OK)
			status = start_threads(server, error);
		if (status == PSG_OK)
			status = live(server, no_models, error);
		srv_listen_close(&server->listeners);
		(void)close(server->wake);
	}
	(void)pthread_mutex_destroy(&server->engine_lock);
	free(server->tls_cert);
	free(server->tls_key);
	free(server);
	return status;
}
