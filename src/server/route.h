/* SPDX-License-Identifier: Apache-2.0 */
/* What the server has, as a table. */
#ifndef PSG_SERVER_ROUTE_H
#define PSG_SERVER_ROUTE_H

#include <stdbool.h>
#include <stddef.h>

/* X(NAME, path, method, open to those without a token, answer).  GET is HEAD, too. */
#define SRV_ROUTES(X)                                                                              \
	X(PAGE, "/", "GET", true, srv_page_answer)                                                 \
	X(OCR, "/v1/ocr", "POST", false, srv_ocr_answer)                                           \
	X(INFO, "/v1/info", "GET", false, srv_info_answer)                                         \
	X(HEALTHZ, "/healthz", "GET", true, srv_healthz_answer)                                    \
	X(READYZ, "/readyz", "GET", true, srv_readyz_answer)                                       \
	X(METRICS, "/metrics", "GET", false, srv_metrics_answer)

typedef enum srv_route_name {
#define SRV_ROUTE_ENUM(name, path, method, open, answer) SRV_ROUTE_##name,
	SRV_ROUTES(SRV_ROUTE_ENUM)
#undef SRV_ROUTE_ENUM
		SRV_ROUTE_OTHER, /* none of them */
	SRV_N_ROUTES
} srv_route_name;

typedef struct srv_route srv_route;

/* NULL: there is none. */
const srv_route *srv_route_find(const char *path);
srv_route_name srv_route_name_of(const srv_route *route); /* NULL is allowed */
const char *srv_route_path(srv_route_name name);          /* as a label: "other" */

/* "GET, HEAD", as Allow says it. */
const char *srv_route_allow(const srv_route *route);
bool srv_route_allows(const srv_route *route, const char *method);
bool srv_route_open(const srv_route *route);

#endif
