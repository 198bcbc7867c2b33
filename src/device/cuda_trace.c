/* SPDX-License-Identifier: Apache-2.0 */
#include "config.h"

#include "device/cuda_trace.h"

#include "base/base.h"

#include <stdio.h>
#include <stdlib.h>

/* Launches between two waits that need no wait of their own; chosen: a page's models have less. */
#define MARKS 1024

/* Chosen: a float of milliseconds tells 0.1 us of so long, and clocks drift less than 100 us. */
#define TIE_NS PSG_SECOND

/* Tracks from here on are no threads of the kernel, whose numbers end at 2^22. */
#define FIRST_TRACK (INT32_C(1) << 30)

struct psgi_gpu_marks {
	int32_t track;
	bool broken; /* the driver failed: nothing is marked any more */
	bool open;   /* a launch has begun */
	CUevent tie; /* it was done at `tie_ns` */
	int64_t tie_ns;
	size_t n;
	struct mark {
		CUevent begin, end;
		const char *kernel;
	} mark[MARKS];
};

static psgi_gpu_marks *create(void)
{
	static _Atomic uint32_t made;
	psgi_gpu_marks *marks = calloc(1, sizeof(*marks));

	if (marks != NULL)
		marks->track = FIRST_TRACK +
			       (int32_t)atomic_fetch_add_explicit(&made, 1, memory_order_relaxed);
	return marks;
}

static bool make_event(const psgi_gpu *gpu, CUevent *event)
{
	if (*event != NULL)
		return true;
	if (gpu->cuda->event_create(event, 0) == CUDA_SUCCESS)
		return true;
	*event = NULL;
	return false;
}

static bool record(const psgi_gpu *gpu, CUevent *event)
{
	return make_event(gpu, event) &&
	       gpu->cuda->event_record(*event, gpu->compute.stream) == CUDA_SUCCESS;
}

/* Each time, because there may be another file. */
static void name_track(const psgi_gpu *gpu, const psgi_gpu_marks *marks)
{
	char name[128];

	(void)snprintf(name, sizeof(name), "%s kernels", gpu->device.info.name);
	psgi_trace_track(marks->track, name);
}

/* Not between a launch and its reading, but when runs follow each other without a pause: then the
 * card is waited for, because marks are read by the tie that they were made with. */
static bool is_due(const psgi_gpu_marks *marks)
{
	int64_t age = marks->tie_ns != 0 ? psg_now_ns() - marks->tie_ns : INT64_MAX;

	return age >= (marks->n > 0 ? 2 * TIE_NS : TIE_NS);
}

/* Waits for the card; what cannot be told then never can. */
static void tell_all(psgi_gpu *gpu, psgi_gpu_marks *marks)
{
	psgi_gpu_settle(gpu);
	psgi_gpu_marks_tell(gpu);
	marks->broken = marks->broken || marks->n > 0;
}

void psgi_gpu_marks_tie(psgi_gpu *gpu)
{
	psgi_gpu_marks *marks = gpu->marks;

	if (gpu->cuda->event_elapsed == NULL)
		return;
	if (marks == NULL)
		marks = gpu->marks = create();
	if (marks == NULL || marks->broken || !is_due(marks))
		return;
	if (marks->n > 0)
		tell_all(gpu, marks);
	if (marks->broken)
		return;
	name_track(gpu, marks);
	marks->broken =
		!record(gpu, &marks->tie) || gpu->cuda->event_sync(marks->tie) != CUDA_SUCCESS;
	marks->tie_ns = psg_now_ns();
}

void psgi_gpu_mark_begin(psgi_gpu *gpu)
{
	psgi_gpu_marks *marks = gpu->marks;

	if (marks == NULL || marks->broken || marks->tie_ns == 0)
		return;
	if (marks->n == MARKS)
		tell_all(gpu, marks);
	marks->open = !marks->broken && record(gpu, &marks->mark[marks->n].begin);
}

void psgi_gpu_mark_end(psgi_gpu *gpu, const char *kernel)
{
	psgi_gpu_marks *marks = gpu->marks;

	if (marks == NULL || !marks->open)
		return;
	marks->open = false;
	marks->mark[marks->n].kernel = kernel;
	if (record(gpu, &marks->mark[marks->n].end))
		marks->n++;
	else
		marks->broken = true;
}

/* Our time of an event. */
static CUresult time_of(const psgi_gpu *gpu, const psgi_gpu_marks *marks, CUevent event,
			int64_t *ns)
{
	float ms = 0;
	CUresult result = gpu->cuda->event_elapsed(&ms, marks->tie, event);

	*ns = marks->tie_ns + (int64_t)((double)ms * 1e6);
	return result;
}

/* The first `told` go; their events serve again. */
static void forget(psgi_gpu_marks *marks, size_t told)
{
	marks->n -= told;
	for (size_t i = 0; i < marks->n; i++) {
		struct mark mark = marks->mark[i];

		marks->mark[i] = marks->mark[i + told];
		marks->mark[i + told] = mark;
	}
}

void psgi_gpu_marks_tell(psgi_gpu *gpu)
{
	psgi_gpu_marks *marks = gpu->marks;
	size_t told = 0;

	if (marks == NULL)
		return;
	for (; told < marks->n && !marks->broken; told++) {
		const struct mark *mark = &marks->mark[told];
		int64_t begin, end;
		CUresult result = time_of(gpu, marks, mark->begin, &begin);

		if (result == CUDA_SUCCESS)
			result = time_of(gpu, marks, mark->end, &end);
		if (result == CUDA_ERROR_NOT_READY)
			break; /* of the run behind the one that was waited for */
		marks->broken = result != CUDA_SUCCESS;
		if (!marks->broken)
			psgi_trace_span_on(marks->track, "kernel", mark->kernel, begin, end, NULL,
					   0);
	}
	forget(marks, marks->broken ? marks->n : told);
}

void psgi_gpu_marks_free(const psgi_gpu *gpu, psgi_gpu_marks *marks)
{
	if (marks == NULL)
		return;
	for (size_t i = 0; i < MARKS; i++) {
		if (marks->mark[i].begin != NULL)
			(void)gpu->cuda->event_destroy(marks->mark[i].begin);
		if (marks->mark[i].end != NULL)
			(void)gpu->cuda->event_destroy(marks->mark[i].end);
	}
	if (marks->tie != NULL)
		(void)gpu->cuda->event_destroy(marks->tie);
	free(marks);
}

void psgi_gpu_trace_copy(const psgi_gpu *gpu, const char *name, size_t bytes, int64_t begin_ns)
{
	const psgi_trace_arg args[] = { { "bytes", NULL, (int64_t)bytes },
					{ "device", gpu->device.info.name, 0 } };

	if (begin_ns != 0)
		psgi_trace_span("copy", name, begin_ns, psg_now_ns(), args, 2);
}
