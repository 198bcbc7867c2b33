/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the CUDA device share; its users include device/cuda.h. */
#ifndef PSG_DEVICE_CUDA_INTERNAL_H
#define PSG_DEVICE_CUDA_INTERNAL_H

#include "device/cuda.h"
#include "device/cuda_pool.h"
#include "device/ptx.h"
#include "driver/cuda.h"

#include <pthread.h>

/* Pinned memory through which copies go in pieces, so that the host fills one piece while the card
 * reads another.  Chosen: a piece takes some 100 us to fill and 25 us to cross (measured, H200),
 * which is well above the cost of the calls; pinning it takes about 0.5 ms, once. */
#define PSGI_STAGE_BYTES ((size_t)1 << 20)
#define PSGI_STAGES 4

typedef struct psgi_stage {
	void *memory; /* NULL: not made yet */
	CUevent event;
	size_t used; /* from its start */
	bool queued; /* the event tells when the stage can be used again */
} psgi_stage;

/* A stream and the stages of the copies on it. */
typedef struct psgi_lane {
	CUstream stream;
	psgi_stage stages[PSGI_STAGES];
	unsigned at; /* the stage that is being filled */
} psgi_lane;

typedef struct psgi_function {
	CUfunction function; /* NULL: not asked for yet */
	uint32_t shared_most;
	uint64_t launches;
} psgi_function;

/* Points that are set at a time: of the run that ends next, and of the one behind it. */
#define PSGI_GPU_POINTS 2

typedef struct psgi_gpu_event {
	CUevent event; /* NULL: not made yet */
	bool set, recorded;
} psgi_gpu_event;

typedef struct psgi_gpu_marks psgi_gpu_marks; /* cuda_trace.h */

typedef struct psgi_gpu {
	psg_device device; /* first: the two are cast into each other */
	const psgi_cuda *cuda;
	pthread_t owner;
	CUdevice handle;
	CUcontext context; /* the card's primary one; NULL: not retained */
	int entered;       /* times that the thread made it current */
	int ptx;
	bool ptx_forced;
	psgi_gpu_limits limits;
	psgi_lane compute, copy;
	CUevent ahead_event, compute_event;
	bool ahead; /* copies on the copy stream that the compute stream has yet to wait for */
	uint64_t queued,
		done; /* work on the compute stream: so much queued, this much known done */
	psgi_gpu_event points[PSGI_GPU_POINTS];
	bool unrecorded; /* one is set whose event is to be recorded before more work is queued */
	psgi_gpu_pool pool;
	CUmodule modules[PSGI_FAMILIES];
	psg_error *refused[PSGI_FAMILIES]; /* why the driver takes no code of it; NULL: unknown */
	psg_gpu_module loaded[PSGI_FAMILIES]; /* what is told of them, in the order of loading */
	psgi_function functions[PSGI_GPU_KERNELS];
	uint64_t launches, copies, families;
	int64_t load_ns;
	psgi_gpu_marks *marks; /* NULL: nothing was traced */
} psgi_gpu;

static inline psgi_gpu *psgi_gpu_of(psg_device *device)
{
	return (psgi_gpu *)device;
}

/* Says that `call` failed; the device is lost from then on if the code means so. */
psg_status psgi_gpu_fail(psgi_gpu *gpu, CUresult result, const char *call, psg_error *error);

/* PSG_OK, and the context is current until psgi_gpu_leave; FORKED, INVALID (the device is another
 * thread's) or DEVICE_LOST without a call. */
psg_status psgi_gpu_enter(psgi_gpu *gpu, psg_error *error);
void psgi_gpu_leave(psgi_gpu *gpu);

/* Before work is queued on the compute stream: lets it wait for copies that went ahead. */
psg_status psgi_gpu_begin(psgi_gpu *gpu, psg_error *error);

/* Waits for both streams; for freeing memory, so an error is only kept. */
void psgi_gpu_settle(psgi_gpu *gpu);

/* The memory half of the device's operations. */
void *psgi_gpu_take(psg_device *device, size_t bytes);
void psgi_gpu_give(psg_device *device, void *memory);
void psgi_gpu_free_pool(psgi_gpu *gpu); /* all of it */

void psgi_lane_free(psgi_gpu *gpu, psgi_lane *lane);

/* Gives idle blocks back to the driver; false: there were none. */
bool psgi_gpu_trim_pool(psgi_gpu *gpu);

/* Loads a family with the best target that the driver takes. */
psg_status psgi_gpu_load_family(psgi_gpu *gpu, psgi_gpu_family family, psg_error *error);

/* Fills `info`, but for the free memory; TOO_OLD when it can (filled) not be used.  No context. */
psg_status psgi_gpu_describe(const psgi_cuda *cuda, int32_t index, CUdevice *handle,
			     psg_gpu_info *info, psg_error *error);

/* The driver, unless PAGESIFT_GPU=off. */
psg_status psgi_gpu_driver(const psgi_cuda **cuda, psg_error *error);

#endif
