/* SPDX-License-Identifier: Apache-2.0 */
/* What the executor's thread may ask in the middle of a worker's turn. */
#ifndef PSG_JOBS_SERVE_H
#define PSG_JOBS_SERVE_H

#include "jobs/worker.h"

/* Has any other worker of the device something to run? */
bool psgi_serve_has_others(psgi_executor *executor, const psg_worker *worker);

/* Sleeps until there may be news for any worker, at the latest until then; reads the clock. */
void psgi_serve_await(psgi_executor *executor, int64_t until_ns);

#endif
