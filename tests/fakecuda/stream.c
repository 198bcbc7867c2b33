/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The fake driver's streams and events.  A stream is a list of work that is done, in order, when
 * somebody waits for the stream or for an event in it; waiting for an event of another stream does
 * that stream's work up to there first.
 */
#include "config.h"

#include "fake.h"
#include "kernels/args.h"
#include "run.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

struct CUstream_st {
	struct CUstream_st *next;
	fake_device *device;
	fake_work *first, **last;
};

struct CUevent_st {
	fake_device *device;
	CUstream stream;         /* of the last record; may be gone */
	uint64_t recorded, done; /* serials of records */
	bool timed;
	struct timespec when; /* it was done */
	int holders;          /* its handle, and the work that names it */
	CUevent before, next;
};

/* All there are: a driver's memory is its own, also in a forked child that may not give it back. */
static CUevent events;

static bool is_stream(CUstream stream)
{
	for (size_t i = 0; i < FAKE_MAX_DEVICES; i++)
		for (CUstream s = fake_devices[i].streams; s != NULL; s = s->next)
			if (s == stream)
				return true;
	return false;
}

/* The list begins with the newest. */
bool fake_is_first(CUstream stream)
{
	return stream != NULL && is_stream(stream) && stream->next == NULL;
}

static void drop(CUevent event)
{
	if (event == NULL || --event->holders > 0)
		return;
	if (event->next != NULL)
		event->next->before = event->before;
	if (event->before != NULL)
		event->before->next = event->next;
	else
		events = event->next;
	free(event);
}

static void run_ready(CUstream stream);

CUresult fake_queue(CUstream stream, const fake_work *work)
{
	fake_work *copy = malloc(sizeof(*copy));

	if (copy == NULL || stream == NULL || !is_stream(stream)) {
		free(work->owned);
		free(copy);
		return copy == NULL ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_ERROR_INVALID_HANDLE;
	}
	*copy = *work;
	copy->next = NULL;
	if (copy->event != NULL)
		copy->event->holders++;
	*stream->last = copy;
	stream->last = &copy->next;
	if (fake_configured.eager && !fake_is_first(stream))
		run_ready(stream);
	return CUDA_SUCCESS;
}

/* Was what queued work is about to touch freed since? */
static bool is_alive(const fake_work *work)
{
	return (!work->to_device || fake_is_device(work->to, work->bytes)) &&
	       (!work->from_device || fake_is_device(work->from, work->bytes));
}

/* A card that computes wrongly: it finds an error where there is none. */
static void report_wrongly(const fake_work *work)
{
	int64_t *bad;

	if (fake_configured.report == NULL || strcmp(fake_configured.report, work->kernel) != 0)
		return;
	bad = strcmp(work->kernel, "gather") == 0 ? ((const gather_args *)work->owned)->bad
						  : ((const integer_args *)work->owned)->bad;
	if (bad != NULL)
		*bad = 0;
}

static void run_kernel(fake_device *device, const fake_work *work)
{
	struct timespec time = { fake_configured.launch_us / 1000000,
				 fake_configured.launch_us % 1000000 * 1000 };
	CUresult code = fake_rule("run");
	size_t bytes;

	if (fake_configured.launch_us > 0)
		(void)nanosleep(&time, NULL);
	if (code != CUDA_SUCCESS)
		device->sticky = code;
	else if (fake_configured.arithmetic &&
		 (fake_configured.skip == NULL ||
		  strcmp(fake_configured.skip, work->kernel) != 0) &&
		 fakecuda_find(work->kernel, &bytes))
		fakecuda_run(work->kernel, work->grid, work->block, work->shared_bytes,
			     work->owned); /* kernels that only a test's PTX has do nothing */
	if (code == CUDA_SUCCESS)
		report_wrongly(work);
}

static void run_event(CUevent event, uint64_t serial);

static void run_one(CUstream stream)
{
	fake_work *work = stream->first;
	fake_device *device = stream->device;

	stream->first = work->next;
	if (stream->first == NULL)
		stream->last = &stream->first;
	if (work->kind == FAKE_RECORD) {
		work->event->done = work->serial;
		(void)clock_gettime(CLOCK_MONOTONIC, &work->event->when);
	} else if (work->kind == FAKE_WAIT) {
		run_event(work->event, work->serial);
	} else if (device->sticky == CUDA_SUCCESS && !is_alive(work)) {
		device->sticky = CUDA_ERROR_ILLEGAL_ADDRESS;
	} else if (device->sticky == CUDA_SUCCESS) {
		if (work->kind == FAKE_COPY)
			memmove(work->to, work->from, work->bytes);
		else if (work->kind == FAKE_FILL)
			memset(work->to, work->value, work->bytes);
		else
			run_kernel(device, work);
	}
	drop(work->event);
	free(work->owned);
	free(work);
}

static void run_event(CUevent event, uint64_t serial)
{
	while (event->done < serial && is_stream(event->stream) && event->stream->first != NULL)
		run_one(event->stream);
}

static void run_stream(CUstream stream)
{
	while (stream->first != NULL)
		run_one(stream);
}

