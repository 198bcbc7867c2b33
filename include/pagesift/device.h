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

/* What a GPU is, and what this process would run on it. */
typedef struct psg_gpu_info {
	int32_t index;           /* of "cuda:0", among the cards that CUDA_VISIBLE_DEVICES shows */
	char name[96];           /* "NVIDIA H200" */
	char uuid[48];           /* "GPU-..."; "MIG-..." for a part of a card; empty: not known */
	char pci[16];            /* "0000:3b:00.0" */
	int32_t capability;      /* 75 for 7.5 */
	int32_t multiprocessors; /* that work at the same time */
	uint64_t total_bytes, free_bytes; /* of its memory, when asked */
	char driver[80];                  /* version, "580.65.06"; empty: not known */
	int32_t cuda;                     /* of the driver: 13000 is CUDA 13.0 */
	int32_t ptx;                      /* the library's code for it: 70 is sm_70; 0: too old */
} psg_gpu_info;

typedef struct psg_device_info {
	psg_device_kind kind;
	char name[96];      /* "cpu", "cuda:0" */
	char detail[128];   /* "2 cores, oneDNN 2.6.3", or the card's name */
	int32_t threads;    /* CPU cores that one operator may use */
	char fallback[256]; /* why "auto" is not a GPU; empty otherwise */
	/* Its code.  NO_DEVICE, DISABLED: nobody expects one; else there is one that does not work.
	 */
	psg_status fallback_code;
	psg_gpu_info gpu; /* all zero for a CPU */
} psg_device_info;

/*
 * Opens a device by its name:
 *   auto          the first usable GPU, else cpu with the reason in info.fallback
 *   auto:K        as auto, with K cores when it is the CPU
 *   cpu           all cores this process may use, for the shortest latency
 *   cpu:K         K cores, or all if there are fewer: several workers of one core each give the
 *                 most pages a second
 *   reference     the plain loops in double precision that define right answers; one core
 *   cuda, cuda:N  a GPU
 * With more than one core OpenMP's threads meet after every operator and spin while they
 * wait.  Where other programs want the cores too that costs up to ten times the time
 * (measured): start the program with OMP_WAIT_POLICY=passive, or open cpu:1 once a core.
 * May block for as long as starting a device takes.  INVALID: not a device
 * name, or a variable below is wrong.  NO_DEVICE, DISABLED, TOO_OLD, DRIVER,
 * JIT, OOM: the GPU cannot be used.  FORKED: a parent of this process used the
 * driver before.  The calling thread's CUDA context is as before the call; its
 * OpenMP loops use as many threads from then on as the device may (info.threads).
 *
 * The environment of a GPU:
 *   PAGESIFT_GPU=off       no GPU is opened or probed
 *   PAGESIFT_GPU_MEMORY    the most that a device takes of the card for tensors:
 *                          bytes, with K, M or G behind them, or 50% of it
 *   PAGESIFT_PTX=sm_61     this code instead of the best for the card
 *   PAGESIFT_PTX_DIR       read code from copy.ptx and so on in this folder instead
 *   PAGESIFT_GPU_POOL=off  memory goes back to the driver at once: slow, but
 *                          checkers see where each block ends
 *   PAGESIFT_OPERATORS     where operators that come alone (op.h) run: auto, which is where
 *                          each is predicted to be faster, gpu or cpu
 *   PAGESIFT_LIBCUDA, PAGESIFT_LIBNVML
 *                          the driver's libraries, where the linker finds none
 */
PSG_API psg_status psg_device_open(const char *name, psg_device **out, psg_error *error);

/* Frees the device and all its memory.  NULL is allowed. */
PSG_API void psg_device_close(psg_device *device);

/* Constant for the device's life; borrowed; any thread. */
PSG_API const psg_device_info *psg_device_info_get(const psg_device *device);

/*
 * The GPUs that CUDA shows to this process, usable or not; PAGESIFT_GPU=off does not change it.  No
 * driver or no card is 0 and no error.  DRIVER, TOO_OLD, FORKED: they cannot be counted.  Any
 * thread.  Where there is a GPU, this and the next call start the driver in this process, which
 * leaves nothing on the card, but CUDA refuses its children from then on: one that is forked later
 * gets FORKED.  A server that forks its workers asks in them.
 */
PSG_API psg_status psg_device_count(int32_t *out, psg_error *error);

/*
 * Tells of GPU `index` without compiling anything, and as if it had not been called: the calling
 * thread's CUDA context stays current, no memory of the card stays taken.  NO_DEVICE, DISABLED,
 * TOO_OLD (`out` is filled then), DRIVER, FORKED.  Any thread.
 */
PSG_API psg_status psg_gpu_probe(int32_t index, psg_gpu_info *out, psg_error *error);

/* What there is of NVIDIA's driver. */
typedef struct psg_gpu_driver {
	char library[256];      /* libcuda.so.1's file; empty: none, or it cannot be loaded */
	int32_t cuda;           /* 13000 is CUDA 13.0; 0: not known */
	char version[80];       /* "580.65.06"; empty: not known */
	char nvml_library[256]; /* libnvidia-ml.so.1's file, which is optional; empty: none */
	int32_t nvml_cards;     /* that it sees, CUDA_VISIBLE_DEVICES or not; -1: not known */
	char nvml_problem[512]; /* what it says is wrong; empty: nothing */
} psg_gpu_driver;

/* Fills `out` with what is known also where it fails.  NO_DEVICE, TOO_OLD, DRIVER, FORKED: as
 * opening a GPU would say.  Any thread. */
PSG_API psg_status psg_gpu_driver_get(psg_gpu_driver *out, psg_error *error);

/* A part of the library's code for GPUs, which a device loads when it is first used. */
typedef struct psg_gpu_module {
	char name[24];
	int32_t ptx;     /* 70 is sm_70 */
	int64_t load_ns; /* with compiling it, where the driver had no cached code */
} psg_gpu_module;

/* Tells of the modules that are loaded, the first `room` of them in `out`, and how many there are;
 * 0 of a CPU.  Only on the thread that owns the device. */
PSG_API size_t psg_gpu_modules(const psg_device *device, psg_gpu_module *out, size_t room);

/* CPU cores that this process may run on: affinity mask and cgroup quota. */
PSG_API int32_t psg_cpu_cores(void);

#ifdef __cplusplus
}
#endif
#endif
