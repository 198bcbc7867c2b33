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

/* A GPU has one line done about as fast as twenty; several cores have more to share in a few lines
 * than in one (measured: two, 27 % in eight); one core gains nothing that it would not wait for. */
static bool gains_by_batches(const psg_worker *worker)
{
	return is_gpu(worker) || psg_worker_device(worker)->threads > 1;
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

static psg_status open_batchers(psgi_crew *crew, size_t worker, psg_error *error)
{
	psg_status status = PSG_OK;

	if (!gains_by_batches(crew->given[worker]))
		return PSG_OK;
	for (size_t i = 0; i < PSGI_CREW_MODELS && status == PSG_OK; i++)
		if (crew->models[i] != NULL)
			status = psg_batcher_open(crew->given[worker], crew->models[i], NULL,
						  &crew->batchers[worker][i], error);
	return status;
}

psg_status psgi_crew_batch(psgi_crew *crew, psg_model *const *models, size_t n, psg_error *error)
{
	psg_status status = PSG_OK;

	for (size_t i = 0; i < n; i++)
		crew->models[i] = models[i];
	crew->batchers = calloc(crew->n_given, sizeof(*crew->batchers));
	if (crew->batchers == NULL)
		return psgi_fail(error, PSG_NOMEM, "no memory for batches of %zu workers",
				 crew->n_given);
	for (size_t i = 0; i < crew->n_given && status == PSG_OK; i++)
		status = open_batchers(crew, i, error);
	return status;
}

void psgi_crew_free(psgi_crew *crew)
{
	if (crew->given == NULL)
		return;
	for (size_t i = 0; crew->batchers != NULL && i < crew->n_given; i++)
		for (size_t k = 0; k < PSGI_CREW_MODELS; k++)
			psg_batcher_close(crew->batchers[i][k]);
	free(crew->batchers);
	crew->batchers = NULL;
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

/* One that runs and one that is next; more would only keep other pages' jobs waiting.  Of samples
 * some batches, or a batch from one page would be a small one.  Chosen. */
static size_t room_of(const psg_worker *worker, bool batched)
{
	return !batched                   ? 2
	       : is_gpu(worker)           ? PSGI_CREW_GPU_JOBS
	       : gains_by_batches(worker) ? 8
					  : 2;
}

size_t psgi_crew_room(const psgi_crew *crew, bool batched)
{
	size_t room = 0;

	for (size_t i = 0; i < crew->n_given; i++)
		room += is_well(crew->given[i]) ? room_of(crew->given[i], batched) : 0;
	return room > 0 ? room : 2 * psgi_crew_width(crew);
}

size_t psgi_crew_most_room(const psgi_crew *crew)
{
	size_t room = 0;

	for (size_t i = 0; i < crew->n_given; i++)
		room += room_of(crew->given[i], true);
	return room > 2 * crew->most_own ? room : 2 * crew->most_own;
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

/* The untried worker with the least waiting, which is tried then; `n`: all are. */
static size_t least_loaded(psg_worker *const *workers, size_t n, bool batched, bool *tried)
{
	double least = 0;
	size_t best = n;

	for (size_t i = 0; i < n; i++) {
		double load = tried[i] ? 0
				       : (double)psgi_worker_load(workers[i]) /
						 (double)room_of(workers[i], batched);

		if (!tried[i] && (best == n || load < least)) {
			best = i;
			least = load;
		}
	}
	if (best < n)
		tried[best] = true;
	return best;
}

/* Of these workers; `batchers` NULL: they have none. */
struct hands {
	psg_worker *const *workers;
	psg_batcher *(*batchers)[PSGI_CREW_MODELS];
	size_t n;
};

/* NULL: its jobs are not samples of batches there. */
static psg_batcher *batcher_for(const psgi_crew *crew, const struct hands *hands, size_t worker,
				const psg_model *model)
{
	for (size_t i = 0; hands->batchers != NULL && i < PSGI_CREW_MODELS; i++)
		if (crew->models[i] == model)
			return hands->batchers[worker][i];
	return NULL;
}

static bool is_batched(const psgi_crew *crew, const psg_model *model)
{
	bool found = false;

	for (size_t i = 0; i < PSGI_CREW_MODELS; i++)
		found = found || crew->models[i] == model;
	return found;
}

static psg_status try_one(psg_worker *worker, psg_batcher *batcher, const psgi_errand *errand,
			  psg_future **out, psg_error *error)
{
	psg_tensor *input = errand->input;

	if (batcher != NULL)
		return psg_batcher_submit(batcher, input, &errand->options, out, error);
	return psg_submit_model(worker, errand->model, &input, 1, &errand->options, out, error);
}

/* SHUTDOWN when there is none to try, too. */
static psg_status try_all(const psgi_crew *crew, const struct hands *hands, bool *tried,
			  const psgi_errand *errand, const psg_worker **who, psg_future **out,
			  psg_error *error)
{
	bool batched = is_batched(crew, errand->model), full = false;
	psg_status status;
	size_t i;

	while ((i = least_loaded(hands->workers, hands->n, batched, tried)) < hands->n) {
		status = try_one(hands->workers[i], batcher_for(crew, hands, i, errand->model),
				 errand, out, error);
		if (status == PSG_OK)
			*who = hands->workers[i];
		full = full || status == PSG_FULL;
		if (status != PSG_FULL && status != PSG_SHUTDOWN)
			return status;
	}
	if (full)
		return PSG_FULL;
	return psgi_fail(error, PSG_SHUTDOWN, "no worker takes more jobs");
}

static struct hands given_hands(const psgi_crew *crew)
{
	return (struct hands){ crew->given, crew->batchers, crew->n_given };
}

static psg_status try_given(const psgi_crew *crew, const psgi_errand *errand, bool *tried,
			    const psg_worker **who, psg_future **out, psg_error *error)
{
	const struct hands hands = given_hands(crew);

	for (size_t i = 0; i < crew->n_given; i++)
		tried[i] = !is_well(crew->given[i]) || crew->given[i] == errand->failed ||
			   errand->failures >= MOST_FAILURES;
	return try_all(crew, &hands, tried, errand, who, out, error);
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
	struct hands hands = { crew->own, NULL, 0 };
	psg_status status = PSG_OK;

	if (n < crew->most_own && all_have_work(crew->own, n))
		status = open_own(crew, n, error);
	if (status != PSG_OK && n == 0)
		return status;
	n = atomic_load_explicit(&crew->n_own, memory_order_acquire);
	memset(tried, 0, n * sizeof(*tried));
	hands.n = n;
	return try_all(crew, &hands, tried, errand, who, out, error);
}

psg_status psgi_crew_submit(psgi_crew *crew, const psgi_errand *errand, bool *tried,
			    const psg_worker **who, psg_future **out, psg_error *error)
{
	psg_status status = try_given(crew, errand, tried, who, out, error);
	const struct hands hands = given_hands(crew);
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
	return try_all(crew, &hands, tried, errand, who, out, error);
}
