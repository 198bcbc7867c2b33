/* SPDX-License-Identifier: Apache-2.0 */
/* A request, from its first line until its reply has gone. */
#ifndef PSG_SERVER_REQUEST_H
#define PSG_SERVER_REQUEST_H

#include "server/body.h"
#include "server/route.h"
#include "server/work.h"

#define SRV_PATH_SHOWN 256 /* bytes of a path in the log (chosen) */

typedef struct srv_request {
	srv_server *server;
	struct MHD_Connection *connection;
	srv_connection *client;
	const srv_route *route; /* NULL: there is none */
	char path[SRV_PATH_SHOWN], method[16];
	int64_t began_ns;
	bool begun;     /* its head has come */
	bool has_body;  /* as its head says */
	bool refused;   /* `problem` is the reply */
	bool in_flight; /* counted as such */
	bool waited;    /* its pages have ended: `work` is done */
	atomic_bool left;
	srv_problem problem;

	/* Of one for text. */
	srv_body body;
	srv_work work;
	double timeout_s; /* 0: the default */

	/* Of its reply. */
	unsigned status; /* 0: there is none */
	size_t bytes;
} srv_request;

/* A header of the request; NULL: it has none. */
const char *srv_request_header(const srv_request *request, const char *name);

/* Refuses it; returns false. */
bool srv_refuse(srv_request *request, srv_problem_kind kind, const char *format, ...)
	PSG_PRINTF(3, 4);

/* --- framing.c: where a request's body ends --- */

/* False, and refused: its head could be read in two ways, so that somebody before us may have seen
 * other requests than we do. */
bool srv_check_framing(srv_request *request, const char *version);

/* --- reply.c --- */

typedef struct srv_reply {
	unsigned status;
	const char *type;
	char *body; /* of malloc(), taken over; NULL: no memory, and the connection ends */
	size_t bytes;
	const char *header[3][2]; /* more of them: name and value */
} srv_reply;

enum MHD_Result srv_send(srv_request *request, const srv_reply *reply);
enum MHD_Result srv_send_problem(srv_request *request, const srv_problem *problem);

/* --- what routes do --- */

/* ocr.c: from the head; false: refused. */
bool srv_ocr_begin(srv_request *request);
enum MHD_Result srv_ocr_answer(srv_request *request);
/* info.c */
enum MHD_Result srv_healthz_answer(srv_request *request);
enum MHD_Result srv_readyz_answer(srv_request *request);
enum MHD_Result srv_info_answer(srv_request *request);
enum MHD_Result srv_metrics_answer(srv_request *request);
/* page.c */
enum MHD_Result srv_page_answer(srv_request *request);

#endif
