/* SPDX-License-Identifier: Apache-2.0 */
/* POST /v1/ocr: what is asked for, waiting, and the answer. */
#include "config.h"

#include "server/document.h"
#include "server/request.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- what is asked for --- */

static bool set_format(srv_request *request, const char *name)
{
	request->work.format = srv_format_of(name);
	return request->work.format != SRV_N_FORMATS ||
	       srv_refuse(request, SRV_BAD_REQUEST,
			  "format '%.40s': the formats are json, text, tsv and hocr", name);
}

/* `unit` seconds each. */
static bool set_timeout(srv_request *request, const char *name, const char *text, double unit)
{
	char *end;
	double value = strtod(text, &end) * unit;

	if (end == text || *end != '\0' || !isfinite(value) || value <= 0)
		return srv_refuse(request, SRV_BAD_REQUEST, "%s '%.40s' is no number of %s", name,
				  text, unit < 1 ? "milliseconds" : "seconds");
	request->timeout_s = value;
	return true;
}

static enum MHD_Result take_argument(void *user, enum MHD_ValueKind kind, const char *name,
				     const char *value)
{
	srv_request *request = user;
	bool good;

	(void)kind;
	if (strcmp(name, "format") == 0)
		good = set_format(request, value != NULL ? value : "");
	else if (strcmp(name, "timeout") == 0)
		good = set_timeout(request, "timeout", value != NULL ? value : "", 0.001);
	else
		good = srv_refuse(request, SRV_BAD_REQUEST,
				  "'%.40s' is no parameter: these are format and timeout", name);
	return good ? MHD_YES : MHD_NO;
}

static bool read_wishes(srv_request *request)
{
	const char *timeout = srv_request_header(request, "Request-Timeout");

	request->work.format = SRV_N_FORMATS;
	if (timeout != NULL && !set_timeout(request, "Request-Timeout", timeout, 1))
		return false;
	(void)MHD_get_connection_values(request->connection, MHD_GET_ARGUMENT_KIND, take_argument,
					request);
	if (request->refused || request->work.format != SRV_N_FORMATS)
		return !request->refused;
	request->work.format =
		srv_format_accepted(srv_request_header(request, MHD_HTTP_HEADER_ACCEPT));
	return request->work.format != SRV_N_FORMATS ||
	       srv_refuse(request, SRV_NOT_ACCEPTABLE,
			  "the types are application/json, text/plain, text/tab-separated-values "
			  "and text/html (hOCR)");
}

/* A form's fields are read last. */
static bool read_fields(srv_request *request)
{
	const srv_body *body = &request->body;

	return (body->format == NULL || set_format(request, body->format)) &&
	       (body->timeout == NULL || set_timeout(request, "timeout", body->timeout, 0.001));
}

/* --- room --- */

static bool enter(srv_request *request)
{
	srv_server *server = request->server;
	int64_t most = server->options->limits.requests,
		before = atomic_fetch_add(&server->metrics.in_flight, 1);

	request->in_flight = true;
	if (before < most)
		return true;
	(void)srv_refuse(request, SRV_BUSY, "%lld requests are being read, which is all at a time",
			 (long long)most);
	request->problem.code = PSG_FULL;
	request->problem.retry_after_s = srv_metrics_retry_after_s(&server->metrics, before);
	return false;
}

static bool check_ready(srv_request *request)
{
	psg_error error = PSG_ERROR_INIT;

	if (srv_ready(request->server, &error) == PSG_OK)
		return true;
	srv_problem_of(&error, &request->problem);
	request->problem.kind = SRV_UNAVAILABLE;
	request->refused = true;
	return false;
}

bool srv_ocr_begin(srv_request *request)
{
	if (!read_wishes(request) || !check_ready(request) || !enter(request))
		return false;
	if (srv_body_begin(&request->body, request->server, request->connection))
		return true;
	request->problem = request->body.problem;
	request->refused = true;
	return false;
}

/* --- waiting --- */

/* On the watching thread, or the main one. */
static void cancel(void *user, bool left)
{
	srv_request *request = user;

	if (left)
		atomic_store(&request->left, true);
	srv_work_cancel(&request->work);
}

/* On a clerk's thread: nobody cancels after the first line, and the second may end the request. */
static void pages_ended(void *user)
{
	srv_request *request = user;

	srv_connection_enter(&request->server->connections, request->client, SRV_WRITING);
	MHD_resume_connection(request->connection);
}

static int64_t deadline_of(const srv_request *request)
{
	const srv_limits *limits = &request->server->options->limits;
	double seconds = request->timeout_s > 0 ? request->timeout_s : limits->timeout_s;

	if (seconds > limits->max_timeout_s)
		seconds = limits->max_timeout_s;
	return psg_now_ns() + (int64_t)(seconds * 1e9);
}

/* Suspended first: the pages may have ended before the last line. */
static enum MHD_Result wait_for_pages(srv_request *request)
{
	srv_work *work = &request->work;

	work->server = request->server;
	work->body = &request->body;
	work->deadline_ns = deadline_of(request);
	request->waited = true;
	MHD_suspend_connection(request->connection);
	srv_connection_wait(&request->server->connections, request->client, cancel, request);
	srv_work_start(work, pages_ended, request);
	return MHD_YES;
}

static enum MHD_Result answer(srv_request *request)
{
	const srv_work *work = &request->work;
	srv_reply reply = { .status = 200,
			    .type = srv_format_type(work->format),
			    .body = work->text,
			    .bytes = work->bytes };

	if (atomic_load(&request->left))
		return MHD_NO;
	if (work->text == NULL)
		return srv_send_problem(request, &work->problem);
	request->work.text = NULL;
	return srv_send(request, &reply);
}

enum MHD_Result srv_ocr_answer(srv_request *request)
{
	if (request->waited)
		return answer(request);
	if (!srv_body_end(&request->body)) {
		request->problem = request->body.problem;
		request->refused = true;
	}
	if (request->refused || !read_fields(request))
		return srv_send_problem(request, &request->problem);
	return wait_for_pages(request);
}
