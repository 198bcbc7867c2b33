/* SPDX-License-Identifier: Apache-2.0 */
/* pagesift-gpu serve: the command line of the server. */
#include "config.h"

#include "cli/options.h"
#include "cli/workers.h"

#if HAVE_MICROHTTPD

#include "server/server.h"

#include <ctype.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct values {
	srv_options server;
	const char *listen[SRV_LISTENERS];
	const char *device, *models;
	int64_t jobs, limit_side, max_pixels;
	int log; /* of `logs` */
} values;

#define FIELD(member) .field = offsetof(values, member)
#define LIMIT(member) .field = offsetof(values, server.limits.member)

enum { LOG_QUIET, LOG_REQUESTS };
static const char *const logs[] = { "quiet", "requests", NULL };

/* --- values of our own kinds --- */

/* The field is `listen`; what the address means, the server says. */
static bool parse_listen(const cli_option *option, const char *text, void *field, char *wanted,
			 size_t size)
{
	const char **list = field;
	size_t n = 0;

	(void)option;
	while (n < SRV_LISTENERS && list[n] != NULL)
		n++;
	(void)snprintf(wanted, size, "one of the first %d addresses", SRV_LISTENERS);
	if (n == SRV_LISTENERS || text[0] == '\0')
		return false;
	list[n] = text;
	return true;
}

/* A number of bytes: 64M, 512k, 1G (of 1024). */
static bool parse_bytes(const cli_option *option, const char *text, void *field, char *wanted,
			size_t size)
{
	static const char units[] = "kmgt";
	char *end;
	double value = strtod(text, &end);
	const char *unit = *end != '\0' ? strchr(units, tolower((unsigned char)*end)) : NULL;

	(void)snprintf(wanted, size, "a number of bytes from %.0f to %.0f, as 1048576, 64M or 1G",
		       option->least, option->most);
	if (unit != NULL) {
		for (const char *at = units; at <= unit; at++)
			value *= 1024;
		end++;
	}
	if (end == text || *end != '\0' || !(value >= option->least && value <= option->most))
		return false;
	*(int64_t *)field = (int64_t)value;
	return true;
}

/* --- the table --- */

static const cli_option options[] = {
	{ 'l', "listen", "ADDRESS",
	  "IP:PORT, [IPV6]:PORT (port 0: any that is free) or unix:PATH; may be given several "
	  "times; "
	  "default: sockets of systemd, else " SRV_LISTEN_DEFAULT,
	  FIELD(listen), .parse = parse_listen },
	{ 'j', "jobs", "N", "workers, which share the cores; default: one a core", FIELD(jobs),
	  .parse = cli_parse_int, .least = 1, .most = CLI_MAX_WORKERS },
	CLI_OPTION_DEVICE(values, device),
	CLI_OPTION_MODELS(values, models),
	{ 0, "no-fallback", NULL,
	  "when a GPU fails, fail its pages instead of reading them with the CPU",
	  .field = offsetof(values, server.ocr.no_fallback) },
	{ 0, "no-direction", NULL, "do not look for lines that stand on their head",
	  .field = offsetof(values, server.ocr.no_direction) },
	{ 0, "limit-side", "PIXELS",
	  "shrink pages to this longest side to find lines; default: 960", FIELD(limit_side),
	  .parse = cli_parse_int, .least = 32, .most = 8192 },
	{ 't', "timeout", "SECONDS", "of a request that names none; default: 30", LIMIT(timeout_s),
	  .parse = cli_parse_real, .least = 0.001, .most = 1e6 },
	{ 0, "max-timeout", "SECONDS", "the most that a request gets; default: 300",
	  LIMIT(max_timeout_s), .parse = cli_parse_real, .least = 0.001, .most = 1e6 },
	{ 0, "max-requests", "N", "requests for text at a time, others get 429; default: 64",
	  LIMIT(requests), .parse = cli_parse_int, .least = 1, .most = 10000 },
	{ 0, "max-body", "BYTES", "of a request; default: 64M", LIMIT(body_bytes),
	  .parse = parse_bytes, .least = 1024, .most = 2147483648.0 },
	{ 0, "max-memory-bodies", "BYTES", "of all requests together; default: 512M",
	  LIMIT(bodies_bytes), .parse = parse_bytes, .least = 1024, .most = 1e15 },
	{ 0, "max-pages", "N", "of a request; default: 256", LIMIT(pages), .parse = cli_parse_int,
	  .least = 1, .most = 65535 },
	{ 0, "max-pixels", "N", "of a page; default: 100000000", FIELD(max_pixels),
	  .parse = cli_parse_int, .least = 1, .most = 1e12 },
	{ 0, "max-connections", "N", "of each address that is listened on; default: 1000",
	  LIMIT(connections), .parse = cli_parse_int, .least = 1, .most = 1e6 },
	{ 0, "max-per-ip", "N", "connections of one client's address; default: 0, no limit",
	  LIMIT(per_address), .parse = cli_parse_int, .least = 0, .most = 1e6 },
	{ 0, "connection-memory", "BYTES", "of a connection: a head has to fit; default: 32k",
	  LIMIT(header_bytes), .parse = parse_bytes, .least = 4096, .most = 1048576 },
	{ 0, "request-read-timeout", "SECONDS", "for a request to come in full; default: 60",
	  LIMIT(read_s), .parse = cli_parse_real, .least = 0.1, .most = 1e6 },
	{ 0, "reply-write-timeout", "SECONDS", "for a reply to be taken in full; default: 60",
	  LIMIT(write_s), .parse = cli_parse_real, .least = 0.1, .most = 1e6 },
	{ 0, "idle-timeout", "SECONDS",
	  "for a connection on which nothing moves, in whole seconds; default: 30", LIMIT(idle_s),
	  .parse = cli_parse_real, .least = 1, .most = 1e6 },
	{ 0, "drain-timeout", "SECONDS",
	  "for requests in flight when the server is to end; default: 30", LIMIT(drain_s),
	  .parse = cli_parse_real, .least = 0, .most = 1e6 },
	{ 0, "token-file", "FILE",
	  "tokens, one a line: requests need one of them in Authorization: Bearer TOKEN",
	  .field = offsetof(values, server.token_file), .parse = cli_parse_text },
	{ 0, "tls-cert", "FILE", "certificate chain in PEM: serve https",
	  .field = offsetof(values, server.tls_cert), .parse = cli_parse_text },
	{ 0, "tls-key", "FILE", "its key in PEM", .field = offsetof(values, server.tls_key),
	  .parse = cli_parse_text },
	{ 0, "log", "WHAT", "quiet (default) or requests: a line for each on standard error",
	  FIELD(log), .parse = cli_parse_choice, .choices = logs },
	{ 0, "log-json", NULL, "requests' lines as JSON",
	  .field = offsetof(values, server.log_json) },
};

