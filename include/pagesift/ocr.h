/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pages in, text out.
 *
 * An engine holds the three models and a dictionary and runs pages through
 * workers: decode, detection, boxes and crops, direction, recognition, text.
 * No stage waits inside another's thread; any number of threads may submit any
 * number of pages, and a page's text never depends on what else runs.
 */
#ifndef PAGESIFT_OCR_H
#define PAGESIFT_OCR_H

#include <pagesift/job.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct psg_ocr psg_ocr;

typedef struct psg_ocr_options {
	/* Folder of the models and the dictionary; NULL: PAGESIFT_MODELS, else
	 * $XDG_DATA_HOME/pagesift/models, else ~/.local/share/pagesift/models */
	const char *models_dir;
	bool no_direction;    /* skip the upside-down classifier */
	int32_t limit_side;   /* detection's longest side in pixels; 0 means 960 */
	float box_threshold;  /* of the detection map; 0 means 0.3 */
	float box_score;      /* least mean inside a box; 0 means 0.6 */
	float unclip;         /* growth of a box; 0 means 1.5 */
	size_t max_pages;     /* pages in flight before FULL; 0 means 64 */
	int64_t max_pixels;   /* of a page; 0 means 178956970 (2^29 / 3: 512 MB as RGB) */
	int32_t host_threads; /* for decoding and geometry; 0: as many as the workers' cores,
			       * with a GPU all of this process */
	/* What a GPU fails to do has failed: its page ends with the GPU's error.  Without this the
	 * job goes on to another of the workers and then to the CPU, and when no GPU is left, all
	 * do; the engine opens CPU workers of its own for it. */
	bool no_fallback;
} psg_ocr_options;

/* What an engine reads from the folder of models. */
typedef enum psg_ocr_file {
	PSG_OCR_DETECTION,
	PSG_OCR_RECOGNITION,
	PSG_OCR_DIRECTION,
	PSG_OCR_DICTIONARY,
} psg_ocr_file;

/*
 * The path of one of them, for the caller to free(); `models_dir` as in psg_ocr_options.
 * INVALID: it is not there (the message names it and says how to get it).  NOMEM.
 */
PSG_API psg_status psg_ocr_find(const char *models_dir, psg_ocr_file file, char **out,
				psg_error *error);

/*
 * Opens an engine over `n` workers, which must outlive it; a page's work goes
 * to the one with the least waiting.  Blocks while models load.  `options` may be NULL.
 * NO_DEVICE: n is 0; FORMAT, UNSUPPORTED: a model; INVALID: a file is missing (the
 * message names it and says how to get it), or the dictionary does not fit the classes.
 */
PSG_API psg_status psg_ocr_open(psg_worker *const *workers, size_t n,
				const psg_ocr_options *options, psg_ocr **out, psg_error *error);

/*
 * Cancels the pages in flight, waits for their running stages and frees the engine; futures stay
 * valid until they are released.  When it returns, all callbacks have.  No other thread may be
 * inside psg_ocr_submit, but callbacks of its pages: theirs ends with SHUTDOWN.  Not from such a
 * callback, nor from a worker's own thread.  NULL is allowed.  In a forked child it does nothing.
 */
PSG_API void psg_ocr_close(psg_ocr *ocr);

typedef struct psg_point {
	float x, y; /* pixels of the upright page, origin at the top left */
} psg_point;

typedef struct psg_line {
	const char *text;  /* UTF-8 */
	float confidence;  /* mean probability of its characters, 0 to 1 */
	float box_score;   /* detection's mean inside the box */
	float angle;       /* degrees clockwise from upright that the text runs */
	psg_point quad[4]; /* clockwise from the text's top left */
} psg_line;

typedef struct psg_page_times {
	double decode_ms, detect_ms, boxes_ms, direction_ms, recognise_ms,
		total_ms; /* device stages include their wait in the queue */
} psg_page_times;

/* A page's result: plain data owned by its future. */
typedef struct psg_page {
	int32_t width, height; /* pixels, after the orientation tag */
	int32_t index, count;  /* page of a multi-page file, from 0 */
	const char *device;    /* that its lines were found on: "cpu", "cuda:0" */
	const char *fallback;  /* why the CPU did all or, with a stage before it, some of it though
				* a GPU was asked for; "" otherwise */
	size_t n_lines;
	const psg_line *lines; /* in reading order */
	psg_page_times times;
} psg_page;

