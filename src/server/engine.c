/* SPDX-License-Identifier: Apache-2.0 */
/* Engines: one gets the new requests; one that models were read for before ends with its last. */
#include "config.h"

#include "server/inner.h"
#include "server/warm.h"

#include <stdlib.h>
#include <unistd.h>

psg_status srv_engine_open(srv_server *server, srv_engine **out, psg_error *error)
{
	psg_ocr_options options = server->options->ocr;
	srv_engine *engine = calloc(1, sizeof(*engine));
	psg_status status;

	if (engine == NULL) {
		*error = (psg_error){ PSG_NOMEM, "no memory for an engine" };
		return PSG_NOMEM;
	}
	/* So no page of an accepted request is refused. */
	options.max_pages = (size_t)server->options->limits.requests * SRV_PAGES_AT_A_TIME;
	status = psg_ocr_open(server->workers, server->n_workers, &options, &engine->ocr, error);
	if (status == PSG_OK)
		status = srv_warm_up(engine->ocr, error);
	if (status != PSG_OK) {
		psg_ocr_close(engine->ocr);
		free(engine);
		return status;
	}
	engine->opened_ns = psg_now_ns();
	*out = engine;
	return PSG_OK;
}

srv_engine *srv_engine_hold(srv_server *server)
{
	srv_engine *engine;

	(void)pthread_mutex_lock(&server->engine_lock);
	engine = server->engine;
	if (engine != NULL)
		engine->users++;
	(void)pthread_mutex_unlock(&server->engine_lock);
	return engine;
}

/* The lock is held. */
static void drop(srv_server *server, srv_engine *engine)
{
	const uint64_t one = 1;

	if (--engine->users > 0)
		return;
	engine->next = server->idle;
	server->idle = engine;
	if (write(server->wake, &one, sizeof(one)) < 0)
		return; /* it is awake already */
}

void srv_engine_drop(srv_server *server, srv_engine *engine)
{
	(void)pthread_mutex_lock(&server->engine_lock);
	drop(server, engine);
	(void)pthread_mutex_unlock(&server->engine_lock);
}

void srv_engine_swap(srv_server *server, srv_engine *engine)
{
	(void)pthread_mutex_lock(&server->engine_lock);
	if (server->engine != NULL)
		drop(server, server->engine);
	server->engine = engine;
	if (engine != NULL)
		engine->users++;
	(void)pthread_mutex_unlock(&server->engine_lock);
}

void srv_engines_reap(srv_server *server)
{
	srv_engine *engine, *next;

	(void)pthread_mutex_lock(&server->engine_lock);
	engine = server->idle;
	server->idle = NULL;
	(void)pthread_mutex_unlock(&server->engine_lock);
	for (; engine != NULL; engine = next) {
		next = engine->next;
		psg_ocr_close(engine->ocr);
		free(engine);
	}
}
