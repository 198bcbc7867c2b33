/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Moves pages through the engine: files are read in order, their pages
 * submitted while there is room in the window, and taken out at its other end
 * in the same order, so that the output does not depend on which is done first.
 *
 * The engine is opened when the first page is there: only then is it known how
 * many pages share the cores, and a wrong file name is told at once.
 */
#include "config.h"

#include "cli/events.h"
#include "cli/file.h"
#include "cli/ocr.h"
#include "cli/pages.h"

#include <stdlib.h>

struct run {
	const cli_ocr_values *values;
	cli_ocr_output *output;
	cli_workers workers;
	psg_ocr *ocr;
	cli_ocr_item *window; /* a ring of `room` items, `n` of them from `first` on */
	size_t room, first, n;
	size_t number; /* of the last item */
	cli_exit stop; /* not CLI_OK: nothing more is to be done, and told why */
};

static bool stopped(const struct run *run)
{
	return run->stop != CLI_OK || run->output->broken || cli_events_signal() != 0;
}

/* --- files --- */

static void release_file(cli_ocr_file *file)
{
	if (file == NULL || --file->users > 0)
		return;
	free(file->data);
	free(file);
}

/* The caller is its first user. */
static psg_status load(const struct run *run, const char *name, cli_ocr_file **out,
		       psg_error *error)
{
	cli_ocr_file *file = calloc(1, sizeof(*file));
	psg_status status;

	*out = NULL;
	if (file == NULL)
		return cli_fail(error, PSG_NOMEM, "no memory for a file");
	file->users = 1;
	status = cli_read_file(name, &file->data, &file->size, error);
	if (status == PSG_OK)
		status = psg_image_pages(file->data, file->size, &file->pages, error);
	if (status == PSG_OK && cli_pages_count(run->values->pages, file->pages) == 0)
		status =
			cli_fail(error, PSG_INVALID,
				 "has none of the pages %s, but %d page%s, counted from 0",
				 run->values->pages, (int)file->pages, file->pages == 1 ? "" : "s");
	if (status == PSG_OK)
		*out = file;
	else
		release_file(file);
	return status;
}

/* --- the window --- */

static void take_oldest(struct run *run)
{
	cli_ocr_item *item = &run->window[run->first];

	if (!stopped(run) && (item->future == NULL || cli_events_wait(&item->ended)))
		cli_ocr_emit(run->output, item);
	psg_future_release(item->future);
	release_file(item->file);
	item->future = NULL;
	item->file = NULL;
	run->first = (run->first + 1) % run->room;
	run->n--;
}

/* A place for the next item, made by waiting for the oldest when there is none. */
static cli_ocr_item *next_item(struct run *run, const char *name, int32_t index)
{
	cli_ocr_item *item;

	if (run->n == run->room)
		take_oldest(run);
	item = &run->window[(run->first + run->n) % run->room];
	run->n++;
	*item = (cli_ocr_item){ .name = name, .index = index, .number = ++run->number };
	return item;
}

/* Those at the old end that are done already: the output comes as soon as it can. */
static void take_done(struct run *run)
{
	while (run->n > 0 && !stopped(run)) {
		const cli_ocr_item *item = &run->window[run->first];

		if (item->future != NULL && !atomic_load(&item->ended))
			return;
		take_oldest(run);
	}
}

/*
 * Two pages a worker and two more keep the engine busy (it runs as many at a time).  With a time
 * limit there are no more than are read, because waiting behind others would count.
 */
static size_t window_room(const cli_ocr_values *values, size_t n_workers)
{
	return values->timeout > 0 ? n_workers : 2 * n_workers + 2;
}

static bool make_window(struct run *run, size_t room)
{
	cli_ocr_item *window = calloc(room, sizeof(*window));

	if (window == NULL) {
		cli_error("no memory for %zu pages", room);
		run->stop = CLI_FAILED;
		return false;
	}
	free(run->window);
	run->window = window;
	run->room = room;
	run->first = 0;
	return true;
}

/* --- the engine --- */

/*
 * One a core: a page's lines are read by all workers, so that a single page is ready as soon as
 * with one worker that has all cores, and many pages sooner (docs/measurements.md).
 */
static size_t count_workers(const cli_ocr_values *values)
{
	return values->jobs > 0 ? (size_t)values->jobs : (size_t)cli_device_cores(values->device);
}

static psg_status open_ocr(struct run *run, psg_error *error)
{
	const cli_ocr_values *v = run->values;
	psg_ocr_options options = {
		.models_dir = v->models,
		.no_direction = v->no_direction,
		.no_fallback = v->no_fallback,
		.limit_side = (int32_t)v->limit_side,
		.box_threshold = (float)v->box_threshold,
		.box_score = (float)v->box_score,
		.unclip = (float)v->unclip,
		.max_pages = run->room,
		.max_pixels = v->max_pixels,
	};

	return psg_ocr_open(run->workers.at, run->workers.n, &options, &run->ocr, error);
}

