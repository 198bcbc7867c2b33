/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process's shared workers, found by the name of their device.
 *
 * The table is not locked while a device opens, which takes seconds: others who
 * ask for the same name wait for that opening, and other devices open meanwhile.
 * Only the opened device knows its name: "auto" may have led to one that is in
 * the table, which is then used instead.
 */
#include "config.h"

#include <pagesift/shared.h>

#include "base/base.h"
#include "base/fork.h"
#include "jobs/worker.h"

#include <stdlib.h>
#include <string.h>

/* Under the table's lock, but for what is constant once it is open. */
struct psg_shared_worker {
	struct psg_shared_worker *next;
	struct table *table;
	char *asked;             /* the name that led here, in the entry that opens it */
	psgi_executor *executor; /* NULL: it opens, or failed to */
	uint32_t handles;        /* acquisitions and workers; those who wait for it to open */
	bool opening;
	psg_error failure;
};

/* Another name of an open device: what "auto" led to.  Lives as long as the entry. */
struct alias {
	struct alias *next;
	const psg_shared_worker *of;
	char *name;
};

/* A forked child makes its own: nobody can unlock the parent's. */
struct table {
	pthread_mutex_t lock;
	pthread_cond_t opened;
	uint32_t generation;
	psg_shared_worker *first;
	struct alias *aliases;
	struct table *parent; /* kept reachable */
};

static struct table first_table = { .lock = PTHREAD_MUTEX_INITIALIZER,
				    .opened = PTHREAD_COND_INITIALIZER };
static struct table *_Atomic current = &first_table;

/* This process's; NULL without memory. */
static struct table *table_get(void)
{
	struct table *table = atomic_load_explicit(&current, memory_order_acquire), *fresh;

	if (table->generation == psgi_fork_generation())
		return table;
	fresh = calloc(1, sizeof(*fresh));
	if (fresh == NULL || pthread_mutex_init(&fresh->lock, NULL) != 0 ||
	    pthread_cond_init(&fresh->opened, NULL) != 0) {
		free(fresh);
		return NULL;
	}
	fresh->generation = psgi_fork_generation();
	fresh->parent = table;
	/* Another thread of the child may have been faster. */
	if (atomic_compare_exchange_strong_explicit(&current, &table, fresh, memory_order_acq_rel,
						    memory_order_acquire))
		return fresh;
	(void)pthread_cond_destroy(&fresh->opened);
	(void)pthread_mutex_destroy(&fresh->lock);
	free(fresh);
	return table;
}

/* --- under the lock --- */

static bool is_called(const struct table *table, const psg_shared_worker *shared, const char *name)
{
	if (shared->executor == NULL)
		return strcmp(shared->asked, name) == 0;
	if (strcmp(shared->executor->info.name, name) == 0)
		return true;
	for (const struct alias *alias = table->aliases; alias != NULL; alias = alias->next)
		if (alias->of == shared && strcmp(alias->name, name) == 0)
			return true;
	return false;
}

static psg_shared_worker *find(const struct table *table, const char *name)
{
	psg_shared_worker *shared = table->first;

	while (shared != NULL && !is_called(table, shared, name))
		shared = shared->next;
	return shared;
}

static psg_shared_worker *add(struct table *table, const char *name)
{
	psg_shared_worker *shared = calloc(1, sizeof(*shared));

	if (shared == NULL || (shared->asked = strdup(name)) == NULL) {
		free(shared);
		return NULL;
	}
	shared->table = table;
	shared->opening = true;
	shared->handles = 1;
	shared->next = table->first;
	table->first = shared;
	return shared;
}

static void remove_aliases(struct table *table, const psg_shared_worker *shared)
{
	struct alias **link = &table->aliases;

	while (*link != NULL) {
		struct alias *alias = *link;

		if (alias->of != shared) {
			link = &alias->next;
			continue;
		}
		*link = alias->next;
		free(alias->name);
		free(alias);
	}
}

static void unlink_entry(struct table *table, psg_shared_worker *shared)
{
	psg_shared_worker **link = &table->first;

	while (*link != NULL && *link != shared)
		link = &(*link)->next;
	if (*link == shared)
		*link = shared->next;
	remove_aliases(table, shared);
}

/* Without memory the name will be asked for anew: one opening more. */
static void add_alias(struct table *table, const psg_shared_worker *shared, const char *name)
{
	struct alias *alias;

	if (is_called(table, shared, name))
		return;
	alias = calloc(1, sizeof(*alias));
	if (alias == NULL || (alias->name = strdup(name)) == NULL) {
		free(alias);
		return;
	}
	alias->of = shared;
	alias->next = table->aliases;
	table->aliases = alias;
}

/* --- holding --- */

static void hold(psg_shared_worker *shared)
{
	(void)pthread_mutex_lock(&shared->table->lock);
	shared->handles++;
	(void)pthread_mutex_unlock(&shared->table->lock);
}

/* The lock is not held while the thread is joined. */
static void drop(psg_shared_worker *shared)
{
	struct table *table = shared->table;
	bool last;

	(void)pthread_mutex_lock(&table->lock);
	last = --shared->handles == 0;
	if (last)
		unlink_entry(table, shared);
	(void)pthread_mutex_unlock(&table->lock);
	if (!last)
		return;
	if (shared->executor != NULL)
		psgi_executor_release(shared->executor);
	free(shared->asked);
	free(shared);
}

/* --- acquiring --- */

/* The device is open: the entry takes it, or gives way to one that has the same device. */
static psg_shared_worker *settle_open(struct table *table, psg_shared_worker *shared,
				      psgi_executor *executor)
{
	psg_shared_worker *other = table->first;

	while (other != NULL && (other->executor == NULL ||
				 strcmp(other->executor->info.name, executor->info.name) != 0))
		other = other->next;
	if (other != NULL) {
		other->handles++;
		add_alias(table, other, shared->asked);
		return other;
	}
	shared->executor = executor;
	add_alias(table, shared, shared->asked);
	return shared;
}

