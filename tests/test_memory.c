/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Memory of a process that reads pages: it does not grow with their number, and one large page
 * stays below its bound.
 *
 * usage: test_memory [FIRST LAST [DEVICE]]
 *
 * The resident sizes after page FIRST (50) and page LAST (150) are compared.  Pages come in SIZES
 * sizes, more than there are plans for detection, again and again: so all that is kept has been
 * seen by page FIRST, and plans come and go at every page.
 */
#include "config.h"

#include "models.h"
#include "page_font.h"

#include <pagesift/gpu.h>

#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define MEGABYTE 1048576.0

/* A sanitizer's memory is not ours; the plain loops would take an hour for the large page. */
#if defined(PSG_SANITIZED) || !defined(HAVE_DNNL)
#define SKIPPED 1
#else
#define SKIPPED 0
#endif

/* What the project promises: the growth from page 50 to page 500, and the peak. */
#define MOST_GROWTH 5.0 /* percent */
#define PROMISED_PAGES 450
#define MOST_PEAK 700.0 /* MB */

/* Chosen: three times the plans that the engine keeps for detection. */
#define SIZES 24

/* A page of 300 dpi, A4. */
#define PEAK_WIDTH 2480
#define PEAK_HEIGHT 3508

static const char *device = "cpu:1";
static psg_worker *worker;
static psg_ocr *ocr;

static bool tell(const char *what, const psg_error *error)
{
	(void)fprintf(stderr, "test_memory: %s: %s\n", what, error->message);
	return false;
}

static bool open_engine(void)
{
	psg_error error = PSG_ERROR_INIT;

	if (psg_worker_open(device, NULL, &worker, &error) != PSG_OK)
		return tell("worker", &error);
	if (psg_ocr_open(&worker, 1, NULL, &ocr, &error) != PSG_OK)
		return tell("engine", &error);
	return true;
}

static void close_engine(void)
{
	psg_ocr_close(ocr);
	psg_worker_close(worker);
	ocr = NULL;
	worker = NULL;
}

/* Reads a page and drops what it gave; the number of its lines, or -1. */
static long read_page(const void *data, size_t size)
{
	psg_error error = PSG_ERROR_INIT;
	psg_future *future;
	const psg_page *page;
	long lines = -1;

	if (psg_ocr_submit(ocr, data, size, 0, NULL, &future, &error) != PSG_OK) {
		(void)tell("page", &error);
		return -1;
	}
	(void)psg_future_wait(future);
	if (psg_ocr_page(future, &page, &error) == PSG_OK)
		lines = (long)page->n_lines;
	else
		(void)tell("page", &error);
	psg_future_release(future);
	return lines;
}

/* Knuth's MMIX generator; the upper half, because its low bits are poor. */
static uint32_t next_random(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(*state >> 33);
}

/* Lines of `least` to `most` letters, with a space now and then. */
static void make_text(char *text, uint32_t lines, uint32_t least, uint32_t most, uint64_t *state)
{
	static const char letters[] = "ACDEGHILNOPRSTU0123456789";

	for (uint32_t y = 0; y < lines; y++) {
		uint32_t n = least + next_random(state) % (most - least + 1);

		for (uint32_t x = 0; x < n; x++)
			*text++ = x % 7 == 5 ? ' ' : letters[next_random(state) % 25];
		*text++ = '\n';
	}
	text[-1] = '\0';
}

/* --- growth --- */

/* Resident pages of memory now, in MB. */
static double resident(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	long size = 0, pages = 0;

	if (file == NULL || fscanf(file, "%ld %ld", &size, &pages) != 2)
		perror("/proc/self/statm");
	if (file != NULL)
		(void)fclose(file);
	return (double)pages * (double)sysconf(_SC_PAGESIZE) / MEGABYTE;
}

/* Reads pages up to the `to`-th and tells the resident size; 0 on failure. */
static double read_until(long from, long to)
{
	char text[10 * 32];
	double now;

	for (long i = from; i < to; i++) {
		uint64_t state = (uint64_t)(i % SIZES) << 32;
		size_t size;
		uint8_t *page;
		long lines;

		make_text(text, 3 + next_random(&state) % 7, 4, 24, &state);
		page = t_font_page(text, false, &size);
		lines = read_page(page, size);
		free(page);
		if (lines < 0)
			return 0;
	}
	now = resident();
	(void)printf("after page %3ld: %.1f MB\n", to, now);
	return now;
}

static bool check_growth(long first, long last)
{
	double before = 0, after = 0, growth;
	bool good = false;

	if (open_engine())
		before = read_until(0, first);
	if (before > 0)
		after = read_until(first, last);
	if (after > 0) {
		growth = 100 * (after - before) / before * PROMISED_PAGES / (double)(last - first);
		good = growth < MOST_GROWTH;
		(void)printf("growth: %.1f %% in %d pages (must be below %.0f %%)\n", growth,
			     PROMISED_PAGES, MOST_GROWTH);
	}
	close_engine();
	return good;
}

/* --- peak --- */

/* In a process of its own, whose peak its parent is told. */
static int read_large_page(void)
{
	/* 24 pixels a letter, 52 a line: see page_font.c. */
	char *text = malloc(PEAK_WIDTH * PEAK_HEIGHT / 24 / 52);
	uint64_t state = 2;
	size_t size;
	uint8_t *page;
	long lines = -1;

	if (text == NULL)
		return 1;
	make_text(text, PEAK_HEIGHT / 52 - 2, 5, PEAK_WIDTH / 24 - 4, &state);
	page = t_font_page(text, false, &size);
	if (open_engine())
		lines = read_page(page, size);
	close_engine();
	free(page);
	free(text);
	(void)printf("large page: %ld lines, ", lines);
	return lines > 20 ? 0 : 1;
}

static bool check_peak(void)
{
	struct rusage usage;
	int result = 0;
	double peak;
	pid_t child;

	(void)fflush(stdout);
	child = fork();
	if (child == 0) {
		result = read_large_page();
		(void)fflush(stdout);
		_exit(result);
	}
	if (child < 0 || waitpid(child, &result, 0) != child ||
	    getrusage(RUSAGE_CHILDREN, &usage) != 0 || !WIFEXITED(result) ||
	    WEXITSTATUS(result) != 0) {
		(void)printf("peak: FAILED\n");
		return false;
	}
	peak = (double)usage.ru_maxrss * 1024 / MEGABYTE;
	(void)printf("peak %.0f MB (must be below %.0f MB)\n", peak, MOST_PEAK);
	return peak < MOST_PEAK;
}

int main(int argc, char **argv)
{
	long first = argc > 2 ? atol(argv[1]) : 50, last = argc > 2 ? atol(argv[2]) : 150;
	char path[4096];
	bool good;

	if (argc == 2 || argc > 4 || first < 1 || last <= first) {
		(void)fprintf(stderr, "usage: test_memory [FIRST LAST [DEVICE]]\n");
		return 2;
	}
	if (argc == 4)
		device = argv[3];
	if (SKIPPED || !t_model_path("ppocr_keys_v1.txt", path, sizeof(path)))
		return 77;
	/* First, while this process is small: a child begins with its parent's pages. */
	good = check_peak();
	good = check_growth(first, last) && good;
	(void)printf("summary: memory %s\n", good ? "as expected" : "NOT as expected");
	return good ? 0 : 1;
}