static void tell_device(const struct run *run)
{
	const psg_device_info *info = psg_worker_device(run->workers.at[0]);
	bool broken = info->fallback_code != PSG_OK && info->fallback_code != PSG_NO_DEVICE &&
		      info->fallback_code != PSG_DISABLED;

	run->output->gpu = info->kind != PSG_DEVICE_CPU;
	if (!run->values->verbose) {
		if (broken)
			cli_note("the GPU cannot be used, so the CPU reads: %s", info->fallback);
		return;
	}
	cli_note("%zu worker%s on %s (%s)%s%s", run->workers.n,
		 run->workers.n == 1 ? "" : "s, each", info->name, info->detail,
		 info->fallback[0] != '\0' ? "; no GPU: " : "", info->fallback);
}

/* False: it cannot be had; told, and run->stop says how to exit. */
static bool open_engine(struct run *run)
{
	psg_error error = PSG_ERROR_INIT;

	if (run->ocr != NULL)
		return true;
	/* What is left in the window are failures of files before this one. */
	while (run->n > 0)
		take_oldest(run);
	run->stop = CLI_FAILED;
	if (cli_workers_open(run->values->device, count_workers(run->values), &run->workers,
			     &error) != PSG_OK) {
		if (error.code == PSG_INVALID)
			run->stop = CLI_USAGE;
	} else if (make_window(run, window_room(run->values, run->workers.n))) {
		tell_device(run);
		if (cli_events_open(&error) == PSG_OK) {
			if (open_ocr(run, &error) == PSG_OK)
				run->stop = CLI_OK;
			else if (error.code != PSG_NOMEM)
				run->stop = CLI_NO_MODELS;
		}
	}
	if (run->stop != CLI_OK && error.code != PSG_OK)
		cli_error("%s", error.message);
	return run->stop == CLI_OK;
}

/* --- pages --- */

static void submit(struct run *run, const char *name, cli_ocr_file *file, int32_t index)
{
	cli_ocr_item *item = next_item(run, name, index);
	psg_job_options options = { .done = cli_events_wake, .user = &item->ended };

	if (run->values->timeout > 0)
		options.deadline_ns = psg_now_ns() + (int64_t)(run->values->timeout * 1e9);
	item->many = file->pages > 1;
	if (run->values->draw != NULL) {
		item->file = file;
		file->users++;
	}
	(void)psg_ocr_submit(run->ocr, file->data, file->size, index, &options, &item->future,
			     &item->error);
}

static void submit_pages(struct run *run, const char *name, cli_ocr_file *file)
{
	if (run->output->n_done == 0)
		cli_ocr_progress(run->output, name);
	for (int32_t i = 0; i < file->pages && !stopped(run); i++) {
		if (!cli_pages_have(run->values->pages, i))
			continue;
		submit(run, name, file, i);
		take_done(run);
	}
}

static void read_file(struct run *run, const char *name)
{
	psg_error error = PSG_ERROR_INIT;
	cli_ocr_file *file;
	int32_t pages;

	if (load(run, name, &file, &error) != PSG_OK) {
		if (cli_events_signal() == 0)
			next_item(run, name, -1)->error = error;
		return;
	}
	pages = cli_pages_count(run->values->pages, file->pages);
	run->output->n_expected += (size_t)pages - 1;
	if (pages > 1)
		run->output->many = true;
	if (open_engine(run))
		submit_pages(run, name, file);
	release_file(file);
}

static void tell_fallbacks(const struct run *run)
{
	psg_ocr_stats stats;

	if (run->ocr == NULL || !run->values->verbose)
		return;
	psg_ocr_stats_get(run->ocr, &stats);
	if (stats.fallbacks > 0)
		cli_note("of %llu pages the CPU read %llu, all or in part",
			 (unsigned long long)stats.pages, (unsigned long long)stats.fallbacks);
}

static void close_run(struct run *run)
{
	while (run->n > 0)
		take_oldest(run);
	tell_fallbacks(run);
	psg_ocr_close(run->ocr);
	cli_workers_close(&run->workers);
	free(run->window);
}

cli_exit cli_ocr_run(const cli_ocr_values *values, cli_ocr_output *output)
{
	struct run run = { .values = values, .output = output };

	output->n_expected = values->n_names;
	if (!make_window(&run, 1))
		return run.stop;
	for (size_t i = 0; i < values->n_names && !stopped(&run); i++) {
		read_file(&run, values->names[i]);
		take_done(&run);
	}
	close_run(&run);
	return run.stop;
}
