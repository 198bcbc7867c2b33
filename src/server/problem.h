/* SPDX-License-Identifier: Apache-2.0 */
/* What goes wrong with a request, as HTTP tells it: a status, and RFC 9457's problem details. */
#ifndef PSG_SERVER_PROBLEM_H
#define PSG_SERVER_PROBLEM_H

#include <pagesift/error.h>

#define SRV_PROBLEM_TYPE "application/problem+json"

/* X(name, status, the end of its type, title) */
#define SRV_PROBLEMS(X)                                                                            \
	X(BAD_REQUEST, 400, "bad-request", "The request cannot be understood")                     \
	X(UNAUTHORIZED, 401, "unauthorized", "A token is needed")                                  \
	X(NOT_FOUND, 404, "not-found", "There is nothing here")                                    \
	X(METHOD, 405, "method-not-allowed", "Not with this method")                               \
	X(NOT_ACCEPTABLE, 406, "not-acceptable", "Nothing that is accepted can be given")          \
	X(TOO_LARGE, 413, "too-large", "The request is too large")                                 \
	X(NOT_AN_IMAGE, 415, "not-an-image", "Not an image")                                       \
	X(UNREADABLE, 422, "unreadable-image", "The image cannot be read")                         \
	X(BUSY, 429, "busy", "Too many requests at a time")                                        \
	X(FAILED, 500, "failed", "The server failed")                                              \
	X(UNAVAILABLE, 503, "unavailable", "The server cannot do this now")                        \
	X(LATE, 504, "timed-out", "The time was too short")                                        \
	X(NO_MEMORY, 507, "out-of-memory", "Memory is too short for this")

typedef enum srv_problem_kind {
#define SRV_PROBLEM_ENUM(name, status, slug, title) SRV_##name,
	SRV_PROBLEMS(SRV_PROBLEM_ENUM)
#undef SRV_PROBLEM_ENUM
} srv_problem_kind;

typedef struct srv_problem {
	srv_problem_kind kind;
	psg_status code; /* PSG_OK: it is not the library's */
	char detail[PSG_ERROR_MESSAGE_SIZE];
	int retry_after_s; /* 0: not said */
} srv_problem;

void srv_problem_set(srv_problem *problem, srv_problem_kind kind, const char *format, ...)
	PSG_PRINTF(3, 4);

/* Of a page that ended with it. */
void srv_problem_of(const psg_error *error, srv_problem *problem);

unsigned srv_problem_status(const srv_problem *problem);

/* The body, for the caller to free(); NULL: no memory. */
char *srv_problem_text(const srv_problem *problem, size_t *bytes);

#endif
