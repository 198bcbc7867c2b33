/* SPDX-License-Identifier: Apache-2.0 */
/* The jobs of a page's stage: submitted, taken out, and sent on where a GPU failed. */
#include "config.h"

#include "ocr/page.h"

#include "base/base.h"
#include "base/trace.h"

#include <stdio.h>
#include <string.h>

/* --- what jobs gave --- */

/* On the worker's thread, or a canceller's: must be short. */
static void job_done(psg_future *future, void *user)
{
	psgi_slot *slot = user;
	psgi_page *page = slot->page;
	psg_tensor *const *tensors;
	size_t n;

	slot->status = psg_future_tensors(future, &tensors, &n, &slot->error);
	if (slot->status == PSG_OK && n != 1)
		slot->status = psgi_fail(&slot->error, PSG_INVALID, "%zu outputs, want 1", n);
	if (slot->status == PSG_OK)
		slot->out = psg_tensor_ref(tensors[0]);
	/* Release, with the runner's acquire: the three fields above. */
	atomic_store_explicit(&slot->ended, true, memory_order_release);
	psgi_engine_job_ended(page->ocr);
	psgi_page_wake(page, PSGI_WAKE_JOB);
}

static psg_model *stage_model(const psgi_page *page)
{
	const psgi_models *models = &page->ocr->models;

	return page->stage == PSGI_DETECT   ? models->detect
	       : page->stage == PSGI_DIRECT ? models->direct
					    : models->recognise;
}

static void drop_input(psgi_slot *slot)
{
	psg_tensor_unref(slot->input);
	slot->input = NULL;
	slot->failures = 0;
}

/* What the job of a slot gave; the slot is free then, or goes on to another worker. */
static void take(psgi_page *page, psgi_slot *slot)
{
	psg_status status = slot->status;

	/* The handle was kept until now so that the runner could cancel the job. */
	psg_future_release(slot->future);
	slot->future = NULL;
	if (page->status == PSG_OK && psgi_crew_may_move(&page->ocr->crew, slot->worker, status)) {
		slot->failures++;
		slot->goes_on = true;
		page->n_going_on++;
		return;
	}
	if (status == PSG_OK && page->status == PSG_OK) {
		int64_t begin = psgi_trace_begin();

		status = psgi_stages[page->stage].take(page, slot, &slot->error);
		psgi_page_trace(page, psgi_stages[page->stage].job_name, "take", begin);
	}
	if (status != PSG_OK)
		psgi_page_fail(page, psgi_stages[page->stage].job_name, &slot->error);
	psg_tensor_unref(slot->out);
	slot->out = NULL;
	drop_input(slot);
}

void psgi_jobs_harvest(psgi_page *page)
{
	for (size_t i = 0; i < page->n_slots; i++) {
		psgi_slot *slot = &page->slots[i];

		if (slot->future != NULL &&
		    atomic_load_explicit(&slot->ended, memory_order_acquire))
			take(page, slot);
	}
}

/* --- submitting --- */

/* NULL: the page has as many jobs as it may. */
static psgi_slot *free_slot(psgi_page *page)
{
	size_t left = psgi_crew_room(&page->ocr->crew, page->stage != PSGI_DETECT);
	psgi_slot *found = NULL;

	for (size_t i = 0; i < page->n_slots; i++) {
		psgi_slot *slot = &page->slots[i];

		if (slot->future == NULL && !slot->goes_on)
			found = found != NULL ? found : slot;
		else if (--left == 0)
			return NULL;
	}
	return found;
}

/* Why the job that the slot's worker has now is not a GPU's; the first reason is kept. */
static void note_fallback(psgi_page *page, const psgi_slot *slot, const psg_error *failure)
{
	psg_error why = PSG_ERROR_INIT;

	if (psg_worker_device(slot->worker)->kind != PSG_DEVICE_CPU || page->fallback[0] != '\0')
		return;
	if (failure != NULL) {
		why = *failure;
		psgi_error_prefix(&why, "%s", psgi_stages[page->stage].job_name);
	} else if (!psgi_crew_lost(&page->ocr->crew, &why)) {
		return;
	}
	(void)snprintf(page->fallback, sizeof(page->fallback), "%s", why.message);
}

