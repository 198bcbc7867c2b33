/* SPDX-License-Identifier: Apache-2.0 */
/* Copies between host and GPU through pinned memory, and waiting for what is queued. */
#include "config.h"

#include "device/cuda_internal.h"
#include "device/cuda_trace.h"

#include "base/base.h"
#include "base/phase.h"

#include <string.h>

static CUdeviceptr to_address(const void *pointer)
{
	return (CUdeviceptr)(uintptr_t)pointer;
}

/* --- waiting --- */

static const char waiting[] = "waiting for the card";

static CUresult wait_for_stream(const psgi_gpu *gpu, CUstream stream)
{
	const char *outer = psgi_phase_begin(waiting);
	CUresult result = gpu->cuda->stream_sync(stream);

	psgi_phase_end(outer);
	return result;
}

static CUresult wait_for_event(const psgi_gpu *gpu, CUevent event)
{
	const char *outer = psgi_phase_begin(waiting);
	CUresult result = gpu->cuda->event_sync(event);

	psgi_phase_end(outer);
	return result;
}

/* --- points --- */

static void note_done(psgi_gpu *gpu, uint64_t queued)
{
	if (queued > gpu->done)
		gpu->done = queued;
}

void psgi_gpu_point_set(psg_device *device, psgi_gpu_point *point)
{
	psgi_gpu *gpu = psgi_gpu_of(device);

	*point = (psgi_gpu_point){ gpu->queued, -1 };
	for (int i = 0; i < PSGI_GPU_POINTS && point->number < 0; i++) {
		if (gpu->points[i].set)
			continue;
		gpu->points[i].set = true;
		gpu->points[i].recorded = false;
		gpu->unrecorded = true;
		point->number = i;
	}
}

void psgi_gpu_point_clear(psg_device *device, const psgi_gpu_point *point)
{
	if (point->number >= 0)
		psgi_gpu_of(device)->points[point->number].set = false;
}

bool psgi_gpu_point_is_last(const psg_device *device, const psgi_gpu_point *point)
{
	return point->queued == ((const psgi_gpu *)device)->queued;
}

static CUresult record(const psgi_gpu *gpu, psgi_gpu_event *event)
{
	if (event->event == NULL) {
		CUresult result = gpu->cuda->event_create(&event->event, CU_EVENT_DISABLE_TIMING);

		if (result != CUDA_SUCCESS) {
			event->event = NULL;
			return result;
		}
	}
	return gpu->cuda->event_record(event->event, gpu->compute.stream);
}

/* More work comes: events are needed now.  Where one is not to be had, the work is waited for. */
static psg_status record_points(psgi_gpu *gpu, psg_error *error)
{
	gpu->unrecorded = false;
	for (size_t i = 0; i < PSGI_GPU_POINTS; i++) {
		psgi_gpu_event *event = &gpu->points[i];
		CUresult result;

		if (!event->set || event->recorded)
			continue;
		result = record(gpu, event);
		event->recorded = result == CUDA_SUCCESS;
		if (event->recorded)
			continue;
		psgi_gpu_settle(gpu);
		if (psgi_gpu_fail(gpu, result, "cuEventRecord", error) == PSG_DEVICE_LOST)
			return PSG_DEVICE_LOST;
	}
	return PSG_OK;
}

static CUevent event_of(const psgi_gpu *gpu, const psgi_gpu_point *point)
{
	return point->number >= 0 && gpu->points[point->number].recorded
		       ? gpu->points[point->number].event
		       : NULL;
}

bool psgi_gpu_point_is_passed(psg_device *device, const psgi_gpu_point *point)
{
	psgi_gpu *gpu = psgi_gpu_of(device);
	CUevent event = event_of(gpu, point);
	CUresult result;

	if (point->queued <= gpu->done)
		return true;
	if (event == NULL)
		return false;
	if (psgi_gpu_enter(gpu, NULL) != PSG_OK)
		return true;
	result = gpu->cuda->event_query(event);
	if (result == CUDA_SUCCESS)
		note_done(gpu, point->queued);
	psgi_gpu_leave(gpu);
	return result != CUDA_ERROR_NOT_READY;
}

