/* SPDX-License-Identifier: Apache-2.0 */
/* The device as the rooms above see it: memory, and what its implementation offers. */
#ifndef PSG_DEVICE_DEVICE_H
#define PSG_DEVICE_DEVICE_H

#include <pagesift/device.h>

/* Bytes of a device's own memory: handed out, held with what waits for its next use, the most that
 * ever was, and the most that may be. */
typedef struct psgi_device_memory {
	size_t used, held, high, limit;
} psgi_device_memory;

/*
 * What one of those who share a device uses of its memory, and may use.  The device's thread
 * says who works (psg_device.account); a block belongs to who took it until it is given back.
 */
typedef struct psgi_memory_account {
	struct psgi_memory_account *next; /* of the device's owner */
	const char *name;                 /* in messages */
	size_t limit, used;               /* bytes */
	bool refused;                     /* the limit was met, since whoever looks cleared it */
} psgi_memory_account;

typedef struct psgi_device_ops {
	/* 64-byte aligned memory of the device from its caching pool; NULL when there is none left.
	 */
	void *(*alloc)(psg_device *device, size_t bytes);
	void (*free)(psg_device *device, void *memory);
	void (*close)(psg_device *device);
	/* Make the device the calling thread's current one, and back; NULL: no need to. */
	psg_status (*enter)(psg_device *device, psg_error *error);
	void (*leave)(psg_device *device);
	void (*trim)(psg_device *device);
	void (*memory)(const psg_device *device, psgi_device_memory *out); /* NULL: not counted */
} psgi_device_ops;

/* Where operators that come alone run, of PAGESIFT_OPERATORS. */
typedef enum psgi_operators {
	PSGI_OPERATORS_AUTO, /* where each is predicted to be faster */
	PSGI_OPERATORS_GPU,
	PSGI_OPERATORS_CPU,
} psgi_operators;

struct psg_device {
	const psgi_device_ops *ops;
	psg_device_info info;
	bool reference; /* only the reference paths: no oneDNN, no OpenMP */
	psg_error lost; /* why it is gone for good, as every call says then; code OK: it is not */
	void *plans;    /* of the model room, freed by free_plans before the device closes */
	void (*free_plans)(void *plans);
	void *weights; /* of the ops room, freed by free_weights after the plans */
	void (*free_weights)(psg_device *device);
	psgi_memory_account *account; /* of who works on it; NULL: nobody counts */
	psgi_operators operators;
	void *rates;                     /* of the ops room; freed when the device closes */
	uint64_t ops_on_gpu, ops_on_cpu; /* operators that came alone, by where they ran */
};

psg_status psgi_cpu_open(int32_t threads, bool reference, psg_device **out, psg_error *error);
psg_status psgi_gpu_open(int32_t index, psg_device **out, psg_error *error);

/* Is it the device that failed, so that the same work may succeed on another? */
bool psgi_device_failed(psg_status status);

void *psgi_device_alloc(psg_device *device, size_t bytes);
void psgi_device_free(psg_device *device, void *memory);

/* Gives up memory that waits for its next use; a GPU's queued work is waited for. */
void psgi_device_trim(psg_device *device);

/* All zero of a CPU. */
void psgi_device_memory_get(const psg_device *device, psgi_device_memory *out);

/*
 * Between these the thread that owns the device has its context current; calls nest.  Each call of
 * a device does so for itself: who makes many saves their cost.  An error needs no leave.
 */
psg_status psgi_device_enter(psg_device *device, psg_error *error);
void psgi_device_leave(psg_device *device);

#endif
