/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Many threads share one engine: each reads the same page several times, and
 * every text must be the one that was read before while nothing else ran.
 *
 *   cc many_threads.c $(pkg-config --cflags --libs pagesift-gpu) -pthread -o many_threads
 *   ./many_threads page.png [THREADS [PAGES [DEVICE...]]]
 *
 * THREADS (8) threads read PAGES (2) pages each.  One worker is opened for each DEVICE (auto): two
 * of cpu:1, for example, read two pages side by side.  Prints the text and how fast it went.
 */
#include <pagesift/gpu.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_THREADS 256
#define MAX_WORKERS 64

static struct {
	psg_ocr *ocr;
	char *data;
	size_t size;
	char *expected; /* what every page must give */
	long pages;     /* of each thread */
} shared;

static char *read_file(const char *path, size_t *size)
{
	FILE *file = fopen(path, "rb");
	char *data = NULL;
	long end;

	*size = 0;
	if (file != NULL && fseek(file, 0, SEEK_END) == 0 && (end = ftell(file)) > 0) {
		rewind(file);
		data = malloc((size_t)end);
		if (data != NULL)
			*size = fread(data, 1, (size_t)end, file);
	}
	if (data == NULL)
		perror(path);
	if (file != NULL)
		(void)fclose(file);
	return data;
}

/* Reads the page once: its text, for the caller to free(); NULL, with a message, on failure. */
static char *read_page(void)
{
	psg_error error = PSG_ERROR_INIT;
	psg_future *future = NULL;
	const psg_page *page;
	char *text = NULL;

	if (psg_ocr_submit(shared.ocr, shared.data, shared.size, 0, NULL, &future, &error) !=
		    PSG_OK ||
	    psg_future_wait(future) != PSG_OK || psg_ocr_page(future, &page, &error) != PSG_OK ||
	    psg_page_format(page, "page", PSG_FORMAT_TEXT, &text, &error) != PSG_OK) {
		if (future != NULL)
			(void)psg_future_error(future, &error);
		(void)fprintf(stderr, "many_threads: %s\n", error.message);
	}
	psg_future_release(future);
	return text;
}

/* One request handler of a server; counts the pages that were not as expected. */
static void *client(void *argument)
{
	long *wrong = argument;

	for (long i = 0; i < shared.pages; i++) {
		char *text = read_page();

		*wrong += text == NULL || strcmp(text, shared.expected) != 0;
		free(text);
	}
	return NULL;
}

/* Returns the number of wrong pages of all threads; a thread that cannot start has all wrong. */
static long run(size_t threads)
{
	pthread_t thread[MAX_THREADS];
	long wrong[MAX_THREADS] = { 0 }, sum = 0;
	size_t started = 0;

	while (started < threads &&
	       pthread_create(&thread[started], NULL, client, &wrong[started]) == 0)
		started++;
	for (size_t i = 0; i < started; i++) {
		(void)pthread_join(thread[i], NULL);
		sum += wrong[i];
	}
	return sum + (long)(threads - started) * shared.pages;
}

static int compare(size_t threads)
{
	int64_t begin;
	double seconds;
	long wrong, pages = (long)threads * shared.pages;

	shared.expected = read_page();
	if (shared.expected == NULL)
		return 1;
	begin = psg_now_ns();
	wrong = run(threads);
	seconds = (double)(psg_now_ns() - begin) / (double)PSG_SECOND;
	(void)printf("%s", shared.expected);
	(void)fprintf(stderr, "%ld pages in %.1f s (%.2f a second), %ld wrong\n", pages, seconds,
		      (double)pages / seconds, wrong);
	return wrong == 0 ? 0 : 1;
}

int main(int argc, char **argv)
{
	long threads = argc > 2 ? atol(argv[2]) : 8;
	psg_error error = PSG_ERROR_INIT;
	psg_worker *workers[MAX_WORKERS] = { NULL };
	size_t n = 0, wanted = argc > 4 ? (size_t)argc - 4 : 1;
	psg_ocr_options options = { .max_pages = MAX_THREADS };
	int result = 1;

	shared.pages = argc > 3 ? atol(argv[3]) : 2;
	if (argc < 2 || threads < 1 || threads > MAX_THREADS || shared.pages < 1 ||
	    wanted > MAX_WORKERS) {
		(void)fprintf(stderr, "usage: many_threads FILE [THREADS [PAGES [DEVICE...]]]\n");
		return 2;
	}
	shared.data = read_file(argv[1], &shared.size);
	if (shared.data == NULL)
		return 1;
	while (n < wanted && psg_worker_open(argc > 4 ? argv[4 + n] : "auto", NULL, &workers[n],
					     &error) == PSG_OK)
		n++;
	if (n == wanted && psg_ocr_open(workers, n, &options, &shared.ocr, &error) == PSG_OK)
		result = compare((size_t)threads);
	else
		(void)fprintf(stderr, "many_threads: %s\n", error.message);
	psg_ocr_close(shared.ocr);
	while (n > 0)
		psg_worker_close(workers[--n]);
	free(shared.expected);
	free(shared.data);
	return result;
}
