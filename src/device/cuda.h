/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The CUDA device as operators and models use it.
 *
 * Work goes to the device's compute stream and runs in the order of the calls; a call returns when
 * its work is queued unless its comment says otherwise.  An error of a launch may therefore come
 * out of a later call.  Once the device is lost, every call says DEVICE_LOST at once.
 *
 * As any device it belongs to the thread that opened it.  A pointer to device memory is held in a
 * `void *` or `float *`: the host must not follow it.
 */
#ifndef PSG_DEVICE_CUDA_H
#define PSG_DEVICE_CUDA_H

#include "device/device.h"
#include "kernels/list.h"

/* Each kernel of kernels/list.h: PSGI_GPU_sgemm, ... */
typedef enum psgi_gpu_kernel {
#define PSGI_GPU_KERNEL(name, family, args) PSGI_GPU_##name,
	PSGI_KERNELS(PSGI_GPU_KERNEL)
#undef PSGI_GPU_KERNEL
		PSGI_GPU_KERNELS
} psgi_gpu_kernel;

/* What a launch may have on every card: the rest of a large shape goes on x, or into a loop. */
#define PSGI_GPU_MAX_GRID_X UINT32_C(2147483647)
#define PSGI_GPU_MAX_GRID_YZ UINT32_C(65535)
#define PSGI_GPU_MAX_THREADS UINT32_C(1024) /* of a block */

typedef struct psgi_launch {
	psgi_gpu_kernel kernel;
	uint32_t grid[3], block[3]; /* blocks; threads of a block */
	uint32_t shared_bytes;      /* dynamic shared memory of a block */
	const void *args;           /* the kernel's one parameter, of kernels/args.h; read now */
	size_t args_bytes;
} psgi_launch;

/*
 * Queues a kernel; a grid without blocks is nothing to do.  Loads the kernel's family first where
 * this is its first use, which compiles it where the driver has no cached code.  INVALID: the grid,
 * block or parameter is not what the kernel takes; JIT; LAUNCH; DEVICE_LOST; FORKED.
 */
psg_status psgi_gpu_launch(psg_device *device, const psgi_launch *launch, psg_error *error);

/* Its name in kernels/list.h, and how often it was launched on this device. */
const char *psgi_gpu_kernel_name(psgi_gpu_kernel kernel);
uint64_t psgi_gpu_launches(const psg_device *device, psgi_gpu_kernel kernel);

/* Loads the family of `kernel` now, so that a first launch need not. */
psg_status psgi_gpu_load(psg_device *device, psgi_gpu_kernel kernel, psg_error *error);

/*
 * Copies between the host and the device's memory, in order with the launches.  `copy_in` may
 * return before the bytes are there, but does not need `from` any more; `copy_out` returns when
 * `to` has them.  Nothing is copied of 0 bytes.
 */
psg_status psgi_gpu_copy_in(psg_device *device, void *to, const void *from, size_t bytes,
			    psg_error *error);
psg_status psgi_gpu_copy_out(psg_device *device, void *to, const void *from, size_t bytes,
			     psg_error *error);
psg_status psgi_gpu_copy_within(psg_device *device, void *to, const void *from, size_t bytes,
				psg_error *error);

/*
 * As psgi_gpu_copy_in, but does not wait for the launches so far: it runs beside them on a second
 * stream, and later launches and copies wait for it.  `to` is the start of a block of
 * psgi_device_alloc that nothing used since it was allocated.
 */
psg_status psgi_gpu_copy_ahead(psg_device *device, void *to, const void *from, size_t bytes,
			       psg_error *error);

/*
 * A point in the order of the work, behind all that was queued when it was set: for who queues the
 * next run before the last one has ended.  Who set it clears it.
 */
typedef struct psgi_gpu_point {
	uint64_t queued; /* as psgi_gpu counts */
	int number;      /* of the device's event; -1: none was free */
} psgi_gpu_point;

/* Setting one costs nothing but when more work is queued behind it. */
void psgi_gpu_point_set(psg_device *device, psgi_gpu_point *point);
void psgi_gpu_point_clear(psg_device *device, const psgi_gpu_point *point);

/* Nothing was queued behind it. */
bool psgi_gpu_point_is_last(const psg_device *device, const psgi_gpu_point *point);

/* Is the work up to there done, or has the driver failed?  Does not wait. */
bool psgi_gpu_point_is_passed(psg_device *device, const psgi_gpu_point *point);

/* As psgi_gpu_copy_out, but waits for the work up to that point only: on the second stream, while
 * later work goes on. */
psg_status psgi_gpu_copy_out_at(psg_device *device, const psgi_gpu_point *point, void *to,
				const void *from, size_t bytes, psg_error *error);

/* As psgi_device_free of what no work behind that point uses. */
void psgi_gpu_free_at(psg_device *device, const psgi_gpu_point *point, void *memory);

/* Sets each byte. */
psg_status psgi_gpu_fill(psg_device *device, void *to, unsigned char value, size_t bytes,
			 psg_error *error);

/* Returns when all that was queued is done, with the first error among it. */
psg_status psgi_gpu_sync(psg_device *device, psg_error *error);

/*
 * Memory as psgi_device_alloc gives it, 256-byte aligned, with the reason when there is none: OOM
 * with the numbers.  It may still be in use by queued work of who freed it: use it in order.
 */
psg_status psgi_gpu_alloc(psg_device *device, size_t bytes, void **out, psg_error *error);

/* As psgi_gpu_alloc, for psgi_gpu_copy_ahead: rather a block that no queued work uses, for which
 * the copy need not wait. */
psg_status psgi_gpu_alloc_ahead(psg_device *device, size_t bytes, void **out, psg_error *error);

/* As psgi_gpu_alloc, for what stays long, such as weights: the block is at most 1/8 larger than was
 * asked for, while one for a run may be an idle one of up to 8 times the size. */
psg_status psgi_gpu_alloc_lasting(psg_device *device, size_t bytes, void **out, psg_error *error);

/* The size of the block that a request gets, if it is a new one. */
size_t psgi_gpu_block_bytes(const psg_device *device, size_t bytes);

/* Which PTX is in use: 61, 70, ... for compute capability 6.1, 7.0, ... */
int psgi_gpu_ptx(const psg_device *device);

/* Of the card, for choosing grids and kernels; constant. */
typedef struct psgi_gpu_limits {
	int capability;      /* 90 for 9.0 */
	int multiprocessors; /* that run blocks at the same time */
	size_t shared_bytes; /* of a block, at most, when asked for in a launch */
} psgi_gpu_limits;
const psgi_gpu_limits *psgi_gpu_limits_get(const psg_device *device);

/* What the device has done and holds. */
typedef struct psgi_gpu_stats {
	size_t used_bytes;  /* handed out, as rounded up by the pool */
	size_t held_bytes;  /* of the driver: handed out and waiting for their next use */
	size_t high_bytes;  /* the most that was ever held */
	size_t limit_bytes; /* the pool holds no more than this */
	uint64_t allocs; /* calls to psgi_gpu_alloc, psgi_gpu_alloc_lasting and psgi_device_alloc */
	uint64_t driver_allocs; /* of these, the calls that had to ask the driver */
	uint64_t trims;         /* times that waiting blocks went back to the driver */
	uint64_t launches, copies;
	uint64_t families; /* loaded */
	int64_t load_ns;   /* time that loading them took: compiling where nothing was cached */
} psgi_gpu_stats;
void psgi_gpu_stats_get(const psg_device *device, psgi_gpu_stats *out);

/* Gives blocks that wait for their next use back to the driver; waits for the queued work. */
void psgi_gpu_trim(psg_device *device);

#endif
