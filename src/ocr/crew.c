/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "ocr/crew.h"

#include "base/base.h"
#include "device/device.h"

#include <stdlib.h>
#include <string.h>

/* Of the engine's own workers; chosen: beyond so many cores a page's lines are too few. */
#define MOST_OWN 64

/* Chosen: a second GPU may have what the first had not, memory say; a third would only cost time.
 */
#define MOST_FAILURES 2

static bool is_gpu(const psg_worker *worker)
{
	return psg_worker_device(worker)->kind != PSG_DEVICE_CPU;
}

static bool is_well(const psg_worker *worker)
{
	return psg_worker_health(worker, NULL) == PSG_OK;
}

/* --- life --- */

static size_t own_workers(psg_worker *const *workers, size_t n)
{
	size_t cores = (size_t)psg_cpu_cores();
	bool gpu = false;

	for (size_t i = 0; i < n; i++)
		gpu = gpu || is_gpu(workers[i]);
	return !gpu ? 0 : cores < MOST_OWN ? cores : MOST_OWN;
}

psg_status psgi_crew_init(psgi_crew *crew, psg_worker *const *workers, size_t n, bool no_fallback,
			  psg_error *error)
{
	memset(crew, 0, sizeof(*crew));
	if (pthread_mutex_init(&crew->lock, NULL) != 0)
		return psgi_fail(error, PSG_NOMEM, "no memory for a lock");
	crew->most_own = no_fallback ? 0 : own_workers(workers, n);
	crew->given = calloc(n + crew->most_own + 1, sizeof(psg_worker *));
	if (crew->given == NULL) {
		(void)pthread_mutex_destroy(&crew->lock);
		return psgi_fail(error, PSG_NOMEM, "no memory for an engine of %zu workers", n);
	}
	memcpy(crew->given, workers, n * sizeof(psg_worker *));
	crew->n_given = n;
	crew->own = crew->given + n;
	return PSG_OK;
}

void psgi_crew_free(psgi_crew *crew)
{
	if (crew->given == NULL)
		return;
	for (size_t i = 0; i < atomic_load_explicit(&crew->n_own, memory_order_acquire); i++)
		psg_worker_close(crew->own[i]);
	(void)pthread_mutex_destroy(&crew->lock);
	free(crew->given);
	crew->given = NULL;
}

/* --- as things are --- */

size_t psgi_crew_width(const psgi_crew *crew)
{
	size_t n = 0;

	for (size_t i = 0; i < crew->n_given; i++)
		n += is_well(crew->given[i]);
	if (n > 0)
		return n;
	return crew->most_own > 0 ? crew->most_own : crew->n_given;
}

size_t psgi_crew_gpus(const psgi_crew *crew)
{
	size_t n = 0;

	for (size_t i = 0; i < crew->n_given; i++)
		n += is_gpu(crew->given[i]) && is_well(crew->given[i]);
	return n;
}

bool psgi_crew_lost(const psgi_crew *crew, psg_error *why)
{
	for (size_t i = 0; i < crew->n_given; i++)
		if (psg_worker_health(crew->given[i], why) != PSG_OK)
			return true;
	return false;
}

bool psgi_crew_may_move(const psgi_crew *crew, const psg_worker *worker, psg_status status)
{
	return crew->most_own > 0 && is_gpu(worker) && psgi_device_failed(status);
}

/* --- submitting --- */

/* The untried worker with the least waiting, which is tried then; NULL: all are. */
static psg_worker *least_loaded(psg_worker *const *workers, size_t n, bool *tried)
{
	uint64_t least = UINT64_MAX;
	size_t best = SIZE_MAX;

	for (size_t i = 0; i < n; i++) {
		uint64_t load = tried[i] ? UINT64_MAX : psgi_worker_load(workers[i]);

		if (!tried[i] && (best == SIZE_MAX || load < least)) {
			best = i;
			least = load;
		}
	}
	if (best == SIZE_MAX)
		return NULL;
	tried[best] = true;
	return workers[best];
}

/* SHUTDOWN when there is none to try, too. */
static psg_status try_all(psg_worker *const *workers, size_t n, bool *tried,
			  const psgi_errand *errand, const psg_worker **who, psg_future **out,
			  psg_error *error)
{
	psg_tensor *input = errand->input;
	psg_status status = PSG_OK;
	psg_worker *worker;
	bool full = false;

	while ((worker = least_loaded(workers, n, tried)) != NULL) {
		status = psg_submit_model(worker, errand->model, &input, 1, &errand->options, out,
					  error);
		if (status == PSG_OK)
			*who = worker;
		full = full || status == PSG_FULL;
		if (status != PSG_FULL && status != PSG_SHUTDOWN)
			return status;
	}
	if (full)
		return PSG_FULL;
	return psgi_fail(error, PSG_SHUTDOWN, "no worker takes more jobs");
}

static psg_status try_given(const psgi_crew *crew, const psgi_errand *errand, bool *tried,
			    const psg_worker **who, psg_future **out, psg_error *error)
{
	for (size_t i = 0; i < crew->n_given; i++)
		tried[i] = !is_well(crew->given[i]) || crew->given[i] == errand->failed ||
			   errand->failures >= MOST_FAILURES;
	return try_all(crew->given, crew->n_given, tried, errand, who, out, error);
}

/* One more, unless another thread has just opened the `n`-th. */
static psg_status open_own(psgi_crew *crew, size_t n, psg_error *error)
{
	psg_status status = PSG_OK;

	(void)pthread_mutex_lock(&crew->lock);
	if (atomic_load_explicit(&crew->n_own, memory_order_relaxed) == n) {
		status = psg_worker_open("cpu:1", NULL, &crew->own[n], error);
		if (status == PSG_OK)
			atomic_store_explicit(&crew->n_own, n + 1, memory_order_release);
	}
	(void)pthread_mutex_unlock(&crew->lock);
	return status;
}

static bool all_have_work(psg_worker *const *workers, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (psgi_worker_load(workers[i]) == 0)
			return false;
	return true;
}

static psg_status try_own(psgi_crew *crew, const psgi_errand *errand, bool *tried,
			  const psg_worker **who, psg_future **out, psg_error *error)
{
	size_t n = atomic_load_explicit(&crew->n_own, memory_order_acquire);
	psg_status status = PSG_OK;

	if (n < crew->most_own && all_have_work(crew->own, n))
		status = open_own(crew, n, error);
	if (status != PSG_OK && n == 0)
		return status;
	n = atomic_load_explicit(&crew->n_own, memory_order_acquire);
	memset(tried, 0, n * sizeof(*tried));
	return try_all(crew->own, n, tried, errand, who, out, error);
}

psg_status psgi_crew_submit(psgi_crew *crew, const psgi_errand *errand, bool *tried,
			    const psg_worker **who, psg_future **out, psg_error *error)
{
	psg_status status = try_given(crew, errand, tried, who, out, error);
	bool refuse = true;

	if (status != PSG_SHUTDOWN)
		return status;
	/* They are lost or have failed it, or were told to take no more, which is for all. */
	for (size_t i = 0; i < crew->n_given; i++)
		refuse = refuse && psgi_worker_refuses(crew->given[i]);
	if (refuse)
		return status;
	if (crew->most_own > 0)
		return try_own(crew, errand, tried, who, out, error);
	memset(tried, 0, crew->n_given * sizeof(*tried)); /* it ends as a lost device lets it */
	return try_all(crew->given, crew->n_given, tried, errand, who, out, error);
}