/* Opens what the entry is for; the caller's handle goes over to `*out`. */
static psg_status open_entry(psg_shared_worker *shared, const psg_shared_worker_options *options,
			     psg_shared_worker **out, psg_error *error)
{
	static const psg_shared_worker_options defaults;
	struct table *table = shared->table;
	psg_error failure = PSG_ERROR_INIT;
	psgi_executor *executor = NULL;
	psg_status status;

	if (options == NULL)
		options = &defaults;
	status = psgi_executor_open(shared->asked, options->name, options->open_timeout_ns,
				    &executor, &failure);
	(void)pthread_mutex_lock(&table->lock);
	if (status == PSG_OK)
		*out = settle_open(table, shared, executor);
	shared->opening = false;
	shared->failure = failure;
	if (*out != shared)
		unlink_entry(table, shared); /* nobody finds it any more; who waits holds it */
	(void)pthread_cond_broadcast(&table->opened);
	(void)pthread_mutex_unlock(&table->lock);
	if (*out == shared)
		return PSG_OK;
	if (executor != NULL)
		psgi_executor_release(executor);
	drop(shared);
	if (status != PSG_OK && error != NULL)
		*error = failure;
	return status;
}

/* Of one that others opened: lost, does not answer, or failed to open?  The caller's handle goes if
 * so. */
static psg_status check_open(psg_shared_worker *shared, psg_error *error)
{
	psg_status status = shared->failure.code;
	const psgi_executor *executor = shared->executor;

	if (status != PSG_OK && error != NULL)
		*error = shared->failure;
	if (executor != NULL && atomic_load_explicit(&executor->is_lost, memory_order_acquire)) {
		status = executor->lost.code;
		if (error != NULL)
			*error = executor->lost;
	} else if (executor != NULL) {
		status = psgi_stall_tell_device(executor, error);
	}
	if (status != PSG_OK)
		drop(shared);
	return status;
}

/* One of the name that is open, or that was opening and is not any more; or a new one, to open. */
static psg_shared_worker *look_up(struct table *table, const char *device, bool *is_new)
{
	psg_shared_worker *shared;

	(void)pthread_mutex_lock(&table->lock);
	shared = find(table, device);
	*is_new = shared == NULL;
	if (*is_new)
		shared = add(table, device);
	else
		shared->handles++;
	while (!*is_new && shared->opening)
		(void)pthread_cond_wait(&table->opened, &table->lock);
	(void)pthread_mutex_unlock(&table->lock);
	return shared;
}

static psg_status acquire(struct table *table, const char *device,
			  const psg_shared_worker_options *options, psg_shared_worker **out,
			  psg_error *error)
{
	for (;;) {
		bool is_new;
		psg_shared_worker *shared = look_up(table, device, &is_new);
		psg_status status;

		if (shared == NULL)
			return psgi_fail(error, PSG_NOMEM, "no memory for a shared worker");
		if (is_new) { /* what "auto" leads to others may have opened */
			psg_shared_worker *opened = NULL;

			status = open_entry(shared, options, &opened, error);
			if (status == PSG_OK)
				status = check_open(opened, error);
			if (status == PSG_OK)
				*out = opened;
			return status;
		}
		status = check_open(shared, error);
		if (status != PSG_OK)
			return status;
		if (shared->executor != NULL) {
			*out = shared;
			return PSG_OK;
		}
		drop(shared); /* it gave way to another entry, which has the name now */
	}
}

psg_status psg_shared_worker_acquire(const char *device, const psg_shared_worker_options *options,
				     psg_shared_worker **out, psg_error *error)
{
	psg_status status = psgi_fork_watch(error);
	struct table *table;

	*out = NULL;
	if (status != PSG_OK)
		return status;
	if (device == NULL)
		return psgi_fail(error, PSG_INVALID, "no device is named");
	if (psgi_future_busy())
		return psgi_fail(error, PSG_INVALID,
				 "a worker's thread or a callback may not wait for a device");
	table = table_get();
	if (table == NULL)
		return psgi_fail(error, PSG_NOMEM, "no memory for shared workers");
	return acquire(table, device, options, out, error);
}

static bool forked(const psg_shared_worker *shared)
{
	return shared->table->generation != psgi_fork_generation();
}

void psg_shared_worker_release(psg_shared_worker *shared)
{
	if (shared == NULL || forked(shared))
		return;
	drop(shared);
}

const psg_device_info *psg_shared_worker_device(const psg_shared_worker *shared)
{
	return &shared->executor->info;
}

size_t psg_shared_worker_engines(const psg_shared_worker *shared)
{
	return atomic_load_explicit(&shared->executor->holders, memory_order_relaxed) - 1;
}

psg_status psgi_worker_join_shared(psg_shared_worker *shared, const psg_worker_options *options,
				   struct psgi_member *member, psg_worker **out, psg_error *error)
{
	psg_status status = psgi_stall_tell_device(shared->executor, error);

	if (status == PSG_OK)
		status = psgi_worker_join(shared->executor, options, member, out, error);
	if (status != PSG_OK)
		return status;
	(*out)->shared = shared;
	hold(shared);
	return PSG_OK;
}

psg_status psg_worker_open_shared(psg_shared_worker *shared, const psg_worker_options *options,
				  psg_worker **out, psg_error *error)
{
	*out = NULL;
	if (forked(shared))
		return psgi_fail(error, PSG_FORKED,
				 "the shared worker lives in the parent process: acquire one here");
	return psgi_worker_join_shared(shared, options, NULL, out, error);
}
