/* SPDX-License-Identifier: Apache-2.0 */
/* Problems: their table, and their JSON. */
#include "config.h"

#include "server/problem.h"

#include "server/say.h"

#include <stdarg.h>
#include <stdlib.h>

static const struct kind {
	unsigned status;
	const char *name, *slug, *title;
} kinds[] = {
#define KIND_ROW(name, status, slug, title) { status, #name, slug, title },
	SRV_PROBLEMS(KIND_ROW)
#undef KIND_ROW
};

/* What the library's errors are to a client; those that are not here are the server's failure. */
static const struct {
	psg_status status;
	srv_problem_kind kind;
	int retry_after_s; /* chosen: what may be over by then */
} errors[] = {
	{ PSG_FORMAT, SRV_UNREADABLE, 0 },
	{ PSG_INVALID, SRV_UNREADABLE, 0 },
	{ PSG_UNSUPPORTED, SRV_NOT_AN_IMAGE, 0 },
	{ PSG_TIMED_OUT, SRV_LATE, 0 },
	{ PSG_FULL, SRV_BUSY, 1 },
	{ PSG_NOMEM, SRV_NO_MEMORY, 1 },
	{ PSG_OOM, SRV_NO_MEMORY, 1 },
	{ PSG_CANCELLED, SRV_UNAVAILABLE, 1 },
	{ PSG_SHUTDOWN, SRV_UNAVAILABLE, 1 },
	{ PSG_STALLED, SRV_UNAVAILABLE, 5 },
	{ PSG_DEVICE_LOST, SRV_UNAVAILABLE, 10 },
	{ PSG_DRIVER, SRV_UNAVAILABLE, 5 },
	{ PSG_LAUNCH, SRV_UNAVAILABLE, 5 },
	{ PSG_JIT, SRV_UNAVAILABLE, 5 },
};

void srv_problem_set(srv_problem *problem, srv_problem_kind kind, const char *format, ...)
{
	va_list args;

	problem->kind = kind;
	problem->code = PSG_OK;
	problem->retry_after_s = 0;
	va_start(args, format);
	(void)vsnprintf(problem->detail, sizeof(problem->detail), format, args);
	va_end(args);
}

void srv_problem_of(const psg_error *error, srv_problem *problem)
{
	srv_problem_set(problem, SRV_FAILED, "%s", error->message);
	problem->code = error->code;
	for (size_t i = 0; i < sizeof(errors) / sizeof(errors[0]); i++) {
		if (errors[i].status != error->code)
			continue;
		problem->kind = errors[i].kind;
		problem->retry_after_s = errors[i].retry_after_s;
	}
}

unsigned srv_problem_status(const srv_problem *problem)
{
	return kinds[problem->kind].status;
}

char *srv_problem_text(const srv_problem *problem, size_t *bytes)
{
	const struct kind *kind = &kinds[problem->kind];
	char *text = NULL;
	FILE *to = open_memstream(&text, bytes);

	if (to == NULL)
		return NULL;
	(void)fprintf(to,
		      "{\"type\":\"urn:pagesift-gpu:problem:%s\",\"title\":\"%s\",\"status\":%u,"
		      "\"detail\":",
		      kind->slug, kind->title, kind->status);
	srv_json_string(to, problem->detail);
	(void)fprintf(to, ",\"code\":\"%s\"}\n",
		      problem->code != PSG_OK ? psg_status_name(problem->code) : kind->name);
	if (fclose(to) == 0)
		return text;
	free(text);
	return NULL;
}
