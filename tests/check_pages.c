/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads rendered pages with the library, as a program of a user would, and compares the text with
 * what was drawn.
 *
 * usage: check_pages --sizes       prints the sizes of pages that this build reads in reasonable
 *                                  time; status 77 when there are no models
 *        check_pages LIST [DEVICE] LIST names a page a line: name, highest error rate in percent,
 *                                  truth, picture, with tabs between them
 *
 * All pages are in flight at once.  Of a page over its limit, what was read is left beside its
 * picture: the lines (PICTURE.tsv) and the picture with their boxes (PICTURE.boxes.png).
 */
#include "config.h"

#include "error_rate.h"
#include "models.h"
#include "read_file.h"

#include <pagesift/gpu.h>

#include <string.h>

#define MAX_PAGES 256

/* The plain loops take minutes for a large page, and so do instrumented ones. */
#if defined(HAVE_DNNL) && !defined(PSG_SANITIZED)
#define SIZES "small large"
#else
#define SIZES "small"
#endif

/* ThreadSanitizer does not know the threads of OpenMP, which this device leaves alone. */
#if defined(PSG_TSAN)
#define DEVICE "reference"
#else
#define DEVICE "cpu"
#endif

typedef struct page_case {
	const char *name, *picture_path; /* in the list's memory */
	double limit;
	char *truth, *picture;
	size_t size;
	psg_future *future;
} page_case;

/* The next field of a line, which moves on; NULL when there is none. */
static char *field(char **line)
{
	char *start = *line;

	if (start == NULL)
		return NULL;
	*line = strchr(start, '\t');
	if (*line != NULL)
		*(*line)++ = '\0';
	return start;
}

static bool parse(char *line, page_case *out)
{
	char *limit, *truth, *end;
	size_t size;

	out->name = field(&line);
	limit = field(&line);
	truth = field(&line);
	out->picture_path = field(&line);
	if (out->picture_path == NULL || line != NULL) {
		(void)fprintf(stderr, "check_pages: '%s': four fields a line\n", out->name);
		return false;
	}
	out->limit = strtod(limit, &end);
	if (end == limit || *end != '\0' || !(out->limit >= 0)) {
		(void)fprintf(stderr, "check_pages: %s: '%s' is no limit\n", out->name, limit);
		return false;
	}
	out->truth = t_read_file(truth, &size);
	out->picture = t_read_file(out->picture_path, &out->size);
	return out->truth != NULL && out->picture != NULL;
}

/* Parses a list in place; the number of its cases, or -1. */
static int parse_all(char *list, page_case *cases)
{
	int n = 0;

	for (char *line = strtok(list, "\n"); line != NULL; line = strtok(NULL, "\n")) {
		if (n == MAX_PAGES) {
			(void)fprintf(stderr, "check_pages: more than %d pages\n", MAX_PAGES);
			return -1;
		}
		if (!parse(line, &cases[n++]))
			return -1;
	}
	return n;
}

static void save(const char *picture, const char *ending, const void *data, size_t size)
{
	char path[4096];
	FILE *file;

	(void)snprintf(path, sizeof(path), "%s%s", picture, ending);
	file = fopen(path, "wb");
	if (file == NULL || fwrite(data, 1, size, file) != size || fclose(file) != 0)
		perror(path);
	else
		(void)printf("    see %s\n", path);
}

static void save_findings(const page_case *one, const psg_page *page)
{
	char *tsv;
	void *png;
	size_t size;

	if (psg_page_format(page, one->name, PSG_FORMAT_TSV, &tsv, NULL) == PSG_OK) {
		save(one->picture_path, ".tsv", tsv, strlen(tsv));
		free(tsv);
	}
	if (psg_page_draw(page, one->picture, one->size, &png, &size, NULL) == PSG_OK) {
		save(one->picture_path, ".boxes.png", png, size);
		free(png);
	}
}

/* Waits for a page and tells how it went; true when it is as good as it must be. */
static bool judge(page_case *one)
{
	psg_error error = PSG_ERROR_INIT;
	const psg_page *page;
	double rate, with_spaces;
	char *text = NULL;
	bool good = false;

	(void)psg_future_wait(one->future);
	if (psg_ocr_page(one->future, &page, &error) != PSG_OK ||
	    psg_page_format(page, one->name, PSG_FORMAT_TEXT, &text, &error) != PSG_OK) {
		(void)printf("%-14s FAILED: %s\n", one->name, error.message);
	} else if (!t_error_rate(one->truth, text, false, &rate) ||
		   !t_error_rate(one->truth, text, true, &with_spaces)) {
		(void)printf("%-14s FAILED: out of memory\n", one->name);
	} else {
		good = rate <= one->limit;
		(void)printf("%-14s %6.2f %% (with spaces %6.2f %%)  limit %g %%  %3zu lines%s\n",
			     one->name, rate, with_spaces, one->limit, page->n_lines,
			     good ? "" : "  OVER");
		if (!good)
			save_findings(one, page);
	}
	(void)fflush(stdout);
	free(text);
	psg_future_release(one->future);
	one->future = NULL;
	return good;
}

/* The number of cases that are not as expected. */
static int judge_all(psg_ocr *ocr, page_case *cases, int n)
{
	int bad = 0;

	for (int i = 0; i < n; i++) {
		psg_error error = PSG_ERROR_INIT;

		if (psg_ocr_submit(ocr, cases[i].picture, cases[i].size, 0, NULL, &cases[i].future,
				   &error) != PSG_OK)
			(void)printf("%-14s FAILED: %s\n", cases[i].name, error.message);
	}
	for (int i = 0; i < n; i++)
		if (cases[i].future == NULL || !judge(&cases[i]))
			bad++;
	return bad;
}

static int check(page_case *cases, int n, const char *device)
{
	psg_ocr_options options = { .max_pages = MAX_PAGES };
	psg_error error = PSG_ERROR_INIT;
	psg_worker *worker = NULL;
	psg_ocr *ocr = NULL;
	int bad = n;

	if (psg_worker_open(device, NULL, &worker, &error) != PSG_OK ||
	    psg_ocr_open(&worker, 1, &options, &ocr, &error) != PSG_OK)
		(void)printf("check_pages: %s\n", error.message);
	else
		bad = judge_all(ocr, cases, n);
	psg_ocr_close(ocr);
	psg_worker_close(worker);
	if (bad == 0)
		(void)printf("summary: %d cases, all as expected\n", n);
	else
		(void)printf("summary: %d cases, %d NOT as expected\n", n, bad);
	return bad == 0 ? 0 : 1;
}

static int print_sizes(void)
{
	char path[4096];

	if (!t_model_path("ppocr_keys_v1.txt", path, sizeof(path)))
		return 77;
	(void)puts(SIZES);
	return 0;
}

int main(int argc, char **argv)
{
	static page_case cases[MAX_PAGES];
	char *list;
	size_t size;
	int n, result = 1;

	if (argc == 2 && strcmp(argv[1], "--sizes") == 0)
		return print_sizes();
	if (argc < 2 || argc > 3) {
		(void)fprintf(stderr, "usage: check_pages --sizes | LIST [DEVICE]\n");
		return 2;
	}
	list = t_read_file(argv[1], &size);
	if (list == NULL)
		return 1;
	n = parse_all(list, cases);
	if (n == 0)
		(void)fprintf(stderr, "check_pages: %s names no page\n", argv[1]);
	if (n > 0)
		result = check(cases, n, argc > 2 ? argv[2] : DEVICE);
	for (int i = 0; i < MAX_PAGES; i++) {
		free(cases[i].truth);
		free(cases[i].picture);
	}
	free(list);
	return result;
}