/* The copies that are queued next come after the work up to the point. */
static psg_status let_copies_wait(psgi_gpu *gpu, const psgi_gpu_point *point, psg_error *error)
{
	CUevent event = event_of(gpu, point);
	CUresult result;

	if (point->queued <= gpu->done)
		return PSG_OK;
	if (event != NULL) {
		result = gpu->cuda->stream_wait(gpu->copy.stream, event, 0);
		return result == CUDA_SUCCESS
			       ? PSG_OK
			       : psgi_gpu_fail(gpu, result, "cuStreamWaitEvent", error);
	}
	result = wait_for_stream(gpu, gpu->compute.stream);
	if (result != CUDA_SUCCESS)
		return psgi_gpu_fail(gpu, result, "cuStreamSynchronize", error);
	gpu->done = gpu->queued;
	return PSG_OK;
}

/* --- order --- */

psg_status psgi_gpu_begin(psgi_gpu *gpu, psg_error *error)
{
	psg_status status = gpu->unrecorded ? record_points(gpu, error) : PSG_OK;
	CUresult result;

	if (status != PSG_OK)
		return status;
	gpu->queued++;
	if (!gpu->ahead)
		return PSG_OK;
	result = gpu->cuda->event_record(gpu->ahead_event, gpu->copy.stream);
	if (result != CUDA_SUCCESS)
		return psgi_gpu_fail(gpu, result, "cuEventRecord", error);
	result = gpu->cuda->stream_wait(gpu->compute.stream, gpu->ahead_event, 0);
	if (result != CUDA_SUCCESS)
		return psgi_gpu_fail(gpu, result, "cuStreamWaitEvent", error);
	gpu->ahead = false;
	return PSG_OK;
}

void psgi_gpu_settle(psgi_gpu *gpu)
{
	CUresult copy = wait_for_stream(gpu, gpu->copy.stream);
	CUresult compute = wait_for_stream(gpu, gpu->compute.stream);

	if (psgi_cuda_is_lost(copy))
		(void)psgi_gpu_fail(gpu, copy, "cuStreamSynchronize", NULL);
	else if (psgi_cuda_is_lost(compute))
		(void)psgi_gpu_fail(gpu, compute, "cuStreamSynchronize", NULL);
	gpu->done = gpu->queued;
}

psg_status psgi_gpu_sync(psg_device *device, psg_error *error)
{
	psgi_gpu *gpu = psgi_gpu_of(device);
	psg_status status = psgi_gpu_enter(gpu, error);
	CUresult result;

	if (status != PSG_OK)
		return status;
	status = psgi_gpu_begin(gpu, error);
	if (status == PSG_OK) {
		result = wait_for_stream(gpu, gpu->compute.stream);
		if (result == CUDA_SUCCESS) {
			gpu->done = gpu->queued;
			psgi_gpu_marks_tell(gpu);
		} else {
			status = psgi_gpu_fail(gpu, result, "cuStreamSynchronize", error);
		}
	}
	psgi_gpu_leave(gpu);
	return status;
}

/* --- stages --- */

/* False: there is no pinned memory to be had, and copies do without. */
static bool make_stage(psgi_gpu *gpu, psgi_stage *stage)
{
	if (stage->memory != NULL)
		return true;
	if (stage->event == NULL &&
	    gpu->cuda->event_create(&stage->event, CU_EVENT_DISABLE_TIMING) != CUDA_SUCCESS) {
		stage->event = NULL;
		return false;
	}
	if (gpu->cuda->host_alloc(&stage->memory, PSGI_STAGE_BYTES, 0) != CUDA_SUCCESS) {
		stage->memory = NULL;
		return false;
	}
	return true;
}

