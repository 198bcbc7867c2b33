/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Devices: where operators and models run.
 *
 * A device belongs to the one thread that opened it; every call below but
 * psg_device_info_get must come from that thread.  Servers do not open devices
 * themselves: a worker (job.h) does, on its own thread.
 */
#ifndef PAGESIFT_DEVICE_H
#define PAGESIFT_DEVICE_H

#include <pagesift/error.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct psg_device psg_device;

typedef enum psg_device_kind {
	PSG_DEVICE_CPU,
	PSG_DEVICE_CUDA,
} psg_device_kind;

typedef struct psg_device_info {
	psg_device_kind kind;
	char name[96];      /* "cpu", "cuda:0" */
	char detail[128];   /* "2 cores, oneDNN 2.6.3", or the card's name */
	int32_t threads;    /* CPU cores that one operator may use */
	char fallback[256]; /* why "auto" is not a GPU; empty otherwise */
} psg_device_info;

/*
 * Opens a device by its name:
 *   auto          the first usable GPU, else cpu with the reason in info.fallback
 *   auto:K        as auto, with K cores when it is the CPU
 *   cpu           all cores this process may use, for the shortest latency
 *   cpu:K         K cores: several workers of one core each give the most pages a second
 *   reference     the plain loops in double precision that define right answers; one core
 *   cuda, cuda:N  a GPU
 * With more than one core OpenMP's threads meet after every operator and spin while they
 * wait.  Where other programs want the cores too that costs up to ten times the time
 * (measured): start the program with OMP_WAIT_POLICY=passive, or open cpu:1 once a core.
 * May block for as long as starting a device takes.  INVALID: not a device
 * name.  NO_DEVICE, DISABLED, TOO_OLD, DRIVER, JIT: the GPU cannot be used.
 */
PSG_API psg_status psg_device_open(const char *name, psg_device **out, psg_error *error);

/* Frees the device and all its memory.  NULL is allowed. */
PSG_API void psg_device_close(psg_device *device);

/* Constant for the device's life; borrowed; any thread. */
PSG_API const psg_device_info *psg_device_info_get(const psg_device *device);

/* CPU cores that this process may run on: affinity mask and cgroup quota. */
PSG_API int32_t psg_cpu_cores(void);

#ifdef __cplusplus
}
#endif
#endif