/* Up to where it waits for another one. */
static void run_ready(CUstream stream)
{
	while (stream->first != NULL && (stream->first->kind != FAKE_WAIT ||
					 stream->first->event->done >= stream->first->serial))
		run_one(stream);
}

void fake_run_device(fake_device *device)
{
	for (CUstream stream = device->streams; stream != NULL; stream = stream->next)
		run_stream(stream);
}

CUresult cuStreamCreate(CUstream *stream, unsigned int flags)
{
	fake_device *device;
	CUstream made;

	(void)flags;
	ENTER(cuStreamCreate);
	device = fake_current();
	if (device == NULL)
		return fake_leave(CUDA_ERROR_INVALID_CONTEXT);
	made = calloc(1, sizeof(*made));
	if (made == NULL)
		return fake_leave(CUDA_ERROR_OUT_OF_MEMORY);
	made->device = device;
	made->last = &made->first;
	made->next = device->streams;
	device->streams = made;
	fake_counts.streams++;
	*stream = made;
	return fake_leave(CUDA_SUCCESS);
}

CUresult cuStreamDestroy_v2(CUstream stream)
{
	CUresult fault = fake_enter_last("cuStreamDestroy_v2");

	if (!is_stream(stream))
		return fake_leave(CUDA_ERROR_INVALID_HANDLE);
	run_stream(stream);
	for (CUstream *link = &stream->device->streams; *link != NULL; link = &(*link)->next) {
		if (*link == stream) {
			*link = stream->next;
			break;
		}
	}
	free(stream);
	fake_counts.streams--;
	return fake_leave(fault);
}

CUresult cuStreamSynchronize(CUstream stream)
{
	ENTER(cuStreamSynchronize);
	fake_log('W', fake_is_first(stream));
	if (!is_stream(stream))
		return fake_leave(CUDA_ERROR_INVALID_HANDLE);
	run_stream(stream);
	return fake_leave(stream->device->sticky);
}

CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned int flags)
{
	fake_work work = { .kind = FAKE_WAIT, .event = event };

	(void)flags;
	ENTER(cuStreamWaitEvent);
	fake_log('S', fake_is_first(stream));
	work.serial = event->recorded;
	return fake_leave(fake_queue(stream, &work));
}

CUresult cuEventCreate(CUevent *event, unsigned int flags)
{
	fake_device *device;
	CUevent made;

	ENTER(cuEventCreate);
	device = fake_current();
	if (device == NULL)
		return fake_leave(CUDA_ERROR_INVALID_CONTEXT);
	made = calloc(1, sizeof(*made));
	if (made == NULL)
		return fake_leave(CUDA_ERROR_OUT_OF_MEMORY);
	made->device = device;
	made->holders = 1;
	made->timed = (flags & CU_EVENT_DISABLE_TIMING) == 0;
	made->next = events;
	if (events != NULL)
		events->before = made;
	events = made;
	fake_counts.events++;
	*event = made;
	return fake_leave(CUDA_SUCCESS);
}

CUresult cuEventDestroy_v2(CUevent event)
{
	CUresult fault = fake_enter_last("cuEventDestroy_v2");

	drop(event);
	fake_counts.events--;
	return fake_leave(fault);
}

CUresult cuEventRecord(CUevent event, CUstream stream)
{
	fake_work work = { .kind = FAKE_RECORD, .event = event };
	CUresult result;

	ENTER(cuEventRecord);
	fake_log('R', fake_is_first(stream));
	work.serial = event->recorded + 1;
	result = fake_queue(stream, &work);
	if (result == CUDA_SUCCESS) {
		event->stream = stream;
		event->recorded++;
	}
	return fake_leave(result);
}

/* Each question lets the stream go on by one piece of work, so that who asks again gets there. */
CUresult cuEventQuery(CUevent event)
{
	CUresult result;

	ENTER(cuEventQuery);
	fake_log('Q', fake_is_first(event->stream));
	if (event->done < event->recorded && is_stream(event->stream) &&
	    event->stream->first != NULL)
		run_one(event->stream);
	result = event->done < event->recorded ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS;
	if (event->device->sticky != CUDA_SUCCESS)
		result = event->device->sticky;
	return fake_leave(result);
}

CUresult cuEventSynchronize(CUevent event)
{
	ENTER(cuEventSynchronize);
	fake_log('W', fake_is_first(event->stream));
	if (is_stream(event->stream))
		run_event(event, event->recorded);
	return fake_leave(event->device->sticky);
}

CUresult cuEventElapsedTime(float *milliseconds, CUevent from, CUevent to)
{
	ENTER(cuEventElapsedTime);
	if (!from->timed || !to->timed || from->recorded == 0 || to->recorded == 0)
		return fake_leave(CUDA_ERROR_INVALID_HANDLE);
	if (from->done < from->recorded || to->done < to->recorded)
		return fake_leave(CUDA_ERROR_NOT_READY);
	*milliseconds = (float)((double)(to->when.tv_sec - from->when.tv_sec) * 1e3 +
				(double)(to->when.tv_nsec - from->when.tv_nsec) / 1e6);
	return fake_leave(from->device->sticky);
}
