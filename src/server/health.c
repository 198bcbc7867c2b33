/* SPDX-License-Identifier: Apache-2.0 */
/* Whether requests for text can be served. */
#include "config.h"

#include "server/inner.h"

#include <stdio.h>

/* OK when one of the workers is well; else what is wrong with the first. */
static psg_status workers_health(const srv_server *server, psg_error *error)
{
	psg_error one = PSG_ERROR_INIT;

	for (size_t i = 0; i < server->n_workers; i++) {
		if (psg_worker_health(server->workers[i], &one) == PSG_OK)
			return PSG_OK;
		if (i == 0)
			*error = one;
	}
	return error->code;
}

psg_status srv_ready(srv_server *server, psg_error *error)
{
	bool open;

	if (atomic_load(&server->draining)) {
		*error = (psg_error){ PSG_SHUTDOWN, "the server ends" };
		return PSG_SHUTDOWN;
	}
	(void)pthread_mutex_lock(&server->engine_lock);
	open = server->engine != NULL;
	(void)pthread_mutex_unlock(&server->engine_lock);
	if (!open) {
		*error = (psg_error){ PSG_FULL, "the models are being read" };
		return PSG_FULL;
	}
	/* The CPU reads on where it may. */
	*error = (psg_error)PSG_ERROR_INIT;
	if (!server->options->ocr.no_fallback)
		return PSG_OK;
	return workers_health(server, error);
}