static const cli_usage usage = {
	.command = "serve",
	.operands = "",
	.about = "Serves pages' text over HTTP:\n\n"
		 "  POST /v1/ocr   an image, or a form (multipart/form-data) of several;\n"
		 "                 ?format=json|text|tsv|hocr and ?timeout=MILLISECONDS\n"
		 "  GET /          a page to try it with, in a browser\n"
		 "  GET /healthz, /readyz, /metrics (Prometheus), /v1/info",
	.options = options,
	.n_options = sizeof(options) / sizeof(options[0]),
	.notes =
		"SIGTERM ends it when what is in flight is done, a second one at once; SIGHUP "
		"reads the\nmodels again.  Exit status: 0 it was ended, 1 it cannot serve, 2 wrong "
		"usage, 3 no\nmodels.\n\n"
		"  " PACKAGE_NAME " serve --listen 127.0.0.1:8080\n"
		"  curl --data-binary @page.png http://127.0.0.1:8080/v1/ocr?format=text\n"
		"  curl -F a=@one.png -F b=@two.tif http://127.0.0.1:8080/v1/ocr",
};

/* --- running --- */

static void tell_device(const cli_workers *workers)
{
	const psg_device_info *info = psg_worker_device(workers->at[0]);

	cli_note("%zu worker%s on %s (%s)%s%s", workers->n, workers->n == 1 ? "" : "s, each",
		 info->name, info->detail, info->fallback[0] != '\0' ? "; no GPU: " : "",
		 info->fallback);
}

static cli_exit serve(values *v)
{
	psg_error error = PSG_ERROR_INIT;
	cli_workers workers;
	bool no_models = false;
	psg_status status;
	size_t wanted = v->jobs > 0 ? (size_t)v->jobs : (size_t)cli_device_cores(v->device);

	if (cli_workers_open(v->device, wanted, &workers, &error) != PSG_OK) {
		cli_error("%s", error.message);
		return error.code == PSG_INVALID ? CLI_USAGE : CLI_FAILED;
	}
	tell_device(&workers);
	status = srv_run(&v->server, workers.at, workers.n, &no_models, &error);
	cli_workers_close(&workers);
	if (status == PSG_OK)
		return CLI_OK;
	cli_error("%s", error.message);
	return no_models ? CLI_NO_MODELS : CLI_FAILED;
}

cli_exit cli_serve(int argc, char **argv)
{
	values v = { .device = "auto", .max_pixels = 100000000 };
	cli_exit result;
	int n;

	v.server.limits = (srv_limits){
		.body_bytes = INT64_C(64) << 20,
		.bodies_bytes = INT64_C(512) << 20,
		.requests = 64,
		.pages = 256,
		.connections = 1000,
		.header_bytes = 32 << 10,
		.timeout_s = 30,
		.max_timeout_s = 300,
		.read_s = 60,
		.write_s = 60,
		.idle_s = 30,
		.drain_s = 30,
	};
	if (!cli_options_read(&usage, argc, argv, &v, &n, &result))
		return result;
	if (n > 0)
		return cli_usage_error(&usage, "it takes no operands, but '%s'", argv[1]);
	if ((v.server.tls_cert == NULL) != (v.server.tls_key == NULL))
		return cli_usage_error(&usage, "--tls-cert and --tls-key need each other");
	v.server.listen = v.listen;
	while (v.server.n_listen < SRV_LISTENERS && v.listen[v.server.n_listen] != NULL)
		v.server.n_listen++;
	v.server.log_requests = v.log == LOG_REQUESTS || v.server.log_json;
	v.server.ocr.models_dir = v.models;
	v.server.ocr.limit_side = (int32_t)v.limit_side;
	v.server.ocr.max_pixels = v.max_pixels;
	return serve(&v);
}

#else

cli_exit cli_serve(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	cli_error("serve: this build has no HTTP server: install libmicrohttpd (libmicrohttpd-dev) "
		  "and configure without --without-microhttpd");
	return CLI_USAGE;
}

#endif
