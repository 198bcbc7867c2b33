/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A page on its way: a state machine that host threads and workers move on.
 *
 * Whatever happens to a page (a job ended, cancel, a free job slot) wakes it:
 * the wake-up is counted in `wakes`, and the one that finds 0 there posts the
 * page's task to the host pool.  The task posts itself again until it has seen
 * all wake-ups, so at any time at most one thread, the page's runner, touches
 * the plain fields, and no thread ever waits for a page.
 *
 * A stage is host work, then jobs.  A job's callback stores the output in its
 * slot and wakes the page; what is done with the output is the runner's.
 */
#ifndef PSG_OCR_PAGE_H
#define PSG_OCR_PAGE_H

#include "ocr/engine.h"

/* The high half of `wakes` counts ended jobs, so that counting is a job's last touch of its page.
 */
#define PSGI_WAKE UINT64_C(1)
#define PSGI_WAKE_JOB (UINT64_C(1) << 32)

/* Work for one job: a window, a line or a piece of one. */
typedef struct psgi_slot {
	psgi_page *page;
	psg_future *future;       /* the runner's; NULL: the slot is free, or waits to go on */
	size_t which;             /* of the stage's, as page->next_todo was */
	const psg_worker *worker; /* that has it or had it last */
	psg_tensor *input;        /* kept where the job may go on to another worker */
	unsigned failures;        /* of this work so far */
	bool goes_on;             /* to another worker, as soon as one takes it */
	/* the callback's, then, after `ended`, the runner's */
	psg_tensor *out; /* owned reference */
	psg_status status;
	psg_error error;
	atomic_bool ended;
} psgi_slot;

/* A line of text. */
typedef struct psgi_text_line {
	psgi_box box;
	psgi_image *crop;  /* freed when its inputs are made */
	float upside_down; /* the direction model's probability */
	size_t first_piece, n_pieces, unmade;
} psgi_text_line;

/* Where a piece of a line was read. */
typedef struct psgi_reading {
	psg_tensor *digest; /* owned reference */
	size_t line;
} psgi_reading;

/* Stages in order; each has host work, all but the last jobs of one model. */
enum { PSGI_DETECT, PSGI_DIRECT, PSGI_RECOGNISE, PSGI_TEXT, PSGI_STAGES };

struct psgi_page {
	psgi_task task; /* first: the pool knows the page by it */
	_Atomic uint64_t wakes;

	/* constant */
	psg_ocr *ocr;
	psg_future *future;
	int32_t priority, index;
	int64_t deadline_ns; /* PSGI_NEVER: none */
	int64_t submitted_ns;

	/* the engine's, under its lock */
	psgi_page *previous, *next;
	psgi_page *wait_next;
	psgi_page **waits_in; /* the engine's `waiting` or `parked`; NULL: neither */
	bool running;

	/* the runner's, as all that follows */
	int stage; /* -1 before the first */
	psg_status status;
	psg_error error;
	int64_t mark_ns; /* when the current host work or jobs began */
	double host_ms[PSGI_STAGES], jobs_ms[PSGI_STAGES];
	uint64_t started, ended; /* jobs */
	size_t todo, next_todo;  /* jobs of the stage, and the first that is not submitted */
	psg_tensor *input;       /* made for the next job, when the lanes were full */
	bool *tried;             /* workers, for one submission */
	psgi_slot *slots;
	size_t n_slots;
	size_t n_going_on; /* slots */
	const psg_worker *detected_by;
	char fallback[PSG_ERROR_MESSAGE_SIZE]; /* why the CPU did some of it; "": it did not */

	uint8_t *data; /* the file, until it is decoded */
	size_t size;
	psgi_image *image;
	int32_t width, height, count;
	psgi_detect_plan plan;
	float *map;
	psgi_text_line *lines;
	size_t n_lines;
	psgi_piece *pieces; /* line by line */
	psgi_reading *readings;
	size_t *by_width; /* pieces in the order of recognition */
	size_t n_pieces;
	psg_page *result; /* owned until the future has it */
};

/* A page of a copy of `data`, not yet known to anybody.  NOMEM, and as psgi_promise_create. */
psg_status psgi_page_create(psg_ocr *ocr, const void *data, size_t size, int32_t index,
			    const psg_job_options *options, psgi_page **out, psg_error *error);

/* Any thread, as long as the page cannot end under it. */
void psgi_page_wake(psgi_page *page, uint64_t wake);

/* The first error is the page's; `error` holds its message, and may be changed. */
void psgi_page_fail(psgi_page *page, const char *where, psg_error *error);

/* The runner did a part of the stage `name`, from `begin_ns` to now; 0: there is no trace. */
void psgi_page_trace(const psgi_page *page, const char *name, const char *part, int64_t begin_ns);

/* The jobs of a stage, for the runner.  Takes what those that ended gave. */
void psgi_jobs_harvest(psgi_page *page);

/* Submits as many as the page may have, or parks the page, or fails it. */
void psgi_jobs_submit(psgi_page *page);

/* Asks those under way to end. */
void psgi_jobs_cancel(psgi_page *page);

/* None is under way: frees what was kept to send one on. */
void psgi_jobs_free(psgi_page *page);

/* What a stage does, always on the runner. */
typedef struct psgi_stage {
	const char *host_name, *job_name; /* before error messages */
	/* Host work; sets page->todo when there are jobs. */
	psg_status (*begin)(psgi_page *page, psg_error *error);
	/* The input of job page->next_todo, [1, ...]. */
	psg_status (*make)(psgi_page *page, psg_tensor **out, psg_error *error);
	/* What a job gave. */
	psg_status (*take)(psgi_page *page, const psgi_slot *slot, psg_error *error);
} psgi_stage;

extern const psgi_stage psgi_stages[PSGI_STAGES];

/* Frees all that stages made, but `result`. */
void psgi_stages_free(psgi_page *page);

/* The psg_page of a page's readings, into page->result. */
psg_status psgi_result_make(psgi_page *page, psg_error *error);

/* Frees a result; also says, as a promise's free_result, that it is one. */
void psgi_result_free(void *result);

#endif
