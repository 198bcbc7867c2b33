/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When kernels ran on the card, for the trace: a pair of events around each
 * launch, read when the stream has been waited for anyhow.
 *
 * A card's clock is its own.  An event that was waited for ties it to ours, to
 * some ten microseconds, once in a while when a launch begins.
 */
#ifndef PSG_DEVICE_CUDA_TRACE_H
#define PSG_DEVICE_CUDA_TRACE_H

#include "base/trace.h"
#include "device/cuda_internal.h"

/*
 * Where there is a trace: before anything of a launch is queued, and around the launch itself; in
 * the context.  Where memory or the driver fails, kernels are not in the trace, and nothing else
 * happens.
 */
void psgi_gpu_marks_tie(psgi_gpu *gpu);
void psgi_gpu_mark_begin(psgi_gpu *gpu);
void psgi_gpu_mark_end(psgi_gpu *gpu, const char *kernel);

/* The compute stream was waited for, up to some point: records what is marked and done. */
void psgi_gpu_marks_tell(psgi_gpu *gpu);

/* In the context.  NULL is allowed. */
void psgi_gpu_marks_free(const psgi_gpu *gpu, psgi_gpu_marks *marks);

/* A copy that the calling thread did or queued, from `begin_ns` to now; 0: there is no trace. */
void psgi_gpu_trace_copy(const psgi_gpu *gpu, const char *name, size_t bytes, int64_t begin_ns);

#endif