/* Counters since the engine was opened. */
typedef struct psg_ocr_stats {
	uint64_t pages, failed; /* that were read; that ended otherwise */
	/* Of those read: the CPU did some or all, because a GPU had failed; never more than
	 * `pages`.
	 */
	uint64_t fallbacks;
	/* That failed on a GPU and went on to another worker; a line or a piece of one is a job. */
	uint64_t moved_jobs;
} psg_ocr_stats;

/* A snapshot without locks; a page is counted before its future completes.  Any thread, until the
 * engine closes. */
PSG_API void psg_ocr_stats_get(const psg_ocr *ocr, psg_ocr_stats *stats);

/*
 * Submits one page of an image file held in memory: PNG, JPEG, TIFF (`page`
 * chooses, from 0), WebP, BMP, PNM or GIF.  The bytes are copied.  The future gives a psg_page;
 * `out` may be NULL where the options have a completion queue.  FULL: max_pages are in flight.
 * SHUTDOWN: the engine is closing.  FORKED.  From the future: FORMAT: not an image, empty,
 * truncated, too large; INVALID: the file has no such page.  A deadline is the whole page's: past
 * it the page ends with TIMED_OUT wherever it is, once a host thread has a moment for it.  Do not
 * wait for the future on a worker's own thread: it may have to do the work.  Any thread; blocks for
 * a copy of the bytes only.
 */
PSG_API psg_status psg_ocr_submit(psg_ocr *ocr, const void *data, size_t size, int32_t page,
				  const psg_job_options *options, psg_future **out,
				  psg_error *error);

/* Of a page's future that ended well: the page, borrowed from the future.  Else its status and
 * message; INVALID while it is not done, which for other threads is until its callback has
 * returned.  Any thread; never blocks. */
PSG_API psg_status psg_ocr_page(psg_future *future, const psg_page **page, psg_error *error);

/* Pages in an image file: 1 but for TIFF.  FORMAT: not an image. */
PSG_API psg_status psg_image_pages(const void *data, size_t size, int32_t *pages, psg_error *error);

/*
 * Draws the boxes, numbered in reading order, over the page and returns a PNG
 * for the caller to free().  `data` is what was submitted.
 */
PSG_API psg_status psg_page_draw(const psg_page *page, const void *data, size_t size, void **png,
				 size_t *png_size, psg_error *error);

typedef enum psg_format {
	PSG_FORMAT_TEXT,
	PSG_FORMAT_JSON,
	PSG_FORMAT_TSV,
	PSG_FORMAT_HOCR
} psg_format;

/*
 * Writes a page in a format, ending with a newline, as a string for the caller to free().
 * Text is one line for each psg_line, and nothing for a blank page.  JSON is one line.  TSV has a
 * line for each psg_line and no heading: file, page (from 0), line (from 0), confidence, angle, x
 * and y of the four corners, text; a tab, newline, return or backslash in file or text is written
 * \t, \n, \r, \\.  `name` is the file's name, any bytes: TSV keeps them, JSON and hOCR show U+FFFD
 * for each byte that is not UTF-8.  UNSUPPORTED: JSON in a build without jansson.
 */
PSG_API psg_status psg_page_format(const psg_page *page, const char *name, psg_format format,
				   char **out, psg_error *error);

/*
 * A document of many pages, of any number of files: what psg_document_begin gives, then one of the
 * two that follow for each page, then what psg_document_end gives, written one after another.
 * `number` counts the document's pages from 1.  Strings, `name` and errors as in psg_page_format.
 *
 * A page is written as psg_page_format does, but that hOCR has one document around all of them and
 * text has an empty line between two pages.
 */
PSG_API psg_status psg_document_begin(psg_format format, const char *title, char **out,
				      psg_error *error);
PSG_API psg_status psg_document_page(psg_format format, const psg_page *page, const char *name,
				     size_t number, char **out, psg_error *error);

/*
 * In the place of a page that could not be read: `index` is its place in the file, from 0, or -1
 * when the whole file failed.  JSON has the same keys, of which only file, page and
 * error:{code,message} are not empty; hOCR an empty page with a comment; text and TSV nothing.
 */
PSG_API psg_status psg_document_failure(psg_format format, const psg_error *failure,
					const char *name, int32_t index, size_t number, char **out,
					psg_error *error);
PSG_API psg_status psg_document_end(psg_format format, char **out, psg_error *error);

#ifdef __cplusplus
}
#endif
#endif