void psgi_lane_free(psgi_gpu *gpu, psgi_lane *lane)
{
	for (size_t i = 0; i < PSGI_STAGES; i++) {
		psgi_stage *stage = &lane->stages[i];

		if (stage->memory != NULL)
			(void)gpu->cuda->host_free(stage->memory);
		if (stage->event != NULL)
			(void)gpu->cuda->event_destroy(stage->event);
	}
	if (lane->stream != NULL)
		(void)gpu->cuda->stream_destroy(lane->stream);
}

/* After the last copy from or to a stage: from now on its event tells when it is free. */
static psg_status seal(psgi_gpu *gpu, psgi_lane *lane, psgi_stage *stage, psg_error *error)
{
	CUresult result = gpu->cuda->event_record(stage->event, lane->stream);

	if (result == CUDA_SUCCESS) {
		stage->queued = true;
		return PSG_OK;
	}
	psgi_gpu_settle(gpu); /* without the event nothing else tells */
	stage->used = 0;
	return psgi_gpu_fail(gpu, result, "cuEventRecord", error);
}

/* Waits until the card has done with a stage. */
static psg_status reclaim(psgi_gpu *gpu, psgi_stage *stage, psg_error *error)
{
	CUresult result = CUDA_SUCCESS;

	if (stage->queued)
		result = wait_for_event(gpu, stage->event);
	if (result != CUDA_SUCCESS)
		return psgi_gpu_fail(gpu, result, "cuEventSynchronize", error);
	stage->queued = false;
	stage->used = 0;
	return PSG_OK;
}

/* The lane's next stage, empty. */
static psg_status next_stage(psgi_gpu *gpu, psgi_lane *lane, psgi_stage **out, psg_error *error)
{
	psgi_stage *stage = &lane->stages[lane->at];
	psg_status status = PSG_OK;

	if (stage->used > 0 && !stage->queued)
		status = seal(gpu, lane, stage, error);
	if (status != PSG_OK)
		return status;
	if (stage->queued)
		lane->at = (lane->at + 1) % PSGI_STAGES;
	*out = &lane->stages[lane->at];
	return reclaim(gpu, *out, error);
}

/* --- to the card --- */

static psg_status copy_piece_in(psgi_gpu *gpu, psgi_lane *lane, char *to, const void *from,
				size_t bytes, psg_error *error)
{
	CUresult result = gpu->cuda->copy_in(to_address(to), from, bytes, lane->stream);

	return result == CUDA_SUCCESS ? PSG_OK
				      : psgi_gpu_fail(gpu, result, "cuMemcpyHtoDAsync_v2", error);
}

static psg_status copy_in(psgi_gpu *gpu, psgi_lane *lane, char *to, const char *from, size_t bytes,
			  psg_error *error)
{
	psg_status status = PSG_OK;

	while (bytes > 0 && status == PSG_OK) {
		psgi_stage *stage = &lane->stages[lane->at];
		size_t n;

		if (stage->queued || stage->used == PSGI_STAGE_BYTES)
			status = next_stage(gpu, lane, &stage, error);
		if (status != PSG_OK)
			return status;
		/* What is not pinned the driver has read when the call returns. */
		if (!make_stage(gpu, stage))
			return copy_piece_in(gpu, lane, to, from, bytes, error);
		n = PSGI_STAGE_BYTES - stage->used;
		n = bytes < n ? bytes : n;
		memcpy((char *)stage->memory + stage->used, from, n);
		status =
			copy_piece_in(gpu, lane, to, (char *)stage->memory + stage->used, n, error);
		stage->used += n;
		to += n;
		from += n;
		bytes -= n;
	}
	return status;
}

psg_status psgi_gpu_copy_in(psg_device *device, void *to, const void *from, size_t bytes,
			    psg_error *error)
{
	psgi_gpu *gpu = psgi_gpu_of(device);
	int64_t begin = psgi_trace_begin();
	psg_status status = psgi_gpu_enter(gpu, error);

	if (status != PSG_OK)
		return status;
	gpu->copies++;
	status = psgi_gpu_begin(gpu, error);
	if (status == PSG_OK)
		status = copy_in(gpu, &gpu->compute, to, from, bytes, error);
	psgi_gpu_trace_copy(gpu, "copy in", bytes, begin);
	psgi_gpu_leave(gpu);
	return status;
}