/* `failure` says why it goes on; NULL: it is new. */
static psg_status submit(psgi_page *page, psgi_slot *slot, psg_tensor *input,
			 const psg_error *failure, psg_error *error)
{
	psg_ocr *ocr = page->ocr;
	psgi_errand errand = { .model = stage_model(page),
			       .input = input,
			       .options = { .deadline_ns = page->deadline_ns,
					    .priority = page->priority,
					    .done = job_done,
					    .user = slot },
			       .failed = failure != NULL ? slot->worker : NULL,
			       .failures = slot->failures };
	psg_status status;

	atomic_store_explicit(&slot->ended, false, memory_order_relaxed);
	status = psgi_crew_submit(&ocr->crew, &errand, page->tried, &slot->worker, &slot->future,
				  error);
	if (status != PSG_OK) {
		slot->future = NULL;
		return status;
	}
	(void)atomic_fetch_add(&ocr->jobs_started, 1);
	page->started++;
	if (page->stage == PSGI_DETECT)
		page->detected_by = slot->worker;
	note_fallback(page, slot, failure);
	return PSG_OK;
}

/* Jobs that a worker failed to do, to another one. */
static psg_status submit_again(psgi_page *page, psg_error *error)
{
	for (size_t i = 0; i < page->n_slots && page->n_going_on > 0; i++) {
		psgi_slot *slot = &page->slots[i];
		psg_error failure;
		psg_status status;

		if (!slot->goes_on)
			continue;
		failure = slot->error; /* the job's end overwrites it */
		status = submit(page, slot, slot->input, &failure, error);
		if (status != PSG_OK) {
			if (status != PSG_FULL)
				psgi_error_prefix(error, "after '%.200s'", failure.message);
			return status;
		}
		psgi_log(PSG_LOG_WARNING, "a job of %s goes on on %s: %s",
			 psgi_stages[page->stage].job_name, psg_worker_device(slot->worker)->name,
			 failure.message);
		slot->goes_on = false;
		page->n_going_on--;
		(void)atomic_fetch_add_explicit(&page->ocr->moved, 1, memory_order_relaxed);
	}
	return PSG_OK;
}

/* One job more of the stage. */
static psg_status submit_next(psgi_page *page, psgi_slot *slot, psg_error *error)
{
	psg_status status = PSG_OK;

	if (page->input == NULL) {
		int64_t begin = psgi_trace_begin();

		status = psgi_stages[page->stage].make(page, &page->input, error);
		psgi_page_trace(page, psgi_stages[page->stage].job_name, "make", begin);
	}
	if (status == PSG_OK)
		status = submit(page, slot, page->input, NULL, error);
	if (status != PSG_OK)
		return status;
	slot->which = page->next_todo++;
	if (page->ocr->crew.most_own > 0)
		slot->input = page->input;
	else
		psg_tensor_unref(page->input);
	page->input = NULL;
	return PSG_OK;
}

void psgi_jobs_submit(psgi_page *page)
{
	psg_error error = PSG_ERROR_INIT;
	uint64_t before = atomic_load(&page->ocr->jobs_ended);
	psg_status status = submit_again(page, &error);
	psgi_slot *slot;

	while (status == PSG_OK && page->next_todo < page->todo &&
	       (slot = free_slot(page)) != NULL) {
		before = atomic_load(&page->ocr->jobs_ended);
		status = submit_next(page, slot, &error);
	}
	if (status == PSG_FULL)
		psgi_engine_park(page->ocr, page, before);
	else if (status != PSG_OK)
		psgi_page_fail(page, psgi_stages[page->stage].job_name, &error);
}

void psgi_jobs_cancel(psgi_page *page)
{
	for (size_t i = 0; i < page->n_slots; i++)
		if (page->slots[i].future != NULL)
			(void)psg_future_cancel(page->slots[i].future);
}

void psgi_jobs_free(psgi_page *page)
{
	for (size_t i = 0; page->slots != NULL && i < page->n_slots; i++)
		drop_input(&page->slots[i]);
}
