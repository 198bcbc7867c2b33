/* SPDX-License-Identifier: Apache-2.0 */
/* What is counted, and Prometheus's text of it (format 0.0.4). */
#ifndef PSG_SERVER_METRICS_H
#define PSG_SERVER_METRICS_H

#include "server/route.h"

#include <pagesift/error.h>

#include <stdatomic.h>

/* HTTP's are below; 0: libmicrohttpd refused it, or the connection ended */
#define SRV_STATUSES 600

/* How a page ended, as a label. */
#define SRV_OUTCOMES(X)                                                                            \
	X(READ, "read")                                                                            \
	X(UNREADABLE, "unreadable")                                                                \
	X(TIMED_OUT, "timed_out")                                                                  \
	X(CANCELLED, "cancelled")                                                                  \
	X(FAILED, "failed")

typedef enum srv_outcome {
#define SRV_OUTCOME_ENUM(name, label) SRV_OUTCOME_##name,
	SRV_OUTCOMES(SRV_OUTCOME_ENUM)
#undef SRV_OUTCOME_ENUM
		SRV_N_OUTCOMES
} srv_outcome;

/* Seconds: from 1 ms on, each twice the one before (chosen); a last one without an end. */
#define SRV_BOUNDS 18

typedef struct srv_histogram {
	_Atomic uint64_t bucket[SRV_BOUNDS + 1], sum_ns;
} srv_histogram;

typedef struct srv_metrics {
	_Atomic uint64_t requests[SRV_N_ROUTES][SRV_STATUSES];
	srv_histogram request_seconds; /* of POST /v1/ocr: from its first line to its last byte */
	srv_histogram page_seconds;    /* of pages that were read: from submission to end */
	_Atomic uint64_t pages[SRV_N_OUTCOMES];
	_Atomic int64_t in_flight; /* requests for text */
	_Atomic uint64_t bytes_in, bytes_out;
	_Atomic int64_t page_ns;     /* mean time between the ends of pages while there are some */
	_Atomic int64_t page_end_ns; /* of the last one */
	_Atomic uint64_t reloads, failed_reloads;
} srv_metrics;

struct server;

/* A request ended. */
void srv_metrics_request(srv_metrics *metrics, srv_route_name route, unsigned status, int64_t ns);

/* A page ended, after so long. */
void srv_metrics_page(srv_metrics *metrics, psg_status how, int64_t ns);

/* When one who is refused now may try again: what is in flight, at the pace of the last pages. */
int srv_metrics_retry_after_s(const srv_metrics *metrics, int64_t pages);

/* For the caller to free(); NULL: no memory. */
char *srv_metrics_text(struct server *server, size_t *bytes);

#endif