/* The block may come from who freed it with work still queued: then the copy waits for that. */
static psg_status wait_for_block(psgi_gpu *gpu, const void *to, psg_error *error)
{
	const psgi_block *block = psgi_pool_find(&gpu->pool, to);
	CUresult result;

	if (block != NULL && block->freed_at <= gpu->done)
		return PSG_OK;
	result = gpu->cuda->event_record(gpu->compute_event, gpu->compute.stream);
	if (result != CUDA_SUCCESS)
		return psgi_gpu_fail(gpu, result, "cuEventRecord", error);
	result = gpu->cuda->stream_wait(gpu->copy.stream, gpu->compute_event, 0);
	return result == CUDA_SUCCESS ? PSG_OK
				      : psgi_gpu_fail(gpu, result, "cuStreamWaitEvent", error);
}

psg_status psgi_gpu_copy_ahead(psg_device *device, void *to, const void *from, size_t bytes,
			       psg_error *error)
{
	psgi_gpu *gpu = psgi_gpu_of(device);
	int64_t begin = psgi_trace_begin();
	psg_status status = psgi_gpu_enter(gpu, error);

	if (status != PSG_OK)
		return status;
	gpu->copies++;
	status = wait_for_block(gpu, to, error);
	if (status == PSG_OK) {
		gpu->ahead = true;
		status = copy_in(gpu, &gpu->copy, to, from, bytes, error);
	}
	psgi_gpu_trace_copy(gpu, "copy ahead", bytes, begin);
	psgi_gpu_leave(gpu);
	return status;
}

/* --- from the card --- */

/* A copy from the card to a stage that the host has yet to take out. */
struct landing {
	psgi_stage *stage;
	char *to;
	size_t bytes;
};

static psg_status take_out(psgi_gpu *gpu, struct landing *landing, psg_error *error)
{
	psg_status status = PSG_OK;

	if (landing->stage != NULL)
		status = reclaim(gpu, landing->stage, error);
	if (landing->stage != NULL && status == PSG_OK)
		memcpy(landing->to, landing->stage->memory, landing->bytes);
	landing->stage = NULL;
	return status;
}

static psg_status copy_all_out(psgi_gpu *gpu, const psgi_lane *lane, char *to, const char *from,
			       size_t bytes, psg_error *error)
{
	CUresult result = gpu->cuda->copy_out(to, to_address(from), bytes, lane->stream);

	if (result != CUDA_SUCCESS)
		return psgi_gpu_fail(gpu, result, "cuMemcpyDtoHAsync_v2", error);
	result = wait_for_stream(gpu, lane->stream);
	return result == CUDA_SUCCESS ? PSG_OK
				      : psgi_gpu_fail(gpu, result, "cuStreamSynchronize", error);
}

/* Queues one piece; the host takes out the one before meanwhile. */
static psg_status copy_piece_out(psgi_gpu *gpu, psgi_lane *lane, struct landing *before,
				 struct landing *piece, const char *from, psg_error *error)
{
	CUresult result = gpu->cuda->copy_out(piece->stage->memory, to_address(from), piece->bytes,
					      lane->stream);
	psg_status status;

	if (result != CUDA_SUCCESS)
		return psgi_gpu_fail(gpu, result, "cuMemcpyDtoHAsync_v2", error);
	piece->stage->used = piece->bytes;
	status = seal(gpu, lane, piece->stage, error);
	if (status == PSG_OK)
		status = take_out(gpu, before, error);
	*before = *piece;
	return status;
}

