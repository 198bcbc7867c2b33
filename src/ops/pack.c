/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "ops/pack.h"

#include "base/base.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 256 /* chosen: a model here has about a hundred weights */

struct entry {
	struct entry *next;
	psg_tensor *tensor;
	void *key;
	size_t key_bytes, bytes;
	void *memory;
};

struct psgi_pack_cache {
	pthread_mutex_t
		lock; /* guards everything; taken while plans are made, never while they run */
	struct entry *buckets[BUCKETS];
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

static void free_entry(struct entry *entry)
{
	if (entry == NULL)
		return;
	psg_tensor_unref(entry->tensor);
	free(entry->key);
	free(entry->memory);
	free(entry);
}

void psgi_pack_cache_destroy(psgi_pack_cache *cache)
{
	if (cache == NULL)
		return;
	for (size_t i = 0; i < BUCKETS; i++) {
		while (cache->buckets[i] != NULL) {
			struct entry *entry = cache->buckets[i];

			cache->buckets[i] = entry->next;
			free_entry(entry);
		}
	}
	(void)pthread_mutex_destroy(&cache->lock);
	free(cache);
}

/* Only spreads entries: equality is decided by the tensor and the whole key. */
static size_t bucket_of(const psg_tensor *tensor)
{
	return ((uintptr_t)tensor >> 6) % BUCKETS;
}

static struct entry *find(const psgi_pack_cache *cache, const psg_tensor *tensor, const void *key,
			  size_t key_bytes)
{
	struct entry *entry = cache->buckets[bucket_of(tensor)];

	while (entry != NULL && (entry->tensor != tensor || entry->key_bytes != key_bytes ||
				 memcmp(entry->key, key, key_bytes) != 0))
		entry = entry->next;
	return entry;
}

static struct entry *new_entry(psg_tensor *tensor, const void *key, size_t key_bytes, size_t bytes)
{
	struct entry *entry = calloc(1, sizeof(*entry));

	if (entry == NULL)
		return NULL;
	entry->tensor = psg_tensor_ref(tensor);
	entry->key = malloc(key_bytes == 0 ? 1 : key_bytes);
	entry->key_bytes = key_bytes;
	entry->bytes = bytes;
	entry->memory = aligned_alloc(64, (bytes + 63) & ~(size_t)63);
	if (entry->key == NULL || entry->memory == NULL) {
		free_entry(entry);
		return NULL;
	}
	memcpy(entry->key, key, key_bytes);
	return entry;
}

static psg_status add(psgi_pack_cache *cache, psg_tensor *tensor, const void *key, size_t key_bytes,
		      size_t bytes, psg_status (*fill)(void *, void *, psg_error *), void *user,
		      struct entry **out, psg_error *error)
{
	struct entry *entry = new_entry(tensor, key, key_bytes, bytes);
	psg_status status;

	if (entry == NULL)
		return psgi_fail(error, PSG_NOMEM, "no memory for %zu bytes of weights", bytes);
	status = fill(user, entry->memory, error);
	if (status != PSG_OK) {
		free_entry(entry);
		return status;
	}
	entry->next = cache->buckets[bucket_of(tensor)];
	cache->buckets[bucket_of(tensor)] = entry;
	cache->bytes += bytes;
	*out = entry;
	return PSG_OK;
}

psg_status psgi_pack(psgi_pack_cache *cache, psg_tensor *tensor, const void *key, size_t key_bytes,
		     size_t bytes, psg_status (*fill)(void *user, void *memory, psg_error *error),
		     void *user, void **out, psg_error *error)
{
	struct entry *entry;
	psg_status status = PSG_OK;

	(void)pthread_mutex_lock(&cache->lock);
	entry = find(cache, tensor, key, key_bytes);
	if (entry == NULL)
		status = add(cache, tensor, key, key_bytes, bytes, fill, user, &entry, error);
	(void)pthread_mutex_unlock(&cache->lock);
	if (status == PSG_OK)
		*out = entry->memory;
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
