/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "ops/cuda_weights.h"

#include "base/base.h"
#include "device/cuda.h"

#include <stdlib.h>

#define BUCKETS 512 /* chosen: three models here have five hundred weights together */

struct weight {
	struct weight *next;
	psg_tensor *tensor; /* one reference */
	void *data;
	size_t users;
};

struct weights {
	struct weight *buckets[BUCKETS];
};

/* The link to the tensor's entry, or to the end of the list where it would be. */
static struct weight **find(struct weights *weights, const psg_tensor *tensor)
{
	/* Tensors are some 100 bytes apart: the low bits say nothing. */
	struct weight **link = &weights->buckets[((uintptr_t)tensor >> 6) % BUCKETS];

	while (*link != NULL && (*link)->tensor != tensor)
		link = &(*link)->next;
	return link;
}

static void remove_at(psg_device *device, struct weight **link)
{
	struct weight *weight = *link;

	*link = weight->next;
	psgi_device_free(device, weight->data);
	psg_tensor_unref(weight->tensor);
	free(weight);
}

/* Removes what has no users and, where `all` is not set, what nobody but this holds either. */
static bool sweep(psg_device *device, struct weights *weights, bool all)
{
	bool any = false;

	for (size_t i = 0; i < BUCKETS; i++) {
		struct weight **link = &weights->buckets[i];

		while (*link != NULL) {
			if ((*link)->users == 0 && (all || psgi_tensor_is_last((*link)->tensor))) {
				remove_at(device, link);
				any = true;
			} else {
				link = &(*link)->next;
			}
		}
	}
	return any;
}

/* When the device closes: no plan is left. */
static void free_weights(psg_device *device)
{
	(void)sweep(device, device->weights, true);
	free(device->weights);
	device->weights = NULL;
}

static struct weights *weights_of(psg_device *device)
{
	if (device->weights == NULL) {
		device->weights = calloc(1, sizeof(struct weights));
		device->free_weights = free_weights;
	}
	return device->weights;
}

size_t psgi_weight_bytes(const psg_device *device, const psg_tensor *tensor)
{
	return psgi_gpu_block_bytes(device, psgi_tensor_bytes(tensor) + 1);
}

static psg_status upload(psg_device *device, const psg_tensor *tensor, void **data,
			 psg_error *error)
{
	size_t bytes = psgi_tensor_bytes(tensor);
	psg_status status = psgi_gpu_alloc_lasting(device, bytes + 1, data, error);

	if (status != PSG_OK)
		return status;
	status = psgi_gpu_copy_in(device, *data, psg_tensor_const_data(tensor), bytes, error);
	if (status != PSG_OK)
		psgi_device_free(device, *data);
	return status;
}

psg_status psgi_weight_use(psg_device *device, psg_tensor *tensor, void **data, psg_error *error)
{
	struct weights *weights = weights_of(device);
	struct weight **link, *weight;
	psg_status status;

	if (weights == NULL)
		return psgi_fail(error, PSG_NOMEM, "no memory for a weight");
	link = find(weights, tensor);
	if (*link == NULL) {
		(void)sweep(device, weights, false); /* of models that were closed */
		weight = calloc(1, sizeof(*weight));
		if (weight == NULL)
			return psgi_fail(error, PSG_NOMEM, "no memory for a weight");
		status = upload(device, tensor, &weight->data, error);
		if (status != PSG_OK) {
			free(weight);
			return status;
		}
		weight->tensor = psg_tensor_ref(tensor);
		link = find(weights, tensor);
		*link = weight;
	}
	(*link)->users++;
	*data = (*link)->data;
	return PSG_OK;
}

void psgi_weight_drop(psg_device *device, const psg_tensor *tensor)
{
	struct weight **link = find(device->weights, tensor);

	if (*link == NULL)
		return;
	(*link)->users--;
	if ((*link)->users == 0 && psgi_tensor_is_last((*link)->tensor))
		remove_at(device, link);
}

bool psgi_weights_evict(psg_device *device)
{
	return device->weights != NULL && sweep(device, device->weights, true);
}
