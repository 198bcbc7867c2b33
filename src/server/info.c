/* SPDX-License-Identifier: Apache-2.0 */
/* What the server tells of itself: /healthz, /readyz, /v1/info, /metrics. */
#include "config.h"

#include "server/document.h"
#include "server/request.h"
#include "server/say.h"

#include <stdlib.h>
#include <string.h>

/* A body of JSON; the reply is sent. */
static enum MHD_Result send_written(srv_request *request, FILE *to, char **text,
				    const size_t *bytes, unsigned status)
{
	srv_reply reply = { .status = status, .type = "application/json" };
	bool whole = fclose(to) == 0;

	reply.body = *text;
	reply.bytes = *bytes;
	if (whole)
		return srv_send(request, &reply);
	free(*text);
	return MHD_NO;
}

enum MHD_Result srv_healthz_answer(srv_request *request)
{
	static const char alive[] = "{\"status\":\"alive\"}\n";
	const srv_reply reply = { .status = 200,
				  .type = "application/json",
				  .body = strdup(alive),
				  .bytes = sizeof(alive) - 1 };

	return srv_send(request, &reply);
}

static void put_device(FILE *to, const psg_worker *worker)
{
	const psg_device_info *info = psg_worker_device(worker);
	psg_error error = PSG_ERROR_INIT;
	psg_status status = psg_worker_health(worker, &error);
	const char *const texts[][2] = { { "name", info->name },
					 { "detail", info->detail },
					 { "fallback", info->fallback } };

	(void)putc('{', to);
	for (size_t i = 0; i < 3; i++) {
		(void)fprintf(to, "\"%s\":", texts[i][0]);
		srv_json_string(to, texts[i][1]);
		(void)putc(',', to);
	}
	(void)fprintf(to, "\"health\":\"%s\",\"message\":", psg_status_name(status));
	srv_json_string(to, error.message);
	(void)putc('}', to);
}

static void put_devices(FILE *to, const srv_server *server)
{
	(void)fputs("\"devices\":[", to);
	for (size_t i = 0; i < server->n_workers; i++) {
		if (i > 0)
			(void)putc(',', to);
		put_device(to, server->workers[i]);
	}
	(void)putc(']', to);
}

/* What a person or a balancer looks at: also of one that is ready, whether its card is. */
enum MHD_Result srv_readyz_answer(srv_request *request)
{
	psg_error error = PSG_ERROR_INIT;
	char *text = NULL;
	size_t bytes = 0;
	FILE *to;

	if (srv_ready(request->server, &error) != PSG_OK) {
		srv_problem_of(&error, &request->problem);
		request->problem.kind = SRV_UNAVAILABLE;
		if (request->problem.retry_after_s == 0)
			request->problem.retry_after_s = 1;
		return srv_send_problem(request, &request->problem);
	}
	to = open_memstream(&text, &bytes);
	if (to == NULL)
		return MHD_NO;
	(void)fputs("{\"status\":\"ready\",", to);
	put_devices(to, request->server);
	(void)fputs("}\n", to);
	return send_written(request, to, &text, &bytes, 200);
}

static void put_models(FILE *to, const srv_server *server)
{
	static const char *const names[] = { [PSG_OCR_DETECTION] = "detection",
					     [PSG_OCR_RECOGNITION] = "recognition",
					     [PSG_OCR_DIRECTION] = "direction",
					     [PSG_OCR_DICTIONARY] = "dictionary" };

	(void)fputs("\"models\":{", to);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char *path = NULL;
		const char *base = "";

		if (psg_ocr_find(server->options->ocr.models_dir, (psg_ocr_file)i, &path, NULL) ==
		    PSG_OK)
			base = strrchr(path, '/') != NULL ? strrchr(path, '/') + 1 : path;
		(void)fprintf(to, "%s\"%s\":", i > 0 ? "," : "", names[i]);
		srv_json_string(to, base);
		free(path);
	}
	(void)fputs("},", to);
}

static void put_limits(FILE *to, const srv_server *server)
{
	const srv_limits *l = &server->options->limits;
	const struct {
		const char *name;
		double value;
	} rows[] = {
		{ "body_bytes", (double)l->body_bytes },
		{ "bodies_bytes", (double)l->bodies_bytes },
		{ "requests", (double)l->requests },
		{ "pages", (double)l->pages },
		{ "pixels", (double)server->options->ocr.max_pixels },
		{ "connections", (double)l->connections },
		{ "timeout_seconds", l->timeout_s },
		{ "max_timeout_seconds", l->max_timeout_s },
	};

	(void)fputs("\"limits\":{", to);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		(void)fprintf(to, "%s\"%s\":%.15g", i > 0 ? "," : "", rows[i].name, rows[i].value);
	(void)fputs("},", to);
}

enum MHD_Result srv_info_answer(srv_request *request)
{
	srv_server *server = request->server;
	char *text = NULL;
	size_t bytes = 0;
	FILE *to = open_memstream(&text, &bytes);

	if (to == NULL)
		return MHD_NO;
	(void)fprintf(to, "{\"version\":\"%s\",\"uptime_seconds\":%.3f,\"formats\":[",
		      psg_version(), (double)(psg_now_ns() - server->started_ns) / 1e9);
	for (size_t i = 0; i < SRV_N_FORMATS; i++)
		(void)fprintf(to, "%s\"%s\"", i > 0 ? "," : "", srv_format_name((srv_format)i));
	(void)fputs("],", to);
	put_models(to, server);
	put_limits(to, server);
	put_devices(to, server);
	(void)fputs("}\n", to);
	return send_written(request, to, &text, &bytes, 200);
}

enum MHD_Result srv_metrics_answer(srv_request *request)
{
	srv_reply reply = { .status = 200, .type = "text/plain; version=0.0.4; charset=utf-8" };

	reply.body = srv_metrics_text(request->server, &reply.bytes);
	return srv_send(request, &reply);
}
