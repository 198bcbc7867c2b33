/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Weights in the form a kernel wants, made once and shared.
 *
 * An entry is found by the tensor itself (whose reference the cache holds, so
 * that the key cannot be reused) and the bytes that describe the form.  Entries
 * whose tensor nobody else holds any more go when new ones come: those of a
 * model's weights live as long as the model, but a plan makes weights of its
 * own too, and plans come and go.
 */
#ifndef PSG_OPS_PACK_H
#define PSG_OPS_PACK_H

#include <pagesift/tensor.h>

typedef struct psgi_pack_cache psgi_pack_cache;

psg_status psgi_pack_cache_create(psgi_pack_cache **out, psg_error *error);
void psgi_pack_cache_destroy(psgi_pack_cache *cache); /* NULL is allowed */

/*
 * The packed form, valid as long as the cache and while the caller's reference to `tensor` is held.
 * `fill` writes `bytes` bytes of 64-byte aligned
 * memory when the form is not there yet.  Any thread; others wait while one fills.
 */
psg_status psgi_pack(psgi_pack_cache *cache, psg_tensor *tensor, const void *key, size_t key_bytes,
		     size_t bytes, psg_status (*fill)(void *user, void *memory, psg_error *error),
		     void *user, void **out, psg_error *error);

/* Bytes of all packed weights. */
size_t psgi_pack_bytes(psgi_pack_cache *cache);

#endif