static psg_status copy_out(psgi_gpu *gpu, psgi_lane *lane, char *to, const char *from, size_t bytes,
			   psg_error *error)
{
	struct landing before = { NULL, NULL, 0 };
	psg_status status = PSG_OK;

	while (bytes > 0 && status == PSG_OK) {
		struct landing piece = { NULL, to, bytes };

		status = next_stage(gpu, lane, &piece.stage, error);
		if (status != PSG_OK)
			return status;
		if (!make_stage(gpu, piece.stage)) {
			status = take_out(gpu, &before, error);
			return status != PSG_OK ? status
						: copy_all_out(gpu, lane, to, from, bytes, error);
		}
		if (piece.bytes > PSGI_STAGE_BYTES)
			piece.bytes = PSGI_STAGE_BYTES;
		status = copy_piece_out(gpu, lane, &before, &piece, from, error);
		to += piece.bytes;
		from += piece.bytes;
		bytes -= piece.bytes;
	}
	return status == PSG_OK ? take_out(gpu, &before, error) : status;
}

psg_status psgi_gpu_copy_out(psg_device *device, void *to, const void *from, size_t bytes,
			     psg_error *error)
{
	psgi_gpu *gpu = psgi_gpu_of(device);
	int64_t begin = psgi_trace_begin();
	psg_status status = psgi_gpu_enter(gpu, error);

	if (status != PSG_OK)
		return status;
	gpu->copies++;
	status = psgi_gpu_begin(gpu, error);
	if (status == PSG_OK)
		status = copy_out(gpu, &gpu->compute, to, from, bytes, error);
	if (status == PSG_OK && bytes > 0) {
		gpu->done = gpu->queued;
		psgi_gpu_marks_tell(gpu);
	}
	psgi_gpu_trace_copy(gpu, "copy out", bytes, begin);
	psgi_gpu_leave(gpu);
	return status;
}

psg_status psgi_gpu_copy_out_at(psg_device *device, const psgi_gpu_point *point, void *to,
				const void *from, size_t bytes, psg_error *error)
{
	psgi_gpu *gpu = psgi_gpu_of(device);
	int64_t begin = psgi_trace_begin();
	psg_status status = psgi_gpu_enter(gpu, error);

	if (status != PSG_OK)
		return status;
	gpu->copies++;
	if (bytes > 0)
		status = let_copies_wait(gpu, point, error);
	if (status == PSG_OK)
		status = copy_out(gpu, &gpu->copy, to, from, bytes, error);
	if (status == PSG_OK && bytes > 0) {
		note_done(gpu, point->queued);
		psgi_gpu_marks_tell(gpu);
	}
	psgi_gpu_trace_copy(gpu, "copy out", bytes, begin);
	psgi_gpu_leave(gpu);
	return status;
}

/* --- on the card --- */

psg_status psgi_gpu_copy_within(psg_device *device, void *to, const void *from, size_t bytes,
				psg_error *error)
{
	psgi_gpu *gpu = psgi_gpu_of(device);
	int64_t begin = psgi_trace_begin();
	psg_status status = psgi_gpu_enter(gpu, error);
	CUresult result = CUDA_SUCCESS;

	if (status != PSG_OK)
		return status;
	gpu->copies++;
	status = psgi_gpu_begin(gpu, error);
	if (status == PSG_OK && bytes > 0)
		result = gpu->cuda->copy_within(to_address(to), to_address(from), bytes,
						gpu->compute.stream);
	if (result != CUDA_SUCCESS)
		status = psgi_gpu_fail(gpu, result, "cuMemcpyDtoDAsync_v2", error);
	psgi_gpu_trace_copy(gpu, "copy within", bytes, begin);
	psgi_gpu_leave(gpu);
	return status;
}

psg_status psgi_gpu_fill(psg_device *device, void *to, unsigned char value, size_t bytes,
			 psg_error *error)
{
	psgi_gpu *gpu = psgi_gpu_of(device);
	psg_status status = psgi_gpu_enter(gpu, error);
	CUresult result = CUDA_SUCCESS;

	if (status != PSG_OK)
		return status;
	status = psgi_gpu_begin(gpu, error);
	if (status == PSG_OK && bytes > 0)
		result = gpu->cuda->fill(to_address(to), value, bytes, gpu->compute.stream);
	if (result != CUDA_SUCCESS)
		status = psgi_gpu_fail(gpu, result, "cuMemsetD8Async", error);
	psgi_gpu_leave(gpu);
	return status;
}
