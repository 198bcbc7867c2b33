/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "ops/pack.h"

#include "base/base.h"
#include "base/memory.h"
#include "ops/ops.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 256 /* chosen: a model here has about a hundred weights */

/* One packed form of a tensor. */
struct form {
	struct form *next;
	void *key;
	size_t key_bytes, bytes;
	void *memory;
};

/* A tensor and its forms, which share one reference to it. */
struct source {
	struct source *next;
	psg_tensor *tensor;
	struct form *forms;
};

struct psgi_pack_cache {
	pthread_mutex_t
		lock; /* guards everything; taken while plans are made, never while they run */
	struct source *buckets[BUCKETS];
	size_t bytes;
};

psg_status psgi_pack_cache_create(psgi_pack_cache **out, psg_error *error)
{
	psgi_pack_cache *cache = calloc(1, sizeof(*cache));

	if (cache == NULL || pthread_mutex_init(&cache->lock, NULL) != 0) {
		free(cache);
		return psgi_fail(error, PSG_NOMEM, "no memory for a weight cache");
	}
	*out = cache;
	return PSG_OK;
}

static void free_form(struct form *form)
{
	free(form->key);
	free(form->memory);
	free(form);
}

/* Takes the first source out of a list, with all its forms. */
static void drop(psgi_pack_cache *cache, struct source **link)
{
	struct source *source = *link;

	*link = source->next;
	while (source->forms != NULL) {
		struct form *form = source->forms;

		source->forms = form->next;
		cache->bytes -= form->bytes;
		free_form(form);
	}
	psg_tensor_unref(source->tensor);
	free(source);
}

void psgi_pack_cache_destroy(psgi_pack_cache *cache)
{
	if (cache == NULL)
		return;
	for (size_t i = 0; i < BUCKETS; i++)
		while (cache->buckets[i] != NULL)
			drop(cache, &cache->buckets[i]);
	(void)pthread_mutex_destroy(&cache->lock);
	free(cache);
}

/* Drops what was packed of tensors that nobody but the cache holds. */
static void drop_orphans(psgi_pack_cache *cache)
{
	for (size_t i = 0; i < BUCKETS; i++) {
		struct source **link = &cache->buckets[i];

		while (*link != NULL) {
			if (psgi_tensor_is_last((*link)->tensor))
				drop(cache, link);
			else
				link = &(*link)->next;
		}
	}
}

/* The list that a tensor is in; only spreads them. */
static struct source **bucket_of(psgi_pack_cache *cache, const psg_tensor *tensor)
{
	return &cache->buckets[((uintptr_t)tensor >> 6) % BUCKETS];
}

static struct source *find_source(psgi_pack_cache *cache, const psg_tensor *tensor)
{
	struct source *source = *bucket_of(cache, tensor);

	while (source != NULL && source->tensor != tensor)
		source = source->next;
	return source;
}

static struct form *find_form(const struct source *source, const void *key, size_t key_bytes)
{
	struct form *form = source == NULL ? NULL : source->forms;

	while (form != NULL &&
	       (form->key_bytes != key_bytes || memcmp(form->key, key, key_bytes) != 0))
		form = form->next;
	return form;
}

static struct form *new_form(const void *key, size_t key_bytes, size_t bytes)
{
	struct form *form = calloc(1, sizeof(*form));

	if (form == NULL)
		return NULL;
	form->key = malloc(key_bytes == 0 ? 1 : key_bytes);
	form->key_bytes = key_bytes;
	form->bytes = bytes;
	form->memory = psgi_memory_alloc(bytes);
	if (form->key == NULL || form->memory == NULL) {
		free_form(form);
		return NULL;
	}
	memcpy(form->key, key, key_bytes);
	return form;
}

/* The tensor's source, made if it is not there; NULL: no memory. */
static struct source *need_source(psgi_pack_cache *cache, psg_tensor *tensor)
{
	struct source *source = find_source(cache, tensor), **bucket = bucket_of(cache, tensor);

	if (source != NULL)
		return source;
	source = calloc(1, sizeof(*source));
	if (source == NULL)
		return NULL;
	source->tensor = psg_tensor_ref(tensor);
	source->next = *bucket;
	*bucket = source;
	return source;
}

static psg_status add(psgi_pack_cache *cache, psg_tensor *tensor, const void *key, size_t key_bytes,
		      size_t bytes, psg_status (*fill)(void *, void *, psg_error *), void *user,
		      struct form **out, psg_error *error)
{
	struct source *source;
	struct form *form = new_form(key, key_bytes, bytes);
	psg_status status;

	if (form == NULL)
		return psgi_fail(error, PSG_NOMEM, "no memory for %zu bytes of weights", bytes);
	status = fill(user, form->memory, error);
	drop_orphans(cache);
	source = status == PSG_OK ? need_source(cache, tensor) : NULL;
	if (source == NULL) {
		free_form(form);
		return status != PSG_OK ? status
					: psgi_fail(error, PSG_NOMEM, "no memory for weights");
	}
	form->next = source->forms;
	source->forms = form;
	cache->bytes += bytes;
	*out = form;
	return PSG_OK;
}

psg_status psgi_pack(psgi_pack_cache *cache, psg_tensor *tensor, const void *key, size_t key_bytes,
		     size_t bytes, psg_status (*fill)(void *user, void *memory, psg_error *error),
		     void *user, void **out, psg_error *error)
{
	struct form *form;
	psg_status status = PSG_OK;

	(void)pthread_mutex_lock(&cache->lock);
	form = find_form(find_source(cache, tensor), key, key_bytes);
	if (form == NULL)
		status = add(cache, tensor, key, key_bytes, bytes, fill, user, &form, error);
	(void)pthread_mutex_unlock(&cache->lock);
	if (status == PSG_OK)
		*out = form->memory;
	return status;
}

size_t psgi_pack_bytes(psgi_pack_cache *cache)
{
	size_t bytes;

	(void)pthread_mutex_lock(&cache->lock);
	bytes = cache->bytes;
	(void)pthread_mutex_unlock(&cache->lock);
	return bytes;
}
