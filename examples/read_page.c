/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the text of a picture: one worker, one engine, one page.
 *
 *   cc read_page.c $(pkg-config --cflags --libs pagesift-gpu) -o read_page
 *   ./read_page page.png [DEVICE]
 *
 * DEVICE is auto (the default), cpu, cpu:K, cuda, ...; the lines go to standard output in reading
 * order.  Needs the models (./bootstrap models), or PAGESIFT_MODELS as their folder.
 */
#include <pagesift/gpu.h>

#include <stdio.h>
#include <stdlib.h>

/* The whole file; NULL, with a message, when it cannot be read. */
static void *read_file(const char *path, size_t *size)
{
	FILE *file = fopen(path, "rb");
	char *data = NULL;
	size_t room = 0;

	*size = 0;
	while (file != NULL && !feof(file) && !ferror(file)) {
		if (*size == room) {
			char *more = realloc(data, room = 2 * room + 65536);

			if (more == NULL)
				break;
			data = more;
		}
		*size += fread(data + *size, 1, room - *size, file);
	}
	if (file == NULL || !feof(file)) {
		perror(path);
		free(data);
		data = NULL;
	}
	if (file != NULL)
		(void)fclose(file);
	return data;
}

static int print_page(psg_future *future)
{
	psg_error error = PSG_ERROR_INIT;
	const psg_page *page;

	(void)psg_future_wait(future);
	if (psg_ocr_page(future, &page, &error) != PSG_OK) {
		(void)fprintf(stderr, "read_page: %s\n", error.message);
		return 1;
	}
	for (size_t i = 0; i < page->n_lines; i++)
		(void)printf("%s\n", page->lines[i].text);
	(void)fprintf(stderr, "%zu lines on %s in %.0f ms\n", page->n_lines, page->device,
		      page->times.total_ms);
	return 0;
}

int main(int argc, char **argv)
{
	psg_error error = PSG_ERROR_INIT;
	psg_worker *worker = NULL;
	psg_ocr *ocr = NULL;
	psg_future *future = NULL;
	size_t size;
	void *data;
	int result = 1;

	if (argc < 2 || argc > 3) {
		(void)fprintf(stderr, "usage: read_page FILE [DEVICE]\n");
		return 2;
	}
	data = read_file(argv[1], &size);
	if (data == NULL)
		return 1;
	if (psg_worker_open(argc > 2 ? argv[2] : "auto", NULL, &worker, &error) != PSG_OK ||
	    psg_ocr_open(&worker, 1, NULL, &ocr, &error) != PSG_OK ||
	    psg_ocr_submit(ocr, data, size, 0, NULL, &future, &error) != PSG_OK)
		(void)fprintf(stderr, "read_page: %s\n", error.message);
	else
		result = print_page(future);
	psg_future_release(future);
	psg_ocr_close(ocr);
	psg_worker_close(worker);
	free(data);
	return result;
}
